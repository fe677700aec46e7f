"""additive on every small table: no output's log-ratio passes share · E(r), whatever F was chosen."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import pyarrow
import pytest

import prdp
from prdp.cells.least_budgets import Least, least_budgets
from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.declare.units import PrivacyUnit
from prdp.engines.duckdb.engine import open_source
from prdp.errors import InvalidRequest
from prdp.mechanisms.additive import Additive
from prdp.noise.concave import ConcaveNoise
from prdp.noise.laws import Shaped, Together
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing.exact_loss import TOLERANCE, Record, largest_log_ratio
from prdp.testing.mechanism_contract import MechanismContract, Twin
from tests.exact import units_universe
from tests.exact.universe import (
    LEVELS,
    MEASURE,
    ODD,
    RECORDS,
    OnThisUniverse,
    summary_of,
    with_budgets_raised,
)


def uncapped(mechanism: Additive, summary: Summary, share: Fraction) -> Shaped:
    """Trust F to be below every budget, and let all records count for what they are."""
    total = sum(cell.total for cell in summary.cells)
    return Shaped(total, mechanism.law(summary, share).noise)


def too_little_noise(mechanism: Additive, summary: Summary, share: Fraction) -> Shaped:
    """Draw with noise 15 % too small: F as it would be on a lattice that is so much coarser."""
    right = mechanism.law(summary, share)
    steeper = tuple(slope / Fraction(85, 100) for slope in right.noise.slopes)
    return Shaped(right.value, ConcaveNoise(right.noise.ends, steeper))


def quanta(budget: str) -> int:
    return int(Fraction(budget) / LEVELS.quantum)


class TestAnyShape(OnThisUniverse):
    """F has nothing to do with the budgets of these records: the cap alone keeps the promise."""

    mechanism = Additive(((1, quanta("0.7")), (4, quanta("1.9")), (12, quanta("2.9"))), finest_bits=0)
    records = (*RECORDS, *ODD)
    runs = 120

    def twins(self) -> Mapping[str, Twin]:
        return {"no cap": Twin(lambda summary, share: uncapped(self.mechanism, summary, share))}


class TestFinerLattice(TestAnyShape):
    """On a lattice so fine that rounding a cap down to it gives away little budget."""

    records = RECORDS[1:5]
    shares = (Fraction(1), Fraction(3, 4))

    def summarise(self, records: Sequence[Record]) -> Summary:
        return summary_of(records).refined(4)

    def twins(self) -> Mapping[str, Twin]:
        additive = self.mechanism
        return {
            **super().twins(),
            "noise 15 % too small": Twin(lambda summary, share: too_little_noise(additive, summary, share)),
            "cap by budgets that are not rounded down": Twin(
                lambda summary, share: additive.law(with_budgets_raised(summary, 2), share)
            ),
            "a mean's sum at the whole share": Twin(
                lambda summary, share: additive.law(summary, share * Fraction(4, 3))
            ),
        }


GROWING = Policy("CASE WHEN v > 40 THEN 0.25 ELSE 2 * ln(1 + v / 3) END", at_least="1/8", at_most="8")
"""It grows slowly, and falls beyond the bounds."""
BOUNDS = {"v": (Fraction(4), Fraction(20))}
V = Measure("v", Fraction(1), 4, 20, per_octave=32)
GROWN: tuple[Record, ...] = (
    {"v": 1},  # below its bounds: moved up to 4 with the budget of 1
    {"v": 4},
    {"v": 9},
    {"v": 20},  # at the end of F
    {"v": 50},  # beyond its bounds: moved down to 20, with a budget that fell
    {"v": None},
)


def grown(records: Sequence[Record]) -> Summary:
    """Return the cells of some records under the policy that grows, as DuckDB finds them."""
    column = pyarrow.array([record["v"] for record in records], pyarrow.int64())
    engine = open_source(pyarrow.table({"v": column}), None)
    policy = GROWING.within(engine.schema, BOUNDS)
    return engine.summarise(CellRead(policy, policy.levels, BOUNDS, V, None))[0]


def least() -> Least:
    policy = GROWING.within(open_source(pyarrow.table({"v": pyarrow.array([1])}), None).schema, BOUNDS)
    return least_budgets(policy, policy.levels, BOUNDS, V, rounded=False)


class TestGrowingPolicy(MechanismContract):
    variant_of = TestFinerLattice
    mechanism = Additive(least(), finest_bits=0)
    records = GROWN
    max_records = 3
    runs = 120

    def summarise(self, records: Sequence[Record]) -> Summary:
        return grown(records)

    def budget(self, record: Record) -> float:
        return GROWING.budget(record) or 0.0

    def twins(self) -> Mapping[str, Twin]:
        return {
            "no cap": Twin(lambda summary, share: uncapped(self.mechanism, summary, share)),
            "noise 15 % too small": Twin(
                lambda summary, share: too_little_noise(self.mechanism, summary, share)
            ),
        }

    def test_nothing_within_the_bounds_is_capped(self) -> None:
        for share, value in product(self.shares, range(4, 21)):
            assert self.law(grown([{"v": value}]), share).value == value

    def test_some_record_comes_close_to_what_it_may_lose(self) -> None:
        self.records = ({"v": 20},)
        loss = self.worst(self.law, "whole", Fraction(1))
        assert loss.measured > 0.8 * loss.promised


# Units: the budget is the least of their rows', the total that of all of them.

ROWS = 3


def owned(records: Sequence[Record]) -> Summary:
    """Return the cells of units of up to three rows, as DuckDB finds them."""
    rows = pyarrow.Table.from_pylist(units_universe.rows_of(records), schema=units_universe.SCHEMA)
    read = units_universe.reading(MEASURE, grouped=False)
    engine = open_source(rows, None)
    ((totals, _),) = engine.fold_units(replace(read, unit=PrivacyUnit("id", max_rows=ROWS)))
    return totals


class TestUnits(MechanismContract):
    mechanism = Additive(TestAnyShape.mechanism.least, rows=ROWS, finest_bits=0)
    records = units_universe.UNITS
    runs = 120
    shares = (Fraction(1),)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return owned(records)

    def budget(self, record: Record) -> float:
        return units_universe.budget(record)

    def with_budget(self, record: Record, budget: float) -> Record | None:
        return units_universe.with_budget(record, budget)

    def twins(self) -> Mapping[str, Twin]:
        return {"no cap": Twin(lambda summary, share: uncapped(self.mechanism, summary, share))}


def test_an_unit_whose_groups_are_each_capped_by_the_whole_budget_would_lose_more_than_that() -> None:
    mechanism = TestAnyShape.mechanism
    one, none = (summary_of(records).refined(4) for records in ([{"v": 12, "eps": 0.5}], []))
    (with_it, without) = (mechanism.law(cells, Fraction(1)) for cells in (one, none))
    groups = 4
    loss = largest_log_ratio(Together((with_it,) * groups), Together((without,) * groups))
    assert loss > 3 * 0.5
    cap = with_it.noise.within(Fraction(1, 2) / groups)
    shared_out = (Together((Shaped(value, with_it.noise),) * groups) for value in (cap, 0))
    assert 0.4 < largest_log_ratio(*shared_out) <= 0.5 + TOLERANCE


def test_units_in_several_groups_are_refused() -> None:
    columns = {"id": [1, 1], "v": [5, 7], "g": ["a", "b"]}
    table = prdp.open(
        pyarrow.table(columns), policy="ln(2 + v)", bounds={"v": (1, 9)}, privacy_unit="id", synthetic=True
    )
    with pytest.raises(InvalidRequest, match="by group is not answered"):
        table.group_by("g", keys=["a", "b"]).sum("v", share=1, method="additive")


# Shapes that are not concave: refused, because of what they would cost.

Height = Callable[[int], Fraction]


def gone_on(inside: Height, end: int) -> Height:
    """Return F beyond its end as the proof has it."""
    return lambda far: far // end * inside(end) + inside(far % end)


def costs(height: Height, end: int, moved: int) -> Fraction:
    """Return what a record that moves the total costs at most; all outputs are looked at."""
    outputs = range(-3 * end, 3 * end + moved)
    return max(abs(height(abs(output)) - height(abs(output - moved))) for output in outputs)


def stairs(far: int) -> Fraction:
    """Read something that grows slowly as a step function on a geometric grid."""
    return Fraction(0) if far == 0 else Fraction(1, 10) if far < 4 else Fraction(1)


def steps_of_four(far: int) -> Fraction:
    """Rise with every fourth step: subadditive, but not concave."""
    return Fraction(-(-far // 4))


def through_points(far: int) -> Fraction:
    """Interpolate through (0, 0), (4, 1), (5, 3), (12, 4), which are not concave."""
    corners = ((0, 0), (4, 1), (5, 3), (12, 4))
    (low, start), (high, end) = next(pair for pair in pairwise(corners) if pair[0][0] <= far <= pair[1][0])
    return start + Fraction((end - start) * (far - low), high - low)


def concave(far: int) -> Fraction:
    """Interpolate through (0, 0), (4, 2), (12, 4)."""
    return Fraction(far, 2) if far <= 4 else 2 + Fraction(far - 4, 4)


@pytest.mark.parametrize("shape", [stairs, through_points])
def test_a_shape_that_is_not_concave_would_cost_more_than_it_says(shape: Height) -> None:
    height = gone_on(shape, 12)
    assert max(costs(height, 12, moved) / height(moved) for moved in range(1, 13)) > Fraction(3, 2)


def test_a_shape_that_is_merely_subadditive_costs_twice_beyond_its_end() -> None:
    height = gone_on(steps_of_four, 10)
    assert all(
        steps_of_four(x + y) <= steps_of_four(x) + steps_of_four(y)
        for x, y in product(range(11), range(11))
        if x + y <= 10
    )
    assert max(costs(height, 10, moved) / height(moved) for moved in range(1, 11)) >= 2


def test_a_concave_shape_costs_what_it_says_within_and_beyond_its_end() -> None:
    height = gone_on(concave, 12)
    assert all(costs(height, 12, moved) <= height(moved) for moved in range(1, 13))
    noise = ConcaveNoise((4, 12), (Fraction(1, 2), Fraction(1, 4)))
    assert all(noise.at(far) == height(far) for far in range(50))


def test_shapes_that_are_not_concave_cannot_be_made() -> None:
    rising = (Fraction(1, 4), Fraction(1, 2))
    with pytest.raises(ValueError, match="do not rise"):
        ConcaveNoise((4, 12), rising)
    with pytest.raises(ValueError, match="does not rise"):
        ConcaveNoise((12,), (Fraction(0),))


def loss_of_drawing(noise: ConcaveNoise, *, zero_below_zero: bool) -> float:
    """Return the largest log-ratio between noise and itself moved by 1, for a sign and a size from 0 on."""
    weights: dict[int, float] = defaultdict(float)
    for sign, size in product((1, -1), range(3 * noise.ends[-1])):
        if size or sign > 0 or zero_below_zero:
            weights[sign * size] += math.exp(-noise.at(size))
    inner = range(-2 * noise.ends[-1], 2 * noise.ends[-1])
    return max(abs(math.log(weights[output] / weights[output - 1])) for output in inner)


def test_a_zero_that_is_drawn_with_either_sign_would_cost_ln_2_whatever_was_promised() -> None:
    noise = ConcaveNoise((100,), (Fraction(1, 1000),))
    assert loss_of_drawing(noise, zero_below_zero=False) <= noise.at(1) + TOLERANCE
    assert loss_of_drawing(noise, zero_below_zero=True) > math.log(2) - 0.002 > 600 * noise.at(1)
