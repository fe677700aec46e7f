"""A client's account: begun by many at once, never in doubt about what was reported."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import prdp
from prdp.errors import InvalidRequest, LedgerError
from prdp.local import Campaign, Client, Report
from prdp.local.client import client as client_module
from prdp.local.protocols.counting import DomainCount
from prdp.noise.entropy import SystemEntropy
from tests.ledger.frames import chain, variables

POLICY = prdp.Policy("10000 / balance", at_least="1e-8", at_most=100)
CAMPAIGN = Campaign("balances", POLICY, "1/2", DomainCount())
RECORD = {"balance": 40_000}


def _begun(folder: str, accounts: int, together: Any, found: Any) -> None:
    """Begin each of many accounts at the moment in which others do, answer, and say what happened."""
    for number in range(accounts):
        together.wait()
        try:
            report = bytes(Client(f"{folder}/{number}.account").report(CAMPAIGN, RECORD))
            found.put((number, report))
        except Exception as error:  # whoever started it judges it
            found.put((number, repr(error)))


def _one_report_an_account(found: Any, parties: int, accounts: int) -> None:
    stated: dict[int, set[object]] = {}
    for _ in range(parties * accounts):
        number, report = found.get(timeout=120)
        stated.setdefault(number, set()).add(report)
    assert all(len(reports) == 1 for reports in stated.values()), stated
    assert all(isinstance(report, bytes) for reports in stated.values() for report in reports), stated


def test_threads_that_begin_one_account_at_once_all_use_the_same(tmp_path: Path) -> None:
    parties, accounts = 4, 100
    together, found = threading.Barrier(parties), queue.Queue()  # type: ignore[var-annotated]
    threads = [
        threading.Thread(target=_begun, args=(str(tmp_path), accounts, together, found))
        for _ in range(parties)
    ]
    for thread in threads:
        thread.start()
    _one_report_an_account(found, parties, accounts)
    for thread in threads:
        thread.join()
    assert len(list(tmp_path.iterdir())) == accounts  # no draft is left


def test_processes_that_begin_one_account_at_once_all_use_the_same(tmp_path: Path) -> None:
    parties, accounts = 3, 60
    context = multiprocessing.get_context("spawn")
    together, found = context.Barrier(parties), context.Queue()
    processes = [
        context.Process(target=_begun, args=(str(tmp_path), accounts, together, found))
        for _ in range(parties)
    ]
    for process in processes:
        process.start()
    _one_report_an_account(found, parties, accounts)
    for process in processes:
        process.join()
    assert len(list(tmp_path.iterdir())) == accounts


def _primes(above: int) -> Iterator[int]:
    """Yield primes of twelve digits, which share no factor: the worst denominators that shares can have."""
    candidate = above + 1
    while True:
        if all(pow(base, candidate - 1, candidate) == 1 for base in (2, 3, 5, 7, 11, 13)):
            yield candidate
        candidate += 2


@contextmanager
def _digit_limit(digits: int) -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(digits)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


class Counted:
    """Zeros for random bytes, and how many were asked for."""

    def __init__(self) -> None:
        self.drawn = 0

    def bytes(self, count: int) -> bytes:
        self.drawn += count
        return bytes(count)


@pytest.mark.parametrize("digits", [0, 640, 4300])
def test_a_sum_too_fine_to_be_written_is_refused_before_anything_is_drawn(
    tmp_path: Path, digits: int
) -> None:
    """Whatever number of digits a process lets Python write: the next one may let it read fewer."""
    path, entropy = tmp_path / "me.account", Counted()
    with _digit_limit(digits):
        me = Client(path, entropy=entropy)
        for number, prime in zip(range(400), _primes(10**11), strict=False):
            campaign = Campaign("fine", POLICY, Fraction(1, prime), DomainCount(), number + 1)
            left, drawn = me.remaining, entropy.drawn
            try:
                me.report(campaign, RECORD)
            except InvalidRequest as refused:
                assert "too fine" in str(refused)
                break
        else:
            pytest.fail("400 coprime denominators of twelve digits make a sum of 4,800 digits")
        assert (me.remaining, entropy.drawn) == (left, drawn)
        me.report(Campaign("coarse", POLICY, Fraction(1, 2), DomainCount()), RECORD)
    with _digit_limit(640):
        assert Client(path).remaining == left - Fraction(1, 2)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE reports SET spent = 'much'",
        "UPDATE reports SET spent = '1/0'",
        "UPDATE reports SET spent = '-5'",
        f"UPDATE reports SET spent = '{'7' * 5000}'",
        "UPDATE terms SET policy = '{'",
        "UPDATE terms SET policy = '{\"expression\": 1}'",
        f"UPDATE terms SET policy = '{'[' * 5000}'",
        "UPDATE reports SET report = 'text'",
        "UPDATE reports SET report = x'00'",
    ],
)
def test_an_account_that_was_changed_is_refused_and_nothing_is_reported(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "me.account"
    Client(path).report(CAMPAIGN, RECORD)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(damage)
    asked = CAMPAIGN if "SET report" in damage else Campaign("next", POLICY, "1/4", DomainCount())
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="was changed by something else"):
        Client(path).report(asked, RECORD)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["", "a\0b", "a\ud800b"])
def test_what_is_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match="no file name"):
        Client(f"{tmp_path}/{name}" if name else name)


class Troubled:
    """The system's generator; trouble comes with the last bytes that a report needs, which it remembers."""

    def __init__(self, trouble: Callable[[], object]) -> None:
        self.trouble, self.last = trouble, b""

    def bytes(self, count: int) -> bytes:
        self.last = SystemEntropy().bytes(count)
        if count == 16:  # the token, which is drawn last
            self.trouble()
        return self.last


