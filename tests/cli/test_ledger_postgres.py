"""A ledger in PostgreSQL on the command line and in prdp.toml: shown, asked under, copied, no secret told."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import prdp
from prdp.ledger import Binding, DurableLedger
from tests.cli.running import quickly, write_ledger
from tests.ledger.places import Place, PostgresPlace, new_place

TABLE = '[tables.people]\nsource = "people.csv"\npolicy = "1"\ntypes = { age = "BIGINT" }\n'
QUESTION = ("ask", "SELECT count(*) FROM people", "--share", "1/4")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age\n" + "7\n" * 99, encoding="utf-8")
    return tmp_path


@pytest.fixture
def team(tmp_path: Path, postgres: str) -> PostgresPlace:
    made = new_place("postgres", tmp_path, lambda: postgres)
    assert isinstance(made, PostgresPlace)
    return made


@pytest.mark.slow
def test_a_ledger_s_address_is_taken_wherever_a_file_is(folder: Path, team: PostgresPlace) -> None:
    shown = DurableLedger.opened(team.given, Binding({"name": "t"})).shown
    assert quickly("ledger", team.given).stdout.startswith(shown[:70])
    assert json.loads(quickly("ledger", team.given, "--json").stdout)["ledger"] == shown
    assert quickly("ledger", team.given, "quota", "ana", "1/4").exit_code == 0
    assert DurableLedger(team.given).quotas == {"ana": Fraction(1, 4)}
    assert quickly("ledger", team.given, "--where", "TRUE").stdout.startswith("all of the budget remains")
    assert quickly("ledger", team.given, "--csv").exit_code == 0


@pytest.mark.slow
def test_a_project_s_ledger_is_in_the_database_that_it_names(folder: Path, team: PostgresPlace) -> None:
    (folder / "prdp.toml").write_text(f'{TABLE}ledger = "{team.given}"\n', encoding="utf-8")
    assert "will be created" in " ".join(quickly("check").stdout.split())
    assert quickly(*QUESTION, "--dry-run").exit_code == 0
    assert "Nothing has been asked yet" in quickly("ledger").stdout
    asked = quickly(*QUESTION)
    assert asked.exit_code == 0, asked.stderr
    assert "new ledger" in asked.stderr
    assert DurableLedger(team.given).remaining == Fraction(3, 4)
    assert "3/4 of every budget is left" in " ".join(quickly("check").stdout.split())
    assert "3/4 left" in quickly("ledger").stdout
    assert [path.name for path in folder.glob("*.ledger")] == []


@pytest.mark.slow
def test_a_table_of_options_has_its_ledger_in_a_database(folder: Path, team: PostgresPlace) -> None:
    options = ("--table", "people.csv", "--policy", "1", "--type", "age=BIGINT", "--ledger", team.given)
    assert quickly(*QUESTION, *options).exit_code == 0
    assert DurableLedger(team.given).remaining == Fraction(3, 4)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ana:secret@host/db",
        "postgresql://ana:secret@host/db?ledger=people",
        "postgresql://ana@host/db?ledger=people&password=secret",
    ],
)
def test_a_password_in_a_file_or_on_the_command_line_is_refused_with_the_way_that_works(
    folder: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "prdp.toml").write_text(f'{TABLE}ledger = "{address}"\n', encoding="utf-8")
    options = ("--table", "people.csv", "--policy", "1", "--type", "age=BIGINT", "--ledger", address)
    for command in (QUESTION, (*QUESTION, *options), ("ledger", address), ("ledger", "copy", "x", address)):
        if command[1] == "copy":
            write_ledger(folder / "x")
        ran = quickly(*command)
        stated = " ".join((ran.stdout + ran.stderr).split())
        assert ran.exit_code != 0
        assert "password" in stated
        assert "PGPASSWORD" in stated
        assert "secret" not in stated


def test_a_password_in_an_environment_variable_is_used_and_never_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEDGER_URL", "postgresql://ana:secret@127.0.0.1:1/db")
    (folder / "prdp.toml").write_text(f'{TABLE}ledger = "${{LEDGER_URL}}"\n', encoding="utf-8")
    for command in (QUESTION, ("check",), ("ledger",)):
        ran = quickly(*command)
        stated = " ".join((ran.stdout + ran.stderr).split())
        assert "secret" not in stated
        assert "no server answers there" in stated


@pytest.mark.slow
@pytest.mark.parametrize("words", ["{file} copy {team}", "copy {file} {team}", "copy {team}"])
def test_a_file_is_copied_into_a_database_exactly_and_only_once(
    folder: Path, team: PostgresPlace, words: str
) -> None:
    write_ledger(folder / "accounts.ledger")
    before = DurableLedger(folder / "accounts.ledger")
    stated = words.format(file="accounts.ledger", team=team.given).split()
    ran = quickly("ledger", *stated)
    assert ran.exit_code == 0, ran.stderr
    assert "two accounts" in " ".join(ran.stderr.split())
    after = DurableLedger(team.given)
    assert (after.entries, after.binding, after.remaining) == (
        before.entries,
        before.binding,
        before.remaining,
    )
    again = quickly("ledger", *stated)
    assert again.exit_code != 0
    assert "exists already" in " ".join(again.stderr.split())


def test_copy_and_backup_bring_a_ledger_back_into_a_file(folder: Path, place: Place) -> None:
    prdp.open({"v": np.arange(9)}, policy="1", name="t", ledger=place.given).count(share="1/4")
    for turn, words in enumerate((["copy", "0.copy"], ["--backup", "1.copy"])):
        assert quickly("ledger", str(place.given), *words).exit_code == 0
        assert DurableLedger(f"{turn}.copy").entries == DurableLedger(place.given).entries
    assert quickly("ledger", str(place.given), "copy").exit_code != 0
