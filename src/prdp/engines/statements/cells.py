"""Statements that return cells or rows, over computed columns too, and how columns become cells.

The statement is DuckDB's SQL. Each part is total: no row can make it fail.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, Places, exact_column, from_halves, numbered
from prdp.cells.groups import GroupRows, SummaryGroups, magnitude_keys, one_each
from prdp.cells.interval_columns import Intervals, bound_each
from prdp.cells.measure import Measure
from prdp.cells.summary import NO_VALUE, CellColumns, Summary, magnitudes
from prdp.declare.columns import computed_type
from prdp.declare.groups import Grouping
from prdp.engines.duckdb.column_types import fits_64_bits, whole_range
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.statements.groups import joined, key_columns
from prdp.expressions.intervals import Interval, bound, outcome
from prdp.expressions.nodes import Node, columns
from prdp.expressions.tokens import quoted
from prdp.levels import PER_OCTAVE, SLACK, Levels
from prdp.plan.reads import CellRead, KeyRead, RowRead, UnitRead
from prdp.policy import Policy
from prdp.schema import ColumnType, Kind, Schema

Reading = TypeVar("Reading", bound=CellRead | KeyRead | UnitRead)


@dataclass(slots=True)
class _Names:
    """Gives each expression a name that no column of the table has, in any capitals."""

    schema: Schema
    given: dict[Node, str] = field(default_factory=dict)

    def of(self, column: str, expression: Node | None) -> str:
        """Return the name of a column in statements."""
        if expression is None:
            return column
        if expression not in self.given:
            name = f"prdp_computed_{len(self.given)}"
            while name in {known.lower() for known in self.schema}:
                name += "_"
            self.given[expression] = name
        return self.given[expression]


def computed(
    reading: Reading, schema: Schema, records: str, kept: Collection[str] | None = None
) -> tuple[Reading, Schema, str]:
    """Return a read without computed columns, and the table that has them as columns of its own.

    Args:
        reading: The read.
        schema: The table's columns.
        records: The query or name of the table.
        kept: The columns that are still read beside them; by default, those that the read names.
    """
    names = _Names(schema)
    plain = _renamed(reading, names)
    if not names.given:
        return reading, schema, records
    names_kept = _needed(plain, schema) if kept is None else kept
    items = [quoted(name) for name in sorted(names_kept)]
    items += [f"{to_sql(node, schema)} AS {name}" for node, name in names.given.items()]
    wider = dict(schema) | {name: computed_type(node, schema) for node, name in names.given.items()}
    return plain, wider, f"(SELECT {', '.join(items)} FROM {records})"


def _renamed(reading: Reading, names: _Names) -> Reading:
    changed: dict[str, Any] = {}
    if reading.groups is not None:
        changed["groups"] = _groups(reading.groups, names)
    if isinstance(reading, KeyRead):
        changed |= {"column": names.of(reading.column, reading.expression), "expression": None}
    else:
        changed["measure"] = _measure(reading.measure, names)
    if isinstance(reading, UnitRead):
        changed["beside"] = tuple(_renamed(each, names) for each in reading.beside)
    return replace(reading, **changed)


def _measure(measure: Measure | None, names: _Names) -> Measure | None:
    if measure is None or measure.expression is None:
        return measure
    return replace(measure, column=names.of(measure.column, measure.expression), expression=None)


def _groups(groups: Grouping, names: _Names) -> Grouping:
    by = (replace(key, column=names.of(key.column, key.expression), expression=None) for key in groups.by)
    return replace(groups, by=tuple(by))


def _needed(reading: CellRead | KeyRead | UnitRead, schema: Schema) -> frozenset[str]:
    """Return the columns of the table that a read without computed columns names."""
    named: list[str] = [key.column for key in reading.groups.by] if reading.groups is not None else []
    if isinstance(reading, KeyRead):
        named.append(reading.column)
    elif reading.measure is not None:
        named.append(reading.measure.column)
    if isinstance(reading, UnitRead):
        named.append(reading.unit.id)
        named += (each.measure.column for each in reading.beside if each.measure is not None)
    nodes: Iterable[Node] = filter(None, (reading.policy.expression, reading.where))
    return frozenset(named).union(*map(columns, nodes)) & schema.keys()


_WIDEST = 2 ** (2 / PER_OCTAVE)
"""The most by which budgets inside one cell may differ: a magnitude step, and a step to spare."""


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """The budget of each magnitude of the policy's only column.

    Attributes:
        column: The column.
        ends: What its type can hold.
        low: The least value of a record that takes part; the statement skips records below, which the policy
            leaves out.
        high: The greatest one; likewise.
        codes: The magnitude codes of the public bounds: what lies beyond is moved to them.
        quanta: For each magnitude code that takes part, its budget in quanta.
        round_to: The value of one step of the column: always 1.
    """

    column: str
    ends: tuple[int, int]
    low: int
    high: int
    codes: tuple[int, int]
    quanta: Mapping[int, int] = field(repr=False)
    round_to: Fraction = Fraction(1)

    @classmethod
    def of(cls, reading: CellRead, schema: Schema) -> OwnColumn | None:
        """Return the shortcut for a reading, or None where it needs two keys."""
        column = _only_column(reading, schema)
        ends = whole_range(schema[column]) if column is not None else None
        if column is None or ends is None:
            return None
        codes = [code for code, _, _ in magnitudes(*map(int, reading.bounds[column]))]
        found = _budgets(reading.policy, reading.levels, column, *ends)
        return None if found is None else cls(column, ends, *found[0], (min(codes), max(codes)), found[1])

    @property
    def within(self) -> str:
        """The condition that a record's value is between the ends, or at least that there is one."""
        name = quoted(self.column)
        above, below = self.low > self.ends[0], self.high < self.ends[1]
        limits = [f"{name} >= {self.low}"] * above + [f"{name} <= {self.high}"] * below
        return " AND ".join(limits) or f"{name} IS NOT NULL"


