"""clip on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from itertools import islice, product
from typing import Any, ClassVar

import pytest

from prdp.cells.summary import Ratios, Summary
from prdp.mechanisms._threshold import PointFinder, Points, RecordCandidates, SparingCandidates, Tuning
from prdp.mechanisms.clip import Clip, SideFinder
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Law, Noise, Noisy, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.release.bias import Clipping
from prdp.testing import Seeded
from prdp.testing.exact_loss import TOLERANCE, flip_probabilities, worst_loss
from prdp.testing.mechanism_contract import Twin
from tests.exact.pulls import chance_of_more
from tests.exact.universe import (
    ODD,
    RECORDS,
    OnThisUniverse,
    Record,
    budget,
    count_of,
    summary_of,
    with_budgets_raised,
)

GATE_PART, CHOICE_PART, TOTAL_PART = Fraction(10, 100), Fraction(36, 100), Fraction(54, 100)
TUNING = Tuning(CHOICE_PART, TOTAL_PART, fall=Fraction(1, 2), stride=2)
FINDER = PointFinder(
    gate=GATE_PART,
    tunings=((0, TUNING), (None, replace(TUNING, fall=Fraction(1, 5), stride=4))),
    gate_bits=10,
)
COARSE = Clip(FINDER, finest_bits=0)


def fine(records: Sequence[Record]) -> Summary:
    """Return the cells on a lattice so fine that rounding down to it gives away little budget."""
    return summary_of(records).refined(4)


def _both_choices(law: Any) -> Law:
    """Return the two choices of a law for both signs, without what follows."""
    apart = law.laws[2]
    return Then(apart.first, lambda _: apart.then(0).first)


# Twins: each breaks one step of the proof, and the same measurement must find it.


def too_little_noise(summary: Summary, share: Fraction) -> Gated:
    """Draw with noise 15 % too small."""
    return quieter(COARSE.law(summary, share))


def quieter(right: Gated) -> Gated:
    """Return a law with all its noise 15 % smaller."""
    return replace(right, first=_quiet(right.first), laws=tuple(map(_quiet, right.laws)))


def _smaller(noise: Noise) -> DiscreteLaplace:
    return DiscreteLaplace(noise.scale * Fraction(85, 100))


@singledispatch
def _quiet(law: object) -> Any:
    raise TypeError(law)


@_quiet.register
def _(law: Noisy) -> Noisy:
    return Noisy(law.values, tuple(map(_smaller, law.noises)))


@_quiet.register
def _(law: PermuteAndFlip) -> PermuteAndFlip:
    return PermuteAndFlip(tuple(penalty / Fraction(85, 100) for penalty in law.penalties))


@_quiet.register
def _(law: Then) -> Then:
    return Then(_quiet(law.first), lambda place: _quiet(law.then(place)))


@dataclass(frozen=True, slots=True)
class OffLattice(RecordCandidates):
    """Adds up exact budgets and rounds the sum: adding a record may move it by a step too many."""

    def mass(self, lattice: int) -> int:
        return -(-super(OffLattice, self).mass(1) // lattice)


def off_lattice(summary: Summary, share: Fraction) -> Gated:
    """Measure a mass that is not a sum of lattice points."""
    coarse = replace(FINDER, gate_bits=2)
    return coarse.law(OffLattice(summary), share, COARSE.totals(summary, share))


@dataclass(frozen=True, slots=True)
class TargetFinder(PointFinder):
    """Looks for a point that clips a mass of 1: a weight that moves both ways has twice the loss."""

    def choice(
        self,
        masses: Sequence[int],
        weight: Fraction,
        tuning: Tuning,
        heights: tuple[int, ...],
        usual: int | None = None,
    ) -> PermuteAndFlip:
        right = super(TargetFinder, self).choice(masses, weight, tuning, heights, usual)
        return PermuteAndFlip(tuple(abs(penalty - tuning.choice) for penalty in right.penalties))


@dataclass(frozen=True, slots=True)
class Unclipped(Clip):
    """Chooses the noise for a clipping point, and then does not clip."""

    def total(self, summary: Summary, share: Fraction, tuning: Tuning, *places: int) -> Noisy:
        right = super(Unclipped, self).total(summary, share, tuning, *places)
        return Noisy((sum(cell.total for cell in summary.cells),), right.noises)


class TestSum(OnThisUniverse):
    mechanism = COARSE
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "gate": (lambda law: law.first, GATE_PART),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        "other choice": (lambda law: law.laws[1].first, CHOICE_PART),
        "total, much clipped": (lambda law: law.laws[0].then(3), TOTAL_PART),
        "total, little clipped": (lambda law: law.laws[0].then(10), TOTAL_PART),
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        return fine(records)

    def twins(self) -> Mapping[str, Twin]:
        target = Clip(TargetFinder(FINDER.gate, FINDER.tunings, FINDER.gate_bits))
        return {
            "gate with noise 15 % too small": Twin(too_little_noise, "gate"),
            "choice 15 % too sharp": Twin(too_little_noise, "choice"),
            "total with noise 15 % too small": Twin(too_little_noise, "total, much clipped"),
            "gate off the lattice": Twin(off_lattice, "gate"),
            "choice around a target": Twin(target.law, "choice"),
            "not clipped": Twin(Unclipped(FINDER).law, "total, much clipped"),
            "levels rounded up": Twin(
                lambda summary, share: COARSE.law(with_budgets_raised(summary, 2), share),
                "total, much clipped",
            ),
        }

    @pytest.mark.parametrize("part", ["gate", "choice", "total, much clipped"])
    def test_some_record_comes_close_to_what_it_may_lose(self, part: str) -> None:
        """A bound that nothing comes near would hide a mistake in the measuring itself."""
        losses = []
        for record in RECORDS:
            self.records = (record,)
            losses.append(self.worst(self.law, part, Fraction(1)))
        assert max(loss.measured / loss.promised for loss in losses) > 0.85


class TestCount(TestSum):
    variant_of = TestSum

    def summarise(self, records: Sequence[Record]) -> Summary:
        return count_of(records)

    def twins(self) -> Mapping[str, Twin]:
        return {"gate with noise 15 % too small": Twin(too_little_noise, "gate")}

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


def on_spans(summary: Summary) -> Summary:
    """Return a summary whose points lie in two spans: below 4 steps for each unit of budget, and about 70."""
    quantum = summary.levels.quantum
    spans = ((quantum / 3, 4 * quantum), (60 * quantum, 80 * quantum))
    return replace(summary, ratios=Ratios(spans, spans))


class TestSpans(TestSum):
    """Points in two spans of ratios that are thought possible; the universe does not keep to them."""

    variant_of = TestSum

    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        "other choice": (lambda law: law.laws[1].first, CHOICE_PART),
        "total, much clipped": (lambda law: law.laws[0].then(3), TOTAL_PART),
        "total, little clipped": (lambda law: law.laws[0].then(-1), TOTAL_PART),
    }

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
        """Draw as groups are: a sum of all records has a point in each span (test_clipped_tiers.py)."""
        (only,) = COARSE.grouped([summary], share, entropy, runs)
        return only

    def summarise(self, records: Sequence[Record]) -> Summary:
        return on_spans(summary_of(records)).refined(4)

    def twins(self) -> Mapping[str, Twin]:
        return {
            "choice 15 % too sharp": Twin(too_little_noise, "choice"),
            "not clipped": Twin(Unclipped(FINDER).law, "total, much clipped"),
        }

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


class TestTogether(TestSum):
    """Candidates that spare a public mass, as groups that choose together do; masses move no further."""

    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: TestSum.parts[name] for name in ("whole", "gate", "choice", "other choice")
    }
    crowded = ("choice", "other choice")
    loose: ClassVar[Mapping[str, str]] = {"whole": "no record is at the worst place of each step at once"}

    def law(self, summary: Summary, share: Fraction) -> Gated:
        spared = int(Fraction(1, 3) / summary.levels.quantum)
        candidates = SparingCandidates(RecordCandidates(summary), spared)
        return FINDER.law(candidates, share, COARSE.totals(summary, share))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
        """Return what is drawn itself: ``Clip.grouped`` draws from several such laws by turns."""
        return self.law(summary, share).draw(entropy, runs)

    def twins(self) -> Mapping[str, Twin]:
        return {"gate with noise 15 % too small": Twin(too_little_noise, "gate")}

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class OneLadder(SideFinder):
    """Lets every record take part in both choices: it pays twice."""

    def law(self, summary: Summary, share: Fraction, answer: Callable[[Tuning, int], Law]) -> Gated:
        right = super(OneLadder, self).law(summary, share, answer)
        choice: Any = right.laws[0]
        twice = Then(choice.first, lambda high: Then(choice.first, lambda low: choice.then(max(low, high))))
        return replace(right, laws=(*islice(right.laws, 2), twice))


def by_the_lower_point(summary: Summary, share: Fraction) -> Gated:
    """Add the noise of the lower of two points, and clip at the higher one."""
    right = SIGNED.law(summary, share)
    apart: Any = right.laws[2]

    def total(low: int, high: int) -> Noisy:
        noise = SIGNED.total(summary, share, TUNING, min(low, high)).noises
        return Noisy(SIGNED.total(summary, share, TUNING, max(low, high)).values, noise)

    wrong = Then(apart.first, lambda high: Then(apart.then(0).first, lambda low: total(low, high)))
    return replace(right, laws=(*islice(right.laws, 2), wrong))


SIGNED = replace(COARSE, signed=True)
NEGATIVE: Record = {"v": -12, "eps": 0.2}


class TestBothSigns(TestSum):
    """Values above and below zero, each with a point of its own or all with one."""

    mechanism = SIGNED
    records = (*RECORDS[1:], NEGATIVE)
    loose: ClassVar[Mapping[str, str]] = {"whole": "no record is at the worst place of each step at once"}
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "gate": (lambda law: law.first, GATE_PART),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        "choice above zero": (lambda law: law.laws[2].first, CHOICE_PART),
        "choice below zero": (lambda law: law.laws[2].then(3).first, CHOICE_PART),
        "both choices": (_both_choices, CHOICE_PART),
        "total, much clipped": (lambda law: law.laws[2].then(3).then(1), TOTAL_PART),
        "total, clipped by the lower side": (lambda law: law.laws[2].then(1).then(6), TOTAL_PART),
    }

    def twins(self) -> Mapping[str, Twin]:
        def paid_twice(summary: Summary, share: Fraction) -> Gated:
            return OneLadder(FINDER).law(summary, share, SIGNED.totals(summary, share))

        def quiet(summary: Summary, share: Fraction) -> Gated:
            return quieter(SIGNED.law(summary, share))

        return {
            "gate with noise 15 % too small": Twin(quiet, "gate"),
            "choice above zero 15 % too sharp": Twin(quiet, "choice above zero"),
            "choice below zero 15 % too sharp": Twin(quiet, "choice below zero"),
            "total with noise 15 % too small": Twin(quiet, "total, much clipped"),
            "every record takes part in both choices": Twin(paid_twice, "both choices"),
            "noise of the lower point": Twin(by_the_lower_point, "total, clipped by the lower side"),
        }

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


class TestOddRecords(TestSum):
    variant_of = TestSum
    records = (*ODD, RECORDS[2])
    shares = (Fraction(1),)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: TestSum.parts[name] for name in ("whole", "total, much clipped")
    }

    def twins(self) -> Mapping[str, Twin]:
        return {"not clipped": Twin(Unclipped(FINDER).law, "total, much clipped")}

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


def test_larger_tables_and_the_coarsest_lattice_keep_the_promise() -> None:
    coarsest = Clip(replace(FINDER, gate_bits=3))
    found = worst_loss(
        RECORDS, lambda summary: coarsest.law(summary, Fraction(1)), summary_of, budget, max_records=4
    )
    assert found.excess <= TOLERANCE, found


def test_one_group_alone_is_answered_as_a_table_is() -> None:
    for records in ((), RECORDS[:1], RECORDS):
        table = fine(records)
        (alone,) = COARSE.grouped([table], Fraction(1), Seeded(3), 50)
        assert alone == COARSE.answers(table, Fraction(1), Seeded(3), 50)


def test_parts_that_add_up_to_more_than_the_share_are_refused() -> None:
    with pytest.raises(ValueError, match="more than the whole"):
        replace(FINDER, gate=Fraction(11, 100))


# The interval: how far clipping pulls, against the exact chances of every place.

STEEP = replace(TUNING, fall=Fraction(3))
CROWDS: Mapping[str, list[tuple[Record, int]]] = {
    "a tail": [({"v": v, "eps": 0.25}, 40 // v) for v in range(1, 13)],
    "two tiers": [({"v": 1, "eps": 3.0}, 40), ({"v": 12, "eps": 0.125}, 520)],
    "one of each": [(record, 1) for record in RECORDS if record["v"] > 0],
    "two spans": [({"v": 1, "eps": 0.5}, 60), ({"v": 9, "eps": 0.125}, 520)],
}


def too_far(
    crowd: str, tail_factor: Fraction, chance: Fraction, part_of_bound: Fraction, *, room: int = 0
) -> float:
    """Return how often the pull of records that do not reach too high passes (a part of) its bound."""
    summary = summary_of([record for record, count in CROWDS[crowd] for _ in range(count)])
    summary = replace(summary, largest=summary.largest << room)  # points go on for so many octaves
    summary = (on_spans(summary) if crowd == "two spans" else summary).refined(4)
    clip = Clip(replace(FINDER, tunings=((None, STEEP), (None, STEEP))))

    def bound(clipping: Clipping) -> Fraction | None:
        whole = clipping.pull(chance, tail_factor)
        return None if whole is None else part_of_bound * whole

    return chance_of_more(summary, clip, bound, tail_factor)


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("tail_factor", [Fraction(3, 2), Fraction(2), Fraction(8), Fraction(400)])
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
def test_clipping_pulls_further_than_it_says_no_more_often_than_it_says(
    crowd: str, tail_factor: Fraction, chance: Fraction
) -> None:
    assert too_far(crowd, tail_factor, chance, Fraction(1)) <= chance


def test_half_of_that_bound_would_not_do() -> None:
    assert too_far("two tiers", Fraction(300), Fraction(1, 20), Fraction(1, 2), room=4) > 1 / 20
    assert too_far("two tiers", Fraction(300), Fraction(1, 20), Fraction(1), room=4) <= 1 / 20


# Where each sign has its own point: the pull from either side, against the exact chances of every pair.

BOTH_SIGNS = [
    ({"v": 12, "eps": 0.2}, 600),
    ({"v": 12, "eps": 0.125}, 9),
    ({"v": -1, "eps": 3.0}, 200),
    ({"v": -3, "eps": 1.0}, 200),
    ({"v": -7, "eps": 0.3}, 3),
]


def pulled_too_far(side: int, tail_factor: Fraction, chance: Fraction, *, swapped: bool = False) -> float:
    """Return how often one side's records that do not reach too high pull further than their bound.

    ``swapped`` takes the other side's point for its own: the wrong twin.
    """
    summary = summary_of([record for record, count in BOTH_SIGNS for _ in range(count)]).refined(4)
    clip = Clip(replace(FINDER, tunings=((0, STEEP), (None, STEEP))), signed=True)
    law: Any = clip.law(summary, Fraction(1)).laws[2]
    points = Points.spanning(summary, STEEP.stride)
    own = [cell for cell in summary.cells if cell.key.sign == side]
    above, below = flip_probabilities(law.first), flip_probabilities(law.then(0).first)
    failures = 0.0
    for high, low in product(range(len(above)), range(len(below))):
        clipping = replace(clip.clipping(summary, Fraction(1), 2, low, high), blind=False)
        assert clipping.drawn is not None
        bound = clipping.pull(chance, tail_factor, clipping.drawn[(side < 0) == swapped])
        assert bound is not None
        place = max(low, high)
        allowed = max(points.per_quantum(place), tail_factor * points.per_quantum(low if side < 0 else high))
        within = [cell for cell in own if cell.key.high <= allowed * cell.key.quanta]
        lost = sum(abs(cell.total - cell.clipped(points.cap(place, cell.key.quanta))) for cell in within)
        if lost > bound:
            failures += float((above[high] * below[low]).mid())
    return failures


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("tail_factor", [Fraction(3, 2), Fraction(2), Fraction(8), Fraction(400)])
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
def test_either_side_is_pulled_further_than_it_says_no_more_often_than_it_says(
    side: int, tail_factor: Fraction, chance: Fraction
) -> None:
    assert pulled_too_far(side, tail_factor, chance) <= chance


def test_the_other_side_s_point_would_not_do() -> None:
    assert pulled_too_far(1, Fraction(2), Fraction(1, 20), swapped=True) > 1 / 20


def just_too_heavy(part: float) -> float:
    """Return how often a place is drawn that clips just more than a part of what it may, near the last point.

    All places do at once: a table whose mass falls as fast as the choice allows.
    """
    fall, places = Fraction(5, 2), 12
    points = [
        Fraction(2) ** (place // 2) * (1 if place % 2 == 0 else Fraction(7, 5)) for place in range(places)
    ]
    may = []
    for at in points[:-1]:
        clipping = Clipping(at, points[-1], evidence=Fraction(1), fall=fall, stride=2, blind=False)
        tail = clipping.tail(Fraction(64))
        assert tail is not None
        may.append(part * tail.height + math.log(20) + 1e-9)
    penalties = [Fraction(mass) + fall * place / 2 for place, mass in enumerate([*may, 0.0])]
    return sum(float(ball.mid()) for ball in flip_probabilities(PermuteAndFlip(tuple(penalties)))[:-1])


def test_near_the_last_point_many_places_together_are_drawn_no_more_often_than_one_may_be() -> None:
    assert just_too_heavy(1) <= 1 / 20


def test_there_the_climb_alone_would_not_do() -> None:
    """The wrong twin: what one place needs is not enough for all of them."""
    assert just_too_heavy(0.5) > 1 / 20
