"""Every question, for all records and for public groups: near the truth, charged once, kept by the ledger."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import prdp
from prdp.errors import InvalidRequest
from prdp.release.bias import Clipping
from prdp.testing import Seeded, simulate

N = 60_000
RNG = np.random.default_rng(7)
SOURCE: dict[str, Any] = {
    "balance": RNG.lognormal(6, 1, N).astype(int) + 1,
    "debt": RNG.integers(-50, 51, N),
    "job": np.array(["clerk", "chef", "o'brien"])[RNG.integers(0, 3, N)],
    "branch": RNG.integers(0, 40, N),
    "opened": (np.datetime64("2025-01-01") + RNG.integers(0, 365, N).astype("timedelta64[D]")).astype(
        "datetime64[us]"
    ),
}
JOBS = ["clerk", "chef", "o'brien", "nobody"]


@pytest.fixture(autouse=True)
def _no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every answer be drawn from the same seed, so that no test fails once in a thousand times."""
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", lambda: Seeded(7))


def accounts(**options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {
        "policy": prdp.Policy("1000 / balance", at_most=10),
        "bounds": {"balance": (1, 10**9), "debt": (-100, 100), "branch": (0, 100)},
    } | options
    return prdp.open(SOURCE, **chosen)


def of_job(column: str, job: str) -> np.ndarray:
    return np.asarray(SOURCE[column][SOURCE["job"] == job])


@pytest.mark.parametrize(
    ("query", "truth"),
    [
        (prdp.mean("balance"), SOURCE["balance"].mean()),
        (prdp.std("debt"), SOURCE["debt"].std()),
        (prdp.variance("debt"), SOURCE["debt"].var()),
        (prdp.median("balance"), np.median(SOURCE["balance"])),
        (prdp.quantile("balance", 0.9), np.quantile(SOURCE["balance"], 0.9)),
        (prdp.count_distinct("branch"), 40),
    ],
    ids=str,
)
def test_every_question_comes_close_to_the_truth(query: Any, truth: float) -> None:
    values = [
        release.value for release in simulate(accounts(synthetic=True), query, share="1/4", runs=31, seed=1)
    ]
    assert np.median(values) == pytest.approx(truth, rel=0.1)


def test_quantiles_of_one_charge_ascend() -> None:
    table = accounts()
    quartiles = table.quantiles("debt", ["1/4", "1/2", "3/4"], share="1/2")
    assert [release.value for release in quartiles] == pytest.approx([-25, 0, 25], abs=5)
    assert table.ledger.remaining == Fraction(1, 2)
    assert table.quantiles("debt", ["1/4", "1/2", "3/4"], share="1/2") == quartiles


def test_each_group_is_answered_with_the_whole_share() -> None:
    table = accounts()
    counts = table.group_by("job", keys=JOBS).count(share="1/4")
    assert table.ledger.remaining == Fraction(3, 4)
    for (job,), (release,) in counts:
        assert release.share == Fraction(1, 4)
        assert release.value == pytest.approx(len(of_job("job", str(job))), rel=0.1, abs=50)
    assert "nobody" in str(counts)


def test_records_of_no_listed_key_are_in_no_answer() -> None:
    only = accounts().group_by("job", keys=["chef"]).count(share="1/2")
    assert len(only) == 1
    (release,) = only.releases[0]
    assert release.value == pytest.approx(len(of_job("job", "chef")), rel=0.05)


def test_several_questions_share_one_charge_and_one_reading() -> None:
    table = accounts()
    asked: list[object] = []
    read = table._engine.summarise

    def counted(reading: Any) -> Any:
        asked.append(reading)
        return read(reading)

    table._engine.summarise = counted  # type: ignore[method-assign]
    answers = table.group_by("job", keys=JOBS[:3]).agg(
        prdp.count(), prdp.sum("balance"), prdp.variance("balance"), share="1/2", shares=["1/8", "1/8", "1/4"]
    )
    assert len(asked) == 1
    assert table.ledger.remaining == Fraction(1, 2)
    for (job,), (count, total, variance) in answers:
        assert [count.share, variance.share] == [Fraction(1, 8), Fraction(1, 8) + Fraction(1, 4)]
        assert total.share == Fraction(3, 8) * variance.share  # the variance's, which has the shares of both
        assert variance.parts[0].exact == total.exact
        assert count.value == pytest.approx(len(of_job("job", str(job))), rel=0.1)
        assert total.value == pytest.approx(of_job("balance", str(job)).sum(), rel=0.3)


def test_the_parts_of_a_mean_state_what_they_used() -> None:
    mean = accounts().mean("balance", share="1/2")
    assert [part.share for part in mean.parts] == [Fraction(3, 8), Fraction(1, 8)]
    total, count = mean.parts
    assert mean.value == pytest.approx(float(total.exact / count.exact))
    low, high = mean.interval(0.95)
    assert low < mean.value < high


def test_bins_and_months_are_keys() -> None:
    table = accounts()
    histogram = table.histogram("balance", edges=[0, 100, 1000, 10**9], share="1/4")
    truth, _ = np.histogram(SOURCE["balance"], [0, 100, 1000, 10**9])
    assert [row[0].value for row in histogram.releases] == pytest.approx(truth, rel=0.1, abs=100)
    months = [datetime(2025, month, 1) for month in range(1, 13)]
    by_month = table.group_by(prdp.date_trunc("month", "opened"), keys=months).count(share="1/4")
    of_may = int(np.sum(SOURCE["opened"].astype("datetime64[M]") == np.datetime64("2025-05")))
    release = by_month[datetime(2025, 5, 1)]
    assert isinstance(release, prdp.Release)
    assert release.value == pytest.approx(of_may, rel=0.2)


def test_a_table_of_releases_becomes_a_frame() -> None:
    table = accounts().group_by("job", keys=JOBS).agg(prdp.count(), prdp.mean("balance"), share="1/2")
    names = [f"{name}{end}" for name in ("count", "mean_balance") for end in ("", "_low", "_high", "_flag")]
    names.insert(0, "job")
    assert table.to_arrow().column_names == names
    assert list(table.to_pandas().columns) == names
    assert table.to_polars().columns == names
    assert table.to_pandas()["job"].tolist() == JOBS
    assert table.to_pandas()["count"].tolist() == [float(row[0].value) for row in table.releases]
    assert "<table>" in table._repr_html_()
    assert "o&#x27;brien" in table._repr_html_()


def test_the_same_question_again_is_the_same_table_also_from_a_ledger_file(tmp_path: Path) -> None:
    def ask(table: prdp.Table) -> prdp.ReleaseTable:
        keys = [(datetime(2025, 1, 1), "clerk"), (datetime(2025, 4, 1), "chef")]
        by = (prdp.date_trunc("quarter", "opened"), prdp.bins("balance", [0, "1/2", 10**9]), "job")
        return table.group_by(*by, keys=keys).agg(prdp.mean("balance"), prdp.max("balance"), share="1/4")

    path = tmp_path / "accounts.ledger"
    table = accounts(ledger=path)
    first = ask(table)
    assert ask(table) == first
    assert ask(accounts(ledger=path)) == first
    assert table.ledger.remaining == Fraction(3, 4)
    assert table.group_by("job", keys=["chef"]).count(share="1/4") != table.group_by(
        "job", keys=["clerk"]
    ).count(share="1/4")


def test_a_question_asked_alone_and_in_a_table_is_one_question() -> None:
    table = accounts()
    alone = table.count(share="1/4")
    assert table.agg(prdp.count(), share="1/4").releases == ((alone,),)
    (median,) = table.quantiles("debt", ["1/2"], share="1/4")
    assert table.median("debt", share="1/4") == median
    assert table.ledger.remaining == Fraction(1, 2)


def test_bins_that_differ_in_the_seventh_digit_are_other_questions() -> None:
    table = accounts()
    for edge in ("0.1234567", "0.1234568"):
        table.histogram("balance", edges=["0", edge, "1"], share="1/4")
    assert table.ledger.remaining == Fraction(1, 2)


def test_columns_of_a_frame_never_hide_each_other() -> None:
    source = {"count": np.arange(1000) % 3, "day": SOURCE["opened"][:1000]}
    table = prdp.open(source, policy=prdp.Policy.constant(1))
    frame = table.group_by("count", keys=[0, 1, 2]).agg(prdp.count(), prdp.count(), share="1/4").to_pandas()
    assert list(frame.columns[:2]) == ["count", "count_2"]
    assert len(frame.columns) == len(set(frame.columns)) == 9
    day = datetime(2025, 1, 1)
    by = (prdp.date_trunc("year", "day"), prdp.date_trunc("month", "day"))
    both = table.group_by(*by, keys=[(day, day)]).count(share="1/4").to_arrow()
    assert both.column_names[:2] == ["day", "day_2"]
    assert str(both.schema.field("day").type) == "date32[day]"
    assert both.schema.metadata[b"caveats"] == b""  # one budget for all: nothing can be clipped


def test_a_group_that_may_be_empty_has_no_sure_mean() -> None:
    mean = accounts().filter("balance < 0").mean("debt", share="1/4")
    assert mean.interval() == (-100, 100)


def test_the_interval_of_a_variance_covers_the_noise_of_the_mean_it_is_taken_around() -> None:
    values = np.random.default_rng(0).integers(500, 1000, 4000)
    table = prdp.open({"v": values}, policy=prdp.Policy.constant(1), bounds={"v": (0, 2000)}, synthetic=True)
    for share in ("1/40", "1/10"):
        releases = simulate(table, prdp.std("v"), share=share, runs=150, seed=2)
        covered = [low <= values.std() <= high for low, high in (r.interval(0.95) for r in releases)]
        assert np.mean(covered) >= 0.95


def test_an_answer_is_flagged_where_the_choice_of_its_threshold_stopped_far_below_the_records() -> None:
    """Of a mass of 30 some 5 % of draws stop at the bottom, of 100 one in a hundred; most are seen."""
    values = np.random.default_rng(0).integers(500, 1000, 4000)
    table = prdp.open({"v": values}, policy=prdp.Policy.constant(1), bounds={"v": (0, 2000)}, synthetic=True)

    def stopped(share: str) -> tuple[list[tuple[prdp.Release, Clipping]], list[Clipping]]:
        releases = simulate(table, prdp.sum("v"), share=share, runs=1500, seed=5)
        points = [(one, one.clipping) for one in releases if isinstance(one.clipping, Clipping)]
        assert len(points) == len(releases)
        return points, [point for one, point in points if one.exact < values.sum() / 10 and not point.blind]

    lean, low = stopped("3/400")
    assert 50 < len(low) < 100
    assert sum(point.failed for point in low) > 0.8 * len(low)
    less_lean, rarely = stopped("1/40")
    assert len(rarely) < 30, "before, 75 were"
    for release, point in (*lean, *less_lean):
        if point.failed:
            assert release.exact < values.sum() / 10
            assert release.flag == "insufficient budget"
            assert release.interval()[1] >= values.sum(), "there is no end above but that of the bounds"
    rich = simulate(table, prdp.sum("v"), share="1/10", runs=500, seed=5)
    assert not any(release.insufficient_budget for release in rich)


def test_all_groups_of_units_are_flagged_where_their_common_threshold_stopped_far_below_them() -> None:
    """Units may be in several groups, which have one threshold: the totals of all groups together tell."""
    random = np.random.default_rng(0)
    values = random.integers(500, 1000, 4000)
    table = prdp.open(
        {"v": values, "u": np.arange(4000), "g": random.integers(0, 4, 4000)},
        policy=prdp.Policy.constant(1),
        bounds={"v": (0, 2000)},
        privacy_unit="u",
        max_rows=2,
        synthetic=True,
    )
    low = seen = 0
    for drawn in simulate(table.group_by("g", keys=range(4)), prdp.sum("v"), share="3/400", runs=800, seed=5):
        answers = [row[0] for row in drawn.releases]
        point = answers[0].clipping
        assert isinstance(point, Clipping)
        stopped = sum(float(one.exact) for one in answers) < values.sum() / 10 and not point.blind
        assert stopped or not point.failed
        assert {one.flag for one in answers} == {"insufficient budget"} or not point.failed
        low, seen = low + stopped, seen + point.failed
    assert low > 25
    assert seen > 0.7 * low


def test_a_histogram_of_each_group_is_the_groups_crossed_with_the_bins() -> None:
    table = accounts()
    histogram = table.group_by("job", keys=["chef"]).histogram("balance", edges=[0, 500, 10**9], share="1/4")
    truth = np.histogram(of_job("balance", "chef"), [0, 500, 10**9])[0]
    assert [row[0].value for row in histogram.releases] == pytest.approx(truth, rel=0.1)


def test_filters_hold_before_and_after_grouping() -> None:
    table = accounts()
    before = table.filter("balance > 500").group_by("job", keys=["chef"])
    after = table.group_by("job", keys=["chef"]).filter("balance > 500")
    truth = int(np.sum((SOURCE["job"] == "chef") & (SOURCE["balance"] > 500)))
    assert before.count(share="1/4") == after.count(share="1/4")
    assert before.count(share="1/4").releases[0][0].value == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize(
    "query",
    [
        prdp.count(),
        prdp.sum("debt"),
        prdp.mean("debt"),
        prdp.variance("debt"),
        prdp.std("balance"),
        prdp.max("balance"),
        prdp.min("debt"),
        prdp.quantile("debt", ("1/4", 0.75)),
        prdp.count_distinct("job"),
    ],
    ids=str,
)
def test_every_question_can_be_simulated_and_the_same_seed_gives_the_same_answers(query: Any) -> None:
    table = accounts(synthetic=True)
    groups = table.group_by("job", keys=JOBS)
    assert simulate(table, query, runs=3, seed=1) == simulate(table, query, runs=3, seed=1)
    tables = simulate(groups, query, runs=2, seed=1)
    assert [answer.simulated for answer in tables] == [True, True]
    assert tables == simulate(groups, query, runs=2, seed=1)
    assert table.ledger.remaining == 1


@pytest.mark.parametrize(
    "query",
    [
        prdp.mean("balance"),
        prdp.std("debt"),
        prdp.quantile("debt", "0.9"),
        prdp.count_distinct("job"),
        prdp.min("debt"),
    ],
    ids=str,
)
def test_an_empty_table_gives_ordinary_answers(query: Any) -> None:
    nobody = accounts(synthetic=True).filter("balance < 0")
    releases = simulate(nobody, query, runs=20, seed=1)
    assert all(np.isfinite(float(release.value)) for release in releases)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda t: t.quantile("balance", 0, share="1/2"), "q=0 is not between 0 and 1"),
        (lambda t: t.quantile("balance", 1, share="1/2"), "q=1 is not between 0 and 1"),
        (lambda t: t.quantile("balance", -0.5, share="1/2"), "not between 0 and 1"),
        (lambda t: t.quantile("balance", 99, share="1/2"), "q=99 is not between 0 and 1"),
        (lambda t: t.quantile("balance", "half", share="1/2"), "not a number"),
        (lambda t: t.quantiles("balance", [], share="1/2"), "0 quantiles"),
        (lambda t: t.quantiles("balance", ["1/2", 0.5], share="1/2"), "q=0.5 is listed twice"),
        (lambda t: t.mean("job", share="1/2"), "mean\\('job'\\) needs numbers"),
        (lambda t: t.median("job", share="1/2"), "needs numbers"),
        (lambda t: t.variance("opened", share="1/2"), "needs numbers"),
        (lambda t: t.count_distinct("jbo", share="1/2"), "Did you mean 'job'"),
        (lambda t: t.mean("balance", share="1/2", method="partition"), "clip, framework, naive"),
        (lambda t: t.histogram("balance", edges=[2, 1], share="1/2"), "ascending"),
        (lambda t: t.group_by("job").explain(prdp.count(), share="1/4"), "needs its public keys"),
        (lambda t: t.group_by("job", keys=["a", "a"]), "twice"),
        (lambda t: t.group_by("job", keys={"a", "b"}), "whose order is part of the question"),
        (lambda t: t.group_by("job", keys={"job": "admin"}), "which is not a list of keys"),
        (lambda t: t.histogram("balance", edges=[0, 10**400], share="1/2"), "beyond 1e300"),
        (lambda t: t.agg(prdp.count(), prdp.count(), share="1/2", shares=["1/2", "1/4"]), "at most share"),
        (lambda t: t.agg(prdp.count(), share="1/2", shares="1/2"), "does not fit share=1/2 and 1 queries"),
        (lambda t: t.agg(prdp.count(), share="1/2", shares=1), "does not fit"),
        (lambda t: t.agg(n=prdp.count(), share="1/2", shares={"m": 0.1}), "does not fit"),
        (lambda t: t.agg(n=prdp.count(), share="1/2", shares={"n": 0.1, "m": 0.1}), "does not fit"),
        (lambda t: t.agg(prdp.count(), share="1/2", shares=[0]), "one positive"),
        (lambda t: t.agg(share=prdp.count()), r"is a query, .*\.alias\('share'\)"),
        (lambda t: t.agg(prdp.count().alias("n"), n=prdp.count(), share="1/2"), "called 'n'"),
        (lambda t: t.group_by("job", keys=["a"]).agg(job=prdp.count(), share=1), "called 'job'"),
        (lambda t: t.agg(prdp.count().alias(""), share="1/2"), "not empty"),
        (lambda t: t.agg(prdp.count(), share="1/2", split=["1/2"]), "agg takes queries"),
        (lambda t: t.agg(share="1/2"), "agg takes queries"),
        (lambda t: t.agg("count", share="1/2"), "agg takes queries"),
        (lambda t: t.agg(prdp.count(), share="1/2", shares=["1/4", "1/4"]), "does not fit"),
    ],
)
def test_a_question_that_is_wrong_by_public_facts_is_refused_before_any_charge(ask: Any, says: str) -> None:
    table = accounts()
    with pytest.raises(InvalidRequest, match=says):
        ask(table)
    assert table.ledger.remaining == 1
    assert table._reader.kept == {}


