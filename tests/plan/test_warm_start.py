"""Hints come from the ledger alone, stand with the charge, and never from what nobody was protected in."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.errors import LedgerError
from prdp.ledger.account import Charge, Entry, Notes
from prdp.mechanisms.warm_clip import WarmClip
from prdp.plan.plan import warm_started
from prdp.release.bias import Clipping
from prdp.release.excluded_tail import ExcludedTail
from prdp.release.release import Release
from tests.plan.recorded import Answers, warm_start_of

RNG = np.random.default_rng(1)
VALUES = RNG.lognormal(8, 1, 20_000).astype(np.int64) + 1
AGES = RNG.integers(18, 90, 20_000)
TENTH = Fraction(1, 10)
SUM = "sum of v in 1"
MOVED = ExcludedTail(((0, 0, 0),), (10**6,), scale=Fraction(1), worth=Fraction(1))


TWO_COLUMNS = "10000 / greatest(v, age)"
"""A policy under which no part of a mean follows another."""


def opened(ledger: Path | None = None, text: str = "10000 / v", **options: Any) -> prdp.Table:
    columns = {"v": VALUES, "age": AGES}
    policy = prdp.Policy(text, at_most=100)
    bounds = {"v": (0, 10**9), "age": (0, 120)}
    return prdp.open(columns, policy=policy, bounds=bounds, name="t", ledger=ledger, **options)


def entry(number: int, table: prdp.Table, at: int, share: Fraction = TENTH, **changes: Any) -> Entry:
    """Return a charge for the sum, as if it had clipped at a place."""
    plan = table.plan(prdp.sum("v"), share=share)
    reported: dict[str, Any] = {
        name: changes.pop(name) for name in ("blind", "measured", "selected") if name in changes
    }
    point = Clipping(
        Fraction(at), Fraction(10**9), Fraction(1), Fraction(2), 2, **({"blind": False} | reported)
    )
    release = Release("sum of v", 0, Fraction(1), (), share, "clip", clipping=point, **changes)
    return Entry(number, plan.text, share, release=release)


def test_a_question_starts_from_where_one_about_the_same_records_clipped() -> None:
    """A wider filter's point is no better than chance where the filter has to do with the values."""
    table = opened(text=TWO_COLUMNS)
    older = table.filter("age >= 40").filter("v > 0")
    plans = {
        "same": table.filter("v > 0 AND age >= 40").plan(prdp.mean("v"), share=TENTH),
        "narrower": older.filter("age < 60").plan(prdp.mean("v"), share=TENTH),
        "wider": table.plan(prdp.sum("v"), share=TENTH),
        "other": table.filter("age < 60").plan(prdp.sum("v"), share=TENTH),
        "other column": older.plan(prdp.count(), share=TENTH),
        "in groups": older.group_by("age", keys=[50, 60]).plan(prdp.sum("v"), share=TENTH),
    }
    found = {name: warm_start_of(plan, entry(3, older, at=7)) for name, plan in plans.items()}
    words = "sum of v where age >= 40 AND v > 0, by clip, range 0 to 1000000000 in steps of 1"
    known = {"at": "7", "charge": 3, "question": words, "close": True, "tail_factor": "8"}
    assert found.pop("same") == {SUM: known}
    assert not any(found.values())


@pytest.mark.parametrize(
    ("selected", "measured"), [(None, "8"), ("1.41", "3/2"), ("2", "2"), ("2.8", "3"), ("4", "4"), ("8", "8")]
)
def test_what_lies_beyond_is_measured_as_far_as_the_earlier_interval_reached(
    selected: str | None, measured: str
) -> None:
    table = opened()
    factors = None if selected is None else (Fraction(selected),) * 2
    plan = table.plan(prdp.sum("v"), share=TENTH)
    assert warm_start_of(plan, entry(0, table, at=7, selected=factors))[SUM]["tail_factor"] == measured


def test_a_warm_start_of_before_measures_as_far_as_it_did() -> None:
    (query,) = opened().plan(prdp.sum("v"), share=TENTH).queries
    known = {"at": "7", "charge": 0, "question": "sum of v", "close": True}
    for more, factor in (({}, 8), ({"tail_factor": 4}, 4), ({"tail_factor": "3/2"}, Fraction(3, 2))):
        (warm,) = warm_started([query], json.dumps({SUM: known | more}))
        assert isinstance(warm.steps[0].mechanism, WarmClip)
        assert warm.steps[0].mechanism.tail_factor == factor
    with pytest.raises(LedgerError, match="cannot be read"):
        warm_started([query], json.dumps({SUM: known | {"tail_factor": "5"}}))


