"""Choose the second round's cut from the first round's estimates: least noise and loss together."""

from __future__ import annotations

import math
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.local.protocols.counting import DomainCounts
from prdp.local.protocols.protocol import Terms
from prdp.local.protocols.summing import RatioGrid

_MEAN_ERROR = math.sqrt(2 / math.pi)
"""The expected size of a normal variable of deviation 1."""


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
    """Return the clipping slope at which noise and what is cut, by the masses, are least together."""
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
    return min(candidates, key=error)
