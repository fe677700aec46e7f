"""Count different keys: each counts up to a multiple of the sum of its records' budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial

from prdp.cells.summary import KeySummary, key_edges
from prdp.mechanisms._threshold import BEYOND_BOUNDS, PointFinder, Tuning, evidence
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noisy
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Answer, Caveat

_OCTAVE = 4  # edges of keys are a quarter of an octave apart, as clipping points are
_SEEN = Fraction(41, 100)
"""The least part of a key's budget that the mass of an edge sees, if the key counts in part: √2 - 1."""
_FINEST = 1 << 20  # more bits than any scale has: the lattice is one quantum


@dataclass(frozen=True, slots=True)
class KeyCandidates:
    """The candidates of a key summary: the edges, descending, whose half is an edge too.

    The mass of an edge c is 2·A(c/2) - A(c), where A(c) is the total of the keys' sums clipped at c: a key
    counts with its whole sum S up to c/2, with c - S from there to c, and not at all beyond. Adding a
    record moves it by at most the record's quanta, either way.
    """

    summary: KeySummary
    max_decrease: int = 2

    @property
    def quantum(self) -> Fraction:
        """The rounding step of masses: that of the levels."""
        return self.summary.levels.quantum

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records."""
        _only_whole(lattice)
        return self.summary.mass

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:
        """Return the mass that each point clips."""
        _only_whole(lattice)
        clipped = self.summary.clipped()
        return tuple(2 * clipped[edge - _OCTAVE] - clipped[edge] for edge in self.edges(stride))

    def heights(self, stride: int) -> tuple[int, ...]:
        """Return the height of each point."""
        return tuple(stride * place for place in range(len(self.edges(stride))))

    def usual(self, stride: int) -> int:
        """Return the number of points for keys of records within the public bounds."""
        levels = self.summary.levels
        edges, least = key_edges(levels), levels.quanta(levels.usual)
        return sum(1 for edge in self.edges(stride)[:-1] if edges[edge] > least) + 1

    def edges(self, stride: int) -> range:
        """Return the places of the points among the edges."""
        return range(len(key_edges(self.summary.levels)) - 1, _OCTAVE - 1, -stride)


def _only_whole(lattice: int) -> None:
    if lattice != 1:
        raise ValueError("a key's budgets are added up exactly, so masses have no coarser lattice")


@dataclass(frozen=True, slots=True)
class DistinctKeys:
    """Count every key up to the sum of its records' budgets over c, with c found by a private search.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Finding c costs (1 - a₂) · share · E(r). A record adds to the sum of one key, so it moves the total
        of the sums, each clipped at c, by at most E(r), which noise of scale 1 / (a₂ · share) hides up to
        a₂ · share · E(r). Dividing by c is free.
        In full: proofs/distinct.md.
    """

    finder: PointFinder = field(default_factory=lambda: _exact(PointFinder()))

    name = "distinct"

    @classmethod
    def tuned(cls, share: Fraction) -> DistinctKeys:
        """Return the mechanism for a share."""
        return cls(_exact(PointFinder.tuned(share)))

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (keys have no sign)
        """Describe what the interval does not cover."""
        return Caveat("keys of few or strongly protected records count only in part, which", "toward zero")

    def law(self, summary: KeySummary, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, noisy clipped total))."""
        return self.finder.law(KeyCandidates(summary), share, self.totals(summary, share))

    def totals(self, summary: KeySummary, share: Fraction) -> Callable[[Tuning, int], Noisy]:
        """Return the noisy total as a function of the tuning and the place that was found."""
        return cache(partial(self.total, summary, share))

    def total(self, summary: KeySummary, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        """Return the noisy total of the keys' sums, clipped at the edge that belongs to a place."""
        total = summary.clipped_at(_edge(summary, tuning, place))
        scale = 1 / (share * tuning.answer * summary.levels.quantum)
        return Noisy((total,), (DiscreteLaplace(scale),))

    def answers(self, summary: KeySummary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        totals = self.totals(summary, share)
        edges = key_edges(summary.levels)
        answers = []
        for which, (place, (total,)) in self.finder.law(KeyCandidates(summary), share, totals).draw(
            entropy, runs
        ):
            tuning = self.finder.tunings[which][1]
            whole = edges[_edge(summary, tuning, place)]
            budget = float(whole * summary.levels.quantum)
            choices = (("a key counts fully", f"from a budget of {budget:.6g} on, of its records together"),)
            noises = totals(tuning, place).noises
            clipping = self.clipping(summary, share, which, place)
            answers.append(Answer(total, Fraction(1, whole), noises, choices, clipping=clipping))
        return answers

    def clipping(self, summary: KeySummary, share: Fraction, which: int, place: int) -> Clipping:
        """Return the known facts about keys that count in part; of the summary it uses public facts alone.

        A unit of budget counts for as many steps as it has quanta. ``tail_factor`` is the full
        count over the least sum of budgets of a key.
        """
        margin, tuning = self.finder.tunings[which]
        candidates, edges, levels = KeyCandidates(summary), key_edges(summary.levels), summary.levels
        points = candidates.edges(tuning.stride)
        usual = candidates.usual(tuning.stride)
        at, edge = 1 / levels.quantum, _edge(summary, tuning, place)
        whole = edges[edge]
        unseen = edge == points[place] and whole > levels.quanta(0)  # it goes no further than what was chosen
        return Clipping(
            at=at,
            most=at * max(Fraction(1), Fraction(whole, levels.quanta(0))),
            evidence=evidence(candidates, share, tuning) * _SEEN,
            fall=tuning.fall,
            stride=tuning.stride,
            blind=margin is None or unseen,
            spans=2,  # one step more: what counts fully lies half an octave beyond what was chosen
            usual=at * Fraction(whole, edges[points[usual - 1]]),
            border=BEYOND_BOUNDS if usual < len(points) else 0,
        )


def _exact(finder: PointFinder) -> PointFinder:
    """Return the finder with the lattice that sums of budgets need."""
    return replace(finder, gate_bits=_FINEST)


def _edge(summary: KeySummary, tuning: Tuning, place: int) -> int:
    """Return the edge to clip at: half an octave beyond the place that was chosen.

    The mass of an edge hardly sees the keys just below it, so the choice stops that much early.
    """
    edges = KeyCandidates(summary).edges(tuning.stride)
    half_an_octave = _OCTAVE // 2 // tuning.stride
    return edges[min(place + half_an_octave, len(edges) - 1)]
