"""Constants in SQL: NULL of each kind, moments, and what is the same for all records."""

from __future__ import annotations

from datetime import datetime

from prdp.engines._guards import UNKNOWN
from prdp.expressions.evaluate import evaluate
from prdp.expressions.nodes import Node
from prdp.expressions.spelling import text_literal
from prdp.schema import Kind

NULLS = {
    Kind.NUMBER: UNKNOWN,
    Kind.TEXT: "CAST(NULL AS VARCHAR)",
    Kind.BOOLEAN: "CAST(NULL AS BOOLEAN)",
    Kind.MOMENT: "CAST(NULL AS TIMESTAMP)",
}
"""The unknown value of each kind."""


def moment_sql(value: datetime) -> str:
    """Return a moment."""
    return f"TIMESTAMP '{value.isoformat(sep=' ')}'"


def constant_value(node: Node, kind: Kind) -> str:
    """Return the text, moment or truth value of an expression that reads no column."""
    match evaluate(node, {}):
        case bool(value):
            return str(value).upper()
        case str(value):
            return text_literal(value)
        case datetime() as value:
            return moment_sql(value)
        case _:
            return NULLS[kind]
