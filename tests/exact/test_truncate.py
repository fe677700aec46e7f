"""truncate on every graph with five nodes: what is cut, what is chosen by, and what is released."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import numpy as np
import pytest

from prdp.cells.edges import Pairs
from prdp.graphs.results import CutStars, FixedWeights, Packed
from prdp.levels import Levels
from prdp.mechanisms._packing import Packing
from prdp.mechanisms._threshold import PointFinder, Tuning, evidence
from prdp.mechanisms.truncate import CutCandidates, Truncate, Truncation, candidate_points
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Law, Noisy
from prdp.release.raw_answer import Answer
from prdp.testing.exact_loss import TOLERANCE, largest_log_ratio
from prdp.testing.mechanism_contract import untied
from tests.exact.graphs import LEVELS, PLACES, graph, listed_triangles, neighbours, quanta

STEPS = 64


@pytest.fixture(scope="module", autouse=True)
def _programs_are_solved_once() -> Iterator[None]:
    """Many graphs differ only in edges that are in no triangle, and lead to the very same linear program."""
    solve, solved = Packing.most, dict[object, int]()

    def once(packing: Packing, slack: int) -> int:
        arrays = (packing.uses, packing.counts, packing.allowances)
        program = (*((array.shape, array.tobytes()) for array in arrays), packing.steps, slack)
        if program not in solved:
            solved[program] = solve(packing, slack)
        return solved[program]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Packing, "most", once)
        yield


def triangles(form: type[Packed], pairs: Pairs, steps: int) -> Packed:
    return form(pairs.levels, pairs.level, listed_triangles(pairs), pairs.nodes - 2, steps)


FORMS: dict[str, Callable[[Pairs], Truncation]] = {
    "paths": lambda pairs: CutStars(pairs, 2, STEPS),
    "stars": lambda pairs: CutStars(pairs, 3, STEPS),
    "triangles": lambda pairs: triangles(Packed, pairs, 1 << 16),
    "triangles at public weights": lambda pairs: triangles(FixedWeights, pairs, STEPS),
}


def sample(truncation: Truncation) -> list[Fraction]:
    """Return some points of the candidates: where all is cut, where some is, where nothing is."""
    points = candidate_points(truncation, 1)
    return [points[0] / 3, *points[1 :: len(points) // 4 + 1], points[-1]]


@cache
def values(form: str, edges: int, nodes: int, shift: int) -> tuple[list[Fraction], list[int], list[int]]:
    truncation = FORMS[form](graph(edges, nodes=nodes, shift=shift))
    points = sample(truncation)
    return points, [truncation.value(point) for point in points], [truncation.slack(p) for p in points]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("nodes", "shift"), [(5, 0), (7, 3)])
def test_adding_an_edge_raises_the_cut_count_by_at_most_its_allowance(
    form: str, nodes: int, shift: int
) -> None:
    for edges, more, place in neighbours():
        points, before, slack = values(form, edges, nodes, shift)
        _, after, _ = values(form, more, nodes, shift)
        for point, one, other, spare in zip(points, before, after, slack, strict=True):
            assert -spare <= other - one <= quanta(place, shift=shift) * point + spare, (edges, place, point)


@pytest.mark.parametrize("size", [2, 3])
def test_nodes_without_edges_cost_no_work_and_change_no_count(size: int) -> None:
    for edges in range(0, 1 << 10, 31):
        few, many = (CutStars(graph(edges, nodes=nodes), size, STEPS) for nodes in (5, 1_000_000))
        for point in sample(few):
            assert many.value(point) == few.value(point)
        assert len(many._touched[0].degrees) <= 5


@pytest.mark.parametrize("form", FORMS)
def test_with_room_enough_nothing_is_cut(form: str) -> None:
    for edges in range(0, 1 << 10, 7):
        pairs = graph(edges)
        truncation = FORMS[form](pairs)
        last = candidate_points(truncation, 1)[-1]
        degrees = pairs.degrees().tolist()
        true = {
            "paths": sum(comb(degree, 2) for degree in degrees),
            "stars": sum(comb(degree, 3) for degree in degrees),
        }.get(form, listed_triangles(pairs).total())
        assert truncation.value(last) == true * truncation.steps


def test_the_cut_at_a_node_is_the_least_over_all_sets_of_edges_given_up() -> None:
    """By brute force: give up any set of edge ends, pay their allowances, count what is left."""
    for edges in (0b1111, 0b1011111, 0b1111111111, 0b110101):
        pairs = graph(edges, shift=1)
        for size in (2, 3):
            stars = CutStars(pairs, size, STEPS)
            for point in candidate_points(stars, 3):
                assert stars.value(point) == sum(_least(pairs, node, size, point) for node in range(5))


def _least(pairs: Pairs, node: int, size: int, point: Fraction) -> int:
    here = [
        int(level) for end in pairs.ends for at, level in zip(end, pairs.level, strict=True) if at == node
    ]
    allowances = [int(pairs.levels.quanta(level) * point / 2) for level in here]
    return min(
        sum(allowances[place] for place in range(len(here)) if chosen >> place & 1)
        + STEPS * comb(len(here) - chosen.bit_count(), size)
        for chosen in range(1 << len(here))
    )


# What a point is chosen by, over all graphs with five nodes.

LATTICE = 1 << 14
Ladders = Callable[[Pairs], tuple[int, ...]]


def looked_at(form: str) -> Ladders:
    return lambda pairs: CutCandidates(FORMS[form](pairs), Fraction(1)).masses(4, LATTICE)


def worst_moves(masses: Ladders, within: int = 0b1111111111) -> tuple[float, float]:
    """Return by how much adding an edge lowers and raises a mass at most, in parts of the edge's own."""
    kept = {edges: masses(graph(edges)) for edges in range(1 << 10) if not edges & ~within}
    down = up = 0.0
    for edges, more, place in neighbours(within):
        own = quanta(place) // LATTICE
        moves = [after - before for before, after in zip(kept[edges], kept[more], strict=True)]
        down, up = min(down, min(moves) / own), max(up, max(moves) / own)
    return down, up


