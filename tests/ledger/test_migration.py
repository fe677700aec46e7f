"""Ledgers of format 1 go on in format 2: spent stays spent, answers stand, and a kill loses nothing."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from prdp.errors import LedgerError
from prdp.ledger import Binding, DurableLedger, file_format, migration
from prdp.ledger.release_form import release_to_json
from prdp.plan.text import facts_of
from tests.cli.running import quickly
from tests.ledger.format_1.questions import ASKED

KEPT = Path(__file__).parent / "format_1"
FILES = sorted(file.stem for file in KEPT.glob("*.ledger"))
FREE_WORDS = {"lost before 2026-11-16"}
FORK = multiprocessing.get_context("fork")

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copy(KEPT / f"{name}.ledger", folder))


def rows(path: Path, table: str) -> list[Any]:
    """Return what a file holds, read without prdp."""
    with closing(sqlite3.connect(path)) as database:
        return database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def test_a_file_of_each_entry_point_is_kept() -> None:
    assert {*FILES} == {*ASKED, "ambiguous_links"}
    assert {version(KEPT / f"{name}.ledger") for name in FILES} == {1}


@pytest.mark.parametrize("name", FILES)
def test_what_was_spent_and_answered_by_whom_and_when_stays(name: str, tmp_path: Path) -> None:
    path = copied(name, tmp_path)
    before, facts = rows(path, "charges"), rows(path, "facts")
    answers = dict(rows(path, "releases"))
    ledger = DurableLedger(path)
    assert ledger.left == 1 - sum(Fraction(str(row[2])) for row in before)
    after = rows(path, "charges")
    assert [(row[0], *row[2:7]) for row in after] == [(row[0], *row[2:]) for row in before]
    assert [row[7:] for row in after] == [(None,) * 4] * len(before)
    assert rows(path, "facts") == facts
    assert dict(rows(path, "releases")) == answers
    for entry in ledger.entries:
        assert (None if entry.release is None else release_to_json(entry.release)) == answers.get(
            entry.number
        )
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert version(path) == 2


@pytest.mark.parametrize("name", FILES)
def test_a_migrated_file_is_guarded_and_laid_out_as_a_new_one(name: str, tmp_path: Path) -> None:
    old = copied(name, tmp_path)
    binding = DurableLedger(old).binding
    new = tmp_path / "new.ledger"
    DurableLedger.opened(new, binding)
    for table in ("charges", "facts", "releases", "quotas"):
        with closing(sqlite3.connect(old)) as one, closing(sqlite3.connect(new)) as other:
            columns, as_new = (
                database.execute(f"PRAGMA table_info({table})").fetchall() for database in (one, other)
            )
        assert columns == as_new
    with closing(sqlite3.connect(old)) as one, closing(sqlite3.connect(new)) as other:
        guards, as_new = (
            database.execute(
                "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'index') ORDER BY name"
            ).fetchall()
            for database in (one, other)
        )
        assert guards == as_new
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            one.execute("UPDATE charges SET share = '0'")


@pytest.mark.parametrize("name", [name for name in FILES if name != "ambiguous_links"])
def test_every_question_that_can_be_read_in_one_way_is_one_of_format_2(name: str, tmp_path: Path) -> None:
    entries = DurableLedger(copied(name, tmp_path)).entries
    assert [entry.purpose for entry in entries if facts_of(entry.purpose) is None] == [
        *(FREE_WORDS if name == "accounts" else ())
    ]


def test_a_question_that_could_be_two_keeps_its_text(tmp_path: Path) -> None:
    path = copied("ambiguous_links", tmp_path)
    ((_, text, *_),) = rows(path, "charges")
    assert [entry.purpose for entry in DurableLedger(path).entries] == [text]


@pytest.mark.parametrize("name", FILES)
def test_an_old_ledger_charges_everybody_and_takes_no_fixed_columns(name: str, tmp_path: Path) -> None:
    ledger = DurableLedger(copied(name, tmp_path))
    assert ledger.fixed == ()
    assert {entry.notes.region for entry in ledger.entries} <= {None}
    facts = ledger.binding.facts
    for later in ({"fixed": ["age"]}, {"fixed": ["age"], "one_row_each": True}):
        with pytest.raises(LedgerError, match="fixed: none -> age"):
            ledger.attach(Binding({**facts, **later}))
    left = ledger.left
    assert ledger.left_in('[{"age": {"whole": [40]}}]') == left


def test_the_old_file_is_kept_beside_with_all_that_it_says(tmp_path: Path) -> None:
    path = copied("accounts", tmp_path)
    DurableLedger(path)
    kept = path.with_name("accounts.ledger.format1")
    assert version(kept) == 1
    for table in ("facts", "charges", "releases"):
        assert rows(kept, table) == rows(KEPT / "accounts.ledger", table)
    assert {file.name for file in tmp_path.iterdir()} == {path.name, kept.name}


def test_a_migrated_ledger_is_shown_in_words_and_exported(tmp_path: Path) -> None:
    path = copied("accounts", tmp_path)
    words = quickly("ledger", str(path), columns=200).stdout
    assert 'sum of "v where w > 1", by clip, range 0 to 50 of 1' in words
    assert "mine of v, by framework" in words
    assert "lost before 2026-11-16" in words
    for option in ("--json", "--csv"):
        assert quickly("ledger", str(path), option).exit_code == 0


@pytest.mark.parametrize(
    "edit",
    [
        "DROP TRIGGER charges_no_update",
        "DROP TRIGGER facts_no_delete",
        "INSERT INTO charges VALUES (90, 'x', '1/4', '1', '', '', '')",
        "INSERT INTO charges SELECT max(number) + 1, 'x', '1/4', '1/4', '', '', '' FROM charges",
        "INSERT INTO releases VALUES (0, '{}')",
    ],
)
def test_a_damaged_file_of_format_1_is_refused_and_left_as_it_is(edit: str, tmp_path: Path) -> None:
    path = copied("accounts", tmp_path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(edit)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is damaged"):
        DurableLedger(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def in_a_process(work: Callable[[], object]) -> multiprocessing.context.ForkProcess:
    def run() -> None:
        gc.disable()  # what a database left behind must not be collected here
        work()

    process = FORK.Process(target=run)
    process.start()
    return process


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at_a_text(path: Path, text: int) -> None:
    """Migrate, and be killed when so many questions are translated."""
    turns = iter(range(10**6))

    def translated(*given: object) -> str:
        if next(turns) == text:
            killed()
        return str(given[0])

    migration.translated = translated  # type: ignore[assignment, attr-defined]
    DurableLedger(path)


def killed_when_all_is_written(path: Path) -> None:
    """Migrate with so small a cache that changed pages are in the file itself, and be killed there."""

    def migrate(database: sqlite3.Connection) -> None:
        database.execute("PRAGMA cache_size = 1")
        migration.to_format_2(database)
        database.execute("PRAGMA user_version = 2")
        assert path.with_name(f"{path.name}-journal").stat().st_size > 0
        assert path.read_bytes() != (KEPT / path.name).read_bytes()
        killed()

    file_format.MIGRATIONS = {1: migrate}  # type: ignore[attr-defined]
    DurableLedger(path)


@pytest.mark.parametrize(
    "work",
    [
        lambda path: killed_at_a_text(path, 0),
        lambda path: killed_at_a_text(path, 40),
        killed_when_all_is_written,
    ],
)
def test_a_process_that_is_killed_in_the_middle_leaves_the_old_file(
    work: Callable[[Path], object], tmp_path: Path
) -> None:
    path = copied("accounts", tmp_path)
    process = in_a_process(lambda: work(path))
    process.join(300)
    assert process.exitcode == -signal.SIGKILL
    assert version(path) == 1  # whoever reads it next undoes what was begun
    assert rows(path, "charges") == rows(KEPT / "accounts.ledger", "charges")
    sound_as_kept(path)


def sound_as_kept(path: Path) -> None:
    ledger = DurableLedger(path)
    kept = rows(KEPT / "accounts.ledger", "charges")
    assert ledger.left == 1 - sum(Fraction(str(row[2])) for row in kept)
    assert all(facts_of(entry.purpose) or entry.purpose in FREE_WORDS for entry in ledger.entries)
    copy = path.with_name(f"{path.name}.format1")
    assert rows(copy, "charges") == kept


def test_processes_that_are_killed_at_any_moment_leave_a_sound_file(tmp_path: Path) -> None:
    chance, span = (
        random.Random(1),
        0.04,
    )  # a span that grows and shrinks: some are late on any machine, not all
    ends = []
    for turn in range(25):
        folder = tmp_path / str(turn)
        folder.mkdir()
        path = copied("accounts", folder)
        process = in_a_process(lambda path=path: DurableLedger(path))  # type: ignore[misc]
        time.sleep(chance.random() * span)
        if process.is_alive() and process.pid:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        ends.append(process.exitcode)
        span *= 1.25 if ends[-1] else 0.8
        sound_as_kept(path)
    assert {*ends} == {0, -signal.SIGKILL}


def test_processes_that_open_an_old_file_at_once_are_all_fine(tmp_path: Path) -> None:
    path = copied("accounts", tmp_path)
    spent = 1 - sum(Fraction(str(row[2])) for row in rows(path, "charges"))
    start = FORK.Event()

    def ask(place: int) -> None:
        start.wait()
        DurableLedger(path).charge(f"question {place}", Fraction(1, 1000))

    processes = [in_a_process(lambda place=place: ask(place)) for place in range(8)]  # type: ignore[misc]
    start.set()
    for process in processes:
        process.join(300)
    assert [process.exitcode for process in processes] == [0] * 8
    ledger = DurableLedger(path)
    assert ledger.left == spent - Fraction(8, 1000)
    assert sum(entry.purpose.startswith("question ") for entry in ledger.entries) == 8
    assert {file.name for file in tmp_path.iterdir()} == {path.name, f"{path.name}.format1"}
