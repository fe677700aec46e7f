"""MariaDB's dialect: where it differs from DuckDB, from version 10.6 on.

Divisions are of doubles: of whole numbers, MariaDB's ``20000 / 3`` is 6666.6667, which would be a budget
rounded up. It has no word for upper and lower case as prdp means them, nor for a value that is computed once
within an expression, nor for a search in many bins: such questions are refused.

A session that runs this has utf8mb4 and the collation utf8mb4_nopad_bin, so that texts are compared by code
point and blanks count, and the time zone UTC. Its tables' texts are converted to that (``catalog``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import zip_longest

from sqlglot import exp

from prdp.engines.mariadb.doubles import (
    DOUBLES,
    NAME,
    doubles,
    guarded,
    number,
    operand,
    operation,
    rule_from,
)
from prdp.engines.mariadb.doubles import literal as number_literal
from prdp.engines.statements.translate import (
    Dialect,
    Rule,
    counts_from_one,
    form,
    named_subquery,
    of_whole_numbers,
    raw,
    replaced_columns,
    unmaterialized,
)
from prdp.errors import InvalidRequest

WIDE = "DECIMAL(65, 0)"
_WHOLE = {"BIGINT", "INT", "SMALLINT", "TINYINT", "BOOLEAN"}
_WIDER = {"INT128": WIDE, **dict.fromkeys(("UTINYINT", "USMALLINT", "UINT", "UBIGINT"), "DECIMAL(20, 0)")}
_MOMENTS = {"TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"}
_ANY_TEXT = r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"
"""Pattern by which statements test whether a text is UTF-8, which every text of MariaDB is."""

_ANY_CHARACTER = "(?s)"
"""Prefix of the patterns that are made of LIKE."""


def text_of(value: str) -> str:
    """Return a text as SQL in which no setting changes a character."""
    if value.isascii() and value.isprintable() and not set(value) & set("'\\"):
        return f"'{value}'"
    return f"CONVERT(X'{value.encode().hex()}' USING utf8mb4) COLLATE utf8mb4_nopad_bin"


def literal(node: exp.Expression) -> exp.Expression:
    """Write a text literal."""
    return exp.Paren(this=raw(text_of(node.name))) if text_of(node.name)[0] != "'" else node


def cast(node: exp.Expression) -> exp.Expression:  # noqa: C901, PLR0911  (one return a type)
    """Write a cast; around an operation on doubles it marks a result that may overflow."""
    target, inner = node.to.this.name, node.this.unnest()
    if target == "DOUBLE":
        if node.this.is_string:
            value = float(node.this.name)
            return number(value) if value == value else exp.Null()  # noqa: PLR0124  (NaN)
        if isinstance(inner, exp.Add | exp.Sub | exp.Mul | exp.Div) and not of_whole_numbers(inner):
            return exp.Paren(this=guarded(inner))
        return form("CAST(a AS DOUBLE)", NAME, a=node.this)
    if target == "ARRAY":
        return node.this
    if target in _WHOLE:
        made = form("CAST(a AS SIGNED)", NAME, a=node.this)
        if target == "BOOLEAN":
            made.set("truth", True)
        return made
    if target in _WIDER:
        return form(f"CAST(a AS {_WIDER[target]})", NAME, a=node.this)
    if target == "DECIMAL":
        digits = ", ".join(part.name for part in node.to.expressions)
        return form(f"CAST(a AS DECIMAL({digits}))", NAME, a=node.this)
    if target in _MOMENTS:
        return form("CAST(a AS DATETIME(6))", NAME, a=node.this)
    if target in {"VARCHAR", "TEXT"}:
        return _text_of(node)
    raise InvalidRequest(f"MariaDB does not support a cast to {target}, which this query needs.")


def _text_of(node: exp.Expression) -> exp.Expression:
    """Write a value as text: a boolean, a datetime without trailing zeros, or as MariaDB does."""
    inner = node.this
    if isinstance(inner, exp.Cast) and inner.args.get("truth"):
        return form("CASE WHEN a THEN 'true' WHEN NOT a THEN 'false' END", NAME, a=inner)
    if isinstance(node.parent, exp.Case):  # of a moment that is no midnight
        return form(
            "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(a, '%Y-%m-%d %H:%i:%s.%f')))",
            NAME,
            a=inner,
        )
    return form("CAST(a AS CHAR)", NAME, a=inner)


def try_cast(node: exp.Expression) -> exp.Expression:
    """Write a cast that gives NULL where there is no such value."""
    target = node.to.this.name
    if target == "BIGINT":
        return exp.Paren(
            this=form(
                f"CASE WHEN a >= {-(2**63)} AND a < {2**63} THEN CAST(a AS SIGNED) END", NAME, a=node.this
            )
        )
    if target == "DOUBLE":
        return form("CAST(a AS DOUBLE)", NAME, a=node.this)
    made = "CAST(a AS DATETIME(6))"
    return exp.Paren(this=form(f"CASE WHEN {made} >= '0001-01-01' THEN {made} END", NAME, a=node.this))


_SHOWN = "CAST(ABS(a) AS CHAR)"
_DIGITS = f"TRIM(LEADING '0' FROM SUBSTRING({_SHOWN}, 3))"
_SMALL = (
    f"CONCAT(CASE WHEN a < 0 THEN '-' ELSE '' END, LEFT({_DIGITS}, 1), "
    f"CASE WHEN CHAR_LENGTH({_DIGITS}) > 1 THEN CONCAT('.', SUBSTRING({_DIGITS}, 2)) ELSE '' END, 'e-', "
    f"LPAD(CHAR_LENGTH({_SHOWN}) - 1 - CHAR_LENGTH({_DIGITS}), 2, '0'))"
)
_NUMBER_TEXT = doubles(
    "CASE WHEN a >= inf THEN 'inf' WHEN a <= - inf THEN '-inf' "
    "WHEN ABS(a) >= 10000000000000000 THEN REPLACE(CAST(a AS CHAR), 'e', 'e+') "
    "WHEN ABS(a) >= 1000000000000000 AND a = TRUNCATE(a, 0) THEN CAST(CAST(a AS DECIMAL(17, 0)) AS CHAR) "
    f"WHEN ABS(a) < 1e-4 AND {_SHOWN} LIKE '0.%' THEN {_SMALL} ELSE CAST(a AS CHAR) END"
)
"""MariaDB has exponents from 1e15 on and below 1e-15, where ours are from 1e16 on and below 1e-4."""


def number_text(node: exp.Expression) -> exp.Expression:
    """Write a number as its shortest text, with an exponent where DuckDB has one."""
    return exp.Paren(this=form(_NUMBER_TEXT, NAME, a=node.this.this))


def full_match(node: exp.Expression) -> exp.Expression:
    """Return whether the whole of a text fits a pattern: LIKE's, or one of numbers and moments."""
    pattern = _constant_text(node.expression)
    if pattern == _ANY_TEXT:
        return exp.Paren(this=form("a IS NOT NULL", NAME, a=node.this))
    if pattern.startswith(_ANY_CHARACTER):
        like = exp.Like(this=node.this.copy(), expression=raw(text_of(_as_like(pattern))))
        return exp.Paren(this=exp.Escape(this=like, expression=raw("'!'")))
    whole = raw(text_of(rf"\A(?:{pattern})\z"))
    found = exp.Anonymous(this="REGEXP_INSTR", expressions=[node.this.copy(), whole])
    return exp.Paren(this=form("a > 0", NAME, a=found))


