"""Per-record differential privacy.

>>> import numpy
>>> import prdp
>>> policy = prdp.Policy("100 / balance", at_most=1)  # the larger a balance, the better it is hidden
>>> accounts = {"balance": numpy.array([120, 45, 900])}
>>> table = prdp.open(accounts, policy=policy, bounds={"balance": (0, 1000)})
>>> answer = table.count(share="1/4")  # print(answer) shows its interval
>>> table.ledger.remaining
Fraction(3, 4)

Privacy policies:
    Policy
Tables and queries:
    open, Table, Groups, bins, date_trunc, methods, adapters, progress
    project, Project
    count, sum, mean, variance, std, max, min, quantile, median, count_distinct
SQL, with Table.sql or over a connection:
    connect, SqlAnswers
Joins and graphs:
    open_join, Join, open_links, Links, Records, open_graph, Graph, edges, paths, stars, triangles
Releases and ledgers:
    Release, ReleaseTable, CustomRelease, ratio
    Ledger, DurableLedger, MemoryLedger, plot_policy, plot_account
Errors:
    errors, PrdpError, InvalidRequest, SqlError, BudgetExhausted, LedgerError, EngineFailure, RecordsLeftOut,
    KeysOutOfReach, NoLedgerFile
Local differential privacy, without a trusted curator:
    prdp.local
Simulation on synthetic tables, never for publication:
    share_for, simulate, preview, compare, prdp.testing
"""

from importlib import import_module
from typing import TYPE_CHECKING

from prdp import errors
from prdp.errors import (
    BudgetExhausted,
    EngineFailure,
    InvalidRequest,
    KeysOutOfReach,
    LedgerError,
    NoLedgerFile,
    PrdpError,
    RecordsLeftOut,
    SqlError,
)
from prdp.version import __version__

if TYPE_CHECKING:
    from prdp import adapters as adapters
    from prdp import local as local
    from prdp import methods as methods
    from prdp import testing as testing
    from prdp.declare.groups import bins, date_trunc
    from prdp.engines.progress import progress
    from prdp.graphs.graph import Graph, edges, open_graph, paths, stars, triangles
    from prdp.graphs.links import Links, Records, open_links
    from prdp.ledger import DurableLedger, Ledger, MemoryLedger
    from prdp.pictures import plot_account, plot_policy
    from prdp.plan.queries import (
        count,
        count_distinct,
        max,  # noqa: A004
        mean,
        median,
        min,  # noqa: A004
        quantile,
        std,
        sum,  # noqa: A004
        variance,
    )
    from prdp.policy import Policy
    from prdp.projects.project import Project, project
    from prdp.release.arithmetic import ratio
    from prdp.release.release import Release
    from prdp.release.table import CustomRelease, ReleaseTable
    from prdp.sql.dbapi import connect
    from prdp.sql.results import SqlAnswers
    from prdp.tables.groups import Groups
    from prdp.tables.join import Join, open_join
    from prdp.tables.table import Table, open  # noqa: A004  (prdp.open is what users call it)
    from prdp.testing import share_for, simulate
    from prdp.testing.error_tables import compare, preview
else:
    _MODULES = ("adapters", "local", "methods", "testing")
    _HOMES = {
        "CustomRelease": "prdp.release.table",
        "DurableLedger": "prdp.ledger",
        "Graph": "prdp.graphs.graph",
        "Groups": "prdp.tables.groups",
        "Join": "prdp.tables.join",
        "Ledger": "prdp.ledger",
        "Links": "prdp.graphs.links",
        "MemoryLedger": "prdp.ledger",
        "Policy": "prdp.policy",
        "Project": "prdp.projects.project",
        "Records": "prdp.graphs.links",
        "Release": "prdp.release.release",
        "ReleaseTable": "prdp.release.table",
        "Table": "prdp.tables.table",
        "SqlAnswers": "prdp.sql.results",
        "bins": "prdp.declare.groups",
        "connect": "prdp.sql.dbapi",
        "count": "prdp.plan.queries",
        "count_distinct": "prdp.plan.queries",
        "date_trunc": "prdp.declare.groups",
        "edges": "prdp.graphs.graph",
        "max": "prdp.plan.queries",
        "mean": "prdp.plan.queries",
        "median": "prdp.plan.queries",
        "min": "prdp.plan.queries",
        "open": "prdp.tables.table",
        "open_graph": "prdp.graphs.graph",
        "open_join": "prdp.tables.join",
        "open_links": "prdp.graphs.links",
        "paths": "prdp.graphs.graph",
        "plot_account": "prdp.pictures",
        "plot_policy": "prdp.pictures",
        "ratio": "prdp.release.arithmetic",
        "progress": "prdp.engines.progress",
        "project": "prdp.projects.project",
        "quantile": "prdp.plan.queries",
        "compare": "prdp.testing.error_tables",
        "preview": "prdp.testing.error_tables",
        "share_for": "prdp.testing",
        "simulate": "prdp.testing",
        "stars": "prdp.graphs.graph",
        "std": "prdp.plan.queries",
        "sum": "prdp.plan.queries",
        "triangles": "prdp.graphs.graph",
        "variance": "prdp.plan.queries",
    }

    def __getattr__(name: str) -> object:
        """Load a name when it is first asked for: a client of ``prdp.local`` needs no engine."""
        if name in _MODULES:
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
    "CustomRelease",
    "DurableLedger",
    "EngineFailure",
    "Graph",
    "Groups",
    "InvalidRequest",
    "Join",
    "KeysOutOfReach",
    "Ledger",
    "LedgerError",
    "Links",
    "MemoryLedger",
    "NoLedgerFile",
    "Policy",
    "PrdpError",
    "Project",
    "Records",
    "RecordsLeftOut",
    "Release",
    "ReleaseTable",
    "SqlAnswers",
    "SqlError",
    "Table",
    "__version__",
    "adapters",
    "bins",
    "compare",
    "connect",
    "count",
    "count_distinct",
    "date_trunc",
    "edges",
    "errors",
    "local",
    "max",
    "mean",
    "median",
    "methods",
    "min",
    "open",
    "open_graph",
    "open_join",
    "open_links",
    "paths",
    "plot_account",
    "plot_policy",
    "preview",
    "progress",
    "project",
    "quantile",
    "ratio",
    "share_for",
    "simulate",
    "stars",
    "std",
    "sum",
    "testing",
    "triangles",
    "variance",
]
