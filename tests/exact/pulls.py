"""How often clipping pulls an answer further than it says, by the exact chances of every point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from prdp.cells.summary import Summary
from prdp.mechanisms._candidates import Points
from prdp.mechanisms.clip import Clip
from prdp.release.bias import Clipping
from prdp.testing.exact_loss import flip_probabilities


def chance_of_more(
    summary: Summary,
    clip: Clip,
    bound_of: Callable[[Clipping], Fraction | None],
    tail_factor: Fraction,
) -> float:
    """Return how often the pull of records that do not reach too high passes a bound.

    Args:
        summary: The records' cells.
        clip: The mechanism, whose tunings are all one and the same.
        bound_of: The bound, from what is public about what was clipped.
        tail_factor: Up to how many times their cap records are taken to reach.
    """
    _, tuning = clip.finder.tunings[0]
    law: Any = clip.law(summary, Fraction(1)).laws[0]
    points = Points.spanning(summary, tuning.stride)
    failures = 0.0
    for place, ball in enumerate(flip_probabilities(law.first)):
        bound = bound_of(replace(clip.clipping(summary, Fraction(1), 0, place), blind=False))
        assert bound is not None
        allowed = tail_factor * points.per_quantum(place)
        within = [cell for cell in summary.cells if cell.key.high <= allowed * cell.key.quanta]
        lost = sum(cell.total - cell.clipped(points.cap(place, cell.key.quanta)) for cell in within)
        failures += float(ball.mid()) if lost > bound else 0.0
    return failures
