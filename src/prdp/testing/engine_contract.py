"""What every engine must do, as tests: subclass ``EngineContract`` and say how to open a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from prdp.cells.cell import magnitude_key
from prdp.cells.measure import Measure
from prdp.cells.owners import Caps, Fold
from prdp.cells.summary import Summary
from prdp.declare.groups import Grouping, bins, date_trunc, read_grouping
from prdp.engines.engine import Engine
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.plan.reads import KeyReading, Reading, UnitReading
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.testing.owner_reference import reference_scaled, reference_units
from prdp.testing.reference import in_groups, magnitude_code, reference_keys, reference_summary

Record = Mapping[str, Any]

NAN, INFINITY = float("nan"), float("inf")

BUDGETS = [
    None,
    NAN,
    INFINITY,
    -INFINITY,
    -1.0,
    -0.0,
    0.0,
    5e-324,
    0.0999,
    0.1,
    0.2,
    0.4,
    1.0,
    9.9,
    1e300,
]
WHOLES = [None, 0, 1, -1, 7, 8, 9, 1023, 1024, 1025, 2**40 + 50, 2**53 + 1, 2**63 - 1, -(2**63)]
FRACTIONS = [None, NAN, INFINITY, -INFINITY, -0.0, 0.005, 0.015, 2.5, -2.5, 123.456, 1e18, -1e18]

DAYS = [datetime(2025, 1, 31, 23, 59), datetime(1, 1, 1), datetime(9999, 12, 31)]


class EngineContract:
    """Tests that an engine's cells are those of the plain Python reference, odd records included."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Open a table: ``eps`` and ``x`` (double), ``v`` (64-bit), ``job`` (text), ``day`` (timestamp)."""
        raise NotImplementedError

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
        condition = check(parse(where), engine.schema, Kind.BOOLEAN, where) if where else None
        reading = Reading(checked, checked.levels, bounds or {}, measure, condition)
        (found,) = engine.summarise(reading)
        return found, reference_summary(records, reading)

    def test_budgets_of_every_kind_land_on_their_level_or_are_left_out(self) -> None:
        """Count records of ordinary and of odd budgets."""
        records = [_record(eps=budget, v=1) for budget in BUDGETS]
        found, expected = self.summary(records, PERSONAL)
        assert found.cells == expected.cells

    def test_whole_values_of_every_size_land_in_a_cell_that_contains_them(self) -> None:
        """Add up whole numbers from one end of 64 bits to the other."""
        records = [_record(eps=budget, v=v) for v in WHOLES for budget in (0.1, 1.0, NAN)]
        for low, high in ((-(2**63) + 1, 2**63 - 1), (0, 10**12), (5, 1024), (-9, -2)):
            found, expected = self.summary(records, PERSONAL, Measure("v", Fraction(1), low, high))
            assert found.cells == expected.cells

    def test_sums_beyond_64_bits_are_exact_in_either_direction(self) -> None:
        """Add up the ends of 64 bits several times over, for all records and for groups."""
        ends = [2**63 - 1] * 5 + [-(2**63) + 1] * 3 + [1]
        records = [_record(eps=1.0, v=v, job=job) for v in ends for job in ("clerk", "nurse")]
        engine = self.engine(records)
        measure = Measure("v", Fraction(1), -(2**63) + 1, 2**63 - 1)
        for keys in (None, ["nurse", "nobody", "clerk"]):
            grouping = read_grouping(["job"], keys, engine.schema) if keys else None
            reading = _reading(engine, measure, grouping)
            found = engine.summarise(reading)
            expected = [reference_summary(group, reading) for group in in_groups(records, grouping)]
            assert [summary.cells for summary in found] == [summary.cells for summary in expected]
            assert sum(cell.total for summary in found for cell in summary.cells) == 2 * sum(ends)

    def test_fractions_are_rounded_to_their_unit_and_moved_into_bounds(self) -> None:
        """Add up doubles, NaN and the infinities among them."""
        records = [_record(eps=0.5, x=x) for x in FRACTIONS]
        for unit in (Fraction(1, 100), Fraction(1), Fraction(5, 2)):
            measure = Measure("x", unit, -(10**9), 10**9)
            found, expected = self.summary(records, PERSONAL, measure)
            assert found.cells == expected.cells

    def test_a_filter_keeps_the_records_for_which_it_is_true(self) -> None:
        """Filter on text and numbers, with NULLs in both."""
        records = [_record(eps=0.5, v=v, job=job) for v in (None, 1, 50) for job in (None, "", "clerk")]
        for where in ("job = 'clerk'", "v > 10 OR job = ''", "NOT (v > 10)", "job IS NULL"):
            found, expected = self.summary(records, PERSONAL, where=where)
            assert found.cells == expected.cells

    def test_public_groups_hold_the_records_of_their_keys_and_no_others(self) -> None:
        """Group by text, numbers, bins and months, with NULL, NaN and moments at both ends of time."""
        records = [
            _record(eps=0.5, v=v, x=x, job=job, day=day)
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
            grouping = read_grouping(by, keys, engine.schema)
            reading = _reading(engine, VALUE, grouping)
            found = engine.summarise(reading)
            expected = [reference_summary(group, reading) for group in in_groups(records, grouping)]
            assert [summary.cells for summary in found] == [summary.cells for summary in expected], by
            assert any(summary.cells for summary in found), by

    def test_squares_and_finer_magnitudes_are_exact(self) -> None:
        """Add up squares from 0 to beyond 64 bits, in cells of 256 an octave."""
        records = [_record(eps=budget, v=v) for v in WHOLES for budget in (0.1, 1.0)]
        for per_octave in (8, 256):
            measure = Measure("v", Fraction(1), -(2**40), 2**40, per_octave, squares=True)
            found, expected = self.summary(records, PERSONAL, measure)
            assert found.cells == expected.cells

    def test_the_budgets_behind_each_value_add_up_exactly(self) -> None:
        """Count the values of every kind of column by what stands behind them, in groups and in all."""
        records = [
            _record(eps=budget, v=v, x=x, job=job, day=day)
            for budget in BUDGETS
            for v, x, job, day in zip(
                (1, 1, 2, None), (0.0, -0.0, NAN, 2.5), ("a", "b", "a", None), (*DAYS, None), strict=True
            )
        ]
        for column in ("v", "x", "job", "day"):
            engine = self.engine(records)
            for grouping in (None, read_grouping(["job"], ["a", "nobody"], engine.schema)):
                reading = _reading(engine, None, grouping)
                keys = KeyReading(reading.policy, reading.levels, column, None, grouping)
                expected = [reference_keys(group, reading, column) for group in in_groups(records, grouping)]
                assert list(engine.key_totals(keys)) == expected
                assert expected[0].keys

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
        for protect, measure, where, fold in cases:
            reading = _unit_reading(engine, protect, measure, where, None, fold)
            found = engine.fold_units(reading)
            assert found == reference_units(UNITS, reading), (protect, measure, where, fold)
            assert found[0].cells

    def test_what_units_add_to_several_groups_is_scaled_down_together(self) -> None:
        """Group the rows of units by columns that differ within a unit; look twice, as a mechanism does."""
        signed = Measure("v", Fraction(1), -(2**42), 2**42)
        engine = self.engine(UNITS)
        for protect, by, keys, measure, where in (
            ("job", [bins("v", [-(2**63), 0, 8, 2**63])], None, None, None),
            ("job", [bins("v", [-(2**63), 0, 8, 2**63])], None, signed, None),
            ("job", ["x"], [0.0, 2.5, 7], signed, "v < 5000"),
            ("x", ["job"], ["clerk", "nobody", "several"], None, "v > 5"),
        ):
            grouping = read_grouping(by, keys, engine.schema)
            reading = _unit_reading(engine, protect, measure, where, grouping)
            assert engine.fold_units(reading) == reference_units(UNITS, reading), (protect, by, where)
            count_rows = measure is None
            for caps in _caps(reading):
                found = engine.scale_units(reading, caps, count_rows=count_rows)
                expected = reference_scaled(UNITS, reading, caps, count_rows=count_rows)
                assert found == expected, (protect, by, where, caps)
                assert any(found) or not any(caps.by_level)

    def test_an_empty_table_has_no_cells(self) -> None:
        """Ask an empty table and one whose values are all NULL."""
        measure = Measure("v", Fraction(1), 0, 100)
        empty, _ = self.summary([], PERSONAL, measure)
        nothing, _ = self.summary([_record(eps=None)] * 3, PERSONAL, measure)
        assert len(empty.cells) == len(nothing.cells) == 0

    def test_one_key_promises_no_more_than_two(self) -> None:
        """Let the magnitude of the summed column tell the budget, and look at every record's."""
        values = [None, *range(70), *(10**k + d for k in range(2, 14) for d in (-1, 0, 1))]
        records = [_record(v=value) for value in values]
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


PERSONAL = Policy.column("eps", at_least="1/10", at_most="10")
VALUE = Measure("v", Fraction(1), 0, 10**12)


def _reading(engine: Engine, measure: Measure | None, groups: Grouping | None) -> Reading:
    policy = PERSONAL.within(engine.schema, {})
    return Reading(policy, policy.levels, {}, measure, None, groups)


def _unit_reading(  # noqa: PLR0917
    engine: Engine,
    protect: str,
    measure: Measure | None,
    where: str | None,
    groups: Grouping | None,
    fold: Fold = "sum",
) -> UnitReading:
    policy = PERSONAL.within(engine.schema, {})
    condition = check(parse(where), engine.schema, Kind.BOOLEAN, where) if where else None
    return UnitReading(policy, policy.levels, protect, measure, fold, condition, groups)


def _caps(reading: UnitReading) -> list[Caps]:
    """Return caps that rise with the level, from nothing to all that there can be."""
    levels, most = reading.levels, reading.folded.high
    rising = [levels.quanta(level) for level in range(levels.top + 1)]
    fine = 20 if most < 2**40 else 0
    return [
        Caps((0,) * len(rising)),
        Caps(tuple(min(most, quanta >> 19) for quanta in rising)),
        Caps(tuple(min(most << fine, quanta << 3) for quanta in rising), fine),
        Caps((most,) * len(rising)),
    ]


def _record(
    eps: float | None = None,
    v: int | None = None,
    x: float | None = None,
    job: str | None = None,
    day: datetime | None = None,
) -> Record:
    return {"eps": eps, "v": v, "x": x, "job": job, "day": day}


UNITS = [
    _record(eps=budget, v=v, x=x, job=job, day=day)
    for job, day, x, rows in (
        ("clerk", DAYS[0], 0.0, [(0.2, 7), (9.9, 2**63 - 1), (1.0, 2**63 - 1), (0.2, None)]),
        ("chef", DAYS[1], -0.0, [(0.1, 8), (1e300, -1), (INFINITY, 1025)]),
        ("Chef", DAYS[1], 2.5, [(1.0, -(2**63)), (1.0, -(2**63) + 1), (0.4, 9)]),
        ("null", DAYS[2], INFINITY, [(1.0, 50), (None, 3)]),
        ("nan", None, NAN, [(1.0, 50), (NAN, None)]),
        ("zero", DAYS[0], 7.0, [(0.0, 1), (1.0, 9)]),
        ("below", None, 8.0, [(1.0, 10), (0.0999, 10)]),
        ("lowest", None, 9.0, [(-INFINITY, 10), (1.0, 10)]),
        ("", None, 10.0, [(1.0, None), (2.0, None)]),
        (None, DAYS[2], None, [(1.0, 12), (9.9, 7)]),
        ("cancels", None, 11.0, [(0.4, 6), (0.4, -6)]),
        ("several", None, 0.0, [(0.4, 6)]),
        ("several", None, 2.5, [(0.2, 600), (0.3, -5)]),
        ("several", None, 7.0, [(0.9, 5000)]),
        ("clerk", DAYS[0], 2.5, [(5.0, 11), (5.0, 2**40)]),
    )
    for budget, v in rows
]
"""Rows of privacy units, told apart by job, day or x; several of them have an odd row."""
