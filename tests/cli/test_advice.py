"""What messages advise at the command line is written as prdp.toml or as options have it, never as Python."""

from __future__ import annotations

import json
import re
import shlex
from itertools import chain
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prdp.cli import app
from prdp.cli.advice import in_options, in_toml
from prdp.errors import Argument, Blank
from tests.cli.running import LOANS, LOANS_POLICY, quickly, write_project


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments: str) -> str:
    ran = quickly(*arguments)
    assert ran.exit_code == 2, ran.stdout
    return ran.stderr


def test_bounds_that_are_missing_are_advised_as_the_project_file_has_them(folder: Path) -> None:
    without = LOANS.replace(", fine = [0, 500]", "").replace("days = [0, 1000]", "days = [0, 1000]")
    (folder / "prdp.toml").write_text(without)
    stated = refused("ask", "SELECT AVG(fine) FROM loans", "--share", "0.1")
    assert "bounds = { fine = [0, 1e12] } in prdp.toml" in stated
    assert "prdp.open" not in stated


def test_what_is_advised_for_a_column_that_is_no_bare_word_is_taken(folder: Path) -> None:
    (folder / "loans.csv").write_text("höhe,net kg\n" + "1,2\n" * 50)
    declared = """
[tables.loans]
source = "loans.csv"
policy = "1"
types = { "höhe" = "BIGINT", "net kg" = "BIGINT" }
"""
    for column, quoted in (("höhe", '"höhe"'), ("net kg", '"net kg"')):
        (folder / "prdp.toml").write_text(declared)
        text = f'SELECT SUM("{column}") FROM loans'
        stated = " ".join(refused("ask", text, "--share", "0.1").split())
        advised = f"bounds = {{ {quoted} = [0, 1e12] }}"
        assert f"{advised} in prdp.toml" in stated
        (folder / "prdp.toml").write_text(declared + advised)
        assert quickly("ask", text, "--share", "0.1").exit_code == 0
        (folder / "loans.ledger").unlink()


def test_and_as_options_where_these_declare_the_table(folder: Path) -> None:
    stated = refused(
        "ask", "SELECT AVG(fine) FROM loans", "--share", "0.1", "--table", "loans.csv", "--policy", "1",
        "--type", "fine=DECIMAL(18,2)",
    )  # fmt: skip
    assert "--bounds fine=0:1e12" in stated
    assert "prdp.open" not in stated
    assert "prdp.toml" not in stated


def test_keys_and_shares_are_advised_so_too(folder: Path) -> None:
    stated = refused("ask", "SELECT fine, COUNT(*) FROM loans GROUP BY fine", "--share", "0.1")
    assert "fine = [...] in [tables.NAME.keys] of prdp.toml" in stated
    assert quickly("ask", "SELECT COUNT(*) FROM loans", "--share", "0.8").exit_code == 0
    stated = refused("ask", "SELECT SUM(fine) FROM loans", "--share", "0.5")
    assert "Ask for --share 1/5 or less." in stated


def test_a_statement_that_looks_like_advice_is_shown_as_it_was_asked(folder: Path) -> None:
    stated = refused("ask", "SELECT COUNT(*) FROM loans WHERE share='1/5'", "--share", "0.1")
    assert "    SELECT COUNT(*) FROM loans WHERE share='1/5'\n" in stated


def test_a_policy_that_is_no_text_learns_what_a_policy_is(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS.replace(f'"{LOANS_POLICY}"', "[1]"))
    assert 'Write a number, or SQL in quotes: "100 / greatest' in refused("check")


def test_check_tells_of_keys_that_no_column_has_or_that_do_not_fit_it(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS + 'brnch = ["north"]\n')
    ran = quickly("check")
    assert ran.exit_code == 0
    assert "!   keys of brnch   1 public ones; did you mean branch?" in ran.stdout
    (folder / "prdp.toml").write_text(LOANS + 'days = ["ten"]\n')
    ran = quickly("check")
    assert ran.exit_code == 2
    assert "!!  keys of days" in ran.stdout


def test_check_says_one_budget_for_all_once(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS.replace(LOANS_POLICY, "2"))
    ran = quickly("check")
    assert "2: budgets of 2\n" in ran.stdout


def test_budgets_above_ten_are_warned_of_by_check_and_by_init(folder: Path) -> None:
    large = "10000 / greatest(days, 100)"
    (folder / "prdp.toml").write_text(LOANS.replace(LOANS_POLICY, large))
    ran = quickly("check", columns=200)
    assert ran.exit_code == 0
    assert "!   policy          budgets of up to 100 protect little" in ran.stdout
    written = ("init", "loans.csv", "--force", "--policy", large, "--bounds", "days=0:1000")
    assert "budgets of up to 100 protect little" in quickly(*written).stderr
    assert quickly(*written, "--at-most", "10").stderr == ""


