"""ROLLUP, CUBE and GROUPING SETS: SQL's rows, one charge for all, and margins that add up."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import prdp
from prdp.release.release import Release
from prdp.sql import grouping
from prdp.sql.grouping import MAX_SETS

SIZE = 3_000
RNG = np.random.default_rng(4)
FRAME = pd.DataFrame(
    {
        "town": RNG.choice(["Bonn", "Ulm", "Hof"], SIZE),
        "year": RNG.integers(2021, 2025, SIZE),
        "paid": RNG.integers(0, 100, SIZE),
    }
)
KEYS = {"town": ["Bonn", "Ulm", "Hof"]}


def opened(budget: int = 10**9, *, synthetic: bool = True) -> prdp.Table:
    bounds = {"year": (2021, 2024), "paid": (0, 100)}
    policy = prdp.Policy.constant(budget)
    return prdp.open(FRAME, policy=policy, bounds=bounds, name="bills", synthetic=synthetic)


def counted(*by: str) -> dict[tuple[object, ...], int]:
    return {tuple(key): len(rows) for key, rows in FRAME.groupby(list(by))}


@pytest.mark.parametrize(
    ("clause", "sets"),
    [
        ("ROLLUP (town, year)", [("town", "year"), ("town",), ()]),
        ("CUBE (town, year)", [("town", "year"), ("town",), ("year",), ()]),
        ("GROUPING SETS ((town), (year))", [("town",), ("year",)]),
        ("town, ROLLUP (year)", [("town", "year"), ("town",)]),
        ("GROUPING SETS ((town, year), ())", [("town", "year"), ()]),
    ],
)
def test_without_noise_the_rows_are_sql_s(clause: str, sets: list[tuple[str, ...]]) -> None:
    answers = opened().sql(
        f"SELECT town, year, COUNT(*) AS n, SUM(paid) AS paid FROM bills GROUP BY {clause}",
        share=1,
        keys=KEYS,
    )
    wanted = {}
    for columns in sets:
        for key, rows in FRAME.groupby(list(columns)) if columns else [((), FRAME)]:
            known = dict(zip(columns, key, strict=True))
            wanted[known.get("town"), known.get("year")] = (len(rows), int(rows["paid"].sum()))
    assert {row[:2]: row[2:] for row in answers.values} == wanted


def test_all_margins_are_one_charge_and_asked_once() -> None:
    table = opened(100, synthetic=False)
    text = "SELECT town, year, AVG(paid) FROM bills GROUP BY ROLLUP (town, year)"
    first = table.sql(text, share="1/4", keys=KEYS)
    assert (first.share, table.remaining) == (Fraction(1, 4), Fraction(3, 4))
    again = table.sql(text, share="1/4", keys=KEYS)
    assert (again.values, table.remaining) == (first.values, Fraction(3, 4))


@pytest.mark.parametrize(
    "clause",
    [
        f"CUBE ({', '.join(['town'] * 40)})",
        f"ROLLUP ({', '.join(['town'] * 64)})",
        "CUBE (town, year, paid, town), CUBE (town, year, paid)",
        f"CUBE (town, year), GROUPING SETS (CUBE (town, year, paid), ROLLUP ({', '.join(['town'] * 9)}))",
    ],
)
def test_too_many_margins_are_refused_by_their_number_before_any_is_made(
    clause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUBE of 40 columns has 2^40 of them: whoever makes them first has no memory left."""

    def made(steps: list[object], size: int) -> Iterator[tuple[object, ...]]:
        assert 2 ** len(steps) <= MAX_SETS
        return combinations(steps, size)

    monkeypatch.setattr(grouping, "combinations", made)
    with pytest.raises(prdp.errors.SqlError, match="more than 64 grouping sets"):
        opened().explain_sql(f"SELECT COUNT(*) FROM bills GROUP BY {clause}", share="0.1", keys=KEYS)


def test_a_statement_that_does_not_fit_charges_no_margin() -> None:
    table = opened(100, synthetic=False)
    table.count(share="4/5")
    with pytest.raises(prdp.BudgetExhausted, match="Nothing was charged"):
        table.sql(
            "SELECT town, year, AVG(paid) FROM bills GROUP BY CUBE (town, year)", share="1/4", keys=KEYS
        )
    assert table.remaining == Fraction(1, 5)


