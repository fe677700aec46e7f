"""partition on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from prdp.cells.summary import Summary
from prdp.mechanisms.partition import PaperPartition, count_influences, sum_influences
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Noisy
from prdp.testing.mechanism_contract import MechanismLaw, Twin
from tests.exact.universe import LEVELS, MEASURE, ODD, POLICY, RECORDS, OnThisUniverse, Record, count_of

COUNT = PaperPartition(count_influences(LEVELS))
SUM = PaperPartition(sum_influences(POLICY, LEVELS, {"v": (Fraction(-12), Fraction(12))}, MEASURE))
UNDERSTATED = PaperPartition(tuple(influence / 3 for influence in SUM.influences))


def with_noise(mechanism: PaperPartition, factor: Fraction) -> MechanismLaw:
    """Return the law with noise that is scaled by a factor."""

    def law(summary: Summary, share: Fraction) -> Noisy:
        right = mechanism.law(summary, share)
        return Noisy(right.values, tuple(DiscreteLaplace(noise.scale * factor) for noise in right.noises))

    return law


def unclipped(summary: Summary, share: Fraction) -> Noisy:
    """Trust influences that are too small instead of clipping at them."""
    totals = [0] * summary.levels.domains
    for cell in summary.cells:
        totals[summary.levels.domain(cell.key.quanta) - 1] += cell.total
    return Noisy(tuple(totals), UNDERSTATED.law(summary, share).noises)


class TestCount(OnThisUniverse):
    mechanism = COUNT
    records = (*RECORDS, *ODD)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return count_of(records)

    def twins(self) -> Mapping[str, Twin]:
        return {
            "noise 15 % too small": Twin(with_noise(self.mechanism, Fraction(85, 100))),
            "the upper end of a domain's budgets": Twin(with_noise(self.mechanism, Fraction(1, 2))),
        }

    def test_a_record_at_a_domain_s_lower_end_loses_all_that_it_may(self) -> None:
        self.records = RECORDS[:1]
        losses = [self.worst(self.law, "whole", share).measured for share in self.shares]
        assert losses == pytest.approx([0.125, 0.125 / 3], rel=1e-5)


class TestSum(OnThisUniverse):
    mechanism = SUM
    tied_at = Fraction(50)
    records = (*RECORDS, *ODD)

    def twins(self) -> Mapping[str, Twin]:
        return {
            "the upper end of a domain's budgets": Twin(with_noise(self.mechanism, Fraction(1, 2))),
            "not clipped": Twin(unclipped),
        }


class TestSumWithUnderstatedInfluences(TestSum):
    mechanism = UNDERSTATED
