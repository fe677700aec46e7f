"""Warn of budgets so large that a record they belong to is hardly protected."""

from __future__ import annotations

import math

from prdp.cli.printing import number
from prdp.policy import Policy

LARGE = 10
"""Above it a record is hidden from a casual look and from no other: docs/guide/policies.md."""


def warned(policy: Policy) -> str:
    """Return what is said of a policy whose largest budget is too large; empty of one whose is not.

    >>> warned(Policy("1 / visits", at_least="1/8", at_most=1))
    ''
    >>> warned(Policy("100 / visits", at_least="1/8", at_most=100))
    'budgets of up to 100 protect little: one record changes chances up to 2.688e43-fold. Set at_most.'
    """
    most = float(policy.levels.at_most)
    if most <= LARGE:
        return ""
    factor = f"up to {number(math.exp(most), 4)}-fold" if most < 700 else "without limit"
    return (
        f"budgets of up to {number(most)} protect little: one record changes chances {factor}. Set at_most."
    )
