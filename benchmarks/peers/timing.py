"""Time questions in turn; used by every peer's script, so it needs the standard library only."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping

ROWS_AT_MOST = 20_000_000
CLIPPED_AT = 1_000_000
BRANCHES = range(101)
RUNS = 5
ENOUGH = 60
"""After so many seconds a question is not asked again."""


def path() -> str:
    """Return the file that was named on the command line."""
    return sys.argv[1]


def report(name: str, version: str, questions: Mapping[str, Callable[[], object]]) -> None:
    """Ask every question once to warm up and then five times in turn; print medians as a line of JSON."""
    seconds: dict[str, list[float]] = {question: [] for question in questions}
    for run in range(1 + RUNS):
        for question, ask in questions.items():
            if sum(seconds[question]) > ENOUGH:
                continue
            begun = time.perf_counter()
            ask()
            if run:
                seconds[question].append(time.perf_counter() - begun)
    medians = {question: statistics.median(times) for question, times in seconds.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    runs = {question: len(times) for question, times in seconds.items()}
    found = {"name": name, "version": version, "seconds": medians, "runs": runs, "peak": round(peak)}
    print(json.dumps(found))
