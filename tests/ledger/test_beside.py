"""One account serves many people at once: each charge has its own name, and what is written beside it."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import threading
import time
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchmarks.ledger_stress import answer
from prdp.errors import BudgetExhausted, LedgerError
from prdp.ledger import Beside, Binding, Charge, DurableLedger
from prdp.ledger.storage import LedgerTables
from prdp.release.table import Released
from tests.ledger.places import FilePlace, Place, PostgresPlace

FACTS = Binding({"name": "t"})
FORK = multiprocessing.get_context("fork")
LAYOUT = (
    "CREATE TABLE {0}purses (who TEXT PRIMARY KEY, spent INTEGER NOT NULL CHECK (spent <= 50))",
    "CREATE TABLE {0}audit (number INTEGER NOT NULL, who TEXT NOT NULL, new INTEGER NOT NULL)",
    "INSERT INTO {0}purses VALUES ('ana', 0), ('ben', 0), ('eve', 50)",
)

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


class Store:
    """Purses and an audit of somebody else's, beside a ledger at any place: a file, or a schema."""

    def __init__(self, place: Place) -> None:
        self.place = place
        if isinstance(place, PostgresPlace):
            self.file, self.name = None, f"served_{place.name}."
            with psycopg.connect(place.database) as database:
                database.execute(f"CREATE SCHEMA {self.name[:-1]}".encode())
                for statement in LAYOUT:
                    database.execute(statement.format(self.name).encode())
        else:
            assert isinstance(place, FilePlace)
            self.file, self.name = place.given.with_name("store.served"), "beside."
            with closing(sqlite3.connect(self.file)) as file, file:
                for statement in LAYOUT:
                    file.execute(statement.format(""))

    def of(self, who: str) -> Beside:
        """Return what takes 1 out of somebody's purse and writes an audit line."""

        def write(database: LedgerTables, charged: Charge | Released, new: bool) -> None:
            number = charged.number if isinstance(charged, Charge) else -1
            database.execute(f"UPDATE {self.name}purses SET spent = spent + 1 WHERE who = ?", (who,))
            database.execute(f"INSERT INTO {self.name}audit VALUES (?, ?, ?)", (number, who, int(new)))

        return Beside(write, self.file)

    def found(self, statement: str) -> list[Any]:
        """Read the store as any other tool could."""
        if self.file is None:
            return self.place.run(statement.format(self.name))
        with closing(sqlite3.connect(self.file)) as database:
            return database.execute(statement.format("")).fetchall()

    @property
    def spent(self) -> dict[str, int]:
        return dict(self.found("SELECT who, spent FROM {0}purses"))

    @property
    def audit(self) -> list[Any]:
        return self.found("SELECT number, who, new FROM {0}audit ORDER BY number, new")


@pytest.fixture
def ledger(place: Place) -> DurableLedger:
    return DurableLedger.opened(place.given, FACTS, who="owner")


@pytest.fixture
def store(place: Place, ledger: DurableLedger) -> Store:
    assert ledger.begun
    return Store(place)


def charge(ledger: DurableLedger, question: str, share: Fraction = Fraction(1, 1000)) -> Charge:
    found = ledger.charge(question, share)
    assert isinstance(found, Charge)
    return found


def test_questions_asked_at_once_are_charged_to_whoever_asks_each(ledger: DurableLedger) -> None:
    people = [f"analyst {k}" for k in range(10)]

    def ask(who: str) -> None:
        mine = ledger.asked_by(who)
        for turn in range(5):
            charge(mine, f"{who} asks {turn}")

    threads = [threading.Thread(target=ask, args=(who,)) for who in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.entries) == 50
    assert all(entry.purpose.startswith(f"{entry.who} asks") for entry in ledger.entries)
    assert ledger.who == "owner"


def test_a_quota_is_that_of_whoever_asks(ledger: DurableLedger) -> None:
    ledger.set_quota("ana", "1/1000")
    charge(ledger.asked_by("ana"), "first")
    with pytest.raises(BudgetExhausted):
        ledger.asked_by("ana").charge("second", Fraction(1, 1000))
    charge(ledger.asked_by("ben"), "second")


def test_a_charge_and_what_is_written_beside_it_are_one(ledger: DurableLedger, store: Store) -> None:
    for turn in range(3):
        charge(ledger.asked_by("ana", beside=store.of("ana")), f"question {turn}")
    assert store.spent == {"ana": 3, "ben": 0, "eve": 50}
    assert store.audit == [(0, "ana", 1), (1, "ana", 1), (2, "ana", 1)]
    assert len(ledger.entries) == 3


