"""Whatever form the records come in, each is read alone, and a source that is gone or changed is refused."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest

from prdp.engines.sql_engine import SqlEngine
from prdp.testing.engine_contract import EngineContract
from prdp.testing.storage_contract import Record, Storage, StorageContract
from tests.engines import kept
from tests.engines.test_duckdb import arrow as contract_table
from tests.engines.test_storage import arrow as storage_table


def stored(keep: kept.Keep) -> Storage:
    def opened(records: Sequence[Record], folder: Path) -> SqlEngine:
        return keep(storage_table(records), folder).opened()

    return opened


class TestStorage(StorageContract):
    brief = True

    def storages(self) -> Mapping[str, Storage]:
        return {name: stored(kept.FORMS[name]) for name in ("feather", "data sets in one", "DuckDB file")}


@pytest.mark.slow
class TestStorageInFull(StorageContract):
    def storages(self) -> Mapping[str, Storage]:
        return {name: stored(keep) for name, keep in kept.FORMS.items()}


class FromFolder(EngineContract):
    """A table in a folder, which can be lost and changed."""

    brief = True  # what is computed of rows that are read is held to the reference in test_duckdb.py
    keep: ClassVar[kept.Keep]

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folders = (tmp_path / str(number) for number in count())

    def kept_in(self, folder: Path, table: Any) -> kept.Kept:
        folder.mkdir()
        return type(self).keep(table, folder)

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.kept_in(next(self.folders), contract_table(records)).opened()

    def lost(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine | None:
        return self._after(contract_table(records), None)

    def changed(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine | None:
        return self._after(contract_table(records), contract_table(records).drop_columns("v"))

    def _after(self, table: Any, other: Any) -> SqlEngine:
        """Open a table, and then take it away, or put another in its place."""
        folder = next(self.folders)
        engine = self.kept_in(folder, table).opened()
        shutil.rmtree(folder)
        if other is not None:
            self.kept_in(folder, other)
        return engine


class TestListOfFiles(FromFolder):
    keep = kept.list_of_files


class TestJsonLines(FromFolder):
    keep = kept.json_lines

    def changed(self, _: Sequence[Mapping[str, Any]]) -> None:
        """Nothing in a file of lines says which keys they have."""


class TestFeather(FromFolder):
    keep = kept.feather


class TestDataSet(FromFolder):
    keep = kept.data_set


class TestDuckDBFile(FromFolder):
    keep = kept.duckdb_file


class TestSqliteFile(FromFolder):
    keep = kept.sqlite_file_of_texts


@pytest.mark.slow
class TestDelta(FromFolder):
    keep = kept.delta


@pytest.mark.slow
class TestIceberg(FromFolder):
    keep = kept.iceberg
