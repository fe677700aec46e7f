"""The smooth bound on every graph with five nodes, and every output's probability under its noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from prdp.cells.edges import Pairs
from prdp.grids import PER_OCTAVE
from prdp.levels import Levels
from prdp.mechanisms._domain import DomainFinder
from prdp.mechanisms.smooth import (
    STEEPNESS,
    Smooth,
    _beta,
    largest_change,
    most_change,
    noise_per_bound,
    precision,
    smooth_bound,
    two_paths,
)
from prdp.noise.entropy import Entropy
from prdp.noise.quartic import Quartic, _inside, _rounded
from prdp.testing.exact_loss import TOLERANCE, largest_log_ratio
from prdp.testing.mechanism_contract import untied
from tests.exact.graphs import LEVELS, graph, neighbours, quanta

EVERY = range(1 << 10)
Change = Callable[[Pairs], int]


def over_the_data_s_nodes(pairs: Pairs) -> int:
    """Wrong: look at nodes that have edges only."""
    degrees = pairs.degrees()
    there = np.flatnonzero(degrees)
    joined = pairs.among(there)
    changes = [
        int(degrees[u] + degrees[w]) - 2 * ((int(u), int(w)) in joined) for u in there for w in there if u < w
    ]
    return max(changes, default=0)


def two_largest_degrees(pairs: Pairs) -> int:
    """Wrong: D1 + D2, whether or not the two are joined."""
    ranked = np.sort(pairs.degrees())
    return int(ranked[-1] + ranked[-2])


def most_jump(change: Change, nodes: int) -> int:
    """Return by how much an edge changes it at most."""
    kept = [change(graph(edges, nodes=nodes)) for edges in EVERY]
    return max(abs(kept[edges] - kept[more]) for edges, more, _ in neighbours())


@pytest.mark.parametrize("nodes", [5, 6, 9])
def test_an_edge_changes_the_largest_change_by_at_most_1(nodes: int) -> None:
    assert most_jump(largest_change, nodes) == 1


@pytest.mark.parametrize("wrong", [over_the_data_s_nodes, two_largest_degrees])
def test_a_bound_that_jumps_is_caught(wrong: Change) -> None:
    assert most_jump(wrong, 5) > 1


@pytest.mark.parametrize("nodes", [5, 7])
def test_no_edge_changes_the_count_by_more_than_the_largest_change(nodes: int) -> None:
    paths = [two_paths(graph(edges, nodes=nodes)) for edges in EVERY]
    for edges, more, _ in neighbours():
        moved = paths[more] - paths[edges]
        assert 0 <= moved <= min(largest_change(graph(which, nodes=nodes)) for which in (edges, more))
        assert moved <= most_change(nodes)


def test_the_largest_change_is_what_some_pair_of_public_nodes_would_change() -> None:
    """By looking at all pairs, two isolated nodes among them."""
    for edges in EVERY:
        pairs = graph(edges, nodes=5)
        degrees = [*pairs.degrees().tolist(), 0, 0]
        joined = {tuple(sorted(map(int, pair))) for pair in pairs.ends.T}
        every = [degrees[u] + degrees[w] - 2 * ((u, w) in joined) for u in range(7) for w in range(u + 1, 7)]
        assert largest_change(pairs) == max(every)


@pytest.mark.parametrize("exponent", [-150, -8, 0, 3, 7, 40, 150])
def test_the_bound_is_written_in_few_bits_whatever_the_budget(exponent: int) -> None:
    """Small budgets need as many as there are zeros in them, and large ones no more than a cap says."""
    zeros = max(0, -exponent) * math.log2(10)
    assert precision(_beta(Fraction(10) ** exponent)) <= zeros + 200


@pytest.mark.parametrize("budget", [Fraction(1, 50), Fraction(1), Fraction(20), Fraction(10**12)])
@pytest.mark.parametrize("nodes", [5, 40])
def test_the_bound_is_smooth_and_above_every_k(budget: Fraction, nodes: int) -> None:
    most = most_change(nodes)
    beta = float(budget / 6)
    bounds = [smooth_bound(change, most, budget) for change in range(most + 3)]
    for change, bound in enumerate(bounds):
        falling = float(_beta(budget))
        exact = max(math.exp(-falling * k) * min(change + k, most) for k in range(2 * most + 2000))
        assert exact * (1 - 1e-12) <= bound <= exact * (1 + 1e-9)
    for one, other in pairwise(bounds):
        assert abs(math.log(other / one)) <= beta


def test_the_noise_is_as_steep_as_it_says() -> None:
    """The logarithm of the density falls by at most 3^(3/4) a unit, and by 3 at most a unit of log-scale."""
    z = np.linspace(0, 50, 200_001)
    slope = 4 * z**3 / (1 + z**4)
    assert float(STEEPNESS) * (1 - 1e-6) <= slope.max() <= float(STEEPNESS)
    assert (z * slope - 1).max() <= 3


# Every output's probability.


def log_ratio(one: Quartic, other: Quartic) -> float:
    """Return the largest log-ratio over outputs within 400 scales, and in the limit beyond."""
    with ctx.workprec(192):
        tail_factor = int(400 * max(one.scale, other.scale)) + abs(one.value - other.value) + 100
        near = range(-60, 61)
        far = (
            sign * step
            for sign in (-1, 1)
            for step in np.unique(np.geomspace(60, tail_factor, 60).astype(int))
        )
        worst = max(
            float(abs((_probability(one, output) / _probability(other, output)).log()).upper())
            for output in (one.value + int(place) for place in (*near, *far))
        )
        return max(worst, 3 * abs(math.log(one.scale / other.scale)))


def _probability(law: Quartic, output: int) -> Any:
    ends = (Fraction(2 * (output - law.value) + side, 2) / law.scale for side in (-1, 1))
    low, high = (_cumulated(arb(fmpq(end.numerator, end.denominator))) for end in ends)
    return high - low


def _cumulated(z: Any) -> Any:
    root = arb(2).sqrt() * z
    logs = ((z * z + root + 1) / (z * z - root + 1)).log()
    return arb(1) / 2 + (logs + 2 * (root + 1).atan() + 2 * (root - 1).atan()) / (4 * arb.pi())


@cache
def quartic(paths: int, change: int, nodes: int, budget: Fraction, factor: Fraction) -> Quartic:
    return Quartic(paths, factor * noise_per_bound(budget) * smooth_bound(change, most_change(nodes), budget))


def worst_loss(
    nodes: int, budget: Fraction, factor: Fraction = Fraction(1), change: Change = largest_change
) -> float:
    """Return the largest log-ratio between neighbouring graphs' answers."""
    facts = [(two_paths(pairs), change(pairs)) for pairs in (graph(edges, nodes=nodes) for edges in EVERY)]
    different = {(facts[edges], facts[more]) for edges, more, _ in neighbours()}
    return max(
        log_ratio(quartic(*one, nodes, budget, factor), quartic(*other, nodes, budget, factor))
        for one, other in different
    )


