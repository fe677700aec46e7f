"""clip from a known point, on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.summary import Summary
from prdp.mechanisms._threshold import Points, RecordCandidates
from prdp.mechanisms.warm_clip import WarmClip, excesses
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Law, Noisy, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.release.excluded_tail import TAIL_FACTORS
from prdp.release.interval import Around, error_bounds
from prdp.testing import Seeded
from prdp.testing.exact_loss import TOLERANCE, worst_loss
from prdp.testing.mechanism_contract import Twin, untied
from tests.exact.test_clip import COARSE, CROWDS, NEGATIVE, fine, on_spans
from tests.exact.universe import ODD, RECORDS, OnThisUniverse, Record, budget, count_of, summary_of

CHOICE, BEYOND, ANSWER = Fraction(36, 100), Fraction(24, 100), Fraction(40, 100)
HALF = Fraction(1, 2)
STARTED = WarmClip(COARSE, Fraction(9), "some release", CHOICE, BEYOND, HALF, HALF, mass_bits=8)
FAR_OFF = replace(STARTED, at=Fraction(10**6))
ONE = Fraction(1)
LEAST, MOST = TAIL_FACTORS[0], TAIL_FACTORS[-1]


def _total(law: Noisy) -> Noisy:
    return Noisy(law.values[:1], law.noises[:1])


def _beyond(law: Noisy) -> Noisy:
    return Noisy(law.values[1:], law.noises[1:])


# Twins: each breaks one step of the proof, and the same measurement must find it.


def quieter(summary: Summary, share: Fraction) -> Then:
    """Draw with all noise 15 % too small."""
    part = Fraction(85, 100)
    right: Any = STARTED.law(summary, share)

    def quiet(place: int) -> Noisy:
        noisy = right.then(place)
        return Noisy(noisy.values, tuple(DiscreteLaplace(noise.scale * part) for noise in noisy.noises))

    return Then(PermuteAndFlip(tuple(penalty / part for penalty in right.first.penalties)), quiet)


def fitting(summary: Summary, share: Fraction) -> Then:
    """Choose the hint by how it fits: where the records that it is to protect end."""
    most = max((Fraction(cell.key.high, cell.key.quanta) for cell in summary.cells), default=ONE)
    return replace(STARTED, at=most / summary.levels.quantum).law(summary, share)


def changed(change: Callable[[Noisy], Noisy]) -> Callable[[Summary, Fraction], Then]:
    """Return the law with other values or noises after the choice."""

    def law(summary: Summary, share: Fraction) -> Then:
        right: Any = STARTED.law(summary, share)
        return Then(right.first, lambda place: change(right.then(place)))

    return law


def noise_of_the_least_factor(law: Noisy) -> Noisy:
    """Hide what lies up to 8 times as high as the point by the noise of what lies up to 3/2 times as high."""
    total, band, further = law.noises
    return Noisy(law.values, (total, DiscreteLaplace(band.scale * (LEAST - 1) / (MOST - 1)), further))


def band_without_end(law: Noisy) -> Noisy:
    """Count a record further up in the band as well, with all that it might have there."""
    total, band, further = law.values
    room = further * law.noises[1].scale / law.noises[2].scale
    return Noisy((total, band + int(room), further), law.noises)


@dataclass(frozen=True, slots=True)
class Whole(WarmClip):
    """Counts a record's whole value in its octave, and not what it has beyond its cap."""

    def answered(self, summary: Summary, share: Fraction, place: int) -> Noisy:
        right = super(Whole, self).answered(summary, share, place)
        points = Points.spanning(summary, 2)
        cells = [cell for cell in summary.cells if cell.key.high > points.cap(place, cell.key.quanta)]
        most = self.tail_factor * points.per_quantum(place)
        band = sum(abs(cell.total) for cell in cells if cell.key.high <= most * cell.key.quanta)
        return Noisy((right.values[0], band, right.values[-1]), right.noises)


PARTS: Mapping[str, tuple[Callable[[Any], Law], Fraction]] = {
    "whole": (lambda law: law, ONE),
    "choice": (lambda law: law.first, CHOICE),
    "total, much clipped": (lambda law: _total(law.then(3)), ANSWER),
    "beyond, much clipped": (lambda law: _beyond(law.then(3)), BEYOND),
    "beyond, little clipped": (lambda law: _beyond(law.then(8)), BEYOND),
}


