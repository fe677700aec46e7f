"""Sums under policies with steps: one clipping point for all records, or one for each tier.

``python -m experiments.choosing.step_sums`` compares settings over the synthetic sets and five policies, by
draws in floats; ``--data FOLDER`` measures on the real ones what was frozen before. Errors are in oracle
clips, the best fixed *common* point.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from experiments.choosing.cases import SHARES, STEPS, Case, cases
from experiments.choosing.figures import Figures, figures
from experiments.choosing.laws import Floats
from experiments.choosing.rules import found, now
from prdp.mechanisms._threshold import LARGE_SHARE, SMALL_SHARE, THIN, Fence, PointFinder, Tuning

RUNS, SEED = 30_000, 0
_NO_GATE = Fraction(1, 10**9)

Finder = Callable[[float], PointFinder]


def library(share: float) -> PointFinder:
    """How the library's tiers find their points."""
    return PointFinder(tunings=((25, LARGE_SHARE if share > 1 / 3 else SMALL_SHARE), (None, THIN)))


def tier_errors(
    case: Case, share: float, finder: Finder = library, least: float = 2.5, rise: float = 0.7
) -> Floats:
    """Draw the errors of a sum whose tiers find a point each, and are kept up to the last heavy one.

    Args:
        case: A sum that has tiers.
        share: The share.
        finder: How a tier finds its point.
        least: How many scales of its noise a heavy tier's total is at least.
        rise: By how much that grows with each octave above the last point that was kept.
    """
    random = np.random.default_rng(SEED)
    tiers = [_drawn(tier, share, finder(share), random) for tier in case.tiers]
    answer, reached = tiers[0][1], tiers[0][0]
    below = np.zeros(RUNS)
    for tier, (points, totals, scales) in zip(case.tiers[1:], tiers[1:], strict=True):
        octaves = np.maximum(0, np.log2(tier.points[0] / reached))
        heavy = np.abs(totals) >= scales * (least + rise * octaves)
        answer = np.where(heavy, answer + below + totals, answer)
        below = np.where(heavy, 0, below + totals)  # kept only where a tier above is
        reached = np.where(heavy, points, reached)
    return np.asarray(np.abs(answer - case.truth))


def _drawn(
    tier: Case, share: float, finder: PointFinder, random: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Draw a tier's points, its noisy totals and the scales of their noise."""
    branches = found(tier, share, finder)
    chances = np.cumsum(np.concatenate([branch.chances for branch in branches]))
    which = np.minimum(np.searchsorted(chances / chances[-1], random.random(RUNS)), chances.size - 1)
    branch, place = np.divmod(which, tier.points.size)
    scales = tier.points[place] / (share * np.array([branch.part for branch in branches])[branch])
    totals = tier.truth - tier.pulls[place] + random.laplace(0, 1, RUNS) * scales
    return tier.points[place], totals, scales


def drawn_figures(errors: Floats) -> Figures:
    """Return the figures of drawn errors."""
    ordered, cut = np.sort(errors), errors.size // 5
    p90, p99 = np.quantile(ordered, [0.9, 0.99])
    return Figures(float(ordered[cut:-cut].mean()), float(p90), float(p99), float(ordered.mean()))


def _one(choice: int, fall: str, fence: Fence | None = None) -> Finder:
    """Return a finder without a gate, and with one tuning for all."""
    part = Fraction(choice, 100)
    tuning = Tuning(part, 1 - part - _NO_GATE, Fraction(fall), fence=fence)
    return lambda _: PointFinder(gate=_NO_GATE, tunings=((None, tuning),))


def _gated(usual: Tuning, thin: Tuning) -> Finder:
    return lambda _: PointFinder(tunings=((25, usual), (None, thin)))


_MORE = replace(THIN, choice=Fraction(36, 100), answer=Fraction(61, 100))
SETTINGS: dict[str, Callable[[Case, float], Floats]] = {
    "as it is": tier_errors,
    "thresholds from 1.5 on": partial(tier_errors, least=1.5),
    "thresholds from 3.5 on": partial(tier_errors, least=3.5),
    "20 %, 2.5 for the rich at all shares": partial(tier_errors, finder=_gated(LARGE_SHARE, THIN)),
    "25 %, 2 for the rich at all shares": partial(tier_errors, finder=_gated(SMALL_SHARE, THIN)),
    "36 % for the thin": partial(tier_errors, finder=_gated(SMALL_SHARE, _MORE)),
    "the tunings of one point": partial(
        tier_errors, finder=lambda share: PointFinder.for_totals(Fraction(share).limit_denominator(1000))
    ),
    "no gate, 27 %, 2.5": partial(tier_errors, finder=_one(27, "2.5")),
    "no gate, 33 %, 2": partial(tier_errors, finder=_one(33, "2")),
    "no gate, 30 %, 1.6": partial(tier_errors, finder=_one(30, "1.6")),
    "no gate, 25 %, 2, a fence": partial(tier_errors, finder=_one(25, "2", Fence())),
}


def _row(name: str, shapes: Sequence[Sequence[Figures]]) -> None:
    """Print a row of the table: for each share, geometric means over the cases, the worst in brackets."""
    cells = []
    for here in shapes:
        columns = np.array([(one.trimmed, one.p99, one.mean) for one in here]).T
        cells.append(", ".join(f"{np.exp(np.log(one).mean()):.3g} ({one.max():.3g})" for one in columns))
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def _each(
    sums: Sequence[Case], common: Sequence[Sequence[Figures]], apart: Sequence[Sequence[Figures]]
) -> None:
    """Print trimmed error and 99th percentile of every case, with one point and with tiers."""
    for number, case in enumerate(sums):
        pairs = [(one[number], tiers[number]) for one, tiers in zip(common, apart, strict=True)]
        cells = (", ".join(f"{shape.trimmed:.2f} {shape.p99:.1f}" for shape in pair) for pair in pairs)
        print(f"{case.name[0]}, {case.name[1]}: " + " | ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--each", action="store_true", help="print every case: one point, tiers")
    asked = parser.parse_args()
    sums = list(cases(asked.data, tuple(STEPS), ("sum",)))
    print(f"{len(sums)} sums, {RUNS} draws a case, seed {SEED}: trimmed, p99, mean; geometric mean (worst)")
    shares = [(place, float(share)) for place, share in enumerate(SHARES)]
    common = [[figures(case, s, case.oracles[at], now(case, s)) for case in sums] for at, s in shares]
    _row("one point", common)
    for name, errors in SETTINGS.items() if asked.data is None else [("as it is", tier_errors)]:
        apart = [[drawn_figures(errors(case, s) / case.oracles[at]) for case in sums] for at, s in shares]
        _row(name, apart)
        if asked.each and name == "as it is":
            _each(sums, common, apart)


if __name__ == "__main__":
    main()
