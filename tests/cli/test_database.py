"""A table of a PostgreSQL database on the command line, in a real terminal: screens kept in ``screens/``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import psycopg
import pytest

import prdp
from prdp.errors import InvalidRequest
from tests.cli.running import by_itself, finished
from tests.cli.test_first_hour import as_kept, terminal
from tests.engines.test_postgres import run
from tests.postgres import PostgresServer

PASSWORD = "s3cret"  # noqa: S105  (no real one)
ADDRESS = "postgresql://teller@/bank"
QUESTION = "SELECT job, COUNT(*) AS n FROM accounts GROUP BY job"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="needs a terminal as POSIX has it"),
]


@pytest.fixture(scope="module")
def bank(postgres_server: PostgresServer) -> Iterator[dict[str, str]]:
    """Make a database whose user needs a password; return the environment that leads to it."""
    with psycopg.connect(postgres_server.address, autocommit=True) as database:
        database.execute("CREATE DATABASE bank")
        database.execute(f"CREATE ROLE teller LOGIN PASSWORD '{PASSWORD}'".encode())
    start, _, options = postgres_server.address.partition("?")
    address = f"{start.rsplit('/', 1)[0]}/bank?{options}"
    run(
        address,
        "CREATE TABLE accounts (balance numeric(12,2), job text, owner bigint, note jsonb)",
        "INSERT INTO accounts SELECT n, (ARRAY['chef', 'clerk'])[1 + n % 2], n / 2 "
        "FROM generate_series(1, 4000) AS n",
        "CREATE TABLE jobs AS SELECT unnest(ARRAY['chef', 'clerk', 'nurse']) AS job",
        "CREATE TABLE owners AS SELECT DISTINCT owner AS id, 1 AS eps FROM accounts",
        "CREATE VIEW rich AS SELECT * FROM accounts WHERE balance > 2000",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO teller",
    )
    rules = postgres_server.data / "pg_hba.conf"
    before = rules.read_text(encoding="utf-8")
    rules.write_text(f"local all teller scram-sha-256\n{before}", encoding="utf-8")
    run(address, "SELECT pg_reload_conf()")
    (folder,) = parse_qs(urlsplit(postgres_server.address).query)["host"]
    yield {"PGHOST": folder, "PGPASSWORD": PASSWORD}
    rules.write_text(before, encoding="utf-8")
    run(address, "SELECT pg_reload_conf()", "DROP OWNED BY teller", "DROP ROLE teller")
    with psycopg.connect(postgres_server.address, autocommit=True) as database:
        database.execute("DROP DATABASE bank WITH (FORCE)")


@pytest.fixture
def folder(tmp_path: Path, bank: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in bank.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, **changed: str) -> Path:
    stated = {"source": f'"{ADDRESS}"', "table": '"accounts"', "policy": '"1"', **changed}
    lines = [f"{key} = {value}" for key, value in stated.items()]
    path = folder / "prdp.toml"
    path.write_text("\n".join(["[tables.accounts]", *lines, ""]), encoding="utf-8")
    return path


def test_from_an_address_to_an_answer(folder: Path) -> None:
    child = terminal(folder, "init", "accounts", "--database", ADDRESS)
    shown = ""
    for answer in ("10000 / greatest(balance, 100)", "0:1e6", "none", "chef,clerk", "10", "none"):
        child.expect(r"\]: ")
        shown += str(child.before) + str(child.after)
        child.sendline(answer)
    shown += finished(child)
    assert child.exitstatus == 0, shown
    assert as_kept("database_init", shown)
    assert as_kept("database_check", finished(terminal(folder, "check")).replace(str(folder), "FOLDER"))
    assert as_kept("database_ask", finished(terminal(folder, "ask", QUESTION, "--share", "0.1")))
    kept = b"".join(file.read_bytes() for file in folder.iterdir())
    assert PASSWORD.encode() not in kept


def test_a_table_of_a_database_is_asked_in_one_line(folder: Path) -> None:
    asked = (QUESTION, "--database", ADDRESS, "--table", "public.accounts", "--policy", "1")
    ran = by_itself("ask", *asked, "--keys", "job=chef,clerk", "--share", "0.1", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert "new ledger accounts.ledger" in ran.stderr
    again = by_itself("ask", *asked, "--keys", "job=chef,clerk", "--share", "0.1", "--dry-run", folder=folder)
    assert "nothing" in again.stdout.partition("\n")[0]


def test_a_wrong_password_is_a_screen_that_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder)
    monkeypatch.setenv("PGPASSWORD", "not-this-one")
    asked = terminal(folder, "ask", "SELECT COUNT(*) FROM accounts", "--share", "0.1")
    shown = finished(asked)
    assert asked.exitstatus == 2
    assert as_kept("database_wrong_password", shown)
    checked = terminal(folder, "check")
    assert as_kept("database_check_wrong_password", finished(checked).replace(str(folder), "FOLDER"))
    assert checked.exitstatus == 2
    assert not (folder / "accounts.ledger").exists()


def test_a_server_that_is_down_is_a_screen_that_says_so(folder: Path) -> None:
    written(folder, source='"postgresql://teller@127.0.0.1:1/bank"')
    asked = terminal(folder, "ask", "SELECT COUNT(*) FROM accounts", "--share", "0.1")
    assert as_kept("database_down", finished(asked))
    assert asked.exitstatus == 2
    assert not (folder / "accounts.ledger").exists()


def test_a_password_in_the_project_file_or_on_the_command_line_is_refused(folder: Path) -> None:
    secret = ADDRESS.replace("teller", f"teller:{PASSWORD}")
    written(folder, source=f'"{secret}"')
    ran = by_itself("check", folder=folder)
    assert ran.returncode == 2
    assert 'source = "${ACCOUNTS_URL}"' in ran.stderr
    stated = by_itself("init", "accounts", "--database", secret, "--policy", "1", "--force", folder=folder)
    assert stated.returncode == 2
    assert "write its name in its place: '${BANK_URL}'" in " ".join(stated.stderr.split())
    for shown in (ran, stated):
        assert PASSWORD not in shown.stdout + shown.stderr


def test_an_address_may_be_in_an_environment_variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(folder, source='"${BANK_URL}"')
    with pytest.raises(InvalidRequest, match="the environment variable BANK_URL is not set"):
        prdp.project(path)["accounts"]
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("BANK_URL", ADDRESS.replace("teller", f"teller:{PASSWORD}"))
    opened = prdp.project(path)["accounts"]
    assert list(opened.schema) == ["balance", "job", "owner", "note"]
    assert PASSWORD not in repr(opened) + repr(prdp.project(path))


def test_keys_are_read_from_a_public_table_and_not_from_the_private_one(folder: Path) -> None:
    path = written(folder, keys='{ job = { table = "jobs" } }')
    assert prdp.project(path).keys_of("accounts") == {"job": ["chef", "clerk", "nurse"]}
    answers = prdp.project(path).sql(QUESTION, share="1/10")
    assert [row[0] for row in answers] == ["chef", "clerk", "nurse"]
    for stated, words in (
        ('{ job = { table = "public.accounts" } }', "whose rows are private ones"),
        ('{ job = { table = "jobs", column = "name" } }', "'name'"),
        ('{ job = { table = "jbos" } }', "There is 'jobs'"),
    ):
        with pytest.raises(InvalidRequest, match=words):
            prdp.project(written(folder, keys=stated)).keys_of("accounts")


def test_a_view_needs_the_unit_s_word_in_the_file(folder: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"prdp.toml, line 1: 'rich' is a view"):
        prdp.project(written(folder, table='"rich"'))["accounts"]
    opened = prdp.project(written(folder, table='"rich"', rows_are_records="true", ledger='"rich.ledger"'))
    assert opened["accounts"].count(share="1/10").value > 1_500


def test_a_join_of_a_database_is_declared_and_asked(folder: Path) -> None:
    (folder / "prdp.toml").write_text(
        "[joins.bank]\n"
        f'database = "{ADDRESS}"\n'
        'tables = { people = "owners", accounts = "public.accounts", work = "jobs" }\n'
        'private = "people"\nkey = "id"\npolicy = "1"\npublic = ["work"]\n'
        'references = { "accounts.owner" = "people.id", "accounts.job" = "work.job" }\n'
        'keys = { "accounts.job" = { table = "jobs", column = "job" } }\n',
        encoding="utf-8",
    )
    ran = by_itself("check", folder=folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    question = "SELECT COUNT(*) FROM people JOIN accounts ON accounts.owner = people.id"
    asked = by_itself("ask", question, "--share", "0.5", "--format", "json", folder=folder)
    assert asked.returncode == 0, asked.stderr


def test_a_synthetic_table_is_a_file(folder: Path) -> None:
    project = prdp.project(written(folder))
    with pytest.raises(InvalidRequest, match="is a file or a frame"):
        project.open("accounts", synthetic=f"{ADDRESS}")
    assert project.open("accounts", synthetic={"balance": np.arange(5)}).count(share="1/2").simulated