def _as_like(pattern: str) -> str:
    r"""Return a pattern of LIKE, escaped by an exclamation mark.

    >>> _as_like(r"(?s).*a\.b.c!")
    '%a.b_c!!'
    """
    written, escaped = [], False
    characters = iter(pattern.removeprefix(_ANY_CHARACTER).replace(".*", "\0%"))
    for one in characters:
        if one == "\0" and not escaped:
            written.append(next(characters))
        elif one == "\\" and not escaped:
            escaped = True
            continue
        elif one == "." and not escaped:
            written.append("_")
        else:
            written.append(f"!{one}" if one in "%_!" else one)
        escaped = False
    return "".join(written)


def _constant_text(node: exp.Expression) -> str:
    """Return the text that a translated constant says."""
    written = str(node.unnest().this)
    if written.startswith("CONVERT(X'"):
        return bytes.fromhex(written.split("'")[1]).decode()
    return written


def trim(node: exp.Expression) -> exp.Expression:
    """Write TRIM of given characters; at the end by reversing the text."""
    characters = "".join(f"\\x{{{ord(one):X}}}" for one in _constant_text(node.expression))
    side = node.args.get("position") or ""
    start = raw(text_of(rf"\A[{characters}]+"))
    value = node.this
    if not characters:
        return value
    if side != "TRAILING":
        value = form("REGEXP_REPLACE(a, p, '')", NAME, a=value, p=start)
    if side != "LEADING":
        value = form("REVERSE(REGEXP_REPLACE(REVERSE(a), p, ''))", NAME, a=value, p=start)
    return value


