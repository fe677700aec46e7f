"""Measure budget by octaves below a clipping threshold, and select how far above it an interval reaches.

Both follow the draw of the threshold. In full: proofs/tail.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, Places
from prdp.levels import quarter_octaves
from prdp.release import formatting
from prdp.release.bias import Clipping
from prdp.release.interval import Scales, noise_spread

OCTAVES = 12
"""Number of octaves below the threshold that are measured."""

_BITS = 20
_CAP_STEPS = 1 << 20  # a cap of mass 1 in steps, where all shares are looked at alike
_HALF_OCTAVE = 2
Floats = NDArray[np.float64]


def _factor(half_octaves: int) -> Fraction:
    """Return so many half octaves as a factor, a little less, as candidates are rounded."""
    exact = quarter_octaves(_HALF_OCTAVE * half_octaves, _BITS)
    return Fraction(exact - (exact >> (_BITS - 4)), 1 << _BITS)


COUNT_MENU = (_factor(1), _factor(2))
SUM_MENU = (_factor(1), _factor(2), _factor(3), _factor(4), _factor(6))
"""Tail factors to select from: half octaves up to 2 for counts and up to 8 for sums."""

# Chosen on made-up sets and then frozen: experiments/choosing/tails.py.
_SEEN = 4.0  # scales of noise that an octave's mass must pass
_SLACK = 1.25  # of the mass that the choice leaves in an octave
_ROOM = 3.0  # times the expected pull that an end allows for
_CAP = 2.0  # times the answer: an end further away is of a smaller tail factor
_LEAST_RISE = 1.05
_NEAR = 8.0  # scales of its noise that what an answer shows just below the threshold must pass
_TAKEN_OFF = 2.0  # of those scales, so that chance does not make it larger
_BEYOND = 2.0  # times the mass of the octave at which the choice stops: what lies beyond the threshold
_SPREAD = 0.2  # of what farther octaves come to, as it is not known where in an octave its values are
_ROUNDS = 40  # of a bisection
_LARGEST_POWER = 600.0  # of e, that a float holds
# The same, of lean tables where the choice stopped far below the records: experiments/choosing/stopped.py.
_BOTTOM = 1.5  # octaves above the first point within which it stops then
_FAINT = 80.0  # noisy mass below the point, each octave by its values, up to which it shows no records
_DOUBT = 5  # log-weight by which records may have outweighed the climb and the choice still have stopped
_STEEP = 1.02 * math.log(2)  # from where on values beyond the threshold add up to less the further they are


def octaves_below(high: Column, caps: Column) -> Places:
    """Return in which octave below its cap each value lies; ``OCTAVES`` for one above it, or further below.

    >>> from prdp.cells.columns import exact_column
    >>> octaves_below(exact_column([9, 8, 5, 4, 1, 0]), exact_column([8] * 6)).tolist()
    [12, 0, 0, 1, 3, 12]
    """
    times = np.minimum(np.floor_divide(caps, np.maximum(high, 1)), 1 << OCTAVES)
    octave = np.frexp(times.astype(np.float64))[1] - 1
    inside = np.asarray((high > 0) & (times > 0), dtype=bool)
    found: Places = np.where(inside, octave, OCTAVES).astype(np.intp)
    return found


def in_caps(steps: Column, cap: Fraction) -> Floats:
    """Return answers in caps of so many steps; whole numbers that no float holds exactly so.

    >>> huge = np.array([-(10**400)], dtype=object)
    >>> in_caps(np.array([-6, 3]), Fraction(3)).tolist(), in_caps(huge, Fraction(10**399)).tolist()
    ([-2.0, 1.0], [-10.0])
    """
    if steps.dtype != object:
        return steps.astype(np.float64) * float(1 / cap)
    return np.array([float(one / cap) for one in steps.tolist()], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class TailRule:
    """Select a tail factor for each of many answers by their measured octaves: a function of what was drawn.

    That is what was drawn up to the answer itself, and never the answer of a total that follows it: what is
    stated of a sum must not change by what is drawn after it (proofs/tail.md).

    Attributes:
        menu: The tail factors that there are, ascending.
        part: The part of the share that measured the octaves.
        share: The share.
    """

    menu: tuple[Fraction, ...]
    part: Fraction
    share: Fraction

    @classmethod
    def of(cls, *, counted: bool, part: Fraction, share: Fraction) -> TailRule:
        """Return the rule of counts, or of sums."""
        return cls(COUNT_MENU if counted else SUM_MENU, part, share)

    @property
    def threshold(self) -> float:
        """The mass from which on an octave is visible, times the share."""
        return _SEEN / float(self.part)

    def weights(self, masses: Column, quanta: Fraction) -> Floats:
        """Return masses times the share; one counts so many quanta's worth of budget."""
        found: Floats = masses.astype(np.float64) * float(self.share * quanta)
        return found

    def visible(self, masses: Floats, pooled: Floats, groups: int) -> tuple[Floats, Places]:
        """Return masses to go by, and the first octave of each row that is visible in them; -1 for none.

        Where a row shows none, its masses are the mean of all groups'.

        Args:
            masses: Noisy masses, times the share: a row for each answer, a column for each octave.
            pooled: The mean of the groups' masses, for each row.
            groups: The number of groups.
        """
        own = _first(masses > self.threshold)
        mean = _first(pooled > self.threshold / math.sqrt(groups))
        alone = own >= 0
        return np.where(alone[:, None], masses, pooled), np.where(alone, own, mean)

    def failed(
        self, masses: Floats, caps: Floats, seen: float, left: tuple[float, float]
    ) -> NDArray[np.bool_]:
        """Return for which answers the choice stopped far below the records, going by what was drawn.

        That may be where all of an answer is so little budget mass at its cap as the choice may not have
        climbed for. If that is no more than was drawn, octaves below the point are empty.

        Args:
            masses: Noisy masses, times the share: a row for each answer, a column for each octave and side.
            caps: The answers, in caps of mass 1/share.
            seen: The part of the share that a unit of clipped mass weighs.
            left: By how much the log-weight falls on the way from the point to the last one, and how many
                octaves the point is above the first one.
        """
        climb, height = left
        if height > _BOTTOM:
            return np.zeros(len(caps), dtype=bool)
        halves = 0.5 ** (np.arange(masses.shape[1]) % OCTAVES)
        found: NDArray[np.bool_] = (seen * np.abs(caps) < climb + _DOUBT) & (masses @ halves < _FAINT)
        return found

    def on(self, clipping: Clipping, below: int, above: int) -> Clipping:
        """Return the facts with the tail factors at two places of the menu."""
        return replace(clipping, selected=(self.menu[below], self.menu[above]), menu=len(self.menu))

    def selected(  # noqa: PLR0917  (all that was drawn)
        self,
        clipping: Clipping,
        scales: Scales,
        depth: float,
        sides: Sequence[tuple[Floats, Places]],
        caps: Floats,
        own: Floats,
        whole: tuple[Floats, int] | None = None,
    ) -> Places:
        """Return which tail factor each answer gets, a column for each side; answers share the given facts.

        Args:
            clipping: The facts, with no tail factor selected.
            scales: The scales of the noises.
            depth: The mass of the octave at which the choice of a threshold stops, times the share.
            sides: For values below and above zero, or for all of them, what ``visible`` returns.
            caps: The answers, in caps of mass 1/share.
            own: The answers' own masses by side and octave.
            whole: What the records of the own masses come to, in caps, and of how many answers that is the
                sum; None for the answers themselves.
        """
        unit = _CAP_STEPS * self.share / clipping.at
        reach = _reach(self.menu, _scaled(clipping, self.share), tuple(unit * each for each in scales))
        signed = len(sides) > 1
        total, answers = whole or (caps, 1)
        noise = math.sqrt(answers * sum(float(unit * each / _CAP_STEPS) ** 2 for each in scales))
        caps = np.abs(caps)
        if signed:
            cancel = np.logical_and.reduce([octave >= 0 for _, octave in sides])
            there = _added_up(np.where(own > self.threshold, own, 0), reach.above)
            caps = np.where(cancel, np.maximum(caps, there), caps)
        sizes = _CAP_STEPS * caps
        found = np.zeros((len(sizes), len(sides)), np.intp)
        for side, (masses, octave) in enumerate(sides):
            rise, above = _rise(masses, octave, depth), reach.above[side]
            each = total * (2 * side - 1) if signed else np.abs(total)
            noises = noise, 1 / float(self.part)
            near, farthest = _shown(own[:, side], each, depth, noises, above)
            nearer = (farthest >= 0) & ((octave < 0) | (farthest < octave)) & (clipping.spans == 1)
            if nearer.any():
                rise[nearer] = _rise_of_sum(near[nearer], farthest[nearer], depth)
            pull = _pull(rise, depth, above)
            enough = (reach.rooms[side] >= _ROOM * pull[:, None]) | reach.topped[side]
            which = np.where(enough.any(axis=1), enough.argmax(axis=1), len(self.menu) - 1)
            others = sides[1 - side][1] >= 0 if signed else np.zeros(len(sizes), dtype=bool)
            which[(octave < 0) & ~nearer & others] = 0
            found[:, side] = reach.capped(side, which, sizes)
        return found


