"""Expressions written as DuckDB SQL that never fails and gives what ``evaluate`` gives.

Inside a number, NaN is allowed to represent NULL: arithmetic carries both along alike. It becomes
NULL where it would be noticed: in a comparison, in IS NULL, and at the end. Divisions and functions
are guarded, so that no setting of the engine decides what they give. A guard that types and
constants show to be idle is left out; declared bounds show nothing, since records may break them.

A guard mentions its operand more than once. A long operand is therefore computed once, as the
element of a list that a lambda is applied to: the statement grows with the expression, not with
the power of its depth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from prdp.engines.duckdb.column_types import column_sql, has_nan, is_native_integer, range_of
from prdp.engines.row_sql.functions import NEEDS_UTF_8, Moments, Texts, like
from prdp.engines.row_sql.numbers import UNKNOWN, Double, Guards, constant, double, reach_of
from prdp.expressions.evaluate import LIMITS, MOMENT_PATTERN, NUMBER_PATTERN, evaluate
from prdp.expressions.functions import (
    CASTS,
    MOMENT_PARTS,
    NUMBER_FUNCTIONS,
    SIGNATURES,
    CastTarget,
    FunctionName,
    is_whole,
)
from prdp.expressions.interval_rules import UNBOUNDED, Interval, to_whole
from prdp.expressions.intervals import hull, narrowed, outcome
from prdp.expressions.nodes import (
    MIRRORED,
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
    Text,
    columns,
)
from prdp.expressions.tokens import quoted, text_literal
from prdp.schema import Kind, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Casts:
    """Writes conversions."""

    guards: Guards

    def text_to_number(self, text: str) -> Double:
        """Return the number that a text says."""
        sql = self._if_it_fits(text, NUMBER_PATTERN, "DOUBLE")
        return Double(sql, UNBOUNDED)

    def text_to_moment(self, text: str) -> str:
        """Return the moment that a text says."""
        return self._if_it_fits(text, MOMENT_PATTERN, "TIMESTAMP")

    def _if_it_fits(self, text: str, pattern: str, target: str) -> str:
        return self.guards.once(
            [text],
            lambda t: (
                f"(CASE WHEN regexp_full_match({t}, {text_literal(pattern)}) "
                f"THEN TRY_CAST(trim({t}, ' ') AS {target}) END)"
            ),
        )

    def truth_to_number(self, truth: str) -> Double:
        """Return 1 or 0."""
        return Double(f"CAST(CAST({truth} AS INTEGER) AS DOUBLE)", Interval(0.0, 1.0))

    def number_to_text(self, x: Double) -> str:
        """Return the shortest text that says a number; whole ones without a point."""
        plain = f"CAST({self.guards.clean(x)} + 0e0 AS VARCHAR)"  # -0 + 0 is 0
        return rf"regexp_replace({plain}, '\.0$', '')"

    def to_whole(self, target: CastTarget, x: Double) -> Double:
        """Return the nearest whole number of a type."""
        least, beyond = LIMITS[target]

        def write(v: str) -> str:
            whole = f"round_even({v}, 0)"
            return f"(CASE WHEN {whole} >= {double(least)} AND {whole} < {double(beyond)} THEN {whole} END)"

        return Double(self.guards.once([x.sql], write), to_whole(target, x.values).values)


__all__ = ["quoted", "text_literal", "to_sql"]

_LONGEST_CONDITION = 2_000
"""Maximum length of a condition that is written twice."""

_EXACT_WHOLE = 2.0**53

_NULLS = {
    Kind.NUMBER: UNKNOWN,
    Kind.TEXT: "CAST(NULL AS VARCHAR)",
    Kind.BOOLEAN: "CAST(NULL AS BOOLEAN)",
    Kind.MOMENT: "CAST(NULL AS TIMESTAMP)",
}
"""The unknown value of each kind."""


def _moment_sql(value: datetime) -> str:
    """Return a moment."""
    return f"TIMESTAMP '{value.isoformat(sep=' ')}'"


def _constant_value(node: Node, kind: Kind) -> str:
    """Return the text, moment or truth value of an expression that reads no column."""
    match evaluate(node, {}):
        case bool(value):
            return str(value).upper()
        case str(value):
            return text_literal(value)
        case datetime() as value:
            return _moment_sql(value)
        case _:
            return _NULLS[kind]


def to_sql(node: Node, schema: Schema) -> str:
    """Return DuckDB SQL for a checked expression; no row can make it fail."""
    name = "prdp_value"
    while name in {column.lower() for column in schema}:
        name += "_"
    ranges = {column: range_of(schema[column]) for column in columns(node)}
    writer = _Writer(schema, Guards(name), ranges, frozenset())
    if writer.kind(node) is Kind.NUMBER:
        return writer.guards.clean(writer.number(node))
    return writer.value(node)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes expressions for records whose columns lie in ranges.

    Attributes:
        schema: The table's columns.
        guards: Writes operations on numbers.
        ranges: What the number columns can be, by their types and the conditions around.
        known: The columns that have a value, by the conditions around: neither NULL nor NaN.
    """

    schema: Schema
    guards: Guards
    ranges: Mapping[str, Interval]
    known: frozenset[str]

    def kind(self, node: Node) -> Kind | None:  # noqa: PLR0911  (one return a class)
        """Return an expression's kind; ``None`` for NULL."""
        match node:
            case Null():
                return None
            case Column():
                return self.schema[node.name].kind
            case Text():
                return Kind.TEXT
            case Moment():
                return Kind.MOMENT
            case Number() | Negate() | Arithmetic():
                return Kind.NUMBER
            case Cast():
                return CASTS[node.target][0]
            case Call() if None not in SIGNATURES[node.name].takes:
                return SIGNATURES[node.name].gives
            case Call():
                return next((kind for arg in node.args if (kind := self.kind(arg))), None)
            case Case():
                values = (*(value for _, value in node.branches), node.default)
                return next((kind for value in values if (kind := self.kind(value))), None)
            case _:
                return Kind.BOOLEAN

    def number(self, node: Node) -> Double:  # noqa: PLR0911  (one return a class)
        """Return a number; NaN in it represents NULL."""
        if not columns(node):
            value = evaluate(node, {})
            return constant(value if isinstance(value, float) else None)
        match node:
            case Column():
                return self._number_column(node)
            case Negate():
                return self.guards.negate(self.number(node.operand))
            case Arithmetic() if Kind.MOMENT in (self.kind(node.left), self.kind(node.right)):
                ends = self.branch(node.left, Kind.MOMENT), self.branch(node.right, Kind.MOMENT)
                return Double(Moments(self.guards).days_between(*ends), outcome(node, {}).values)
            case Arithmetic():
                left, right = self.number(node.left), self.number(node.right)
                return self.guards.arithmetic(node.op, left, right)
            case Call():
                return self._number_call(node)
            case Cast():
                return self._number_cast(node)
            case Case():
                found: list[Double] = []
                sql = self._case(node, Kind.NUMBER, found)
                nan = any(value.may_be_nan for value in found)
                return Double(sql, hull(value.values for value in found), nan, reach=reach_of(found))
            case _:
                raise TypeError(f"{type(node).__name__} does not give a number")

    def _number_call(self, node: Call) -> Double:
        if node.name in NUMBER_FUNCTIONS:
            return self.guards.call(node.name, [self.number(arg) for arg in node.args])
        values = outcome(node, self.ranges).values
        moments = Moments(self.guards)
        match node.name, node.args:
            case (("coalesce" | "nullif"), _):
                return Double(self._choice(node, Kind.NUMBER), values)
            case "length", (text,):
                return Double(
                    f"CAST({Texts(self.guards).call('length', [self.text(text, 'length')])} AS DOUBLE)",
                    values,
                )
            case "date_diff", (Text() as unit, start, end):
                ends = self.branch(start, Kind.MOMENT), self.branch(end, Kind.MOMENT)
                return Double(moments.counted(unit.value, *ends), values)
            case _ if node.name in MOMENT_PARTS:
                return Double(moments.part(node.name, self.branch(node.args[0], Kind.MOMENT)), values)
            case _:
                raise TypeError(f"{node.name} does not give a number")

    def _number_cast(self, node: Cast) -> Double:
        casts = Casts(self.guards)
        match self.kind(node.operand):
            case Kind.TEXT:
                found = casts.text_to_number(self.value(node.operand))
            case Kind.BOOLEAN:
                found = casts.truth_to_number(self.value(node.operand))
            case _:
                found = self.number(node.operand)
        return found if node.target == "DOUBLE" else casts.to_whole(node.target, found)

    def _number_column(self, node: Column) -> Double:
        column = self.schema[node.name]
        return Double(
            column_sql(node.name, column),
            self.ranges.get(node.name, range_of(column)),
            may_be_nan=has_nan(column) and node.name not in self.known,
            zero_test=f"{quoted(node.name)} = 0" if is_native_integer(column) else "",
        )

    def value(self, node: Node) -> str:  # noqa: PLR0911  (one return a class)
        """Return a text, a moment or a truth value; NULL where it is unknown."""
        match node:
            case Text():
                return text_literal(node.value)
            case Moment():
                return _moment_sql(node.value)
            case Boolean():
                return str(node.value).upper()
            case Null():
                return "NULL"
            case Column():
                return column_sql(node.name, self.schema[node.name])
            case Case():
                return self._case(node, self.kind(node) or Kind.BOOLEAN, [])
            case Call() | Cast() if columns(node):
                return self._cast(node) if isinstance(node, Cast) else self._call(node)
            case Call() | Cast():
                return _constant_value(node, self.kind(node) or Kind.BOOLEAN)
            case _:
                return self._condition(node)

    def text(self, node: Node, reader: FunctionName) -> str:
        """Return a text for a function: as it is, or UTF-8 or else NULL for one that fails on others."""
        sql = self.branch(node, Kind.TEXT)
        is_valid = isinstance(node, Text | Null) or (isinstance(node, Call) and node.name in NEEDS_UTF_8)
        return sql if is_valid or reader not in NEEDS_UTF_8 else Texts(self.guards).valid(sql)

    def _call(self, node: Call) -> str:
        """Return a function that gives a text, a moment or a truth value."""
        moments = Moments(self.guards)
        match node.name, node.args:
            case (("coalesce" | "nullif"), _):
                return self._choice(node, self.kind(node) or Kind.BOOLEAN)
            case (("like" | "ilike"), (text, Text() as pattern, *escape)):
                ending = [one.value for one in escape if isinstance(one, Text)]
                return like(self.text(text, node.name), pattern.value, *ending, any_case=node.name == "ilike")
            case "date_trunc", (Text() as unit, moment):
                return moments.truncated(unit.value, self.branch(moment, Kind.MOMENT))
            case "date_add", (Text() as unit, Number() as number, moment):
                return moments.added(unit.value, int(number.value), self.branch(moment, Kind.MOMENT))
            case _:
                kinds = SIGNATURES[node.name].kind
                return Texts(self.guards).call(
                    node.name,
                    [
                        self.text(arg, node.name)
                        if kinds(place) is Kind.TEXT
                        else self.guards.clean(self.number(arg))
                        for place, arg in enumerate(node.args)
                    ],
                )

    def _cast(self, node: Cast) -> str:
        """Return a text or a moment made of another value."""
        casts, moments = Casts(self.guards), Moments(self.guards)
        match self.kind(node.operand), CASTS[node.target][0]:
            case Kind.NUMBER, _:
                return casts.number_to_text(self.number(node.operand))
            case Kind.BOOLEAN, _:
                # The inner cast says what is written, to engines whose truth values are numbers.
                return f"CAST(CAST({self.value(node.operand)} AS BOOLEAN) AS VARCHAR)"
            case Kind.MOMENT, Kind.TEXT:
                return moments.as_text(self.value(node.operand))
            case _, Kind.TEXT:
                return self.branch(node.operand, Kind.TEXT)
            case Kind.TEXT, _:
                moment = casts.text_to_moment(self.value(node.operand))
            case _:
                moment = self.branch(node.operand, Kind.MOMENT)
        return moments.truncated("day", moment) if node.target == "DATE" else moment

    def _choice(self, node: Call, kind: Kind) -> str:
        """Return the first known value, or one unless it equals another; numbers are never NaN."""
        if node.name == "coalesce":
            return f"coalesce({', '.join(self._clean(arg, kind) for arg in node.args)})"
        by_code_point = " COLLATE C" if kind is Kind.TEXT else ""
        return self.guards.once(
            [self._clean(arg, kind) for arg in node.args],
            lambda a, b: f"(CASE WHEN ({a}){by_code_point} = ({b}){by_code_point} THEN NULL ELSE {a} END)",
        )

    def _clean(self, node: Node, kind: Kind) -> str:
        if kind is Kind.NUMBER:
            return self.guards.clean(self.number(node))
        return self.branch(node, kind)

    def _condition(self, node: Node) -> str:  # noqa: PLR0911  (one return a class)
        if not columns(node):
            holds = evaluate(node, {})
            return _NULLS[Kind.BOOLEAN] if holds is None else str(holds).upper()
        match node:
            case And() | Or():
                word = " AND " if isinstance(node, And) else " OR "
                return f"({word.join(self.value(part) for part in node.parts)})"
            case Not():
                return f"(NOT {self.value(node.operand)})"
            case IsNull():
                return self._is_null(node.operand)
            case IsTrue():
                return f"coalesce({self.branch(node.operand, Kind.BOOLEAN)}, FALSE)"
            case Compare():
                return self._compare(node)
            case InList():
                return self._in_list(node)
            case _:
                raise TypeError(f"{type(node).__name__} is not a condition")

    def _is_null(self, operand: Node) -> str:
        if isinstance(operand, Column) and self.schema[operand.name].kind is Kind.MOMENT:
            # A date beyond all timestamps has no cast, and DuckDB compares it as a date all the same.
            return f"({quoted(operand.name)} IS NULL)"
        if self.kind(operand) is not Kind.NUMBER:
            return f"({self.value(operand)} IS NULL)"
        number = self.number(operand)
        if isinstance(operand, Column) and not number.may_be_nan:
            return f"({quoted(operand.name)} IS NULL)"
        return self.guards.is_null(number)

    def _compare(self, node: Compare) -> str:
        kind = self.kind(node.left) or self.kind(node.right)
        if kind is Kind.NUMBER:
            left, right = self.number(node.left), self.number(node.right)
            if native := self._native(node.left, [right]):
                return f"({native[0]} {node.op} {native[1]})"
            if native := self._native(node.right, [left]):
                return f"({native[0]} {MIRRORED[node.op]} {native[1]})"
            return self.guards.compare(node.op, left, right)
        by_code_point = " COLLATE C" if kind is Kind.TEXT else ""
        left_sql, right_sql = (self.branch(side, kind or Kind.BOOLEAN) for side in (node.left, node.right))
        return f"(({left_sql}){by_code_point} {node.op} ({right_sql}){by_code_point})"

    def _in_list(self, node: InList) -> str:
        kind = self.kind(node.operand)
        if kind is Kind.NUMBER:
            items = [self.number(item) for item in node.items]
            if native := self._native(node.operand, items):
                return f"({native[0]} IN ({', '.join(native[1:])}))"
            listed = ", ".join(item.sql for item in items)
            return self.guards.among(self.number(node.operand), listed)
        by_code_point = " COLLATE C" if kind is Kind.TEXT else ""
        listed = ", ".join(self.branch(item, kind or Kind.BOOLEAN) for item in node.items)
        return f"(({self.value(node.operand)}){by_code_point} IN ({listed}))"

    def _native(self, side: Node, others: list[Double]) -> list[str]:
        """Return a whole-number column and constants to compare it with, without a cast.

        Rounding to a double is monotone and exact below 2^53, so such a constant compares alike
        with the column and with its nearest double.
        """
        if not isinstance(side, Column) or not is_native_integer(self.schema[side.name]):
            return []
        whole = [value for other in others if (value := other.constant) is not None]
        if len(whole) != len(others) or not all(map(_is_exact_whole, whole)):
            return []
        return [quoted(side.name), *(str(int(value)) for value in whole)]

    def _case(self, node: Case, kind: Kind, found: list[Double]) -> str:
        """Write a CASE that is unknown when a condition met on the way is; note its numbers."""
        pieces: list[str] = []
        writer = self
        for place, (condition, value) in enumerate(node.branches, start=1):
            test = writer.value(condition)
            rest = Case(node.branches[place:], node.default) if node.branches[place:] else node.default
            if len(test) > _LONGEST_CONDITION:
                # Written once: as the place in a list, where an unknown place gives NULL.
                values = ", ".join(writer.branch(part, kind, found) for part in (rest, value))
                return _closed(pieces, f"[{values}][CAST({test} AS INTEGER) + 1]")
            inside = writer.where(condition, holds=True).branch(value, kind, found)
            pieces.append(f"WHEN {test} THEN {inside}")
            writer = writer.where(condition, holds=False)
            if rest is node.default:
                break
            if not _is_decided(condition):
                pieces.append(f"WHEN {test} IS NULL THEN NULL")
        if isinstance(node.default, Null):
            return _closed(pieces, "")
        default = writer.branch(node.default, kind, found)
        if _is_decided(condition):
            return _closed(pieces, default)
        return _closed([*pieces, f"WHEN NOT {test} THEN {default}"], "")

    def branch(self, node: Node, kind: Kind, found: list[Double] | None = None) -> str:
        """Return the value of a branch, and note it if it is a number."""
        if self.kind(node) is None:
            return _NULLS[kind]
        if kind is not Kind.NUMBER:
            return self.value(node)
        number = self.number(node)
        if found is not None:
            found.append(number)
        return number.sql

    def where(self, condition: Node, *, holds: bool) -> _Writer:
        """Return a writer for the records for which a condition holds, or fails to."""
        ranges = narrowed(condition, self.ranges, holds=holds)
        if ranges is None:
            return self
        return replace(self, ranges=ranges, known=self.known | _columns_with_values(condition, holds=holds))


