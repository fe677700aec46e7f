"""Delta and Iceberg tables: the rows of one version, as ``deltalake`` and ``pyiceberg`` read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from prdp.engines.sources.checks import METADATA, refuse_repeated_addresses
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
        import pyarrow  # noqa: PLC0415  (an extra)

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
        import deltalake  # noqa: PLC0415  (an extra)
        import pyarrow  # noqa: PLC0415

        rows = deltalake.QueryBuilder().register("prdp_delta", self._table())
        stream = rows.execute(f"SELECT {', '.join(map(quoted, columns))} FROM prdp_delta")
        yield from pyarrow.RecordBatchReader.from_stream(stream)

    def _table(self) -> Any:
        if not isinstance(self._given, Path):
            return self._given
        import deltalake  # noqa: PLC0415  (an extra)

        try:
            return deltalake.DeltaTable(str(self._given))
        except Exception:  # the library has errors of many kinds
            raise InvalidRequest(
                f"{str(self._given)!r} has a _delta_log that cannot be read as a Delta table's."
            ) from None


class IcebergRows:
    """The rows of an Iceberg table: of a folder as it is by then, of others as they were given.

    No condition is given to the library: it would leave out files by statistics, in which NaN is missing.

    Attributes:
        schema: Its columns.
    """

    def __init__(self, given: Path | Any) -> None:
        self._given = given
        self.schema = self.found()

    def found(self) -> Any:
        """Return the table's columns as they are now, or refuse what the library cannot read."""
        from pyiceberg.io.pyarrow import schema_to_pyarrow  # noqa: PLC0415  (an extra)

        table = self._table()
        try:
            files = [task.file.file_path for task in table.scan().plan_files()]
        except (NotImplementedError, ValueError):
            raise InvalidRequest(
                "the Iceberg table has rows deleted by equality, which pyiceberg does not read. Rewrite its "
                "data files (in Spark: CALL system.rewrite_data_files), or copy it to Parquet files."
            ) from None
        refuse_repeated_addresses(files)
        return schema_to_pyarrow(table.schema()).remove_metadata()

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read the table's rows, without those that are marked as deleted."""
        yield from self._table().scan(selected_fields=tuple(columns)).to_arrow_batch_reader()

    def _table(self) -> Any:
        if not isinstance(self._given, Path):
            return self._given
        file = self._given
        if not file.name.endswith(METADATA) and not (file / "metadata" / "version-hint.text").is_file():
            last = max((file / "metadata").glob(f"*{METADATA}"), default=file / f"metadata/1{METADATA}")
            raise InvalidRequest(
                f"{str(file)!r} is an Iceberg table whose catalog alone knows which version is the last. "
                f"Give prdp.open the table, catalog.load_table(...), or a version of it: {str(last)!r}."
            )
        from pyiceberg.table import StaticTable  # noqa: PLC0415  (an extra)

        try:
            return StaticTable.from_metadata(str(file))
        except Exception:  # the library has errors of many kinds
            raise InvalidRequest(f"{str(file)!r} cannot be read as an Iceberg table.") from None
