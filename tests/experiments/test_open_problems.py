"""The first results on open problems: trees, restarts whose losses add up, and a bound that holds."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prdp
from experiments.datasets import normal
from experiments.joins.email_graph import graph
from experiments.open_problems.sja_bound import oracle
from experiments.open_problems.streams import (
    Stream,
    counts,
    errors_of,
    heavy_from,
    losses,
    node_scale,
    restarts,
    tree_noise,
)
from experiments.problem import Problem
from prdp.mechanisms.smooth import two_paths
from prdp.testing import simulate
from prdp.testing.truth import raw_cells

DATA = normal("stream", 50_000, size=5_000)


def stream(steps: int) -> Stream:
    return Stream(Problem(DATA, question="count"), np.arange(DATA.values.size) % steps, steps)


def test_a_prefix_has_the_noise_of_as_many_nodes_as_it_has_binary_digits() -> None:
    random = np.random.default_rng(0)
    drawn = np.array([tree_noise(16, random) for _ in range(4000)])
    ones = np.array([step.bit_count() for step in range(1, 17)])
    np.testing.assert_allclose(drawn.var(axis=0), 2 * ones, rtol=0.25)


@pytest.mark.parametrize("steps", [1, 7, 16, 100])
def test_a_record_is_in_no_more_nodes_than_its_noise_is_for(steps: int) -> None:
    """Every node of every prefix, listed by hand: an interval of 2^k steps from a multiple of 2^k on."""
    nodes = {(k, start) for k in range(steps.bit_length()) for start in range(0, steps, 1 << k)}
    for step in range(steps):
        assert sum(start <= step < start + (1 << k) for k, start in nodes) <= node_scale(steps)


@given(st.lists(st.integers(0, 33), min_size=1, max_size=60))
def test_restarts_cost_less_than_half_of_any_budget(domains: list[int]) -> None:
    first = np.minimum.accumulate(np.array(domains))
    assert max(losses(stream(4), first, 0.25)) < 0.5
    assert all(later < sooner for sooner, later in pairwise(restarts(first)))


def test_without_taking_the_least_so_far_restarts_could_cost_more() -> None:
    """The twin: ε_τ that rises again, and an instance for each time that it changes."""
    up_and_down = np.array([20, 19] * 5)
    spent = sum(0.25 * stream(4).floors[domain] for domain in up_and_down) / stream(4).floors[20]
    assert spent > 0.5


def test_the_first_heavy_domain_never_rises() -> None:
    noisy = np.array([[0.0, 9.0, 9.0], [9.0, 0.0, 0.0], [0.0, 0.0, 9.0]])
    assert heavy_from(noisy, np.ones(3), 0.1).tolist() == [1, 0, 0]


def test_a_count_on_a_stream_comes_close_to_the_truth() -> None:
    data = normal("stream", 5_000, size=20_000)
    problem = Problem(data, question="count", largest=10**6)
    arriving = Stream(problem, np.arange(20_000) % 8, 8)
    found, _ = counts(arriving, 1.0, np.random.default_rng(1))
    errors = errors_of(arriving, found)
    assert errors[-1] == pytest.approx(100 * abs(found[-1] / 20_000 - 1))
    assert errors[3] == pytest.approx(100 * abs(found[3] / 10_000 - 1))
    assert errors[-1] < 5


def test_the_oracle_bounds_the_mean_error_at_its_best_candidate_and_the_default_is_near() -> None:
    opened = graph(None)
    (pairs,) = raw_cells(opened, opened.plan(prdp.graphs.edges(), 1))
    best, cut = oracle(pairs, Fraction(1))
    assert 0 <= cut < best
    releases = simulate(opened, prdp.graphs.paths(2), share=1, runs=30, seed=1)
    errors = [abs(float(release.exact) - two_paths(pairs)) for release in releases]
    assert best / 2 < np.mean(errors) < 4 * best
