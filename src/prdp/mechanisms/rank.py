"""Quantiles: one range out of all that may hold the data, chosen by how evenly weight lies around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import accumulate
from math import isqrt, log2
from typing import Any, NamedTuple

import numpy as np

from prdp.cells.columns import Column, exact_column, over, plus, product, shifted, sums_below
from prdp.cells.summary import CellColumns, Summary
from prdp.concentrated import root_below
from prdp.levels import FINE_PER_OCTAVE, Levels
from prdp.mechanisms._axis import Ranges, ranges_between
from prdp.mechanisms._threshold import PointFinder, Points, RecordCandidates, SparingCandidates, Tuning
from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Law, Lazily, Noisy, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.noise.spread import one_sided
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Answer, Caveat, Ranked

_WEIGHTED = "weighted by budget, and so is its interval: "
RECORDS = (
    f"{_WEIGHTED}strongly protected records have smaller weights",
    f"{_WEIGHTED}records with a budget below {{}} have smaller weights",
)
"""Records that weigh less than others, in words: in general, and below a budget."""

ROWS = (
    f"{_WEIGHTED}rows of units with little budget or many rows weigh less",
    f"{_WEIGHTED}rows weigh less where their unit's budget divided by its number of rows is below {{}}",
)
"""The same of rows that have parts of their units' budgets."""

UNITS_WEIGHED = (
    f"{_WEIGHTED}units with little budget weigh less",
    f"{_WEIGHTED}units with a budget below {{}} weigh less",
)
"""The same of units, each with one value."""

TOTALS = (
    f"{_WEIGHTED}units with little budget or in many groups weigh less",
    f"{_WEIGHTED}units weigh less where their budget divided by their number of groups is below {{}}",
)
"""The same of units that may have a value in each of several groups."""

UNITS_ALIKE = ("unit-weighted, as its interval is: all rows of a unit weigh 1 together, to within 8 %",) * 2
"""The same where all units have one budget, and a row has the part of it that it weighs."""

_SPARED = 6
"""Clipped weight that carries no penalty, over the share: ranks are noisier than counts."""

WEIGHT_BITS = 20
"""Number of bits by which the lattice of weights is finer than a record."""

_FINER = 12
"""To how many binary places the price of mass is rounded down, so that penalties are whole numbers."""

# Of a quantile whose earlier answer is known (experiments/choosing/README.md):
_LESS = 4  # a fourth of what else goes by where the mass lies
_NEAR = 2  # how many times what an octave costs else, an octave from the known answer costs
_BESIDE = 3  # the cost of ignoring the known answer, in octaves
_PER_OCTAVE = 1 << 20

# Of the weights around answers (experiments/quantile_edges.py):
_SCOUTED = tuple(4**power for power in range(7))
"""Widths, in ranges, of which the weight on either side of an answer is measured roughly."""
_EDGES = (Fraction(9, 10), Fraction(3, 2), Fraction(3), Fraction(12))
"""Places of the edges on either side, in multiples of the expected width."""
_UNSEEN = (48, 192, 1024)
"""Places of the edges on either side where no rough weight can be distinguished from its noise, in ranges."""
_SEEN = 4
"""Scales of noise, times the root of how many there are, by which a rough weight may be too large."""
_MAX_PLACES = 1 << 62
_USUAL_FAILURE = Fraction(1, 40)
_SIDES = Fraction(21, 100)
"""The part of the share that measures weights around answers where a clipping point is found."""


def _tuning(fall: str) -> Tuning:
    return Tuning(choice=Fraction(14, 100), answer=Fraction(60, 100), fall=Fraction(fall))


_LARGE_SHARE, _SMALL_SHARE, _FALLBACK = map(_tuning, ("2.5", "1.6", "1.1"))


def _finder(first: Tuning) -> PointFinder:
    return PointFinder(tunings=((25, first), (25, _FALLBACK), (None, _FALLBACK)))


# Of concentrated privacy, where squares of parts add up: proofs/concentrated.md.
_PART_BITS = 20
_GATE_BY_SQUARES, _CHOICE_BY_SQUARES = Fraction(10, 100), Fraction(20, 100)
_SCOUT_BY_SQUARES, _SIDES_BY_SQUARES = Fraction(8, 100), Fraction(45, 100)


