"""How fast a simulated first round is, beside a plain NumPy simulation with float Laplace noise.

200,000 clients and 34 domains by default. All run in turn in one process, so that a slow minute of the
machine slows each; medians of the repeats are shown. Read ratios, not seconds. The paper's own figure for
this round is 7 s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

import prdp
from prdp.local import Campaign, Client
from prdp.local.protocols.counting import DomainCount
from prdp.local.simulation.simulation import Crowd, crowd_tally
from prdp.noise import SystemEntropy

POLICY = prdp.Policy("10000 / v", at_least="1e-8", at_most=100)


def plain(crowd: Crowd, campaign: Campaign) -> Callable[[], object]:
    """Return the usual simulation: a float Laplace draw for every client and domain, then sums."""
    random = np.random.default_rng(0)
    domains = range(1, campaign.terms.levels.domains + 1)
    scales = np.array([1 / float(campaign.terms.domain_loss(domain)) for domain in domains])
    sizes = np.array(crowd.domain_sizes)
    return lambda: sizes + random.laplace(0, scales[:, None], (scales.size, len(crowd))).sum(axis=1)


def reports(campaign: Campaign, clients: int) -> None:
    for _ in range(clients):
        Client().report(campaign, {"v": 40_000})


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.local_speed", description=__doc__)
    parser.add_argument("--clients", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=9, help="the median is shown (default 9)")
    options = parser.parse_args()
    values = np.random.default_rng(1).integers(100, 200_000, options.clients)
    crowd = Crowd.of({"v": values}, POLICY)
    entropy = SystemEntropy()
    campaigns = {
        "bits": Campaign("speed", POLICY, "1", DomainCount("bits")),
        "laplace": Campaign("speed", POLICY, "1", DomainCount("laplace")),
    }
    tasks: dict[str, Callable[[], object]] = {"NumPy float Laplace": plain(crowd, campaigns["laplace"])}
    for name, campaign in campaigns.items():
        tasks[f"prdp, exact {name}"] = partial(crowd_tally, campaign, crowd, entropy)
    for task in tasks.values():
        task()
    timed: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(options.repeats):
        for name, task in tasks.items():
            timed[name].append(seconds(task))
    base = median(timed["NumPy float Laplace"])
    domains = campaigns["bits"].terms.levels.domains
    print(f"A simulated round 1: {options.clients:,} clients, {domains} domains, median of {options.repeats}")
    for name, times in timed.items():
        print(f"{name:24}{median(times):9.3f} s{median(times) / base:8.2f} x")
    for name, campaign in campaigns.items():
        each = seconds(partial(reports, campaign, 50)) / 50
        size = len(bytes(Client().report(campaign, {})))
        print(f"one real client, {name:8}{1000 * each:9.2f} ms{size:6} bytes")


if __name__ == "__main__":
    main()
