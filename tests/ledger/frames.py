"""What can be read from an exception: every frame that it leads to, and what their variables hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from traceback import extract_tb
from types import FunctionType, TracebackType
from typing import Any

import numpy as np

from prdp.cells.summary import Summary
from prdp.engines.duckdb.engine import DuckDBDatabase
from prdp.engines.origins import Origins
from prdp.engines.sql_engine import SqlEngine
from prdp.ledger import DurableLedger, MemoryLedger
from prdp.release.custom import CustomRelease
from prdp.release.release import Release
from prdp.release.table import ReleaseTable
from prdp.run.reader import Reader

_THE_CALLER_S_OWN = (SqlEngine, DuckDBDatabase, DurableLedger, MemoryLedger, Origins, Reader)
"""What whoever asks holds in their own hands anyway."""


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and all that are behind it."""
    found, remaining = [], [error]
    while remaining:
        one = remaining.pop()
        if one not in found:
            found.append(one)
            yield one
            remaining += [behind for behind in (one.__cause__, one.__context__) if behind is not None]


def files(error: BaseException) -> list[str]:
    """Return the files of all frames that an exception leads to."""
    return [summary.filename for one in chain(error) for summary in extract_tb(one.__traceback__)]


def variables(error: BaseException) -> Iterator[tuple[str, Any]]:
    """Yield all variables of prdp's frames that an exception leads to."""
    for one in chain(error):
        trace: TracebackType | None = one.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if "/prdp/" in code.co_filename:
                for name, value in trace.tb_frame.f_locals.items():
                    yield f"{name} in {code.co_name}", value
            trace = trace.tb_next


def private(error: BaseException, total: int) -> list[str]:
    """Name the variables that hold an answer, cells, or a multiple of a true total."""
    seen: dict[int, Any] = {id(error): error}
    return [name for name, value in variables(error) if _holds(value, total, seen)]


def _holds(value: Any, total: int, seen: dict[int, Any]) -> bool:  # noqa: C901, PLR0911  (one return a kind)
    if id(value) in seen or isinstance(value, _THE_CALLER_S_OWN):
        return False
    seen[id(value)] = value  # kept, so that nothing else comes to have its number
    if isinstance(value, Summary | Release | ReleaseTable | CustomRelease):
        return True
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return value != 0 and value % total == 0
    if isinstance(value, Fraction):
        return _holds(value.numerator, total, seen)
    if isinstance(value, np.ndarray):
        return _holds(value.tolist(), total, seen)
    if isinstance(value, Mapping):
        return _holds([*value.keys(), *value.values()], total, seen)
    if isinstance(value, list | tuple | set | frozenset):
        return any(_holds(inner, total, seen) for inner in value)
    if isinstance(value, FunctionType):
        return _holds([cell.cell_contents for cell in value.__closure__ or ()], total, seen)
    if is_dataclass(value) and not isinstance(value, type):
        return any(_holds(getattr(value, field.name), total, seen) for field in fields(value))
    if isinstance(value, BaseException):
        return any(_holds(inner, total, seen) for _, inner in variables(value))
    return any(_holds(inner, total, seen) for inner in getattr(value, "__dict__", {}).values())
