"""Other tunings for distinct counts, on made-up keys: how far beyond the choice, and what the choice has.

Run ``python -m experiments.choosing.distinct``. Errors in oracle clips, 20 % trimmed; geometric means over
the sets. *Further* is how many quarters of an octave beyond the chosen edge keys are counted (here: 2).
*Choice* and *fall* are those of rich tables (the library at share 1: 0.20 and 2.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from experiments.keys import SHARES, WIDE, Keys, added_up, all_keys
from experiments.options import options
from experiments.yardsticks import Floats, oracle_clip, trimmed
from prdp.cells.summary import KeySummary, key_edges
from prdp.mechanisms._threshold import PointFinder, Tuning
from prdp.mechanisms.distinct import DistinctKeys, KeyCandidates
from prdp.testing import Seeded

FURTHER = (0, 2, 4, 6, 8)
TUNINGS = [(Fraction(choice, 100), fall) for choice in (20, 30, 40) for fall in ("5/2", "3/2", "11/10")]


def made_up() -> Iterator[Keys]:
    """Yield the made-up keys of ``experiments/keys.py``, and some that are like job titles."""
    yield from all_keys(None)
    random = np.random.default_rng(7)
    for power, number, scale in ((1.1, 2000, 20_000), (1.6, 800, 5_000), (1.3, 5000, 3_000)):
        sizes = (scale / np.arange(1, number + 1) ** power).astype(int) + 1
        keys = np.repeat(np.arange(number), sizes)
        pay = random.lognormal(np.log(60_000), 0.6, keys.size).clip(100, 1e12)
        yield added_up(f"titles, {number:,} by {power}", WIDE, keys, 10_000 / pay)


def counted(
    mechanism: DistinctKeys, summary: KeySummary, share: Fraction, *, seed: int, runs: int, further: int
) -> Floats:
    """Draw answers that count keys so many quarters of an octave beyond the choice."""
    candidates, edges, quantum = (
        KeyCandidates(summary),
        key_edges(summary.levels),
        float(summary.levels.quantum),
    )
    random, clipped = np.random.default_rng(seed), summary.clipped()

    def edge(tuning: Tuning, place: int) -> int:
        points = candidates.edges(tuning.stride)
        return points[min(place + further // tuning.stride, len(points) - 1)]

    law = mechanism.finder.law(candidates, share, mechanism.totals(summary, share))
    found = []
    for which, (place, _) in law.draw(Seeded(seed), runs):
        tuning = mechanism.finder.tunings[which][1]
        at = edge(tuning, place)
        noise = random.laplace(0, 1 / float(share * tuning.answer) / quantum)
        found.append((clipped[at] + noise) / edges[at])
    return np.array(found)


def line(
    label: str, sets: list[Keys], change: Callable[[Tuning], Tuning], *, seed: int, runs: int, further: int
) -> str:
    """Return a row of the table."""
    shown = f"{label:28}"
    for share in SHARES:
        base = DistinctKeys.tuned(share)
        (margin, rich), *others = base.finder.tunings
        finder: PointFinder = replace(base.finder, tunings=((margin, change(rich)), *others))
        middles, tails, off = [], [], []
        for place, keys in enumerate(sets):
            summary, number = KeySummary.of(keys.levels, keys.sums), len(keys.sums)
            budgets = np.array(keys.sums, float) * float(keys.levels.quantum)
            answers = counted(
                DistinctKeys(finder), summary, share, seed=1000 * seed + place, runs=runs, further=further
            )
            errors = np.abs(answers - number) / oracle_clip(np.ones(number), budgets, float(share))
            middle, error = trimmed(errors)
            middles.append(middle)
            off.append(error / middle)
            tails.append(np.quantile(errors, 0.99))
        mean, relative = float(np.exp(np.log(middles).mean())), float(np.linalg.norm(off)) / len(off)
        shown += f"{mean:9.2f} ± {mean * relative:.2f}{np.exp(np.log(tails).mean()):8.1f}"
    return shown


def main() -> None:
    arguments = options(__doc__, runs=250)
    runs, seed, sets = arguments.runs, arguments.seed, list(made_up())
    print(f"distinct, {len(sets)} synthetic sets, {runs} runs, seed {seed}: trimmed and p99 in oracle clips")
    print(f"{'':28}" + "".join(f"{f'share {share}':>16}{'p99':>8}" for share in SHARES))
    for further in FURTHER:
        print(
            line(f"further {further}", sets, lambda rich: rich, seed=seed, runs=runs, further=further),
            flush=True,
        )
    for choice, fall in TUNINGS:

        def tuned(rich: Tuning, choice: Fraction = choice, fall: str = fall) -> Tuning:
            return replace(rich, choice=choice, answer=Fraction(97, 100) - choice, fall=Fraction(fall))

        print(
            line(f"choice {float(choice):.2f}, fall {fall}", sets, tuned, seed=seed, runs=runs, further=2),
            flush=True,
        )


if __name__ == "__main__":
    main()
