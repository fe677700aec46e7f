"""Where to clip: a public ladder of clipping points, and the private search for a good one.

Whoever clips (totals, ranks, distinct keys) says what each point would clip, as a ``Ladder``; how a point
is found is decided here and nowhere else. In full: proofs/point.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from prdp.geometry import quarter_octaves
from prdp.mechanisms._mechanism import beyond
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Noisy, Scan, Then
from prdp.summary import Summary

_GRID_BITS = 20


class Ladder(Protocol):
    """Public clipping points, ascending, and the budget mass that each would clip."""

    @property
    def quantum(self) -> Fraction:
        """The grain of masses, in units of budget; a lattice is a number of such quanta."""

    @property
    def sway(self) -> int:
        """How far adding a record can lower a mass, in halves of the record's own: 0 where it cannot."""

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records, on a lattice of so many quanta."""

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:
        """Return what each point clips; points lie ``stride`` quarters of an octave apart."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the rest of the share is used, once it is known about how rich the table is in budget.

    Attributes:
        split: The parts of the share for the threshold, for the masses and for the answer.
        threshold: The clipped budget mass that the scan looks for, times the share.
        rise: By how much that grows from one point to the next: what stops a scan that ran away.
        beyond: How many points after the one it finds records are clipped.
        stride: How far apart the points are, in quarters of an octave.
    """

    split: tuple[Fraction, Fraction, Fraction]
    threshold: Fraction
    rise: Fraction
    beyond: int
    stride: int


def _tuning(parts: tuple[int, int, int], threshold: int, rise: Fraction, stride: int) -> Tuning:
    of_threshold, of_masses, of_answer = (Fraction(part, 100) for part in parts)
    half_an_octave = 2 // stride
    return Tuning((of_threshold, of_masses, of_answer), Fraction(threshold), rise, half_an_octave, stride)


RICH = _tuning((21, 9, 67), 21, Fraction(1, 20), stride=1)
SMALL_SHARE = _tuning((21, 9, 67), 12, Fraction(1, 20), stride=1)
TINY_SHARE = _tuning((30, 20, 47), 6, Fraction(1, 20), stride=1)
POOR = _tuning((30, 20, 47), 6, Fraction(1, 10), stride=2)


@dataclass(frozen=True, slots=True)
class PointFinder:
    """Find a clipping point by a noisy total mass and a noisy scan.

    Guarantee:
        With what follows at the part ``split[2]`` of the share, the whole is (share · E(r))-private.

    Why:
        Adding r raises the total budget mass, and the mass that each point would clip, by at most E(r): the
        noisy total costs a₀ · share · E(r) and the scan (a₁ + a₂) · share · E(r); a₀ + a₁ + a₂ + a₃ = 1.
        In full: proofs/point.md.

    Attributes:
        gate: The part of the share that measures the table's total budget mass.
        tunings: From which noisy total mass, times the share, on each tuning is used; descending.
        scan_bits: The lattice of masses is as fine as this many bits of the noise on the total.
    """

    gate: Fraction = Fraction(3, 100)
    tunings: tuple[tuple[int | None, Tuning], ...] = ((150, RICH), (None, POOR))
    scan_bits: int = 50

    def __post_init__(self) -> None:
        if any(self.gate + sum(tuning.split) > 1 for _, tuning in self.tunings):
            raise ValueError("the parts of the share add up to more than the whole")

    @classmethod
    def tuned(cls, share: Fraction) -> PointFinder:
        """Return the finder for a share; the parameters were chosen once (proofs/point.md)."""
        if share > Fraction(1, 3):
            return cls()
        usual = SMALL_SHARE if share > Fraction(1, 30) else TINY_SHARE
        return cls(tunings=((150, usual), (None, POOR)))

    def law(self, ladder: Ladder, share: Fraction, answer: Callable[[Tuning, int], Law]) -> Gated:
        """Return the distribution of (which tuning, (place on the ladder, the answer there)).

        Args:
            ladder: What each point would clip.
            share: The part of every record's budget for all of it.
            answer: From a tuning and the place that its scan found to the law of the answer; it is to
                use the part ``tuning.split[2]`` of the share, at the place ``beyond`` further on.
        """
        lattice = self.lattice(ladder.quantum, share)
        step = ladder.quantum * lattice

        def rule(masses: tuple[int, ...]) -> int:
            richness = masses[0] * step * share
            leasts = enumerate(least for least, _ in self.tunings)
            return next(which for which, least in leasts if least is None or richness >= least)

        def rest(tuning: Tuning) -> Then:
            return Then(self.scan(ladder, share, tuning), lambda place: answer(tuning, place))

        return Gated(
            first=Noisy((ladder.mass(lattice),), (DiscreteLaplace(1 / (share * self.gate * step)),)),
            rule=rule,
            laws=tuple(rest(tuning) for _, tuning in self.tunings),
        )

    def scan(self, ladder: Ladder, share: Fraction, tuning: Tuning) -> Scan:
        """Return the search for the first point that clips little enough budget mass."""
        threshold_part, mass_part, _ = tuning.split
        lattice = self.lattice(ladder.quantum, share)
        step = ladder.quantum * lattice
        masses = ladder.masses(tuning.stride, lattice)
        return Scan(
            masses=masses,
            thresholds=tuple(
                int((tuning.threshold + tuning.rise * point) / share / step) for point in range(len(masses))
            ),
            threshold_noise=DiscreteLaplace(1 / (share * threshold_part * step)),
            mass_noise=DiscreteLaplace((1 + Fraction(ladder.sway, 2)) / (share * mass_part * step)),
        )

    def lattice(self, quantum: Fraction, share: Fraction) -> int:
        """Return the lattice of masses in quanta: the power of two that keeps their noise in range."""
        scale = 1 / (share * self.gate * quantum)
        return 1 << max(0, int(scale).bit_length() - self.scan_bits)


@dataclass(frozen=True, slots=True)
class Points:
    """The public clipping points of records that count up to a multiple of their own budget.

    Point j lets a record of one quantum count up to ``numerators[j] / denominator`` steps.
    """

    numerators: tuple[int, ...]
    denominator: int

    @classmethod
    def spanning(cls, summary: Summary, stride: int) -> Points:
        """Return points from where every record may be clipped to where none can be."""
        levels = summary.levels
        first = Fraction(summary.smallest) / levels.at_most * levels.quantum
        last = Fraction(summary.largest, levels.quanta(0))
        numerators: list[int] = []
        while True:
            numerators.append(first.numerator * quarter_octaves(stride * len(numerators), _GRID_BITS))
            if Fraction(numerators[-1], first.denominator << _GRID_BITS) >= last:
                return cls(tuple(numerators), first.denominator << _GRID_BITS)

    def cap(self, point: int, quanta: int) -> int:
        """Return how far a record with this budget may count at a point, in whole steps."""
        return quanta * self.numerators[point] // self.denominator

    def per_quantum(self, point: int) -> Fraction:
        """Return how many steps a quantum of budget may count for at a point."""
        return Fraction(self.numerators[point], self.denominator)

    def first_reaching(self, value: int, quanta: int) -> int:
        """Return the first point at which a record with this budget may count up to ``value``."""
        return bisect_left(self.numerators, -(-value * self.denominator // quanta))


@dataclass(frozen=True, slots=True)
class RecordLadder:
    """The ladder of a summary: a point clips the records whose cell reaches above it."""

    summary: Summary
    sway: int = 0

    @property
    def quantum(self) -> Fraction:
        """The grain of masses: that of the levels."""
        return self.summary.levels.quantum

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records."""
        return sum(cell.key.quanta // lattice * cell.count for cell in self.summary.cells)

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:
        """Return the budget mass that each point clips; adding a record raises it by 0 or by its own."""
        points = Points.spanning(self.summary, stride)
        masses = [0] * (len(points.numerators) + 1)
        for cell in self.summary.cells:
            weight = cell.key.quanta // lattice * cell.count
            masses[points.first_reaching(cell.key.high, cell.key.quanta)] += weight
        return tuple(beyond(masses)[:-1])  # a cell that point j reaches is clipped at points before j
