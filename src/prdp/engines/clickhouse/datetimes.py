"""Dates and times in ClickHouse: whole microseconds since 1970, whatever its settings, zone or range.

Its calendar is asked within 1900 to 2299 alone, the years that every version knows: the Gregorian calendar
repeats itself after 400 years, days of the week included.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from sqlglot import exp

from prdp.engines.statements.translate import Rule, form
from prdp.expressions.datetimes import DAY, MICROSECONDS

_LARGEST = 2**63 - 1


def call(name: str, *args: exp.Expression) -> exp.Expression:
    """Return a call of a function."""
    return exp.Anonymous(this=name, expressions=[arg.copy() for arg in args])


def text(value: str) -> exp.Expression:
    """Return a text constant."""
    return exp.Literal.string(value)


def number(value: int) -> exp.Expression:
    """Return a whole number with its type: of 64 bits, or of 128 where it needs them."""
    if abs(value) <= _LARGEST:
        return call("toInt64", exp.Literal.number(value))
    return call("toInt128", text(str(value)))


def from_template(written: str, **parts: exp.Expression) -> exp.Expression:
    """Return ClickHouse's SQL in which names represent nodes.

    Names of lambdas begin with ``prdp_``; they differ from those inside the nodes, or ClickHouse would take
    one lambda inside another for itself.
    """
    if "->" in written:
        inside = sum(len(list(part.find_all(exp.Lambda))) for part in parts.values())
        written = written.replace("prdp_", f"prdp{inside}_")
    return form(written, "clickhouse", **parts)


def plain(node: exp.Expression) -> str | None:
    """Return the digits of a whole number that ``number`` wrote, with its sign; None for anything else."""
    if isinstance(node, exp.Neg):
        inner = plain(node.this)
        return None if inner is None else f"-{inner}"
    if isinstance(node, exp.Anonymous) and node.name in ("toInt64", "toInt128"):
        (value,) = node.expressions
        if isinstance(value, exp.Literal) and value.name.isdigit():
            return str(value.name)
    return None


_EPOCH = datetime(1970, 1, 1)
_YEAR_ONE = (_EPOCH - datetime(1, 1, 1)) // timedelta(microseconds=1)
_ORIGIN = (datetime(1900, 1, 1) - _EPOCH) // timedelta(microseconds=1)
_CYCLE_DAYS, _CYCLE_MONTHS, _FIRST_MONTH = 146_097, 4_800, 1900 * 12
_CYCLE = _CYCLE_DAYS * DAY

_REST = f"toInt64(positiveModulo(x - toInt64({_ORIGIN}), toInt64({_CYCLE})))"
_INSIDE = f"fromUnixTimestamp64Micro({_REST} + toInt64({_ORIGIN}), 'UTC')"
_CYCLES = f"intDivOrZero(x - toInt64({_ORIGIN}) - {_REST}, toInt64({_CYCLE}))"
_YEAR = f"(toInt64(toYear({_INSIDE})) + 400 * {_CYCLES})"
_MONTH = f"toInt64(toMonth({_INSIDE}))"
_DAY_OF_MONTH = f"toInt64(toDayOfMonth({_INSIDE}))"
_IN_DAY = f"toInt64(positiveModulo(x, toInt64({DAY})))"
_MONTHS = f"({_YEAR} * 12 + {_MONTH} - 1)"
"""The months since year 0."""

_PARTS = {
    "Year": _YEAR,
    "Month": _MONTH,
    "Day": _DAY_OF_MONTH,
    "Quarter": f"toInt64(toQuarter({_INSIDE}))",
    "Week": f"toInt64(toISOWeek({_INSIDE}))",
    "DayOfWeek": f"toInt64(toDayOfWeek({_INSIDE})) % 7",
    "DayOfWeekIso": f"toInt64(toDayOfWeek({_INSIDE}))",
    "DayOfYear": f"toInt64(toDayOfYear({_INSIDE}))",
    "Hour": f"toInt64(toHour({_INSIDE}))",
    "Minute": f"toInt64(toMinute({_INSIDE}))",
    "Second": f"toInt64(toSecond({_INSIDE}))",
}
_OF_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_DAY_TEXT = "prdp_day_text"

_MOMENT_GROUPS = (
    "^ *([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.]([0-9]{1,6}))?)?)? *$"
)


def _first_day(months: str) -> str:
    """Return the first day of a month, in days since 1970, from the months since year 0."""
    place = f"({months} - {_FIRST_MONTH})"
    rest = f"toInt64(positiveModulo({place}, {_CYCLE_MONTHS}))"
    cycles = f"intDivOrZero({place} - {rest}, {_CYCLE_MONTHS})"
    first = f"makeDate32(1900 + intDiv({rest}, 12), {rest} % 12 + 1, 1)"
    return f"(toInt64(toInt32({first})) + {_CYCLE_DAYS} * {cycles})"


def _padded(value: str, digits: int) -> str:
    return f"leftPad(toString({value}), {digits}, '0')"


def _days_text() -> str:
    return f"concat({_padded(_YEAR, 4)}, '-', {_padded(_MONTH, 2)}, '-', {_padded(_DAY_OF_MONTH, 2)})"


def _moment_text() -> str:
    """Return the text of a moment: a date, or a date and time without zeros at its end."""
    time = ", ':', ".join(_padded(_PARTS[part], 2) for part in ("Hour", "Minute", "Second"))
    parts = f"toInt64(positiveModulo({_IN_DAY}, 1000000))"
    fraction = f"if({parts} = 0, '', concat('.', replaceRegexpOne({_padded(parts, 6)}, '0+$', '')))"
    later = f"concat({_days_text()}, ' ', {time}, {fraction})"
    return f"if({_IN_DAY} = 0, {_days_text()}, {later})"


def _from_groups() -> str:
    """Return the moment of a text's parts, an array ``prdp_g``; NULL where there is no such day."""
    year, month, day, hour, minute, second = (f"toInt64OrZero(prdp_g[{place}])" for place in range(1, 7))
    months = f"({year} * 12 + {month} - 1)"
    first, after = _first_day(months), _first_day(f"({months} + 1)")
    exists = f"{month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND {after} - {first}"
    seconds = f"({hour} * 3600 + {minute} * 60 + {second})"
    fraction = "toInt64OrZero(rightPad(prdp_g[7], 6, '0'))"
    at = f"({first} + {day} - 1) * toInt64({DAY}) + {seconds} * 1000000 + {fraction}"
    return f"if({exists}, {at}, NULL)"


