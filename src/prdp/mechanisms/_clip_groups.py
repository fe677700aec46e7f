"""Proportional clipping of thousands of groups at once: each group's own law, all of them side by side.

What is drawn for a group is drawn from ``Clip.law`` of its summary, or from the law of the groups that choose
a point together. Here the integers of these laws are worked out for all groups in columns, and their noises
are drawn together. The tests hold both to each other, integer by integer and byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial, reduce
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, Places, exact_column, numbered, over, plus
from prdp.cells.groups import SummaryGroups
from prdp.cells.summary import Summary
from prdp.mechanisms._candidates import Points
from prdp.mechanisms._signed_thresholds import BothReaching
from prdp.mechanisms._threshold import RecordCandidates, SparingCandidates, Tuning, evidence
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import FirstReaching, Gated, Noisy, Rule, Then
from prdp.noise.many_flips import ManyFlips
from prdp.release.raw_answer import Answer, AnswerColumn, ByGroup

if TYPE_CHECKING:
    from prdp.mechanisms.clip import Clip

PER_GROUP = 2
"""The budget mass, times the share, that a point may clip of each of several groups at no penalty."""

_CELLS = 1 << 20
"""So many masses, of groups at points, are worked out together."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What was chosen for each row: a tuning, a place on its candidates, and whether others chose along.

    Where each sign chose, ``which`` is higher by the number of tunings, and ``below`` is the place of values
    below zero; else it is 0.
    """

    which: NDArray[np.intp]
    place: NDArray[np.intp]
    below: NDArray[np.intp]
    spared: list[Fraction]
    sparing: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ClipGroups:
    """Disjoint groups on a lattice that is fine enough, and what of their laws is public.

    Attributes:
        clip: The mechanism.
        groups: The groups.
        share: The part of every record's budget.
        step: What a step of the lattice is worth.
        public: The summary of no records: what all groups' laws have in common is worked out from it.
    """

    clip: Clip
    groups: SummaryGroups
    share: Fraction
    step: Fraction
    public: Summary = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", self.groups.empty)

    def gates(self) -> list[Column]:
        """Return each group's budget mass, on the lattice of its noise; of both signs, one column each."""
        kinds = self.groups.kinds
        lattice = self.clip.finder.lattice(self.groups.levels.quantum, self.share)
        masses = np.where(kinds.high != 0, over(kinds.quanta, lattice), 0)
        return [self.groups.weighed(self._of_sign(masses, sign)) for sign in self._signs]

    @property
    def _signs(self) -> tuple[int | None, ...]:
        """The signs whose masses are measured: values below and above zero, or None for all of them."""
        return (-1, 1) if self.clip.signed else (None,)

    def _of_sign(self, weights: Column, sign: int | None) -> Column:
        """Return the weights of those kinds alone whose values have a sign; None for all of them."""
        return weights if sign is None else np.where(self.groups.kinds.sign == sign, weights, 0)

    def flips(self, chosen: Places, which: int, sign: int | None = None) -> ManyFlips:
        """Return the choices of a point of some groups, for a tuning; by values of one sign, or by all."""
        finder, candidates = self.clip.finder, RecordCandidates(self.public)
        tuning = finder.tunings[which][1]
        points = Points.spanning(self.public, tuning.stride)
        kinds, number = self.groups.kinds, len(points.numerators)
        reaching = points.first_reaching(kinds.high, kinds.quanta)
        weights = np.where(kinds.high != 0, self._of_sign(kinds.quanta, sign), 0)
        found = self.groups.weighed_at(chosen, reaching, number + 1, weights)
        masses = [np.cumsum(part[:, :0:-1], axis=1)[:, ::-1] for part in found]
        climbs = tuning.climbs(points.heights, points.usual)
        weight = evidence(candidates, self.share, tuning) * candidates.quantum
        if tuning.fence is not None:
            weight /= tuning.fence.times
            whole, worth = [part.sum(axis=1) for part in found], self.share * candidates.quantum
            masses = tuning.fence.charged_groups(masses, whole, points.heights, worth)
        return ManyFlips.of(masses, weight, climbs)

    def totals(self, chosen: Places, which: int, place: int) -> Column:
        """Return some groups' totals, clipped at the point of a place on a tuning's candidates."""
        return self.groups.clipped(chosen, self._caps(which, place))

    def _caps(self, which: int, place: int) -> Column:
        """Return how far a record of each kind may count at the point of a place."""
        points = Points.spanning(self.public, self.clip.finder.tunings[which][1].stride)
        return self.groups.kinds.by_budget(partial(points.cap, place))

    def noise(self, which: int, place: int) -> DiscreteLaplace:
        """Return the noise of a total that is clipped at the point of a place."""
        (noise,) = self.clip.total(self.public, self.share, self.clip.finder.tunings[which][1], place).noises
        return noise

    def drawn(self, entropy: Entropy, runs: int) -> ByGroup:
        """Draw independent answers for all groups; those with little budget choose a point together."""
        law = self.clip.law(self.public, self.share)
        rows = len(self.groups) * runs  # a group's runs side by side
        masses = [
            plus(np.repeat(gate, runs), noise.draw_many(entropy, rows))
            for gate, noise in zip(self.gates(), law.first.noises, strict=True)
        ]
        chosen = self._together(masses, picked(law.rule, masses), runs, entropy)
        alone, pooled = np.flatnonzero(chosen.sparing == 0), np.flatnonzero(chosen.sparing)
        noises: Column = np.zeros(rows, dtype=np.int64)
        for which in np.unique(chosen.which[alone]).tolist():
            mine = alone[chosen.which[alone] == which]
            for some in self._choose(chosen, mine, mine // runs, entropy):
                noises = _filled(noises, some, self._noises(chosen, some, entropy))
        for which in np.unique(chosen.which[pooled]).tolist():
            mine = pooled[chosen.which[pooled] == which]
            noises = _filled(noises, mine, self._noises(chosen, mine, entropy))
        return self._answers(chosen, plus(self._clipped(chosen, runs), noises), runs)

    def _together(
        self, masses: Sequence[Column], which: NDArray[np.intp], runs: int, entropy: Entropy
    ) -> _Chosen:
        """Choose a point for groups that are too poor to do so alone; it takes two to do so."""
        finder = self.clip.finder
        last = len(finder.tunings) - 1
        place, below, sparing = (np.zeros_like(which) for _ in range(3))
        spared = [Fraction(0)]
        which, mass_of = which.copy(), reduce(plus, masses)
        pooled = lru_cache(maxsize=8)(
            lambda pooled_places: self._pooled(np.frombuffer(pooled_places, np.intp))
        )
        for run in range(runs):
            pooled_places = np.flatnonzero(which[run::runs] == last)
            if len(pooled_places) < 2:
                continue
            law, mass = pooled(pooled_places.tobytes())
            rows = pooled_places * runs + run
            noisy = sum(mass_of[rows].tolist()) - _reserve(law, len(pooled_places) * len(masses))
            tuning = law.rule((noisy,))
            choice = law.laws[tuning]
            assert isinstance(choice, Then)  # noqa: S101  (see PointFinder.law)
            which[rows], place[rows] = tuning, int(choice.first.draw(entropy, 1)[0])
            sparing[rows] = len(spared)
            spared.append(mass)
        return _Chosen(which, place, below, spared, sparing)

    def _pooled(self, pooled_places: Places) -> tuple[Gated, Fraction]:
        """Return the law of a point for several groups together, and the budget mass that it spares.

        Nothing but the point is drawn from it.
        """
        merged = self.groups.together(pooled_places)
        spared = int(PER_GROUP * len(pooled_places) / (self.share * merged.levels.quantum))
        candidates = SparingCandidates(RecordCandidates(merged), spared)
        law = self.clip.finder.law(candidates, self.share, _nothing)
        return law, spared * candidates.quantum

    def _choose(self, chosen: _Chosen, rows: Places, groups: Places, entropy: Entropy) -> Iterator[Places]:
        """Choose a point for some rows that have the same tuning, or one for each sign.

        Rows are yielded as soon as they have their points: what follows is drawn in the order of ``Then``.
        """
        which = int(chosen.which[rows[0]])
        tuning = which % len(self.clip.finder.tunings)
        if which == tuning:
            chosen.place[rows] = self._points(tuning, groups, entropy)
            yield rows
            return
        chosen.place[rows] = self._points(tuning, groups, entropy, 1)
        for place in np.unique(chosen.place[rows]):
            here = np.flatnonzero(chosen.place[rows] == place)
            chosen.below[rows[here]] = self._points(tuning, groups[here], entropy, -1)
            yield rows[here]

    def _points(self, tuning: int, rows: Places, entropy: Entropy, sign: int | None = None) -> Places:
        """Choose a point for each row by itself; rows are numbers of groups."""
        groups, group = np.unique(rows, return_inverse=True)
        points = Points.spanning(self.public, self.clip.finder.tunings[tuning][1].stride)
        at_once = max(1, _CELLS // len(points.numerators))
        found = np.zeros(len(rows), np.intp)
        for start in range(0, len(groups), at_once):
            flips = self.flips(groups[start : start + at_once], tuning, sign)
            here = np.flatnonzero((group >= start) & (group < start + at_once))
            found[here] = flips.draw(entropy, group[here] - start)
        return found

    def _noises(self, chosen: _Chosen, rows: Places, entropy: Entropy) -> Column:
        """Draw the noises of some rows of one tuning, for the higher of each row's points."""
        tuning = int(chosen.which[rows[0]]) % len(self.clip.finder.tunings)
        found: Column = np.zeros(len(rows), dtype=np.int64)
        place, below = chosen.place[rows], chosen.below[rows]
        size = int(below.max(initial=0)) + 1
        pairs, pair = numbered(place * size + below)
        for number, higher in enumerate(np.maximum(*np.divmod(pairs, size)).tolist()):
            here = np.flatnonzero(pair == number)
            found = _filled(found, here, self.noise(tuning, higher).draw_many(entropy, len(here)))
        return found

    def _clipped(self, chosen: _Chosen, runs: int) -> Column:
        """Return each row's total, clipped at the higher of its points."""
        tunings = len(self.clip.finder.tunings)
        higher = np.maximum(chosen.place, chosen.below)
        points, point = numbered(higher * tunings + chosen.which % tunings)
        caps = [self._caps(point % tunings, point // tunings) for point in points.tolist()]
        groups = np.arange(len(higher)) // runs
        pairs, pair = np.unique(groups * len(points) + point, return_inverse=True)
        group, which = np.divmod(pairs, len(points))
        return self.groups.clipped_each(group, caps, which)[pair.reshape(-1)]

    def _answers(self, chosen: _Chosen, steps: Column, runs: int) -> ByGroup:
        """Return the answers, with what is said of each: all of it released or public."""
        facts = chosen.which, chosen.place, chosen.below, chosen.sparing
        sizes = tuple(int(fact.max(initial=0)) + 1 for fact in facts)
        different, which_facts = np.unique(np.ravel_multi_index(facts, sizes), return_inverse=True)
        words = tuple(
            self.answer(int(which), int(place), int(below), chosen.spared[sparing])
            for which, place, below, sparing in zip(*np.unravel_index(different, sizes), strict=True)
        )
        by_run = zip(steps.reshape(-1, runs).T, which_facts.reshape(-1, runs).T, strict=True)
        return ByGroup(tuple(AnswerColumn(number.copy(), each.copy(), words) for number, each in by_run))

    def answer(self, which: int, place: int, below: int, spared: Fraction) -> Answer:
        """Return what is said of a noisy total, but for the number itself.

        Args:
            which: The tuning that chose; higher by the number of tunings where each sign chose.
            place: The place that was chosen; where each sign chose, that of values above zero.
            below: Where each sign chose, the place of values below zero.
            spared: The mass that the place might clip at no penalty.
        """
        finder = self.clip.finder
        places = (place,) if which < len(finder.tunings) else (below, place)
        noise = self.noise(which % len(finder.tunings), max(places))
        clipping = self.clip.clipping(self.public, self.share, which, *places)
        clipping = replace(clipping, spared=clipping.spared + spared)
        choices = [("clipped at", f"{self._shown(clipping.at)} for each unit of budget")]
        if clipping.drawn is not None:
            low, high = map(self._shown, clipping.drawn)
            choices.append(("points found", f"{low} for values below zero, {high} for those above"))
        choices.append(("of the share", finder.parts(finder.tunings[which % len(finder.tunings)][1])))
        return Answer(0, self.step, (noise,), tuple(choices), clipping=clipping)

    def _shown(self, point: Fraction) -> str:
        return f"{float(point * self.step):.6g}"


def picked(rule: Rule, masses: Sequence[Column]) -> NDArray[np.intp]:
    """Return, for each row of noisy masses, the place that a rule picks by them.

    >>> rule = BothReaching(together=(10, 5), apart=(4, 3), reserve=1)
    >>> picked(rule, [exact_column([9, 5, 1]), exact_column([2, 6, 1])]).tolist()  # as the rule itself does
    [0, 3, 2]
    """
    if isinstance(rule, FirstReaching):
        return _first_reached(masses[0], [least for _, least in rule.tests])
    assert isinstance(rule, BothReaching)  # noqa: S101  (Clip.law has no other)
    below, above = masses
    both = plus(plus(below, above), exact_column([-rule.reserve]))
    which, smaller = _first_reached(both, rule.together), np.minimum(below, above)
    for place, least in enumerate(rule.apart):
        apart = np.asarray(smaller >= exact_column([least]), dtype=bool) & (which == place)
        which[apart] += len(rule.together) + 1
    return which


def _nothing(_tuning: Tuning, _place: int) -> Noisy:
    """Return the law of no answer: of a law with it, the choices alone are drawn from."""
    return Noisy((), ())


def _reserve(law: Gated, noises: int) -> int:
    """Return what is taken off a noisy mass that has as many noises as were added up."""
    (noise,) = law.first.noises
    return int(2 * noise.scale * (isqrt(noises) - 1))


def _filled(column: Column, places: Places, numbers: Column) -> Column:
    """Return a column with numbers at some places."""
    column = column.astype(object) if numbers.dtype == object and column.dtype != object else column
    column[places] = numbers
    return column


def _first_reached(masses: Column, leasts: Sequence[int]) -> NDArray[np.intp]:
    """Return, for each mass, the place of the first number that it reaches; else the place after the last."""
    found = np.full(len(masses), len(leasts), np.intp)
    for place in reversed(range(len(leasts))):
        found[np.asarray(masses >= exact_column([leasts[place]]), dtype=bool)] = place
    return found
