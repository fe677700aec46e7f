"""What people type first in the shell works, or ends in the command to type."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import duckdb
import pytest

from tests.cli.running import piped, write_loans, write_project

COUNT = "SELECT COUNT(*) AS n FROM loans"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("plan", "prdp explain"),
        ("query", "prdp ask"),
        ("remaining", "prdp ledger"),
        ("history", "prdp ledger"),
        ("validate", "prdp check"),
        ("simulate", "prdp preview"),
        ("new", "prdp init"),
        ("shell", "prdp ask"),
        ("profile", "prdp describe"),
        ("export", "--format csv"),
    ],
)
def test_a_command_that_others_have_ends_in_what_to_write(typed: str, meant: str) -> None:
    ran = piped(typed, COUNT)
    assert ran.returncode == 2
    assert f"no command '{typed}'" in ran.stderr
    assert meant in ran.stderr


def test_types_may_be_called_as_other_databases_do(tmp_path: Path) -> None:
    write_loans(tmp_path)
    declared = ("--type", "days=INT", "--type", "branch=TEXT", "--bounds", "days=1:60")
    ran = piped("init", "loans.csv", "--policy", "1", *declared, folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    types = tomllib.loads((tmp_path / "prdp.toml").read_text())["tables"]["loans"]["types"]
    assert (types["days"], types["branch"]) == ("INTEGER", "VARCHAR")
    project = tmp_path / "prdp.toml"
    project.write_text(project.read_text().replace('"INTEGER"', '"int"').replace('"VARCHAR"', '"varchar(9)"'))
    assert "days INTEGER" in " ".join(piped("check", folder=tmp_path).stdout.split())


def test_policies_are_compared_without_records_like_the_real_ones(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "policies.toml").write_text('[policies]\nflat = "1"\n')
    ran = piped("compare", COUNT, "--policies", "policies.toml", "--runs", "2", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "uniform within the public bounds" in " ".join(ran.stdout.split())


def test_no_heading_of_the_account_is_an_expression(tmp_path: Path) -> None:
    write_project(tmp_path)
    text = "SELECT AVG(CASE WHEN days > 20 THEN 1 ELSE 0 END) AS late FROM loans"
    assert piped("ask", text, "--share", "0.1", folder=tmp_path).returncode == 0
    listing = piped("ledger", folder=tmp_path).stdout
    assert "mean_low" in listing
    assert "END_low" not in listing


def test_a_policy_that_gives_all_records_at_most_is_pointed_out(tmp_path: Path) -> None:
    write_loans(tmp_path)
    declared = ("--type", "days=integer", "--bounds", "days=1:60", "--at-most", "1")
    assert piped("init", "loans.csv", "--policy", "100 / days", *declared, folder=tmp_path).returncode == 0
    checked = " ".join(piped("check", folder=tmp_path).stdout.split())
    assert "every record within the bounds has the same budget" in checked


def test_a_column_that_is_described_is_named_as_one(tmp_path: Path) -> None:
    write_project(tmp_path)
    ran = piped("describe", "days", folder=tmp_path)
    assert ran.returncode == 2
    assert "days is a column: prdp describe loans" in " ".join(ran.stderr.split())


def test_a_question_may_be_in_a_file(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "question.sql").write_text(COUNT)
    for option in ("--file", "-f"):
        ran = piped("ask", option, "question.sql", "--share", "0.1", folder=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert "share 1/10" in ran.stdout
    assert "(recorded " in ran.stdout
    neither = piped("ask", "--share", "0.1", folder=tmp_path)
    both = piped("ask", COUNT, "--file", "question.sql", "--share", "0.1", folder=tmp_path)
    for wrong in (neither, both):
        assert wrong.returncode == 2
        assert "write one question" in wrong.stderr
    missing = piped("ask", "--file", "nothing.sql", "--share", "0.1", folder=tmp_path)
    assert missing.returncode == 1
    assert "No such file" in missing.stderr


def test_a_preview_needs_no_records_like_the_real_ones(tmp_path: Path) -> None:
    write_project(tmp_path)
    ran = piped("preview", COUNT, "--share", "0.1", "--runs", "3", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "uniform within the public bounds" in " ".join(ran.stdout.split())
    stated = piped(
        "preview",
        COUNT,
        "--share",
        "0.1",
        "--runs",
        "3",
        "--like",
        "days=uniform:1,60,n=500",
        folder=tmp_path,
    )
    assert "uniform within the public bounds" not in " ".join(stated.stdout.split())


def test_a_previewed_unit_has_rows_of_its_own(tmp_path: Path) -> None:
    write_loans(tmp_path)
    declared = ("--type", "days=integer", "--bounds", "days=1:60", "--privacy-unit", "branch")
    made = piped("init", "loans.csv", "--policy", "1", *declared, "--max-rows", "30000", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert tomllib.loads((tmp_path / "prdp.toml").read_text())["tables"]["loans"]["max_rows"] == 30_000
    counted = "SELECT COUNT(DISTINCT branch) AS n FROM loans"
    ran = piped("preview", counted, "--share", "0.5", "--runs", "3", "--json", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = tomllib.loads("found = " + ran.stdout.replace('":', '" =').replace("\n", " "))["found"]
    assert float(found[0]["median"]) < 0.01, "100,000 rows of about 50,000 units, and not of one"


def test_keys_of_a_column_whose_missing_values_are_replaced_follow(tmp_path: Path) -> None:
    write_project(tmp_path)
    asked = "SELECT COALESCE(branch, 'unknown') AS branch, COUNT(*) AS n FROM loans GROUP BY 1"
    ran = piped("ask", asked, "--share", "0.1", "--format", "csv", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert [line.split(",")[0] for line in ran.stdout.splitlines()] == ["branch", "north", "south", "unknown"]


def test_a_share_that_is_missing_is_asked_for_and_may_be_in_percent(tmp_path: Path) -> None:
    write_project(tmp_path)
    missing = piped("ask", COUNT, folder=tmp_path)
    assert missing.returncode == 2
    assert "--share 0.1" in missing.stderr
    assert piped("ask", COUNT, "--share", "5%", folder=tmp_path).returncode == 0
    assert "share 1/20" in piped("ledger", "loans.ledger", folder=tmp_path).stdout


def test_init_writes_nothing_that_cannot_be_opened_and_is_repeated_without_force(tmp_path: Path) -> None:
    write_loans(tmp_path)
    options = ("init", "loans.csv", "--policy", "100 / days", "--at-most", "10")
    untyped = piped(*options, folder=tmp_path)
    assert untyped.returncode == 2
    assert "Add --type days=number" in untyped.stderr
    assert "CAST" not in untyped.stderr
    unbounded = piped(*options, "--type", "days=number", folder=tmp_path)
    assert unbounded.returncode == 2
    assert "--bounds days=low:high" in unbounded.stderr
    assert not (tmp_path / "prdp.toml").exists()
    repeated = piped(*options, "--type", "days=number", "--bounds", "days=1:60", folder=tmp_path)
    assert repeated.returncode == 0, repeated.stderr


def test_init_declares_public_files_that_statements_join(tmp_path: Path) -> None:
    write_loans(tmp_path)
    (tmp_path / "branches.csv").write_text("branch,region,rooms\nnorth,upper,4\nsouth,lower,2\n")
    declared = ("--type", "days=integer", "--policy", "1", "--public", "branches.csv")
    assert piped("init", "loans.csv", *declared, folder=tmp_path).returncode == 0
    text = "SELECT b.region, COUNT(*) AS n FROM loans JOIN branches b USING (branch) GROUP BY b.region"
    ran = piped("ask", text, "--share", "0.1", "--format", "csv", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert {line.split(",")[0] for line in ran.stdout.splitlines()} == {"region", "upper", "lower"}


@pytest.mark.parametrize(
    ("public", "reason"),
    [("nothing.csv", "there is no such file"), ("loans.csv", "differ from each other and from the table's")],
)
def test_a_public_file_that_cannot_be_joined_is_refused(tmp_path: Path, public: str, reason: str) -> None:
    write_loans(tmp_path)
    ran = piped("init", "loans.csv", "--policy", "1", "--public", public, folder=tmp_path)
    assert ran.returncode == 2
    assert reason in " ".join(ran.stderr.split())
    assert not (tmp_path / "prdp.toml").exists()


def test_private_tables_that_no_join_declares_are_refused_with_the_declaration(tmp_path: Path) -> None:
    write_project(tmp_path)
    more = '[tables.fines]\nsource = "loans.csv"\npolicy = "1"\ntypes = { branch = "VARCHAR" }\n'
    (tmp_path / "prdp.toml").write_text((tmp_path / "prdp.toml").read_text() + more)
    joined = "SELECT COUNT(*) AS n FROM loans JOIN fines USING (branch)"
    ran = piped("ask", joined, "--share", "0.1", folder=tmp_path)
    assert ran.returncode == 2
    assert "add [joins.NAME] to prdp.toml" in ran.stderr
    assert 'fines = "loans.csv"' in ran.stderr


def test_records_like_those_of_a_typed_file_have_its_types(tmp_path: Path) -> None:
    with duckdb.connect() as database:
        days = f"COPY (SELECT 1 + range % 60 AS days FROM range(3000)) TO '{tmp_path / 'loans.parquet'}'"
        database.execute(days)
    (tmp_path / "like.csv").write_text("days\n" + "".join(f"{1 + place % 60}\n" for place in range(3000)))
    made = piped("init", "loans.parquet", "--policy", "1", "--bounds", "days=1:60", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    question = ("preview", "SELECT AVG(days) AS mean FROM loans", "--share", "1", "--runs", "2")
    ran = piped(*question, "--like", "like.csv", "--json", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)[0]["column"] == "mean"


def test_a_preview_without_any_group_says_so(tmp_path: Path) -> None:
    write_loans(tmp_path)
    assert piped("init", "loans.csv", "--policy", "1", folder=tmp_path).returncode == 0
    (tmp_path / "like.csv").write_text("branch,days,fine\nnorth,3,1.00\n")
    text = "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch"
    ran = piped("preview", text, "--share", "0.1", "--runs", "2", "--like", "like.csv", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "No group was found" in ran.stdout


def test_standard_errors_are_shown_in_a_narrow_window_too(tmp_path: Path) -> None:
    write_project(tmp_path)
    text = "SELECT COUNT(*) AS number_of_loans, COUNT(*) FILTER (WHERE days > 9) AS longer_loans FROM loans"
    wide = piped("ask", text, "--share", "0.1", "--std-errors", columns=160, folder=tmp_path).stdout
    narrow = piped("ask", text, "--share", "0.1", "--std-errors", columns=60, folder=tmp_path).stdout
    head, row = (line.split() for line in wide.splitlines()[:2])
    assert narrow.startswith("- number_of_loans")
    assert f"se {row[head.index('se')]}, cv {row[head.index('cv')]}" in " ".join(narrow.split())


def test_explain_is_a_dry_run(tmp_path: Path) -> None:
    write_project(tmp_path)
    asked = piped("ask", COUNT, "--share", "0.1", "--dry-run", folder=tmp_path)
    for typed in (("explain", COUNT), ("ask", f"EXPLAIN {COUNT}"), ("ask", f"\n explain\t{COUNT}")):
        explained = piped(*typed, "--share", "0.1", folder=tmp_path)
        assert explained.returncode == 0
        assert explained.stdout == asked.stdout
    assert not (tmp_path / "loans.ledger").exists()


STAYS = """
[tables.stays]
source = "stays.csv"
policy = "5000 / cost"
at_most = 500
bounds = { cost = [0, 1e6], days = [0, 365], age = [0, 120] }
keys = { ward = ["surgery", "icu"] }

