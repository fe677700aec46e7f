"""Quantiles, read from a histogram of the local model: nothing is asked again, so they cost nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from prdp.declare.exact import Exact
from prdp.errors import InvalidRequest
from prdp.local.analyst.estimate import Estimate, Part, probability
from prdp.local.client.facts import listed
from prdp.local.protocols.categories import Bins

_BIAS = (
    "Quantiles are those of the clients whose budgets are heard and whose values lie within the edges; if "
    "others have larger or smaller values, the quantile is off either way. Within a bin, values are taken "
    "to lie evenly."
)

_LOUDER = 2.0
"""How many deviations the clients within the edges must come to, so that a quantile is not mere noise."""


def quantiles(histogram: Estimate, bins: Bins, parts: Sequence[float | Exact]) -> tuple[Estimate, ...]:
    """Return quantiles from a histogram's estimate, each with the deviation that the counts' noise makes.

    Negative counts are taken for none; within a bin, values are taken to lie evenly.

    >>> from fractions import Fraction
    >>> ages = Bins("age", (0, 10, 20))
    >>> halves = tuple(Part(label, 20.0, deviation=0.1) for label in ages.labels)
    >>> found = Estimate("ages", 40.0, 0.1, 40, Fraction(1), "framework", parts=halves)
    >>> [estimate.value for estimate in quantiles(found, ages, (0.25, "1/2"))]
    [5.0, 10.0]

    Args:
        histogram: The estimate of ``frequencies(bins, ...)``.
        bins: Those bins.
        parts: Which quantiles, such as ``(0.25, "1/2")``.
    """
    if tuple(part.label for part in histogram.parts) != bins.labels:
        raise InvalidRequest(
            f"this estimate, {histogram.question!r}, is not the histogram of these bins: its parts are "
            "called otherwise."
        )
    wanted = [probability(part, "parts") for part in listed(parts, "parts", "(0.25, 0.5)")]
    return tuple(_quantile(histogram, bins, part) for part in wanted)


def _quantile(histogram: Estimate, bins: Bins, part: float) -> Estimate:
    total = math.fsum(part.value for part in histogram.parts)
    noise = math.hypot(*(part.deviation for part in histogram.parts))
    unheard = histogram.unheard
    if not unheard and total <= _LOUDER * noise:
        unheard = "no value within the edges was heard: too few clients"
    value, deviation = math.nan, math.inf
    if not unheard:
        value, deviation = _read_off(histogram.parts, [float(edge) for edge in bins.edges], part)
    return replace(
        histogram, question=f"{part:g} quantile of {bins.column}", value=value, deviation=deviation,
        parts=(), bias=_BIAS, unheard=unheard,
    )  # fmt: skip


def _read_off(parts: Sequence[Part], edges: Sequence[float], wanted: float) -> tuple[float, float]:
    """Return a quantile and its deviation to first order: that of the count below it, less its own part."""
    counts = [max(0.0, part.value) for part in parts]
    below = wanted * math.fsum(counts)
    for place, (count, (low, high)) in enumerate(zip(counts, pairwise(edges), strict=True)):
        last = not any(counts[place + 1 :])
        if count > 0 and (below <= count or last):
            inside = min(1.0, below / count)
            weights = [1.0] * place + [inside] + [0.0] * (len(parts) - place - 1)
            noise = (part.deviation * (weight - wanted) for part, weight in zip(parts, weights, strict=True))
            return low + (high - low) * inside, (high - low) / count * math.hypot(*noise)
        below -= count
    return math.nan, math.inf
