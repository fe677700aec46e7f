"""Files of public keys at the command line: none may be the table itself, and no line of one is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prdp.engines.sources.public_file import public_values
from tests.cli.running import LOANS, finished, piped, prdp_in_terminal, quickly, write_project

BY_BRANCH = "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch"
FROM_FILE = LOANS.replace('branch = ["north", "south"]', 'branch = { file = "FILE" }')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments: str) -> str:
    ran = quickly(*arguments)
    assert ran.exit_code == 2, ran.stdout
    return " ".join((ran.stdout + ran.stderr).split())


def test_the_table_itself_is_refused_as_its_keys_by_check_and_ask(folder: Path) -> None:
    (folder / "prdp.toml").write_text(FROM_FILE.replace("FILE", "loans.csv"))
    for arguments in (
        ["check"],
        ["ask", BY_BRANCH, "--share", "0.1"],
        ["ask", BY_BRANCH, "--share", "0.1", "--dry-run"],
    ):
        stated = refused(*arguments)
        assert "this is the private table loans itself" in stated
        assert 'branch = ["a", "b"], or have them found: branch = "private"' in stated
        assert "20,000" not in stated
    assert not (folder / "loans.ledger").exists()


def test_and_as_those_of_an_option(folder: Path) -> None:
    declared = ("--policy", "1", "--keys", "branch=loans.csv")
    for arguments in (
        ["ask", BY_BRANCH, "--share", "0.1", "--table", "loans.csv", *declared],
        ["init", "loans.csv", "--force", *declared],
    ):
        stated = refused(*arguments)
        assert "--keys branch=a,b,c, or have them found: --keys branch=private" in stated
    assert (folder / "prdp.toml").read_text() == LOANS
    assert not (folder / "loans.ledger").exists()


def test_init_asks_again_for_keys_that_are_the_table_itself(folder: Path) -> None:
    (folder / "prdp.toml").unlink()
    (folder / "few.csv").write_text("branch\nnorth\n")
    child = prdp_in_terminal("init", "few.csv")
    for asked, answer in (
        ("What does branch hold", ""),
        ("Policy", "1"),
        ("Public keys of branch", "few.csv"),
    ):
        child.expect(asked)
        child.sendline(answer)
    child.expect("this is the private table few itself")
    child.expect("Public keys of branch")
    child.sendline("north")
    child.expect("Which column says whose row it is")
    child.sendline("none")
    finished(child)
    assert 'keys = { branch = ["north"] }' in (folder / "prdp.toml").read_text()


def test_check_counts_the_first_line_of_a_list_and_shows_the_first_keys(folder: Path) -> None:
    (folder / "prdp.toml").write_text(FROM_FILE.replace("FILE", "branches.txt"))
    for head in ("", "Branch\n"):
        (folder / "branches.txt").write_text(f"{head}north\nO'Hare, IL\nsouth\nwest\n")
        ran = quickly("check")
        assert ran.exit_code == 0
        assert "keys of branch  4 public ones: north, O'Hare, IL, south, ..." in ran.stdout


@pytest.mark.parametrize(
    ("name", "text", "keys"),
    [
        ("k.txt", "Århus\r\nO'Hare, IL\r\n\r\n", ["Århus", "O'Hare, IL"]),
        ("k.txt", "O'Hare, IL\nÅrhus", ["O'Hare, IL", "Århus"]),
        ("k.csv", 'Århus\n"O\'Hare, IL"\n', ["Århus", "O'Hare, IL"]),
        ("k.csv", "\ufeffPORT\nÅrhus\nÅrhus\n", ["Århus"]),
        ("k.csv", "\ufeffÅrhus\nport\n", ["Århus", "port"]),
        ("k.csv", "land,Port\nDK,Århus\nJP,大阪\n", ["Århus", "大阪"]),
        ("k.txt", "land;port\nDK;Århus\nJP;大阪\n", ["Århus", "大阪"]),
        ("k.tsv", "land\tport\nDK\tÅrhus\n", ["Århus"]),
        ("k.csv", "10\n20\n", ["10", "20"]),
    ],
)
def test_a_first_line_is_a_head_only_if_it_is_the_columns_name(
    tmp_path: Path, name: str, text: str, keys: list[str]
) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert public_values(tmp_path / name, "port", named=False) == keys


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_picture_beside_what_a_program_reads_goes_to_standard_error(folder: Path, form: str) -> None:
    asked = ("ask", BY_BRANCH, "--share", "0.1", "--format", form)
    quickly(*asked)  # the same answers from then on
    alone, drawn = piped(*asked), piped(*asked, "--plot", "terminal")
    assert drawn.stdout == alone.stdout
    assert "\nnorth  " in drawn.stderr
    assert form == "csv" or len(json.loads(drawn.stdout)["rows"]) == 2
    beside = quickly(*asked, "--output", f"n.{form}", "--plot", "terminal")
    assert "\nnorth  " in beside.stdout


def test_a_join_says_that_it_cannot_be_previewed_from_one_file(folder: Path) -> None:
    (folder / "people.csv").write_text("id\n1\n")
    (folder / "like.csv").write_text("id\n1\n")
    (folder / "prdp.toml").write_text(
        '[joins.library]\ntables = { people = "people.csv", loans = "loans.csv" }\nprivate = "people"\n'
        'key = "id"\nreferences = { "loans.days" = "people.id" }\npolicy = "1"\n'
        '[joins.library.types]\npeople = { id = "BIGINT" }\nloans = { days = "BIGINT" }\n'
    )
    for like in ("like.csv", "normal:5,5,n=20"):
        stated = refused("preview", "SELECT COUNT(*) FROM people", "--like", like)
        assert "library is a join, and joins cannot be previewed from one file" in stated
        assert "synthetic={'people': ..., 'loans': ...}" in stated