def substring(node: exp.Expression) -> exp.Expression:
    """Write SUBSTRING; a negative position counts from the end, and at most from the beginning."""
    length = node.args.get("length")
    if length is not None:  # always from the first character
        return form("LEFT(a, n)", NAME, a=node.this, n=length)
    return exp.Paren(
        this=form(
            "CASE WHEN p < 0 THEN RIGHT(t, - p) WHEN p = 0 THEN t ELSE SUBSTRING(t, p) END",
            NAME,
            t=node.this,
            p=node.args["start"],
        )
    )


def whole_quotient(node: exp.Expression) -> exp.Expression:
    """Write an integer quotient of numbers of any size; exact division is not rounded."""
    found = form(f"CAST((a - MOD(a, b)) / b AS {WIDE})", NAME, a=node.this, b=node.expression)
    found.type = exp.DataType(this=exp.DType.BIGINT)
    return found


def epoch_us(node: exp.Expression) -> exp.Expression:
    """Write microseconds since 1970."""
    found = exp.Anonymous(
        this="TIMESTAMPDIFF", expressions=[raw("MICROSECOND"), raw("'1970-01-01'"), operand(node).copy()]
    )
    found.type = exp.DataType(this=exp.DType.BIGINT)
    return found


def _moment(microseconds: exp.Expression) -> exp.Expression:
    start = raw("CAST('1970-01-01' AS DATETIME(6))")
    return exp.Anonymous(this="TIMESTAMPADD", expressions=[raw("MICROSECOND"), microseconds.copy(), start])


_STEPS = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "DAY": 86_400_000_000}


def truncated(node: exp.Expression) -> exp.Expression:
    """Write DATE_TRUNC: the first moment of the unit that a datetime is in."""
    unit = node.args["unit"].name.upper()
    at = node.this.sql(dialect=NAME)
    if unit in _STEPS:
        since = f"TIMESTAMPDIFF(MICROSECOND, '0001-01-01', {at})"
        passed = f"{since} - MOD({since}, {_STEPS[unit]})"
        return raw(f"TIMESTAMPADD(MICROSECOND, {passed}, CAST('0001-01-01' AS DATETIME(6)))")
    if unit == "QUARTER":
        first = f"DATE_SUB(CAST({at} AS DATE), INTERVAL DAYOFMONTH({at}) - 1 DAY)"
        day = f"DATE_SUB({first}, INTERVAL MOD(MONTH({at}) - 1, 3) MONTH)"
    else:
        steps = {"WEEK": f"WEEKDAY({at})", "MONTH": f"DAYOFMONTH({at}) - 1", "YEAR": f"DAYOFYEAR({at}) - 1"}
        day = f"DATE_SUB(CAST({at} AS DATE), INTERVAL {steps[unit]} DAY)"
    return raw(f"CAST({day} AS DATETIME(6))")


def months_later(node: exp.Expression) -> exp.Expression:
    """Write a datetime some months later; or a sum."""
    months = node.expression.unnest()
    if not (isinstance(months, exp.Anonymous) and months.name.lower() == "to_months"):
        return operation(node)
    at, count = node.this.sql(dialect=NAME), months.expressions[0].sql(dialect=NAME)
    return raw(f"DATE_ADD({at}, INTERVAL {count} MONTH)")


def element(node: exp.Expression) -> exp.Expression:
    """Write an element of a list of integers, counted from one."""
    (place,) = node.expressions
    if not isinstance(node.this, exp.Array):
        raise InvalidRequest("MariaDB does not support so long an expression, which this query needs.")
    shifted = place.copy() if counts_from_one(place) else form("a + 1", NAME, a=place)
    listed = [
        item.this.copy() if isinstance(item, exp.Cast) else item.copy() for item in node.this.expressions
    ]
    chosen = exp.Anonymous(this="ELT", expressions=[shifted, *listed])
    return form(f"CAST(a AS {WIDE})", NAME, a=chosen)


