"""Within the bounds every record counts for all that it is; F stays below all budgets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import prdp
from prdp.cells.measure import Measure
from prdp.cells.ratios import least_budgets
from prdp.mechanisms.additive import RARE, USUAL, Additive, concave_below, corners_of, quantile
from prdp.plan.methods import Options
from prdp.policy import Policy
from prdp.schema import ColumnType, Kind
from prdp.tables.queryable import reader_of

POLICIES = {
    "ln": "2 * ln(1 + abs(v) / 100)",
    "root": "sqrt(abs(v)) / 10",
    "fourth root": "power(abs(v), 0.25)",
    "linear": "abs(v) / 1000",
    "steps": "CASE WHEN abs(v) < 1000 THEN 1 WHEN abs(v) < 100000 THEN 10 ELSE 30 END",
    "up and down": "CASE WHEN abs(v) < 500 THEN 1 + abs(v) / 100 ELSE 1 + 2500 / abs(v) END",
    "falling": "1 + 1000 / (1 + abs(v))",
    "with another column": "weight * ln(1 + abs(v) / 100)",
}


def opened(policy: str, kind: str) -> prdp.Table:
    """Return a table of values of every size, of both signs."""
    sizes = np.unique(np.geomspace(50, 10**6, 400).round(2 if kind == "cents" else 0))
    values = np.concatenate([sizes, -sizes, [10**6, -(10**6)]])
    column = pyarrow.array(values if kind == "cents" else values.astype(np.int64))
    weight = pyarrow.array(np.resize([1.0, 2.5, 4.0], len(values)))
    return prdp.open(
        pyarrow.table({"v": column, "weight": weight}),
        policy=Policy(policy, at_least="1/1000", at_most="2000"),
        bounds={"v": (-(10**6), 10**6), "weight": (1, 4)},
        round_to={"v": "0.01"} if kind == "cents" else None,
        synthetic=True,
    )


@pytest.mark.filterwarnings("ignore::prdp.errors.RecordsLeftOut")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["whole", "cents"])
@pytest.mark.parametrize("share", ["1", "1/30"])
def test_within_the_bounds_nothing_is_capped(policy: str, kind: str, share: str) -> None:
    table = opened(POLICIES[policy], kind)
    (plan,) = table.plan(prdp.sum("v"), share=share, options=_additive()).queries
    (step,) = plan.steps
    assert isinstance(step.mechanism, Additive)
    (cells,) = reader_of(table).read(plan.read)
    law = step.mechanism.law(cells, step.share)
    assert law.value == sum(cell.total for cell in cells.cells)
    one_sided = cells.cells.where(cells.cells.sign > 0)
    caps = one_sided.by_budget(lambda quanta: law.noise.within(quanta * step.share * cells.levels.quantum))
    assert (one_sided.high <= caps).all()


def _additive() -> Options:
    return Options("additive")


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 7), Fraction(1, 100)])
@pytest.mark.parametrize("highest", [1, 7, 10**6, 10**12])
@pytest.mark.parametrize("text", ["2 * ln(1 + v / 100)", "sqrt(v) / 10", "v / 1000", "1 + 1 / (1 + v)"])
def test_f_is_below_the_budgets_of_every_size(text: str, highest: int, share: Fraction) -> None:
    bounds = {"v": (Fraction(1), Fraction(highest))}
    whole = {"v": ColumnType(Kind.NUMBER, integer=True)}
    policy = Policy(text, at_least="1/1000").within(whole, bounds)
    measure = Measure("v", Fraction(1), 1, highest, per_octave=32)
    least = least_budgets(policy, policy.levels, bounds, measure, rounded=False)
    worth = share * policy.levels.quantum
    noise = concave_below(least, worth)
    assert noise.ends[-1] == highest
    for end, quanta in least:
        assert noise.within(quanta * worth) >= end
        assert quanta * float(policy.levels.quantum) <= (policy.budget({"v": end}) or 0)
    for level in (USUAL, RARE):  # what shapes are compared by is about what their noise does
        exact = noise.spread(Fraction(level))
        assert quantile(corners_of(noise), level) == pytest.approx(exact, rel=0.1, abs=2)


def test_a_lattice_that_budgets_are_not_known_for_is_refused() -> None:
    with pytest.raises(ValueError, match="up to 12 steps, not up to 30"):
        Additive(((12, 1000),)).noise(30, Fraction(1))
