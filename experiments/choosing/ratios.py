"""Worlds of records in floats, and clipped totals of them, many runs side by side.

For ``ratio_forms.py``, which compares ways to find means and variances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from experiments.choosing import centres
from experiments.choosing.cases import personal_budgets, synthetic_sets
from prdp.mechanisms._threshold import PointFinder, Tuning

Floats = NDArray[np.float64]
Budgets = Callable[[Floats], Floats]

AT_MOST = 100.0
SHARES = (1.0, 0.1, 0.01)
POLICIES: dict[str, Budgets | None] = {
    "inverse": lambda v: 10_000 / np.maximum(np.abs(v), 100),
    "log": lambda v: 500 / np.log(np.maximum(np.abs(v), 3)) ** 4,
    "sqrt": lambda v: 8 / np.sqrt(np.maximum(np.abs(v), 1)),
    "stepwise": lambda v: np.where(np.abs(v) < 1e4, 10, np.where(np.abs(v) < 1e5, 1, 0.1)),
    "flat": lambda v: np.full(np.shape(v), 0.1),
    "personal": None,
}


@dataclass(frozen=True, slots=True)
class World:
    """Records that are alike together: a value, a budget, and how many there are.

    Attributes:
        name: Set and policy.
        values: The value of each kind of record.
        budgets: Its budget.
        counts: How many records are of the kind.
        ends: The public bounds of values.
        policy: The budget as a function of the value; None where it is none.
        least: The least budget within the bounds.
    """

    name: tuple[str, str]
    values: Floats
    budgets: Floats
    counts: Floats
    ends: tuple[float, float]
    policy: Budgets | None
    least: float

    @property
    def mean(self) -> float:
        """The mean of the records' values."""
        return float(self.values @ self.counts / self.counts.sum())

    @property
    def reported(self) -> Budgets:
        """The policy, where it is a function of the value."""
        if self.policy is None:
            raise ValueError("budgets have nothing to do with values")
        return self.policy

    @property
    def linked(self) -> bool:
        """Whether the policy tells a count's point from a sum's, and a count would choose one."""
        return self.name[1] in ("inverse", "log", "sqrt")

    @property
    def variance(self) -> float:
        """Their variance."""
        return float((self.values - self.mean) ** 2 @ self.counts / self.counts.sum())


def world(name: str, policy: str, values: Floats, ends: tuple[float, float]) -> World:
    """Return a set under a policy; of many records, those within 1/64 of an octave are alike."""
    budget = POLICIES[policy]
    budgets = personal_budgets(values.size) if budget is None else np.minimum(budget(values), AT_MOST)
    keys = np.rint(64 * np.log2(np.maximum(np.abs(values), 1))) * np.sign(values)
    rows = np.stack([keys, budgets if policy in ("personal", "stepwise") else np.zeros(values.size)])
    _, which = np.unique(rows, axis=1, return_inverse=True)
    counts = np.bincount(which).astype(float)
    middles = np.bincount(which, weights=values) / counts
    owed = np.round(np.bincount(which, weights=budgets) / counts, 12)  # of tiers, what they are
    least = 0.001 if budget is None else float(budget(np.array([max(map(abs, ends))]))[0])
    return World((name, policy), middles, owed, counts, ends, budget, least)


def made_up(seed: int) -> Iterator[tuple[str, Floats, tuple[float, float]]]:
    """Yield synthetic sets: large ones, groups of a few hundred to a few thousand records, and both signs."""
    for data in synthetic_sets():
        yield data.name, data.values.astype(float), (100.0, 1e12)
    for number, values in enumerate(centres.groups(seed)):
        yield f"group {number}", values, (1.0, 1e12)
    random = np.random.default_rng(seed + 1)
    for size in (1_000, 30_000):
        signed = {
            "normal": random.normal(0, 5e4, size),
            "skewed": random.lognormal(9, 1.2, size) - 8e3,
            "tails": random.standard_t(3, size) * 2e4 + 1e4,
        }
        for name, values in signed.items():
            yield f"signed {name} {size}", values, (-1e12, 1e12)


