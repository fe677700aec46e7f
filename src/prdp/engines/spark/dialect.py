"""Spark SQL's dialect: where it differs from DuckDB, with ANSI on and off, in every time zone.

Nothing here depends on a setting of the session. Texts and doubles are written so that neither escapes nor
exponents can be read in two ways; moments are TIMESTAMP_NTZ, and never pass through the session's zone; what
ANSI makes an error (an index beyond a list, a cast that does not fit) uses functions that give NULL.

Spark's DECIMAL(38,0) replaces HUGEINT. It holds less, but 2^126 < 10^38: no product of prdp's is larger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial

from sqlglot import exp

from prdp.engines.statements.translate import Dialect, Rule, counts_from_one, form, raw
from prdp.expressions.texts import lower, upper

_PLAIN = re.compile(r"[A-Za-z0-9 _.,;:/()\[\]|~*+?!=<>^%&@#-]*")
_LAST_LETTER = 0x20000

_AS_TEXT = (
    "CASE WHEN x = RINT(x) AND ABS(x) < 1e15D THEN CAST(CAST(x AS BIGINT) AS STRING) "
    "WHEN ABS(x) = CAST('Infinity' AS DOUBLE) THEN CASE WHEN x > 0D THEN 'inf' ELSE '-inf' END "
    "ELSE GET(FILTER(TRANSFORM(SEQUENCE(0, 21), n -> FORMAT_STRING(CONCAT('%.', CAST(n AS STRING), "
    "CASE WHEN ABS(x) >= 1e-4D AND ABS(x) < 1e16D THEN 'f' ELSE 'e' END), x)), "
    "t -> TRY_CAST(t AS DOUBLE) = x), 0) END"
)


def text_of(text: str) -> str:
    """Return a text as SQL: as it is, or its bytes where something in it might be read in two ways.

    A setting decides whether backslashes escape, and another one whether ``${name}`` is replaced.
    """
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode('utf-8', 'surrogatepass').hex().upper()}' AS STRING)"


@cache
def letters(change: Callable[[str], str]) -> tuple[str, str]:
    """Return the letters that a function changes and what each becomes, as two texts in SQL."""
    every = "".join(chr(place) for place in range(_LAST_LETTER) if not 0xD800 <= place < 0xE000)
    changed = [pair for pair in zip(every, change(every), strict=True) if pair[0] != pair[1]]
    return text_of("".join(before for before, _ in changed)), text_of("".join(after for _, after in changed))


def number_text(x: exp.Expression) -> exp.Expression:
    """Return the shortest text that reads back as a double: the first that does of more and more digits.

    Java's own is not the shortest before version 19.
    """
    return form(
        f"GET(TRANSFORM(ARRAY(y), x -> {_AS_TEXT}), 0)",
        "spark",
        y=x,
    )


def by_segments(pattern: str) -> str:
    r"""Return a pattern of a whole text for Java, which must not try again what it has found.

    A segment between two wildcards is found where it comes first, and stays found there: so the time grows
    with the text, and not with a power of it.

    >>> by_segments("(?s)a.*b.c.*d.*e")
    '\\A(?s:a(?>.*?b.c)(?>.*?d).*e)\\z'
    """
    if not pattern.startswith("(?s)"):
        return rf"\A(?:{pattern})\z"
    parts = _split_at_wildcards(pattern.removeprefix("(?s)"))
    first, *rest = parts
    if not rest:
        return rf"\A(?s:{first})\z"
    *middle, last = rest
    return rf"\A(?s:{first}{''.join(f'(?>.*?{part})' for part in middle if part)}.*{last})\z"


def _split_at_wildcards(pattern: str) -> list[str]:
    """Return the parts of a pattern between ``.*``, of which an escaped point is none."""
    parts = [""]
    for piece in re.findall(r"\\.|\.\*|.", pattern, re.DOTALL):
        if piece == ".*":
            parts.append("")
        else:
            parts[-1] += piece
    return parts


_EPOCH = "CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ)"
_WIDE = "DECIMAL(38, 0)"
_FEW = 16
_NUMBER = re.compile(r"-?[0-9.]+(?:e[+-]?[0-9]+)?D?")
_UNICODE = r"[\x{0}-"
"""Prefix of the pattern that all UTF-8 matches."""

_TYPES = {
    exp.DataType.Type.INT128: _WIDE,
    exp.DataType.Type.TEXT: "STRING",
    exp.DataType.Type.VARCHAR: "STRING",
    exp.DataType.Type.TIMESTAMP: "TIMESTAMP_NTZ",
    exp.DataType.Type.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
}
_MICROSECONDS = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_PARTS = {
    "Day": "DAY(x)",
    "DayOfWeek": "(DAYOFWEEK(x) - 1)",
    "DayOfWeekIso": "(WEEKDAY(x) + 1)",
    "DayOfYear": "DAYOFYEAR(x)",
    "Hour": "HOUR(x)",
    "Minute": "MINUTE(x)",
    "Month": "MONTH(x)",
    "Quarter": "QUARTER(x)",
    "Second": "SECOND(x)",
    "Week": "WEEKOFYEAR(x)",
    "Year": "YEAR(x)",
}
_ROUNDED = {
    "round_even": "RINT(x)",
    "Floor": "CASE WHEN RINT(x) > x THEN RINT(x) - 1D ELSE RINT(x) END",
    "Ceil": "CASE WHEN RINT(x) < x THEN RINT(x) + 1D ELSE RINT(x) END",
    "Round": "CASE WHEN ABS(x - RINT(x)) = 0.5D THEN x + SIGNUM(x) * 0.5D ELSE RINT(x) END",
}
"""Doubles that stay doubles: Spark's own floor() and ceil() are whole numbers that end at 2^63."""

