"""prdp describe: a table's columns, from one charge, with a dry run that begins no account."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import quickly, write_project


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_is_described_once_and_shown_again_for_nothing(project: Path) -> None:
    first = quickly("describe", "loans", "--share", "0.1", "--json")
    again = quickly("describe", "--share", "0.1", "--json")
    assert first.exit_code == again.exit_code == 0
    assert "new ledger loans.ledger" in first.stderr
    rows, same = (json.loads(ran.stdout)["rows"] for ran in (first, again))
    assert rows == same
    assert {"column": "branch", "statistic": "= north"}.items() <= rows[2].items()
    assert (project / "loans.ledger").exists()


def test_a_dry_run_says_the_cost_and_begins_no_account(project: Path) -> None:
    ran = quickly("describe", "--dry-run")
    assert ran.exit_code == 0
    assert ran.stdout.startswith("charges  1/50 of every record's budget")
    assert not (project / "loans.ledger").exists()


def test_what_is_refused_begins_no_account(project: Path) -> None:
    ran = quickly("describe", "lones")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "there is no table lones. The tables are loans." in ran.stderr
    assert quickly("describe", "--share", "2").exit_code == 2
    assert quickly("describe", "--format", "parquet").exit_code == 2
    assert not (project / "loans.ledger").exists()


def test_a_description_is_written_to_a_file(project: Path) -> None:
    assert quickly("describe", "--share", "0.1", "--output", "loans.txt").exit_code == 0
    assert (project / "loans.txt").read_text().startswith("description of loans (share 1/10)")
    assert quickly("describe", "--share", "0.1", "--output", "described.csv").exit_code == 0
    assert (project / "described.csv").read_text().startswith("column,statistic,value,")
    assert quickly("describe", "--share", "0.1", "--output", "loans.html").exit_code == 0
    assert "<table" in (project / "loans.html").read_text()
    assert quickly("describe", "--share", "0.1", "--output", "loans.xlsx").exit_code == 0
    assert (project / "loans.xlsx").read_bytes().startswith(b"PK")


def test_a_description_keeps_each_statistic_on_a_line_of_its_own() -> None:
    shown = quickly("describe", "--share", "0.01", columns=80).stdout
    title, head, *rows = shown.split("\n\n")[0].splitlines()
    assert title.startswith("description of loans")
    assert head.split()[:5] == ["column", "statistic", "value", "low", "high"]
    begun = [row for row in rows if not row.startswith(" ")]
    assert len(begun) == len(json.loads(quickly("describe", "--share", "0.01", "--json").stdout)["rows"])
