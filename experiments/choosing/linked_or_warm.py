"""Means asked a second time: led by their sum, or starting from where sum and count clipped the first time.

``python -m experiments.choosing.linked_or_warm``: the synthetic sets, or with ``--data FOLDER`` the real
ones.
A mean whose count follows its sum's point starts from nothing; one whose parts choose alone may start from
the parts of an earlier one at the same share. Errors are 20 % trimmed means over the truth, at most 1.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

import prdp
from experiments.choosing.cases import SHARES, opened, sets
from experiments.choosing.linked import POLICIES, each_alone
from experiments.choosing.warm_starts import Known, drawn
from experiments.options import options
from experiments.yardsticks import trimmed
from prdp.ledger.account import Entry
from prdp.release.release import Release
from prdp.tables.queryable import reader_of
from prdp.testing import Seeded


def errors(folder: Path | None, share: Fraction, runs: int, seed: int) -> list[tuple[float, float, float]]:
    """Return, for each case, the errors of means that are led, alone, and started from such a one."""
    found = []
    for data in sets(folder):
        true = float(data.values.mean())

        def off(releases: list[Release], true: float = true) -> float:
            return min(1.0, trimmed(np.array([abs(float(one.exact) - true) for one in releases]))[0] / true)

        for policy in POLICIES:
            table = opened(data, policy)
            reader, entropy = reader_of(table), Seeded(seed)
            linked = drawn(reader, entropy, table.plan(prdp.mean("v"), share=share), runs)
            with each_alone():
                plan = table.plan(prdp.mean("v"), share=share)
                first = drawn(reader, entropy, plan, runs)
                again = []
                for release in first:
                    parts = tuple(replace(part, simulated=False) for part in release.parts)
                    known = Entry(0, plan.text, share, release=replace(release, simulated=False, parts=parts))
                    warm_start = plan.warm_start(Known(known))
                    again += drawn(reader, entropy, plan.warm_started(warm_start) if warm_start else plan, 1)
            found.append((off(linked), off(first), off(again)))
    return found


def main() -> None:
    asked = options(__doc__, runs=60)
    print(f"{asked.runs} runs, seed {asked.seed}; errors of means over those of parts that choose alone")
    for share in SHARES:
        linked, alone, warm = np.log(errors(asked.data, share, asked.runs, asked.seed)).T
        pairs = {"led": linked - alone, "started": warm - alone, "led over started": linked - warm}
        shown = []
        for name, ratio in pairs.items():
            mean, error = np.exp(ratio.mean()), ratio.std() / np.sqrt(ratio.size)
            shown.append(f"{name} {mean:.3f} ± {mean * error:.3f} (worst {np.exp(ratio.max()):.2f})")
        print(f"share {share!s:6} {linked.size} cases: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
