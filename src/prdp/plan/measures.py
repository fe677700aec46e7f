"""The measure of a query: whole rounding steps between public bounds, or a refusal with what to write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.declare.columns import LARGEST_STEP
from prdp.declare.computed import computed_type, derived_rounding, rounding_of
from prdp.declare.exact import exact
from prdp.errors import InvalidRequest, PlanRefusal
from prdp.expressions.intervals import bound
from prdp.expressions.nodes import Node, columns
from prdp.plan.methods import Method
from prdp.plan.queries import OfColumn, Query
from prdp.policy import ranges_of
from prdp.schema import Bounds, Kind, Rounding, Schema

_MAX_SQUARED = 2**47
"""Squares of larger values might add up to more than the engine's whole numbers hold."""


def measure_of(  # noqa: PLR0917  (each is a public fact)
    query: Query, method: Method, schema: Schema, bounds: Bounds, rounding: Rounding, opened_by: str
) -> Measure | None:
    """Return what a query measures; None where it measures nothing.

    Args:
        query: The query, as the table spells it.
        method: What answers it.
        schema: The table's columns.
        bounds: The public bounds of columns.
        rounding: The public rounding step of columns.
        opened_by: The function whose arguments declare both, for messages.

    Raises:
        InvalidRequest: Something public is missing, or too large.
    """
    if query.measured is None or not isinstance(query, OfColumn):
        return None
    node = query.expression
    kind = schema[query.column] if node is None else computed_type(node, schema)
    if kind.kind is not Kind.NUMBER:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs numbers, but {query.column!r} holds {kind.kind.value} "
            f"({kind.native})."
        )
    if node is None:
        low, high = _column_ends(query, bounds, opened_by)
        round_to = _column_rounding(query, schema, rounding, opened_by)
        measure = Measure(query.column, round_to, math.ceil(low / round_to), math.floor(high / round_to))
    else:
        low, high = _computed_ends(query, node, schema, bounds, opened_by)
        round_to = _computed_rounding(query, node, schema, rounding, opened_by)
        ends = math.floor(low / round_to), math.ceil(high / round_to)
        measure = Measure(query.column, round_to, *ends, expression=node)
    most = 2**63 if kind.integer and round_to == 1 else 2**53
    squares = any(part.select_input is None for part in query.parts)
    _refuse_unless_in_range(measure, low, high, _MAX_SQUARED if squares else most)
    return replace(measure, squares=squares, per_octave=method.fineness)


def _column_ends(query: OfColumn, bounds: Bounds, opened_by: str) -> tuple[Fraction, Fraction]:
    if query.column not in bounds:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs the column's public bounds. Write "
            f"bounds={{{query.column!r}: (0, 10**12)}} in {opened_by}; wide bounds cost next to nothing."
        )
    return bounds[query.column]


def _column_rounding(query: OfColumn, schema: Schema, rounding: Rounding, opened_by: str) -> Fraction:
    stated = _stated_rounding(query)
    round_to = stated if stated is not None else rounding_of(query.column, schema, rounding)
    if round_to is None:
        raise PlanRefusal(
            f"{query.word}({query.column!r}) needs the rounding step of the column's values, which are "
            f"{schema[query.column].native}. Write round_to={{{query.column!r}: '0.01'}} in {opened_by} for "
            "two "
            "decimals.",
            "round_to",
        )
    return round_to


def _computed_ends(
    query: OfColumn, node: Node, schema: Schema, bounds: Bounds, opened_by: str
) -> tuple[Fraction, Fraction]:
    """Return between which ends an expression lies, by interval arithmetic over the public bounds."""
    ends = bound(node, ranges_of(bounds))
    asked = f"{query.word}({query.column!r})"
    if ends.empty:
        raise InvalidRequest(f"{asked} never has a value within the bounds.")
    if math.isfinite(ends.low) and math.isfinite(ends.high):
        return Fraction(ends.low), Fraction(ends.high)
    unbounded = [name for name in schema if name in columns(node) - bounds.keys()]
    numbers = [name for name in unbounded if schema[name].kind is Kind.NUMBER]
    if numbers:
        listed = ", ".join(f"{name!r}: (0, 10**6)" for name in numbers)
        raise InvalidRequest(
            f"{asked} needs the public bounds of {_and(numbers)}. Write bounds={{{listed}}} in {opened_by}; "
            "wide bounds cost next to nothing."
        )
    raise PlanRefusal(
        f"{asked} has no finite range: within the bounds it lies between {ends.low:g} and {ends.high:g}. "
        f"Write {query.word}('least(greatest({query.column}, 0), 1000)'), with ends that you choose, or "
        "narrow the bounds.",
        "range",
    )


def _computed_rounding(
    query: OfColumn, node: Node, schema: Schema, rounding: Rounding, opened_by: str
) -> Fraction:
    stated = _stated_rounding(query)
    if stated is not None:
        return stated
    round_to = derived_rounding(node, schema, rounding)
    if round_to is None or max(round_to.numerator, round_to.denominator) > LARGEST_STEP:
        unknown = [
            name for name in schema if name in columns(node) and _lacks_rounding(name, schema, rounding)
        ]
        or_declared = f", or round_to={{{unknown[0]!r}: '0.01'}} in {opened_by}" if unknown else ""
        raise PlanRefusal(
            f"{query.word}({query.column!r}) needs the rounding step of its values, which does not follow "
            "from the "
            f"columns'. Write round_to='0.01' beside it for two decimals{or_declared}.",
            "round_to",
        )
    return round_to or Fraction(1)


def _lacks_rounding(name: str, schema: Schema, rounding: Rounding) -> bool:
    return schema[name].kind is Kind.NUMBER and rounding_of(name, schema, rounding) is None


def _stated_rounding(query: OfColumn) -> Fraction | None:
    if query.round_to is None:
        return None
    round_to = exact(query.round_to, "round_to")
    if round_to <= 0 or max(round_to.numerator, round_to.denominator) > LARGEST_STEP:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs the rounding step of its values, such as round_to='0.01' "
            "for cents: "
            f"more than 0, from 1e-18 to 1e18, not {query.round_to!r}."
        )
    return round_to


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _refuse_unless_in_range(measure: Measure, low: Fraction, high: Fraction, most: int) -> None:
    held = f"the bounds of {measure.column!r}, {low} to {high}, hold"
    if measure.low > measure.high:
        raise InvalidRequest(
            f"{held} no whole rounding steps of {measure.round_to}. Take a smaller rounding step."
        )
    if measure.largest >= most:
        size = f"more than 2^{most.bit_length() - 1}"
        raise InvalidRequest(
            f"{held} {size} rounding steps of {measure.round_to}. Take a larger rounding step."
        )
