"""The largest or smallest value: an eighth of an octave and a step near it, by the mass beyond them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from math import isqrt, lcm

from prdp.cells.columns import totals_at
from prdp.cells.summary import Summary
from prdp.concentrated import root_below
from prdp.levels import FINE_PER_OCTAVE
from prdp.mechanisms._axis import Steps, steps_between
from prdp.mechanisms._threshold import beyond
from prdp.noise.choice import ExponentialChoice
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Then
from prdp.release.raw_answer import Answer, Caveat, Knot, Overshoot

_EIGHTHS = 8
_WINDOW = 2 * _EIGHTHS
"""Number of eighths inward that are searched for a value again."""

_LEAST_WEIGHT = Fraction(1)
"""Minimum weight of a record for steps to be distinguished."""

_PART_BITS = 20

_RICH = 8
"""From which weight on, of every record, half of the share goes to steps."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Choose an eighth of an octave, then a step, by how little budget mass lies beyond; answer its far end.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Adding r raises the mass beyond each eighth, and beyond each step, by 0 or by E(r), so the weight
        exp(-part · share · mass) of every one of them, and their sum, fall by a factor of at most
        exp(part · share · E(r)); the two parts add up to 1.
        In full: proofs/choice.md. Under a concentrated policy, two exponential choices of twice the
        weight, and squares of the parts add up to 1: proofs/concentrated.md.

    Attributes:
        low: The least value that the public bounds allow, in steps.
        high: The greatest one.
        lowest: Whether the smallest value is asked for.
        per_octave: The number of magnitude cells in an octave.
        typical: For each octave, outward, a budget in the middle of those that the policy allows there;
            public. Empty where they are the same in all of them.
        fall: By how much the log-weight falls outward with each octave beyond zero, at least.
        inner: The same on the way to zero.
        steep: By how much the log-weight of steps falls with each octave, over the square root of the weight
            of a record of typical budget; less where one such record would not outweigh it.
        fine: The part of the share that chooses the step; half of it where every record weighs a lot. Under a
            concentrated policy, in that ratio to the rest.
        concentrated: Whether the share is the root of what is used of P(r), and budgets are e(r).
    """

    low: int
    high: int
    lowest: bool = False
    per_octave: int = FINE_PER_OCTAVE
    typical: tuple[Fraction, ...] = ()
    fall: Fraction = Fraction(5)
    inner: Fraction = Fraction(2)
    steep: Fraction = Fraction(12)
    fine: Fraction = Fraction(1, 5)
    concentrated: bool = False

    name = "choice"

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (the same for both)
        """Describe what the interval does not cover."""
        return Caveat(
            f"records with small budgets may lie {'below' if self.lowest else 'above'} it, "
            f"so the interval may have no {'lower' if self.lowest else 'upper'} limit"
        )

    def law(self, summary: Summary, share: Fraction) -> Then:
        """Return the distribution of (eighth, step of its window)."""
        return self._law(summary, self._width(share))

    def _width(self, share: Fraction) -> Fraction:
        """Return the width of log-ratios, in budgets, that a share affords.

        Of an exponential choice of a width c, what is used of P(r) is c² / 8, and c² / 2 may be.
        """
        return 2 * share if self.concentrated else share

    def _law(self, summary: Summary, share: Fraction) -> Then:
        prior, (coarse_part, fine_part) = self.prior(summary, share), self.parts(summary, share)
        cells = summary.valued().cells
        places = cells.by_magnitude(prior.steps.places.__getitem__)
        outside = beyond(totals_at(places, cells.masses(1), len(prior.steps.codes)))
        price = share * summary.levels.quantum
        lasts = (first - 1 for first in prior.steps.eighths[1:])

        def step(eighth: int) -> ExponentialChoice:
            first, last = prior.window(eighth)
            return _choice(prior.step_climbs(eighth), outside[first:last], fine_part * price)

        coarse = _choice(prior.climbs, [outside[place] for place in lasts], coarse_part * price)
        return Then(coarse, cache(step))

    def parts(self, summary: Summary, share: Fraction) -> tuple[Fraction, Fraction]:
        """Return the parts of the width that choose the eighth and the step, by public facts alone."""
        fine = Fraction(1, 2) if share * summary.levels.at_least >= _RICH else self.fine
        if not self.concentrated:
            return 1 - fine, fine
        whole = (1 - fine) ** 2 + fine**2
        return root_below((1 - fine) ** 2 / whole, _PART_BITS), root_below(fine**2 / whole, _PART_BITS)

    def prior(self, summary: Summary, share: Fraction) -> Prior:
        """Return the prior preferences, by public facts alone."""
        steps = steps_between(self.low, self.high, summary.largest, self.per_octave, lowest=self.lowest)
        coarse, fine = self.parts(summary, share)
        # One record, whatever its budget, outweighs half of all that there is to climb.
        seen = share * coarse * summary.levels.at_least / (2 * (len(steps.octaves) - 1))
        inner, outer = (max(fall, seen) / _EIGHTHS for fall in (self.inner, self.fall))
        beyond_zero = ((steps.codes[first] < 0) == self.lowest for first in steps.eighths[1:-1])
        climbs = accumulate((outer if beyond else inner for beyond in beyond_zero), initial=Fraction(0))
        levels = summary.levels
        typical = self.typical or (_root(levels.at_least * levels.at_most),) * (len(steps.octaves) - 1)
        weights = tuple(share * fine * budget for budget in typical)
        return Prior(steps, tuple(climbs), weights, self.steep)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        answer_at = cache(partial(_answer, self.prior(summary, self._width(share))))
        return [answer_at(eighth, place) for eighth, place in self.law(summary, share).draw(entropy, runs)]


@dataclass(frozen=True, slots=True)
class Prior:
    """Preferences before any draw: all of it public.

    Attributes:
        steps: The candidates.
        climbs: By how much the log-weight of each eighth of an octave has fallen.
        weights: For each octave, what a record of typical budget there weighs in the choice of a step.
        steep: By how much the log-weight of steps falls with each octave, over the root of such a weight.
    """

    steps: Steps
    climbs: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    steep: Fraction

    def window(self, eighth: int) -> tuple[int, int]:
        """Return the first step to choose from near an eighth, and the first one after them.

        It is the last step alone where budgets are too small for steps to be distinguished.
        """
        starts = self.steps.eighths
        if self._weight(eighth) < _LEAST_WEIGHT:
            return starts[eighth + 1] - 1, starts[eighth + 1]
        return starts[max(0, eighth + 1 - _WINDOW)], starts[eighth + 1]

    def step_climbs(self, eighth: int) -> list[Fraction]:
        """Return by how much the log-weight of each step of a window has fallen."""
        first, last = self.window(eighth)
        fall = _slope(self._weight(eighth), self.steep) / self.steps.per_octave
        return [fall * step for step in range(last - first)]

    def _weight(self, eighth: int) -> Fraction:
        return self.weights[bisect_right(self.steps.octaves, self.steps.eighths[eighth]) - 1]


def _answer(prior: Prior, eighth: int, place: int) -> Answer:
    """Return the answer for a step near an eighth."""
    steps, climbs = prior.steps, prior.step_climbs(eighth)
    first, last = prior.window(eighth)
    inside = [at - first for at in steps.octaves if first < at < first + place]
    knots = [Knot(climbs[place] - climbs[at], steps.near_end(first + at)) for at in (place, *inside[::-1], 0)]
    starts = steps.eighths
    octaves = [at for at in range(eighth) if starts[at] in steps.octaves]
    further = [
        Knot(prior.climbs[eighth] - prior.climbs[at], steps.near_end(starts[at]))
        for at in (eighth, *octaves[::-1])
    ]
    lowest_seen = max(0, eighth + 1 - _WINDOW)
    window = prior.climbs[eighth] - prior.climbs[lowest_seen] if last - first > 1 else Fraction(0)
    if lowest_seen == 0 and last - first > 1:  # no value is before the window
        window = max(window, climbs[place])
    over = Overshoot(tuple(knots), tuple(further), window, steps.lowest)
    return Answer(steps.far_end(first + place), Fraction(1), (), (), chosen=over)


def _choice(climbs: Sequence[Fraction], masses: Sequence[int], price: Fraction) -> ExponentialChoice:
    """Return the choice by what was climbed and by the masses beyond, at a price for each quantum of them.

    Penalties are whole multiples of the least common part.
    """
    parts = lcm(price.denominator, *{climb.denominator for climb in climbs})
    per_quantum = int(price * parts)
    penalties = (int(climb * parts) + per_quantum * mass for climb, mass in zip(climbs, masses, strict=True))
    return ExponentialChoice(tuple(penalties), Fraction(1, parts))


def _slope(weight: Fraction, steep: Fraction) -> Fraction:
    """Return by how much the log-weight of steps falls with each octave, for the weight of a record.

    The root balances what lies beyond with what is overshot, where several records are needed to climb. A
    single one is to outweigh an octave, if it can at all, and an eighth of its weight can be had for nothing.
    """
    alone = max(Fraction(20), weight * Fraction(7, 10))
    return max(min(steep * _root(weight), alone), weight / 8)


def _root(number: Fraction) -> Fraction:
    """Return the square root, rounded down to a multiple of 1/1024.

    >>> _root(Fraction(9, 4))
    Fraction(3, 2)
    """
    return Fraction(isqrt((number.numerator << 20) // number.denominator), 1 << 10)
