"""The paper's Algorithm 2: find where budgets become numerous, and run any mechanism from there on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from prdp.cells.columns import totals_at
from prdp.cells.summary import Summary, TopSummary
from prdp.levels import FINE_PER_OCTAVE, Levels
from prdp.mechanisms._axis import Ranges, ranges_between
from prdp.mechanisms._threshold import beyond
from prdp.mechanisms.partition import DomainFinder
from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Law, Lazily, Noisy, Scan, Then
from prdp.release.bias import Dropped
from prdp.release.raw_answer import Answer, Caveat


class Base(Protocol):
    """A mechanism that is ε-DP when one record is added or removed; the proofs are in proofs/framework.md.

    ``counts`` says whether each record counts 1, so that no more can be missing than records were dropped.
    """

    @property
    def counts(self) -> bool:
        """True if each record counts 1 and none is clipped."""

    def law(self, kept: Summary, epsilon: Fraction, beta: Fraction) -> Law:
        """Return the law that an answer is drawn from."""

    def answer(self, summary: Summary, law: Any, drawn: Any) -> Answer:
        """Return the answer for a draw; of the summary it uses the public facts alone."""


@dataclass(frozen=True, slots=True)
class LaplaceCount:
    """The number of records, with noise of scale 1/ε."""

    counts = True

    def law(self, kept: Summary, epsilon: Fraction, beta: Fraction) -> Noisy:  # noqa: ARG002
        """Return the distribution of the noisy count."""
        return Noisy((kept.records,), (DiscreteLaplace(1 / epsilon),))

    def answer(self, summary: Summary, law: Noisy, drawn: tuple[int, ...]) -> Answer:  # noqa: ARG002
        """Return the noisy count."""
        return Answer(drawn[0], Fraction(1), law.noises, ())


@dataclass(frozen=True, slots=True)
class UniversalSum:
    """The total of values clipped at a power of two, which a scan finds; half of ε for either step."""

    counts = False

    def law(self, kept: Summary, epsilon: Fraction, beta: Fraction) -> Then:
        """Return the distribution of (exponent, noisy clipped total)."""
        radii = range((kept.largest - 1).bit_length() + 1)
        reached = kept.cells.by_magnitude(lambda ends: max(0, ends[1] - 1).bit_length())
        above = totals_at(reached, kept.cells.count, len(radii) + 1)
        half = epsilon / 2
        threshold = int(6 / half * Fraction(math.log(2 / beta)))
        noise = DiscreteLaplace(2 / half)
        scan = Scan(tuple(beyond(above)[:-1]), (threshold,) * len(radii), noise, noise)

        def total(exponent: int) -> Noisy:
            clipped = kept.clipped_total(1 << exponent)
            return Noisy((clipped,), (DiscreteLaplace((1 << exponent) / half),))

        return Then(scan, total)

    def answer(self, summary: Summary, law: Then, drawn: tuple[int, tuple[int, ...]]) -> Answer:  # noqa: ARG002
        """Return the noisy clipped total."""
        exponent, (total,) = drawn
        noisy = law.then(exponent)
        assert isinstance(noisy, Noisy)  # noqa: S101  (see law)
        return Answer(total, Fraction(1), noisy.noises, (("values clipped at", str(1 << exponent)),))


@dataclass(frozen=True, slots=True)
class InverseSensitivityMax:
    """The largest value, by how many records would have to go for a range to hold it; with a slack.

    The cited mechanism chooses among all values. Here those of a range share one penalty, the least of
    theirs: below some 300 a range holds a single value, above it 1/256 of an octave.

    Attributes:
        low: The least value that the public bounds allow, in steps.
        high: The greatest one.
        lowest: Whether the smallest value is asked for.
        per_octave: The number of magnitude cells in an octave.
    """

    low: int
    high: int
    lowest: bool = False
    per_octave: int = FINE_PER_OCTAVE

    counts = False

    def law(self, kept: Summary, epsilon: Fraction, beta: Fraction) -> ExponentialChoice:
        """Return the distribution of the range's place."""
        ranges = ranges_between(self.low, self.high, kept.largest, self.per_octave)
        counts = _counts(kept, ranges)
        if self.lowest:
            counts.reverse()
        slack = int(2 / epsilon * Fraction(math.log((self.high - self.low + 1) / beta)))
        above = beyond(counts)
        penalties = [
            max(0, more - slack, slack - more - here) for more, here in zip(above, counts, strict=True)
        ]
        penalties[0] = max(0, above[0] - slack)
        if self.lowest:
            penalties.reverse()
        return ExponentialChoice(tuple(penalties), epsilon / 2, _lengths(ranges))

    def answer(self, summary: Summary, law: ExponentialChoice, drawn: int) -> Answer:  # noqa: ARG002
        """Return the middle of the range."""
        ends = ranges_between(self.low, self.high, summary.largest, self.per_octave).ends[drawn]
        return Answer(sum(ends) // 2, Fraction(1), (), (), ends)


@dataclass(frozen=True, slots=True)
class InverseSensitivityQuantile:
    """The range with the part ``quantile`` of the records below it, by how many would have to go.

    Attributes:
        quantile: The part.
        low: The least value that the public bounds allow, in steps.
        high: The greatest one.
        per_octave: The number of magnitude cells in an octave.
    """

    quantile: Fraction
    low: int
    high: int
    per_octave: int

    counts = False

    def law(self, kept: Summary, epsilon: Fraction, beta: Fraction) -> ExponentialChoice:  # noqa: ARG002
        """Return the distribution of the range's place."""
        ranges = ranges_between(self.low, self.high, kept.largest, self.per_octave)
        counts = _counts(kept, ranges)
        part, whole = self.quantile.numerator, self.quantile.denominator
        target, below, penalties = part * sum(counts), 0, []
        for here in counts:
            up_to = below + whole * here
            penalties.append(max(0, below - target, target - up_to))
            below = up_to
        unit = epsilon / (2 * max(part, whole - part))
        return ExponentialChoice(tuple(penalties), unit, _lengths(ranges))

    def answer(self, summary: Summary, law: ExponentialChoice, drawn: int) -> Answer:  # noqa: ARG002
        """Return the middle of the range."""
        ends = ranges_between(self.low, self.high, summary.largest, self.per_octave).ends[drawn]
        return Answer(sum(ends) // 2, Fraction(1), (), (), ends)


def _counts(kept: Summary, ranges: Ranges) -> list[int]:
    """Return the number of records in each range; records without a value are in none."""
    cells = kept.valued().cells
    return totals_at(ranges.of(cells), cells.count, len(ranges.ends))


def _lengths(ranges: Ranges) -> tuple[int, ...]:
    return tuple(last - first + 1 for first, last in ranges.ends)


SPLIT = Fraction(1, 4)
"""The part of the share that finds the domain, unless the caller says another; the paper's is 1/2."""


@dataclass(frozen=True, slots=True)
class PaperFramework:
    """Drop the records below a domain that is found privately, and run a base mechanism on the others.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Finding the domain costs a · share · E(r). A record below it takes part in nothing more; one above
        has a budget of at least ε, the domain's lower end, and the base runs at (1 - a) · share · ε.
        In full: proofs/framework.md.

    Attributes:
        base: What answers, from the cells of the records that are kept.
        split: The part of the share that finds the domain.
        beta: The rate at which either step may fail.
    """

    base: Base
    split: Fraction = SPLIT
    beta: Fraction = Fraction(1, 10)

    name = "framework"

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (the same for both)
        """Describe what the interval does not cover."""
        return Caveat("records with smaller budgets than those kept are dropped, whatever their values")

    def law(self, summary: Summary | TopSummary, share: Fraction) -> Gated:
        """Return the distribution of (domain, what the base mechanism draws there).

        The base mechanism sees the summary itself, or the values of a ``TopSummary``: how many a record
        can change, and in which domain, is the same.
        """
        records, seen = (
            (summary.records, summary.values) if isinstance(summary, TopSummary) else (summary, summary)
        )
        finder = DomainFinder.over(records.levels, self.beta)
        counts = finder.law(records.counted(), self.split * share)
        return Gated(
            first=counts,
            rule=finder.rule(counts),
            laws=Lazily(records.levels.domains, lambda place: self.rest(seen, share, place + 1)),
        )

    def rest(self, summary: Summary, share: Fraction, domain: int) -> Law:
        """Return the base mechanism's law on the records from a domain on."""
        epsilon = self.epsilon(summary.levels, share, domain)
        return self.base.law(kept_from(summary, domain), epsilon, self.beta)

    def epsilon(self, levels: Levels, share: Fraction, domain: int) -> Fraction:
        """Return the base mechanism's epsilon: a part of the least budget that is kept."""
        return (1 - self.split) * share * levels.domain_quanta(domain) * levels.quantum

    def answers(
        self, summary: Summary | TopSummary, share: Fraction, entropy: Entropy, runs: int
    ) -> list[Answer]:
        """Draw independent answers."""
        law = self.law(summary, share)
        seen = summary.values if isinstance(summary, TopSummary) else summary
        levels = seen.levels
        finder = DomainFinder.over(levels, self.beta)
        answers = []
        for place, drawn in law.draw(entropy, runs):
            answer = self.base.answer(seen, law.laws[place], drawn)
            least = float(levels.domain_quanta(place + 1) * levels.quantum)
            choices = (("kept budgets from", f"{least:.6g} on"), *answer.choices)
            dropped = self.dropped(law.first, finder.partition.thresholds(law.first), place)
            answers.append(replace(answer, choices=choices, clipping=dropped if answer.noises else None))
        return answers

    def dropped(self, counts: Noisy, thresholds: Sequence[int], place: int) -> Dropped:
        """Return the known facts about the records in the domains before a place.

        Of their number, that each noisy count was below its threshold; of their values, nothing.
        """
        scales = sum((noise.scale for noise in counts.noises[:place]), Fraction(0))
        unknown = not self.base.counts
        return Dropped(sum(thresholds[:place]), scales, len(counts.noises) - 1, seen="never", unknown=unknown)


def kept_from(summary: Summary, domain: int) -> Summary:
    """Return the records whose budgets are at least those of a domain."""
    return summary.from_budget(summary.levels.domain_quanta(domain))
