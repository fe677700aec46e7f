"""Texts, moments, casts and choices of a row: one small function a construct, as in ``rows``."""

from __future__ import annotations

from typing import Any

from prdp.expressions.functions import MOMENT_PARTS
from prdp.expressions.spelling import text_literal
from prdp.sql.constants import MOMENTS
from prdp.sql.construct import Construct
from prdp.sql.reading import sql_of
from prdp.sql.rows import RowWriter, function, of_row, two
from prdp.sql.written import COMPARE, CONCAT, NOT, PRODUCT, Written, joined, listed

_TYPES = {
    "DOUBLE": "DOUBLE",
    "INT": "INTEGER",
    "BIGINT": "BIGINT",
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), "VARCHAR"),
    **MOMENTS,
}


def write_cast(writer: RowWriter, node: Any) -> Written:
    """Write CAST, TRY_CAST and ``::``, which never fail; DATE '...' is read as one of a text."""
    word = node.to.this.value
    if word not in _TYPES or node.to.expressions:
        writer.refuse(
            node,
            f"a cast to {sql_of(node.to)} is not read",
            "Write DOUBLE, INTEGER, BIGINT, VARCHAR, DATE or TIMESTAMP; round(x, 2) for decimals.",
        )
    if word in MOMENTS and type(node.this).__name__ == "Literal" and node.this.is_string:
        return Written(f"{MOMENTS[word]} {text_literal(node.this.this)}")
    return joined(["CAST(", writer.write(node.this), f" AS {_TYPES[word]})"])


def write_like(writer: RowWriter, node: Any, escape: Any = None) -> Written:
    """Write LIKE and ILIKE, also denied."""
    word = "ILIKE" if type(node).__name__ == "ILike" else "LIKE"
    pieces: list[str | Written] = [writer.write(node.this, CONCAT), f" {word} "]
    pieces.append(writer.write(node.expression, CONCAT))
    if escape is not None:
        pieces += [" ESCAPE ", writer.write(escape, CONCAT)]
    like = joined(pieces, COMPARE)
    return joined(["NOT ", like], NOT) if node.args.get("negate") else like


def write_escape(writer: RowWriter, node: Any) -> Written:
    """Write LIKE ... ESCAPE."""
    if type(node.this).__name__ not in {"Like", "ILike"}:
        writer.refuse(node, "ESCAPE is read after LIKE and ILIKE alone")
    return write_like(writer, node.this, node.expression)


def write_trim(writer: RowWriter, node: Any) -> Written:
    """Write trim, ltrim and rtrim."""
    side = str(node.args.get("position") or "BOTH").upper()
    name = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}.get(side)
    if name is None:
        writer.refuse(node, "this side is not trimmed")
    return function(str(name), "this", "expression")(writer, node)


def write_concat(writer: RowWriter, node: Any) -> Written:
    """Write concat, which passes over what is unknown, by ``||``, which does not."""
    parts = [joined(["coalesce(", writer.write(part), ", '')"]) for part in node.expressions]
    return joined(listed(parts, " || "), CONCAT)


def write_extract(writer: RowWriter, node: Any) -> Written:
    """Write EXTRACT(year FROM x)."""
    return joined([f"extract({_word(writer, node.this)} FROM ", writer.write(node.expression), ")"])


def write_date_trunc(writer: RowWriter, node: Any) -> Written:
    """Write date_trunc('month', x)."""
    return joined([f"date_trunc('{_word(writer, node.args['unit'])}', ", writer.write(node.this), ")"])


def write_date_diff(writer: RowWriter, node: Any) -> Written:
    """Write date_diff('day', a, b): how often a day begins from a to b."""
    unit = _word(writer, node.args.get("unit"))
    earlier, later = writer.write(node.expression), writer.write(node.this)
    return joined([f"date_diff('{unit}', ", earlier, ", ", later, ")"])


def _word(writer: RowWriter, node: Any) -> str:
    word = str(getattr(node, "name", "")).lower()
    if not word.isalpha():
        writer.refuse(node, "this part of a moment is not read", "Write such as year, month or day.")
    return word


_BINARY = ("this", "expression")


def _counted(sample: str) -> str:
    return f"COUNT(*) FILTER (WHERE {sample})"


def _part(node: str, name: str) -> Construct:
    """Return the construct of a part of a moment."""
    return of_row(node, function(name, "this"), ("this",), f"`{name}(d)`", _counted(f"{name}(opened) > 2"))


_PARTS = {"DayOfWeek": "dayofweek", "DayOfWeekIso": "isodow", "DayOfYear": "dayofyear", "DayOfMonth": "day"}
_PARTS |= {name.title(): name for name in MOMENT_PARTS if not name.startswith(("dayof", "isodow"))}

