"""What is drawn beside a known point has the noise that it states, and its intervals cover the truth."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

import prdp
from prdp.ledger.account import Entry
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.warm_clip import WarmClip
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.plan.plan import Plan
from prdp.release.bias import Clipping
from prdp.release.release import Release
from prdp.tables.queryable import reader_of
from prdp.testing import Seeded
from prdp.testing.exact_loss import flip_probabilities
from tests.statistical.test_clip import SUMMARY, binned
from tests.statistical.thresholds import P_THRESHOLD

RUNS = 20_000
HALF = Fraction(1, 2)
LAW: Any = WarmClip(Clip(), Fraction(30), up=HALF, down=HALF, mass_bits=8).law(SUMMARY, HALF)


def test_places_fit_their_chances_and_not_those_of_a_choice_15_percent_sharper() -> None:
    drawn = Counter(LAW.first.draw(Seeded(20261117), RUNS))

    def fit(penalties: tuple[Fraction, ...]) -> float:
        chances = np.array([float(ball.mid()) for ball in flip_probabilities(type(LAW.first)(penalties))])
        likely = chances * RUNS > 20
        observed = np.array([drawn[place] for place in range(len(chances))])
        counts = np.append(observed[likely], observed[~likely].sum())
        masses = np.append(chances[likely], chances[~likely].sum())
        return float(chisquare(counts, masses / masses.sum() * counts.sum()).pvalue)

    assert fit(LAW.first.penalties) > P_THRESHOLD
    assert fit(tuple(penalty / Fraction(85, 100) for penalty in LAW.first.penalties)) < P_THRESHOLD


@pytest.mark.parametrize("number", range(3), ids=["total", "band", "further"])
def test_each_sum_fits_its_own_noise_and_none_that_is_15_percent_off(number: int) -> None:
    noisy = LAW.then(8)
    drawn = np.array([values[number] for values in noisy.draw(Seeded(number), RUNS)])
    noise = noisy.noises[number]

    def fit(scale: Fraction) -> float:
        counts, masses = binned(drawn - noisy.values[number], DiscreteLaplace(scale))
        return float(chisquare(counts, masses / masses.sum() * RUNS).pvalue)

    assert fit(noise.scale) > P_THRESHOLD
    for off in (85, 115):
        assert fit(noise.scale * Fraction(off, 100)) < P_THRESHOLD


class _Known:
    """A ledger that holds one answer."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    def answered(self, wanted: Any) -> tuple[Entry, ...]:
        return (self._entry,) if wanted(self._entry.purpose) else ()

    def standing(self, purpose: str, share: Fraction) -> None: ...


def warm(table: prdp.Table, plan: Plan, at: float, runs: int) -> list[Release]:
    """Draw answers from a point that is put into the ledger's mouth."""
    point = Clipping(Fraction(at), Fraction(10**9), Fraction(1), Fraction(2), 2, blind=False)
    reported = Release("", 0, Fraction(1), (), plan.share, "clip", clipping=point)
    begun = plan.warm_started(plan.warm_start(_Known(Entry(0, plan.text, plan.share, release=reported))))
    return [plan.one(release) for release in begun.draw(reader_of(table), Seeded(11), runs)]


@pytest.mark.parametrize(("at", "noise_alone"), [(10**3, 300), (10**5, 300), (10**7, 400)])
def test_intervals_cover_the_truth_wherever_the_known_point_is(at: int, noise_alone: int) -> None:
    """Values with a heavy tail; intervals of the noise alone miss it where much is clipped."""
    values = np.rint(1e4 * np.random.default_rng(0).random(20_000) ** (-1 / 2)).astype(np.int64)
    table = prdp.open(
        {"v": values},
        policy=prdp.Policy("10000 / v", at_most=100),
        bounds={"v": (100, 10**12)},
        synthetic=True,
    )
    plan = table.plan(prdp.sum("v"), share=1)
    releases = warm(table, plan, at, 400)
    truth = int(values.sum())

    def covered(tail_factor: int) -> int:
        return sum(
            low <= truth <= high for low, high in (one.interval(tail_factor=tail_factor) for one in releases)
        )

    assert binomtest(covered(8), 400, 0.95, alternative="less").pvalue > P_THRESHOLD
    assert covered(1) <= noise_alone
