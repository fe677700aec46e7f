"""Base mechanisms for the framework: ordinary differential privacy over the cells that are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from prdp.cells.columns import totals_at
from prdp.cells.summary import Summary
from prdp.grids import FINE_PER_OCTAVE
from prdp.mechanisms._axis import Ranges, ranges_between
from prdp.mechanisms._mechanism import beyond
from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Law, Noisy, Scan, Then
from prdp.release.raw_answer import Answer


class Base(Protocol):
    """A mechanism that is ε-DP when one record is added or removed; the proofs are in proofs/framework.md.

    ``counts`` says whether each record counts 1, so that no more can be missing than records were dropped.
    """

    @property
    def counts(self) -> bool:
        """Whether each record counts 1 and none is clipped."""

    def law(self, kept: Summary, epsilon: Fraction, beta: Fraction) -> Law:
        """Return what an answer is drawn from."""

    def answer(self, summary: Summary, law: Any, drawn: Any) -> Answer:
        """Return what is said of what was drawn; of the summary it uses the public facts alone."""


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
        per_octave: How finely the summary's magnitudes are cut.
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
        per_octave: How finely the summary's magnitudes are cut.
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
    """Return how many records lie in each range; records without a value in none."""
    cells = kept.valued().cells
    return totals_at(ranges.of(cells), cells.count, len(ranges.ends))


def _lengths(ranges: Ranges) -> tuple[int, ...]:
    return tuple(last - first + 1 for first, last in ranges.ends)
