"""Laws that are built for all groups at once are those of each group, and are what is drawn from."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from prdp.cells.groups import SummaryGroups
from prdp.cells.summary import Ratios, Summary
from prdp.mechanisms._clip_groups import ClipGroups
from prdp.mechanisms._point import RecordLadder
from prdp.mechanisms.clip import Clip, finer_bits
from prdp.mechanisms.tiers import Tiers
from prdp.noise.laws import Gated, Noisy, Then
from prdp.testing import Seeded
from tests.cells.test_groups import LEVELS, summaries

SHARES = [Fraction(1), Fraction(1, 10)]


def groups_of(each: list[Summary], share: Fraction) -> tuple[ClipGroups, list[Summary], Clip]:
    clip = Clip.tuned(share)
    bits = finer_bits(each[0], clip.finest_bits)
    fine = [one.refined(bits) for one in each]
    return ClipGroups(clip, SummaryGroups.of(each).refined(bits), share, Fraction(1, 1 << bits)), fine, clip


def then(law: Any) -> Then:
    assert isinstance(law, Then)
    return law


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("counted", [False, True])
def test_every_integer_of_every_law_is_that_of_the_group_s_own_law(
    share: Fraction, seed: int, counted: bool
) -> None:
    each = [one.counted() if counted else one for one in summaries(seed, 12)]
    groups, fine, clip = groups_of(each, share)
    laws = [clip.law(one, share) for one in fine]
    assert [(mass,) for mass in groups.gates().tolist()] == [law.first.values for law in laws]
    public = clip.finder.law(RecordLadder(groups.public), share, lambda _tuning, _place: Noisy((), ()))
    every = np.arange(len(fine))
    for group, law in enumerate(laws):
        assert (public.rule, public.first.noises) == (law.rule, law.first.noises), group
    for which in range(len(clip.finder.tunings)):
        flips = groups.flips(every, which)
        choices = [then(law.laws[which]) for law in laws]
        assert [flips.law(group) for group in range(len(fine))] == [choice.first for choice in choices]
        for place in (0, len(flips.climbs) // 2, len(flips.climbs) - 1):
            totals, noise = groups.totals(every, which, place).tolist(), groups.noise(which, place)
            assert [Noisy((total,), (noise,)) for total in totals] == [one.then(place) for one in choices]


@pytest.mark.parametrize("share", SHARES)
def test_groups_alike_are_drawn_as_their_law_draws_runs(share: Fraction) -> None:
    """Byte for byte, under one stream: rich groups, which choose for themselves."""
    rich = next(one for one in summaries(1) if len(one.cells) > 10)
    groups, (fine, *_), clip = groups_of([rich] * 40, share)
    law = clip.law(fine, share)
    assert isinstance(law, Gated)
    drawn = groups.drawn(Seeded(7), 1)
    wanted = law.draw(Seeded(7), 40)
    assert max(which for which, _ in wanted) < len(clip.finder.tunings) - 1  # none is poor
    assert [answer.steps for (answer,) in drawn] == [total for _, (_, (total,)) in wanted]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_group_is_drawn_as_its_law_draws(seed: int) -> None:
    """Poor or rich: there is nobody to choose together with."""
    for place, one in enumerate(summaries(seed, 6)):
        groups, (fine,), clip = groups_of([one], Fraction(1, 100))
        (drawn,) = groups.drawn(Seeded(place), 200)
        wanted = clip.law(fine, Fraction(1, 100)).draw(Seeded(place), 200)
        assert [answer.steps for answer in drawn] == [total for _, (_, (total,)) in wanted]
        assert drawn == clip.answers(one, Fraction(1, 100), Seeded(place), 200)


@pytest.mark.parametrize("share", SHARES)
def test_every_integer_of_every_tier_is_that_of_the_group_s_own_law(share: Fraction) -> None:
    spans = (Fraction(1, 2**20), Fraction(1, 2**20)), (Fraction(2**10), Fraction(2**10))
    each = [Summary(LEVELS, 1, 2**46, one.cells, Ratios(spans, spans)) for one in summaries(4, 12)]
    tiers = Tiers.of(each[0])
    assert tiers is not None
    totals = tiers.totals(SummaryGroups.of(each))
    assert list(zip(*(tier.tolist() for tier in totals), strict=True)) == [
        tiers.law(one, share).values for one in each
    ]


def test_tiers_of_groups_alike_are_drawn_as_their_law_draws_runs() -> None:
    spans = (Fraction(1, 2**20), Fraction(1, 2**20)), (Fraction(2**10), Fraction(2**10))
    one = Summary(LEVELS, 1, 2**46, summaries(4, 12)[3].cells, Ratios(spans, spans))
    tiers = Tiers.of(one)
    assert tiers is not None
    wanted = tiers.law(one, Fraction(1)).draw(Seeded(5), 30)
    for (answer,), totals in zip(tiers.answers([one] * 30, Fraction(1), Seeded(5), 1), wanted, strict=True):
        assert answer.steps == sum(totals[: len(answer.noises)])
