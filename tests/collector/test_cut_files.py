"""Whatever is cut or lost beside a store's file, what was acknowledged is there, or the store is refused."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from prdp.collector.client import send
from prdp.collector.store.opening import open_store
from prdp.errors import CollectorError
from prdp.local import Campaign
from tests.collector.running import ROOT, Server, begun, count_plan, reports_for

CLIENTS = 12
KILLED_WHILE_IT_WRITES = """
import os, signal, sys
from prdp.collector.store.opening import open_store
store = open_store(sys.argv[1])
store.rows("PRAGMA cache_size = 1")  # so that pages are written before the end
with store.writing():
    for place in range(40):
        token = os.urandom(16)
        store.add(1, [os.urandom(32)], [(token, bytes(900))])
    store.set_progress(1, 40 + int(sys.argv[2]), closed=False)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def with_acknowledged_reports(store: Path) -> set[bytes]:
    """Begin a study, send reports to a collector, and kill it; return the tokens that it acknowledged."""
    known = begun(store, count_plan(), CLIENTS)
    with Server(store) as server:
        reports = reports_for(server.campaign(), range(CLIENTS))
        for report, ticket in zip(reports, known.tickets, strict=True):
            assert send(server.url, report, ticket)
        server.kill()
    return {report.token for report in reports}


def found_in(store: Path) -> set[bytes] | None:
    """Return the tokens of a store's reports; None if it is refused."""
    try:
        with closing(open_store(store)) as opened:
            opened.check()
            return {token for token, _ in opened.reports(1)}
    except CollectorError:
        return None


def copies(folder: Path, at: Path) -> list[Path]:
    """Return copies of a folder, in each of which a file beside the store is gone, or cut somewhere."""
    made: list[Path] = []
    for beside in sorted(path for path in folder.iterdir() if path.name != "study.collect"):
        size = beside.stat().st_size
        for keep in [None, 0, *(size * part // 16 for part in range(1, 16)), max(0, size - 1)]:
            copy = at / f"{beside.name}.{len(made)}"
            shutil.copytree(folder, copy)
            if keep is None:
                (copy / beside.name).unlink()
            else:
                os.truncate(copy / beside.name, keep)
            made.append(copy)
    return made


def test_no_file_beside_a_store_holds_what_was_acknowledged(tmp_path: Path) -> None:
    """Killed after the last acknowledgement: the file alone has all of it."""
    folder = tmp_path / "study"
    folder.mkdir()
    acknowledged = with_acknowledged_reports(folder / "study.collect")
    for copy in copies(folder, tmp_path):
        assert found_in(copy / "study.collect") == acknowledged
    alone = tmp_path / "alone.collect"
    shutil.copy(folder / "study.collect", alone)
    assert found_in(alone) == acknowledged


def test_a_journal_that_is_cut_loses_nothing_silently(tmp_path: Path) -> None:
    """Killed in the middle of a transaction: the journal is needed, and a store without it is refused."""
    folder = tmp_path / "study"
    folder.mkdir()
    store = folder / "study.collect"
    acknowledged = with_acknowledged_reports(store)
    program = [sys.executable, "-c", KILLED_WHILE_IT_WRITES, str(store), str(CLIENTS)]
    path = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    ran = subprocess.run(program, check=False, env=os.environ | {"PYTHONPATH": path})
    assert ran.returncode == -signal.SIGKILL
    assert (folder / "study.collect-journal").stat().st_size > 0
    outcomes = [found_in(copy / "study.collect") for copy in copies(folder, tmp_path)]
    assert all(found in (None, acknowledged) for found in outcomes)
    assert None in outcomes
    assert found_in(store) == acknowledged


def test_nobody_else_can_open_a_store_while_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has a file open reads what is written later, whatever its mode becomes."""
    modes: list[int] = []
    connect = sqlite3.connect

    def noted(*args: Any, **stated: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*args, **stated)
        database.execute("PRAGMA user_version")
        modes.extend(path.stat().st_mode & 0o777 for path in tmp_path.iterdir())
        return database

    monkeypatch.setattr(sqlite3, "connect", noted)
    before = os.umask(0)
    try:
        begun(tmp_path / "study.collect", count_plan(), 2)
    finally:
        os.umask(before)
    assert modes
    assert set(modes) == {0o600}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_a_store_or_what_lies_beside_it(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        store = tmp_path / "study.collect"
        begun(store, count_plan(), 2)
        with closing(open_store(store)) as opened, opened.writing():
            opened.give_out([bytes(32)])
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
            assert Campaign.from_json(opened.last_round().campaign)
    finally:
        os.umask(before)
    assert set(modes) == {"study.collect", "study.collect-journal"}
    assert set(modes.values()) == {0o600}
