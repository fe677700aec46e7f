"""What plans read of a stand-in: cells, edges and counts as they are, for experiments on public records."""

from __future__ import annotations

from typing import Any

from prdp.plan.plan import Plan
from prdp.tables.opened import Opened, reader_of


def raw_cells(opened: Opened, plan: Plan) -> tuple[Any, ...]:
    """Return what is read of a stand-in for a plan's first query, group by group. It protects nobody."""
    groups: tuple[Any, ...] = reader_of(opened).read(plan.queries[0].read)
    return groups