[tables.stays.types]
ward = "VARCHAR"
admitted = "DATE"
days = "BIGINT"
cost = "DOUBLE"
emergency = "BOOLEAN"
age = "BIGINT"
"""


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stays")
    rows = (
        f"{'surgery' if place % 3 else 'icu'},2025-{place % 12 + 1:02}-01,{place % 9 + 1},"
        f"{'' if place % 25 == 0 else 100 + place % 700},{'true' if place % 4 else 'false'},{place % 100}\n"
        for place in range(6000)
    )
    (folder / "stays.csv").write_text("ward,admitted,days,cost,emergency,age\n" + "".join(rows))
    (folder / "prdp.toml").write_text(STAYS)
    return folder


@pytest.mark.parametrize(
    ("select", "columns", "rows"),
    [
        ("ward, emergency, COUNT(*) AS n FROM stays GROUP BY ward, emergency", "ward,emergency,n", 4),
        ("ward, COUNT(cost) AS n FROM stays GROUP BY 1", "ward,n", 2),
        ("COUNT(*) AS n FROM stays WHERE admitted >= '2025-02-01'", "n", 1),
        ("EXTRACT(MONTH FROM admitted) AS m, COUNT(*) AS n FROM stays GROUP BY m ORDER BY m", "m,n", 12),
        ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY days) AS p90 FROM stays", "p90", 1),
        ("ward, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct FROM stays GROUP BY ward", "ward,pct", 2),
        ("ward, AVG(CAST(emergency AS INTEGER)) AS rate FROM stays GROUP BY ward", "ward,rate", 2),
        ("ward, SUM(cost) / SUM(days) AS per_day FROM stays GROUP BY ward", "ward,per_day", 2),
        ("FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM stays GROUP BY decade", "decade,n", 13),
        (
            "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS grp, AVG(days) AS d FROM stays GROUP BY grp",
            "grp,d",
            2,
        ),
        ("STDDEV(days) AS sd, VARIANCE(days) AS var FROM stays", "sd,var", 1),
        ("ward, COUNT(*) AS n FROM stays GROUP BY ward HAVING COUNT(*) > 3000", "ward,n", 1),
        ("ward, AVG(days) AS d FROM stays GROUP BY ward ORDER BY d DESC LIMIT 1", "ward,d", 1),
        ("COUNT(*) AS n, COUNT(*) FILTER (WHERE emergency) AS urgent FROM stays", "n,urgent", 1),
        ("COUNT(DISTINCT ward) AS wards, MAX(age) AS oldest FROM stays", "wards,oldest", 1),
    ],
)
def test_a_first_guess_of_a_statistician_is_answered(
    stays: Path, select: str, columns: str, rows: int
) -> None:
    ran = piped("ask", f"SELECT {select}", "--share", "0.06", "--format", "csv", folder=stays)
    assert ran.returncode == 0, ran.stderr
    head, *lines = ran.stdout.splitlines()
    named = [name for name in head.split(",") if not name.endswith(("_low", "_high", "_flag"))]
    assert ",".join(named) == columns
    assert len(lines) == rows


@pytest.mark.parametrize("kind", ["integer", "DOUBLE", "text"])
def test_keys_of_the_shell_are_of_their_column_s_type(kind: str, tmp_path: Path) -> None:
    lines = (f"{place % 3},{place % 50}" for place in range(3000))
    (tmp_path / "visits.csv").write_text("\n".join(["branch,days", *lines, ""]))
    keys = ("--type", f"branch={kind}", "--keys", "branch=0,1,2")
    declared = ("--policy", "1", "--bounds", "days=0:50", *keys)
    assert piped("init", "visits.csv", *declared, folder=tmp_path).returncode == 0
    by_branch = "SELECT branch, COUNT(*) AS n FROM visits GROUP BY branch"
    ran = piped("ask", by_branch, "--share", "0.5", "--format", "csv", folder=tmp_path)
    assert [line.partition(",")[0] for line in ran.stdout.splitlines()] == ["branch", "0", "1", "2"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("SELECT AVG(costs) FROM stays",), "Did you mean cost?"),
        (("SELECT * FROM stays",), "records never leave the table"),
        (("SELECT QUANTILE_CONT(days, [0.1, 0.9]) FROM stays",), "Write one quantile a column"),
        (("SELECT COUNT(*) FROM stay",), "write FROM stays"),
        ((COUNT, "--level", "0.9"), "Write --std-errors"),
        ((COUNT, "--errors"), "Write --std-errors"),
        (("DESCRIBE stays",), "prdp describe in the shell"),
        (("SUMMARIZE stays",), "prdp describe in the shell"),
        (("EXPLAIN ANALYZE SELECT 1 FROM stays",), "only SELECT is answered"),
        (("SHOW TABLES",), "prdp check in the shell"),
        ((COUNT, "--epsilon", "1"), "Write --share"),
        ((COUNT, "--csv"), "such as --format csv"),
        ((COUNT, "-o", "n.csv"), "Write --output FILE"),
        ((COUNT, "--where", "days > 5"), "Write WHERE in the statement"),
    ],
)
def test_a_wrong_first_guess_is_refused_with_what_to_write(
    stays: Path, typed: tuple[str, ...], meant: str
) -> None:
    ran = piped("ask", *typed, "--share", "0.001", folder=stays)
    assert ran.returncode == 2
    assert meant in ran.stderr


def test_an_account_is_exported_as_answers_are(tmp_path: Path) -> None:
    write_project(tmp_path)
    assert piped("ask", COUNT, "--share", "0.1", folder=tmp_path).returncode == 0
    for form in ("csv", "json"):
        exported = piped("ledger", "--format", form, folder=tmp_path)
        assert exported.returncode == 0
        assert exported.stdout == piped("ledger", f"--{form}", folder=tmp_path).stdout
    assert piped("ledger", "--format", "csv", "--json", folder=tmp_path).returncode == 2
