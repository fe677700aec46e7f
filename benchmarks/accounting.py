"""What accounting by region allows, what a charge costs, and whether it can be overspent.

``python -m benchmarks.accounting`` releases 52 weeks of a growing table, races processes for regions that
overlap and for regions that do not, times a whole charge in a fresh process after 10 to 10,000 earlier ones
in one to four columns, and searches for sets of filters that make the account slow. ``--rounds`` says how
many races there are, ``--most`` how many earlier regions, ``--sets`` how many hostile sets, and ``--folder``
where ledgers are made: races take less time in memory. Times are seconds of the program's own processor time,
which a busy machine changes little.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random

import pyarrow

import prdp
from prdp.errors import BudgetExhausted
from prdp.ledger import Binding, DurableLedger, Notes
from prdp.ledger.layout import insert, next_row, rows_from
from prdp.ledger.storage import connected, writing
from prdp.regions.max_overlap import Charged, spent_in
from prdp.regions.region import EVERYBODY, Box, PointSet, Region, region_to_json

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")
FACTS = Binding({"name": "stress", "immutable": list(NAMES)})
FORK = multiprocessing.get_context("fork")
PROCESSES = 16
SHARED, OWN = range(10), range(100, 100 + PROCESSES)
"""Where processes race for the same contents, and where each has one of its own."""

PATIENCE = 300


def box(**sides: tuple[int, int]) -> Region:
    """Return the contents whose whole numbers lie between some, both included."""
    spans = {name: PointSet("whole", ((low, high + 1),)) for name, (low, high) in sorted(sides.items())}
    return Region((Box(tuple(spans.items())),))


def weekly(folder: Path, immutable: list[str] | None) -> int:
    """Return how many weekly releases at share 1 are answered."""
    answered = 0
    for week in range(1, 53):
        grown = pyarrow.table({"week": [w for w in range(1, week + 1) for _ in range(5)]})
        visits = prdp.open(
            grown,
            policy="1",
            name="visits",
            ledger=folder / f"w{immutable}.ledger",
            immutable=immutable,
            snapshot=f"2026-W{week:02}",
        )
        with suppress(BudgetExhausted):
            visits.filter(f"week = {week}").count(share=1)
            answered += 1
    return answered


# Races


def spend(k: int, path: Path, turn: int) -> None:
    """Charge two regions that others want too, and one that nobody else wants."""
    random = Random(turn * 1_000 + k)
    ledger = DurableLedger(path, who="racer")
    low = random.choice(SHARED)
    regions = [box(a=(low, low + random.randrange(3))), box(a=(OWN[k], OWN[k])), box(a=(0, SHARED[-1]))]
    for place, region in enumerate(regions):
        share = Fraction(1) if place == 1 else Fraction(1, random.choice([2, 3, 4, 6, 12]))
        with suppress(BudgetExhausted):
            ledger.charge(f"{k} {place}", share, notes=Notes(region_to_json(region)))


def racing(k: int, folder: Path, rounds: int, barrier: Barrier) -> None:
    """Take part in every race: all begin at once, and wait for each other at its end."""
    for turn in range(rounds):
        barrier.wait(PATIENCE)
        spend(k, folder / f"race{turn}.ledger", turn)
        barrier.wait(PATIENCE)


def charged_at(path: Path) -> dict[int, Fraction]:
    """Return what each content was charged, read from the texts of the file."""
    with connected(path) as database:
        rows = database.execute("SELECT share, region FROM charges").fetchall()
    totals = dict.fromkeys([*range(SHARED[-1] + 3), *OWN], Fraction(0))
    for share, region in rows:
        (sides,) = json.loads(region)
        ((ends,),) = sides["a"].values()
        first, last = ends if isinstance(ends, list) else (ends, ends)
        for at in range(first, last + 1):
            totals[at] += Fraction(share)
    return totals


def races(folder: Path, rounds: int) -> tuple[int, int, int]:
    """Return in how many rounds a content was charged above 1, one of its own was not, and one was full."""
    barrier = FORK.Barrier(PROCESSES + 1)
    racers = [FORK.Process(target=racing, args=(k, folder, rounds, barrier)) for k in range(PROCESSES)]
    for racer in racers:
        racer.start()
    above = missing = full = 0
    for turn in range(rounds):
        path = folder / f"race{turn}.ledger"
        DurableLedger.opened(path, FACTS)
        barrier.wait(PATIENCE)
        barrier.wait(PATIENCE)
        totals = charged_at(path)
        above += max(totals.values()) > 1
        missing += any(totals[at] != 1 for at in OWN)
        full += any(totals[at] == 1 for at in SHARED)
        path.unlink()
    for racer in racers:
        racer.join()
    return above, missing, full


# The time of a charge


def earlier_regions(earlier: int, columns: int) -> list[Region]:
    """Return boxes of a hundredth of each column's range, at random places."""
    random = Random(earlier * 10 + columns)
    lows = [[random.randrange(10**6) for _ in range(columns)] for _ in range(earlier)]
    return [
        box(**{name: (low, low + 10**4) for name, low in zip(NAMES, ends, strict=False)}) for ends in lows
    ]


def asked_region(columns: int) -> Region:
    return box(**dict.fromkeys(NAMES[:columns], (0, 10**5)))