def test_what_the_database_beside_refuses_is_not_charged(ledger: DurableLedger, store: Store) -> None:
    with pytest.raises(LedgerError):
        ledger.asked_by("eve", beside=store.of("eve")).charge("one too many", Fraction(1, 1000))
    assert not ledger.entries
    assert ledger.remaining == 1
    assert not store.audit


def test_what_the_ledger_refuses_is_not_written_beside(ledger: DurableLedger, store: Store) -> None:
    mine = ledger.asked_by("ana", beside=store.of("ana"))
    charge(mine, "all", Fraction(1))
    with pytest.raises(BudgetExhausted):
        mine.charge("and more", Fraction(1, 1000))
    assert store.spent["ana"] == len(ledger.entries) == 1


def test_a_charge_that_is_taken_up_and_a_recorded_release_are_seen_beside(
    ledger: DurableLedger, store: Store
) -> None:
    first = charge(ledger.asked_by("ana", beside=store.of("ana")), "question")
    with pytest.raises(LedgerError):  # nothing in the purse, and nothing for free
        ledger.asked_by("eve", beside=store.of("eve")).charge("question", Fraction(1, 1000))
    taken_up = charge(ledger.asked_by("ben", beside=store.of("ben")), "question")
    assert taken_up.token == first.token
    ledger.record(first, answer(1))
    recorded = ledger.asked_by("ben", beside=store.of("ben")).charge("question", Fraction(1, 1000))
    assert not isinstance(recorded, Charge)
    assert store.audit == [(-1, "ben", 0), (0, "ben", 0), (0, "ana", 1)]
    assert len(ledger.entries) == 1


def test_killed_processes_leave_as_many_charges_as_lines_beside_them(
    place: Place, ledger: DurableLedger, store: Store
) -> None:
    def ask_on(who: str) -> None:
        mine = DurableLedger(place.given).asked_by(who, beside=store.of(who))
        for turn in range(1000):
            with suppress(LedgerError):  # an empty purse
                mine.charge(f"{who} {os.getpid()} asks {turn}", Fraction(1, 10**6))

    chance, killed = random.Random(5), 0
    for turn in range(8):
        process = FORK.Process(target=ask_on, args=(("ana", "ben")[turn % 2],))
        process.start()
        time.sleep(0.05 + chance.random() * 0.2)
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += process.exitcode == -signal.SIGKILL
        charges = [entry.who for entry in DurableLedger(place.given).entries]
        assert {who: charges.count(who) for who in ("ana", "ben")} == {
            who: store.spent[who] for who in ("ana", "ben")
        }
        assert [who for _, who, _ in store.audit] == charges
    assert killed == 8
    assert store.audit


def test_operations_on_two_ledgers_do_not_wait_for_each_other(tmp_path: Path) -> None:
    held, other = (DurableLedger.opened(tmp_path / f"{name}.ledger", FACTS) for name in ("held", "other"))
    inside, done = threading.Event(), threading.Event()

    def wait(database: LedgerTables, charged: Charge | Released, new: bool) -> None:
        inside.set()
        assert done.wait(60)

    thread = threading.Thread(target=lambda: charge(held.asked_by("ana", beside=Beside(wait)), "slow"))
    thread.start()
    assert inside.wait(60)
    charge(other, "quick")  # while the first ledger is in the middle of a charge
    done.set()
    thread.join()
    assert len(held.entries) == len(other.entries) == 1


def test_a_fork_waits_for_operations_of_other_threads_on_every_ledger(tmp_path: Path) -> None:
    ledger = DurableLedger.opened(tmp_path / "t.ledger", FACTS)
    inside, ended = threading.Event(), threading.Event()

    def linger(database: LedgerTables, charged: Charge | Released, new: bool) -> None:
        inside.set()
        time.sleep(0.2)
        ended.set()

    thread = threading.Thread(target=lambda: charge(ledger.asked_by("ana", beside=Beside(linger)), "slow"))
    thread.start()
    assert inside.wait(60)
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=lambda: sender.send((ended.is_set(), str(ledger.remaining))))
    process.start()
    process.join(60)
    thread.join()
    assert receiver.recv() == (True, "999/1000")


def test_a_file_with_a_write_ahead_log_is_refused_beside_a_ledger(tmp_path: Path) -> None:
    ledger = DurableLedger.opened(tmp_path / "t.ledger", FACTS)
    file = tmp_path / "store.served"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE lines (number INTEGER)")
    with pytest.raises(LedgerError, match="journal mode of one is wal"):
        ledger.asked_by("ana", beside=Beside(lambda *_: None, file)).charge("question", Fraction(1, 2))
    assert not ledger.entries
