"""An account is kept once: a fork, a copy or another process never makes two of it."""

from __future__ import annotations

import copy
import multiprocessing
import multiprocessing.context
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.errors import InvalidRequest, LedgerError, PrdpError
from prdp.ledger import Binding, DurableLedger, MemoryLedger
from prdp.ledger.storage import connected
from prdp.local import Campaign, Client
from prdp.local.protocols.counting import DomainCount
from prdp.noise.entropy import SystemEntropy
from tests.ledger.places import Place

FACTS = Binding({"name": "t"})
FORK = multiprocessing.get_context("fork")
PATIENCE = 120
"""Seconds after which something hangs, however busy the machine is."""
Context = multiprocessing.context.SpawnContext | multiprocessing.context.ForkServerContext
OTHERS = [multiprocessing.get_context("spawn"), multiprocessing.get_context("forkserver")]
POLICY = prdp.Policy("1 / visits", at_least="1/100", at_most=1)

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def in_a_fork(work: Callable[[], object]) -> str:
    """Run work in a forked process and return what it gives, or what its refusal says."""
    receiver, sender = FORK.Pipe(duplex=False)

    def run() -> None:
        try:
            sender.send(f"no refusal: {work()}")
        except PrdpError as refusal:
            sender.send(f"{type(refusal).__name__}: {refusal}")

    process = FORK.Process(target=run)
    process.start()
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
        return "hangs"
    return str(receiver.recv()) if receiver.poll() else f"died with {process.exitcode}"


def accounts(**options: Any) -> prdp.Table:
    return prdp.open(
        {"balance": np.arange(1, 300_000)},
        policy=prdp.Policy("10000 / balance", at_most=100),
        bounds={"balance": (0, 10**12)},
        name="accounts",
        **options,
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda ledger: ledger.charge("b", Fraction(1, 2)),
        lambda ledger: ledger.charge("a", Fraction(1, 2)),
        lambda ledger: ledger.remaining,
        lambda ledger: ledger.entries,
        lambda ledger: ledger.attach(FACTS),
    ],
)
def test_an_account_in_memory_is_refused_in_a_forked_process(use: Callable[[MemoryLedger], object]) -> None:
    ledger = MemoryLedger()
    ledger.charge("a", Fraction(1, 2))
    stated = in_a_fork(lambda: use(ledger))
    assert stated.startswith("LedgerError")
    assert "another process" in stated
    assert "ledger='accounts.ledger'" in stated
    assert ledger.remaining == Fraction(1, 2)


def test_an_account_in_memory_shows_itself_in_a_forked_process_without_failing() -> None:
    ledger = MemoryLedger()
    assert "another process" in in_a_fork(lambda: repr(ledger))


def test_a_fork_while_another_thread_spends_is_refused_and_does_not_hang() -> None:
    ledger = MemoryLedger()
    with ledger._lock:
        assert in_a_fork(lambda: ledger.charge("a", Fraction(1, 2))).startswith("LedgerError")


def test_a_grandchild_is_another_process_too() -> None:
    ledger = MemoryLedger()
    stated = in_a_fork(lambda: in_a_fork(lambda: ledger.charge("a", Fraction(1, 2))))
    assert "no refusal: LedgerError" in stated


@pytest.mark.parametrize("ledger", [None, "accounts.ledger"])
def test_an_open_table_is_refused_in_a_forked_process_before_anything_is_charged(
    ledger: str | None, tmp_path: Path
) -> None:
    table = accounts(ledger=ledger and tmp_path / ledger)
    table.count(share="1/10")
    for ask in (
        lambda: table.sum("balance", share="1/10"),
        lambda: table.count(share="1/20"),
        lambda: table.run(lambda rows, epsilon, beta: 1, columns=["balance"], share="1/10"),
    ):
        stated = in_a_fork(ask)
        assert "another process" in stated, stated
        assert "ledger" in stated
    assert table.ledger.remaining == Fraction(9, 10)


def test_a_table_that_is_opened_in_the_fork_shares_the_ledger(place: Place) -> None:
    path = place.given
    first = accounts(ledger=path).count(share="1/10")
    stated = in_a_fork(lambda: replace(accounts(ledger=path).count(share="1/10"), recorded_at=""))
    assert stated == f"no refusal: {first}"
    in_a_fork(lambda: accounts(ledger=path).sum("balance", share="1/10"))
    assert DurableLedger(path).remaining == Fraction(8, 10)


