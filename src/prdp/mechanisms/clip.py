"""Proportional clipping: each record counts up to a multiple of its own budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial

from prdp.clipping import Clipping
from prdp.mechanisms._mechanism import Answer
from prdp.mechanisms._point import PointFinder, Points, RecordLadder, Tuning, evidence
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noisy
from prdp.summary import Summary

_FINEST_BITS = 20
_VALUE_BITS = 40


def finer_bits(summary: Summary) -> int:
    """Return how much finer than the values their sum's lattice is, so that small ones are not lost."""
    return max(0, min(_FINEST_BITS, _VALUE_BITS - summary.largest.bit_length()))


@dataclass(frozen=True, slots=True)
class Clip:
    """Clip every record at b times its budget, with b chosen by how little budget it clips.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Finding b costs (1 - a₂) · share · E(r). At the b that is found, r moves the clipped total by at most
        b · E(r), which noise of scale b / (a₂ · share) hides up to a₂ · share · E(r).
        In full: proofs/clip.md.
    """

    finder: PointFinder = field(default_factory=PointFinder)

    name = "clip"

    @classmethod
    def tuned(cls, share: Fraction) -> Clip:
        """Return the mechanism for a share."""
        return cls(PointFinder.tuned(share))

    def caveat(self, *, signed: bool) -> str:
        """Return what the noise is not all of."""
        return f"clipped records can {'move it either way' if signed else 'only pull it toward zero'}"

    def law(self, summary: Summary, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, noisy clipped total))."""
        return self.finder.law(RecordLadder(summary), share, self.totals(summary, share))

    def totals(self, summary: Summary, share: Fraction) -> Callable[[Tuning, int], Noisy]:
        """Return the noisy total as a function of the tuning and the place that was found."""
        return cache(partial(self.total, summary, share))

    def total(self, summary: Summary, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        """Return the noisy total of the records, clipped at the point of a place."""
        points = Points.spanning(summary, tuning.stride)
        total = sum(cell.clipped(points.cap(place, cell.key.quanta)) for cell in summary.cells)
        scale = points.per_quantum(place) / summary.levels.quantum / (share * tuning.answer)
        return Noisy((total,), (DiscreteLaplace(scale),))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        bits = finer_bits(summary)
        fine, step = summary.refined(bits), Fraction(1, 1 << bits)
        totals, clippings = self.totals(fine, share), cache(partial(self.clipping, fine, share))
        answers = []
        for which, (place, (total,)) in self.finder.law(RecordLadder(fine), share, totals).draw(
            entropy, runs
        ):
            tuning, clipping = self.finder.tunings[which][1], clippings(which, place)
            choices = (
                ("clipped at", f"{float(clipping.at * step):.6g} for each unit of budget"),
                ("share", self.finder.parts(tuning)),
            )
            answers.append(Answer(total, step, totals(tuning, place).noises, choices, clipping=clipping))
        return answers

    def clipping(self, summary: Summary, share: Fraction, which: int, place: int) -> Clipping:
        """Return what is known of what was clipped at a place, which tuning chose it included."""
        margin, tuning = self.finder.tunings[which]
        points = Points.spanning(summary, tuning.stride)
        at, most = (points.per_quantum(point) / summary.levels.quantum for point in (place, -1))
        weight = evidence(RecordLadder(summary), share, tuning)
        return Clipping(at, most, weight, tuning.fall, tuning.stride, blind=margin is None)
