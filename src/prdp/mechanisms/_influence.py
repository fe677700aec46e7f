"""Bound the steps that a unit of budget can stand for, in each of the paper's domains.

For a sum the paper scales a domain's noise by the largest v / E(r) that the *universe* allows there. It is
bounded here by interval arithmetic over the public bounds; no record takes part. The promise does
not depend on it (contributions are clipped at it), only the accuracy does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.expressions.intervals import Interval, bound
from prdp.levels import Levels
from prdp.policy import Policy
from prdp.schema import Bounds

_PER_OCTAVE = 64  # an influence is too large by at most 2^(1/64), or 1.1 %: noise and time are both small


def count_influences(levels: Levels) -> tuple[Fraction, ...]:
    """Return, for each domain, the inverse of its smallest budget: a record counts 1."""
    return tuple(
        1 / (levels.domain_quanta(domain) * levels.quantum) for domain in range(1, levels.domains + 1)
    )


def sum_influences(policy: Policy, levels: Levels, bounds: Bounds, measure: Measure) -> tuple[Fraction, ...]:
    """Return, for each domain, a bound on the largest |value| / budget in it, in steps."""
    least = count_influences(levels)
    most = [measure.smallest * inverse for inverse in least]
    reaches = [0] * len(least)
    ranges = {name: Interval(float(low), float(high)) for name, (low, high) in bounds.items()}
    for low, high in _pieces(measure):
        round_to = float(measure.round_to)
        budgets = bound(
            policy.expression, ranges | {measure.column: Interval(low * round_to, high * round_to)}
        )
        if budgets.empty or budgets.high < levels.least:
            continue
        reach = math.ceil(max(abs(low), abs(high)))
        first, last = (_domain(levels, end) for end in (budgets.low, budgets.high))
        level, inverse = levels.index(budgets.low), least[first - 1]
        if level is not None:  # the budget as it is after rounding, or no record would be reached
            inverse = min(inverse, 1 / (levels.quanta(level) * levels.quantum))
        most[first - 1] = max(most[first - 1], reach * inverse)
        for domain in range(first, last):  # from the next one on, all budgets are above its lower end
            reaches[domain] = max(reaches[domain], reach)
    return tuple(
        max(known, reach * inverse) for known, reach, inverse in zip(most, reaches, least, strict=True)
    )


def _domain(levels: Levels, budget: float) -> int:
    return levels.domain(levels.quanta_below(max(budget, levels.least)))


def _pieces(measure: Measure) -> Iterator[tuple[float, float]]:
    """Yield the values between the bounds in pieces that are short on a logarithmic scale."""
    ratio = 2 ** (1 / _PER_OCTAVE)
    for sign, least, most in (
        (1, max(measure.low, 1), measure.high),
        (-1, max(-measure.high, 1), -measure.low),
    ):
        low = float(least)
        while low <= most:
            high = min(low * ratio, float(most))
            yield (low, high) if sign > 0 else (-high, -low)
            low = math.nextafter(high, math.inf) if high < most else math.inf
