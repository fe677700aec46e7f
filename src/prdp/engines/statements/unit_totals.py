"""Fold the rows of each unit into one contribution; no row can make the statements fail.

Or divide its budget equally among what counts of it: its rows, its groups or its different keys.
What counts and how many there are come from one read, by a window: a statement that joins rows with their
units' numbers would read the source twice, and what was written in between could make a part too large.

Statements are the same for a table and for a join: what differs is where rows come from (``unit_rows.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column
from prdp.cells.measure import Measure
from prdp.cells.summary import NO_VALUE, CellColumns, Summary
from prdp.cells.units import LONGEST, Caps, Look
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.statements.cells import (
    LEVEL,
    Arrays,
    CellStatement,
    cells_of,
    code_sql,
    filled,
    halves,
    item_sql,
    level_quanta,
    level_sql,
    measured,
    wide,
)
from prdp.engines.statements.keys import (
    HeldKeyStatement,
    TopStatement,
    held_keys_of,
    leveled_of,
    tops_of,
)
from prdp.engines.statements.unit_rows import (
    WHOSE_BUDGET,
    distinguished,
    each_read,
    id_sql,
    level_or_invalid,
    results_of_join,
    rows_of_join,
    rows_of_table,
)
from prdp.expressions.tokens import quoted
from prdp.plan.divided import DividedRead, DividedRowRead
from prdp.plan.reads import CellRead, KeyRead, TopRead, UnitRead
from prdp.schema import Schema

_TOTALS, _ROWS = 0, 1
_LISTED = "FILTER (WHERE grp IS NOT NULL)"
_FITS = 1 << 62


@dataclass(frozen=True, slots=True)
class UnitStatement:
    """SQL that groups units into cells; its columns are part, level, code (of the magnitude), n and total.

    Where units are in one group at most, there is the group as well. Reads beside have parts of their own.
    """

    sql: str
    reading: UnitRead

    @classmethod
    def of(cls, reading: UnitRead, rows: str) -> UnitStatement:
        """Write the statement: rows to units, what a unit adds moved into public bounds, units to cells.

        Args:
            reading: Which units, and what is made of their rows.
            rows: The query for their rows.
        """
        return cls(f"{_with_units(reading, rows)} {cls._cells(reading)}", reading)

    @classmethod
    def of_held(cls, reading: UnitRead, held: str) -> UnitStatement:
        """Write the statement for units that are in a table already, as ``folded_units`` finds them."""
        return cls(f"WITH units AS (SELECT * FROM {held} WHERE level >= 0) {cls._cells(reading)}", reading)

    @staticmethod
    def _cells(reading: UnitRead) -> str:
        """Return the query that puts the table ``units`` into cells."""
        group = "grp, " if reading.apart else ""
        placed = " UNION ALL ".join(
            f"SELECT {part} AS part, {group}level, {code_sql(measure, 'added')} AS code, added "
            f"FROM (SELECT {group}level, {_moved(column, measure.low, measure.high)} AS added "
            f"FROM units WHERE {counted} > 0)"
            for part, column, counted, measure in _placed(reading)
        )
        keys = f"part, {group}level, code"
        summed = f"SELECT {keys}, count(*) AS n, sum(added) AS total"
        return f"SELECT {keys}, n, {halves('total')} FROM ({summed} FROM ({placed}) GROUP BY {keys})"

    def summaries(self, found: Arrays) -> tuple[tuple[Summary, Summary], ...]:
        """Return the cells of what units contribute and of how many rows: of all, or of each group."""
        levels, reading = self.reading.levels, self.reading
        quanta, _ = level_quanta(levels, found["level"])
        columns = quanta, filled(found["code"], NO_VALUE), filled(found["n"], 0), wide(found, "total")
        apart = reading.groups if reading.apart else None
        group = filled(found["grp"], -1) if apart else np.zeros(len(quanta), dtype=np.int64)
        parts = {
            part: [
                Summary(levels, measure.smallest, measure.largest, one)
                for one in _coded(columns, found["part"] == part, measure).split(
                    group[found["part"] == part], len(apart.keys) if apart else 1
                )
            ]
            for part, _, _, measure in _placed(reading)
        }
        return tuple(
            pair
            for place in range(1 + len(reading.beside))
            for counts in [parts[2 * place + _ROWS]]
            for pair in zip(parts.get(2 * place + _TOTALS, counts), counts, strict=True)
        )


def _coded(columns: Sequence[Column], chosen: NDArray[np.bool_], measure: Measure) -> CellColumns:
    """Return the cells of one part of the statement's rows."""
    budgets, code, *sums = (column[chosen] for column in columns)
    return CellColumns.coded(budgets, code, sums, largest=measure.largest, per_octave=measure.per_octave)


