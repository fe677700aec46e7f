"""Quantiles: one range out of all, chosen by how evenly the weight of the records lies around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from operator import add

import numpy as np

from prdp.cells.cell import CellKey, magnitude_key, magnitudes
from prdp.cells.columns import product, totals_at
from prdp.cells.summary import Summary
from prdp.grids import FINE_PER_OCTAVE
from prdp.mechanisms._point import PointFinder, Points, RecordLadder, Tuning
from prdp.noise.choice import ExponentialChoice
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Together
from prdp.release.drawn import Answer

_RECORD_BITS = 20


@dataclass(frozen=True, slots=True)
class Ranges:
    """The candidates: all ranges of values between the public bounds, ascending.

    Attributes:
        ends: The least and the greatest value of each, in steps.
        octaves: How many binary digits the middle of each has; negative for negative values.
        places: Where the cells with given ends and sign belong.
    """

    ends: tuple[tuple[int, int], ...]
    octaves: tuple[int, ...]
    places: Mapping[tuple[int, int, int], int] = field(repr=False)


@lru_cache(maxsize=16)
def ranges_between(low: int, high: int, largest: int, per_octave: int) -> Ranges:
    """Return the ranges between two values, for cells cut at ``largest``."""
    ends: dict[CellKey, tuple[int, int]] = {}
    for code, first, last in magnitudes(low, high, per_octave):
        ends.setdefault(magnitude_key(0, code, largest, per_octave), (first, last))
    keys = sorted(ends, key=lambda key: sum(ends[key]))
    return Ranges(
        ends=tuple(ends[key] for key in keys),
        octaves=tuple(key.sign * (abs(sum(ends[key])) // 2).bit_length() for key in keys),
        places={(key.low, key.high, key.sign): place for place, key in enumerate(keys)},
    )


@dataclass(frozen=True, slots=True)
class Rank:
    """Choose a range such that a given part of the records' weight lies below it.

    Guarantee:
        For every record r, all answers together are (share · E(r))-indistinguishable between the table
        with r and the table without it.

    Why:
        A record weighs at most b · E(r), with b found by a private search that costs (1 - a₂) · share · E(r).
        It moves what is wrong with a range by at most E(r) either way, and k choices with weights
        exp(-a₂ · share · wrong / 2k) cost a₂ · share · E(r).
        In full: proofs/rank.md.

    Attributes:
        quantiles: Which parts of the weight are to lie below the answers; between 0 and 1.
        low: The least value that the public bounds allow, in steps.
        high: The greatest one.
        per_octave: How finely the summary's magnitudes are cut.
        finder: How the weights' clipping point is found.
        fall: By how much the log-weight of a range falls with each octave of magnitude, upward for the
            highest quantiles and downward for the lowest, in proportion for those between, and not at all
            for the median: what keeps answers from running away where few records lie beyond.
    """

    quantiles: tuple[Fraction, ...]
    low: int
    high: int
    per_octave: int = FINE_PER_OCTAVE
    finder: PointFinder = field(default_factory=PointFinder)
    fall: Fraction = Fraction(3, 2)

    name = "rank"

    def __post_init__(self) -> None:
        if not self.quantiles or not all(0 < quantile < 1 for quantile in self.quantiles):
            raise ValueError("a quantile lies between 0 and 1, and there is at least one")

    @classmethod
    def tuned(
        cls,
        share: Fraction,
        quantiles: tuple[Fraction, ...],
        low: int,
        high: int,
        per_octave: int = FINE_PER_OCTAVE,
    ) -> Rank:
        """Return the mechanism for a share."""
        return cls(quantiles, low, high, per_octave, PointFinder.tuned(share))

    def caveat(self, *, signed: bool) -> str:  # noqa: ARG002  (the same for both)
        """Return what the range does not cover."""
        return "well protected records weigh less than others, and ranks are noisy"

    def law(self, summary: Summary, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, one range's place for each quantile))."""
        return self._law(_weighed(summary), summary, share)

    def _law(self, weighed: Summary, summary: Summary, share: Fraction) -> Gated:
        choices = cache(partial(self.choices, weighed, summary, share))
        return self.finder.law(RecordLadder(weighed), share, choices)

    def choices(
        self, weighed: Summary, summary: Summary, share: Fraction, tuning: Tuning, place: int
    ) -> Together:
        """Return the choice of a range for each quantile, at the point that belongs to a place."""
        point = _point(weighed, tuning, place)
        weights = self.weights(summary, point)
        part = share * tuning.answer / len(self.quantiles) * summary.levels.quantum / point
        laws = (self.choice(quantile, weights, summary.largest, part) for quantile in self.quantiles)
        return Together(tuple(laws))

    def weights(self, summary: Summary, per_quantum: Fraction) -> Mapping[int, int]:
        """Return the weight in every range that holds records; a whole record weighs 2^20."""
        places = ranges_between(self.low, self.high, summary.largest, self.per_octave).places
        cells = summary.valued().cells
        weights = cells.by_budget(lambda quanta: min(1 << _RECORD_BITS, int(quanta * per_quantum)))
        there, which = np.unique(cells.by_magnitude(places.__getitem__), return_inverse=True)
        added = totals_at(which, product(cells.count, weights), len(there))
        return dict(zip(there.tolist(), added, strict=True))

    def choice(
        self, quantile: Fraction, weights: Mapping[int, int], largest: int, part: Fraction
    ) -> ExponentialChoice:
        """Return the choice of one quantile's range.

        Args:
            quantile: The part of the weight that is to lie below.
            weights: The weight in each range.
            largest: The greatest absolute value of the summary.
            part: What a weight of 1 costs of the budget.
        """
        ranges = ranges_between(self.low, self.high, largest, self.per_octave)
        of_all, parts = quantile.numerator, quantile.denominator
        unit = part / (2 * max(of_all, parts - of_all))
        penalties = _imbalances(of_all * sum(weights.values()), parts, weights, len(ranges.ends))
        tilt = 2 * quantile - 1
        fall, outward = int(self.fall * abs(tilt) / unit), 1 if tilt > 0 else -1
        prior_of = {octave: fall * max(0, outward * octave) for octave in set(ranges.octaves)}
        priors = map(prior_of.__getitem__, ranges.octaves)
        return ExponentialChoice(tuple(map(add, penalties, priors)), unit)

    def answers(
        self, summary: Summary, share: Fraction, entropy: Entropy, runs: int
    ) -> list[tuple[Answer, ...]]:
        """Draw independent answers: in each run one for every quantile, in the order of ``quantiles``."""
        weighed = _weighed(summary)
        ends = ranges_between(self.low, self.high, summary.largest, self.per_octave).ends
        order = sorted(range(len(self.quantiles)), key=self.quantiles.__getitem__)
        record = summary.levels.quantum * (1 << _RECORD_BITS)

        @cache
        def found(which: int, place: int) -> tuple[tuple[str, str], ...]:
            full = record / _point(weighed, self.finder.tunings[which][1], place)
            return (("full weight", f"from a budget of {float(full):.6g} on"),)

        answers = []
        for which, (place, chosen) in self._law(weighed, summary, share).draw(entropy, runs):
            in_order = sorted(zip(order, sorted(chosen), strict=True))
            answers.append(tuple(_middle(ends[at], found(which, place)) for _, at in in_order))
        return answers


