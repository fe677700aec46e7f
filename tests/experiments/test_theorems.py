"""The theorems' numbers: rates that are computed are those that are drawn, and a leak is what it must be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.paper.theorems import early_local_stop, early_stop, one_for_all, straw_man
from experiments.yardsticks import slope


def test_early_stops_happen_as_often_as_computed() -> None:
    random, runs, domains, empty = np.random.default_rng(0), 40_000, 34, 22
    noises = random.laplace(0, 1, (runs, empty))
    found = float((noises >= math.log(domains / 0.1)).any(axis=1).mean())
    assert abs(found - early_stop(empty, domains)) < 4 * math.sqrt(found / runs)
    assert early_stop(empty, domains) < 0.1 / 2


@pytest.mark.parametrize("clients", [10, 1000])
def test_the_bound_of_early_local_stops_is_one(clients: int) -> None:
    """A lower threshold, so that it happens at all: Chernoff's bound is above what is drawn."""
    random, runs = np.random.default_rng(0), 20_000
    sums = random.gamma(clients, 1, runs) - random.gamma(clients, 1, runs)
    domains = 1.0  # ln(1/β) = 2.3: 6.5 √n
    found = float((sums >= math.sqrt(8 * clients) * math.log(domains / 0.1)).mean())
    assert found <= early_local_stop(1, 1, clients) < 0.01
    assert early_local_stop(22, 34, clients) < 1e-6


def test_the_clipping_straw_man_costs_the_clip_s_budget_whatever_the_record_s_own() -> None:
    found = straw_man((100, 10_000, 50_000, 10**9))
    np.testing.assert_allclose(found["lost"], [0.01, 1, 1, 1], rtol=1e-9)
    np.testing.assert_array_equal(found["lost"] > found["owed"] * (1 + 1e-9), [False, False, True, True])


def test_the_local_count_grows_as_the_bound_with_one_budget_for_all() -> None:
    sizes = tuple(("n", float(n), 1e12, n) for n in (100_000, 400_000, 1_600_000))
    found = one_for_all(sizes, 400, 0)
    steep, _ = slope(list(zip(found["x"].tolist(), found["absolute"].tolist(), strict=True)))
    assert abs(steep - 0.5) < 0.1
