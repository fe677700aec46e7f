"""Real Spark for tests: one session a process, of both kinds.

pyspark lets nobody ask for a Connect session where there is a classic one. But a classic session's Java can
serve Connect as well, and the client's own builder asks nobody: so one start is enough for both.
"""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.tools import only_for_slow_tests, program

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For tiny tables: starting a job takes longer than its work, and compiling code longer still."""


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def java_or_skip() -> None:
    """Skip where there is no Java; where it is stated to be there, that is a failure."""
    if not os.environ.get("JAVA_HOME"):
        program("java", "Spark needs Java 17 or later, and none was found")


@pytest.fixture(scope="session")
def spark(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start one classic session for all tests of a process."""
    only_for_slow_tests(pytestconfig)
    java_or_skip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions of pandas that Spark has not been tried with
        from pyspark.sql import SparkSession  # noqa: PLC0415  (heavy)

        builder = SparkSession.builder.master("local[2]")
        folder = tmp_path_factory.mktemp("spark")
        builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        builder = builder.config("spark.local.dir", str(folder))
        settings = SETTINGS | {"spark.connect.grpc.binding.port": str(free_port())}
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect(spark: Any) -> Iterator[Any]:
    """Return a session of Connect, served by the same Java."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415

        port = spark.conf.get("spark.connect.grpc.binding.port")
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield session
    session.stop()
