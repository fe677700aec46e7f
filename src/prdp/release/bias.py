"""Bias by clipping or dropping: how far it can have pulled an answer, and which tail an interval excludes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from prdp.noise.spread import log
from prdp.release.excluded_tail import OCTAVES, ExcludedTail
from prdp.release.interval import (
    ErrorBounds,
    Scales,
    Tail,
    TailFactor,
    noise_alone,
    noise_and_pull,
    noise_spread,
    one_way_spread,
    opened,
)

_TAIL_FACTOR = Fraction(OCTAVES[-1] + 1)
"""Tail factor of answers for which none was selected."""

_TIER_FACTOR = Fraction(2)
"""The same of the last tier that was kept, as nothing of its tail is measured: proofs/clipped_tiers.md."""

_NOISE, _PULL = Fraction(7, 10), Fraction(3, 10)
"""Shares of the failures for noise alone, wherever the point is, and for what the choice says of the pull."""
_NEAR = Fraction(1, 5)
"""Share of the side that is not pulled from, where the sum beyond the point was measured, or of tiers."""
_CLEAR = Fraction(1, 4)
"""The same where the choice tells of the pull; the rest of ``_NOISE`` is for the noise on the other side."""

_APART = Fraction(3, 10)
"""Share for what is added up, where what was kept was chosen by the noise, for the outcome that all was."""

ABOVE_KEPT = Fraction(5, 4)
"""Multiple of the highest ratio of a tier that was kept, above which records are reported as dropped.

