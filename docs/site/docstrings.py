"""Docstrings as Markdown: doctests become blocks of code, and pages that are named become links."""

from __future__ import annotations

import re
from typing import Any

import griffe

_OPTION = re.compile(r" *# doctest: .*$")
_PAGE = re.compile(r"(?<![\w/(`])(docs|proofs)/(\w+)\.md")


class Doctests(griffe.Extension):
    """Rewrites the text of each docstring when it is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Return a docstring with its doctests in fences and its pages linked."""
    lines: list[str] = []
    indent: str | None = None
    for line in text.splitlines():
        begins = re.match(r"( *)>>> ", line)
        if begins and indent is None:
            indent = begins[1]
            lines.append(f"{indent}```pycon")
        elif indent is not None and not line.strip():
            lines.append(f"{indent}```")
            indent = None
        lines.append(_linked(line) if indent is None else _OPTION.sub("", line))
    if indent is not None:
        lines.append(f"{indent}```")
    return "\n".join(lines)


def _linked(line: str) -> str:
    return _PAGE.sub(lambda page: f"[{page[0]}](../{'proofs/' * (page[1] == 'proofs')}{page[2]}.html)", line)
