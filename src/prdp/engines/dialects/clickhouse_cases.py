"""CASE in ClickHouse, where a number that may be NULL costs half as much again as one that may not."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from prdp.engines.dialects.clickhouse_moments import MOMENT_RULES
from prdp.engines.dialects.translate import Rule

_NEVER_NULL = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Literal, exp.Identifier)
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def decided_case(known: Collection[str]) -> Rule:
    """Return the rule of CASE for a table of whose columns some are known to have no NULL.

    ``WHEN c THEN a WHEN NOT c THEN b`` is NULL where c is. Where c cannot be, b is what is left: ELSE.
    """

    def case(node: exp.Expression) -> exp.Expression:
        *before, last = node.args["ifs"]
        opposite = before and not node.args.get("default") and _is_opposite(last.this, before[-1].this)
        if opposite and _is_decided(last.this, known):
            node.set("ifs", before)
            node.set("default", last.args["true"])
        return MOMENT_RULES["Case"](node)

    return case


def _is_opposite(condition: exp.Expression, of: exp.Expression) -> bool:
    return isinstance(condition, exp.Not) and bool(condition.this.unnest() == of.unnest())


def _is_decided(condition: exp.Expression, known: Collection[str]) -> bool:
    """Return whether a condition compares columns that have no NULL with constants, and nothing else."""
    for part in condition.walk():
        match part:
            case exp.Column():
                if part.name not in known or not part.this.quoted:
                    return False
            case exp.Anonymous():
                if part.name != "toInt64" or not all(
                    isinstance(one, exp.Literal) for one in part.expressions
                ):
                    return False
            case _ if not isinstance(part, (*_NEVER_NULL, *_COMPARED)):
                return False
    return True