def test_init_without_a_terminal_names_what_it_took_for_text_and_guesses_if_reported_so(
    folder: Path,
) -> None:
    plain = quickly("init", "loans.csv", "--force")
    assert "branch, days and fine are read as text" in plain.stdout
    assert "The policy is 1" in plain.stdout
    (folder / "sample.csv").write_text("branch,days,fine\nnorth,3,0.5\nsouth,10,2.25\n")
    guessed = quickly("init", "loans.csv", "--force", "--types-like", "sample.csv")
    assert "read as text" not in guessed.stdout
    declared = (folder / "prdp.toml").read_text(encoding="utf-8")
    assert 'types = { branch = "VARCHAR", days = "BIGINT", fine = "DOUBLE" }' in declared


def test_the_words_for_types_are_the_same_in_options_and_questions_and_advice_is_quoted(folder: Path) -> None:
    (folder / "taxes.csv").write_text("Steuer ID,paid on,income\n7,2026-01-02,12.50\n")
    plain = quickly("init", "taxes.csv", "--force")
    advised = re.search(r"write --type ('[^']*')", " ".join(plain.stdout.split()))
    assert advised is not None
    assert shlex.split(advised[1]) == ["Steuer ID=integer"]
    kinds = ("Steuer ID=integer", "paid on=DATE", "income=money")
    ran = quickly("init", "taxes.csv", "--force", *chain(*(("--type", kind) for kind in kinds)))
    assert ran.exit_code == 0
    declared = (folder / "prdp.toml").read_text(encoding="utf-8")
    assert 'types = { "Steuer ID" = "BIGINT", "paid on" = "DATE", income = "DECIMAL(18,2)" }' in declared


def test_a_public_table_that_is_too_long_is_advised_as_toml() -> None:
    public = Argument("public", ["codes"], of="prdp.open_join")
    assert in_toml(public) == in_options(public) == 'public = ["codes"] in [joins.NAME] of prdp.toml'


def test_init_takes_no_file_whose_fields_are_parted_by_semicolons(folder: Path) -> None:
    (folder / "parted.csv").write_text("branch;days\nnorth;3\n")
    assert "fields are parted by commas" in refused("init", "parted.csv", "--force")


def test_a_law_keeps_whole_and_decimal_columns_and_a_misspelled_one_is_reported(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS.replace("round_to = { fine = 0.01 }\n", ""))
    asked = ("preview", "SELECT AVG(days) AS d, AVG(fine) AS f FROM loans", "--runs", "2", "--share", "0.5")
    ran = quickly(*asked, "--like", "fine=lognormal:3,1,n=2000")
    assert ran.exit_code == 0, ran.stderr
    assert "Did you mean lognormal?" in refused(*asked, "--like", "fine=lognorm:3,1")


def test_records_like_the_real_ones_need_the_columns_that_are_asked_about_alone(folder: Path) -> None:
    policy = "1"
    (folder / "prdp.toml").write_text(LOANS.replace(LOANS_POLICY, policy).replace("days = [0, 1000], ", ""))
    (folder / "sample.csv").write_text("Fine\n" + "1.50\n2.25\n" * 500)
    asked = (
        "preview",
        "SELECT SUM(fine) AS f FROM loans",
        "--runs",
        "2",
        "--share",
        "1",
        "--like",
        "sample.csv",
    )
    assert "f " in quickly(*asked).stdout
    for wrong, stated in (
        ("plz\n1\n", "sample.csv, in place of loans: types= names"),
        ("fine;days\n1;2\n", "Fields are parted by commas"),
        (
            "days\n1\n",
            "sample.csv, in place of loans: bounds names the column 'fine', but the table has days",
        ),
    ):
        (folder / "sample.csv").write_text(wrong)
        found = " ".join(refused(*asked).split())
        assert stated in found
        assert "prdp.toml" not in found


def test_a_constant_beside_a_column_of_a_public_file_is_advised_as_the_column_is(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS + '\n[public]\ntowns = "towns.csv"\n')
    (folder / "towns.csv").write_text("branch,plz,people\nnorth,01067,900\nsouth,89073,80\n")
    for written, advised, meant in (
        ("plz = 1067", "Write '1067', in quotes.", "plz = '01067'"),
        ("people = '900'", "Write 900, without quotes.", "people = 900"),
    ):
        joined = "SELECT COUNT(*) AS n FROM loans JOIN towns USING (branch) WHERE "
        assert advised in refused("ask", joined + written, "--share", "0.1")
        ran = quickly("ask", joined + meant, "--share", "0.1")
        assert ran.exit_code == 0, ran.stderr


@pytest.mark.usefixtures("folder")
def test_an_aggregate_in_where_is_advised_as_having() -> None:
    for asked in ("SELECT COUNT(*) FROM loans", "SELECT branch, COUNT(*) FROM loans"):
        by = " GROUP BY branch" if "branch" in asked else ""
        stated = refused("ask", f"{asked} WHERE COUNT(*) > 5{by}", "--share", "0.1")
        assert "Filter groups with HAVING, such as GROUP BY job HAVING COUNT(*) > 5." in stated


