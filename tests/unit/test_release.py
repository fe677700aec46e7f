"""A release says what it is, and no more than it knows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from prdp.errors import InvalidRequest
from prdp.release import Release

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
