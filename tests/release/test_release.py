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
from prdp.ledger.release_form import release_from_json, release_to_json
from prdp.release.bias import Clipping, Dropped
from prdp.release.release import Release
from prdp.release.table import ReleaseTable

COUNT = Release(
    question="count",
    steps=12345 << 20,
    step=Fraction(1, 1 << 20),
    noise_scales=(Fraction(10 << 20),),
    share=Fraction(1, 10),
    method="clip",
    caveat="clipped records pull toward zero",
)


def test_the_value_is_whole_where_its_lattice_is() -> None:
    whole = Release("sum", 7, Fraction(1), (Fraction(2),), Fraction(1), "naive", "")
    assert (whole.value, type(whole.value)) == (7, int)
    cents = Release("sum", 705, Fraction(1, 100), (Fraction(2),), Fraction(1), "naive", "")
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
    line = "count: 12,345.0 ± 30.0 (95 % of the noise; share 1/10, clip)"
    assert str(COUNT) == f"{line}; clipped records pull toward zero"
    assert str(replace(COUNT, caveat="")) == line


def test_a_simulated_release_says_so_everywhere() -> None:
    simulated = replace(COUNT, simulated=True)
    assert "simulated" in str(simulated)
    assert "protects nobody" in simulated._repr_html_()


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


def test_what_was_clipped_widens_the_side_it_pulled_from() -> None:
    low, high = COUNT.interval(0.95)
    assert CLIPPED.interval(0.95)[0] == low
    mass = (math.log(1 / 0.0125) + 2 * 3 - math.log(1 - math.exp(-1))) / 0.5  # 8 is three doublings
    noise = 10 * math.log(1 / 0.025)  # half of that side's failures
    assert CLIPPED.interval(0.95)[1] == pytest.approx(12345 + noise + mass * (8 - 1) * 5, rel=1e-6)
    assert CLIPPED.interval(reach=1) == (low, high)
    negative = replace(CLIPPED, clipping=replace(CLIPPING, below=True, above=False))
    assert negative.interval()[1] == high
    assert negative.interval()[0] < low
    both = replace(CLIPPED, clipping=replace(CLIPPING, below=True)).interval()
    assert both[0] < low
    assert both[1] > high


def test_what_groups_spare_together_may_have_been_clipped_as_well() -> None:
    spared = replace(CLIPPED, clipping=replace(CLIPPING, spared=Fraction(600)))
    more = spared.interval()[1] - CLIPPED.interval()[1]
    assert more == pytest.approx(600 * (8 - 1) * 5)  # 600 units of budget, 5 records each, up to 8 times that
    assert spared.interval()[0] == CLIPPED.interval()[0]
    assert release_from_json(release_to_json(spared)) == spared


def test_a_release_that_was_written_before_groups_spared_a_mass_reads_as_one_that_spares_none() -> None:
    before = json.loads(release_to_json(CLIPPED))
    del before["clipping"]["spared"]
    assert release_from_json(json.dumps(before)) == CLIPPED


@pytest.mark.parametrize("tiers", [1, 2, 7])
def test_numbers_of_kept_tiers_share_the_failures_of_an_interval(tiers: int) -> None:
    """Noise has its part at every number of tiers; what any of them dropped, a part for all of them."""
    failure, reach = Fraction(1, 20), Fraction(8)
    every, _ = Dropped(0, Fraction(0), tiers).failures(failure, reach)
    some, pulled = Dropped(40, Fraction(7, 3), tiers).failures(failure, reach)
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
    assert tight.interval()[1] < CLIPPED.interval(reach=2)[1]


def test_a_table_too_poor_to_see_has_no_upper_end() -> None:
    poor = replace(CLIPPED, clipping=replace(CLIPPING, blind=True))
    assert poor.interval()[0] == COUNT.interval()[0]
    assert poor.interval()[1] == math.inf
    assert "12,315.0 or more" in str(poor).replace("12,315 ", "12,315.0 ")


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
    for given in ({"level": odd}, {"reach": odd}):
        try:
            low, high = release.interval(**given)
        except InvalidRequest as refusal:
            assert "interval(" in str(refusal)
            assert len(str(refusal)) < 300
        else:
            assert low <= high


@pytest.mark.parametrize("level", ["0.95", 0.95, Fraction(19, 20), Decimal("0.95"), np.float64(0.95)])
@pytest.mark.parametrize("reach", ["8", 8, 8.0, Fraction(8), Decimal(8), np.int64(8), np.float32(8)])
def test_numbers_of_every_kind_say_the_same(level: Any, reach: Any) -> None:
    assert CLIPPED.interval(level, reach=reach) == CLIPPED.interval()


def test_a_level_next_to_one_is_answered_until_a_hundred_nines_and_refused_beyond() -> None:
    low, high = COUNT.interval("0." + "9" * 99)
    assert high - 12345 == pytest.approx(10 * 99 * math.log(10), rel=1e-3)
    assert 12345 - low == pytest.approx(high - 12345)
    with pytest.raises(InvalidRequest, match="closer to 1 than 10"):
        COUNT.interval("0." + "9" * 101)


def test_a_reach_beyond_what_the_bounds_allow_is_what_they_allow() -> None:
    """At most 500 steps for a unit of budget, 100 times what was allowed."""
    assert CLIPPED.interval(reach=100)[1] > CLIPPED.interval(reach=99)[1]
    for far in (101, "1e300", "1e400"):
        assert CLIPPED.interval(reach=far) == CLIPPED.interval(reach=100)


def test_a_table_of_releases_refuses_odd_levels_in_words() -> None:
    table = ReleaseTable("count", Fraction(1, 10), ("k",), ("count",), ((1,),), ((COUNT,),))
    for form in (table.columns, table.to_arrow, table.to_pandas, table.to_polars):
        for level in ("1e-999999999", None, 10**5000, "x", True):
            with pytest.raises(InvalidRequest, match="not a probability"):
                form(level)  # type: ignore[arg-type]


@pytest.mark.parametrize("reach", [0, 0.5, "x", float("nan"), float("inf")])
def test_a_reach_below_one_is_refused(reach: float) -> None:
    with pytest.raises(InvalidRequest, match="1 or more"):
        CLIPPED.interval(reach=reach)


def test_a_line_tells_noise_from_clipping() -> None:
    low, high = CLIPPED.interval()
    assert str(CLIPPED) == f"{COUNT}: 95 % of both, {low:,.0f} to {high:,.0f}"
    assert "95 % of both" in CLIPPED._repr_html_()
    assert "95 % of both" not in COUNT._repr_html_()


def test_a_release_is_the_same_after_it_was_written_and_read() -> None:
    assert release_from_json(release_to_json(CLIPPED)) == CLIPPED
    tiers = replace(CLIPPED, clipping=Dropped(40, Fraction(7, 3), 2, below=True))
    assert release_from_json(release_to_json(tiers)) == tiers
    before = json.loads(release_to_json(COUNT))
    del before["clipping"], before["noise"]
    assert release_from_json(json.dumps(before)) == COUNT
