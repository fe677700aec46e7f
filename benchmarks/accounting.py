"""What accounting by region allows, and what it costs.

``python -m benchmarks.accounting`` releases 52 weeks of a growing table, races processes for regions that
overlap and for regions that do not, times a charge after 10 to 10,000 earlier ones in one to four columns,
and gives the ledger a hostile set of filters. ``--rounds`` says how many races there are, ``--most`` how many
earlier regions.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from random import Random

import pyarrow

import prdp
from benchmarks.ledger_stress import together
from prdp.errors import BudgetExhausted
from prdp.ledger import Binding, DurableLedger, Notes
from prdp.ledger.by_region import whom
from prdp.regions.depth import spent_in
from prdp.regions.form import region_to_json
from prdp.regions.points import PointSet
from prdp.regions.region import EVERYBODY, Box, Region

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")
FACTS = Binding({"name": "stress", "fixed": list(NAMES)})


def box(**sides: tuple[int, int]) -> Region:
    """Return the contents whose whole numbers lie between some, both included."""
    spans = {name: PointSet("whole", ((low, high + 1),)) for name, (low, high) in sorted(sides.items())}
    return Region((Box(tuple(spans.items())),))


def weekly(folder: Path, fixed: list[str] | None) -> int:
    """Return how many weekly releases at share 1 are answered."""
    answered = 0
    for week in range(1, 53):
        grown = pyarrow.table({"week": [w for w in range(1, week + 1) for _ in range(5)]})
        visits = prdp.open(
            grown,
            policy="1",
            name="visits",
            ledger=folder / f"w{fixed}.ledger",
            fixed=fixed,
            edition=f"2026-W{week:02}",
        )
        with suppress(BudgetExhausted):
            visits.where(f"week = {week}").count(share=1)
            answered += 1
    return answered


def race(folder: Path, turn: int, processes: int) -> bool:
    """Let processes charge overlapping and disjoint regions; say whether no content was charged above 1."""
    path = folder / f"race{turn}.ledger"
    DurableLedger.opened(path, FACTS)

    def spend(k: int) -> None:
        random = Random(turn * 1_000 + k)
        ledger = DurableLedger(path)
        for _ in range(2):
            low = random.randrange(8)
            region = region_to_json(box(a=(low, low + random.randrange(3))))
            with suppress(BudgetExhausted):
                ledger.charge(
                    f"{k} {random.random()}", Fraction(1, random.randint(1, 4)), notes=Notes(region)
                )

    together(processes, spend)
    entries = DurableLedger(path).entries
    at = [
        sum((e.share for e in entries if whom(e.notes.region, NAMES).meets(box(a=(k, k)))), Fraction(0))
        for k in range(12)
    ]
    return max(at) <= 1


def timed(earlier: int, columns: int) -> float:
    """Return the seconds to find what is spent of a region after so many earlier ones."""
    random = Random(earlier * 10 + columns)
    charges = []
    for _ in range(earlier):
        ends = {}
        for name in NAMES[:columns]:
            low = random.randrange(10**6)
            ends[name] = (low, low + 10**4)
        charges.append((box(**ends), Fraction(1, 10**6)))
    region = box(**dict.fromkeys(NAMES[:columns], (0, 10**5)))
    start = time.perf_counter()
    spent_in(region, charges)
    return time.perf_counter() - start


def hostile() -> tuple[float, Fraction]:
    """Return the seconds and the sum for wide slabs in eight columns, of which the cells explode."""
    random = Random(3)
    ends = [{name: tuple(sorted(random.choices(range(10**6), k=2))) for name in NAMES} for _ in range(400)]
    charges = [(box(**each), Fraction(1, 400)) for each in ends]  # type: ignore[arg-type]
    start = time.perf_counter()
    found = spent_in(EVERYBODY, charges)
    return time.perf_counter() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--most", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"weekly releases at share 1: {weekly(folder, ['week'])} of 52 by region, ", end="")
        print(f"{weekly(folder, None)} charged to everybody")
        print("earlier regions, and seconds to decide in 1, 2, 3, 4 columns")
        for earlier in (10, 100, 1_000, 10_000):
            if earlier <= given.most:
                print(f"  {earlier:>6}", *(f"{timed(earlier, columns):8.4f}" for columns in (1, 2, 3, 4)))
        seconds, found = hostile()
        print(f"hostile filters: {seconds:.1f} s, said to have spent {float(found):.3f} of 1 charged in all")
        wrong = sum(not race(folder, turn, 16) for turn in range(given.rounds))
        print(f"races of 16 processes: {given.rounds}, some content above 1 in {wrong}")


if __name__ == "__main__":
    main()