@lru_cache(maxsize=64)
def _budgets(
    policy: Policy, levels: Levels, column: str, least: int, greatest: int
) -> tuple[tuple[int, int], Mapping[int, int]] | None:
    """Return between which values records take part, and the budget of each magnitude there.

    Or None where a magnitude has no budget of its own. Kept, because every question about a table needs it
    again.

    Args:
        policy: The policy.
        levels: The grid of budgets.
        column: Its only column.
        least: The least whole number that the column can hold.
        greatest: The greatest one.
    """
    ends = _taking_part(policy, levels, column, least, greatest)
    if ends is None or not _left_out(policy, levels, column, (least, ends[0] - 1), (ends[1] + 1, greatest)):
        return None
    cells, values, budgets = _cells(policy, column, *ends)
    taking_part = budgets.filled & (budgets.high >= levels.least)
    values, budgets, most = values.at(taking_part), budgets.at(taking_part), float(levels.at_most)
    wide = np.minimum(budgets.high, most) > np.minimum(budgets.low, most) * _WIDEST
    if ((budgets.low < levels.least) | wide).any():
        return None
    whole = Interval(float(ends[0]), float(ends[1]))
    if not outcome(policy.expression, {column: whole}).total and not all(
        outcome(policy.expression, {column: one}).total for one in values.single()
    ):
        return None
    codes = [code for (code, _, _), some in zip(cells, taking_part.tolist(), strict=True) if some]
    quanta = zip(codes, levels.quanta_below_each(budgets.low.tolist()), strict=True)
    return ends, {code: budget for code, budget in quanta if budget}


def _cells(
    policy: Policy, column: str, low: int, high: int
) -> tuple[Sequence[tuple[int, int, int]], Intervals, Intervals]:
    """Return the magnitudes between two values: codes and ends, the doubles in them, and their budgets.

    Doubles beyond 2^53 are those that whole numbers are rounded to, which keeps their order.
    """
    cells = magnitudes(low, high)
    values = Intervals.of([Interval(float(first), float(last)) for _, first, last in cells])
    return cells, values, bound_each(policy.expression, {column: values}, len(cells))


def _taking_part(
    policy: Policy, levels: Levels, column: str, least: int, greatest: int
) -> tuple[int, int] | None:
    """Return the outermost values that have budgets, as far as single values can tell; None without any.

    Between magnitudes of which all records take part and those of which none does, a search finds the end.
    Whether there are others beyond, or gaps between, is not looked at here.
    """

    def takes_part(value: int) -> bool:
        budget = bound(policy.expression, {column: Interval(float(value), float(value))})
        return not budget.empty and budget.low >= levels.least

    cells, _, budgets = _cells(policy, column, least, greatest)
    sure = np.flatnonzero(budgets.filled & (budgets.low >= levels.least)).tolist()
    if not sure:
        return None
    low, high = min(cells[place][1] for place in sure), max(cells[place][2] for place in sure)
    return _farthest(takes_part, low, least), _farthest(takes_part, high, greatest)


