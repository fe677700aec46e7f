"""Per-record differential privacy.

>>> import numpy
>>> import prdp
>>> policy = prdp.Policy("100 / balance", at_most=1)  # the larger a balance, the better it is hidden
>>> accounts = {"balance": numpy.array([120, 45, 900])}
>>> table = prdp.open(accounts, policy=policy, bounds={"balance": (0, 1000)})
>>> answer = table.count(share="1/4")  # print(answer) shows its interval
>>> table.ledger.remaining
Fraction(3, 4)

Declare budgets:
    Policy
Open data and query it:
    open, Table, bins, date_trunc, methods, progress, project, Project
    count, sum, mean, variance, std, max, min, quantile, median, count_distinct
Query with SQL, by Table.sql or over a connection:
    connect
Query several tables, and graphs:
    open_join, Join, prdp.graphs
Read answers and what was spent:
    Release, ReleaseTable, ratio, Ledger, plot_policy, plot_account
Catch errors:
    PrdpError, InvalidRequest, BudgetExhausted, and the others in prdp.errors
Collect from clients without a trusted collector:
    prdp.local
Try queries on synthetic data, never for publication:
    share_for, simulate, preview, compare, prdp.testing
"""

from importlib import import_module
from typing import TYPE_CHECKING

from prdp import errors
from prdp.errors import BudgetExhausted, InvalidRequest, PrdpError
from prdp.version import __version__

if TYPE_CHECKING:
    from prdp import adapters as adapters
    from prdp import graphs as graphs
    from prdp import ledger as ledger
    from prdp import local as local
    from prdp import methods as methods
    from prdp import testing as testing
    from prdp.declare.groups import bins, date_trunc
    from prdp.engines.progress import progress
    from prdp.ledger import Ledger
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
    from prdp.release.table import ReleaseTable
    from prdp.remote import connect
    from prdp.tables.join import Join, open_join
    from prdp.tables.table import Table, open  # noqa: A004  (prdp.open is what users call it)
    from prdp.testing import share_for, simulate
    from prdp.testing.error_tables import compare, preview
else:
    _MODULES = ("adapters", "graphs", "ledger", "local", "methods", "testing")
    _HOMES = {
        "Join": "prdp.tables.join",
        "Ledger": "prdp.ledger",
        "Policy": "prdp.policy",
        "Project": "prdp.projects.project",
        "Release": "prdp.release.release",
        "ReleaseTable": "prdp.release.table",
        "Table": "prdp.tables.table",
        "bins": "prdp.declare.groups",
        "compare": "prdp.testing.error_tables",
        "connect": "prdp.remote",
        "count": "prdp.plan.queries",
        "count_distinct": "prdp.plan.queries",
        "date_trunc": "prdp.declare.groups",
        "max": "prdp.plan.queries",
        "mean": "prdp.plan.queries",
        "median": "prdp.plan.queries",
        "min": "prdp.plan.queries",
        "open": "prdp.tables.table",
        "open_join": "prdp.tables.join",
        "plot_account": "prdp.pictures",
        "plot_policy": "prdp.pictures",
        "preview": "prdp.testing.error_tables",
        "progress": "prdp.engines.progress",
        "project": "prdp.projects.project",
        "quantile": "prdp.plan.queries",
        "ratio": "prdp.release.arithmetic",
        "share_for": "prdp.testing",
        "simulate": "prdp.testing",
        "std": "prdp.plan.queries",
        "sum": "prdp.plan.queries",
        "variance": "prdp.plan.queries",
    }

    _HINTS = {
        **dict.fromkeys(("read_csv", "read_parquet", "read_table", "scan_parquet", "load"), "prdp.open"),
        **dict.fromkeys(("from_pandas", "from_polars", "from_arrow", "DataFrame", "Session"), "prdp.open"),
        **dict.fromkeys(("avg", "average"), "prdp.mean"),
        **dict.fromkeys(("var",), "prdp.variance"),
        **dict.fromkeys(("stddev",), "prdp.std"),
        **dict.fromkeys(("nunique", "n_unique", "approx_nunique"), "prdp.count_distinct"),
        **dict.fromkeys(("len", "size"), "prdp.count"),
        **dict.fromkeys(("percentile",), "prdp.quantile"),
        **dict.fromkeys(("col", "column"), "table['age']"),
        **dict.fromkeys(("cut", "histogram"), "prdp.bins, or table.histogram"),
        **dict.fromkeys(("merge", "join"), "prdp.open_join"),
        **dict.fromkeys(("sql", "query"), "table.sql"),
        **dict.fromkeys(("open_graph", "edges", "triangles"), "prdp.graphs"),
    }

    def __getattr__(name: str) -> object:
        """Load a name when it is first asked for: a client of ``prdp.local`` needs no engine."""
        if name in _MODULES:
            return import_module(f"prdp.{name}")
        if name not in _HOMES:
            hint = f". Write {_HINTS[name]}" if name in _HINTS else ""
            raise AttributeError(f"module 'prdp' has no attribute {name!r}{hint}")
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found

    def __dir__() -> list[str]:
        """Return the public names, loaded or not."""
        return sorted(__all__)


__all__ = [
    "BudgetExhausted",
    "InvalidRequest",
    "Join",
    "Ledger",
    "Policy",
    "PrdpError",
    "Project",
    "Release",
    "ReleaseTable",
    "Table",
    "__version__",
    "bins",
    "compare",
    "connect",
    "count",
    "count_distinct",
    "date_trunc",
    "errors",
    "graphs",
    "local",
    "max",
    "mean",
    "median",
    "methods",
    "min",
    "open",
    "open_join",
    "plot_account",
    "plot_policy",
    "preview",
    "progress",
    "project",
    "quantile",
    "ratio",
    "share_for",
    "simulate",
    "std",
    "sum",
    "testing",
    "variance",
]
