"""Every set has noise of its own, and the figures of a tail say how they differ from seed to seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from experiments.datasets import SETS, Normal
from experiments.methods import METHODS
from experiments.paper.catalogue import EXPERIMENTS
from experiments.paper.experiment import Context
from experiments.paper.report.tails import with_spread
from experiments.paper.results import OverSeeds, grouped, measured
from experiments.paper.runner import collect, run
from experiments.paper.seeds import batches, places, seeds_of
from experiments.paper.setting import Setting

TABLE_3 = next(experiment for experiment in EXPERIMENTS if experiment.name == "table_3")
RUNS = 10


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return the names of two sets with the same values."""
    for name in ("One", "Other"):
        monkeypatch.setitem(SETS, name, Normal(50_000))
    return "One", "Other"


def test_two_sets_of_the_same_values_do_not_share_their_noise(twins: tuple[str, str], tmp_path: Path) -> None:
    config = {**TABLE_3.config(quick=True), "runs": RUNS, "seeds": 2}
    jobs = TABLE_3.jobs(config, Context(None, 0, quick=True, asked=twins, methods=METHODS[:2]))
    run(jobs, tmp_path, "", Console(quiet=True), alone=True)
    answers = grouped(collect(jobs, tmp_path, "")["table_3"], ("set", "question", "method"), "answer")
    one, other = twins
    for question in ("count", "sum"):
        for method in METHODS[:2]:
            ours, theirs = (answers[data, question, method.name] for data in (one, other))
            assert ours.size == RUNS
            assert not np.any(ours == theirs)


def test_sets_that_differ_in_size_deviation_or_scale_alone_have_names_of_their_own() -> None:
    settings = (
        Setting("Normal"),
        Setting("Normal", size=1_000),
        Setting("Normal", deviation=100),
        Setting("Zipf(3)"),
        Setting("Zipf(3)", scale=100),
    )
    assert len({setting.name for setting in settings}) == len(settings)


def test_seeds_differ_by_run_set_and_place_and_repeat() -> None:
    found = [seed for run in (0, 1) for data in ("One", "Other") for seed in seeds_of(run, data, 5)]
    assert len(set(found)) == 20
    assert seeds_of(1, "Other", 5) == tuple(found[-5:])


@given(runs=st.integers(1, 50), count=st.integers(1, 8))
def test_every_run_is_drawn_once_by_seeds_that_share_evenly(runs: int, count: int) -> None:
    sizes = [size for _, size in batches(runs, range(count))]
    assert sum(sizes) == runs
    assert max(sizes) - min(sizes) <= 1
    assert np.bincount(places(runs, range(count)).astype(int)).tolist() == sizes


def test_a_figure_of_the_tail_is_of_all_runs_and_has_the_least_and_greatest_of_the_seeds() -> None:
    runs, seeds = np.array([1.0, 3.0, 10.0, 30.0]), np.array([0.0, 0.0, 1.0, 1.0])
    found = OverSeeds.of(runs, seeds, np.max)
    assert (found.value, found.least, found.greatest) == (30, 3, 30)
    assert with_spread(found) == "30 (3–30)"
    assert with_spread(OverSeeds.of(runs, np.zeros(4), np.max)) == "30"


def test_what_several_seeds_drew_is_measured_by_seed(tmp_path: Path) -> None:
    config = {**TABLE_3.config(quick=True), "runs": RUNS, "seeds": 2}
    jobs = TABLE_3.jobs(config, Context(None, 0, quick=True, asked=("Zipf(3)",), methods=METHODS[:1]))
    run(jobs, tmp_path, "", Console(quiet=True), alone=True)
    results = collect(jobs, tmp_path, "")["table_3"]
    errors = grouped(results, ("question", "method"))["sum", "default"]
    mean = measured(results, ("question", "method"))["sum", "default"].mean
    assert sorted((errors[:5].mean(), errors[5:].mean())) == pytest.approx([mean.least, mean.greatest])
