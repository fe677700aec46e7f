"""Tables as Markdown."""

from __future__ import annotations

import re

from prdp.release.formats.document import Document
from prdp.safety.plain_text import printable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&!$])")


def markdown_text(text: str) -> str:
    r"""Return a text in which Markdown and HTML see no mark.

    >>> print(markdown_text("a|b <b> *c*"))
    a\|b \<b\> \*c\*
    """
    return _SPECIAL.sub(r"\\\1", printable(text))


def markdown_of(document: Document) -> str:
    """Return a table in Markdown.

    >>> print(markdown_of(Document("Staff", {"job": ["chef"], "n": [1200]}, ["made up"])), end="")
    **Staff**
    <BLANKLINE>
    | job | n |
    |---|--:|
    | chef | 1,200 |
    <BLANKLINE>
    - made up
    """
    marks = ["--:" if document.is_number(name) else "---" for name in document.columns]
    lines = [f"**{markdown_text(document.title)}**", "", _row(document.heads), f"|{'|'.join(marks)}|"]
    lines += [_row(row) for row in document.rows]
    lines += ["", *(f"- {markdown_text(note)}" for note in document.notes)] if document.notes else []
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(map(markdown_text, cells))} |"
