"""Notes beside an answer: intervals of computed answers, shares, dry runs, the shared ledger."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

import prdp
from prdp.release import formatting
from prdp.release.interval import spans_limits
from prdp.release.release import Release
from prdp.sql.estimates import ComputedAnswer
from prdp.sql.results import SqlAnswers


def table(rows: int = 4_000, **options: Any) -> prdp.Table:
    ages = np.arange(rows) % 60 + 20
    columns = {"age": ages, "balance": (np.arange(rows) * 7) % 1_000, "vip": np.arange(rows) % 3 == 0}
    return prdp.open(
        columns, policy="1", bounds={"age": (0, 100), "balance": (0, 1_000)}, name="accounts", **options
    )  # fmt: skip


def test_sql_and_python_ask_one_question() -> None:
    accounts = table()
    python = accounts.filter("age >= 30").agg(n=prdp.count(), avg=prdp.mean("balance"), share=0.1)
    left = accounts.remaining
    answers = accounts.sql("SELECT COUNT(*), AVG(balance) FROM accounts WHERE age >= 30", share=0.1)
    assert accounts.remaining == left, "the same question is not charged again"
    assert answers.rows[0] == (python["n"], python["avg"])


def test_groups_of_sql_are_groups_of_python() -> None:
    accounts = table()
    python = accounts.filter("vip").group_by("age < 50", keys=[False, True]).count(share=0.1)
    answers = accounts.sql(
        "SELECT age < 50 AS young, COUNT(*) AS n FROM accounts WHERE vip GROUP BY young", share=0.1
    )
    assert answers["n"] == [python[False], python[True]]
    assert accounts.remaining == Fraction(9, 10)


def test_a_statement_is_charged_once_for_all_its_aggregates() -> None:
    accounts = table()
    answers = accounts.sql(
        "SELECT COUNT(*), SUM(age), AVG(balance), MAX(age), COUNT(*) + 1 FROM accounts", share=0.2
    )
    assert accounts.remaining == Fraction(4, 5)
    shares = [cell.share for cell in answers.rows[0] if isinstance(cell, Release)]
    assert shares == [Fraction(1, 20)] * 4, "equal parts, and what is asked twice is asked once"


@pytest.mark.parametrize("redraw", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM accounts UNION ALL SELECT COUNT(*) FROM accounts",
        "SELECT SUM(age), (SELECT SUM(age) FROM accounts) FROM accounts",
        (
            "SELECT vip, SUM(age) FROM accounts GROUP BY vip "
            "UNION ALL SELECT vip, SUM(age) FROM accounts GROUP BY ROLLUP (vip)"
        ),
        (
            "SELECT vip, COUNT(*) FROM accounts GROUP BY ROLLUP (vip) "
            "UNION ALL SELECT vip, COUNT(*) FROM accounts WHERE age > 30 GROUP BY ROLLUP (vip)"
        ),
    ],
)
def test_a_statement_of_several_selects_uses_its_share_and_no_more(text: str, redraw: bool) -> None:
    accounts = table()
    answers = accounts.sql(text, share="1/10", redraw=redraw)
    assert 1 - accounts.remaining == answers.share == Fraction(1, 10)


def test_a_question_that_a_statement_asks_twice_is_answered_once() -> None:
    text = "SELECT COUNT(*) FROM accounts UNION ALL SELECT COUNT(*) FROM accounts"
    (once,), (again,) = table().sql(text, share="1/10", redraw=True).rows
    assert once == again


def test_shares_by_name_are_what_each_column_may_use() -> None:
    accounts = table()
    text = "SELECT COUNT(*) AS n, SUM(age) / SUM(balance) AS ratio FROM accounts"
    answers = accounts.sql(text, share=0.1, shares={"n": 0.02, "ratio": 0.06})
    n, ratio = answers.rows[0]
    assert isinstance(n, Release)
    assert isinstance(ratio, ComputedAnswer)
    assert (n.share, ratio.share) == (Fraction(1, 50), Fraction(3, 50))
    assert sorted(part.share for part in ratio.parts.values()) == [Fraction(3, 100)] * 2
    assert accounts.remaining == Fraction(92, 100)


@pytest.mark.parametrize(
    "shares",
    [
        {"n": 0.02},
        {"n": 0.02, "ratio": 0.09},
        {"n": 0.02, "ratio": 0.05, "other": 0.01},
        [0.05, 0.05],
        {"n": 0},
    ],
)
def test_shares_that_do_not_fit_are_refused(shares: Any) -> None:
    accounts = table()
    text = "SELECT COUNT(*) AS n, SUM(age) / SUM(balance) AS ratio FROM accounts"
    with pytest.raises(prdp.InvalidRequest, match="shares"):
        accounts.sql(text, share=0.1, shares=shares)
    assert accounts.remaining == 1


def test_the_interval_of_a_quotient_covers_the_truth_at_least_as_often_as_it_says() -> None:
    accounts = table(synthetic=True)
    ages, balances = np.arange(4_000) % 60 + 20, (np.arange(4_000) * 7) % 1_000
    truth = balances.sum() / ages.sum()
    runs, inside = 200, 0
    for _ in range(runs):
        (ratio,) = accounts.sql("SELECT SUM(balance) / SUM(age) FROM accounts", share=1, redraw=True).rows[0]
        assert isinstance(ratio, ComputedAnswer)
        low, high = ratio.interval(0.8)
        inside += low <= truth <= high
    assert inside >= 0.8 * runs - 4 * math.sqrt(runs * 0.16)


def test_a_number_more_moves_the_interval_along() -> None:
    accounts = table()
    n, more = accounts.sql("SELECT COUNT(*), 1 + COUNT(*) FROM accounts", share=0.1).rows[0]
    assert isinstance(n, Release)
    assert isinstance(more, ComputedAnswer)
    assert more.whole
    assert more.value == int(n) + 1
    assert more.interval() == pytest.approx(tuple(end + 1 for end in n.interval()))


def test_low_and_high_are_the_ends_of_the_interval_that_is_shown() -> None:
    accounts = table()
    text = "SELECT SUM(age) / 10 AS x, LOW(x) AS low, HIGH(x) AS high FROM accounts"
    x, low, high = accounts.sql(text, share=0.1).rows[0]
    assert isinstance(x, ComputedAnswer)
    assert (low, high) == x.interval()


def test_the_ends_of_a_count_are_whole_numbers_around_it() -> None:
    n, low, high = table().sql("SELECT COUNT(*) AS n, LOW(n), HIGH(n) FROM accounts", share=0.1).values[0]
    assert isinstance(low, int)
    assert isinstance(high, int)
    assert low <= n <= high


def test_dividing_by_an_answer_that_may_be_zero_has_no_end() -> None:
    accounts = table(rows=3)
    (cell,) = accounts.sql("SELECT 1 / COUNT(*) FROM accounts WHERE age > 99", share=0.01).rows[0]
    if cell is not None:  # a noisy count of exactly 0 gives NULL
        assert isinstance(cell, ComputedAnswer)
        assert math.inf in map(abs, cell.interval(0.999999))  # the truth, 0, lies in it all but always


def test_the_dry_run_says_cost_methods_and_what_is_left() -> None:
    accounts = table()
    accounts.count(share=0.5)
    text = "SELECT COUNT(*) AS n, MAX(age) FROM accounts WHERE vip"
    stated = accounts.explain_sql(text, share=0.2).splitlines()
    assert stated[0] == "costs    1/5 of the budget of every record that it is about; 1/2 remains"
    assert stated[1] == "leaves   3/10; what remains now is enough for 2 such queries"
    assert stated[2] == "asks     COUNT(*): count, method clip, share 1/10"
    assert stated[3] == "asks     MAX(age): max of age, method choice, share 1/10"
    assert accounts.remaining == Fraction(1, 2)
    assert "would be refused" in accounts.explain_sql(text, share=0.6)


def test_the_dry_run_of_what_was_answered_before_costs_nothing() -> None:
    accounts = table()
    text = "SELECT COUNT(*) FROM accounts WHERE vip"
    accounts.sql(text, share=0.2)
    stated = accounts.explain_sql(text, share=0.2).splitlines()
    assert stated[:2] == ["costs    nothing: it was answered before", "leaves   4/5"]
    accounts.sql(text, share=0.2)
    assert accounts.remaining == Fraction(4, 5)


def test_a_statement_about_no_record_costs_nothing() -> None:
    accounts = table()
    assert accounts.sql("SELECT 1 + 1 AS two", share=0.1).values == [(2,)]
    assert accounts.sql("SELECT vip, COUNT(*) FROM accounts GROUP BY vip LIMIT 0", share=0.1).values == []
    assert accounts.explain_sql("SELECT 1", share=0.1) == "costs    nothing: no record is asked about"
    assert accounts.remaining == 1


def test_a_question_that_does_not_fit_is_refused_and_not_charged() -> None:
    accounts = table()
    accounts.count(share=0.95)
    with pytest.raises(prdp.BudgetExhausted):
        accounts.sql("SELECT COUNT(*) FROM accounts WHERE vip", share=0.1)
    assert accounts.remaining == Fraction(1, 20)


def test_answers_print_become_a_frame_and_are_marked_if_they_are_a_synthetic_table_s() -> None:
    text = (
        "SELECT vip, COUNT(*) AS n, AVG(age) / 2 AS half, 'all' AS what FROM accounts GROUP BY vip ORDER BY n"
    )
    answers = table(synthetic=True).sql(text, share=0.1)
    assert "[simulated: not private]" in str(answers)
    assert "[simulated: not private]" in answers._repr_html_()
    assert str(answers).splitlines()[0].split() == ["vip", "n", "half", "what"]
    frame = answers.to_pandas()
    assert list(frame.columns) == [
        "vip", "n", "n_low", "n_high", "n_flag", "half", "half_low", "half_high", "half_flag", "what",
    ]  # fmt: skip
    assert list(frame["what"]) == ["all", "all"]


def test_a_single_number_is_the_answer() -> None:
    accounts = table()
    assert isinstance(accounts.sql("SELECT COUNT(*) FROM accounts", share=0.1).answer, Release)
    with pytest.raises(prdp.InvalidRequest, match="not one number"):
        _ = accounts.sql("SELECT COUNT(*), SUM(age) FROM accounts", share=0.1).answer


def test_wrong_arguments_are_refused() -> None:
    accounts = table()
    for options in (
        {"keys": ["a"]},
        {"tables": [1]},
        {"tables": {"accounts": {"a": [1]}}},
        {"tables": {"t": 3}},
    ):
        with pytest.raises(prdp.InvalidRequest):
            accounts.sql("SELECT COUNT(*) FROM accounts", share=0.1, **options)
    assert accounts.remaining == 1


def test_a_join_that_is_over_tables_already_is_not_asked_in_sql() -> None:
    tables = {"people": {"id": np.arange(3)}, "orders": {"buyer": np.arange(3)}}
    shop = prdp.open_join(
        tables, private="people", key="id", references={"orders.buyer": "people.id"}, policy="1"
    )
    with pytest.raises(prdp.InvalidRequest, match="SQL names its tables in FROM"):
        shop.over("orders").sql("SELECT COUNT(*) FROM people", share=0.1)
    assert shop.sql("SELECT COUNT(*) FROM people", share=0.1).columns == ("COUNT(*)",)


def test_a_filter_of_python_s_holds_for_sql() -> None:
    accounts = table()
    python = accounts.filter("vip AND age > 30").count(share=0.1)
    answers = accounts.filter("vip").sql("SELECT COUNT(*) FROM self WHERE age > 30", share=0.1)
    assert answers.answer == python


def test_keys_that_were_found_are_keys_of_a_statement() -> None:
    accounts = table()
    found = accounts.find_keys("age", between=(0, 100), share=0.5)
    assert found.keys
    text = "SELECT age, COUNT(*) AS n FROM accounts GROUP BY age"
    answers = accounts.sql(text, share=0.1, keys={"age": found})
    assert [(age,) for age in answers["age"]] == list(found.keys)
    both = accounts.find_keys(["age", "vip"], between={"age": (0, 100)}, share=0.2)
    text = "SELECT age, vip, COUNT(*) AS n FROM accounts GROUP BY age, vip"
    answers = accounts.sql(text, share=0.1, keys={"age,vip": both})
    assert list(zip(answers["age"], answers["vip"], strict=True)) == list(both.keys)


def test_what_intervals_exclude_is_stated_once_for_many_groups() -> None:
    values = np.exp(np.arange(8_000) % 97 / 8).astype(np.int64)
    skewed = prdp.open(
        {"part": np.arange(8_000) % 20, "value": values},
        policy="1000 / greatest(value, 100)",
        bounds={"part": (0, 19), "value": (0, 10**9)},
        name="skewed",
    )
    answers = skewed.sql("SELECT part, SUM(value) AS total FROM skewed GROUP BY part", share=0.1)
    totals: list[Any] = answers["total"]
    assert len({total.excludes for total in totals}) > len(answers.columns), "groups differ"
    assert sum(note.startswith("an interval") for note in answers.notes) == 1


def test_a_quantile_lies_within_its_interval() -> None:
    accounts = table(400)
    for share in range(1, 60):
        text = "SELECT MEDIAN(balance) AS half, QUANTILE_CONT(balance, 0.9) AS most FROM accounts"
        cells: Any = accounts.sql(text, share=Fraction(share, 2_000)).rows[0]
        for cell in cells:
            low, high = cell.interval()
            assert low <= cell.value <= high


def test_a_plot_has_the_statement_s_names_and_its_rows() -> None:
    pytest.importorskip("matplotlib")
    answers = table().sql(
        "SELECT age < 50 AS young, COUNT(*) AS n FROM accounts GROUP BY young ORDER BY young DESC", share=0.5
    )
    panel = answers.plot()
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("n", "young")
    assert [label.get_text() for label in panel.get_yticklabels()] == ["True", "False"]


def test_notes_name_the_statement_s_own_columns_and_clipping_is_not_taken_for_noise() -> None:
    columns = {"age": np.arange(4_000) % 60 + 20}
    accounts = prdp.open(columns, policy="20 / age", bounds={"age": (20, 100)}, name="accounts")
    text = "SELECT COUNT(*) AS n, AVG(age) AS years, SUM(age) / COUNT(*) AS ratio FROM accounts"
    answers = accounts.sql(text, share=0.5)
    notes = "\n".join(answers.notes)
    assert "clip (n" in notes
    assert "clip (years, ratio): clipped records can bias it either way" in notes
    assert "mean_age" not in notes
    (row,) = answers.rows
    years, ratio = cast(Release, row[1]), cast(ComputedAnswer, row[2])
    wide = spans_limits(
        years.between(formatting.LEVEL, formatting.TAIL_FACTOR), (Fraction(20), Fraction(100))
    )
    for one, flag in ((years, formatting.UNRELIABLE if wide else ""), (ratio, "")):
        assert one.cv is not None
        assert one.flag == (
            flag or ("" if one.cv <= formatting.LOW_PRECISION_CV else formatting.LOW_PRECISION)
        )


def _exports() -> prdp.Table:
    """Return a table whose largest values are far better protected than the others."""
    values = np.exp(np.arange(20_000) % 997 / 997 * 8 + 3).astype(np.int64)
    policy = prdp.Policy("1000 / greatest(fob, 1)", at_most=10)
    return prdp.open(
        {"fob": values, "part": np.arange(20_000) % 2},
        policy=policy,
        bounds={"fob": (0, 10**9), "part": (0, 1)},
        name="exports",
    )


def test_what_is_computed_has_an_end_where_what_it_is_computed_from_shows_one() -> None:
    """By the selected tail factor a sum shows an end wherever its records can be seen."""
    text = (
        "SELECT SUM(fob) AS s, SUM(fob) / 1000 AS k, SUM(fob) + COUNT(*) AS p, SQRT(SUM(fob)) AS q, "
        "10 - SUM(fob) AS m FROM exports"
    )
    for _ in range(8):
        answers = _exports().sql(text, share=0.05)
        (row,) = answers.rows
        total, *others, minus = (cast("ComputedAnswer", cell) for cell in row)
        shown = math.isfinite(total.interval()[1])
        assert shown or total.flag == "insufficient budget"
        for cell in others if cast("float", total.value) >= 0 else others[:2]:  # no root of a sum below 0
            assert math.isfinite(cell.interval()[1]) == shown, str(cell)
            assert not shown or "excludes" in cell.excludes, str(cell)
        assert math.isfinite(minus.interval()[0]) == shown


def test_a_standard_deviation_of_a_sample_has_the_interval_that_the_ledger_shows() -> None:
    for share in (0.1, 0.4, 0.9):
        answers = _exports().sql("SELECT part, STDDEV(fob) AS sd FROM exports GROUP BY part", share=share)
        released = answers.released
        assert released is not None
        for (_, sd), (_, (std, *_)) in zip(answers.rows, released, strict=True):
            assert isinstance(sd, ComputedAnswer)
            for end, kept in zip(sd.interval(), std.interval(), strict=True):
                assert end == kept or math.isclose(end, kept, rel_tol=0.01)
            assert sd.excluded_clause == std.excluded_clause, "its count is in it already"


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        ("COUNT(*) / 1000", "bias it toward zero"),
        ("-2 * COUNT(*)", "bias it toward zero"),
        ("SQRT(COUNT(*))", "bias it toward zero"),
        ("COUNT(*) + 5", "bias it downward"),
        ("60000 - COUNT(*)", "bias it upward"),
        ("1000000.0 / COUNT(*)", "bias it either way"),
        ("SUM(fob) / COUNT(*)", "bias it either way"),
        ("COUNT(*) - COUNT(*) / 2", "bias it either way"),
        ("STDDEV(fob)", "bias it either way"),
        ("VARIANCE(fob)", "bias it either way"),
    ],
)
def test_which_way_clipping_moves_a_computed_number_is_stated_of_that_number(asked: str, way: str) -> None:
    answers = _exports().sql(f"SELECT {asked} AS x FROM exports", share=0.05)
    assert isinstance(answers.answer, ComputedAnswer)
    assert answers.answer.caveat == f"clipped records can {way}"


def test_what_is_taken_from_a_count_in_python_is_pulled_the_other_way() -> None:
    count = _exports().count(share=0.05)
    assert (count / 1000).caveat == "clipped records can bias it toward zero"
    assert (60_000 - count).caveat == "clipped records can bias it upward"
    assert (count + 5).caveat == "clipped records can bias it downward"


def test_rows_whose_quantiles_weigh_records_differently_share_a_caveat() -> None:
    values = np.exp(np.arange(20_000) % 997 / 997 * 8 + 3).astype(np.int64)
    exports = prdp.open(
        {"fob": values * (1 + np.arange(20_000) % 8), "part": np.arange(20_000) % 8},
        policy=prdp.Policy("1000 / greatest(fob, 1)", at_most=10),
        bounds={"fob": (0, 10**9), "part": (0, 7)},
        name="exports",
    )
    answers = exports.sql("SELECT part, MEDIAN(fob) AS half FROM exports GROUP BY part", share=0.5)
    assert sum("smaller weights" in note for note in answers.notes) <= 2


def _visits(sums: str) -> SqlAnswers:
    visits = prdp.open(
        {"customer": np.arange(4_000) // 4, "spent": np.arange(4_000) % 9},
        policy="1",
        privacy_unit="customer",
        bounds={"spent": (0, 10)},
        name="visits",
    )
    inner = "SELECT customer, SUM(spent) AS total, COUNT(spent) AS times FROM visits GROUP BY customer"
    return visits.sql(f"SELECT {sums} FROM ({inner}) AS t", share=1)


def test_an_average_of_sums_says_which_records_it_counts_that_sql_would_not() -> None:
    stated = "AVG(total): customer whose values are all NULL count, with a sum of 0"
    assert stated in _visits("AVG(total)").notes
    assert stated in _visits("AVG(total), COUNT(*)").notes
    for others in ("SUM(total)", "COUNT(*)", "AVG(times)"):
        assert stated not in _visits(others).notes


def _by_age(rest: str) -> SqlAnswers:
    keys = {"decade": list(range(20, 80, 10))}
    text = "SELECT floor(age / 10) * 10 AS decade, COUNT(*) AS n, AVG(age) AS mean FROM accounts"
    return table().sql(f"{text} GROUP BY decade {rest}", share=1, keys=keys)


@pytest.mark.parametrize(
    "rest",
    [
        "HAVING n > 600",
        "ORDER BY n",
        "ORDER BY mean DESC LIMIT 1",
        "HAVING LOW(n) > 600",
        "ORDER BY n / mean",
    ],
)
def test_answers_that_select_rows_make_all_intervals_simultaneous(rest: str) -> None:
    answers = _by_age(rest)
    assert (
        "intervals are simultaneous over 6 groups, since rows are selected or sorted by their answers"
        in answers.notes
    )
    assert answers.released is not None
    for decade, n, mean in answers.rows:
        row = answers.released[decade]
        assert isinstance(row, tuple)
        for cell, alone in zip((n, mean), row, strict=True):
            assert isinstance(cell, Release)
            assert cell.interval() == alone.interval(1 - Fraction(1, 20) / 6)


@pytest.mark.parametrize("rest", ["", "HAVING decade > 30", "ORDER BY decade DESC LIMIT 2", "LIMIT 1"])
def test_keys_that_select_rows_change_no_interval(rest: str) -> None:
    answers = _by_age(rest)
    assert not any("simultaneous" in note for note in answers.notes)
    assert answers.released is not None
    for decade, n, mean in answers.rows:
        assert answers.released[decade] == (n, mean)


@pytest.mark.parametrize(
    "item",
    [
        "CASE WHEN COUNT(*) > 10 THEN COUNT(*) END",
        "CASE WHEN COUNT(*) > 10 THEN SUM(balance) END",
        "2 * CASE WHEN low(COUNT(*)) > 0 THEN COUNT(*) END",
    ],
)
def test_a_case_that_shows_answers_by_what_they_are_makes_all_intervals_simultaneous(item: str) -> None:
    text = f"SELECT vip, COUNT(*) AS n, {item} AS shown FROM accounts GROUP BY vip"
    answers = table().sql(text, share=1, keys={"vip": [False, True]})
    assert (
        "intervals are simultaneous over 2 groups, since rows are selected or sorted by their answers"
        in answers.notes
    )


def test_a_case_on_keys_changes_no_interval() -> None:
    text = "SELECT vip, CASE WHEN vip THEN COUNT(*) END AS shown FROM accounts GROUP BY vip"
    answers = table().sql(text, share=1, keys={"vip": [False, True]})
    assert not any("simultaneous" in note for note in answers.notes)


def test_what_is_computed_from_selected_answers_is_simultaneous_too() -> None:
    text = (
        "SELECT vip, COUNT(*) AS n, COUNT(*) * 2 AS twice FROM accounts GROUP BY vip ORDER BY n DESC LIMIT 1"
    )
    answers = table().sql(text, share=1, keys={"vip": [False, True]})
    ((_, n, twice),) = answers.rows
    assert isinstance(n, Release)
    assert isinstance(twice, ComputedAnswer)
    assert twice.among == 2
    assert twice.interval() == pytest.approx([2 * end for end in n.interval()])
    assert "simultaneous over 2 groups" in twice.excludes
