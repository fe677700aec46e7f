"""The protocol of engines: columns, and exact totals per cell. Rows stay inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from prdp.cells.key_masses import KeyMasses
from prdp.cells.summary import KeySummary, Summary
from prdp.cells.units import Caps
from prdp.plan.divided import DividedRead, DividedRowRead
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, RowRead, UnitRead
from prdp.schema import Schema


class UnitEngine(Protocol):
    """A reader of the rows of units: of a table that names them, or of several that are joined."""

    def fold_units(self, reading: UnitRead) -> tuple[tuple[Summary, Summary], ...]:
        """Return the cells of units: what each contributes, and how many rows.

        One pair for all of them; where units are in one group at most (``apart``), one for each group.

        Raises:
            EngineFailure: As in ``Engine.summarise``.
        """

    def scale_units(self, reading: UnitRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Return each group's total, every unit scaled down to its cap.

        A unit whose absolute contributions to all groups add up to more than its cap counts in each group
        for its contribution times cap / sum, rounded toward zero.

        Args:
            reading: The units and their contributions; it has groups.
            caps: The caps of units.
            count_rows: Whether rows are added up instead of values.

        Raises:
            EngineFailure: As in ``Engine.summarise``.
        """

    def divided(self, reading: DividedRead) -> Sequence[Any]:
        """Return what counts of units as records, each with an equal part of its unit's budget.

        Of keys also which units hold which (``KeyHolders``).
        The number of parts and the parts come from one read: proofs/divided.md.

        Raises:
            EngineFailure: As in ``Engine.summarise``.
        """

    def divided_rows(self, reading: DividedRowRead) -> tuple[Any, Any]:
        """Return rows of units as an Arrow table, and the levels of their parts of budgets.

        Raises:
            EngineFailure: As in ``Engine.summarise``.
        """


class JoinEngine(UnitEngine, Protocol):
    """A reader of several tables, for the rows of units that are results of a join."""

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """Each table's columns; known without reading a record."""

    def ensure_there(self) -> None:
        """Refuse, by public facts and before any charge, sources that are gone or have changed columns."""

    def has_twice(self, table: str, column: str) -> bool:
        """Return whether a value occurs in several rows of a public table's column; texts are their bytes."""


class Engine(UnitEngine, Protocol):
    """A reader of one table's records that returns exact totals."""

    @property
    def name(self) -> str:
        """The engine's name."""

    @property
    def schema(self) -> Schema:
        """The table's columns; known without reading a record."""

    @property
    def source(self) -> str:
        """The SQL of a relation, for the ledger's question text; empty for a plain table."""

    def ensure_there(self) -> None:
        """Refuse, by public facts and before any charge, a source that is gone or has changed its columns.

        Raises:
            InvalidRequest: The source is not what was opened.
        """

    def summarise(self, reading: CellRead) -> Sequence[Summary]:
        """Read every record once and return exact totals per cell, for each group in its order.

        Raises:
            EngineFailure: Whatever went wrong while records were read; the text is always the same.
        """

    def key_totals(self, reading: KeyRead) -> tuple[KeySummary, ...]:
        """Read every record once and return totals by a column's values, for each group.

        Raises:
            EngineFailure: As in ``summarise``.
        """

    def top_levels(self, reading: KeyRead) -> tuple[Summary, ...]:
        """Read every record once and return a column's values at their highest levels, for each group.

        Raises:
            EngineFailure: As in ``summarise``.
        """

    def key_masses(self, reading: KeyMassRead) -> KeyMasses:
        """Read every record once and return the keys that records have, with the budgets behind each.

        A key is the bytes of a text, a whole number, a double (minus zero is zero), microseconds since 1970,
        0 or 1; it has one row, and none if it is NULL or NaN. Of units, see proofs/keys.md.

        Raises:
            EngineFailure: As in ``summarise``.
        """

    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        """Return the rows as an Arrow table, and their levels; for the framework's callers alone.

        Raises:
            EngineFailure: As in ``summarise``.
        """
