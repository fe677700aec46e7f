"""The statements that fold the rows of each owner into one contribution; no row can make them fail.

They are the same for a table and for a join: what differs is where rows come from (``_owner_rows.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from prdp.cells.cell_columns import NO_VALUE, CellColumns
from prdp.cells.measure import Measure
from prdp.cells.owners import Caps
from prdp.cells.summary import Summary
from prdp.engines._cells import Arrays, code_sql, filled, halves, level_quanta, wide
from prdp.plan.reads import OwnerRead

_TOTALS, _ROWS = 0, 1


@dataclass(frozen=True, slots=True)
class OwnerStatement:
    """SQL that groups owners into cells; its columns are part, level, code (of the magnitude), n and total.

    Where owners are in one group at most, there is the group as well.
    """

    sql: str
    reading: OwnerRead

    @classmethod
    def of(cls, reading: OwnerRead, rows: str) -> OwnerStatement:
        """Write the statement: rows to owners, what an owner adds moved into public bounds, owners to cells.

        Args:
            reading: Which owners, and what is made of their rows.
            rows: The query for their rows.
        """
        parts = list(zip((_TOTALS, _ROWS), ("total", "counted"), _parts(reading), strict=True))
        group = "grp, " if reading.apart else ""
        placed = " UNION ALL ".join(
            f"SELECT {part} AS part, {group}level, {code_sql(measure, 'added')} AS code, added "
            f"FROM (SELECT {group}level, {_moved(column, measure.low, measure.high)} AS added FROM owners)"
            for part, column, measure in (parts if reading.measure else parts[_ROWS:])
        )
        keys = f"part, {group}level, code"
        summed = f"SELECT {keys}, count(*) AS n, sum(added) AS total"
        cells = f"SELECT {keys}, n, {halves('total')} FROM ({summed} FROM ({placed}) GROUP BY {keys})"
        owners = _never_negative(reading, rows) if _adds_only(reading) else _owners(reading, rows)
        return cls(f"{owners} {cells}", reading)

    def summaries(self, found: Arrays) -> tuple[tuple[Summary, Summary], ...]:
        """Return the cells of what owners contribute and of how many rows: of all, or of each group."""
        levels, reading = self.reading.levels, self.reading
        quanta, _ = level_quanta(levels, found["level"])
        columns = quanta, filled(found["code"], NO_VALUE), filled(found["n"], 0), wide(found, "total")
        apart = reading.groups if reading.apart else None
        group = filled(found["grp"], -1) if apart else np.zeros(len(quanta), dtype=np.int64)
        summaries = []
        for part, measure in zip((_TOTALS, _ROWS), _parts(reading), strict=True):
            chosen = found["part"] == part
            budgets, code, *sums = (column[chosen] for column in columns)
            cells = CellColumns.coded(
                budgets, code, sums, largest=measure.largest, per_octave=measure.per_octave
            )
            groups = cells.split(group[chosen], len(apart.keys) if apart else 1)
            summaries.append([Summary(levels, measure.smallest, measure.largest, one) for one in groups])
        totals, counts = summaries
        return tuple(zip(counts if reading.measure is None else totals, counts, strict=True))


def scaled_statement(reading: OwnerRead, rows: str, caps: Caps, *, count_rows: bool) -> str:
    """Write the statement that adds up each group, with all that an owner adds scaled down to its cap.

    Its rows are (group, total). All products are below 2^126: contributions are below 2^63, caps too.
    """
    column = "counted" if count_rows else "total"
    cap = f"[{', '.join(f'CAST({cap} AS HUGEINT)' for cap in caps.by_level)}][level + 1]"
    fine = f"CAST({1 << caps.bits} AS HUGEINT)"
    scaled = (
        f"CASE WHEN size * {fine} <= cap THEN added * {fine} "
        "WHEN added < 0 THEN -(-added * cap // size) ELSE added * cap // size END"
    )
    if _adds_only(reading):
        return _scaled_where_needed(reading, rows, column, cap, (fine, scaled))
    shared = (
        f"SELECT grp, parts.{column} AS added, owners.{column} AS size, "
        f"{cap.replace('level', 'owners.level')} AS cap FROM parts JOIN owners USING (id) "
        f"WHERE grp IS NOT NULL AND parts.{column} IS NOT NULL"
    )
    return f"{_owners(reading, rows)} SELECT grp, sum({scaled}) FROM ({shared}) GROUP BY grp"


def _scaled_where_needed(
    reading: OwnerRead, rows: str, column: str, cap: str, written: tuple[str, str]
) -> str:
    """Write the second statement where no value is negative: only owners above their caps are told apart.

    Of the others, who are most, each row counts for its value: they are added up by group at once.

    Args:
        reading: Which owners, and what is made of their rows.
        rows: The query for their rows.
        column: What counts of an owner: its total, or its rows.
        cap: The cap of a level.
        written: How many steps a value's step has, and what a contribution is scaled down to.
    """
    fine, scaled = written
    most, most_rows = (measure.high for measure in _parts(reading))
    total, counted = _moved("sum(value)", -most, most), _moved("count(value)", 0, most_rows)
    whole = f"CAST({column} AS HUGEINT) * {fine} <= {cap}"
    return (
        f"{_never_negative(reading, rows)}, "
        f"capped AS MATERIALIZED (SELECT id, level, CASE WHEN {whole} THEN NULL ELSE id END AS who "
        "FROM owners), "
        "parts AS MATERIALIZED (SELECT who, grp, "
        f"{'count' if column == 'counted' else 'sum'}(value) AS whole, {total} AS total, "
        f"{counted} AS counted "
        f"FROM ({rows}) AS rows JOIN capped USING (id) WHERE grp IS NOT NULL AND value IS NOT NULL "
        "GROUP BY who, grp), "
        f"sizes AS (SELECT who, sum({column}) AS size FROM parts WHERE who IS NOT NULL GROUP BY who), "
        f"shared AS (SELECT grp, parts.{column} AS added, size, {cap} AS cap FROM parts "
        "JOIN sizes USING (who) JOIN capped ON capped.id = parts.who) "
        f"SELECT grp, sum(added) FROM (SELECT grp, CAST(whole AS HUGEINT) * {fine} AS added FROM parts "
        f"WHERE who IS NULL UNION ALL SELECT grp, {scaled} FROM shared) GROUP BY grp"
    )


def in_order(reading: OwnerRead, found: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return each group's total, in the order of the keys, from (group, total) where there is one."""
    totals: dict[int, int] = dict(found)
    return tuple(totals.get(place, 0) for place in range(len(reading.groups.keys) if reading.groups else 0))