def test_values_that_no_expression_reads_are_not_distinguished() -> None:
    """Reading a column of Python objects may fail on a value, which would be an answer of its own."""
    table = prdp.open(pandas.DataFrame({"eps": [1.0], "thing": [object()]}), policy=prdp.Policy.constant(1))
    with pytest.raises(InvalidRequest, match="cannot distinguish values of Python objects"):
        table.count_distinct("thing", share="1/2")
    with pytest.raises(InvalidRequest, match="cannot distinguish values of Python objects"):
        table.group_by("thing", keys=["a"])


def test_values_whose_squares_would_overflow_are_refused() -> None:
    table = accounts(bounds={"balance": (1, 2**50)})
    with pytest.raises(InvalidRequest, match="Take a larger rounding step"):
        table.variance("balance", share="1/2")
    assert table.mean("balance", share="1/2").value > 0


def test_a_plan_names_a_share_that_does_and_says_when_none_does() -> None:
    table = accounts(synthetic=True)
    enough = prdp.share_for(prdp.count(), error="5%", like=table, runs=60)
    assert enough.share is not None
    assert enough.share < 1
    assert dict(enough.measured)[enough.share] <= 0.05
    assert f"share {enough.share}" in str(enough)
    never = prdp.share_for(prdp.sum("balance"), error="1e-9", like=table, runs=10)
    assert never.share is None
    assert "not reached" in str(never)
    by_job = prdp.share_for(
        prdp.mean("balance"), error="20%", like=table.group_by("job", keys=JOBS[:3]), runs=20
    )
    assert by_job.share is not None
    with pytest.raises(InvalidRequest, match="is not above 0"):
        prdp.share_for(prdp.count(), error="0%", like=table)


