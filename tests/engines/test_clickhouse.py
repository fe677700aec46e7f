"""ClickHouse meets the contract; statements are run by chDB, which is ClickHouse itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from chdb.session import Session

from prdp.engines.clickhouse import ClickHouseEngine, open_source
from prdp.testing.engine_contract import EngineContract
from prdp.testing.engine_equality import EqualityContract
from tests.engines.test_duckdb import arrow

TABLE = (
    "CREATE OR REPLACE TABLE accounts (eps Nullable(Float64), v Nullable(Int64), x Nullable(Float64), "
    "job Nullable(String), day Nullable(DateTime64(6, 'UTC'))) ENGINE = MergeTree ORDER BY tuple()"
)


@pytest.fixture(scope="session")
def chdb() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


class TestChDB(EngineContract, EqualityContract):
    @pytest.fixture(autouse=True)
    def _session(self, chdb: Session, tmp_path: Path) -> None:
        self.session, self.folder = chdb, tmp_path

    def engine(self, records: Sequence[Mapping[str, Any]]) -> ClickHouseEngine:
        self.session.query(TABLE)
        pyarrow.parquet.write_table(arrow(records), self.folder / "t.parquet")
        self.session.query(f"INSERT INTO accounts SELECT * FROM file('{self.folder}/t.parquet')")
        return open_source(self.session, None, table="accounts")

    def lost(self, records: Sequence[Mapping[str, Any]]) -> ClickHouseEngine:
        engine = self.engine(records)
        self.session.query("DROP TABLE accounts")
        return engine

    def changed(self, records: Sequence[Mapping[str, Any]]) -> ClickHouseEngine:
        engine = self.engine(records)
        self.session.query("ALTER TABLE accounts DROP COLUMN v")
        return engine
