"""A policy of one column as a picture: its curve, the octaves of budgets, and where clipping began."""

from __future__ import annotations

import math
from typing import Any

from prdp.errors import InvalidRequest
from prdp.policy import Policy
from prdp.release import style
from prdp.schema import Bounds

_POINTS = 600


def plot_policy(
    policy: Policy,
    bounds: Bounds,
    *,
    column: str | None = None,
    clipped_at: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw a policy's budget over one of its columns, and return matplotlib's axes.

    Args:
        policy: A policy that is fitted to a table, as an open table has it.
        bounds: The public bounds of its columns; other columns than the drawn one are at their middle.
        column: Over which column; by default the only one.
        clipped_at: The value from which on records counted for less, as a release says it.
        ax: Where to draw; by default, in a figure of its own.
    """
    drawn = _column(policy, bounds, column)
    panel = style.axes()[0] if ax is None else ax
    low, high = (float(end) for end in bounds[drawn])
    values = _spread(low, high)
    others = {name: float(sum(bounds[name])) / 2 for name in policy.columns if name in bounds}
    budgets = [policy.budget({**others, drawn: value}) for value in values]
    shown = [math.nan if budget is None else budget for budget in budgets]
    panel.plot(values, shown, color=style.BLUE, linewidth=2)
    for level in _octaves(policy):
        panel.axhline(level, color=style.GREY, linewidth=0.4, zorder=0)
    if clipped_at is not None:
        panel.axvline(clipped_at, color=style.ORANGE, linewidth=1.5, linestyle="--")
        panel.annotate(
            " counted for less from here", (clipped_at, 1), xycoords=("data", "axes fraction"), va="top"
        )
    if low >= 0:
        panel.set_xscale("log")
    if any(budget for budget in budgets):
        panel.set_yscale("log")
    style.dress(panel, f"E = {policy.text}", drawn, "budget of a record")
    return panel


def _column(policy: Policy, bounds: Bounds, column: str | None) -> str:
    known = sorted(name for name in policy.columns if name in bounds)
    if column is None and len(known) == 1:
        return known[0]
    if column not in known:
        raise InvalidRequest(
            f"the policy {policy.text!r} is drawn over one of its bounded columns: column={known[0]!r}."
            if known
            else f"the policy {policy.text!r} reads no bounded column: there is no curve to draw."
        )
    return column


def _spread(low: float, high: float) -> list[float]:
    """Return values over a range, evenly in the logarithm where it has one sign."""
    if low >= 0 and high > 0:
        start = low or min(1.0, high / 1e6)
        return [start * math.pow(high / start, place / _POINTS) for place in range(_POINTS + 1)]
    return [low + (high - low) * place / _POINTS for place in range(_POINTS + 1)]


def _octaves(policy: Policy) -> list[float]:
    levels = policy.levels
    return [float(levels.at_most) / 2**octave for octave in range(levels.domains + 1)]