def _farthest(holds: Callable[[int], bool], inside: int, outside: int) -> int:
    """Return the last number on the way from one for which a claim holds to another up to which it may."""
    if holds(outside):
        return outside
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def _only_column(reading: CellRead, schema: Schema) -> str | None:
    """Return the column that the policy reads, if it is the only one and fits."""
    if len(reading.policy.columns) != 1:
        return None
    (column,) = reading.policy.columns
    measure = reading.measure
    if measure is not None and (measure.column, measure.round_to, measure.per_octave) != (
        column,
        Fraction(1),
        PER_OCTAVE,
    ):
        return None
    if not fits_64_bits(schema[column]) or column not in reading.bounds:
        return None
    if any(end.denominator != 1 or abs(end) >= 2**63 for end in reading.bounds[column]):
        return None
    return column


def _left_out(policy: Policy, levels: Levels, column: str, *ranges: tuple[int, int]) -> bool:
    """Return whether the policy provably leaves out every record with a value in some ranges.

    Rounding to doubles keeps the order of whole numbers, so their doubles are between those of the ends.
    """
    budgets = (
        bound(policy.expression, {column: Interval(float(low), float(high))})
        for low, high in ranges
        if low <= high
    )
    return all(one.empty or one.high < levels.least for one in budgets)


Arrays = dict[str, NDArray[Any]]
"""The columns of a statement, by name; masked where there is NULL."""

_SUMS = ("total", "squares")


def _sums(measure: Measure) -> tuple[str, ...]:
    """Return the names of what is added up in each cell."""
    return _SUMS[: measure.totals + measure.squares]


@dataclass(frozen=True, slots=True)
class CellStatement:
    """SQL that groups records into cells, and the reading of its columns.

    The columns are grp, level, code (of the magnitude), n, and the halves of total and squares: without the
    group where there is one only, without the level where ``own`` derives the budget from the magnitude,
    without magnitude and total where nothing is measured, and without sums that nobody looks at.

    Attributes:
        sql: The statement; of many groups, of the first of them.
        reading: The read.
        own: The shortcut that it takes, if any.
        later: Statements of the other groups, each of so many as are read at once.
    """

    sql: str
    reading: CellRead
    own: OwnColumn | None
    later: tuple[str, ...] = ()

    def read(self, run: Callable[[str], Arrays]) -> Sequence[Summary]:
        """Return the cells of each group that an engine finds."""
        if not self.later:
            return self.summaries(run(self.sql))
        parts = [_whole_sums(run(sql)) for sql in (self.sql, *self.later)]
        return self.summaries({name: _stacked([part.pop(name) for part in parts]) for name in [*parts[0]]})

    def summaries(self, found: Arrays) -> Sequence[Summary]:
        """Return the cells of each group that the statement's columns describe."""
        reading, measure = self.reading, self.reading.measure
        if reading.groups is not None:
            return self._by_group(found, len(reading.groups.keys))
        quanta, valid = self._budgets(found)
        if measure is None:
            cells = CellColumns.counting(quanta, filled(found["n"], 0))
        else:
            count = filled(found["n"], 0)
            sums = [count, *(wide(found, name) for name in _sums(measure))]
            sums += [] if measure.totals else [np.zeros_like(count)]
            code = filled(found["code"], NO_VALUE)
            if self.own is not None:
                code = np.clip(code, *self.own.codes)
            cells = CellColumns.coded(
                quanta, code, sums, largest=reading.largest, per_octave=measure.per_octave
            )
        whole = cells.where(valid).added_up()
        return (Summary(reading.levels, reading.smallest, reading.largest, whole),)

    def _by_group(self, found: Arrays, groups: int) -> SummaryGroups:
        """Return the cells of many groups; what cells have in common is looked up once for each kind."""
        reading, measure = self.reading, self.reading.measure
        count = filled(found["n"], 0)
        rows = GroupRows(np.ma.filled(found["grp"], -1), count, count)
        if measure is None:
            keys, rows.key = one_each(1), np.zeros(len(count), np.int32)
        else:
            code = np.ma.filled(found["code"], NO_VALUE)
            codes, rows.key = numbered(code if self.own is None else np.clip(code, *self.own.codes))
            keys = magnitude_keys(codes, largest=reading.largest, per_octave=measure.per_octave)
            rows.total = wide(found, "total") if measure.totals else None
            rows.squares = wide(found, "squares") if measure.squares else None
            del code
        budgets, rows.budget = self._numbered_budgets(found)
        del count
        found.clear()
        taking_part = (budgets != 0)[rows.budget]
        if not taking_part.all():
            rows.keep(taking_part)
        empty = Summary.of(reading.levels, reading.smallest, reading.largest, ())
        return SummaryGroups.crossed(empty, rows, budgets, keys, groups)

    def _numbered_budgets(self, found: Arrays) -> tuple[Column, Places]:
        """Return the budgets that there are, in quanta, and the number of each row's; 0 is left out."""
        if self.own is None:
            levels = self.reading.levels
            quanta = (levels.quanta(step) for step in range(levels.top + 1))
            return exact_column((0, *quanta)), np.ma.filled(found["level"], -1) + np.int16(1)
        codes, number = numbered(np.ma.filled(found["code"], 0))
        return exact_column(self.own.quanta.get(code, 0) for code in codes.tolist()), number

    def _budgets(self, found: Arrays) -> tuple[Column, NDArray[np.bool_]]:
        """Return each row's budget in quanta, and whether its records take part; else it is any."""
        if self.own is None:
            return level_quanta(self.reading.levels, found["level"])
        codes, which = np.unique(filled(found["code"], 0), return_inverse=True)
        budgets = exact_column(self.own.quanta.get(code, 0) for code in codes.tolist())
        return budgets[which], budgets[which] != 0


