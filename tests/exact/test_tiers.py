"""tiers on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from prdp.cells.columns import totals_at
from prdp.cells.groups import SummaryGroups
from prdp.cells.summary import Ratios, Span, Summary
from prdp.mechanisms.tiers import Tiers
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy
from prdp.testing.mechanism_contract import MechanismLaw, Twin
from tests.exact.universe import (
    LEVELS,
    ODD,
    RECORDS,
    OnThisUniverse,
    Record,
    count_of,
    summary_of,
    with_budgets_raised,
)

BITS = 4


def spans(*ratios: Fraction) -> tuple[Span, ...]:
    """Return narrow spans of steps a unit of budget, with their tops at these ratios."""
    return tuple((ratio * LEVELS.quantum * Fraction(9, 10), ratio * LEVELS.quantum) for ratio in ratios)


def tiers_of(summary: Summary) -> Tiers:
    found = Tiers.of(summary)
    assert found is not None
    return found


def law(summary: Summary, share: Fraction) -> Noisy:
    return tiers_of(summary).law(summary, share)


def with_noise(factor: Fraction) -> MechanismLaw:
    """Return the law with noise that is scaled by a factor."""

    def scaled(summary: Summary, share: Fraction) -> Noisy:
        right = law(summary, share)
        return Noisy(right.values, tuple(DiscreteLaplace(noise.scale * factor) for noise in right.noises))

    return scaled


def unclipped(summary: Summary, share: Fraction) -> Noisy:
    """Trust that no record is outside of what was thought possible."""
    points, right = tiers_of(summary).points, law(summary, share)
    cells, tiers = summary.cells, len(right.values)
    tier = np.minimum(points.first_reaching(cells.high, cells.quanta), tiers - 1)
    return Noisy(tuple(totals_at(tier, cells.total, tiers)), right.noises)


def noise_of_the_tier_below(summary: Summary, share: Fraction) -> Noisy:
    right = law(summary, share)
    return Noisy(right.values, (right.noises[0], *right.noises[:-1]))


class TestCount(OnThisUniverse):
    """Tiers for budgets of 3 and 1/2; records with 1/8, 0.2 and 0.3 were not thought possible."""

    records = (*RECORDS, *ODD)
    ratios = Ratios(*(spans(Fraction(1, 2), Fraction(5, 2)),) * 2)

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        return law(summary, share)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
        groups = SummaryGroups.of([summary])
        (only,) = tiers_of(summary).grouped(groups, share, entropy, runs, Fraction(1))
        return only

    def summarise(self, records: Sequence[Record]) -> Summary:
        return replace(count_of(records), ratios=self.ratios).refined(BITS)

    def twins(self) -> Mapping[str, Twin]:
        return {
            "noise 15 % too small": Twin(with_noise(Fraction(85, 100))),
            "not clipped": Twin(unclipped),
            "noise of the tier below": Twin(noise_of_the_tier_below),
            "levels rounded up": Twin(
                lambda summary, share: law(
                    replace(with_budgets_raised(summary, 4), ratios=summary.ratios), share
                )
            ),
        }


class TestSum(TestCount):
    ratios = Ratios(spans(Fraction(5), Fraction(25)), TestCount.ratios.records)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return replace(summary_of(records), ratios=self.ratios).refined(BITS)


def test_spans_too_wide_for_one_point_are_not_tiers() -> None:
    summary = TestCount().summarise(RECORDS)
    (low, high), last = TestCount.ratios.values
    wide = Ratios(((low / 2, high), last), TestCount.ratios.records)
    assert Tiers.of(replace(summary, ratios=wide.refined(BITS))) is None
    assert Tiers.of(replace(summary, ratios=None)) is None
