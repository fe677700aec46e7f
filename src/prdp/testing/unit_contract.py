"""The engine contract for privacy units, as tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from prdp.cells.measure import Measure
from prdp.cells.units import Fold
from prdp.declare.groups import Grouping, bins, read_grouping
from prdp.declare.units import PrivacyUnit
from prdp.engines.engine import Engine
from prdp.expressions.check import check
from prdp.expressions.nodes import Node
from prdp.expressions.parse import parse
from prdp.plan.reads import UnitRead
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.testing.brevity import Brevity
from prdp.testing.engine_records import ONE_ROW_PER_UNIT, UNITS
from prdp.testing.reference import Record
from prdp.testing.unit_reference import reference_scaled, reference_units, rising_caps

PERSONAL = Policy.column("eps", at_least="1/10", at_most="10")
VALUE = Measure("v", Fraction(1), 0, 10**12)


class UnitContract(Brevity):
    """Tests that an engine's units are those of the plain Python reference."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Open a table: ``eps`` and ``x`` (double), ``v`` (64-bit), ``job`` (text), ``day`` (timestamp)."""
        raise NotImplementedError

    def test_units_are_folded_from_all_their_rows(self) -> None:
        """Tell units apart by text, numbers with NaN, and moments; odd rows and filtered ones among them."""
        signed = Measure("v", Fraction(1), -(2**63) + 1, 2**63 - 1)
        engine = self.engine(UNITS)
        cases: list[tuple[str, Measure | None, str | None, Fold]] = [
            ("job", None, None, "sum"),
            ("job", None, "v > 5", "sum"),
            ("x", None, "eps < 1", "sum"),
            ("day", None, None, "sum"),
            ("job", signed, None, "sum"),
            ("x", signed, "v IS NULL OR v < 10", "sum"),
            ("day", VALUE, "eps < 1", "sum"),
            ("job", Measure("v", Fraction(1), -9, -2), None, "sum"),
            ("job", VALUE, "v > 5", "max"),
            ("x", signed, None, "max"),
            ("job", signed, "eps < 1", "min"),
        ]
        for privacy_unit, measure, where, fold in cases:
            reading = unit_reading(engine, privacy_unit, measure, where, None, fold)
            found = engine.fold_units(reading)
            assert found == reference_units(UNITS, reading), (privacy_unit, measure, where, fold)
            assert found[0][0].cells

    def test_what_units_add_to_several_groups_is_scaled_down_together(self) -> None:
        """Group the rows of units by columns that differ within a unit; look twice, as mechanisms do."""
        signed = Measure("v", Fraction(1), -(2**42), 2**42)
        engine = self.engine(UNITS)
        for privacy_unit, by, keys, measure, where, other in (
            ("job", [bins("v", [-(2**63), 0, 8, 2**63])], None, None, None, False),
            ("job", [bins("v", [-(2**63), 0, 8, 2**63])], None, signed, None, False),
            ("job", ["x"], [0.0, 2.5, 7], signed, "v < 5000", False),
            ("job", ["x"], [2.5], signed, "v < 5000", True),
            ("x", ["job"], ["clerk", "nobody", "several"], None, "v > 5", False),
            ("x", ["job"], ["several"], None, None, True),
        ):
            grouping = read_grouping(by, keys, engine.schema, other=other)
            reading = unit_reading(engine, privacy_unit, measure, where, grouping)
            assert engine.fold_units(reading) == reference_units(UNITS, reading), (privacy_unit, by, where)
            count_rows = measure is None
            for caps in self.some(rising_caps(reading), 2):
                found = engine.scale_units(reading, caps, count_rows=count_rows)
                expected = reference_scaled(UNITS, reading, caps, count_rows=count_rows)
                assert found == expected, (privacy_unit, by, where, caps)
                assert any(found) or not any(caps.by_level)

    def test_units_with_more_than_one_row_are_left_out_where_each_has_one(self) -> None:
        """Count own rows before any filter and whatever their budgets; in groups, with and without them."""
        signed = Measure("v", Fraction(1), -(2**42), 2**42)
        records = [*UNITS, *ONE_ROW_PER_UNIT]
        engine = self.engine(records)
        by_value = read_grouping([bins("v", [-(2**63), 0, 8, 2**63])], None, engine.schema)
        asked = product(("job", "x", "day"), (None, signed), (None, "v > 5", "eps < 1"), (None, by_value))
        for privacy_unit, measure, where, groups in self.some(list(asked), 5):
            plain = unit_reading(engine, privacy_unit, measure, where, groups)
            for apart in {False, groups is not None}:
                unit = PrivacyUnit(privacy_unit, 1 if apart else 1000, one_row=True)
                reading = replace(plain, unit=unit, apart=apart)
                found = engine.fold_units(reading)
                assert found == reference_units(records, reading), (privacy_unit, measure, where, apart)
                if groups is not None and not apart:
                    for caps in self.some(rising_caps(reading), 2):
                        scaled = engine.scale_units(reading, caps, count_rows=measure is None)
                        expected = reference_scaled(records, reading, caps, count_rows=measure is None)
                        assert scaled == expected, (privacy_unit, measure, where, caps)


def unit_reading(  # noqa: PLR0917
    engine: Engine,
    privacy_unit: str,
    measure: Measure | None,
    where: str | None,
    groups: Grouping | None,
    fold: Fold = "sum",
) -> UnitRead:
    """Return what an engine is asked of units."""
    policy = PERSONAL.within(engine.schema, {})
    return UnitRead(
        policy, policy.levels, PrivacyUnit(privacy_unit), measure, fold, read_condition(engine, where), groups
    )


def read_condition(engine: Engine, where: str | None) -> Node | None:
    """Return a filter over the contract's table; None for none."""
    return check(parse(where), engine.schema, Kind.BOOLEAN, where) if where else None
