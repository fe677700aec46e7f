"""Count, on a stand-in that looks like the real records, what would be left out, moved or unreadable."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from prdp.declare.exact import spelled
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.plan.queries import Count
from prdp.projects.project import Project
from prdp.tables.table import Table
from prdp.testing.true_answers import true_answers


def sample_counts(project: Project, name: str, like: Any) -> list[tuple[str, int]]:
    """Return, in words and numbers, what of a stand-in's records a table's declarations lose or move."""
    declared = project.open(name, stand_in=like)
    everybody = project.with_policy(name, {"policy": "1"}).open(name, stand_in=like)
    if not isinstance(declared, Table) or not isinstance(everybody, Table):
        raise InvalidRequest(f"{name} is a join: --like looks at single tables.")
    whole, with_budget = _count(everybody), _count(declared)
    found = [("records", whole), ("without a budget, left out of every answer", whole - with_budget)]
    for column, (low, high) in declared.bounds.items():
        found += [
            (f"{column} empty or unreadable", _count(everybody.where(f"{quoted(column)} IS NULL"))),
            (f"{column} moved into its bounds", _count(everybody.where(_outside(column, low, high)))),
        ]
    return found


def _outside(column: str, low: Any, high: Any) -> str:
    ends = spelled(Fraction(low)), spelled(Fraction(high))
    return f"{quoted(column)} < {ends[0]} OR {quoted(column)} > {ends[1]}"


def _count(table: Table) -> int:
    (true,) = true_answers(table, Count())
    return int(true)