def level_quanta(levels: Levels, level: NDArray[Any]) -> tuple[Column, NDArray[np.bool_]]:
    """Return the quanta of a column of levels, and where it is not NULL; there, they are any."""
    place = filled(level, -1)
    quanta = exact_column(levels.quanta(step) for step in range(levels.top + 1))
    return quanta[place], place >= 0


def filled(column: NDArray[Any], instead: int) -> Column:
    """Return a column of at most 64 bits as a ``Column``, with a number instead of NULL."""
    return np.ma.filled(column.astype(np.int64, copy=False), instead)


def _whole_sums(found: Arrays) -> Arrays:
    """Return columns with each sum in one instead of two halves, which take less memory."""
    whole = {name: wide(found, name) for name in _SUMS if f"{name}_high" in found}
    halved = {f"{name}_{half}" for name in whole for half in ("high", "low")}
    return {name: column for name, column in found.items() if name not in halved} | whole


def _stacked(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return columns one below the other; masked where one of them is."""
    whole = np.concatenate([np.ma.getdata(part) for part in parts])
    if not any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return whole
    return np.ma.MaskedArray(whole, np.concatenate([np.ma.getmaskarray(part) for part in parts]))


def wide(found: Arrays, name: str) -> Column:
    """Return a column that ``halves`` wrote, exactly; 0 for NULL."""
    if name in found:
        return found[name]
    return from_halves(filled(found[f"{name}_high"], 0), np.ma.filled(found[f"{name}_low"], 0))


def halves(name: str) -> str:
    """Return select items for a HUGEINT column: its signed upper and its unsigned lower 64 bits.

    As one column it would become doubles on its way out.
    """
    whole = f"CAST({name} AS HUGEINT)"
    return (
        f"CAST({whole} >> 64 AS BIGINT) AS {name}_high, CAST({whole} & {2**64 - 1} AS UBIGINT) AS {name}_low"
    )


def by_group(
    cells: CellColumns, found: Arrays, valid: NDArray[np.bool_], groups: Grouping | None
) -> tuple[CellColumns, ...]:
    """Return each group's cells of the valid rows, side by side; all of them where there is one group."""
    if groups is None:
        return (cells.where(valid).added_up(),)
    return cells.where(valid).split(filled(found["grp"], -1)[valid], len(groups.keys))


def plan_statement(reading: CellRead, schema: Schema) -> None:
    """Work out what the statement of a reading takes from the policy and keep it."""
    if not reading.by_level:
        OwnColumn.of(*computed(reading, schema, "")[:2])


def statement(
    reading: CellRead,
    schema: Schema,
    records: str,
    *,
    own_column: bool = True,
    at_once: int | None = None,
) -> CellStatement:
    """Write the statement for a reading: with one key where the policy allows it, else with two.

    Args:
        reading: The read.
        schema: The table's columns.
        records: The name under which the statement finds the table.
        own_column: Whether the form with one key may be used.
        at_once: Of how many groups one statement may be about; None for any number.
    """
    asked = reading
    reading, schema, records = computed(reading, schema, records)
    own = OwnColumn.of(reading, schema) if own_column and not reading.by_level else None
    condition = to_sql(reading.where, schema) if reading.where is not None else None
    measure = reading.measure
    added = "value"
    if own:
        column, within = quoted(own.column), own.within
        inner = grouped_records(
            [f"{column} AS value"],
            records,
            f"{within} AND ({condition})" if condition else within,
            reading.groups,
            schema,
        )
        keys = {"code": code_sql(Measure(own.column, own.round_to, own.low, own.high), "value")}
        if measure and (own.low, own.high) != (measure.low, measure.high):
            added = f"{_moved_into_bounds('value', measure)} AS value"
    else:
        items = [f"{to_sql(reading.policy.expression, schema)} AS budget"]
        if measure:
            items.append(f"{measured(measure, schema)} AS value")
        inner = grouped_records(items, records, condition, reading.groups, schema)
        return replace(cells_of(reading, inner, at_once), reading=asked)
    first, *later = _grouped(keys, inner, reading, added, at_once)
    return CellStatement(first, asked, own, tuple(later))


def cells_of(reading: CellRead, inner: str, at_once: int | None = None) -> CellStatement:
    """Write the statement for the records of a FROM clause, whose columns are budget, value and grp."""
    keys = {"level": level_sql(reading.levels)}
    if reading.measure:
        keys["code"] = code_sql(reading.measure, "value")
    first, *later = _grouped(keys, inner, reading, "value", at_once)
    return CellStatement(first, reading, None, tuple(later))


def grouped_records(
    items: Sequence[str], records: str, condition: str | None, groups: Grouping | None, schema: Schema
) -> str:
    """Return a FROM clause of the records that take part: these columns and, if asked for, their group."""
    columns = [*items, *(key_columns(groups, schema) if groups else ())]
    where = f" WHERE {condition}" if condition else ""
    chosen = f"(SELECT {', '.join(columns)} FROM {records}{where})"
    return joined(chosen, groups, schema) if groups else chosen


def _grouped(
    keys: Mapping[str, str], inner: str, reading: CellRead, added: str, at_once: int | None
) -> list[str]:
    """Return the statements that count and add up by the group and the keys, of so many groups at once."""
    groups = len(reading.groups.keys) if reading.groups else 0
    if at_once is None or groups <= at_once:
        return [_grouped_where("", keys, inner, reading, added)]
    each_time = -(-groups // -(-groups // at_once))  # about as many every time
    firsts = range(0, groups, each_time)
    each = [f" WHERE grp BETWEEN {first} AND {first + each_time - 1}" for first in firsts]
    return [_grouped_where(where, keys, inner, reading, added) for where in each]


def _grouped_where(where: str, keys: Mapping[str, str], inner: str, reading: CellRead, added: str) -> str:
    names = [*(["grp"] if reading.groups else []), *keys]
    columns = [*(["grp"] if reading.groups else []), *(f"{sql} AS {name}" for name, sql in keys.items())]
    totals = ["count(*) AS n"]
    if reading.measure and reading.measure.totals:
        columns.append(added)
        totals.append("sum(value) AS total")
        if reading.measure.squares:
            wide = f"CAST(value AS {'BIGINT' if reading.measure.largest < 2**31 else 'HUGEINT'})"
            totals.append(f"sum({wide} * {wide}) AS squares")
    key_list = ", ".join(names)
    sums = ["n", *map(halves, _SUMS[: len(totals) - 1])]
    return (
        f"SELECT {key_list}, {', '.join(sums)} FROM (SELECT {key_list}, {', '.join(totals)} "
        f"FROM (SELECT {', '.join(columns)} FROM {inner}{where}) GROUP BY {key_list})"
    )


def level_sql(levels: Levels) -> str:
    """Return the level of the column ``budget``, a number or NULL; NULL where the record is left out.

    A condition in the CASE, not in a WHERE: DuckDB would compute the budget once for each.
    """
    steps = f"floor({PER_OCTAVE} * log2(budget / {float(levels.at_least)!r}) - {SLACK!r})"
    return (
        "CASE WHEN isnan(budget) THEN NULL "
        f"WHEN budget >= {float(levels.at_most)!r} THEN CAST({levels.top} AS SMALLINT) "
        f"WHEN budget >= {levels.least!r} THEN CAST(greatest(0, {steps}) AS SMALLINT) END"
    )


def code_sql(measure: Measure, value: str) -> str:
    """Return the magnitude code of a whole number within the measure's bounds; NULL for NULL."""
    above = _step_code(value, measure.per_octave)
    if measure.low > 0:
        return above
    zero_or_more = f"CASE WHEN {value} > 0 THEN {above}"
    if measure.low == 0:
        return f"{zero_or_more} WHEN {value} = 0 THEN 0 END"
    below = f"-{_step_code(f'-CAST({value} AS DOUBLE)', measure.per_octave)}"
    return f"{zero_or_more} WHEN {value} < 0 THEN {below} WHEN {value} = 0 THEN 0 END"


def _step_code(magnitude: str, per_octave: int) -> str:
    return f"CAST(floor({per_octave} * log2({magnitude}) - {SLACK!r}) + 2 AS SMALLINT)"


def measured(measure: Measure, schema: Schema) -> str:
    """Return a column's value in whole rounding steps, moved into its bounds; NULL where it has none."""
    column = schema[measure.column]
    name = quoted(measure.column)
    if column.integer and measure.round_to == 1:
        return _whole(name, measure, column)
    factor = 1 / measure.round_to  # divided as in ``row_sql.numbers``
    scaled = f"CAST(CAST({name} AS DOUBLE) * {float(factor.numerator)!r} AS DOUBLE)"
    scaled = f"CAST({scaled} / {float(factor.denominator)!r} AS DOUBLE)"
    return (
        f"CASE WHEN {name} IS NULL OR isnan(CAST({name} AS DOUBLE)) THEN NULL "
        f"WHEN {scaled} <= {measure.low} THEN {measure.low} "
        f"WHEN {scaled} >= {measure.high} THEN {measure.high} "
        f"ELSE TRY_CAST(round_even({scaled}, 0) AS BIGINT) END"
    )


def _whole(name: str, measure: Measure, column: ColumnType) -> str:
    if fits_64_bits(column):
        return _moved_into_bounds(name, measure)
    narrow = f"TRY_CAST({name} AS BIGINT)"
    return (
        f"CASE WHEN {narrow} IS NOT NULL THEN {_moved_into_bounds(narrow, measure)} "
        f"WHEN {name} > 0 THEN {measure.high} WHEN {name} < 0 THEN {measure.low} END"
    )


def _moved_into_bounds(whole: str, measure: Measure) -> str:
    return (
        f"CASE WHEN {whole} < {measure.low} THEN {measure.low} "
        f"WHEN {whole} > {measure.high} THEN {measure.high} ELSE CAST({whole} AS BIGINT) END"
    )


LEVEL = "prdp_level"


def rows_statement(reading: RowRead, schema: Schema, records: str) -> str:
    """Write the statement: the columns, and last the level of each row."""
    names = [f"column{place}" for place in range(len(reading.columns))]
    named = list(zip(reading.columns, names, strict=True))
    items = [f"{item_sql(column, schema)} AS {name}" for column, name in named]
    condition = f" WHERE {to_sql(reading.where, schema)}" if reading.where is not None else ""
    budget = to_sql(reading.policy.expression, schema)
    inner = f"SELECT {', '.join([*items, f'{budget} AS budget'])} FROM {records}{condition}"
    leveled = f"SELECT {', '.join([*names, f'{level_sql(reading.levels)} AS level'])} FROM ({inner})"
    shown = [f"{name} AS {quoted(column)}" for column, name in named]
    return (
        f"SELECT {', '.join([*shown, f'level AS {LEVEL}'])} FROM ({leveled}) WHERE level >= {reading.least}"
    )


def item_sql(column: str, schema: Schema) -> str:
    """Return a column as it is handed out: an ENUM as text, since its list may name values of other rows."""
    plain = schema[column].kind is not Kind.TEXT or schema[column].native == "VARCHAR"
    return quoted(column) if plain else f"CAST({quoted(column)} AS VARCHAR)"
