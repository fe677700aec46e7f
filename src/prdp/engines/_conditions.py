"""What a condition tells of a record: whether it is always decided, and which columns then have a value."""

from __future__ import annotations

from prdp.expressions.nodes import Among, And, Boolean, Column, Compare, IsNull, IsTrue, Node, Not, Or


def is_decided(condition: Node) -> bool:
    """Return whether a condition is never unknown."""
    match condition:
        case IsNull() | IsTrue() | Boolean():
            return True
        case Not():
            return is_decided(condition.operand)
        case And() | Or():
            return all(map(is_decided, condition.parts))
        case _:
            return False


def columns_with_values(condition: Node, *, holds: bool) -> frozenset[str]:
    """Return columns that must have a value for a condition to hold, or to fail."""
    match condition:
        case Not():
            return columns_with_values(condition.operand, holds=not holds)
        case IsTrue() if holds:
            return columns_with_values(condition.operand, holds=True)
        case And() | Or() if isinstance(condition, And) is holds:
            return frozenset().union(*(columns_with_values(part, holds=holds) for part in condition.parts))
        case Compare():
            sides = (condition.left, condition.right)
            return frozenset(side.name for side in sides if isinstance(side, Column))
        case Among(operand=Column() as column):
            return frozenset((column.name,))
        case _:
            return frozenset()
