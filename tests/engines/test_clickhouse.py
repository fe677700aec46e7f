"""ClickHouse meets the contract; statements are run by chDB, which is ClickHouse itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from chdb.session import Session

import prdp
from prdp.engines.clickhouse.dialect import CLICKHOUSE
from prdp.engines.clickhouse.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.translate import translated
from prdp.errors import InvalidRequest
from prdp.schema import Kind
from prdp.testing.engine_contract import EngineContract
from prdp.testing.engine_equality import EqualityContract
from tests.engines.clickhouse import chdb, kept
from tests.engines.test_duckdb import arrow

pytestmark = pytest.mark.slow

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

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return open_source(self.session, None, table=self.table(records))

    def lost(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.after("DROP TABLE {}", records)

    def changed(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.after("ALTER TABLE {} DROP COLUMN v", records)

    def after(self, statement: str, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        self.session.query("DROP TABLE IF EXISTS gone")  # a refusal names the table
        self.session.query(f"RENAME TABLE {self.table(records)} TO gone")
        engine = open_source(self.session, None, table="gone")
        self.session.query(statement.format("gone"))
        return engine


def test_no_key_that_records_are_grouped_by_may_be_null_and_null_is_a_group(chdb: Any) -> None:
    level = "CASE WHEN x > 1 THEN CAST(x AS SMALLINT) END AS level"
    rows = "SELECT unnest([0, 0, NULL]) AS grp, unnest([0.5, 2.0, 2.0]) AS x"
    sql = f"SELECT grp, level, count(*) AS n FROM (SELECT grp, {level} FROM ({rows})) GROUP BY grp, level"
    written = f"{translated(sql, CLICKHOUSE).sql} SETTINGS prefer_column_name_to_alias = 1"
    assert sorted(str(chdb.query(written)).split()) == ["0,2,1", "0,\\N,1", "\\N,2,1"]
    aggregating = str(chdb.query(f"EXPLAIN header = 1 {written}")).partition("Aggregating")[2]
    assert "Nullable" not in aggregating.partition("Keys:")[0]


def test_a_column_that_may_be_computed_when_it_is_read_is_not_read(chdb: Any) -> None:
    name = "prdp_defaults"
    chdb.query(f"CREATE TABLE {name} (x Float64, c Int64 DEFAULT 5) ENGINE = MergeTree ORDER BY tuple()")
    chdb.query(f"INSERT INTO {name} (x) VALUES (1), (0)")
    chdb.query(f"ALTER TABLE {name} ADD COLUMN q Int64 DEFAULT intDiv(10, toInt32(x))")
    kinds = {column: kind.kind for column, kind in open_source(chdb, None, table=name).schema.items()}
    assert kinds == {"x": Kind.NUMBER, "c": Kind.NUMBER, "q": Kind.OTHER}


def test_rows_that_are_added_up_when_they_are_old_need_the_callers_word(chdb: Any) -> None:
    chdb.query(
        "CREATE TABLE prdp_old (id Int64, x Int64, d Date) ENGINE = MergeTree ORDER BY id "
        "TTL d + INTERVAL 1 DAY GROUP BY id SET x = sum(x)"
    )
    with pytest.raises(InvalidRequest, match="merges rows in the background"):
        open_source(chdb, None, table="prdp_old")


@pytest.mark.parametrize("column", ["x", "v"])
def test_many_bins_are_searched(chdb: Any, column: str) -> None:
    name = f"prdp_bins_{column}"
    chdb.query(f"CREATE TABLE {name} (x Float64, v Nullable(Int64)) ENGINE = MergeTree ORDER BY tuple()")
    chdb.query(f"INSERT INTO {name} SELECT number / 7, number FROM numbers(1000)")
    table = prdp.open(chdb, policy="1", table=name, engine="clickhouse", name="t", synthetic=True)
    answers = table.group_by(prdp.bins(column, list(range(0, 1400, 2)))).count(share=1)
    assert sum(float(answer) for (answer,) in answers.releases) > 500
