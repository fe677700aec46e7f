"""How fast a simulated first round is, beside a plain NumPy simulation with float Laplace noise.

200,000 clients and 34 domains by default. All run in turn in one process, so that a slow minute of the
machine slows each; medians of the repeats are shown. Read ratios, not seconds. The paper's own figure for
this round is 7 s. Then protocols of one's own beside the same built in; what client by client would take is
scaled up from 500 clients.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

import prdp
from prdp.local import Campaign, Categories, Client, FrameworkProtocol, LdpProtocol, measured
from prdp.local.client.client import laws_for
from prdp.local.protocols.categories import Frequencies
from prdp.local.protocols.counting import DomainCount
from prdp.local.protocols.ldp_sums import ClippedSum
from prdp.local.simulation.crowd import record_at
from prdp.local.simulation.simulation import Crowd, crowd_tally
from prdp.noise import SystemEntropy
from prdp.noise.entropy import Entropy

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


class OwnFrequencies(Frequencies):
    """A protocol of ours as if it were somebody's own."""

    kind = "own frequencies"


class OwnSum(ClippedSum):
    """The same of a sum: nearly every client has a law of its own."""

    kind = "own sum"


def client_by_client(campaign: Campaign, crowd: Crowd, entropy: Entropy, clients: int) -> None:
    """Simulate some clients one by one, as protocols of one's own once were."""
    rows = (
        [law.draw(entropy) for law in laws_for(campaign, record_at(crowd.columns, place))]
        for place in range(clients)
    )
    campaign.protocol.tally(campaign.terms, rows)


def own_protocols(crowd: Crowd, entropy: Entropy) -> None:
    """Show protocols of one's own beside the same built in: the first time, then, client by client."""
    jobs, sums = Categories("job", range(50)), measured("v", 0, 10**12)
    pairs: list[tuple[str, LdpProtocol, LdpProtocol]] = [
        ("50 categories, grr", Frequencies(jobs, "grr"), OwnFrequencies(jobs, "grr")),
        ("50 categories, bits", Frequencies(jobs, "bits"), OwnFrequencies(jobs, "bits")),
        ("a sum by bits", ClippedSum(sums, 50_000), OwnSum(sums, 50_000)),
    ]
    print(f"{'own protocols':24}{'built in':>11}{'own, first':>12}{'then':>9}{'one by one':>12}")
    for name, built_in, own in pairs:
        known, ours = (
            Campaign("speed", POLICY, "1", FrameworkProtocol(inner, 25)) for inner in (built_in, own)
        )
        crowd_tally(known, crowd, entropy)
        base = seconds(partial(crowd_tally, known, crowd, entropy))
        first, then = (seconds(partial(crowd_tally, ours, crowd, entropy)) for _ in range(2))
        some = min(500, len(crowd))
        slow = seconds(partial(client_by_client, ours, crowd, entropy, some)) * len(crowd) / some
        print(f"{name:24}{base:9.3f} s{first:10.2f} s{then:7.3f} s{slow:10.0f} s")


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
    jobs = np.random.default_rng(2).integers(0, 50, options.clients)
    crowd = Crowd.of({"v": values, "job": jobs}, POLICY)
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
    own_protocols(crowd, entropy)
    for name, campaign in campaigns.items():
        each = seconds(partial(reports, campaign, 50)) / 50
        size = len(bytes(Client().report(campaign, {})))
        print(f"one real client, {name:8}{1000 * each:9.2f} ms{size:6} bytes")


if __name__ == "__main__":
    main()