def _refusing(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TRIGGER no BEFORE INSERT ON reports BEGIN SELECT RAISE(ABORT, 'full'); END")
    database.close()


def _locked(path: Path) -> None:
    LOCKS.append(sqlite3.connect(path, isolation_level=None))
    LOCKS[-1].execute("BEGIN EXCLUSIVE")


LOCKS: list[sqlite3.Connection] = []


@pytest.fixture(autouse=True)
def _unlock() -> Iterator[None]:
    yield
    while LOCKS:
        LOCKS.pop().close()


def _holds(error: BaseException, secret: bytes) -> list[str]:
    """Name the variables, in the frames that an exception leads to, that hold what was drawn."""
    return [
        name
        for name, value in variables(error)
        if (isinstance(value, bytes) and secret in value)
        or (isinstance(value, Report) and secret in bytes(value))
        or (isinstance(value, BaseException) and value is not error and _holds(value, secret))
    ]


@pytest.mark.parametrize(
    "trouble", [_refusing, _locked, Path.unlink, lambda path: os.truncate(path, 0)], ids=range(4)
)
def test_a_report_that_cannot_be_stored_is_in_no_frame(
    trouble: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_BUSY_SECONDS", 0)
    path = tmp_path / "me.account"
    entropy = Troubled(lambda: trouble(path))
    with pytest.raises(LedgerError) as caught:
        Client(path, entropy=entropy).report(CAMPAIGN, RECORD)
    assert entropy.last
    assert _holds(caught.value, entropy.last) == []
    assert list(chain(caught.value)) == [caught.value]


@pytest.mark.parametrize("file", [None, "me.account"])
@pytest.mark.parametrize("moment", ["drawn", "stored"])
def test_ctrl_c_before_a_report_is_stored_shows_nothing(
    file: str | None, moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    def on_the_last() -> None:
        if moment == "drawn":
            press()
        else:
            monkeypatch.setattr(client_module, "_policy", press)  # what is read before the report is written

    entropy = Troubled(on_the_last)
    client = Client(file and tmp_path / file, entropy=entropy)
    with pytest.raises(KeyboardInterrupt) as caught:
        client.report(CAMPAIGN, RECORD)
    assert _holds(caught.value, entropy.last) == []
    assert not [name for name, _ in variables(caught.value) if name.startswith("payload in ")]
    assert list(chain(caught.value)) == [caught.value]
    monkeypatch.undo()
    assert client.remaining == 1


def test_no_message_advises_an_account_that_has_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "me.account"
    me = Client(path)
    path.unlink()
    with pytest.raises(LedgerError, match="lacks the reports made since it was copied") as caught:
        me.report(CAMPAIGN, RECORD)
    assert "in its place" not in str(caught.value)
