"""Which records counted for less is stated in the user's own terms, and nobody below counted for less."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.plan.queries import Query
from prdp.policy import Policy
from prdp.release.bias import Dropped, TierClipping
from prdp.release.clipped import ClippedTerms
from prdp.testing import simulate
from prdp.testing.truth import raw_cells


def terms(policy: str, low: int = 0, high: int = 10**9, column: str | None = "v") -> ClippedTerms:
    return ClippedTerms(Policy(policy, at_most=100), (("v", (Fraction(low), Fraction(high))),), column)


def stated(terms: ClippedTerms, point: int | Fraction, *, dropped: bool = False) -> tuple[str, str]:
    (_, words), (_, where) = terms.at(Fraction(point), dropped=dropped)
    return words, where


def test_a_sum_under_a_policy_of_its_own_column_names_the_value() -> None:
    """v / (10000 / v) reaches 10^6 at v = 10^5; cells are up to two eighths of an octave coarse."""
    words, where = stated(terms("10000 / v"), 10**6)
    assert words == "v above 91,650 may be clipped"
    assert where == "v > 91650"
    assert 10**5 * 2 ** (-1 / 8) * 0.998 < 91650 < 10**5 * 2 ** (-1 / 8)


def test_a_count_names_the_value_from_which_on_budgets_are_too_small() -> None:
    words, where = stated(terms("10000 / v", column=None), 10)  # a record counts 1 from a budget of 1/10 on
    assert where == "v > 84000"
    assert words == "v above 84,000 may be clipped"


def test_values_of_both_signs_have_two_ends() -> None:
    _, where = stated(terms("10000 / greatest(abs(v), 1)", low=-(10**9)), 10**6)
    assert where == "v > 91650 OR v < -91650"
    _, where = stated(terms("10000 / greatest(abs(v), 1)", low=-1000), 10**6)
    assert where == "v > 91650"


def test_a_policy_that_rises_and_falls_is_stated_by_the_ratio() -> None:
    words, where = stated(terms("CASE WHEN v BETWEEN 1000 AND 2000 THEN 0.001 ELSE 10 END"), 10**5)
    assert words.startswith("v above ")
    assert "times the record's budget may be clipped" in words
    assert where.startswith("abs(v) > ")


@pytest.mark.parametrize("band", ["v >= 1100 AND v < 1200", "2 * v >= 2200 AND 2 * v < 2400", "v = 1150"])
def test_a_band_of_small_budgets_between_larger_ones_is_not_passed_over(band: str) -> None:
    """Below the value that is named nobody counts for less, however few values have a small budget."""
    words, _ = stated(terms(f"CASE WHEN {band} THEN 0.01 ELSE 10000 / greatest(v, 100) END"), 10**4)
    assert "times the record's budget may be clipped" in words


def test_several_columns_are_stated_by_the_ratio() -> None:
    both = ClippedTerms(Policy("age / v", at_most=100), (), "v")
    words, where = stated(both, 1000)
    assert words == "v above 840 times the record's budget may be clipped"
    assert where == "abs(v) > 840 * (age / v)"
    assert stated(ClippedTerms(Policy("age / v"), (), None), 1000)[1] == "(age / v) < 0.00119"


def test_what_was_dropped_is_left_out() -> None:
    assert stated(terms("10000 / v", column=None), 10, dropped=True)[0] == "v above 84,000 are dropped"


@pytest.mark.parametrize("share", ["1", "1/10"])
def test_records_below_the_value_that_is_named_all_count_fully(share: str) -> None:
    """A table with none above it would have been answered with nothing clipped."""
    values = np.random.default_rng(0).lognormal(8, 1, 20_000).astype(int) + 1
    table = prdp.open(
        {"v": values},
        policy=Policy("10000 / v", at_most=100),
        bounds={"v": (0, 10**9)},
        synthetic=True,
    )
    release = table.sum("v", share=share)
    choices = dict(release.choices)
    least = int(choices["clipped where"].split("> ")[1])
    assert release.clipping is not None
    assert release.clipping.at is not None
    at = float(release.clipping.at * release.step)
    below = values[values <= least]
    assert (below * 2 ** (1 / 8) <= at * np.minimum(100, 10_000 / below) * 2 ** (-1 / 8) * 1.001).all()
    assert choices["clipped"].startswith("v above ")


STEEP = (
    "1000000 / (v * v + 1)",
    "1000000 / (v * sqrt(v))",
    "1000000 / v",
    "CASE WHEN v < 3000 THEN 1.15 ELSE 1 END",
)


@pytest.mark.parametrize("policy", STEEP)
def test_no_value_beside_those_that_are_named_is_clipped(policy: str) -> None:
    """A cell of whole numbers has the least budget of its values, up to two eighths of an octave lower."""
    values = np.unique(np.geomspace(100, 10**5, 120).astype(np.int64))
    table = prdp.open(
        {"v": values, "g": np.arange(values.size)},
        policy=Policy(policy, at_most=10**4),
        bounds={"v": (50, 10**5)},
        synthetic=True,
    )
    plan = table.group_by("g", keys=range(values.size)).plan(prdp.sum("v"), share="1/10")
    known = plan.queries[0].steps[0].labels[0].clipped
    assert known is not None
    found = []
    for value, summary in zip(values.tolist(), raw_cells(table, plan), strict=True):
        (cell,) = summary.cells
        found.append((value, Fraction(cell.key.high) / (cell.key.quanta * summary.levels.quantum)))
    for ratio_of_some in sorted({ratio for _, ratio in found})[::4]:
        point = ratio_of_some * Fraction(999, 1000)  # a little too low for them
        (named,) = known.ends_at(point)
        assert named.value < values[-1]
        assert all(value > named.value or ratio <= point for value, ratio in found)


def test_a_ratio_of_a_sum_to_a_budget_of_its_own_column_allows_for_wider_cells() -> None:
    """Other columns put a budget on a level, an eighth of an octave lower; the summed one up to two."""
    band = "CASE WHEN v BETWEEN 1000 AND 2000 THEN 0.001 ELSE 10 END"
    assert stated(terms(band), 10**5)[1].startswith("abs(v) > 76990 * ")
    assert stated(terms(band, column="w"), 10**5)[1].startswith("abs(w) > 84000 * ")


def test_a_value_next_to_a_power_of_ten_keeps_its_digits() -> None:
    assert stated(terms("CASE WHEN v < 10000 THEN 10 ELSE 0.1 END"), 2_000)[1] == "v > 9999"


@pytest.mark.parametrize(("query", "seen"), [(prdp.count(), {"1", "2"}), (prdp.sum("v"), {"1"})])
def test_dropped_tiers_alone_are_named_and_none_that_was_kept(query: Query, seen: set[str]) -> None:
    table = prdp.open(
        {"v": np.concatenate([np.full(2_000, 5_000), np.full(200, 95_000)])},
        policy="CASE WHEN v < 10000 THEN 10 WHEN v < 100000 THEN 1 ELSE 0.1 END",
        bounds={"v": (1, 10**7)},
        synthetic=True,
    )
    found = set()
    for share in ("1/2", "1/100"):
        for release in simulate(table, query, share=share, runs=40, seed=1):
            kept = dict(release.choices)["budget tiers"].split(" of ")[0]
            pull = release.clipping
            dropped = isinstance(pull, Dropped) or (
                isinstance(pull, TierClipping) and all(tier.nothing for tier in pull.tiers[: pull.kept])
            )
            if kept != "3" and dropped:
                (end,) = release.clipped_from
                assert end.value == (9_999 if kept == "1" else 99_990)
                assert f"v above {end.value:,.0f}" in dict(release.choices)["clipped"]
                if release.excludes:
                    assert release.excludes.endswith(f"v above {end.value:,.0f}")
                found.add(kept)
    assert found >= seen


def test_one_budget_for_all_clips_nothing_and_says_nothing() -> None:
    table = prdp.open({"v": np.arange(100)}, policy=Policy.constant(1), synthetic=True)
    release = table.count(share="1/2")
    assert release.caveat == ""
    assert "clipped" not in dict(release.choices)
    assert "±" in str(release)


def test_values_that_no_point_can_clip_leave_their_side_alone() -> None:
    """Pay down to -1,000 is far below what a point for millions clips, so clipping can only lower a sum."""
    pay = np.random.default_rng(0).integers(20_000, 400_000, 20_000)
    table = prdp.open(
        {"pay": pay},
        policy=Policy("10000 / greatest(pay, 100)", at_most=100),
        bounds={"pay": (-1000, 10**7)},
        synthetic=True,
    )
    release = table.sum("pay", share=1)
    below, above = (abs(end - float(release)) for end in release.interval())
    noise = release.interval(0.965, tail_factor=1)[1] - float(release)
    assert below == pytest.approx(noise, rel=1e-6)
    assert above > 1.5 * below
    assert release.caveat == "clipped records can bias it downward"


@pytest.mark.parametrize(
    ("below", "above", "words"),
    [
        (False, True, "above 840"),
        (True, False, "below -840"),
        (True, True, "above 840 or below -840"),
    ],
)
@pytest.mark.parametrize("unit", [None, "id"])
def test_ratios_are_reported_for_the_signs_that_values_may_have(
    below: bool, above: bool, words: str, unit: str | None
) -> None:
    terms = ClippedTerms(Policy("age / v", at_most=100), (), "v", privacy_unit=unit, below=below, above=above)
    point = Fraction(1000)
    for reported in (terms.at(point)[0][1], terms.records_beyond(point, point)):
        assert f" {words} times " in reported


def test_a_sum_that_may_be_below_zero_says_so_of_what_it_excludes() -> None:
    rows = {"v": np.full(4000, -20.0), "age": np.full(4000, 40)}
    policy = prdp.Policy("age / 10", at_most=10)
    debts = prdp.open(rows, policy=policy, bounds={"v": (-(10**6), 0), "age": (1, 99)}, round_to={"v": 1})
    reported = str(debts.sum("v", share=1))
    assert " below -" in reported
    assert " above " not in reported


def _skewed() -> np.ndarray[Any, Any]:
    """Return values of which a few are far larger than the others."""
    return np.exp(np.arange(20_000) % 997 / 997 * 6 + 4).astype(np.int64)


@pytest.mark.parametrize("policy", ["1", "CASE WHEN v < 5000 THEN 1 ELSE 0.1 END"])
@pytest.mark.parametrize("query", [prdp.std("v"), prdp.variance("v")])
def test_a_spread_names_the_value_from_which_on_its_squares_leave_records_apart(
    policy: str, query: Any
) -> None:
    values = _skewed()
    table = prdp.open(
        {"v": values}, policy=prdp.Policy(policy), bounds={"v": (0, 10**9)}, name="t", synthetic=True
    )
    for release in prdp.testing.simulate(table, query, share="1/10", runs=5, seed=3):
        *_, squares = release.parts
        assert squares.clipping is not None
        assert squares.clipping.excludes(Fraction(8))
        assert re.search(r"v above [\d,.]+ from the squares", release.excludes), release.excludes
        assert "times" not in release.excludes, "the value itself is known"


def test_under_other_policies_squares_say_it_by_the_distance_and_the_budget() -> None:
    table = prdp.open(
        {"v": _skewed(), "vip": np.arange(20_000) % 100 == 0},
        policy="CASE WHEN vip THEN 0.05 ELSE 1 END",
        bounds={"v": (0, 10**9)},
        name="t",
        synthetic=True,
    )
    (release,) = prdp.testing.simulate(table, prdp.std("v"), share="1/10", runs=1, seed=3)
    reported = r"v whose squared distance from [\d,]+ is above [\d,]+ times the budget from the squares"
    assert re.search(reported, release.excludes), release.excludes


def test_whoever_is_within_what_squares_name_is_not_excluded() -> None:
    terms = ClippedTerms(
        Policy("10000 / greatest(v, 1)"),
        (("v", (Fraction(0), Fraction(10**9))),),
        "v",
        center=Fraction(500),
    )
    point = Fraction(10**8)
    stated = terms.records_beyond(point, point)
    named = float(stated.removeprefix("v above ").replace(",", ""))
    assert (named - 500) ** 2 <= 10_000 / named * 10**8 < (1.4 * named - 500) ** 2


def test_an_interval_that_excludes_no_value_within_the_bounds_states_nothing() -> None:
    marks = np.random.default_rng(1).normal(60, 15, 2_600).clip(0, 100)
    table = prdp.open({"v": marks}, policy=1, bounds={"v": (0, 100)}, name="t", synthetic=True)
    found = prdp.testing.simulate(table, prdp.std("v"), share="1/4", runs=20, seed=3)
    squares = [release.parts[-1] for release in found]
    assert any(part.excluded_records and not part.excludes for part in squares)
    for release in found:
        assert "nothing" not in f"{release.excludes} {release} {release.stated_exclusion}"


def test_a_part_that_leaves_records_apart_is_reported_whether_or_not_it_has_words() -> None:
    table = prdp.open({"v": _skewed()}, policy="1", bounds={"v": (0, 10**9)}, name="t", synthetic=True)
    (release,) = prdp.testing.simulate(table, prdp.std("v"), share="1/10", runs=1, seed=3)
    unsaid = replace(release, parts=tuple(replace(part, clipped=None) for part in release.parts))
    assert re.search(r"above [\d.]+ times the clipping threshold from the squares", unsaid.excludes)


def test_an_interval_of_all_that_bounds_allow_leaves_nobody_apart() -> None:
    table = prdp.open(
        {"v": _skewed()[:60]},
        policy="CASE WHEN v < 10000 THEN 1 ELSE 0.1 END",
        bounds={"v": (0, 10**9)},
        name="t",
        synthetic=True,
    )
    (release,) = prdp.testing.simulate(table, prdp.std("v"), share="1/1000", runs=1, seed=3)
    assert release.flag == "insufficient budget"
    assert release.interval() == (0, 5 * 10**8)
    assert release.excluded_text == ""
    assert release.excludes.startswith("there may be no such values")
    parts = table.group_by("v < 100", keys=[True, False])
    (rows,) = prdp.testing.simulate(parts, prdp.std("v"), share="1/1000", runs=1, seed=3)
    assert {row.flag for _, (row,) in rows} == {"insufficient budget"}
    assert not any("excludes" in stated for stated in rows.conditions)


def test_one_budget_for_all_names_the_value_that_is_clipped() -> None:
    table = prdp.open({"v": _skewed()}, policy="1", bounds={"v": (0, 10**9)}, name="t", synthetic=True)
    (release,) = prdp.testing.simulate(table, prdp.sum("v"), share="1/100", runs=1, seed=3)
    assert re.search(r"(?:excludes|excluding) v above [\d,]+", release.excludes), release.excludes


def test_a_quantile_says_below_which_budget_records_weigh_less() -> None:
    table = prdp.open(
        {"v": _skewed()},
        policy=prdp.Policy("1000 / greatest(v, 1)", at_most=10),
        bounds={"v": (0, 10**9)},
        name="t",
        synthetic=True,
    )
    (release,) = prdp.testing.simulate(table, prdp.median("v"), share="1/10", runs=1, seed=3)
    full = float(dict(release.choices)["full weight"].split()[4])
    less = f"weighted by budget, and so is its interval: records with a budget below {full:.4g} have smaller"
    less += " weights"
    assert (release.caveat, release.excludes) == (less, "")


def test_words_are_found_when_somebody_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An answer that is charged, drawn and recorded holds facts; what they mean is worked out to show it."""
    calls: list[object] = []
    budget = Policy.budget

    def counted(policy: Policy, record: Any) -> float | None:
        calls.append(record)
        return budget(policy, record)

    table = prdp.open(
        {"v": _skewed(), "g": np.arange(20_000) % 30},
        policy=Policy("10000 / greatest(v, 1)", at_most=100),
        bounds={"v": (0, 10**9)},
        name="t",
        ledger=tmp_path / "ledger.db",
    )
    monkeypatch.setattr(Policy, "budget", counted)
    whole, groups = table.sum("v", share="1/10"), table.group_by("g", keys=range(30)).sum("v", share="1/10")
    again = table.sum("v", share="1/10")
    assert calls == []
    assert " v above " in str(whole)
    assert " v above " in str(groups[3])
    assert calls
    assert str(again).startswith(str(whole))


