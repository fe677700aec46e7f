"""rank from known answers and a known point, on every small table: no output passes share · E(r)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.columns import widest
from prdp.cells.summary import Summary
from prdp.levels import FINE_PER_OCTAVE
from prdp.mechanisms._axis import ranges_between
from prdp.mechanisms._threshold import SparingCandidates
from prdp.mechanisms.rank import Rank, away
from prdp.mechanisms.warm_rank import WarmRank
from prdp.noise.laws import Law, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.testing.mechanism_contract import Twin
from tests.exact.test_rank import FINDER, FULL, HIGH, LIGHT, MEDIAN, ONE_SIDED, SCOUT, SIDES
from tests.exact.universe import MEASURE, RECORDS, OnThisUniverse

CHOICE, ANSWER = Fraction(25, 100), Fraction(60, 100)
HALF, ONE = Fraction(1, 2), Fraction(1)
KNOWN = replace(MEDIAN, quantiles=(HIGH,), known=(7,))
STARTED = WarmRank(KNOWN, Fraction(1), "some release", CHOICE, HALF, HALF)


@dataclass(frozen=True, slots=True)
class Unsparing(Rank):
    """Spares no mass in the choice of a point, so that a few records make a difference."""

    def candidates(self, weighed: Summary, share: Fraction) -> SparingCandidates:
        return replace(super(Unsparing, self).candidates(weighed, share), spared=0)


UNSPARING = replace(
    STARTED,
    rank=Unsparing(
        (HALF,),
        MEASURE.low,
        MEASURE.high,
        8,
        FINDER,
        sides=SIDES,
        scout=SCOUT,
        fall=Fraction(1, 4),
        bits=6,
        known=(7,),
    ),
)


def range_at(place: int) -> Callable[[Any], Law]:
    return lambda law: law.then(place).first


# Twins: each breaks one step of the proof, and the same measurement must find it.


def sharper(summary: Summary, share: Fraction) -> Then:
    """Choose a point and a range 15 % too sharply."""
    part = Fraction(85, 100)
    right: Any = UNSPARING.law(summary, share)

    def sharp(law: PermuteAndFlip) -> PermuteAndFlip:
        return replace(law, unit=law.unit / part)

    def then(place: int) -> Then:
        inner: Any = right.then(place)
        return Then(sharp(inner.first), inner.then)

    return Then(sharp(right.first), then)


def answer_by_fit(summary: Summary, share: Fraction) -> Law:
    """Take for a known answer the largest value that there is."""
    most = max((cell.key.sign * cell.key.high for cell in summary.valued().cells), default=0)
    return replace(STARTED, rank=replace(KNOWN, known=(most,))).law(summary, share)


def point_by_fit(summary: Summary, share: Fraction) -> Law:
    """Take for a known point the one at which every record weighs 1."""
    budgets = [cell.key.quanta * summary.levels.quantum for cell in summary.valued().cells]
    return replace(UNSPARING, at=1 / min(budgets, default=ONE)).law(summary, share)


class TestStarted(OnThisUniverse):
    tied_at, runs = Fraction(10_000), 40
    records = (*RECORDS, {**RECORDS[2], "v": 12})
    mechanism = UNSPARING
    loose: ClassVar[Mapping[str, str]] = {
        "range, light weights": ONE_SIDED,
        "range, full weights": ONE_SIDED,
        "weights around": "on a lattice so coarse, a weight is rounded down by up to a quarter",
    }
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "choice of a point": (lambda law: law.first, CHOICE),
        "range, light weights": (range_at(LIGHT), ANSWER),
        "range, full weights": (range_at(FULL), ANSWER),
        "weights around": (lambda law: law.then(FULL).then(20), SIDES + SCOUT),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {
            "point 15 % too sharp": Twin(sharper, "choice of a point"),
            "range 15 % too sharp": Twin(sharper, "range, light weights"),
            "answer chosen by fit": Twin(answer_by_fit, "range, full weights"),
            "point chosen by fit": Twin(point_by_fit, "choice of a point"),
        }


class TestKnownAnswerAlone(OnThisUniverse):
    """Where no point is known, a point is found as ever, and only ranges start from an answer."""

    tied_at, runs = Fraction(10_000), 40
    records = RECORDS[1:5]
    mechanism = replace(STARTED, at=None)
    loose: ClassVar[Mapping[str, str]] = {"range": ONE_SIDED}
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "gate": (lambda law: law.first, Fraction(10, 100)),
        "range": (lambda law: law.laws[0].then(LIGHT).first, ANSWER),
    }

    def twins(self) -> Mapping[str, Twin]:
        def by_fit(summary: Summary, share: Fraction) -> Law:
            most = max((cell.key.sign * cell.key.high for cell in summary.valued().cells), default=0)
            return replace(KNOWN, known=(most,)).law(summary, share)

        return {"answer chosen by fit": Twin(by_fit, "range")}


def test_parts_that_are_more_than_the_share_are_refused() -> None:
    with pytest.raises(ValueError, match="more than the whole"):
        replace(STARTED, choice=Fraction(85, 100))


@pytest.mark.parametrize("known", [-(10**6), -70, 0, 1, 5000, 10**9, 10**12])
def test_a_range_is_as_far_from_a_known_answer_as_there_are_octaves_between(known: int) -> None:
    ranges = ranges_between(-(10**6), 10**9, 10**9, FINE_PER_OCTAVE)
    found = away(ranges, known, 1000).tolist()
    at = found.index(0)
    within = min(max(known, -(10**6)), 10**9)
    assert ranges.ends[at][0] <= within <= ranges.ends[at][1]
    assert found[: at + 1] == sorted(found[: at + 1], reverse=True)
    assert found[at:] == sorted(found[at:])
    octaves = len(ranges.octaves) - 1
    assert (octaves - 2) * 1000 <= found[0] + found[-1] <= octaves * 1000
    assert widest(away(ranges, known, 10**30)) == pytest.approx(max(found) * 1e27, rel=0.01)


def penalties(rank: Rank, summary: Summary) -> list[float]:
    law: Any = WarmRank(rank, Fraction(1), "", CHOICE, HALF, HALF).law(summary, ONE)
    choice = law.then(FULL).first
    return [float((each - min(choice.penalties)) * choice.unit) for each in choice.penalties]


def test_the_whole_of_the_bounds_keeps_its_part_of_the_draw() -> None:
    """Of an empty table no range is more than 3 octaves' worth less likely than the known one."""
    empty = TestStarted().summarise(())
    found = penalties(replace(KNOWN, known=(MEASURE.high,)), empty)
    assert found[-1] == 0
    assert max(found) == pytest.approx(3 * float(KNOWN.fall), rel=1e-3)
    assert set(penalties(replace(KNOWN, known=(None,)), empty)) == {0.0}


def test_of_several_quantiles_some_may_have_a_known_answer() -> None:
    rank = replace(MEDIAN, quantiles=(HALF, HIGH), known=(None, 7))
    law: Any = WarmRank(rank, Fraction(1), "", CHOICE, HALF, HALF).law(TestStarted().summarise(()), ONE)
    first = law.then(FULL).first
    second = law.then(FULL).then(0).first
    assert len(set(first.penalties)) == 1
    assert len(set(second.penalties)) > 1
