"""The contract of engines for budgets that are divided among the rows, groups or keys of units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.declare.groups import Grouping, bins, read_grouping
from prdp.declare.units import PrivacyUnit
from prdp.engines.engine import Engine
from prdp.expressions.check import check
from prdp.expressions.nodes import Node
from prdp.expressions.parse import parse
from prdp.levels import FINE_PER_OCTAVE
from prdp.plan.divided import DividedRead, DividedRowRead, divided_levels
from prdp.plan.reads import CellRead, KeyRead, RowRead, TopRead, UnitRead
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.testing.engine_records import ONE_ROW_PER_UNIT, UNITS, Brevity
from prdp.testing.reference import Record, reference_scaled, reference_units, rising_caps
from prdp.testing.reference_divided import reference_divided, reference_divided_rows

PERSONAL = Policy.column("eps", at_least="1/10", at_most="10")
_DIVIDED = divided_levels(PERSONAL.levels, 0, 2)


class DividedContract(Brevity):
    """Tests that an engine divides units' budgets as the plain Python reference does."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Open a table: ``eps`` and ``x`` (double), ``v`` (64-bit), ``job`` (text), ``day`` (timestamp)."""
        raise NotImplementedError

    def test_units_are_counted_once_in_each_group(self) -> None:
        """Count units by a column that differs within a unit, clipped and not, with a filter and without."""
        engine = self.engine(UNITS)
        groups = read_grouping([bins("v", [-(2**63), 0, 8, 2**63])], None, engine.schema)
        policy = PERSONAL.within(engine.schema, {})
        for privacy_unit, where in (("job", None), ("x", "eps < 1")):
            unit, condition = PrivacyUnit(privacy_unit), read_condition(engine, where)
            reading = UnitRead(policy, policy.levels, unit, None, "sum", condition, groups, once=True)
            assert engine.fold_units(reading) == reference_units(UNITS, reading), privacy_unit
            for caps in rising_caps(reading):
                found = engine.scale_units(reading, caps, count_rows=True)
                assert found == reference_scaled(UNITS, reading, caps, count_rows=True), (privacy_unit, caps)

    def test_what_units_add_up_to_lies_in_fine_ranges(self) -> None:
        """Fold sums and ones into ranges as fine as those of quantiles, moved into the ends of few rows."""
        engine = self.engine(UNITS)
        policy = PERSONAL.within(engine.schema, {})
        ones = check(parse("CASE WHEN x IS NULL THEN 0 ELSE 1 END"), engine.schema, Kind.NUMBER, "ones")
        for measure in (
            Measure("v", Fraction(1), -(2**42), 2**42, per_octave=FINE_PER_OCTAVE),
            Measure("v", Fraction(1), 3, 900, per_octave=FINE_PER_OCTAVE),
            Measure("ones", Fraction(1), 0, 1, per_octave=FINE_PER_OCTAVE, expression=ones),
        ):
            for max_rows in (1, 3):
                unit = PrivacyUnit("job", max_rows=max_rows)
                reading = UnitRead(policy, policy.levels, unit, measure, "sum", None)
                assert engine.fold_units(reading) == reference_units(UNITS, reading), (measure, max_rows)

    def test_squared_distances_are_folded_around_the_center_of_each_group(self) -> None:
        """Fold squares without groups, and by groups that a unit may be in several of."""
        engine = self.engine(UNITS)
        policy = PERSONAL.within(engine.schema, {})
        groups = read_grouping(["x"], [0.0, 2.5, 7], engine.schema)
        for top in (100, 2**46):
            measure = Measure("v", Fraction(1), -top, top)
            plain = UnitRead(
                policy, policy.levels, PrivacyUnit("job"), measure, "sum", read_condition(engine, "v < 5000")
            )
            alone = replace(plain, centers=(-700,))
            assert engine.fold_units(alone) == reference_units(UNITS, alone), top
            reading = replace(plain, groups=groups, centers=(5 << 8, -top << 8, 77))
            assert engine.fold_units(reading) == reference_units(UNITS, reading), top
            for caps in self.some(rising_caps(reading), 2):
                found = engine.scale_units(reading, caps, count_rows=False)
                assert found == reference_scaled(UNITS, reading, caps, count_rows=False), (top, caps)

    def test_budgets_of_units_are_divided_among_what_counts_of_them(self) -> None:
        """Divide among rows, groups and keys: filtered rows, unlisted groups and NULL count for nothing."""
        signed = Measure("v", Fraction(1), -(2**42), 2**42)
        for one_row, records in ((False, UNITS), (True, [*UNITS, *ONE_ROW_PER_UNIT])):
            engine = self.engine(records)
            by_value = read_grouping([bins("v", [-(2**63), 0, 8, 2**63])], None, engine.schema)
            by_x = read_grouping(["x"], [0.0, 2.5, 7], engine.schema)
            for privacy_unit, column, where, groups in self.some(
                [
                    ("job", "x", None, None),
                    ("job", "x", None, by_value),
                    ("x", "job", "v > 5", by_value),
                    ("job", "day", "eps < 1", by_x),
                    ("day", "job", None, None),
                ],
                3,
            ):
                unit = PrivacyUnit(privacy_unit, one_row=one_row)
                for reading in divided_readings(engine, unit, signed, column, where, groups):
                    found = engine.divided(reading)
                    assert tuple(found) == reference_divided(records, reading), reading
            rows = RowRead(
                PERSONAL.within(engine.schema, {}), _DIVIDED, ("v", "job"), 3, read_condition(engine, "v > 5")
            )
            asked = DividedRowRead(rows, PrivacyUnit("job", one_row=one_row), PERSONAL.levels)
            table, levels = engine.divided_rows(asked)
            pairs = zip(table.to_pylist(), levels.to_pylist(), strict=True)
            assert Counter(map(repr, pairs)) == Counter(map(repr, reference_divided_rows(records, asked)))


def divided_readings(  # noqa: PLR0917
    engine: Engine,
    unit: PrivacyUnit,
    measure: Measure,
    column: str,
    where: str | None,
    groups: Grouping | None,
) -> Iterator[DividedRead]:
    """Yield reads of divided budgets, one of each kind that there is."""
    policy, condition = PERSONAL.within(engine.schema, {}), read_condition(engine, where)
    rows = CellRead(policy, _DIVIDED, {}, measure, condition, groups)
    keys = KeyRead(policy, _DIVIDED, column, condition, groups)
    counted = replace(rows, measure=None)
    yield DividedRead(rows, unit, policy.levels, "row")
    yield DividedRead(counted, unit, policy.levels, "row")
    yield DividedRead(keys, unit, policy.levels, "key")
    yield DividedRead(TopRead(keys, counted), unit, policy.levels, "key")
    if groups is not None:
        yield DividedRead(rows, unit, policy.levels, "group", "max")
        yield DividedRead(rows, unit, policy.levels, "group", "min")
        totals = replace(rows, measure=measure.added_up(3))
        yield DividedRead(totals, unit, policy.levels, "group", "sum", of_row=measure)


def read_condition(engine: Engine, where: str | None) -> Node | None:
    """Return a filter over the contract's table; None for none."""
    return check(parse(where), engine.schema, Kind.BOOLEAN, where) if where else None
