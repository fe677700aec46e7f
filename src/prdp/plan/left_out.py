"""Which records no answer is about, in words that can stand beside one: all of it public."""

from __future__ import annotations

import math
from functools import lru_cache

from prdp.expressions.intervals import Interval
from prdp.expressions.regions import Threshold, invalid_regions
from prdp.expressions.spelling import shown_name
from prdp.levels import Levels
from prdp.policy import Policy, shown_value

_FARTHEST = 1e300
_MOST_SHOWN = 3


@lru_cache(maxsize=256)
def leaves_out(policy: Policy, levels: Levels, *, numbers: bool = True) -> str:
    """Return which records are left out, wherever their values lie; ``numbers``: the policy reads such alone.

    >>> policy = Policy("10000 / balance", at_least="1/100", at_most=100)
    >>> leaves_out(policy, policy.levels)
    'records without a budget or with one below 0.01: balance up to 0 or above 1e6'
    >>> one = Policy.constant(1)
    >>> leaves_out(one, one.levels)
    ''
    """
    if not policy.columns:
        return ""
    least = levels.least
    said = f"records without a budget or with one below {shown_value(least)}"
    if len(policy.columns) > 1 or not numbers:
        return said
    (name,) = policy.columns
    threshold = Threshold(lambda value: isinstance(value, float) and value > 0 and value >= least)
    regions = invalid_regions(policy.expression, name, Interval(-_FARTHEST, _FARTHEST), threshold)
    if not regions:
        return f"records without {shown_name(name)}"
    shown = " or ".join(map(_in_words, regions[:_MOST_SHOWN]))
    more = " and elsewhere" if len(regions) > _MOST_SHOWN else ""
    return f"{said}: {shown_name(name)} {shown}{more}"


def _in_words(region: Interval) -> str:
    """Return a region in words; what goes on to the farthest number has no end."""
    if region.low <= -_FARTHEST:
        return f"up to {shown_value(math.nextafter(region.high, math.inf) + 0.0)}"
    if region.high >= _FARTHEST:
        return f"above {shown_value(math.nextafter(region.low, -math.inf))}"
    if region.low == region.high:
        return f"= {shown_value(region.low)}"
    return f"from {shown_value(region.low)} to {shown_value(region.high)}"
