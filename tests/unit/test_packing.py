"""The certified optimum of small joins: results that use up to three records, of one table or of several."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.errors import EngineFailure
from prdp.mechanisms._packing import Packing

STEPS = 1 << 12
RECORDS = 6

results = st.lists(st.sets(st.integers(0, RECORDS - 1), min_size=1, max_size=3), max_size=14)
allowances = st.lists(st.integers(0, 4 * STEPS), min_size=RECORDS, max_size=RECORDS)


def packing(found: list[set[int]], allowed: list[int]) -> Packing:
    """Return the program over all records, each as if it could be cut."""
    rows = np.array([sorted(result) + [RECORDS] * (3 - len(result)) for result in found], dtype=np.int64)
    bound = np.ones(RECORDS, dtype=bool)
    return Packing.of(rows.reshape(-1, 3), bound, np.array(allowed, dtype=np.int64), STEPS)


@given(found=results, allowed=allowances, record=st.integers(0, RECORDS - 1))
def test_a_record_changes_the_optimum_by_at_most_its_allowance(
    found: list[set[int]], allowed: list[int], record: int
) -> None:
    """Results go with each of their records, whichever tables these are of."""
    slack = 2
    whole = packing(found, allowed).most(slack)
    without = packing([result for result in found if record not in result], allowed).most(slack)
    assert -slack <= whole - without <= allowed[record] + slack


@given(found=results, allowed=allowances, record=st.integers(0, RECORDS - 1))
def test_what_a_scan_looks_at_moves_by_between_minus_half_and_one_allowance(
    found: list[set[int]], allowed: list[int], record: int
) -> None:
    even = [2 * (a // 2) for a in allowed]
    moves = []
    for kept in (found, [result for result in found if record not in result]):
        halved = packing(kept, [a // 2 for a in even]).most(2)
        moves.append(packing(kept, even).most(2) - halved)
    assert -even[record] // 2 - 4 <= moves[0] - moves[1] <= even[record] + 4


@given(
    found=results,
    allowed=allowances,
    prices=st.lists(st.floats(-1, 2), min_size=RECORDS, max_size=RECORDS),
    chosen=st.lists(st.floats(-1, 3), min_size=14, max_size=14),
)
def test_any_prices_bound_any_choice(
    found: list[set[int]], allowed: list[int], prices: list[float], chosen: list[float]
) -> None:
    """So the two numbers enclose the optimum, whatever a solver says."""
    program = packing(found, allowed)
    lower = program.feasible(np.array(chosen[: len(program.counts)]))
    assert 0 <= lower <= program.bound(np.array(prices))


@given(found=st.lists(st.sets(st.integers(0, 3), min_size=2, max_size=2), max_size=7), allowed=allowances)
def test_for_two_records_a_result_the_optimum_is_the_best_of_half_prices(
    found: list[set[int]], allowed: list[int]
) -> None:
    """Fractional matchings have optimal prices among 0, 1/2 and 1: all of them are tried here."""
    halves = [Fraction(0), Fraction(1, 2), Fraction(1)]
    best = min(
        sum((Fraction(allowed[r], STEPS) * p[r] for r in range(4)), Fraction(0))
        + sum((max(Fraction(0), 1 - sum(p[r] for r in result)) for result in found), Fraction(0))
        for p in ([halves[code // 3**r % 3] for r in range(4)] for code in range(81))
    )
    assert best * STEPS <= packing(found, allowed).most(2) <= best * STEPS + 2


def test_results_of_one_kind_are_collected() -> None:
    rows = np.array([row for row in combinations(range(5), 3) if 0 in row], dtype=np.int64)
    bound = np.array([True, False, False, False, False])
    program = Packing.of(rows, bound, np.full(5, 4 * STEPS, dtype=np.int64), STEPS)
    assert program.counts.tolist() == [6]
    assert program.most(1) == 4 * STEPS


def test_a_solver_that_is_far_off_is_reported_in_fixed_words() -> None:
    program = replace(packing([{0, 1}, {1, 2}], [STEPS] * RECORDS), steps=STEPS)

    class FarOff(Packing):
        def _solved(self, method: str, tolerance: float) -> tuple[Any, Any]:
            assert method.startswith("highs")
            assert tolerance < 1e-8
            return np.zeros(len(self.counts)), np.ones(len(self.allowances))

    off = FarOff(program.uses, program.counts, program.allowances, program.steps)
    with pytest.raises(EngineFailure, match="could not finish"):
        off.most(2)
