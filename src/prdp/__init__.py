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
When nobody is trusted with the records:
    prdp.local
For experiments and tests on stand-ins, never for publication:
    plan, prdp.testing
"""

from importlib import import_module
from typing import TYPE_CHECKING

from prdp import errors
from prdp.errors import (
    BudgetExhausted,
    EngineFailure,
    InvalidRequest,
    LedgerError,
    PrdpError,
    RecordsLeftOut,
)
from prdp.version import __version__

if TYPE_CHECKING:
    from prdp import adapters as adapters
    from prdp import local as local
    from prdp import testing as testing
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
    from prdp.testing import plan
else:
    _ROOMS = ("adapters", "local", "testing")
    _HOMES = {
        "Count": "prdp.query",
        "Distinct": "prdp.query",
        "DurableLedger": "prdp.ledger",
        "Edges": "prdp.joins.graph",
        "ForeignRelease": "prdp.foreign",
        "Graph": "prdp.joins.graph",
        "Groups": "prdp.table",
        "Join": "prdp.joins.join",
        "Ledger": "prdp.ledger",
        "Links": "prdp.joins.links",
        "Max": "prdp.query",
        "Mean": "prdp.query",
        "MemoryLedger": "prdp.ledger",
        "Min": "prdp.query",
        "Paths": "prdp.joins.graph",
        "Policy": "prdp.policy",
        "Quantile": "prdp.query",
        "Records": "prdp.joins.links",
        "Release": "prdp.release",
        "ReleaseTable": "prdp.release_table",
        "Stars": "prdp.joins.graph",
        "Std": "prdp.query",
        "Sum": "prdp.query",
        "Table": "prdp.table",
        "Triangles": "prdp.joins.graph",
        "Variance": "prdp.query",
        "bins": "prdp.grouping",
        "date_trunc": "prdp.grouping",
        "open": "prdp.table",
        "open_graph": "prdp.joins.graph",
        "open_join": "prdp.joins.join",
        "open_links": "prdp.joins.links",
        "plan": "prdp.testing",
    }

    def __getattr__(name: str) -> object:
        """Load a name when it is first asked for: a client of ``prdp.local`` needs no engine."""
        if name in _ROOMS:
            return import_module(f"prdp.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'prdp' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found

    def __dir__() -> list[str]:
        """Return the public names, loaded or not."""
        return sorted(__all__)


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
    "local",
    "open",
    "open_graph",
    "open_join",
    "open_links",
    "plan",
    "testing",
]
