"""PostgreSQL's dialect: where it differs from DuckDB, from version 14 on.

A session that runs this has standard strings, ISO dates and the time zone UTC (``session``), and
its tables have texts in the collation C, and numbers without NaN but for doubles (``catalog``).
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from prdp.engines.postgres.doubles import (
    NAME,
    doubles,
    exponential,
    guarded,
    half_away,
    is_short,
    logarithm,
    once,
    power,
    remainder,
)
from prdp.engines.postgres.doubles import literal as number_literal
from prdp.engines.statements.translate import (
    Dialect,
    Rule,
    counts_from_one,
    form,
    named_subquery,
    of_whole_numbers,
    replaced_columns,
)
from prdp.expressions.texts import CAPITALS, SMALL_LETTERS

_ANY_TEXT = r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"
"""Pattern by which statements test whether a text is UTF-8, which every text of a UTF-8 database is."""

_ANY_CHARACTER = "(?s)"
"""RE2's flag for a point that matches the end of a line too, which is PostgreSQL's default."""

_LONGEST_NUMBER = 1_000
"""Longest text that is read as a number: a double holds no more, and NUMERIC not many more."""

_DAY = 86_400_000_000
"""Microseconds."""


def rule_from(template: str) -> Rule:
    """Return the rule that says a function of one operand, ``a``, by a template."""
    return lambda node: form(template, NAME, a=node.this)


def call(node: exp.Expression, name: str, *args: str) -> exp.Expression:
    """Return a call of a function with some of a node's operands."""
    return exp.Anonymous(this=name, expressions=[node.args[arg].copy() for arg in args])


def operand(node: exp.Expression, place: int = 0) -> exp.Expression:
    """Return an operand of a function that sqlglot does not know."""
    found: exp.Expression = node.expressions[place]
    return found


def collated(node: exp.Expression) -> exp.Expression:
    """Write a comparison of texts by code point."""
    return exp.Collate(this=node.this.copy(), expression=exp.to_identifier("C", quoted=True))


def as_bytes(node: exp.Expression) -> exp.Expression:
    """Write the bytes of a text: the text itself, which collation C compares by its bytes.

    BYTEA would have neither min() nor max() before PostgreSQL 18.
    """
    return form('(CAST(a AS TEXT)) COLLATE "C"', NAME, a=node.this)


def _cased(function: str, table: Mapping[int, int]) -> Rule:
    """Return the rule for upper or lower case: PostgreSQL's own for ASCII, else by prdp's table."""
    from_, to = "".join(map(chr, table)), "".join(map(chr, table.values()))
    template = (
        f'CASE WHEN octet_length(a) = length(a) THEN {function}((a) COLLATE "C") '
        f"ELSE translate(a, '{from_}', '{to}') END"
    )
    return lambda node: once(template, a=node.this)


lower, upper = _cased("lower", SMALL_LETTERS), _cased("upper", CAPITALS)


def trim(node: exp.Expression) -> exp.Expression:
    """Write TRIM of given characters."""
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "btrim")
    return call(node, name, "this", "expression")


def substring(node: exp.Expression) -> exp.Expression:
    """Write SUBSTRING; a negative position counts from the end."""
    length = node.args.get("length")
    if length is not None:  # always from the first character
        return form("left(a, CAST(n AS INT))", NAME, a=node.this, n=length)
    return once(
        "CASE WHEN p < 0 THEN right(t, CAST(- p AS INT)) ELSE substr(t, CAST(p AS INT)) END",
        t=node.this,
        p=node.args["start"],
    )


def full_match(node: exp.Expression) -> exp.Expression:
    """Return whether the whole of a text fits a pattern."""
    pattern = node.expression.name
    if pattern == _ANY_TEXT:
        return form("a IS NOT NULL", NAME, a=node.this)
    whole = exp.Literal.string(f"^(?:{pattern.removeprefix(_ANY_CHARACTER)})$")
    return exp.RegexpLike(this=exp.Paren(this=node.this.copy()), expression=whole)


def number_text(node: exp.Expression) -> exp.Expression:
    """Write a number as its shortest text; PostgreSQL's has an exponent from 1e15 on, DuckDB's from 1e16."""
    return once(_NUMBER_TEXT, a=node.this.this)


