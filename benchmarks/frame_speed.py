"""What a frame of 2,000 groups costs beside the question itself: ``python -m benchmarks.frame_speed``."""

from __future__ import annotations

import time

import numpy as np

import prdp
from prdp.release.clipped import _facts
from prdp.release.error_bounds import error_bounds

GROUPS, RECORDS = 2_000, 1_000_000


def main() -> None:
    random = np.random.default_rng(0)
    columns = {
        "v": random.lognormal(8, 1.2, RECORDS).astype(int) + 1,
        "g": random.integers(0, GROUPS, RECORDS),
    }
    print(f"{GROUPS:,} groups of {RECORDS:,} records; seconds, and to_pandas as a part of the question")
    for share in ("1", "1/10"):
        for name in ("count", "sum", "mean"):
            table = prdp.open(
                columns,
                policy=prdp.Policy("10000 / v", at_most=100),
                bounds={"v": (0, 10**9)},
                synthetic=True,
            )
            groups = table.group_by("g", keys=range(GROUPS))
            error_bounds.cache_clear()
            _facts.cache_clear()
            start = time.perf_counter()
            released = (
                groups.count(share=share) if name == "count" else getattr(groups, name)("v", share=share)
            )
            asked = time.perf_counter()
            released.to_pandas()
            framed = time.perf_counter()
            print(
                f"{name:6} share {share:5} question {asked - start:6.2f}  to_pandas {framed - asked:6.2f}  "
                f"ratio {(framed - asked) / (asked - start):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
