"""Count, on a stand-in that looks like the real records, what would be left out, moved or unreadable."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from prdp.declare.exact import spelled
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.plan.queries import Count
from prdp.projects.project import Project
from prdp.tables.join import Join
from prdp.tables.table import Table
from prdp.testing.truth import true_answers

LEFT_OUT = "without a budget, left out of every answer"


def sample_counts(project: Project, name: str, like: Any) -> list[tuple[str, int]]:
    """Return, in words and numbers, what of a stand-in's records a table's declarations lose or move."""
    declared, everybody = _opened(project, name, like)
    if not isinstance(declared, Table) or not isinstance(everybody, Table):
        raise InvalidRequest(f"{name} is a join: --like looks at single tables.")
    whole, with_budget = _count(everybody), _count(declared)
    found = [("records", whole), (LEFT_OUT, whole - with_budget)]
    for column, (low, high) in declared.bounds.items():
        found += [
            (f"{column} empty or unreadable", _count(everybody.filter(f"{quoted(column)} IS NULL"))),
            (f"{column} moved into its bounds", _count(everybody.filter(_outside(column, low, high)))),
        ]
    return found


def left_out_of(project: Project, name: str, like: Any) -> str:
    """Say how many of a stand-in's records have no budget; empty where all have one, and for joins."""
    declared, everybody = _opened(project, name, like)
    if not isinstance(declared, Table) or not isinstance(everybody, Table):
        return ""
    whole, with_budget = _count(everybody), _count(declared)
    if whole == with_budget:
        return ""
    none = f"{whole - with_budget:,} of the synthetic table's {whole:,} records"
    return f"{none} have no budget: no answer is about them."


def _opened(project: Project, name: str, like: Any) -> tuple[Table | Join, Table | Join]:
    """Open a synthetic table with the declared policy, and with one under which everybody has a budget."""
    everybody = project.with_policy(name, {"policy": "1"}).open(name, synthetic=like)
    return project.open(name, synthetic=like), everybody


def _outside(column: str, low: Any, high: Any) -> str:
    ends = spelled(Fraction(low)), spelled(Fraction(high))
    return f"{quoted(column)} < {ends[0]} OR {quoted(column)} > {ends[1]}"


def _count(table: Table) -> int:
    (true,) = true_answers(table, Count())
    return int(true)