class TestSum(OnThisUniverse):
    mechanism = STARTED
    parts: ClassVar = PARTS
    shares = (ONE,)  # a third of it: test_larger_tables_keep_the_promise
    tied_at = Fraction(500)
    runs = 120
    loose: ClassVar[Mapping[str, str]] = {
        "whole": "no record is at the worst place of each step at once",
        "beyond, little clipped": "no record of this universe lies far beyond so high a point",
    }

    def tables(self) -> list[Any]:
        """Compare answers and draws on single records: what is stated does not hang on how many there are."""
        return self._small_tables()

    def summarise(self, records: Sequence[Record]) -> Summary:
        return fine(records)

    def twins(self) -> Mapping[str, Twin]:
        return {
            "choice 15 % too sharp": Twin(quieter, "choice"),
            "total with noise 15 % too small": Twin(quieter, "total, much clipped"),
            "beyond with noise 15 % too small": Twin(quieter, "beyond, much clipped"),
            "hint chosen by fit": Twin(fitting, "choice"),
            "noise of the least factor": Twin(changed(noise_of_the_least_factor), "beyond, much clipped"),
            "a band without end": Twin(changed(band_without_end), "beyond, much clipped"),
        }

    @pytest.mark.parametrize("part", ["choice", "total, much clipped", "beyond, much clipped"])
    def test_some_record_comes_close_to_what_it_may_lose(self, part: str) -> None:
        losses = []
        for record in RECORDS:
            self.records = (record,)
            losses.append(self.worst(self.law, part, ONE))
        assert max(loss.measured / loss.promised for loss in losses) > 0.85


class Variant(TestSum):
    """The same with another table, point or kind of value."""

    __test__ = False
    variant_of = TestSum
    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]
    # answers follow from the law in one way for all of them: see TestSum
    test_answers_say_what_is_drawn_from_the_law_and_nothing_else = None  # type: ignore[assignment]
    test_answers_that_say_more_or_draw_otherwise_are_caught = None  # type: ignore[assignment]

    def twins(self) -> Mapping[str, Twin]:
        return {"hint chosen by fit": Twin(fitting, "choice")}


class TestCount(Variant):
    __test__ = True

    def summarise(self, records: Sequence[Record]) -> Summary:
        return count_of(records)


class TestOfTheLeastFactor(Variant):
    """Less is measured after a release whose interval covered 3/2 times its point."""

    __test__ = True
    mechanism = replace(STARTED, tail_factor=LEAST)
    parts: ClassVar = {**PARTS, "beyond, a record in the band": (lambda law: _beyond(law.then(7)), BEYOND)}

    def twins(self) -> Mapping[str, Twin]:
        whole = Whole(COARSE, Fraction(9), "", CHOICE, BEYOND, HALF, HALF, 8, tail_factor=LEAST)
        return {"whole values beyond": Twin(whole.law, "beyond, a record in the band")}


class TestSpans(Variant):
    __test__ = True

    def summarise(self, records: Sequence[Record]) -> Summary:
        return on_spans(summary_of(records)).refined(4)


class TestOddRecords(Variant):
    __test__ = True
    records = (*ODD, RECORDS[2])


class TestStartedFarOff(Variant):
    """A point far above all that there is; all candidates keeps its part of the draw."""

    __test__ = True
    mechanism = FAR_OFF

    def test_the_whole_candidates_keeps_its_part(self) -> None:
        climbs = FAR_OFF.climbs(fine(RECORDS), FAR_OFF.at)
        assert min(climbs) == 0
        assert max(climbs) <= 3 + climbs[0] + 6  # half an octave of fall for each point at most


class TestBothSigns(Variant):
    """Values above and below zero are measured apart; a record is on one side."""

    __test__ = True
    mechanism = replace(STARTED, clip=replace(COARSE, signed=True))
    records = (*RECORDS[1:], NEGATIVE)

    def twins(self) -> Mapping[str, Twin]:
        def on_both(summary: Summary, share: Fraction) -> Then:
            right: Any = self.law(summary, share)
            single: Any = STARTED.law(summary, share)

            def twice(place: int) -> Noisy:
                values = single.then(place).values
                return Noisy((*values, *values[1:]), right.then(place).noises)

            return Then(right.first, twice)

        return {"every record on both sides": Twin(on_both, "beyond, much clipped")}

    def test_answers_say_what_is_drawn(self) -> None:
        tables = [self.summarise(records) for records in ((), self.records[:1], (NEGATIVE,))]
        assert not untied(
            tables,
            lambda summary: self.law(summary, Fraction(5000)),
            lambda summary, entropy, runs: self.answers(summary, Fraction(5000), entropy, runs),
            runs=50,
            seed=7,
        )


