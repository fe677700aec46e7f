"""MariaDB's dialect: where it differs from DuckDB, from version 10.6 on.

Divisions are of doubles: of whole numbers, MariaDB's ``20000 / 3`` is 6666.6667, which would be a budget
rounded up. It has no word for upper and lower case as prdp means them, nor for a value that is computed once
within an expression, nor for a search in many bins: such questions are refused.
"""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from prdp.engines.mariadb.doubles import DOUBLES, NAME
from prdp.engines.mariadb.doubles import literal as number_literal
from prdp.engines.mariadb.values import VALUES
from prdp.engines.mariadb.values import literal as text_literal
from prdp.engines.statements.translate import Dialect, named_subquery
from prdp.errors import InvalidRequest


def _literal(node: exp.Expression) -> exp.Expression:
    return text_literal(node) if node.is_string else number_literal(node)


def _quoted(node: exp.Expression) -> exp.Expression:
    """Quote every name: some of ours are words of MariaDB's own."""
    node.set("quoted", True)
    return node


def _join(node: exp.Expression) -> exp.Expression:
    """Say a join; there is none by the last start that is at most a key, which many bins take."""
    if node.args.get("method"):
        raise InvalidRequest("MariaDB has no word for a search in so many bins, which this question needs.")
    return node


def _common_table(node: exp.Expression) -> exp.Expression:
    node.set("materialized", None)
    return node


MARIADB = Dialect(
    NAME,
    rules={
        **DOUBLES,
        **VALUES,
        "CTE": _common_table,
        "Identifier": _quoted,
        "Join": _join,
        "Literal": _literal,
        "Subquery": partial(named_subquery, quoted=True),
    },
    shared=frozenset(
        {
            *("Abs", "Alias", "And", "Array", "Between", "Boolean", "Case", "Ceil", "Coalesce", "Column"),
            *(
                "Count",
                "DataType",
                "DataTypeParam",
                "Distinct",
                "EQ",
                "Explode",
                "Floor",
                "From",
                "GT",
                "GTE",
            ),
            *(
                "GenerateSeries",
                "Greatest",
                "Group",
                "Having",
                "If",
                "In",
                "Is",
                "LT",
                "LTE",
                "Least",
                "Limit",
            ),
            *("Max", "Min", "NEQ", "Neg", "Not", "Null", "Or", "Order", "Ordered", "Paren", "RowNumber"),
            *(
                "Split",
                "Star",
                "Sum",
                "Table",
                "TableAlias",
                "Union",
                "Var",
                "Where",
                "Window",
                "With",
            ),
            "to_months",
        }
    ),
    title="MariaDB",
)
"""Nodes that sqlglot writes for MariaDB as they are meant."""
