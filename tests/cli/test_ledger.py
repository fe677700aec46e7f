"""``prdp ledger``: the account, for people and for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import prdp
from prdp.cli.ledger import _ledgers_here
from prdp.ledger import DurableLedger
from tests.cli.running import by_itself, quickly, widest, write_ledger
from tests.cli.test_json import parsed
from tests.ledger.places import FilePlace


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_only_ledger_of_the_folder_is_shown_in_a_pipe_within_80_columns(folder: Path) -> None:
    write_ledger(folder / "accounts.ledger")
    ran = by_itself("ledger", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert widest(ran.stdout) <= 80
    assert "\x1b" not in ran.stdout
    assert "31/70 left" not in ran.stdout
    assert "31/70 spent (44.3 %), 39/70 left (55.7 %)" in ran.stdout
    assert "policy    10000 / balance" in ran.stdout
    assert "count, by clip" in ran.stdout
    assert "sum of balance where kind = '[b]old', by partition" in ran.stdout
    assert "! unanswered" in ran.stdout


def test_answers_that_a_terminal_has_no_room_for_stand_below_the_others_with_their_keys(
    folder: Path,
) -> None:
    columns = {"branch": np.array(["north", "south"] * 500), "fine": np.arange(1000), "days": np.arange(1000)}
    bounds = {"fine": (0, 10**6), "days": (0, 10**6)}
    table = prdp.open(columns, policy="1000", bounds=bounds, ledger=folder / "a.ledger")
    asked = [prdp.count(), prdp.sum("fine"), prdp.mean("fine"), prdp.sum("days")]
    released = table.group_by("branch", keys=["north", "south"]).agg(*asked, share="1/2")
    shown = quickly("ledger").stdout.splitlines()
    heads = [line.split() for line in shown if line.strip().startswith("branch ")]
    assert [name for head in heads for name in head if name != "branch"] == released.names[1:]
    assert len(heads) > 1
    for line in shown:
        if line.strip().startswith(("north", "south")):
            assert len(line) <= 80
            assert line.count("(") == line.count(")") >= 1


def test_whose_rows_are_protected_together_is_among_the_facts(folder: Path) -> None:
    prdp.open(
        {"who": np.arange(3)}, policy=prdp.Policy.constant(1), privacy_unit="who", ledger=folder / "t.ledger"
    )
    assert re.search(r"privacy unit +who\n", quickly("ledger").stdout)


def test_sixty_columns_are_enough_for_a_ledger(folder: Path) -> None:
    write_ledger(folder / "accounts.ledger")
    ran = quickly("ledger", columns=60)
    assert widest(ran.stdout) <= 60
    assert "…" not in ran.stdout


def test_the_bar_is_as_full_as_the_budget_is_spent(folder: Path) -> None:
    write_ledger(folder / "accounts.ledger")
    (bar,) = [line for line in quickly("ledger").stdout.splitlines() if line.startswith("[")]
    assert bar == f"[{'#' * 22}{'.' * 28}]"


def test_names_and_questions_are_never_read_as_markup_or_as_commands_to_the_terminal(folder: Path) -> None:
    write_ledger(folder / "accounts.ledger", who="[red]eve\x1b[31m", name="[b]ank")
    shown = quickly("ledger").stdout
    assert r"[red]eve\x1b[31m" in shown
    assert "[b]ank" in shown
    assert "\x1b" not in shown


def test_a_clock_that_went_back_is_marked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hours: Iterator[int] = iter(range(23, 0, -1))
    monkeypatch.setattr("prdp.ledger.durable._now", lambda: f"2026-05-04T{next(hours):02}:00:00+00:00")
    write_ledger(folder / "accounts.ledger")
    charges = parsed(quickly("ledger", "--json"))["charges"]
    assert [charge["clock_went_back"] for charge in charges] == [False, True, True]
    assert quickly("ledger").stdout.count("the clock went back") == 2


def test_a_folder_without_a_ledger_says_so(folder: Path) -> None:
    ran = quickly("ledger")
    assert ran.exit_code == 2
    assert "there is no *.ledger file in this folder" in ran.stderr


def test_a_folder_with_several_ledgers_lists_them(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.ledger").touch()
    ran = quickly("ledger")
    assert ran.exit_code == 2
    assert "  a.ledger\n  b.ledger\n" in ran.stderr


@pytest.mark.parametrize("content", [None, b"", b"no ledger at all, but text of some length"])
def test_a_file_that_is_no_ledger_is_refused_without_a_traceback(folder: Path, content: bytes | None) -> None:
    if content is not None:
        (folder / "odd.ledger").write_bytes(content)
    ran = quickly("ledger", "odd.ledger")
    assert ran.exit_code == 2
    assert "odd.ledger" in ran.stderr
    assert ran.stdout == ""


def test_json_and_csv_at_once_are_refused(folder: Path) -> None:
    assert quickly("ledger", "--json", "--csv").exit_code == 2


def test_a_backup_is_a_ledger_and_overwrites_nothing(folder: Path) -> None:
    table = write_ledger(folder / "accounts.ledger")
    ran = quickly("ledger", "--backup", "copy.ledger")
    assert ran.exit_code == 0
    assert "accounts.ledger is copied to copy.ledger" in ran.stderr
    assert DurableLedger("copy.ledger").entries == table.ledger.entries
    again = quickly("ledger", "accounts.ledger", "--backup", "copy.ledger")
    assert again.exit_code == 2
    assert "does not overwrite" in again.stderr


def test_reading_a_ledger_changes_nothing(folder: Path) -> None:
    write_ledger(folder / "accounts.ledger")
    before = (folder / "accounts.ledger").read_bytes()
    for option in ((), ("--json",), ("--csv",)):
        assert quickly("ledger", *option).exit_code == 0
    assert (folder / "accounts.ledger").read_bytes() == before


def test_completion_offers_ledgers_and_folders_alone(folder: Path) -> None:
    (folder / "inner").mkdir()
    for name in ("a.ledger", "a.txt", ".a.ledger", "inner/b.ledger"):
        (folder / name).touch()
    assert _ledgers_here("") == ["a.ledger", "inner/"]
    assert _ledgers_here("inner/") == ["inner/b.ledger"]
    assert _ledgers_here("./a") == ["./a.ledger"]


def test_a_ledger_is_verified_and_its_head_shows_a_rollback(folder: Path) -> None:
    write_ledger(folder / "accounts.ledger")
    (head,) = quickly("ledger", "head").stdout.splitlines()
    assert head == DurableLedger("accounts.ledger").head
    (folder / "kept").write_bytes((folder / "accounts.ledger").read_bytes())
    account = DurableLedger("accounts.ledger")
    account.charge("more", account.remaining / 2)
    for stated in (("verify",), ("accounts.ledger", "verify"), ("verify", "accounts.ledger")):
        ran = quickly("ledger", *stated, "--head", head)
        assert ran.exit_code == 0
        assert f"head {account.head}" in ran.stdout
    newer = account.head
    (folder / "accounts.ledger").write_bytes((folder / "kept").read_bytes())
    refused = by_itself("ledger", "verify", "--head", newer, folder=folder)
    assert refused.returncode != 0
    assert "no row has the expected head" in " ".join(refused.stderr.split())
    assert by_itself("ledger", "verify", folder=folder).returncode == 0


def test_a_ledger_with_an_edited_row_is_not_verified(folder: Path) -> None:
    write_ledger(folder / "accounts.ledger")
    place = FilePlace(folder / "accounts.ledger")
    place.unguarded("charges", "UPDATE charges SET who = 'eve'")
    ran = quickly("ledger", "verify")
    assert ran.exit_code != 0
    assert "is damaged" in ran.stderr


@pytest.mark.parametrize(
    "stated", [("--head", "ab"), ("head", "--head", "ab"), ("verify", "x.ledger", "y"), ("verify", "--json")]
)
def test_odd_words_about_heads_are_refused(folder: Path, stated: tuple[str, ...]) -> None:
    write_ledger(folder / "accounts.ledger")
    assert quickly("ledger", *stated).exit_code != 0