@pytest.mark.parametrize("form", FORMS)
def test_adding_an_edge_moves_each_point_s_mass_by_between_minus_half_and_one_of_its_budget(
    form: str,
) -> None:
    down, up = worst_moves(looked_at(form))
    assert down >= -0.5
    assert up <= 1


def test_a_choice_by_clipped_budget_mass_is_caught() -> None:
    """One edge at a star lifts the loads of all its neighbours over their allowance at once."""
    assert worst_moves(lambda pairs: clipped_masses(pairs, 4, LATTICE))[1] > 1.5


def clipped_masses(pairs: Pairs, stride: int, lattice: int) -> tuple[int, ...]:
    """Return the budget mass of the edges that are part of more paths than each point allows."""
    loads = pairs.degrees()[pairs.ends].sum(axis=0) - 2
    own = [LEVELS.quanta(int(level)) for level in pairs.level]
    return tuple(
        sum(q // lattice for q, load in zip(own, loads, strict=True) if load * STEPS > q * point)
        for point in candidate_points(CutStars(pairs, 2, STEPS), stride)
    )


# Wrong ways to cut.


@dataclass(frozen=True, slots=True)
class Unsplit(CutStars):
    """Gives each end of an edge the whole allowance."""

    def value(self, per_quantum: Fraction) -> int:
        return super(Unsplit, self).value(2 * per_quantum)


@dataclass(frozen=True, slots=True)
class DropsOverloaded(CutStars):
    """Leaves out the edges that are part of more paths than they may be."""

    def value(self, per_quantum: Fraction) -> int:
        loads = self.pairs.degrees()[self.pairs.ends].sum(axis=0) - 2
        caps = np.array([int(self.levels.quanta(int(level)) * per_quantum) for level in self.pairs.level])
        kept = loads * self.steps <= caps
        left = Pairs(self.levels, self.pairs.nodes, self.pairs.ends[:, kept], self.pairs.level[kept])
        return sum(comb(int(degree), 2) for degree in left.degrees()) * self.steps


@pytest.mark.parametrize("wrong", [Unsplit, DropsOverloaded])
def test_a_wrong_way_to_cut_is_caught(wrong: type[CutStars]) -> None:
    excess: list[Fraction] = []
    kept = [wrong(graph(edges), 2, STEPS) for edges in range(1 << 10)]
    for edges, more, place in neighbours():
        before, after = kept[edges], kept[more]
        for point in sample(before):
            move = after.value(point) - before.value(point)
            excess.append(max(move - quanta(place) * point, Fraction(-move)))
    assert max(excess) > STEPS / 8


# The whole law: every output's probability, with a coarse lattice.

CHOICE_PART, ANSWER_PART = Fraction(36, 100), Fraction(54, 100)
TUNING = Tuning(CHOICE_PART, ANSWER_PART, fall=Fraction(1), stride=2)
FINDER = PointFinder(
    gate=Fraction(1, 10),
    tunings=((5, TUNING), (None, replace(TUNING, fall=Fraction(2), stride=4))),
    gate_bits=5,
)
MECHANISM = Truncate(FINDER)
FOUR_NODES = sum(1 << place for place, pair in enumerate(PLACES) if 4 not in pair)


def worst_part(law: Callable[[Pairs, Fraction], Any], part: Fraction, share: Fraction = Fraction(1)) -> float:
    """Return by how much some edge's loss passes its part of its share of its budget."""
    laws = {edges: law(graph(edges), share) for edges in range(1 << 10) if not edges & ~FOUR_NODES}
    promised = [float(part * share * quanta(place) * LEVELS.quantum) for place in range(10)]
    excess = [
        largest_log_ratio(laws[edges], laws[more]) - promised[place]
        for edges, more, place in neighbours(FOUR_NODES)
    ]
    return max(excess)


def truncated(form: str) -> Callable[[Pairs, Fraction], Gated]:
    return lambda pairs, share: MECHANISM.law(FORMS[form](pairs), share)


@pytest.mark.parametrize("form", ["paths", "stars"])
@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3)])
def test_no_edge_loses_more_than_its_share_of_its_budget(form: str, share: Fraction) -> None:
    """On all graphs of four nodes out of five: the fifth is public and absent."""
    assert worst_part(truncated(form), Fraction(1), share) <= TOLERANCE