def test_more_than_a_million_answers_are_refused_before_anything_is_charged() -> None:
    table = prdp.open({"v": np.arange(100)}, policy=prdp.Policy.constant("1"), bounds={"v": (0, 2000)})
    parts = tuple(Fraction(part, 1001) for part in range(1, 1001))
    quantiles = prdp.quantile("v", parts)
    thousand, more = (table.group_by("v", keys=range(count)) for count in (1000, 1001))
    assert len(thousand.plan(quantiles, share="1/2").queries) == 1
    with pytest.raises(InvalidRequest, match="1,001 groups with 1,000 answers each are 1,001,000 answers"):
        more.quantiles("v", parts, share="1/2")
    with pytest.raises(InvalidRequest, match="1,000 groups with 1,001 answers each"):
        thousand.agg(prdp.count(), quantiles, share="1/2")
    assert table.ledger.remaining == 1


def test_queries_have_the_names_that_the_caller_gives_them() -> None:
    table = accounts()
    answers = table.agg(prdp.count(), prdp.median("balance").alias("share"), n=prdp.sum("balance"), share=0.5)
    assert answers.asked == ("count", "share", "n")
    assert answers["n"].question == "sum of balance"
    assert {"n", "n_low", "n_high"} <= answers.columns().keys()


def test_several_quantiles_under_one_name_are_distinguished_by_their_parts() -> None:
    asked = accounts().agg(spread=prdp.quantile("balance", [0.25, 0.75]), share=0.5).asked
    assert asked == ("spread_0.25", "spread_0.75")


