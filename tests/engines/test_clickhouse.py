"""ClickHouse meets the contract; statements are run by chDB, which is ClickHouse itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from chdb.session import Session

from prdp.engines.clickhouse import ClickHouseEngine, open_source
from prdp.testing.engine_contract import EngineContract
from prdp.testing.engine_equality import EqualityContract
from tests.engines.clickhouse import chdb, kept
from tests.engines.test_duckdb import arrow

__all__ = ["chdb"]

COLUMNS = (
    "eps Nullable(Float64), v Nullable(Int64), x Nullable(Float64), job Nullable(String), "
    "day Nullable(DateTime64(6, 'UTC'))"
)
PLAIN = "ENGINE = MergeTree ORDER BY tuple()"


class TestChDB(EngineContract, EqualityContract):
    @pytest.fixture(autouse=True)
    def _session(self, chdb: Session, tmp_path: Path) -> None:
        self.session, self.folder = chdb, tmp_path

    def table(self, records: Sequence[Mapping[str, Any]]) -> str:
        return kept(self.session, self.folder, arrow(records), COLUMNS, PLAIN)

    def engine(self, records: Sequence[Mapping[str, Any]]) -> ClickHouseEngine:
        return open_source(self.session, None, table=self.table(records))

    def lost(self, records: Sequence[Mapping[str, Any]]) -> ClickHouseEngine:
        return self.after("DROP TABLE {}", records)

    def changed(self, records: Sequence[Mapping[str, Any]]) -> ClickHouseEngine:
        return self.after("ALTER TABLE {} DROP COLUMN v", records)

    def after(self, statement: str, records: Sequence[Mapping[str, Any]]) -> ClickHouseEngine:
        name = self.table(records)
        engine = open_source(self.session, None, table=name)
        self.session.query(statement.format(name))
        return engine
