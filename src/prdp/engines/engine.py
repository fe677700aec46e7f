"""What prdp asks of an engine: its columns, and exact totals per cell. Rows stay inside."""

from __future__ import annotations

from typing import Any, Protocol

from prdp.query import KeyReading, Reading, RowReading
from prdp.schema import Schema
from prdp.summary import KeySummary, Summary


class Engine(Protocol):
    """Whoever reads the records."""

    @property
    def name(self) -> str:
        """What the engine is called."""

    @property
    def schema(self) -> Schema:
        """The table's columns; known without reading a record."""

    def ensure_there(self) -> None:
        """Refuse, by public facts and before any charge, a source that is gone or has changed its columns.

        Raises:
            InvalidRequest: The source is not what was opened.
        """

    def summarise(self, reading: Reading) -> tuple[Summary, ...]:
        """Read every record once and return exact totals per cell, for each group in its order.

        Raises:
            EngineFailure: Whatever went wrong while records were read; the text is always the same.
        """

    def key_totals(self, reading: KeyReading) -> tuple[KeySummary, ...]:
        """Read every record once and return what stands behind a column's values, for each group.

        Raises:
            EngineFailure: As in ``summarise``.
        """

    def top_levels(self, reading: KeyReading) -> tuple[Summary, ...]:
        """Read every record once and return a column's values at their highest levels, for each group.

        Raises:
            EngineFailure: As in ``summarise``.
        """

    def rows(self, reading: RowReading) -> tuple[Any, Any]:
        """Return the rows as an Arrow table, and their levels; for the framework's callers alone.

        Raises:
            EngineFailure: As in ``summarise``.
        """
