"""All columns of a table are described from one charge, divided by public facts alone."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy.stats import binomtest

import prdp
from prdp.errors import InvalidRequest
from prdp.tables.describe import MAX_KEYS, description, share_of

N = 20_000
RNG = np.random.default_rng(3)
FRAME = pandas.DataFrame(
    {
        "owner": np.arange(N) // 2,
        "pay": RNG.integers(10, 90, N),
        "age": np.where(np.arange(N) % 4 == 0, np.nan, RNG.integers(20, 60, N)),
        "job": np.where(np.arange(N) % 10 < 3, "chef", "o'clerk"),
        "active": np.arange(N) % 5 == 0,
    }
)
BOUNDS = {"pay": (0, 1000), "age": (0, 120)}
KEYS = {"job": ["chef", "o'clerk"]}


def opened(frame: pandas.DataFrame = FRAME, **options: Any) -> prdp.Table:
    return prdp.open(frame, policy=5, bounds=BOUNDS, name="staff", **options)


def test_all_columns_are_described_from_one_charge_and_again_for_nothing(tmp_path: Path) -> None:
    table = opened(ledger=tmp_path / "staff.ledger")
    found = table.describe(share="1/2", keys=KEYS)
    assert table.remaining == Fraction(1, 2)
    assert found["*", "count"].value == pytest.approx(N, abs=100)
    assert found["age", "not null"].value == pytest.approx(0.75, abs=0.02)
    assert found["pay", "not null"].value == pytest.approx(1, abs=0.02)
    assert found["pay", "mean"].value == pytest.approx(49.5, abs=2)
    assert found["pay", "q0.25"].value == pytest.approx(30, abs=3)
    assert found["pay", "median"].value == pytest.approx(49.5, abs=3)
    assert found["age", "q0.75"].value == pytest.approx(50, abs=3)
    assert found["job", "= chef"].value == pytest.approx(0.3, abs=0.02)
    assert found["job", "= o'clerk"].value == pytest.approx(0.7, abs=0.02)
    assert found["active", "true"].value == pytest.approx(0.2, abs=0.02)
    assert found["pay", "min"].value < 15
    assert found["pay", "max"].value > 80
    assert found.notes == ("numbers without bounds, not measured: owner",)
    again = table.describe(share="1/2", keys=KEYS)
    assert again == found
    assert again.recorded_at
    assert len(table.ledger.entries) == 1


def test_a_dry_run_charges_nothing_and_says_what_is_charged() -> None:
    table = opened()
    assert table.explain_describe(share="1/10").startswith("charges  1/10 of every record's budget")
    assert table.remaining == 1
    assert not table.ledger.entries


def test_a_description_is_a_table_like_others() -> None:
    found = opened(synthetic=True).describe(share="1/2")
    frame = found.to_pandas()
    assert list(frame.columns) == ["column", "statistic", "value", "value_low", "value_high", "value_flag"]
    assert len(frame) == len(found) == len(found.keys)
    assert str(found).startswith("description of staff (share 1/2)")
    assert str(found.to_csv()).startswith("column,statistic,value,")
    assert found.to_dict()["rows"][0]["column"] == "*"


def test_shares_are_divided_by_public_facts_and_add_up_to_the_whole() -> None:
    whole = Fraction(1, 50)
    table, other = opened(), opened(FRAME.head(3).assign(pay=10**6, job="waiter", active=True))
    asked = description(table.schema, table.bounds, whole, KEYS)
    assert sum(asked.shares) == whole
    assert min(asked.shares) > 0
    assert table.describe_plan(whole, KEYS).text == other.describe_plan(whole, KEYS).text
    assert table.describe_plan(whole, KEYS).share == whole


def test_the_rows_of_units_are_described_without_the_column_of_their_names() -> None:
    table = opened(privacy_unit="owner", max_rows=2)
    found = table.describe(share="9/10")
    assert "owner" not in {column for column, _ in found.keys}
    assert found["*", "count"].value == pytest.approx(N, rel=0.1)
    assert found["pay", "median"].value == pytest.approx(49.5, abs=10)
    assert table.remaining == Fraction(1, 10)


def test_a_filtered_table_is_described_by_its_own_records() -> None:
    found = opened(synthetic=True).filter("pay >= 50").describe(share="1")
    assert found["pay", "q0.25"].value >= 50
    assert found["*", "count"].value == pytest.approx(N / 2, rel=0.1)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"jobs": ["chef"]}, "'jobs', which is no column"),
        ({"job": "chef"}, "is no list"),
        ("job", "is no dict"),
        ({"job": [str(number) for number in range(MAX_KEYS + 1)]}, "at most 50"),
    ],
    ids=["no column", "a text", "no dict", "too many"],
)
def test_keys_that_cannot_be_described_are_refused_before_any_charge(keys: Any, message: str) -> None:
    table = opened()
    with pytest.raises(InvalidRequest, match=message):
        table.describe(share="1/2", keys=keys)
    assert table.remaining == 1


def test_keys_are_for_all_columns_alone() -> None:
    with pytest.raises(InvalidRequest, match="keys= is for describing all columns"):
        opened().describe("pay", share="1/2", keys=KEYS)


def test_the_interval_of_a_share_covers_it() -> None:
    """Made of a count of some and of all, as a mean is."""
    table = opened(FRAME.head(2000), synthetic=True)
    active = prdp.testing.simulate(table, prdp.sum("active = TRUE"), share="1/20", runs=300, seed=5)
    everybody = prdp.testing.simulate(table, prdp.count(), share="1/20", runs=300, seed=6)
    shares = list(map(share_of, active, everybody))
    covered = sum(low <= 0.2 <= high for low, high in (share.interval(0.8) for share in shares))
    assert binomtest(covered, 300, 0.8, alternative="less").pvalue > 0.001
    narrower = sum(abs(share.value - 0.2) <= 0.1 * (share.interval(0.8)[1] - share.value) for share in shares)
    assert binomtest(narrower, 300, 0.8, alternative="less").pvalue < 0.001


def test_answers_of_one_row_that_no_screen_is_wide_enough_for_have_a_line_each() -> None:
    table = opened()
    described = table.describe("pay", share="1/4")
    lines = str(described).splitlines()[1:9]
    assert [line.split()[0] for line in lines] == list(described.asked)
    wanted = {
        "n": "COUNT(*)",
        "mean": "AVG(pay)",
        "low": "MIN(pay)",
        "mid": "MEDIAN(pay)",
        "high": "MAX(pay)",
    }
    select = ", ".join(f"{of} AS {name}" for name, of in wanted.items())
    by_sql = str(table.sql(f"SELECT {select}, STDDEV(pay) AS sd FROM staff", share="1/4"))
    assert [line.split()[0] for line in by_sql.splitlines()[:6]] == [*wanted, "sd"]
    short = str(table.agg(prdp.count(), prdp.mean("pay"), share="1/4")).splitlines()
    assert short[1].split() == ["count", "mean_pay"]
