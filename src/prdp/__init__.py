"""Per-record differential privacy.

For saying what each record may lose:
    Policy
For asking:
    open, Table, Groups, bins, date_trunc, adapters
    Count, Sum, Mean, Variance, Std, Max, Min, Quantile, Distinct
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
    "EngineFailure",
    "ForeignRelease",
    "Groups",
    "InvalidRequest",
    "Ledger",
    "LedgerError",
    "Max",
    "Mean",
    "MemoryLedger",
    "Min",
    "Policy",
    "PrdpError",
    "Quantile",
    "RecordsLeftOut",
    "Release",
    "ReleaseTable",
    "Std",
    "Sum",
    "Table",
    "Variance",
    "__version__",
    "adapters",
    "bins",
    "date_trunc",
    "errors",
    "open",
]
