"""Ways to find a mean and a variance: what each part is clipped at, and with which part of the share.

Run ``python -m experiments.choosing.ratio_forms``: errors of each form over those of the library's parts that
choose alone, on synthetic sets, groups and values of both signs. A *form* is a function from totals that can
be
asked for and a share to estimates of the mean and of the variance. Write one, name it in ``FORMS``, and read
its rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from experiments.choosing.ratios import (
    AT_MOST,
    SHARES,
    Asked,
    Candidates,
    Floats,
    World,
    at_mass,
    chosen,
    clipped,
    ends_of,
    finder_for,
    grid,
    worlds,
)
from experiments.yardsticks import trimmed
from prdp.mechanisms._threshold import FENCED, PointFinder, Tuning

Estimates = tuple[Floats, Floats]
"""Means and variances, one a run; a form that has none gives NaN."""


Form = Callable[[Asked, float], Estimates]


def mean_of(asked: Asked, totals: Floats, counts: Floats) -> Floats:
    return np.asarray(np.clip(totals / np.maximum(1, counts), *asked.world.ends))


def split(parts: tuple[float, float, float], **finders: PointFinder) -> Form:
    """Return the library's form with other parts of the share for sum, count and squares."""

    def form(asked: Asked, share: float) -> Estimates:
        of_sum, of_count, of_squares = (share * part for part in parts)
        totals, _ = asked.sum(of_sum, finders.get("sums"))
        counts = asked.count(of_count)
        means = mean_of(asked, totals, counts)
        if of_squares == 0:
            return means, np.full(asked.runs, np.nan)
        squares, _ = asked.squares(means, of_squares, finders.get("squares"))
        return means, np.maximum(0, squares / np.maximum(1, counts))

    return form


def fixed(parts: tuple[float, float, float], *, noise: bool = True, times: float = 1.0) -> Form:
    """Return the library's form with points that clip a budget mass of 1 / share, which nobody knows."""

    def form(asked: Asked, share: float) -> Estimates:
        def total(sizes: Floats, part: float) -> Floats:
            points = np.broadcast_to(at_mass(asked.world, sizes, times / (share * part)), asked.runs)
            return clipped(asked.world, sizes, points, noise * points / (share * part), asked.random)

        world = asked.world
        counts = total(np.ones_like(world.values), parts[1])
        means = mean_of(asked, total(world.values, parts[0]), counts)
        if parts[2] == 0:
            return means, np.full(asked.runs, np.nan)
        squares = total((world.values - means[:, None]) ** 2, parts[2])
        return means, np.maximum(0, squares / np.maximum(1, counts))

    return form


def paired(world: World, points: Floats) -> Floats:
    """Return the largest value that each point of a sum's candidates lets count in full, by the policy."""
    policy = world.reported
    values = grid(world)
    ratios = np.maximum.accumulate(values / np.minimum(policy(values), AT_MOST))
    return np.asarray(values[np.maximum(np.searchsorted(ratios, points * (1 + 1e-9), side="right") - 1, 0)])


def worst(world: World, limits: Floats, centre: Floats, power: int) -> Floats:
    """Return the largest ratio of |v - centre|^power to budget among values up to a limit, one a run."""
    policy = world.reported
    values = grid(world)[::4]
    owed = np.minimum(policy(values), AT_MOST)
    found = np.zeros(limits.size)
    for sign in (1, -1) if world.ends[0] < 0 else (1,):
        sizes = np.abs(sign * values - centre[:, None]) ** power / owed
        found = np.maximum(found, np.where(values <= limits[:, None] * 1.0001, sizes, 0).max(axis=1))
    return found


def one_choice(
    parts: tuple[float, float, float],
    finder: Callable[[float], PointFinder] = finder_for,
) -> Form:
    """Return the form with one choice, on the sum's candidates with the whole share, for all parts."""

    def form(asked: Asked, share: float) -> Estimates:
        world = asked.world
        if not world.linked:
            return split(parts)(asked, share)
        candidates = Candidates.spanning(world, world.values, *ends_of(world, 1))
        points, left = chosen(candidates, share, finder(share), asked.runs, asked.random)
        limits, zero = paired(world, points), np.zeros(asked.runs)

        def total(sizes: Floats, at: Floats, part: float) -> Floats:
            return clipped(world, sizes, at, at / (share * left * part), asked.random)

        counts = total(np.ones_like(world.values), worst(world, limits, zero, 0), parts[1])
        means = mean_of(asked, total(world.values, worst(world, limits, zero, 1), parts[0]), counts)
        if parts[2] == 0:
            return means, np.full(asked.runs, np.nan)
        squares = total((world.values - means[:, None]) ** 2, worst(world, limits, means, 2), parts[2])
        return means, np.maximum(0, squares / np.maximum(1, counts))

    return form


