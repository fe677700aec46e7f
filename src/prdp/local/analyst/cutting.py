"""Choose the second round's cut from the first round's estimates: least noise and loss together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.local.analyst.pull import Above
from prdp.local.protocols.counting import DomainCounts
from prdp.local.protocols.protocol import Terms
from prdp.local.protocols.summing import Octaves, RatioGrid

_MEAN_ERROR = math.sqrt(2 / math.pi)
"""The expected size of a normal variable of deviation 1."""

_FURTHER = Fraction(3, 2)
"""How much further than where the masses end values are cut; frozen on made-up sets."""


def full_count_budget(counted: DomainCounts, clients: int, share: float, at_most: Fraction) -> Fraction:
    """Return the budget from which on clients count in full: least noise and loss together."""
    kept = [
        (float(budget) * math.sqrt(2), max(0.0, count))
        for budget, count in zip(counted.budgets, counted.counts, strict=True)
    ][counted.first - 1 :]

    def error(budget: Fraction) -> float:
        full = share * float(budget)
        noise = _MEAN_ERROR * math.sqrt(clients) / (2 * math.sinh(min(full / 2, 300.0)))
        cut = sum(count * (1 - _weight(share * typical, full)) for typical, count in kept)
        return noise + cut

    candidates = [
        min(at_most, budget * step / 4)
        for budget in counted.budgets[counted.first - 1 :]
        for step in (4, 5, 6, 7)
    ]
    return min(candidates, key=error)


def _weight(loss: float, full: float) -> float:
    """Return (e^loss - 1)/(e^full - 1), at most 1."""
    if loss >= full:
        return 1.0
    return math.exp(loss - full) * math.expm1(-loss) / math.expm1(-full)


def clipping_slope(
    terms: Terms, measure: Measure, masses: tuple[float, ...], clients: int, share: float
) -> Fraction:
    """Return the clipping slope at which noise and what is cut, by the masses, are least together; half more.

    What lies beyond the last octave that was heard is not in the masses, and is never nothing.
    """
    ratios = RatioGrid(terms, measure)
    spent = float(terms.share)
    held = [
        (0.75 * float(ratios.slope(octave)), max(0.0, mass) / spent) for octave, mass in enumerate(masses)
    ]

    def error(slope: Fraction) -> float:
        at = float(slope)
        noise = _MEAN_ERROR * math.sqrt(2 * clients) * at / share
        return noise + sum(mass * (ratio - at) for ratio, mass in held if ratio > at)

    candidates = [ratios.slope(octave) * step / 4 for octave in range(len(masses)) for step in (3, 4)]
    return min(min(candidates, key=error) * _FURTHER, ratios.slope(ratios.count - 1))


def above_cut(
    terms: Terms, measure: Measure, masses: Octaves, slope: Fraction, budgets: Sequence[float]
) -> tuple[Above, ...]:
    """Return what the masses say of values above a cut, in values.

    A record of budget E in an octave that ends at R times the cut loses at most E · slope · (R - 1). A mass
    is Σ (e^min(loss, s·E) - 1), at least s · Σ E where no budget is above loss / s; where the policy allows a
    larger E, at least that divided by s · E / (e^loss - 1). In full: proofs/local.md.

    Args:
        terms: Of the round that measured the masses.
        measure: The column.
        masses: The estimates.
        slope: The cut.
        budgets: The largest budget that a record of each octave can have.
    """
    ratios, spent = RatioGrid(terms, measure), float(terms.share)
    loss, worth = min(1.0, spent * float(terms.levels.at_most)), float(slope * measure.grain) / spent
    found = []
    for octave, (mass, noise) in enumerate(zip(masses.totals, masses.deviations, strict=True)):
        end = float(ratios.slope(octave) / slope)
        largest = spent * budgets[octave]
        if end > 1 and largest > 0:
            unseen = max(1.0, largest / math.expm1(min(loss, largest)))
            found.append(Above(end, worth * unseen * mass, worth * unseen * noise))
    return tuple(found)


def above_top(octaves: Octaves, grain: float) -> tuple[Above, ...]:
    """Return what the sums of octaves above the last heavy one say: all of it was left out.

    >>> left = above_top(Octaves((50.0, 4.0, -9.0), (1.0, 2.0, 3.0), (True, False, False)), grain=1.0)
    >>> [(octave.end, octave.amount) for octave in left]
    [(2.0, 4.0), (4.0, -9.0)]
    """
    left = zip(octaves.totals[octaves.top + 1 :], octaves.deviations[octaves.top + 1 :], strict=True)
    return tuple(
        Above(2.0**place, grain * total, grain * noise, left_out=True)
        for place, (total, noise) in enumerate(left, start=1)
    )
