"""The contract of engines, as tests: subclass ``EngineContract``, and say how to open and lose a table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from itertools import product, zip_longest

import numpy as np

from prdp.cells.measure import Measure
from prdp.cells.summary import Summary, magnitude_key
from prdp.cells.units import Fold
from prdp.declare.columns import column_of, read_column
from prdp.declare.groups import Grouping, bins, date_trunc, read_grouping
from prdp.declare.units import PrivacyUnit
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest, PrdpError
from prdp.expressions.tokens import is_writable
from prdp.ledger import MemoryLedger
from prdp.plan.reads import CellRead, KeyRead, RowRead, UnitRead
from prdp.policy import Policy
from prdp.tables.table import open as open_table
from prdp.testing.divided_contract import DividedContract, read_condition
from prdp.testing.engine_records import (
    BUDGETS,
    DAYS,
    FRACTIONS,
    INFINITY,
    NAN,
    ONE_ROW_PER_UNIT,
    UNITS,
    WHOLES,
    Brevity,
    record_of,
)
from prdp.testing.key_contract import KeyContract
from prdp.testing.reference import (
    Record,
    in_groups,
    magnitude_code,
    reference_keys,
    reference_rows,
    reference_scaled,
    reference_summary,
    reference_tops,
    reference_units,
    rising_caps,
)

PERSONAL = Policy.column("eps", at_least="1/10", at_most="10")
VALUE = Measure("v", Fraction(1), 0, 10**12)


class UnitContract(Brevity):
    """Tests that an engine's units are those of the plain Python reference."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Open a table: ``eps`` and ``x`` (double), ``v`` (64-bit), ``job`` (text), ``day`` (timestamp)."""
        raise NotImplementedError

    def test_units_are_folded_from_all_their_rows(self) -> None:
        """Group units by text, numbers with NaN, and datetimes; odd rows and filtered ones among them."""
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
            plain = unit_reading(engine, privacy_unit, measure, where, grouping)
            for reading in (plain, replace(plain, euclidean=True)):
                asked = privacy_unit, by, where, reading.euclidean
                assert engine.fold_units(reading) == reference_units(UNITS, reading), asked
                count_rows = measure is None
                for caps in self.some(rising_caps(reading), 2):
                    found = engine.scale_units(reading, caps, count_rows=count_rows)
                    expected = reference_scaled(UNITS, reading, caps, count_rows=count_rows)
                    assert found == expected, (*asked, caps)
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
    """Return the read of units that an engine is asked for."""
    policy = PERSONAL.within(engine.schema, {})
    return UnitRead(
        policy, policy.levels, PrivacyUnit(privacy_unit), measure, fold, read_condition(engine, where), groups
    )


_TEXTS = [
    *("", "a", "A", "abc", "  a ", "\u00a0x\u3000", "\ta\n", "é", "e\u0301", "ß", "ẞ", "İ", "ı", "ΟΔΟΣ", "ς"),
    *("ǅ", "ﬁ", "\U0001f600b", "a\0b", "%", "100%", "a_c", "a\\c", "a\nc", "it's", "Team Manager", "\u212a"),
    *("5", " -0 ", "+.5e3", "1e400", "1_000", "inf", "0x10", "5.", "٣", "2.5", "2147483648", "true"),
    *("2020-02-29", "2021-02-29", "2020-01-31T10:00", " 2020-01-31 10:00:00.5 ", "0000-01-01", "0001-01-01"),
    *("9999-12-31 23:59:59.999999", "10000-01-01", "2020-01-31 24:00", "infinity"),
]
_NUMBERS = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 2.0**52 - 0.5, 2.0**53, 2.0**63),
    *(-(2.0**63), 2.0**31 - 0.5, 2.0**31, -(2.0**31) - 0.5, 1e16, 1e300, 5e-324, INFINITY, -INFINITY, NAN),
    *(1.005, 1.45, -7.25, 0.1, 3.0, -3.0, 1250.0, 1.7976931348623157e308),
]
_MOMENTS = [
    *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(2020, 2, 29, 12)),
    *(datetime(2020, 1, 31), datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)),
    *(datetime(2021, 1, 3, 10, 11, 12, 500000), datetime(2024, 12, 30), datetime(1900, 3, 1)),
]


