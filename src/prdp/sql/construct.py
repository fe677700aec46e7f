"""A construct of SQL: what the tree calls it, the small function that reads it, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prdp.errors import Words


@dataclass(frozen=True, slots=True)
class Construct:
    """One row of the table of what is read.

    Attributes:
        node: The class of sqlglot's tree.
        rule: The function that reads it; None where it is refused.
        reads: The parts of the node that the rule reads. A node with another part is refused, so that
            nothing of a statement is ever passed over.
        shown: How it is written, in the table of the docs.
        example: A statement that has it.
        note: What is said of it; of a refusal, the reason.
        instead: What works in place of something refused.
    """

    node: str
    rule: Callable[..., Any] | None
    reads: tuple[str, ...]
    shown: str
    example: str
    note: str = ""
    instead: Words = ""


HARMLESS = frozenset({"big_int", "nested", "_type", "quoted", "is_string"})
"""Parts of a node that say nothing more than its class and its value do."""


def unread(node: Any, reads: tuple[str, ...]) -> Any | None:
    """Return a part of a node that no rule reads, or the name of a flag; None where all are read."""
    for name, part in node.args.items():
        if part in (None, False, [], ()) or name in reads or name in HARMLESS:
            continue
        return part[0] if isinstance(part, list) else part
    return None
