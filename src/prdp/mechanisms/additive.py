"""Noise that needs no clipping, for policies under which larger values may lose more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from prdp.cells.columns import Column, plus
from prdp.cells.groups import SummaryGroups
from prdp.cells.ratios import Least
from prdp.cells.summary import Summary
from prdp.mechanisms.clip import FINEST_BITS, finer_bits
from prdp.noise.concave import ConcaveNoise
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Shaped
from prdp.release.raw_answer import Answer, AnswerColumn, ByGroup, Caveat

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
        worth: The value of a quantum: the share times the quantum.
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
    """Return a score of the noise's usual and rare magnitudes; the usual one counts twice."""
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
    """Return whether a corner lies on or below the line from one before it to one after it."""
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
    """Return an approximate quantile of the noise's magnitude, at this probability.

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


@dataclass(frozen=True, slots=True)
class Additive:
    """Add noise that falls off as fast as budgets grow: what a record counts, its budget hides.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        r moves the total by c with F(|c|) ≤ share · E(r), since it counts no more than that allows. For
        noise with Pr[z] ∝ exp(-F(|z|)), F subadditive, that changes no probability by more than exp(F(|c|)).
        In full: proofs/additive.md.

    Attributes:
        least: The least budgets by what records contribute; public. Only accuracy depends on it.
        rows: Of how many rows a unit may be; 1 where a row is a record.
        why: The reason for its choice, in words; empty where the caller chose it.
        finest_bits: The maximum number of bits by which the lattice of answers is finer than values.
    """

    least: Least
    rows: int = 1
    why: str = ""
    finest_bits: int = FINEST_BITS

    name = "additive"

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Describe what the interval does not cover: nothing, except for units of several rows."""
        if self.rows == 1:
            return None
        return Caveat(
            f"units whose rows differ may count for less, which {'moves it' if signed else 'lowers it'}"
        )

    def noise(self, largest: int, worth: Fraction) -> ConcaveNoise:
        """Return the public noise of answers about such tables.

        Args:
            largest: The most that a record can contribute, in steps of the lattice.
            worth: The value of a quantum of budget: the share times the quantum.
        """
        last = self.least[-1][0] * self.rows
        finer, rest = divmod(largest, last)
        if rest or not finer:
            raise ValueError(f"budgets are known for contributions up to {last} steps, not up to {largest}")
        return concave_below(tuple((end * self.rows * finer, quanta) for end, quanta in self.least), worth)

    def law(self, summary: Summary, share: Fraction) -> Shaped:
        """Return the distribution of the noisy total."""
        worth = share * summary.levels.quantum
        noise = self.noise(summary.largest, worth)
        caps = summary.cells.by_budget(lambda quanta: noise.within(quanta * worth))
        return Shaped(summary.clipped_total(caps), noise)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        return self.grouped([summary], share, entropy, runs)[0]

    def grouped(self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int) -> ByGroup:
        """Draw independent answers for disjoint groups, each from its own ``law``; their noises at once."""
        groups = SummaryGroups.of(summaries)
        bits = finer_bits(groups.empty, self.finest_bits)
        fine = groups.refined(bits)
        noise = self.law(fine.empty, share).noise
        choices = (("of the share", "100 % answering"), *((("chosen", self.why),) if self.why else ()))
        templates = (Answer(0, Fraction(1, 1 << bits), (), choices, shape=noise),)
        totals = np.repeat(self.totals(fine, share), runs)
        steps = plus(totals, noise.draw_many(entropy, len(totals)))  # a group's runs side by side
        which = np.zeros(len(groups), np.intp)
        return ByGroup(tuple(AnswerColumn(steps[run::runs].copy(), which, templates) for run in range(runs)))

    def totals(self, groups: SummaryGroups, share: Fraction) -> Column:
        """Return the totals of groups, one each: the values of their laws."""
        worth = share * groups.levels.quantum
        noise = self.noise(groups.largest, worth)
        caps = groups.kinds.by_budget(lambda quanta: noise.within(quanta * worth))
        return groups.clipped(np.arange(len(groups)), caps)
