"""Write parts of a statement in the row language, and check what was written; errors point at the statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from prdp.errors import ExpressionError, SqlError
from prdp.expressions.check import checked_kind
from prdp.expressions.nodes import Node, canonical
from prdp.expressions.parse import MOST_CHARACTERS, parse
from prdp.schema import Kind, Schema
from prdp.sql.construct import unread
from prdp.sql.reading import Statement, span_of
from prdp.sql.refused import refuse_construct
from prdp.sql.rows import ROWS
from prdp.sql.written import OR, Written

_RULES = {construct.node: construct for construct in ROWS}
_MOST_LEVELS = 150

Special = Callable[[Any], Written | None]
"""Writes what only a certain place of a statement has, such as columns or aggregates; None for all else."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked expression of the row language.

    Attributes:
        text: Its canonical text.
        node: Its tree.
        kind: What it gives; None where that is NULL alone.
        source: The part of the statement that it was written for.
    """

    text: str
    node: Node
    kind: Kind | None
    source: Any


@dataclass(slots=True)
class Writer:
    """Writes expressions by the rules of rows; ``special`` comes first."""

    statement: Statement
    special: Special
    _level: int = field(default=0)

    def write(self, node: Any, tightest: int = OR) -> Written:
        """Return a part's text, in parentheses if it binds less tightly than its place asks."""
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise SqlError(self.statement.text, (0, 1), "this nests too deep", "Write it flatter.")
        written = self.special(node)
        if written is None:
            construct = _RULES.get(type(node).__name__)
            if construct is None or construct.rule is None:
                refuse_construct(self.statement, node)
            odd = unread(node, construct.reads)
            if odd is not None:
                self.refuse(node, "this has a part that is not read")
            written = construct.rule(self, node)
        if len(written.text) > MOST_CHARACTERS:
            self.refuse(node, f"written out, this has more than {MOST_CHARACTERS:,} characters")
        self._level -= 1
        return written.within(tightest).placed(self._span(node))

    def refuse(self, node: Any, reason: str, advice: str = "") -> NoReturn:
        """Refuse a part of the statement, underlined."""
        self.statement.refuse(node, reason, advice)

    def _span(self, node: Any) -> tuple[int, int]:
        if "start" in node.meta:
            return node.meta["start"], node.meta["end"] + 1
        children = [part.meta for part in node.iter_expressions() if "start" in part.meta]
        if children:
            return min(part["start"] for part in children), max(part["end"] for part in children) + 1
        return _WIDE

    def checked(self, node: Any, schema: Schema, expected: Kind | None = None) -> Checked:
        """Return a part of the statement as a checked expression over columns, or refuse it."""
        return self.check(self.write(node), node, schema, expected)

    def check(self, written: Written, node: Any, schema: Schema, expected: Kind | None = None) -> Checked:
        """Return what was written as a checked expression, or refuse the part that is wrong."""
        try:
            tree, kind = checked_kind(parse(written.text), schema, written.text)
        except ExpressionError as wrong:
            found = written.span_at(*wrong.span)
            span = span_of(node, self.statement.text) if found in {None, _WIDE} else found
            raise SqlError(self.statement.text, span or (0, 1), wrong.reason, wrong.advice) from None
        if expected is not None and kind not in {None, expected}:
            self.refuse(node, f"this is a {kind.value}, and a {expected.value} is needed here")
        return Checked(canonical(tree), tree, kind, node)


_WIDE = (-1, -1)
"""Stands for a part whose place is not known without a walk: it is found when something is wrong."""
