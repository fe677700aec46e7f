"""Tables for notebooks: every text escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def html_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a table with a caption, and notes below it, as HTML.

    >>> html_table("a < b", ["n"], [["1"]])  # doctest: +ELLIPSIS
    '<table><caption>a &lt; b</caption><thead><tr><th>n</th></tr></thead><tbody><tr><td>1</td></tr>...'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}"
    )
