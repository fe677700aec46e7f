"""Return what plans read of a stand-in: cells, edges and counts, for experiments on public records."""

from __future__ import annotations

from typing import Any

from prdp.plan.plan import Plan
from prdp.plan.reads import Read
from prdp.tables.base import Opened, reader_of


def raw_cells(opened: Opened, asked: Plan | Read) -> tuple[Any, ...]:
    """Return what a read finds in a synthetic table, group by group; of a plan, its first query's."""
    read = asked.queries[0].read if isinstance(asked, Plan) else asked
    groups: tuple[Any, ...] = read.taken(reader_of(opened).read(read))
    return groups
