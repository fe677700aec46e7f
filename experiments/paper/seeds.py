"""Seeds of a set's own, and the runs that each of them draws."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from experiments.yardsticks import Floats


def seeds_of(seed: int, data: str, count: int) -> tuple[int, ...]:
    """Return different seeds for a set; another set, or another seed of the run, has others."""
    texts = (f"{seed}|{data}|{place}" for place in range(count))
    return tuple(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts)


def batches(runs: int, seeds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each seed with its part of the runs, as even as they can be; none with no run."""
    ends = [runs * place // len(seeds) for place in range(len(seeds) + 1)]
    for seed, start, end in zip(seeds, ends, ends[1:], strict=False):
        if end > start:
            yield seed, end - start


def places(runs: int, seeds: Sequence[int]) -> Floats:
    """Return for each run which of the seeds drew it, counted from 0."""
    sizes = [size for _, size in batches(runs, seeds)]
    return np.repeat(np.arange(len(sizes), dtype=float), sizes)
