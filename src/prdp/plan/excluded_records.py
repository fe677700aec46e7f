"""Records that an answer excludes, in words that stand beside it: all of it public."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import lru_cache

from prdp.declare.units import PrivacyUnit
from prdp.expressions.invalid_budgets import Threshold, never_valid_without
from prdp.expressions.nodes import Column, Node, walk
from prdp.expressions.spelling import shown_name
from prdp.expressions.unknown import unknown_by
from prdp.policy import Policy, ranges_of
from prdp.schema import Bounds

_MAX_SHOWN = 3


def leaves_out(
    policy: Policy,
    bounds: Bounds,
    whole: Collection[str] = (),
    unit: PrivacyUnit | None = None,
    among: Sequence[Node] = (),
) -> str:
    """Return which records are left out, by a policy that was fitted to its table; empty where none can be.

    A column may be unknown unless its source declares that it is not. Of what known values have no budget,
    only values within the bounds are looked at.

    >>> leaves_out(Policy("CASE WHEN cost < 5000 THEN 4 ELSE 1 END"), {})
    'leaves out records without cost, to which the policy gives no budget'
    >>> leaves_out(Policy("10 - age", at_least="1/2"), {"age": (Fraction(0), Fraction(12))}, whole={"age"})
    'leaves out records without age or with age from 10 to 12, to which the policy gives no budget'
    >>> leaves_out(Policy("10000 / greatest(coalesce(cost, 0), 100)"), {})
    ''
    >>> leaves_out(Policy("CASE WHEN cost IS NULL THEN 0 ELSE 1 END"), {})
    'leaves out records without cost, to which the policy gives no budget'

    Args:
        policy: The policy.
        bounds: The public bounds of the columns that it reads.
        whole: The columns that hold whole numbers only.
        unit: Who is protected with all their rows; None where a row is a record.
        among: What must hold, or have a value, of a record that is asked about.
    """
    unknown = unknown_by(policy.expression, among)
    unknown += _invalid_without(policy, bounds, among, unknown)
    found = [_without(names) for names in unknown]
    limits = tuple((name, *bounds[name]) for name in sorted(policy.columns) if name in bounds)
    found += _without_budget(policy, limits, frozenset(whole) & policy.columns)
    if not found:
        return ""
    more = " and others" if len(found) > _MAX_SHOWN else ""
    conditions = f"{' or '.join(found[:_MAX_SHOWN])}{more}"
    return f"leaves out {_whose(unit)} {conditions}, to which the policy gives no budget"


def remedy(policy: Policy) -> str:
    """Return how a policy could give a budget to records without a value; empty where nobody is without.

    >>> remedy(Policy("10000 / cost")), remedy(Policy("1"))
    ('coalesce(cost, ...) in the policy would give them one: put a usual value there', '')
    """
    unknown = unknown_by(policy.expression)
    if not unknown:
        return ""
    names = ", ".join(map(shown_name, sorted(unknown[0])))
    return f"coalesce({names}, ...) in the policy would give them one: put a usual value there"


def _invalid_without(
    policy: Policy, bounds: Bounds, among: Sequence[Node], unknown: Collection[frozenset[str]]
) -> list[frozenset[str]]:
    """Return the columns without which a record may be asked about, and has no budget that is valid."""
    found = {frozenset((part.name,)): part for part in walk(policy.expression) if isinstance(part, Column)}
    return [
        names
        for names, column in found.items()
        if names not in unknown
        and unknown_by(column, among)
        and never_valid_without(policy.expression, column.name, ranges_of(bounds), Threshold(policy.is_valid))
    ]


def _whose(unit: PrivacyUnit | None) -> str:
    if unit is None:
        return "records"
    if unit.join is not None:
        return f"each {shown_name(unit.join.key)} of {shown_name(unit.join.private)}"
    return f"each {shown_name(unit.id)} with a row"


def _without(names: Collection[str]) -> str:
    shown = [shown_name(name) for name in sorted(names)]
    return f"without {shown[0]}" if len(shown) == 1 else f"with none of {', '.join(shown)}"


@lru_cache(maxsize=256)
def _without_budget(
    policy: Policy, bounds: tuple[tuple[str, Fraction, Fraction], ...], whole: frozenset[str]
) -> list[str]:
    """Return the values within bounds that have no budget; of several columns, that there are some."""
    sentence = policy.left_out({name: (low, high) for name, low, high in bounds}, whole)
    if sentence is None:
        return []
    which = sentence.partition(": for example")[0].partition(" leaves out records ")[2]
    return [which if which.startswith("with ") else "with some values"]
