"""Choose between mechanisms by policy, bounds and share alone: additive noise, linked clipping thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.expressions.intervals import Interval, bound
from prdp.expressions.spelling import shown_name
from prdp.grids import PER_OCTAVE
from prdp.mechanisms._shape import RARE, USUAL, corners_of, quantile
from prdp.mechanisms.additive import Additive
from prdp.mechanisms.clip import Clip
from prdp.plan.methods import Method, MethodTerms, additive
from prdp.plan.reads import CellRead
from prdp.policy import ranges_of

_PLACE = 2 / 3  # frozen on made-up sets, where .65 and .7 are the best: experiments/choosing/growing.py
_LAPLACE = {USUAL: math.log(2), RARE: math.log(20)}
"""How far Laplace noise of scale 1 strays."""


@dataclass(frozen=True, slots=True)
class Rivals:
    """How far additive noise strays, and between which scales the noise of ``clip`` lies; in steps.

    ``clip`` adds noise of about b/share, b the ratio of value to budget that the table's own records end at.
    Nobody knows it beforehand, but between which ratios it lies.

    Attributes:
        usual: How far half of the additive draws stray at most.
        rare: How far 19 of 20 do.
        lowest: The scale of noise for the lowest ratio that a table may end at.
        highest: That for the highest one.
    """

    usual: float
    rare: float
    lowest: float
    highest: float

    def scale(self, place: float = _PLACE) -> float:
        """Return the scale of noise at a place between the lowest (0) and the highest (1), in octaves."""
        return math.exp((1 - place) * math.log(self.lowest) + place * math.log(self.highest))

    def additive_wins(self, place: float = _PLACE) -> bool:
        """Say whether additive noise strays less than that of ``clip`` at a place, usually and rarely."""
        scale = self.scale(place)
        return self.usual < scale * _LAPLACE[USUAL] and self.rare < scale * _LAPLACE[RARE]


def rivals(terms: MethodTerms) -> Rivals | None:
    """Return what is to be compared; None where budgets do not grow, or ``clip`` need not choose a point."""
    measure = terms.measure
    if measure is None or measure.expression is not None or not _grows(terms, measure):
        return None
    read = CellRead(terms.policy, terms.levels, terms.bounds, replace(measure, per_octave=PER_OCTAVE), None)
    read = read.planned()
    if read.ratios is None or Clip().tiers(read.empty) is not None:
        return None
    worth = terms.share * terms.levels.quantum
    corners = corners_of(additive(terms).noise(measure.largest, worth))
    ends = (read.ratios.values[0][0] / worth, read.ratios.values[-1][1] / worth)
    return Rivals(*(quantile(corners, level) for level in (USUAL, RARE)), *map(float, ends))


def preferred(
    terms: MethodTerms, method: Method, made: Callable[[Method], MethodTerms]
) -> tuple[Method, MethodTerms]:
    """Return the default method, or in its place the one that needs no clipping, with its terms.

    Args:
        terms: Those of the default.
        method: The default.
        made: From another method to its terms.
    """
    row = next((row for row in terms.query.methods if row.name == Additive.name), None)
    if row is None:
        return method, terms
    grown = made(row)
    of_share = next((part.of_share for part in terms.query.parts if part.name == "sum"), Fraction(1))
    why = better_than_clip(replace(grown, share=grown.share * of_share))
    return (row, replace(grown, why=why)) if why else (method, terms)


def better_than_clip(terms: MethodTerms) -> str:
    """Return in words why additive noise is better than ``clip``; empty where it is not."""
    found = rivals(terms)
    if found is None or terms.measure is None or not found.additive_wins():
        return ""
    round_to = float(terms.measure.round_to)
    usual, rare, scale = (far * round_to for far in (found.usual, found.rare, found.scale()))
    return (
        f"budgets grow with {shown_name(terms.measure.column)}: half of the draws are within {usual:,.3g}, "
        f"19 of 20 within {rare:,.3g}, while clip would need noise of scale {scale:,.3g} for a table that "
        "ends two thirds of the way up, in octaves"
    )


def _grows(terms: MethodTerms, measure: Measure) -> bool:
    """Say whether the largest values have larger budgets than others; in one look, as most policies fall."""
    ranges = ranges_of(terms.bounds)
    if measure.column not in terms.policy.columns & ranges.keys():
        return False
    ends = [sorted((end, end / 2)) for end in (measure.low, measure.high) if abs(end) == measure.largest]
    round_to = float(measure.round_to)
    tops = (
        bound(terms.policy.expression, {**ranges, measure.column: Interval(low * round_to, high * round_to)})
        for low, high in ends
    )
    return all(not top.empty and top.low > 2 * terms.levels.least for top in tops)
