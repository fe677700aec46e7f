"""naive on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from prdp.cells.summary import Summary
from prdp.mechanisms.naive import Naive
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Noisy
from prdp.testing.mechanism_contract import Twin
from tests.exact.universe import ODD, RECORDS, OnThisUniverse, Record, count_of


def scaled_to_the_data(summary: Summary, share: Fraction) -> Noisy:
    """Take the largest value in the table for the largest that there can be."""
    there = max((cell.key.high for cell in summary.cells), default=1)
    return Noisy(Naive().law(summary, share).values, (DiscreteLaplace(max(1, there) / (share / 8)),))


def too_little_noise(summary: Summary, share: Fraction) -> Noisy:
    right = Naive().law(summary, share)
    return Noisy(right.values, tuple(DiscreteLaplace(n.scale * Fraction(85, 100)) for n in right.noises))


class TestSum(OnThisUniverse):
    mechanism = Naive()
    records = (*RECORDS, *ODD, {"v": -12, "eps": 0.125})  # the last has the most to lose

    def twins(self) -> Mapping[str, Twin]:
        return {
            "noise scaled to the data": Twin(scaled_to_the_data),
            "noise 15 % too small": Twin(too_little_noise),
        }


class TestCount(TestSum):
    def summarise(self, records: Sequence[Record]) -> Summary:
        return count_of(records)

    def twins(self) -> Mapping[str, Twin]:
        return {"noise 15 % too small": Twin(too_little_noise)}
