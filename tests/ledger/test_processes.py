"""Real processes, killed with real signals, short of disk and of rights: never overspent, never lost.

``benchmarks/ledger_stress.py`` does the same for longer.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.ledger_stress import crowd, kills, race
from prdp.errors import LedgerError
from prdp.ledger import Binding, DurableLedger
from tests.ledger.places import Place

FACTS = Binding({"name": "t"})
FORK = multiprocessing.get_context("fork")

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def told_by_a_process(work: Callable[[], object]) -> str:
    """Run work in a process of its own and return what its refusal says."""
    receiver, sender = FORK.Pipe(duplex=False)

    def run() -> None:
        try:
            work()
            sender.send("no refusal")
        except LedgerError as refusal:
            sender.send(str(refusal))

    process = FORK.Process(target=run)
    process.start()
    process.join(300)  # nothing here hangs, and a busy machine is slow
    return str(receiver.recv()) if receiver.poll() else f"died with {process.exitcode}"


def test_sixteen_processes_with_room_for_ten_make_exactly_ten(place: Place) -> None:
    assert race(lambda name: place.beside(name).given, processes=16, room=10, times=3) == 0


def test_a_crowd_of_processes_leaves_a_sound_ledger(place: Place) -> None:
    charges, sound = crowd(lambda name: place.beside(name).given, processes=12, seconds=2, least=5)
    assert charges >= 60
    assert sound


@pytest.mark.slow
def test_killed_processes_lose_no_charge_and_show_nothing_unrecorded(place: Place) -> None:
    found = kills(lambda name: place.beside(name).given, times=40, seed=1)
    assert 0 < found.pop("killed in time") < 40
    assert set(found.values()) == {0}


def test_processes_that_begin_a_ledger_at_once_share_one(place: Place, tmp_path: Path) -> None:
    processes = [
        FORK.Process(
            target=lambda k=k: DurableLedger.opened(place.given, FACTS).charge(f"q{k}", Fraction(1, 20))
        )
        for k in range(8)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len(DurableLedger(place.given).entries) == 8
    assert [file.name for file in tmp_path.iterdir()] == ["t.ledger"] * (place.given == tmp_path / "t.ledger")


def test_a_disk_that_is_full_is_stated_and_nothing_is_charged(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    ledger = DurableLedger.opened(path, FACTS)

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, path.stat().st_size))
        for turn in range(500):
            ledger.charge(f"question {turn} {'x' * 500}", Fraction(1, 1000))

    stated = told_by_a_process(fill)
    assert "cannot be used" in stated
    assert "nothing was charged" in stated
    charged = len(DurableLedger(path).entries)
    assert DurableLedger(path).remaining == 1 - Fraction(charged, 1000)


def test_a_file_that_may_not_be_written_is_stated_and_nothing_is_charged() -> None:
    """In a folder of its own: another user cannot pass pytest's, whose rights each new session resets."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "t.ledger"
        ledger = DurableLedger.opened(path, FACTS)

        def write() -> None:
            if os.getuid() == 0:
                os.setuid(65534)  # root may write anything
            ledger.charge("a", Fraction(1, 2))

        path.chmod(0o444)
        folder.chmod(0o555)
        try:
            stated = told_by_a_process(write)
        finally:
            folder.chmod(0o755)
            path.chmod(0o644)
        assert "cannot be used (the file is read-only): nothing was charged" in stated
        assert DurableLedger(path).remaining == 1