It is more than what budgets and values are rounded by, so that no record of that tier is named. The next tier
begins at 4 times the ratio."""

_LAST = Fraction(3, 4)
"""Share of a tier's failures on the pulled side for its being the last one that was kept; the
rest are for its being below that, and for its being dropped."""

_QUARTERS = 4
_USUAL = Fraction(3, 4)  # of the failure rate, for the usual case in which all tiers are kept

Seen = Literal["last", "all", "never"]
"""Way in which the noise chose what was kept: mostly all of it, anything, or not at all."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The point of another total of the same records, which the clipping point follows: proofs/following.md.

    Attributes:
        at: How many of its own steps a unit of budget may count for there.
        most: How many it could count for at most, by the public bounds.
        usual: How many at the last point for records within the bounds.
        points: The points that follow ``at`` and what is twice, four times, ... as high; last, ``most``.
        end: The point that follows the selected tail factor times ``at``; None where none was selected.
    """

    at: Fraction
    most: Fraction
    usual: Fraction
    points: tuple[Fraction, ...]
    end: Fraction | None = None

    def ways(self, tail_factor: Fraction) -> int:
        """Return how many numbers a reach may be: doublings up to as large as it is, or what bounds allow."""
        return 2 + min(math.ceil(math.log2(tail_factor)), len(self.points) - 2) if tail_factor > 1 else 1

    def reached(self, tail_factor: Fraction) -> tuple[Fraction, Fraction]:
        """Return how many times the leader's point a reach is, and the point that follows that.

        It is the first doubling that is as large, or that what follows is so many times as high for.
        """
        first, *others = self.points[:-1] or self.points
        for octaves, point in enumerate((first, *others)):
            if tail_factor <= 1 << octaves or point >= tail_factor * first:
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
        blind: Whether the table may be too short of budget for the choice to see it at all.
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
        selected: The tail factors below and above zero that were selected by what was drawn; None where none
            was.
        menu: From how many tail factors they were selected: the claim holds for all of them at once.
        failed: Whether what was drawn after the point says that the choice stopped far below the records.
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
    measured: ExcludedTail | None = None
    leader: Leader | None = None
    selected: tuple[Fraction, Fraction] | None = None
    menu: int = 1
    failed: bool = False

    @property
    def unseen(self) -> bool:
        """True if the choice of the point may not have seen the records at all."""
        return self.blind or self.failed

    @property
    def selects(self) -> bool:
        """True if the tail factor was selected by what was measured."""
        return self.selected is not None

    @property
    def chosen(self) -> bool:
        """True if the interval may fail by the choice of the point: known before that is drawn."""
        return self.evidence != 0 and not self.blind

    @property
    def noise_part(self) -> Fraction:
        """Share of the failures for noise, wherever the point is."""
        return _NOISE if self.chosen else Fraction(1)

    @property
    def noise_seen(self) -> bool:
        """Return False: the noise in the answer was drawn after the point."""
        return False

    def factors(self, tail_factor: TailFactor) -> tuple[Fraction, Fraction]:
        """Return the tail factors below and above zero: those selected, unless another was asked for."""
        if tail_factor is not None:
            return tail_factor, tail_factor
        return self.selected or (_TAIL_FACTOR, _TAIL_FACTOR)

    @property
    def one_sided(self) -> bool:
        """True if there may be values of both signs, and those of one alone were clipped."""
        return self.mixed and self.below != self.above

    @property
    def drops(self) -> bool:
        """Return False: records are clipped."""
        return False

    @property
    def nothing(self) -> bool:
        """True if nothing can have been clipped: the point is the highest that the bounds allow."""
        return self.at >= self.most

    @property
    def insufficient_budget(self) -> bool:
        """True if the clipped amount is unknown."""
        return self.unseen and not self.nothing

    def excludes(self, tail_factor: TailFactor) -> tuple[Fraction, Fraction] | None:
        """Return beyond how many steps for a unit of budget an interval excludes records, if anywhere."""
        if self.unseen or self.nothing:
            return None
        ends = self.reached(tail_factor)
        sides = zip(ends, (self.below, self.above), strict=True)
        return ends if any(end < self.most for end, pulled in sides if pulled) else None

    def pulling(
        self, *, below: bool, above: bool, most: tuple[Fraction | None, Fraction | None] = (None, None)
    ) -> Clipping:
        """Return the same for values of known signs; a side whose values lie within the point is left."""
        ends = zip((below, above), most, strict=True)
        low, high = (there and (end is None or self.at < end) for there, end in ends)
        if not low and not high:
            low, high = below, above  # no record that is possible: say nothing of it
        return replace(self, below=low, above=high, mixed=below and above)

    def limited(self, tail_factor: TailFactor) -> Fraction:
        """Return the tail factor on the side of values, or what the bounds allow where that is less."""
        return self.reached(tail_factor)[1 if self.above else 0] / self.at

    def reached(self, tail_factor: TailFactor) -> tuple[Fraction, Fraction]:
        """Return up to how many steps a unit of budget is taken to count for, below and above zero."""
        if self.leader is not None:
            end = self._led(self.leader, tail_factor)[1]
            return end, end
        factors, points = self.factors(tail_factor), self.drawn or (self.at, self.at)
        below, above = (
            max(self.at, min(factor * point, self.most))
            for factor, point in zip(factors, points, strict=True)
        )
        return below, above

    def _led(self, leader: Leader, tail_factor: TailFactor) -> tuple[Fraction, Fraction]:
        """Return the leader's tail factor, and the point that follows it."""
        if tail_factor is None and leader.end is not None:
            return self.factors(None)[1], leader.end
        return leader.reached(self.factors(tail_factor)[1])

    def ways(self, tail_factor: TailFactor) -> int:
        """Return for how many tail factors the claim must hold at once: for all to select from."""
        if self.leader is not None and (tail_factor is not None or self.leader.end is None):
            return self.leader.ways(self.factors(tail_factor)[1])
        return self.menu if tail_factor is None else 1

    def pulled(self, tail_factor: TailFactor) -> tuple[bool, bool]:
        """Return whether values below and above zero that reach no further can have been clipped."""
        below, above = (end > self.at for end in self.reached(tail_factor))
        return self.below and below, self.above and above

    def tail(self, tail_factor: TailFactor, point: Fraction | None = None) -> Tail | None:
        """Return how the pull of clipping is distributed at worst; None where the choice does not say.

        ``point`` is the one that a side found, where that is not the one that clips. Records that would count
        for more than ``tail_factor`` times what they were allowed to are excluded: proofs/clip.md.

        >>> one = Fraction(1)
        >>> point = Clipping(at=8 * one, most=800 * one, evidence=one, fall=one, stride=4, blind=False)
        >>> point.tail(Fraction(2)).scale  # a unit of mass can lose 8 steps, and is seen with weight 1
        Fraction(8, 1)
        """
        if self.evidence == 0:
            return None
        if self.leader is not None:
            return self._followed(self.leader, tail_factor)
        tail_factor = self.factors(tail_factor)[1]
        found = self.at if point is None else point
        topped = tail_factor * found >= self.most
        tail_factor = self.most / found if topped else tail_factor
        apart = Fraction(self.stride, _QUARTERS)
        octaves = math.log2(tail_factor.numerator) - math.log2(tail_factor.denominator)
        steps = math.ceil(octaves / apart) + (self.spans > 1)
        room = tail_factor * found - self.at
        crossed = self.border if found <= self.usual < tail_factor * found else 0
        climb = float(self.fall * apart * steps * (2 if topped else 1) + crossed)
        height = climb - math.log(-math.expm1(-self.fall * apart))
        return Tail(height, room / self.evidence, room * self.spared)

    def _followed(self, leader: Leader, tail_factor: TailFactor) -> Tail | None:
        """Return the tail by what the leader's choice says: the same mass was clipped, at another price."""
        own = replace(self, at=leader.at, most=leader.most, usual=leader.usual, leader=None)
        factor, end = self._led(leader, tail_factor)
        tail, room = own.tail(factor), end - self.at
        if tail is None:
            return None
        return Tail(tail.height, room / self.evidence, room * self.spared)

    def pull(
        self, chance: Fraction, tail_factor: TailFactor, point: Fraction | None = None
    ) -> Fraction | None:
        """Return how far, in steps, clipping has pulled the answer at most, but for ``chance``.

        Of records that ``tail`` does not exclude. None represents any distance.

        >>> one = Fraction(1)
        >>> point = Clipping(at=8 * one, most=8 * one, evidence=one, fall=one, stride=1, blind=False)
        >>> point.pull(Fraction(1, 20), tail_factor=Fraction(8))  # the bounds allow no more
        Fraction(0, 1)
        """
        most = max(self.factors(tail_factor))
        if self.nothing or most <= 1 or (point is not None and most * point <= self.at):
            return Fraction(0)
        tail = None if self.unseen else self.tail(tail_factor, point)
        if tail is None:
            return None
        return tail.spared + tail.scale * Fraction(tail.height + log(self.ways(tail_factor) / chance))

    @property
    def sign(self) -> int:
        """The sign that the truth has, unless it is zero; 0 for any."""
        return 0 if self.mixed else _sign(self.below, self.above)

    def error_bounds(self, scales: Scales, failure: Fraction, tail_factor: TailFactor) -> ErrorBounds:
        """Return the error bounds where one point clipped all records, or one of each sign.

        What noise alone may fail by is the same wherever the point is: where nothing is clipped, it has no
        more, since elsewhere the pull may have used up the rest (proofs/clip.md).
        """
        if max(self.factors(tail_factor)) <= 1:
            return noise_alone(scales, failure)
        below, above = self.pulled(tail_factor)
        if self.nothing or (not below and not above):
            return noise_alone(scales, failure * self.noise_part)
        if self.blind or (self.measured is not None and self.measured.many):
            return opened(noise_alone(scales, failure), self, tail_factor)
        if self.measured is not None:
            return self._by_measure(scales, self.measured, failure, tail_factor)
        return self._by_choice(scales, failure, tail_factor)

    def _by_measure(
        self, scales: Scales, measured: ExcludedTail, failure: Fraction, tail_factor: TailFactor
    ) -> ErrorBounds:
        """Return the bounds where the sum beyond the clipping point was measured: proofs/warm_clip.md."""
        below, above = self.pulled(tail_factor)
        both = below and above
        near, far = (failure / 2, failure / 2) if both else (failure * _NEAR, failure * (1 - _NEAR))

        def end(side: int) -> Fraction:
            bounds = measured.pulls(side, self.limited(tail_factor))
            ends = (
                bound.steps + bound.room + one_way_spread((*scales, *bound.scales), far) for bound in bounds
            )
            return max(Fraction(0), *ends)

        noise = Fraction(one_way_spread(scales, near))
        return ErrorBounds(end(0) if below else noise, end(1) if above else noise)

    def _by_choice(self, scales: Scales, failure: Fraction, tail_factor: TailFactor) -> ErrorBounds:
        """Return the bounds that the choice of the point gives: proofs/clip.md.

        Noise beyond its own bound is one failure, a pull too long for any smaller noise another. Where no
        noise is beyond its bound, the answer's size bounds the truth as well.
        """
        pulled = self.pulled(tail_factor)
        if self.mixed or (self.below and self.above):  # signs may cancel: the answer's size says nothing
            noise = one_way_spread(scales, failure * _NOISE / 2)
            low, high = (
                self._far_end(scales, side, noise, failure * _PULL / 2, tail_factor)
                if there
                else Fraction(noise)
                for side, there in enumerate(pulled)
            )
            return ErrorBounds(low, high)
        near = Fraction(one_way_spread(scales, failure * _CLEAR))
        if self.failed:
            return opened(ErrorBounds(near, near), self, tail_factor)
        noise = one_way_spread(scales, failure * (_NOISE - _CLEAR))
        far = self._far_end(scales, int(self.above), noise, failure * _PULL, tail_factor)
        times = self.limited(tail_factor)
        if self.above:
            return ErrorBounds(near, far, times, up=noise)
        return ErrorBounds(far, near, times, down=noise)

    def _far_end(
        self, scales: Scales, side: int, noise: int, failure: Fraction, tail_factor: TailFactor
    ) -> Fraction | None:
        """Return how far noise within its bound and the pull of one side's values go together."""
        tail = None if self.failed else self.side_tail(side, tail_factor)
        ways = self.ways(tail_factor)
        return None if tail is None else noise_and_pull(scales, tail, failure / ways, within=noise)

    def side_tail(self, side: int, tail_factor: TailFactor) -> Tail | None:
        """Return how the pull of the values below zero (0) or above it (1) is distributed at worst."""
        if self.leader is not None:
            return self.tail(tail_factor)
        return self.tail(self.factors(tail_factor)[side], None if self.drawn is None else self.drawn[side])


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
        at: A number of steps that a unit of budget counts for, above all that was kept and below all that was
            dropped; None where none is known.
        apart: Whether intervals exclude what was dropped, as nothing of it was visible.
    """

    thresholds: int
    scales: Fraction
    tiers: int
    below: bool = False
    above: bool = True
    seen: Seen = "last"
    unknown: bool = False
    at: Fraction | None = None
    apart: bool = False

    @property
    def selects(self) -> bool:
        """True if what was dropped is excluded: its size is then no reason to show no end."""
        return self.apart

    @property
    def noise_part(self) -> Fraction:
        """Share of the failures for noise, where nothing was dropped."""
        return _NOISE if self.noise_seen else Fraction(1)

    @property
    def noise_seen(self) -> bool:
        """True if the noise in the answer was seen before it was decided what to keep."""
        return self.tiers > 0 and self.seen != "never"

    @property
    def one_sided(self) -> bool:
        """Return False: signs are not distinguished."""
        return False

    @property
    def drops(self) -> bool:
        """Return True: records are dropped."""
        return True

    @property
    def nothing(self) -> bool:
        """True if nothing was dropped."""
        return self.scales == 0 and not self.unknown

    @property
    def insufficient_budget(self) -> bool:
        """Return False: where the dropped amount is unknown, the method is the cause."""
        return False

    @property
    def sign(self) -> int:
        """The sign that the truth has, unless it is zero; 0 for any."""
        return _sign(self.below, self.above)

    def excludes(self, tail_factor: TailFactor) -> tuple[Fraction, Fraction] | None:
        """Return beyond how many steps for a unit of budget records are excluded: where they were dropped."""
        out = self.apart and tail_factor is None and not self.nothing
        return (self.at, self.at) if out and self.at is not None else None

    def pulling(
        self,
        *,
        below: bool,
        above: bool,
        most: tuple[Fraction | None, Fraction | None] = (None, None),  # noqa: ARG002
    ) -> Dropped:
        """Return the same for values of known signs."""
        return replace(self, below=below, above=above)

    def pulled(self, tail_factor: TailFactor) -> tuple[bool, bool]:  # noqa: ARG002  (the same for all)
        """Return whether values below and above zero can have been dropped."""
        return self.below and not self.nothing, self.above and not self.nothing

    def error_bounds(self, scales: Scales, failure: Fraction, tail_factor: TailFactor) -> ErrorBounds:
        """Return the error bounds where tiers were dropped: noise and pull each have a part of the failures.

        Where dropping pulls one way, noise and pull each have half of that side's failures; where it pulls
        both ways, half of all.
        """
        own, pulled = self.failures(failure, tail_factor)
        if self.pull(pulled, tail_factor) == 0:
            return noise_alone(scales, own)
        near = Fraction(noise_spread(scales, own))
        pull = self.pull(pulled / 2 if self.below and self.above else pulled / 4, tail_factor)
        far = None if pull is None else noise_spread(scales, own / 2) + pull
        return ErrorBounds(far if self.below else near, far if self.above else near)

    def failures(self, failure: Fraction, tail_factor: TailFactor) -> tuple[Fraction, Fraction]:
        """Return what parts of an interval's failures noise and pull may use.

        Where the noise is seen before it is decided what to keep, each number of tiers has a part of its own
        (proofs/tiers.md, proofs/partition.md). With ``last``, all tiers have three quarters, the other
        numbers one quarter together; with ``all``, the numbers share three quarters evenly.

        >>> Dropped(thresholds=0, scales=Fraction(0), tiers=3).failures(Fraction(1, 20), Fraction(1))
        (Fraction(1, 20), Fraction(1, 20))
        >>> Dropped(thresholds=9, scales=Fraction(2), tiers=5).failures(Fraction(1, 5), Fraction(8))
        (Fraction(1, 100), Fraction(1, 20))
        """
        if _is_none(tail_factor) or self.tiers == 0 or self.seen == "never":
            return failure, failure
        rest = failure * (1 - _USUAL)
        if self.seen == "all":
            return failure * _USUAL / (self.tiers + 1), rest
        if self.scales == 0:
            return failure * _USUAL, failure * _USUAL
        return rest / self.tiers, rest

    def pull(self, chance: Fraction, tail_factor: TailFactor) -> Fraction | None:
        """Return how far, in steps, dropping has pulled the answer at most, but for ``chance``.

        Each tier's total is below its threshold, unless its noise hid more (proofs/tiers.md). A
        ``tail_factor`` of 1 represents the interval of the noise alone. None represents any distance.
        """
        if _is_none(tail_factor) or self.nothing or (self.apart and tail_factor is None):
            return Fraction(0)
        if self.unknown:
            return None
        return self.thresholds + self.scales * Fraction(log(self.tiers / chance))


@dataclass(frozen=True, slots=True)
class TierClipping:
    """Tiers with a clipping point each, of which the first ones were kept; all of it public or released.

    In full: proofs/clipped_tiers.md.

    Attributes:
        tiers: Of each tier, lowest first, where it was clipped and how that was chosen.
        kept: How many of them were kept.
        thresholds: What the noisy totals of the others were below, in steps, added up.
        scales: The scales of their noises, added up.
        apart: Whether intervals exclude what was dropped, as nothing of it was visible.
    """

    tiers: tuple[Clipping, ...]
    kept: int
    thresholds: int
    scales: Fraction
    apart: bool = False

    @property
    def last(self) -> Clipping:
        """Facts of the last tier that was kept."""
        return self.tiers[self.kept - 1]

    @property
    def below(self) -> bool:
        """True if values are below zero, so that clipping raises the answer."""
        return self.last.below

    @property
    def above(self) -> bool:
        """True if values are above zero, so that clipping lowers the answer."""
        return self.last.above

    @property
    def sign(self) -> int:
        """The sign that the truth has, unless it is zero; 0 for any."""
        return _sign(self.below, self.above)

    def pulling(
        self,
        *,
        below: bool,
        above: bool,
        most: tuple[Fraction | None, Fraction | None] = (None, None),  # noqa: ARG002
    ) -> TierClipping:
        """Return the same for values of known signs."""
        return replace(self, tiers=tuple(replace(tier, below=below, above=above) for tier in self.tiers))

    @property
    def selects(self) -> bool:
        """True if what was dropped is excluded: its size is then no reason to show no end."""
        return self.apart

    @property
    def noise_part(self) -> Fraction:
        """Share of the failures for noise, where nothing was clipped or dropped."""
        return _NOISE

    @property
    def noise_seen(self) -> bool:
        """Return True: the noise in the answer was seen before it was decided what to keep."""
        return True

    @property
    def one_sided(self) -> bool:
        """Return False: signs are not distinguished."""
        return False

    @property
    def drops(self) -> bool:
        """Return False: the lowest tier, at least, is clipped."""
        return False

    @property
    def nothing(self) -> bool:
        """True if nothing can have been clipped or dropped."""
        return self.kept == len(self.tiers) and all(tier.nothing for tier in self.tiers)

    @property
    def at(self) -> Fraction:
        """Steps for each unit of budget up to which every record counts in full."""
        clipped = (tier.at for tier in self.tiers[: self.kept] if not tier.nothing)
        return next(clipped, ABOVE_KEPT * self.last.most)

    @property
    def insufficient_budget(self) -> bool:
        """Return False: a tier that holds too little to be seen was dropped, and the interval covers that."""
        return False

    def excludes(self, tail_factor: TailFactor) -> tuple[Fraction, Fraction] | None:
        """Return beyond how many steps for a unit of budget an interval excludes records, if anywhere."""
        factor = _TIER_FACTOR if tail_factor is None else tail_factor
        ends = [(factor * self.last.at, self.last.most)]
        beyond = self.tiers[self.kept :]
        apart = self.apart and tail_factor is None
        ends += [(ABOVE_KEPT * self.last.most if apart else tier.at, tier.most) for tier in beyond]
        return next(((end, end) for end, most in ends if end < most), None)

    def pulled(self, tail_factor: TailFactor) -> tuple[bool, bool]:  # noqa: ARG002  (lower tiers need no reach)
        """Return whether values below and above zero can have been clipped or dropped."""
        return self.below and not self.nothing, self.above and not self.nothing

    def error_bounds(self, scales: Scales, failure: Fraction, tail_factor: TailFactor) -> ErrorBounds:
        """Return the error bounds where each tier has its own point: proofs/clipped_tiers.md.

        Whether anything was clipped or dropped is what was drawn, so that either outcome has its own part.
        """
        if _is_none(tail_factor):
            return noise_alone(scales, failure)
        if self.nothing:
            return noise_alone(scales, failure * _APART)
        failure *= 1 - _APART
        tiers = len(self.tiers)
        near = Fraction(sum(one_way_spread((scale,), failure * _NEAR / tiers) for scale in scales))
        last, other = (failure * (1 - _NEAR) * part / tiers for part in (_LAST, (1 - _LAST) / 2))
        apart = self.apart and tail_factor is None
        far = Fraction(0) if apart else self.thresholds + self.scales * Fraction(log(1 / other))
        for scale, tier in zip(scales[:-1], self.tiers, strict=False):
            far += _end_of_tier(scale, tier, other, tier.most / tier.at)
        factor = _TIER_FACTOR if tail_factor is None else tail_factor
        far += _end_of_tier(scales[-1], self.last, last, factor)
        return ErrorBounds(far if self.below else near, far if self.above else near)


def _is_none(tail_factor: TailFactor) -> bool:
    """Return whether an interval is to cover nothing but noise."""
    return tail_factor is not None and tail_factor <= 1


def _end_of_tier(scale: Fraction, tier: Clipping, failure: Fraction, tail_factor: TailFactor) -> Fraction:
    """Return how far the noise and the pull of one tier go together, except with probability ``failure``.

    Noise has the same part of it at each point, that which clips nothing among them.
    """
    noise = one_way_spread((scale,), failure * tier.noise_part)
    tail = None if tier.nothing else tier.tail(tail_factor)
    if tail is None:
        return Fraction(noise)
    return noise_and_pull((scale,), tail, failure * _PULL, within=noise)


def _sign(below: bool, above: bool) -> int:
    """Return the sign of all values, 0 where both are possible."""
    return 0 if below == above else -1 if below else 1
