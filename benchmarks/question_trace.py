"""Trace one question through prdp: which of its functions are entered, and by which way the mechanism is.

Run as a script, with the ``src`` folder of a checkout on ``PYTHONPATH``: it prints JSON. It uses no name that
came or went with a redrawing of the packages, so that it runs on old checkouts too.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import prdp

HOME = Path(prdp.__file__).parent
MECHANISMS = ("answers", "grouped", "law")
"""The functions of a mechanism that a question comes to; whichever is entered first ends the way."""


STATEMENT = (
    "SELECT branch, COUNT(*) AS n, SUM(balance) AS total FROM accounts "
    "WHERE age >= {} AND branch IN (0, 1, 2) GROUP BY branch"
)


@dataclass
class Trace:
    """Records the calls of prdp's own functions.

    Attributes:
        entered: The code objects that were entered.
        calls: The main thread's calls, in order: how many own frames stood above each, and its name.
        way: The own frames from the caller to the mechanism, the mechanism's last.
    """

    entered: set[CodeType] = field(default_factory=set)
    calls: list[tuple[int, str]] = field(default_factory=list)
    way: list[str] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Take note of a call; what ``sys.setprofile`` calls."""
        code = frame.f_code
        if event != "call" or not is_own(code):
            return
        self.entered.add(code)
        if threading.current_thread() is not threading.main_thread():
            return
        stack, name = list(own_frames(frame)), name_of(code)  # the others' names are long in the making
        self.calls.append((len(stack) - 1, name))
        if not self.way and name.startswith("mechanisms.") and code.co_name in MECHANISMS:
            self.way = [name_of(own) for own in reversed(stack)]


def is_own(code: CodeType) -> bool:
    """Return whether code is a function of prdp: a comprehension is part of the function around it."""
    inner = code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<module>")
    return code.co_filename.startswith(f"{HOME}/") and not inner


def own_frames(frame: FrameType | None) -> Iterator[CodeType]:
    """Yield the code of prdp's frames, from the innermost to the outermost."""
    while frame is not None:
        if is_own(frame.f_code):
            yield frame.f_code
        frame = frame.f_back


def name_of(code: CodeType) -> str:
    """Return ``module:function``, the module as it is called inside prdp."""
    module = Path(code.co_filename).relative_to(HOME).with_suffix("")
    return f"{'.'.join(module.parts)}:{code.co_qualname.replace('.<locals>', '')}"


def traced(question: Callable[[], object]) -> Trace:
    """Return the trace of a call, in whatever threads it works."""
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        question()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return trace


def import_all() -> None:
    """Import every module of prdp, so that no question is the first to do so."""
    for module in pkgutil.walk_packages([str(HOME)], "prdp."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # what needs an extra that is not installed
                importlib.import_module(module.name)


def accounts() -> Any:
    """Open a small table in memory."""
    balances = np.arange(1, 2001) * 100
    columns = {"balance": balances, "age": 18 + balances % 61, "branch": balances // 100 % 3}
    policy = prdp.Policy("10000 / balance", at_most=100)
    return prdp.open(columns, policy=policy, bounds={"balance": (0, 10**6)}, name="accounts")


def filtered(table: Any, condition: str) -> Any:
    """Return the records of a table that meet a condition, by whichever name the checkout has for it."""
    return (table.filter if hasattr(table, "filter") else table.where)(condition)


def beside(trace: Trace) -> list[list[str]]:
    """Return, for each frame of the way, what it calls besides the next one, in order and each once."""
    called: list[dict[str, None]] = [{} for _ in trace.way]
    stack: list[str] = []
    for depth, name in trace.calls:
        stack[depth:] = [name]
        on_the_way = stack[:depth] == trace.way[:depth]
        if on_the_way and 0 < depth < len(trace.way) and name != trace.way[depth]:
            called[depth - 1][name] = None
    return [list(names) for names in called]


def figures(trace: Trace) -> dict[str, Any]:
    """Return what a trace is counted and drawn from."""
    return {
        "files": len({code.co_filename for code in trace.entered}),
        "functions": len(trace.entered),
        "calls": len(trace.calls),
        "way": trace.way,
        "beside": beside(trace),
    }


def main() -> None:
    import_all()
    os.urandom = random.Random(1).randbytes  # so that equal trees give equal traces
    table = accounts()
    filtered_sum = traced(lambda: filtered(table, "age >= 40").sum("balance", share="1/10"))
    warm_sum = traced(lambda: filtered(table, "age >= 41").sum("balance", share="1/10"))
    table = accounts()
    grouped_mean = traced(lambda: table.group_by("branch", keys=[0, 1, 2]).mean("balance", share="1/10"))
    table = accounts()
    table.sql(STATEMENT.format(40), share="1/10")
    warm_statement = traced(lambda: table.sql(STATEMENT.format(41), share="1/10"))
    asked = {
        "filter(..).sum(..)": filtered_sum,
        "filter(..).sum(..), warm": warm_sum,
        "group_by(..).mean(..)": grouped_mean,
        "SELECT .. GROUP BY .., warm": warm_statement,
    }
    print(json.dumps({name: figures(trace) for name, trace in asked.items()}))


if __name__ == "__main__":
    main()
