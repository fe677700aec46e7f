"""What is read to answer a plan, for tests that look at it."""

from __future__ import annotations

from typing import Any

from prdp.plan.plan import Plan
from prdp.tables.queryable import Opened


def found(opened: Opened, plan: Plan) -> Any:
    """Return what is read for a plan's only query and group."""
    (query,) = plan.queries
    (cells,) = opened._reader.read(query.read)
    return cells