def _closed(pieces: list[str], default: str) -> str:
    if not pieces:
        return default
    return f"(CASE {' '.join(pieces)}{f' ELSE {default}' if default else ''} END)"


def _is_exact_whole(value: float) -> bool:
    return is_whole(value) and abs(value) < _EXACT_WHOLE


def _is_decided(condition: Node) -> bool:
    """Return whether a condition is never unknown."""
    match condition:
        case IsNull() | IsTrue() | Boolean():
            return True
        case Not():
            return _is_decided(condition.operand)
        case And() | Or():
            return all(map(_is_decided, condition.parts))
        case _:
            return False


def _columns_with_values(condition: Node, *, holds: bool) -> frozenset[str]:
    """Return columns that must have a value for a condition to hold, or to fail."""
    match condition:
        case Not():
            return _columns_with_values(condition.operand, holds=not holds)
        case IsTrue() if holds:
            return _columns_with_values(condition.operand, holds=True)
        case And() | Or() if isinstance(condition, And) is holds:
            return frozenset().union(*(_columns_with_values(part, holds=holds) for part in condition.parts))
        case Compare():
            sides = (condition.left, condition.right)
            return frozenset(side.name for side in sides if isinstance(side, Column))
        case InList(operand=Column() as column):
            return frozenset((column.name,))
        case _:
            return frozenset()