ROW_FUNCTIONS: tuple[Construct, ...] = (
    of_row(
        "Cast",
        write_cast,
        ("this", "to"),
        "`DATE '2020-01-31'`, `CAST(x AS DOUBLE)`, `x::INTEGER`",
        "SUM(CAST(price AS INTEGER))",
        "unknown where it cannot be",
    ),
    of_row(
        "TryCast",
        write_cast,
        ("this", "to", "safe"),
        "`TRY_CAST(x AS DOUBLE)`",
        _counted("TRY_CAST(job AS DOUBLE) > 3"),
    ),
    of_row("Like", write_like, (*_BINARY, "negate"), "`x LIKE 'c%'`", _counted("job LIKE 'c%'")),
    of_row("ILike", write_like, (*_BINARY, "negate"), "`x ILIKE 'c%'`", _counted("job ILIKE 'C%'")),
    of_row(
        "Escape", write_escape, _BINARY, "`x LIKE '!%' ESCAPE '!'`", _counted("job LIKE '!%%' ESCAPE '!'")
    ),
    of_row("Lower", function("lower", "this"), ("this",), "`lower(x)`", _counted("lower(job) = 'chef'")),
    of_row("Upper", function("upper", "this"), ("this",), "`upper(x)`", _counted("upper(job) = 'CHEF'")),
    of_row(
        "Trim",
        write_trim,
        (*_BINARY, "position"),
        "`trim(x)`, `ltrim(x)`, `rtrim(x)`",
        _counted("trim(job) = 'chef'"),
    ),
    of_row(
        "Substring",
        function("substring", "this", "start", "length"),
        ("this", "start", "length"),
        "`substring(x, 1, 2)`",
        _counted("substring(job, 1, 2) = 'ch'"),
    ),
    of_row("Length", function("length", "this"), ("this",), "`length(x)`", _counted("length(job) > 4")),
    of_row("DPipe", two("||", CONCAT), (*_BINARY, "safe"), "`a || b`", _counted("job || '!' = 'chef!'")),
    of_row(
        "Concat",
        write_concat,
        ("expressions", "safe", "coalesce"),
        "`concat(a, b)`",
        _counted("concat(job, '!') = 'chef!'"),
        "passes over what is unknown",
    ),
    of_row(
        "StartsWith",
        function("starts_with", *_BINARY),
        _BINARY,
        "`starts_with(x, 'c')`",
        _counted("starts_with(job, 'c')"),
    ),
    of_row(
        "EndsWith",
        function("ends_with", *_BINARY),
        _BINARY,
        "`ends_with(x, 'f')`",
        _counted("ends_with(job, 'f')"),
    ),
    of_row(
        "Contains",
        function("contains", *_BINARY),
        _BINARY,
        "`contains(x, 'e')`",
        _counted("contains(job, 'he')"),
    ),
    of_row(
        "Coalesce",
        function("coalesce", "this", "expressions"),
        ("this", "expressions"),
        "`coalesce(a, b)`",
        "SUM(coalesce(bonus, 0))",
    ),
    of_row("Nullif", function("nullif", *_BINARY), _BINARY, "`nullif(a, b)`", "COUNT(nullif(age, 30))"),
    of_row(
        "Round",
        function("round", "this", "decimals"),
        ("this", "decimals"),
        "`round(x)`, `round(x, 2)`",
        "SUM(round(price))",
    ),
    of_row("Floor", function("floor", "this"), ("this",), "`floor(x)`", "SUM(floor(price))"),
    of_row("Ceil", function("ceil", "this"), ("this",), "`ceil(x)`", "SUM(ceil(price))"),
    of_row("Sign", function("sign", "this"), ("this",), "`sign(x)`", "SUM(sign(balance - 500))"),
    of_row("Mod", two("%", PRODUCT), _BINARY, "`a % b`", _counted("age % 2 = 0")),
    of_row(
        "Extract",
        write_extract,
        _BINARY,
        "`EXTRACT(year FROM d)`",
        _counted("EXTRACT(month FROM opened) = 2"),
    ),
    of_row(
        "TimestampTrunc",
        write_date_trunc,
        ("this", "unit"),
        "`date_trunc('month', d)`",
        _counted("date_trunc('month', opened) = DATE '2025-02-01'"),
    ),
    of_row(
        "DateTrunc",
        write_date_trunc,
        ("this", "unit"),
        "`date_trunc('month', d)`",
        _counted("date_trunc('month', CAST(opened AS DATE)) = DATE '2025-02-01'"),
    ),
    of_row(
        "DateDiff",
        write_date_diff,
        ("this", "expression", "unit", "date_part_boundary"),
        "`date_diff('day', a, b)`",
        _counted("date_diff('day', DATE '2025-01-01', opened) > 30"),
    ),
    *(_part(node, name) for node, name in _PARTS.items()),
)
"""What may be computed from texts and moments, beside what ``rows`` lists."""