@pytest.mark.parametrize(
    ("column", "words", "beyond"),
    [
        (None, "with more than 15 rows may be clipped", "with more than 15 rows"),
        ("v", "where their v is above 15.12 may be clipped", "whose v adds up to above 15.12"),
        (
            "CAST(vip AS INTEGER)",
            "with more than 15 rows where vip may be clipped",
            "with more than 15 rows where vip",
        ),
    ],
)
def test_one_budget_for_all_units_is_multiplied_out(column: str | None, words: str, beyond: str) -> None:
    """A unit of budget 3 counts for 18 in full, less what rounding takes: an eighth of an octave, twice."""
    flag = column is not None and column.startswith("CAST")
    same = ClippedTerms(Policy("3"), (), column, privacy_unit="id", computed=flag, zero_or_one=flag)
    point = Fraction(6)
    assert same.records_beyond(point, point) == f"units (id) {beyond}"
    assert stated(same, 6)[0] == f"units (id) {words}"


def test_one_budget_for_all_rows_is_multiplied_out() -> None:
    same = ClippedTerms(Policy("3"), (), "v * w", computed=True, below=True)
    assert same.records_beyond(Fraction(6), Fraction(12)) == "v * w above 30.24 or below -15.12"
    assert stated(same, 6)[0] == "v * w above 15.12 or below -15.12 may be clipped"
