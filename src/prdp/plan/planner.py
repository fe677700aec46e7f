"""From a query to its recipe, by public facts alone: wrong questions are refused here, before any charge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.cells.grids import FINE_PER_OCTAVE, PER_OCTAVE
from prdp.cells.owners import counts_units, refuse_unless_proved
from prdp.declare.columns import known_column
from prdp.declare.exact import MOST_DENOMINATOR, Exact, exact, told
from prdp.declare.schema import Bounds, Kind, Schema, Units
from prdp.errors import InvalidRequest
from prdp.levels import Levels
from prdp.mechanisms import Choice, Clip, Framework, Naive, Partition, Rank, count_influences, sum_influences
from prdp.mechanisms import Distinct as DistinctKeys
from prdp.mechanisms._base import (
    Base,
    InverseSensitivityMax,
    InverseSensitivityQuantile,
    LaplaceCount,
    UniversalSum,
)
from prdp.mechanisms.framework import SPLIT
from prdp.plan.queries import (
    DEFAULT,
    Asked,
    Count,
    Distinct,
    Max,
    Mean,
    Measure,
    Min,
    Options,
    Quantile,
    Query,
    Std,
    Sum,
    Variance,
)
from prdp.plan.recipe import AnyMechanism, Recipe
from prdp.policy import Policy
from prdp.release.derived import PARTS

METHODS: Mapping[type, tuple[str, ...]] = {
    Count: ("clip", "partition", "framework", "naive"),
    Sum: ("clip", "partition", "framework", "naive"),
    Mean: ("clip", "framework", "naive"),
    Variance: ("clip", "naive"),
    Std: ("clip", "naive"),
    Max: ("choice", "framework"),
    Min: ("choice", "framework"),
    Quantile: ("rank", "framework"),
    Distinct: ("distinct", "framework"),
}
"""Which mechanisms answer which query; the first is the default."""

_LEAST_RATE = Fraction(1, 10**12)
_MOST_QUANTILES = 1_000
_MOST_SQUARED = 2**47
"""Squares of larger values might add up to more than the engine's whole numbers hold."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is public about a table."""

    schema: Schema
    policy: Policy
    levels: Levels
    bounds: Bounds
    units: Units
    protect: str | None = None

    def recipe(self, query: Query, share: Fraction, options: Options = DEFAULT) -> Recipe:
        """Return how a query is answered, or refuse it."""
        query = self._known(query)
        method = _known_method(query, options)
        if self.protect is not None:
            refuse_unless_proved(query, method, self.protect)
        measure = self._measure(query)
        rule = type(query).__name__.lower() if isinstance(query, Mean | Variance | Std) else ""
        if rule:
            parts = {
                name: self._mechanism(
                    Count() if name == "count" else Sum(""), measure, share * part, method, options
                )
                for name, part in PARTS[rule]
            }
            mechanism = parts["sum"]
        else:
            parts, mechanism = {}, self._mechanism(query, measure, share, method, options)
        asked = Asked(query, measure, share, method, _options(mechanism))
        return Recipe(asked, mechanism, rule, parts, self.protect, frozenset(self.policy.columns))

    def _known(self, query: Query) -> Query:
        """Return the query with its column as the table spells it and its numbers exact."""
        if isinstance(query, Count):
            return query
        column = known_column(query.column, self.schema, type(query).__name__.lower())
        kind = self.schema[column]
        if isinstance(query, Distinct) and kind.kind is Kind.OTHER:
            raise InvalidRequest(f"distinct({column!r}) cannot tell values of {kind.native} apart.")
        if isinstance(query, Quantile):
            return Quantile(column, _parts(query.at))
        return replace(query, column=column)

    def _mechanism(
        self, query: Query, measure: Measure | None, share: Fraction, method: str, options: Options
    ) -> AnyMechanism:
        if method == "framework":
            return Framework(_base(query, measure), read_split(options.split), failure_rate(options.beta))
        if method == "partition":
            return self._partition(measure, options)
        if method == "choice" and measure is not None:
            return Choice(measure.low, measure.high, lowest=isinstance(query, Min))
        if isinstance(query, Quantile) and measure is not None:
            return Rank.tuned(share, _parts(query.at), measure.low, measure.high, measure.per_octave)
        if method == "distinct" and not counts_units(query, self.protect):
            return DistinctKeys.tuned(share)
        return Naive() if method == "naive" else Clip.tuned(share)

    def _partition(self, measure: Measure | None, options: Options) -> Partition:
        if measure is None:
            influences = count_influences(self.levels)
        else:
            influences = sum_influences(self.policy, self.levels, self.bounds, measure)
        signed = measure is not None and measure.low < 0
        return Partition(influences, failure_rate(options.beta), bool(options.graded), signed)

    def _measure(self, query: Query) -> Measure | None:
        """Return what a query measures, or refuse by public facts."""
        if isinstance(query, Count | Distinct):
            return None
        asked, column = type(query).__name__.lower(), query.column
        if isinstance(query, Quantile) and query.at == (Fraction(1, 2),):
            asked = "median"
        kind = self.schema[column]
        if kind.kind is not Kind.NUMBER:
            raise InvalidRequest(
                f"{asked}({column!r}) needs numbers, but {column!r} holds {kind.kind.value} ({kind.native})."
            )
        if column not in self.bounds:
            raise InvalidRequest(
                f"{asked}({column!r}) needs the column's public bounds. Write "
                f"bounds={{{column!r}: (0, 10**12)}} in prdp.open; wide bounds cost next to nothing."
            )
        if column not in self.units and not kind.integer:
            raise InvalidRequest(
                f"{asked}({column!r}) needs the grain of the column's values, which are {kind.native}. Write "
                f"units={{{column!r}: '0.01'}} in prdp.open for two decimals."
            )
        unit = self.units.get(column, Fraction(1))
        low, high = self.bounds[column]
        measure = Measure(column, unit, math.ceil(low / unit), math.floor(high / unit))
        squares = isinstance(query, Variance | Std)
        most = 2**63 if kind.integer and unit == 1 else 2**53
        _refuse_unless_in_range(measure, low, high, _MOST_SQUARED if squares else most)
        fineness = FINE_PER_OCTAVE if isinstance(query, Quantile) else PER_OCTAVE
        return replace(measure, squares=squares, per_octave=fineness)


