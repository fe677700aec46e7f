"""Real clients of the PostgreSQL protocol: psql, psycopg, SQLAlchemy, pandas, Polars, JDBC, Node."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import psycopg
import pytest
import sqlalchemy

from tests.server.serving import COUNT
from tests.server.wire.serving_wire import WireServed, wire_served
from tests.tools import lacking, program

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CLIENTS = Path(__file__).parent / "clients"
JDBC = Path("/usr/share/java/postgresql.jar")
NODE_MODULES = ROOT / ".clients" / "node_modules"
GROUPED = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"
SHARED = "-c prdp.share=0.01"


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireServed]:
    from tests.server.serving import write_project  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("wire") / "project"
    folder.mkdir()
    write_project(folder)
    with wire_served(folder) as made:
        yield made


def psql(wire: WireServed, *commands: str, **options: str) -> str:
    tool = program("postgres", "psql is not installed", name="psql")
    given = [part for command in commands for part in ("-c", command)]
    done = subprocess.run(
        [tool, wire.conninfo(**options), "-X", "-A", *given],
        capture_output=True, text=True, check=False, timeout=300,
        env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
    )  # fmt: skip
    return done.stdout + done.stderr


def test_psql_lists_and_describes_tables(wire: WireServed) -> None:
    for command in (r"\d", r"\dt"):
        assert "public|visits|table|owner" in psql(wire, command)
    assert "prdp|owner|UTF8" in psql(wire, r"\l")
    described = psql(wire, r"\d+ visits")
    assert "days|bigint" in described
    assert "from 0 to 100" in described
    assert "SSL" in psql(wire, r"\conninfo")


def test_psql_asks_and_is_refused(wire: WireServed) -> None:
    refused = psql(wire, "SELECT COUNT(*) AS n FROM visits WHERE days > 77")
    assert "HINT:  Write: SET prdp.share = 0.01" in refused
    shown = psql(wire, "SET prdp.share = 0.01", GROUPED, "SHOW prdp.remaining", "BEGIN", COUNT, "ROLLBACK")
    assert "ward|n|n_low|n_high|n_flag" in shown
    assert "ROLLBACK gives nothing back" in shown
    assert psql(wire, GROUPED).splitlines()[0] == "ward|n|n_low|n_high|n_flag"  # a repeat, without a share
    wrong = psql(wire, "SELECT COUNT(*) FROM visits WHERE dayz > 3")
    assert "LINE 1: SELECT COUNT(*) FROM visits WHERE dayz > 3" in wrong
    assert "HINT:  Did you mean days?" in wrong


def test_psql_without_tls_and_with_a_wrong_certificate_gets_nowhere(wire: WireServed, tmp_path: Path) -> None:
    assert "this server speaks TLS alone" in psql(wire, "SELECT 1", sslmode="disable")
    assert "\n1\n" in psql(wire, "SELECT 1", channel_binding="require")
    from prdp.server.wire.certificate import own_certificate  # noqa: PLC0415

    other, _ = own_certificate(tmp_path)
    assert "certificate verify failed" in psql(wire, "SELECT 1", sslrootcert=str(other))


def test_psycopg_asks_in_text_binary_prepared_and_pipelined(wire: WireServed) -> None:
    statement = "SELECT ward, COUNT(*) AS n FROM visits WHERE days > %s GROUP BY ward ORDER BY ward"
    with psycopg.connect(wire.conninfo(options=SHARED), autocommit=True) as connection:
        assert connection.info.server_version == 150000
        answers = [
            connection.cursor(binary=binary).execute(statement, (40,), prepare=prepare).fetchall()
            for binary in (False, True)
            for prepare in (False, True)
        ]
        assert answers[0] == answers[1] == answers[2] == answers[3]
        assert [type(cell) for cell in answers[0][0]] == [str, int, float, float, str]
        with connection.pipeline():
            cursors = [connection.execute(statement, (40,)), connection.execute("SHOW prdp.remaining")]
        assert cursors[0].fetchall() == answers[0]
        assert isinstance(cursors[1].fetchall()[0][1], Decimal)
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("SELECT COUNT(*) FROM visits WHERE days > %s AND dayz > 1", (40,))
        assert (refused.value.sqlstate, refused.value.diag.statement_position) == ("42601", "49")
        assert (refused.value.diag.message_hint or "").startswith("Did you mean days?")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("INSERT INTO visits VALUES (1, 'a')")


def test_psycopg_cancels_a_wait_and_sees_the_answer_later(wire: WireServed) -> None:
    import threading  # noqa: PLC0415

    statement = "SELECT COUNT(*) AS n FROM visits WHERE days < 63"
    with psycopg.connect(wire.conninfo(options=SHARED), autocommit=True) as connection:
        timer = threading.Timer(0.3, connection.cancel_safe)  # cancel() would hold this process's lock
        timer.start()
        try:
            connection.execute(statement)
        except psycopg.errors.QueryCanceled as cancelled:
            assert "the question goes on" in str(cancelled)
        timer.join()
        assert len(connection.execute(statement).fetchall()) == 1
    spent = wire.served.rows("SELECT count(*) FROM {}requests WHERE statement LIKE '%days < 63'")
    assert spent == [(1,)]


@pytest.fixture
def engine(wire: WireServed) -> Iterator[sqlalchemy.Engine]:
    query = {"sslmode": "verify-full", "sslrootcert": str(wire.folder / "prdp.wire.crt"), "options": SHARED}
    url = sqlalchemy.URL.create(
        "postgresql+psycopg", "ana.laptop", wire.password(), "127.0.0.1", wire.port, "prdp", query
    )
    made = sqlalchemy.create_engine(url)
    yield made
    made.dispose()


def test_pandas_polars_and_sqlalchemy_read_the_same_frame(engine: sqlalchemy.Engine) -> None:
    frame = pd.read_sql(GROUPED, engine)
    assert list(frame.columns) == ["ward", "n", "n_low", "n_high", "n_flag"]
    assert [str(kind) for kind in frame.dtypes[1:4]] == ["int64", "float64", "float64"]
    with engine.connect() as connection:
        polars = pl.read_database(GROUPED, connection)
        assert polars["n"].to_list() == list(frame["n"])
        table = sqlalchemy.Table("visits", sqlalchemy.MetaData(), autoload_with=connection)
        counted = sqlalchemy.select(table.c.ward, sqlalchemy.func.count().label("n")).where(table.c.days > 12)
        assert [row[0] for row in connection.execute(counted.group_by(table.c.ward))] == ["a", "b"]


def test_sqlalchemy_inspects_tables(engine: sqlalchemy.Engine) -> None:
    found = sqlalchemy.inspect(engine)
    assert found.get_table_names() == ["loans", "visits"]
    columns = {one["name"]: (str(one["type"]), one["comment"]) for one in found.get_columns("visits")}
    assert columns == {"days": ("BIGINT", "from 0 to 100"), "ward": ("TEXT", "2 keys are listed")}
    assert found.get_pk_constraint("visits")["constrained_columns"] == []
    assert (found.get_foreign_keys("visits"), found.get_indexes("visits")) == ([], [])


def test_jdbc_looks_up_tables_and_asks(wire: WireServed) -> None:
    java = program("java", "Java is not installed")
    if not JDBC.exists():
        lacking("jdbc", "libpostgresql-jdbc-java is not installed")
    libraries = ":".join(map(str, [JDBC, *JDBC.parent.glob("*scram*.jar")]))
    done = subprocess.run(
        [java, "-cp", libraries, str(CLIENTS / "Ask.java"), f"jdbc:postgresql://localhost:{wire.port}/prdp",
         "ana.laptop", wire.password(), str(wire.folder / "prdp.wire.crt")],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    tables = [line for line in said if line.startswith("table|") and "TABLE_SCHEM=public" in line]
    assert ["visits" in line for line in tables] == [False, True]
    columns = [line for line in said if line.startswith("column|")]
    assert [("COLUMN_NAME=days" in line, "TYPE_NAME=int8" in line) for line in columns] == [
        (True, True), (False, False),
    ]  # fmt: skip
    answers = [line for line in said if line.startswith("answer|")]
    assert (len(answers), len(set(answers))) == (16, 2)  # in text, then in binary
    assert [line for line in said if line.startswith("fetched|")] == ["fetched|a", "fetched|b"]
    assert any(line.startswith("refused|42601|ERROR: there is no column dayz") for line in said)


def test_node_postgres_asks_bound_to_the_certificate(wire: WireServed) -> None:
    node = program("node", "Node is not installed")
    if not (NODE_MODULES / "pg").exists():
        lacking("node-postgres", "npm install --prefix .clients pg")
    done = subprocess.run(
        [node, str(CLIENTS / "ask.js"), str(wire.port), "ana.laptop", wire.password(),
         str(wire.folder / "prdp.wire.crt"), str(NODE_MODULES)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    answers = [line for line in said if line.startswith("answer|")]
    assert len(answers) == 2
    assert answers[0] == answers[1]
    assert "types|25 20 701 701 25" in said
    refused = next(line for line in said if line.startswith("refused|"))
    assert refused.split("|")[1:3] == ["42601", "there is no column dayz"]
    assert "notice|ROLLBACK gives nothing back: what was asked is spent." in said
