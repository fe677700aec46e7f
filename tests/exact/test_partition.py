"""partition on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest

from prdp.mechanisms import Partition, count_influences, sum_influences
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Noisy
from prdp.summary import Summary
from prdp.testing.exact_loss import TOLERANCE, worst_loss
from tests.exact.universe import (
    LEVELS,
    MEASURE,
    ODD,
    POLICY,
    RECORDS,
    budget,
    count_of,
    summary_of,
)

COUNT = Partition(count_influences(LEVELS))
SUM = Partition(sum_influences(POLICY, LEVELS, {"v": (Fraction(-12), Fraction(12))}, MEASURE))
UNDERSTATED = Partition(tuple(influence / 3 for influence in SUM.influences))


@pytest.mark.parametrize("share", [Fraction(1), Fraction(2, 7)])
@pytest.mark.parametrize(
    ("mechanism", "summarise"),
    [(COUNT, count_of), (SUM, summary_of), (UNDERSTATED, summary_of)],
    ids=["count", "sum", "sum with understated influences"],
)
def test_no_record_loses_more_than_its_share_of_its_budget(
    mechanism: Partition, summarise: type[Summary], share: Fraction
) -> None:
    worst = worst_loss(
        (*RECORDS, *ODD),
        lambda summary: mechanism.law(summary, share),
        summarise,
        lambda record: float(share) * budget(record),
        most_records=2,
    )
    assert worst.excess <= TOLERANCE, worst


def test_a_record_at_a_domain_s_lower_end_loses_all_that_it_may() -> None:
    worst = worst_loss(
        RECORDS[:1],
        lambda summary: COUNT.law(summary, Fraction(1)),
        count_of,
        budget,
        most_records=1,
    )
    assert worst.measured == pytest.approx(0.125, rel=1e-5)


@dataclass(frozen=True, slots=True)
class NextDomain(Partition):
    """Scales the noise by the upper end of a domain's budgets."""

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        right = super(NextDomain, self).law(summary, share)
        return Noisy(right.values, tuple(DiscreteLaplace(noise.scale / 2) for noise in right.noises))


@dataclass(frozen=True, slots=True)
class Unclipped(Partition):
    """Trusts the influences instead of clipping at them."""

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        right = super(Unclipped, self).law(summary, share)
        totals = [0] * summary.levels.domains
        for cell in summary.cells:
            totals[summary.levels.domain(cell.key.quanta) - 1] += cell.total
        return Noisy(tuple(totals), right.noises)


@pytest.mark.parametrize(
    "twin",
    [NextDomain(SUM.influences), Unclipped(UNDERSTATED.influences)],
    ids=["upper end", "unclipped"],
)
def test_a_wrong_twin_is_caught(twin: Partition) -> None:
    worst = worst_loss(
        RECORDS, lambda summary: twin.law(summary, Fraction(1)), summary_of, budget, most_records=2
    )
    assert worst.excess > 0.01
