"""Per-record differential privacy.

For saying what each record may lose:
    Policy
For asking:
    open, Table, Groups, bins, date_trunc, adapters
    Count, Sum, Mean, Variance, Std, Max, Min, Quantile, Distinct
For asking of several tables and of graphs:
    open_join, Join, open_links, Links, Records, open_graph, Graph, Edges, Paths, Stars, Triangles
For reading the answers and the account:
    Release, ReleaseTable, ForeignRelease, Ledger, DurableLedger, MemoryLedger
When something is wrong:
    errors, PrdpError, InvalidRequest, BudgetExhausted, LedgerError, EngineFailure, RecordsLeftOut
For experiments and tests, never for publication:
    plan, prdp.testing
"""

from importlib import import_module
from typing import Any

from prdp import adapters, errors
from prdp.errors import (
    BudgetExhausted,
    EngineFailure,
    InvalidRequest,
    LedgerError,
    PrdpError,
    RecordsLeftOut,
)
from prdp.foreign import ForeignRelease
from prdp.grouping import bins, date_trunc
from prdp.joins.graph import Edges, Graph, Paths, Stars, Triangles, open_graph
from prdp.joins.join import Join, open_join
from prdp.joins.links import Links, Records, open_links
from prdp.ledger import DurableLedger, Ledger, MemoryLedger
from prdp.policy import Policy
from prdp.query import Count, Distinct, Max, Mean, Min, Quantile, Std, Sum, Variance
from prdp.release import Release
from prdp.release_table import ReleaseTable
from prdp.table import Groups, Table, open  # noqa: A004  (prdp.open is the door)
from prdp.version import __version__


def __getattr__(name: str) -> Any:
    """Load ``prdp.testing`` when it is first asked for: real releases never need it."""
    if name == "testing":
        return import_module("prdp.testing")
    if name == "plan":
        return import_module("prdp.testing").plan
    raise AttributeError(f"module 'prdp' has no attribute {name!r}")


__all__ = [
    "BudgetExhausted",
    "Count",
    "Distinct",
    "DurableLedger",
    "Edges",
    "EngineFailure",
    "ForeignRelease",
    "Graph",
    "Groups",
    "InvalidRequest",
    "Join",
    "Ledger",
    "LedgerError",
    "Links",
    "Max",
    "Mean",
    "MemoryLedger",
    "Min",
    "Paths",
    "Policy",
    "PrdpError",
    "Quantile",
    "Records",
    "RecordsLeftOut",
    "Release",
    "ReleaseTable",
    "Stars",
    "Std",
    "Sum",
    "Table",
    "Triangles",
    "Variance",
    "__version__",
    "adapters",
    "bins",
    "date_trunc",
    "errors",
    "open",
    "open_graph",
    "open_join",
    "open_links",
]