def test_sums_that_are_clipped_are_answers_of_their_own_and_the_answer_says_so() -> None:
    text = "SELECT town, SUM(paid) AS s FROM bills GROUP BY ROLLUP (town)"
    table = prdp.open(
        FRAME,
        policy="least(50 / greatest(paid, 1), 50)",
        bounds={"paid": (0, 100)},
        name="bills",
        synthetic=True,
    )
    answers = table.sql(text, share="1/2", keys=KEYS)
    assert all(type(cell) is Release for cell in answers["s"])
    assert any("need not add up" in note for note in answers.remarks)


def test_parents_are_the_sums_of_their_children_whatever_the_noise() -> None:
    text = "SELECT town, year, COUNT(*) AS n FROM bills GROUP BY CUBE (town, year)"
    answers = opened(1).sql(text, share="1/2", keys=KEYS)
    cells = {row[:2]: row[2] for row in answers.values}
    years = range(2021, 2025)
    for town in KEYS["town"]:
        assert sum(cells[town, year] for year in years) == cells[town, None]
    for year in years:
        assert sum(cells[town, year] for town in KEYS["town"]) == cells[None, year]
    assert sum(cells[town, None] for town in KEYS["town"]) == cells[None, None]


def test_margins_are_of_the_listed_keys_and_the_answer_says_so() -> None:
    text = "SELECT town, COUNT(*) AS n FROM bills GROUP BY ROLLUP (town)"
    answers = opened().sql(text, share=1, keys={"town": ["Bonn", "Ulm"]})
    cells = dict(answers.values)
    assert cells[None] == cells["Bonn"] + cells["Ulm"] == int(FRAME["town"].isin(["Bonn", "Ulm"]).sum())
    assert any("margins are of the listed keys alone" in note for note in answers.remarks)


def test_grouping_says_which_rows_are_margins() -> None:
    text = (
        "SELECT CASE WHEN GROUPING(town) = 1 THEN 'all' ELSE town END AS t, GROUPING(town, year) AS g, "
        "COUNT(*) FROM bills GROUP BY GROUPING SETS ((town), ()) ORDER BY g, t"
    )
    with pytest.raises(prdp.errors.SqlError, match="GROUPING takes what is grouped by"):
        opened().sql(text, share=1, keys=KEYS)
    answers = opened().sql(text.replace("(town, year)", "(town)"), share=1, keys=KEYS)
    assert [row[:2] for row in answers.values] == [("Bonn", 0), ("Hof", 0), ("Ulm", 0), ("all", 1)]


def test_margins_of_a_null_group_and_of_months() -> None:
    frame = FRAME.assign(
        day=(np.datetime64("2025-01-01") + (np.arange(SIZE) % 90).astype("timedelta64[D]")).astype(
            "datetime64[us]"
        ),
        town=pd.array(np.where(FRAME["town"] == "Hof", None, FRAME["town"]), dtype="string"),
    )
    table = prdp.open(frame, policy=prdp.Policy.constant(10**9), name="bills", synthetic=True)
    text = (
        "SELECT town, date_trunc('month', day) AS m, COUNT(*) AS n FROM bills WHERE day >= DATE '2025-01-01' "
        "AND day < DATE '2025-04-01' GROUP BY CUBE (town, m)"
    )
    answers = table.sql(text, share=1, keys={"town": ["Bonn", None]})
    kept = frame[frame["town"].isna() | (frame["town"] == "Bonn")]
    assert answers.values[-1] == (None, None, len(kept))
    assert sum(row[2] for row in answers.values[:6]) == len(kept)


def test_a_window_over_margins_does_not_take_them_for_independent() -> None:
    text = "SELECT town, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS twice FROM bills GROUP BY ROLLUP (town)"
    answers = opened(1).sql(text, share="1/2", keys=KEYS)
    low, high = answers["twice"][0].interval()
    parts = [cell.interval() for cell in answers["n"]]
    assert high - low >= sum(high - low for low, high in parts)
