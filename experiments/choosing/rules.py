"""Rules for choosing a clipping point: from a case and a share to the ways it can go.

A rule sees what is public (the points) and what a private step may look at (``mass`` and ``masses``); it must
not look at ``pulls``, ``truth`` or ``oracles``. To try a new one, write a function and name it in ``RULES``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.choosing.cases import Case
from experiments.choosing.figures import Branch
from experiments.choosing.laws import Floats, choice, flips, scan
from prdp.mechanisms._threshold import FALLBACK, SMALL_SHARE, PointFinder, Tuning

Rule = Callable[[Case, float], list[Branch]]
Draw = Callable[[Floats], Floats]

_QUARTERS = 4


def gated(case: Case, share: float, gate: float, leasts: Sequence[float]) -> list[float]:
    """Return the chance of each way: the first whose least mass, times the share, the noisy mass reaches."""
    below = [_laplace((least - case.mass * share) * gate) for least in leasts]
    return [above - low for above, low in zip([1.0, *below], [*below, 0.0], strict=True)]


def _laplace(x: float) -> float:
    tail = 0.5 * float(np.exp(-abs(x)))
    return tail if x < 0 else 1 - tail


def strided(case: Case, stride: int) -> NDArray[np.int64]:
    """Return the points that are ``stride`` quarters of an octave apart, from the foot of each span up."""
    return np.flatnonzero(case.above_foot % stride == 0)


def chosen(
    case: Case, weight: float, tuning: Tuning, *, draw: Draw = flips, lacking: Floats | float = 0.0
) -> Floats:
    """Return the chances of points when one is drawn by what it clips and how high it is.

    Args:
        case: The case.
        weight: By how much a penalty grows with each unit of budget mass: a part of the share.
        tuning: By how much it grows with each octave, and how far apart the points are.
        draw: From penalties to chances.
        lacking: What each point of that tuning is charged for besides, in units of budget mass.
    """
    places = strided(case, tuning.stride)
    climbs = np.array(tuning.climbs(tuple(case.heights[places].tolist())), float)
    return _at(case, places, draw(weight * (case.masses[places] + lacking) + climbs))


def lacks(case: Case, share: float, tuning: Tuning) -> Floats | float:
    """Return what each point of a tuning is charged for what its fence lacks."""
    fence = tuning.fence
    if fence is None:
        return 0.0
    places = strided(case, tuning.stride)
    heights = case.heights[places]
    lower = np.concatenate(([case.mass], case.masses[places]))
    found = lower[np.searchsorted(heights, heights - fence.below, side="right")]
    return np.asarray(np.maximum(0, fence.mass / share - found) / fence.times)


def _at(case: Case, places: NDArray[np.int64], chances: Floats, beyond: int = 0) -> Floats:
    out = np.zeros(case.points.size)
    np.add.at(out, np.minimum(places + beyond, out.size - 1), chances)
    return out


def tiered(case: Case, share: float) -> list[Branch] | None:
    """What the library does where each span of possible ratios is one point: which tiers are kept, roughly.

    The noise of the last tier that is kept represents that of all, and is taken to say nothing of the choice.
    """
    if case.above_foot.any():
        return None
    places = np.arange(case.points.size)
    totals = np.diff(case.truth - case.pulls, prepend=0.0) if places.size > 1 else np.array([case.truth])
    leasts = (2.5 + 0.175 * case.heights) * case.points / share
    chances, left = np.zeros(places.size), 1.0
    for place in places[:0:-1]:
        room = (leasts[place] - totals[place]) * share / case.points[place]
        chances[place] = left * (1 - _laplace(room))
        left -= chances[place]
    chances[0] = left
    return [Branch(chances, 1.0)]


def now(case: Case, share: float, draw: Draw = flips) -> list[Branch]:
    """What the library does; but for sums that have tiers, which ``step_sums.py`` draws."""
    in_tiers = tiered(case, share)
    if in_tiers is not None:
        return in_tiers
    return found(case, share, PointFinder.for_totals(Fraction(share).limit_denominator(1000)), draw)


def without_fence(case: Case, share: float) -> list[Branch]:
    """The same with the tuning for poor tables that has no fence, and a steeper fall."""
    finder = PointFinder.for_totals(Fraction(share).limit_denominator(1000))
    poor = tuple((margin, FALLBACK if tuning.fence else tuning) for margin, tuning in finder.tunings)
    return tiered(case, share) or found(case, share, replace(finder, tunings=poor))


def found(case: Case, share: float, finder: PointFinder, draw: Draw = flips) -> list[Branch]:
    """Return where a finder ends up, and by which of its tunings."""
    leasts = [
        float(finder.least(margin, tuning, tuple(case.heights[strided(case, tuning.stride)].tolist())))
        for margin, tuning in finder.tunings
        if margin is not None
    ]
    ways = gated(case, share, float(finder.gate), leasts)
    return [
        Branch(
            way * chosen(case, float(t.seen) * share, t, draw=draw, lacking=lacks(case, share, t)),
            float(t.answer),
        )
        for way, (_, t) in zip(ways, finder.tunings, strict=True)
    ]


def before(case: Case, share: float) -> list[Branch]:
    """What it did before: a gate at a mass of 150, and a scan with noise on both sides."""
    usual = (0.21, 0.09, 21.0 if share > 1 / 3 else 12.0, 0.05, 1)
    if share <= 1 / 30:
        usual = (0.30, 0.20, 6.0, 0.05, 1)
    branches = []
    for way, (a1, a2, threshold, rise, stride) in zip(
        gated(case, share, 0.03, [150.0]), (usual, (0.30, 0.20, 6.0, 0.10, 2)), strict=True
    ):
        places = strided(case, stride)
        thresholds = np.asarray(threshold + rise * np.arange(places.size), np.float64)
        stops = scan(case.masses[places] * share, thresholds, a1, a2, one_sided=False)
        branches.append(Branch(way * _at(case, places, stops, beyond=2), 0.97 - a1 - a2))
    return branches


def one_sided_scan(case: Case, share: float) -> list[Branch]:
    """The best scan that was found: noises that only lower, and a threshold that rises."""
    places = strided(case, 2)
    thresholds = np.asarray(4 + 0.2 * np.arange(places.size), np.float64)
    stops = scan(case.masses[places] * share, thresholds, 0.3, 0.2, one_sided=True)
    return [Branch(_at(case, places, stops, beyond=2), 0.5)]


def without_gate(case: Case, share: float) -> list[Branch]:
    """One choice for all, whatever the table's mass."""
    return [Branch(chosen(case, 0.25 * share, SMALL_SHARE), 0.75)]


def in_two_steps(case: Case, share: float) -> list[Branch]:
    """An octave first, and then a quarter of an octave within it."""
    first = replace(SMALL_SHARE, fall=Fraction(3, 2), stride=4)
    coarse = chosen(case, 0.20 * share, first)
    out = np.zeros(coarse.size)
    for place in map(int, np.flatnonzero(coarse > 0)):
        within = np.arange(max(0, place - 3), place + 1)
        penalties = 0.08 * share * case.masses[within] + 2.0 * within / _QUARTERS
        out[within] += coarse[place] * flips(penalties)
    return [Branch(out, 0.72)]


RULES: dict[str, Rule] = {
    "now": now,
    "one-point": now,
    "without-fence": without_fence,
    "before": before,
    "exponential": partial(now, draw=choice),
    "one-sided-scan": one_sided_scan,
    "without-gate": without_gate,
    "two-steps": in_two_steps,
}
