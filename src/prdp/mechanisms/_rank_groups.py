"""Quantiles of many groups: what public facts and kinds of cells say is worked out once for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial

import numpy as np

from prdp.cells.columns import Column, Places, over, product, sums_below
from prdp.cells.groups import SummaryGroups, joined
from prdp.mechanisms._axis import Ranges
from prdp.mechanisms._threshold import Points, SparingCandidates, Tuning
from prdp.mechanisms.rank import Rank
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Law
from prdp.release.raw_answer import Answer

_AT_ONCE = 1024
"""Groups whose masses are added up together."""


@dataclass(frozen=True, slots=True)
class RankGroups:
    """The laws of a ``Rank`` for groups side by side: each is the one that it has for the group's summary.

    Sums over a group's cells are read from columns, and what a kind of cells adds to them is looked up.
    """

    rank: Rank
    groups: SummaryGroups = field(repr=False)
    share: Fraction

    def answers(self, entropy: Entropy, runs: int) -> Iterator[list[tuple[Answer, ...]]]:
        """Draw what ``Rank.answers`` draws, from the same bytes, for one group after the other."""
        finished = self.rank.finished(self.groups.empty, self.share)
        for law in self.laws():
            yield finished(list(law.draw(entropy, runs)))

    def laws(self) -> Iterator[Law]:
        """Yield each group's law."""
        rank, empty, valued = self.rank, self.groups.empty, self.groups.valued()
        ranges = rank.ranges(empty)
        places = _places(ranges, valued)
        below = partial(_below, valued, places, len(ranges.ends))
        weights = cache(partial(rank.cell_weights, valued.kinds))
        paid = cache(partial(rank.paid, self.share, empty.levels))
        candidates = _Candidates(rank.candidates(rank.weighed(empty), self.share), rank, valued)

        def answered(group: int, masses: Sequence[int], part: Fraction, point: Fraction) -> Law:
            return rank.chosen(ranges, masses, below(group, weights(point)), paid(part, point))

        def at(group: int, masses: Sequence[int], tuning: Tuning, place: int) -> Law:
            return answered(group, masses, tuning.answer, candidates.per_quantum(tuning.stride, place))

        begun = None if rank.finder is None else rank.finder.laws(candidates.facts, self.share)
        for group, masses in enumerate(self._masses(ranges, valued, places)):
            if begun is None:
                yield answered(group, masses, rank.answer, rank.full_weight(empty.levels))
            else:
                yield begun(_OfGroup(candidates, group), cache(partial(at, group, masses)))

    def _masses(self, ranges: Ranges, valued: SummaryGroups, places: Places) -> Iterator[Sequence[int]]:
        """Yield each group's budget mass by octaves; those of medians are not looked at, and are 0."""
        octaves = len(ranges.octaves) - 1
        if all(2 * quantile == 1 for quantile in self.rank.quantiles):
            for _ in range(len(valued)):
                yield (0,) * octaves
            return
        at = np.repeat(np.arange(octaves), np.diff(ranges.octaves))[places]
        for chosen in _stretches(len(valued)):
            yield from joined(valued.weighed_at(chosen, at, octaves, valued.kinds.quanta)).tolist()


def _places(ranges: Ranges, groups: SummaryGroups) -> Places:
    """Return the range of each kind; that of kinds without a value is any."""
    there = ~groups.kinds.missing
    places = np.zeros(len(there), np.intp)
    places[there] = ranges.of(groups.kinds.where(there))
    return places


def _stretches(groups: int) -> Iterator[Places]:
    """Yield the numbers of groups, some at a time."""
    for first in range(0, groups, _AT_ONCE):
        yield np.arange(first, min(first + _AT_ONCE, groups))


def _below(groups: SummaryGroups, places: Places, ranges: int, group: int, weights: Column) -> Column:
    """Return what ``Rank.weights`` does of a group's summary, from the range and the weight of each kind."""
    first, last = groups.segments.ends[group : group + 2].tolist()
    kind, count = groups.kind[first:last], groups.counts[first:last]
    return sums_below(places[kind], product(count, weights[kind]), ranges)


class _Candidates:
    """The candidates of all groups: the public facts of each, and its masses in columns."""

    def __init__(self, facts: SparingCandidates, rank: Rank, valued: SummaryGroups) -> None:
        self.facts = facts
        self.quantum, self.max_decrease = facts.quantum, facts.max_decrease
        self.heights, self.usual = cache(facts.heights), cache(facts.usual)
        self.points = cache(partial(Points.spanning, facts.candidates.summary))
        self.per_quantum = cache(lambda stride, place: self.points(stride).per_quantum(place))
        self.masses_of_all = cache(self._masses_of_all)
        self.clipped = cache(self._clipped)
        self._weighed = valued.counted().refined(rank.bits)

    def _masses_of_all(self, lattice: int) -> Sequence[int]:
        """Return each group's budget mass."""
        found: Sequence[int] = self._weighed.weighed(over(self._weighed.kinds.quanta, lattice)).tolist()
        return found

    def _clipped(self, stride: int, lattice: int, stretch: int) -> Sequence[Sequence[int]]:
        """Return, for the groups of a stretch, the mass that each point clips beyond what is spared."""
        points, kinds = self.points(stride), self._weighed.kinds
        chosen = np.arange(stretch * _AT_ONCE, min((stretch + 1) * _AT_ONCE, len(self._weighed)))
        reaching = points.first_reaching(kinds.high, kinds.quanta)
        number = len(points.numerators) + 1
        masses = joined(self._weighed.weighed_at(chosen, reaching, number, over(kinds.quanta, lattice)))
        beyond = masses.astype(object)[:, :0:-1].cumsum(axis=1)[:, ::-1]
        found: Sequence[Sequence[int]] = np.maximum(beyond - self.facts.spared // lattice, 0).tolist()
        return found


@dataclass(frozen=True, slots=True)
class _OfGroup:
    """The candidates of one group."""

    columns: _Candidates
    group: int

    @property
    def quantum(self) -> Fraction:
        """The rounding step of masses."""
        return self.columns.quantum

    @property
    def max_decrease(self) -> int:
        """0: masses only rise."""
        return self.columns.max_decrease

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records."""
        return self.columns.masses_of_all(lattice)[self.group]

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:
        """Return the mass that each point clips beyond what is spared."""
        stretch, place = divmod(self.group, _AT_ONCE)
        return tuple(self.columns.clipped(stride, lattice, stretch)[place])

    def heights(self, stride: int) -> tuple[int, ...]:
        """Return the height of each point."""
        return self.columns.heights(stride)

    def usual(self, stride: int) -> int:
        """Return the number of points for records within the public bounds."""
        return self.columns.usual(stride)