def test_no_triangle_gives_an_edge_away() -> None:
    def law(pairs: Pairs, share: Fraction) -> Gated:
        return MECHANISM.law(triangles(Packed, pairs, 1 << 9), share)

    assert worst_part(law, Fraction(1)) <= TOLERANCE


def test_a_release_with_noise_15_percent_too_small_is_caught() -> None:
    def quiet(pairs: Pairs, share: Fraction) -> Noisy:
        right = MECHANISM.totals(FORMS["paths"](pairs), share)(TUNING, 7)
        return Noisy(right.values, (DiscreteLaplace(right.noises[0].scale * Fraction(85, 100)),))

    def right(pairs: Pairs, share: Fraction) -> Noisy:
        return MECHANISM.totals(FORMS["paths"](pairs), share)(TUNING, 7)

    assert worst_part(right, ANSWER_PART) <= TOLERANCE
    assert worst_part(quiet, ANSWER_PART) > 0.001


def test_the_choice_keeps_to_its_part_and_that_by_clipped_mass_does_not() -> None:
    def right(pairs: Pairs, share: Fraction) -> Law:
        candidates = CutCandidates(FORMS["paths"](pairs), share)
        weight = evidence(candidates, share, TUNING) * LEVELS.quantum
        return FINDER.choice(candidates.masses(2, 1), weight, TUNING, candidates.heights(2))

    def wrong(pairs: Pairs, share: Fraction) -> Law:
        candidates = CutCandidates(FORMS["paths"](pairs), share)
        weight = evidence(candidates, share, TUNING) * LEVELS.quantum
        return FINDER.choice(clipped_masses(pairs, 2, 1), weight, TUNING, candidates.heights(2))

    assert worst_part(right, CHOICE_PART) <= TOLERANCE
    assert worst_part(wrong, CHOICE_PART) > 0.1


def test_a_lattice_that_is_too_coarse_tells_nothing() -> None:
    pairs = graph(0b1111111111, levels=Levels(Fraction(8), Fraction(32)))
    assert len(set(CutCandidates(CutStars(pairs, 2, STEPS), Fraction(1)).masses(4, 1 << 17))) == 1


# What callers get.


def shown_in_words(pairs: Pairs, entropy: Entropy, runs: int) -> list[Answer]:
    """Say the true number of edges beside the answer."""
    right = MECHANISM.answers(FORMS["paths"](pairs), Fraction(1), entropy, runs)
    return [replace(answer, choices=(("edges", str(len(pairs.level))),)) for answer in right]


def uncut(pairs: Pairs, entropy: Entropy, runs: int) -> list[Answer]:
    """Say the noise of the law on a count that was not cut."""
    truncation = FORMS["paths"](pairs)
    whole = truncation.value(candidate_points(truncation, 1)[-1])
    return [
        replace(answer, steps=whole) for answer in MECHANISM.answers(truncation, Fraction(1), entropy, runs)
    ]


@pytest.mark.parametrize("form", ["paths", "stars", "triangles at public weights"])
def test_answers_say_what_is_drawn_from_the_law_and_nothing_else(form: str) -> None:
    def answers(pairs: Pairs, entropy: Entropy, runs: int) -> list[Answer]:
        return MECHANISM.answers(FORMS[form](pairs), Fraction(1), entropy, runs)

    assert not told_otherwise(form, answers)


@pytest.mark.parametrize("wrong", [shown_in_words, uncut])
def test_answers_that_do_not_follow_from_the_law_are_caught(
    wrong: Callable[[Pairs, Entropy, int], list[Answer]],
) -> None:
    assert told_otherwise("paths", wrong)


def told_otherwise(form: str, answers: Callable[[Pairs, Entropy, int], list[Answer]]) -> str:
    """Return how answers differ from draws of the law, on some graphs."""
    law = truncated(form)
    graphs = [graph(edges) for edges in (0b0, 0b1, 0b11, 0b111, 0b1111111111)]
    return untied(graphs, lambda pairs: law(pairs, Fraction(1)), answers, runs=1_000, seed=5)
