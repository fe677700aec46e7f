"""Proportional clipping of thousands of groups at once: each group's own law, all of them side by side.

What is drawn for a group is drawn from ``Clip.law`` of its summary, or from the law of the groups that choose
a point together. Here the integers of these laws are worked out for all groups in columns, and their noises
are drawn together. The tests hold both to each other, integer by integer and byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, Places, exact_column, over, plus
from prdp.cells.groups import SummaryGroups
from prdp.cells.summary import Summary
from prdp.mechanisms._point import RecordLadder, SparingLadder, Tuning, evidence
from prdp.mechanisms._points import Points
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noisy, Then
from prdp.noise.many_flips import ManyFlips
from prdp.release.drawn import Answer, AnswerColumn, ByGroup

if TYPE_CHECKING:
    from prdp.mechanisms.clip import Clip

PER_GROUP = 2
"""The budget mass, times the share, that a point may clip of each of several groups at no penalty."""

_CELLS = 1 << 20
"""So many masses, of groups at points, are worked out together."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What was chosen for each row: a tuning, a place on its ladder, and whether others chose along."""

    which: NDArray[np.intp]
    place: NDArray[np.intp]
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
    """

    clip: Clip
    groups: SummaryGroups
    share: Fraction
    step: Fraction

    @property
    def public(self) -> Summary:
        """The summary of no records: what all groups' laws have in common is worked out from it."""
        return self.groups.empty

    def gates(self) -> Column:
        """Return the budget mass of each group, on the lattice of its noise."""
        kinds = self.groups.kinds
        lattice = self.clip.finder.lattice(self.groups.levels.quantum, self.share)
        return self.groups.weighed(np.where(kinds.high != 0, over(kinds.quanta, lattice), 0))

    def flips(self, chosen: Places, which: int) -> ManyFlips:
        """Return the choices of a point of some groups, for a tuning."""
        finder, ladder = self.clip.finder, RecordLadder(self.public)
        tuning = finder.tunings[which][1]
        points = Points.spanning(self.public, tuning.stride)
        kinds, number = self.groups.kinds, len(points.numerators)
        reaching = points.first_reaching(kinds.high, kinds.quanta)
        found = self.groups.weighed_at(chosen, reaching, number + 1, kinds.quanta)
        masses = [np.cumsum(part[:, :0:-1], axis=1)[:, ::-1] for part in found]
        climbs = tuning.climbs(points.heights, points.usual)
        return ManyFlips.of(masses, evidence(ladder, self.share, tuning) * ladder.quantum, climbs)

    def totals(self, chosen: Places, which: int, place: int) -> Column:
        """Return some groups' totals, clipped at the point of a place on a tuning's ladder."""
        points = Points.spanning(self.public, self.clip.finder.tunings[which][1].stride)
        return self.groups.clipped(chosen, self.groups.kinds.by_budget(partial(points.cap, place)))

    def noise(self, which: int, place: int) -> DiscreteLaplace:
        """Return the noise of a total that is clipped at the point of a place."""
        (noise,) = self.clip.total(self.public, self.share, self.clip.finder.tunings[which][1], place).noises
        return noise

    def drawn(self, entropy: Entropy, runs: int) -> ByGroup:
        """Draw independent answers for all groups; those too poor to choose a point choose one together."""
        law = self.clip.finder.law(RecordLadder(self.public), self.share, _nothing)
        rows = len(self.groups) * runs  # a group's runs side by side
        (noise,) = law.first.noises
        masses = plus(np.repeat(self.gates(), runs), noise.draw_many(entropy, rows))
        which = _first_reached(masses, self.clip.finder.reached(RecordLadder(self.public), self.share))
        chosen = self._together(masses, which, runs, entropy)
        alone, pooled = np.flatnonzero(chosen.sparing == 0), np.flatnonzero(chosen.sparing)
        steps: Column = np.zeros(rows, dtype=np.int64)
        for tuning in np.unique(chosen.which[alone]).tolist():
            mine = alone[chosen.which[alone] == tuning]
            chosen.place[mine] = self._points(tuning, mine // runs, entropy)
            steps = _filled(steps, mine, self._noisy(tuning, mine // runs, chosen.place[mine], entropy))
        for tuning in np.unique(chosen.which[pooled]).tolist():
            mine = pooled[chosen.which[pooled] == tuning]
            steps = _filled(steps, mine, self._noisy(tuning, mine // runs, chosen.place[mine], entropy))
        return self._said(chosen, steps, runs)

    def _together(self, masses: Column, which: NDArray[np.intp], runs: int, entropy: Entropy) -> _Chosen:
        """Choose a point for groups that are too poor to do so alone; it takes two to do so."""
        finder = self.clip.finder
        last = len(finder.tunings) - 1
        place, sparing = np.zeros_like(which), np.zeros_like(which)
        spared = [Fraction(0)]
        which = which.copy()
        pooled = lru_cache(maxsize=8)(lambda poor: self._pooled(np.frombuffer(poor, np.intp)))
        for run in range(runs):
            poor = np.flatnonzero(which[run::runs] == last)
            if len(poor) < 2:
                continue
            law, mass = pooled(poor.tobytes())
            rows = poor * runs + run
            noisy = sum(masses[rows].tolist()) - _reserve(law, len(poor))
            tuning = law.rule((noisy,))
            choice = law.laws[tuning]
            assert isinstance(choice, Then)  # noqa: S101  (see PointFinder.law)
            which[rows], place[rows] = tuning, int(choice.first.draw(entropy, 1)[0])
            sparing[rows] = len(spared)
            spared.append(mass)
        return _Chosen(which, place, spared, sparing)

    def _pooled(self, poor: Places) -> tuple[Gated, Fraction]:
        """Return the law of a point for several groups together, and the budget mass that it spares.

        Nothing but the point is drawn from it.
        """
        merged = self.groups.together(poor)
        spared = int(PER_GROUP * len(poor) / (self.share * merged.levels.quantum))
        ladder = SparingLadder(RecordLadder(merged), spared)
        law = self.clip.finder.law(ladder, self.share, _nothing)
        return law, spared * ladder.quantum

    def _points(self, tuning: int, rows: Places, entropy: Entropy) -> Places:
        """Choose a point for each row by itself; rows are numbers of groups."""
        groups, group = np.unique(rows, return_inverse=True)
        points = Points.spanning(self.public, self.clip.finder.tunings[tuning][1].stride)
        at_once = max(1, _CELLS // len(points.numerators))
        found = np.zeros(len(rows), np.intp)
        for start in range(0, len(groups), at_once):
            flips = self.flips(groups[start : start + at_once], tuning)
            here = np.flatnonzero((group >= start) & (group < start + at_once))
            found[here] = flips.draw(entropy, group[here] - start)
        return found

    def _noisy(self, tuning: int, rows: Places, places: Places, entropy: Entropy) -> Column:
        """Return the noisy totals of groups, each clipped at the point of its place."""
        found: Column = np.zeros(len(rows), dtype=np.int64)
        for place in np.unique(places).tolist():
            here = np.flatnonzero(places == place)
            groups, group = np.unique(rows[here], return_inverse=True)
            noises = self.noise(tuning, place).draw_many(entropy, len(here))
            found = _filled(found, here, plus(self.totals(groups, tuning, place)[group], noises))
        return found

    def _said(self, chosen: _Chosen, steps: Column, runs: int) -> ByGroup:
        """Return the answers, with what is said of each: all of it released or public."""
        sizes = len(self.clip.finder.tunings), int(chosen.place.max(initial=0)) + 1, len(chosen.spared)
        number = np.ravel_multi_index((chosen.which, chosen.place, chosen.sparing), sizes)
        different, said = np.unique(number, return_inverse=True)
        words = tuple(
            self.answer(int(which), int(place), chosen.spared[sparing])
            for which, place, sparing in zip(*np.unravel_index(different, sizes), strict=True)
        )
        by_run = zip(steps.reshape(-1, runs).T, said.reshape(-1, runs).T, strict=True)
        return ByGroup(tuple(AnswerColumn(number.copy(), each.copy(), words) for number, each in by_run))

    def answer(self, which: int, place: int, spared: Fraction) -> Answer:
        """Return what is said of a noisy total, but for the number itself.

        ``spared`` is the mass that the place might clip at no penalty.
        """
        finder, noise = self.clip.finder, self.noise(which, place)
        clipping = replace(self.clip.clipping(self.public, self.share, which, place), spared=spared)
        choices = (
            ("clipped at", f"{float(clipping.at * self.step):.6g} for each unit of budget"),
            ("of the share", finder.parts(finder.tunings[which][1])),
        )
        return Answer(0, self.step, (noise,), choices, clipping=clipping)


def _nothing(_tuning: Tuning, _place: int) -> Noisy:
    """Return the law of no answer: of a law with it, the choices alone are drawn from."""
    return Noisy((), ())


def _reserve(law: Gated, groups: int) -> int:
    """Return what is taken off the noisy mass of several groups: its noise is that of all of them."""
    (noise,) = law.first.noises
    return int(2 * noise.scale * (isqrt(groups) - 1))


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