@dataclass(frozen=True, slots=True)
class _Reach:
    """Distances that the intervals of each tail factor reach; a list for each side.

    Attributes:
        rooms: Beyond what noise alone allows for, in caps of the side's own point.
        topped: Whether no record can be beyond it.
        above: How many octaves the common point lies above that of the side.
        ends: How far it reaches, in steps.
        times: By how much an answer is multiplied for its size to bound the truth...
        up: ... after this was added to it; None where its size says nothing.
    """

    rooms: list[Floats]
    topped: list[NDArray[np.bool_]]
    above: list[float]
    ends: list[Floats]
    times: Floats
    up: float | None

    def capped(self, side: int, which: Places, sizes: Floats) -> Places:
        """Return smaller tail factors where ends would lie too far from answers of these sizes."""
        far = np.broadcast_to(self.ends[side], (len(sizes), len(self.times)))
        if self.up is not None:
            far = np.minimum(far, self.times * (sizes + self.up)[:, None] - sizes[:, None])
        near = far <= _CAP * sizes[:, None]
        near[:, 0] = True
        near &= np.arange(len(self.times)) <= which[:, None]
        found: Places = len(self.times) - 1 - near[:, ::-1].argmax(axis=1)
        return found


def _scaled(clipping: Clipping, share: Fraction) -> Clipping:
    """Return the same facts for a share of one and a finer step: they are equal for all shares."""
    times = _CAP_STEPS / clipping.at
    return replace(
        clipping,
        at=Fraction(_CAP_STEPS),
        most=clipping.most * times,
        usual=clipping.usual * times,
        drawn=clipping.drawn and (clipping.drawn[0] * times, clipping.drawn[1] * times),
        evidence=clipping.evidence / share,
        spared=round(clipping.spared * share, 6),
    )


