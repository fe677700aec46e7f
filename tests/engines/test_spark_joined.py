"""Frames and tables of one Spark session, joined: the contract, questions about them, and refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import prdp
from prdp.engines.spark.engine import open_tables
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.testing.join_contract import PUBLIC, JoinContract, Tables
from tests.engines.shop import BOTH, answers_as_duckdb_does, answers_sql, arrow_tables, opened
from tests.engines.test_joined import arrow_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
]

NAMES = {"people": "shop_people", "orders": "shop_orders", "towns": "shop_towns"}


def frames(session: Any, tables: Mapping[str, pyarrow.Table]) -> dict[str, Any]:
    return {name: session.createDataFrame(table) for name, table in tables.items()}


class TestJoined(JoinContract):
    """Fewer questions of each kind: every one is a job that takes longer to plan than to run."""

    brief = True

    @pytest.fixture(autouse=True)
    def _session(self, spark: Any) -> None:
        self.spark = spark

    def engine(self, tables: Tables) -> SqlEngine:
        return open_tables(None, frames(self.spark, arrow_of(tables)), PUBLIC)


@pytest.fixture(params=["spark", "connect"])
def session(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def catalogue(spark: Any) -> Iterator[Any]:
    for name, frame in frames(spark, arrow_tables()).items():
        frame.write.format("parquet").saveAsTable(NAMES[name])
    spark.createDataFrame(pyarrow.table(dict(BOTH))).createOrReplaceTempView("shop_both")
    yield spark
    for name in NAMES.values():
        spark.sql(f"DROP TABLE {name}")
    spark.catalog.dropTempView("shop_both")


def test_seeded_answers_of_frames_are_those_of_duckdb(session: Any) -> None:
    answers_as_duckdb_does(frames(session, arrow_tables()))


def test_tables_of_a_catalogue_are_joined_by_their_names(catalogue: Any) -> None:
    answers_as_duckdb_does(NAMES, catalogue)
    join = opened(NAMES, catalogue)
    answers_sql(join)
    catalogue.sql("ALTER TABLE shop_orders ADD COLUMNS (more INT)")
    entries = len(join.ledger.entries)
    with pytest.raises(InvalidRequest, match="Nothing was charged"):
        join.over("orders").sum("price", share="1/10")
    assert len(join.ledger.entries) == entries
    with pytest.raises(InvalidRequest, match="have one source"):
        opened({**NAMES, "people": "shop_both", "orders": "SHOP_both"}, catalogue)
    with pytest.raises(InvalidRequest, match="cannot open the source"):
        opened({**NAMES, "orders": "shop_order"}, catalogue)


def test_public_tables_may_be_computed_and_others_may_not(spark: Any) -> None:
    given = frames(spark, arrow_tables())
    answers_as_duckdb_does({**given, "towns": given["towns"].distinct()})
    for name in ("people", "orders"):
        with pytest.raises(InvalidRequest, match="Deduplicate"):
            opened({**given, name: given[name].distinct()})


def test_tables_that_no_statement_can_join_are_refused_with_what_works(
    spark: Any, connect: Any, tmp_path: Path
) -> None:
    given, others = frames(spark, arrow_tables()), frames(connect, arrow_tables())
    both = spark.createDataFrame(pyarrow.table(dict(BOTH)))
    again = frames(spark.newSession(), arrow_tables())
    for tables, database, words in (
        ({**given, "orders": others["orders"]}, None, "of the same spark"),
        ({**given, "towns": again["towns"]}, None, "of the same spark"),
        ({**given, "towns": tmp_path / "towns.parquet"}, None, r"spark\.read\.parquet"),
        ({**given, "towns": arrow_tables()["towns"]}, None, r"spark\.createDataFrame"),
        ({**given, "towns": spark}, None, "database=spark"),
        ({**given, "people": both, "orders": both}, None, "the same rows"),
        (given, spark, "is not a table's name"),
    ):
        with pytest.raises(InvalidRequest, match=words):
            opened(tables, database)
    with pytest.raises(InvalidRequest, match="types= is for what DuckDB joins"):
        opened(given, types={"orders": {"price": "BIGINT"}})


def test_a_join_shows_its_statement_and_leaves_no_view_behind(spark: Any) -> None:
    join = opened(frames(spark, arrow_tables()))
    shown = str(join.over("orders").explain(prdp.sum("price"), share="1/10"))
    assert "JOIN prdp_" in shown
    join.over("orders").sum("price", share="1/10")
    assert not [
        row.tableName for row in spark.sql("SHOW TABLES").collect() if row.tableName.startswith("prdp_")
    ]
