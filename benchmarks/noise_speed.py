"""How fast exact discrete Laplace noise is drawn, beside OpenDP's exact vector sampler.

Both run in turn in one process, so that a slow minute of the machine slows both; medians of the
repeats are shown. Read ratios, not seconds: the absolute speed of a shared machine wanders.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import opendp.prelude as dp

from prdp.noise import DiscreteLaplace, SystemEntropy

if TYPE_CHECKING:
    from collections.abc import Callable

SCALES = {
    "1": Fraction(1),
    "10^3": Fraction(10**3),
    "10^9": Fraction(10**9),
    "2^40": Fraction(2**40),
}


def ours(scale: Fraction, count: int) -> Callable[[], object]:
    noise, entropy = DiscreteLaplace(scale), SystemEntropy()
    return lambda: noise.draw_many(entropy, count)


def opendp(scale: Fraction, count: int) -> Callable[[], object]:
    """Return OpenDP's quickest path: one call on a vector, given as a numpy array."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement = dp.m.make_laplace(*space, scale=float(scale))
    zeros = np.zeros(count, np.int64)
    return lambda: measurement(zeros)


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def measure(scale: Fraction, draws: int, peer_draws: int, repeats: int) -> tuple[float, float]:
    """Return the draws a second of both samplers: medians of interleaved repeats."""
    us, them = ours(scale, draws), opendp(scale, peer_draws)
    us(), them()
    pairs = [(seconds(us), seconds(them)) for _ in range(repeats)]
    return draws / median(a for a, _ in pairs), peer_draws / median(b for _, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.noise_speed", description=__doc__)
    parser.add_argument("--draws", type=int, default=4_000_000, help="of ours in one repeat")
    parser.add_argument("--peer-draws", type=int, default=100_000, help="of OpenDP's in one repeat")
    parser.add_argument("--repeats", type=int, default=9, help="the median is shown (default 9)")
    options = parser.parse_args()

    print("Exact discrete Laplace noise, draws a second")
    print(f"{'scale':>8} {'prdp':>14} {'OpenDP':>14} {'ratio':>8}")
    for name, scale in SCALES.items():
        fast, slow = measure(scale, options.draws, options.peer_draws, options.repeats)
        print(f"{name:>8} {fast:>14,.0f} {slow:>14,.0f} {fast / slow:>7.0f}x")


if __name__ == "__main__":
    main()
