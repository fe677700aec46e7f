"""However PostgreSQL keeps the same rows, it gives the same cells: indices and partitions decide nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

import pytest

from prdp.engines.postgres.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.testing.storage_contract import Record, Storage, StorageContract
from tests.engines.test_postgres import fill, run

pytestmark = pytest.mark.slow

COLUMNS = "x float8, f real, v bigint, d numeric(18,2), job text, day timestamp, ok boolean"
INDICES = (
    "CREATE INDEX ON {0} (x); CREATE INDEX ON {0} (v); CREATE INDEX ON {0} (job); ANALYZE {0}; "
    "CREATE INDEX ON {0} USING brin (x, f, v)"
)
STORAGES = {
    "heap": ("", ""),
    "indices": ("", INDICES),
    "partitions": (
        "PARTITION BY RANGE (x)",
        (
            "CREATE TABLE {0}_low PARTITION OF {0} FOR VALUES FROM (MINVALUE) TO (100); "
            "CREATE TABLE {0}_high PARTITION OF {0} FOR VALUES FROM (100) TO (MAXVALUE); "
            "CREATE TABLE {0}_rest PARTITION OF {0} DEFAULT"
        ),
    ),
}
NUMBERS = count()


class TestStorage(StorageContract):
    examples = 4

    @pytest.fixture(autouse=True)
    def _database(self, new_database: Callable[[], str]) -> None:
        self.address = new_database()
        run(  # or an index over a few rows would never be used
            self.address,
            "DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET enable_seqscan = off', current_database()); "
            "END$$",
        )

    def storages(self) -> Mapping[str, Storage]:
        return {name: self._kept(*how) for name, how in STORAGES.items()}

    def _kept(self, form: str, then: str) -> Storage:
        def keep(records: Sequence[Record], _folder: Path) -> SqlEngine:
            table = f"t{next(NUMBERS)}"
            before, after = (then, "") if form else ("", then)
            run(self.address, f"CREATE TABLE {table} ({COLUMNS}) {form}", before.format(table) or "SELECT 1")
            fill(self.address, table, COLUMNS, records, make=False)
            run(self.address, after.format(table) or "SELECT 1")
            return open_source(self.address, None, table=table)

        return keep
