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
    """Return the sizes of answers in caps of so many steps; whole numbers that no float holds exactly so.

    >>> huge = np.array([-(10**400)], dtype=object)
    >>> in_caps(np.array([-6, 3]), Fraction(3)).tolist(), in_caps(huge, Fraction(10**399)).tolist()
    ([2.0, 1.0], [10.0])
    """
    if steps.dtype != object:
        return np.abs(steps.astype(np.float64)) * float(1 / cap)
    return np.array([float(abs(one) / cap) for one in steps.tolist()], dtype=np.float64)


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
            caps: The answers' sizes, in caps of mass 1/share.
            seen: The part of the share that a unit of clipped mass weighs.
            left: By how much the log-weight falls on the way from the point to the last one, and how many
                octaves the point is above the first one.
        """
        climb, height = left
        if height > _BOTTOM:
            return np.zeros(len(caps), dtype=bool)
        halves = 0.5 ** (np.arange(masses.shape[1]) % OCTAVES)
        found: NDArray[np.bool_] = (seen * caps < climb + _DOUBT) & (masses @ halves < _FAINT)
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
        both: Floats | None = None,
    ) -> Places:
        """Return which tail factor each answer gets, a column for each side; answers share the given facts.

        Args:
            clipping: The facts, with no tail factor selected.
            scales: The scales of the noises.
            depth: The mass of the octave at which the choice of a threshold stops, times the share.
            sides: For values below and above zero, or for all of them, what ``visible`` returns.
            caps: The sizes of the answers, in caps of mass 1/share.
            both: The answers' own masses by side and octave: of those that are visible it is known how much
                there is, where values of both signs may cancel.
        """
        unit = _CAP_STEPS * self.share / clipping.at
        reach = _reach(self.menu, _scaled(clipping, self.share), tuple(unit * each for each in scales))
        signed = len(sides) > 1
        if both is not None and signed:
            cancel = np.logical_and.reduce([octave >= 0 for _, octave in sides])
            there = _added_up(np.where(both > self.threshold, both, 0), reach.above)
            caps = np.where(cancel, np.maximum(caps, there), caps)
        sizes = _CAP_STEPS * caps
        found = np.zeros((len(sizes), len(sides)), np.intp)
        for side, (masses, octave) in enumerate(sides):
            pull = _pull(masses, octave, depth, reach.above[side])
            enough = (reach.rooms[side] >= _ROOM * pull[:, None]) | reach.topped[side]
            which = np.where(enough.any(axis=1), enough.argmax(axis=1), len(self.menu) - 1)
            others = sides[1 - side][1] >= 0 if signed else np.zeros(len(sizes), dtype=bool)
            which[(octave < 0) & others] = 0
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


def _pull(masses: Floats, octave: Places, depth: float, above: float) -> Floats:
    """Return what clipping is expected to take, by the octaves' slope, in caps of mass 1/share.

    That is infinite where the slope is too flat, and where no octave is visible. ``above`` is how many
    octaves the common threshold lies above that of the side.
    """
    seen = np.take_along_axis(masses, np.maximum(octave, 0)[:, None], axis=1)[:, 0]
    slope = np.log(np.maximum(seen / (_SLACK * depth), _LEAST_RISE)) / (octave + 0.5)
    steep = (slope > _STEEP) & (octave >= 0)
    slope = np.where(steep, slope, 1.0)
    fall = slope - math.log(2)
    found: Floats = np.where(steep, depth * math.log(2) / (slope * fall) * np.exp(-fall * above), np.inf)
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