def _imbalances(target: int, parts: int, weights: Mapping[int, int], count: int) -> list[int]:
    """Return by how much the weight below each range is too large, or that up to it too small.

    Args:
        target: The weight that is to lie below, in parts of the lattice.
        parts: How many of them a step of the lattice has.
        weights: The weight in each range that holds records, on the lattice.
        count: How many ranges there are.
    """
    found: list[int] = []
    below = 0
    for place in sorted(weights):
        found.extend([abs(below - target)] * (place - len(found)))  # no weight in these
        up_to = below + parts * weights[place]
        found.append(max(0, below - target, target - up_to))
        below = up_to
    return found + [abs(below - target)] * (count - len(found))


def _weighed(summary: Summary) -> Summary:
    """Return the records that have a value, each counting 1, on the lattice of weights."""
    return replace(summary.valued().counted(), ratios=None).refined(_RECORD_BITS)


def _point(weighed: Summary, tuning: Tuning, place: int) -> Fraction:
    """Return how much a quantum of budget may weigh at the point that belongs to a place."""
    points = Points.spanning(weighed, tuning.stride)
    return points.per_quantum(place)


def _middle(ends: tuple[int, int], choices: tuple[tuple[str, str], ...]) -> Answer:
    return Answer(sum(ends) // 2, Fraction(1), (), choices, ends)
