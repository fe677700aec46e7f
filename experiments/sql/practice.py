"""Fifty more statements, of a tax office, a health ministry and a labour office, beside plain DuckDB.

Run ``python -m experiments.sql.practice``; it prints for each what came of it, as ``statistician`` does.
Every person is protected with all rows, under policies by income, cost or wage; tables, keys and public
tables are made up. ``--only 42`` asks one, ``--show`` prints answers. Judged by hand in ``statistician.md``.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import prdp
from experiments.sql.statistician import compared

STATEMENTS = re.findall(
    r"-- (\w+): (.*)\n([^;]*);", (Path(__file__).parent / "practice.sql").read_text("utf-8")
)
LANDS = [
    *("Baden-Württemberg", "Bayern", "Berlin", "Brandenburg", "Bremen", "Hamburg", "Hessen"),
    *("Niedersachsen", "Sachsen"),
]
CODES = ["I21", "I50", "J18", "C34", "S72", "K35", "O80"]
HOSPITALS = ["Nord", "Süd", "Ost", "West", "Mitte"]
KEYS: Mapping[str, Mapping[str, list[str]]] = {
    "steuer": {"land": LANDS, "veranlagung": ["einzel", "zusammen", "betrieb"]},
    "stays": {"hospital": HOSPITALS, "diagnosis": CODES, "sex": ["f", "m", "d"]},
    "labour": {
        "county": list("ABCDEF"),
        "sector": ["retail", "care", "metal", "it", "farm"],
        "contract": ["open", "fixed", "agency"],
    },
}
OPENED: Mapping[str, Mapping[str, Any]] = {
    "steuer": {
        "policy": prdp.Policy("100000 / greatest(einkommen, 1000)", at_most=5),
        "bounds": {
            "einkommen": (0, 10**7), "steuer": (0, 10**7), "erstattung": (-(10**5), 10**5),
            "jahr": (2019, 2024),
        },
        "privacy_unit": "steuernr",
    },
    "stays": {
        "policy": prdp.Policy("least(20000 / greatest(coalesce(cost, 2000), 100), 5)"),
        "bounds": {"age": (0, 120), "cost": (0, 10**6)},
        "privacy_unit": "patient",
    },
    "labour": {
        "policy": prdp.Policy("10000 / greatest(wage, 100)", at_most=5),
        "bounds": {"wage": (0, 10**6), "hours": (0, 80), "age": (14, 70)},
        "privacy_unit": "person",
    },
}  # fmt: skip
PUBLIC = {
    "icd": pd.DataFrame(
        {
            "code": [*CODES, "E11"],
            "chapter": [
                *(
                    "circulatory",
                    "circulatory",
                    "respiratory",
                    "neoplasm",
                    "injury",
                    "digestive",
                    "pregnancy",
                ),
                "endocrine",
            ],
            "weight": [3.1, 1.9, 1.1, 2.2, 2.6, 0.9, 0.7, 1.0],
        }
    ),
    "counties": pd.DataFrame(
        {"county": list("ABCDEF"), "inhabitants": [310_000, 255_000, 204_000, 149_000, 70_000, 31_000]}
    ),
}


def _with_none(values: Any, absent: Any) -> Any:
    found = np.array(values, dtype=object)
    found[absent] = None
    return found


def _days(first: str, days: Any) -> Any:
    return (np.datetime64(first) + days.astype("timedelta64[D]")).astype("datetime64[us]")


def worlds(rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Return declarations of 20,000 persons, stays of 15,000 patients, and 70,000 jobs."""
    person = np.repeat(np.arange(20_000), rng.integers(1, 9, 20_000))
    n = len(person)
    income = np.round(np.exp(rng.normal(10.2, 0.7, n))).astype(int)
    land = rng.choice(LANDS, 20_000, p=np.array([20, 22, 6, 4, 2, 4, 12, 16, 14]) / 100)[person]
    year = rng.integers(2019, 2025, n)
    steuer = {
        "steuernr": person,
        "jahr": year,
        "land": _with_none(land, rng.random(n) < 0.03),
        "veranlagung": rng.choice(KEYS["steuer"]["veranlagung"], n, p=[0.6, 0.3, 0.1]),
        "einkommen": income,
        "steuer": np.round(income * np.clip(0.1 + 0.05 * np.log(income / 10_000 + 0.1), 0.02, 0.42), 2),
        "erstattung": np.round(rng.normal(-300, 900, n), 2),
        "eingang": _days("1971-01-01", (year - 1970) * 365.25 // 1 + rng.integers(30, 330, n)),
        "online": rng.random(n) < 0.7,
    }
    patient = np.repeat(np.arange(15_000), np.minimum(rng.geometric(0.45, 15_000), 12))
    n = len(patient)
    age = np.clip(rng.normal(58, 20, 15_000), 0, 104).astype(int)[patient]
    admitted = _days("2023-01-01", rng.integers(0, 730, n)) + rng.integers(0, 86_400, n).astype(
        "timedelta64[s]"
    )
    nights = rng.geometric(0.16, n) - 1
    stays = {
        "patient": patient,
        "hospital": rng.choice(HOSPITALS, n, p=[0.35, 0.3, 0.2, 0.1, 0.05]),
        "diagnosis": _with_none(rng.choice(CODES, n), rng.random(n) < 0.05),
        "admitted": admitted,
        "discharged": admitted + nights.astype("timedelta64[D]"),
        "age": age,
        "sex": rng.choice(["f", "m", "d"], 15_000, p=[0.52, 0.475, 0.005])[patient],
        "cost": np.where(
            rng.random(n) < 0.04, np.nan, np.round(np.exp(rng.normal(7.6, 0.8, n)) + nights * 310, 2)
        ),
        "died": rng.random(n) < np.clip((age - 40) / 600, 0.002, 0.2),
    }
    n = 70_000
    ended = _days("2025-01-01", rng.integers(0, 200, n))
    labour = {
        "person": np.arange(n),
        "county": rng.choice(KEYS["labour"]["county"], n, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03]),
        "sector": rng.choice(KEYS["labour"]["sector"], n, p=[0.3, 0.25, 0.25, 0.15, 0.05]),
        "wage": np.round(np.exp(rng.normal(7.9, 0.45, n)), 2),
        "hours": rng.choice([10, 20, 30, 35, 38, 40, 48], n),
        "age": rng.integers(15, 67, n),
        "contract": _with_none(
            rng.choice(KEYS["labour"]["contract"], n, p=[0.7, 0.2, 0.1]), rng.random(n) < 0.02
        ),
        "started": _days("2022-01-01", rng.integers(0, 1096, n)),
        "ended": np.where(rng.random(n) < 0.8, np.datetime64("NaT"), ended),
        "unemployed": rng.random(n) < 0.07,
    }
    return {"steuer": pd.DataFrame(steuer), "stays": pd.DataFrame(stays), "labour": pd.DataFrame(labour)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="*", default=[])
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = worlds(np.random.default_rng(38))
    plain = duckdb.connect()
    for name, frame in {**tables, **PUBLIC}.items():
        plain.register(name, frame)
    for number, (name, what, text) in enumerate(STATEMENTS, 1):
        if options.only and number not in options.only:
            continue
        table = prdp.open(tables[name], name=name, **OPENED[name])
        public = {known: frame for known, frame in PUBLIC.items() if re.search(rf"\b{known}\b", text)}
        try:
            answers = table.sql(text, share="1/5", keys=KEYS[name], tables=public)
        except prdp.PrdpError as wrong:
            print(f"{number:2} {what}: refused: {str(wrong).splitlines()[0]}")
            continue
        print(f"{number:2} {what}: {compared(answers, plain.execute(text).fetchall())}")
        if options.show:
            print(text, answers, sep="\n")


if __name__ == "__main__":
    main()
