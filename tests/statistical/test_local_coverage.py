"""Printed intervals of the local model hold as often as they say: every question on made-up populations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import prdp
from prdp.local import Categories, CountStudy, Crowd, Estimate, Study, frequencies
from prdp.local.simulation.simulation import carried_through
from prdp.testing import Seeded
from tests.statistical.thresholds import SEED

pytestmark = pytest.mark.slow

LEVEL = 0.95
RUNS = 300
ODD = 1e-4
"""A p-value below it is a failure. Seeds are fixed; coverage of 0.87 where 0.95 is printed is noticed in more
than nine of ten seeds (tested below)."""

POLICY = prdp.Policy.column("eps", at_least="1/64", at_most=8)


@dataclass(frozen=True)
class Population:
    """Clients of some budgets, and how many of them have each of the listed values."""

    budgets: Mapping[float, int]
    having: tuple[int, ...] = (0, 0, 0)

    @property
    def clients(self) -> int:
        return sum(self.budgets.values())

    def columns(self) -> dict[str, Any]:
        budgets = np.repeat(list(self.budgets), list(self.budgets.values()))
        jobs = np.repeat(np.arange(len(self.having)), self.having)
        elsewhere = np.full(self.clients - len(jobs), 10**6)
        return {"eps": budgets, "job": np.concatenate([jobs, elsewhere])}


POPULATIONS: Mapping[str, Population] = {
    "one full domain, all others empty": Population({1.0: 1000}, (500, 200, 0)),
    "a full domain far up": Population({7.0: 1000}, (990, 5, 5)),
    "all have one value": Population({2.0: 4000}, (4000, 0, 0)),
    "a few in each domain": Population({0.1: 40, 0.4: 40, 0.9: 40, 3.0: 400, 7.0: 300}, (300, 100, 0)),
    "two domains near the bar": Population({0.5: 90, 2.0: 25, 7.0: 900}, (60, 30, 900)),
    "few clients": Population({7.0: 40}, (20, 10, 0)),
}


def count(**options: Any) -> Study:
    return CountStudy(name="count", policy=POLICY, share=1, **options)


def jobs(method: str, size: int = 3) -> Study:
    by = Categories("job", range(size))
    return frequencies(by, name="jobs", policy=POLICY, share=1, method=method)


STUDIES: Mapping[str, Callable[[], Study]] = {
    "count": count,
    "count in Laplace noise": lambda: count(noise="laplace"),
    "count with the paper's threshold": lambda: count(threshold="paper"),
    **{f"frequencies by {method}": partial(jobs, method) for method in ("bits", "grr", "oue", "olh")},
    "frequencies of many values by grr": lambda: jobs("grr", 40),
}


@cache
def estimates(study: str, population: str) -> tuple[Estimate, ...]:
    """Return the answers that say something."""
    crowd = Crowd.of(POPULATIONS[population].columns(), POLICY)
    asked = STUDIES[study]()
    found = (carried_through(asked, crowd, Seeded(SEED + run)) for run in range(RUNS))
    return tuple(one for one in found if not one.unheard)


def answered(estimate: Estimate, population: Population) -> Iterator[tuple[Estimate, int]]:
    """Yield each number of an answer, and the truth among the clients that were kept."""
    (kept,) = (stated for name, stated in estimate.choices if name == "first domain kept")
    least = float(kept.rpartition(" ")[2]) * (1 - 1e-3)
    in_order = np.repeat(list(population.budgets), list(population.budgets.values()))
    if not estimate.parts:
        yield estimate, int(np.count_nonzero(in_order >= least))
    values = population.columns()["job"]
    for place, part in enumerate(estimate.parts):
        truth = int(np.count_nonzero((values == place) & (in_order >= least)))
        yield replace(estimate, value=part.value, deviation=part.deviation, parts=()), truth


def held(study: str, population: str, z: float = 1.0) -> list[float]:
    """Return, for each number of an answer, the p-value of its interval holding as often as it says.

    ``z`` scales the deviations: the wrong twin.
    """
    hits: list[list[bool]] = []
    for estimate in estimates(study, population):
        ends = [
            (replace(one, deviation=z * one.deviation).interval(LEVEL), truth)
            for one, truth in answered(estimate, POPULATIONS[population])
        ]
        hits.append([low <= truth <= high for (low, high), truth in ends])
    if not hits:
        return []
    return [
        float(stats.binomtest(sum(each), len(each), LEVEL, alternative="less").pvalue)
        for each in zip(*hits, strict=True)
    ]


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("study", STUDIES)
def test_every_printed_interval_holds_as_often_as_it_says(study: str, population: str) -> None:
    found = held(study, population)
    assert all(p > ODD for p in found), found


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("study", [name for name in STUDIES if name.startswith("count")])
def test_no_count_nor_its_interval_passes_the_number_of_clients(study: str, population: str) -> None:
    clients = POPULATIONS[population].clients
    for estimate in estimates(study, population):
        low, high = estimate.interval()
        assert 0 <= low <= high <= clients
        assert estimate.value <= clients


def test_coverage_of_87_percent_would_be_noticed() -> None:
    chances = stats.binom(RUNS, 0.87)
    noticed = [
        hits for hits in range(RUNS + 1)
        if stats.binomtest(hits, RUNS, LEVEL, alternative="less").pvalue <= ODD
    ]  # fmt: skip
    assert chances.cdf(max(noticed)) > 0.9


def test_deviations_that_leave_out_the_coins_of_those_who_have_the_value_are_caught() -> None:
    assert min(held("frequencies by oue", "all have one value", z=0.3)) < ODD