_POWER = "CASE WHEN x = 1D AND y IS NOT NULL AND NOT ISNAN(y) THEN 1D ELSE POWER(x, y) END"
"""To Java, 1 to an infinite power is not a number."""

_LOGARITHM = "CASE WHEN POWER(2D, RINT(y)) = x THEN RINT(y) ELSE y END"
"""Spark's LOG2 is a quotient of logarithms, and misses some powers of two."""


_IN_PARTS = (
    f"CAST(SUM(SHIFTRIGHT(x, 42)) AS {_WIDE}) * {1 << 42} "
    f"+ CAST(SUM(SHIFTRIGHT(x, 21) & {2**21 - 1}) AS {_WIDE}) * {1 << 21} "
    f"+ CAST(SUM(x & {2**21 - 1}) AS {_WIDE})"
)


def _spark(text: str, **parts: exp.Expression) -> exp.Expression:
    return form(text, "spark", **parts)


def _of_one(template: str, node: exp.Expression) -> exp.Expression:
    argument = node.this if not isinstance(node, exp.Anonymous) else node.expressions[0]
    return exp.Paren(this=_spark(template, x=argument))


def _literal(node: exp.Expression) -> exp.Expression:
    if node.args["is_string"]:
        return raw(text_of(node.this))
    return raw(f"{node.this}D") if set(node.this.lower()) & set(".e") else node


def _cast(node: exp.Expression, *, may_fail: bool = False) -> exp.Expression:
    """Return a cast; one of a date to a moment is guarded: Spark fails where there is no such moment."""
    target = node.args["to"]
    written = _TYPES.get(target.this, target.sql(dialect="spark"))
    if target.this is exp.DataType.Type.ARRAY:
        return node.this
    if not may_fail:
        return exp.Cast(this=node.this, to=exp.DataType.build(written, dialect="spark"))
    if written != "TIMESTAMP_NTZ" or not isinstance(node.this, exp.Column):
        return _spark(f"TRY_CAST(x AS {written})", x=node.this)
    return _spark(
        "CASE WHEN x BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) "
        "THEN CAST(x AS TIMESTAMP_NTZ) END",
        x=node.this,
    )


