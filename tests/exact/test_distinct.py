"""distinct on every small table: no log-ratio passes share · E(r), though the budgets of a key add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.columns import exact_column, product, total
from prdp.cells.summary import KeySummary, key_edges
from prdp.levels import Levels, power_below
from prdp.mechanisms._threshold import Candidates, PointFinder, Tuning
from prdp.mechanisms.distinct import DistinctKeys, KeyCandidates
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Noise, Noisy, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing import Seeded
from prdp.testing.exact_loss import Record
from prdp.testing.mechanism_contract import MechanismContract, Twin
from prdp.testing.reference import reference_keys


@dataclass(frozen=True, slots=True)
class Coarse(Levels):
    """Levels with a quantum so large that every output can be enumerated."""

    @property
    def quantum(self) -> Fraction:
        return self.at_least / 101

    def quanta(self, level: int) -> int:
        return 101 * power_below(level, 20) >> 20


POLICY = Policy.column("eps", at_least="20", at_most="80")
LEVELS = Coarse(Fraction(20), Fraction(80))
READING = CellRead(POLICY, LEVELS, {}, None, None)

RECORDS: tuple[Record, ...] = (
    {"k": "a", "eps": 20.0},  # the least budget
    {"k": "a", "eps": 500.0},  # above the largest
    {"k": "a", "eps": 40.0},  # on the edge of a level
    {"k": "b", "eps": 20.0},
)
ODD: tuple[Record, ...] = (
    {"k": "a", "eps": 19.9},  # below the least budget: left out
    {"k": "b", "eps": float("nan")},
    {"k": None, "eps": 40.0},  # no key: takes no part
    {"k": "b", "eps": 33.0},
)

GATE_PART, CHOICE_PART, TOTAL_PART = Fraction(10, 100), Fraction(36, 100), Fraction(54, 100)
TUNING = Tuning(CHOICE_PART, TOTAL_PART, fall=Fraction(2), stride=4)
OTHER = replace(TUNING, fall=Fraction(5))
FINDER = PointFinder(GATE_PART, ((0, TUNING), (None, OTHER)), gate_bits=1 << 20)
RIGHT = DistinctKeys(FINDER)


def summary_of(records: Sequence[Record]) -> KeySummary:
    return reference_keys(records, READING, "k")


# Twins: each breaks one step of the proof, and the same measurement must find it.


def too_little_noise(summary: KeySummary, share: Fraction) -> Gated:
    """Draw with noise 15 % too small, everywhere."""
    right = RIGHT.law(summary, share)
    return replace(right, first=_quiet(right.first), laws=tuple(map(_quiet, right.laws)))


def _quiet(law: Law) -> Any:
    def smaller(noise: Noise) -> DiscreteLaplace:
        return DiscreteLaplace(noise.scale * Fraction(85, 100))

    if isinstance(law, Then):
        return Then(_quiet(law.first), lambda place: _quiet(law.then(place)))
    if isinstance(law, PermuteAndFlip):
        return replace(law, unit=law.unit / Fraction(85, 100))
    assert isinstance(law, Noisy)
    return Noisy(law.values, tuple(map(smaller, law.noises)))


def rounded_to_edges(summary: KeySummary, share: Fraction) -> Gated:
    """Round each key's sum down to an edge: a small record that carries it over lifts it by a whole step."""
    edges = key_edges(summary.levels)
    rounded = product(summary.count, exact_column(edges)[summary.edge])
    return RIGHT.law(replace(summary, total=rounded), share)


@dataclass(frozen=True, slots=True)
class ClippedMass(KeyCandidates):
    """Weighs the mass of the keys below each edge, of which one record may take away a whole key's."""

    def masses(self, stride: int, lattice: int) -> tuple[int, ...]:  # noqa: ARG002
        keys = self.summary
        return tuple(total(keys.total[keys.edge < edge]) for edge in self.edges(stride))


def on(candidates: Callable[[KeySummary], Candidates]) -> Callable[[KeySummary, Fraction], Gated]:
    """Return the mechanism on another candidates."""
    return lambda summary, share: FINDER.law(candidates(summary), share, RIGHT.totals(summary, share))


@dataclass(frozen=True, slots=True)
class CountsKeys(DistinctKeys):
    """Counts every key fully, with the noise for keys that are clipped."""

    def total(self, summary: KeySummary, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        right = super(CountsKeys, self).total(summary, share, tuning, place)
        keys = summary.keys
        edge = KeyCandidates(summary).edges(tuning.stride)[place]
        return Noisy((keys * key_edges(summary.levels)[edge],), right.noises)


class OnKeys(MechanismContract):
    mechanism = RIGHT
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "gate": (lambda law: law.first, GATE_PART),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        "other choice": (lambda law: law.laws[1].first, CHOICE_PART),
        "total, little clipped": (lambda law: law.laws[0].then(11), TOTAL_PART),
        "total, much clipped": (lambda law: law.laws[0].then(9), TOTAL_PART),
    }

    def summarise(self, records: Sequence[Record]) -> KeySummary:
        return summary_of(records)

    def budget(self, record: Record) -> float:
        return POLICY.budget(record) or 0.0 if record["k"] is not None else 0.0


class TestKeys(OnKeys):
    records = RECORDS
    max_records = 3
    crowded = ("whole", "choice", "other choice")

    def twins(self) -> Mapping[str, Twin]:
        return {
            "gate with noise 15 % too small": Twin(too_little_noise, "gate"),
            "choice 15 % too sharp": Twin(too_little_noise, "choice"),
            "total with noise 15 % too small": Twin(too_little_noise, "total, much clipped"),
            "sums rounded to edges": Twin(rounded_to_edges, "total, much clipped"),
            "clipped mass": Twin(on(ClippedMass), "choice"),
            "choice as if masses only grew": Twin(
                on(lambda summary: KeyCandidates(summary, max_decrease=0)), "choice"
            ),
            "keys counted, not clipped": Twin(CountsKeys(FINDER).law, "total, much clipped"),
        }

    @pytest.mark.parametrize("part", ["gate", "choice", "total, much clipped"])
    def test_some_record_comes_close_to_what_it_may_lose(self, part: str) -> None:
        """A bound that nothing comes near would hide a mistake in the measuring itself."""
        self.max_records = 2
        losses = []
        for record in RECORDS:
            self.records = (record,)
            losses.append(self.worst(self.law, part, Fraction(1)))
        assert max(loss.measured / loss.promised for loss in losses) > 0.85


class TestOddRecords(OnKeys):
    records = (*ODD, RECORDS[1])
    shares = (Fraction(1),)
    tied_at = Fraction(1, 40)
    variant_of = TestKeys

    def twins(self) -> Mapping[str, Twin]:
        return {"keys counted, not clipped": Twin(CountsKeys(FINDER).law, "total, much clipped")}


def test_a_coarser_lattice_is_refused() -> None:
    candidates = KeyCandidates(summary_of(RECORDS))
    for ask in (lambda: candidates.mass(2), lambda: candidates.masses(1, 2)):
        with pytest.raises(ValueError, match="no coarser lattice"):
            ask()


@pytest.mark.parametrize("least", [Fraction(1, 10**8), Fraction(1, 2**90)])
def test_an_empty_table_and_a_tiny_quantum_have_ordinary_answers(least: Fraction) -> None:
    empty = KeySummary.of(Levels(least, Fraction(100)), [])
    for answer in DistinctKeys().answers(empty, Fraction(1), Seeded(1), 20):
        assert isinstance(answer.steps, int)
        assert answer.noises