def test_no_point_is_taken_from_a_smaller_share() -> None:
    """It lies where a small share had to clip much: too low for a larger one."""
    table = opened(text=TWO_COLUMNS)
    asked = {share: table.plan(prdp.sum("v"), share=share) for share in ("1/5", "1/10", "1/20", "1/21")}
    close = {
        share: found[SUM]["close"]
        for share, plan in asked.items()
        if (found := warm_start_of(plan, entry(0, table, at=7)))
    }
    assert close == {"1/10": True, "1/20": False, "1/21": False}
    mean = table.plan(prdp.mean("v"), share="2/15")  # of which its sum has 1/10
    assert warm_start_of(mean, entry(0, table, at=7))


def test_no_step_of_a_statement_takes_a_point_from_a_smaller_share_whatever_the_order() -> None:
    table = opened()
    table.mean("v", share=TENTH)  # its count had a quarter of that
    count, mean = prdp.count(), prdp.mean("v")
    for queries in ((count, mean), (mean, count)):
        assert "count" not in json.loads(table.plan(*queries, share="2/10").warm_start(table.ledger) or "{}")


def test_a_filter_that_is_recorded_longer_than_it_may_be_written_stops_nobody(tmp_path: Path) -> None:
    def table() -> prdp.Table:
        return opened(tmp_path / "a.ledger")

    longest = " AND ".join(f"v<>{number}" for number in range(1000, 1820))
    table().filter(longest).count(share="1/100")
    assert table().count(share="1/50").share == Fraction(1, 50)
    again = table().filter(longest).count(share="1/200")
    assert again.share == Fraction(1, 200)
    assert table().filter("v IN (" + ",".join(map(str, range(1900))) + ")").count(share="1/50")
    assert table().filter("age < 50").mean("v", share="1/50")


def test_of_several_the_same_snapshot_comes_first_then_the_larger_share_then_the_newer() -> None:
    table, before = opened(snapshot="2026-W47"), opened(snapshot="2026-W46")
    plan = table.plan(prdp.sum("v"), share=TENTH)
    older, same, again = entry(9, before, at=1), entry(1, table, at=2), entry(2, table, at=3)
    larger = entry(0, table, at=4, share=Fraction(1, 2))
    assert warm_start_of(plan, older, same)[SUM]["charge"] == 1
    assert warm_start_of(plan, older, same, again)[SUM]["charge"] == 2
    assert warm_start_of(plan, again, larger, same)[SUM]["charge"] == 0


@pytest.mark.parametrize("changes", [{"simulated": True}, {"blind": True}, {"measured": MOVED}], ids=str)
def test_a_release_that_is_simulated_insufficient_budget_or_far_too_low_gives_no_warm_start(
    changes: dict[str, Any],
) -> None:
    table = opened()
    assert not warm_start_of(table.plan(prdp.sum("v"), share=TENTH), entry(0, table, at=7, **changes))


def test_a_point_that_was_far_too_low_ends_all_before_it() -> None:
    table = opened()
    plan = table.plan(prdp.sum("v"), share=TENTH)
    before, found, after = (
        entry(0, table, at=7),
        entry(1, table, at=7, measured=MOVED),
        entry(2, table, at=900),
    )
    assert not warm_start_of(plan, before, found)
    assert warm_start_of(plan, before, found, after)[SUM]["at"] == "900"


def test_another_snapshot_is_about_other_records() -> None:
    first, second = opened(snapshot="2026-W46"), opened(snapshot="2026-W47")
    warm_start = warm_start_of(second.plan(prdp.sum("v"), share=TENTH), entry(0, first, at=7))
    assert warm_start[SUM]["close"] is False


def test_groups_of_an_earlier_question_give_no_warm_start() -> None:
    table = opened()
    plan = table.group_by("age", keys=[20, 30]).plan(prdp.sum("v"), share=TENTH)
    reported = Entry(0, plan.text, TENTH, release=entry(0, table, at=7).release)
    assert not warm_start_of(table.plan(prdp.sum("v"), share=TENTH), reported)


def test_parts_of_means_and_several_queries_tell_their_points_too() -> None:
    table = opened(text=TWO_COLUMNS)
    table.agg(prdp.mean("v"), prdp.count(), share="1/2")
    warm_start = json.loads(table.plan(prdp.variance("v"), share=TENTH).warm_start(table.ledger) or "{}")
    assert set(warm_start) == {"count", SUM}


