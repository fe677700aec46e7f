"""A ledger in PostgreSQL whose connection or server fails: a charge is found, not paid twice, not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from urllib.parse import parse_qs, urlsplit

import numpy as np
import psycopg
import pytest

import prdp
from prdp.errors import LedgerError
from prdp.ledger import Binding, Charge, DurableLedger, durable, postgres
from prdp.ledger.layout import FACTS as FACT_NAMES
from prdp.ledger.layout import VERSION, chained
from prdp.ledger.postgres import PostgresStorage
from prdp.release.release import Release
from tests.ledger.cutting import Cut, Proxy, proxy
from tests.ledger.places import PostgresPlace, new_place
from tests.postgres import PostgresServer

pytestmark = pytest.mark.slow

FACTS = Binding({"name": "t"})
ANSWER = Release("count", 10, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip")
QUARTER = Fraction(1, 4)
ANOTHER = """
import sys
from fractions import Fraction
from prdp.ledger import DurableLedger
from prdp.release.release import Release

ledger = DurableLedger(sys.argv[1])
charge = ledger.charge("a", Fraction(1, 4))
ledger.record(charge, Release("count", 5, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip"))
"""
CUTS: list[Cut] = ["before", "after", "late"]


@pytest.fixture
def place(tmp_path: object, postgres: str) -> PostgresPlace:
    made = new_place("postgres", tmp_path, lambda: postgres)  # type: ignore[arg-type]
    assert isinstance(made, PostgresPlace)
    return made


@pytest.fixture
def direct(place: PostgresPlace) -> DurableLedger:
    """Return a ledger whose connections are not cut."""
    return DurableLedger.opened(place.given, FACTS, who="ana")


@pytest.fixture
def line(postgres: str) -> Iterator[Proxy]:
    (folder,) = parse_qs(urlsplit(postgres).query)["host"]
    with proxy(folder) as opened:
        yield opened


def through(line: Proxy, place: PostgresPlace) -> str:
    return f"postgresql://postgres@127.0.0.1:{line.port}/postgres?gssencmode=disable&ledger={place.name}"


@pytest.mark.parametrize("redraw", [False, True])
@pytest.mark.parametrize("cut", CUTS)
def test_a_charge_whose_commit_is_cut_off_is_made_once(
    direct: DurableLedger, place: PostgresPlace, line: Proxy, cut: Cut, redraw: bool
) -> None:
    """Late: when the client asks again, the server has not heard of the commit yet, and holds the lock."""
    ledger = DurableLedger(through(line, place))
    line.cut = cut
    charge = ledger.charge("a", QUARTER, redraw=redraw)
    assert isinstance(charge, Charge)
    assert line.cuts == 1
    assert [(entry.number, entry.purpose) for entry in direct.entries] == [(charge.number, "a")]
    assert ledger.record(charge, ANSWER) == ANSWER
    assert direct.remaining == Fraction(3, 4)


def test_a_charge_that_landed_and_was_answered_by_another_is_not_paid_again_even_afresh(
    direct: DurableLedger, place: PostgresPlace, line: Proxy
) -> None:
    """Another process, which takes the charge up while this one has not heard yet that it was made."""
    ledger = DurableLedger(through(line, place))

    def another_answers() -> None:
        command = [sys.executable, "-c", ANOTHER, place.given]
        subprocess.run(command, check=True, timeout=300)

    line.cut, line.meanwhile = "after", another_answers
    charge = ledger.charge("a", QUARTER, redraw=True)
    assert isinstance(charge, Charge)
    stands = ledger.record(charge, ANSWER)
    assert stands == replace(ANSWER, steps=5)
    assert [entry.release for entry in direct.entries] == [stands]


@pytest.mark.parametrize("cut", CUTS)
def test_a_release_whose_commit_is_cut_off_is_recorded_once(
    direct: DurableLedger, place: PostgresPlace, line: Proxy, cut: Cut
) -> None:
    ledger = DurableLedger(through(line, place))
    charge = ledger.charge("a", QUARTER)
    assert isinstance(charge, Charge)
    line.cut = cut
    assert ledger.record(charge, ANSWER) == ANSWER
    assert line.cuts == 1
    assert direct.entries[0].release == ANSWER


@pytest.mark.parametrize("cut", CUTS)
def test_a_quota_whose_commit_is_cut_off_is_written_once(
    direct: DurableLedger, place: PostgresPlace, line: Proxy, cut: Cut
) -> None:
    ledger = DurableLedger(through(line, place))
    line.cut = cut
    ledger.set_quota("ana", "1/4")
    assert place.run("SELECT name, share FROM quotas") == [("ana", "1/4")]


@pytest.mark.parametrize("cut", CUTS)
def test_a_ledger_whose_beginning_is_cut_off_is_begun_once(
    place: PostgresPlace, line: Proxy, cut: Cut
) -> None:
    begun = PostgresStorage(through(line, place))
    line.cut = cut
    facts = zip(FACT_NAMES, (str(VERSION), FACTS.to_json(), "2026", "me"), strict=True)
    contents = chained(("facts", fact) for fact in facts)
    assert begun.begin(contents)
    assert line.cuts == 1
    assert DurableLedger(place.given).binding == FACTS
    assert not begun.begin(contents)


def test_where_nobody_can_tell_it_is_stated_and_asking_again_costs_nothing_more(
    direct: DurableLedger, place: PostgresPlace, line: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_WAITS", (0.0, 0.0))
    ledger = DurableLedger(through(line, place))
    line.cut = "for good"
    with pytest.raises(LedgerError, match=r"it may or may not be recorded\. Ask again") as refusal:
        ledger.charge("a", QUARTER)
    assert "nothing was charged" not in str(refusal.value)
    assert len(direct.entries) == 1
    assert isinstance(direct.charge("a", QUARTER), Charge)
    assert direct.remaining == Fraction(3, 4)


def test_a_table_s_question_survives_a_cut_and_is_paid_once(place: PostgresPlace, line: Proxy) -> None:
    table = prdp.open({"v": np.arange(9)}, policy="1", name="t", ledger=through(line, place))
    line.cut = "after"
    first = table.count(share="1/4")
    assert line.cuts == 1
    assert table.count(share="1/4") == first
    assert table.remaining == Fraction(3, 4)


def in_the_middle_of_a_charge(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something once while a charge is made: it is dated after all was read, and before it is written."""
    acts, dated = [act], durable._now

    def now() -> str:
        if acts:
            acts.pop()()
        return dated()

    monkeypatch.setattr(durable, "_now", now)


def backends(address: str) -> list[int]:
    with psycopg.connect(address) as other:
        found = other.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'prdp'").fetchall()
    return [pid for (pid,) in found]


def terminate(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'prdp'"
        )


def test_a_charge_whose_connection_is_ended_by_an_administrator_is_made_once(
    direct: DurableLedger, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_middle_of_a_charge(monkeypatch, lambda: terminate(postgres))
    assert isinstance(direct.charge("a", QUARTER), Charge)
    assert [entry.number for entry in direct.entries] == [0]


def kill_backends(server: PostgresServer) -> None:
    for pid in backends(server.address):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("trouble", [kill_backends, PostgresServer.restart, PostgresServer.crash])
def test_a_server_that_goes_down_in_the_middle_of_a_charge_leaves_one_charge_or_none(
    trouble: Callable[[PostgresServer], object],
    direct: DurableLedger,
    postgres_server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long it takes to come back: what is refused says so, and is asked again."""
    direct.record(made(direct, "before"), ANSWER)
    in_the_middle_of_a_charge(monkeypatch, lambda: trouble(postgres_server))
    charge = made(direct, "a")
    assert direct.record(charge, ANSWER) == ANSWER
    assert [(entry.purpose, entry.release) for entry in direct.entries] == [("before", ANSWER), ("a", ANSWER)]
    assert direct.remaining == Fraction(1, 2)


def made(ledger: DurableLedger, purpose: str, tries: int = 10) -> Charge:
    for _ in range(tries):
        try:
            charge = ledger.charge(purpose, QUARTER)
        except LedgerError as refusal:
            assert "cannot be used" in str(refusal)
            continue
        assert isinstance(charge, Charge)
        return charge
    raise AssertionError("the server did not come back")


def test_what_is_charged_is_there_after_a_crash_of_the_server(
    direct: DurableLedger, place: PostgresPlace, postgres_server: PostgresServer
) -> None:
    direct.record(made(direct, "a"), ANSWER)
    postgres_server.crash()
    again = DurableLedger(place.given)
    assert again.entries == direct.entries
    assert again.remaining == Fraction(3, 4)


def test_whoever_writes_without_the_lock_is_refused_by_the_key_and_reads_again(
    direct: DurableLedger, place: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another charge is committed after this one has read the sum: its own sum would be wrong."""
    loose = DurableLedger(place.given)
    monkeypatch.setattr(loose._storage, "_lock", 1)
    in_the_middle_of_a_charge(monkeypatch, lambda: direct.charge("b", QUARTER))
    charge = loose.charge("a", QUARTER)
    assert isinstance(charge, Charge)
    assert [entry.purpose for entry in direct.entries] == ["b", "a"]
    assert DurableLedger(place.given).remaining == Fraction(1, 2)


def test_a_lock_that_others_hold_for_too_long_is_stated_and_nothing_is_charged(
    direct: DurableLedger, place: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_PATIENCE_SECONDS", 1)
    storage = PostgresStorage(place.given)
    with psycopg.connect(place.database) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (storage._lock,))
        with pytest.raises(LedgerError, match=r"others held it for too long.*: nothing was charged"):
            direct.charge("a", QUARTER)
    assert direct.remaining == 1


def test_a_writer_that_stalls_does_not_hold_others_up_and_is_paid_once(
    direct: DurableLedger, place: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the transaction of whoever does nothing, such as a process that was stopped."""
    monkeypatch.setattr(postgres, "_STALLED_SECONDS", 1)

    def stall() -> None:
        time.sleep(2)
        subprocess.run([sys.executable, "-c", ANOTHER, place.given], check=True, timeout=300)

    in_the_middle_of_a_charge(monkeypatch, stall)
    assert isinstance(direct.charge("b", QUARTER), Charge)
    assert [(entry.number, entry.purpose) for entry in direct.entries] == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_a_database_s_own_defaults_weaken_nothing(new_database: Callable[[], str], isolation: str) -> None:
    """A stricter isolation would read the sum as it was before the lock was had; other commits are lost."""
    address = new_database()
    name = urlsplit(address).path.removeprefix("/")
    with psycopg.connect(address, autocommit=True) as database:
        for setting in (
            f"default_transaction_isolation = '{isolation}'",
            "synchronous_commit = off",
            "default_transaction_read_only = on",
            "statement_timeout = '10min'",
        ):
            database.execute(f"ALTER DATABASE {name} SET {setting}".encode())
    ledger = DurableLedger.opened(address, FACTS)

    def spend(k: int) -> None:
        try:
            DurableLedger(address).charge(f"q{k}", Fraction(1, 5))
        except prdp.BudgetExhausted:
            refused.append(k)

    refused: list[int] = []
    threads = [threading.Thread(target=spend, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.entries), len(refused), ledger.remaining) == (5, 3, Fraction(0))
    shown = PostgresStorage(address).writing(
        lambda database, _: [
            database.execute(f"SHOW {setting}").fetchone()[0]
            for setting in ("transaction_isolation", "synchronous_commit", "statement_timeout")
        ],
        "",
    )
    assert shown == ["read committed", "on", "0"]


def test_a_server_that_waits_for_its_standby_to_apply_is_not_made_to_wait_less(
    new_database: Callable[[], str],
) -> None:
    address = new_database()
    with psycopg.connect(address, autocommit=True) as database:
        name = urlsplit(address).path.removeprefix("/")
        database.execute(f"ALTER DATABASE {name} SET synchronous_commit = remote_apply".encode())
    shown = PostgresStorage(address).writing(
        lambda database, _: database.execute("SHOW synchronous_commit").fetchone(), ""
    )
    assert shown == ("remote_apply",)