def test_the_same_question_under_another_name_is_not_charged_again() -> None:
    table = accounts()
    first = table.agg(prdp.count(), prdp.mean("balance"), share=0.25)
    again = table.agg(n=prdp.count(), avg=prdp.mean("balance"), share=0.25)
    assert again.releases == first.releases
    assert again.asked == ("n", "avg")
    assert table.remaining == Fraction(3, 4)


def test_shares_are_parts_of_every_budget_and_what_they_add_up_to_is_charged() -> None:
    table = accounts()
    asked: Any = {"n": prdp.count(), "avg": prdp.mean("balance")}
    answers = table.agg(**asked, share=0.5, shares={"avg": 0.3, "n": 0.1})
    assert [release.share for release in answers.releases[0]] == [Fraction(1, 10), Fraction(3, 10)]
    assert table.remaining == Fraction(6, 10)
    assert table.agg(**asked, share=0.5, shares=[0.1, 0.3]) == answers
    assert table.remaining == Fraction(6, 10)


def test_equal_parts_of_a_share_are_the_question_that_lists_them() -> None:
    table = accounts()
    first = table.agg(prdp.count(), prdp.sum("balance"), share=0.5)
    assert table.agg(prdp.count(), prdp.sum("balance"), share=0.5, shares=[0.25, 0.25]) == first
    assert table.remaining == Fraction(1, 2)
