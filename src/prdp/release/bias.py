"""Bound the bias of clipping, from what the private choice says about what it clipped or dropped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from prdp.noise.spread import log

_QUARTERS = 4
_ALL_KEPT = Fraction(3, 4)  # of the failure rate, for the usual case in which all tiers are kept


@dataclass(frozen=True, slots=True)
class Clipping:
    """A clipping point with the law that it was chosen by; all of it public or released already.

    Attributes:
        at: How many steps a unit of budget may count for.
        most: How many it could count for at most, by the public bounds.
        evidence: By how much a point's log-weight falls with each unit of budget mass that it clips.
        fall: By how much it falls with each octave.
        stride: How far apart the points are, in quarters of an octave.
        blind: Whether the table may be too poor in budget for the choice to see it at all.
        below: Whether there may be values below zero, so that clipping can raise an answer.
        above: Whether there may be values above zero, so that it can lower one.
        spans: How many spans of possible ratios the points are in.
        spared: The budget mass that a point may clip at no loss of weight, where groups chose it together.
        usual: How many steps a unit counts for at the last point for records within the public bounds.
        border: By how much the log-weight falls on the way from it to the next one.
    """

    at: Fraction
    most: Fraction
    evidence: Fraction
    fall: Fraction
    stride: int
    blind: bool
    below: bool = False
    above: bool = True
    spans: int = 1
    spared: Fraction = Fraction(0)
    usual: Fraction = Fraction(0)
    border: int = 0

    def failures(self, failure: Fraction, reach: Fraction) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """Return what parts of an interval's failures noise and pull may use: all, as noise is drawn last."""
        return failure, failure

    def pull(self, chance: Fraction, reach: Fraction) -> Fraction | None:
        """Return how far, in steps, clipping has pulled the answer at most, but for ``chance``.

        It holds where no record would count for more than ``reach`` times what it was allowed to:
        proofs/clip.md. None stands for any distance.

        >>> one = Fraction(1)
        >>> point = Clipping(at=8 * one, most=8 * one, evidence=one, fall=one, stride=1, blind=False)
        >>> point.pull(Fraction(1, 20), reach=Fraction(8))  # the bounds allow no more than the clipping point
        Fraction(0, 1)
        """
        reach = min(reach, self.most / self.at)  # no record can count for more than the bounds allow
        room = reach * self.at - self.at
        if room <= 0:
            return Fraction(0)
        if self.blind:
            return None
        apart = Fraction(self.stride, _QUARTERS)
        octaves = math.log2(reach.numerator) - math.log2(reach.denominator)
        steps = math.ceil(octaves / apart) + (self.spans > 1)
        rest = log(1 / chance) - math.log(-math.expm1(-self.fall * apart))
        crossed = self.border if self.at <= self.usual < reach * self.at else 0
        mass = (self.fall * apart * steps + crossed + Fraction(rest)) / self.evidence + self.spared
        return mass * room


@dataclass(frozen=True, slots=True)
class Dropped:
    """Tiers whose noisy totals were too small to keep; all of it public or released already.

    Attributes:
        thresholds: What their noisy totals were below, in steps, added up.
        scales: The scales of their noises, added up.
        tiers: How many tiers might have been dropped.
        below: Whether there may be values below zero.
        above: Whether there may be values above zero.
    """

    thresholds: int
    scales: Fraction
    tiers: int
    below: bool = False
    above: bool = True

    def failures(self, failure: Fraction, reach: Fraction) -> tuple[Fraction, Fraction]:
        """Return what parts of an interval's failures noise and pull may use.

        The noise is seen before it is decided how many tiers to keep. So each number of them has a part of
        its own: all tiers three quarters, the other numbers one quarter together (proofs/tiers.md).

        >>> Dropped(thresholds=0, scales=Fraction(0), tiers=3).failures(Fraction(1, 20), reach=Fraction(1))
        (Fraction(1, 20), Fraction(1, 20))
        >>> Dropped(thresholds=9, scales=Fraction(2), tiers=5).failures(Fraction(1, 5), reach=Fraction(8))
        (Fraction(1, 100), Fraction(1, 20))
        """
        if reach <= 1 or self.tiers == 0:
            return failure, failure
        if self.scales == 0:
            return failure * _ALL_KEPT, failure * _ALL_KEPT
        rest = failure * (1 - _ALL_KEPT)
        return rest / self.tiers, rest

    def pull(self, chance: Fraction, reach: Fraction) -> Fraction:
        """Return how far, in steps, dropping has pulled the answer at most, but for ``chance``.

        Each tier's total is below its threshold, unless its noise hid more (proofs/tiers.md). A ``reach`` of
        1 stands for the interval of the noise alone.
        """
        if reach <= 1 or self.scales == 0:
            return Fraction(0)
        return self.thresholds + self.scales * Fraction(log(self.tiers / chance))
