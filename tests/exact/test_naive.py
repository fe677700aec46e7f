"""naive on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from prdp.mechanisms import Naive
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Noisy
from prdp.summary import Summary
from prdp.testing.exact_loss import TOLERANCE, worst_loss
from tests.exact.universe import ODD, RECORDS, Record, budget, count_of, summary_of

EVERYONE = (*RECORDS, *ODD)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(2, 7)])
@pytest.mark.parametrize("summarise", [summary_of, count_of])
def test_no_record_loses_more_than_its_share_of_its_budget(
    share: Fraction, summarise: Callable[[Sequence[Record]], Summary]
) -> None:
    worst = worst_loss(
        EVERYONE,
        lambda summary: Naive().law(summary, share),
        summarise,
        lambda record: float(share) * budget(record),
        most_records=2,
    )
    assert worst.excess <= TOLERANCE, worst


class TooLittleNoise(Naive):
    """Scales the noise to the largest value in the table, which is less and depends on the data."""

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        right = super().law(summary, share)
        there = max((cell.key.high for cell in summary.cells), default=1)
        return Noisy(right.values, (DiscreteLaplace(max(1, there) / (share / 8)),))


def test_noise_scaled_to_the_data_is_caught() -> None:
    worst = worst_loss(
        RECORDS, lambda summary: TooLittleNoise().law(summary, Fraction(1)), summary_of, budget, 2
    )
    assert worst.excess > 0.01