def _parts(reading: OwnerRead) -> tuple[Measure, Measure]:
    return reading.folded, reading.counted


def _owners(reading: OwnerRead, rows: str) -> str:
    """Return the beginning of a statement: a table ``owners``, for groups made from a table ``parts``.

    An owner with an invalid own row, or with no row that contributes, is not in it. Where owners have one row
    each, nor is one with several: all its rows are here, whatever the filter and the keys say of them.
    """
    alone = reading.owners.one_row_is_all
    taking_part = "min(level) >= 0 AND count(value) > 0" + (" AND count(*) = 1" if alone else "")
    folded = f"min(level) AS level, {reading.fold}(value) AS total, count(value) AS counted"
    if reading.groups is None:
        return f"WITH owners AS MATERIALIZED (SELECT {folded} FROM ({rows}) GROUP BY id HAVING {taking_part})"
    if reading.apart:  # whoever had rows in two groups would be in none
        adding = "FILTER (WHERE value IS NOT NULL)"
        one = f"{folded}, min(grp) {adding} AS grp"
        agreed = f"{taking_part} AND min(grp) {adding} = max(grp) {adding}"
        return f"WITH owners AS MATERIALIZED (SELECT {one} FROM ({rows}) GROUP BY id HAVING {agreed})"
    most, most_rows = (measure.high for measure in _parts(reading))
    total, counted = _moved("sum(value)", -most, most), _moved("count(value)", 0, most_rows)
    by_group = (
        f"SELECT id, grp, min(level) AS level, {total} AS total, {counted} AS counted, count(*) AS own "
        f"FROM ({rows}) GROUP BY id, grp"
    )
    listed = "FILTER (WHERE grp IS NOT NULL)"
    folded = f"min(level) AS level, sum(abs(total)) {listed} AS total, sum(counted) {listed} AS counted"
    taking_part = f"min(level) >= 0 AND sum(counted) {listed} > 0" + (" AND sum(own) = 1" if alone else "")
    return (
        f"WITH parts AS MATERIALIZED ({by_group}), owners AS MATERIALIZED (SELECT id, {folded} FROM parts "
        f"GROUP BY id HAVING {taking_part})"
    )


def _adds_only(reading: OwnerRead) -> bool:
    """Say whether owners may be in several groups, and no row can take away from what others add."""
    several = reading.groups is not None and not reading.apart
    return several and (reading.measure is None or reading.measure.low >= 0)


def _never_negative(reading: OwnerRead, rows: str) -> str:
    """Return the beginning of the first statement where no value is negative.

    An owner's contributions to all groups then add up to its rows' values, with no need to tell its groups
    apart: what one group is moved into bounds by, all of them are (proofs/joint.md).
    """
    listed = "FILTER (WHERE grp IS NOT NULL)"
    folded = f"min(level) AS level, sum(value) {listed} AS total, count(value) {listed} AS counted"
    alone = " AND count(*) = 1" if reading.owners.one_row_is_all else ""
    taking_part = f"min(level) >= 0 AND count(value) {listed} > 0{alone}"
    return f"WITH owners AS MATERIALIZED (SELECT id, {folded} FROM ({rows}) GROUP BY id HAVING {taking_part})"


def _moved(whole: str, low: int, high: int) -> str:
    """Return a whole number moved into public bounds; NULL for NULL."""
    wide = f"CAST({whole} AS HUGEINT)"
    return (
        f"CASE WHEN {wide} < CAST({low} AS HUGEINT) THEN CAST({low} AS HUGEINT) "
        f"WHEN {wide} > CAST({high} AS HUGEINT) THEN CAST({high} AS HUGEINT) ELSE {wide} END"
    )
