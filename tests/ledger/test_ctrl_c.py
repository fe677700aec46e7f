"""Ctrl-C is a KeyboardInterrupt wherever it comes: real signals, at many moments of every stage."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prdp
from prdp.ledger import DurableLedger
from tests.ledger.places import Place

pytestmark = pytest.mark.slow

ROWS = 400_000
TIMES = 60

PROGRAM = """
import collections, json, os, random, signal, sys, threading, time
import duckdb, numpy
import prdp
from prdp.engines.duckdb.engine import open_source

stage, path, times, ledger = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
bounds = {"balance": (0, 10**12)}
policy = prdp.Policy("10000 / balance", at_most=100)
frame = {"balance": numpy.arange(1, 200_000)}
engines = {"file": open_source(path, None), "frame": open_source(frame, None)}
engines["relation"] = open_source(duckdb.connect().read_parquet(path), None)


def question():
    table = prdp.open(path, policy=policy, bounds=bounds, name="t", ledger=ledger)
    table.filter(f"balance > {random.randrange(10**9)}").sum("balance", share="1/1000000")


stages = {
    "open a file": lambda: open_source(path, None),
    "open a frame": lambda: open_source(frame, None),
    "look at a file": engines["file"].ensure_there,
    "look at a frame": engines["frame"].ensure_there,
    "look at a relation": engines["relation"].ensure_there,
    "read rows": lambda: engines["frame"].rows_of("SELECT balance FROM prdp_records"),
    "read arrays": lambda: engines["frame"].arrays(lambda name, _: f"SELECT balance FROM {name}"),
    "ask": question,
}
work = stages[stage]
work()
begun = time.perf_counter()
work()
took = time.perf_counter() - begun
became = collections.Counter()
for _ in range(times):
    sent = threading.Event()

    def press(delay):
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)
        sent.set()

    presser = threading.Thread(target=press, args=(took * random.random(),))
    try:
        presser.start()
        while not sent.is_set():
            work()
        time.sleep(0.05)
        became["lost"] += 1
    except KeyboardInterrupt:
        became["KeyboardInterrupt"] += 1
    except BaseException as error:
        became[f"{type(error).__name__}: {error}"] += 1
    presser.join()
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print(json.dumps(became))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ctrl-c") / "t.parquet"
    balances = np.random.default_rng(1).integers(1, 10**9, ROWS)
    pq.write_table(pa.table({"balance": balances}), path)
    return path


@pytest.mark.parametrize(
    "stage",
    [
        "open a file",
        "open a frame",
        "look at a file",
        "look at a frame",
        "look at a relation",
        "read rows",
        "read arrays",
    ],
)
def test_ctrl_c_is_never_taken_for_a_failure(stage: str, source: Path) -> None:
    assert pressed(stage, source, f"{source}.ledger") == {"KeyboardInterrupt": TIMES}


def test_ctrl_c_while_a_question_is_charged_and_recorded_is_never_taken_for_a_failure(
    source: Path, place: Place
) -> None:
    assert pressed("ask", source, str(place.given)) == {"KeyboardInterrupt": TIMES}
    assert 0 < DurableLedger(place.given).remaining < 1


def pressed(stage: str, source: Path, ledger: str) -> object:
    """Return what became of many interrupts in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, stage, str(source), str(TIMES), ledger],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_handler_that_lets_the_work_go_on_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    table = prdp.open({"v": np.arange(1000)}, policy=prdp.Policy.constant(1))
    pressed: list[int] = []
    works = table._engine.database.run  # type: ignore[attr-defined]

    def run(sql: str, *, as_arrays: bool = False) -> object:
        signal.raise_signal(signal.SIGINT)
        return works(sql, as_arrays=as_arrays)

    monkeypatch.setattr(table._engine.database, "run", run)  # type: ignore[attr-defined]
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        assert table.count(share="1/2").value == pytest.approx(1000, abs=500)
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed
