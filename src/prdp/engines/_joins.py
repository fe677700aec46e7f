"""The one statement for a join: results folded by the private record that they belong to.

DuckDB's SQL; each part is total. A key that is NULL joins nothing. Rows of the private table that share a key
are one
record: its budget is the least of theirs, and none at all if one of them has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from prdp.cells.cell_columns import CellColumns
from prdp.cells.columns import exact_column
from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.engines._cells import code_sql, level_sql, measured
from prdp.engines._expressions import to_sql
from prdp.expressions.nodes import Node, columns
from prdp.expressions.spelling import quoted
from prdp.grids import PER_OCTAVE
from prdp.levels import Levels
from prdp.plan.reads import PlanReader, Whole
from prdp.policy import Policy
from prdp.schema import ColumnType, Kind, Schema

VALUE, ID = "prdp value", "prdp id"
"""What the added-up expression and the private record's key are called inside the statement."""

_ID = quoted(ID)
_NONE = exact_column(())


class JoinedBy(Protocol):
    """A reference: rows of ``table`` name rows of ``to`` by its key."""

    @property
    def table(self) -> str: ...
    @property
    def column(self) -> str: ...
    @property
    def to(self) -> str: ...
    @property
    def key(self) -> str: ...


@dataclass(frozen=True, slots=True)
class JoinRead(Whole):
    """What must be found out of a join: how many private records have how large a total.

    Attributes:
        policy: The policy over the private table's columns, with both ends of its range.
        levels: The grid of budgets.
        private: The private table.
        key: The column that names its records.
        tables: The joined tables in their order, the private one first.
        joined_by: For each other table, the reference by which it is joined.
        names: For each column of the join, its table and its name there.
        schema: The columns of the join.
        added: What is added up; None to count results.
        measure: The grain of one result's value and its ends; None to count results.
        where: Which results take part; None for all.
        largest: The public bound of a record's total, in grains: larger ones are moved to it.
    """

    policy: Policy
    levels: Levels
    private: str
    key: str
    tables: tuple[str, ...]
    joined_by: Mapping[str, JoinedBy] = field(hash=False)
    names: Mapping[str, tuple[str, str]] = field(hash=False)
    schema: Schema = field(hash=False)
    added: Node | None
    measure: Measure | None
    where: Node | None
    largest: int

    def find(self, reader: PlanReader) -> tuple[Summary]:
        """Return the cells of the private records."""
        return (reader.source.fold_results(self),)

    @property
    def total(self) -> Measure:
        """A record's total, as what is cut into magnitudes."""
        if self.measure is None:
            return Measure(VALUE, Fraction(1), 1, self.largest)
        return Measure(VALUE, self.measure.grain, -self.largest if self.measure.low < 0 else 0, self.largest)

    def summary(self, rows: Iterable[Sequence[Any]]) -> Summary:
        """Return the cells that the statement's rows describe."""
        taking_part = [row for row in rows if row[0] is not None]
        level, code, *sums = map(exact_column, zip(*taking_part, strict=True)) if taking_part else [_NONE] * 4
        quanta = exact_column(map(self.levels.quanta, range(self.levels.top + 1)))[level]
        cells = CellColumns.coded(quanta, code, sums, largest=self.largest, per_octave=PER_OCTAVE)
        return Summary(self.levels, 1, self.largest, cells.added_up())


def join_statement(reading: JoinRead, views: Mapping[str, str], private_schema: Schema) -> str:
    """Write the statement; its rows are (level, magnitude code, private records, total)."""
    key = quoted(reading.key)
    budget = to_sql(reading.policy.expression, private_schema)
    budgets = (
        f"SELECT {key} AS {_ID}, {budget} AS budget FROM {views[reading.private]} WHERE {key} IS NOT NULL"
    )
    owners = (
        f"SELECT {_ID}, CASE WHEN count(level) = count(*) THEN min(level) END AS level "
        f"FROM (SELECT {_ID}, {level_sql(reading.levels)} AS level FROM ({budgets})) GROUP BY {_ID}"
    )
    total = "count(*)" if reading.measure is None else "coalesce(sum(value), 0)"
    low = -reading.largest
    folded = (
        f"SELECT {_ID}, CAST(greatest({low}, least({reading.largest}, {total})) AS BIGINT) AS total "
        f"FROM ({_results(reading, views)}) GROUP BY {_ID}"
    )
    return (
        "SELECT level, code, count(*), sum(total) "
        f"FROM (SELECT level, {code_sql(reading.total, 'total')} AS code, total "
        f"FROM ({folded}) JOIN ({owners}) USING ({_ID})) GROUP BY level, code"
    )


def _results(reading: JoinRead, views: Mapping[str, str]) -> str:
    """Return one row a result of the join: the private record's key and the result's value."""
    place = {table: f"t{number}" for number, table in enumerate(reading.tables)}
    needed = columns(reading.added) if reading.added else frozenset[str]()
    needed |= columns(reading.where) if reading.where else frozenset()
    picked = [f"{place[reading.private]}.{quoted(reading.key)} AS {_ID}"]
    for name in sorted(needed):
        table, column = reading.names[name]
        picked.append(f"{place[table]}.{quoted(column)} AS {quoted(name)}")
    joined = f"{views[reading.private]} AS {place[reading.private]}"
    for table in reading.tables[1:]:
        by = reading.joined_by[table]
        on = f"{place[by.table]}.{quoted(by.column)} = {place[by.to]}.{quoted(by.key)}"
        joined += f" JOIN {views[table]} AS {place[table]} ON {on}"
    rows = f"SELECT {', '.join(picked)} FROM {joined}"
    where = f" WHERE {to_sql(reading.where, reading.schema)}" if reading.where is not None else ""
    if reading.measure is None or reading.added is None:
        return f"SELECT {_ID} FROM ({rows}){where}"
    if reading.measure.column != VALUE:
        return f"SELECT {_ID}, {measured(reading.measure, reading.schema)} AS value FROM ({rows}){where}"
    values = f"SELECT {_ID}, {to_sql(reading.added, reading.schema)} AS {quoted(VALUE)} FROM ({rows}){where}"
    double = {VALUE: ColumnType(Kind.NUMBER, native="DOUBLE")}
    return f"SELECT {_ID}, {measured(reading.measure, double)} AS value FROM ({values})"


def duplicate_keys_statement(view: str, key: str) -> str:
    """Write a statement that gives a row where a key names more than one row of a table."""
    name = quoted(key)
    return f"SELECT 1 FROM {view} WHERE {name} IS NOT NULL GROUP BY {name} HAVING count(*) > 1 LIMIT 1"
