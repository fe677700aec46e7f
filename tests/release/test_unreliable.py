"""An interval of nearly all that the bounds allow is flagged as unreliable wherever flags are shown."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import prdp
from prdp.cli import app
from prdp.release.bias import Dropped
from prdp.release.interval import spans_limits
from prdp.release.raw_answer import Caveat, Knot, Overshoot, Ranked
from prdp.release.release import Release
from prdp.sql.estimates import ComputedAnswer
from prdp.testing.seeded import Seeded

Columns = dict[str, "np.ndarray[Any, Any]"]

MEANING = "unreliable: the coefficient of variation (CV) is above 100 %, or the interval spans the bounds"
STEPS = "CASE WHEN area = 'x' THEN 0.01 WHEN area = 'y' THEN 0.1 ELSE 1 END"
"""A policy of steps: most records have much, and some have little."""


def mean(dropped: int) -> Release:
    """Return a mean whose sum lacks steps with up to so much; its noise is small."""
    one, share = Fraction(1), Fraction(1, 100)
    pull = Dropped(thresholds=dropped, scales=Fraction(10), tiers=3)
    total = Release("sum of v", 50_000, one, (Fraction(10),), share, "clip", Caveat("dropped"), clipping=pull)
    count = Release("count of v", 1_000, one, (Fraction(1),), share, "clip")
    limits = Fraction(0), Fraction(100)
    return Release("mean of v", 50, one, (), share, "clip", ends=limits, parts=(total, count), rule="mean")


def test_a_mean_that_may_be_nearly_anything_is_unreliable() -> None:
    little = mean(10)
    assert little.interval()[1] < 55
    assert little.flag == ""
    open_above = mean(100_000)
    assert open_above.interval()[1] == 100
    assert open_above.flag == "", "from 49 to 100 is half of what the bounds allow"
    both = replace(open_above.parts[0].clipping, below=True)  # type: ignore[type-var]
    anything = replace(open_above, parts=(replace(open_above.parts[0], clipping=both), open_above.parts[1]))
    assert anything.interval() == (0, 100)
    assert anything.flag == "unreliable"
    assert MEANING in str(anything)
    assert "unreliable" in anything.to_json()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_whose_sign_no_true_value_has_is_unreliable(sign: int) -> None:
    """Its interval is cut off at the answer, so that its width alone would say that it is precise."""
    one, share = Fraction(1), Fraction(1, 100)
    pull = Dropped(thresholds=10, scales=Fraction(10), tiers=3, below=sign < 0, above=sign > 0)
    small = Release("sum of v", 500 * sign, one, (Fraction(10),), share, "clip", clipping=pull)
    wrong = replace(small, steps=-500 * sign)
    assert min(wrong.interval(), key=lambda end: sign * end) == -500 * sign
    assert (wrong.flag, wrong.cv) == ("unreliable", None)
    assert small.flag != "unreliable"
    assert small.cv is not None
    either = replace(wrong, clipping=replace(pull, below=True, above=True))
    assert either.flag == small.flag, "a sum of both signs may be on either side"


def test_bounds_that_allow_one_number_are_no_reason_for_a_flag() -> None:
    point = Fraction(5), Fraction(5)
    assert not spans_limits(point, point)


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the same noise in every run."""
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", lambda: Seeded(7))


@pytest.fixture(scope="module")
def areas() -> Columns:
    rng = np.random.default_rng(1)
    rows = 20_000
    return {
        "balance": rng.integers(0, 10_000, rows),
        "area": rng.choice(["x", "y", "z"], rows, p=[0.05, 0.25, 0.7]),
        "job": np.array(["clerk", "chef"])[np.arange(rows) % 2],
    }


def opened(columns: Columns) -> prdp.Table:
    return prdp.open(columns, policy=STEPS, bounds={"balance": (0, 10_000)}, name="t", synthetic=True)


@pytest.mark.parametrize("asked", ["std", "variance"])
def test_a_policy_of_steps_leaves_an_unreliable_answer(asked: str, areas: Columns) -> None:
    answer = getattr(opened(areas), asked)("balance", share="1/64")
    assert spans_limits(answer.between(Fraction(19, 20), None), answer.ends)
    assert answer.flag == "unreliable"
    assert MEANING in " ".join(str(answer).split())


def test_a_table_says_it_once_and_a_frame_in_each_row(
    areas: Columns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", lambda: Seeded(2))
    table = opened(areas).group_by("job", keys=["clerk", "chef"]).std("balance", share="1/8")
    for (release,), flag in zip(table.releases, table.columns()["std_balance_flag"], strict=True):
        assert release.ends is not None
        assert spans_limits(release.between(Fraction(19, 20), None), release.ends)
        assert flag == "unreliable"
    assert str(table).count(MEANING) == 1


def test_sql_says_it_of_an_answer_and_of_what_is_computed_from_it(areas: Columns) -> None:
    answers = opened(areas).sql(
        "SELECT STDDEV_POP(balance) AS s, STDDEV_POP(balance) / 2 + COUNT(*) AS half, STDDEV(balance) AS one "
        "FROM t",
        share="3/64",
        shares={"s": "1/64", "half": "1/32"},
    )
    for cell in answers.rows[0]:
        assert isinstance(cell, Release | ComputedAnswer)
        assert cell.flag == "unreliable"
    assert MEANING in str(answers)


def test_the_command_line_says_it(tmp_path: Path, areas: Columns) -> None:
    data = tmp_path / "t.parquet"
    pq.write_table(pa.table(areas), data)
    found = CliRunner().invoke(
        app,
        ["ask", "SELECT STDDEV_POP(balance) FROM t", "--share", "1/64", "--table", str(data),
         "--policy", STEPS, "--bounds", "balance=0:10000", "--ledger", str(tmp_path / "l.ledger")],
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "unreliable" in found.output


def test_a_quantile_that_nothing_bounds_on_one_side_is_unreliable_and_a_largest_value_is_not() -> None:
    """A few records may lie above any largest value; a quantile without an end is not known."""
    one, share = Fraction(1), Fraction(1, 10)
    bounded = Ranked(Fraction(1, 2), (80, 90), (110, 120), (90, 900, 100), Fraction(3))
    quantile = Release("median of v", 100, one, (), share, "rank", chosen=bounded)
    assert (quantile.interval(), quantile.flag) == ((80, 120), "")
    open_above = replace(quantile, chosen=replace(bounded, quantile=Fraction(97, 100)))
    assert open_above.interval() == (90, math.inf)
    assert open_above.flag == "unreliable"
    knots = Knot(Fraction(0), 100), Knot(Fraction(12), 50)
    largest = replace(quantile, chosen=Overshoot(knots, (), window=Fraction(8), lowest=False))
    assert largest.interval()[1] == math.inf
    assert largest.flag == ""
