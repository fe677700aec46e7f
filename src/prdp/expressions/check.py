"""An expression fitted to a table: its columns exist, and every operation and call gets what it can use."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, assert_never

from prdp.errors import ExpressionError
from prdp.expressions.functions import (
    ADDED,
    CASTS,
    COUNTED_IN,
    LONGEST_PATTERN,
    MAX_ADDED,
    MAX_DIGITS,
    PARTS_SPELLED,
    SIGNATURES,
    TRUNCATED_TO,
    FunctionName,
    arity,
    is_whole,
)
from prdp.expressions.nodes import (
    And,
    Arithmetic,
    Boolean,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    InList,
    IsNull,
    IsTrue,
    Moment,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Or,
    Span,
    Text,
    canonical,
    columns,
)
from prdp.expressions.texts import pieces_of
from prdp.expressions.tokens import HOW_TO_WRITE_MOMENTS, moment_from, number_text, shown_name, text_literal
from prdp.schema import Kind, Schema

if TYPE_CHECKING:
    from collections.abc import Callable


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
    "this part of a date or time is not available",
    f"The parts are {', '.join(sorted(set(PARTS_SPELLED.values())))}; a decade: floor(year(d) / 10) * 10.",
)
"""The refusal of a part that ``extract`` does not know, and the parts that it does."""

NO_INTERVAL = (
    "an INTERVAL is a whole number of one unit",
    f"For example: INTERVAL '90 days'. The units are {', '.join(ADDED)}.",
)
"""The refusal of an INTERVAL of several units or of none, and what to write."""


def miscounted(name: FunctionName, arguments: int) -> str:
    """Describe a wrong number of a function's arguments; empty if it is right.

    >>> miscounted("power", 1), miscounted("power", 2)
    ('power takes two arguments', '')
    """
    fewest, most = arity(name)
    counted = _COUNTED.get((fewest, most), "needs two or more arguments")
    return "" if fewest <= arguments <= most else f"{name} {counted}"


def misuse(call: Call) -> Misuse | None:
    """Describe wrong constants of a call of the right length; None if they are right.

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
            return digits, reason, "For example: round(x, 2), or round(x, -3) for thousands."
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
    return number, "an INTERVAL is a whole number of one unit", "For example: INTERVAL '90 days'."


def _pattern(pattern: Text, escape: Node | None = None) -> Misuse | None:
    if escape is not None and not (isinstance(escape, Text) and len(escape.value) == 1):
        return escape, "ESCAPE names one character", "For example: LIKE '100!%' ESCAPE '!'."
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


_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_LONGEST_SHOWN = 40

Typed = tuple[Node, Kind | None]
"""A checked node and its kind; ``None`` is the kind of NULL, which fits everywhere."""


def check(node: Node, schema: Schema, expected: Kind, text: str) -> Node:
    """Return an expression with its columns spelled as in the table, or refuse it.

    >>> from prdp.expressions.parse import parse
    >>> from prdp.schema import ColumnType
    >>> schema = {"Age": ColumnType(Kind.NUMBER), "job": ColumnType(Kind.TEXT)}
    >>> check(parse("age >= 40"), schema, Kind.BOOLEAN, "age >= 40").left
    Column(name='Age')
    >>> check(parse("job + 1"), schema, Kind.NUMBER, "job + 1")
    Traceback (most recent call last):
    ...
    prdp.errors.ExpressionError: this is a text, and a number is needed here
    <BLANKLINE>
        job + 1
        ^^^
    <BLANKLINE>
    Write CAST(job AS DOUBLE); texts are put together by a || b.

    Args:
        node: What ``parse`` returned.
        schema: The table's columns.
        expected: What the whole expression must be: a number for a policy, true or false for a
            filter.
        text: The text that the expression was read from, for the message.

    Raises:
        ExpressionError: A column is unknown, or an operation cannot use what it is given.
    """
    checked, kind = checked_kind(node, schema, text)
    if kind not in (None, expected):
        reason = f"this is a {kind.value}, and a {expected.value} is needed here"
        raise ExpressionError(text, node.span or (0, len(text)), reason)
    return checked


