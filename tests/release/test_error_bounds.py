"""Noise and pull together, against their distribution by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from prdp.release.bias import Clipping, TierClipping
from prdp.release.interval import Around, error_bounds

FAILURE = Fraction(1, 20)


def clipping(**changed: object) -> Clipping:
    facts = {"at": Fraction(1), "most": Fraction(1000), "evidence": Fraction(1, 5), "fall": Fraction(5, 2)}
    return Clipping(**(facts | {"stride": 2, "blind": False} | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1, 7, 35, 200])
@pytest.mark.parametrize("tail_factor", [2, 8])
def test_a_pull_as_large_as_the_choice_allows_passes_the_end_as_often_as_it_may(
    scale: int, tail_factor: int
) -> None:
    """The bound on Pr[pull > y] as a distribution, and noise drawn after it: integrated, step by step."""
    pull = clipping(mixed=True, at=Fraction(100), most=Fraction(10**6))
    tail = pull.tail(Fraction(tail_factor))
    assert tail is not None
    noise = scale * 100
    found = error_bounds((Fraction(noise),), "laplace", pull, FAILURE, Fraction(tail_factor))
    assert found.above is not None
    steps = np.arange(-60 * noise, 60 * noise + 1)
    weight = math.tanh(1 / (2 * noise)) * np.exp(-np.abs(steps) / noise)
    gap = (float(found.above) - steps) / float(tail.scale)
    passed = np.where(gap < tail.height, 1.0, np.exp(np.minimum(0.0, tail.height - gap)))
    missed = float((weight * passed).sum())
    allowed = float(FAILURE / 2)  # of which the noise alone has 7 in 10, most of it where there is no pull
    assert missed <= allowed
    assert missed >= 0.29 * allowed


def test_each_side_that_is_pulled_from_has_its_part_of_the_failures() -> None:
    both = error_bounds((Fraction(100),), "laplace", clipping(below=True, mixed=True), FAILURE, Fraction(8))
    assert both.below == both.above
    one = error_bounds((Fraction(100),), "laplace", clipping(mixed=True), FAILURE, Fraction(8))
    assert one.below is not None
    assert both.below is not None
    assert one.below < both.below


def test_a_choice_that_says_nothing_leaves_the_size_of_the_answer() -> None:
    unseen = error_bounds((Fraction(10),), "laplace", clipping(evidence=Fraction(0)), FAILURE, Fraction(8))
    assert unseen.above is None
    low, high = Around(unseen, Fraction(1)).ends(1000)
    assert 0 < low < 1000
    assert high == 8 * (1000 + unseen.up)  # type: ignore[operator]


def test_huge_scales_do_not_pass_what_floats_hold() -> None:
    far = Fraction(10) ** 390
    pull = clipping(at=far, most=far * 10**6)
    found = error_bounds((far * 3,), "laplace", pull, FAILURE, Fraction(8))
    assert found.above is not None
    assert found.above > far


def test_a_side_that_can_hardly_be_pulled_ends_where_the_noise_does() -> None:
    """Just above its own point times the reach there is next to no room, which no float may stumble over."""
    for room in (Fraction(1, 10**12), Fraction(1, 1000), Fraction(1, 2)):
        point = (1 + room) / 8
        pull = clipping(below=True, mixed=True, drawn=(point, Fraction(1)), at=Fraction(1))
        found = error_bounds((Fraction(4000),), "laplace", pull, FAILURE, Fraction(8))
        noise = error_bounds((Fraction(4000),), "laplace", None, FAILURE * 7 / 10, Fraction(1))
        assert found.below is not None
        assert found.above is not None
        assert noise.below is not None
        assert noise.below <= found.below <= noise.below * (1 + room) + 2
        assert found.above > found.below


def test_a_side_whose_point_lies_below_the_other_s_by_more_than_the_reach_is_not_pulled() -> None:
    pull = clipping(below=True, mixed=True, drawn=(Fraction(1, 9), Fraction(1)))
    found = error_bounds((Fraction(100),), "laplace", pull, FAILURE, Fraction(8))
    one_sided = error_bounds((Fraction(100),), "laplace", clipping(mixed=True), FAILURE, Fraction(8))
    assert (found.below, found.above) == (one_sided.below, one_sided.above)


def test_where_the_choice_failed_the_far_end_is_open_and_the_other_one_stays() -> None:
    """The near end may not move: where the choice failed is drawn, and failures are split by public facts."""
    scales = (Fraction(50),)
    sides: list[dict[str, bool]] = [{}, {"mixed": True}, {"mixed": True, "below": True}]
    for changed in [*sides, {"below": True, "above": False}]:
        failed, sure = (clipping(failed=one, **changed) for one in (True, False))
        found, other = (error_bounds(scales, "laplace", one, FAILURE, None) for one in (failed, sure))
        assert found.below == (None if failed.below else other.below)
        assert found.above == (None if failed.above else other.above)
        assert (found.up, found.down) == (None, None)
        assert failed.insufficient_budget
        assert failed.excludes(None) is None
    assert not clipping(failed=True, most=Fraction(1)).insufficient_budget, "nothing can be clipped"


def test_tiers_reach_twice_the_last_one_s_point_unless_another_factor_is_fixed() -> None:
    """The factor is public and not selected, so that its claim needs no number of factors."""
    tiers = (clipping(most=Fraction(8)), clipping(at=Fraction(100), most=Fraction(10**6)), clipping())
    pull = TierClipping(tiers, kept=2, thresholds=30, scales=Fraction(10))
    scales = (Fraction(5), Fraction(50))
    usual, two, eight = (
        error_bounds(scales, "laplace", pull, FAILURE, factor) for factor in (None, Fraction(2), Fraction(8))
    )
    assert usual == two
    assert usual.above is not None
    assert eight.above is not None
    assert 5 * usual.above < eight.above
    assert TierClipping(tiers[:2], 2, 0, Fraction(0)).excludes(None) == (Fraction(200), Fraction(200))
