"""The fence below clipping points, on every small table: what lacks is paid for, and intervals know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.summary import Summary
from prdp.mechanisms._threshold import Fence, PointFinder, Points, RecordCandidates, SparingCandidates, Tuning
from prdp.mechanisms.clip import Clip
from prdp.noise.laws import Gated, Law
from prdp.release.bias import Clipping
from prdp.testing.mechanism_contract import Twin
from tests.exact.pulls import chance_of_more
from tests.exact.test_clip import quieter
from tests.exact.universe import RECORDS, OnThisUniverse, Record, summary_of

CHOICE_PART, TOTAL_PART = Fraction(36, 100), Fraction(54, 100)
FENCE = Fence(below=4, mass=2, times=2)
TUNING = Tuning(CHOICE_PART, TOTAL_PART, fall=Fraction(1, 2), stride=2, fence=FENCE)
FINDER = PointFinder(
    gate=Fraction(1, 10), tunings=((0, TUNING), (None, replace(TUNING, stride=4))), gate_bits=10
)


@dataclass(frozen=True, slots=True)
class Free(Tuning):
    """Takes the whole part for choosing for what is clipped, and what lacks for nothing."""

    @property
    def seen(self) -> Fraction:
        return self.choice


@dataclass(frozen=True, slots=True)
class Heavy(Fence):
    """Charges as much for what lacks as for what is clipped, and says that it charges half as much."""

    def charged(
        self, masses: Sequence[int], whole: int, heights: Sequence[int], worth: Fraction
    ) -> list[int]:
        clipped = (self.times * mass for mass in masses)
        right = super(Heavy, self).charged(masses, whole, heights, worth)
        return [both + (self.times - 1) * (both - own) for both, own in zip(right, clipped, strict=True)]


def with_tuning(tuning: Tuning) -> Clip:
    return Clip(replace(FINDER, tunings=((None, tuning),)), finest_bits=0)


class TestFence(OnThisUniverse):
    """A sum whose point is chosen with a fence."""

    mechanism = Clip(FINDER, finest_bits=0)
    records = (RECORDS[0], RECORDS[1], RECORDS[2], RECORDS[4])
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "gate": (lambda law: law.first, FINDER.gate),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        "other choice": (lambda law: law.laws[1].first, CHOICE_PART),
    }
    runs = 100
    crowded = ("choice", "other choice")
    loose: ClassVar[Mapping[str, str]] = {
        "whole": "no record is at the worst place of each step at once",
        "choice": "its fence falls faster than these records add to it; the other choice is tight",
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        return summary_of(records).refined(2)

    def twins(self) -> Mapping[str, Twin]:
        free = with_tuning(Free(*_fields(TUNING)))
        heavy = with_tuning(replace(TUNING, fence=Heavy(*_fields(FENCE))))
        return {
            "choice 15 % too sharp": Twin(_sharper, "choice"),
            "what lacks is free": Twin(free.law, "choice"),
            "what lacks costs as much as what is clipped": Twin(heavy.law, "choice"),
        }

    def test_some_record_comes_close_to_what_it_may_lose(self) -> None:
        """A bound that nothing comes near would hide a mistake in the measuring itself."""
        loss = self.worst(self.law, "choice", Fraction(1))
        assert loss.measured / loss.promised > 0.85


class TestTogether(TestFence):
    """A candidates that spares a public mass besides, as groups that choose together do."""

    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: TestFence.parts[name] for name in ("gate", "choice", "other choice")
    }
    loose: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("choice", "other choice"), "a fence beside a spared mass charges less than it may"
    )

    def law(self, summary: Summary, share: Fraction) -> Gated:
        candidates = SparingCandidates(
            RecordCandidates(summary), int(Fraction(1, 3) / summary.levels.quantum)
        )
        return FINDER.law(candidates, share, self.mechanism.totals(summary, share))

    def answers(self, summary: Summary, share: Fraction, entropy: Any, runs: int) -> Any:
        """Return what is drawn itself: ``Clip.grouped`` draws from several such laws by turns."""
        return self.law(summary, share).draw(entropy, runs)

    def twins(self) -> Mapping[str, Twin]:
        return {"gate with noise 15 % too small": Twin(lambda *terms: quieter(self.law(*terms)), "gate")}

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


def _sharper(summary: Summary, share: Fraction) -> Gated:
    return quieter(TestFence.mechanism.law(summary, share))


def _fields(of: Any) -> list[Any]:
    return [getattr(of, name) for name in of.__dataclass_fields__]


# The interval: how far clipping pulls, against the exact chances of every place.

FAR = replace(TUNING, fence=Fence(below=4, mass=400, times=2))
CROWDS: Mapping[str, list[tuple[Record, int]]] = {
    "a tail": [({"v": v, "eps": 0.25}, 40 // v) for v in range(1, 13)],
    "a thin upper tier": [({"v": 1, "eps": 3.0}, 200), ({"v": 12, "eps": 0.125}, 520)],
    "near below": [({"v": 8, "eps": 0.25}, 100), ({"v": 12, "eps": 0.125}, 300)],
}


def too_far(crowd: str, tail_factor: Fraction, chance: Fraction, *, known: bool = True) -> float:
    """Return how often the pull of records that do not reach too high passes its bound.

    ``known`` says whether the bound knows what the fence spares.
    """
    summary = summary_of([record for record, count in CROWDS[crowd] for _ in range(count)]).refined(4)
    clip = Clip(replace(FINDER, tunings=((None, FAR), (None, FAR))))

    def bound(clipping: Clipping) -> Fraction | None:
        return (clipping if known else replace(clipping, spared=Fraction(0))).pull(chance, tail_factor)

    return chance_of_more(summary, clip, bound, tail_factor)


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("tail_factor", [Fraction(3, 2), Fraction(2), Fraction(8), Fraction(400)])
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
def test_clipping_pulls_further_than_it_says_no_more_often_than_it_says(
    crowd: str, tail_factor: Fraction, chance: Fraction
) -> None:
    assert too_far(crowd, tail_factor, chance) <= chance


def test_a_bound_that_forgets_the_fence_would_not_do() -> None:
    """The wrong twin: two points that differ in what lacks below them are distinguished by that as well."""
    assert too_far("a thin upper tier", Fraction(300), Fraction(1, 20), known=False) > 1 / 20


def test_penalties_are_those_of_the_definition() -> None:
    """What a point clips, ``times`` over, and what lacks two octaves lower: worked out from the records."""
    summary = summary_of([RECORDS[2]] * 3 + [RECORDS[4]] * 2)
    tuning = replace(TUNING, fence=Fence())
    drawn = FINDER.drawn(RecordCandidates(summary), Fraction(1), tuning)
    points = Points.spanning(summary, tuning.stride)
    climbs = tuning.climbs(points.heights, points.usual)
    for place, charge in enumerate(drawn.penalties):
        penalty = charge * drawn.unit
        clipped = _clipped(summary, points, place)
        low = [other for other, height in enumerate(points.heights) if height <= points.heights[place] - 8]
        lower = _clipped(summary, points, low[-1]) if low else _clipped(summary, points, None)
        charged = clipped + max(Fraction(0), 40 - lower) / 4
        assert abs(penalty - climbs[place] - CHOICE_PART / Fraction(5, 4) * charged) < Fraction(1, 10**5)


def _clipped(summary: Summary, points: Points, place: int | None) -> Fraction:
    """Return the budget mass that a point clips; None represents one that clips everybody."""
    return sum(
        (
            cell.count * cell.key.quanta * summary.levels.quantum
            for cell in summary.cells
            if place is None or cell.key.high > points.cap(place, cell.key.quanta)
        ),
        Fraction(0),
    )