def filled(path: Path, regions: list[Region]) -> None:
    """Begin a ledger with charges of some regions, as they are written one by one."""
    DurableLedger.opened(path, FACTS)
    share = Fraction(1, 10**6)
    with connected(path) as database, writing(database):
        hashes = [row.hash for row in rows_from(database, None)]
        for number, text in enumerate(map(region_to_json, regions)):
            stated = (number, f"q{number}", str(share), "ana", "2026-11-16T00:00:00", uuid.uuid4().hex, text)
            row = next_row(hashes, "charges", (*stated, None, None, None))
            insert(database, row)
            hashes.append(row.hash)


def charge_once(path: str, columns: int) -> None:
    """Open a ledger and charge it twice, in this process; print the seconds of each."""
    region = region_to_json(asked_region(columns))
    start = time.process_time()
    ledger = DurableLedger(path)
    marks = [time.process_time()]
    for purpose in ("first", "second"):
        ledger.charge(purpose, Fraction(1, 100), notes=Notes(region))
        marks.append(time.process_time())
    print(json.dumps([end - begin for begin, end in zip([start, *marks], marks, strict=False)]))


def timed(folder: Path, earlier: int, columns: int) -> tuple[float, float, float, float]:
    """Return the seconds to open, to charge, to charge again, and to decide with all regions decoded."""
    regions = earlier_regions(earlier, columns)
    path = folder / f"timed{earlier}-{columns}.ledger"
    filled(path, regions)
    command = [sys.executable, "-m", "benchmarks.accounting", "--charge", str(path), str(columns)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    opened, first, second = json.loads(ran.stdout)
    charges = [(region, Fraction(1, 10**6)) for region in regions]
    start = time.process_time()
    spent_in(asked_region(columns), charges)
    return opened, first, second, time.process_time() - start


# Hostile sets


def hostile_sets(count: int) -> Iterator[tuple[str, list[Charged]]]:
    """Yield sets of regions of every shape that filters and keys can give them, small and large."""
    random = Random(3)
    while count:
        columns, charges = random.choice([2, 3, 4, 6, 8]), random.choice([50, 100, 200, 400, 1000, 3000])
        boxes, spans = random.choice([1, 1, 2, 8, 64]), random.choice([1, 1, 2, 10, 100, 1000])
        width, named = random.choice([0.5, 0.2, 0.05, 0.01, 0.001]), random.choice([1.0, 0.7, 0.4])
        if charges * boxes * spans * columns > 200_000:
            continue
        count -= 1

        def side(spans: int = spans, width: float = width) -> PointSet:
            lows = (random.randrange(10**6) for _ in range(spans))
            return PointSet.of(
                "whole", [(low, low + 1 + int(10**6 * width * random.random())) for low in lows]
            )

        def one_box(columns: int = columns, named: float = named) -> Box:
            taken = [name for name in NAMES[:columns] if random.random() < named] or [NAMES[0]]
            return Box(tuple((name, side()) for name in taken))

        regions = [Region(tuple(one_box() for _ in range(boxes))) for _ in range(charges)]
        words = f"{charges} regions, {columns} columns, {boxes} boxes, {spans} spans, up to {width:.1%} wide"
        yield words, [(region, Fraction(1, charges)) for region in regions]


def hostile(count: int) -> tuple[float, str, int]:
    """Return the most seconds that a set took, which it was, and at how many places too little was stated."""
    slowest, worst, below = 0.0, "", 0
    random = Random(4)
    for words, charges in hostile_sets(count):
        for region in (EVERYBODY, charges[0][0]):
            start = time.process_time()
            found = spent_in(region, charges)
            slowest, worst = max((slowest, worst), (time.process_time() - start, words))
            sides = [dict(box.sides) for box in random.choices(charges[0][0].boxes, k=5)]
            for ends in sides:
                at = {name: ends[name].spans[0][0] if name in ends else 0 for name in NAMES}
                below += depth_at(at, charges) > found
    return slowest, worst, below


def depth_at(at: dict[str, int], charges: list[Charged]) -> Fraction:
    """Return what one content was charged, by looking at every region."""

    def holds(region: Region) -> bool:
        return any(
            all(any(low <= at[name] < end for low, end in points.spans) for name, points in box.sides)
            for box in region.boxes
        )

    return sum((share for region, share in charges if holds(region)), Fraction(0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument(
        "--folder", type=Path, help="where ledgers are made; by default, that of temporary files"
    )
    parser.add_argument("--charge", nargs=2, metavar=("PATH", "COLUMNS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.charge:
        charge_once(given.charge[0], int(given.charge[1]))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        print(f"weekly releases at share 1: {weekly(folder, ['week'])} of 52 by region, ", end="")
        print(f"{weekly(folder, None)} charged to everybody", flush=True)
        print("seconds of a fresh process to open, to charge and to charge again; seconds to decide alone")
        print("  earlier  columns     open   charge    again   decide")
        for earlier in (10, 100, 1_000, 10_000, 100_000):
            for columns in (1, 2, 3, 4) if earlier <= given.most else ():
                seconds = " ".join(f"{part:8.4f}" for part in timed(folder, earlier, columns))
                print(f"  {earlier:>7} {columns:>8} {seconds}", flush=True)
        slowest, worst, below = hostile(given.sets)
        print(f"hostile sets: {given.sets}, too little said at {below}; the slowest {slowest:.1f} s: {worst}")
        above, missing, full = races(folder, given.rounds)
        print(f"races of {PROCESSES} processes: {given.rounds}, some content above 1 in {above}, ", end="")
        print(f"a region that nobody else wants refused in {missing}, some content at exactly 1 in {full}")


if __name__ == "__main__":
    main()