@lru_cache(maxsize=1024)
def _reach(menu: tuple[Fraction, ...], clipping: Clipping, scales: Scales) -> _Reach:
    """Return how far the intervals of each tail factor reach, for a share of one."""
    bounds = [
        replace(clipping, selected=(factor, factor), menu=len(menu)).error_bounds(
            scales, 1 - formatting.LEVEL, None
        )
        for factor in menu
    ]
    noise, signed = noise_spread(scales, 1 - formatting.LEVEL), clipping.below
    points = clipping.drawn or (clipping.at,) * (1 + signed)
    ends = [
        np.array([float((bound.below if signed and not side else bound.above) or 0) for bound in bounds])
        for side in range(len(points))
    ]
    return _Reach(
        rooms=[(end - noise) / float(point) for end, point in zip(ends, points, strict=True)],
        topped=[np.array([factor * point >= clipping.most for factor in menu]) for point in points],
        above=[math.log2(clipping.at / point) for point in points],
        ends=ends,
        times=np.array([float(bound.times) for bound in bounds]),
        up=bounds[-1].up,
    )


def _pull(rise: Floats, depth: float, above: float) -> Floats:
    """Return what clipping is expected to take, in caps of mass 1/share; infinite where masses are too flat.

    Args:
        rise: The logarithm of the factor by which masses rise from an octave to the next one below.
        depth: The mass of the octave at which the choice stops, times the share.
        above: How many octaves the common threshold lies above that of the side.
    """
    steep = rise > _STEEP
    rise = np.where(steep, rise, 1.0)
    fall = rise - math.log(2)
    found: Floats = np.where(steep, depth * math.log(2) / (rise * fall) * np.exp(-fall * above), np.inf)
    return found


