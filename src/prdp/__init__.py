"""Per-record differential privacy.

For saying what each record may lose:
    Policy
For asking:
    open, Table, Count, Sum, Max, Min
For reading the answers and the account:
    Release, Ledger, DurableLedger, MemoryLedger
When something is wrong:
    errors, PrdpError, InvalidRequest, BudgetExhausted, LedgerError, EngineFailure, RecordsLeftOut
When nobody is trusted with the records:
    prdp.local
For experiments and tests, never for publication:
    prdp.testing
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
    from prdp import local as local
    from prdp import testing as testing
    from prdp.ledger import DurableLedger, Ledger, MemoryLedger
    from prdp.policy import Policy
    from prdp.query import Count, Max, Min, Sum
    from prdp.release import Release
    from prdp.table import Table, open  # noqa: A004  (prdp.open is the door)
else:
    _ROOMS = ("local", "testing")
    _HOMES = {
        "Count": "prdp.query",
        "DurableLedger": "prdp.ledger",
        "Ledger": "prdp.ledger",
        "Max": "prdp.query",
        "MemoryLedger": "prdp.ledger",
        "Min": "prdp.query",
        "Policy": "prdp.policy",
        "Release": "prdp.release",
        "Sum": "prdp.query",
        "Table": "prdp.table",
        "open": "prdp.table",
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
        return sorted({*globals(), *__all__, *_ROOMS})


__all__ = [
    "BudgetExhausted",
    "Count",
    "DurableLedger",
    "EngineFailure",
    "InvalidRequest",
    "Ledger",
    "LedgerError",
    "Max",
    "MemoryLedger",
    "Min",
    "Policy",
    "PrdpError",
    "RecordsLeftOut",
    "Release",
    "Sum",
    "Table",
    "__version__",
    "errors",
    "open",
]
