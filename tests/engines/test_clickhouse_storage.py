"""However ClickHouse keeps the same rows, it gives the same cells: no facts about other records are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow.parquet
import pytest
from chdb.session import Session

from prdp.engines.clickhouse.engine import open_source
from prdp.engines.database import Statement
from prdp.engines.sql_engine import SqlEngine
from prdp.testing.storage_contract import EXTREMES, TABLES, Record, Storage, StorageContract
from tests.engines.clickhouse import chdb, kept
from tests.engines.test_storage import arrow

pytestmark = pytest.mark.slow

__all__ = ["chdb"]

_TYPES = {
    "x": "Float64",
    "f": "Float32",
    "v": "Int64",
    "d": "Decimal(18, 2)",
    "job": "String",
    "day": "DateTime64(6, 'UTC')",
    "ok": "Bool",
}
_NULLABLE = "SETTINGS allow_nullable_key = 1, index_granularity = 4, add_minmax_index_for_numeric_columns = 1"
_INDICES = (
    "INDEX a x TYPE minmax GRANULARITY 1, INDEX b v TYPE set(0) GRANULARITY 1, "
    "INDEX c job TYPE bloom_filter GRANULARITY 1, INDEX d (x < 100) TYPE set(2) GRANULARITY 1, "
    "INDEX e f TYPE minmax GRANULARITY 1"
)
_PROJECTION = "PROJECTION p (SELECT x, count(), sum(v) GROUP BY x)"

WAYS = {
    "log": ("", "ENGINE = StripeLog"),
    "by number": ("", f"ENGINE = MergeTree ORDER BY (x, v) {_NULLABLE}"),
    "in parts": ("", f"ENGINE = MergeTree ORDER BY x PARTITION BY (x < 10, isNaN(x), ok) {_NULLABLE}"),
    "with indices": (f", {_INDICES}", f"ENGINE = MergeTree ORDER BY v {_NULLABLE}"),
    "with a projection": (f", {_PROJECTION}", f"ENGINE = MergeTree ORDER BY v {_NULLABLE}"),
}


def columns(extra: str = "") -> str:
    return ", ".join(f"{name} Nullable({kind})" for name, kind in _TYPES.items()) + extra


class TestStorage(StorageContract):
    examples = 4

    @pytest.fixture(autouse=True)
    def _session(self, chdb: Session) -> None:
        self.session = chdb

    def storages(self) -> Mapping[str, Storage]:
        ways = {name: self._table(*way) for name, way in WAYS.items()}
        return {**ways, "low cardinality": self._dictionaries, "view over a file": self._file}

    def _table(self, extra: str, how: str) -> Storage:
        def keep(records: Sequence[Record], folder: Path) -> SqlEngine:
            name = kept(self.session, folder, arrow(records), columns(extra), how)
            return open_source(self.session, None, table=name)

        return keep

    def _dictionaries(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        low = columns().replace("job Nullable(String)", "job LowCardinality(Nullable(String))")
        name = kept(self.session, folder, arrow(records), low, "ENGINE = MergeTree ORDER BY tuple()")
        return open_source(self.session, None, table=name)

    def _file(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        path = folder / "given.parquet"
        pyarrow.parquet.write_table(arrow(records), path, row_group_size=4, write_page_index=True)
        name = f"view_{abs(hash(str(path)))}"
        self.session.query(f"CREATE VIEW {name} AS SELECT * FROM file('{path}')")
        return open_source(self.session, None, table=name, rows_are_records=True)


def test_facts_about_others_decide_nothing_in_any_statement(chdb: Session, tmp_path: Path) -> None:
    """Ask plainly, as no statement of prdp's does: with ClickHouse's own settings, some counts are wrong."""
    careless, found = [], []
    for extra, how in (WAYS[way] for way in ("by number", "in parts", "with indices")):
        for records in (TABLES["numbers and NaN"], [*TABLES["numbers and NaN"], EXTREMES[0]]):
            name = kept(chdb, tmp_path, arrow(records), columns(extra), how)
            engine = open_source(chdb, None, table=name)
            more = int(len(records) > len(TABLES["numbers and NaN"]))
            for condition, true in (("NOT (x < 100)", 60 + more), ("x < 100", 40), ("isNaN(x)", 60)):
                sql = f"SELECT toInt64(count()) FROM {name} WHERE {condition}"
                found.append(engine.database.rows(Statement(sql), engine._tables) == [(true,)])
                careless.append(int(chdb.query(sql).data()) == true)
    assert all(found)
    assert not all(careless)
