"""Delta tables: the rows of their log's last version, as the library ``deltalake`` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import deltalake
import pyarrow

from prdp.engines.sources.checks import refuse_repeated_addresses
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted

_FEATURES = {
    *("timestampNtz", "deletionVectors", "columnMapping", "v2Checkpoint", "vacuumProtocolCheck"),
    *("variantType", "variantType-preview", "variantShredding", "variantShredding-preview"),
}
"""Reader features that a table may require; a variant column itself is not read."""


class DeltaRows:
    """The rows of a Delta table: of a folder as it is by then, of an object at the version that it holds.

    No condition is given to the library: it would leave out files by statistics, in which NaN is missing.

    Attributes:
        schema: Its columns; those that folders are named by have the types of the table's log.
    """

    def __init__(self, given: Path | Any) -> None:
        self._given = given
        self.schema = self.found()

    def found(self) -> Any:
        """Return the table's columns as they are now."""
        table = self._table()
        asked = set(table.protocol().reader_features or ())
        if asked - _FEATURES:
            raise InvalidRequest(
                f"the Delta table has the feature {min(asked - _FEATURES)}, which prdp does not read. Copy "
                "it to Parquet files, and open those."
            )
        refuse_repeated_addresses(table.file_uris(), table.table_uri)
        return pyarrow.schema(table.schema().to_arrow()).remove_metadata()

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read the table's rows, without those that are marked as deleted."""
        rows = deltalake.QueryBuilder().register("prdp_delta", self._table())
        stream = rows.execute(f"SELECT {', '.join(map(quoted, columns))} FROM prdp_delta")
        yield from pyarrow.RecordBatchReader.from_stream(stream)

    def _table(self) -> Any:
        if not isinstance(self._given, Path):
            return self._given
        try:
            return deltalake.DeltaTable(str(self._given))
        except Exception:  # the library has errors of many kinds
            raise InvalidRequest(
                f"{str(self._given)!r} has a _delta_log that cannot be read as a Delta table's."
            ) from None
