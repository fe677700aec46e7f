"""Per-record differential privacy.

>>> import numpy
>>> import prdp
>>> policy = prdp.Policy("100 / balance", at_most=1)  # the larger a balance, the better it is hidden
>>> accounts = {"balance": numpy.array([120, 45, 900])}
>>> table = prdp.open(accounts, policy=policy, bounds={"balance": (0, 1000)})
>>> answer = table.count(share="1/4")  # print(answer) says how sure it is
>>> table.ledger.left
Fraction(3, 4)

For saying what each record may lose:
    Policy
For asking:
    open, Table, Groups, bins, date_trunc, adapters
    Count, Sum, Mean, Variance, Std, Max, Min, Quantile, CountDistinct
For asking of several tables and of graphs:
    open_join, Join, open_links, Links, Records, open_graph, Graph, Edges, Paths, Stars, Triangles
For reading the answers and the account:
    Release, ReleaseTable, CustomRelease, Ledger, DurableLedger, MemoryLedger
When something is wrong:
    errors, PrdpError, InvalidRequest, BudgetExhausted, LedgerError, EngineFailure, RecordsLeftOut
When nobody is trusted with the records:
    prdp.local
For experiments and tests on stand-ins, never for publication:
    share_for, prdp.testing
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
    from prdp.declare.groups import bins, date_trunc
    from prdp.ledger import DurableLedger, Ledger, MemoryLedger
    from prdp.plan.queries import Count, CountDistinct, Max, Mean, Min, Quantile, Std, Sum, Variance
    from prdp.policy import Policy
    from prdp.release.custom import CustomRelease
    from prdp.release.release import Release
    from prdp.release.table import ReleaseTable
    from prdp.tables.graph import Edges, Graph, Paths, Stars, Triangles, open_graph
    from prdp.tables.groups import Groups
    from prdp.tables.join import Join, open_join
    from prdp.tables.links import Links, Records, open_links
    from prdp.tables.table import Table, open  # noqa: A004  (prdp.open is the door)
    from prdp.testing import share_for
else:
    _ROOMS = ("adapters", "local", "testing")
    _HOMES = {
        "Count": "prdp.plan.queries",
        "CountDistinct": "prdp.plan.queries",
        "DurableLedger": "prdp.ledger",
        "Edges": "prdp.tables.graph",
        "CustomRelease": "prdp.release.custom",
        "Graph": "prdp.tables.graph",
        "Groups": "prdp.tables.groups",
        "Join": "prdp.tables.join",
        "Ledger": "prdp.ledger",
        "Links": "prdp.tables.links",
        "Max": "prdp.plan.queries",
        "Mean": "prdp.plan.queries",
        "MemoryLedger": "prdp.ledger",
        "Min": "prdp.plan.queries",
        "Paths": "prdp.tables.graph",
        "Policy": "prdp.policy",
        "Quantile": "prdp.plan.queries",
        "Records": "prdp.tables.links",
        "Release": "prdp.release.release",
        "ReleaseTable": "prdp.release.table",
        "Stars": "prdp.tables.graph",
        "Std": "prdp.plan.queries",
        "Sum": "prdp.plan.queries",
        "Table": "prdp.tables.table",
        "Triangles": "prdp.tables.graph",
        "Variance": "prdp.plan.queries",
        "bins": "prdp.declare.groups",
        "date_trunc": "prdp.declare.groups",
        "open": "prdp.tables.table",
        "open_graph": "prdp.tables.graph",
        "open_join": "prdp.tables.join",
        "open_links": "prdp.tables.links",
        "share_for": "prdp.testing",
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
    "CountDistinct",
    "CustomRelease",
    "DurableLedger",
    "Edges",
    "EngineFailure",
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
    "share_for",
    "testing",
]
