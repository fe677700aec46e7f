"""PostgreSQL's dialect: where it differs from DuckDB, from version 14 on.

A session that runs this has standard strings, ISO dates and the time zone UTC (``session``), and
its tables have texts in the collation C, and numbers without NaN but for doubles (``catalog``).
"""

from __future__ import annotations

from sqlglot import exp

from prdp.engines.postgres import doubles, values
from prdp.engines.postgres.doubles import NAME
from prdp.engines.postgres.values import call, operand, rule_from
from prdp.engines.statements.translate import (
    Dialect,
    counts_from_one,
    form,
    named_subquery,
    replaced_columns,
)

_TYPES = {"INT128": exp.DType.DECIMAL, "TINYINT": exp.DType.INT, "TIMESTAMPNTZ": exp.DType.TIMESTAMP}


def _type(node: exp.Expression) -> exp.Expression:
    """Say a type: wide numbers are NUMERIC, and there is none of 8 bits."""
    return exp.DataType(this=_TYPES[node.this.name]) if node.this.name in _TYPES else node


def _quotient(node: exp.Expression) -> exp.Expression:
    """Say a quotient of doubles, as it is: sqlglot would add casts, and NULL for a zero."""
    return exp.Div(this=node.this.copy(), expression=node.expression.copy(), typed=True, safe=False)


def _element(node: exp.Expression) -> exp.Expression:
    """Say an element of a list, counted from one; of a list that a lambda is applied to, what that gives."""
    (place,) = node.expressions
    if isinstance(node.this, exp.Transform):
        return _computed_once(node.this)
    shifted = place.copy() if counts_from_one(place) else form("a + 1", NAME, a=place)
    return exp.Bracket(this=node.this.copy(), expressions=[shifted], offset=1)


def _array(node: exp.Expression) -> exp.Expression:
    """Say a list; a subquery in it is one element, which sqlglot would take for the rows of all of them."""
    listed = (
        exp.Coalesce(this=one.copy()) if isinstance(one.unnest(), exp.Query) else one.copy()
        for one in node.expressions
    )
    return exp.Array(expressions=list(listed))


def _computed_once(node: exp.Expression) -> exp.Expression:
    (operands,) = node.this.expressions
    (name,) = node.expression.expressions
    return form(
        f"(SELECT body FROM (SELECT a AS {name.name} OFFSET '0') AS once)",
        NAME,
        body=node.expression.this,
        a=operands,
    )


def _rows_of(node: exp.Expression) -> exp.Expression:
    """Say the elements of a list as rows; whole numbers from zero on are a series."""
    inner = node.this.this if isinstance(node.this, exp.Cast) else node.this
    if isinstance(inner, exp.GenerateSeries):
        return form("generate_series(0, n - 1)", NAME, n=inner.args["end"])
    return exp.Anonymous(this="unnest", expressions=[node.this.copy()])


def _named(node: exp.Expression) -> exp.Expression:
    """Say a subquery of a FROM clause, with the name that PostgreSQL asks for before version 16.

    What it computes at length is computed there, once: without an OFFSET PostgreSQL would copy it to each
    place that mentions it.
    """
    if not isinstance(node.parent, exp.From | exp.Join):
        return node
    named_subquery(node)
    items = node.this.selects if isinstance(node.this, exp.Select) else ()
    if not all(map(doubles.is_short, items)):
        node.this.set("offset", exp.Offset(expression=exp.Literal.string("0")))
    return node


def _join(node: exp.Expression) -> exp.Expression:
    """Say the join that finds the last start of a sorted list: by binary search in an array."""
    if node.args.get("method") != "ASOF":
        return node
    starts, places = (item.this for item in node.this.this.expressions)
    listed = form("CAST(a AS t[])", NAME, a=starts.this.expressions[0])
    listed.set("to", exp.DataType(this=exp.DType.ARRAY, expressions=[starts.to.copy()], nested=True))
    key, name = node.args["on"].this, node.this.this.expressions[1].alias
    found = form(
        f"(SELECT (p)[width_bucket(k, s)] AS {name})", NAME, p=places.expressions[0], k=key, s=listed
    )
    lateral = exp.Lateral(this=found, alias=node.this.args["alias"].copy())
    return exp.Join(this=lateral, side="LEFT", on=exp.true())