def test_larger_tables_keep_the_promise() -> None:
    third = Fraction(1, 3)
    found = worst_loss(
        RECORDS,
        lambda summary: STARTED.law(summary, third),
        summary_of,
        lambda record: float(third) * budget(record),
        max_records=3,
    )
    assert found.excess <= TOLERANCE, found


def test_parts_that_add_up_to_more_than_the_share_are_refused() -> None:
    with pytest.raises(ValueError, match="more than the whole"):
        replace(STARTED, choice=Fraction(3, 4), beyond=Fraction(1, 4))


def test_answers_say_where_they_warm() -> None:
    (answer,) = STARTED.answers(fine(RECORDS), ONE, Seeded(1), 1)
    assert dict(answer.choices)["started from"] == "some release"


# The interval: what is measured is what the records have beyond the point, whatever the point is.


def _places(crowd: str) -> Iterator[tuple[Summary, Points, int]]:
    summary = summary_of([record for record, count in CROWDS[crowd] for _ in range(count)])
    summary = (on_spans(summary) if crowd == "two spans" else summary).refined(6)
    points = Points.spanning(summary, 2)
    for place in range(len(points.numerators)):
        yield summary, points, place


@pytest.mark.parametrize("crowd", CROWDS)
def test_bands_hold_what_records_have_beyond_a_point(crowd: str) -> None:
    """Up to a step for each record, as where its cap is rounded down, and up to its cell's upper end."""
    for summary, points, place in _places(crowd):
        for factor in TAIL_FACTORS:
            band, further = excesses(summary, points, place, 1, (factor - 1,))
            reached = factor * points.per_quantum(place)
            within = [
                cell
                for cell in summary.cells
                if points.cap(place, cell.key.quanta) < cell.key.high <= reached * cell.key.quanta
            ]
            kept = sum(cell.clipped(points.cap(place, cell.key.quanta)) for cell in within)
            lost = sum(cell.total for cell in within) - kept
            most = sum(cell.count * cell.key.high for cell in within) - kept
            records = sum(cell.count for cell in within)
            assert lost - records <= band <= most + records
            far = [cell for cell in summary.cells if cell.key.high > reached * cell.key.quanta]
            assert further == sum(cell.key.quanta * cell.count for cell in far)


def missed(warm: WarmClip, crowd: str, tail_factor: Fraction, failure: Fraction, runs: int) -> float:
    """Return how often an interval does not hold what it says, of seeded answers."""
    summary = summary_of([record for record, count in CROWDS[crowd] for _ in range(count)]).refined(6)
    points = Points.spanning(summary, 2)
    passed = 0
    for place, values in warm.law(summary, ONE).draw(Seeded(5), runs):
        clipping = warm.clipping(summary, ONE, place)
        assert clipping.measured is not None
        clipping = replace(clipping, measured=clipping.measured.filled(values[1:]))
        scale = clipping.at / ANSWER
        found = error_bounds((scale,), "laplace", clipping, failure, tail_factor)
        allowed = tail_factor * points.per_quantum(place)
        truth = sum(
            cell.total
            if cell.key.high <= allowed * cell.key.quanta
            else cell.clipped(points.cap(place, cell.key.quanta))
            for cell in summary.cells
        )
        low, high = Around(found, Fraction(1)).ends(values[0])
        passed += truth < low or truth > high
    return passed / runs


@pytest.mark.parametrize("tail_factor", [LEAST, Fraction(2), Fraction(8), Fraction(40)])
@pytest.mark.parametrize("measured", TAIL_FACTORS)
@pytest.mark.parametrize("at", [Fraction(1), Fraction(400)])
def test_intervals_hold_what_they_say_wherever_the_warm_start_points(
    tail_factor: Fraction, measured: Fraction, at: Fraction
) -> None:
    """One in five may fail; of 400 runs, more than 31 % would be a chance of one in ten million."""
    warm = replace(STARTED, at=at, mass_bits=50, tail_factor=measured)
    for crowd in ("a tail", "two tiers"):
        assert missed(warm, crowd, tail_factor, Fraction(1, 5), 400) < 0.31


def test_masses_are_those_of_the_candidates() -> None:
    summary = fine(RECORDS)
    law: Any = replace(STARTED, up=Fraction(0), down=Fraction(0)).law(summary, ONE)
    weight = CHOICE * summary.levels.quantum
    assert law.first.penalties == tuple(weight * mass for mass in RecordCandidates(summary).masses(2, 1))
