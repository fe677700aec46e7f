"""The contract of engines, as tests: subclass ``EngineContract``, and say how to open and lose a table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction

import numpy as np

from prdp.cells.cell import magnitude_key
from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.declare.computed import read_column
from prdp.declare.groups import Grouping, bins, date_trunc, read_grouping
from prdp.declare.units import PrivacyUnit
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest, PrdpError
from prdp.ledger import MemoryLedger
from prdp.plan.reads import CellRead, KeyRead, RowRead, UnitRead
from prdp.policy import Policy
from prdp.tables.table import open as open_table
from prdp.testing.engine_records import (
    BUDGETS,
    DAYS,
    FRACTIONS,
    NAN,
    UNITS,
    WHOLES,
    record_of,
)
from prdp.testing.key_contract import KeyContract
from prdp.testing.reference import (
    Record,
    in_groups,
    magnitude_code,
    reference_keys,
    reference_rows,
    reference_summary,
    reference_tops,
)
from prdp.testing.row_contract import RowContract
from prdp.testing.unit_contract import PERSONAL, VALUE, UnitContract, read_condition, unit_reading
from prdp.testing.unit_reference import reference_scaled, reference_units, rising_caps

__all__ = ["PERSONAL", "VALUE", "EngineContract"]


class EngineContract(RowContract, KeyContract, UnitContract):
    """Tests that an engine's cells are those of the plain Python reference, odd records included."""

    def lost(self, records: Sequence[Record]) -> Engine | None:
        """Open the same table, then take its source away; None where nobody can, as with Arrow in memory."""
        raise NotImplementedError

    def changed(self, records: Sequence[Record]) -> Engine | None:
        """Open the same table, then give its source other columns; None where nobody can."""
        raise NotImplementedError

    def as_held(self, records: Sequence[Record]) -> Sequence[Record]:
        """Return records as a database hands them out: where there is no NaN, it is NULL."""
        return records

    def summary(
        self,
        records: Sequence[Record],
        policy: Policy,
        measure: Measure | None = None,
        where: str | None = None,
        bounds: Mapping[str, tuple[Fraction, Fraction]] | None = None,
    ) -> tuple[Summary, Summary]:
        """Return what the engine finds, and what it should."""
        engine = self.engine(records)
        checked = policy.within(engine.schema, bounds or {})
        condition = read_condition(engine, where)
        reading = CellRead(checked, checked.levels, bounds or {}, measure, condition)
        (found,) = engine.summarise(reading)
        return found, reference_summary(records, reading)

    def test_budgets_of_every_kind_land_on_their_level_or_are_left_out(self) -> None:
        """Count records of ordinary and of odd budgets."""
        records = [record_of(eps=budget, v=1) for budget in BUDGETS]
        found, expected = self.summary(records, PERSONAL)
        assert found.cells == expected.cells

    def test_whole_values_of_every_size_land_in_a_cell_that_contains_them(self) -> None:
        """Add up whole numbers from one end of 64 bits to the other."""
        records = [record_of(eps=budget, v=v) for v in WHOLES for budget in (0.1, 1.0, NAN)]
        for low, high in ((-(2**63) + 1, 2**63 - 1), (0, 10**12), (5, 1024), (-9, -2)):
            found, expected = self.summary(records, PERSONAL, Measure("v", Fraction(1), low, high))
            assert found.cells == expected.cells

    def test_sums_beyond_64_bits_are_exact_in_either_direction(self) -> None:
        """Add up the ends of 64 bits several times over, for all records and for groups."""
        ends = [2**63 - 1] * 5 + [-(2**63) + 1] * 3 + [1]
        records = [record_of(eps=1.0, v=v, job=job) for v in ends for job in ("clerk", "nurse")]
        engine = self.engine(records)
        measure = Measure("v", Fraction(1), -(2**63) + 1, 2**63 - 1)
        for keys in (None, ["nurse", "nobody", "clerk"]):
            grouping = read_grouping(["job"], keys, engine.schema) if keys else None
            reading = _reading(engine, measure, grouping)
            found = engine.summarise(reading)
            expected = [reference_summary(group, reading) for group in in_groups(records, grouping)]
            assert [summary.cells for summary in found] == [summary.cells for summary in expected]
            assert sum(cell.total for summary in found for cell in summary.cells) == 2 * sum(ends)

    def test_fractions_are_rounded_to_their_rounding_step_and_moved_into_bounds(self) -> None:
        """Add up doubles, NaN and the infinities among them."""
        records = [record_of(eps=0.5, x=x) for x in FRACTIONS]
        for round_to in (Fraction(1, 100), Fraction(1), Fraction(5, 2)):
            measure = Measure("x", round_to, -(10**9), 10**9)
            found, expected = self.summary(records, PERSONAL, measure)
            assert found.cells == expected.cells

    def test_a_filter_keeps_the_records_for_which_it_is_true(self) -> None:
        """Filter on text and numbers, with NULLs in both."""
        records = [record_of(eps=0.5, v=v, job=job) for v in (None, 1, 50) for job in (None, "", "clerk")]
        for where in ("job = 'clerk'", "v > 10 OR job = ''", "NOT (v > 10)", "job IS NULL"):
            found, expected = self.summary(records, PERSONAL, where=where)
            assert found.cells == expected.cells

    def test_public_groups_hold_the_records_of_their_keys_and_no_others(self) -> None:
        """Group by text, numbers, bins and months, with NULL, NaN and moments at both ends of time."""
        records = [
            record_of(eps=0.5, v=v, x=x, job=job, day=day)
            for v, x in zip(WHOLES, (*FRACTIONS, 0.0, 3.0), strict=True)
            for job, day in (("clerk", DAYS[0]), ("", DAYS[1]), ("o'brien", DAYS[2]), (None, None))
        ]
        months = date_trunc("month", "day")
        for by, keys in (
            (["job"], ["clerk", "o'brien", "nobody", ""]),
            (["v"], [0, 1, -1, 2**53 + 1, 2**63 - 1]),
            (["x"], [0.0, 2.5, 123.456, 7]),
            ([bins("x", ["-1e30", 0, "0.005", "2.5", "1e18"])], None),
            ([bins("v", [-10, 0, 8, 1024])], None),
            ([months], [datetime(2025, 1, 1), datetime(2025, 2, 1)]),
            (["job", bins("v", [0, 8, 2000]), months], [("clerk", datetime(2025, 1, 1))]),
        ):
            engine = self.engine(records)
            for other in (False, True):
                grouping = read_grouping(by, keys, engine.schema, other=other)
                reading = _reading(engine, VALUE, grouping)
                found = engine.summarise(reading)
                expected = [reference_summary(group, reading) for group in in_groups(records, grouping)]
                assert [summary.cells for summary in found] == [summary.cells for summary in expected], by
                assert any(summary.cells for summary in found), by

    def test_squares_and_finer_magnitudes_are_exact(self) -> None:
        """Add up squares from 0 to beyond 64 bits, in cells of 256 an octave."""
        records = [record_of(eps=budget, v=v) for v in WHOLES for budget in (0.1, 1.0)]
        for per_octave in (8, 256):
            measure = Measure("v", Fraction(1), -(2**40), 2**40, per_octave, squares=True)
            found, expected = self.summary(records, PERSONAL, measure)
            assert found.cells == expected.cells

    def test_the_budgets_behind_each_value_add_up_exactly(self) -> None:
        """Count the values of every kind of column by what stands behind them, in groups and in all."""
        records = [
            record_of(eps=budget, v=v, x=x, job=job, day=day)
            for budget in BUDGETS
            for v, x, job, day in zip(
                (1, 1, 2, None), (0.0, -0.0, NAN, 2.5), ("a", "b", "a", None), (*DAYS, None), strict=True
            )
        ]
        for column in ("v", "x", "job", "day"):
            engine = self.engine(records)
            for grouping in (None, read_grouping(["job"], ["a", "nobody"], engine.schema)):
                reading = _reading(engine, None, grouping)
                keys = KeyRead(reading.policy, reading.levels, column, None, grouping)
                expected = [reference_keys(group, reading, column) for group in in_groups(records, grouping)]
                assert list(engine.key_totals(keys)) == expected
                assert expected[0].keys

    def test_each_value_is_at_the_highest_level_of_its_records(self) -> None:
        """Look at the values of every kind of column, in groups and in all, with a filter and without."""
        for column, where in (("v", None), ("x", None), ("job", "v > 5"), ("day", "eps < 1"), ("x", "v < 0")):
            engine = self.engine(UNITS)
            for grouping in (None, read_grouping(["job"], ["several", "nobody", "clerk"], engine.schema)):
                reading = _key_reading(engine, column, where, grouping)
                expected = [reference_tops(group, reading) for group in in_groups(UNITS, grouping)]
                assert list(engine.top_levels(reading)) == expected, (column, where, grouping)
                assert any(summary.cells for summary in expected)

    def test_rows_are_handed_out_with_their_levels_and_no_others(self) -> None:
        """Ask for rows from several levels on, with filters, in columns of every kind and in any order."""
        engine = self.engine(UNITS)
        for columns, where in (
            (("v",), None),
            (("x", "eps"), None),
            (("day", "job", "v"), "v > 5"),
            (("job",), "job IS NULL OR eps < 1"),
        ):
            for least in (0, 1, 16, 40):
                reading = _row_reading(engine, columns, where, least)
                rows = reference_rows(self.as_held(UNITS), reading)
                expected = [(tuple(row.values()), level) for row, level in rows]
                assert _rows(engine, reading) == Counter(map(repr, expected)), (columns, where, least)
                assert expected

    def test_nothing_depends_on_the_order_of_the_rows(self) -> None:
        """Ask tables of the same rows in three orders for all that an engine is asked for."""
        first, *others = (
            _everything(self.engine(records)) for records in (UNITS, UNITS[::-1], UNITS[1::2] + UNITS[::2])
        )
        assert all(other == first for other in others)

    def test_a_source_that_is_there_is_not_refused(self) -> None:
        """Look for the source before a question and after one, with records and without."""
        for records in ([], UNITS):
            engine = self.engine(records)
            engine.ensure_there()
            engine.summarise(_reading(engine, VALUE, None))
            engine.ensure_there()

    def test_a_source_that_is_gone_or_has_other_columns_is_refused_before_any_charge(self) -> None:
        """Ask tables that are no longer there; the words must be the same, whatever the records were."""
        for opened in (self.lost, self.changed):
            engines = map(opened, ([], UNITS, [record_of(eps=1.0, job="spy")]))
            words = {_refusal(engine) for engine in engines if engine is not None}
            assert len(words) <= 1, words

    def test_computed_columns_are_those_of_the_reference(self) -> None:
        """Add up, tell apart and group by expressions: over records, values, and the rows of units."""
        records = [
            record_of(eps=budget, v=v, x=x, job=job)
            for budget in (None, 0.2, 1.0)
            for v, x in zip(WHOLES, (*FRACTIONS, 0.0, 3.0), strict=True)
            for job in ("clerk", "Clerk", None)
        ]
        engine = self.engine(records)
        for of, by, keys in (
            ("v * 2 - 1", ["CASE WHEN v > 5 THEN 'many' ELSE job END"], ["many", "clerk", "nobody"]),
            ("v + x", [bins("x * 8", ["-1e30", -20, 0, "0.04", 20, "1e19"])], None),
            ("CASE WHEN job = 'clerk' THEN x END", ["v - 1", "job"], [(0.0, "clerk"), (7.0, "Clerk")]),
            ("greatest(v, x)", ["NOT (v > 5)"], [True, False]),
        ):
            read = read_column(of, engine.schema, "sum")
            measure = Measure(read.name, Fraction(1, 4), -(2**40), 2**40, expression=read.expression)
            grouping = read_grouping(by, keys, engine.schema)
            cells = _reading(engine, measure, grouping)
            expected = [reference_summary(group, cells) for group in in_groups(records, grouping)]
            assert [found.cells for found in engine.summarise(cells)] == [one.cells for one in expected], of
            assert any(summary.cells for summary in expected), of
            values = KeyRead(cells.policy, cells.levels, read.name, None, grouping, read.expression)
            assert list(engine.key_totals(values)) == [
                reference_keys(group, cells, read.name, read.expression)
                for group in in_groups(records, grouping)
            ], of
            for groups in (None, grouping):
                unit = UnitRead(cells.policy, cells.levels, PrivacyUnit("x"), measure, "sum", None, groups)
                assert engine.fold_units(unit) == reference_units(records, unit), of
            for caps in rising_caps(unit):
                scaled = engine.scale_units(unit, caps, count_rows=False)
                assert scaled == reference_scaled(records, unit, caps, count_rows=False), of

    def test_an_empty_table_has_no_cells(self) -> None:
        """Ask an empty table, one whose values are all NULL, and for groups that nobody is in."""
        measure = Measure("v", Fraction(1), 0, 100)
        empty, _ = self.summary([], PERSONAL, measure)
        nothing, _ = self.summary([record_of(eps=None)] * 3, PERSONAL, measure)
        assert len(empty.cells) == len(nothing.cells) == 0
        for records in ([], [record_of(eps=1.0, v=3, job="elsewhere")]):  # nobody is in any group
            engine = self.engine(records)
            groups = read_grouping(["job"], ["clerk", "nurse"], engine.schema)
            assert [len(one.cells) for one in engine.summarise(_reading(engine, measure, groups))] == [0, 0]

    def test_one_key_promises_no_more_than_two(self) -> None:
        """Let the magnitude of the summed column tell the budget, and look at every record's."""
        values = [None, *range(70), *(10**k + d for k in range(2, 14) for d in (-1, 0, 1))]
        records = [record_of(v=value) for value in values]
        policy = Policy("10000 / v", at_most=100)
        bounds = {"v": (Fraction(0), Fraction(10**12))}
        found, expected = self.summary(records, policy, VALUE, bounds=bounds)
        fitted = policy.within(self.engine([]).schema, bounds)
        budgets: dict[tuple[int, int], list[float]] = defaultdict(list)
        for record in records:
            budget = fitted.budget(record)
            if budget is not None:
                key = magnitude_key(0, magnitude_code(record["v"]), VALUE.largest)
                budgets[key.low, key.high].append(budget)
        assert found.counted().cells  # else nothing is compared
        assert _totals(found) == _totals(expected)
        for cell in found.cells:
            least = Fraction(min(budgets[cell.key.low, cell.key.high]))
            assert cell.key.quanta * found.levels.quantum <= least