_NUMBER_TEXT = doubles(
    "CASE WHEN a = inf THEN 'inf' WHEN a = - inf THEN '-inf' "
    "WHEN abs(a) >= 1000000000000000 AND abs(a) < 10000000000000000 "
    "THEN CAST(CAST(CAST(a AS TEXT) AS DECIMAL) AS TEXT) ELSE CAST(a AS TEXT) END"
)


def epoch_us(node: exp.Expression) -> exp.Expression:
    """Write microseconds since 1970; unknown where they are no BIGINT, as for infinity."""
    template = (
        "CASE WHEN a BETWEEN TIMESTAMP '4713-01-01 BC' AND TIMESTAMP '294246-12-31' "
        "THEN CAST(extract(epoch FROM a) * 1000000 AS BIGINT) END"
    )
    found = once(template, a=operand(node))
    found.type = exp.DataType(this=exp.DType.BIGINT)
    return found


def from_microseconds(node: exp.Expression) -> exp.Expression:
    """Write a datetime by its microseconds since 1970: days apart, as intervals count in doubles."""
    template = (
        f"TIMESTAMP '1970-01-01' + (a / {_DAY}) * INTERVAL '1 day' + (a % {_DAY}) * INTERVAL '1 microsecond'"
    )
    return exp.Paren(this=once(template, a=node.this))


def whole_quotient(node: exp.Expression) -> exp.Expression:
    """Write an integer quotient of numbers of any size."""
    found = form("div(CAST(a AS DECIMAL), CAST(b AS DECIMAL))", NAME, a=node.this, b=node.expression)
    found.type = exp.DataType(this=exp.DType.BIGINT)
    return found


def cast(node: exp.Expression) -> exp.Expression:
    """Write a cast; around an operation on doubles it marks that the result may overflow."""
    inner = node.this
    arithmetic = isinstance(inner, exp.Add | exp.Sub | exp.Mul | exp.Div)
    if not (node.to.this == exp.DType.DOUBLE and arithmetic and not of_whole_numbers(inner)):
        return node
    return exp.Paren(this=guarded(inner))


def try_cast(node: exp.Expression) -> exp.Expression:
    """Write a cast that gives NULL where there is no such value."""
    if node.to.this == exp.DType.BIGINT:
        return once(_WHOLE, a=node.this)
    is_text = isinstance(node.this, exp.Anonymous)  # spaces were cut off
    if node.to.this == exp.DType.DOUBLE:
        return once(_NUMBER, a=node.this)
    return once(_MOMENT if is_text else _DATE, a=node.this)


_WHOLE = f"CASE WHEN a >= {-(2**63)} THEN CASE WHEN a < {2**63} THEN CAST(a AS BIGINT) END END"
_DATE = (
    "CASE WHEN a = CAST('infinity' AS DATE) THEN CAST('infinity' AS TIMESTAMP) "
    "WHEN a <= CAST('294246-12-31' AS DATE) THEN CAST(a AS TIMESTAMP) END"
)
_MONTH, _DAY_OF = "CAST(substr(a, 6, 2) AS INT)", "CAST(substr(a, 9, 2) AS INT)"
_YEAR = "CAST(substr(a, 1, 4) AS INT)"
_MOMENT = (
    f"CASE WHEN {_MONTH} BETWEEN 1 AND 12 THEN CASE WHEN {_DAY_OF} BETWEEN 1 AND CASE {_MONTH} "
    "WHEN 4 THEN 30 WHEN 6 THEN 30 WHEN 9 THEN 30 WHEN 11 THEN 30 WHEN 2 THEN 28 + "
    f"CASE WHEN {_YEAR} % 4 = 0 AND ({_YEAR} % 100 <> 0 OR {_YEAR} % 400 = 0) THEN 1 ELSE 0 END "
    "ELSE 31 END THEN CAST(a AS TIMESTAMP) END END"
)
"""A text of the right form is a moment if its month has that day."""

