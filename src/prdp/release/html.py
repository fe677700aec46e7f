"""Tables for notebooks: every text escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from prdp.safety.plain_text import printable

_STYLE = "<style>.prdp th, .prdp td { padding: 0.2em 0.8em 0.2em 0; text-align: left }</style>"
"""Some notebooks, such as marimo's, leave no room between the columns of a table that has no style."""


def html_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a table with a caption, and notes below it, as HTML.

    >>> html_table("a < b", ["n"], [["1"]])  # doctest: +ELLIPSIS
    '<table><caption style="...">a &lt; b</caption><thead class="prdp"><tr><th>n</th></tr></thead><tbody ...'
    """
    head = "".join(f"<th>{_escaped(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{_escaped(note)}</p>" for note in notes)
    return (
        f'<table><caption style="text-align:left">{_escaped(caption)}</caption>'
        f'<thead class="prdp"><tr>{head}</tr></thead>'
        f'<tbody class="prdp">{body}</tbody></table>{below}{_STYLE}'
    )


def _escaped(text: str) -> str:
    """Return a text for HTML, without what would move the cursor of a terminal that shows it."""
    return html.escape(printable(text, "\n"))