def test_a_ledger_that_lasts_is_used_across_a_fork(place: Place) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    assert in_a_fork(lambda: ledger.charge("a", Fraction(1, 4))).startswith("no refusal")
    ledger.charge("b", Fraction(1, 4))
    assert in_a_fork(lambda: ledger.charge("c", Fraction(3, 4))).startswith("BudgetExhausted")
    assert [entry.purpose for entry in ledger.entries] == ["a", "b"]


@pytest.mark.parametrize("context", OTHERS)
def test_a_ledger_that_lasts_can_be_sent_to_another_process(context: Context, place: Place) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    process = context.Process(target=ledger.charge, args=("a", Fraction(1, 4)))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
    assert ledger.remaining == Fraction(3, 4)


@pytest.mark.parametrize("context", OTHERS)
def test_an_account_in_memory_cannot_be_sent_to_another_process(context: Context) -> None:
    with pytest.raises(LedgerError, match="Give the table a ledger file"):
        context.Process(target=MemoryLedger().charge, args=("a", Fraction(1, 4))).start()


@pytest.mark.parametrize("double", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_account_in_memory_is_not_copied(double: Callable[[object], object]) -> None:
    with pytest.raises(LedgerError, match="would be a second account"):
        double(MemoryLedger())


@pytest.mark.parametrize("double", [copy.deepcopy, pickle.dumps, asdict])
@pytest.mark.parametrize("ledger", [None, "accounts.ledger"])
def test_an_open_table_is_not_copied(
    double: Callable[[Any], object], ledger: str | None, tmp_path: Path
) -> None:
    with pytest.raises(PrdpError, match="ledger file"):
        double(accounts(ledger=ledger and tmp_path / ledger))


def test_a_shallow_copy_of_a_table_has_the_same_account() -> None:
    table = accounts()
    copy.copy(table).count(share="1/4")
    assert table.ledger.remaining == Fraction(3, 4)


def test_joined_tables_are_refused_in_a_forked_process_and_not_copied() -> None:
    join = prdp.open_join(
        {"customers": {"id": np.arange(5)}, "orders": {"id": np.arange(5), "customer": np.arange(5)}},
        private="customers",
        key="id",
        references={"orders.customer": "customers.id"},
        policy=prdp.Policy.constant(1),
    )
    assert "another process" in in_a_fork(lambda: join.over("orders").count(share="1/2"))
    with pytest.raises(InvalidRequest, match="ledger file"):
        copy.deepcopy(join)


def test_a_client_s_account_in_memory_is_refused_in_a_forked_process() -> None:
    client = Client()
    campaign = Campaign("visits", POLICY, "1/2", DomainCount())
    stated = in_a_fork(lambda: client.report(campaign, {"visits": 3}))
    assert stated.startswith("LedgerError")
    assert "another process" in stated
    assert in_a_fork(lambda: client.remaining).startswith("LedgerError")
    client.report(campaign, {"visits": 3})
    assert client.remaining == Fraction(1, 2)


def test_a_client_s_account_in_a_file_tells_the_same_in_a_forked_process(tmp_path: Path) -> None:
    client = Client(tmp_path / "me.account")
    campaign = Campaign("visits", POLICY, "1/2", DomainCount())
    in_the_fork = in_a_fork(lambda: bytes(client.report(campaign, {"visits": 3})).hex())
    assert in_the_fork == f"no refusal: {bytes(client.report(campaign, {'visits': 3})).hex()}"
    assert client.remaining == Fraction(1, 2)


def test_a_fork_waits_until_no_connection_to_a_ledger_is_open(tmp_path: Path) -> None:
    """SQLite's own locks would stay locked in the child for ever."""
    path = tmp_path / "t.ledger"
    DurableLedger.opened(path, FACTS)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with connected(path):
            inside.set()
            leave.wait(PATIENCE)

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0 if leave.is_set() else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    codes: list[int] = []
    holder, forker = threading.Thread(target=hold), threading.Thread(target=fork)
    holder.start()
    inside.wait(PATIENCE)
    forker.start()
    forker.join(0.2)
    leave.set()
    forker.join(PATIENCE)
    holder.join(PATIENCE)
    assert codes == [0]


class Forking:
    """The system's generator, which forks when it is asked for the first time."""

    def __init__(self) -> None:
        self.child: int | None = None

    def bytes(self, count: int) -> bytes:
        if self.child is None:
            self.child = os.fork()
        return SystemEntropy().bytes(count)


@pytest.mark.parametrize("file", [None, "me.account"])
@pytest.mark.parametrize("first", ["parent", "child"])
def test_a_fork_while_a_report_is_drawn_leaves_one_report(
    file: str | None, first: str, tmp_path: Path
) -> None:
    """Whichever of the two processes comes to its end first."""
    path = file and tmp_path / file
    campaign = Campaign("visits", POLICY, "1/2", DomainCount())
    receiver, sender = FORK.Pipe(duplex=False)
    go_on, let_go = FORK.Pipe(duplex=False)

    class Waiting(Forking):
        def bytes(self, count: int) -> bytes:
            drawn = super().bytes(count)
            if self.child == 0 and first == "parent":
                go_on.poll(PATIENCE)
            if self.child and first == "child":
                receiver.poll(PATIENCE)
            return drawn

    entropy = Waiting()
    client = Client(path, entropy=entropy)
    try:
        stated = bytes(client.report(campaign, {"visits": 3})).hex()
    except LedgerError as refusal:
        stated = f"LedgerError: {refusal}"
    except BaseException as error:
        stated = repr(error)
    if entropy.child == 0:
        sender.send(stated)
        os._exit(0)
    let_go.send(None)
    assert entropy.child is not None
    os.waitpid(entropy.child, 0)
    refused = receiver.recv()
    assert refused.startswith("LedgerError"), refused
    assert "forked" in refused
    assert bytes.fromhex(stated) == bytes(client.report(campaign, {"visits": 3}))
    assert client.remaining == Fraction(1, 2)
    if path is not None:
        with closing(sqlite3.connect(path)) as database, database:
            assert database.execute("SELECT hex(report) FROM reports").fetchall() == [(stated.upper(),)]
        database.close()


FORKS_WHILE_IT_WRITES = """
import os, sys
import prdp
from prdp.errors import LedgerError
from prdp.local import Campaign, Client
from prdp.local.client import client
from prdp.local.protocols.counting import DomainCount

campaign = Campaign("visits", prdp.Policy("1 / visits", at_least="1/100", at_most=1), "1/4", DomainCount(), 2)
children, whole = [], client._opened

class Connection:
    def __init__(self, database):
        self.database = database
    def __getattr__(self, name):
        return getattr(self.database, name)
    def execute(self, statement, *values):
        done = self.database.execute(statement, *values)
        if statement.startswith("INSERT INTO reports"):
            children.append(os.fork())
            if children[-1] and sys.argv[2] == "child":
                os.waitpid(children[-1], 0)
        return done

client._opened = lambda path: Connection(whole(path))
client._abandon = lambda one, abandon=client._abandon: abandon(one.database)
client = Client(sys.argv[1])
try:
    said = bytes(client.report(campaign, {"visits": 3})).hex()
except LedgerError:
    said = "refused"
os.write(1, f"{'child' if children == [0] else 'parent'} {said}\\n".encode())  # at once: both write
if children != [0] and sys.argv[2] == "parent":
    os.waitpid(children[0], 0)
"""


@pytest.mark.parametrize("first", ["parent", "child"])
def test_a_fork_while_a_report_is_written_does_not_touch_the_file(first: str, tmp_path: Path) -> None:
    """Not even when the forked process ends as Python does, and frees all that it has."""
    path = tmp_path / "me.account"
    Client(path).report(Campaign("visits", POLICY, "1/4", DomainCount()), {"visits": 3})
    run = subprocess.run(
        [sys.executable, "-c", FORKS_WHILE_IT_WRITES, str(path), first],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    stated = dict(line.split() for line in run.stdout.splitlines())
    assert stated["child"] == "refused", run
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        reports = database.execute("SELECT hex(report) FROM reports ORDER BY number").fetchall()
    database.close()
    assert reports[1:] == [(stated["parent"].upper(),)]
    assert Client(path).remaining == Fraction(1, 2)


FORKS_WITH_GARBAGE = """
import gc, os, sys
import tests.conftest

class Deadly:
    def __init__(self):
        self.itself = self
    def __del__(self):
        os._exit(9)

gc.disable()
Deadly()
os.register_at_fork(before=lambda: gc.set_threshold(*map(int, sys.argv[1:])))
gc.enable()
child = os.fork()
if child == 0:
    gc.collect()
    os._exit(0)
gc.disable()
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("thresholds", [("1", "1", "1"), ("700", "10", "10")])
def test_what_was_garbage_before_a_test_forks_is_never_collected_in_the_child(
    thresholds: tuple[str, ...],
) -> None:
    """DuckDB's threads are not forked, so that a database that is collected there ends the process."""
    command = [sys.executable, "-c", FORKS_WITH_GARBAGE, *thresholds]
    root = Path(__file__).parents[2]
    assert subprocess.run(command, cwd=root, check=False, timeout=PATIENCE).returncode == 0
