"""Counts in which a result uses several records: each record adds up to a multiple of its own budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Protocol

from prdp.levels import Levels, quarter_octaves
from prdp.mechanisms._threshold import PointFinder, Tuning
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noisy
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Answer, Caveat

_GRID_BITS = 20  # as for other clipping points: to one in a million
_CAP, _CAP_PER_OCTAVE = 300, 20
"""Masses are computed up to this, over the share: far more than the choice's fall over all candidates."""


class Truncation(Protocol):
    """A count, cut so that adding or removing a record changes it by a multiple of the record's budget.

    For every b, adding a record of e quanta raises ``value(b)`` by at least -slack(b) and at most e · b +
    slack(b).
    """

    @property
    def levels(self) -> Levels:
        """The grid of budgets."""

    @property
    def steps(self) -> int:
        """The lattice steps of one result; public."""

    @property
    def reach(self) -> int:
        """The b · quanta(least budget) at which nothing can be cut any more, in steps; public."""

    @property
    def how(self) -> str:
        """The way in which results are cut, in words; public."""

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records, on a lattice of so many quanta."""

    def slack(self, per_quantum: Fraction) -> int:
        """Return the amount that rounding may add to a change, in steps; public."""

    def value(self, per_quantum: Fraction) -> int:
        """Return the cut count, in steps, when a quantum of budget may represent ``per_quantum`` steps."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the count at b times each record's budget, with b found by a private search.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the data with r and the
        data without it.

    Why:
        What is cut between b/2 and b, over b, moves between -E(r)/2 and E(r) when r is added, so the search
        costs (1 - a₂) · share · E(r). At the b that is found r moves the cut count by at most b · E(r), which
        noise of scale b / (a₂ · share) hides up to a₂ · share · E(r). In full: proofs/truncate.md.
    """

    finder: PointFinder = field(default_factory=PointFinder)

    name = "truncate"

    @classmethod
    def tuned(cls, share: Fraction) -> Truncate:
        """Return the mechanism for a share."""
        return cls(PointFinder.tuned(share))

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (counts have no sign)
        """Describe the errors other than noise."""
        return Caveat("what was cut", "toward zero")

    def law(self, truncation: Truncation, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (point, noisy cut count))."""
        return self.finder.law(CutCandidates(truncation, share), share, self.totals(truncation, share))

    def totals(self, truncation: Truncation, share: Fraction) -> Callable[[Tuning, int], Noisy]:
        """Return the noisy count as a function of the tuning and the place that was found."""

        @cache
        def total(tuning: Tuning, place: int) -> Noisy:
            point = candidate_points(truncation, tuning.stride)[place]
            return Noisy((truncation.value(point),), (self.noise(truncation, share, tuning, place),))

        return total

    def answers(self, truncation: Truncation, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        law = self.law(truncation, share)
        return [self.stated(truncation, share, drawn) for drawn in law.draw(entropy, runs)]

    def stated(
        self, truncation: Truncation, share: Fraction, drawn: tuple[int, tuple[int, tuple[int]]]
    ) -> Answer:
        """Return the answer for a draw of the law; of the truncation it uses the public facts alone."""
        which, (place, (total,)) = drawn
        tuning = self.finder.tunings[which][1]
        noise = self.noise(truncation, share, tuning, place)
        cut_at = noise.scale * share * tuning.answer / truncation.steps
        choices = (
            ("cut at", f"{float(cut_at):.6g} results for each unit of budget"),
            ("cut how", truncation.how),
            ("of the share", self.finder.parts(tuning)),
        )
        clipping = self.clipping(truncation, which, place)
        return Answer(total, Fraction(1, truncation.steps), (noise,), choices, clipping=clipping)

    def noise(self, truncation: Truncation, share: Fraction, tuning: Tuning, place: int) -> DiscreteLaplace:
        """Return the noise at a place of the candidates."""
        point, levels = candidate_points(truncation, tuning.stride)[place], truncation.levels
        influence = point + Fraction(truncation.slack(point), levels.quanta(0))
        return DiscreteLaplace(influence / levels.quantum / (share * tuning.answer))

    def clipping(self, truncation: Truncation, which: int, place: int) -> Clipping:
        """Return the threshold of the cut results; the choice proves nothing about how much was cut."""
        margin, tuning = self.finder.tunings[which]
        points, levels = candidate_points(truncation, tuning.stride), truncation.levels
        at, most = (b / levels.quantum for b in (points[place], Fraction(truncation.reach, levels.quanta(0))))
        return Clipping(at, max(at, most), Fraction(0), tuning.fall, tuning.stride, blind=margin is None)


def candidate_points(truncation: Truncation, stride: int) -> tuple[Fraction, ...]:
    """Return public points, in steps per quantum, from where all may be cut to where nothing can be.

    Four quarters of an octave are a factor of exactly 2.
    """
    levels = truncation.levels
    first = truncation.steps / levels.at_most * levels.quantum
    last = Fraction(truncation.reach, levels.quanta(0))
    points: list[Fraction] = []
    while not points or points[-1] < last:
        octaves, quarters = divmod(stride * len(points), 4)
        points.append(first * quarter_octaves(quarters, _GRID_BITS) * 2**octaves / 2**_GRID_BITS)
    return tuple(points)


@dataclass(frozen=True, slots=True)
class CutCandidates:
    """The candidates of a truncation: what is cut between half a point and the point, in units of budget.

    It is the greatest such mass from the point on, and at most a public cap: neither makes a change larger,
    and what lies below a point at the cap need not be computed.
    """

    truncation: Truncation
    share: Fraction

    max_decrease = 1

    @property
    def quantum(self) -> Fraction:
        """The rounding step of masses: that of the levels."""
        return self.truncation.levels.quantum

    def mass(self, lattice: int) -> int:
        """Return a quarter of the budget mass of all records: about the most that can be cut at once."""
        return self.truncation.mass(lattice) // 4

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:
        """Return each point's mass; adding a record moves it by between -1/2 and 1 of the record's own."""
        points = candidate_points(self.truncation, stride)
        octaves = stride * len(points) // 4
        cap = int((_CAP + _CAP_PER_OCTAVE * octaves) / (self.share * self.quantum * lattice))
        masses = [cap] * len(points)
        if self.truncation.levels.quanta(0) <= 8 * lattice:
            return tuple(masses)  # so coarse a lattice cannot tell what a record may do
        most = 0
        for place in reversed(range(len(points))):
            most = max(most, self._cut(points[place], lattice))
            if most >= cap:
                break
            masses[place] = most
        return tuple(masses)

    def heights(self, stride: int) -> tuple[int, ...]:
        """Return the height of each point."""
        return tuple(stride * place for place in range(len(candidate_points(self.truncation, stride))))

    def usual(self, stride: int) -> int:
        """Return the number of points: bounds play no part."""
        return len(candidate_points(self.truncation, stride))

    def _cut(self, point: Fraction, lattice: int) -> int:
        """Return the mass cut between half a point and the point, deflated by what rounding can add."""
        truncation = self.truncation
        cut = (truncation.value(point) - truncation.value(point / 2)) / point
        slack = (truncation.slack(point) + truncation.slack(point / 2)) / point
        least = truncation.levels.quanta(0)
        spare = 1 + (2 * slack + 4 * lattice) / (least - 4 * lattice)
        return int(cut / spare // lattice)