def _whole_step(node: exp.Expression) -> bool:
    """Return whether a number becomes a small whole number: Spark's own floor is then enough, and faster."""
    while isinstance(node.parent, exp.Add | exp.Sub | exp.Mul | exp.Greatest | exp.Paren | exp.Floor):
        node = node.parent
    above = node.parent
    return isinstance(above, exp.Cast) and above.to.this is exp.DataType.Type.SMALLINT


def _floor(node: exp.Expression) -> exp.Expression:
    return _spark("FLOOR(x)", x=node.this) if _whole_step(node) else _of_one(_ROUNDED["Floor"], node)


def _logarithm(node: exp.Expression) -> exp.Expression:
    value = node.expression
    if node.this.name == "10":
        return exp.Anonymous(this="LOG10", expressions=[value])
    near = exp.Anonymous(this="LOG2", expressions=[value])
    return near if _whole_step(node) else exp.Paren(this=_spark(_LOGARITHM, x=value, y=near))


def _bracket(node: exp.Expression) -> exp.Expression:
    """Return an element of a list, NULL beyond it; sqlglot counts constant places from 0 already."""
    place = node.expressions[0]
    if not place.is_number and counts_from_one(place):
        counted = isinstance(place, exp.Add) and place.expression.name == "1"
        place = place.this if counted else _spark("x - 1", x=place)
    return _spark("GET(x, y)", x=node.this, y=place)


def _array(node: exp.Expression) -> exp.Expression:
    """Return a list; many numbers as one text that is split, which is read far faster."""
    items = node.expressions
    plain = [(item.this if isinstance(item, exp.Cast) else item).sql(dialect="spark") for item in items]
    if len(items) <= _FEW or not all(map(_NUMBER.fullmatch, plain)):
        return exp.Anonymous(this="ARRAY", expressions=items)
    whole = ",".join(number.removesuffix("D") for number in plain)
    if isinstance(items[0], exp.Cast):
        kind = items[0].to.sql(dialect="spark")
    else:
        kind = "DOUBLE" if "e" in whole else "BIGINT"
    return raw(f"CAST(SPLIT({text_of(whole)}, ',') AS ARRAY<{kind}>)")


def _split(node: exp.Expression) -> exp.Expression:
    """Return the parts of a text; the separator is one character, and no pattern."""
    separator = raw(text_of(f"[{_text(node.expression)}]"))
    return _spark("SPLIT(x, y)", x=node.this, y=separator)


def _text(node: exp.Expression) -> str:
    """Return the text that a translated constant says."""
    written = str(node.this)
    if written.startswith("'"):
        return written[1:-1]
    return bytes.fromhex(written.partition("X'")[2].partition("'")[0]).decode()


def _select(node: exp.Expression) -> exp.Expression:
    """Return lists that are unnested side by side as one table."""
    unnested = [(item.find(exp.Explode), item) for item in node.expressions]
    if not all(found for found, _ in unnested):
        return node
    names, items, lists = [], [], []
    for place, (found, item) in enumerate(unnested):
        names.append(exp.to_identifier(f"c{place}"))
        lists.append(found.this.copy())
        found.replace(exp.column(names[-1].copy()))
        items.append(item.copy())
    zipped = exp.Aliases(this=exp.func("INLINE", exp.func("ARRAYS_ZIP", *lists)), expressions=names)
    return exp.select(*items).from_(exp.select(zipped).subquery())


def _join(node: exp.Expression) -> exp.Expression:
    """Return a join; the search for the last start that is at most a key uses a list of starts."""
    if node.args.get("method") != "ASOF":
        return node
    start, place = node.this.this.expressions
    starts, places = node.find(exp.Aliases).this.this.expressions
    key, kind = node.args["on"].this, start.this.args["to"].sql(dialect="spark")
    steps = [1 << bit for bit in reversed(range(len(places.expressions or ()).bit_length() or 24))]
    search = _spark(
        f"GET(places, AGGREGATE(steps, -1, (found, step) -> CASE WHEN GET(CAST(starts AS ARRAY<{kind}>), "
        "found + step) <= k THEN found + step ELSE found END))",
        places=places,
        starts=starts,
        k=key,
        steps=exp.func("ARRAY", *map(exp.Literal.number, steps)),
    )
    found = exp.select(exp.alias_(search, place.alias)).subquery(node.this.alias)
    return exp.Join(this=exp.Lateral(this=found), kind="CROSS")