@pytest.mark.parametrize(("nodes", "budget"), [(5, Fraction(1)), (12, Fraction(1, 2)), (12, Fraction(6))])
def test_no_output_says_more_than_the_budget_allows(nodes: int, budget: Fraction) -> None:
    assert worst_loss(nodes, budget) <= float(budget) + TOLERANCE


def test_some_edge_comes_close_to_what_it_may_lose() -> None:
    assert worst_loss(5, Fraction(1)) > 0.8


def test_wrong_twins_are_caught() -> None:
    """The bound has some room of its own, so that noise by a third too small is the least that shows."""
    assert worst_loss(5, Fraction(1), factor=Fraction(2, 3)) > 1.01
    assert worst_loss(5, Fraction(1), change=over_the_data_s_nodes) > 1.01
    assert worst_loss(5, Fraction(1), change=two_largest_degrees) > 1.01


def test_the_domain_and_the_count_together_keep_the_promise() -> None:
    """Stage one on its noisy counts, stage two at the domain it finds: on all graphs with five nodes."""
    share = Fraction(1)
    mechanism = Smooth(DomainFinder.over(LEVELS))
    laws = [mechanism.finder.law(graph(edges).summary(), mechanism.search * share) for edges in EVERY]
    counts = [[mechanism.law(graph(edges), share, domain) for domain in (1, 2)] for edges in EVERY]
    kept: dict[tuple[Quartic, Quartic], float] = {}
    for edges, more, place in neighbours(0b1111011111):
        promised = float(share * quanta(place) * LEVELS.quantum)
        first = largest_log_ratio(laws[edges], laws[more])
        assert first <= promised / 4 + TOLERANCE
        for pair in zip(counts[edges], counts[more], strict=True):
            if pair not in kept:
                kept[pair] = log_ratio(*pair) if pair[0] != pair[1] else 0.0
            assert first + kept[pair] <= promised + TOLERANCE


