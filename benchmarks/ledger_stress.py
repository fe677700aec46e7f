"""Whether a ledger can be overspent, lost or corrupted; and what a charge costs.

``python -m benchmarks.ledger_stress`` races processes for the last room, lets a crowd charge for a minute,
and kills processes with SIGKILL at random points between charge and answer. It counts what went wrong; all
of it should be 0. It does so with a file and with a PostgreSQL server, which is stopped and crashed as well
while processes charge. ``--quick`` does a tenth of each, ``--ledger`` takes one of the two.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path

from prdp.errors import BudgetExhausted, LedgerError
from prdp.ledger import Binding, Charge, DurableLedger
from prdp.release.release import Release
from tests.postgres import PostgresServer, start_postgres

FACTS = Binding({"name": "stress"})
FORK = multiprocessing.get_context("fork")


def answer(value: int) -> Release:
    return Release("count", value, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip")


Place = Path | str
Places = Callable[[str], Place]
"""Tells where the ledger of a name is."""


def files(folder: Path) -> Places:
    return lambda name: folder / f"{name}.ledger"


def in_database(address: str) -> Places:
    return lambda name: f"{address}{'&' if '?' in address else '?'}ledger={name}"


def begun(places: Places, name: str) -> Place:
    place = places(name)
    DurableLedger.opened(place, FACTS, who="stress")
    return place


def sound(place: Place) -> bool:
    """Return whether a ledger opens, which checks it, and adds up."""
    ledger = DurableLedger(place)
    spent = sum((entry.share for entry in ledger.entries), start=Fraction(0))
    return spent <= 1 and ledger.remaining == 1 - spent


def together(count: int, work: Callable[[int], None]) -> None:
    """Run work in so many processes at once and wait for all, of which none may die."""
    processes = [FORK.Process(target=work, args=(k,)) for k in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    ends = [process.exitcode for process in processes if process.exitcode]
    if ends:
        raise RuntimeError(f"of {count} processes some ended with {ends}")


def race(places: Places, processes: int, room: int, times: int) -> int:
    """Return in how many races not exactly ``room`` charges were made."""
    wrong = 0
    for turn in range(times):
        place = begun(places, f"race{turn}")

        def spend(k: int, place: Place = place) -> None:
            with suppress(BudgetExhausted):
                DurableLedger(place).charge(f"question {k}", Fraction(1, room))

        together(processes, spend)
        wrong += len(DurableLedger(place).entries) != room or not sound(place)
    return wrong


def crowd(
    places: Places, processes: int, seconds: float, least: int = 1, name: str = "crowd"
) -> tuple[int, bool]:
    """Let many processes charge, record and read for a while; return the charges made, and soundness.

    However slow the machine is, each process makes so many charges at least.
    """
    place = begun(places, name)
    until = time.monotonic() + seconds

    def live(k: int) -> None:
        ledger, turn = DurableLedger(place), 0
        while turn < least or time.monotonic() < until:
            charge = ledger.charge(f"{k} asks {turn}", Fraction(1, 10**7))
            if isinstance(charge, Charge):
                ledger.record(charge, answer(turn))
            turn += 1

    together(processes, live)
    ledger = DurableLedger(place)
    answered = all(entry.release is not None for entry in ledger.entries)
    return len(ledger.entries), sound(place) and answered


def ask(place: Place, question: str, shown: Connection) -> None:
    """Charge, take a moment as an engine would, record, and only then show."""
    ledger = DurableLedger(place)
    known = ledger.charge(question, Fraction(1, 10**6))
    if isinstance(known, Charge):
        time.sleep(random.random() * 0.004)
        known = ledger.record(known, answer(random.getrandbits(60)))
    shown.send(str(replace(known, recorded_at="")))


def kills(places: Places, times: int, seed: int) -> dict[str, int]:
    """Kill a process at a random point of a question, then ask again; count what must not happen.

    The time until the kill is drawn from a span that grows and shrinks: on a machine of any speed, some
    processes are killed before their end and some are not.
    """
    chance, span = random.Random(seed), 0.02
    place = begun(places, "kills")
    counts = {
        "killed in time": 0,
        "shown but not recorded": 0,
        "charged twice": 0,
        "corrupt": 0,
        "not taken up": 0,
    }
    for turn in range(times):
        question = f"question {turn}"
        receiver, sender = FORK.Pipe(duplex=False)
        process = FORK.Process(target=ask, args=(place, question, sender))
        process.start()
        time.sleep(chance.random() * span)
        if process.is_alive() and process.pid:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        in_time = process.exitcode == -signal.SIGKILL
        counts["killed in time"] += in_time
        span *= 1.25 if in_time else 0.8
        shown = receiver.recv() if receiver.poll() else None
        asked = [entry.release for entry in DurableLedger(place).entries if entry.purpose == question]
        recorded = asked[0] if asked else None
        counts["shown but not recorded"] += shown is not None and (recorded is None or str(recorded) != shown)
        ask(place, question, sender)
        again = receiver.recv() if receiver.poll() else None
        counts["not taken up"] += again is None or (shown is not None and again != shown)
        if turn % 50 == 0:
            counts["corrupt"] += not sound(place)
    entries = DurableLedger(place).entries
    counts["charged twice"] = len(entries) - len({entry.purpose for entry in entries})
    counts["corrupt"] += not sound(place)
    return counts


def outages(server: PostgresServer, places: Places, processes: int, times: int) -> dict[str, int]:
    """Restart and crash a server while processes charge and record; count what must not happen.

    Whoever is refused meanwhile asks the same question again, as the message says.
    """
    place, running = begun(places, "outages"), FORK.Event()

    def live(k: int) -> None:
        ledger, turn = DurableLedger(place), 0
        while not running.is_set():
            with suppress(LedgerError):
                charge = ledger.charge(f"{k} asks {turn}", Fraction(1, 10**7))
                if isinstance(charge, Charge):
                    ledger.record(charge, answer(turn))
                turn += 1

    living = [FORK.Process(target=live, args=(k,)) for k in range(processes)]
    for process in living:
        process.start()
    for turn in range(times):
        time.sleep(2)
        server.crash() if turn % 2 else server.restart()
    time.sleep(2)
    running.set()
    for process in living:
        process.join()
    entries = DurableLedger(place).entries
    return {
        "charges": len(entries),
        "charged twice": len(entries) - len({entry.purpose for entry in entries}),
        "left unanswered by the living": max(0, sum(e.release is None for e in entries) - processes),
        "corrupt": int(not sound(place)),
        "processes that died": sum(process.exitcode != 0 for process in living),
    }


def latency(places: Places, times: int = 200) -> float:
    """Return the median seconds of a charge that is on disk when it returns."""
    ledger = DurableLedger(begun(places, "latency"))
    seconds = []
    for turn in range(times):
        start = time.perf_counter()
        ledger.charge(f"question {turn}", Fraction(1, 10**6))
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def sync_alone(folder: Path, times: int = 200) -> float:
    """Return the median seconds of writing and syncing one small file: the disk's own price."""
    seconds = []
    for turn in range(times):
        start = time.perf_counter()
        with (folder / f"sync{turn % 4}").open("wb") as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def stressed(places: Places, sync: float, part: int, seed: int) -> None:
    """Stress one kind of ledger, and print what was found."""
    charge = latency(places)
    print(f"one charge, synced: {charge * 1e3:.2f} ms, {charge / sync:.1f} times one plain write and sync")
    seconds = 20 / part
    count, _ = crowd(places, 8, seconds, name="eight")
    print(f"8 processes, charge and record: {2 * count / seconds:.0f} commits a second")
    wrong = race(places, 16, 10, 100 // part)
    print(f"16 processes for room for 10 charges, {100 // part} times: {wrong} times not exactly 10")
    count, good = crowd(places, 64, 60 / part)
    print(f"64 processes for {60 / part:.0f} s: {count} charges, all answered and adding up: {good}")
    times = 1000 // part
    print(f"killed at random points, {times} times: {kills(places, times, seed)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--ledger", choices=("file", "postgres"), action="append")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    part, kinds = 10 if arguments.quick else 1, arguments.ledger or ["file", "postgres"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sync = sync_alone(folder)
        if "file" in kinds:
            print("in a file")
            stressed(files(folder), sync, part, arguments.seed)
        if "postgres" in kinds:
            print("in PostgreSQL")
            server = start_postgres(folder)
            places = in_database(server.address)
            stressed(places, sync, part, arguments.seed)
            times = max(2, 20 // part)
            print(f"server restarted and crashed, {times} times: {outages(server, places, 8, times)}")
            server.handle.cleanup()


if __name__ == "__main__":
    main()
