"""Questions about a table of a PostgreSQL database: answered as DuckDB answers them, and refused in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

import prdp
from prdp.engines.postgres.session import PostgresSession, one_snapshot
from prdp.errors import EngineFailure, InvalidRequest
from prdp.tables.table import Table
from prdp.testing import simulate
from tests.engines.test_postgres import fill, run

pytestmark = pytest.mark.slow

NewDatabase = Callable[[], str]
PLACES = np.arange(6000)
ACCOUNTS = {
    "balance": (PLACES * 7919) % 20_011 - 5_000,
    "rate": (PLACES % 77) / 8,
    "job": np.array(["clerk", "chef", "Chef", "nurse"])[PLACES % 4],
    "owner": PLACES % 1_500,
    "number": PLACES,
}
COLUMNS = "balance bigint NOT NULL, rate float8, job varchar(10), owner int, number int"


@pytest.fixture(scope="module")
def accounts(postgres_server: object) -> str:
    address: str = postgres_server.new_database()  # type: ignore[attr-defined]
    rows = zip(*(column.tolist() for column in ACCOUNTS.values()), strict=True)
    fill(address, "accounts", COLUMNS, [dict(zip(ACCOUNTS, row, strict=True)) for row in rows])
    run(
        address,
        "CREATE SCHEMA branch",
        'CREATE TABLE branch."Accounts" AS SELECT * FROM accounts LIMIT 10',
        "CREATE VIEW rich AS SELECT * FROM accounts WHERE balance > 0",
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM accounts",
    )
    return address


def opened(source: object, table: str | None = None, **options: object) -> Table:
    options = {"policy": "1000 / greatest(abs(balance), 100)"} | options
    return prdp.open(
        source,
        table=table,
        bounds={"balance": (-5_000, 20_000), "rate": (0, 10)},
        round_to={"rate": "1/8"},
        **options,  # type: ignore[arg-type]
    )


QUESTIONS: list[Callable[[Table], tuple[object, object]]] = [
    lambda table: (table, prdp.count()),
    lambda table: (table, prdp.sum("balance")),
    lambda table: (table.filter("job LIKE 'c%' AND rate > 2"), prdp.sum("rate")),
    lambda table: (
        table.group_by("job", keys=["clerk", "chef", "cook"]),
        [prdp.count(), prdp.mean("balance")],
    ),
    lambda table: (table.group_by(prdp.bins("balance", range(-5_000, 20_001, 50))), prdp.count()),
    lambda table: (table.group_by("number", keys=range(10_000)), prdp.count()),
    lambda table: (table, prdp.count_distinct("owner")),
    lambda table: (table, prdp.median("balance")),
]


@pytest.mark.meets("equality")
@pytest.mark.parametrize("privacy_unit", [None, "owner"])
def test_seeded_answers_are_those_of_duckdb(accounts: str, privacy_unit: str | None) -> None:
    tables = [
        opened(source, table, privacy_unit=privacy_unit, synthetic=True)
        for source, table in ((ACCOUNTS, None), (accounts, "accounts"))
    ]
    for question in QUESTIONS[: None if privacy_unit is None else 6]:
        first, second = (
            simulate(*question(table), share="1/2", runs=1, seed=11)  # type: ignore[call-overload]
            for table in tables
        )
        assert list(map(str, first)) == list(map(str, second))


def test_keys_that_a_question_finds_are_found_in_postgres_too(accounts: str) -> None:
    table = opened(accounts, "accounts", policy="3")
    found = table.find_keys("job", share="1/2", pattern="[A-Za-z]{4,5}")
    assert {key for (key,) in found.top(4).keys} == {"clerk", "chef", "Chef", "nurse"}


def test_a_hundred_thousand_keys_are_one_statement(accounts: str) -> None:
    table = opened(accounts, "accounts", policy="1")
    keys = [f"nobody {place}" for place in range(99_999)] + ["clerk"]
    found = table.group_by("job", keys=keys).count(share="1/2")
    assert len(found) == 100_000
    clerks = found["clerk"]
    assert isinstance(clerks, prdp.Release)
    assert abs(clerks.value - 1_500) < 100


def test_sql_is_asked_of_a_table_in_postgres(accounts: str) -> None:
    table = opened(accounts, "accounts", policy="1")
    rows = table.sql("SELECT COUNT(*) FROM accounts WHERE upper(job) = 'CHEF'", share="1/2")
    ((chefs,),) = rows
    assert isinstance(chefs, prdp.Release)
    assert abs(chefs.value - 3_000) < 100
    assert "COLLATE" in str(table.explain(prdp.count_distinct("job"), share="1/10"))


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("accounts", "accounts"),
        ("ACCOUNTS", "ACCOUNTS"),
        ("public.accounts", "accounts"),
        ("branch.Accounts", "Accounts"),
        ('branch."Accounts"', '"Accounts"'),
    ],
)
def test_a_table_is_named_as_it_is_written_or_as_postgres_reads_names(
    accounts: str, name: str, called: str
) -> None:
    table = opened(accounts, name)
    assert (table.name, list(table.schema)) == (called, list(ACCOUNTS))


@pytest.mark.parametrize("name", ["rich", "kept"])
def test_a_view_is_opened_on_the_unit_s_word_and_its_query_is_in_every_question(
    accounts: str, name: str
) -> None:
    with pytest.raises(InvalidRequest, match="rows_are_records=True"):
        opened(accounts, name)
    table = opened(accounts, name, rows_are_records=True)
    table.count(share="1/10")
    assert "FROM accounts" in repr(table.ledger.entries)


def test_a_view_whose_query_has_changed_is_another_table(new_database: NewDatabase) -> None:
    address = new_database()
    run(address, "CREATE TABLE t (balance bigint)", "CREATE VIEW v AS SELECT * FROM t")
    table = prdp.open(address, table="v", policy="1", rows_are_records=True)
    run(address, "CREATE OR REPLACE VIEW v AS SELECT * FROM t WHERE balance > 1")
    with pytest.raises(InvalidRequest, match="is not what was opened"):
        table.count(share="1/10")
    assert not table.ledger.entries


def test_rows_that_row_security_hides_are_not_left_out_in_silence(new_database: NewDatabase) -> None:
    address = new_database()
    run(
        address,
        "CREATE TABLE t (balance bigint)",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY few ON t USING (balance < (SELECT max(balance) FROM t AS others))",
        "CREATE ROLE seeing LOGIN",
        "GRANT SELECT ON t TO seeing",
    )
    try:
        with pytest.raises(InvalidRequest, match="BYPASSRLS"):
            prdp.open(address.replace("postgres:@", "seeing@"), table="t", policy="1")
    finally:
        run(address, "DROP OWNED BY seeing", "DROP ROLE seeing")


@pytest.fixture
def secured(new_database: NewDatabase) -> Iterator[tuple[str, str]]:
    """Return the addresses of a database's owner and of a user, who sees what policies show of a table."""
    address = new_database()
    run(
        address,
        "CREATE TABLE t (balance bigint)",
        "INSERT INTO t VALUES (1), (2), (3)",
        "CREATE ROLE seeing LOGIN",
        "GRANT SELECT ON t TO seeing",
    )
    yield address, address.replace("postgres:@", "seeing@")
    run(address, "DROP OWNED BY seeing", "DROP ROLE seeing")


