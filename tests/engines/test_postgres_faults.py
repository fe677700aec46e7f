"""PostgreSQL in trouble: one fixed message, a charge that is kept for the retry, and no password anywhere."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

import prdp
from prdp.errors import EngineFailure, InvalidRequest
from prdp.tables.table import Table
from tests.engines.test_postgres import run
from tests.postgres import PostgresServer, start_postgres

pytestmark = pytest.mark.slow

NewDatabase = Callable[[], str]
FIXED = str(EngineFailure())
PASSWORD = "s3cret-%2F"  # noqa: S105  (no real one; written in an address)
PLAIN = "s3cret-/"
RUNNING = "SELECT pid FROM pg_stat_activity WHERE application_name = 'prdp' AND query LIKE '%prdp_records%'"


@pytest.fixture
def slow(new_database: NewDatabase) -> str:
    return made_slow(new_database())


def made_slow(address: str) -> str:
    """Make a table whose reading takes as many seconds as a second table says."""
    run(
        address,
        "CREATE TABLE accounts (balance bigint, owner text)",
        "INSERT INTO accounts SELECT n, 'owner ' || n FROM generate_series(1, 20000) AS n",
        "CREATE TABLE delay (seconds int)",
        "INSERT INTO delay VALUES (60)",
        "CREATE VIEW slow AS SELECT a.* FROM accounts AS a, "
        "(SELECT pg_sleep((SELECT seconds FROM delay))) AS s",
    )
    return address


@pytest.fixture
def own_server(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """Start a server that may be killed: one with the databases of all tests takes long to recover."""
    with tempfile.TemporaryDirectory(prefix="prdp-") as folder:
        server = start_postgres(Path(folder))
        yield server
        server.abandon()


def opened(address: str, table: str = "accounts", **options: object) -> Table:
    return prdp.open(address, table=table, policy="1", bounds={"balance": (0, 1000)}, **options)  # type: ignore[arg-type]


def while_running(address: str, act: Callable[[int], object]) -> threading.Thread:
    """Wait for a statement of prdp's on the server, and do something to it."""

    def watch() -> None:
        with psycopg.connect(address, autocommit=True) as database:
            for _ in range(600):
                found = database.execute(RUNNING.encode()).fetchone()
                if found is not None:
                    break
                time.sleep(0.1)
        act(found[0] if found else 0)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def fails_and_is_taken_up_again(
    table: Table, thread: threading.Thread | None, heal: Callable[[], object]
) -> None:
    """Ask in trouble, then once more without it: there is one charge, and one message."""
    with pytest.raises(EngineFailure) as raised:
        table.count(share="1/10")
    if thread is not None:
        thread.join()
    assert str(raised.value) == FIXED
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert len(table.ledger.entries) == 1
    heal()
    release = table.count(share="1/10")
    assert abs(release.value - 20_000) < 1_000
    assert [entry.share for entry in table.ledger.entries] == [table.ledger.entries[0].share]


@pytest.mark.meets("cut")
def test_a_connection_that_is_cut_in_the_middle_of_a_pass(slow: str) -> None:
    def cut(process: int) -> None:
        run(slow, f"SELECT pg_terminate_backend({process})")

    table = opened(slow, "slow", rows_are_records=True)
    heal = lambda: run(slow, "UPDATE delay SET seconds = 0")  # noqa: E731
    fails_and_is_taken_up_again(table, while_running(slow, cut), heal)


@pytest.mark.meets("killed")
def test_a_server_that_is_killed_in_the_middle_of_a_pass(own_server: PostgresServer) -> None:
    slow = made_slow(own_server.address)
    table = opened(slow, "slow", rows_are_records=True)
    thread = while_running(slow, lambda _: own_server.crash())
    fails_and_is_taken_up_again(table, thread, lambda: run(slow, "UPDATE delay SET seconds = 0"))


@pytest.mark.meets("no room")
def test_a_server_that_has_no_room_for_temporary_files(slow: str) -> None:
    database = "DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET {}', current_database()); END$$"
    run(slow, database.format("temp_file_limit = 64"), database.format("work_mem = 64"))
    table = opened(slow, privacy_unit="owner")
    fails_and_is_taken_up_again(table, None, lambda: run(slow, database.format("temp_file_limit = -1")))


def test_a_pass_that_takes_longer_than_it_may(slow: str) -> None:
    table = opened(f"{slow}&statement_timeout=300ms", "slow", rows_are_records=True)
    fails_and_is_taken_up_again(table, None, lambda: run(slow, "UPDATE delay SET seconds = 0"))


