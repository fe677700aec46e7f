"""From an empty folder to private tables: every command in a real terminal, screen by screen.

The screens are kept in ``screens/``. Numbers are drawn anew each time, so that they are compared as ``#``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import (
    LOANS,
    LOANS_POLICY,
    PROGRAM,
    finished,
    in_terminal,
    piped,
    write_loans,
    write_project,
)

SCREENS = Path(__file__).parent / "screens"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a terminal as POSIX has it")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_loans(tmp_path)
    return tmp_path


def written(text: str) -> str:
    """Return what stays on a screen: no escapes, and no note of what is waited for."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")
    kept = [line.rstrip() for line in plain.splitlines() if "reading the records ..." not in line]
    return "\n".join(kept).strip() + "\n"


def masked(text: str) -> list[str]:
    """Return the words of each line; numbers, noise and the width of columns differ from run to run.

    Below answers, the notes after the first say what was drawn, and differ too.
    """
    plain, _, _ = written(text).partition("\nintervals:")
    plain = re.sub(r"\bno (?:upper|lower) limit\b(?!:)", "#", plain)
    plain = re.sub(r" ?\((?:low precision|insufficient budget)\)", "", plain)
    # How far an end lies, and so the facts of ends, is chance too.
    plain = re.sub(
        r"^(?:no upper limit:|an interval ).*?(?=^\w+: |\Z)", "", plain, flags=re.DOTALL | re.MULTILINE
    )
    lines = [re.sub(r"-?\d[\d,.]*(?:e-?\d+)?", "#", line) for line in plain.splitlines()]
    return [" ".join(re.sub(r"[-|]{3,}", "---", line).split()) for line in lines if line.strip()]


def as_kept(screen: str, text: str) -> bool:
    """Compare a screen with the one that is kept; PRDP_SCREENS=write keeps it anew."""
    path = SCREENS / f"{screen}.txt"
    if os.environ.get("PRDP_SCREENS") == "write":
        path.write_text(written(text))
    assert masked(text) == masked(path.read_text(encoding="utf-8"))
    return True


def terminal(
    folder: Path, *arguments: str, columns: int = 80, environment: dict[str, str] | None = None
) -> Any:
    child = in_terminal(sys.executable, "-c", PROGRAM, *arguments, folder=folder, environment=environment)
    child.setwinsize(24, columns)
    return child


def test_init_asks_and_the_file_that_it_writes_is_asked_in_under_ten_steps(folder: Path) -> None:
    child = terminal(folder, "init", "loans.csv")
    answers = ["text", "integer", "number", LOANS_POLICY, "0:1000", "0:500:0.01", "north,south", "none"]
    shown = ""
    for answer in answers:
        child.expect(r"\]: ")
        shown += str(child.before) + str(child.after)
        child.sendline(answer)
    shown += finished(child)
    assert child.exitstatus == 0, shown
    assert len(answers) + 1 < 10  # and then: prdp ask
    assert as_kept("init", shown)
    asked = terminal(
        folder, "ask", "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch", "--share", "0.1"
    )
    assert as_kept("ask_by_branch", finished(asked))
    assert (folder / "loans.ledger").exists()


def declared(folder: Path) -> None:
    write_project(folder)


def test_check_says_what_is_in_order(folder: Path) -> None:
    declared(folder)
    child = terminal(folder, "check")
    shown = finished(child)
    assert child.exitstatus == 0
    assert as_kept("check", shown.replace(str(folder), "FOLDER"))
    assert not (folder / "loans.ledger").exists()


def test_a_broken_project_file_is_named_by_its_line(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS.replace("policy =", "polcy ="))
    ran = piped("check", folder=folder)
    assert ran.returncode == 2
    assert "prdp.toml, line 4: tables.loans.polcy is not a known key. Did you mean policy?" in ran.stderr


