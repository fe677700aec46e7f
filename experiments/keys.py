"""How good distinct counts are, beside the oracle clip, the floor, and ordinary privacy at the least budget.

Run ``python -m experiments.keys --data FOLDER``. Errors are in percent of the number of keys, 20 % trimmed
each side. The floor is what any method must err by on this table or on it without a few keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

from experiments.datasets import normal
from experiments.options import options
from experiments.yardsticks import count_floor, oracle_clip, trimmed
from prdp.cells.summary import KeySummary, key_edges
from prdp.levels import Levels
from prdp.mechanisms.distinct import DistinctKeys
from prdp.testing import Seeded

SHARES = (Fraction(1), Fraction(1, 10))
WIDE = Levels(Fraction(1, 10**8), Fraction(100))
NARROW = Levels(Fraction(1, 100), Fraction(10))


@dataclass(frozen=True, slots=True)
class Keys:
    """Named keys, by the whole quanta that their records' budgets add up to."""

    name: str
    levels: Levels
    sums: list[int]


def added_up(name: str, levels: Levels, keys: NDArray[Any], budgets: NDArray[Any]) -> Keys:
    """Add up the budgets, rounded down to levels, of the records of each key."""
    known = {budget: levels.index(budget) for budget in map(float, np.unique(budgets))}
    most = key_edges(levels)[-1]
    sums: dict[object, int] = {}
    for key, budget in zip(keys.tolist(), budgets.tolist(), strict=True):
        level = known[budget]
        if level is not None:
            sums[key] = sums.get(key, 0) + min(most, levels.quanta(level))
    return Keys(name, levels, list(sums.values()))


def all_keys(folder: Path | None) -> Iterator[Keys]:
    """Yield job titles, and made-up keys of the common kinds."""
    random = np.random.default_rng(0)
    path = folder / "sf_salary.parquet" if folder else None
    if path is not None and path.exists():
        read = pyarrow.parquet.read_table(path, columns=["job_title", "total_pay"]).to_pandas()
        read = read[read.total_pay > 0]
        yield added_up("SF job_title", WIDE, read.job_title.to_numpy(), 10_000 / read.total_pay.to_numpy())
    else:
        print("SF job_title: left out, sf_salary.parquet is not in a folder given by --data")
    values = normal("", 50_000, 50_000).values
    yield added_up("unique keys, inverse", WIDE, np.arange(values.size), 10_000 / values)
    yield added_up("unique keys, constant", NARROW, np.arange(10_000), np.ones(10_000))
    yield added_up("few heavy keys", WIDE, random.integers(20, size=50_000), np.full(50_000, 0.5))
    sizes = (50_000 / np.arange(1, 2001) ** 1.3).astype(int) + 1
    zipf = np.repeat(np.arange(2000), sizes)
    yield added_up("many singletons, constant", NARROW, zipf, np.ones(zipf.size))
    spread = random.lognormal(0, 2, 5000).clip(0.01, 10)
    yield added_up("unique keys, log-normal", NARROW, np.arange(5000), spread)


def main() -> None:
    arguments = options(__doc__)
    print(f"distinct, {arguments.runs} runs, seed {arguments.seed}; errors in % of the number of keys")
    columns = ("keys", "error", "± s.e.", "p99", "oracle clip", "floor", "at the least")
    print(f"{'set':28}{'share':6}" + "".join(f"{name:>13}" for name in columns))
    for keys in all_keys(arguments.data):
        summary = KeySummary.of(keys.levels, keys.sums)
        sums = np.array(keys.sums, dtype=float) * float(keys.levels.quantum)
        percent = 100 / sums.size
        for share in SHARES:
            mechanism, entropy = DistinctKeys.tuned(share), Seeded(arguments.seed)
            answers = mechanism.answers(summary, share, entropy, arguments.runs)
            found = np.array([float(answer.steps * answer.step) for answer in answers])
            errors = np.abs(found - sums.size) * percent
            best = oracle_clip(np.ones(sums.size), sums, float(share)) * percent
            plain = percent / float(share * keys.levels.at_least)
            figures = (
                *trimmed(errors),
                np.quantile(errors, 0.99),
                best,
                count_floor(sums, float(share)) * percent,
            )
            row = "".join(f"{figure:13.4g}" for figure in (*figures, plain))
            print(f"{keys.name:28}{share!s:6}{sums.size:13}{row}", flush=True)


if __name__ == "__main__":
    main()
