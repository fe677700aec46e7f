"""An account as a picture: what is left of every budget after each charge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from prdp.errors import InvalidRequest
from prdp.ledger.account import Ledger
from prdp.release import style


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
