"""The paper's Algorithm 2 for paths of two edges: noise by a smooth bound of what an edge can change."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from prdp.cells.edges import Pairs
from prdp.levels import PER_OCTAVE, Levels
from prdp.mechanisms.framework import SPLIT
from prdp.mechanisms.partition import DomainFinder
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import exp_bounds
from prdp.noise.quartic import Quartic
from prdp.release.bias import Dropped
from prdp.release.raw_answer import Answer, Caveat

STEEPNESS = Fraction(isqrt(isqrt(27 << 240)) + 1, 1 << 60)
"""3^(3/4) rounded up: how steeply the logarithm of the quartic density can fall, per unit of scale."""

_SPARE_BITS = 40
_STEEPEST = 64
"""Maximum steepness of the bound: e^-64 hides as little as a smaller factor, and takes few bits."""


@dataclass(frozen=True, slots=True)
class Widest:
    """A noise whose scale is private, by the largest one that it can have had."""

    scale: Fraction


@dataclass(frozen=True, slots=True)
class Smooth:
    """Drop edges below a domain that is found privately, and count the paths of the others.

    Guarantee:
        For every edge r, the answer is (share · E(r))-indistinguishable between the graph with r and the
        graph without it.

    Why:
        The domain costs a · share · E(r). An edge below it takes part in nothing more. One above it has a
        budget of at least ε, the domain's lower end; the count is hidden at (1 - a) · share · ε by noise in
        proportion to a smooth upper bound of what one edge can change, which itself changes by a small factor
        only. In full: proofs/smooth.md.

    Attributes:
        finder: Finds the domain.
        split: The part of the share that this uses.
    """

    finder: DomainFinder
    split: Fraction = SPLIT

    name = "smooth"

    def law(self, pairs: Pairs, share: Fraction, domain: int) -> Quartic:
        """Return the distribution of the noisy count, once the domain is known."""
        kept = pairs.from_level(PER_OCTAVE * (domain - 1))
        budget = self.budget(pairs, share, domain)
        scale = noise_per_bound(budget) * smooth_bound(largest_change(kept), most_change(pairs.nodes), budget)
        return Quartic(two_paths(kept), scale)

    def budget(self, pairs: Pairs, share: Fraction, domain: int) -> Fraction:
        """Return the epsilon of the count: a part of the domain's least budget."""
        least = pairs.levels.domain_quanta(domain) * pairs.levels.quantum
        return (1 - self.split) * share * least

    @property
    def beta(self) -> Fraction:
        """The rate at which finding the domain may fail."""
        return self.finder.partition.beta

    @classmethod
    def over(cls, levels: Levels, split: Fraction = SPLIT, beta: Fraction = Fraction(1, 10)) -> Smooth:
        """Return the mechanism for a grid of budgets."""
        return cls(DomainFinder.over(levels, beta), split)

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (counts have no sign)
        """Describe the errors other than noise."""
        return Caveat("dropped edges", "toward zero")

    def answers(self, pairs: Pairs, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers; of the noise, they give the largest scale that it can have had."""
        levels = pairs.levels
        return [
            Answer(
                count,
                Fraction(1),
                (Widest(scale),),
                (("kept budgets from", f"{float(levels.domain_quanta(domain) * levels.quantum):.6g} on"),),
                clipping=Dropped(
                    0, Fraction(domain > 1), levels.domains - 1, seen="never", unknown=domain > 1
                ),
                noise="quartic",
            )
            for count, domain, scale in self.draws(pairs, share, entropy, runs)
        ]

    def draws(
        self, pairs: Pairs, share: Fraction, entropy: Entropy, runs: int
    ) -> list[tuple[int, int, Fraction]]:
        """Draw (count, domain, the largest scale that its noise can have had), once a run."""
        domains = self.finder.draw(pairs.summary(), self.split * share, entropy, runs)
        laws = {domain: self.law(pairs, share, domain) for domain in sorted(set(domains))}
        most = {
            domain: noise_per_bound(budget) * most_change(pairs.nodes)
            for domain in laws
            for budget in [self.budget(pairs, share, domain)]
        }
        return [(laws[domain].draw(entropy, 1)[0], domain, most[domain]) for domain in domains]


def two_paths(pairs: Pairs) -> int:
    """Return the number of paths of two edges."""
    degrees = pairs.degrees()
    return int((degrees * (degrees - 1) // 2).sum())


def most_change(nodes: int) -> int:
    """Return the most paths that one edge can be part of among so many nodes, and at least 1."""
    return max(1, 2 * (nodes - 2))


def largest_change(pairs: Pairs) -> int:
    """Return max d(u) + d(w) - 2·[uw is an edge] over the public nodes and two more without edges.

    Adding or removing one edge changes it by at most 1; over the nodes of the data alone it would not be so.
    """
    degrees = np.append(pairs.degrees(), (0, 0))
    order = np.argsort(-degrees, kind="stable")
    ranked = degrees[order].tolist()
    best = ranked[0] + ranked[1] - 2
    near = order[degrees[order] >= ranked[1] - 2]  # only they can do better
    adjacent = pairs.among(near[near < pairs.nodes])
    names = near.tolist()
    for i, u in enumerate(names):
        for j in range(i + 1, len(names)):
            if ranked[i] + ranked[j] <= best:
                break
            best = max(best, ranked[i] + ranked[j] - 2 * ((u, names[j]) in adjacent))
    return int(best)


def smooth_bound(change: int, most: int, budget: Fraction) -> Fraction:
    """Return max over k of exp(-βk) · min(change + k, most), rounded up a little; β is budget / 6 or 64."""
    if change >= most:
        return Fraction(most)
    beta = _beta(budget)
    peak = 1 / beta - change
    candidates = {max(0, min(most - change, k)) for k in (int(peak), int(peak) + 1)}
    bits = precision(beta)
    return max(Fraction(exp_bounds(beta * k, bits)[1] * (change + k), 1 << bits) for k in candidates)


def _beta(budget: Fraction) -> Fraction:
    """Return budget / 6, and at most 64, less what the rounding of the bound may use."""
    return min(budget / 6, Fraction(_STEEPEST)) * (1 - Fraction(1, 1 << 30))


def precision(beta: Fraction) -> int:
    """Return the number of bits that resolve exp(-βk) for the k that matter: at least exp(-1 - β)."""
    return _SPARE_BITS + int(1 / beta).bit_length() + 2 * int(beta + 1)


def noise_per_bound(budget: Fraction) -> Fraction:
    """Return the noise's scale for each unit of the smooth bound: 2 · 3^(3/4) / budget, rounded up."""
    return 2 * STEEPNESS / budget
