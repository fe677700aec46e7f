"""How tests run: properties without a stopwatch, in CI always with the same cases; forks without garbage.

Draws follow from a test's name. And Ctrl-C is heard, also where the tests run in the background of a shell,
which ignores it for them.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

from tests.draws import pytest_runtest_setup
from tests.ledger.places import place
from tests.mariadb import mariadb
from tests.postgres import new_database, postgres, postgres_server, pytest_runtest_makereport
from tests.scheduling import pytest_collection_modifyitems, pytest_xdist_make_scheduler
from tests.spark import connect, spark

__all__ = [
    "connect",
    "mariadb",
    "new_database",
    "place",
    "postgres",
    "postgres_server",
    "pytest_collection_modifyitems",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_xdist_make_scheduler",
    "spark",
]

settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def _keep_the_parents_garbage() -> None:
    gc.freeze()
    gc.enable()


# A forked child that collects a database of an earlier test dies in it: DuckDB's threads were not forked.
# Nothing is collected from before the fork, since others have work to do in the child before it is frozen.
os.register_at_fork(before=gc.disable, after_in_parent=gc.enable, after_in_child=_keep_the_parents_garbage)


@pytest.fixture(autouse=True)
def _new_sources() -> None:
    """Forget the sources that earlier tests opened: each test represents a process of its own."""
    registry = sys.modules.get("prdp.tables.source_registry")
    if registry is not None:
        registry._KNOWN.clear()


# gRPC, which Spark Connect loads, would start its threads again in a forked child. A program in a terminal is
# one for a moment, with its files closed already, and so the terminal would show what gRPC complains of.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