# What callers get.

WIDE = Levels(Fraction(64), Fraction(512))
MECHANISM = Smooth(DomainFinder.over(WIDE))
Drawn = Callable[[Pairs, Entropy, int], list[tuple[int, int, Fraction]]]


@dataclass(frozen=True, slots=True)
class DomainThenCount:
    """The law of an answer: stage one's noisy counts, and the noisy count at the domain they point to."""

    pairs: Pairs

    def draw(self, entropy: Entropy, runs: int) -> list[tuple[int, int]]:
        share = MECHANISM.search
        counts = MECHANISM.finder.law(self.pairs.summary(), share)
        domains = [MECHANISM.finder.rule(counts)(noisy) + 1 for noisy in counts.draw(entropy, runs)]
        return [
            (domain, MECHANISM.law(self.pairs, Fraction(1), domain).draw(entropy, 1)[0]) for domain in domains
        ]


def right(pairs: Pairs, entropy: Entropy, runs: int) -> list[tuple[int, int, Fraction]]:
    return MECHANISM.draws(pairs, Fraction(1), entropy, runs)


def with_its_own_scale(pairs: Pairs, entropy: Entropy, runs: int) -> list[tuple[int, int, Fraction]]:
    """Say the scale that the noise had, which depends on the graph, instead of the largest possible."""
    return [
        (count, domain, MECHANISM.law(pairs, Fraction(1), domain).scale)
        for count, domain, _ in right(pairs, entropy, runs)
    ]


def noise_free(pairs: Pairs, entropy: Entropy, runs: int) -> list[tuple[int, int, Fraction]]:
    return [(two_paths(pairs), domain, scale) for _, domain, scale in right(pairs, entropy, runs)]


def told_otherwise(answers: Drawn) -> str:
    graphs = [graph(edges, levels=WIDE) for edges in (0b0, 0b1, 0b11, 0b111, 0b11111)]
    return untied(graphs, DomainThenCount, answers, runs=300, seed=5)


def test_answers_say_what_is_drawn_from_the_laws_and_nothing_else() -> None:
    assert not told_otherwise(right)


@pytest.mark.parametrize("wrong", [with_its_own_scale, noise_free])
def test_answers_that_do_not_follow_from_the_laws_are_caught(wrong: Drawn) -> None:
    assert told_otherwise(wrong)


def test_edges_below_the_domain_take_no_part_in_the_count() -> None:
    levels = Levels(Fraction(1), Fraction(16))
    mechanism = Smooth(DomainFinder.over(levels))
    low = Pairs.of(levels, 5, [(0, 1, 0), (0, 2, 7)])
    high = Pairs.of(levels, 5, [(0, 3, PER_OCTAVE), (0, 4, 31)])
    both = Pairs.of(levels, 5, [(0, 1, 0), (0, 2, 7), (0, 3, PER_OCTAVE), (0, 4, 31)])
    for domain in (2, 3, 4):
        assert mechanism.law(both, Fraction(1), domain) == mechanism.law(high, Fraction(1), domain)
    assert mechanism.law(both, Fraction(1), 1).value == 6
    assert mechanism.law(low, Fraction(1), 2).value == 0


@given(
    x=st.integers(0, 2**12 - 1),
    y=st.integers(0, 2**12 - 1),
    more=st.tuples(st.integers(0, 2**9 - 1), st.integers(0, 2**9 - 1)),
    scale=st.fractions(Fraction(1, 100), Fraction(1000)),
)
def test_more_bits_never_change_what_was_decided(
    x: int, y: int, more: tuple[int, int], scale: Fraction
) -> None:
    longer = (x << 9 | more[0], y << 9 | more[1])
    if (decided := _inside(x, y, 12)) is not None:
        assert _inside(*longer, 21) in (decided, None)
    if (rounded := _rounded(scale, x, y)) is not None:
        assert _rounded(scale, *longer) in (rounded, None)
        assert rounded == math.floor(scale * longer[0] / longer[1] + Fraction(1, 2))
