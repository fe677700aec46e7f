"""``prdp local simulate`` as a user sees it."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from prdp.cli.completion import tables_here
from prdp.cli.local import _methods
from tests.cli.running import finished, piped, prdp_in_terminal, quickly, widest
from tests.cli.test_json import parsed

SMALL = ("local", "simulate", "--clients", "3000", "--runs", "3")
ASKED = [
    ("count",),
    ("count", "--method", "printed"),
    ("count", "--method", "proportional"),
    ("sum", "--column", "balance"),
    ("mean", "--column", "balance", "--method", "framework"),
    ("frequencies", "--column", "age", "--values", "18,19,20"),
    ("quantiles", "--column", "age", "--values", "18,40,60,95"),
]


@pytest.mark.parametrize("asked", ASKED, ids=" ".join)
@pytest.mark.parametrize("columns", [60, 80])
def test_every_question_is_answered_beside_the_truth_within_the_width(
    asked: tuple[str, ...], columns: int
) -> None:
    ran = quickly(*SMALL, "--ask", *asked, columns=columns)
    assert ran.exit_code == 0, ran.output
    assert "truth" in ran.stdout
    assert "simulated" in ran.stdout
    assert widest(ran.stdout) <= columns


def test_the_same_seed_gives_the_same_answers_and_another_one_others() -> None:
    one, same, other = (
        parsed(quickly(*SMALL, "--json", "--seed", seed))["answers"][0]["answers"] for seed in ("1", "1", "2")
    )
    assert one == same != other
    assert len(one) == 3


def test_json_says_that_it_is_simulated() -> None:
    reported = parsed(quickly(*SMALL, "--json"))
    assert reported["simulated"] is True
    assert reported["answers"][0]["truth"] == 3000


def a_file(folder: Path) -> Path:
    path = folder / "people.parquet"
    table = pyarrow.table({"visits": [1, 2, 4, None, 9] * 300, "job": ["a", "b", None, "a", "a"] * 300})
    pyarrow.parquet.write_table(table, path)
    return path


def test_a_file_s_records_are_held_by_clients_and_those_without_a_budget_are_dummies(tmp_path: Path) -> None:
    options = ("--policy", "20 / visits", "--bounds", "visits=1:100", "--json", "--runs", "3")
    counted = parsed(quickly("local", "simulate", str(a_file(tmp_path)), "--synthetic", *options))
    assert counted["answers"][0]["truth"] == 1500
    assert counted["without_budget"] == 300
    by_job = ("--ask", "frequencies", "--column", "job", "--values", "a,b,c")
    jobs = parsed(quickly("local", "simulate", str(a_file(tmp_path)), "--synthetic", *options, *by_job))
    assert [(line["label"], line["truth"]) for line in jobs["answers"]] == [("a", 900), ("b", 300), ("c", 0)]
    shown = quickly(
        "local", "simulate", str(a_file(tmp_path)), "--synthetic", *options[:4], *by_job, "--runs", "3"
    )
    assert "300 of 1,500 clients have no valid budget" in " ".join(shown.stdout.split())
    (of_c,) = (line.split() for line in shown.stdout.splitlines() if line.startswith("c "))
    assert of_c[1] == "0"
    assert of_c[-1] == "-"  # no error in percent of nothing


def test_a_mean_s_truth_is_that_of_the_clients_with_a_value(tmp_path: Path) -> None:
    options = ("--policy", "20", "--bounds", "visits=1:100", "--ask", "mean", "--column", "visits")
    reported = parsed(
        quickly("local", "simulate", str(a_file(tmp_path)), "--synthetic", *options, "--json", "--runs", "3")
    )
    assert reported["answers"][0]["truth"] == 4  # of 1, 2, 4 and 9


def test_the_truth_is_the_records_own_where_bounds_leave_all_clients_without_a_budget() -> None:
    asked = ("--ask", "sum", "--column", "balance", "--json")
    right = parsed(quickly(*SMALL, *asked))
    wrong = parsed(quickly(*SMALL, *asked, "--bounds", "balance=0:10"))
    assert wrong["answers"][0]["truth"] == right["answers"][0]["truth"] > 10**6
    assert wrong["without_budget"] > 2900
    assert wrong["unheard"] == 3
    assert wrong["answers"][0]["deviation"] is None
    assert wrong["answers"][0]["answers"] == [None] * 3


def test_quantiles_between_edges_that_hold_nobody_are_not_made_of_noise() -> None:
    asked = (
        "local",
        "simulate",
        "--clients",
        "20000",
        "--runs",
        "9",
        "--ask",
        "quantiles",
        "--column",
        "age",
    )
    nobody = parsed(quickly(*asked, "--values", "100,150,200", "--json"))
    assert nobody["unheard"] >= 7  # the clients' noise comes to two deviations in 2 % of all runs
    everybody = quickly(*asked, "--values", "18,40,60,95")
    assert "within the edges" in " ".join(everybody.stdout.split())
    assert "runs say nothing" not in everybody.stdout


def test_values_are_read_as_the_column_s_type() -> None:
    reported = parsed(
        quickly(*SMALL, "--ask", "frequencies", "--column", "age", "--values", "20,30.0", "--json")
    )
    assert [line["label"] for line in reported["answers"]] == ["20", "30"]
    assert all(line["truth"] > 10 for line in reported["answers"])


def test_texts_are_not_added_up(tmp_path: Path) -> None:
    options = ("--policy", "20", "--bounds", "job=1:100", "--ask", "sum", "--column", "job")
    ran = piped("local", "simulate", str(a_file(tmp_path)), "--synthetic", *options)
    assert ran.returncode == 2
    assert "needs a column of numbers, and job holds texts" in " ".join(ran.stderr.split())


def test_help_says_when_values_are_edges() -> None:
    reported = " ".join(quickly("local", "simulate", "--help", columns=80).stdout.split())
    assert "a column with --bounds, the edges" in reported


def test_a_file_with_a_ledger_beside_it_is_refused(tmp_path: Path) -> None:
    path = a_file(tmp_path)
    path.with_suffix(".ledger").touch()
    options = ("--policy", "20 / visits", "--bounds", "visits=1:100", "--synthetic")
    ran = piped("local", "simulate", str(path), *options)
    assert ran.returncode == 2
    assert "has a ledger beside it" in ran.stderr


def test_a_file_s_records_are_simulated_as_a_synthetic_table_alone(tmp_path: Path) -> None:
    ran = piped("local", "simulate", str(a_file(tmp_path)), "--policy", "20", "--runs", "3")
    assert ran.returncode == 2
    assert "add --synthetic if all of its records are public or made up" in " ".join(ran.stderr.split())
    assert "1,500" not in ran.stdout + ran.stderr


WRONG = {
    ("--ask", "sum"): "needs --column",
    ("--ask", "sum", "--column", "age"): "needs bounds",
    ("--ask", "sum", "--column", "balance", "--round-to", "0"): "not more than 0",
    ("--ask", "frequencies", "--column", "age"): "add --values",
    ("--ask", "frequencies", "--column", "job", "--values", "a"): "but no job",
    ("--ask", "frequencies", "--column", "age", "--values", "a,b"): "is not a number",
    ("--ask", "frequencies", "--column", "age", "--values", "1.5"): "For bins add --bounds age=LOW:HIGH",
    ("--method", "olh"): "write one of bits, laplace, printed, proportional",
    ("--share", "0.5x"): "is not a number",
    ("--beta", "0"): "not between 0 and 1",
    ("--policy", "10000 / balanc"): "has no largest budget",
    ("nowhere.parquet",): "needs a policy",
    ("nowhere.parquet", "--policy", "1 / v", "--bounds", "v=1:9"): "add --synthetic",
    ("nowhere.parquet", "--synthetic", "--policy", "1 / v", "--bounds", "v=1:9"): "nowhere.parquet",
    ("x.csv", "--synthetic", "--policy", "1 / v", "--bounds", "v=1:9", "--types", "v"): "COLUMN=TYPE",
}


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_a_mistake_ends_in_a_message_and_never_in_a_traceback(options: tuple[str, ...]) -> None:
    ran = piped("local", "simulate", "--clients", "100", *options)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert WRONG[options] in " ".join(ran.stderr.split())


def test_progress_is_shown_on_a_terminal_only() -> None:
    assert "asking" in finished(prdp_in_terminal(*SMALL[:2], "--clients", "200000", "--runs", "8"))
    assert piped(*SMALL).stderr == ""


def test_methods_and_files_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Context:
        params = {"ask": "sum"}  # noqa: RUF012

    assert _methods(Context(), "r") == ["ratio"]  # type: ignore[arg-type]
    a_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert tables_here("peo") == ["people.parquet"]
