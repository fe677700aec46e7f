"""Keys that nobody listed, as users look for them: found, charged once, and used by groups."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prdp
from prdp.declare.groups import OTHER
from prdp.declare.key_search import KeySearch
from prdp.errors import InvalidRequest, KeysOutOfReach
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.testing.key_contract import rows_of_masses

RNG = np.random.default_rng(5)
N = 20_000
SOURCE: dict[str, Any] = {
    "zip": np.array(["94103", "94110", "10001", "94103\n", " 94110"])[
        RNG.choice(5, N, p=[0.4, 0.3, 0.1, 0.1, 0.1])
    ],
    "job": np.array(["clerk", "chef", "Clerk"])[RNG.integers(0, 3, N)],
    "age": RNG.integers(18, 80, N),
    "height": np.where(RNG.random(N) < 0.5, 0.0, -0.0),
    "owns": RNG.random(N) < 0.3,
    "opened": (np.datetime64("2025-01-01") + RNG.integers(0, 365, N).astype("timedelta64[D]")).astype(
        "datetime64[us]"
    ),
    "buyer": RNG.integers(0, 4000, N),
}


def homes(**options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {"policy": "1", "bounds": {"age": (0, 120)}} | options
    return prdp.open(SOURCE, **chosen)


def mass(found: prdp.ReleaseTable, key: object) -> float:
    release = found[key]
    assert isinstance(release, prdp.Release)
    return float(release.value)


def test_keys_of_a_pattern_are_found_and_others_are_none() -> None:
    found = homes().find_keys("zip", pattern="[0-9]{5}", share=0.5)
    assert {key for (key,) in found.keys} == {"94103", "94110", "10001"}
    assert mass(found, "94103") == pytest.approx(np.sum(SOURCE["zip"] == "94103"), abs=60)


def test_they_are_sorted_by_noisy_mass() -> None:
    found = homes().find_keys("age", share=0.5)
    masses = [row[0].exact for _, row in found]
    assert len(masses) == 62
    assert masses == sorted(masses, reverse=True)


def test_the_search_is_charged_once_and_using_its_keys_costs_nothing() -> None:
    table = homes()
    found = table.find_keys("job", longest=8, share="1/4")
    assert table.find_keys("job", longest=8, share="1/4") == found
    assert table.remaining == Fraction(3, 4)
    counts = table.group_by("job", keys=found).count(share="1/4")
    assert counts.keys == found.keys
    assert table.remaining == Fraction(1, 2)
    table.find_keys("job", longest=8, share="1/4", redraw=True)
    assert table.remaining == Fraction(1, 4)


def test_another_domain_is_another_question() -> None:
    table = homes()
    table.find_keys("zip", pattern="[0-9]{5}", share=0.1)
    table.find_keys("zip", pattern="[0-9]{5}", false_keys=0.1, share=0.1)
    table.find_keys("zip", pattern="[0-9]{4}[0-9]", share=0.1)
    assert table.remaining == Fraction(7, 10)


def test_a_ledger_file_keeps_what_was_found(tmp_path: Path) -> None:
    ledger = str(tmp_path / "homes.ledger")
    found = homes(ledger=ledger, name="homes").find_keys("zip", pattern="[0-9]{5}", share=0.5)
    again = homes(ledger=ledger, name="homes")
    assert again.find_keys("zip", pattern="[0-9]{5}", share=0.5) == found
    assert again.remaining == Fraction(1, 2)


def test_a_search_is_charged_to_its_filter_alone() -> None:
    table = homes(immutable=["job"])
    table.filter("job = 'chef'").find_keys("age", share=0.5)
    assert table.filter("job = 'clerk'").remaining == 1
    assert table.filter("job = 'chef'").remaining == Fraction(1, 2)


def test_texts_are_their_bytes_and_capitals_matter() -> None:
    found = homes().find_keys("job", longest=8, share=0.5)
    assert {key for (key,) in found.keys} == {"clerk", "chef", "Clerk"}


def test_a_list_finds_what_it_lists_and_with_a_pattern_the_rest_too() -> None:
    table = homes()
    listed = table.find_keys("zip", among=["94103", "00000"], share=0.25)
    assert listed.keys == (("94103",),)
    both = table.find_keys("zip", among=["94103", "00000"], pattern="[0-9]{5}", share=0.25)
    assert {key for (key,) in both.keys} == {"94103", "94110", "10001"}


def test_truth_values_doubles_and_dates_have_keys() -> None:
    table = homes()
    assert {key for (key,) in table.find_keys("owns", share=0.1).keys} == {True, False}
    assert table.find_keys("height", between=(-1, 1), share=0.1).keys == ((0.0,),)  # minus zero is zero
    months = table.find_keys(
        prdp.date_trunc("month", "opened"), between=("2024-01-01", "2026-12-31"), share=0.1
    )
    assert {key for (key,) in months.keys} == {datetime(2025, month, 1) for month in range(1, 13)}
    counts = table.group_by(prdp.date_trunc("month", "opened"), keys=months).count(share=0.1)
    assert len(counts) == 12


def test_pairs_of_columns_are_found_together() -> None:
    found = homes().find_keys(["zip", "owns"], pattern={"zip": "[0-9]{5}"}, share=0.5)
    assert set(found.keys) == {(code, owns) for code in ("94103", "94110", "10001") for owns in (True, False)}
    counts = homes().group_by("zip", "owns", keys=found).count(share=0.5)
    assert counts.keys == found.keys


def test_missing_values_are_no_keys() -> None:
    table = prdp.open(pd.DataFrame({"v": pd.array([1, None] * 500, dtype="Int64")}), policy="1")
    assert table.find_keys("v", between=(0, 9), share=1).keys == ((1,),)


def test_the_largest_keys_are_chosen_by_mass_or_by_count() -> None:
    rich = {"job": np.array(["a"] * 300 + ["b"] * 900), "eps": np.array([8.0] * 300 + [1.0] * 900)}
    table = prdp.open(rich, policy=prdp.Policy.column("eps", at_least=1, at_most=8))
    assert table.top_keys("job", 1, longest=3, share=0.5).keys == (("a",),)
    counts = table.top_keys("job", 1, by="count", longest=3, share=0.5)
    assert counts.keys == (("b",),)
    assert mass(counts, "b") == pytest.approx(900, abs=30)


def test_units_divide_their_budget_among_their_keys() -> None:
    table = homes(privacy_unit="buyer")
    found = table.find_keys("zip", pattern="[0-9]{5}", share=0.5)
    assert {key for (key,) in found.keys} == {"94103", "94110", "10001"}
    assert sum(row[0].value for _, row in found) < 4000  # no unit counts with more than it has
    with pytest.raises(InvalidRequest, match="names a protected record"):
        table.find_keys("buyer", between=(0, 9999), share=0.1)


def test_joins_find_keys_of_their_results() -> None:
    people = {"id": np.arange(4000), "city": np.array(["Bern", "Basel"])[np.arange(4000) % 2]}
    tables = {"people": people, "homes": {"buyer": SOURCE["buyer"], "zip": SOURCE["zip"]}}
    shop = prdp.open_join(
        tables, private="people", key="id", references={"homes.buyer": "people.id"}, policy="1"
    )
    joined = shop.over("homes")
    found = joined.find_keys("zip", pattern="[0-9]{5}", share=0.25)
    assert {key for (key,) in found.keys} == {"94103", "94110", "10001"}
    cities = joined.find_keys("city", longest=6, share=0.25)
    assert {key for (key,) in cities.keys} == {"Bern", "Basel"}
    assert "prdp_table" in joined.explain_keys("city", longest=6, share=0.25)
    with pytest.raises(InvalidRequest, match="not joined here"):
        shop.find_keys("zip", pattern="[0-9]{5}", share=0.1)


# One more group of all others.


@pytest.mark.parametrize("privacy_unit", [None, "buyer"])
def test_all_other_records_are_a_group(privacy_unit: str | None) -> None:
    table = homes(privacy_unit=privacy_unit)
    counts = table.group_by("zip", keys=["94103", "94110"], other=True).count(share=0.5)
    assert counts.keys == (("94103",), ("94110",), (OTHER,))
    others = np.sum(~np.isin(SOURCE["zip"], ["94103", "94110"]))
    assert counts.releases[-1][0].value == pytest.approx(others, rel=0.2)
    assert "(other)" in str(counts)


def test_records_without_a_key_are_among_the_others() -> None:
    table = prdp.open(pd.DataFrame({"v": pd.array([1, None] * 500, dtype="Int64")}), policy="1")
    counts = table.group_by("v", keys=[1], other=True).count(share=1)
    assert counts.releases[1][0].value == pytest.approx(500, abs=20)


def test_a_join_and_bins_have_other_records_too() -> None:
    table = homes()
    counts = table.group_by(prdp.bins("age", [18, 30]), other=True).count(share=0.5)
    assert counts.releases[-1][0].value == pytest.approx(np.sum(SOURCE["age"] > 30), abs=60)
    crossed = table.group_by("zip", keys=["94103"], other=True).histogram("age", edges=[0, 40, 99], share=0.5)
    assert [str(part) for part in crossed.keys[-1]] == ["(other)", "(other)"]
    assert crossed.releases[-1][0].value == pytest.approx(np.sum(SOURCE["zip"] != "94103"), abs=60)


def test_nothing_found_leaves_one_group_of_all_records() -> None:
    table = homes()
    found = table.find_keys("zip", pattern="[A-Z]{5}", share=0.25)
    assert len(found) == 0
    with pytest.raises(InvalidRequest, match="no keys"):
        table.group_by("zip", keys=found)
    counts = table.group_by("zip", keys=found, other=True).count(share=0.25)
    assert counts.keys == ((OTHER,),)
    assert counts.releases[0][0].value == pytest.approx(N, abs=60)


def test_a_table_with_others_is_kept_sorted_and_handed_on() -> None:
    counts = homes().group_by("age", keys=[20, 30], other=True).agg(n=prdp.count(), share=0.5)
    assert release_from_json(release_to_json(counts)) == counts
    assert counts.top(1).keys == ((OTHER,),)
    assert counts.columns()["age"] == [20, 30, None]
    assert counts.sort("n", descending=True).columns()["age"][0] is None
    assert counts.to_pandas()["age"].isna().sum() == 1
    assert counts.to_arrow()["age"].null_count == 1
    assert counts.to_dict()["rows"][2]["age"] is None


def test_a_group_of_all_others_is_charged_to_everybody_in_the_filter() -> None:
    table = homes(immutable=["job"])
    table.group_by("job", keys=["chef"], other=True).count(share=0.5)
    assert table.filter("job = 'clerk'").remaining == Fraction(1, 2)


# What is stated.


def test_the_release_says_what_a_key_needs_and_how_many_are_false() -> None:
    text = str(homes().find_keys("zip", pattern="[0-9]{5}", share=0.5))
    assert "a key needs a budget mass of 30.8 to be found half of the time, and 4.61 more in 95 %" in text
    assert "of 100,000 possible keys, 0.01 that nobody has" in text
    assert "missing by design" in text


def test_twenty_characters_of_64_need_about_102_over_the_share() -> None:
    table = homes()
    letters = "".join(map(chr, range(33, 97)))
    text = table.explain_keys("job", alphabet=letters, longest=20, share=1)
    assert "102 (20 characters)" in text


def test_whoever_can_hardly_find_a_key_is_warned_before_paying() -> None:
    with pytest.warns(KeysOutOfReach, match=r"pattern='\[A-Z\]"):
        homes(policy="0.001").find_keys("job", share=0.01)


@pytest.mark.parametrize(
    ("columns", "stated", "words"),
    [
        ("age", {"pattern": "[0-9]"}, "says nothing"),
        ("height", {}, "which whole numbers"),
        ("opened", {"between": ("2025-01-01", "2025-12-31")}, "date_trunc"),
        (prdp.date_trunc("day", "opened"), {}, "which days"),
        ("zip", {"pattern": "[0-9]{1,2}[0-9]{1,2}"}, "two ways"),
        ("zip", {"pattern": "[0-9]+"}, "at character 6"),
        ("zip", {"pattern": "[0-9]{5}", "longest": 3}, "leave"),
        ("zip", {"alphabet": "aab"}, "twice"),
        ("zip", {"longest": 400}, r"10\^300"),
        ("zip", {"alphabet": "a", "longest": 10**9}, "1,000 characters at most"),
        ("age", {"between": np.array([1, 9])}, "is not a pair"),
        ("age", {"between": ()}, "is not a pair"),
        ("zip", {"among": ["a", "a"]}, "twice"),
        ("owns", {"false_keys": 1}, "too much"),
        ("zip", {"false_keys": 0}, "not a number of false keys"),
        (["zip", "age"], {"pattern": "[0-9]{5}"}, "of several columns"),
        (["zip", "zip"], {}, "twice"),
        (prdp.bins("age", [0, 9]), {}, "bins are public"),
        ("nothing", {}, "nothing"),
    ],
)
def test_wrong_searches_are_refused_and_cost_nothing(
    columns: Any, stated: dict[str, Any], words: str
) -> None:
    table = homes()
    with pytest.raises(InvalidRequest, match=words):
        table.find_keys(columns, share=0.1, **stated)
    assert table.remaining == 1


def test_keys_read_from_the_records_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="one source"):
        homes().find_keys("zip", among=SOURCE["zip"], share=0.1)


def test_a_search_can_be_simulated_on_a_synthetic_table() -> None:
    table = homes(synthetic=True)
    found = table.find_keys("zip", pattern="[0-9]{5}", share=0.5)
    assert found.simulated
    assert "simulated" in str(found)


def test_a_join_and_a_table_of_units_have_the_same_masses() -> None:
    eps = np.array([0.5, 1.0, 4.0])[np.arange(4000) % 3]
    policy = prdp.Policy.column("eps", at_least="1/2", at_most=4)
    rows = {"buyer": SOURCE["buyer"], "zip": SOURCE["zip"]}
    tables = {"people": {"id": np.arange(4000), "eps": eps}, "homes": rows}
    join = prdp.open_join(
        tables, private="people", key="id", references={"homes.buyer": "people.id"}, policy=policy
    ).over("homes")
    table = prdp.open({**rows, "eps": eps[SOURCE["buyer"]]}, policy=policy, privacy_unit="buyer")
    for most in (1, 2, 64):
        found = []
        for opened in (join, table):
            plan = opened.plan_keys("zip", KeySearch(pattern="[0-9]{5}"), share=1, max_keys=most)
            found.append(sorted(rows_of_masses(opened._reader.read_anew(plan.queries[0].read))))
        assert found[0] == found[1]


def test_it_is_stated_that_units_of_several_keys_are_divided() -> None:
    rows = {"id": np.repeat(np.arange(300), 3), "k": np.tile([1, 2, 3], 300)}
    divided = "a unit with several keys counts for an equal part of"
    for by, whole in (("mass", "its budget"), ("count", "one record")):
        table = prdp.open(rows, policy="1", privacy_unit="id")
        found = table.top_keys("k", 3, by=by, between=(1, 9), share=1)  # type: ignore[arg-type]
        assert f"{divided} {whole} in each of them, 64 at most" in found.notes
    alone = prdp.open(rows, policy="1", privacy_unit="id", one_row_per_unit=True)
    for table in (alone, prdp.open(rows, policy="1")):
        assert not any(divided in note for note in table.find_keys("k", between=(1, 9), share=1).notes)


def test_an_unit_of_two_rows_is_found_by_neither_filter_where_units_have_one_row_per_unit() -> None:
    rows = {"id": np.array([7, 7]), "month": np.array([3, 4]), "k": np.array([1, 2]), "eps": np.full(2, 90.0)}
    policy = prdp.Policy("eps", at_least=1, at_most=100)
    visits = prdp.open(rows, policy=policy, privacy_unit="id", one_row_per_unit=True, immutable=["month"])
    for month in (3, 4):
        found = visits.filter(f"month = {month}").find_keys("k", between=(1, 9), share=1, false_keys="1e-9")
        assert not found.keys
