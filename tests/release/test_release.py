"""A release says what it is, and no more than it knows."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from prdp.errors import InvalidRequest
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.policy import Policy
from prdp.release.bias import Clipping, Dropped
from prdp.release.clipped import ClippedTerms
from prdp.release.raw_answer import Caveat
from prdp.release.release import Release
from prdp.release.table import ReleaseTable

COUNT = Release(
    question="count",
    steps=12345 << 20,
    step=Fraction(1, 1 << 20),
    noise_scales=(Fraction(10 << 20),),
    share=Fraction(1, 10),
    method="clip",
    bias=Caveat("clipped records pull toward zero"),
)


def test_the_value_is_whole_where_its_lattice_is() -> None:
    whole = Release("sum", 7, Fraction(1), (Fraction(2),), Fraction(1), "naive")
    assert (whole.value, type(whole.value)) == (7, int)
    cents = Release("sum", 705, Fraction(1, 100), (Fraction(2),), Fraction(1), "naive")
    assert cents.value == 7.05
    assert cents.exact == Fraction(141, 20)


def test_the_interval_is_the_quantile_of_laplace_noise() -> None:
    low, high = COUNT.interval(0.95)
    assert high - 12345 == pytest.approx(10 * 2.9957, rel=1e-3)  # ln 20 = 2.9957
    assert 12345 - low == pytest.approx(high - 12345)
    assert COUNT.interval("0.5")[1] - 12345 == pytest.approx(10 * 0.6931, rel=1e-3)


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, "x", float("nan")])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    with pytest.raises(InvalidRequest, match="not a probability"):
        COUNT.interval(level)


def test_one_line_says_value_interval_share_and_method() -> None:
    assert str(replace(COUNT, bias=None)) == "count: 12,345.0 ± 30.0 (95 %; share 1/10, clip)"
    whole = replace(COUNT, bias=None, whole=True)
    assert str(whole) == "count: 12,345 ± 30 (95 %; share 1/10, clip)"


def test_an_answer_that_was_written_before_pulls_were_says_that_its_interval_is_the_noise_s() -> None:
    line = "count: 12,345.0, from 12,315.0 to 12,375.0 (95 % of the noise; share 1/10, clip)"
    assert str(COUNT) == f"{line}; clipped records pull toward zero"


def test_a_simulated_release_says_so_everywhere() -> None:
    simulated = replace(COUNT, simulated=True)
    assert "simulated" in str(simulated)
    assert "is not private" in simulated._repr_html_()


def test_the_notebook_table_escapes_what_a_user_wrote() -> None:
    shown = replace(COUNT, question="count where job = '<b>'")._repr_html_()
    assert "<b>'" not in shown
    assert "&lt;b&gt;" in shown
    assert "12,345.0" in shown


CLIPPING = Clipping(
    at=Fraction(5 << 20),
    most=Fraction(500 << 20),
    evidence=Fraction(1, 2),
    fall=Fraction(2),
    stride=2,
    blind=False,
)
CLIPPED = replace(COUNT, clipping=CLIPPING)


def terms(column: str, budget: int) -> ClippedTerms:
    """Return the terms of a sum of a column under a policy that falls with it."""
    bounds = ((column, (Fraction(1), Fraction(10**9))),)
    return ClippedTerms(Policy(f"{budget} / {column}", at_most=10_000), bounds, column)


def test_what_was_clipped_widens_the_side_it_pulled_from() -> None:
    low, high = COUNT.interval(0.95)
    below, above = CLIPPED.interval(0.95)
    assert 12345 - below == pytest.approx(
        10 * math.log(1 / (2 * 0.0125)), rel=1e-3
    )  # a quarter of the failures
    scale = (8 - 1) * 5 / 0.5  # steps that a unit of mass can lose, over the weight with which it is seen
    height = 2 * 3 - math.log(1 - math.exp(-1))  # 8 is three octaves, and points are half of one apart
    far = above - 12345
    noise = 10 / scale
    within = math.log(1 / (2 * 0.0225)) * noise  # noise beyond that has 45 % of the failures to itself
    missed = math.exp(height - far / scale) * (
        1 / (1 + noise) / 2 + (1 - math.exp(within - within / noise) * noise) / (1 - noise) / 2
    )
    assert missed == pytest.approx(0.015, rel=2e-3)
    assert CLIPPED.interval(tail_factor=1) == (low, high)
    negative = replace(CLIPPED, steps=-CLIPPED.steps, clipping=replace(CLIPPING, below=True, above=False))
    assert negative.interval()[1] + 12345 == pytest.approx(12345 - below)
    assert negative.interval()[0] < -high
    both = replace(CLIPPED, clipping=replace(CLIPPING, below=True)).interval()
    assert both[0] < low
    assert both[1] > high


def test_no_more_can_be_missing_than_the_reach_times_the_answer() -> None:
    """Where no record counts for more than 8 times its cap, the truth is at most 8 times what was counted."""
    small = replace(CLIPPED, steps=20 << 20)
    noise = 10 * math.log(1 / (2 * 0.0225))  # 45 % of the failures
    assert small.interval(tail_factor=8)[1] == pytest.approx(8 * (20 + noise), rel=1e-4)
    signed = replace(small, clipping=replace(CLIPPING, mixed=True))
    assert signed.interval()[1] > 8 * (20 + noise)  # where signs may cancel, the answer's size says nothing


def test_what_groups_spare_together_may_have_been_clipped_as_well() -> None:
    large = replace(CLIPPED, steps=10**6 << 20)
    spared = replace(large, clipping=replace(CLIPPING, spared=Fraction(600)))
    more = spared.interval()[1] - large.interval()[1]
    assert more == pytest.approx(600 * (8 - 1) * 5)  # 600 units of budget, 5 records each, up to 8 times that
    assert spared.interval()[0] == large.interval()[0]
    assert release_from_json(release_to_json(spared)) == spared


def test_a_release_that_was_written_before_groups_spared_a_mass_reads_as_one_that_spares_none() -> None:
    before = json.loads(release_to_json(CLIPPED))
    del before["clipping"]["spared"]
    assert release_from_json(json.dumps(before)) == CLIPPED


@pytest.mark.parametrize("tiers", [1, 2, 7])
def test_numbers_of_kept_tiers_share_the_failures_of_an_interval(tiers: int) -> None:
    """Noise has its part at every number of tiers; what any of them dropped, a part for all of them."""
    failure, tail_factor = Fraction(1, 20), Fraction(8)
    every, _ = Dropped(0, Fraction(0), tiers).failures(failure, tail_factor)
    some, pulled = Dropped(40, Fraction(7, 3), tiers).failures(failure, tail_factor)
    assert every + tiers * some == failure
    assert every + pulled == failure


def test_a_single_tier_and_noise_alone_have_all_failures() -> None:
    failure = Fraction(1, 20)
    assert Dropped(0, Fraction(0), 0).failures(failure, Fraction(8)) == (failure, failure)
    assert Dropped(40, Fraction(7, 3), 2).failures(failure, Fraction(1)) == (failure, failure)


def test_clipping_that_reached_the_bounds_pulls_nothing() -> None:
    whole = replace(CLIPPED, clipping=replace(CLIPPING, at=CLIPPING.most, blind=True))
    assert whole.interval() == COUNT.interval()


def test_the_bounds_limit_what_a_record_can_count_for() -> None:
    tight = replace(CLIPPED, clipping=replace(CLIPPING, most=Fraction(6 << 20)))
    assert tight.interval()[1] < CLIPPED.interval(tail_factor=2)[1]


def test_a_table_insufficient_budget_to_see_has_no_upper_end() -> None:
    poor = replace(CLIPPED, clipping=replace(CLIPPING, blind=True))
    assert poor.interval()[0] == COUNT.interval()[0]
    assert poor.interval()[1] == math.inf
    assert str(poor).startswith("count: 12,345.0, from 12,315.0, no upper limit (95 %; share 1/10, clip)")
    assert poor.flag == "insufficient budget"
    assert poor.to_dict()["high"] is None


def test_an_answer_that_was_clipped_to_nothing_is_shown_without_decimals() -> None:
    """Six zeros behind the point would say that it is known to a millionth."""
    tiny = Fraction(1, 1 << 70)
    poor = replace(CLIPPED, steps=0, step=tiny, clipping=replace(CLIPPING, blind=True))
    assert poor.flag == "insufficient budget"
    assert str(poor).startswith("count: 0, from 0, no upper limit")
    known = replace(COUNT, steps=0, step=tiny, bias=None)
    assert known.flag != "insufficient budget"
    assert str(known).startswith("count: 0.000000 ±"), "of an answer that is known so well, they say it"


ODD: list[Any] = [
    None, "", "x", "nan", "inf", "-inf", b"1", [], object(), 1j, "1/0", "5/", True, False, float("nan"),
    float("inf"), -float("inf"), "1e4000", "-1e4000", "1e999999999", "1e-999999999", "0e999999999",
    "1e99999999999999999999", 10**5000, -(10**5000), Fraction(10**5000), Fraction(1, 10**5000),
    Fraction(10**5000 - 1, 10**5000), "9" * 5000, "0." + "9" * 500, Decimal("Infinity"), Decimal("NaN"),
    Decimal("sNaN"), Decimal("1E+999999"), Decimal("1E-999999"), 5e-324, 1.7e308, np.array([0.9, 0.95]),
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("mechanism", ["laplace", "clip", "tiers", "quartic", "mean"])
def test_odd_levels_and_reaches_are_refused_in_words_or_answered(odd: Any, mechanism: str) -> None:
    part = replace(COUNT, noise_scales=(Fraction(2), Fraction(3)), step=Fraction(1))
    release = {
        "laplace": COUNT,
        "clip": CLIPPED,
        "tiers": replace(CLIPPED, clipping=Dropped(40, Fraction(7, 3), 2)),
        "quartic": replace(COUNT, noise="quartic"),
        "mean": replace(COUNT, parts=(CLIPPED, part), rule="mean", ends=(Fraction(0), Fraction(9))),
    }[mechanism]
    for given in ({"level": odd}, {"tail_factor": odd}):
        try:
            low, high = release.interval(**given)
        except InvalidRequest as refusal:
            assert "interval(" in str(refusal)
            assert len(str(refusal)) < 300
        else:
            assert low <= high


@pytest.mark.parametrize("level", ["0.95", 0.95, Fraction(19, 20), Decimal("0.95"), np.float64(0.95)])
@pytest.mark.parametrize("tail_factor", ["8", 8, 8.0, Fraction(8), Decimal(8), np.int64(8), np.float32(8)])
def test_numbers_of_every_kind_say_the_same(level: Any, tail_factor: Any) -> None:
    assert CLIPPED.interval(level, tail_factor=tail_factor) == CLIPPED.interval()


def test_a_level_next_to_one_is_answered_until_a_hundred_nines_and_refused_beyond() -> None:
    low, high = COUNT.interval("0." + "9" * 99)
    assert high - 12345 == pytest.approx(10 * 99 * math.log(10), rel=1e-3)
    assert 12345 - low == pytest.approx(high - 12345)
    with pytest.raises(InvalidRequest, match="closer to 1 than 10"):
        COUNT.interval("0." + "9" * 101)


def test_a_reach_beyond_what_the_bounds_allow_is_what_they_allow() -> None:
    """At most 500 steps for a unit of budget, 100 times what was allowed."""
    assert CLIPPED.interval(tail_factor=100)[1] > CLIPPED.interval(tail_factor=99)[1]
    for far in (101, "1e300", "1e400"):
        assert CLIPPED.interval(tail_factor=far) == CLIPPED.interval(tail_factor=100)


def test_a_table_of_releases_refuses_odd_levels_in_words() -> None:
    table = ReleaseTable("count", Fraction(1, 10), ("k",), ("count",), ((1,),), ((COUNT,),))
    for form in (table.columns, table.to_arrow, table.to_pandas, table.to_polars):
        for level in ("1e-999999999", None, 10**5000, "x", True):
            with pytest.raises(InvalidRequest, match="not a probability"):
                form(level)  # type: ignore[arg-type]


@pytest.mark.parametrize("tail_factor", [0, 0.5, "x", float("nan"), float("inf")])
def test_a_reach_below_one_is_refused(tail_factor: float) -> None:
    with pytest.raises(InvalidRequest, match=r"^interval\(tail_factor=.*1 or more"):
        CLIPPED.interval(tail_factor=tail_factor)


def test_every_form_of_an_answer_has_the_same_interval() -> None:
    whole = replace(CLIPPED, whole=True)
    low, high = whole.interval()
    ends = f"{math.floor(low):,} to {math.ceil(high):,}"
    assert f"12,345, from {ends} (95 %; share 1/10, clip)" in str(whole)
    assert ends in whole._repr_html_()
    assert (whole.to_dict()["low"], whole.to_dict()["high"]) == (low, high)
    assert json.loads(whole.to_json())["high"] == high
    table = ReleaseTable("count", Fraction(1, 10), ("k",), ("count",), ((1,),), ((whole,),))
    assert (table.columns()["count_low"], table.columns()["count_high"]) == ([low], [high])
    assert table.to_dict()["rows"][0]["count_high"] == high
    assert f"{math.floor(low):,}" in table.lines[1]
    assert f"{math.ceil(high):,}" in table.lines[1]


def test_what_an_interval_excludes_is_stated_where_it_matters() -> None:
    assert "above 8 times the clipping threshold" in str(CLIPPED)
    within = replace(CLIPPED, clipping=replace(CLIPPING, most=CLIPPING.at * 8))
    assert within.excludes == ""  # the bounds allow no more
    assert replace(CLIPPED, clipping=replace(CLIPPING, blind=True)).excludes == ""
    table = ReleaseTable("q", Fraction(1), ("k",), ("count",), ((1,), (2,)), ((CLIPPED,), (CLIPPED,)))
    assert str(table).count("above 8 times the clipping threshold") == 1


def test_flags_follow_from_the_coefficient_of_variation() -> None:
    """The interval is 30 to either side, so that the standard error is 30 / 1.96 = 15.3."""
    assert replace(COUNT, steps=0).flag == "unreliable"
    assert replace(COUNT, steps=15 << 20).flag == "unreliable"
    assert replace(COUNT, steps=-15 << 20).flag == "unreliable"
    assert replace(COUNT, steps=16 << 20).flag == "low precision"
    assert replace(COUNT, steps=45 << 20).flag == "low precision"
    assert replace(COUNT, steps=47 << 20).flag == ""


def test_the_standard_error_is_that_of_the_95_percent_interval() -> None:
    answer = replace(COUNT, steps=60 << 20)
    assert answer.std_error is not None
    assert answer.std_error == pytest.approx((answer.high - answer.low) / 3.92)
    assert answer.cv == pytest.approx(answer.std_error / 60)
    assert (2 * answer).std_error == pytest.approx(2 * answer.std_error)
    assert (answer - 60).cv is None
    assert answer.to_dict()["cv"] == answer.cv


def test_answers_compute_like_numbers_and_their_intervals_move_along() -> None:
    low, high = CLIPPED.interval()
    thousands = CLIPPED / 1000
    assert float(thousands) == 12.345
    assert thousands.interval() == pytest.approx((low / 1000, high / 1000))
    assert (10 - CLIPPED).interval() == pytest.approx((10 - high, 10 - low))
    assert (CLIPPED * 2 + 1 - 0.5).exact == 2 * 12345 + Fraction(1, 2)
    assert (-CLIPPED).interval() == pytest.approx((-high, -low))
    open_end = replace(CLIPPED, clipping=replace(CLIPPING, blind=True))
    assert (-open_end).interval()[0] == -math.inf
    assert f"{CLIPPED:,.0f}" == "12,345"
    assert (int(replace(COUNT, steps=(12345 << 20) + (3 << 18))), round(CLIPPED)) == (12346, 12345)
    assert thousands.question == "count / 1000"


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), "x", None, [CLIPPED]])
def test_answers_do_not_compute_with_what_is_no_plain_number(odd: Any) -> None:
    with pytest.raises((TypeError, InvalidRequest)):
        CLIPPED + odd


def test_a_release_is_the_same_after_it_was_written_and_read() -> None:
    assert release_from_json(release_to_json(CLIPPED)) == CLIPPED
    tiers = replace(CLIPPED, clipping=Dropped(40, Fraction(7, 3), 2, below=True))
    assert release_from_json(release_to_json(tiers)) == tiers
    left_out = replace(tiers, clipping=replace(tiers.clipping, seen="all", unknown=True, at=Fraction(9, 2)))  # type: ignore[type-var]
    assert release_from_json(release_to_json(left_out)) == left_out
    before = json.loads(release_to_json(COUNT))
    del before["clipping"], before["noise"]
    assert "whole" not in before
    assert release_from_json(json.dumps(before)) == COUNT


def test_a_total_of_zeros_and_ones_is_one_when_it_is_read_and_those_written_before_are_not() -> None:
    other = replace(CLIPPED, clipped=terms("balance", 10))
    assert "zero_or_one" not in release_to_json(other)
    assert release_from_json(release_to_json(other)) == other
    flags = replace(CLIPPED, clipped=replace(terms("balance", 10), computed=True, zero_or_one=True))
    assert release_from_json(release_to_json(flags)) == flags


def test_a_truth_that_cannot_be_negative_has_no_low_end_below_zero() -> None:
    small = replace(CLIPPED, steps=3 << 20, whole=True)
    assert small.interval(tail_factor=8)[0] == 0
    assert small.interval(tail_factor=1)[0] < 0  # the noise alone
    mixed = replace(small, clipping=replace(CLIPPING, mixed=True))
    assert mixed.interval()[0] < 0
    lower = replace(small, steps=-(3 << 20))
    assert lower.interval(tail_factor=8)[0] == -3  # an answer lies in its own interval
    far = replace(small, steps=-(900 << 20))
    assert far.interval() == (-900, 0)
    poor = replace(small, clipping=replace(CLIPPING, blind=True))
    assert str(poor).startswith("count: 3, from 0, no upper limit (95 %;")
    owed = replace(CLIPPED, steps=-(3 << 20), clipping=replace(CLIPPING, below=True, above=False))
    assert owed.interval(tail_factor=8)[1] == 0


@pytest.mark.parametrize("steps", [-165, -164, -6, -5, -4, 0, 4, 5, 6, 15, 25, 164, 165])
@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(30)])
def test_a_count_as_it_is_shown_lies_in_its_interval(steps: int, scale: Fraction) -> None:
    """Answers lie on a finer lattice, and an end may be the answer itself, or next to it."""
    facts = {"steps": steps, "step": Fraction(1, 10), "noise_scales": (scale,), "whole": True}
    for clipping in (CLIPPING, replace(CLIPPING, blind=True), None):
        shown = replace(CLIPPED, clipping=clipping, **facts)  # type: ignore[arg-type]
        for level in (0.5, 0.95):
            low, high = shown.interval(level)
            assert low <= shown.value <= high
            fine = replace(shown, whole=False).interval(level)
            assert fine[0] - 1 < low <= fine[0]
            assert fine[1] <= high < fine[1] + 1 or high == fine[1]


def test_an_end_further_away_than_twice_the_answer_is_in_the_words_alone() -> None:
    small = replace(CLIPPED, steps=60 << 20, clipped=terms("balance", 2_500_000), whole=True)
    assert (
        small.excluded_records == "balance above 9,165"
    )  # 10,000 / 2^(1/8), as 10^4 · 10^4 / 2.5 · 10^6 = 8 · 5
    assert small.interval()[1] == math.inf
    end = math.ceil(small.interval(tail_factor=8)[1])
    assert f"up to {end:,}, excluding balance above 9,165" in str(small)
    assert small.excludes in small._repr_html_()
    assert small.to_dict()["high"] is None
    thousands = (small / 1000).excludes.split()[2].rstrip(",")
    assert float(thousands) == pytest.approx(end / 1000, rel=0.01)
    assert (-small).excludes.startswith(f"from -{end:,}")
    large = replace(small, steps=10**6 << 20)
    assert large.excludes == "excludes balance above 9,165"
    assert math.isfinite(large.interval()[1])
    table = ReleaseTable("count", Fraction(1), ("k",), ("count",), ((1,), (2,)), ((small,), (large,)))
    assert "no upper limit: limits more than twice the answer away are not printed" in str(table)


def test_of_several_parts_each_says_what_it_excludes() -> None:
    large = replace(CLIPPED, steps=10**6 << 20)
    parts = (replace(large, clipped=terms("v", 10)), replace(large, clipped=terms("w", 40)))
    mean = replace(COUNT, parts=parts, rule="mean", ends=(Fraction(0), Fraction(10**6)), bias=None)
    stated = "excludes v above 18.33 from the sum, w above 36.66 from the count"
    assert mean.excludes == stated


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert str(replace(COUNT, steps=-1, whole=True)).startswith("count: 0,")


def test_points_of_both_signs_are_written_down_and_read_again() -> None:
    apart = replace(
        CLIPPED, clipping=replace(CLIPPING, drawn=(Fraction(1), Fraction(5 << 20))), clipped=terms("v", 10)
    )
    assert release_from_json(release_to_json(apart)) == apart


def test_what_is_public_about_clipped_records_is_written_down_and_read_again() -> None:
    """A policy that was fitted to a table, squares around a center, units: all of it decides the words."""
    policy = Policy("CASE WHEN v > 10 THEN 1e3 / v ELSE 7 END", at_least="1/3", at_most=7)
    fitted = Policy.of(policy.expression, at_least="1/3", at_most=7, text=policy.text, below=5)
    for changed in (
        terms("v", 10),
        replace(terms("v", 10), policy=fitted, center=Fraction(7, 3), round_to=Fraction(1, 100)),
        replace(terms("v", 10), policy=fitted, bounds=(), privacy_unit="id", below=True, above=False),
        replace(terms("v", 10), column=None, policy=Policy.constant("1/3")),
        replace(terms("v", 10), column="v * 2", computed=True),
    ):
        release = replace(CLIPPED, clipped=changed)
        read = release_from_json(release_to_json(release))
        assert read == release
        assert isinstance(read, Release)
        assert (read.choices, read.excludes) == (release.choices, release.excludes)
        assert read.clipped is not None
        assert read.clipped.policy.text == changed.policy.text


@pytest.mark.parametrize("odd", [{"more": 1}, {"expression": "no ( text"}, {"at_least": "x"}])
def test_a_release_whose_policy_was_changed_is_no_release(odd: dict[str, object]) -> None:
    form = json.loads(release_to_json(replace(CLIPPED, clipped=terms("v", 10))))
    form["clipped"]["policy"] |= odd
    with pytest.raises(ValueError, match=r"no release|Invalid literal"):
        release_from_json(json.dumps(form))
