"""Laws that are built for all groups at once are those of each group, and are what is drawn from."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from prdp.cells.columns import exact_column
from prdp.cells.groups import SummaryGroups
from prdp.cells.summary import Ratios, Summary
from prdp.mechanisms._threshold import Points, RecordCandidates, SparingCandidates
from prdp.mechanisms.clip import PER_GROUP, Clip, ClipGroups, finer_bits, picked
from prdp.mechanisms.tiers import Tiers
from prdp.noise.choice import ExponentialChoice
from prdp.noise.laws import Gated, Noisy, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.release.bias import Clipping
from prdp.testing import Seeded
from tests.cells.test_groups import LEVELS, summaries

SHARES = [Fraction(1), Fraction(1, 10)]


def groups_of(
    each: list[Summary], share: Fraction, *, signed: bool = False, gaussian: bool = False
) -> tuple[ClipGroups, list[Summary], Clip]:
    clip = Clip.tuned(share, signed=signed, gaussian=gaussian)
    bits = finer_bits(each[0], clip.finest_bits)
    fine = [one.refined(bits) for one in each]
    return ClipGroups(clip, SummaryGroups.of(each).refined(bits), share, Fraction(1, 1 << bits)), fine, clip


def then(law: Any) -> Then:
    assert isinstance(law, Then)
    return law


def rich(*, signed: bool, gaussian: bool) -> Summary:
    """Return a group that chooses for itself; of both signs, with so much of each that each chooses."""
    for one in (one for seed in range(1, 20) for one in summaries(seed)):
        clip = Clip.tuned(Fraction(1, 10), signed=signed, gaussian=gaussian)
        law = clip.law(one.refined(finer_bits(one, clip.finest_bits)), Fraction(1, 10))
        if law.rule(law.first.values) == (len(clip.finder.tunings) if signed else 0):
            return one
    raise AssertionError("no group is rich")


def total_of(drawn: Any) -> int:
    """Return the noisy total that a law draws, after one place or two."""
    _, rest = drawn
    total = rest[0] if all(isinstance(one, int) for one in rest) else rest[1][0]
    assert isinstance(total, int)
    return total


def drawn_at(groups: ClipGroups, tuning: int, places: tuple[int, ...]) -> list[Noisy]:
    """Return the law of each group's total and octaves at the place of a point, or at two of them."""
    every = np.arange(len(groups.groups))
    totals = groups.totals(every, tuning, max(places)).tolist()
    signs = zip((-1, 1), (places[0], places[-1]), strict=True) if groups.clip.signed else [(None, places[0])]
    sides = [groups.tails(every, tuning, place, sign).tolist() for sign, place in signs]
    finder = groups.clip.finder
    octave = finder.tail_noise(groups.groups.levels.quantum, groups.share)
    masses = [[mass for side in sides for mass in side[group]] for group in every]
    return [
        Noisy((total, *found), (groups.noise(tuning, max(places)),) + (octave,) * len(found))
        for total, found in zip(totals, masses, strict=True)
    ]