def following(parts: tuple[float, float, float], finder: Callable[[float], PointFinder] = finder_for) -> Form:
    """Return the form in which the sum alone chooses, with its own part, and count and squares follow."""

    def form(asked: Asked, share: float) -> Estimates:
        world = asked.world
        if not world.linked:
            return split((3 / 8, 1 / 8, 1 / 2) if parts[2] else (3 / 4, 1 / 4, 0))(asked, share)
        totals, points = asked.sum(share * parts[0], finder(share * parts[0]))
        limits, zero = paired(world, points), np.zeros(asked.runs)

        def total(sizes: Floats, at: Floats, part: float) -> Floats:
            return clipped(world, sizes, at, at / (share * part), asked.random)

        counts = total(np.ones_like(world.values), worst(world, limits, zero, 0), parts[1])
        means = mean_of(asked, totals, counts)
        if parts[2] == 0:
            return means, np.full(asked.runs, np.nan)
        squares = total((world.values - means[:, None]) ** 2, worst(world, limits, means, 2), parts[2])
        return means, np.maximum(0, squares / np.maximum(1, counts))

    return form


def around_zero(asked: Asked, share: float) -> Estimates:
    """Squares of the values themselves: their mean less the square of the mean."""
    totals, _ = asked.sum(share * VARIANCE[0])
    counts = asked.count(share * VARIANCE[1])
    squares, _ = asked.squares(np.zeros(asked.runs), share * VARIANCE[2])
    means = mean_of(asked, totals, counts)
    return means, np.maximum(0, squares / np.maximum(1, counts) - means**2)


def leading(share: float) -> PointFinder:
    return PointFinder.for_leaders(Fraction(share).limit_denominator(10_000))


def weighted(asked: Asked, share: float) -> Estimates:
    """A count in which whoever the sum clips weighs as much less as it counts for less in the sum."""
    world = asked.world
    if not world.linked:
        return split(MEAN)(asked, share)
    totals, points = asked.sum(share * MEAN[0], leading(share * MEAN[0]))
    weights = np.minimum(1, points[:, None] * world.budgets / np.maximum(np.abs(world.values), 1e-9))
    at = worst(world, paired(world, points), np.zeros(asked.runs), 0)
    counts = clipped(world, weights, at, at / (share * MEAN[1]), asked.random)
    return mean_of(asked, totals, counts), np.full(asked.runs, np.nan)


def crossing(asked: Asked, share: float) -> Estimates:
    """One exponential choice of the m at which Σ (v - m), clipped, is nearest to zero.

    It is clipped where a budget mass of 1 / share is, around the true mean, which nobody knows; m is one of
    6,000 public values, evenly apart on a logarithmic scale.
    """
    world = asked.world
    point = max(1e-9, float(at_mass(world, world.values - world.mean, 1 / share)[0]))
    sizes = np.geomspace(max(1.0, world.ends[0]), 1e12, 6000)
    means = sizes if world.ends[0] > 0 else np.concatenate((-sizes[::-1], sizes))
    caps = point * world.budgets
    off = np.array([np.clip(world.values - mean, -caps, caps) @ world.counts for mean in means])
    weights = -share * np.abs(off) / (2 * point)
    chances = np.exp(weights - weights.max())
    return asked.random.choice(means, asked.runs, p=chances / chances.sum()), np.full(asked.runs, np.nan)


