"""Notes on Tumult Core's samplers, without Tumult Core."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import prdp
from experiments.baselines.tumult.comparison import compared, our_releases
from experiments.baselines.tumult.environment import PACKAGE
from experiments.baselines.tumult.samplers import Sampler, distance_from_law, samplers
from experiments.datasets import normal

ANCHOR = 10_000
ALL = samplers(ANCHOR)
ADDITIVE = [sampler for sampler in ALL if sampler.psi]


@pytest.mark.parametrize("sampler", ALL, ids=lambda sampler: sampler.name)
def test_a_record_of_the_anchor_s_size_may_lose_one(sampler: Sampler) -> None:
    assert prdp.Policy(sampler.policy).budget({"v": ANCHOR}) == pytest.approx(1, rel=2e-3)


@pytest.mark.parametrize("sampler", ADDITIVE, ids=lambda sampler: sampler.name)
def test_the_policy_is_what_a_shift_of_the_noise_costs(sampler: Sampler) -> None:
    assert sampler.psi is not None
    noise, policy = np.linspace(-1e7, 1e7, 2001), prdp.Policy(sampler.policy)
    for size in (100, 5_000, 10**6):
        costs = np.abs(sampler.psi(np.abs(noise + size)) - sampler.psi(np.abs(noise)))
        budget = policy.budget({"v": size})
        assert budget is not None
        assert costs.max() <= budget * (1 + 1e-9)
        assert sampler.psi(np.array([float(size)])) == pytest.approx(budget)


def test_draws_from_another_law_are_far_from_the_one_that_is_stated() -> None:
    psi = ADDITIVE[0].psi
    assert psi is not None
    random = np.random.default_rng(0)
    draws = ANCHOR * random.gamma(2, 1, 4000) ** 2 * random.choice([-1, 1], 4000)
    chance = 1.95 / np.sqrt(draws.size)
    assert distance_from_law(draws, psi, ANCHOR) < chance
    assert distance_from_law(1.3 * draws, psi, ANCHOR) > chance


def test_the_library_answers_under_every_sampler_s_policy() -> None:
    data = normal("some", 50_000, size=5_000)
    for sampler in ALL:
        for method in (None, "clip"):
            releases = our_releases(data, sampler.policy, 20, 0, method)
            answers = [float(release.exact) for release in releases]
            assert abs(np.median(answers) / data.values.sum() - 1) < 0.02


def test_a_missing_tumult_is_stated_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
    comparison = compared([normal("some", 50_000, size=100)], 5, 0, folder=tmp_path / "environment")
    assert comparison.rows == ()
    assert comparison.missing is not None
    assert PACKAGE in comparison.missing