def checked_kind(node: Node, schema: Schema, text: str) -> Typed:
    """Return an expression with its columns spelled as in the table, and its kind; as ``check``."""
    return _Checker(schema, text).typed(node)


@dataclass(frozen=True, slots=True)
class _Checker:
    schema: Schema
    text: str

    def typed(self, node: Node) -> Typed:  # noqa: C901, PLR0911  (one return a class)
        """Return a node with its columns resolved, and its kind."""
        match node:
            case Number():
                return node, Kind.NUMBER
            case Text():
                return node, Kind.TEXT
            case Boolean():
                return node, Kind.BOOLEAN
            case Moment():
                return node, Kind.MOMENT
            case Null():
                return node, None
            case Column():
                return self._column(node)
            case Compare() | InList():
                return self._comparison(node), Kind.BOOLEAN
            case Case():
                return self._case(node)
            case Call():
                return self._call(node)
            case Cast():
                return self._cast(node)
            case _:
                return self._operation(node)

    def _operation(self, node: Negate | Arithmetic | And | Or | Not | IsNull | IsTrue) -> Typed:
        number, boolean = self._each(Kind.NUMBER), self._each(Kind.BOOLEAN)
        match node:
            case Negate():
                return dataclasses.replace(node, operand=number(node.operand)), Kind.NUMBER
            case Arithmetic():
                left, right, of_moments = self._sides(node)
                return dataclasses.replace(node, left=left, right=right, of_moments=of_moments), Kind.NUMBER
            case And() | Or():
                parts = tuple(map(boolean, node.parts))
                return dataclasses.replace(node, parts=parts), Kind.BOOLEAN
            case Not() | IsTrue():
                return dataclasses.replace(node, operand=boolean(node.operand)), Kind.BOOLEAN
            case IsNull():
                return dataclasses.replace(node, operand=self.typed(node.operand)[0]), Kind.BOOLEAN
            case _:
                assert_never(node)

    def _each(self, expected: Kind) -> Callable[[Node], Node]:
        """Return a check that its operand is of a kind."""

        def fitting(operand: Node) -> Node:
            return self._fitting(operand, self.typed(operand), expected)

        return fitting

    def _fitting(self, operand: Node, typed: Typed, expected: Kind) -> Node:
        checked, kind = typed
        if kind not in (None, expected):
            reason = f"this is a {kind.value}, and a {expected.value} is needed here"
            self._refuse(operand, reason, _how_to_convert(operand, kind, expected, self.text))
        return checked

    def _sides(self, node: Arithmetic) -> tuple[Node, Node, bool]:
        """Return both sides of an operation, and whether it is the difference of two dates."""
        left, right = self.typed(node.left), self.typed(node.right)  # once: what they hold is checked, too
        expected = Kind.MOMENT if node.op == "-" and left[1] is Kind.MOMENT else Kind.NUMBER
        if node.op in ("+", "-") and (left[1], right[1]) == (Kind.MOMENT, Kind.NUMBER):
            advice = f"For example: {node.op} INTERVAL '1 day', or '1 month'."
            self._refuse(node.right, "a number that is added to a date needs a unit", advice)
        sides = self._fitting(node.left, left, expected), self._fitting(node.right, right, expected)
        return *sides, expected is Kind.MOMENT

    def _call(self, node: Call) -> Typed:
        """Check a function's arguments, and those of one that takes any kind against each other."""
        signature = SIGNATURES[node.name]
        fewest, most = signature.arity
        if not fewest <= len(node.args) <= most:
            self._refuse(node, f"{node.name} cannot have {len(node.args)} arguments")
        if wrong := misuse(node):
            self._refuse(wrong[0], *wrong[1:])
        if None in signature.takes:
            args, kind = self._alike(node.args, f"{node.name} takes values of one kind")
        else:
            kind = signature.gives
            fitting = (self._each(signature.kind(place) or Kind.OTHER) for place in range(len(node.args)))
            args = tuple(fit(arg) for fit, arg in zip(fitting, node.args, strict=True))
        return dataclasses.replace(node, args=args), kind

    def _alike(self, nodes: tuple[Node, ...], advice: str) -> tuple[tuple[Node, ...], Kind | None]:
        """Return checked nodes and the kind that they share; NULL shares every kind."""
        checked, found = [], None
        for node in nodes:
            value, kind = self.typed(node)
            if kind is not None and found is not None and kind is not found:
                reason = f"this is a {kind.value}, but the value before it is a {found.value}"
                self._refuse(node, reason, f"{advice}.")
            found = found or kind
            checked.append(value)
        return tuple(checked), found

    def _cast(self, node: Cast) -> Typed:
        gives, takes = CASTS[node.target]
        operand, kind = self.typed(node.operand)
        if kind is not None and kind not in takes:
            reason = f"this is a {kind.value}, of which CAST makes no {node.target}"
            self._refuse(node.operand, reason, _how_to_convert(node.operand, kind, gives, self.text))
        return dataclasses.replace(node, operand=operand, of_boolean=kind is Kind.BOOLEAN), gives

    def _column(self, node: Column) -> Typed:
        name = self._spelled(node)
        column = self.schema[name]
        if column.kind is Kind.OTHER:
            self._refuse(
                node,
                f"{shown_name(name)} is of type {column.native or 'unknown'}, which expressions do not read",
                column.conversion or "Numbers, texts, dates, times and truth values can be used.",
            )
        return Column(name, span=node.span, required=column.required), column.kind

    def _spelled(self, node: Column) -> str:
        """Return a column's name as the table spells it; upper and lower case do not matter."""
        if node.name in self.schema:
            return node.name
        same = [name for name in self.schema if name.lower() == node.name.lower()]
        if len(same) != 1:
            self._refuse_name(node, same)
        return same[0]

    def _refuse_name(self, node: Column, same: list[str]) -> NoReturn:
        if same:
            spelled = " and ".join(map(shown_name, same))
            advice = "Write it as the table spells it."
            self._refuse(node, f"{node.name} could be {spelled}", advice)
        lowered = {name.lower(): name for name in self.schema}
        close = difflib.get_close_matches(node.name.lower(), lowered, n=1)
        known = f"The columns are {', '.join(map(shown_name, self.schema))}."
        advice = f"Did you mean {shown_name(lowered[close[0]])}? {known}" if close else known
        if node.span and self.text[node.span[0] : node.span[0] + 1] == '"':
            advice = f"Text is written in single quotes: {text_literal(node.name)}."
        elif node.name.lower() in ("none", "nan") and not close:
            advice = f"Write IS NULL or IS NOT NULL for values that are missing. {known}"
        self._refuse(node, f"there is no column {shown_name(node.name)}", advice)

    def _comparison(self, node: Compare | InList) -> Node:
        if isinstance(node, InList):
            operand, kind = self.typed(node.operand)
            items = tuple(_read_as(self.typed(item), kind) for item in node.items)
            for item, (_, item_kind) in zip(node.items, items, strict=True):
                self._comparable(node.operand, kind, item, item_kind)
            listed: tuple[Any, ...] = tuple(item for item, _ in items)
            return dataclasses.replace(node, operand=operand, items=listed)
        sides = self.typed(node.left), self.typed(node.right)
        left, left_kind = _read_as(sides[0], sides[1][1])
        right, right_kind = _read_as(sides[1], sides[0][1])
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(side, Null):
                self._refuse(other, "a comparison with NULL is never true", "Write IS NULL or IS NOT NULL.")
        self._comparable(node.left, left_kind, node.right, right_kind)
        if Kind.BOOLEAN in (left_kind, right_kind) and node.op not in ("=", "<>"):
            self._refuse(node, "true and false have no order", "Compare them with = or <>.")
        return dataclasses.replace(node, left=left, right=right)

    def _comparable(self, left: Node, left_kind: Kind | None, right: Node, right_kind: Kind | None) -> None:
        if left_kind is right_kind or left_kind is None or right_kind is None:
            return
        reason = f"a {left_kind.value} cannot be compared with a {right_kind.value}"
        for side, kind, other in ((left, left_kind, right_kind), (right, right_kind, left_kind)):
            if isinstance(side, Text | Number | Boolean | Moment):
                self._refuse(side, reason, _how_to_write(side, kind, other))
        self._refuse(right, reason, HOW_TO_WRITE_MOMENTS if Kind.MOMENT in (left_kind, right_kind) else "")

    def _case(self, node: Case) -> Typed:
        condition = self._each(Kind.BOOLEAN)
        found: Kind | None = None
        branches = []
        for when, then in (*node.branches, (None, node.default)):
            value, kind = self.typed(then)
            if kind is not None and found is not None and kind is not found:
                reason = f"this is a {kind.value}, but another branch gives a {found.value}"
                self._refuse(then, reason, "All branches of CASE give the same kind of value.")
            found = found or kind
            branches.append((None if when is None else condition(when), value))
        conditional = tuple((when, then) for when, then in branches if when is not None)
        return Case(conditional, branches[-1][1], span=node.span), found

    def _refuse(self, node: Node, reason: str, advice: str = "") -> NoReturn:
        raise ExpressionError(self.text, node.span or (0, len(self.text)), reason, advice)