def _star(node: exp.Expression) -> exp.Expression:
    """Return all columns, one of them replaced."""
    replaced = node.args.get("replace")
    if not replaced:
        return node
    names = ", ".join(item.alias for item in replaced)
    items = ", ".join(item.sql(dialect="spark") for item in replaced)
    return raw(f"* EXCEPT ({names}), {items}")


def _sum(node: exp.Expression) -> exp.Expression:
    """Return a sum that no number of rows makes overflow, nor any row fail.

    Values of 64 bits are added up in three parts of 21 bits and more, and each sum fits 64 bits for 2^41
    rows: to Spark, decimals of this width are objects, and slower.
    """
    if node.this.name == "value" and not isinstance(node.parent, exp.Filter):
        return exp.Paren(this=_spark(_IN_PARTS, x=_spark("CAST(x AS BIGINT)", x=node.this)))
    return _spark(f"SUM(CAST(x AS {_WIDE}))", x=node.this)


def _quotient(node: exp.Expression) -> exp.Expression:
    """Return a whole quotient of numbers that are not negative; DIV gives 64 bits, and wraps silently.

    A quotient of quanta may be wider: the upper digits are divided first. No step depends on the scale that
    Spark gives a quotient of decimals, which a setting decides.
    """
    if not isinstance(node.this, exp.Paren) or not node.find(exp.Least):
        return exp.IntDiv(this=node.this, expression=node.expression)
    return _spark(
        f"CAST((CAST(a AS {_WIDE}) DIV 35184372088832) DIV b AS {_WIDE}) * 35184372088832 + "
        f"((CAST((CAST(a AS {_WIDE}) DIV 35184372088832) % b AS {_WIDE}) * 35184372088832 "
        f"+ CAST(a AS {_WIDE}) % 35184372088832) DIV b)",
        a=node.this,
        b=node.expression,
    )


def _truncated(node: exp.Expression) -> exp.Expression:
    unit = node.args["unit"].name.upper()
    if unit in _MICROSECONDS:
        step = _MICROSECONDS[unit]
        micros = _since_1970(node.this)
        return _moment(_spark(f"x - PMOD(x, {step})", x=micros))
    day = "CAST(x AS DATE)" if unit == "DAY" else f"TRUNC(CAST(x AS DATE), '{unit}')"
    return _spark(f"CAST({day} AS TIMESTAMP_NTZ)", x=node.this)


def _since_1970(moment: exp.Expression) -> exp.Expression:
    return exp.Anonymous(
        this="TIMESTAMPDIFF", expressions=[exp.var("MICROSECOND"), raw(_EPOCH), moment.copy()]
    )


def _moment(micros: exp.Expression) -> exp.Expression:
    return exp.Anonymous(
        this="TIMESTAMPADD", expressions=[exp.var("MICROSECOND"), micros.copy(), raw(_EPOCH)]
    )


def _trimmed(node: exp.Expression) -> exp.Expression:
    side = node.args.get("position") or "BOTH"
    return _spark(f"TRIM({side} y FROM x)", x=node.this, y=node.expression)


def _substring(node: exp.Expression) -> exp.Expression:
    parts = [node.this, node.args["start"], *filter(None, [node.args.get("length")])]
    return exp.func("SUBSTRING", parts[0], *(_spark("CAST(x AS INT)", x=part) for part in parts[1:]))


def _full_match(node: exp.Expression) -> exp.Expression:
    pattern = _text(node.expression)
    if pattern.startswith(_UNICODE):
        return _spark("IS_VALID_UTF8(x)", x=node.this)
    return _spark("x RLIKE y", x=node.this, y=raw(text_of(by_segments(pattern))))


