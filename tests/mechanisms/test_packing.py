"""The certified optimum of small joins: results that use up to three records, of one table or of several."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.mechanisms._packing import Alike, Packing, Parts, largest_sum

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
    parts = Parts.of(program)
    lower = parts.by_kind(program.feasible(np.array(chosen[: len(program.counts)])))
    upper = program.bounds(np.array(prices), parts)
    assert all(0 <= low <= high for low, high in zip(lower, upper, strict=True))


@given(found=results, allowed=allowances, chosen=st.lists(st.floats(-1, 3), min_size=14, max_size=14))
def test_any_amounts_are_mended_into_amounts_within_the_allowances(
    found: list[set[int]], allowed: list[int], chosen: list[float]
) -> None:
    program = packing(found, allowed)
    amounts = program.feasible(np.array(chosen[: len(program.counts)]))
    for kind, amount in enumerate(amounts):
        assert 0 <= amount <= int(program.counts[kind]) << 54
    for record in range(RECORDS):
        used = sum(amount for kind, amount in enumerate(amounts) if record in program.uses[kind])
        assert used * STEPS <= allowed[record] << 54


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


class FarOff(Packing):
    """As if the solver said nothing useful."""

    def _solved(self, method: str, tolerance: float) -> tuple[Any, Any] | None:
        assert method.startswith("highs")
        assert tolerance < 1e-8
        return np.zeros(len(self.counts)), np.ones(len(self.allowances))


class Failing(Packing):
    """As if the solver failed."""

    def _solved(self, method: str, tolerance: float) -> tuple[Any, Any] | None:  # noqa: ARG002
        return None


@pytest.mark.parametrize("solver", [FarOff, Failing])
@given(found=results, allowed=allowances, record=st.integers(0, RECORDS - 1))
def test_whatever_a_solver_does_the_value_is_within_the_slack_of_the_optimum(
    solver: type[Packing], found: list[set[int]], allowed: list[int], record: int
) -> None:
    """So a solver that fails for one of two neighbours shows nothing but what the slack covers."""
    well = packing(found, allowed)
    badly = solver(well.uses, well.counts, well.allowances, well.steps)
    assert abs(badly.most(2) - well.most(2)) <= 2
    without = packing([result for result in found if record not in result], allowed)
    assert -2 <= badly.most(2) - without.most(2) <= allowed[record] + 2


@given(found=results, allowed=allowances)
def test_in_fractions_the_optimum_is_what_the_solver_encloses(
    found: list[set[int]], allowed: list[int]
) -> None:
    program = packing(found, allowed)
    limits = [(int(count) * STEPS, [kind]) for kind, count in enumerate(program.counts)]
    limits += [(allowed[r], [k for k, uses in enumerate(program.uses) if r in uses]) for r in range(RECORDS)]
    optimum = largest_sum(len(program.counts), limits)
    assert optimum <= program.most(1) <= optimum + 1


def test_a_program_with_ties_everywhere_ends_in_fractions() -> None:
    """All triples of seven records, each of which may be used once: 7/3 results."""
    triples = list(combinations(range(7), 3))
    limits = [(1, [place]) for place in range(len(triples))]
    limits += [(1, [place for place, triple in enumerate(triples) if r in triple]) for r in range(7)]
    limits += [(0, [0, 1]), (0, [2])]
    assert largest_sum(len(triples), limits) == Fraction(7, 3)


@pytest.mark.parametrize("records", [300, 430, 3000])
def test_many_busy_records_are_cut_to_the_step(records: int) -> None:
    """Whether there is an answer does not depend on how many records there are."""
    steps = 1 << 20
    program = Packing(
        np.arange(records).reshape(-1, 1),
        np.full(records, 10_000),
        np.full(records, 5000 * steps + 1, dtype=np.int64),
        steps,
    )
    optimum = records * (5000 * steps + 1)
    assert optimum <= program.most(2) <= optimum + 2


def clique(nodes: int, allowed: list[int]) -> Packing:
    """Return the program of a clique's triangles; allowances are dealt out to the edges in turn."""
    place = {pair: number for number, pair in enumerate(combinations(range(nodes), 2))}
    rows = [[place[a, b], place[a, c], place[b, c]] for a, b, c in combinations(range(nodes), 3)]
    given = np.array([allowed[number % len(allowed)] for number in range(len(place))], dtype=np.int64)
    return Packing.of(np.array(rows, dtype=np.int64), np.ones(len(place), dtype=bool), given, STEPS)


@pytest.mark.parametrize("nodes", [5, 12, 90])
def test_all_edges_of_a_clique_are_alike_and_solved_for_as_one(nodes: int) -> None:
    """So a clique of 90 nodes, with 117,480 triangles, is one variable and one limit."""
    program = clique(nodes, [3 * STEPS + 1])
    alike = Alike.of(program)
    merged, sizes = alike.merged(program)
    assert len(merged.counts) == len(merged.allowances) == 1
    assert sizes.tolist() == [len(program.counts)]
    edges = nodes * (nodes - 1) // 2
    optimum = Fraction(edges * min(3 * STEPS + 1, (nodes - 2) * STEPS), 3)
    assert optimum <= program.most(2) <= optimum + 2


class Apart(Alike):
    """As if no two kinds were alike."""

    @classmethod
    def of(cls, packing: Packing) -> Alike:
        return Alike(np.arange(len(packing.counts)), np.arange(len(packing.allowances)))


class Confused(Alike):
    """As if hashes met by chance: all records have one colour, and all kinds."""

    @classmethod
    def of(cls, packing: Packing) -> Alike:
        return Alike(np.zeros_like(packing.counts), np.zeros_like(packing.allowances))


@pytest.mark.parametrize("twin", [Apart, Confused])
@given(
    found=results, allowed=st.lists(st.sampled_from([STEPS // 3, STEPS, 2 * STEPS]), min_size=6, max_size=6)
)
def test_however_kinds_are_merged_the_value_is_within_the_slack_of_the_optimum(
    twin: type[Alike], found: list[set[int]], allowed: list[int]
) -> None:
    program = packing(found, allowed)
    merged = program.most(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prdp.mechanisms._packing.Alike", twin)
        assert abs(program.most(1) - merged) <= 1


@given(found=results, allowed=st.lists(st.sampled_from([0, STEPS, 3 * STEPS]), min_size=6, max_size=6))
def test_kinds_of_one_colour_see_the_same_colours(found: list[set[int]], allowed: list[int]) -> None:
    """The partition is equitable, by which averages over colours keep every limit."""
    program = packing(found, allowed)
    alike = Alike.of(program)
    colour = [*alike.of_record.tolist(), -1]
    kinds = [tuple(sorted(colour[record] for record in uses)) for uses in program.uses.tolist()]
    by_kind: dict[int, set[Any]] = {}
    for kind, seen in enumerate(kinds):
        by_kind.setdefault(int(alike.of_kind[kind]), set()).add((seen, int(program.counts[kind])))
    by_record: dict[int, set[Any]] = {}
    for record in range(RECORDS):
        users = [int(alike.of_kind[k]) for k, uses in enumerate(program.uses.tolist()) if record in uses]
        by_record.setdefault(colour[record], set()).add((tuple(sorted(users)), allowed[record]))
    assert all(len(seen) == 1 for seen in (*by_kind.values(), *by_record.values()))