def rest_of(parts: Iterable[Fraction], *, concentrated: bool) -> Fraction:
    """Return the part of the share that others leave.

    >>> rest_of([Fraction(3, 5)], concentrated=False), rest_of([Fraction(3, 5)], concentrated=True)
    (Fraction(2, 5), Fraction(4, 5))
    """
    if not concentrated:
        return 1 - sum(parts, Fraction(0))
    squares = sum((part * part for part in parts), Fraction(0))
    return root_below(max(Fraction(0), 1 - squares), _PART_BITS)


@dataclass(frozen=True, slots=True)
class Rank:
    """Choose a range such that a given part of the records' weight lies below it.

    Guarantee:
        For every record r, all answers together are (share · E(r))-indistinguishable between the table
        with r and the table without it.

    Why:
        A record weighs at most b · E(r), with b found by a private search. It moves what is wrong with a
        range by at most E(r) either way, and what lies outside of octaves by at most E(r) one way. So k
        choices by permute-and-flip, with a part of a · share / k for the octaves and half of the rest for the
        ranks, cost a · share · E(r). Last, the noisy weights around the answers have a record in one of them.
        The parts of the share add up to 1. In full: proofs/rank.md.
        Under a concentrated policy, choices are exponential ones, and squares of parts add up to 1:
        proofs/concentrated.md.

    Attributes:
        quantiles: Which parts of the weight are to lie below the answers; between 0 and 1.
        low: The least value that the public bounds allow, in steps.
        high: The greatest one.
        per_octave: The number of magnitude cells in an octave.
        finder: The finder of the weights' clipping point; None where all records have the same budget, and
            weigh 1.
        answer: Where nothing is searched, the part of the share that chooses ranges.
        scout: The part that measures roughly how far away the weights around the answers are.
        sides: The part that measures the weights around the answers.
        whereabouts: What of the choice of an outermost quantile's range goes by where the mass lies. The
            nearer a quantile is to the median, the less; a median's goes by ranks alone.
        fall: By how much the log-weight of a range falls with each octave between it and the mass.
        bits: How many bits finer than a record the lattice of weights is.
        known: For each quantile an answer that is public already, in steps, near which to look first; None
            for none. Empty where there is none at all.
        words: Which records weigh less than others.
        full: Where nothing is searched, the budget in quanta from which a record weighs 1; None where all do.
        concentrated: Whether the share is the root of what is used of P(r), and budgets are e(r).
    """

    quantiles: tuple[Fraction, ...]
    low: int
    high: int
    per_octave: int = FINE_PER_OCTAVE
    finder: PointFinder | None = field(default_factory=lambda: _finder(_LARGE_SHARE))
    answer: Fraction = Fraction(78, 100)
    scout: Fraction = Fraction(2, 100)
    sides: Fraction = Fraction(20, 100)
    whereabouts: Fraction = Fraction(1, 4)
    fall: Fraction = Fraction(1)
    bits: int = WEIGHT_BITS
    known: tuple[int | None, ...] = ()
    words: tuple[str, str] = RECORDS
    full: int | None = None
    concentrated: bool = False

    name = "rank"

    def __post_init__(self) -> None:
        if not self.quantiles or not all(0 < quantile < 1 for quantile in self.quantiles):
            raise ValueError("a quantile lies between 0 and 1, and there is at least one")
        searched: list[tuple[Fraction, ...]] = [(self.answer,)]
        if self.finder is not None:
            searched = [(self.finder.gate, each.choice, each.answer) for _, each in self.finder.tunings]
        power = 2 if self.concentrated else 1
        used = max(sum(part**power for part in (*parts, self.scout, self.sides)) for parts in searched)
        if used > 1 or not 0 <= self.whereabouts < 1:
            raise ValueError("the parts of the share add up to more than the whole")

    @classmethod
    def tuned(
        cls,
        share: Fraction,
        quantiles: tuple[Fraction, ...],
        low: int,
        high: int,
        levels: Levels | None,
        *,
        concentrated: bool = False,
    ) -> Rank:
        """Return the mechanism for a share; the parameters were chosen once, on synthetic sets.

        No point is searched where ``levels`` has one budget, or is None.
        """
        searches = levels is not None and levels.at_least != levels.at_most
        finder = _finder(_LARGE_SHARE if share > Fraction(1, 3) else _SMALL_SHARE) if searches else None
        if concentrated:
            return cls._concentrated(quantiles, low, high, finder)
        if finder is None:
            return cls(quantiles, low, high, finder=None)
        return cls(quantiles, low, high, finder=finder, sides=_SIDES)

    @classmethod
    def _concentrated(
        cls, quantiles: tuple[Fraction, ...], low: int, high: int, finder: PointFinder | None
    ) -> Rank:
        """Return the mechanism whose parts' squares add up."""
        around = _SCOUT_BY_SQUARES, _SIDES_BY_SQUARES
        alone = rest_of(around, concentrated=True)
        if finder is not None:
            choice, gate = _CHOICE_BY_SQUARES, _GATE_BY_SQUARES
            answer = rest_of((gate, choice, *around), concentrated=True)
            parts = partial(replace, choice=choice, answer=answer, gaussian=True)
            tunings = ((least, parts(one)) for least, one in finder.tunings)
            finder = replace(finder, gate=gate, tunings=tuple(tunings))
        scout, sides = around
        return cls(
            quantiles, low, high, finder=finder, answer=alone, scout=scout, sides=sides, concentrated=True
        )

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (the same for both)
        """Return None: an answer itself tells which records weighed less, if any did."""
        return None

    def law(self, summary: Summary, share: Fraction) -> Law:
        """Return the distribution of (tuning, (clipping point, (range, ..., (widths, weights around))))."""
        answered = partial(self.answered, summary, share)
        if self.finder is None:
            return answered(self.answer, self.full_weight(summary.levels))
        weighed = self.weighed(summary)

        def drawn(tuning: Tuning, place: int) -> Law:
            return answered(tuning.answer, Points.spanning(weighed, tuning.stride).per_quantum(place))

        return self.finder.law(self.candidates(weighed, share), share, cache(drawn))

    def answered(self, summary: Summary, share: Fraction, part: Fraction, point: Fraction) -> Law:
        """Return the distribution of (range, ..., (widths, weights around)) at a clipping point.

        Args:
            summary: The cells.
            share: The part of every record's budget.
            part: What of it chooses ranges.
            point: How much a quantum of budget may weigh.
        """
        ranges = self.ranges(summary)
        below, masses = self.weights(ranges, summary, point), ranges.masses(summary)
        return self.chosen(ranges, masses, below, self.paid(share, summary.levels, part, point))

    def paid(
        self, share: Fraction, levels: Levels, part: Fraction, point: Fraction
    ) -> tuple[Fraction, Price]:
        """Return what a weight of 1 costs of the budget, and what the choice of one range may cost."""
        price = share * levels.quantum / point
        each = part * price * self._each
        return price, Price(each, each * point)

    def chosen(
        self, ranges: Ranges, masses: Sequence[int], below: Column, paid: tuple[Fraction, Price]
    ) -> Law:
        """Return the distribution of (range, ..., (widths, weights around)) of weights below ranges."""
        price, each = paid
        choices = [
            self.choice(place, ranges, masses, self.wrong(quantile, below), each)
            for place, quantile in enumerate(self.quantiles)
        ]
        return _one_after_the_other(choices, cache(partial(self.measured, ranges, below, price)))

    @property
    def _each(self) -> Fraction:
        """The width of one quantile's log-ratios, over the part for all of them; in budgets.

        Of k exponential choices of a width c each, what is used of P(r) is k · c² / 8, and c² / 2 may be.
        """
        count = len(self.quantiles)
        return root_below(Fraction(4, count)) if self.concentrated else Fraction(1, count)

    def ranges(self, summary: Summary) -> Ranges:
        """Return the candidates."""
        return ranges_between(self.low, self.high, summary.largest, self.per_octave)

    def weights(self, ranges: Ranges, summary: Summary, per_quantum: Fraction) -> Column:
        """Return the weight below each range, and last that of all; a whole record weighs 2^bits."""
        cells = summary.valued().cells
        weights = self.cell_weights(cells, per_quantum)
        return sums_below(ranges.of(cells), product(cells.count, weights), len(ranges.ends))

    def cell_weights(self, cells: CellColumns, per_quantum: Fraction) -> Column:
        """Return the weight of one record of each cell."""
        most, (up, down) = 1 << self.bits, per_quantum.as_integer_ratio()
        return cells.by_budget(lambda quanta: min(most, quanta * up // down))

    @staticmethod
    def wrong(quantile: Fraction, below: Column) -> Column:
        """Return by how much the weight below each range is too large, or that up to it too small.

        Args:
            quantile: The part of the weight that is to lie below; its denominator says the parts of a step.
            below: The weight below each range, and last that of all, on the lattice.
        """
        parts = product(below, exact_column([quantile.denominator]))
        target = quantile.numerator * int(below[-1])
        return np.asarray(np.maximum(np.maximum(parts[:-1] - target, target - parts[1:]), 0))

    def choice(
        self,
        which: int,
        ranges: Ranges,
        masses: Sequence[int],
        wrong: Column,
        price: Price,
    ) -> PermuteAndFlip | ExponentialChoice:
        """Return the choice of one quantile's range.

        Args:
            which: Which of the quantiles.
            ranges: The candidates.
            masses: The budget mass in each octave, in quanta.
            wrong: What is wrong with each range, in parts of the lattice.
            price: What the choice may cost.
        """
        known = self.known[which] if self.known else None
        looked_less = self.whereabouts if known is None else self.whereabouts / _LESS
        finer, unit, per_quantum, per_octave = _terms(self.quantiles[which], looked_less, self.fall, price)
        before = self.beforehand(ranges, masses, per_quantum, per_octave)
        if known is not None:
            near = away(ranges, known, _NEAR * per_octave)
            before = np.minimum(near, plus(before, exact_column([_BESIDE * per_octave])))
        penalties = plus(shifted(wrong, finer), before)
        if self.concentrated:
            return ExponentialChoice(tuple(penalties.tolist()), unit)
        return PermuteAndFlip.of_column(penalties, unit)

    def beforehand(self, ranges: Ranges, masses: Sequence[int], per_quantum: int, per_octave: int) -> Column:
        """Return by how much each range's log-weight is lowered whatever its rank: by where the mass lies."""
        if not per_quantum:  # then no octave is better than another
            return np.zeros(len(ranges.ends), np.int64)
        octaves = exact_column(whereabouts(masses, per_quantum, per_octave))
        return np.repeat(octaves, np.diff(ranges.octaves))

    def measured(self, ranges: Ranges, below: Column, price: Fraction, chosen: tuple[int, ...]) -> Gated:
        """Return the distribution of (widths, weights around) of ranges that were drawn.

        Rough weights say how far from a range it is worth while to look; they are not part of the answer.

        Args:
            ranges: The candidates.
            below: The weight below each, and last that of all.
            price: What a weight of 1 costs of the budget.
            chosen: The ranges.
        """
        spacing = self.spacing(chosen, len(ranges.ends), price)
        around = partial(self.around, below)
        return Gated(
            around(self.noise(price, self.scout), spacing.edges),
            spacing,
            Lazily(spacing.places, lambda place: around(self.noise(price, self.sides), spacing.cuts(place))),
        )

    def spacing(self, chosen: Sequence[int], count: int, price: Fraction) -> Spacing:
        """Return how rough weights decide where the edges are; of public facts alone."""
        targets, seen = _targets(self.quantiles, price * self.sides, price * self.scout)
        return Spacing(tuple(chosen), count, targets, seen)

    @staticmethod
    def around(below: Column, noise: DiscreteLaplace, edges: Sequence[int]) -> Noisy:
        """Return the noisy weights between edges of ranges."""
        sums = below[[0, *edges, len(below) - 1]]
        values = tuple((sums[1:] - sums[:-1]).tolist())
        return Noisy(values, (noise,) * len(values))

    def noise(self, price: Fraction, part: Fraction) -> DiscreteLaplace:
        """Return the noise of weights that are measured with a part of the share."""
        return DiscreteLaplace(1 / (price * part))

    def answers(
        self, summary: Summary, share: Fraction, entropy: Entropy, runs: int
    ) -> list[tuple[Answer, ...]]:
        """Draw independent answers: in each run one for every quantile, in the order of ``quantiles``."""
        drawn = list(self.law(summary, share).draw(entropy, runs))
        return self.finished(replace(summary, cells=summary.cells.where(slice(0))), share)(drawn)

    def finished(
        self, nobody: Summary, share: Fraction
    ) -> Callable[[Sequence[Any]], list[tuple[Answer, ...]]]:
        """Return what makes answers of draws; by the public facts of a summary of no records alone."""
        ranges = self.ranges(nobody)
        if self.finder is None:
            facts = self._facts_of_all(nobody, share)
            return lambda drawn: [self.answers_at(ranges, facts, rest) for rest in drawn]
        known = cache(partial(self._known, self.weighed(nobody), share))
        return lambda drawn: [
            self.answers_at(ranges, known(which, place), rest) for which, (place, rest) in drawn
        ]

    def answers_at(self, ranges: Ranges, facts: RankFacts, drawn: Any) -> tuple[Answer, ...]:
        """Return the answers that ranges and weights around them make, in the order of ``quantiles``."""
        *chosen, place, weights = _flat(drawn, len(self.quantiles) + 1)
        order = sorted(range(len(self.quantiles)), key=self.quantiles.__getitem__)
        edges = self.spacing(chosen, len(ranges.ends), facts.price).cuts(place)
        scale = self.noise(facts.price, self.sides).scale
        lows = tuple(ranges.ends[edge][0] for edge in edges)
        highs = tuple(ranges.ends[edge - 1][1] for edge in edges)
        return tuple(
            Answer(
                sum(ranges.ends[at]) // 2,
                Fraction(1),
                (),
                facts.choices,
                chosen=Ranked(self.quantiles[one], lows, highs, weights, scale, facts.clipping),
                caveat=facts.caveat,
            )
            for one, at in sorted(zip(order, sorted(chosen), strict=True))
        )

    def full_weight(self, levels: Levels) -> Fraction:
        """Return how much a quantum of budget may weigh where nothing is searched."""
        return Fraction(1 << self.bits, self.full or levels.quanta(0))

    def _facts_of_all(self, summary: Summary, share: Fraction) -> RankFacts:
        """Return the public facts where nothing is searched."""
        price = share * summary.levels.quantum / self.full_weight(summary.levels)
        if self.full is None:
            return RankFacts(price, None, (("weights", "all records weigh the same"),))
        weighed = self.weighed(summary)  # of what rows lack in weight nothing is known
        clipping = RecordCandidates(weighed).clipping(share, _SMALL_SHARE, 0, blind=True)
        return RankFacts(price, clipping, (("weights", self.words[0]),), Caveat(self.words[0]))

    def _known(self, weighed: Summary, share: Fraction, which: int, place: int) -> RankFacts:
        """Return the public facts at a clipping point that was found under a tuning."""
        assert self.finder is not None  # noqa: S101  (see answers)
        margin, tuning = self.finder.tunings[which]
        return self.facts_at(weighed, share, tuning, place, blind=margin is None)

    def facts_at(
        self, weighed: Summary, share: Fraction, tuning: Tuning, place: int, *, blind: bool
    ) -> RankFacts:
        """Return the noise around answers and what is known of clipped weights; all of it public."""
        point, quantum = Points.spanning(weighed, tuning.stride).per_quantum(place), weighed.levels.quantum
        candidates = self.candidates(weighed, share)
        clipping = candidates.candidates.clipping(share, tuning, place, blind=blind)
        clipping = replace(clipping, spared=candidates.spared * quantum)
        full = float(quantum * (1 << self.bits) / point)
        choices = (("full weight", f"from a budget of {full:.6g} on"),)
        less = Caveat(self.words[1].format(f"{full:.4g}"), general=self.words[0])
        caveat = None if clipping.nothing else less
        return RankFacts(share * quantum / point, clipping, choices, caveat)

    def weighed(self, summary: Summary) -> Summary:
        """Return the records that have a value, each counting 1, on the lattice of weights."""
        return summary.valued().counted().refined(self.bits)

    def candidates(self, weighed: Summary, share: Fraction) -> SparingCandidates:
        """Return the mass that each clipping point of the weights would clip, without the part spared."""
        spared = Fraction(_SPARED) / (share * weighed.levels.quantum)
        return SparingCandidates(RecordCandidates(weighed), int(spared))


@lru_cache(maxsize=256)
def _terms(
    quantile: Fraction, whereabouts: Fraction, fall: Fraction, price: Price
) -> tuple[int, Fraction, int, int]:
    """Return how a quantile's penalties are counted: by how many bits finer, in what unit, and two prices.

    The prices are those of a quantum outside of the octaves, and of an octave, in that unit.
    """
    of_all, parts = quantile.numerator, quantile.denominator
    looked = abs(2 * quantile - 1) * whereabouts
    unit = price.weight * (1 - looked) / (2 * max(of_all, parts - of_all))
    mass = looked * price.quantum / unit
    finer = max(0, _FINER + mass.denominator.bit_length() - mass.numerator.bit_length())
    unit /= 1 << finer
    return finer, unit, int(mass * (1 << finer)), int(fall / unit)


class Price(NamedTuple):
    """The cost of choosing a range, as a part of a record's budget.

    Attributes:
        weight: For a weight of 1, on the lattice.
        quantum: For a quantum of budget.
    """

    weight: Fraction
    quantum: Fraction


class RankFacts(NamedTuple):
    """Metadata of all answers of a draw.

    Attributes:
        price: What a weight of 1, on the lattice, costs of the budget.
        clipping: What is known of clipped weights; None where none is.
        choices: In words, what was drawn on the way.
        caveat: Which records weigh less than others; None where none does.
    """

    price: Fraction
    clipping: Clipping | None
    choices: tuple[tuple[str, str], ...]
    caveat: Caveat | None = None


@lru_cache(maxsize=256)
def _targets(
    quantiles: tuple[Fraction, ...], sides: Fraction, scout: Fraction
) -> tuple[tuple[int, ...], int]:
    """Return the fields of a ``Spacing`` that follow from what a weight of 1 costs on either look."""
    order = sorted(quantiles)
    each, scale = len(_EDGES), 1 / float(sides)
    targets = []
    for quantile in quantiles:
        below = each * (2 * order.index(quantile) + 1)
        parts = ((below, 1 - quantile), (2 * each * len(order) + 1 - below, quantile))
        targets.append(int(one_sided(parts, _USUAL_FAILURE) * scale))
    return tuple(targets), int(_SEEN / scout)


@dataclass(frozen=True, slots=True)
class Spacing:
    """From rough weights around ranges that were drawn to how far from each the edges are.

    On either side of a range the expected width is that in which the weight reaches a target, if it lies as
    densely there as in the narrowest rough width of which it is seen. It is rounded down to one of a few
    public widths, so that all widths together are a place of a law.

    Attributes:
        chosen: The ranges that were drawn.
        count: The number of ranges.
        targets: The weight that is looked for on either side of each, on the lattice.
        seen: The rough weight above which one cell of it is believed.
    """

    chosen: tuple[int, ...]
    count: int
    targets: tuple[int, ...]
    seen: int

    def __call__(self, values: tuple[int, ...], /) -> int:
        """Return the place of the widths that rough weights point to."""
        edges, widths = (0, *self.edges, self.count), self.widths
        below = [0, *accumulate(values)]
        place = 0
        for at, target in zip(self.chosen, self.targets, strict=True):
            for side in (-1, 1):
                width = self._width(at, side, target, edges, below)
                place = place * len(widths) + bisect_right(widths, width) - 1
        return place

    def _width(self, at: int, side: int, target: int, edges: Sequence[int], below: Sequence[int]) -> int:
        """Return in how many ranges from one on, itself among them, a target is expected; 0 for unknown.

        Of all rough widths, by the one that promises most with its noise taken off.
        """
        best = 0, 1, 0  # what is certain over the width, and the width that it promises
        for scouted in _SCOUTED:
            first, last = (bisect_left(edges, end) for end in self._ends(at, side, scouted))
            width, weight = edges[last] - edges[first], below[last] - below[first]
            certain = weight - isqrt(self.seen**2 * (last - first))
            promised = max(1, width * target // max(1, weight))
            better = certain * best[1] - best[0] * width
            if better > 0 or (better == 0 and promised > best[2]):
                best = certain, width, promised
        return best[2]

    def _ends(self, at: int, side: int, width: int) -> tuple[int, int]:
        """Return the edges of so many ranges from one on to a side, itself among them."""
        first, last = (at, at + width) if side > 0 else (at + 1 - width, at + 1)
        return max(0, first), min(last, self.count)

    @property
    def edges(self) -> tuple[int, ...]:
        """The edges between rough weights."""
        return self._inside(
            end
            for at in self.chosen
            for side in (-1, 1)
            for width in _SCOUTED
            for end in self._ends(at, side, width)
        )

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths that are known, 0 for unknown: the finest list of which all together are a place."""
        found = _widths(self.count)
        for ratio in (2, 4, 8):
            if len(found) ** (2 * len(self.chosen)) <= _MAX_PLACES:
                return found
            found = (0, *(ratio**power for power in range(1 + int(log2(self.count) / log2(ratio)))))
        return (0,)

    @property
    def places(self) -> int:
        """The number of places."""
        return int(len(self.widths) ** (2 * len(self.chosen)))

    def cuts(self, place: int) -> tuple[int, ...]:
        """Return the edges that the widths of a place make."""
        widths, ends = self.widths, []
        for at in reversed(self.chosen):
            for side in (1, -1):
                place, which = divmod(place, len(widths))
                width = widths[which]
                apart = [max(1, round(times * width)) for times in _EDGES] if width else _UNSEEN
                ends += [end for each in apart for end in self._ends(at, side, each)]
        return self._inside(ends)

    def _inside(self, ends: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted({end for end in ends if 0 < end < self.count}))


@cache
def _widths(count: int) -> tuple[int, ...]:
    """Return the widths that can be known of so many ranges: 0, 1, 2, 3, 4, 6, 8, 12, ..."""
    powers = [1 << power for power in range(count.bit_length())]
    return 0, *sorted({width for one in powers for width in (one, one + one // 2) if width <= count})


def whereabouts(masses: Sequence[int], per_quantum: int, per_octave: int) -> list[int]:
    """Return the penalty of each octave: what the cheapest run of octaves that holds it costs.

    A run costs ``per_octave`` for each octave after its first, and ``per_quantum`` for the mass outside.

    >>> whereabouts([0, 50, 0, 0], per_quantum=1, per_octave=10)  # from 50 on, a run would leave the mass out
    [10, 0, 10, 20]
    """
    below = [0, *accumulate(masses)]
    octaves = range(len(masses))
    begun = accumulate((per_quantum * below[first] - per_octave * first for first in octaves), min)
    ended = accumulate((per_octave * last - per_quantum * below[last + 1] for last in octaves[::-1]), min)
    whole = per_quantum * below[-1]
    return [whole + start + end for start, end in zip(begun, reversed(list(ended)), strict=True)]


def away(ranges: Ranges, known: int, per_octave: int) -> Column:
    """Return the distance of each range from the one that holds a public value, at so much an octave."""
    sizes = np.diff(ranges.octaves)
    inside = (np.arange(len(ranges.ends)) - np.repeat(ranges.octaves[:-1], sizes)) * _PER_OCTAVE
    heights = np.repeat(np.arange(len(sizes)), sizes) * _PER_OCTAVE + inside // np.repeat(sizes, sizes)
    at = max(0, bisect_right(ranges.ends, known, key=lambda ends: ends[0]) - 1)
    return over(product(np.abs(heights - heights[at]), exact_column([per_octave])), _PER_OCTAVE)


def _one_after_the_other(
    choices: Sequence[PermuteAndFlip | ExponentialChoice], then: Callable[[tuple[int, ...]], Law]
) -> Law:
    """Return a law that draws from each choice, and then from what follows from them all."""

    def rest(drawn: tuple[int, ...]) -> Law:
        if len(drawn) == len(choices):
            return then(drawn)
        return Then(choices[len(drawn)], cache(lambda place: rest((*drawn, place))))

    return rest(())


def _flat(drawn: Any, choices: int) -> list[Any]:
    """Return the draws of ``_one_after_the_other``, one after the other."""
    flat = []
    for _ in range(choices):
        place, drawn = drawn
        flat.append(place)
    return [*flat, drawn]
