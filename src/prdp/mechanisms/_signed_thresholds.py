"""Choose a clipping point for values above zero and one for values below, where a table affords both.

A record has one sign, so that it pays for one of the two choices only. In full: proofs/clip.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from prdp.cells.summary import Summary
from prdp.mechanisms._threshold import PointFinder, RecordCandidates, Tuning
from prdp.noise.laws import Gated, Law, Lazily, Then

SEEN = 25
"""The margin by which each sign's own mass must outweigh the climb, for its point to be found alone."""

_RESERVE = Fraction(5, 6)
"""How many scales of one gate's noise are taken off the sum of two: 2(√2 - 1)."""


@dataclass(frozen=True, slots=True)
class BothReaching:
    """The first tuning that two noisy masses reach together; the same one apart, if each is large enough.

    Attributes:
        together: What both masses together must reach for each tuning but the last.
        apart: What each of them must reach for its own choice.
        reserve: What is taken off their sum, whose noise is that of two.
    """

    together: tuple[int, ...]
    apart: tuple[int, ...]
    reserve: int

    def __call__(self, values: tuple[int, ...], /) -> int:
        """Return the tuning's place, or that plus the number of tunings for two choices.

        >>> rule = BothReaching(together=(10, 5), apart=(4, 3), reserve=1)
        >>> rule((9, 2)), rule((5, 6)), rule((1, 1))  # one choice, two choices, neither mass is seen
        (0, 3, 2)
        """
        both = sum(values) - self.reserve
        which = next((place for place, least in enumerate(self.together) if both >= least), None)
        if which is None:
            return len(self.together)
        return which + (len(self.together) + 1 if min(values) >= self.apart[which] else 0)


@dataclass(frozen=True, slots=True)
class SideFinder:
    """Find the clipping point of a sum of both signs: by one choice, or as the larger of two.

    Guarantee:
        With what follows at the part ``answer`` of the share, the whole is (share · E(r))-private.

    Why:
        Values above and below zero are two disjoint sets of records. Adding r moves one of the two noisy
        masses, and one of the two choices: its own sign's. In full: proofs/clip.md.

    Attributes:
        finder: How a point is found.
    """

    finder: PointFinder

    def law(self, summary: Summary, share: Fraction, answer: Callable[[Tuning, int], Law]) -> Gated:
        """Return the distribution of (which tuning, (place, answer)).

        With two choices, which is higher by the number of tunings, and what follows it is (place above zero,
        (place below zero, the answer at the higher one)).
        """
        finder, whole = self.finder, RecordCandidates(summary)
        below, above = (RecordCandidates(side) for side in sides(summary))
        gate = finder.measured([below, above], share)

        def rest(which: int) -> Then:
            tuning = finder.tunings[which % len(finder.tunings)][1]
            if which < len(finder.tunings):
                return Then(finder.drawn(whole, share, tuning), lambda place: answer(tuning, place))
            other = finder.drawn(below, share, tuning)
            return Then(
                finder.drawn(above, share, tuning),
                lambda high: Then(other, lambda low: answer(tuning, max(low, high))),
            )

        return Gated(
            first=gate,
            rule=BothReaching(
                together=finder.reached(whole, share),
                apart=finder.reached(whole, share, SEEN),
                reserve=ceil(_RESERVE * gate.noises[0].scale),
            ),
            laws=Lazily(2 * len(finder.tunings) - 1, rest),
        )


def sides(summary: Summary) -> tuple[Summary, Summary]:
    """Return the records below zero, and those above."""
    sign = summary.cells.sign
    below, above = (replace(summary, cells=summary.cells.where(sign == one)) for one in (-1, 1))
    return below, above
