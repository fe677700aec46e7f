"""What is drawn side by side, by coins or by weights, is what each row's own law draws, byte for byte."""

from __future__ import annotations

import builtins
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from flint import ctx

from prdp.noise.choice import ExponentialChoice
from prdp.noise.permute_and_flip import (
    ManyChoices,
    PermuteAndFlip,
    first_word,
    word_bounds,
)
from prdp.testing import Seeded
from prdp.testing.exact_loss import choice_probabilities


class Given:
    """Entropy that is given, and then a seed's."""

    def __init__(self, given: builtins.bytes) -> None:
        self._given, self._rest, self.used = given, Seeded(1), 0

    def bytes(self, count: int) -> builtins.bytes:
        first, self._given = self._given[:count], self._given[count:]
        self.used += count
        return first + self._rest.bytes(count - len(first))


def rows_of(seed: int, number: int) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.int64]], ManyChoices]:
    """Return falling masses of all sizes, a row for each law."""
    random = np.random.default_rng(seed)
    candidates = int(random.integers(1, 120))
    size = 2.0 ** random.uniform(1, 60, number)[:, np.newaxis]
    masses = np.sort(random.random((number, candidates)) * size, axis=1)[:, ::-1].astype(np.int64)
    climbs = [Fraction(int(11 * place), 20) for place in range(candidates)]
    weight = Fraction(int(random.integers(1, 1000)), int(10.0 ** random.integers(0, 20)))
    return masses, ManyChoices.of([masses & (2**31 - 1), masses >> 31], weight, climbs)


KINDS = [PermuteAndFlip, ExponentialChoice]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_rows_of_one_law_are_drawn_as_it_draws_its_runs(
    seed: int, kind: type[PermuteAndFlip | ExponentialChoice]
) -> None:
    flips = replace(rows_of(seed, 20)[1], kind=kind)
    for row in range(0, 20, 5):
        assert flips.draw(Seeded(seed), [row] * 300) == flips.law(row).draw(Seeded(seed), 300)


@pytest.mark.parametrize("seed", range(8))
def test_each_row_has_a_law_with_its_own_masses(seed: int) -> None:
    masses, flips = rows_of(seed, 6)
    for row in range(6):
        wanted = zip(masses[row].tolist(), flips.climbs, strict=True)
        assert flips.law(row) == PermuteAndFlip(tuple(flips.weight * mass + climb for mass, climb in wanted))


@pytest.mark.parametrize("seed", range(4))
def test_a_row_among_others_is_drawn_as_by_itself_from_the_same_bytes(seed: int) -> None:
    """What a row is given of the words of all rows, and then of the bytes that pick one of its heads."""
    _, flips = rows_of(seed, 9)
    candidates, entropy = len(flips.climbs), Seeded(seed)
    words = entropy.bytes(8 * 9 * candidates)
    drawn = flips.draw(Given(words), range(9))
    again = []
    later = Seeded(1)  # what Given goes on with
    for row in range(9):
        own = Given(words[8 * candidates * row : 8 * candidates * (row + 1)])
        own._rest = later
        again += flips.law(row).draw(own, 1)
    assert drawn == again


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_word_next_to_the_probability_is_decided_in_integers(more: int) -> None:
    """A double cannot tell these words from the probability; the bytes that follow can."""
    flips = ManyChoices.of([np.array([[3, 0]])], Fraction(1, 7), [Fraction(0), Fraction(0)])
    word = first_word(Fraction(3, 7)) + more
    tail = b"\x00" * 20 if more == 0 else b""  # the uniform number is below: heads, and one of two is picked
    given = word.to_bytes(8, "big") + (2**64 - 1).to_bytes(8, "big") + tail
    one, other = Given(given), Given(given)
    assert flips.draw(one, [0]) == flips.law(0).draw(other, 1)
    assert one.used == other.used == {-1: 17, 0: 18, 1: 16}[more]


def test_penalties_that_are_equal_are_all_heads() -> None:
    flips = ManyChoices.of(
        [np.array([[2, 1, 0], [5, 5, 5]])], Fraction(1, 2), [Fraction(k, 2) for k in range(3)]
    )
    drawn = flips.draw(Seeded(3), [0] * 300)
    assert drawn == flips.law(0).draw(Seeded(3), 300)
    assert set(drawn) == {0, 1, 2}
    assert flips.draw(Seeded(3), [1] * 50) == flips.law(1).draw(Seeded(3), 50)


@pytest.mark.parametrize("numerator", [0, 1, 10**6, 10**9, 3 * 10**9, 44 * 10**9, 500 * 10**9])
def test_the_bounds_of_doubles_hold_the_probability_s_first_word(numerator: int) -> None:
    penalty = Fraction(numerator, 10**9 + 7)
    near = np.array([float(penalty)])
    lower, upper = word_bounds(near, 2.0**-46 * (near + 1))
    assert lower[0] <= first_word(penalty) - 1
    assert first_word(penalty) <= upper[0] - 1


