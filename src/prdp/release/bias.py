"""How far clipping or dropping can have pulled an answer, by what the private choice says about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from prdp.noise.spread import log
from prdp.release.beyond import Beyond

_QUARTERS = 4
_USUAL = Fraction(3, 4)  # of the failure rate, for the usual case in which all tiers are kept

Seen = Literal["last", "all", "never"]
"""Whether what was kept was chosen by the very noise in it: mostly all of it, anything, or not at all."""


@dataclass(frozen=True, slots=True)
class Tail:
    """A bound on the pull of clipping: Pr[pull > y] is at most exp(height - (y - spared) / scale).

    Attributes:
        height: The logarithm of the factor.
        scale: In steps.
        spared: What may have been clipped without any trace, in steps.
    """

    height: float
    scale: Fraction
    spared: Fraction


@dataclass(frozen=True, slots=True)
class Leader:
    """The point of another total of the same records, which the clipping point follows: proofs/following.md.

    Attributes:
        at: How many of its own steps a unit of budget may count for there.
        most: How many it could count for at most, by the public bounds.
        usual: How many at the last point for records within the bounds.
        points: The points that follow ``at`` and what is twice, four times, ... as high; last, ``most``.
    """

    at: Fraction
    most: Fraction
    usual: Fraction
    points: tuple[Fraction, ...]

    def ways(self, reach: Fraction) -> int:
        """Return how many numbers a reach may be: doublings up to as large as it is, or what bounds allow."""
        return 2 + min(math.ceil(math.log2(reach)), len(self.points) - 2) if reach > 1 else 1

    def reached(self, reach: Fraction) -> tuple[Fraction, Fraction]:
        """Return how many times the leader's point a reach is, and the point that follows that.

        It is the first doubling that is as large, or that what follows is so many times as high for.
        """
        first, *others = self.points[:-1] or self.points
        for octaves, point in enumerate((first, *others)):
            if reach <= 1 << octaves or point >= reach * first:
                return Fraction(1 << octaves), point
        return max(Fraction(1), self.most / self.at), self.points[-1]


@dataclass(frozen=True, slots=True)
class Clipping:
    """A clipping point with the law that it was chosen by; all of it public or released already.

    Attributes:
        at: How many steps a unit of budget may count for.
        most: How many it could count for at most, by the public bounds.
        evidence: By how much a point's log-weight falls with each unit of budget mass that it clips; 0 where
            the choice says nothing of what was clipped.
        fall: By how much it falls with each octave.
        stride: How far apart the points are, in quarters of an octave.
        blind: Whether the table may be too poor in budget for the choice to see it at all.
        below: Whether values below zero may have been clipped, which raises an answer.
        above: Whether values above zero may have been clipped, which lowers one.
        spans: How many spans of possible ratios the points are in.
        spared: The budget mass that a point may clip at no loss of weight, where groups chose it together.
        usual: How many steps a unit counts for at the last point for records within the public bounds.
        border: By how much the log-weight falls on the way from it to the next one.
        mixed: Whether there may be values of both signs, clipped or not.
        drawn: The points that values below and above zero found, each by its own draw, of which ``at`` is the
            larger; None where one draw was for both.
        measured: What was measured beyond the point; None where the choice alone tells of it.
        leader: The point of another total that this one follows, by whose choice all the others of these are;
            None where it was chosen itself. A reach is then one of the leader's.
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
    mixed: bool = False
    drawn: tuple[Fraction, Fraction] | None = None
    measured: Beyond | None = None
    leader: Leader | None = None

    @property
    def nothing(self) -> bool:
        """Whether nothing can have been clipped: the point is the highest that the bounds allow."""
        return self.at >= self.most

    @property
    def too_poor(self) -> bool:
        """Whether it cannot be told how much was clipped."""
        return self.blind and not self.nothing

    def needs(self, reach: Fraction) -> bool:
        """Say whether an interval needs the condition that no record counts for more than ``reach`` times."""
        if self.blind or self.nothing:
            return False
        sides = zip(self.reached(reach), (self.below, self.above), strict=True)
        return any(end < self.most for end, pulled in sides if pulled)

    def limited(self, reach: Fraction) -> Fraction:
        """Return the reach, or what the bounds allow where that is less."""
        if self.leader is not None:
            return self.leader.reached(reach)[1] / self.at
        return min(reach, self.most / self.at)

    def reached(self, reach: Fraction) -> tuple[Fraction, Fraction]:
        """Return up to how many steps a unit of budget is taken to count for, below and above zero."""
        if self.leader is not None:
            end = self.at * self.limited(reach)
            return end, end
        below, above = (max(self.at, reach * point) for point in self.drawn or (self.at, self.at))
        return below, above

    def pulled(self, reach: Fraction) -> tuple[bool, bool]:
        """Return whether values below and above zero that reach no further can have been clipped."""
        below, above = (end > self.at for end in self.reached(reach))
        return self.below and below, self.above and above

    def tail(self, reach: Fraction, point: Fraction | None = None) -> Tail | None:
        """Return how the pull of clipping is distributed at worst; None where the choice does not say.

        ``point`` is the one that a side found, where that is not the one that clips. Records that would count
        for more than ``reach`` times what they were allowed to are left aside: proofs/clip.md.

        >>> one = Fraction(1)
        >>> point = Clipping(at=8 * one, most=800 * one, evidence=one, fall=one, stride=4, blind=False)
        >>> point.tail(Fraction(2)).scale  # a unit of mass can lose 8 steps, and is seen with weight 1
        Fraction(8, 1)
        """
        if self.evidence == 0:
            return None
        if self.leader is not None:
            return self._followed(self.leader, reach)
        found = self.at if point is None else point
        topped = reach * found >= self.most
        reach = self.most / found if topped else reach
        apart = Fraction(self.stride, _QUARTERS)
        octaves = math.log2(reach.numerator) - math.log2(reach.denominator)
        steps = math.ceil(octaves / apart) + (self.spans > 1)
        room = reach * found - self.at
        crossed = self.border if found <= self.usual < reach * found else 0
        climb = float(self.fall * apart * steps * (2 if topped else 1) + crossed)
        height = climb - math.log(-math.expm1(-self.fall * apart))
        return Tail(height, room / self.evidence, room * self.spared)

    def _followed(self, leader: Leader, reach: Fraction) -> Tail | None:
        """Return the tail by what the leader's choice says: the same mass was clipped, at another price."""
        own = replace(self, at=leader.at, most=leader.most, usual=leader.usual, leader=None)
        ways = leader.ways(reach)
        reach, end = leader.reached(reach)
        tail, room = own.tail(reach), end - self.at
        if tail is None:
            return None
        return Tail(tail.height + math.log(ways), room / self.evidence, room * self.spared)

    def pull(self, chance: Fraction, reach: Fraction, point: Fraction | None = None) -> Fraction | None:
        """Return how far, in steps, clipping has pulled the answer at most, but for ``chance``.

        Of records that ``tail`` does not leave aside. None stands for any distance.

        >>> one = Fraction(1)
        >>> point = Clipping(at=8 * one, most=8 * one, evidence=one, fall=one, stride=1, blind=False)
        >>> point.pull(Fraction(1, 20), reach=Fraction(8))  # the bounds allow no more than the clipping point
        Fraction(0, 1)
        """
        if self.nothing or reach <= 1 or (point is not None and reach * point <= self.at):
            return Fraction(0)
        tail = None if self.blind else self.tail(reach, point)
        if tail is None:
            return None
        return tail.spared + tail.scale * Fraction(tail.height + log(1 / chance))