def _rise(masses: Floats, octave: Places, depth: float) -> Floats:
    """Return by how much masses rise an octave, by the first one that is visible; 0 where none is."""
    seen = np.take_along_axis(masses, np.maximum(octave, 0)[:, None], axis=1)[:, 0]
    rise = np.log(np.maximum(seen / (_SLACK * depth), _LEAST_RISE)) / (octave + 0.5)
    found: Floats = np.where(octave >= 0, rise, 0.0)
    return found


def _shown(
    masses: Floats, answers: Floats, depth: float, noises: tuple[float, float], above: float
) -> tuple[Floats, Places]:
    """Return what the nearest octaves come to by the answers, and the farthest of them; -1 for none.

    The mass of an octave is worth the less in an answer the lower it lies, and so is the noise of that mass:
    what is left of an answer after farther octaves says more of the nearest ones than their own masses do.

    >>> found, farthest = _shown(np.zeros((1, OCTAVES)), np.array([900.0]), 10.0, (2.0, 50.0), 0.0)
    >>> farthest.tolist(), round(float(found[0]))  # twice the noise of the lower ones, 20, is taken off
    ([0], 839)

    Args:
        masses: Noisy masses, times the share: a row for each answer, a column for each octave.
        answers: The answers, in caps of mass 1/share.
        depth: The mass of the octave at which the choice stops, times the share.
        noises: The scales of the noises of answers and of masses.
        above: How many octaves the common threshold lies above that of the side.
    """
    worth = 0.5 ** (0.5 + np.arange(OCTAVES) + above)
    farther = _after(masses * worth)
    scale = np.hypot(noises[0], noises[1] * np.sqrt(_after(np.square(worth)[None])))
    left = answers[:, None] - _BEYOND * depth - farther
    farthest = _first(left > _NEAR * scale + _SPREAD * _after(np.maximum(masses, 0) * worth))
    left = (left - _TAKEN_OFF * scale) * 2.0**above
    return np.take_along_axis(left, np.maximum(farthest, 0)[:, None], axis=1)[:, 0], farthest


def _rise_of_sum(sums: Floats, farthest: Places, depth: float) -> Floats:
    """Return by how much masses rise an octave where so many octaves come to these sums, in caps.

    What they come to rises by half of what their masses do.

    >>> sums = 10 * _SLACK * np.array([2**0.5, 2**0.5 + 2**1.5])
    >>> (_rise_of_sum(sums, np.array([0, 1]), 10.0) / math.log(2)).round(3).tolist()
    [2.0, 2.0]
    """
    wanted = sums / (_SLACK * depth)
    low, high = np.zeros(len(sums)), 2 * np.log(np.maximum(wanted, 1))
    octaves = np.arange(OCTAVES)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        powers = np.exp(np.minimum(middle[:, None] * (octaves + 0.5), _LARGEST_POWER))
        less = np.where(octaves <= farthest[:, None], powers, 0).sum(axis=1) < wanted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    found: Floats = low + math.log(2)
    return found


def _after(columns: Floats) -> Floats:
    """Return for each column the sum of those after it.

    >>> _after(np.array([[1.0, 2.0, 3.0]])).tolist()
    [[5.0, 3.0, 0.0]]
    """
    found: Floats = columns[:, ::-1].cumsum(axis=1)[:, ::-1] - columns
    return found


def _added_up(masses: Floats, above: Sequence[float]) -> Floats:
    """Return what values add up to without their signs, by noisy octaves, in caps of mass 1/share.

    >>> _added_up(np.array([[[8.0, 4.0], [2.0, 0.0]]]), [0.0, 1.0]).round(2).tolist()  # 6, 1.4 and .7
    [7.78]
    """
    octaves = 0.5 + np.arange(masses.shape[2]) + np.asarray(above)[:, None]
    found: Floats = (masses * 0.5**octaves).sum(axis=(1, 2))
    return found


def _first(there: Any) -> Places:
    """Return the first column of each row that is true; -1 for none."""
    found: Places = np.where(there.any(axis=1), there.argmax(axis=1), -1)
    return found
