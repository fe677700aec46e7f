"""Tables for notebooks: every text escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_STYLE = "<style>.prdp th, .prdp td { padding: 0.2em 0.8em 0.2em 0; text-align: left }</style>"
"""Some notebooks, such as marimo's, leave no room between the columns of a table that has no style."""


def html_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a table with a caption, and notes below it, as HTML.

    >>> html_table("a < b", ["n"], [["1"]])  # doctest: +ELLIPSIS
    '<table><caption style="...">a &lt; b</caption><thead class="prdp"><tr><th>n</th></tr></thead><tbody ...'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return (
        f'<table><caption style="text-align:left">{html.escape(caption)}</caption>'
        f'<thead class="prdp"><tr>{head}</tr></thead>'
        f'<tbody class="prdp">{body}</tbody></table>{below}{_STYLE}'
    )