_TRUNCATED = {
    unit: f"({_first_day(f'({_MONTHS} - {_MONTHS} % {months})')} * toInt64({DAY}))"
    for unit, months in _OF_MONTHS.items()
}
_GROUPED = f"extractGroups(ifNull(t, ''), '{_MOMENT_GROUPS}')"
_FROM_TEXT = f"arrayElement(arrayMap(prdp_g -> {_from_groups()}, [{_GROUPED}]), 1)"


def cast_to_moment(operand: exp.Expression) -> exp.Expression:
    """Return the operand of a cast to a moment: a constant, the text of a listed key, or a moment already."""
    if isinstance(operand, exp.Literal):
        at = datetime.fromisoformat(operand.name)
        return number((at - _EPOCH) // timedelta(microseconds=1))
    return text_to_moment(operand) if isinstance(operand, exp.Column) else operand.copy()


def text_to_moment(text: exp.Expression) -> exp.Expression:
    """Return the moment that a text says; NULL where it says none."""
    return from_template(_FROM_TEXT, t=text)


def _once(template: str, at: exp.Expression) -> exp.Expression:
    """Return a function of a moment that is mentioned often; a long one is computed once."""
    if isinstance(at, exp.Column | exp.Identifier):
        return from_template(template, x=at)
    named = re.sub(r"\bx\b", "prdp_x", template)
    return from_template(f"arrayElement(arrayMap(prdp_x -> {named}, [operand]), 1)", operand=at)


def _part(template: str) -> Rule:
    return lambda node: exp.Paren(this=_once(template, node.this))


def _truncated(node: exp.Expression) -> exp.Expression:
    unit = node.args["unit"].name
    if unit in _OF_MONTHS:
        return _once(_TRUNCATED[unit], node.this)
    size = MICROSECONDS[unit.lower()]
    return _once(f"(x - toInt64(positiveModulo(x + toInt64({_YEAR_ONE}), toInt64({size}))))", node.this)


def _later(node: exp.Expression) -> exp.Expression:
    """Add months to a moment: the same day, or the last of a shorter month."""
    added = node.expression
    if not (isinstance(added, exp.Anonymous) and added.name == "to_months"):
        return node
    (months,) = added.expressions
    there = f"({_MONTHS} + n)"
    first, after = _first_day(there), _first_day(f"({there} + 1)")
    day = f"(({first} + least({_DAY_OF_MONTH}, {after} - {first}) - 1) * toInt64({DAY}) + {_IN_DAY})"
    named = re.sub(r"\bn\b", "prdp_n", re.sub(r"\bx\b", "prdp_x", day))
    both = f"arrayElement(arrayMap((prdp_x, prdp_n) -> {named}, [operand], [months]), 1)"
    return from_template(both, operand=node.this, months=months)


def _is_small(value: exp.Expression) -> bool:
    return any(call.name == "toInt16" for call in value.find_all(exp.Anonymous))


def _case(node: exp.Expression) -> exp.Expression:
    """Know the text of a moment by its first branch, a day; else a CASE stays as it is."""
    for branch in node.args["ifs"]:
        shown = branch.args["true"]
        if isinstance(shown, exp.Anonymous) and shown.name == _DAY_TEXT:
            return _once(_moment_text(), shown.expressions[0])
    values = [branch.args["true"] for branch in node.args["ifs"]]
    if any(_is_small(value) for value in values):
        for value in values:
            if plain(value) == "0":  # a code as small as the others
                value.replace(call("toInt16", exp.Literal.number(0)))
    return node


def _same(node: exp.Expression) -> exp.Expression:
    operand: exp.Expression = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    return exp.Paren(this=operand.copy())


MOMENT_RULES: Mapping[str, Rule] = {
    **{name: _part(template) for name, template in _PARTS.items()},
    "TimestampTrunc": _truncated,
    "TimeToStr": lambda node: call(_DAY_TEXT, node.this),
    "Case": _case,
    "Add": _later,
    "to_months": lambda node: node,
    "epoch_us": _same,
    "UnixToTime": _same,
    "isfinite": lambda _: exp.true(),
}
"""Moments and their parts."""


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