def test_a_dry_run_reads_nothing_and_charges_nothing(folder: Path) -> None:
    declared(folder)
    ran = piped("ask", "SELECT AVG(fine) FROM loans", "--share", "0.05", "--dry-run", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("costs    1/20 of the budget of every record")
    assert "method clip" in ran.stdout
    left = piped("ledger", folder=folder)
    assert "Nothing has been asked yet." in left.stdout
    assert not (folder / "loans.ledger").exists()


def test_a_dry_run_cuts_the_statement_to_the_window_or_writes_it_out(folder: Path) -> None:
    declared(folder)
    question = (
        "ask",
        "SELECT branch, AVG(fine) AS mean FROM loans GROUP BY branch",
        "--share",
        "0.05",
        "--dry-run",
    )
    short = piped(*question, folder=folder).stdout
    assert as_kept("dry_run", short)
    assert all(len(line) <= 80 for line in short.splitlines() if "reads" in line)
    whole = piped(*question, "--statements", folder=folder).stdout
    assert "cut" not in whole
    assert len(whole.splitlines()) > len(short.splitlines()) + 10
    assert "         SELECT" in whole


def test_a_quota_that_runs_out_says_what_is_left_of_it_and_who_can_raise_it(folder: Path) -> None:
    declared(folder)
    question = ("ask", "SELECT COUNT(*) FROM loans", "--who", "ana")
    assert piped(*question, "--share", "0.1", folder=folder).returncode == 0
    assert piped("ledger", "loans.ledger", "quota", "ana", "0.25", folder=folder).returncode == 0
    assert piped(*question, "--share", "0.2", folder=folder).returncode == 0
    child = terminal(folder, *question, "--share", "0.15")
    shown = finished(child)
    assert child.exitstatus == 2
    assert as_kept("quota_runs_out", shown)


def test_a_refused_question_begins_no_account(folder: Path) -> None:
    declared(folder)
    ran = piped("ask", "SELECT days, COUNT(*) FROM loan GROUP BY days", "--share", "0.1", folder=folder)
    assert ran.returncode == 2
    assert "write FROM loans" in ran.stderr
    ran = piped("ask", "SELECT AVG(1 / (days - 5)) FROM loans", "--share", "0.1", folder=folder)
    assert ran.returncode == 2
    assert not (folder / "loans.ledger").exists()


def test_a_wrong_answer_to_init_is_asked_for_again(folder: Path) -> None:
    child = terminal(folder, "init")
    answers = [
        ("table: ", "loan.csv"), ("table: ", "loans.csv"),
        (r"\]: ", "text"), (r"\]: ", "integer"), (r"\]: ", "money"),
        (r"Policy\? \[1\]: ", "20 / greatest(day, 2)"), (r"Policy\? \[1\]: ", LOANS_POLICY),
        ("of days.*: ", "zero"), ("of days.*: ", "9:1"), ("of days.*: ", "0:1000"), ("of fine.*: ", "0:500"),
        ("of branch.*: ", "branches.csv"), ("of branch.*: ", "north,south"),
        ("whose row.*: ", "owner"), ("whose row.*: ", "none"),
    ]  # fmt: skip
    for question, answer in answers:
        child.expect(question)
        child.sendline(answer)
    shown = finished(child)
    assert child.exitstatus == 0, shown
    asked = piped("ask", "SELECT SUM(fine) FROM loans", "--share", "0.1", folder=folder)
    assert asked.returncode == 0, asked.stderr


def test_a_narrow_window_loses_no_digit_and_a_file_s_ending_is_its_format(folder: Path) -> None:
    declared(folder)
    question = ("ask", "SELECT branch, COUNT(*) AS n, AVG(fine) AS mean FROM loans GROUP BY branch")
    assert piped(*question, "--share", "0.1", "--output", "n.csv", folder=folder).returncode == 0
    head, *rows = (folder / "n.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("branch,n,n_low,n_high,n_flag,mean")
    errors = piped(*question, "--share", "0.1", "--std-errors", "--format", "csv", folder=folder).stdout
    assert errors.startswith("branch,n,n_low,n_high,n_se,n_cv,n_flag,mean")
    narrow = piped(*question, "--share", "0.1", columns=34, folder=folder).stdout
    for row in rows:
        branch, n = row.split(",")[:2]
        assert f"- branch  {branch}\n  n       {int(n):,} (" in narrow


def test_keys_that_are_no_list_are_refused(folder: Path) -> None:
    (folder / "prdp.toml").write_text(LOANS.replace('["north", "south"]', '"north"'))
    ran = piped("check", folder=folder)
    assert ran.returncode == 2
    assert "tables.loans.keys is not understood" in ran.stderr


def test_one_line_is_enough_without_a_project(folder: Path) -> None:
    child = terminal(
        folder, "ask", "SELECT branch, AVG(fine) FROM loans GROUP BY branch", "--table", "loans.csv",
        "--policy", LOANS_POLICY, "--bounds", "fine=0:500", "--bounds", "days=0:1000",
        "--type", "branch=VARCHAR", "--type", "days=BIGINT", "--type", "fine=DECIMAL(18,2)",
        "--keys", "branch=north,south", "--share", "0.2",
    )  # fmt: skip
    shown = finished(child)
    assert child.exitstatus == 0, shown
    assert as_kept("ask_in_one_line", shown.replace(str(folder), "FOLDER"))


def test_json_goes_through_a_pipe_and_notes_go_beside_it(folder: Path) -> None:
    declared(folder)
    program = (
        f'{sys.executable} -c "{PROGRAM}" ask "SELECT COUNT(*) AS n FROM loans" --share 0.1 --format json'
    )
    reader = f'{sys.executable} -c \'import json, sys; print(json.load(sys.stdin)["rows"][0]["n"])\''
    ran = subprocess.run(  # noqa: S602  (a shell's pipe is what is tried)
        f"{program} | {reader}", shell=True, capture_output=True, text=True, check=False, cwd=folder
    )
    assert ran.returncode == 0, ran.stderr
    assert 15_000 < int(ran.stdout) < 25_000
    assert "new ledger loans.ledger" in ran.stderr


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_answers_are_written_to_files(folder: Path, form: str) -> None:
    declared(folder)
    ran = piped(
        "ask", "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch", "--share", "0.1", "--format", form,
        "--output", f"answers.{form}", folder=folder,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "")
    heads = ["branch", "n", "n_low", "n_high", "n_flag"]
    if form == "csv":
        assert (folder / "answers.csv").read_text().splitlines()[0].split(",") == heads
    else:
        import pyarrow.parquet as pq  # noqa: PLC0415  (one case needs it)

        assert pq.read_table(folder / "answers.parquet").column_names == heads


def test_a_narrow_window_and_no_colour_are_enough(folder: Path) -> None:
    declared(folder)
    child = terminal(
        folder, "ask", "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch", "--share", "0.1", "--plot",
        "terminal", columns=50, environment={"NO_COLOR": "1"},
    )  # fmt: skip
    shown = finished(child)
    assert child.exitstatus == 0
    answers = shown[shown.index("branch") :]
    assert max(len(line) for line in answers.replace("\r", "").splitlines()) <= 50
    assert "\x1b[3" not in shown


def test_ctrl_c_stops_a_question_with_one_line(folder: Path) -> None:
    declared(folder)
    child = terminal(
        folder, "preview", "SELECT COUNT(*) FROM loans", "--like", "days=uniform:1,60", "--runs", "9999"
    )
    child.expect("simulating answers")
    child.sendintr()
    shown = finished(child)
    assert child.exitstatus == 130
    assert "Traceback" not in shown
    assert shown.rstrip().endswith("prdp: stopped.")


def test_an_exhausted_ledger_says_what_would_still_fit(folder: Path) -> None:
    declared(folder)
    assert piped("ask", "SELECT COUNT(*) FROM loans", "--share", "0.9", folder=folder).returncode == 0
    ran = piped("ask", "SELECT SUM(fine) FROM loans", "--share", "0.5", folder=folder)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "1/10" in ran.stderr


def test_preview_shows_the_error_at_several_shares(folder: Path) -> None:
    declared(folder)
    ran = piped(
        "preview", "SELECT COUNT(*) AS n, AVG(fine) FROM loans", "--like", "days=uniform:1,60,n=5000",
        "--runs", "3", folder=folder,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert as_kept("preview", ran.stdout)
    assert not (folder / "loans.ledger").exists()


def test_a_lognormal_law_in_the_units_of_the_column_is_refused(folder: Path) -> None:
    declared(folder)
    law = "days=lognormal:200000,300000"
    ran = piped("preview", "SELECT COUNT(*) AS n FROM loans", "--like", law, folder=folder)
    assert ran.returncode == 2
    assert "the mean and the spread of the logarithm" in ran.stderr


def test_compare_shows_policies_side_by_side(folder: Path) -> None:
    declared(folder)
    ran = piped(
        "compare",
        "--policies",
        "policies.toml",
        "--like",
        "days=uniform:1,60,n=5000",
        "--runs",
        "3",
        folder=folder,
        columns=100,  # so that no line breaks by how long the numbers are
    )
    assert ran.returncode == 0, ran.stderr
    assert as_kept("compare", ran.stdout)


def test_the_real_file_is_no_synthetic_table(folder: Path) -> None:
    declared(folder)
    ran = piped("preview", "SELECT COUNT(*) FROM loans", "--like", "loans.csv", folder=folder)
    assert ran.returncode == 2
    assert "the synthetic table is the table 'loans' itself" in ran.stderr


def test_a_missing_extra_is_named_with_its_command(folder: Path) -> None:
    declared(folder)
    (folder / "matplotlib.py").write_text("raise ImportError")
    program = "import sys; sys.path.insert(0, '.'); sys.argv[0] = 'prdp'; from prdp.cli import main; main()"
    ran = subprocess.run(
        [
            *(sys.executable, "-c", program, "ask", "SELECT COUNT(*) FROM loans"),
            *("--share", "0.1", "--plot", "a.png"),
        ],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "pip install 'prdp[plot]'" in ran.stderr


@pytest.mark.parametrize("picture", ["answers.png", "answers.svg", "answers.html"])
def test_answers_are_drawn_into_files(folder: Path, picture: str) -> None:
    declared(folder)
    ran = piped(
        "ask", "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch", "--share", "0.1", "--plot", picture,
        folder=folder,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert (folder / picture).stat().st_size > 1000


def test_help_loads_no_engine() -> None:
    program = (
        "import sys\nfrom prdp.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'duckdb', 'numpy', 'sqlglot', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"


def test_the_list_of_commands_says_what_each_one_says_of_itself() -> None:
    from prdp.cli.app import COMMANDS, loaded  # noqa: PLC0415

    for name, stated in COMMANDS.items():
        command = loaded(name)
        assert command.help
        assert len(stated) < 66, "fits a line of 80"


def test_tables_and_columns_are_completed(folder: Path) -> None:
    from types import SimpleNamespace  # noqa: PLC0415

    from prdp.cli import table_options as completion  # noqa: PLC0415

    declared(folder)
    named: Any = SimpleNamespace(params={"table": str(folder / "loans.csv")})
    assert completion.column_values(named, "d") == ["days="]
    assert completion.columns(named, "b") == ["branch"]
    projected: Any = SimpleNamespace(params={"file": folder / "prdp.toml"})
    assert completion.statement_words(projected, "SELECT COUNT(*) FROM lo") == ["SELECT COUNT(*) FROM loans"]
    assert completion.statement_words(projected, "SELECT AVG(fi") == ["SELECT AVG(fine"]


@pytest.mark.parametrize(
    ("option", "place"),
    [
        ("--output", "no_folder/n.csv"),
        ("--output", "n.ods"),
        ("--plot", "n.jpg"),
        ("--plot", "no_folder/n.png"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_charged(
    folder: Path, option: str, place: str
) -> None:
    declared(folder)
    asked = piped("ask", "SELECT COUNT(*) FROM loans", "--share", "0.1", option, place, folder=folder)
    assert asked.returncode == 2
    assert Path(place).name in asked.stderr
    assert not list(folder.glob("*.ledger"))


@pytest.mark.parametrize(
    ("written", "line", "stated"),
    [
        ('same = "1"\nodd = "20 / dayz"', 4, "there is no column dayz"),
        ('odd = "20 / "', 3, "policies.odd"),
        ('same = "1"\n\nodd = { policy = "1", at_most = -3 }', 5, "policies.odd"),
        ('odd = { policy = "1", most = 3 }', 3, "policies.odd is not understood"),
        ("odd = 3", 3, "policies.odd is not understood"),
    ],
)
def test_compare_names_the_line_of_the_file_that_holds_the_policy(
    folder: Path, written: str, line: int, stated: str
) -> None:
    declared(folder)
    question = 'questions = ["SELECT SUM(fine) AS total FROM loans"]'
    (folder / "policies.toml").write_text(f"{question}\n[policies]\n{written}\n")
    like = ("--like", "days=uniform:1,60,n=50", "--runs", "2")
    ran = piped("compare", "--policies", "policies.toml", *like, folder=folder)
    assert ran.returncode == 2
    assert f"policies.toml, line {line}: " in ran.stderr
    assert stated in ran.stderr


def test_compare_names_the_line_of_the_project_where_that_is_wrong(folder: Path) -> None:
    declared(folder)
    path = folder / "prdp.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"VARCHAR", days', '"VARCHAR", dayz'), encoding="utf-8")
    like = ("--like", "days=uniform:1,60,n=50", "--runs", "2")
    ran = piped("compare", "--policies", "policies.toml", *like, folder=folder)
    assert ran.returncode == 2
    assert "policies.toml" not in ran.stderr
