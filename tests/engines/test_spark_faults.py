"""What goes wrong while Spark reads: one fixed text, the charge is kept, nothing is reported."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import prdp
from prdp.errors import EngineFailure
from tests.spark import free_port, java_or_skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED:UserWarning"),
]

ENDLESS = 10**13
SERVER = """
import sys
from pyspark.sql import SparkSession
from tests.spark import SETTINGS
builder = SparkSession.builder.master("local[2]").config("spark.local.dir", sys.argv[2])
builder = builder.config("spark.connect.grpc.binding.port", sys.argv[1])
for name, value in SETTINGS.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
print(session._jvm.java.lang.ProcessHandle.current().pid(), flush=True)
sys.stdin.read()
"""


@dataclass
class Wire:
    """Carries bytes between a client and a server, until it is cut."""

    port: int
    to: int
    sockets: list[socket.socket] = field(default_factory=list)

    def start(self) -> None:
        listening = socket.create_server(("127.0.0.1", self.port))
        self.sockets.append(listening)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    near, _ = listening.accept()
                    far = socket.create_connection(("127.0.0.1", self.to))
                    self.sockets += [near, far]
                    for pair in ((near, far), (far, near)):
                        threading.Thread(target=carry, args=pair, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def cut(self) -> None:
        for one in self.sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@dataclass(frozen=True)
class Server:
    """A Connect server in a process of its own, reached directly or by a wire."""

    java: int
    port: int
    folder: Path

    def session(self, port: int | None = None) -> Any:
        from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415

        session = SparkSession.builder.remote(f"sc://127.0.0.1:{port or self.port}").create()
        session.client.set_retry_policies([DefaultPolicy(max_retries=2, max_backoff=100)])
        return session


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    java_or_skip()
    port, folder = free_port(), tmp_path_factory.mktemp("spark-server")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", SERVER, str(port), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert process.stdout is not None
        java = process.stdout.readline().strip()
        assert java, (folder / "log").read_text(encoding="utf-8")[-2000:]
        yield Server(int(java), port, folder)
        with suppress(ProcessLookupError):
            os.kill(int(java), signal.SIGKILL)
        process.kill()
        process.communicate()


def opened(frame: Any, ledger: Path, **given: Any) -> prdp.Table:
    return prdp.open(frame, policy=prdp.Policy("1"), name="accounts", ledger=ledger, **given)


def ask_until(act: Callable[[], object], table: prdp.Table) -> None:
    """Ask a question, and do something in the middle of it: once it is charged, and Spark has begun."""

    def later() -> None:
        until = time.monotonic() + 120
        while not table.ledger.entries and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(2)
        act()

    threading.Thread(target=later, daemon=True).start()
    table.count(share="1/10")


def fails(capfd: pytest.CaptureFixture[str], asked: Callable[[], object]) -> None:
    with pytest.raises(EngineFailure) as failure:
        asked()
    assert str(failure.value) == str(EngineFailure())
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
    assert "Exception" not in "".join(capfd.readouterr())


@pytest.mark.meets("cut")
def test_a_connection_that_is_cut_in_the_middle_of_a_pass(
    server: Server, spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wire = Wire(free_port(), server.port)
    wire.start()
    rows = server.session(wire.port).range(ENDLESS)
    table = opened(rows, tmp_path / "a.ledger")
    fails(capfd, lambda: ask_until(wire.cut, table))
    again(spark, tmp_path / "a.ledger")


@contextmanager
def no_room(folder: Path) -> Iterator[None]:
    """Let no temporary file be written below a folder: where Spark makes its own folders, there are files.

    A disk that is full fails at the same step, but takes an administrator to make.
    """
    stood_in: list[tuple[Path, Path]] = []
    for manager in folder.glob("**/blockmgr-*"):
        for place in (manager / f"{number:02x}" for number in range(64)):
            if place.is_dir():
                place.rename(excluded := place.with_name(f"kept-{place.name}"))
                stood_in.append((excluded, place))
            place.touch()
    assert stood_in, "Spark keeps its temporary files elsewhere"
    yield
    for manager in folder.glob("**/blockmgr-*"):
        for place in manager.iterdir():
            if place.is_file():
                place.unlink()
    for excluded, place in stood_in:
        excluded.rename(place)


@pytest.mark.meets("no room")
def test_no_room_for_temporary_files_in_the_middle_of_a_pass(
    server: Server, spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = server.session()
    table = opened(session.range(1000), tmp_path / "a.ledger")
    session.range(10).repartition(2).count()  # so that there are folders
    with no_room(server.folder):
        fails(capfd, lambda: table.count(share="1/10"))
    again(spark, tmp_path / "a.ledger")


@pytest.mark.meets("killed")
def test_a_server_that_is_killed_in_the_middle_of_a_pass(
    server: Server, spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = server.session().range(ENDLESS)
    table = opened(rows, tmp_path / "a.ledger")
    fails(capfd, lambda: ask_until(lambda: os.kill(server.java, signal.SIGKILL), table))
    again(spark, tmp_path / "a.ledger")


def again(spark: Any, ledger: Path) -> None:
    """Ask once more, of a source that is there: it is answered without a second charge."""
    table = opened(spark.range(1000), ledger)
    assert [entry.release is not None for entry in table.ledger.entries] == [False]
    table.count(share="1/10")
    assert [entry.release is not None for entry in table.ledger.entries] == [True]


def test_ctrl_c_stops_what_runs_on_the_cluster(spark: Any, tmp_path: Path) -> None:
    table = opened(spark.range(ENDLESS), tmp_path / "a.ledger")
    with pytest.raises(KeyboardInterrupt):
        ask_until(lambda: os.kill(os.getpid(), signal.SIGINT), table)
    until = time.monotonic() + 60
    while spark.sparkContext.statusTracker().getActiveJobsIds():
        assert time.monotonic() < until
        time.sleep(0.1)
    again(spark, tmp_path / "a.ledger")


def test_an_error_that_names_a_value_reaches_no_log(
    spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = spark.range(3).selectExpr("CAST(concat('secret', id) AS INT) AS id")
    table = opened(rows, tmp_path / "a.ledger", rows_are_records=True)
    fails(capfd, lambda: table.filter("id > 5").count(share="1/10"))
