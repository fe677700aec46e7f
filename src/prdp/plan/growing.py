"""Whether a sum is better answered by noise that needs no clipping: from policy, bounds and share alone."""

from __future__ import annotations

import math
from dataclasses import replace

from prdp.cells.measure import Measure
from prdp.cells.ratios import possible_ratios
from prdp.expressions.intervals import Interval, bound
from prdp.expressions.spelling import shown_name
from prdp.grids import PER_OCTAVE
from prdp.mechanisms._shape import RARE, USUAL, corners_of, quantile
from prdp.mechanisms.clip import Clip
from prdp.noise.spread import log
from prdp.plan.methods import MethodTerms, additive
from prdp.plan.reads import CellRead
from prdp.policy import ranges_of

_PLACE = 0.5
_LAPLACE = {USUAL: math.log(2), RARE: math.log(20)}
"""How far Laplace noise of scale 1 strays."""


def better_than_clip(terms: MethodTerms) -> str:
    """Return in words why additive noise is better than ``clip``; empty where it is not, or nothing is known.

    ``clip`` adds noise of at least b/share, b the ratio of value to budget that the table's own records end
    at: nobody knows it beforehand, but between which ratios it lies. Additive noise must stray less than
    that for a ratio in between, usually and rarely.
    """
    measure = terms.measure
    if measure is None or measure.expression is not None or not _grows(terms, measure):
        return ""
    read = CellRead(terms.policy, terms.levels, terms.bounds, replace(measure, per_octave=PER_OCTAVE), None)
    found = possible_ratios(read)
    if found is None or Clip().tiers(read.empty) is not None:
        return ""
    worth = terms.share * terms.levels.quantum
    point = math.exp(
        (1 - _PLACE) * log(found.values[0][0] / worth) + _PLACE * log(found.values[-1][1] / worth)
    )
    corners = corners_of(additive(terms).noise(measure.largest, worth))
    strays = {level: quantile(corners, level) for level in (USUAL, RARE)}
    if any(strays[level] >= point * _LAPLACE[level] for level in strays):
        return ""
    usual, rare, scale = (float(far * float(measure.grain)) for far in (*strays.values(), point))
    return (
        f"budgets grow with {shown_name(measure.column)}: half of the draws are within {usual:,.3g} and 19 "
        f"of 20 within {rare:,.3g}, while clip would need noise of scale {scale:,.3g} for a table that ends "
        "halfway through the bounds"
    )


def _grows(terms: MethodTerms, measure: Measure) -> bool:
    """Say whether the largest values have larger budgets than others; in one look, as most policies fall."""
    ranges = ranges_of(terms.bounds)
    if measure.column not in terms.policy.columns & ranges.keys():
        return False
    ends = [sorted((end, end / 2)) for end in (measure.low, measure.high) if abs(end) == measure.largest]
    grain = float(measure.grain)
    tops = (
        bound(terms.policy.expression, {**ranges, measure.column: Interval(low * grain, high * grain)})
        for low, high in ends
    )
    return all(not top.empty and top.low > 2 * terms.levels.least for top in tops)
