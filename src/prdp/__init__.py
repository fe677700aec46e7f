"""Per-record differential privacy.

>>> import numpy
>>> import prdp
>>> policy = prdp.Policy("100 / balance", at_most=1)  # the larger a balance, the better it is hidden
>>> accounts = {"balance": numpy.array([120, 45, 900])}
>>> table = prdp.open(accounts, policy=policy, bounds={"balance": (0, 1000)})
>>> answer = table.count(share="1/4")  # print(answer) says how sure it is
>>> table.ledger.remaining
Fraction(3, 4)

For saying what each record may lose:
    Policy
For asking:
    open, Table, Groups, bins, date_trunc, methods, adapters, progress
    project, Project
    count, sum, mean, variance, std, max, min, quantile, median, count_distinct
For asking in SQL, with Table.sql or over a connection:
    connect, SqlAnswers
For asking of several tables and of graphs:
    open_join, Join, open_links, Links, Records, open_graph, Graph, edges, paths, stars, triangles
For reading the answers and the account:
    Release, ReleaseTable, CustomRelease, Ledger, DurableLedger, MemoryLedger, plot_policy, plot_account
When something is wrong:
    errors, PrdpError, InvalidRequest, SqlError, BudgetExhausted, LedgerError, EngineFailure, RecordsLeftOut,
    KeysOutOfReach, NoLedgerFile
When nobody is trusted with the records:
    prdp.local
For experiments and tests on synthetic tables, never for publication:
    share_for, prdp.testing
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
    from prdp.pictures.account import plot_account
    from prdp.pictures.policy import plot_policy
    from prdp.plan.functions import (
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
    from prdp.release.custom import CustomRelease
    from prdp.release.release import Release
    from prdp.release.table import ReleaseTable
    from prdp.sql.dbapi import connect
    from prdp.sql.results import SqlAnswers
    from prdp.tables.groups import Groups
    from prdp.tables.join import Join, open_join
    from prdp.tables.table import Table, open  # noqa: A004  (prdp.open is what users call it)
    from prdp.testing import share_for
else:
    _MODULES = ("adapters", "local", "methods", "testing")
    _HOMES = {
        "CustomRelease": "prdp.release.custom",
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
        "count": "prdp.plan.functions",
        "count_distinct": "prdp.plan.functions",
        "date_trunc": "prdp.declare.groups",
        "edges": "prdp.graphs.graph",
        "max": "prdp.plan.functions",
        "mean": "prdp.plan.functions",
        "median": "prdp.plan.functions",
        "min": "prdp.plan.functions",
        "open": "prdp.tables.table",
        "open_graph": "prdp.graphs.graph",
        "open_join": "prdp.tables.join",
        "open_links": "prdp.graphs.links",
        "paths": "prdp.graphs.graph",
        "plot_account": "prdp.pictures.account",
        "plot_policy": "prdp.pictures.policy",
        "progress": "prdp.engines.progress",
        "project": "prdp.projects.project",
        "quantile": "prdp.plan.functions",
        "share_for": "prdp.testing",
        "stars": "prdp.graphs.graph",
        "std": "prdp.plan.functions",
        "sum": "prdp.plan.functions",
        "triangles": "prdp.graphs.graph",
        "variance": "prdp.plan.functions",
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
    "progress",
    "project",
    "quantile",
    "share_for",
    "stars",
    "std",
    "sum",
    "testing",
    "triangles",
    "variance",
]
