"""clip on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import pytest

from prdp.levels import Levels
from prdp.mechanisms import Clip
from prdp.mechanisms.clip import Points, Tuning
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Noisy, NoisyThen, Scan, ScanThenNoisy
from prdp.summary import Cell, Summary
from prdp.testing.exact_loss import TOLERANCE, Law, worst_loss
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
COARSE = Clip(
    gate=GATE_PART,
    tunings=((3, TUNING), (None, replace(TUNING, threshold=Fraction(4), rise=Fraction(0), stride=4))),
    scan_bits=6,
)


def fine(records: Sequence[Record]) -> Summary:
    """Return the cells on a lattice so fine that rounding down to it gives away little budget."""
    return summary_of(records).refined(4)


# Twins: each breaks one step of the proof, and the same measurement must find it.


@dataclass(frozen=True, slots=True)
class TooLittleNoise(Clip):
    """Draws with noise 15 % too small."""

    def law(self, summary: Summary, share: Fraction) -> NoisyThen:
        right = super(TooLittleNoise, self).law(summary, share)
        return replace(right, first=_quiet(right.first), laws=tuple(map(_quiet_scan, right.laws)))


def _smaller(noise: DiscreteLaplace) -> DiscreteLaplace:
    return DiscreteLaplace(noise.scale * Fraction(85, 100))


def _quiet(noisy: Noisy) -> Noisy:
    return Noisy(noisy.values, tuple(map(_smaller, noisy.noises)))


def _quiet_scan(law: ScanThenNoisy) -> ScanThenNoisy:
    scan = replace(
        law.scan,
        threshold_noise=_smaller(law.scan.threshold_noise),
        mass_noise=_smaller(law.scan.mass_noise),
    )
    return ScanThenNoisy(scan, lambda place: _quiet(law.then(place)))


@dataclass(frozen=True, slots=True)
class OffLattice(Clip):
    """Adds up exact budgets and rounds the sum: adding a record may move it by a step too many."""

    def scan(self, summary: Summary, points: Points, share: Fraction, tuning: Tuning) -> Scan:
        right = super(OffLattice, self).scan(summary, points, share, tuning)
        lattice = self.lattice(summary, share)
        masses = tuple(
            -(
                -sum(
                    cell.key.quanta * cell.count
                    for cell in summary.cells
                    if points.cap(place, cell.key.quanta) < cell.key.high
                )
                // lattice
            )
            for place in range(len(points.numerators))
        )
        return replace(right, masses=masses)


@dataclass(frozen=True, slots=True)
class Unclipped(Clip):
    """Chooses the noise for a clipping point, and then does not clip."""

    def rest(self, summary: Summary, share: Fraction, tuning: Tuning) -> ScanThenNoisy:
        right = super(Unclipped, self).rest(summary, share, tuning)
        total = sum(cell.total for cell in summary.cells)
        return ScanThenNoisy(right.scan, lambda place: Noisy((total,), right.then(place).noises))


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
    parts: ClassVar[Mapping[str, tuple[Callable[[NoisyThen], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "gate": (lambda law: law.first, GATE_PART),
        "scan": (lambda law: law.laws[0].scan, SCAN_PART),
        "other scan": (lambda law: law.laws[1].scan, SCAN_PART),
        "total, much clipped": (lambda law: law.laws[0].then(3), TOTAL_PART),
        "total, little clipped": (lambda law: law.laws[0].then(10), TOTAL_PART),
    }

    def law(self, summary: Summary, share: Fraction) -> NoisyThen:
        return COARSE.law(summary, share)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return fine(records)

    def twins(self) -> Mapping[str, Twin]:
        quiet = TooLittleNoise(COARSE.gate, COARSE.tunings, 6).law
        return {
            "gate with noise 15 % too small": Twin(quiet, "gate"),
            "scan with noise 15 % too small": Twin(quiet, "scan"),
            "total with noise 15 % too small": Twin(quiet, "total, much clipped"),
            "scan off the lattice": Twin(OffLattice(COARSE.gate, COARSE.tunings, 2).law, "scan"),
            "not clipped": Twin(Unclipped(COARSE.gate, COARSE.tunings, 6).law, "total, much clipped"),
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
        quiet = TooLittleNoise(COARSE.gate, COARSE.tunings, 6).law
        return {"gate with noise 15 % too small": Twin(quiet, "gate")}

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


class TestOddRecords(TestSum):
    records = (*ODD, RECORDS[2])
    shares = (Fraction(1),)
    parts: ClassVar[Mapping[str, tuple[Callable[[NoisyThen], Law], Fraction]]] = {
        name: TestSum.parts[name] for name in ("whole", "total, much clipped")
    }

    def twins(self) -> Mapping[str, Twin]:
        return {"not clipped": Twin(Unclipped(COARSE.gate, COARSE.tunings, 6).law, "total, much clipped")}

    test_some_record_comes_close_to_what_it_may_lose = None  # type: ignore[assignment]


def test_larger_tables_and_the_coarsest_lattice_keep_the_promise() -> None:
    coarsest = replace(COARSE, scan_bits=3)
    found = worst_loss(
        RECORDS, lambda summary: coarsest.law(summary, Fraction(1)), summary_of, budget, most_records=4
    )
    assert found.excess <= TOLERANCE, found


def test_parts_that_add_up_to_more_than_the_share_are_refused() -> None:
    with pytest.raises(ValueError, match="more than the whole"):
        replace(COARSE, gate=Fraction(11, 100))
