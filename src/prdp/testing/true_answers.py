"""Answer a query truly, on a stand-in alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from prdp.methods import Chosen
from prdp.plan.methods import Options
from prdp.plan.queries import Query
from prdp.policy import Policy
from prdp.tables.groups import Groups
from prdp.tables.join import Join
from prdp.tables.opened import reader_of
from prdp.tables.table import Table
from prdp.testing.simulate import refuse_unless_stand_in
from prdp.testing.truth import truths


def everybody(like: Table | Join | Groups) -> Table | Join | Groups:
    """Return a stand-in whose policy gives every record the same budget, so that no answer leaves one out."""
    if isinstance(like, Groups):
        table: Any = like.table
        all_records: Any = everybody(table)
        return replace(like, table=all_records)
    one = Policy.constant(1)
    return (
        replace(like, policy=one, levels=one.levels) if isinstance(like, Table) else replace(like, policy=one)
    )


def true_answers(like: Table | Join | Groups, query: Query, method: Chosen | None = None) -> list[Fraction]:
    """Return what is true of a stand-in's records that have a budget: one answer, or one a group.

    >>> import numpy
    >>> import prdp
    >>> people = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1), stand_in=True)
    >>> true_answers(people.where("age > 40"), prdp.count())
    [Fraction(1, 1)]
    """
    table, groups = (like.table, like.grouping) if isinstance(like, Groups) else (like, None)
    refuse_unless_stand_in(table, "true_answers")
    (plan,) = table.planner.plan([query], 1, groups, options=Options.of(method)).queries
    found = plan.read.taken(reader_of(table).read(plan.read))
    return [value for group in found for value in truths(plan, group)]
