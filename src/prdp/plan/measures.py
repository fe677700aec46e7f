"""The measure of a query: whole rounding steps between public bounds, or a refusal with what to write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.declare.columns import LARGEST_GRAIN
from prdp.declare.computed import computed_type, default_step, derived_grain, grain_of
from prdp.declare.exact import exact
from prdp.errors import InvalidRequest, PlanRefusal
from prdp.expressions.intervals import bound
from prdp.expressions.nodes import Node, canonical, columns
from prdp.plan.methods import Method
from prdp.plan.queries import OfColumn, Query
from prdp.policy import ranges_of
from prdp.schema import Bounds, Grains, Kind, Schema

_MOST_SQUARED = 2**47
"""Squares of larger values might add up to more than the engine's whole numbers hold."""


def measure_of(  # noqa: PLR0917  (each is a public fact)
    query: Query,
    method: Method,
    schema: Schema,
    bounds: Bounds,
    grains: Grains,
    opened_by: str,
    rows: int = 1,
) -> Measure | None:
    """Return what a query measures; None where it measures nothing.

    Args:
        query: The query, as the table spells it.
        method: What answers it.
        schema: The table's columns.
        bounds: The public bounds of columns.
        grains: The public grain of columns.
        opened_by: The function whose arguments declare both, for messages.
        rows: How many rows of one privacy unit may be added up.

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
        grain = _said_grain(query) or _column_grain(query, (low, high), schema, grains, rows)
        measure = Measure(query.column, grain, math.ceil(low / grain), math.floor(high / grain))
    else:
        low, high = _computed_ends(query, node, schema, bounds, opened_by)
        grain = _said_grain(query) or _default(query, (low, high), derived_grain(node, schema, grains), rows)
        ends = math.floor(low / grain), math.ceil(high / grain)
        measure = Measure(canonical(node), grain, *ends, expression=node)
    most = 2**63 if kind.integer and grain == 1 else 2**53
    squares = any(part.sees is None for part in query.parts)
    _refuse_unless_in_range(measure, low, high, _MOST_SQUARED if squares else most)
    return replace(measure, squares=squares, per_octave=method.fineness)


class _Histogram(OfColumn):
    """What messages call a histogram whose bins follow from bounds."""

    @property
    def word(self) -> str:
        """The name of the method."""
        return "histogram"


def column_range(column: str, schema: Schema, bounds: Bounds) -> tuple[Fraction, Fraction]:
    """Return between which public ends a column lies, or what is computed from columns."""
    query = _Histogram(column).known(schema)
    if query.expression is None:
        return _column_ends(query, bounds, "prdp.open")
    return _computed_ends(query, query.expression, schema, bounds, "prdp.open")


def _column_ends(query: OfColumn, bounds: Bounds, opened_by: str) -> tuple[Fraction, Fraction]:
    if query.column not in bounds:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs the column's public bounds. Write "
            f"bounds={{{query.column!r}: (0, 10**12)}} in {opened_by}; wide bounds cost next to nothing."
        )
    return bounds[query.column]


def _column_grain(
    query: OfColumn, ends: tuple[Fraction, Fraction], schema: Schema, grains: Grains, rows: int
) -> Fraction:
    grain = grain_of(query.column, schema, grains)
    if grain is not None and (query.column in grains or schema[query.column].integer):
        return grain
    return _default(query, ends, grain, rows)


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


def _default(
    query: OfColumn, ends: tuple[Fraction, Fraction], exact_step: Fraction | None, rows: int
) -> Fraction:
    """Return the public default of a rounding step that nobody declared."""
    if exact_step is not None and max(exact_step.numerator, exact_step.denominator) > LARGEST_GRAIN:
        exact_step = None
    grain = default_step(exact_step, *ends, rows)
    if grain is None:
        raise PlanRefusal(
            f"{query.word}({query.column!r}) lies between {float(ends[0]):g} and {float(ends[1]):g}, too "
            "wide to be counted in steps of at most 1e18. Write "
            f"{query.word}('least({query.column}, 1e9)'), with an end that you choose, or narrow the bounds.",
            "range",
        )
    return grain


def _said_grain(query: OfColumn) -> Fraction | None:
    if query.grain is None:
        return None
    grain = exact(query.grain, "grain")
    if grain <= 0 or max(grain.numerator, grain.denominator) > LARGEST_GRAIN:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs the grain of its values, such as grain='0.01' for cents: "
            f"more than 0, from 1e-18 to 1e18, not {query.grain!r}."
        )
    return grain


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _refuse_unless_in_range(measure: Measure, low: Fraction, high: Fraction, most: int) -> None:
    held = f"the bounds of {measure.column!r}, {low} to {high}, hold"
    if measure.low > measure.high:
        raise InvalidRequest(f"{held} no whole grains of {measure.grain}. Take a smaller grain.")
    if measure.largest >= most:
        size = f"more than 2^{most.bit_length() - 1}"
        raise InvalidRequest(f"{held} {size} grains of {measure.grain}. Take a larger grain.")