def select(node: exp.Expression) -> exp.Expression:
    """Write lists whose elements are rows, side by side, and ``* REPLACE``."""
    if replaced_columns(node):
        return node
    found = [item.find(exp.Explode) for item in node.expressions]
    if not all(found):
        return node
    names = [f"`c{place}`" for place in range(len(found))]
    rows = ", ".join(f"({', '.join(row)})" for row in zip_longest(*map(_items, found), fillvalue="NULL"))
    for one, name in zip(found, names, strict=True):
        one.replace(raw(name))  # every list has a name beside it
    items = ", ".join(item.sql(dialect=NAME) for item in node.expressions)
    return raw(f"WITH `listed` ({', '.join(names)}) AS (VALUES {rows}) SELECT {items} FROM `listed`")


def _items(node: exp.Expression) -> Iterator[str]:
    """Yield the elements of a list, each as SQL."""
    inner = node.this
    if isinstance(inner, exp.GenerateSeries):
        return (str(place) for place in range(int(inner.args["end"].name)))
    if isinstance(inner, exp.Split):
        return iter(map(text_of, _constant_text(inner.this).split(_constant_text(inner.expression))))
    if isinstance(inner, exp.Array):
        return (item.sql(dialect=NAME) for item in inner.expressions)
    raise InvalidRequest("MariaDB does not support such a list, which this query needs.")


def filtered(node: exp.Expression) -> exp.Expression:
    """Write a sum or count of the rows that a condition keeps."""
    of = node.this
    inner = exp.Literal.number(1) if isinstance(of.this, exp.Star) else of.this
    chosen = form("CASE WHEN c THEN a END", NAME, c=node.expression.this, a=inner)
    return type(of)(this=chosen)


def _renamed(name: str) -> Rule:
    def rule(node: exp.Expression) -> exp.Expression:
        of = [node.this, node.args.get("expression"), *(node.args.get("expressions") or ())]
        return exp.Anonymous(
            this=name, expressions=[one.copy() for one in of if isinstance(one, exp.Expression)]
        )

    return rule


def _of_two(template: str) -> Rule:
    return lambda node: exp.Paren(this=form(template, NAME, a=operand(node), b=operand(node, 1)))


_PARTS = {
    **{
        name: f"{name.upper()}(a)" for name in ("Year", "Quarter", "Month", "Day", "Hour", "Minute", "Second")
    },
    "Week": "WEEK(a, 3)",
    "DayOfWeek": "DAYOFWEEK(a) - 1",
    "DayOfWeekIso": "WEEKDAY(a) + 1",
    "DayOfYear": "DAYOFYEAR(a)",
}

VALUES: dict[str, Rule] = {
    **{name: rule_from(template) for name, template in _PARTS.items()},
    "Add": months_later,
    "Bracket": element,
    "Cast": cast,
    "Collate": lambda node: node.this,
    "ConcatWs": lambda node: exp.Anonymous(this="CONCAT_WS", expressions=[*node.expressions]),
    "Contains": _of_two("LOCATE(b, a) > 0"),
    "DPipe": _of_two("CONCAT(a, b)"),
    "Encode": lambda node: node.this,
    "EndsWith": _of_two("RIGHT(a, CHAR_LENGTH(b)) = b"),
    "Filter": filtered,
    "IntDiv": whole_quotient,
    "Length": rule_from("CHAR_LENGTH(a)"),
    "MD5": _renamed("MD5"),
    "RegexpFullMatch": full_match,
    "RegexpReplace": number_text,
    "Select": select,
    "StartsWith": _of_two("LEFT(a, CHAR_LENGTH(b)) = b"),
    "Substring": substring,
    "TimeToStr": rule_from("DATE_FORMAT(a, '%Y-%m-%d')"),
    "TimestampTrunc": truncated,
    "Trim": trim,
    "TryCast": try_cast,
    "UnixToTime": lambda node: _moment(node.this),
    "epoch_us": epoch_us,
    "strlen": rule_from("LENGTH(a)"),
}
"""Translation rules of texts, moments, casts and lists."""


def _literal(node: exp.Expression) -> exp.Expression:
    return literal(node) if node.is_string else number_literal(node)


def _quoted(node: exp.Expression) -> exp.Expression:
    """Quote every name: some of ours are words of MariaDB's own."""
    node.set("quoted", True)
    return node


def _join(node: exp.Expression) -> exp.Expression:
    """Write a join; MariaDB has none by the last start that is at most a key, which many bins take."""
    if node.args.get("method"):
        raise InvalidRequest("MariaDB does not support a search in so many bins, which this query needs.")
    return node


MARIADB = Dialect(
    NAME,
    rules={
        **DOUBLES,
        **VALUES,
        "CTE": unmaterialized,
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
                "DenseRank",
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