def _refuse_unless_in_range(measure: Measure, low: Fraction, high: Fraction, most: int) -> None:
    held = f"the bounds of {measure.column!r}, {low} to {high}, hold"
    if measure.low > measure.high:
        raise InvalidRequest(f"{held} no whole units of {measure.unit}. Take a smaller unit.")
    if measure.largest >= most:
        size = f"more than 2^{most.bit_length() - 1}"
        raise InvalidRequest(f"{held} {size} units of {measure.unit}. Take a larger unit.")


def _known_method(query: Query, options: Options) -> str:
    """Return the method, if it answers the query and takes the other options."""
    methods = METHODS[type(query)]
    method = methods[0] if options.method is None else options.method
    if method not in methods:
        raise InvalidRequest(f"method={method!r} does not answer this. What does: {', '.join(methods)}.")
    if options.graded is not None and not isinstance(options.graded, bool):
        raise InvalidRequest(f"graded={options.graded!r} is neither True nor False.")
    if options.graded is not None and method != "partition":
        raise InvalidRequest(f"graded belongs to method='partition', not to method={method!r}.")
    if options.beta is not None and method not in {"partition", "framework"}:
        raise InvalidRequest(
            f"beta belongs to method='partition' and method='framework', not to method={method!r}."
        )
    if options.split is not None and method != "framework":
        raise InvalidRequest(f"split belongs to method='framework', not to method={method!r}.")
    return method


def failure_rate(beta: Exact | None) -> Fraction:
    """Return the rate at which a mechanism may fail."""
    failure = exact(beta if beta is not None else "1/10", "beta")
    if not _LEAST_RATE <= failure < 1:
        raise InvalidRequest(f"beta={beta!r} is not a failure rate: it lies between 0 and 1 (least 1e-12).")
    return failure


def read_split(split: Exact | None) -> Fraction:
    """Return the part of the share that the framework's first stage uses."""
    part = SPLIT if split is None else exact(split, "split")
    if not 0 < part < 1 or part.denominator > MOST_DENOMINATOR:
        raise InvalidRequest(f"split={split!r} is no part of the share: write '1/4', between 0 and 1.")
    return part


def _base(query: Query, measure: Measure | None) -> Base:
    """Return the mechanism that the framework runs on the records that it keeps."""
    if measure is None or isinstance(query, Count):
        return LaplaceCount()
    if isinstance(query, Max | Min):
        return InverseSensitivityMax(measure.low, measure.high, lowest=isinstance(query, Min))
    if isinstance(query, Quantile):
        parts = _parts(query.at)
        if len(parts) > 1:
            raise InvalidRequest("method='framework' finds one quantile at a time: ask for each of them.")
        return InverseSensitivityQuantile(parts[0], measure.low, measure.high, measure.per_octave)
    return UniversalSum()


def _parts(at: float | Exact | tuple[float | Exact, ...]) -> tuple[Fraction, ...]:
    """Return the parts below which quantiles are asked for, exactly; a float is what it prints as."""
    given = at if isinstance(at, tuple) else (at,)
    plain = [part.item() if hasattr(part, "item") else part for part in given]
    parts = tuple(exact(repr(part) if isinstance(part, float) else part, "q") for part in plain)
    for part, asked in zip(parts, plain, strict=True):
        if not 0 < part < 1:
            raise InvalidRequest(
                f"q={told(asked)} is not between 0 and 1. Write '0.99' for the value that 99 % are below; "
                "max and min are questions of their own."
            )
    twice = next((part for part in parts if parts.count(part) > 1), None)
    if twice is not None:
        raise InvalidRequest(f"q={float(twice):g} is listed twice.")
    if not 0 < len(parts) <= _MOST_QUANTILES:
        raise InvalidRequest(f"{len(parts)} quantiles were listed: list from 1 to {_MOST_QUANTILES}.")
    return parts


def _options(mechanism: AnyMechanism) -> tuple[tuple[str, str], ...]:
    if isinstance(mechanism, Partition):
        return (("beta", str(mechanism.beta)), ("graded", str(mechanism.graded).lower()))
    if isinstance(mechanism, Framework):
        return (("beta", str(mechanism.beta)), ("split", str(mechanism.split)))
    return ()
