"""A DuckDB relation is read if its rows are records, in a way that other records do not touch."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

import prdp
from prdp.engines.duckdb.engine import open_source
from prdp.errors import EngineFailure, InvalidRequest

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
    opened.execute('CREATE VIEW "a view" AS SELECT x FROM t WHERE random() < 0.5')
    opened.execute('CREATE VIEW "a ""view""" AS SELECT x FROM t WHERE random() < 0.5')
    opened.execute('CREATE VIEW "İx" AS SELECT x FROM t WHERE random() < 0.5')
    opened.execute("CREATE TABLE made (x DOUBLE, y DOUBLE GENERATED ALWAYS AS (x + random()))")
    opened.create_function("kept", lambda x: x, ["DOUBLE"], "DOUBLE")
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
        "SELECT range AS v FROM range(10)",
    ],
)
def test_scans_with_filters_and_projections_are_read(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    relation = connection.sql(sql)
    (rows,) = connection.execute(f"SELECT count(*) FROM ({sql})").fetchall()[0]
    table = prdp.open(relation, policy=POLICY, synthetic=True)
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
        ("SELECT x, random/**/() AS r FROM t", "random"),
        ('SELECT x, "random"() AS r FROM t', "random"),
        ("SELECT x, age(TIMESTAMP '2025-01-01') AS a FROM t", "age"),
        ("SELECT x, current_setting('threads') AS n FROM t", "current_setting"),
        ('SELECT * FROM "a view"', "random"),
        ("SELECT * FROM made", "random"),
        ("SELECT *, rowid AS n FROM t", "rowid"),
        ("SELECT x FROM t WHERE rowid % 2 = 0", "rowid"),
        ('SELECT x FROM t WHERE "rowid" < 3', "rowid"),
        ("SELECT x, t.rowid AS n FROM t", "rowid"),
        ('SELECT x, t . "RowId" AS n FROM t', "rowid"),
        ('SELECT x, "current_date" AS n FROM t', "current_date"),
        ("""SELECT x AS "one's", random() AS "other's" FROM t""", "random"),
        ("SELECT x -- it's\n, random() AS r -- isn't it?\n FROM t", "random"),
        ("SELECT $$'$$ AS a, random() AS r, $$'$$ AS b FROM t", "random"),
        ("SELECT E'\\'' AS a, random() AS r, E'\\'' AS b FROM t", "random"),
        ("SELECT /* /* */ ' */ random() AS r, ' ' AS b FROM t", "random"),
        ('SELECT * FROM "a ""view"""', "random"),
        ('SELECT * FROM "İx"', "random"),
        ("FROM query('SELECT x, random() AS r FROM t')", "query"),
        ("SELECT kept(x) AS x FROM t", "kept"),
        ("SELECT * FROM (VALUES (1), (2)) AS w(v)", "computed before"),
        ("PIVOT t ON s USING count(*) GROUP BY v", "computed before|AGGREGATE|GROUP_BY"),
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
    relation = connection.sql("SELECT * FROM t WHERE x < ?", params=[3])
    with pytest.raises(InvalidRequest, match=r"parameters|computed before"):  # DuckDB 1 has run them
        open_source(relation, None)


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
    sources = [open_source(relation, None, rows_are_records=True).source for _ in range(2)]
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
        table.filter("v > 1").count(share="1/4")
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
        counts.append(engine.rows_of(f"SELECT count(*) FROM {engine.records}"))
    assert counts == [[(1000,)], [(1000,)]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x::TINYINT AS v FROM u",
        "SELECT x FROM u WHERE (CASE WHEN s = 'Anna' THEN 'flu' ELSE '1' END)::INT = 1",
        "SELECT s::INT AS x FROM u",
    ],
)
def test_opening_a_relation_reads_no_record_even_where_reading_one_fails(sql: str) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE u AS SELECT 1000 AS x, 'Anna' AS s")
    table = prdp.open(connection.sql(sql), policy=POLICY)
    with pytest.raises(EngineFailure) as caught:
        table.filter("v > 0" if "AS v" in sql else "x > 0").count(share="1/2")
    assert "Anna" not in str(caught.value)


def test_a_failure_to_open_a_relation_does_not_pass_the_engine_s_words_on() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE u AS SELECT 'SECRET' AS s")
    relation = connection.table("u")
    connection.execute("DROP TABLE u")
    with pytest.raises(InvalidRequest) as caught:
        prdp.open(relation, policy=POLICY)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("macro", ["isnan(x) AS x IS NULL", "floor(x) AS ceil(x)", "log2(x) AS 2 * ln(x)"])