@pytest.mark.parametrize("excess", [-700.0, -50.0, -1e-9, 0.0, 3.5, 650.0])
@pytest.mark.parametrize("error", [2.0**-46, 1e-3, 800.0])
def test_bounds_hold_weights_above_one_too(excess: float, error: float) -> None:
    """The candidate that seems the least need not be: others may weigh more than it."""
    lower, upper = word_bounds(np.array([excess]), np.array([error]))
    for true in (excess - error, excess, excess + error):
        weight = 64 - true / np.log(2)  # in powers of two
        assert lower[0] <= 0 or np.log2(lower[0]) <= weight
        assert np.log2(upper[0]) >= weight


def test_a_bound_without_its_error_would_decide_wrongly() -> None:
    """The wrong twin: a double that takes itself for exact puts words on the wrong side."""
    penalties = [Fraction(k, 10**4 + 7) for k in range(1, 400)]
    wrong = 0
    for penalty in penalties:
        word = int(np.exp(-float(penalty)) * 2.0**64)
        wrong += word != first_word(penalty)
    assert wrong > 300


# By weights: a uniform number is a place in the sum of all weights.


def boundaries(law: ExponentialChoice) -> list[int]:
    """Return the first 64 bits of the places where one candidate's part ends and the next one's begins."""
    with ctx.workprec(400):
        ends = list(accumulate(choice_probabilities(law)))[:-1]
        return [int((end * 2**64).floor().unique_fmpz()) for end in ends]


@pytest.mark.parametrize("seed", range(6))
def test_a_row_among_others_has_one_word_of_all_rows(seed: int) -> None:
    choices = replace(rows_of(seed, 9)[1], kind=ExponentialChoice)
    entropy = Seeded(seed)
    words = entropy.bytes(8 * 9)
    given = Given(words)
    drawn = choices.draw(given, range(9))
    assert given.used == 8 * 9
    assert drawn == [choices.law(row).draw(Given(words[8 * row : 8 * row + 8]), 1)[0] for row in range(9)]


@pytest.mark.parametrize("seed", range(6))
def test_a_word_next_to_the_end_of_a_part_is_decided_in_integers(seed: int) -> None:
    """Words beside an end are on its sides; of the word that holds it, the bytes that follow decide."""
    random = np.random.default_rng(seed)
    penalties = [Fraction(int(number), 997) for number in random.integers(0, 5000, 12)]
    law = ExponentialChoice(tuple(penalties))
    found = boundaries(law)
    assert sorted(set(found)) == found
    for place, word in enumerate(found):
        drawn = {}
        for more, tail in ((-1, b""), (0, b"\x00" * 8), (0, b"\xff" * 8), (1, b"")):
            given = Given((word + more).to_bytes(8, "big") + tail)
            drawn[more, tail[:1]] = law.draw(given, 1)[0]
            assert given.used == 8 + len(tail)
        assert list(drawn.values()) == [place, place, place + 1, place + 1]


def test_the_parts_of_all_candidates_are_their_chances() -> None:
    """Each part begins where the one before ends, and is as long as its candidate's chance."""
    law = ExponentialChoice((3, 0, 0, 7, 1), Fraction(2, 7))
    ends = [0, *boundaries(law), 2**64]
    for chance, begins, until in zip(choice_probabilities(law), ends, ends[1:], strict=False):
        assert float(chance.mid()) == pytest.approx((until - begins) / 2**64, rel=1e-12)
        middle = ((begins + until) // 2).to_bytes(8, "big")
        assert law.draw(Given(middle), 1) == [ends.index(begins)]


def test_sums_without_their_error_would_decide_wrongly() -> None:
    """The wrong twin: doubles that take themselves for exact put words on the wrong side of an end."""
    penalties = tuple(Fraction(k * 7919 % 3001, 997) for k in range(200))
    law = ExponentialChoice(penalties)
    wrong = right = 0
    for place, word in enumerate(boundaries(law)):
        given = Given((word + 1).to_bytes(8, "big"))  # above the end
        right += law.draw(given, 1) == [place + 1]
        exact = np.exp(-np.array([float(penalty - min(penalties)) for penalty in penalties])) * 2.0**64
        parts = np.cumsum(exact)
        wrong += int(np.searchsorted(parts, (word + 1) / 2.0**64 * parts[-1], "right")) != place + 1
    assert right == len(penalties) - 1
    assert wrong > 50


def test_candidates_alike_and_hopeless_ones_are_drawn_as_their_weights_say() -> None:
    law = ExponentialChoice((5, 5, 10**400, 5, 5))
    quarter = 2**62
    for place, wanted in ((0, 0), (1, 1), (2, 3), (3, 4)):
        for word in (place * quarter, place * quarter + 1, (place + 1) * quarter - 1):
            tail = bytes(8) + b"\x80" * 200
            assert law.draw(Given(word.to_bytes(8, "big") + tail), 1) == [wanted]
