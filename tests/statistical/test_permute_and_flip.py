"""Candidates are drawn as often as coins and a draw among the heads say."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.stats import chisquare

from prdp.noise.choice import ExponentialChoice
from prdp.noise.exponential import exp_bounds, expansion
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.testing import Seeded
from prdp.testing.exact_loss import choice_probabilities, flip_probabilities
from tests.statistical.thresholds import P_THRESHOLD

RUNS = 40_000
PENALTIES = tuple(Fraction(number, 7) for number in (3, 0, 9, 20, 1, 12, 200))


def fit(found: list[int], law: PermuteAndFlip) -> float:
    expected = np.array([float(ball.mid()) for ball in flip_probabilities(law)]) * len(found)
    counts = np.bincount(found, minlength=len(expected))
    seen = expected > 5
    return float(chisquare(counts[seen], expected[seen] * counts[seen].sum() / expected[seen].sum()).pvalue)


def test_draws_fit_their_own_coins_and_none_that_are_15_percent_off() -> None:
    found = PermuteAndFlip(PENALTIES).draw(Seeded(20261116), RUNS)
    assert fit(found, PermuteAndFlip(PENALTIES)) > P_THRESHOLD
    for factor in (Fraction(85, 100), Fraction(115, 100)):
        assert fit(found, PermuteAndFlip(tuple(penalty * factor for penalty in PENALTIES))) < P_THRESHOLD


def test_one_run_at_a_time_is_distributed_as_many_at_once() -> None:
    law, entropy = PermuteAndFlip(PENALTIES), Seeded(3)
    assert fit([law.draw(entropy, 1)[0] for _ in range(2000)], law) > P_THRESHOLD


def test_the_best_is_preferred_more_than_by_the_exponential_choice() -> None:
    sharp = flip_probabilities(PermuteAndFlip(PENALTIES))
    plain = choice_probabilities(ExponentialChoice(PENALTIES))
    assert sharp[1] > plain[1]
    assert all(sharp[worse] < plain[worse] for worse in (2, 3, 5, 6))
    assert float(sum(sharp).mid()) == pytest.approx(1)


class Scripted:
    """Bytes that are written down beforehand."""

    def __init__(self, script: bytes) -> None:
        self._script = script

    def bytes(self, count: int) -> bytes:
        given, self._script = self._script[:count], self._script[count:]
        return given


@pytest.mark.parametrize("penalty", [1, 44, 45, 46, 47, 60])
@pytest.mark.parametrize(("next_byte", "chosen"), [(-1, 1), (1, 0)])
def test_a_coin_that_is_on_its_edge_is_settled_by_the_next_byte(
    penalty: int, next_byte: int, chosen: int
) -> None:
    """The uniform number agrees with the probability on many bytes and differs in the one after them."""
    edge = expansion(partial(exp_bounds, Fraction(penalty)), 12)
    last = bytes([edge[11] + next_byte])
    pick_the_second = b"\xff"  # one bit: which of two heads
    script = bytes(8) + edge[:11] + last + pick_the_second
    for law in (
        PermuteAndFlip((Fraction(0), Fraction(penalty))),
        PermuteAndFlip.of_column(np.array([7, 7 + 3 * penalty]), Fraction(1, 3)),
    ):
        assert law.draw(Scripted(script), 1) == [chosen]


@pytest.mark.parametrize("word", [1, 2, 3])
@pytest.mark.parametrize("penalty", [45, 46, 47, 600, 10**30])
def test_a_coin_of_a_faint_candidate_shows_tails_from_its_first_word_on(word: int, penalty: int) -> None:
    """Its probability is below 2^-64, so that no number that begins with more than 0 is below it."""
    script = bytes(8) + word.to_bytes(8, "big")
    assert PermuteAndFlip((Fraction(0), Fraction(penalty))).draw(Scripted(script), 1) == [0]


def test_a_column_of_penalties_is_drawn_from_as_a_list_is() -> None:
    penalties = np.random.default_rng(1).integers(-(10**6), 10**6, 3000)
    unit = Fraction(1, 20_000)
    column, listed = (
        PermuteAndFlip.of_column(penalties, unit),
        PermuteAndFlip(tuple(penalties.tolist()), unit),
    )
    assert column == listed
    assert column != PermuteAndFlip.of_column(penalties + 1, unit)
    found = column.draw(Seeded(1), 300)
    assert found == listed.draw(Seeded(1), 300)
    assert len(set(found)) > 20


def test_hopeless_candidates_cost_nothing_and_nobody_is_refused() -> None:
    assert set(PermuteAndFlip((Fraction(10**9), Fraction(10**9 + 1000))).draw(Seeded(1), 50)) == {0}
    with pytest.raises(ValueError, match="nothing to choose"):
        PermuteAndFlip(())