_SECURE = ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE POLICY few ON t USING (balance < {0})")


@pytest.mark.parametrize("values", [(1, 2, 3), (), (10**18,)])
def test_a_policy_that_appears_after_the_last_look_fails_whatever_the_rows(
    secured: tuple[str, str], monkeypatch: pytest.MonkeyPatch, values: tuple[int, ...]
) -> None:
    unit, user = secured
    table = prdp.open(user, table="t", policy="1")
    run(unit, "DELETE FROM t", *(f"INSERT INTO t VALUES ({value})" for value in values))
    plain = PostgresSession.run

    def then_run(session: PostgresSession, statement: str, *, filtered: bool) -> Any:
        run(unit, *(one.format(2) for one in _SECURE))
        return plain(session, statement, filtered=filtered)

    monkeypatch.setattr(PostgresSession, "run", then_run)
    with pytest.raises(EngineFailure) as failure:
        table.count(share="1/10")
    assert str(failure.value) == str(EngineFailure())


def test_a_table_with_row_security_names_policies_and_role_in_every_question(
    secured: tuple[str, str],
) -> None:
    unit, user = secured
    run(unit, *(one.format(3) for one in _SECURE))
    table = prdp.open(user, table="t", policy="1", rows_are_records=True)
    table.count(share="1/10")
    reported = repr(table.ledger.entries)
    assert "seeing" in reported
    assert "balance < 3" in reported
    run(unit, "ALTER POLICY few ON t USING (balance < 2)")
    with pytest.raises(InvalidRequest, match="is not what was opened"):
        table.count(share="1/5")


