"""Per-record differential privacy.

For saying what each record may lose:
    Policy
For asking:
    open, Table, Count, Sum, Max, Min
For asking of several tables and of graphs:
    open_join, Join, open_links, Links, Records, open_graph, Graph, Edges, Paths, Stars, Triangles
For reading the answers and the account:
    Release, Ledger, DurableLedger, MemoryLedger
When something is wrong:
    errors, PrdpError, InvalidRequest, BudgetExhausted, LedgerError, EngineFailure, RecordsLeftOut
For experiments and tests, never for publication:
    prdp.testing
"""

from importlib import import_module
from types import ModuleType

from prdp import errors
from prdp.errors import (
    BudgetExhausted,
    EngineFailure,
    InvalidRequest,
    LedgerError,
    PrdpError,
    RecordsLeftOut,
)
from prdp.joins.graph import Edges, Graph, Paths, Stars, Triangles, open_graph
from prdp.joins.join import Join, open_join
from prdp.joins.links import Links, Records, open_links
from prdp.ledger import DurableLedger, Ledger, MemoryLedger
from prdp.policy import Policy
from prdp.query import Count, Max, Min, Sum
from prdp.release import Release
from prdp.table import Table, open  # noqa: A004  (prdp.open is the door)
from prdp.version import __version__


def __getattr__(name: str) -> ModuleType:
    """Load ``prdp.testing`` when it is first asked for: real releases never need it."""
    if name == "testing":
        return import_module("prdp.testing")
    raise AttributeError(f"module 'prdp' has no attribute {name!r}")


__all__ = [
    "BudgetExhausted",
    "Count",
    "DurableLedger",
    "Edges",
    "EngineFailure",
    "Graph",
    "InvalidRequest",
    "Join",
    "Ledger",
    "LedgerError",
    "Links",
    "Max",
    "MemoryLedger",
    "Min",
    "Paths",
    "Policy",
    "PrdpError",
    "Records",
    "RecordsLeftOut",
    "Release",
    "Stars",
    "Sum",
    "Table",
    "Triangles",
    "__version__",
    "errors",
    "open",
    "open_graph",
    "open_join",
    "open_links",
]
