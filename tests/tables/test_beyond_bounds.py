"""A value beyond the public bounds counts as the nearest one, and does not cost a record its place."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest

import prdp
from prdp.cells.measure import Measure
from prdp.cells.summary import magnitudes
from prdp.engines.duckdb.engine import open_source
from prdp.engines.statements.cells import OwnColumn, statement
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.plan.methods import Options
from prdp.plan.reads import CellRead
from prdp.testing import simulate

VALUES = np.random.default_rng(7).lognormal(7, 1.5, 20_000).astype(int)
EXPRESSION = "10000 / greatest(v, 100)"


def table(most: int, **options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {"policy": EXPRESSION, "bounds": {"v": (0, most)}, "synthetic": True} | options
    return prdp.open({"v": VALUES}, **chosen)


def median(source: prdp.Table, query: Any) -> float:
    return float(np.median([float(one.value) for one in simulate(source, query, runs=50, seed=1)]))


@pytest.mark.parametrize("most", [200, 1000, 10**9])
def test_counts_and_sums_are_about_all_records(most: int) -> None:
    assert median(table(most), prdp.count()) == pytest.approx(VALUES.size, rel=0.01)
    assert median(table(most), prdp.sum("v")) == pytest.approx(np.minimum(VALUES, most).sum(), rel=0.15)


def test_so_are_quantiles_and_maxima() -> None:
    assert median(table(1000), prdp.quantile("v", "0.2")) == pytest.approx(np.quantile(VALUES, 0.2), rel=0.1)
    assert median(table(1000), prdp.max("v")) == 1000


def test_a_least_budget_that_is_given_is_kept_to() -> None:
    kept = table(1000, policy=prdp.Policy(EXPRESSION, at_least="10"))
    assert median(kept, prdp.count()) == pytest.approx(np.sum(VALUES <= 1000), rel=0.01)


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("bounds", [(-50, 1000), (0, 300), (-2000, 10)])
def test_one_key_and_two_find_the_same_records_beyond_the_bounds(
    bounds: tuple[int, int], measured: bool
) -> None:
    values = np.concatenate([VALUES, -VALUES[:5000]])
    arrow = pyarrow.table({"v": values})
    found = []
    for own in (True, False):
        engine = open_source(arrow, None, own_column=own)
        limits = {"v": (Fraction(bounds[0]), Fraction(bounds[1]))}
        policy = prdp.Policy("10000 / greatest(abs(v), 100)").within(engine.schema, limits)
        measure = Measure("v", Fraction(1), *bounds) if measured else None
        (summary,) = engine.summarise(CellRead(policy, policy.deep_levels, limits, measure, None))
        found.append((summary.records, sum(cell.total for cell in summary.cells)))
        assert max(summary.cells.high.tolist()) <= summary.largest
    assert found[0] == found[1]
    assert found[0][0] == values.size
    if measured:
        assert found[0][1] == np.clip(values, *bounds).sum()


@pytest.mark.parametrize(
    ("text", "options", "bounds", "values"),
    [
        ("10000 / v", {"at_most": 100}, (0, 10**12), (0, 10**12, 2**16 * 10**12)),
        ("10000 / v", {"at_most": 100, "at_least": "1/10000"}, (0, 10**12), (1, 10**8)),
        ("v / 100", {"at_most": 100}, (1, 10**6), (1, 2**53, 2**62)),
        ("10000 / greatest(abs(v), 100)", {"at_least": "1e-12"}, (-50, 1000), (0, 10**16, -(10**16))),
        ("10000 / greatest(abs(v), 100)", {"at_least": "1e-15"}, (-50, 1000), (2**53, 2**62, -(2**62))),
    ],
)
def test_one_key_is_enough_for_wide_bounds_and_mixes_nobody_up(
    text: str, options: dict[str, Any], bounds: tuple[int, int], values: tuple[int, ...]
) -> None:
    """Around every end the doubles of several whole numbers are one; the least and the greatest are there."""
    near = [value + step for value in values for step in range(-70, 71)]
    arrow = pyarrow.table({"v": np.array([*near, 2**63 - 1, -(2**63), 1 - 2**63])})
    limits = {"v": (Fraction(bounds[0]), Fraction(bounds[1]))}
    found = []
    for own in (True, False):
        engine = open_source(arrow, None, own_column=own)
        policy = prdp.Policy(text, **options).within(engine.schema, limits)
        read = CellRead(policy, policy.deep_levels, limits, Measure("v", Fraction(1), *bounds), None)
        assert (statement(read, engine.schema, "t", own_column=own).own is not None) is own
        (summary,) = engine.summarise(read)
        found.append((summary.records, sum(cell.total for cell in summary.cells)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "text",
    [
        "100 / v",
        "v / 10",
        "CASE WHEN v BETWEEN -20 AND 30 THEN 10 ELSE 100 / abs(v) END",
        "sqrt(v) + 1",
        "power(v, 2) / 50",
    ],
)
@pytest.mark.parametrize("bounds", [(0, 20), (-30, 100), (1, 127)])
@pytest.mark.parametrize("least", ["2", "1/3", None])
def test_the_budget_of_one_key_is_never_above_a_record_s_and_leaves_the_same_records_out(
    text: str, bounds: tuple[int, int], least: str | None
) -> None:
    """Every number of a small type is tried; whether the key is enough is a public fact."""
    arrow = pyarrow.table({"v": np.array([0], dtype=np.int8)})
    engine = open_source(arrow, None)
    limits = {"v": (Fraction(bounds[0]), Fraction(bounds[1]))}
    given = prdp.Policy(text, at_most=100, at_least=least or ("1/100" if "abs" not in text else None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prdp.errors.RecordsLeftOut)
        policy = given.within(engine.schema, limits)
    own = OwnColumn.of(CellRead(policy, policy.deep_levels, limits, None, None), engine.schema)
    if own is None:
        return
    codes = {value: code for code, low, high in magnitudes(-128, 127) for value in range(low, high + 1)}
    for value in range(-128, 128):
        quanta = own.quanta.get(codes[value], 0) if own.low <= value <= own.high else 0
        budget = policy.budget({"v": value})
        assert (quanta > 0) == (budget is not None)
        assert quanta * policy.deep_levels.quantum <= Fraction(budget or 0)


def test_budgets_below_the_bounds_are_never_above_what_a_record_is_owed() -> None:
    engine = open_source(pyarrow.table({"v": VALUES}), None, own_column=False)
    limits = {"v": (Fraction(0), Fraction(150))}
    fitted = prdp.Policy("10000 / greatest(abs(v), 100)").within(engine.schema, limits)
    levels = fitted.deep_levels
    for value in (100, 151, 5000, 10**5, 9_000_000):
        budget = fitted.budget({"v": value})
        assert budget is not None
        level = levels.index(budget)
        assert level is not None
        assert 0.85 * budget < levels.quanta(level) * levels.quantum <= budget
    assert fitted.budget({"v": 10**8}) is None


@pytest.mark.parametrize("method", [None, "naive"])
def test_labels_say_who_is_left_out_within_the_bounds(method: str | None) -> None:
    everybody = table(1000).planner.plan([prdp.count()], "1/2", options=Options(method)).queries[0]
    assert not everybody.steps[0].labels[0].omitted
    with pytest.warns(prdp.errors.RecordsLeftOut):
        fewer = table(1000, policy=prdp.Policy(EXPRESSION, at_least=15)).planner
    some = fewer.plan([prdp.count()], "1/2", options=Options(method)).queries[0]
    stated = "records with v from 667 to 1,000, to which the policy gives no budget"
    assert some.steps[0].labels[0].omitted == stated


@pytest.mark.parametrize("query", [prdp.max("v"), prdp.min("v"), prdp.quantile("v", "0.3")])
def test_what_was_chosen_is_written_down_and_read_again(query: Any) -> None:
    (release,) = simulate(table(10**6), query, share="1/3", runs=1, seed=2)
    again = release_from_json(release_to_json(release))
    assert again == release
    assert isinstance(again, prdp.Release)
    assert again.interval() == release.interval()