def _select(node: exp.Expression) -> exp.Expression:
    replaced_columns(node)
    return node


_MOMENT_PARTS = {
    **{name: name.lower() for name in ("Year", "Quarter", "Month", "Week", "Day", "Hour", "Minute")},
    "DayOfWeek": "dow",
    "DayOfWeekIso": "isodow",
    "DayOfYear": "doy",
}

POSTGRES = Dialect(
    NAME,
    rules={
        **{name: rule_from(f"CAST(extract({part} FROM a) AS INT)") for name, part in _MOMENT_PARTS.items()},
        "Array": _array,
        "Bracket": _element,
        "Cast": values.cast,
        "Collate": values.collated,
        "Contains": lambda node: form("strpos(a, b) > 0", NAME, a=node.this, b=node.expression),
        "DataType": _type,
        "Div": _quotient,
        "Encode": values.as_bytes,
        "EndsWith": lambda node: form("right(a, length(b)) = b", NAME, a=node.this, b=node.expression),
        "Exp": doubles.exponential,
        "Explode": _rows_of,
        "IntDiv": values.whole_quotient,
        "IsNan": rule_from("(a) = CAST('NaN' AS DOUBLE PRECISION)"),
        "Join": _join,
        "Literal": doubles.literal,
        "Log": doubles.logarithm,
        "Lower": values.lower,
        "Mod": doubles.remainder,
        "Pow": doubles.power,
        "RegexpFullMatch": values.full_match,
        "RegexpReplace": values.number_text,
        "Round": doubles.half_away,
        "Second": rule_from("CAST(floor(extract(second FROM a)) AS INT)"),
        "Select": _select,
        "Split": lambda node: call(node, "string_to_array", "this", "expression"),
        "Subquery": _named,
        "Substring": values.substring,
        "TimeToStr": rule_from("to_char(a, 'YYYY-MM-DD')"),
        "Trim": values.trim,
        "TryCast": values.try_cast,
        "UnixToTime": values.from_microseconds,
        "Upper": values.upper,
        "epoch_us": values.epoch_us,
        "round_even": lambda node: exp.Anonymous(this="round", expressions=[operand(node).copy()]),
        "strlen": lambda node: form("CAST(octet_length(a) AS BIGINT)", NAME, a=operand(node)),
        "to_months": lambda node: form("make_interval(0, a)", NAME, a=operand(node)),
    },
    shared=frozenset(
        {
            *("Abs", "Add", "Alias", "And", "Between", "Boolean", "CTE", "Case", "Ceil", "Coalesce"),
            *(
                "Column",
                "ConcatWs",
                "Count",
                "DPipe",
                "DataTypeParam",
                "Distinct",
                "EQ",
                "Filter",
                "Floor",
                "From",
                "GT",
                "GTE",
            ),
            *("GenerateSeries", "Greatest", "Group", "Having", "Identifier", "If", "In", "Is", "LT", "LTE"),
            *("Lambda", "Least", "Length", "Limit", "Ln", "MD5", "Max", "Min", "Mul", "NEQ", "Neg", "Not"),
            *(
                "Null",
                "Or",
                "Order",
                "Ordered",
                "Paren",
                "RowNumber",
                "Sqrt",
                "Star",
                "StartsWith",
                "Sub",
                "TimestampTrunc",
            ),
            *(
                "Sum",
                "Table",
                "TableAlias",
                "Transform",
                "Union",
                "Var",
                "Where",
                "Window",
                "With",
                "isfinite",
            ),
        }
    ),
)
"""Nodes that sqlglot writes for PostgreSQL as they are meant."""
