"""Answer a query truly, on a stand-in alone."""

from __future__ import annotations

from fractions import Fraction

from prdp.methods import Chosen
from prdp.plan.methods import Options
from prdp.plan.queries import Query
from prdp.tables.groups import Groups
from prdp.tables.join import Join
from prdp.tables.opened import reader_of
from prdp.tables.table import Table
from prdp.testing.simulate import refuse_unless_stand_in
from prdp.testing.truth import truths


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
