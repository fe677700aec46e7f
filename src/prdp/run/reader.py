"""What an open table has read: cells by need, filter and groups, kept so that no record is read twice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, partial

from prdp.cells.owners import PerUnit, UnitCells, UnitGroups, UnitReading
from prdp.cells.ratios import possible_ratios
from prdp.cells.summary import Summary, TopSummary
from prdp.declare.groups import Grouping
from prdp.declare.schema import Bounds
from prdp.engines.engine import Engine
from prdp.expressions.nodes import Node
from prdp.levels import Levels
from prdp.plan.queries import KeyReading, Reading
from prdp.plan.reads import ByLevel, Cells, Keys, Need, Tops, serves
from prdp.policy import Policy


@dataclass(frozen=True, eq=False)
class Readings:
    """Reads a table's records, and keeps what was found.

    Attributes:
        engine: Who reads them.
        policy: The policy, checked against the table.
        levels: The grid of budgets.
        bounds: The public bounds of the table's columns.
        protect: The column that says which privacy unit a row belongs to; None where a row is a record.
        kept: What was found so far; it shows nothing of itself.
    """

    engine: Engine
    policy: Policy
    levels: Levels
    bounds: Bounds
    protect: str | None
    kept: dict[tuple[Need, Node | None, Grouping | None], tuple[Cells, ...]] = field(
        default_factory=dict, repr=False
    )

    def cells(self, need: Need, where: Node | None, groups: Grouping | None) -> tuple[Cells, ...]:
        """Return each group's cells, reading the records only if they were not read for this before."""
        for (kept, condition, grouping), cells in tuple(self.kept.items()):
            if (condition, grouping) == (where, groups) and serves(kept, need):
                return cells
        if isinstance(need, PerUnit):
            found: tuple[Cells, ...] = (self._unit_cells(need, where, groups),)
        elif isinstance(need, Keys | Tops):
            found = self._value_cells(need, where, groups)
        else:
            by_level = isinstance(need, ByLevel)
            measure = need.measure if isinstance(need, ByLevel) else need
            reading = Reading(self.policy, self.levels, self.bounds, measure, where, groups, by_level)
            ratios = possible_ratios(reading)
            found = tuple(replace(cells, ratios=ratios) for cells in self.engine.summarise(reading))
        return self.kept.setdefault((need, where, groups), found)

    def counts(self, where: Node | None, groups: Grouping | None) -> tuple[Summary, ...]:
        """Return each group's records by budget alone."""
        found = self.cells(ByLevel(None), where, groups)
        return tuple(cells.counted() for cells in found if isinstance(cells, Summary))

    def _value_cells(
        self, need: Keys | Tops, where: Node | None, groups: Grouping | None
    ) -> tuple[Cells, ...]:
        """Return what stands behind the values of a column, in each group."""
        keys = KeyReading(self.policy, self.levels, need.column, where, groups)
        if isinstance(need, Keys):
            return self.engine.key_totals(keys)
        return tuple(map(TopSummary, self.counts(where, groups), self.engine.top_levels(keys)))

    def _unit_cells(self, need: PerUnit, where: Node | None, groups: Grouping | None) -> UnitCells:
        """Return the units' cells; of several groups, with the second look that follows once b is found."""
        assert self.protect is not None  # noqa: S101  (nobody else needs units)
        reading = UnitReading(self.policy, self.levels, self.protect, need.measure, need.fold, where, groups)
        totals, rows = self.engine.fold_units(reading)
        if groups is None:
            return UnitCells(totals, rows)
        look = partial(self.engine.scale_units, reading)
        return UnitCells(
            UnitGroups(totals, cache(partial(look, count_rows=need.measure is None))),
            UnitGroups(rows, cache(partial(look, count_rows=True))),
        )
