"""The discrete Gaussian distribution: every coin of a draw, its stated loss and spread, and its speed."""

from __future__ import annotations

import copy
import math
import pickle
import time
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prdp.noise.discrete_gaussian import (
    DiscreteGaussian,
    GaussianScale,
    _below,
    _coarse,
    _fine,
    _missing,
    sum_spread,
)
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import SystemEntropy
from prdp.noise.exponential import exp_bounds, expansion
from prdp.noise.spread import weighted_spread
from prdp.testing.seeded import Seeded

TINY, SMALL, USUAL, LARGE, HUGE = (
    Fraction(1, 1000),
    Fraction(7, 2),
    Fraction(12345, 7),
    Fraction(10**18),
    Fraction(10) ** 60,
)
VARIANCES = [TINY, Fraction(1, 3), Fraction(1), SMALL, USUAL, LARGE, HUGE]

variances = st.builds(Fraction, st.integers(1, 10**15), st.integers(1, 10**6))


class Words:
    """Entropy that gives the same 16-bit word again and again, and after some calls another."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def bytes(self, count: int) -> bytes:
        word = self.words.pop(0) if len(self.words) > 1 else self.words[0]
        return (np.full((count + 1) // 2, word, np.uint16).tobytes())[:count]


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1, 3)])
def test_a_variance_must_be_positive(variance: Fraction) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        DiscreteGaussian(variance)


@pytest.mark.parametrize("variance", [1, 1.5, "2"])
def test_a_variance_must_be_a_fraction(variance: object) -> None:
    with pytest.raises(TypeError, match="Write a Fraction"):
        DiscreteGaussian(variance)  # type: ignore[arg-type]


@given(variance=variances, proposed=st.integers(-(10**12), 10**12))
@example(variance=TINY, proposed=1)
@example(variance=LARGE, proposed=10**9)
@example(variance=Fraction(1, 10**40), proposed=0)
@example(variance=Fraction(1), proposed=2**40)  # shifted by 24 bits it would be no number of 64
def test_the_parts_of_an_exponent_are_what_is_looked_up_and_a_rest_that_is_little(
    variance: Fraction, proposed: int
) -> None:
    """exp(-h/64) · exp(-l/2^16) · exp(-rest) is the coin, if and only if the three add up to the exponent."""
    noise = DiscreteGaussian(variance)
    (found,) = noise.parts(np.array([proposed])).tolist()
    exponent = noise.exponent(proposed)
    if found < 0:
        assert exponent >= 31
    else:
        assert 0 <= exponent - Fraction(found, 1 << 16) <= Fraction(4, 1 << 16)


@pytest.mark.parametrize("variance", VARIANCES)
def test_exponents_of_proposals_that_are_drawn_are_taken_apart(variance: Fraction) -> None:
    noise = DiscreteGaussian(variance)
    scale = math.isqrt(int(variance)) + 1
    proposed = DiscreteLaplace(Fraction(scale)).draw_many(Seeded(20261119), 300)
    for one, part in zip(proposed.tolist(), noise.parts(proposed).tolist(), strict=True):
        rest = noise.exponent(one) - Fraction(part, 1 << 16)
        assert part < 0 or 0 <= rest <= Fraction(4, 1 << 16)


@pytest.mark.parametrize("variance", [SMALL, USUAL])
def test_accepted_proposals_have_the_gaussian_shape(variance: Fraction) -> None:
    """Laplace mass times the coin is a constant times exp(-k²/2σ²): the algebra of the rejection, exactly."""
    noise = DiscreteGaussian(variance)
    scale = math.isqrt(int(variance)) + 1
    whole = {
        k: Fraction(abs(k), scale) + noise.exponent(k) - Fraction(k * k) / (2 * variance)
        for k in range(-60, 61)
    }
    assert len(set(whole.values())) == 1


@pytest.mark.parametrize("table", [_coarse(), _fine()], ids=["coarse", "fine"])
def test_coins_hold_the_first_bytes_of_their_chances(table: tuple[np.ndarray, Fraction]) -> None:
    thresholds, unit = table
    for number in range(0, len(thresholds), 97):
        bound = partial(exp_bounds, number * unit)
        assert int(thresholds[number]) == int.from_bytes(expansion(bound, 2), "big")


def test_a_word_that_equals_its_coin_goes_on_to_the_next_bytes() -> None:
    noise = DiscreteGaussian(USUAL)
    proposed = np.array([int(math.sqrt(USUAL)) + 30])
    (part,) = noise.parts(proposed).tolist()
    coin = int(_coarse()[0][part >> 10])
    below, above = (
        noise.accepted(proposed, Words(coin, next_byte, 0, 0xFFFF)).tolist() for next_byte in (0, 0xFFFF)
    )
    assert (below, above) == ([True], [False])


def test_the_rest_of_an_exponent_is_looked_at_where_its_first_word_is_small() -> None:
    noise = DiscreteGaussian(USUAL)
    proposed = np.array([70])
    assert noise.accepted(proposed, Words(0, 0, 4)).tolist() == [True]  # 4 / 2^16 is above any rest
    assert noise.accepted(proposed, Words(0, 0, 0)).tolist() == [False]  # 0 is below it, unless it is nothing


def test_a_chance_of_nothing_left_never_says_tails() -> None:
    assert not _below(b"\\x00\\x01", partial(_missing, Fraction(0)), SystemEntropy())


def test_a_proposal_in_the_far_tail_is_taken_with_its_own_chance_and_not_never() -> None:
    """A tail that is cut off would show where it ends: every proposal can be taken."""
    noise = DiscreteGaussian(Fraction(4))
    proposed = np.array([30])
    assert noise.parts(proposed).tolist() == [-1]
    assert noise.accepted(proposed, Words(0)).tolist() == [True]
    assert noise.accepted(proposed, Words(0, 0, 1)).tolist() == [False]


@given(variance=variances, shift=st.integers(-(10**9), 10**9))
def test_the_loss_of_a_shift_is_its_square_over_twice_the_variance(variance: Fraction, shift: int) -> None:
    assert DiscreteGaussian(variance).loss(shift) == Fraction(shift**2) / (2 * variance)


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), SMALL, Fraction(500)])
@pytest.mark.parametrize("order", [1.01, 2.0, 16.0])
def test_no_divergence_of_a_shift_is_more_than_its_loss(variance: Fraction, order: float) -> None:
    noise = DiscreteGaussian(variance)
    reach = int(30 * math.sqrt(variance)) + 60
    for shift in (1, 2, 5):
        terms = [
            order * math.log(p) + (1 - order) * math.log(q)
            for k in range(-reach, reach)
            if (p := noise.probability(k)) > 1e-280 and (q := noise.probability(k - shift)) > 1e-280
        ]
        top = max(terms)
        found = (top + math.log(math.fsum(math.exp(one - top) for one in terms))) / (order - 1)
        assert found <= order * float(noise.loss(shift)) + 1e-7


@pytest.mark.parametrize("variance", [TINY, Fraction(1, 3), Fraction(1), SMALL, Fraction(5000)])
def test_probabilities_add_up_to_one(variance: Fraction) -> None:
    noise = DiscreteGaussian(variance)
    reach = int(40 * math.sqrt(variance)) + 5
    assert math.fsum(noise.probability(k) for k in range(-reach, reach + 1)) == pytest.approx(1, abs=1e-12)


def test_draws_fit_their_own_variance_and_no_other() -> None:
    """A sum of squares of 200,000 draws: its deviation is .3 %, so that 2 % are more than six of them."""
    for variance in (SMALL, USUAL, LARGE):
        drawn = DiscreteGaussian(variance).draw_many(Seeded(20261119), 200_000).astype(float)
        ratio = float(np.mean(drawn**2)) / float(variance)
        assert abs(ratio - 1) < 0.02
        assert abs(float(np.mean(drawn))) < 0.02 * math.sqrt(variance)


@pytest.mark.parametrize("variance", [Fraction(1, 3), SMALL])
def test_every_outcome_comes_as_often_as_it_should(variance: Fraction) -> None:
    noise, number = DiscreteGaussian(variance), 100_000
    drawn = noise.draw_many(Seeded(7), number)
    for k in range(-8, 9):
        chance = noise.probability(k)
        apart = abs(int((drawn == k).sum()) - number * chance)
        assert apart < 7 * math.sqrt(number * chance) + 7


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), SMALL, USUAL, Fraction(10**6)])
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)])
def test_a_spread_holds_so_many_draws_and_hardly_more(variance: Fraction, level: Fraction) -> None:
    noise = DiscreteGaussian(variance)
    far = noise.spread(level)
    inside = math.fsum(noise.probability(k) for k in range(-far, far + 1))
    assert inside >= float(level)
    least = far - 2 - far // 50
    assert least < 0 or math.fsum(noise.probability(k) for k in range(-least, least + 1)) < float(level)


def test_a_spread_holds_all_but_the_rarest_draws() -> None:
    """Of 10^15 draws one may be missed: more digits than 1 less a sum of chances has."""
    noise = DiscreteGaussian(Fraction(6))
    far = noise.spread(1 - Fraction(1, 10**15))
    assert 2 * math.fsum(noise.probability(k) for k in range(far + 1, 100)) <= 1e-15


@given(variance=variances, reach=st.fractions(min_value=0, max_value=6))
@example(variance=Fraction(1, 1000), reach=Fraction(1))
def test_the_laplace_noise_of_its_scale_is_more_widely_spread(variance: Fraction, reach: Fraction) -> None:
    """At 0 the Gaussian has the larger chance, and the ratio of their masses crosses 1 once."""
    scale = GaussianScale.of(variance)
    deviation = math.sqrt(variance)
    assert float(scale) >= (1 + math.sqrt(2 * math.pi) * deviation) / 2
    noise, wider = DiscreteGaussian(variance), DiscreteLaplace(Fraction(scale))
    assert noise.probability(0) >= wider.probability(0) * (1 - 1e-9)
    k = int(float(reach) * deviation)
    if deviation < 100:
        beyond = 1 - math.fsum(noise.probability(j) for j in range(-k, k + 1))
        step = 1 / float(scale)
        assert beyond <= 2 * math.exp(-(k + 1) * step) / (1 + math.exp(-step)) + 1e-9


def test_a_scale_is_equal_to_no_other_that_has_another_noise() -> None:
    one = GaussianScale.of(Fraction(4))
    assert one != Fraction(one)
    assert Fraction(one) != one
    assert one != GaussianScale.of(Fraction(4) + Fraction(1, 10**12))
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301  (its own)
        assert copied == one
        assert hash(copied) == hash(one)
    assert type(one * 2) is Fraction


@pytest.mark.parametrize("deviation", [1000, 4096.5])
def test_a_noise_and_half_a_step_are_more_peaked_than_the_normal_variable_of_its_sums(
    deviation: float,
) -> None:
    """Within every t: at the ends of steps, and halfway, where the chance of a step is spread evenly."""
    noise = DiscreteGaussian(Fraction(deviation) ** 2)
    wider = deviation * (1 + 1.25 * deviation ** (-2 / 3))
    inside = noise.probability(0)
    for k in range(1, int(6 * deviation)):
        chance = 2 * noise.probability(k)
        assert inside >= math.erf((k - 0.5) / wider / math.sqrt(2)) - 1e-13
        assert inside + chance / 2 >= math.erf(k / wider / math.sqrt(2)) - 1e-13
        inside += chance


@pytest.mark.parametrize("factors", [(1, 1), (1, 1, 1, 2), (3, 1)], ids=str)
def test_a_sum_of_gaussian_noises_is_spread_as_a_normal_variable_is(factors: tuple[int, ...]) -> None:
    noise, size = DiscreteGaussian(Fraction(10**6)), 1 << 17
    chances = [0.0] * size
    for k in range(-9000, 9001):
        chances[k] = noise.probability(k)
    product = np.ones(size, complex)
    for factor in factors:
        spaced = np.zeros(size)
        spaced[(np.arange(-9000, 9001) * factor) % size] = [chances[k] for k in range(-9000, 9001)]
        product *= np.fft.fft(spaced)
    summed = np.real(np.fft.ifft(product))
    parts = tuple((1, Fraction(factor), noise.scale) for factor in factors)
    for failure in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)):
        far = math.ceil(sum_spread(parts, failure))
        beyond = float(summed[far + 1 : size - far].sum())
        assert failure * Fraction(4, 5) < Fraction(beyond) <= failure
        assert weighted_spread(parts, failure) == sum_spread(parts, failure)


def test_a_sum_in_which_a_noise_is_coarse_is_as_wide_as_of_laplace_noises() -> None:
    fine, coarse = (GaussianScale.of(Fraction(variance)) for variance in (10**6, 10**4))
    parts = ((1, Fraction(1), fine), (1, Fraction(1), coarse))
    as_laplace = ((1, Fraction(1), Fraction(fine)), (1, Fraction(1), Fraction(coarse)))
    assert weighted_spread(parts, Fraction(1, 20)) == weighted_spread(as_laplace, Fraction(1, 20))


@pytest.mark.parametrize("number", [0, 1, 5])
def test_as_many_are_drawn_as_were_asked_for(number: int) -> None:
    assert len(DiscreteGaussian(USUAL).draw_many(SystemEntropy(), number)) == number


def test_huge_noise_is_whole_numbers_of_python() -> None:
    drawn = DiscreteGaussian(HUGE).draw_many(SystemEntropy(), 10)
    assert all(type(one) is int for one in drawn.tolist())
    assert max(map(abs, drawn.tolist())) > 10**25


@pytest.mark.slow
def test_draws_take_a_few_times_as_long_as_laplace_noise_of_the_same_size() -> None:
    """Within 3 times on a quiet machine; the bound leaves room for a busy one, and is of processor time."""

    def seconds(noise: DiscreteGaussian | DiscreteLaplace) -> float:
        found = []
        for _ in range(7):
            started = time.process_time()
            noise.draw_many(SystemEntropy(), 200_000)
            found.append(time.process_time() - started)
        return min(found)

    assert seconds(DiscreteGaussian(Fraction(10**6))) < 6 * seconds(DiscreteLaplace(Fraction(707)))