_EXPONENT = "coalesce(substring(a from '[eE][+-]?0*([0-9]*)$'), '')"
_DOWN = "a LIKE '%e-%' OR a LIKE '%E-%'"
_SIGN = "a LIKE '-%'"
_DECIMAL = "CAST(a AS DECIMAL)"
_BEYOND, _NOTHING = str(2**1024 - 2**970), f"{5**1075}e-1075"
_NUMBER = doubles(
    f"CASE WHEN length(a) > {_LONGEST_NUMBER} THEN NULL "
    f"WHEN NOT split_part(lower(a), 'e', 1) ~ '[1-9]' THEN 0 "
    f"WHEN length({_EXPONENT}) > 4 THEN CASE WHEN {_DOWN} THEN 0 WHEN {_SIGN} THEN - inf ELSE inf END "
    f"WHEN abs({_DECIMAL}) >= CAST('{_BEYOND}' AS DECIMAL) THEN CASE WHEN {_SIGN} THEN - inf ELSE inf END "
    f"WHEN abs({_DECIMAL}) <= CAST('{_NOTHING}' AS DECIMAL) THEN 0 "
    f"ELSE CAST({_DECIMAL} AS DOUBLE PRECISION) END"
)
"""A text of the right form is a number; one that no NUMERIC can be has an exponent of five digits or more."""


_TYPES = {"INT128": exp.DType.DECIMAL, "TINYINT": exp.DType.INT, "TIMESTAMPNTZ": exp.DType.TIMESTAMP}


def _type(node: exp.Expression) -> exp.Expression:
    """Write a type: wide numbers are NUMERIC, and there is none of 8 bits."""
    return exp.DataType(this=_TYPES[node.this.name]) if node.this.name in _TYPES else node


def _quotient(node: exp.Expression) -> exp.Expression:
    """Write a quotient of doubles as it is: sqlglot would add casts, and NULL for a zero."""
    return exp.Div(this=node.this.copy(), expression=node.expression.copy(), typed=True, safe=False)


def _element(node: exp.Expression) -> exp.Expression:
    """Write an element of a list, counted from one; of a list comprehension, its result."""
    (place,) = node.expressions
    if isinstance(node.this, exp.Transform):
        return _computed_once(node.this)
    shifted = place.copy() if counts_from_one(place) else form("a + 1", NAME, a=place)
    return exp.Bracket(this=node.this.copy(), expressions=[shifted], offset=1)


def _array(node: exp.Expression) -> exp.Expression:
    """Write a list; a subquery in it is one element, which sqlglot would expand to rows."""
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
    """Write the elements of a list as rows; integers from zero on are a series."""
    inner = node.this.this if isinstance(node.this, exp.Cast) else node.this
    if isinstance(inner, exp.GenerateSeries):
        return form("generate_series(0, n - 1)", NAME, n=inner.args["end"])
    return exp.Anonymous(this="unnest", expressions=[node.this.copy()])


def _named(node: exp.Expression) -> exp.Expression:
    """Write a subquery of a FROM clause, with the alias that PostgreSQL needs before version 16.

    What it computes at length is computed there, once: without an OFFSET PostgreSQL would copy it to each
    place that mentions it.
    """
    if not isinstance(node.parent, exp.From | exp.Join):
        return node
    named_subquery(node)
    items = node.this.selects if isinstance(node.this, exp.Select) else ()
    if not all(map(is_short, items)):
        node.this.set("offset", exp.Offset(expression=exp.Literal.string("0")))
    return node


def _join(node: exp.Expression) -> exp.Expression:
    """Write the join that finds the last start of a sorted list: by binary search in an array."""
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
        "Cast": cast,
        "Collate": collated,
        "Contains": lambda node: form("strpos(a, b) > 0", NAME, a=node.this, b=node.expression),
        "DataType": _type,
        "Div": _quotient,
        "Encode": as_bytes,
        "EndsWith": lambda node: form("right(a, length(b)) = b", NAME, a=node.this, b=node.expression),
        "Exp": exponential,
        "Explode": _rows_of,
        "IntDiv": whole_quotient,
        "IsNan": rule_from("(a) = CAST('NaN' AS DOUBLE PRECISION)"),
        "Join": _join,
        "Literal": number_literal,
        "Log": logarithm,
        "Lower": lower,
        "Mod": remainder,
        "Pow": power,
        "RegexpFullMatch": full_match,
        "RegexpReplace": number_text,
        "Round": half_away,
        "Second": rule_from("CAST(floor(extract(second FROM a)) AS INT)"),
        "Select": _select,
        "Split": lambda node: call(node, "string_to_array", "this", "expression"),
        "Subquery": _named,
        "Substring": substring,
        "TimeToStr": rule_from("to_char(a, 'YYYY-MM-DD')"),
        "Trim": trim,
        "TryCast": try_cast,
        "UnixToTime": from_microseconds,
        "Upper": upper,
        "epoch_us": epoch_us,
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
                "DenseRank",
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
