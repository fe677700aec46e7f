"""Find the categories that reports of hashed values support; the analyst's side of ``Hashed``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prdp.local.protocols.randomisers import PRIME

Integers = NDArray[np.int64]


def support(outcomes: Sequence[int], buckets: int, categories: int) -> tuple[int, ...]:
    """Return, for each category, how many reports name the bucket that their own function puts it in."""
    functions = [divmod(outcome, buckets) for outcome in outcomes]
    multipliers = np.array([function // PRIME + 1 for function, _ in functions], np.int64)
    offsets = np.array([function % PRIME for function, _ in functions], np.int64)
    reported = np.array([bucket for _, bucket in functions], np.int64)
    return supported(multipliers, offsets, reported, buckets, categories)


def supported(
    multipliers: Integers, offsets: Integers, reported: Integers, buckets: int, categories: int
) -> tuple[int, ...]:
    """Do the same with the reports' parts; a category is below 2^31, so a product fits in 63 bits."""
    return tuple(
        int(np.count_nonzero((multipliers * category + offsets) % PRIME % buckets == reported))
        for category in range(categories)
    )
