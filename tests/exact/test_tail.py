"""Octaves below a clipping threshold on every small table; and the claim for the factor that was selected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from prdp.cells.columns import exact_column
from prdp.cells.summary import Cell, CellKey, Summary
from prdp.mechanisms._tail import COUNT_MENU, OCTAVES, SUM_MENU, TailRule, in_caps
from prdp.mechanisms._threshold import PointFinder, Tuning, caps_at
from prdp.mechanisms.clip import Clip
from prdp.noise.laws import Gated, Law, Noisy, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.release.bias import Clipping
from prdp.release.interval import ErrorBounds, noise_spread
from prdp.release.release import Release
from prdp.release.totals import total_of
from prdp.testing import Seeded
from prdp.testing.exact_loss import flip_probabilities
from prdp.testing.mechanism_contract import MechanismAnswers, Twin
from tests.exact.test_clip import fine
from tests.exact.universe import RECORDS, OnThisUniverse, Record, count_of

GATE_PART, CHOICE_PART, TOTAL_PART, TAIL_PART = (Fraction(part, 100) for part in (8, 36, 44, 12))
TUNING = Tuning(CHOICE_PART, TOTAL_PART, fall=Fraction(1, 2), stride=2)
FINDER = PointFinder(
    gate=GATE_PART,
    tunings=((0, TUNING), (None, replace(TUNING, fall=Fraction(1, 5), stride=4))),
    gate_bits=10,
    tail=TAIL_PART,
)
CLIP = Clip(FINDER, finest_bits=0)
SIGNED = replace(CLIP, signed=True)
COARSEST = -3
"""Bits of a lattice of masses so coarse that draws of small tables meet."""


def octaves(law: Any) -> Noisy:
    """Return the octaves of a law that is drawn after the point."""
    return Noisy(law.values[1:], law.noises[1:])


class TestTail(OnThisUniverse):
    """The masses by octaves beside a clipped total."""

    mechanism = CLIP
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "octaves, much clipped": (lambda law: octaves(law.laws[0].then(3)), TAIL_PART),
        "octaves, little clipped": (lambda law: octaves(law.laws[0].then(-1)), TAIL_PART),
    }
    loose: ClassVar[Mapping[str, str]] = {"whole": "no record is at the worst place of each step at once"}

    def summarise(self, records: Sequence[Record]) -> Summary:
        return fine(records)

    def untied(self, answers: MechanismAnswers, tables: Sequence[Any], share: Fraction) -> str:
        """Compare answers with draws where masses are on so coarse a lattice that draws meet."""
        right = self.mechanism
        self.mechanism = replace(right, finder=replace(right.finder, gate_bits=COARSEST))
        try:
            return super().untied(answers, tables, share)
        finally:
            self.mechanism = right

    def twins(self) -> Mapping[str, Twin]:
        return {
            "a record in two octaves": Twin(in_two_octaves, "octaves, little clipped"),
            "noise of the whole share": Twin(of_the_whole_share, "octaves, little clipped"),
        }


class TestTailOfCounts(TestTail):
    variant_of = TestTail

    def summarise(self, records: Sequence[Record]) -> Summary:
        return count_of(records)


@pytest.mark.slow
class TestTailOfBothSigns(TestTail):
    """Each sign has octaves of its own, below its own point."""

    variant_of = TestTail
    mechanism = SIGNED
    records = RECORDS[1:]
    shares = (Fraction(1),)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "octaves at one point": (lambda law: octaves(law.laws[0].then(-1)), TAIL_PART),
        "octaves at two points": (lambda law: octaves(law.laws[2].then(-1).then(-1)), TAIL_PART),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {"all records in both sides' octaves": Twin(on_both_sides, "octaves at two points")}


@pytest.mark.slow
class TestTailOfBothSignsAtAThird(TestTailOfBothSigns):
    """The same at a share of 1/3, which TestTail asks of one sign in ``make test``."""

    shares = (Fraction(1, 3),)


def _changed(law: Gated, change: Callable[[int, Any], Noisy]) -> Gated:
    """Return a law of one sign with other octaves; ``change`` makes them of the tuning and the place."""

    def rest(which: int) -> Then:
        right: Any = law.laws[which]
        return Then(right.first, lambda place: change(which, place))

    return replace(law, laws=tuple(map(rest, range(len(law.laws)))))


def in_two_octaves(summary: Summary, share: Fraction) -> Gated:
    """Count every record in the next octave as well: it pays twice."""
    law = CLIP.law(summary, share)

    def change(which: int, place: int) -> Noisy:
        right: Any = law.laws[which]
        total, *masses = right.then(place).values
        both = [mass + before for mass, before in zip(masses, [0, *masses[:-1]], strict=True)]
        return Noisy((total, *both), right.then(place).noises)

    return _changed(law, change)


def of_the_whole_share(summary: Summary, share: Fraction) -> Gated:
    """Hide the masses as if all of the share were theirs."""
    law = CLIP.law(summary, share)

    def change(which: int, place: int) -> Noisy:
        right: Any = law.laws[which]
        drawn = right.then(place)
        quiet = (replace(noise, scale=noise.scale * TAIL_PART) for noise in drawn.noises[1:])
        return Noisy(drawn.values, (drawn.noises[0], *quiet))

    return _changed(law, change)


def on_both_sides(summary: Summary, share: Fraction) -> Gated:
    """Let the octaves of each sign count the records of both."""
    law = SIGNED.law(summary, share)
    apart: Any = law.laws[2]

    def total(low: int, high: int) -> Noisy:
        right = SIGNED.total(summary, share, TUNING, low, high)
        masses = [
            value
            for place in (low, high)
            for value in FINDER.tails(summary, share, caps_at(summary, TUNING, place)).values
        ]
        return Noisy((right.values[0], *masses), right.noises)

    twice = Then(apart.first, lambda high: Then(apart.then(0).first, lambda low: total(low, high)))
    return replace(law, laws=(law.laws[0], law.laws[1], twice))


def test_every_record_below_the_cap_is_in_the_octave_that_its_ratio_says() -> None:
    summary = fine(RECORDS * 3)
    caps = caps_at(summary, TUNING, -1)
    found = FINDER.tails(summary, Fraction(1), caps).values
    lattice = FINDER.tail_lattice(summary.levels.quantum, Fraction(1))
    for octave in range(OCTAVES):
        mass = 0
        for cell, cap in zip(summary.cells, caps.tolist(), strict=True):
            if cell.key.high and cap >> octave >= cell.key.high > cap >> (octave + 1):
                mass += cell.count * (cell.key.quanta // lattice)
        assert found[octave] == mass
    assert sum(1 for mass in found if mass) > 2


# The factor that is selected is a function of what was drawn.


def rich(slope: float) -> Summary:
    """Return a table whose mass by octaves of value over budget falls with a slope."""
    empty = fine(())
    top, quanta = empty.largest, empty.levels.quanta(20)
    cells = [
        Cell(CellKey(quanta, top >> octave, top >> octave, 1), count, count * (top >> octave))
        for octave in range(6)
        if (count := int(60 * math.exp(slope * octave)))
    ]
    return replace(empty, cells=Summary.of(empty.levels, empty.smallest, empty.largest, cells).cells)


def factor_of(clipping: Clipping, masses: Sequence[int], steps: int, share: Fraction, scale: Fraction) -> Any:
    """Return the factor that a rule selects by masses in lattice steps."""
    levels = fine(()).levels
    rule = TailRule(SUM_MENU, FINDER.tail, share)
    worth = float(share * levels.quantum * FINDER.tail_lattice(levels.quantum, share))
    weights = np.array([masses], dtype=np.float64) * worth
    sides_of = [rule.visible(weights, weights, 1)]
    depth = float(TUNING.fall / TUNING.seen)
    caps = in_caps(exact_column([steps]), clipping.at / share)
    (place,) = rule.selected(clipping, (scale,), depth, sides_of, caps, weights[np.newaxis])[0]
    return SUM_MENU[place]


@pytest.mark.parametrize("seed", range(3))
def test_the_factor_follows_from_what_was_drawn_and_not_from_true_masses(seed: int) -> None:
    """The twin reads it off the masses without noise, and differs in some of the runs."""
    share, twin_differs = Fraction(1, 2), 0
    for slope in (0.5, 0.8, 1.2, 2.0):
        summary, wide = rich(slope), replace(CLIP, finder=FINDER)
        law: Any = wide.law(summary, share)
        drawn = law.draw(Seeded(seed), 60)
        for answer, (which, (place, (total, *masses))) in zip(
            wide.answers(summary, share, Seeded(seed), 60), drawn, strict=True
        ):
            clipping = answer.clipping
            assert isinstance(clipping, Clipping)
            if clipping.blind or clipping.nothing:
                continue
            assert clipping.selected is not None
            assert clipping.menu == len(SUM_MENU)
            facts = replace(clipping, selected=None, menu=1)
            scale = Fraction(answer.noises[0].scale)
            assert clipping.selected[1] == factor_of(facts, masses, total, share, scale)
            true = law.laws[which].then(place).values[1:]
            twin_differs += clipping.selected[1] != factor_of(facts, true, total, share, scale)
    assert twin_differs > 0


@pytest.mark.parametrize("steps", [-3, 10**4, 10**6])
def test_a_factor_does_not_depend_on_the_unit_even_where_no_float_holds_the_answer(steps: int) -> None:
    share, huge = Fraction(1, 2), 10**400
    clipping = Clipping(Fraction(500), Fraction(10**7), Fraction(1, 5), Fraction(5, 2), 2, blind=False)
    larger = replace(clipping, at=clipping.at * huge, most=clipping.most * huge)
    scale, masses = Fraction(2500), [900, 400, 200, *[0] * (OCTAVES - 3)]
    expected = factor_of(clipping, masses, steps, share, scale)
    assert factor_of(larger, masses, steps * huge, share, scale * huge) == expected


def flat_on_both_sides(mass: float, clipping: Clipping) -> list[Any]:
    """Return the factors below and above zero of an answer near zero, where octaves of both signs are alike.

    The first visible octave is the fourth, which is too flat a slope for any factor.
    """
    rule = TailRule(SUM_MENU, FINDER.tail, Fraction(1, 2))
    masses = np.full((1, 2, OCTAVES), mass)
    visible = np.where(np.arange(OCTAVES)[np.newaxis] < 3, 0.0, 40.0)
    seen = [rule.visible(visible, visible, 1)] * 2
    (places,) = rule.selected(clipping, (Fraction(2500),), 12.5, seen, np.zeros(1), masses).tolist()
    return [SUM_MENU[place] for place in places]


def test_where_signs_cancel_an_end_is_far_by_what_the_octaves_add_up_to() -> None:
    """An answer of next to nothing is no reason for the least factor where there is much on either side."""
    point = Fraction(500)
    clipping = Clipping(
        *(point, Fraction(10**7), Fraction(1, 5), Fraction(5, 2), 2),
        blind=False,
        below=True,
        mixed=True,
        drawn=(point, point),
    )
    much, little = (flat_on_both_sides(mass, clipping) for mass in (600, 1))
    assert much == [SUM_MENU[-1]] * 2
    assert little == [SUM_MENU[0]] * 2


LIGHT = 100.0  # of a budget mass over the share: half of what is visible in one octave
BELOW = 0.5 ** (0.5 + np.arange(OCTAVES))
"""What octaves of mass one come to, in caps."""


def factor_where_none_is_visible(answer: float, masses: Any, *, spans: int = 1) -> Any:
    """Return the factor of an answer in caps, with these masses over the share."""
    clipping = Clipping(
        *(Fraction(500), Fraction(10**7), Fraction(38, 100), Fraction(8, 5), 2), blind=False, spans=spans
    )
    rule = TailRule(SUM_MENU, Fraction(2, 100), Fraction(1))
    own = np.array([[masses]], dtype=np.float64)
    sides = [rule.visible(own[:, 0], own[:, 0], 1)]
    assert (sides[0][1] < 0).all()
    (place,) = rule.selected(clipping, (Fraction(860),), 4.2, sides, np.array([answer]), own)[0]
    return SUM_MENU[place]


def test_an_answer_shows_records_just_below_the_point_that_no_octave_does() -> None:
    light = np.full(OCTAVES, LIGHT)
    assert factor_where_none_is_visible(LIGHT * BELOW.sum(), light) < 2
    assert factor_where_none_is_visible(LIGHT * BELOW.sum(), light, spans=2) == SUM_MENU[-1]


def test_an_answer_of_records_far_below_the_point_shows_none_near_it() -> None:
    """The wrong twin takes all of the answer for records near the point: as if nothing lay below."""
    low = np.where(np.arange(OCTAVES) >= 1, 1.9 * LIGHT, 0)
    answer = float(low @ BELOW)
    assert factor_where_none_is_visible(answer, low) > factor_where_none_is_visible(answer, 0 * low)


@pytest.mark.parametrize("answer", [60.0, 100.0, 200.0])
def test_a_smaller_answer_has_no_smaller_factor(answer: float) -> None:
    """So noise that makes an end too low makes no factor smaller where octaves hold alike.

    An end that is cut off by the answer's size is another matter: these are too large for that.
    """
    masses = np.full(OCTAVES, LIGHT / 2)
    assert factor_where_none_is_visible(answer, masses) >= factor_where_none_is_visible(answer + 20, masses)


def test_half_octaves_are_on_the_ladder() -> None:
    """So many half octaves above a point lies another one, which is not below the factor times the point."""
    summary = fine(())
    clip = Clip.tuned(Fraction(1))
    points = [clip.clipping(summary, Fraction(1), 0, place).at for place in range(12)]
    for menu in (COUNT_MENU, SUM_MENU):
        for factor in menu:
            steps = round(2 * math.log2(factor))
            for place in range(12 - steps):
                assert (
                    points[place] * factor
                    <= points[place + steps]
                    <= points[place] * factor * Fraction(10001, 10000)
                )


# The claim: with K factors to select from, any rule may pick among them.

FALL, CHOSEN = Fraction(5, 2), Fraction(1, 5)
FAILURE = Fraction(1, 20)


def too_heavy(menu: int, part: Fraction) -> float:
    """Return how often a place is drawn above which some factor's mass is larger than its claim allows.

    A ladder with a mass for each factor that is just too large where one place has it; ``part`` of the
    failures are for that, of which each of ``menu`` factors has its part.
    """
    steps = [round(2 * math.log2(factor)) for factor in SUM_MENU]
    top = max(steps)
    masses = [0.0] * (top + 1)
    for factor, apart in zip(SUM_MENU, steps, strict=True):
        clipping = Clipping(Fraction(1), Fraction(10**9), CHOSEN, FALL, stride=2, blind=False)
        tail = clipping.tail(factor)
        assert tail is not None
        masses[apart] = (tail.height + math.log(menu / (part * FAILURE))) / float(CHOSEN) + 1e-9
    for place in range(1, top + 1):  # a mass only grows further down
        masses[place] = max(masses[place], masses[place - 1])
    penalties = [
        Fraction(mass) * CHOSEN + FALL * Fraction(top - place, 2) for place, mass in enumerate(masses)
    ]
    chances = flip_probabilities(PermuteAndFlip(tuple(penalties)))
    return sum(float(chances[apart].mid()) for apart in steps)


def test_some_factor_s_mass_is_too_large_no_more_often_than_the_claim_says() -> None:
    part = Fraction(3, 10)
    assert too_heavy(len(SUM_MENU), part) <= part * FAILURE


def test_without_the_number_of_factors_it_is_more_often() -> None:
    """The wrong twin: a claim for one factor, where a rule picks among five."""
    part = Fraction(3, 10)
    assert too_heavy(1, part) > 1.5 * part * FAILURE


def _at_most(scale: float, k: int) -> float:
    """Return Pr[noise <= k]."""
    alpha = math.exp(-1 / scale)
    return alpha ** (-k) / (1 + alpha) if k < 0 else 1 - alpha ** (k + 1) / (1 + alpha)


Bounds = Callable[[Clipping, Fraction], ErrorBounds]
"""From what is known of the clipping, and the scale of the noise, to error bounds."""


def missed(mass: int, bounds_of: Bounds) -> float:
    """Return how often the truth is missed, by the exact chances of every place and the noise at each.

    A mass lies at the last point, so that it is clipped everywhere else, and a much larger one half an octave
    below it.
    """
    step, places = 10**5, 6
    points = [
        Fraction(2) ** (place // 2) * (1 if place % 2 == 0 else Fraction(7, 5)) for place in range(places)
    ]
    points = [point * step for point in points]
    clipped = [mass + (200 if place < places - 2 else 0) for place in range(places - 1)] + [0]
    penalties = [Fraction(one) * CHOSEN + FALL * place / 2 for place, one in enumerate(clipped)]
    chances = flip_probabilities(PermuteAndFlip(tuple(penalties)))
    total = 0.0
    for point, chance in zip(points, chances, strict=True):
        scale = point / Fraction(76, 100)
        facts = Clipping(point, points[-1], CHOSEN, FALL, 2, blind=False, selected=(SUM_MENU[0],) * 2)
        bounds, pull = bounds_of(facts, scale), 0.0
        if not facts.nothing and points[-1] <= SUM_MENU[0] * point:
            pull = float(mass * (points[-1] - point))
        assert bounds.below is not None
        assert bounds.above is not None
        above = 1 - _at_most(float(scale), math.floor(bounds.below + pull))
        below = _at_most(float(scale), math.ceil(pull - float(bounds.above)) - 1)
        total += float(chance.mid()) * (above + below)
    return total


def of_one(facts: Clipping, scale: Fraction) -> ErrorBounds:
    return facts.error_bounds((scale,), FAILURE, None)


NEXT_TO_NONE = Fraction(1, 10**6)
HUGE = 10**15


def of_a_total(facts: Clipping, scale: Fraction) -> ErrorBounds:
    """Return the bounds of a total of two answers, of which one has next to no noise."""
    known = Fraction(1), "clip"
    terms = [
        Release("sum", HUGE, Fraction(1), (scale,), *known, clipping=facts),
        Release("sum", 0, Fraction(1), (NEXT_TO_NONE,), *known),
    ]
    low, high = total_of(terms).between(1 - FAILURE, None)
    return ErrorBounds(HUGE - low, high - HUGE)


def by_the_draw(bounds_of: Bounds) -> Bounds:
    """Return a wrong twin: all failures for the noise, where the draw says that nothing is clipped."""

    def found(facts: Clipping, scale: Fraction) -> ErrorBounds:
        spread = Fraction(noise_spread((scale,), FAILURE))
        return ErrorBounds(spread, spread) if facts.nothing else bounds_of(facts, scale)

    return found


@pytest.mark.parametrize("bounds_of", [of_one, of_a_total])
@pytest.mark.parametrize("mass", [10, 20, 30, 38, 42, 46, 50, 80])
def test_the_truth_is_missed_no_more_often_than_the_level_says(mass: int, bounds_of: Bounds) -> None:
    assert missed(mass, bounds_of) <= FAILURE


@pytest.mark.parametrize("bounds_of", [of_one, of_a_total])
def test_failures_that_are_split_by_the_draw_are_too_many(bounds_of: Bounds) -> None:
    assert max(missed(mass, by_the_draw(bounds_of)) for mass in (38, 42, 46)) > FAILURE