def costs(law: Any) -> list[Fraction]:
    assert isinstance(law, PermuteAndFlip | ExponentialChoice)
    return [penalty * law.unit for penalty in law.penalties]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("counted", "signed", "gaussian"),
    [(False, False, False), (False, True, False), (True, False, False), (False, True, True)],
)
def test_every_integer_of_every_law_is_that_of_the_group_s_own_law(
    share: Fraction, seed: int, counted: bool, signed: bool, gaussian: bool
) -> None:
    each = [one.counted() if counted else one for one in summaries(seed, 12)]
    groups, fine, clip = groups_of(each, share, signed=signed, gaussian=gaussian)
    laws = [clip.law(one, share) for one in fine]
    gates = zip(*(gate.tolist() for gate in groups.gates()), strict=True)
    assert list(gates) == [law.first.values for law in laws]
    public = clip.law(groups.public, share)
    every = np.arange(len(fine))
    for group, law in enumerate(laws):
        assert (public.rule, public.first.noises) == (law.rule, law.first.noises), group
    for which in range(len(clip.finder.tunings)):
        flips = groups.choices(every, which)
        choices = [then(law.laws[which]) for law in laws]
        assert all(isinstance(choice.first, flips.kind) for choice in choices)
        assert [costs(flips.law(group)) for group in range(len(fine))] == [
            costs(choice.first) for choice in choices
        ]
        for place in (0, len(flips.climbs) // 2, len(flips.climbs) - 1):
            drawn = drawn_at(groups, which, (place,))
            assert drawn == [one.then(place) for one in choices]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_integer_of_each_sign_s_choice_is_that_of_the_group_s_own_law(
    share: Fraction, seed: int
) -> None:
    groups, fine, clip = groups_of(summaries(seed, 12), share, signed=True)
    laws = [clip.law(one, share) for one in fine]
    every, tunings = np.arange(len(fine)), len(clip.finder.tunings)
    for which in range(tunings, len(laws[0].laws)):
        tuning = which - tunings
        above, below = (groups.choices(every, tuning, sign) for sign in (1, -1))
        choices = [then(law.laws[which]) for law in laws]
        assert [costs(above.law(group)) for group in range(len(fine))] == [
            costs(choice.first) for choice in choices
        ]
        last = len(above.climbs) - 1
        for high, low in ((0, 0), (0, last), (last, 0), (last // 2, last // 3)):
            others = [then(choice.then(high)) for choice in choices]
            assert [costs(below.law(group)) for group in range(len(fine))] == [
                costs(other.first) for other in others
            ]
            assert drawn_at(groups, tuning, (low, high)) == [other.then(low) for other in others]


@pytest.mark.parametrize("wide", [1, 2**70])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("signed", [False, True])
def test_rules_pick_for_all_rows_what_they_pick_for_each(share: Fraction, wide: int, signed: bool) -> None:
    groups, _, clip = groups_of(summaries(1, 2), share, signed=signed)
    rule = clip.law(groups.public, share).rule
    random = np.random.default_rng(1)
    leasts = clip.finder.reached(RecordCandidates(groups.public), share)
    near = [least + int(random.integers(-3, 4)) for least in leasts for _ in range(40)]
    others = [int(random.integers(0, 2 * max(leasts))) for _ in range(200)]
    masses = [random.permutation(np.array([*near, *others, wide, -wide], dtype=object)) for _ in range(2)]
    columns = [exact_column(mass.tolist()) for mass in masses[: 1 + signed]]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    wanted = [rule(row) for row in rows]
    assert picked(rule, columns).tolist() == wanted
    tunings = len(clip.finder.tunings)
    assert len(set(wanted)) >= tunings
    assert signed == (max(wanted) >= tunings)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("gaussian", [False, True])
def test_groups_alike_are_drawn_as_their_law_draws_runs(
    share: Fraction, signed: bool, gaussian: bool
) -> None:
    """Byte for byte, under one stream: rich groups, which choose for themselves."""
    each = [rich(signed=signed, gaussian=gaussian)] * 40
    groups, (fine, *_), clip = groups_of(each, share, signed=signed, gaussian=gaussian)
    law = clip.law(fine, share)
    assert isinstance(law, Gated)
    drawn = groups.drawn(Seeded(7), 1)
    wanted = law.draw(Seeded(7), 40)
    tunings = len(clip.finder.tunings)
    assert all(which != tunings - 1 for which, _ in wanted)  # none is poor
    assert signed == any(which >= tunings for which, _ in wanted)
    assert [answer.steps for (answer,) in drawn] == [total_of(found) for _, found in wanted]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_group_is_drawn_as_its_law_draws(seed: int, signed: bool, gaussian: bool) -> None:
    """Poor or rich: there is nobody to choose together with."""
    for place, one in enumerate(summaries(seed, 6)):
        groups, (fine,), clip = groups_of([one], Fraction(1, 100), signed=signed, gaussian=gaussian)
        (drawn,) = groups.drawn(Seeded(place), 200)
        wanted = clip.law(fine, Fraction(1, 100)).draw(Seeded(place), 200)
        assert [answer.steps for answer in drawn] == [total_of(found) for _, found in wanted]
        assert drawn == clip.answers(one, Fraction(1, 100), Seeded(place), 200)


def test_what_is_stated_of_two_points_is_which_they_are() -> None:
    each = [rich(signed=True, gaussian=False)] * 40
    groups, (fine, *_), clip = groups_of(each, Fraction(1), signed=True)
    points = Points.spanning(fine, 2)
    wanted = clip.law(fine, Fraction(1)).draw(Seeded(7), 40)
    for (answer,), (which, (high, (low, _))) in zip(groups.drawn(Seeded(7), 1), wanted, strict=True):
        assert which >= len(clip.finder.tunings)
        found = tuple(points.per_quantum(place) / LEVELS.quantum for place in (low, high))
        assert isinstance(answer.clipping, Clipping)
        assert (answer.clipping.drawn, answer.clipping.at) == (found, max(found))
        assert dict(answer.choices)["points found"].startswith(f"{float(found[0] * answer.step):.6g} for")


@pytest.mark.parametrize("signed", [False, True])
def test_groups_that_are_poor_choose_by_all_their_records_together(signed: bool) -> None:
    share = Fraction(1, 10**14)
    groups, fine, clip = groups_of(summaries(5, 8), share, signed=signed)
    answers = [answer for (answer,) in groups.drawn(Seeded(3), 1)]
    pulls = [answer.clipping for answer in answers if isinstance(answer.clipping, Clipping)]
    merged = Summary.together(fine)
    spared = int(PER_GROUP * len(fine) / (share * LEVELS.quantum)) * LEVELS.quantum
    fence = clip.finder.tunings[-1][1].fence
    assert fence is not None
    every = spared + fence.spared(share)
    assert {(pull.at, pull.spared, pull.drawn) for pull in pulls} == {(pulls[0].at, every, None)}
    law, mass = groups._pooled(np.arange(len(fine)))
    candidates = SparingCandidates(RecordCandidates(merged), int(spared / LEVELS.quantum))
    wanted = clip.finder.law(candidates, share, lambda _tuning, _place: Noisy((), ()))
    assert mass == spared
    for which in range(len(clip.finder.tunings)):
        assert then(law.laws[which]).first == then(wanted.laws[which]).first


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
    drawn = tiers.grouped(SummaryGroups.of([one] * 30), Fraction(1), Seeded(5), 1, Fraction(1))
    for (answer,), totals in zip(drawn, wanted, strict=True):
        assert answer.steps == sum(totals[: len(answer.noises)])
