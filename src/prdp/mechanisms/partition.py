"""The paper's Algorithm 1: count each octave of budgets with the noise that octave needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.expressions.intervals import Interval, bound
from prdp.levels import Levels
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import FirstReaching, Noise, Noisy
from prdp.policy import Policy
from prdp.release.bias import Dropped
from prdp.release.raw_answer import Answer, Caveat
from prdp.schema import Bounds


@dataclass(frozen=True, slots=True)
class PaperPartition:
    """Release a noisy total for each domain of budgets, and keep those from the first heavy one on.

    Guarantee:
        For every record r, the noisy totals together are (share · E(r))-indistinguishable between
        the table with r and the table without it.

    Why:
        r lies in one domain and moves that domain's total by at most influence · E(r), which
        noise of scale influence / share hides up to share · E(r). The other totals stay, and which
        domains are kept is read off the noisy totals. In full: proofs/partition.md.

    Attributes:
        influences: For each domain, how many steps a unit of budget can represent; public.
        beta: The probability with which some empty domain may pass as heavy.
        graded: Whether that probability is kept smaller for smaller budgets, whose noise is larger.
        signed: Whether totals may be negative, so that a heavy domain shows by its size alone.
    """

    influences: tuple[Fraction, ...]
    beta: Fraction = Fraction(1, 10)
    graded: bool = False
    signed: bool = False

    name = "partition"

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Describe the errors other than noise."""
        dropped = "records with smaller budgets than those kept are dropped, which"
        return Caveat(dropped, "either way" if signed else "toward zero")

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        """Return the distribution of the noisy totals, smallest budgets first."""
        levels = summary.levels

        def domain(quanta: int) -> int:
            return levels.domain(quanta) - 1

        def cap(quanta: int) -> int:
            return int(self.influences[domain(quanta)] * quanta * levels.quantum)

        cells = summary.cells
        totals = summary.clipped_totals(cells.by_budget(domain), levels.domains, cells.by_budget(cap))
        noises = tuple(DiscreteLaplace(influence / share) for influence in self.influences)
        return Noisy(tuple(totals), noises)

    def threshold(self, domain: int, noise: Noise) -> int:
        """Return the thresholds of the noisy totals of domains 1, 2, ... to count as heavy."""
        domains = len(self.influences)
        if self.graded:
            tail = -math.log(self.beta) + (domains - domain + 1) * math.log(2)
        else:
            tail = math.log(domains / self.beta)
        return math.ceil(noise.scale * Fraction(tail))

    def thresholds(self, law: Noisy) -> list[int]:
        """Return every domain's threshold."""
        return [self.threshold(domain, noise) for domain, noise in enumerate(law.noises, start=1)]

    def first_kept(self, totals: Sequence[int], thresholds: Sequence[int]) -> int:
        """Return the index of the first heavy domain; of the last one if none is."""
        sizes = map(abs, totals) if self.signed else totals
        heavy = (i for i, size in enumerate(sizes) if size >= thresholds[i])
        return next(heavy, len(totals) - 1)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        law = self.law(summary, share)
        thresholds = self.thresholds(law)
        return [self._kept(totals, thresholds, law.noises, summary) for totals in law.draw(entropy, runs)]

    def _kept(
        self,
        totals: tuple[int, ...],
        thresholds: list[int],
        noises: tuple[Noise, ...],
        summary: Summary,
    ) -> Answer:
        first = self.first_kept(totals, thresholds)
        least = float(summary.levels.domain_quanta(first + 1) * summary.levels.quantum)
        choices = (("kept budgets from", f"{least:.6g} on"),)
        scales = sum((noise.scale for noise in noises[:first]), Fraction(0))
        dropped = Dropped(sum(thresholds[:first]), scales, len(noises) - 1, seen="all")
        return Answer(sum(totals[first:]), Fraction(1), noises[first:], choices, clipping=dropped)


_PER_OCTAVE = 64  # an influence is too large by at most 2^(1/64), or 1.1 %: noise and time are both small


def count_influences(levels: Levels) -> tuple[Fraction, ...]:
    """Return, for each domain, the inverse of its smallest budget: a record counts 1."""
    return tuple(
        1 / (levels.domain_quanta(domain) * levels.quantum) for domain in range(1, levels.domains + 1)
    )


def sum_influences(policy: Policy, levels: Levels, bounds: Bounds, measure: Measure) -> tuple[Fraction, ...]:
    """Return, for each domain, a bound on the largest |value| / budget in it, in steps."""
    least = count_influences(levels)
    most = [measure.smallest * inverse for inverse in least]
    reaches = [0] * len(least)
    ranges = {name: Interval(float(low), float(high)) for name, (low, high) in bounds.items()}
    for low, high in _pieces(measure):
        round_to = float(measure.round_to)
        budgets = bound(
            policy.expression, ranges | {measure.column: Interval(low * round_to, high * round_to)}
        )
        if budgets.empty or budgets.high < levels.least:
            continue
        reach = math.ceil(max(abs(low), abs(high)))
        first, last = (_domain(levels, end) for end in (budgets.low, budgets.high))
        level, inverse = levels.index(budgets.low), least[first - 1]
        if level is not None:  # the budget as it is after rounding, or no record would be reached
            inverse = min(inverse, 1 / (levels.quanta(level) * levels.quantum))
        most[first - 1] = max(most[first - 1], reach * inverse)
        for domain in range(first, last):  # from the next one on, all budgets are above its lower end
            reaches[domain] = max(reaches[domain], reach)
    return tuple(
        max(known, reach * inverse) for known, reach, inverse in zip(most, reaches, least, strict=True)
    )


def _domain(levels: Levels, budget: float) -> int:
    return levels.domain(levels.quanta_below(max(budget, levels.least)))


def _pieces(measure: Measure) -> Iterator[tuple[float, float]]:
    """Yield the values between the bounds in pieces that are short on a logarithmic scale."""
    ratio = 2 ** (1 / _PER_OCTAVE)
    for sign, least, most in (
        (1, max(measure.low, 1), measure.high),
        (-1, max(-measure.high, 1), -measure.low),
    ):
        low = float(least)
        while low <= most:
            high = min(low * ratio, float(most))
            yield (low, high) if sign > 0 else (-high, -low)
            low = math.nextafter(high, math.inf) if high < most else math.inf


@dataclass(frozen=True, slots=True)
class DomainFinder:
    """Count the records of each octave of budgets with noise, and take the first octave that is heavy.

    Guarantee:
        The domain is (share · E(r))-private.

    Why:
        The noisy counts are those of ``partition``; the domain is read off them. In full:
        proofs/partition.md.
    """

    partition: PaperPartition

    @classmethod
    def over(cls, levels: Levels, beta: Fraction = Fraction(1, 10), *, graded: bool = False) -> DomainFinder:
        """Return the finder for a grid of budgets."""
        return cls(PaperPartition(count_influences(levels), beta, graded))

    def law(self, counted: Summary, share: Fraction) -> Noisy:
        """Return the distribution of the noisy counts, from a summary in which each record counts 1."""
        return self.partition.law(counted, share)

    def rule(self, law: Noisy) -> FirstReaching:
        """Return the domain, counted from 0, that noisy counts point to: the first heavy one, or the last."""
        return FirstReaching(tuple(enumerate(self.partition.thresholds(law)[:-1])))

    def draw(self, counted: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[int]:
        """Draw domains, once a run."""
        law = self.law(counted, share)
        rule = self.rule(law)
        return [rule(counts) + 1 for counts in law.draw(entropy, runs)]