def worlds(seed: int = 0) -> Iterator[World]:
    """Yield every set under every policy."""
    for name, values, ends in made_up(seed):
        for policy in POLICIES:
            yield world(name, policy, values, ends)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Public points for sizes of records, which may differ from run to run, and the mass that each clips.

    Attributes:
        points: In units of size for each unit of budget.
        sizes: The size of each kind of record; one row, or one a run.
        world: Whose records.
    """

    points: Floats
    sizes: Floats
    world: World

    @classmethod
    def spanning(cls, world: World, sizes: Floats, foot: float, top: float, stride: int = 2) -> Candidates:
        """Return a candidates from one point to another."""
        octaves = np.arange(0, np.log2(top / foot) + stride / 4, stride / 4)
        return cls(foot * 2**octaves, np.atleast_2d(np.abs(sizes)), world)

    @property
    def heights(self) -> Floats:
        """How many octaves each point is above the first."""
        return np.asarray(np.log2(self.points / self.points[0]))

    def masses(self) -> Floats:
        """Return the budget mass that each point clips, a row for each row of sizes."""
        rows, kinds = self.sizes.shape
        first = np.searchsorted(self.points, self.sizes / self.world.budgets)
        places = first + np.arange(rows)[:, None] * (self.points.size + 1)
        mass = np.broadcast_to(self.world.budgets * self.world.counts, (rows, kinds))
        here = np.bincount(places.ravel(), mass.ravel(), rows * (self.points.size + 1))
        found = here.reshape(rows, -1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        return np.asarray(found[:, 1:])

    def mass(self) -> Floats:
        """Return the budget mass of all records, a number for each row of sizes."""
        return np.asarray((self.sizes > 0) @ (self.world.budgets * self.world.counts))


Choice = tuple[Floats, Floats]
"""The points that were drawn, and the part of the share that is left; one a run."""


def flipped(penalties: Floats, random: np.random.Generator) -> NDArray[np.intp]:
    """Draw by permute-and-flip: the least of penalties less exponential noise."""
    return np.asarray(np.argmin(penalties - random.exponential(size=penalties.shape), axis=1))


def chosen(
    candidates: Candidates, share: float, finder: PointFinder, runs: int, random: np.random.Generator
) -> Choice:
    """Draw a point for every run as the library does: a gate, a tuning, permute-and-flip."""
    noisy = share * candidates.mass() + random.laplace(0, 1 / float(finder.gate), runs)
    masses = np.broadcast_to(candidates.masses(), (runs, candidates.points.size))
    whole = np.broadcast_to(candidates.mass(), runs)
    points, parts = np.zeros(runs), np.zeros(runs)
    left = np.ones(runs, bool)
    for margin, tuning in finder.tunings:
        climb = float(tuning.fall) * candidates.heights
        reached = (
            left if margin is None else left & (noisy >= (0.8 * climb[-1] + margin) / float(tuning.seen))
        )
        left = left & ~reached
        if reached.any():
            penalties = share * float(tuning.seen) * charged(candidates, masses, whole, share, tuning) + climb
            points[reached] = candidates.points[flipped(penalties[reached], random)]
            parts[reached] = float(tuning.answer)
    return points, parts


def charged(candidates: Candidates, masses: Floats, whole: Floats, share: float, tuning: Tuning) -> Floats:
    """Return what points are charged for, in units of mass: what they clip, and what a fence lacks."""
    if tuning.fence is None:
        return masses
    lower = np.concatenate((whole[:, None], masses), axis=1)
    places = np.searchsorted(
        candidates.heights, candidates.heights - tuning.fence.below / 4 + 1e-9, side="right"
    )
    lacks = np.maximum(0, tuning.fence.mass / share - lower[:, places])
    return np.asarray(masses + lacks / tuning.fence.times)


def clipped(
    world: World, sizes: Floats, points: Floats, scales: Floats, random: np.random.Generator
) -> Floats:
    """Return noisy totals of signed sizes, each run clipped at its own point."""
    caps = points[:, None] * world.budgets
    totals = np.clip(np.atleast_2d(sizes), -caps, caps) @ world.counts
    return np.asarray(totals + random.laplace(0, 1, points.size) * scales)


def grid(world: World) -> Floats:
    low, high = world.ends
    return np.geomspace(max(1.0, low), max(abs(low), high), 4000)


def ends_of(world: World, power: int) -> tuple[float, float]:
    """Return the least and the greatest ratio of |v|^power to budget that is possible."""
    values = grid(world)
    if world.policy is None:
        return values[0] ** power / AT_MOST, values[-1] ** power / world.least
    ratios = values**power / np.minimum(world.policy(values), AT_MOST)
    return float(ratios.min()), float(ratios.max())


@dataclass(frozen=True, slots=True)
class Asked:
    """Totals of a world's records, drawn many times at a share."""

    world: World
    runs: int
    random: np.random.Generator

    def sum(self, share: float, finder: PointFinder | None = None) -> tuple[Floats, Floats]:
        """Return noisy sums, and the points at which they were clipped."""
        return self.total(self.world.values, share, ends_of(self.world, 1), finder)

    def count(self, share: float) -> Floats:
        """Return noisy counts."""
        if self.world.name[1] in ("stepwise", "flat"):
            return self.tiers(share)
        return self.total(np.ones_like(self.world.values), share, ends_of(self.world, 0))[0]

    def squares(
        self, centre: Floats, share: float, finder: PointFinder | None = None
    ) -> tuple[Floats, Floats]:
        """Return noisy sums of squared distances from a centre, one a run, and their points."""
        sizes = (self.world.values - centre[:, None]) ** 2
        top = 4 * max(map(abs, self.world.ends)) ** 2 / self.world.least
        return self.total(sizes, share, (1 / AT_MOST, top), finder)

    def total(
        self, sizes: Floats, share: float, ends: tuple[float, float], finder: PointFinder | None = None
    ) -> tuple[Floats, Floats]:
        """Return noisy totals of sizes, and their points."""
        candidates = Candidates.spanning(self.world, sizes, *ends)
        found = finder or finder_for(share)
        points, parts = chosen(candidates, share, found, self.runs, self.random)
        return clipped(self.world, sizes, points, points / (share * parts), self.random), points

    def tiers(self, share: float) -> Floats:
        """Return noisy counts tier by tier, those up to the last heavy one."""
        kinds, which = np.unique(-self.world.budgets, return_inverse=True)
        totals = np.bincount(which, weights=self.world.counts)
        scales = -1 / (kinds * share)
        heights = 4 * np.log2(scales / scales[0])
        noisy = totals + self.random.laplace(0, 1, (self.runs, kinds.size)) * scales
        heavy = noisy >= (2.5 + 0.175 * heights) * scales
        heavy[:, 0] = True
        last = kinds.size - 1 - np.argmax(heavy[:, ::-1], axis=1)
        return np.asarray(np.where(np.arange(kinds.size) <= last[:, None], noisy, 0).sum(axis=1))


def finder_for(share: float) -> PointFinder:
    return PointFinder.for_totals(Fraction(share).limit_denominator(10_000))


def at_mass(world: World, sizes: Floats, mass: float) -> Floats:
    """Return the ratio above which lies a budget mass, for each row of sizes; for 1 / share, the best."""
    ratios = np.atleast_2d(np.abs(sizes)) / world.budgets
    order = np.argsort(-ratios, axis=1)
    above = np.cumsum((world.budgets * world.counts)[order], axis=1)
    place = np.minimum((above < mass).sum(axis=1), sizes.shape[-1] - 1)
    return np.asarray(np.take_along_axis(ratios, order, axis=1)[np.arange(len(ratios)), place[: len(ratios)]])