def _placed(reading: UnitRead) -> Iterator[tuple[int, str, str, Measure]]:
    """Yield the parts of a first statement: number, column of units, that of their rows, and its range."""
    for place, (number, read) in enumerate(each_read(reading)):
        counted = f"counted{number}"
        if read.measure is not None:
            yield 2 * place + _TOTALS, f"total{number}", counted, read.folded
        yield 2 * place + _ROWS, counted, counted, read.counted


def scaled_statement(reading: UnitRead, rows: str, caps: Caps, *, count_rows: bool) -> str:
    """Write the statement that adds up each group, with all that a unit adds scaled down to its cap.

    Its rows are (group, total). All products are below 2^126: contributions are below 2^63, caps too.
    """
    if _adds_only(reading):
        return scaled_together(reading, rows, [Look(caps, count_rows)])
    column = "counted" if count_rows else "total"
    shared = (
        f"SELECT grp, parts.{column} AS added, units.{column} AS size, "
        f"{_cap(caps, 'units.level')} AS cap FROM parts JOIN units USING (id) "
        f"WHERE grp IS NOT NULL AND parts.{column} IS NOT NULL"
    )
    scaled = _scaled(caps)
    return f"{_with_units(reading, rows)} SELECT grp, sum({scaled}) FROM ({shared}) GROUP BY grp"


def folded_units(reading: UnitRead, rows: str) -> str:
    """Return the query for units where no value is negative; whoever takes no part has the level -1."""
    return _folded(reading, f"({rows})", _items(reading))


def scaled_together(reading: UnitRead, rows: str, looks: Sequence[Look], held: str | None = None) -> str:
    """Write the second statement where no value is negative: only units above a cap are distinguished.

    Of the others, who are most, each row counts for its value: they are added up by group at once. Its rows
    are (group, total of the first look, total of the second, ...). With ``held``, the units are in a table
    already.
    """
    ends = [number for number, _ in each_read(reading)]
    parts, sizes, caps, plain, scaled = [], [], [], [], []
    above = ["level < 0"]
    for at, look in enumerate(looks):
        value = f"value{ends[look.place]}"
        name = f"{'counted' if look.count_rows else 'total'}{ends[look.place]}"
        read = (reading, *reading.beside)[look.place]
        most = (read.counted if look.count_rows else read.folded).high
        cap, fine = _cap(look.caps, "level"), _fine(look.caps)
        above.append(f"CAST({name} AS HUGEINT) * {fine} > {cap}")
        added = f"count({value})" if look.count_rows else f"coalesce(sum({value}), 0)"
        parts.append(f"{added} AS whole{at}, {_moved(added, 0, most)} AS added{at}")
        sizes.append(f"sum(added{at}) AS size{at}")
        caps.append(f"{cap} AS cap{at}")
        plain.append(f"CAST(whole{at} AS HUGEINT) * {fine} AS added{at}")
        scaled.append(f"{_scaled(look.caps, at)} AS added{at}")
    totals = ", ".join(f"sum(added{at}) AS total{at}" for at in range(len(looks)))
    return (
        f"WITH units AS ({f'SELECT * FROM {held}' if held else folded_units(reading, rows)}), "
        f"above AS MATERIALIZED (SELECT id AS who, level FROM units WHERE {' OR '.join(above)}), "
        f"parts AS MATERIALIZED (SELECT who, grp, {', '.join(parts)} "
        f"FROM ({rows}) AS rows LEFT JOIN above ON rows.id = above.who WHERE grp IS NOT NULL "
        "GROUP BY who, grp), "
        f"sizes AS (SELECT who, {', '.join(sizes)} FROM parts WHERE who IS NOT NULL GROUP BY who), "
        f"capped AS (SELECT sizes.*, {', '.join(caps)} FROM sizes JOIN above USING (who) WHERE level >= 0) "
        f"SELECT grp, {totals} FROM (SELECT grp, {', '.join(plain)} FROM parts WHERE who IS NULL "
        f"UNION ALL SELECT grp, {', '.join(scaled)} FROM parts JOIN capped USING (who)) GROUP BY grp"
    )


def _cap(caps: Caps, level: str) -> str:
    """Return the cap of a level."""
    return f"[{', '.join(f'CAST({cap} AS HUGEINT)' for cap in caps.by_level)}][{level} + 1]"


