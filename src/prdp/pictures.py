"""Pictures of policies and accounts, in one style; matplotlib is loaded when one is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

from prdp.errors import InvalidRequest
from prdp.ledger.account import Ledger
from prdp.policy import Policy
from prdp.release import style
from prdp.release.release import Release
from prdp.schema import Bounds

_POINTS = 600


class DrawnTable(Protocol):
    """Declarations of a table: of an open one, or of a project's facts."""

    @property
    def policy(self) -> Policy:
        """The policy within the bounds."""

    @property
    def bounds(self) -> Bounds:
        """The public bounds of number columns."""


def plot_policy(
    table: DrawnTable, *, column: str | None = None, release: Release | None = None, ax: Any = None
) -> Any:
    """Draw the policy of an open table over one of its columns, and return matplotlib's axes.

    It needs ``pip install 'prdp[plot]'``. Other columns are at the middle of their bounds.

    Args:
        table: What was opened.
        column: Over which column; by default the only one.
        release: An answer; from where on records counted for less in it is marked.
        ax: Where to draw; by default, in a figure of its own.
    """
    if not hasattr(table, "bounds"):
        raise InvalidRequest(
            f"plot_policy draws the policy of an open table, over its bounds, and this is a "
            f"{type(table).__name__}: give what prdp.open returned."
        )
    policy, bounds = table.policy.shown, table.bounds
    drawn = _column(policy, bounds, column)
    panel = style.axes()[0] if ax is None else ax
    low = float(bounds[drawn][0])
    values, budgets = zip(*policy_curve(table, drawn), strict=True)
    shown = [math.nan if budget is None else budget for budget in budgets]
    panel.plot(values, shown, color=style.BLUE, linewidth=2)
    for level in _octaves(policy):
        panel.axhline(level, color=style.GREY, linewidth=0.4, zorder=0)
    clipped_at = None if release is None else _clipped_at(release, drawn)
    if clipped_at is not None:
        panel.axvline(clipped_at, color=style.ORANGE, linewidth=1.5, linestyle="--")
        panel.annotate(
            " counted for less from here", (clipped_at, 1), xycoords=("data", "axes fraction"), va="top"
        )
    if low >= 0:
        panel.set_xscale("log")
    if any(budget for budget in budgets):
        panel.set_yscale("log")
    name = "E" if table.policy.stated is None else "P"
    style.dress(panel, f"{name} = {policy.text}", drawn, "budget of a record")
    return panel


def policy_curve(table: DrawnTable, column: str) -> list[tuple[float, float | None]]:
    """Return points of the policy over a bounded column; other columns are at the middle of their bounds."""
    bounds = table.bounds
    low, high = (float(end) for end in bounds[column])
    others = {name: float(sum(bounds[name])) / 2 for name in table.policy.columns if name in bounds}
    return [(value, table.policy.budget({**others, column: value})) for value in _spread(low, high)]


def _clipped_at(release: Release, column: str) -> float | None:
    """Return from which value of a column on records counted for less, where a release says so."""
    ends = release.clipped_from
    alone = len(ends) == 1 and ends[0].column == column and ends[0].above
    return ends[0].value if alone else None


def _column(policy: Policy, bounds: Bounds, column: str | None) -> str:
    known = sorted(name for name in policy.columns or bounds if name in bounds)
    if column is None and known and (len(known) == 1 or not policy.columns):
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


def plot_account(ledger: Ledger, ax: Any = None) -> Any:
    """Draw what was left after each charge, to those who are charged most, and return matplotlib's axes."""
    if not hasattr(ledger, "entries"):
        raise InvalidRequest(
            f"plot_account draws a ledger, and this is a {type(ledger).__name__}: give table.ledger."
        )
    panel = style.axes()[0] if ax is None else ax
    remaining = [Fraction(1)]
    for entry in ledger.entries:
        remaining.append(max(Fraction(0), remaining[-1] - entry.share))
    remaining[-1] = ledger.remaining  # by region, less may be spent than the charges add up to
    panel.step(
        range(len(remaining)),
        [100 * float(part) for part in remaining],
        where="post",
        color=style.BLUE,
        linewidth=2,
    )
    panel.plot([len(remaining) - 1], [100 * float(remaining[-1])], "o", color=style.ORANGE)
    panel.set_ylim(0, 105)
    panel.locator_params(axis="x", integer=True)
    style.dress(
        panel, f"{100 * float(ledger.remaining):.3g} % of every budget is left", "charges", "left, in %"
    )
    return panel
