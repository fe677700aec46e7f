"""clip on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import Any, ClassVar

import pytest

from prdp.levels import Levels
from prdp.mechanisms import Clip
from prdp.mechanisms._point import Ladder, PointFinder, Tuning
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Noisy, Scan, Then
from prdp.summary import Cell, Summary
from prdp.testing.exact_loss import TOLERANCE, worst_loss
from prdp.testing.mechanism_contract import Twin
from tests.exact.universe import (
    ODD,
    RECORDS,
    OnThisUniverse,
    Record,
    budget,
    count_of,
    summary_of,
)

TUNING = Tuning(
    split=(Fraction(24, 100), Fraction(12, 100), Fraction(54, 100)),
    threshold=Fraction(1),
    rise=Fraction(1, 10),
    beyond=1,
    stride=2,
)
GATE_PART, SCAN_PART, TOTAL_PART = Fraction(10, 100), Fraction(36, 100), Fraction(54, 100)
FINDER = PointFinder(
    gate=GATE_PART,
    tunings=((3, TUNING), (None, replace(TUNING, threshold=Fraction(4), rise=Fraction(0), stride=4))),
    scan_bits=6,
)
COARSE = Clip(FINDER)


def fine(records: Sequence[Record]) -> Summary:
    """Return the cells on a lattice so fine that rounding down to it gives away little budget."""
    return summary_of(records).refined(4)


# Twins: each breaks one step of the proof, and the same measurement must find it.


def too_little_noise(summary: Summary, share: Fraction) -> Gated:
    """Draw with noise 15 % too small."""
    return quieter(COARSE.law(summary, share))


def quieter(right: Gated) -> Gated:
    """Return a law with all its noise 15 % smaller."""
    return replace(right, first=_quiet(right.first), laws=tuple(map(_quiet, right.laws)))


def _smaller(noise: DiscreteLaplace) -> DiscreteLaplace:
    return DiscreteLaplace(noise.scale * Fraction(85, 100))


@singledispatch
def _quiet(law: object) -> Any:
    raise TypeError(law)


@_quiet.register
def _(law: Noisy) -> Noisy:
    return Noisy(law.values, tuple(map(_smaller, law.noises)))


@_quiet.register
def _(law: Scan) -> Scan:
    return replace(law, threshold_noise=_smaller(law.threshold_noise), mass_noise=_smaller(law.mass_noise))


@_quiet.register
def _(law: Then) -> Then:
    return Then(_quiet(law.first), lambda place: _quiet(law.then(place)))


@dataclass(frozen=True, slots=True)
class OffLattice(PointFinder):
    """Adds up exact budgets and rounds the sum: adding a record may move it by a step too many."""

    def scan(self, ladder: Ladder, share: Fraction, tuning: Tuning) -> Scan:
        right = super(OffLattice, self).scan(ladder, share, tuning)
        lattice = self.lattice(ladder.quantum, share)
        exact = ladder.masses(tuning.stride, 1)
        return replace(right, masses=tuple(-(-mass // lattice) for mass in exact))


@dataclass(frozen=True, slots=True)
class Unclipped(Clip):
    """Chooses the noise for a clipping point, and then does not clip."""

    def total(self, summary: Summary, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        right = super(Unclipped, self).total(summary, share, tuning, place)
        return Noisy((sum(cell.total for cell in summary.cells),), right.noises)


def _rounded_up(summary: Summary) -> Summary:
    """Return cells whose budgets are those of the next level: above what the records are owed."""
    levels: Levels = summary.levels
    level_of = {levels.quanta(level): level for level in range(levels.top + 2)}
    cells = (
        Cell(
            replace(cell.key, quanta=levels.quanta(level_of[cell.key.quanta] + 2)),
            cell.count,
            cell.total,
        )
        for cell in summary.cells
    )
    return Summary.of(levels, summary.smallest, summary.largest, cells)


class TestSum(OnThisUniverse):
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "gate": (lambda law: law.first, GATE_PART),
        "scan": (lambda law: law.laws[0].first, SCAN_PART),
        "other scan": (lambda law: law.laws[1].first, SCAN_PART),
        "total, much clipped": (lambda law: law.laws[0].then(3), TOTAL_PART),
        "total, little clipped": (lambda law: law.laws[0].then(10), TOTAL_PART),
    }

    def law(self, summary: Summary, share: Fraction) -> Gated:
        return COARSE.law(summary, share)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return fine(records)

    def twins(self) -> Mapping[str, Twin]:
        off_lattice = Clip(OffLattice(FINDER.gate, FINDER.tunings, 2))
        return {
            "gate with noise 15 % too small": Twin(too_little_noise, "gate"),
            "scan with noise 15 % too small": Twin(too_little_noise, "scan"),
            "total with noise 15 % too small": Twin(too_little_noise, "total, much clipped"),
            "scan off the lattice": Twin(off_lattice.law, "scan"),
            "not clipped": Twin(Unclipped(FINDER).law, "total, much clipped"),
            "levels rounded up": Twin(
                lambda summary, share: COARSE.law(_rounded_up(summary), share), "total, much clipped"
            ),
        }

    @pytest.mark.parametrize("part", ["gate", "scan", "total, much clipped"])
    def test_some_record_comes_close_to_what_it_may_lose(self, part: str) -> None:
        """A bound that nothing comes near would hide a mistake in the measuring itself."""
        losses = []
        for record in RECORDS:
            self.records = (record,)
            losses.append(self.worst(self.law, part, Fraction(1)))
        assert max(loss.measured / loss.promised for loss in losses) > 0.85


class TestCount(TestSum):
    def summarise(self, records: Sequence[Record]) -> Summary:
        return count_of(records)

    def twins(self) -> Mapping[str, Twin]:
        return {"gate with noise 15 % too small": Twin(too_little_noise, "gate")}

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


class TestOddRecords(TestSum):
    records = (*ODD, RECORDS[2])
    shares = (Fraction(1),)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: TestSum.parts[name] for name in ("whole", "total, much clipped")
    }

    def twins(self) -> Mapping[str, Twin]:
        return {"not clipped": Twin(Unclipped(FINDER).law, "total, much clipped")}

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


def test_larger_tables_and_the_coarsest_lattice_keep_the_promise() -> None:
    coarsest = Clip(replace(FINDER, scan_bits=3))
    found = worst_loss(
        RECORDS, lambda summary: coarsest.law(summary, Fraction(1)), summary_of, budget, most_records=4
    )
    assert found.excess <= TOLERANCE, found


def test_parts_that_add_up_to_more_than_the_share_are_refused() -> None:
    with pytest.raises(ValueError, match="more than the whole"):
        replace(FINDER, gate=Fraction(11, 100))
