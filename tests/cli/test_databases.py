"""Tables of databases and lines of JSON on the command line."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from prdp.cli.table_options import columns_of, tables_here
from tests.cli.running import quickly

ASKED = ("ask", "SELECT COUNT(*) FROM accounts", "--share", "0.1", "--policy", "1", "--format", "csv")


@pytest.fixture(autouse=True)
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("bank.sqlite")) as database:
        database.execute("CREATE TABLE accounts (balance INTEGER, opened DATE)")
        database.executemany("INSERT INTO accounts VALUES (?, '2025-01-01')", [(k,) for k in range(4000)])
        database.commit()
    return tmp_path


def test_a_table_of_a_database_is_asked_by_its_name(bank: Path) -> None:
    ran = quickly(*ASKED, "--table", "bank.sqlite", "--table-name", "accounts")
    assert ran.exit_code == 0, ran.output
    assert (bank / "accounts.ledger").exists()  # another table of the same file has another


def test_a_database_without_a_table_s_name_is_refused_with_the_option(bank: Path) -> None:
    for asked in ([*ASKED, "--table", "bank.sqlite"], ["init", "bank.sqlite", "--policy", "1"]):
        ran = quickly(*asked)
        assert ran.exit_code != 0
        assert "--table-name accounts" in " ".join(ran.output.split())
    assert not list(bank.glob("*.ledger"))


def test_a_project_is_written_for_a_table_of_a_database_and_for_lines_of_json(bank: Path) -> None:
    assert quickly("init", "bank.sqlite", "--table-name", "accounts", "--policy", "1").exit_code == 0
    assert 'table = "accounts"' in (bank / "prdp.toml").read_text(encoding="utf-8")
    (bank / "t.jsonl").write_text('{"v": 1}\n')
    assert quickly("init", "t.jsonl", "--policy", "1", "--type", "v=BIGINT", "--force").exit_code == 0
    assert quickly("ask", "SELECT COUNT(*) FROM t", "--share", "0.1").exit_code == 0


def test_files_of_every_kind_and_columns_of_databases_are_completed(bank: Path) -> None:
    (bank / "t.jsonl").touch()
    (bank / "notes.txt").touch()
    assert tables_here("") == ["bank.sqlite", "t.jsonl"]
    assert columns_of("bank.sqlite", "accounts") == {"balance": "BIGINT", "opened": "DATE"}