def _fine(caps: Caps) -> str:
    """Return the number of steps of the caps' lattice in a value's step."""
    return f"CAST({1 << caps.bits} AS HUGEINT)"


def _scaled(caps: Caps, at: int | str = "") -> str:
    """Return a scaled contribution, from the columns added, size and cap of a pass.

    Where the product fits 64 bits it is divided there: the engine is many times slower beyond.
    """
    added, size, cap, fine = f"added{at}", f"size{at}", f"cap{at}", _fine(caps)
    narrow = [f"CAST(least({whole}, {_FITS}) AS BIGINT)" for whole in (f"{added} * {cap}", size)]
    return (
        f"CASE WHEN {size} * {fine} <= {cap} THEN {added} * {fine} "
        f"WHEN {added} < 0 THEN -(-{added} * {cap} // {size}) "
        f"WHEN {added} * {cap} < {_FITS} AND {size} < {_FITS} "
        f"THEN CAST({narrow[0]} // {narrow[1]} AS HUGEINT) "
        f"ELSE {added} * {cap} // {size} END"
    )


def in_order(reading: UnitRead, found: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return each group's total, in the order of the keys, from (group, total) where there is one."""
    (totals,) = all_in_order(reading, found, 1)
    return totals


def all_in_order(reading: UnitRead, found: Iterable[tuple[int, ...]], looks: int) -> list[tuple[int, ...]]:
    """Return each look's totals, in the order of the keys, from (group, total, total, ...)."""
    totals = {group: rest for group, *rest in found}
    none = [0] * looks
    keys = range(len(reading.groups.keys) if reading.groups else 0)
    return [tuple(totals.get(place, none)[look] for place in keys) for look in range(looks)]


def _with_units(reading: UnitRead, rows: str) -> str:
    """Return the beginning of a statement: a table ``units``, for groups of both signs made from ``parts``.

    A unit with an invalid own row is not in it. Where units have one row each, nor is one with several:
    all its rows are here, whatever the filter and the keys say of them. Where they are in one group at most,
    nor is one with rows in two.
    """
    agreed = " AND grp = last_grp" if reading.apart else ""
    if reading.groups is None or reading.apart or _adds_only(reading):
        folded = _folded(reading, f"({rows})", _items(reading))
        return f"WITH units AS MATERIALIZED (SELECT * FROM ({folded}) WHERE level >= 0{agreed})"
    most, max_rows = reading.folded.high, reading.counted.high
    total, counted = _moved("sum(value)", -most, most), _moved("count(value)", 0, max_rows)
    least = "level" if reading.unit.join is not None else "budget"
    by_group = (
        f"SELECT id, grp, min({least}) AS {least}, {total} AS total, {counted} AS counted, count(*) AS own "
        f"FROM ({rows}) GROUP BY id, grp"
    )
    items = {"total": f"sum(abs(total)) {_LISTED}", "counted": f"sum(counted) {_LISTED}", "own": "sum(own)"}
    if reading.euclidean:
        items |= {f"{name}_squares": f"sum({_square(name)}) {_LISTED}" for name in ("total", "counted")}
    folded = _folded(reading, "parts", items)
    folded = _by_norm(folded) if reading.euclidean else folded
    return (
        f"WITH parts AS MATERIALIZED ({by_group}), "
        f"units AS MATERIALIZED (SELECT * FROM ({folded}) WHERE level >= 0)"
    )


def _square(name: str) -> str:
    """Return the square of a contribution; all of a unit are below 2^126, since no longer one is squared."""
    size = f"({_moved(name, -LONGEST, LONGEST)})"
    return f"{size} * {size}"


def _by_norm(folded: str) -> str:
    """Return the query for units whose sizes are Euclidean norms, rounded up: as ``euclidean_norm``.

    A root of a float is looked at in whole numbers, so that no norm is too small.
    """
    names = "total", "counted"
    roots = (f"CAST(floor(sqrt(CAST({name}_squares AS DOUBLE))) AS HUGEINT) AS {name}_root" for name in names)
    norms = (
        f"CASE WHEN {name} > {LONGEST} THEN {name} "
        f"WHEN {name}_root * {name}_root >= {name}_squares THEN {name}_root "
        f"WHEN ({name}_root + 1) * ({name}_root + 1) >= {name}_squares THEN {name}_root + 1 "
        f"ELSE {name} END AS {name}"
        for name in names
    )
    return f"SELECT id, level, {', '.join(norms)} FROM (SELECT *, {', '.join(roots)} FROM ({folded}))"


def _items(reading: UnitRead) -> dict[str, str]:
    """Return the fold of a unit's rows: total and number for each read; in groups, of listed ones.

    Where no value is negative, a unit's contributions to all groups add up to its rows' values, with no
    need to distinguish its groups: what one group is moved into bounds by, all of them are (proofs/joint.md).
    """
    listed = f" {_LISTED}" if _adds_only(reading) else ""
    items = {}
    for number, read in each_read(reading):
        if read.measure is not None:
            items[f"total{number}"] = f"{read.fold}(value{number}){listed}"
        every = listed and read.measure is None and reading.where is None  # a row counts if it is listed
        items[f"counted{number}"] = "count(grp)" if every else f"count(value{number}){listed}"
    if reading.apart:
        adding = "FILTER (WHERE value IS NOT NULL)"
        items |= {"grp": f"min(grp) {adding}", "last_grp": f"max(grp) {adding}"}
    return items | ({"own": "count(*)"} if reading.unit.one_row_is_all else {})


def _folded(reading: UnitRead, source: str, items: Mapping[str, str]) -> str:
    """Return a query for units: id, least level, and the items; whoever takes no part has the level -1.

    A table's rows have budgets: the level of the least of them is the least level, and found once a unit.
    """
    least = level = "level"
    if reading.unit.join is None:
        least, level = "budget", level_or_invalid(reading)
    if reading.unit.one_row_is_all:
        level = f"CASE WHEN own = 1 THEN {level} ELSE -1 END"
    made = ", ".join(f"{sql} AS {name}" for name, sql in items.items())
    folded = f"SELECT id, min({least}) AS {least}, {made} FROM {source} GROUP BY id"
    return f"SELECT id, {level} AS level, {', '.join(items)} FROM ({folded})"


def _adds_only(reading: UnitRead) -> bool:
    """Return whether units may be in several groups, and no row can take away from what others add."""
    return reading.adds_only


def _moved(whole: str, low: int, high: int) -> str:
    """Return a whole number moved into public bounds; NULL for NULL."""
    wide = f"CAST({whole} AS HUGEINT)"
    return (
        f"CASE WHEN {wide} < CAST({low} AS HUGEINT) THEN CAST({low} AS HUGEINT) "
        f"WHEN {wide} > CAST({high} AS HUGEINT) THEN CAST({high} AS HUGEINT) ELSE {wide} END"
    )


_OVER = "OVER (PARTITION BY id)"


def divided_rows(reading: DividedRead, schemas: Mapping[str, Schema], views: Mapping[str, str]) -> str:
    """Return the query for the rows of units: id, budget, value, and for groups grp."""
    value = measured if reading.part != "key" else distinguished
    if reading.unit.join is not None:
        return rows_of_join(reading.rows, schemas, views, value, with_budget=True)
    ((schema, records),) = zip(schemas.values(), views.values(), strict=True)
    return rows_of_table(reading.rows, schema, records, value)


def divided_statements(
    reading: DividedRead, rows: str
) -> list[CellStatement | HeldKeyStatement | TopStatement]:
    """Write the statements of a read, as of records whose budgets are the parts of their units' budgets.

    Args:
        reading: What is divided, and what is made of the parts.
        rows: The query for the rows of units.
    """
    inner = f"({_divided(reading, rows)})"
    match reading.read:
        case CellRead():
            return [cells_of(reading.read, inner)]
        case KeyRead():
            return [held_keys_of(reading.read, inner)]
        case TopRead(keys, records):
            return [cells_of(records, inner), tops_of(keys, leveled_of(keys, inner))]


def _divided(reading: DividedRead, rows: str) -> str:
    """Return the query for what counts of units, each with its part of its unit's budget."""
    grouped = reading.groups is not None
    group = ["grp"] if grouped else []
    there = " AND ".join(f"{name} IS NOT NULL" for name in ("value", *group))
    alone = reading.unit.one_row_is_all
    source, own = f"({rows})", "count(*)"
    if reading.part != "row":
        value = "value" if reading.part == "key" else f"{_total_of_group(reading)} AS value"
        keys = ["id", *group, *(["value"] if reading.part == "key" else [])]
        items = ["id", *group, value, "min(budget) AS budget", *(["count(*) AS own"] if alone else [])]
        source = f"(SELECT {', '.join(items)} FROM {source} GROUP BY {', '.join(keys)})"
        own = "sum(own)"
    numbers = [
        f"min(budget) {_OVER} AS whole",
        f"count(CASE WHEN {there} THEN 1 END) {_OVER} AS number",
        *([f"{own} {_OVER} AS own_rows"] if alone else []),
    ]
    listed = ", ".join([*group, *(["id"] if isinstance(reading.read, KeyRead) else []), "value"])
    numbered = f"SELECT {listed}, {', '.join(numbers)} FROM {source}"
    kept = f"{there} AND own_rows = 1" if alone else there
    return f"SELECT {listed}, {_part(reading)} AS budget FROM ({numbered}) WHERE {kept}"


def _total_of_group(reading: DividedRead) -> str:
    """Return what is made of a unit's values in one group; a sum is moved into its public bounds."""
    total, read = f"{reading.fold}(value)", reading.read
    if reading.of_row is None or not isinstance(read, CellRead) or read.measure is None:
        return total
    return _moved(total, read.measure.low, read.measure.high)


def _part(reading: DividedRead | DividedRowRead) -> str:
    """Return the part of a budget: that of the unit, lowered to the largest one, by how many there are."""
    most = f"{float(reading.levels.at_most):.17e}"
    return f"least(whole, {most}) / CAST(greatest(number, 1) AS DOUBLE)"


def divided_rows_statement(
    reading: DividedRowRead, schemas: Mapping[str, Schema], views: Mapping[str, str]
) -> str:
    """Write the statement that hands out rows: the columns, and last the level of each row's part."""
    rows = reading.read
    names = [f"column{place}" for place in range(len(rows.columns))]
    listed = ", ".join(names)
    own = (_rows_to_hand_out if reading.unit.join is None else _results_to_hand_out)(reading, schemas, views)
    numbers = f"min(budget) {_OVER} AS whole, count(there) {_OVER} AS number, count(*) {_OVER} AS own_rows"
    numbered = f"SELECT {listed}, there, {numbers} FROM ({own})"
    kept = "there = 1" + (" AND own_rows = 1" if reading.unit.one_row_is_all else "")
    parts = f"SELECT {listed}, {_part(reading)} AS budget FROM ({numbered}) WHERE {kept}"
    leveled = f"SELECT {listed}, {level_sql(rows.levels)} AS level FROM ({parts})"
    shown = [f"{name} AS {quoted(column)}" for column, name in zip(rows.columns, names, strict=True)]
    return f"SELECT {', '.join([*shown, f'level AS {LEVEL}'])} FROM ({leveled}) WHERE level >= {rows.least}"


def _rows_to_hand_out(
    reading: DividedRowRead, schemas: Mapping[str, Schema], views: Mapping[str, str]
) -> str:
    """Return the query for all rows of units: the columns, id, budget, and whether each row counts."""
    ((schema, records),) = zip(schemas.values(), views.values(), strict=True)
    whose, rows = reading.unit.id, reading.read
    there = f"CASE WHEN {to_sql(rows.where, schema)} THEN 1 END" if rows.where is not None else "1"
    items = [
        *(f"{item_sql(column, schema)} AS column{place}" for place, column in enumerate(rows.columns)),
        f"{id_sql(quoted(whose), whose, schema)} AS id",
        f"{to_sql(rows.policy.expression, schema)} AS found",
        f"{there} AS there",
    ]
    least = reading.levels.least
    valid = f"CASE WHEN isnan(found) THEN 0e0 WHEN found >= {least!r} THEN found ELSE 0e0 END AS budget"
    return f"SELECT *, {valid} FROM (SELECT {', '.join(items)} FROM {records}) WHERE id IS NOT NULL"


def _results_to_hand_out(
    reading: DividedRowRead, schemas: Mapping[str, Schema], views: Mapping[str, str]
) -> str:
    """Return the query for the results of a join that count, in the same form."""
    rows = reading.read
    measures = [Measure(name, Fraction(1), 0, 0) for name in rows.columns]
    one = UnitRead(rows.policy, reading.levels, reading.unit, measures[0], "sum", rows.where)
    asked = replace(one, beside=tuple(replace(one, measure=measure) for measure in measures[1:]))
    results, asked, schema = results_of_join(asked, schemas, views, with_budget=True)
    columns = (f"{item_sql(name, schema)} AS column{place}" for place, name in enumerate(rows.columns))
    where = f" WHERE {to_sql(asked.where, schema)}" if asked.where is not None else ""
    return f"SELECT {', '.join([*columns, *WHOSE_BUDGET, '1 AS there'])} FROM {results}{where}"
