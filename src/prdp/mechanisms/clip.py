"""Proportional clipping: each record counts up to a multiple of its own budget."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from prdp.geometry import quarter_octaves
from prdp.mechanisms._mechanism import Answer
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy, Scan, ScanThenNoisy
from prdp.summary import Summary

_GRID_BITS = 20
_VALUE_BITS = 40


@dataclass(frozen=True, slots=True)
class Points:
    """The public clipping points, ascending, four an octave.

    Point j lets a record of one quantum count up to ``numerators[j] / denominator`` steps.
    """

    numerators: tuple[int, ...]
    denominator: int

    @classmethod
    def spanning(cls, summary: Summary) -> Points:
        """Return points from where every record may be clipped to where none can be."""
        levels = summary.levels
        first = Fraction(summary.smallest) / levels.at_most * levels.quantum
        last = Fraction(summary.largest, levels.quanta(0))
        numerators: list[int] = []
        while True:
            numerators.append(first.numerator * quarter_octaves(len(numerators), _GRID_BITS))
            if Fraction(numerators[-1], first.denominator << _GRID_BITS) >= last:
                return cls(tuple(numerators), first.denominator << _GRID_BITS)

    def cap(self, point: int, quanta: int) -> int:
        """Return how far a record with this budget may count at a point, in whole steps."""
        return quanta * self.numerators[point] // self.denominator

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
        Adding r moves the mass that each b would clip by at most E(r), and only upward, so the scan
        costs (a₁ + a₂) · share · E(r). At the b it finds, r moves the clipped total by at most b · E(r),
        which noise of scale b / (a₃ · share) hides up to a₃ · share · E(r); a₁ + a₂ + a₃ = 1.
        In full: proofs/clip.md.

    Attributes:
        split: The parts of the share for the threshold, for the masses and for the total.
        threshold: The clipped budget mass that the scan looks for, times the share.
        rise: By how much that grows from one point to the next: what stops a scan that ran away.
        beyond: How many points after the one it finds the total is clipped.
        scan_bits: The scan's lattice is as fine as this many bits of its threshold noise.
    """

    split: tuple[Fraction, Fraction, Fraction]
    threshold: Fraction
    rise: Fraction = Fraction(0)
    beyond: int = 2
    scan_bits: int = 50

    name = "clip"
    caveat = "the interval covers the noise; records that were clipped can only pull the value toward zero"

    @classmethod
    def tuned(cls, share: Fraction) -> Clip:
        """Return the parameters for a share; chosen once, on made-up data (proofs/clip.md)."""
        if share > Fraction(1, 3):
            parts, threshold = (22, 10, 68), 22
        elif share > Fraction(1, 30):
            parts, threshold = (22, 10, 68), 12
        else:
            parts, threshold = (30, 20, 50), 6
        of_threshold, of_masses, of_total = (Fraction(part, 100) for part in parts)
        return cls((of_threshold, of_masses, of_total), Fraction(threshold), rise=Fraction(1, 20))

    def law(self, summary: Summary, share: Fraction) -> ScanThenNoisy:
        """Return the distribution of (clipping point, noisy clipped total)."""
        points = Points.spanning(summary)
        release_part = self.split[2]

        @cache
        def total_after(place: int) -> Noisy:
            point = self.point(place, points)
            clipped = (cell.clipped(points.cap(point, cell.key.quanta)) for cell in summary.cells)
            return Noisy((sum(clipped),), (self._noise(points, point, share * release_part, summary),))

        return ScanThenNoisy(self.scan(summary, points, share), total_after)

    def scan(self, summary: Summary, points: Points, share: Fraction) -> Scan:
        """Return the search for the first point that clips little enough budget mass."""
        threshold_part, mass_part, _ = self.split
        lattice = self._scan_lattice(summary, share)
        masses = [0] * (len(points.numerators) + 1)
        for cell in summary.cells:
            weight = cell.key.quanta // lattice * cell.count
            masses[points.first_reaching(cell.key.high, cell.key.quanta)] += weight
        for point in reversed(range(len(points.numerators))):
            masses[point] += masses[point + 1]
        step = summary.levels.quantum * lattice
        return Scan(
            masses=tuple(masses[1:]),  # a cell that point j reaches is clipped at points before j
            thresholds=tuple(
                int((self.threshold + self.rise * point) / share / step)
                for point in range(len(points.numerators))
            ),
            threshold_noise=DiscreteLaplace(1 / (share * threshold_part * step)),
            mass_noise=DiscreteLaplace(1 / (share * mass_part * step)),
        )

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        bits = max(0, min(_GRID_BITS, _VALUE_BITS - summary.largest.bit_length()))
        fine = summary.refined(bits)
        points = Points.spanning(fine)
        law = self.law(fine, share)
        step = Fraction(1, 1 << bits)
        return [
            Answer(
                total,
                step,
                law.then(place).noises,
                self._choices(points, self.point(place, points), fine, step),
            )
            for place, (total,) in law.draw(entropy, runs)
        ]

    def point(self, place: int, points: Points) -> int:
        """Return the point at which the total is clipped when the scan stopped at ``place``."""
        return min(place + self.beyond, len(points.numerators) - 1)

    def _noise(self, points: Points, point: int, share: Fraction, summary: Summary) -> DiscreteLaplace:
        per_quantum = Fraction(points.numerators[point], points.denominator)
        return DiscreteLaplace(per_quantum / summary.levels.quantum / share)

    def _scan_lattice(self, summary: Summary, share: Fraction) -> int:
        """Return the scan's lattice in quanta: the power of two that keeps its noise in range."""
        scale = 1 / (share * min(self.split[:2]) * summary.levels.quantum)
        return 1 << max(0, int(scale).bit_length() - self.scan_bits)

    def _choices(
        self, points: Points, point: int, summary: Summary, step: Fraction
    ) -> tuple[tuple[str, str], ...]:
        per_quantum = Fraction(points.numerators[point], points.denominator)
        most = float(per_quantum / summary.levels.quantum * step)
        return (("clipped at", f"{most:.6g} for each unit of budget"),)
