"""Proportional clipping: each record counts up to a multiple of its own budget."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from prdp.geometry import quarter_octaves
from prdp.mechanisms._mechanism import Answer, beyond
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy, NoisyThen, Scan, ScanThenNoisy
from prdp.summary import Summary

_GRID_BITS = 20
_VALUE_BITS = 40


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the rest of the share is used, once it is known about how rich the table is in budget.

    Attributes:
        split: The parts of the share for the threshold, for the masses and for the total.
        threshold: The clipped budget mass that the scan looks for, times the share.
        rise: By how much that grows from one point to the next: what stops a scan that ran away.
        beyond: How many points after the one it finds the total is clipped.
        stride: How far apart the points are, in quarters of an octave.
    """

    split: tuple[Fraction, Fraction, Fraction]
    threshold: Fraction
    rise: Fraction
    beyond: int
    stride: int


def _tuning(parts: tuple[int, int, int], threshold: int, rise: Fraction, stride: int) -> Tuning:
    of_threshold, of_masses, of_total = (Fraction(part, 100) for part in parts)
    beyond = 2 // stride  # half an octave
    return Tuning((of_threshold, of_masses, of_total), Fraction(threshold), rise, beyond, stride)


RICH = _tuning((21, 9, 67), 21, Fraction(1, 20), stride=1)
SMALL_SHARE = _tuning((21, 9, 67), 12, Fraction(1, 20), stride=1)
TINY_SHARE = _tuning((30, 20, 47), 6, Fraction(1, 20), stride=1)
POOR = _tuning((30, 20, 47), 6, Fraction(1, 10), stride=2)


@dataclass(frozen=True, slots=True)
class Points:
    """The public clipping points, ascending.

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
class Clip:
    """Clip every record at b times its budget, with b found by a private scan.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Adding r raises the total budget mass, and the mass that each b would clip, by at most E(r): the
        noisy total costs a₀ · share · E(r) and the scan (a₁ + a₂) · share · E(r). At the b it finds, r
        moves the clipped total by at most b · E(r), which noise of scale b / (a₃ · share) hides up
        to a₃ · share · E(r); a₀ + a₁ + a₂ + a₃ = 1. In full: proofs/clip.md.

    Attributes:
        gate: The part of the share that measures the table's total budget mass.
        tunings: From which noisy total mass, times the share, on each tuning is used; descending.
        scan_bits: The lattice of masses is as fine as this many bits of the noise on the total.
    """

    gate: Fraction = Fraction(3, 100)
    tunings: tuple[tuple[int | None, Tuning], ...] = ((150, RICH), (None, POOR))
    scan_bits: int = 50

    name = "clip"

    def __post_init__(self) -> None:
        if any(self.gate + sum(tuning.split) > 1 for _, tuning in self.tunings):
            raise ValueError("the parts of the share add up to more than the whole")

    @classmethod
    def tuned(cls, share: Fraction) -> Clip:
        """Return the mechanism for a share; the parameters were chosen once (proofs/clip.md)."""
        if share > Fraction(1, 3):
            return cls()
        usual = SMALL_SHARE if share > Fraction(1, 30) else TINY_SHARE
        return cls(tunings=((150, usual), (None, POOR)))

    def caveat(self, *, signed: bool) -> str:
        """Return what the interval does not cover."""
        return f"clipped records can {'move it either way' if signed else 'only pull it toward zero'}"

    def law(self, summary: Summary, share: Fraction) -> NoisyThen:
        """Return the distribution of (noisy total mass, clipping point, noisy clipped total)."""
        lattice = self.lattice(summary, share)
        step = summary.levels.quantum * lattice
        mass = sum(cell.key.quanta // lattice * cell.count for cell in summary.cells)

        def rule(masses: tuple[int, ...]) -> int:
            richness = masses[0] * step * share
            leasts = enumerate(least for least, _ in self.tunings)
            return next(which for which, least in leasts if least is None or richness >= least)

        return NoisyThen(
            first=Noisy((mass,), (DiscreteLaplace(1 / (share * self.gate * step)),)),
            rule=rule,
            laws=tuple(self.rest(summary, share, tuning) for _, tuning in self.tunings),
        )

    def rest(self, summary: Summary, share: Fraction, tuning: Tuning) -> ScanThenNoisy:
        """Return the distribution of (clipping point, noisy clipped total) under a tuning."""
        points = Points.spanning(summary, tuning.stride)

        @cache
        def total_after(place: int) -> Noisy:
            point = min(place + tuning.beyond, len(points.numerators) - 1)
            total = sum(cell.clipped(points.cap(point, cell.key.quanta)) for cell in summary.cells)
            scale = points.per_quantum(point) / summary.levels.quantum / (share * tuning.split[2])
            return Noisy((total,), (DiscreteLaplace(scale),))

        return ScanThenNoisy(self.scan(summary, points, share, tuning), total_after)

    def scan(self, summary: Summary, points: Points, share: Fraction, tuning: Tuning) -> Scan:
        """Return the search for the first point that clips little enough budget mass."""
        threshold_part, mass_part, _ = tuning.split
        lattice = self.lattice(summary, share)
        step = summary.levels.quantum * lattice
        masses = [0] * (len(points.numerators) + 1)
        for cell in summary.cells:
            weight = cell.key.quanta // lattice * cell.count
            masses[points.first_reaching(cell.key.high, cell.key.quanta)] += weight
        return Scan(
            masses=tuple(beyond(masses)[:-1]),  # a cell that point j reaches is clipped at points before j
            thresholds=tuple(
                int((tuning.threshold + tuning.rise * point) / share / step)
                for point in range(len(points.numerators))
            ),
            threshold_noise=DiscreteLaplace(1 / (share * threshold_part * step)),
            mass_noise=DiscreteLaplace(1 / (share * mass_part * step)),
        )

    def lattice(self, summary: Summary, share: Fraction) -> int:
        """Return the lattice of masses in quanta: the power of two that keeps their noise in range."""
        scale = 1 / (share * self.gate * summary.levels.quantum)
        return 1 << max(0, int(scale).bit_length() - self.scan_bits)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        bits = max(0, min(_GRID_BITS, _VALUE_BITS - summary.largest.bit_length()))
        fine, step = summary.refined(bits), Fraction(1, 1 << bits)
        law = self.law(fine, share)
        answers = []
        for which, place, (total,) in law.draw(entropy, runs):
            noises = law.laws[which].then(place).noises
            clipped_at = noises[0].scale * share * self.tunings[which][1].split[2] * step
            choices = (("clipped at", f"{float(clipped_at):.6g} for each unit of budget"),)
            answers.append(Answer(total, step, noises, choices))
        return answers
