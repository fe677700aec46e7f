"""Settings of the choice under concentrated privacy: exponential choices, and totals with Gaussian noise.

Errors are integrated over the made-up sets, in those of the rule before (permute-and-flip at x^2 / 2):
python -m experiments.choosing.concentrated
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from experiments.choosing.cases import Case, cases
from experiments.choosing.figures import Branch, Figures
from experiments.choosing.laws import choice, flips
from experiments.choosing.rules import Draw, chosen, gated, lacks, strided
from prdp.concentrated import root_below
from prdp.mechanisms._threshold import PointFinder, Tuning
from prdp.noise.choice import ExponentialChoice
from prdp.noise.permute_and_flip import PermuteAndFlip

ROOTS = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 10), Fraction(1, 30))
"""Roots of shares of P(r)."""

Finder = Callable[[Fraction], PointFinder]


@dataclass(frozen=True, slots=True)
class Flipped(Tuning):
    """A choice by permute-and-flip, whose log-ratios are charged in full."""

    @property
    def seen(self) -> Fraction:
        """The part of the share that a unit of clipped mass weighs."""
        return Tuning(self.choice, self.answer, self.fall, fence=self.fence).seen

    @property
    def kind(self) -> type[PermuteAndFlip | ExponentialChoice]:
        """The draw of a point."""
        return PermuteAndFlip


def before(root: Fraction) -> PointFinder:
    """Return the finder whose points are drawn by permute-and-flip."""
    finder = PointFinder.for_totals(root)
    rest = 1 - finder.gate**2 - finder.tail**2
    tunings = tuple(
        (
            least,
            Flipped(
                one.choice,
                root_below(rest - one.choice**2, 20),
                one.fall,
                one.stride,
                one.fence,
                gaussian=True,
            ),
        )
        for least, one in finder.tunings
    )
    return replace(finder, tunings=tunings)


def by_weight(
    times: float, falls: float = 1.0, gate: str = "0.02", tail: str = "0.02", margins: float = 1.0
) -> Finder:
    """Return finders that draw in proportion to weights, so many times as sharp as permute-and-flip is."""

    def finder(root: Fraction) -> PointFinder:
        pure = PointFinder.for_totals(root)
        whole = 1 - Fraction(gate) ** 2 - Fraction(tail) ** 2
        tunings = []
        for least, one in pure.tunings:
            part = Fraction(round(one.choice * Fraction(times) / 2 * 1000), 1000)
            fall = Fraction(round(one.fall * Fraction(falls) * 100), 100)
            answer = root_below(whole - part**2, 20)
            tuning = replace(one, choice=part, answer=answer, fall=fall, gaussian=True)
            tunings.append((None if least is None else int(least * margins), tuning))
        return replace(pure, gate=Fraction(gate), tail=Fraction(tail), tunings=tuple(tunings))

    return finder


def now(root: Fraction) -> PointFinder:
    """Return the library's finder."""
    return PointFinder.for_totals(root).with_gaussian()


def branches(case: Case, root: Fraction, finder: PointFinder) -> list[Branch]:
    """Return where a finder ends up, and by which of its tunings."""
    share = float(root)
    leasts = [
        float(finder.least(margin, one, tuple(case.heights[strided(case, one.stride)].tolist())))
        for margin, one in finder.tunings
        if margin is not None
    ]
    ways = gated(case, share, float(finder.gate), leasts)
    found = []
    for way, (_, one) in zip(ways, finder.tunings, strict=True):
        draw: Draw = choice if one.kind is ExponentialChoice else flips
        chances = chosen(case, float(one.seen) * share, one, draw=draw, lacking=lacks(case, share, one))
        found.append(Branch(way * chances, float(one.answer)))
    return found


def figures(case: Case, root: Fraction, found: Sequence[Branch]) -> Figures:
    """Return the figures of |Gaussian noise - pull|, in the error of the best fixed point."""
    unit = float(np.min(np.abs(case.pulls) + sqrt(2 / np.pi) * case.points / float(root)))
    chance = np.concatenate([branch.chances for branch in found])
    scale = np.concatenate([case.points / (float(root) * branch.part) for branch in found]) / unit
    pull = np.concatenate([case.pulls for _ in found]) / unit
    used = chance > 1e-13
    chance, scale, pull = chance[used] / chance[used].sum(), scale[used], pull[used]
    size = pull / scale
    mean = scale * (sqrt(2 / np.pi) * np.exp(-(size**2) / 2) + size * (1 - 2 * ndtr(-size)))
    errors = np.geomspace(1e-4, 1e6, 1201)
    within = ndtr((pull + errors[:, None]) / scale) - ndtr((pull - errors[:, None]) / scale)
    at_most = within @ chance
    levels = (np.arange(600) + 0.5) / 600 * 0.6 + 0.2
    trimmed = float(np.interp(levels, at_most, errors).mean())
    p90, p99 = np.interp([0.9, 0.99], at_most, errors)
    return Figures(trimmed, float(p90), float(p99), float(mean @ chance))


def integrated(case: Case, root: Fraction, finder: Finder) -> Figures:
    """Return the figures of a finder at a root."""
    return figures(case, root, branches(case, root, finder(root)))


def settings() -> Iterator[tuple[str, Finder]]:
    """Yield the settings that were tried, by name."""
    yield "as it is", now
    yield "as sharp as before", by_weight(1)
    for times in (1.5, 2, 2.5, 3):
        for falls in (1, 1.3, 1.5):
            yield f"{times} times as sharp, falls * {falls}", by_weight(times, falls, "0.04", "0.04")
    for part in ("0.02", "0.06", "0.1"):
        yield f"2 times as sharp, falls * 1.4, gate and tail {part}", by_weight(2, 1.4, part, part)
    yield "2 times as sharp, falls * 1.4, half the margins", by_weight(2, 1.4, "0.04", "0.04", 0.5)


def main() -> None:
    """Print, for each setting and root, geometric means and the worst of trimmed errors and of p99."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    every = [case for case in cases(parser.parse_args().data) if case.above_foot.any()]
    base = {(one.name, root): integrated(one, root, before) for one in every for root in ROOTS}
    print(f"{len(every)} cases; trimmed (worst), p99 (worst), mean, over those before; then worst p99, mean")
    for name, finder in settings():
        print(name)
        for root in ROOTS:
            found = {one.name: integrated(one, root, finder) for one in every}
            shown = []
            for kind in ("trimmed", "p99", "mean"):
                pairs = ((one, base[case, root]) for case, one in found.items())
                ratios = np.array([getattr(one, kind) / getattr(old, kind) for one, old in pairs])
                shown.append(f"{np.exp(np.log(ratios).mean()):.3f} ({ratios.max():.2f})")
            worst = [max(getattr(one, kind) for one in found.values()) for kind in ("p99", "mean")]
            print(f"  {float(root):.3f}  ", "  ".join(shown), f"  {worst[0]:.1f} {worst[1]:.1f}", flush=True)


if __name__ == "__main__":
    main()
