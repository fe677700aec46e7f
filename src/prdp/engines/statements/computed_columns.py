"""Computed columns made columns of the table, before a statement reads it; no row can make it fail."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from prdp.cells.measure import Measure
from prdp.declare.computed import computed_type
from prdp.declare.groups import Grouping
from prdp.engines.row_sql.expressions import to_sql
from prdp.expressions.nodes import Node, columns
from prdp.expressions.spelling import quoted
from prdp.plan.reads import CellRead, KeyRead, UnitRead
from prdp.schema import Schema

Reading = TypeVar("Reading", bound=CellRead | KeyRead | UnitRead)


@dataclass(slots=True)
class _Names:
    """Gives each expression a name that no column of the table has, in any capitals."""

    schema: Schema
    given: dict[Node, str] = field(default_factory=dict)

    def of(self, column: str, expression: Node | None) -> str:
        """Return what a column is called in statements."""
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
        reading: What is to be found out.
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