@dataclass(frozen=True, slots=True)
class Dropped:
    """Tiers or domains whose noisy totals were too small to keep; all of it public or released already.

    Attributes:
        thresholds: What their noisy totals were below, in steps, added up.
        scales: The scales of their noises, added up.
        tiers: How many might have been dropped.
        below: Whether there may be values below zero.
        above: Whether there may be values above zero.
        seen: Whether the noise in the answer was seen before it was decided what to keep.
        unknown: Whether what was dropped may add up to anything.
        at: How many steps a unit of budget counts for at most in what was kept; None where that is not said.
    """

    thresholds: int
    scales: Fraction
    tiers: int
    below: bool = False
    above: bool = True
    seen: Seen = "last"
    unknown: bool = False
    at: Fraction | None = None

    @property
    def nothing(self) -> bool:
        """Whether nothing was dropped."""
        return self.scales == 0 and not self.unknown

    @property
    def too_poor(self) -> bool:
        """Say no: where it cannot be told how much was dropped, that is the method's doing."""
        return False

    def needs(self, reach: Fraction) -> bool:  # noqa: ARG002  (the same for all)
        """Say that an interval needs no condition."""
        return False

    def failures(self, failure: Fraction, reach: Fraction) -> tuple[Fraction, Fraction]:
        """Return what parts of an interval's failures noise and pull may use.

        Where the noise is seen before it is decided what to keep, each number of tiers has a part of its own
        (proofs/tiers.md, proofs/partition.md). With ``last``, all tiers have three quarters, the other
        numbers one quarter together; with ``all``, the numbers share three quarters evenly.

        >>> Dropped(thresholds=0, scales=Fraction(0), tiers=3).failures(Fraction(1, 20), reach=Fraction(1))
        (Fraction(1, 20), Fraction(1, 20))
        >>> Dropped(thresholds=9, scales=Fraction(2), tiers=5).failures(Fraction(1, 5), reach=Fraction(8))
        (Fraction(1, 100), Fraction(1, 20))
        """
        if reach <= 1 or self.tiers == 0 or self.seen == "never":
            return failure, failure
        rest = failure * (1 - _USUAL)
        if self.seen == "all":
            return failure * _USUAL / (self.tiers + 1), rest
        if self.scales == 0:
            return failure * _USUAL, failure * _USUAL
        return rest / self.tiers, rest

    def pull(self, chance: Fraction, reach: Fraction) -> Fraction | None:
        """Return how far, in steps, dropping has pulled the answer at most, but for ``chance``.

        Each tier's total is below its threshold, unless its noise hid more (proofs/tiers.md). A ``reach`` of
        1 stands for the interval of the noise alone. None stands for any distance.
        """
        if reach <= 1 or self.nothing:
            return Fraction(0)
        if self.unknown:
            return None
        return self.thresholds + self.scales * Fraction(log(self.tiers / chance))