MEAN, VARIANCE = (3 / 4, 1 / 4, 0.0), (3 / 8, 1 / 8, 1 / 2)
GENTLE = PointFinder(
    tunings=((25, Tuning(Fraction(38, 100), Fraction(59, 100), Fraction(8, 5))), (25, FENCED), (None, FENCED))
)
FORMS: Mapping[str, Mapping[str, Form]] = {
    "mean": {
        "now": split(MEAN),
        "best fixed points": fixed(MEAN),
        "the same without noise": fixed(MEAN, noise=False),
        "sum 0.6": split((0.6, 0.4, 0)),
        "sum 0.85": split((0.85, 0.15, 0)),
        "one choice, whole share": one_choice(MEAN),
        "following": following(MEAN),
        "following, sum 0.85": following((0.85, 0.15, 0)),
        "following a leader": following(MEAN, leading),
        "weights": weighted,
        "crossing": crossing,
    },
    "variance": {
        "now": split(VARIANCE),
        "best fixed points": fixed(VARIANCE),
        "the same without noise": fixed(VARIANCE, noise=False),
        "1/4, 1/4, 1/2": split((1 / 4, 1 / 4, 1 / 2)),
        "1/2, 1/8, 3/8": split((1 / 2, 1 / 8, 3 / 8)),
        "squares 38 %, 1.6": split(VARIANCE, squares=GENTLE),
        "around zero": around_zero,
        "one choice, whole share": one_choice(VARIANCE),
        "following": following(VARIANCE),
        "following, 1/2, 1/8, 3/8": following((1 / 2, 1 / 8, 3 / 8)),
        "following a leader": following(VARIANCE, leading),
        "the same, 1/2, 1/8, 3/8": following((1 / 2, 1 / 8, 3 / 8), leading),
    },
}


def error(form: Form, world: World, share: float, word: str, *, runs: int, seed: int) -> float:
    """Return the trimmed error over the truth, at most 1; of means of both signs, over the deviation."""
    means, variances = form(Asked(world, runs, np.random.default_rng(seed)), share)
    if word == "variance":
        return min(1.0, trimmed(np.abs(variances - world.variance))[0] / max(world.variance, 1e-9))
    size = world.mean if world.ends[0] >= 0 else np.sqrt(world.variance)
    return min(1.0, trimmed(np.abs(means - world.mean))[0] / float(size))


def count_beside_a_sum(world: World, share: float, runs: int, seed: int) -> tuple[float, float]:
    """Return errors of count and sum in one statement, by one choice at its whole share, over those alone."""
    asked = Asked(world, runs, np.random.default_rng(seed))
    total, size, records = (
        float(of @ world.counts) for of in (world.values, abs(world.values), world.values**0)
    )
    alone = trimmed(np.abs(asked.count(share / 2) - records))[0] / records
    alone_sum = trimmed(np.abs(asked.sum(share / 2)[0] - total))[0] / size
    points, left = chosen(
        Candidates.spanning(world, world.values, *ends_of(world, 1)),
        share,
        finder_for(share),
        runs,
        asked.random,
    )
    at = worst(world, paired(world, points), np.zeros(runs), 0)
    counts = clipped(world, np.ones_like(world.values), at, 2 * at / (share * left), asked.random)
    sums = clipped(world, world.values, points, 2 * points / (share * left), asked.random)
    count, sum_ = trimmed(np.abs(counts - records))[0] / records, trimmed(np.abs(sums - total))[0] / size
    return min(1.0, count) / min(1.0, alone), min(1.0, sum_) / min(1.0, alone_sum)


def shown(ratios: list[float]) -> str:
    logs = np.log([ratio for ratio in ratios if ratio > 0])
    spread = logs.std() / np.sqrt(logs.size)
    return f"{np.exp(logs.mean()):6.3f} ±{spread:.3f} (worst {np.exp(logs.max()):7.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    arguments = parser.parse_args()
    how = {"runs": arguments.runs, "seed": arguments.seed}
    every = [world for world in worlds() if world.variance > 1]  # the point mass has no variance
    kinds = {
        "sets": [one for one in every if not one.name[0].startswith(("group", "signed"))],
        "groups": [one for one in every if one.name[0].startswith("group")],
        "both signs": [one for one in every if one.name[0].startswith("signed")],
    }
    print(f"{arguments.runs} runs, seed {arguments.seed}; errors over those of now, for {', '.join(kinds)}")
    for word, forms in FORMS.items():
        for share in arguments.shares:
            base = {one.name: error(forms["now"], one, share, word, **how) for one in every}
            for name, form in forms.items():
                cells = [
                    shown([error(form, one, share, word, **how) / base[one.name] for one in some])
                    for some in kinds.values()
                ]
                print(f"{word:9}{share:5} {name:26}" + " | ".join(cells), flush=True)
    for share in arguments.shares:
        for kind, some in kinds.items():
            reported = [one for one in some if one.linked]
            found = np.array([count_beside_a_sum(one, share, **how) for one in reported])
            cells = [shown(column.tolist()) for column in found.T]
            print(
                f"one choice for COUNT and SUM {share:5} {kind:12} count {cells[0]}, sum {cells[1]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