def test_who_is_above_row_security_has_no_word_of_it_in_questions(secured: tuple[str, str]) -> None:
    unit, _ = secured
    run(unit, *(one.format(3) for one in _SECURE))
    table = prdp.open(unit, table="t", policy="1")
    table.count(share="1/10")
    assert "row security" not in repr(table.ledger.entries)


def test_columns_that_cannot_be_read_are_stated_to_be_so(new_database: NewDatabase) -> None:
    address = new_database()
    run(
        address,
        "CREATE TABLE t (balance bigint, note jsonb, doubled bigint GENERATED ALWAYS AS (balance * 2))",
    )
    table = prdp.open(address, table="t", policy="1")
    for column in ("note", "doubled"):
        with pytest.raises(InvalidRequest, match=column):
            table.filter(f"{column} > 1")


def test_a_database_of_another_encoding_is_refused(new_database: NewDatabase) -> None:
    address = new_database()
    with psycopg.connect(address, autocommit=True) as database:
        database.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    start, _, options = address.partition("?")
    try:
        with pytest.raises(InvalidRequest, match="is encoded in LATIN1"):
            prdp.open(f"{start.rsplit('/', 1)[0]}/latin?{options}", table="t", policy="1")
    finally:
        with psycopg.connect(address, autocommit=True) as database:
            database.execute("DROP DATABASE latin")


def test_two_tables_of_one_place_are_known_to_be_one(accounts: str) -> None:
    one, other = (opened(accounts, name)._origins[0] for name in ("accounts", "public.accounts"))
    assert one.shared(other).startswith("the table 'public.accounts' of postgresql://")


def test_options_that_are_for_files_are_refused(accounts: str) -> None:
    with pytest.raises(InvalidRequest, match="a table of a database states its own"):
        opened(accounts, "accounts", types={"balance": "BIGINT"})
    with pytest.raises(InvalidRequest, match="give its address"):
        opened("accounts.parquet", "accounts", engine="postgres")


def _while_somebody_writes(address: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Insert a hundred records after each statement; return the list of statements."""
    sent: list[str] = []
    plain = PostgresSession.run

    def then_write(session: PostgresSession, statement: str, *, filtered: bool) -> Any:
        found = plain(session, statement, filtered=filtered)
        sent.append(statement)
        run(address, "INSERT INTO t SELECT i, 'b', 10 FROM generate_series(101, 200) AS i")
        return found

    monkeypatch.setattr(PostgresSession, "run", then_write)
    return sent


@pytest.mark.parametrize("way", ["several queries", "groups of units", "own mechanism"])
def test_all_statements_of_a_question_read_one_snapshot(
    new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    address = new_database()
    run(
        address,
        "CREATE TABLE t (id bigint, job text, x bigint)",
        "INSERT INTO t SELECT i, 'a', 10 FROM generate_series(1, 100) AS i",
    )
    rich = prdp.Policy.constant(10**6)
    table = prdp.open(
        address,
        table="t",
        policy=rich,
        bounds={"x": (0, 100)},
        privacy_unit="id" if way == "groups of units" else None,
    )
    sent = _while_somebody_writes(address, monkeypatch)
    if way == "several queries":
        found = table.agg(n=prdp.count(), jobs=prdp.count_distinct("job"), share="1/2")
        answers = [round(release.value) for release in found.releases[0]]
    elif way == "groups of units":
        grouped = table.group_by("job", keys=["a", "b"]).sum("x", share="1/2")
        answers = [round(row[0].value) for row in grouped.releases]
    else:
        answers = [table.run(lambda rows, *_: rows.num_rows, columns=["x"], share="1/2").value]
    assert len(sent) > 1
    assert answers == {"several queries": [100, 1], "groups of units": [1000, 0], "own mechanism": [100]}[way]


def test_a_question_within_another_leaves_it_its_snapshot(new_database: NewDatabase) -> None:
    address = new_database()
    run(address, "CREATE TABLE t (id bigint)", "INSERT INTO t VALUES (1)")
    session = PostgresSession.at(address)

    def counted() -> int:
        ((number,),) = session.run("SELECT count(*) AS n FROM public.t", filtered=False).plain()
        return int(number)

    with one_snapshot():
        assert counted() == 1
        run(address, "INSERT INTO t VALUES (2)")
        with one_snapshot():
            assert counted() == 2
        assert counted() == 1
    assert counted() == 2