def _records() -> list[Record]:
    """Return records that a sum of ``v`` tells apart: each has a power of two of its own, one has zero."""
    rows = zip_longest(_TEXTS, _NUMBERS, _MOMENTS)
    shown = [(text, number, moment) for text, number, moment in rows]
    mixed = [("abc", None, _MOMENTS[2]), (None, 2.5, None), (None, None, None), ("a", -2.5, _MOMENTS[5])]
    return [
        record_of(eps=0.5, v=0, x=2.5, job="a", day=None),
        *(
            record_of(eps=0.5, v=2**place, x=x, job=job, day=day)
            for place, (job, x, day) in enumerate([*shown, *mixed])
        ),
    ]


ROW_RECORDS = _records()
"""Texts, numbers and moments at which databases and Python differ."""

ROW_EXPRESSIONS = [
    *("job LIKE 'a%'", "job LIKE '%a'", "job LIKE '%a%'", "job LIKE '_'", "job LIKE 'a_c'", "job LIKE '%'"),
    *("job LIKE 'a!_c' ESCAPE '!'", "job LIKE '%!%%' ESCAPE '!'", "job LIKE ''"),
    *(r"job LIKE 'a\_c'", r"job LIKE 'a\\c' ESCAPE '\'", "job LIKE '%a%_%'", "job LIKE '%.%'"),
    *("job ILIKE '%MAN_ger%'", "job ILIKE 'K'", "job ILIKE 'i'", "job NOT LIKE '%a%'", "job LIKE '__'"),
    *("lower(job)", "upper(job)", "lower(job) = 'a'", "upper(lower(job))", "length(job)", "trim(job)"),
    *("ltrim(job)", "rtrim(job)", "trim(job, 'a ')", "ltrim(job, 'é')", "job || '-' || upper(job)"),
    *("substring(job, 2)", "substring(job, 2, 2)", "substring(job, -2)", "substring(job, -3, 2)"),
    *("substring(job, 0, 2)", "substring(job, x)", "substring(job, 1, x)", "left(job, 2)", "right(job, 1)"),
    *("starts_with(job, 'a')", "ends_with(job, 'c')", "contains(job, 'b')", "contains(job, '')"),
    *("coalesce(x, 7)", "coalesce(job, 'none')", "coalesce(day, DATE '2000-01-01')", "nullif(x, 1)"),
    *("nullif(job, 'a')", "coalesce(sqrt(x), -1)", "coalesce(x > 1, FALSE)"),
    *("round(x)", "round(x, 2)", "round(x, 1)", "round(x, -2)", "floor(x)", "ceil(x)", "sign(x)", "sign(-x)"),
    *("x % 2", "x % -2", "7 % x", "x % v", "v % 7", "floor(v / 3)", "mod(x, 0.5)"),
    *("coalesce(sign(power(2, x)), -7)", "coalesce(sign(power(0.5, x)), -7)", "coalesce(sign(0 % x), -7)"),
    *("coalesce(sign(power(x, 3)), -7)", "coalesce(sign(power(abs(x), x)), -7)", "coalesce(power(1, x), -7)"),
    *("1 / v * 0.5", "1 / v * (1 / v)", "x * (1 / v)", "(1 / v) / (2 / v)", "1 / v - 2 / v", "x / (1 / v)"),
    *("CAST(job AS DOUBLE)", "CAST(job AS INTEGER)", "CAST(job AS BIGINT)", "CAST(x AS INTEGER)"),
    *("CAST(x AS BIGINT)", "CAST(x AS VARCHAR)", "CAST(v AS VARCHAR)", "CAST(-x AS VARCHAR)"),
    *("CAST(day AS VARCHAR)", "CAST(x > 0 AS VARCHAR)", "CAST(x > 0 AS INTEGER)", "CAST(job AS DATE)"),
    *("TRY_CAST(job AS TIMESTAMP)", "CAST(day AS DATE)", "CAST(CAST(x AS VARCHAR) AS DOUBLE)"),
    *("extract(year FROM day)", "quarter(day)", "month(day)", "week(day)", "day(day)", "dayofweek(day)"),
    *("isodow(day)", "dayofyear(day)", "hour(day)", "minute(day)", "second(day)", "date_part('dow', day)"),
    *(f"date_trunc('{unit}', day)" for unit in ("year", "quarter", "month", "week", "day", "hour", "second")),
    *(
        f"date_diff('{unit}', DATE '1969-12-31', day)"
        for unit in ("year", "quarter", "month", "day", "hour", "minute", "second")
    ),
    *("day - DATE '2000-01-01'", "DATE '2020-02-29' - day", "day + INTERVAL '1 month'"),
    *("day - INTERVAL '13 months'", "day + INTERVAL '1 year'", "day + INTERVAL 90 DAY"),
    *("day - INTERVAL '36 hours'", "day - INTERVAL '1' SECOND"),
    *("(x > 0) IS TRUE", "(x > 0) IS FALSE", "(x > 0) IS NOT TRUE", "(job LIKE 'a%') IS NOT FALSE"),
    *(
        "CASE job WHEN 'a' THEN 'b' ELSE lower(job) END",
        "CASE WHEN job ILIKE '%a%' THEN length(job) ELSE x END",
        "CASE WHEN (x > 0) IS TRUE THEN x WHEN (job = 'a') IS TRUE THEN 3 ELSE length(job) END",
    ),
    *("lower(coalesce(job, 'NONE'))", "length(job) IN (1, 2)", "upper(job) IN ('A', 'ABC')"),
    *("year(day) BETWEEN 1970 AND 2020", "x BETWEEN -1 AND 2.5", "day >= TIMESTAMP '2020-01-31 00:00:00'"),
]
"""One or more of every function, operator and cast."""


