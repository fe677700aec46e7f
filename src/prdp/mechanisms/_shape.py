"""The public shape F of noise that grows with what is hidden: concave, and below the budgets.

Accuracy alone depends on it; the cap of ``Additive`` keeps the promise. In full: proofs/additive.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from prdp.cells.least_budgets import Least
from prdp.noise.concave import ConcaveNoise

_SLOPE_BITS = 40
_CHORD = 0.01
USUAL, RARE = 0.5, 0.95
"""The draws that shapes are compared by: half of them, and all but one of twenty."""
_MAX_TRIED = 12

Corners = list[tuple[int, float]]
"""Distances and F there, from the first corner after zero on."""


@lru_cache(maxsize=256)
def concave_below(least: Least, worth: Fraction) -> ConcaveNoise:
    """Return noise whose F is concave and nowhere above what records of each size may lose.

    Args:
        least: The least budgets by what records contribute, in quanta.
        worth: What a quantum is worth: the share times the quantum.
    """
    steps = _steps([(end, quanta * worth) for end, quanta in least])
    stairs = [(start, end, float(top)) for start, end, top in steps]
    shapes = (
        _thinned(_shape(stairs, begin, after))
        for after in _spread_out(len(stairs))
        for begin in _spread_out(after)
    )
    return _exact(min(shapes, key=_badness), steps)


def _badness(corners: Corners) -> float:
    """Return how far noise strays, usually and rarely; what is usual counts twice."""
    return 2 * math.log(quantile(corners, USUAL)) + math.log(quantile(corners, RARE))


def _steps(tops: Sequence[tuple[int, Fraction]]) -> list[tuple[int, int, Fraction]]:
    """Return the stairs of tops: from where on, up to where, and how high; each is above the one before."""
    stairs: list[tuple[int, int, Fraction]] = []
    before = 0
    for end, top in tops:
        if stairs and stairs[-1][2] == top:
            stairs[-1] = (stairs[-1][0], end, top)
        else:
            stairs.append((before + 1, end, top))
        before = end
    return stairs


def _spread_out(count: int) -> Sequence[int]:
    """Return some of the numbers from 1 to a count, evenly spread; the last one among them."""
    some = min(count, _MAX_TRIED)
    return sorted({count - count * place // some for place in range(some)})


def _shape(stairs: Sequence[tuple[int, int, float]], begin: int, after: int) -> Corners:
    """Return a concave F below stairs.

    Up to the end of the stair before ``after`` it is the least concave function above the ends of the stairs
    from ``begin`` on, times what brings it below all of them; then it goes on as steeply as it may.
    """
    hull = [(0, 0.0)]
    for _, end, top in stairs[begin - 1 : after]:
        while len(hull) > 1 and _is_below(hull[-1], hull[-2], (end, top)):
            hull.pop()
        hull.append((end, top))
    times, place = 1.0, 1
    for _, end, top in stairs[:after]:
        while hull[place][0] < end:
            place += 1
        (start, low), (far, high) = hull[place - 1], hull[place]
        times = min(times, top / (low + (high - low) * ((end - start) / (far - start))))
    corners = [(end, top * times) for end, top in hull]
    (start, low), (far, high) = corners[-2:]
    slope = (high - low) / (far - start)
    for _, end, top in stairs[after:]:
        at, height = corners[-1]
        reached = min(end, at + int((top - height) / slope)) if slope > 0 else at
        if reached > at:
            corners.append((reached, height + slope * (reached - at)))
        if reached < end:  # as high as this stair: from here on it does not rise
            corners.append((end, corners[-1][1]))
            slope = 0.0
    return corners[1:]


def _is_below(corner: tuple[int, float], before: tuple[int, float], after: tuple[int, float]) -> bool:
    """Say whether a corner lies on or below the line from one before it to one after it."""
    along = (after[1] - before[1]) * (corner[0] - before[0])
    return (corner[1] - before[1]) * (after[0] - before[0]) <= along


def _thinned(corners: Corners) -> Corners:
    """Return F with corners left out while the chord is hardly below it."""
    kept, first = [(0, 0.0)], 0
    while first < len(corners):
        last = first
        for further in range(first + 1, len(corners)):
            if not _is_near(kept[-1], corners[further], corners[first:further]):
                break
            last = further
        kept.append(corners[last])
        first = last + 1
    return kept[1:]


def _is_near(start: tuple[int, float], end: tuple[int, float], between: Corners) -> bool:
    slope = (end[1] - start[1]) / (end[0] - start[0])
    return all(height - start[1] - slope * (at - start[0]) <= _CHORD for at, height in between)


def _exact(corners: Corners, stairs: Sequence[tuple[int, int, Fraction]]) -> ConcaveNoise:
    """Return F with exact slopes, rounded down, none above the one before; it stays below the stairs."""
    ends: list[int] = []
    slopes: list[Fraction] = []
    start, height = 0, Fraction(0)
    for end, aim in corners:
        allowed = [
            (top - height) / (min(last, end) - start)
            for first, last, top in stairs
            if last > start and first <= end
        ]
        wanted = (Fraction(aim) - height) / (end - start)
        slope = _rounded_down(min(wanted, *allowed, *slopes[-1:]))
        if slopes and slope == slopes[-1]:
            ends[-1] = end
        else:
            ends.append(end)
            slopes.append(slope)
        start, height = end, height + slope * (end - start)
    return ConcaveNoise(tuple(ends), tuple(slopes))


def _rounded_down(slope: Fraction) -> Fraction:
    """Return a slope with so many significant bits, rounded down."""
    if slope <= 0:
        return Fraction(0)
    shift = _SLOPE_BITS - (slope.numerator.bit_length() - slope.denominator.bit_length())
    scaled = slope * Fraction(2) ** shift
    return (scaled.numerator // scaled.denominator) / Fraction(2) ** shift


def quantile(corners: Corners, level: float) -> float:
    """Return about how far noise of a shape strays at most, with this probability.

    In floats and with a density in place of whole numbers, to compare shapes; intervals are exact.
    """
    pieces = list(_pieces(corners))
    inside = sum(weight for *_, weight in pieces)
    end, top = corners[-1]
    again = math.exp(-top)
    beyond = 1 - level  # of all: q^turns times what is left of one turn
    turns = max(0, math.floor(math.log(beyond) / -top)) if top * 1e6 > -math.log(beyond) else None
    if turns is None:  # F hardly rises: the turns alone decide
        return end * -math.log(beyond) / top
    left = beyond / math.exp(-top * turns)
    aim = inside * min(1.0, (1 - left) / (1 - again) if again < 1 else 0.0)
    for start, length, height, slope, weight in pieces:
        if aim <= weight:
            part = aim / math.exp(-height) if height < 700 else 0.0
            far = part if slope * length < 1e-9 else -math.log1p(-min(slope * part, 1 - 1e-15)) / slope
            return turns * end + start + min(far, length)
        aim -= weight
    return float((turns + 1) * end)


def _pieces(corners: Corners) -> Iterator[tuple[int, int, float, float, float]]:
    """Yield where each piece starts, its length, F there, its slope and its weight."""
    start, height = 0, 0.0
    for end, top in corners:
        length, slope = end - start, (top - height) / (end - start)
        each = length if slope * length < 1e-9 else -math.expm1(-slope * length) / slope
        yield start, length, height, slope, math.exp(-height) * each
        start, height = end, top


def corners_of(noise: ConcaveNoise) -> Corners:
    """Return the corners of a noise's F."""
    return [(end, float(height)) for end, height in zip(noise.ends, noise.heights[1:], strict=True)]
