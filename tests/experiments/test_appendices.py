"""The worked example, the Zipf sets and the made-up graph are what the report says they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import prdp
from experiments.datasets import zipf
from experiments.joins.email_graph import EDGES, NODES, found, graph
from experiments.paper.appendix_c import counted
from experiments.paper.catalogue import EXPERIMENTS
from experiments.paper.experiment import Context
from experiments.paper.figure_1 import checks, counts
from prdp.testing.truth import raw_cells

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
PRINTED = BY_NAME["figure_1"].config(quick=True)["printed"]


def test_of_the_example_s_numbers_only_the_threshold_is_off() -> None:
    assert [check.what for check in checks(PRINTED) if not check.agrees] == ["T_12 (β = 0.01 assumed)"]


def test_a_table_like_the_example_s_has_as_many_records() -> None:
    assert sum(counts(PRINTED).values()) == PRINTED["truth"]


@pytest.mark.parametrize("scale", [1, 100, 10_000])
def test_zipf_values_are_the_tail_of_the_scaled_law(scale: int) -> None:
    """Above the cut, Pr[v > x] = ((100 + s) / (x + s))^(b - 1)."""
    values = zipf("", 3, 20_000, scale=scale).values
    assert values.min() >= 100
    for x in (150, 400, 3000):
        expected = ((100 + scale) / (x + scale)) ** 2
        assert np.mean(values > x) == pytest.approx(expected, abs=5 * np.sqrt(0.25 / 20_000))


def test_without_data_a_graph_of_the_same_size_is_made_up_and_named_as_such() -> None:
    assert found(None) is None
    assert found(Path("/nowhere")) is None
    pairs = raw_cells(graph(None), graph(None).plan(prdp.graphs.edges(), 1))[0]
    assert (pairs.nodes, pairs.ends.shape[1]) == (len(NODES), EDGES)


def test_the_parts_of_a_method_s_runs_add_up_and_have_seeds_of_their_own() -> None:
    experiment = BY_NAME["appendix_c"]
    config = {**experiment.config(quick=True), "runs": 25, "runs_a_job": 10}
    parts: dict[object, list[tuple[int, int]]] = {}
    for job in experiment.jobs(config, Context(None, 3, quick=True)):
        if job.work is counted:
            _, name, runs, seed = job.arguments
            parts.setdefault(name, []).append((int(str(runs)), int(str(seed))))
    for found_parts in parts.values():
        assert [runs for runs, _ in found_parts] == [10, 10, 5]
        assert len({seed for _, seed in found_parts}) == 3
