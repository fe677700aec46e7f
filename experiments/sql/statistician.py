"""Fifty statements as a statistician writes them, on a made-up table of tax returns, beside plain DuckDB.

Run ``python -m experiments.sql.statistician``; it prints for each what came of it: ``answered`` with how
many of its numbers have the truth in their interval, or ``refused`` with the reason. ``--show 7`` prints an
answer.
Noise is drawn by the system's generator. Judged by hand in ``statistician.md``.
"""

from __future__ import annotations

import argparse
import math
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import prdp
from prdp.expressions.evaluate import value_of
from prdp.release.release import Release
from prdp.sql.estimates import ComputedAnswer

SIZE = 80_000
REGIONS = ["Bayern", "Hessen", "Berlin", "Sachsen"]
STATEMENTS = (Path(__file__).parent / "statistician.sql").read_text(encoding="utf-8").split(";\n")[:-1]


def columns(rng: np.random.Generator) -> pd.DataFrame:
    """Return a made-up table of tax returns."""
    income = np.clip(np.round(rng.lognormal(10.2, 0.7, SIZE)), 0, 500_000).astype(int)
    tax = np.where(income > 12_000, np.round((income - 12_000) * 0.21), 0).astype(int)
    region = rng.choice(np.array([*REGIONS, None]), SIZE, p=[0.42, 0.26, 0.17, 0.12, 0.03])
    days = rng.integers(0, 1200, SIZE)
    return pd.DataFrame(
        {
            "region": pd.array(region, dtype="string"),
            "sector": pd.array(rng.choice(np.array(["care", "trade", "craft", None]), SIZE), dtype="string"),
            "sex": rng.choice(["f", "m"], SIZE),
            "year": rng.integers(2021, 2025, SIZE),
            "age": rng.integers(18, 90, SIZE),
            "income": income,
            "tax": tax,
            "gain": rng.integers(0, 400, SIZE),
            "loss": rng.integers(0, 1_900, SIZE),
            "filed": (np.datetime64("2022-01-01") + days.astype("timedelta64[D]")).astype("datetime64[us]"),
        }
    )


PUBLIC = {
    "regions": {
        "region": REGIONS,
        "part": ["south", "middle", "east", "east"],
        "people": [13_000_000, 6_000_000, 3_700_000, 4_000_000],
    }
}
KEYS = {"region": REGIONS, "sex": ["f", "m"]}
BOUNDS = {
    "year": (2021, 2024), "age": (18, 110), "income": (0, 500_000), "tax": (0, 200_000), "gain": (0, 400),
    "loss": (0, 2_000),
}  # fmt: skip


def compared(answers: Any, truth: list[tuple[Any, ...]]) -> str:
    """Return how many numbers with an interval hold the truth, and how many plain cells are the truth."""
    held = missed = same = other = absent = 0
    for row in answers.rows:
        places = [k for k, cell in enumerate(row) if not isinstance(cell, Release | ComputedAnswer)]
        keyed = {tuple(_comparable(one[k]) for k in places): one for one in truth}
        true = keyed.get(tuple(_comparable(row[k]) for k in places))
        true = truth[0] if len(truth) == len(answers.rows) == 1 else true
        if true is None:
            absent += 1
            continue
        for cell, wanted in zip(row, true, strict=True):
            if isinstance(cell, Release | ComputedAnswer) and wanted is not None:
                low, high = cell.interval()
                number = float(wanted.toordinal() if isinstance(wanted, date) else wanted)
                slack = 1e-9 * (1 + abs(number))
                inside = low - slack <= number <= high + slack
                held, missed = held + inside, missed + (not inside)
            elif isinstance(cell, float) and isinstance(wanted, int | float):
                same += math.isclose(cell, float(wanted))
                other += not math.isclose(cell, float(wanted))
    found = f"{held} of {held + missed} intervals hold the truth, {same} of {same + other} plain numbers do"
    return (
        found
        + (f", {absent} rows are not SQL's" if absent else "")
        + (
            f", SQL has {len(truth)} rows and not {len(answers.rows)}"
            if len(truth) != len(answers.rows)
            else ""
        )
    )


def _comparable(value: Any) -> Any:
    found = value_of(value)
    return round(found, 6) if isinstance(found, float) else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", type=int, nargs="*", default=[])
    parser.add_argument("--only", type=int, nargs="*", default=[])
    options = parser.parse_args()
    frame = columns(np.random.default_rng(38))
    returns = prdp.open(frame, policy="200", bounds=BOUNDS, name="returns")
    plain = duckdb.connect()
    plain.register("returns", frame)
    plain.register("regions", pd.DataFrame(PUBLIC["regions"]))
    warnings.simplefilter("ignore")
    for number, text in enumerate(STATEMENTS, 1):
        if (options.only or options.show) and number not in {*options.only, *options.show}:
            continue
        try:
            answers = returns.sql(text, share="1/200", keys=KEYS, tables=PUBLIC)
        except prdp.PrdpError as wrong:
            print(f"{number:2} refused: {str(wrong).splitlines()[0]}")
            continue
        except Exception as wrong:
            print(f"{number:2} CRASH: {wrong!r}"[:200])
            continue
        try:
            truth = plain.execute(text).fetchall()
            print(f"{number:2} answered: {compared(answers, truth)}")
        except (duckdb.Error, ValueError) as wrong:
            print(f"{number:2} answered; no truth: {wrong}"[:160])
        if number in options.show:
            print(text, answers, truth[:8], sep="\n")


if __name__ == "__main__":
    main()