def _read_as(typed: Typed, other: Kind | None) -> Typed:
    """Return a constant as SQL reads it beside a date or a boolean: an ISO text as a moment, 1 as TRUE."""
    node, _ = typed
    if isinstance(node, Number) and other is Kind.BOOLEAN and node.value in (0, 1):
        return Boolean(node.value == 1, span=node.span), Kind.BOOLEAN
    moment = moment_from(node.value) if isinstance(node, Text) and other is Kind.MOMENT else None
    return typed if moment is None else (Moment(moment, span=node.span), Kind.MOMENT)


def _how_to_convert(node: Node, kind: Kind, other: Kind, text: str) -> str:
    """Return the conversion of a value to another kind; names that the text does not have are not shown."""
    written = canonical(node)
    known = all(name in text for name in columns(node))
    shown = written if known and len(written) <= _LONGEST_SHOWN else "x"
    match kind, other:
        case Kind.MOMENT, Kind.NUMBER:
            return f"Write year({shown}), or date_diff('day', DATE '1970-01-01', {shown})."
        case ((Kind.NUMBER | Kind.BOOLEAN | Kind.MOMENT), Kind.TEXT):
            return f"Write CAST({shown} AS VARCHAR)."
        case Kind.TEXT, Kind.NUMBER:
            return f"Write CAST({shown} AS DOUBLE); texts are put together by a || b."
        case Kind.TEXT, Kind.MOMENT:
            return f"Write CAST({shown} AS DATE)."
        case _:
            return ""


def _how_to_write(literal: Text | Number | Boolean | Moment, kind: Kind, other: Kind) -> str:
    """Return the spelling of a literal in the other side's kind."""
    match literal, other:
        case Text(), Kind.MOMENT:
            return HOW_TO_WRITE_MOMENTS
        case Text(), Kind.NUMBER:
            if _NUMBER.fullmatch(literal.value):
                return f"Write {literal.value}, without quotes."
            return f"{text_literal(literal.value)} is not a number: compare values of one type."
        case Number(), Kind.TEXT:
            written = text_literal(number_text(literal.value))
            return f"Write {written}, in quotes. To compare numbers, write CAST(x AS DOUBLE) for the text."
        case _:
            return f"Write a {other.value} in place of this {kind.value}."
