"""Which tests share a process, and which go first: servers start once, and nothing slow is left for the end.

Tests of one class, or of one file outside of classes, stay together, so that what they share is made once.
All tests that need Spark stay together too: its Java takes long to start, and longer to get warm.
"""

from __future__ import annotations

from typing import Any

import pytest

SPARK = "spark"
FIRST = (
    "tests/docs/test_wheel.py",
    "tests/server/test_timing.py",
    "tests/engines/",
    "tests/docs/test_notebooks.py",
    "tests/docs/",
    "tests/cli/",
    "tests/collector/",
    "tests/exact/",
)
"""Where tests take longest, the slowest alone first; the rest follows in the order of its names."""


def rank(nodeid: str) -> int:
    """Return how late a test begins.

    >>> rank("tests/engines/test_spark.py::test_a") < rank("tests/engines/test_csv.py::test_a")
    True
    >>> rank("tests/cli/test_app.py::test_a") < rank("tests/cells/test_ratios.py::test_a")
    True
    """
    if scope(nodeid) == SPARK:
        return -1
    return next((place for place, path in enumerate(FIRST) if nodeid.startswith(path)), len(FIRST))


def scope(nodeid: str) -> str:
    """Return what a test shares a process with.

    >>> scope("tests/engines/test_progress.py::test_spark_is_reported")
    'spark'
    >>> scope("tests/test_policy.py::test_a[b::c]")
    'tests/test_policy.py'
    """
    test = nodeid.partition("[")[0]
    return SPARK if test.startswith("tests/engines/") and "test_spark" in test else test.rpartition("::")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what takes longest."""
    items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out tests by what they share, in the order in which they were collected."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # noqa: PLC0415

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid)

    config.option.loadscopereorder = False
    return Scheduling(config, log)