def _mapped(change: Callable[[str], str], node: exp.Expression) -> exp.Expression:
    before, after = letters(change)
    return _spark("TRANSLATE(x, y, z)", x=node.this, y=raw(before), z=raw(after))


def _renamed(name: str, node: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[node.this, *filter(None, [node.args.get("expression")])])


def _without(name: str) -> Rule:
    def rule(node: exp.Expression) -> exp.Expression:
        node.set(name, None)
        return node

    return rule


_RULES: Mapping[str, Rule] = {
    **{name: partial(_of_one, template) for name, template in _ROUNDED.items() if name != "Floor"},
    **{name: partial(_of_one, template) for name, template in _PARTS.items()},
    "Literal": _literal,
    "Cast": _cast,
    "TryCast": partial(_cast, may_fail=True),
    "Floor": _floor,
    "Log": _logarithm,
    "Pow": lambda node: form(_POWER, "spark", x=node.this, y=node.expression),
    "Bracket": _bracket,
    "Array": _array,
    "Split": _split,
    "Select": _select,
    "Join": _join,
    "Star": _star,
    "Sum": _sum,
    "IntDiv": _quotient,
    "GenerateSeries": lambda node: _spark(
        "SEQUENCE(0, y)", y=exp.Literal.number(int(node.args["end"].name) - 1)
    ),
    "TimestampTrunc": _truncated,
    "epoch_us": lambda node: _since_1970(node.expressions[0]),
    "UnixToTime": lambda node: _moment(node.this),
    "TimeToStr": lambda node: _spark("CAST(CAST(x AS DATE) AS STRING)", x=node.this),
    "to_months": lambda node: _spark("MAKE_YM_INTERVAL(0, x)", x=node.expressions[0]),
    "isfinite": lambda node: _spark("x IS NOT NULL", x=node.expressions[0]),
    "Collate": lambda node: node.this,
    "Encode": lambda node: _spark("CAST(x AS BINARY)", x=node.this),
    "Lower": partial(_mapped, lower),
    "Upper": partial(_mapped, upper),
    "Trim": _trimmed,
    "Substring": _substring,
    "RegexpFullMatch": _full_match,
    "RegexpReplace": lambda node: number_text(node.this.this),
    "strlen": lambda node: _spark("CAST(OCTET_LENGTH(x) AS BIGINT)", x=node.expressions[0]),
    "StartsWith": partial(_renamed, "STARTSWITH"),
    "EndsWith": partial(_renamed, "ENDSWITH"),
    "Contains": partial(_renamed, "CONTAINS"),
    "MD5": lambda node: _spark("MD5(CAST(x AS BINARY))", x=node.this),
    "ConcatWs": lambda node: exp.Anonymous(this="CONCAT_WS", expressions=node.expressions),
    "CTE": _without("materialized"),
}

_SHARED = frozenset(
    {
        *(
            "Abs",
            "Add",
            "Alias",
            "Aliases",
            "And",
            "Between",
            "Boolean",
            "Case",
            "Coalesce",
            "Column",
            "Count",
        ),
        *("DataType", "DataTypeParam", "Distinct", "Div", "DPipe", "EQ", "Exp", "Explode", "Filter", "From"),
        *("GT", "GTE", "Greatest", "Group", "Having", "Identifier", "If", "In", "Is", "IsNan", "LT", "LTE"),
        *(
            "Lambda",
            "Least",
            "Length",
            "Limit",
            "Ln",
            "Max",
            "Min",
            "Mod",
            "Mul",
            "NEQ",
            "Neg",
            "Not",
            "Null",
        ),
        *("Or", "Order", "Ordered", "Paren", "RowNumber", "DenseRank", "Sqrt", "Sub", "Subquery", "Table"),
        *("TableAlias", "Transform", "Tuple", "Union", "Var", "Where", "Window", "With"),
    }
)

SPARK = Dialect("spark", _RULES, _SHARED)