def _totals(summary: Summary) -> dict[tuple[int, int], tuple[int, int]]:
    """Return each magnitude's count and total, whatever its budgets."""
    totals: dict[tuple[int, int], tuple[int, int]] = {}
    for cell in summary.cells:
        count, total = totals.get((cell.key.low, cell.key.high), (0, 0))
        totals[cell.key.low, cell.key.high] = (count + cell.count, total + cell.total)
    return totals


def _reading(engine: Engine, measure: Measure | None, groups: Grouping | None) -> CellRead:
    policy = PERSONAL.within(engine.schema, {})
    return CellRead(policy, policy.levels, {}, measure, None, groups)


def _key_reading(engine: Engine, column: str, where: str | None, groups: Grouping | None = None) -> KeyRead:
    policy = PERSONAL.within(engine.schema, {})
    return KeyRead(policy, policy.levels, column, read_condition(engine, where), groups)


def _row_reading(engine: Engine, columns: tuple[str, ...], where: str | None, least: int) -> RowRead:
    policy = PERSONAL.within(engine.schema, {})
    return RowRead(policy, policy.levels, columns, least, read_condition(engine, where))


def _rows(engine: Engine, reading: RowRead) -> Counter[str]:
    """Return the rows that an engine hands out with their levels, as they print and in no order."""
    table, levels = engine.rows(reading)
    assert tuple(table.column_names) == reading.columns
    columns = (table.column(place).to_pylist() for place in range(len(reading.columns)))
    rows = list(zip(*columns, strict=True))
    return Counter(map(repr, zip(rows, np.asarray(levels).tolist(), strict=True)))


def _everything(engine: Engine) -> tuple[object, ...]:
    """Return all that an engine can be asked for, of one table; rows in no order."""
    grouping = read_grouping(["job"], ["clerk", "several", ""], engine.schema)
    keys = _key_reading(engine, "x", "v > 5", grouping)
    unit = unit_reading(engine, "job", VALUE, None, grouping)
    return (
        engine.summarise(_reading(engine, VALUE, grouping)),
        engine.key_totals(keys),
        engine.top_levels(keys),
        engine.fold_units(unit),
        *(engine.scale_units(unit, caps, count_rows=False) for caps in rising_caps(unit)),
        _rows(engine, _row_reading(engine, ("job", "v", "x"), None, 8)),
    )


def _refusal(engine: Engine) -> str:
    """Return in what words a question is refused; it must cost nothing."""
    table = open_table(engine=engine, policy=PERSONAL, ledger=MemoryLedger())
    try:
        came: object = table.count(share="1/10")
    except PrdpError as error:
        came = error
    assert isinstance(came, InvalidRequest), f"a source that is not what was opened gave {type(came)}"
    assert not table.ledger.entries
    return str(came)
