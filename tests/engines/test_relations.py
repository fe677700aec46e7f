"""A DuckDB relation is read if its rows are records, in a way that other records do not touch."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import prdp
from prdp.engines.duckdb import open_source
from prdp.errors import InvalidRequest

POLICY = prdp.Policy.constant(1)


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    opened.execute(
        "CREATE TABLE t AS SELECT CAST(range AS DOUBLE) AS x, range AS v, 'a' AS s FROM range(100)"
    )
    opened.execute("CREATE VIEW first_ten AS SELECT * FROM t LIMIT 10")
    opened.execute("CREATE VIEW large AS SELECT x + 1 AS x, s FROM t WHERE v >= 50 AND s LIKE '%a%'")
    opened.execute("CREATE MACRO shaken(x) AS x + random()")
    return opened


@pytest.mark.parametrize(
    "sql",
    [
        "FROM t",
        "SELECT x, v * 2 AS w FROM t WHERE x < 50 AND s LIKE 'a%'",
        "FROM large",
        "SELECT * FROM (SELECT * FROM large WHERE x > 60) WHERE x < 70",
        "WITH q AS (SELECT * FROM t WHERE v > 3) SELECT x FROM q",
        "SELECT * FROM t ORDER BY x",
        "SELECT CASE WHEN v IN (1, 2, 3) THEN 'few' ELSE lower(s) END AS s FROM t",
        "SELECT * FROM (VALUES (1), (2)) AS w(v)",
        "SELECT range AS v FROM range(10)",
    ],
)
def test_scans_with_filters_and_projections_are_read(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    relation = connection.sql(sql)
    (rows,) = connection.execute(f"SELECT count(*) FROM ({sql})").fetchall()[0]
    table = prdp.open(relation, policy=POLICY, stand_in=True)
    assert abs(table.count(share=1).value - rows) < 60


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT t.* FROM t JOIN t AS u USING (v)", "JOIN"),
        ("SELECT * FROM t, range(3)", "CROSS_PRODUCT"),
        ("SELECT * FROM t WHERE x IN (SELECT max(x) FROM t)", "JOIN|AGGREGATE"),
        ("SELECT x - (SELECT avg(x) FROM t) AS x FROM t", "CROSS_PRODUCT|AGGREGATE"),
        ("SELECT *, row_number() OVER () AS n FROM t", "WINDOW"),
        ("SELECT s, count(*) AS n FROM t GROUP BY s", "GROUP_BY|AGGREGATE"),
        ("SELECT DISTINCT x FROM t", "GROUP_BY|AGGREGATE|DISTINCT"),
        ("SELECT * FROM t LIMIT 10", "LIMIT"),
        ("SELECT * FROM t ORDER BY x LIMIT 10", "LIMIT|TOP_N"),
        ("SELECT * FROM t USING SAMPLE 10", "SAMPLE"),
        ("SELECT * FROM t TABLESAMPLE 10%", "SAMPLE"),
        ("SELECT unnest([1, 2]) AS n FROM t", "UNNEST"),
        ("SELECT x FROM t UNION ALL SELECT x FROM t", "UNION"),
        ("SELECT * FROM t POSITIONAL JOIN t AS u", "POSITIONAL"),
        ("UNPIVOT t ON x, v", "UNNEST"),
        ("SELECT x, random() AS r FROM t", "random"),
        ("SELECT * FROM t WHERE random() < 0.5", "random"),
        ("SELECT shaken(x) AS x FROM t", "random"),
        ("SELECT gen_random_uuid() AS id FROM t", "uuid"),
        ("SELECT x, current_timestamp AS now FROM t", "current_timestamp"),
        ("SELECT x, now() AS now FROM t", "now"),
    ],
)
def test_relations_whose_rows_need_not_be_records_are_refused_unless_the_caller_says_so(
    connection: duckdb.DuckDBPyConnection, sql: str, says: str
) -> None:
    relation = connection.sql(sql)
    with pytest.raises(InvalidRequest, match=f"(?s)({says}).*rows_are_records=True"):
        prdp.open(relation, policy=POLICY)
    assert "relation" not in prdp.open(relation, policy=POLICY, rows_are_records=True).name


def test_a_view_cannot_hide_a_limit(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InvalidRequest, match="LIMIT"):
        prdp.open(connection.sql("SELECT * FROM first_ten WHERE x < 5"), policy=POLICY)


def test_a_reader_in_which_one_line_changes_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    connection = duckdb.connect()
    with pytest.raises(InvalidRequest, match="READ_CSV"):
        prdp.open(connection.read_csv(str(tmp_path / "t.csv")), policy=POLICY)


def test_a_relation_s_parameters_are_refused_where_its_text_does_not_show_them(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    relations = [connection.sql("SELECT * FROM t WHERE x < ?", params=[limit]) for limit in (3, 90)]
    try:
        sources = {open_source(relation, None).source for relation in relations}
    except InvalidRequest as refused:
        assert "parameters" in str(refused)
    else:  # where DuckDB has run them already, both are plain tables of rows
        assert sources == {""}


def test_differently_filtered_relations_never_share_an_answer(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    def asked(sql: str) -> tuple[prdp.Release, int]:
        table = prdp.open(connection.sql(sql), policy=POLICY, name="t", ledger=tmp_path / "t.ledger")
        return table.count(share="1/100"), len(table.ledger.entries)

    narrow, wide = asked("SELECT x FROM t WHERE x < 3"), asked("SELECT x FROM t WHERE x < 90")
    assert (narrow[1], wide[1]) == (1, 2)
    assert asked("SELECT x FROM t WHERE x < 3") == (narrow[0], 2)
    assert asked("SELECT x FROM large")[1] == 3
    assert asked("SELECT x FROM large")[1] == 3
    connection.execute("CREATE OR REPLACE VIEW large AS SELECT x, s FROM t WHERE v >= 90")
    assert asked("SELECT x FROM large")[1] == 4


def test_a_plain_table_has_the_same_question_as_a_file(connection: duckdb.DuckDBPyConnection) -> None:
    assert open_source(connection.table("t"), None).source == ""
    assert open_source(connection.from_arrow(pyarrow.table({"x": [1.0]})), None).source == ""


def test_a_frame_s_filter_reads_the_same_in_every_process() -> None:
    frame = pyarrow.table({"x": [1.0, 2.0]})
    connections = [duckdb.connect() for _ in range(3)]
    sources = {open_source(one.from_arrow(frame).filter("x < 2"), None).source for one in connections}
    assert len(sources) == 1
    assert "x < 2" in sources.pop().replace("x<2", "x < 2")


def test_rows_in_memory_are_never_written_into_a_question() -> None:
    connection = duckdb.connect()
    relation = connection.sql("SELECT v + 1 AS v FROM (VALUES (123456), (7)) AS t(v) WHERE v > 3")
    sources = [open_source(relation, None).source for _ in range(2)]
    assert sources[0] != sources[1]
    assert not any("123456" in source for source in sources)


def test_the_caller_s_settings_are_as_they_were(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET disabled_optimizers = 'in_clause'")
    relation = connection.sql("SELECT * FROM t WHERE x < 3")
    table = prdp.open(relation, policy=POLICY)
    table.count(share="1/2")
    setting = "SELECT current_setting('disabled_optimizers')"
    assert connection.execute(setting).fetchall() == [("in_clause",)]
    connection.execute("DROP TABLE t CASCADE")
    with pytest.raises(InvalidRequest, match="cannot be read any more"):
        table.where("v > 1").count(share="1/4")
    assert connection.execute(setting).fetchall() == [("in_clause",)]


def test_a_database_whose_settings_are_locked_is_refused() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    connection.execute("SET lock_configuration = true")
    with pytest.raises(InvalidRequest, match="disabled_optimizers"):
        prdp.open(connection.table("t"), policy=POLICY)


def test_a_relation_s_own_filter_hangs_on_no_other_record(tmp_path: Path) -> None:
    counts = []
    for extra in ([], [150.0]):
        x = np.concatenate([np.linspace(1, 9, 1000), np.full(100_000, np.nan), extra])
        pyarrow.parquet.write_table(pyarrow.table({"x": x}), tmp_path / "t.parquet")
        connection = duckdb.connect()
        relation = connection.sql(f"SELECT * FROM '{tmp_path}/t.parquet' WHERE x < 100")
        engine = open_source(relation, None)
        counts.append(engine._run(f"SELECT count(*) FROM {engine._records}"))
    assert counts == [[(1000,)], [(1000,)]]