def test_preview_leaves_out_and_names_groups_of_nobody(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS.replace('"south"]', '"south", "east"]'))
    (folder / "sample.csv").write_text("branch,days,fine\n" + "north,3,0.50\nsouth,10,2.25\n" * 500)
    ran = quickly(
        "preview", "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch", "--like", "sample.csv",
        "--runs", "3", "--share", "1", "--json",
    )  # fmt: skip
    assert '"empty": [\n      [\n        "east"' in ran.stdout, ran.stderr
    nobody = "SELECT COUNT(*) AS n FROM loans WHERE branch = 'east'"
    assert "has no record" in refused("preview", nobody, "--like", "sample.csv", "--runs", "2")


@pytest.mark.usefixtures("folder")
def test_a_statement_is_read_from_the_standard_input_and_json_has_its_short_option() -> None:
    ran = CliRunner().invoke(
        app, ["ask", "-", "--share", "0.1", "--json"], input="SELECT COUNT(*) AS n\nFROM loans"
    )
    assert 10_000 < json.loads(ran.stdout)["rows"][0]["n"] < 30_000
    assert "new ledger loans.ledger: keep it as long as the data. It fixes policy" in ran.stderr


def test_counts_by_numbers_are_drawn_as_bars_from_zero(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS.replace("days = [0, 1000]", "days = [0, 59]"))
    asked = "SELECT floor(days / 10) * 10 AS tens, COUNT(*) AS n FROM loans GROUP BY tens"
    ran = quickly("ask", asked, "--share", "0.5", "--plot", "terminal")
    drawn = ran.stdout.rpartition("\nn\n")[2].splitlines()
    assert [line.split()[0] for line in drawn[:6]] == ["0", "10", "20", "30", "40", "50"]
    assert all("#####" in line for line in drawn[:6])


@pytest.mark.parametrize(
    ("argument", "python", "toml", "options"),
    [
        (
            Argument("bounds", {"a": (0, 10**6), "net kg": (0, 10**6)}, of="prdp.open_join"),
            "bounds={'a': (0, 10**6), 'net kg': (0, 10**6)} in prdp.open_join",
            'bounds = { a = [0, 1e6], "net kg" = [0, 1e6] } in prdp.toml',
            "--bounds a=0:1e6 --bounds 'net kg=0:1e6'",
        ),
        (
            Argument("bounds", {"x": (Blank("low"), Blank("high"))}),
            "bounds={'x': (low, high)}",
            "bounds = { x = [low, high] } in prdp.toml",
            "--bounds x=low:high",
        ),
        (Argument("round_to", {"fee": "0.01"}),
         "round_to={'fee': '0.01'}",
         "round_to = { fee = 0.01 } in prdp.toml",
         "--round-to fee=0.01"),
        (
            Argument("types", {"a": "BIGINT"}, more=True),
            "types={'a': 'BIGINT', ...}",
            'types = { a = "BIGINT", ... } in prdp.toml',
            "--type a=BIGINT",
        ),
        (
            Argument("keys", {"job": [...]}),
            "keys={'job': [...]}",
            "job = [...] in [tables.NAME.keys] of prdp.toml",
            "--keys job=FILE",
        ),
        (Argument("at_most", "10"), "at_most='10'", "at_most = 10 in prdp.toml", "--at-most 10"),
        (Argument("privacy_unit", "who"),
         "privacy_unit='who'",
         'privacy_unit = "who" in prdp.toml', "--privacy-unit who"),
        (Argument("share", "1/5"), "share='1/5'", "--share 1/5", "--share 1/5"),
        (Argument("shares", {"n": "0.1"}), "shares={'n': '0.1'}", "--shares n=0.1", "--shares n=0.1"),
    ],
)  # fmt: skip
def test_an_argument_is_spelled_by_whoever_shows_it(
    argument: Argument, python: str, toml: str, options: str
) -> None:
    assert (str(argument), in_toml(argument), in_options(argument)) == (python, toml, options)


def test_a_budget_that_is_all_spent_names_the_ledger(folder: Path) -> None:
    assert (folder / "prdp.toml").exists()
    assert quickly("ask", "SELECT COUNT(*) FROM loans", "--share", "1").exit_code == 0
    stated = refused("ask", "SELECT SUM(fine) FROM loans", "--share", "0.5")
    assert stated.endswith(
        "Nothing is left to spend. What was answered is free to ask again, and prdp ledger shows it.\n"
    )


def test_bounds_that_are_reversed_are_advised_as_prdp_toml_writes_them(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS.replace("[0, 500]", "[500, 0]"))
    ran = quickly("check", columns=200)
    assert ran.exit_code == 2
    assert "Write bounds = { fine = [0, 500] }" in ran.stdout
    assert "(0, 500)" not in ran.stdout