def test_ctrl_c_ends_the_statement_on_the_server(slow: str) -> None:
    table = opened(slow, "slow", rows_are_records=True)
    thread = while_running(slow, lambda _: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        table.count(share="1/10")
    thread.join()
    with psycopg.connect(slow, autocommit=True) as database:
        for _ in range(100):
            if database.execute(RUNNING.encode()).fetchone() is None:
                break
            time.sleep(0.1)
        else:
            pytest.fail("the statement still runs")
    run(slow, "UPDATE delay SET seconds = 0")
    table.count(share="1/10")
    assert len(table.ledger.entries) == 1


def test_a_question_is_one_statement_in_a_read_only_snapshot(slow: str) -> None:
    """A view may call a function that writes; it is not let."""
    run(
        slow,
        "CREATE FUNCTION noted() RETURNS int LANGUAGE sql AS 'INSERT INTO delay VALUES (1) RETURNING 1'",
        "CREATE VIEW writing AS SELECT accounts.* FROM accounts, (SELECT noted()) AS n",
    )
    table = opened(slow, "writing", rows_are_records=True)
    with pytest.raises(EngineFailure):
        table.count(share="1/10")
    with psycopg.connect(slow) as database:
        assert database.execute("SELECT count(*) FROM delay").fetchone() == (1,)


@pytest.fixture
def locked(postgres_server: PostgresServer, new_database: NewDatabase) -> Iterator[str]:
    """Make a table and a user who needs a password; return the address without one."""
    address = new_database()
    run(
        address,
        f"CREATE ROLE guarded LOGIN PASSWORD '{PLAIN}'",
        "CREATE TABLE accounts (balance bigint)",
        "INSERT INTO accounts VALUES (1), (2)",
        "GRANT SELECT ON accounts TO guarded",
        "CREATE TABLE others (balance bigint)",
    )
    rules = postgres_server.data / "pg_hba.conf"
    before = rules.read_text(encoding="utf-8")
    rules.write_text(f"local all guarded scram-sha-256\n{before}", encoding="utf-8")
    run(address, "SELECT pg_reload_conf()")
    parts = urlsplit(address)
    (folder,) = parse_qs(parts.query)["host"]
    yield f"postgresql://guarded@{parts.path}?host={folder}"
    rules.write_text(before, encoding="utf-8")
    run(address, "SELECT pg_reload_conf()", "DROP OWNED BY guarded", "DROP ROLE guarded")


def with_password(address: str, password: str = PASSWORD) -> str:
    return address.replace("guarded@", f"guarded:{password}@")


def test_no_password_is_in_anything_that_is_shown_or_kept(
    locked: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    path = tmp_path / "accounts.ledger"
    table = opened(with_password(locked), ledger=path)
    release = table.sum("balance", share="1/10")
    explained = str(table.explain(prdp.sum("balance"), share="1/10"))
    shown = [repr(table), str(table), repr(release), str(release), release.question, explained]
    shown += [
        repr(table.ledger.entries),
        repr(table._engine),
        repr(table._origins),
        repr(vars(table)),
        caplog.text,
    ]
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for text in (PLAIN, PASSWORD, "guarded"):
        assert not [one for one in shown if text in one]
        assert text.encode() not in kept


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            lambda address: with_password(address, "not-this-one"),
            "the server did not accept the user or the password",
        ),
        (lambda address: address.replace("guarded@", "nobody_here@"), "the server did not accept the user"),
        (lambda address: with_password(address).replace("/made_", "/unmade_"), "there is no such database"),
        (lambda _: "postgresql://guarded:s3cret-@127.0.0.1:1/bank", "no server answers there"),
        (lambda _: "postgresql://guarded:s3cret-@host.invalid/bank", "the host is not known"),
        (
            lambda _: "postgresql://guarded:s3cret-@host/bank@home",
            "this is no address of a PostgreSQL database",
        ),
        (lambda address: with_password(address) + "&statement_timeout=soon", "statement_timeout=10min"),
    ],
)
def test_what_cannot_be_reached_is_refused_in_words_without_user_and_password(
    locked: str, wrong: Callable[[str], str], words: str
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        opened(wrong(locked))
    assert words in str(raised.value)
    for secret in ("s3cret", "not-this-one", "guarded", "nobody_here"):
        assert secret not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_server_that_is_down_by_the_time_of_a_question_costs_nothing(
    locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PLAIN)
    table = opened(locked)
    monkeypatch.setenv("PGPASSWORD", "changed since")
    with pytest.raises(InvalidRequest, match="the server did not accept the user or the password"):
        table.count(share="1/10")
    assert not table.ledger.entries


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("acounts", "There is 'accounts'"),
        ("others", "GRANT SELECT"),
        ("secrets.accounts", "Another schema's is written"),
        (None, "Write table='accounts'"),
    ],
)
def test_tables_that_are_not_there_or_not_to_be_read_are_named(
    locked: str, table: str | None, words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words):
        prdp.open(with_password(locked), table=table, policy="1")
