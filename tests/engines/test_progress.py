"""How far a pass is, told to whoever listens: real passes of DuckDB over a file."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

import prdp
from prdp.engines import progress as reported
from tests.cli.running import finished, in_terminal
from tests.engines.test_clickhouse_server import started

ROWS = 3_000_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("progress") / "people.parquet"
    unit = f"range * 7919 % {ROWS // 3}"
    duckdb.execute(f"COPY (SELECT {unit} AS id, range % 100 AS age FROM range({ROWS})) TO '{path}'")
    return path


def asked(path: Path) -> prdp.ReleaseTable:
    """Ask what takes an engine some time: rows of owners that are all over the file."""
    people = prdp.open(
        path, policy="1 / (age + 1)", bounds={"age": (0, 99)}, privacy_unit="id", max_rows=9, synthetic=True
    )
    return people.group_by("age", keys=range(100)).sum("age", share="1/10")


def test_a_listener_hears_seconds_and_percents_that_rise_within_a_pass(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reported, "_EVERY", 0.001)
    heard: list[reported.Passing] = []
    with prdp.progress(heard.append):
        asked(file)
    assert heard
    known = [passing.percent for passing in heard if passing.percent is not None]
    assert all(percent % 5 == 0 and 0 < percent <= 100 for percent in known)
    falls = [one for one, other in pairwise(known) if one > other]
    assert len(falls) <= 2  # rows are read and held, then looked at twice


def test_a_short_pass_and_one_that_nobody_listens_to_say_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reported, "_EVERY", 3600.0)
    heard: list[reported.Passing] = []
    with prdp.progress(heard.append):
        asked(file)
    monkeypatch.setattr(reported, "_EVERY", 0.001)
    asked(file)
    assert not heard
    assert capfd.readouterr() == ("", "")


def test_a_listener_that_fails_spoils_no_answer(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reported, "_EVERY", 0.001)

    def failing(_: reported.Passing) -> None:
        raise RuntimeError("nobody should see this")

    with prdp.progress(failing):
        assert len(asked(file)) == 100
    assert not reported.listened_to()


ON_A_TERMINAL = """
import time
import prdp.engines.progress as told
from prdp.cli.printing import reading
told._EVERY = 0.1
with reading("reading the records"), told.watched(lambda: 43.2):
    time.sleep(1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal as POSIX has it")
def test_on_a_terminal_a_question_says_how_far_it_is_and_into_a_pipe_nothing() -> None:
    child = in_terminal(sys.executable, "-c", ON_A_TERMINAL)
    assert "reading the records: 0 s, 40 % ..." in finished(child)
    assert child.exitstatus == 0
    piped = subprocess.run([sys.executable, "-c", ON_A_TERMINAL], capture_output=True, check=True)
    assert piped.stdout == piped.stderr == b""


def heard_of(people: prdp.Table, monkeypatch: pytest.MonkeyPatch) -> list[reported.Passing]:
    monkeypatch.setattr(reported, "_EVERY", 0.001)
    heard: list[reported.Passing] = []
    with prdp.progress(heard.append):
        people.sum("age", share="1/10")
    return heard


@pytest.mark.slow
def test_polars_and_postgresql_tell_the_time_and_no_percents(
    file: Path, monkeypatch: pytest.MonkeyPatch, new_database: Callable[[], str]
) -> None:
    address = new_database()
    with psycopg.connect(address) as database:
        database.execute("CREATE TABLE people AS SELECT i % 100 AS age FROM generate_series(1, 200000) AS i")
    given: dict[str, Any] = {"policy": "1 / (age + 1)", "bounds": {"age": (0, 99)}}
    for people in (
        prdp.open(file, engine="polars", **given),
        prdp.open(address, table="people", **given),
    ):
        heard = heard_of(people, monkeypatch)
        assert heard
        assert {passing.percent for passing in heard} == {None}


@pytest.mark.slow
def test_clickhouse_says_how_many_of_its_rows_it_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = started(tmp_path)
    try:
        server.run(
            "CREATE TABLE people (age Int64) ENGINE = MergeTree ORDER BY tuple()",
            "INSERT INTO people SELECT number % 100 FROM numbers(20000000)",
        )
        people = prdp.open(server.address(), table="people", policy="1 / (age + 1)", bounds={"age": (0, 99)})
        known = [passing.percent for passing in heard_of(people, monkeypatch) if passing.percent is not None]
    finally:
        server.process.kill()
        server.process.wait()
    assert known
    assert known == sorted(known)
    assert all(percent % 5 == 0 and 0 < percent <= 100 for percent in known)


@pytest.mark.slow
def test_spark_says_how_many_of_its_tasks_are_done_and_goes_on_as_before(
    spark: Any, connect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.range(50_000).selectExpr("id % 100 AS age").repartition(8).write.parquet(str(tmp_path / "t"))
    for session in (spark, connect):
        frame = session.read.parquet(str(tmp_path / "t"))
        people = prdp.open(frame, policy="1 / (age + 1)", bounds={"age": (0, 99)})
        heard = heard_of(people, monkeypatch)
        assert heard
        known = [passing.percent for passing in heard if passing.percent is not None]
        assert known == sorted(known)
        assert all(percent % 5 == 0 and 0 < percent <= 100 for percent in known)
    assert not connect.client._progress_handlers


def test_a_watch_within_a_watch_tells_nobody_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reported, "_EVERY", 0.01)
    heard: list[reported.Passing] = []
    with prdp.progress(heard.append), reported.watched():
        time.sleep(0.1)
        with reported.watched(lambda: 50.0):
            time.sleep(0.3)
            threads = [one for one in threading.enumerate() if one.name.endswith("(_report)")]
    assert len(threads) == 1
    assert {passing.percent for passing in heard} == {None, 50}
