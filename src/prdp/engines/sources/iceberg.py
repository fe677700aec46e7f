"""Iceberg tables: the rows of one snapshot, as the library ``pyiceberg`` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import StaticTable

from prdp.engines.sources.checks import METADATA, refuse_repeated_addresses
from prdp.errors import InvalidRequest


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
        try:
            return StaticTable.from_metadata(str(file))
        except Exception:  # the library has errors of many kinds
            raise InvalidRequest(f"{str(file)!r} cannot be read as an Iceberg table.") from None