def test_a_mean_whose_count_follows_starts_from_no_point_and_its_count_tells_none() -> None:
    table = opened()
    table.mean("v", share="1/2")
    assert set(json.loads(table.plan(prdp.sum("v"), share=TENTH).warm_start(table.ledger) or "{}")) == {SUM}
    for query in (prdp.count(), prdp.mean("v"), prdp.variance("v")):
        assert table.plan(query, share=TENTH).warm_start(table.ledger) is None


def test_the_exact_place_is_stored_and_the_answer_says_where_it_warm(tmp_path: Path) -> None:
    table = opened(tmp_path / "t.ledger")
    first = table.sum("v", share=TENTH)
    second = table.sum("v", share="1/20")
    assert isinstance(first.clipping, Clipping)
    stored = json.loads(table.ledger.entries[1].notes.warm_start or "{}")[SUM]
    assert Fraction(stored["at"]) == first.clipping.at * first.step
    assert "started from" not in dict(first.choices)
    assert dict(second.choices)["started from"].startswith("the clipping threshold of charge 0 (sum of v")
    assert table.ledger.entries[1].release == second  # as it is read back, what was measured included


def test_explain_says_where_a_question_would_start() -> None:
    table = opened()
    before = table.explain(prdp.sum("v"), share=TENTH)
    table.sum("v", share="1/5")
    after = table.explain(prdp.sum("v"), share=TENTH)
    assert "proofs/clip.md" in before
    assert "proofs/warm_clip.md" in after
    assert "since  it starts from the clipping threshold of charge 0 (sum of v" in after


def test_a_standing_answer_is_found_without_the_warm_start() -> None:
    table = opened()
    first, second = table.sum("v", share=TENTH), table.sum("v", share="1/20")
    assert table.sum("v", share=TENTH) == first
    assert table.sum("v", share="1/20") == second
    assert len(table.ledger.entries) == 2


def test_a_charge_that_is_taken_up_draws_by_the_warm_start_that_it_was_made_with(tmp_path: Path) -> None:
    table = opened(tmp_path / "t.ledger")
    plan = table.plan(prdp.sum("v"), share=TENTH)
    made = table.ledger.charge(plan.text, TENTH, notes=Notes(warm_start=None))  # and then the process died
    assert isinstance(made, Charge)
    table.mean("v", share="1/5")  # meanwhile there is a point to start from
    assert plan.warm_start(table.ledger) is not None
    assert "started from" not in dict(table.sum("v", share=TENTH).choices)
    assert len(table.ledger.entries) == 2
    assert "started from" in dict(table.sum("v", share=TENTH, redraw=True).choices)


def test_a_charge_with_a_warm_start_is_taken_up_with_it_although_there_is_a_better_one(
    tmp_path: Path,
) -> None:
    table = opened(tmp_path / "t.ledger")
    plan = table.plan(prdp.sum("v"), share=TENTH)
    warm_start = plan.warm_start(Answers(entry(7, table, at=50_000)))
    table.ledger.charge(plan.text, TENTH, notes=Notes(warm_start=warm_start))
    table.sum("v", share="1/5")
    started = dict(table.sum("v", share=TENTH).choices)["started from"]
    assert started.startswith("the clipping threshold of charge 7 ")


@pytest.mark.parametrize("warm_start", ["no JSON", "[1]", '{"count": {}}', '{"sum of v in 1": {"at": "x"}}'])
def test_what_is_no_warm_start_is_refused_and_nothing_is_drawn(warm_start: str, tmp_path: Path) -> None:
    table = opened(tmp_path / "t.ledger")
    plan = table.plan(prdp.sum("v"), share=TENTH)
    table.ledger.charge(plan.text, TENTH, notes=Notes(warm_start=warm_start))
    with pytest.raises(prdp.errors.LedgerError, match="cannot be read"):
        table.sum("v", share=TENTH)
    assert table.ledger.entries[0].release is None


def test_a_synthetic_table_gives_no_warm_starts() -> None:
    table = opened(synthetic=True)
    table.sum("v", share=TENTH)
    assert "started from" not in dict(table.sum("v", share="1/20").choices)


def test_every_step_keeps_its_share() -> None:
    table = opened(text=TWO_COLUMNS)
    plan = table.plan(prdp.mean("v"), share=TENTH)
    warm = plan.warm_started(plan.warm_start(Answers(entry(0, table, at=7))))
    assert [step.share for step in warm.queries[0].steps] == [step.share for step in plan.queries[0].steps]
    assert isinstance(warm.queries[0].steps[0].mechanism, WarmClip)
    assert warm.text == plan.text
    assert replace(warm, queries=plan.queries) == plan
