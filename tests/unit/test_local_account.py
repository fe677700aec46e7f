"""A client's account: begun by many at once, never in doubt about what was told."""

from __future__ import annotations

import multiprocessing
import queue
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import prdp
from prdp.errors import InvalidRequest, LedgerError
from prdp.local import Campaign, Client
from prdp.local.counting import DomainCount

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
    said: dict[int, set[object]] = {}
    for _ in range(parties * accounts):
        number, report = found.get(timeout=120)
        said.setdefault(number, set()).add(report)
    assert all(len(reports) == 1 for reports in said.values()), said
    assert all(isinstance(report, bytes) for reports in said.values() for report in reports), said


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
            left, drawn = me.left, entropy.drawn
            try:
                me.report(campaign, RECORD)
            except InvalidRequest as refused:
                assert "too fine" in str(refused)
                break
        else:
            pytest.fail("400 coprime denominators of twelve digits make a sum of 4,800 digits")
        assert (me.left, entropy.drawn) == (left, drawn)
        me.report(Campaign("coarse", POLICY, Fraction(1, 2), DomainCount()), RECORD)
    with _digit_limit(640):
        assert Client(path).left == left - Fraction(1, 2)


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
def test_an_account_that_was_changed_is_refused_and_nothing_is_told(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "me.account"
    Client(path).report(CAMPAIGN, RECORD)
    with sqlite3.connect(path) as database:
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
