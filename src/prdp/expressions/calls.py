"""Calls: what they ask of constants, such as units that exist and patterns that end; and texts joined."""

from __future__ import annotations

from collections.abc import Iterable

from prdp.expressions.functions import (
    ADDED,
    COUNTED_IN,
    LONGEST_PATTERN,
    MAX_ADDED,
    MAX_DIGITS,
    PARTS_SPELLED,
    SIGNATURES,
    TRUNCATED_TO,
    FunctionName,
    arity,
)
from prdp.expressions.nodes import Call, Moment, Node, Number, Span, Text
from prdp.expressions.patterns import pieces_of
from prdp.expressions.strict import is_whole

Misuse = tuple[Node, str, str]
"""The argument that is wrong, why, and what to write instead."""

_UNITS = {"date_trunc": TRUNCATED_TO, "date_diff": COUNTED_IN, "date_add": ADDED}
_CONSTANT = {
    "like": "For a text of another column, write contains(a, b), starts_with(a, b) or ends_with(a, b).",
    "ilike": "For a text of another column, write contains(lower(a), lower(b)).",
    "round": "Write the number of digits itself, such as round(x, 2).",
    "date_trunc": "Write the unit itself, such as date_trunc('month', d).",
    "date_diff": "Write the unit itself, such as date_diff('day', a, b).",
}

_COUNTED = {
    (1, 1): "takes one argument",
    (2, 2): "takes two arguments",
    (3, 3): "takes three arguments",
    (1, 2): "takes one or two arguments",
    (2, 3): "takes two or three arguments",
}

NO_PART = (
    "this is no part of a date or time",
    f"The parts are {', '.join(sorted(set(PARTS_SPELLED.values())))}.",
)
"""The refusal of a part that ``extract`` does not know, and the parts that it does."""

NO_INTERVAL = (
    "an INTERVAL is a whole number of one unit",
    f"Write such as INTERVAL '90 days'. The units are {', '.join(ADDED)}.",
)
"""The refusal of an INTERVAL of several units or of none, and what to write."""


def miscounted(name: FunctionName, arguments: int) -> str:
    """Return what is wrong with the number of a function's arguments; empty if nothing is.

    >>> miscounted("power", 1), miscounted("power", 2)
    ('power takes two arguments', '')
    """
    fewest, most = arity(name)
    counted = _COUNTED.get((fewest, most), "needs two or more arguments")
    return "" if fewest <= arguments <= most else f"{name} {counted}"


def misuse(call: Call) -> Misuse | None:
    """Return what is wrong with the constants of a call of the right length; None if nothing is.

    >>> from prdp.expressions.nodes import Column
    >>> misuse(Call("date_trunc", (Text("fortnight"), Column("d"))))[1]
    "'fortnight' is no unit of date_trunc"
    """
    for place in SIGNATURES[call.name].constant:
        if place < len(call.args) and not isinstance(call.args[place], Text | Number | Moment):
            advice = _CONSTANT.get(call.name, "Write the text itself, in quotes.")
            return call.args[place], f"{call.name} needs a constant here", advice
    match call.name, call.args:
        case ("date_trunc" | "date_diff" | "date_add" as name, (Text() as unit, *rest)):
            return _unit(name, unit) or (_added(rest[0]) if name == "date_add" else None)
        case (("like" | "ilike"), (_, Text() as pattern, *escape)):
            return _pattern(pattern, *escape)
        case ("round", (_, Number() as digits)) if not (
            is_whole(digits.value) and abs(digits.value) <= MAX_DIGITS
        ):
            reason = f"round keeps between -{MAX_DIGITS} and {MAX_DIGITS} digits behind the point"
            return digits, reason, "Write such as round(x, 2), or round(x, -3) for thousands."
    return None


def _unit(name: str, unit: Text) -> Misuse | None:
    if unit.value in _UNITS[name]:
        return None
    known = f"The units are {', '.join(_UNITS[name])}."
    if name == "date_diff" and unit.value == "week":
        known = "Databases count weeks in two ways. Write floor(date_diff('day', a, b) / 7)."
    shown = "INTERVAL" if name == "date_add" else name
    return unit, f"{unit.value!r} is no unit of {shown}", known


def _added(number: Node) -> Misuse | None:
    if isinstance(number, Number) and is_whole(number.value) and abs(number.value) <= MAX_ADDED:
        return None
    return number, "an INTERVAL is a whole number of one unit", "Write such as INTERVAL '90 days'."


def _pattern(pattern: Text, escape: Node | None = None) -> Misuse | None:
    if escape is not None and not (isinstance(escape, Text) and len(escape.value) == 1):
        return escape, "ESCAPE names one character", "Write such as LIKE '100!%' ESCAPE '!'."
    if len(pattern.value) > LONGEST_PATTERN:
        return pattern, f"a pattern has at most {LONGEST_PATTERN:,} characters", "Write it shorter."
    if pieces_of(pattern.value, escape.value if isinstance(escape, Text) else "") is None:
        advice = "Write the escape character twice for itself."
        return pattern, "the pattern ends in its escape character", advice
    return None


def joined_texts(parts: Iterable[Node], span: Span | None = None) -> Call:
    """Return texts put together (``||``), with no such call inside another.

    >>> from prdp.expressions.nodes import Column
    >>> a, b, c = Column("a"), Column("b"), Column("c")
    >>> joined_texts([a, joined_texts([b, c])]) == Call("concat", (a, b, c))
    True
    """
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.args if isinstance(part, Call) and part.name == "concat" else (part,))
    return Call("concat", tuple(flat), span=span)
