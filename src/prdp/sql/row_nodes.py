"""Read parts of a statement as nodes of the row language and check them; errors point at the statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NoReturn

from prdp.errors import ExpressionError, SqlError, Words
from prdp.expressions.check import checked_kind
from prdp.expressions.nodes import (
    MAX_CONSTANTS,
    MAX_NODES,
    Column,
    Node,
    Span,
    canonical,
    children,
    too_large,
    walk,
)
from prdp.expressions.parse import hull, parse
from prdp.expressions.tokens import MAX_NESTING
from prdp.schema import Kind, Schema
from prdp.sql.reading import SqlStatement, span_of
from prdp.sql.refused import refuse_construct, unread
from prdp.sql.rows import ROW_FUNCTIONS, ROWS

_RULES = {construct.node: construct for construct in (*ROWS, *ROW_FUNCTIONS)}
_REPEATING = frozenset({"Between", "Case"})
"""Constructs whose nodes hold a part of the statement several times, so that nested ones double."""

_MAX_LEVELS = 150
_MAX_WRITTEN_OUT = MAX_NODES + MAX_CONSTANTS

Special = Callable[[Any], Node | None]
"""Reads what only a certain place of a statement has, such as columns or aggregates; None for all else."""


def nothing_special(_part: Any) -> Node | None:
    """Leave every part to the rules of rows."""
    return None


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """A checked expression of the row language.

    Attributes:
        node: Its tree.
        kind: What it gives; None where that is NULL alone.
        source: The part of the statement that it was read from.
    """

    node: Node
    kind: Kind | None
    source: Any

    @property
    def text(self) -> str:
        """Its canonical text."""
        return canonical(self.node)


@dataclass(slots=True)
class NodeReader:
    """Reads one expression by the rules of rows; ``special`` comes first."""

    statement: SqlStatement
    special: Special
    _level: int = field(default=0)
    _written_out: int = field(default=0)

    def read(self, part: Any) -> Node:
        """Return the node of a part, with its place in the statement, or refuse it."""
        self._level += 1
        if self._level > _MAX_LEVELS:
            raise SqlError(self.statement.text, (0, 1), "this nests too deep", "Write it flatter.")
        node = self.special(part)
        if node is None:
            node = self._by_rule(part)
        elif not isinstance(node, Column):
            self._written_out += sum(1 for _ in islice(walk(node), _MAX_WRITTEN_OUT))
        if self._written_out >= _MAX_WRITTEN_OUT:
            self._refuse_large(part)
        self._level -= 1
        span = self.span(part) or node.span or hull(child.span for child in children(node))
        return node if span == node.span else replace(node, span=span)

    def _by_rule(self, part: Any) -> Node:
        construct = _RULES.get(type(part).__name__)
        if construct is None or construct.rule is None:
            refuse_construct(self.statement, part)
        if unread(part, construct.reads) is not None:
            self.refuse(part, "this has a part that is not read")
        node: Node = construct.rule(self, part)
        if construct.node in _REPEATING and too_large(node):
            self._refuse_large(part)
        return node

    def span(self, part: Any) -> Span | None:
        """Return where a part is in the statement; None where that is not known without a walk."""
        if "start" in part.meta:
            return part.meta["start"], part.meta["end"] + 1
        places = [child.meta for child in part.iter_expressions() if "start" in child.meta]
        return hull((place["start"], place["end"] + 1) for place in places)

    def refuse(self, part: Any, reason: Words, advice: Words = "") -> NoReturn:
        """Refuse a part of the statement, underlined."""
        self.statement.refuse(part, reason, advice)

    def _refuse_large(self, part: Any) -> NoReturn:
        self.refuse(part, "this says too much, or nests too deep", "Write it shorter.")

    def _refuse_unless_writable(self, node: Node, part: Any) -> None:
        """Refuse a deep tree, put together from subqueries, unless its text could be given as a filter."""
        if too_large(node):
            self._refuse_large(part)
        try:
            parse(canonical(node))
        except ExpressionError as wrong:
            self.refuse(part, wrong.reason, wrong.advice)

    def checked(self, part: Any, schema: Schema, expected: Kind | None = None) -> CheckedNode:
        """Return a part of the statement as a checked expression over columns, or refuse it."""
        return self.check(self.read(part), part, schema, expected)

    def check(self, node: Node, part: Any, schema: Schema, expected: Kind | None = None) -> CheckedNode:
        """Return a node as a checked expression, or refuse the part of the statement that is wrong."""
        text = self.statement.text
        if too_large(node, MAX_NESTING):
            self._refuse_unless_writable(node, part)
        try:
            tree, kind = checked_kind(node, schema, text)
        except ExpressionError as wrong:
            span = span_of(part, text) if wrong.span == (0, len(text)) else wrong.span
            raise SqlError(text, span, wrong.reason, wrong.advice) from None
        if expected is not None and kind not in {None, expected}:
            self.refuse(part, f"this is a {kind.value}, and a {expected.value} is needed here")
        return CheckedNode(tree, kind, part)