def test_a_macro_in_the_place_of_a_function_that_prdp_calls_is_refused(
    connection: duckdb.DuckDBPyConnection, macro: str
) -> None:
    table = prdp.open(connection.table("t"), policy=POLICY)
    connection.execute(f"CREATE MACRO {macro}")
    with pytest.raises(InvalidRequest, match="of its own"):
        prdp.open(connection.table("t"), policy=POLICY)
    with pytest.raises(InvalidRequest, match="of its own"):
        table.count(share="1/2")
    assert not table.ledger.entries


def test_a_view_that_changed_after_it_was_opened_is_refused_before_the_charge(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    table = prdp.open(connection.sql("SELECT * FROM large"), policy=POLICY)
    connection.execute("CREATE OR REPLACE VIEW large AS SELECT x, s FROM t WHERE v >= 90")
    with pytest.raises(InvalidRequest, match="cannot be read any more"):
        table.count(share="1/2")
    connection.execute("CREATE OR REPLACE VIEW large AS SELECT x, s FROM t, range(10)")
    with pytest.raises(InvalidRequest, match="need not be records"):
        table.count(share="1/2")
    assert not table.ledger.entries


def test_texts_that_look_like_addresses_and_schemas_that_differ_make_other_questions(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    def source(sql: str) -> str:
        return open_source(connection.sql(sql), None).source

    assert source("SELECT * FROM t WHERE s = '0xab'") != source("SELECT * FROM t WHERE s = '0xcd'")
    connection.execute("CREATE MACRO less(a, b) AS a < b")
    before = source("SELECT * FROM t WHERE less(x, v)")
    connection.execute("CREATE OR REPLACE MACRO less(b, a) AS a < b")
    assert source("SELECT * FROM t WHERE less(x, v)") != before
    for schema in ("one", "two"):
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE VIEW {schema}.w AS SELECT * FROM main.t WHERE s = '{schema}'")
    texts = set()
    for schema in ("one", "two"):
        connection.execute(f"USE {schema}")
        texts.add(source("SELECT * FROM w"))
    assert len(texts) == 2


def test_a_file_that_is_read_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "2025.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": [1.0]}), path)
    connection = duckdb.connect()
    with pytest.raises(InvalidRequest, match="one file"):
        prdp.open(connection.sql(f"FROM read_parquet(['{path}', '{path}'])"), policy=POLICY)
    (tmp_path / "latest.parquet").symlink_to(path)
    (tmp_path / "hard.parquet").hardlink_to(path)
    for source in (str(tmp_path / "*.parquet"), connection.sql(f"FROM '{tmp_path}/*.parquet'")):
        with pytest.raises(InvalidRequest, match="one file"):
            prdp.open(source, policy=POLICY)
    assert prdp.open(tmp_path / "latest.parquet", policy=POLICY).name == "latest"


def test_a_relation_whose_folders_are_columns_needs_types_that_are_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "year=2025").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"x": [1.0]}), tmp_path / "year=2025" / "t.parquet")
    connection = duckdb.connect()
    with pytest.raises(InvalidRequest, match="hive_types_autocast"):
        prdp.open(connection.sql(f"FROM read_parquet('{tmp_path}/*/*.parquet')"), policy=POLICY)
    texts = connection.sql(f"FROM read_parquet('{tmp_path}/*/*.parquet', hive_types_autocast = false)")
    assert open_source(texts, None).schema["year"].native == "VARCHAR"


def test_a_frame_of_pandas_inside_a_relation_is_refused() -> None:
    frame = pd.DataFrame({"x": pd.Series([1] * 10, dtype=object)})
    connection = duckdb.connect()
    connection.register("frame", frame)
    with pytest.raises(InvalidRequest, match="the frame itself"):
        prdp.open(connection.sql("SELECT * FROM frame"), policy=POLICY)


def test_plans_that_are_shown_several_at_once_are_refused_in_words(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    connection.execute("SET explain_output = 'all'")
    with pytest.raises(InvalidRequest, match="RESET explain_output"):
        open_source(connection.table("t"), None)


@pytest.mark.parametrize(
    "files",
    [
        "$$one.parquet$$, $$one.parquet$$",
        "'one.parquet', 'file://{folder}/one.parquet'",
        "'a1.parquet', 'a[1].parquet'",
        "'one.parquet', 'on' || 'e.parquet'",
        "'one.parquet', concat('on', 'e.parquet')",
        "'one.parquet', E'on\\x65.parquet'",
        "'*.parquet', '.hidden.parquet'",
    ],
)
def test_a_file_that_is_read_twice_under_names_of_another_kind_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "a1", "a[1]", ".hidden"):
        pyarrow.parquet.write_table(pyarrow.table({"x": [1, 2]}), f"{name}.parquet")
    relation = duckdb.connect().sql(f"FROM read_parquet([{files.format(folder=tmp_path)}])")
    with pytest.raises(InvalidRequest, match=r"one file|not plain texts"):
        prdp.open(relation, policy=POLICY)
