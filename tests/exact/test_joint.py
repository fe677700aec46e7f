"""joint on every small table of units: all groups' answers together say no more than share · E(u)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

from prdp.cells.measure import Measure
from prdp.cells.units import Caps, UnitGroups
from prdp.mechanisms._tail import OCTAVES
from prdp.mechanisms.joint import Joint
from prdp.noise.laws import Gated, Law, Noisy, Then
from prdp.testing.mechanism_contract import MechanismAnswers, MechanismContract, Twin
from tests.exact import test_tail
from tests.exact.test_clip import CHOICE_PART, FINDER, GATE_PART, TOTAL_PART, quieter
from tests.exact.units_universe import UNITS, Record, budget, in_groups, unit, with_budget
from tests.exact.universe import MEASURE

COARSE = Joint(FINDER, finest_bits=0)
MUCH = "totals, much clipped"

Scaled = Callable[[Sequence[int], int], Sequence[int]]
"""From what a unit adds to each group, and its cap, to what counts."""


def separately(added: Sequence[int], cap: int) -> list[int]:
    """Clip each group by itself: a unit in two groups counts up to twice its cap."""
    return [max(-cap, min(cap, value)) for value in added]


def rounded_up(added: Sequence[int], cap: int) -> list[int]:
    """Round away from zero: the parts add up to more than the cap."""
    size = sum(map(abs, added))
    return list(added) if size <= cap else [-(-abs(v) * cap // size) * (1 if v > 0 else -1) for v in added]


def by_the_net_sum(added: Sequence[int], cap: int) -> list[int]:
    """Let contributions of both signs cancel before they are compared with the cap."""
    size = abs(sum(added))
    return list(added) if size <= cap else [int(Fraction(v * cap, size)) for v in added]


def scaled_as(how: Scaled, mechanism: Joint = COARSE) -> Callable[[UnitGroups, Fraction], Gated]:
    """Return the law with another way to scale one unit; it sees tables of at most one unit."""

    def law(unit: UnitGroups, share: Fraction) -> Gated:
        def look(caps: Caps) -> tuple[int, ...]:
            whole = [value << unit.bits for value in replace(unit, bits=0).unclipped()]
            quanta = [cell.key.quanta for cell in unit.summary.cells]
            if not quanta:
                return tuple(whole)
            levels = unit.summary.levels
            level = next(k for k in range(levels.top + 1) if levels.quanta(k) == quanta[0])
            return tuple(how(whole, caps.by_level[level]))

        return mechanism.law(replace(unit, clipped=look), share)

    return law


class TestSums(MechanismContract):
    mechanism = COARSE
    measure: Measure | None = MEASURE
    records = UNITS
    shares: Sequence[Fraction] = (Fraction(1),)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "gate": (lambda law: law.first, GATE_PART),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        MUCH: (lambda law: law.laws[0].then(5), TOTAL_PART),
        "totals, little clipped": (lambda law: law.laws[0].then(12), TOTAL_PART),
    }

    def summarise(self, records: Sequence[Record]) -> UnitGroups:
        return in_groups(records, self.measure).refined(4)

    def budget(self, record: Record) -> float:
        return budget(record)

    def with_budget(self, record: Record, budget: float) -> Record | None:
        return with_budget(record, budget)

    def twins(self) -> Mapping[str, Twin]:
        def quiet(unit: UnitGroups, share: Fraction) -> Gated:
            return quieter(COARSE.law(unit, share))

        return {
            "totals with noise 15 % too small": Twin(quiet, MUCH),
            "gate with noise 15 % too small": Twin(quiet, "gate"),
        }


class TestCounts(TestSums):
    variant_of = TestSums
    measure = None
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: TestSums.parts[name] for name in ("gate", MUCH, "totals, little clipped")
    }


class TestUnits(TestSums):
    """Each unit counts 1 in every group that it has rows in, however many."""

    variant_of = TestSums
    records = (*UNITS[1:5], unit(*((5, 0.5, True, "a"),) * 3), unit(*((5, 0.2, True, g) for g in "aab")))
    max_records = 1
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: TestSums.parts[name] for name in ("gate", MUCH)
    }

    def summarise(self, records: Sequence[Record]) -> UnitGroups:
        return in_groups(records, None, once=True).refined(4)

    def twins(self) -> Mapping[str, Twin]:
        return {"groups clipped separately": Twin(scaled_as(separately), MUCH)}


TAILS = Joint(test_tail.FINDER, finest_bits=0)
OF_OCTAVES = "octaves, little clipped"


def octaves(law: Any) -> Noisy:
    """Return the octaves of a law of the totals of groups that is drawn after the point."""
    return Noisy(law.values[-OCTAVES:], law.noises[-OCTAVES:])


def once_for_each_group(units: UnitGroups, share: Fraction) -> Gated:
    """Count a unit's budget in the octaves once for each of its groups; of tables of one unit."""
    law = TAILS.law(units, share)
    groups = sum(value != 0 for value in units.unclipped())

    def rest(which: int) -> Then:
        right: Any = law.laws[which]

        def then(place: int) -> Noisy:
            drawn = right.then(place)
            masses = tuple(groups * mass for mass in drawn.values[-OCTAVES:])
            return Noisy((*drawn.values[:-OCTAVES], *masses), drawn.noises)

        return Then(right.first, then)

    return replace(law, laws=tuple(map(rest, range(len(law.laws)))))


class TestTails(TestSums):
    """The masses by octaves beside the totals: one vector for all groups, with a unit in one of them."""

    mechanism = TAILS
    max_records = 1
    runs = 100
    variant_of = TestSums
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "octaves, much clipped": (lambda law: octaves(law.laws[0].then(12)), test_tail.TAIL_PART),
        OF_OCTAVES: (lambda law: octaves(law.laws[0].then(16)), test_tail.TAIL_PART),
    }

    def untied(self, answers: MechanismAnswers, tables: Sequence[Any], share: Fraction) -> str:
        """Compare answers with draws where masses are on so coarse a lattice that draws meet."""
        right = self.mechanism
        self.mechanism = replace(right, finder=replace(right.finder, gate_bits=test_tail.COARSEST))
        try:
            return super().untied(answers, tables, share)
        finally:
            self.mechanism = right

    def twins(self) -> Mapping[str, Twin]:
        return {"a unit once for each of its groups": Twin(once_for_each_group, OF_OCTAVES)}


class TestOneUnit(TestSums):
    """Tables of one unit, which the wrong ways to scale are written for."""

    records = (
        *UNITS,
        unit((9, 0.5, True, "a"), (-9, 0.5, True, "b")),
        unit((5, 0.15, True, "a"), (2, 1.0, True, "b")),
    )
    max_records = 1
    variant_of = TestSums
    shares = (Fraction(1), Fraction(1, 3))

    def twins(self) -> Mapping[str, Twin]:
        return {
            "groups clipped separately": Twin(scaled_as(separately), MUCH),
            "rounded away from zero": Twin(scaled_as(rounded_up), MUCH),
            "by the net sum": Twin(scaled_as(by_the_net_sum), MUCH),
        }

    def test_some_unit_comes_close_to_what_it_may_lose(self) -> None:
        losses = []
        for record in UNITS[1:4]:
            self.records = (record,)
            losses.append(self.worst(self.law, MUCH, Fraction(1)))
        assert max(loss.measured / loss.promised for loss in losses) > 0.85