_LARGEST_KEY = 1e30


class RowContract(Brevity):
    """Tests that every function gives for every record what the reference gives."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Open a table: ``eps`` and ``x`` (double), ``v`` (64-bit), ``job`` (text), ``day`` (timestamp)."""
        raise NotImplementedError

    def row_records(self) -> Sequence[Record]:
        """Return the records that functions are tried on; an engine leaves out what it cannot hold."""
        return ROW_RECORDS

    def refuses(self, engine: Engine, reading: CellRead, text: str) -> bool:  # noqa: ARG002
        """Return whether an engine does not support an expression, and so refuses it; ours refuse none."""
        return False

    def test_a_quotient_is_never_rounded_up_to_a_level(self) -> None:
        """Divide so that budgets lie just below levels and just above: with four digits, some would rise."""
        text = Policy("10000 / v", at_least="1/10", at_most=10)
        near = (int(10**5 / 2 ** (level / 8)) + step for level in range(54) for step in (0, 1))
        values = sorted(set(near))
        engine = self.engine([record_of(v=value) for value in values])
        policy = text.within(engine.schema, {})
        keys = read_grouping(["v"], values, engine.schema)
        levels = policy.levels
        for value, found in zip(
            values, engine.summarise(CellRead(policy, levels, {}, None, None, keys)), strict=True
        ):
            index = levels.index(policy.budget({"v": value}))
            promised = {cell.key.quanta for cell in found.cells}
            assert all(quanta * levels.quantum <= Fraction(10**4, value) for quanta in promised), value
            assert promised <= {
                levels.quanta(place) for place in (index or 0, (index or 0) - 1) if place >= 0
            }
            assert promised or not index, value

    def test_every_function_gives_for_every_record_what_the_reference_gives(self) -> None:
        """Group by each expression, its values being the keys; the sum tells which records are in which."""
        records = self.row_records()
        engine = self.engine(records)
        policy = Policy.column("eps", at_least="1/10", at_most="10").within(engine.schema, {})
        for text in self.some(ROW_EXPRESSIONS, 6):  # a record that is in no group has no value
            read = read_column(text, engine.schema, "group_by")
            values = [column_of(record, read.name, read.expression) for record in records]
            keys = [*dict.fromkeys(value for value in values if _can_be_a_key(value))]
            grouping = read_grouping([text], keys, engine.schema)
            measure = Measure("v", Fraction(1), 0, 2**62)
            reading = CellRead(policy, policy.levels, {}, measure, None, grouping)
            if self.refuses(engine, reading, text):
                continue
            found = engine.summarise(reading)
            expected = [reference_summary(group, reading) for group in in_groups(records, grouping)]
            assert [one.cells for one in found] == [one.cells for one in expected], text
            assert all(one.cells for one in expected), text


def _can_be_a_key(value: object) -> bool:
    """Return whether a group can have this key: no NULL, nothing huge, and nothing that cannot be written."""
    if isinstance(value, str):
        return is_writable(value)
    return value is not None and not (isinstance(value, float) and abs(value) > _LARGEST_KEY)


__all__ = ["PERSONAL", "VALUE", "EngineContract"]


class EngineContract(RowContract, KeyContract, UnitContract, DividedContract):
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
        """Return the engine's result, and the expected one."""
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
        """Count the values of every kind of column by the budgets of their records, in groups and in all."""
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
