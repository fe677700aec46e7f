"""clip on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from prdp.levels import Levels
from prdp.mechanisms import Clip
from prdp.mechanisms.clip import Points, Tuning
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Noisy, NoisyThen, Scan, ScanThenNoisy
from prdp.summary import Cell, Summary
from prdp.testing.exact_loss import TOLERANCE, Loss, worst_loss
from tests.exact.universe import ODD, RECORDS, Record, budget, count_of, summary_of

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

Part = Callable[[NoisyThen], NoisyThen | ScanThenNoisy | Scan | Noisy]
PARTS: dict[str, tuple[Part, Fraction]] = {
    "whole": (lambda law: law, Fraction(1)),
    "gate": (lambda law: law.first, GATE_PART),
    "scan": (lambda law: law.laws[0].scan, SCAN_PART),
    "other scan": (lambda law: law.laws[1].scan, SCAN_PART),
    "total, much clipped": (lambda law: law.laws[0].then(3), TOTAL_PART),
    "total, little clipped": (lambda law: law.laws[0].then(10), TOTAL_PART),
}


def fine(records: Sequence[Record]) -> Summary:
    """Return the cells on a lattice so fine that rounding down to it gives away little budget."""
    return summary_of(records).refined(4)


def worst(
    mechanism: Clip,
    part: str,
    *,
    share: Fraction = Fraction(1),
    records: Sequence[Record] = RECORDS,
    summarise: Callable[[Sequence[Record]], Summary] = fine,
    prepare: Callable[[Summary], Summary] = lambda summary: summary,
) -> Loss:
    """Return the worst loss in a part of the mechanism beside that part's promise."""
    of_law, promise = PARTS[part]
    return worst_loss(
        records,
        lambda summary: of_law(mechanism.law(prepare(summary), share)),
        summarise,
        lambda record: float(share * promise) * budget(record),
        most_records=2,
    )


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3)])
@pytest.mark.parametrize("summarise", [fine, count_of])
def test_no_record_loses_more_than_its_share_of_its_budget(
    part: str, share: Fraction, summarise: Callable[[Sequence[Record]], Summary]
) -> None:
    found = worst(COARSE, part, share=share, summarise=summarise)
    assert found.excess <= TOLERANCE, found


def test_odd_records_lose_what_they_are_promised_and_no_more() -> None:
    found = worst(COARSE, "whole", records=(*ODD, RECORDS[2]))
    assert found.excess <= TOLERANCE, found


def test_larger_tables_and_the_coarsest_lattice_keep_the_promise() -> None:
    coarsest = replace(COARSE, scan_bits=3)
    found = worst_loss(
        RECORDS, lambda summary: coarsest.law(summary, Fraction(1)), summary_of, budget, most_records=4
    )
    assert found.excess <= TOLERANCE, found


@pytest.mark.parametrize(("part", "least"), [("gate", 0.85), ("scan", 0.85), ("total, much clipped", 0.9)])
def test_some_record_comes_close_to_what_it_may_lose(part: str, least: float) -> None:
    """A bound that nothing comes near would hide a mistake in the measuring itself."""
    losses = [worst(COARSE, part, records=[record]) for record in RECORDS]
    assert max(loss.measured / loss.promised for loss in losses) > least


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


def _as_it_is(summary: Summary) -> Summary:
    return summary


def _twin(kind: type[Clip], bits: int = 6) -> Clip:
    return kind(COARSE.gate, COARSE.tunings, bits)


@pytest.mark.parametrize(
    ("twin", "prepare", "part"),
    [
        (_twin(TooLittleNoise), _as_it_is, "gate"),
        (_twin(TooLittleNoise), _as_it_is, "scan"),
        (_twin(TooLittleNoise), _as_it_is, "total, much clipped"),
        (_twin(OffLattice, bits=2), _as_it_is, "scan"),
        (_twin(Unclipped), _as_it_is, "total, much clipped"),
        (COARSE, _rounded_up, "total, much clipped"),
    ],
    ids=[
        "gate with noise 15 % too small",
        "scan with noise 15 % too small",
        "total with noise 15 % too small",
        "scan off the lattice",
        "total that is not clipped",
        "levels rounded up",
    ],
)
def test_a_wrong_twin_is_caught(twin: Clip, prepare: Callable[[Summary], Summary], part: str) -> None:
    assert worst(twin, part, prepare=prepare).excess > 0.001


def test_parts_that_add_up_to_more_than_the_share_are_refused() -> None:
    with pytest.raises(ValueError, match="more than the whole"):
        replace(COARSE, gate=Fraction(11, 100))
