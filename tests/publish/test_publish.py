"""A publication is charged at once, written at once, and found out where it was changed."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml  # type: ignore[import-untyped]

import prdp
from prdp.errors import BudgetExhausted, InvalidRequest
from prdp.ledger import DurableLedger
from prdp.publish import (
    Edition,
    Hierarchy,
    PrivateTable,
    Publication,
    Signer,
    Signs,
    StatisticalTable,
    drawn,
    read,
    verify,
)
from prdp.publish.draws import draws_of
from prdp.publish.registry import registry_record
from prdp.publish.table import judged
from prdp.release.release import Release
from tests.cli.running import quickly
from tests.cli.test_hostile_names import KEYS, MARKUP, is_harmless
from tests.publish.offices import RELEASE, SECTORS, write_office

FIRST = "release-2026"


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_office(tmp_path)
    return tmp_path


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def published(*options: str) -> str:
    ran = quickly("publish", *options)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_a_dry_run_charges_nothing_and_states_the_cost(office: Path) -> None:
    ran = quickly("publish", "--dry-run")
    assert ran.exit_code == 0, ran.output
    assert "costs 0.1 of every record's budget" in ran.stdout
    assert {file.name for file in office.iterdir()} == {"staff.parquet", "prdp.toml", "release.toml"}


def test_all_is_charged_once_and_written_again_for_nothing(office: Path) -> None:
    assert "staff was charged 1/10 of every budget, and has 9/10 left" in published()
    ledger = DurableLedger(office / "staff.ledger")
    shares = [entry.share for entry in ledger.entries]
    assert sum(shares) == Fraction(1, 10)
    assert len(shares) == 6, "two levels of two dimensions, and two of one"
    assert "staff was charged nothing, and has 9/10 left" in published("--output", "again")
    assert DurableLedger(office / "staff.ledger").head == ledger.head
    first, again = (
        {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        for folder in (office / FIRST, office / "again")
    )
    assert first == again, "byte by byte, with its date and signature"


def test_margins_under_a_concentrated_policy_have_shares_in_proportion_to_their_cells(office: Path) -> None:
    """Noise goes as the root of 1 / share, and a cell's relative error as the number of cells."""
    project = office / "prdp.toml"
    project.write_text(project.read_text().replace('policy = "1"', 'policy = "1"\nnotion = "zcdp"'))
    found = read(office / "release.toml")
    private = PrivateTable(found.project["staff"], found.project.keys_of("staff"))
    cells_and_shares = [
        (len(plan.groups.keys) if plan.groups else 1, plan.share)
        for one in draws_of(found.publication, {"staff": private})
        if one.declared.name == "employees"
        for plan in one.plans.values()
    ]
    assert len(cells_and_shares) == 4
    for cells, share in cells_and_shares:
        assert abs(share / cells - cells_and_shares[0][1] / cells_and_shares[0][0]) < Fraction(1, 10**6)
    assert sum(share for _, share in cells_and_shares) == Fraction(1, 20)


def test_each_private_table_has_the_whole_share(office: Path) -> None:
    project = office / "prdp.toml"
    project.write_text(project.read_text() + project.read_text().replace("tables.staff", "tables.other"))
    release = RELEASE.replace("by =", 'from = "staff"\nby =')
    (office / "release.toml").write_text(f'{release}\n[tables.more]\nfrom = "other"\nby = ["sector"]\n')
    ran = quickly("publish", "--dry-run")
    assert "costs 0.1 (staff), 0.1 (other) of every record's budget" in " ".join(ran.stdout.split())
    said = published()
    for name in ("staff", "other"):
        assert f"{name} was charged 1/10 of every budget, and has 9/10 left" in said


def test_what_does_not_fit_charges_nothing_and_writes_nothing(office: Path) -> None:
    assert quickly("ask", "SELECT COUNT(*) FROM staff", "--share", "0.95").exit_code == 0
    ran = quickly("publish")
    assert ran.exit_code == 2
    assert "Nothing was charged" in ran.output
    assert not (office / FIRST).exists()
    assert len(DurableLedger(office / "staff.ledger").entries) == 1
    found = read(office / "release.toml")
    with pytest.raises(BudgetExhausted):
        drawn(
            found.publication, {"staff": PrivateTable(found.project["staff"], found.project.keys_of("staff"))}
        )


def test_a_folder_that_is_there_is_refused_before_anything_is_charged(office: Path) -> None:
    (office / FIRST).mkdir()
    assert quickly("publish").exit_code == 2
    assert not list(office.glob("*.ledger"))
    assert not list(office.glob("*.key"))


def test_a_folder_is_there_whole_or_not_at_all(office: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prdp.publish.folder.card", lambda *_: 1 / 0)
    assert isinstance(quickly("publish").exception, ZeroDivisionError)
    assert not list(office.glob("*release-2026*"))


def test_rounded_suppressed_figures_for_readers_and_all_for_researchers(office: Path) -> None:
    published()
    for name, measures in (("employees", ["n"]), ("pay", ["n", "total", "mean"])):
        basic, research = rows(office / FIRST / f"{name}.csv"), rows(office / FIRST / f"research/{name}.csv")
        shown = (office / FIRST / f"{name}.md").read_text(encoding="utf-8")
        assert len(basic) == len(research)
        for reader, researcher in zip(basic, research, strict=True):
            for measure in measures:
                status, cv = reader[f"{measure}_status"], researcher[f"{measure}_cv"]
                assert status == researcher[f"{measure}_status"]
                if status == "O":
                    assert not researcher[measure]
                    continue
                assert status == ("Q" if not cv or float(cv) > 1 else "U" if float(cv) > 1 / 3 else "A")
                assert bool(reader[measure]) == (status in "AU")
                assert researcher[measure]
                if reader[measure]:
                    decimals = max(
                        len(reader[f"{measure}{end}"].partition(".")[2]) for end in ("_low", "_high")
                    )
                    low, high = (
                        f"{float(reader[f'{measure}{end}']):,.{decimals}f}" for end in ("_low", "_high")
                    )
                    assert decimals <= 2
                    assert f"| {low} to {high} |" in shown
                    assert float(reader[f"{measure}_low"]) <= float(researcher[f"{measure}_low"])
                if reader[measure] and name == "employees":
                    assert int(reader[measure]) % 5 == 0
                    assert int(reader["n_low"]) <= float(researcher["n_low"])
                    assert int(reader["n_high"]) >= float(researcher["n_high"])
        if any(row["n_status"] == "Q" for row in basic):
            assert "/ |" in shown


def a_count(number: int) -> Release:
    """A count with noise of scale 10, whose standard error is about 14."""
    return Release("count", number, Fraction(1), (Fraction(10),), Fraction(1, 4), "clip", whole=True)


def test_a_figure_is_suppressed_by_its_own_precision_and_replaced_by_the_sign_of_the_office() -> None:
    signs = Signs(unreliable="u", negative="-", missing="?")
    found = [judged(a_count(n), 1.0, signs, may_be_negative=False) for n in (1000, 25, 5, 0, -60)]
    assert [(one.status, one.sign) for one in found] == [
        ("A", ""),
        ("U", ""),
        ("Q", "u"),
        ("Q", "u"),
        ("Q", "-"),
    ]
    assert [one.is_published for one in found] == [True, True, False, False, False]
    assert judged(a_count(-60), 1.0, signs, may_be_negative=True).status == "A"
    assert judged(a_count(25), 0.5, signs, may_be_negative=False).sign == "u"
    missing = judged(None, 1.0, signs, may_be_negative=False)
    assert (missing.status, missing.sign, missing.value) == ("O", "?", None)


def test_a_map_has_a_row_for_each_area(office: Path) -> None:
    published()
    table = [row for row in rows(office / FIRST / "employees.csv") if row["sector"] == "Total"]
    areas = rows(office / FIRST / "employees.map.csv")
    assert [(row["level"], row["key"]) for row in areas] == [
        ("region", "North"),
        ("district", "Aldham"),
        ("district", "Brook"),
        ("region", "South"),
        ("district", "Coldwell"),
        ("district", "Dunmore"),
        ("district", "Eastgate"),
    ]
    measures = ("n", "n_low", "n_high", "n_status")
    assert [[row[one] for one in measures] for row in areas] == [
        [row[one] for one in measures] for row in table[1:]
    ]


def test_a_publication_has_a_record_for_the_registry_of_deployments(office: Path) -> None:
    text = RELEASE + '[registry]\nregion = "Exampleland: \'{#\'"\nsources = "https://example.org"\n'
    (office / "release.toml").write_text(text)
    published()
    record = yaml.safe_load((office / FIRST / "registry.yaml").read_text(encoding="utf-8"))
    assert list(record) == ["url_slug", "status", "tier", "deployment"]
    deployment = record["deployment"]
    assert deployment["basic"]["data_product_region"] == "Exampleland: '{#'"
    assert deployment["basic"]["data_curators"] == ["Office"]
    assert (
        deployment["basic"]["publication_date"]
        == json.loads((office / FIRST / "manifest.json").read_text())["drawn_at"][:10]
    )
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.1}
    assert "s = 1/10 of E(r) = 1" in deployment["privacy_loss"]["privacy_parameters_details"]
    assert deployment["administrative"]["sources"] == "https://example.org"


def test_the_record_of_a_concentrated_publication_states_its_own_loss(tmp_path: Path) -> None:
    policy = prdp.Policy("1/10", notion="zcdp")
    table = prdp.open({"k": np.array(["a", "b"] * 200)}, policy=policy, synthetic=True, name="t")
    by_key = StatisticalTable("t", by=("k",))
    found = drawn(Publication("T", (by_key,), share="1/4"), {"t": PrivateTable(table, {"k": ["a", "b"]})})
    record = yaml.safe_load(registry_record(found))["deployment"]["privacy_loss"]
    assert record["privacy_parameters_details"].startswith("Per record, s · P(r). t: s = 1/4 of P(r) = 1/10.")
    rho = 0.1 / 4
    assert rho < record["privacy_parameters"]["epsilon"] <= rho + 2 * math.sqrt(rho * math.log(1e6))
    assert record["privacy_parameters"]["delta"] == 1e-6


def test_files_that_change_places_and_charges_of_another_ledger_are_found(office: Path) -> None:
    published()
    folder = office / FIRST
    one, other = folder / "employees.csv", folder / "pay.csv"
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    assert [finding.text for finding in verify(folder) if finding.holds is False][:2] == [
        "employees.csv was changed",
        "pay.csv was changed",
    ]
    one.unlink()
    one.symlink_to(office / "elsewhere.csv")  # to nothing, then to the same content
    other.write_bytes(second)
    for content in (None, first):
        if content is not None:
            (office / "elsewhere.csv").write_bytes(content)
        texts = [finding.text for finding in verify(folder) if finding.holds is False]
        assert texts[0] == "employees.csv was changed"
    one.unlink()
    one.write_bytes(first)
    assert quickly("ask", "SELECT COUNT(*) FROM staff", "--share", "0.01").exit_code == 0
    grown = verify(folder, ledgers={"staff": office / "staff.ledger"})
    assert all(finding.holds for finding in grown), "a ledger that grew has the same charges"
    (office / "staff.ledger").rename(office / "first.ledger")
    published("--output", "second")
    assert not verify(folder, ledgers={"staff": office / "staff.ledger"})[-1].holds


def test_rows_are_in_the_order_of_the_keys_whatever_the_figures_are(office: Path) -> None:
    published()
    labels = [row["sector"] for row in rows(office / FIRST / "employees.csv")]
    assert labels == ["Total", *SECTORS] * 8


def test_a_column_without_a_figure_is_one_of_numbers(office: Path) -> None:
    (office / "release.toml").write_text(RELEASE.replace("share = 0.05", "share = 1e-6"))
    published()
    facts = json.loads((office / FIRST / "pay.csv-metadata.json").read_text(encoding="utf-8"))
    types = {one["titles"]: one["datatype"] for one in facts["tableSchema"]["columns"]}
    assert [row["mean"] for row in rows(office / FIRST / "pay.csv")] == ["", "", "", ""]
    assert types["mean"] == types["mean_low"] == "number"
    assert types["sector"] == types["mean_status"] == "string"
    kinds = pq.read_schema(office / FIRST / "pay.parquet")
    assert kinds.field("mean").type == pa.float64()


def test_a_question_of_two_tables_is_charged_and_stated_once(office: Path) -> None:
    twice = "".join(f'[tables.{name}]\nby = ["sector"]\nshare = 0.2\n' for name in ("one", "other"))
    (office / "release.toml").write_text(f'title = "Sectors"\nedition = "2026"\n{twice}')
    assert "staff was charged 1/5 of every budget" in published()
    record = yaml.safe_load((office / FIRST / "registry.yaml").read_text(encoding="utf-8"))
    assert record["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.2}
    assert "<td >share s of all tables</td><td >1/5</td>" in (office / FIRST / "index.html").read_text()


def test_a_csv_file_is_described_column_by_column(office: Path) -> None:
    published()
    for file in (office / FIRST / "pay.csv", office / FIRST / "research/pay.csv"):
        facts = json.loads(file.with_name(f"{file.name}-metadata.json").read_text(encoding="utf-8"))
        assert [one["titles"] for one in facts["tableSchema"]["columns"]] == list(rows(file)[0])
        assert facts["url"] == file.name
        assert pq.read_table(file.with_suffix(".parquet")).column_names == list(rows(file)[0])


def test_every_change_of_a_folder_is_found(office: Path) -> None:
    published()
    folder, ledgers = office / FIRST, {"staff": office / "staff.ledger"}
    assert all(one.holds for one in verify(folder, ledgers=ledgers))
    for file in sorted(one for one in folder.rglob("*") if one.is_file()):
        content = file.read_bytes()
        for changed in (content[:-1] + bytes([content[-1] ^ 1]), None):
            file.unlink() if changed is None else file.write_bytes(changed)
            try:
                assert any(one.holds is False for one in verify(folder)), file.name
            except InvalidRequest:
                assert changed is None
            file.write_bytes(content)
    (folder / "more.csv").write_text("n\n1\n")
    assert any(one.holds is False for one in verify(folder))
    ran = quickly("verify", str(folder))
    assert ran.exit_code == 2
    assert "more.csv is not in the manifest" in ran.output


def test_a_folder_that_is_signed_anew_has_another_key_and_other_charges(office: Path) -> None:
    published()
    own = (office / FIRST / "public_key.pem").read_bytes()
    (office / "office.pem").write_bytes(own)
    found = read(office / "release.toml")
    table = found.project.open(
        "staff", synthetic=pa.table(pq.read_table(office / "staff.parquet")).to_pandas()
    )
    edition = drawn(found.publication, {"staff": PrivateTable(table, found.project.keys_of("staff"))})
    assert edition.simulated
    genuine = json.loads((office / FIRST / "manifest.json").read_text())["accounts"]
    genuine[0]["charges"][0]["answer"] = "0" * 64
    forged = Edition(edition.publication, edition.tables, edition.at, tuple(genuine))
    forged.write(office / "forged", Signer.of(office / "other.key"))
    assert all(one.holds is not False for one in verify(office / "forged"))
    assert not verify(office / "forged", public_key=office / "office.pem")[0].holds
    texts = [one.text for one in verify(office / "forged") if one.holds is None]
    assert "simulated: made-up records, not private, not for publication" in texts
    charges = verify(office / "forged", ledgers={"staff": office / "staff.ledger"})[-1]
    assert charges.holds is False
    assert "5 of 6 charges" in charges.text


def test_an_earlier_edition_in_the_place_of_a_later_one_is_stated(office: Path) -> None:
    published()
    text = RELEASE.replace('"2026"', '"2027"')
    (office / "release.toml").write_text(text)
    published()
    found = {year: [one.text for one in verify(office / f"release-{year}")][1] for year in ("2026", "2027")}
    assert found["2026"].startswith("Employees, edition 2026, drawn on ")
    assert found["2027"].startswith("Employees, edition 2027, drawn on ")
    for name in ("manifest.json", "manifest.sig"):
        (office / "release-2027" / name).write_bytes((office / FIRST / name).read_bytes())
    replayed = verify(office / "release-2027")
    assert replayed[1].text == found["2026"]
    assert any(one.holds is False for one in replayed)


def test_keys_harm_no_reader_of_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keys = [*KEYS, *MARKUP, "$x$", "$\\frac"]
    pq.write_table(pa.table({"k": keys * 50}), tmp_path / "t.parquet")
    listed = json.dumps(keys).replace("\x7f", "\\u007f")
    (tmp_path / "prdp.toml").write_text(
        f'[tables.t]\nsource = "t.parquet"\npolicy = "1"\n[tables.t.keys]\nk = {listed}\n'
    )
    (tmp_path / "release.toml").write_text(
        f'title = "<b>=1"\noffice = "\\u001b[31m"\nshare = 0.5\nfootnotes = {listed}\n'
        '[tables.t]\nby = ["k"]\n'
    )
    published("--output", "out")
    for file in (one for one in (tmp_path / "out").rglob("*") if one.is_file()):
        if file.suffix in (".parquet", ".sig"):
            continue
        if file.suffix == ".xlsx":
            with zipfile.ZipFile(file) as book:
                assert not any(b"<f>" in book.read(name) for name in book.namelist())
            continue
        text = file.read_text(encoding="utf-8")
        assert is_harmless(text, "\n\t"), file.name
        assert file.suffix not in (".html", ".svg") or "<script" not in text
        if file.suffix == ".csv":
            keys_of = [row.get("k", row.get("key", "")) for row in rows(file)]
            assert all(keys_of)
            assert not [key for key in keys_of if key.startswith(("=", "@", "\t", "\r"))]


def test_keys_that_look_the_same_are_printed_apart_and_long_ones_fit(tmp_path: Path) -> None:
    keys = ["a", "a ", "", " ", "b" * 33_000]
    table = prdp.open({"k": np.array(keys[:-1] * 50)}, policy=1, synthetic=True, name="t")
    publication = Publication(
        "T", (StatisticalTable("t", by=("k",), footnotes=("long " * 40,)),), share="1/2"
    )
    folder = drawn(publication, {"t": PrivateTable(table, {"k": keys})}).write(
        tmp_path / "out", Signer.of(tmp_path / "key")
    )
    printed = ["Total", "a", '"a "', '""', '" "', keys[-1]]
    lines = (folder / "t.md").read_text(encoding="utf-8").splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[4:10]] == printed
    assert [row["k"] for row in rows(folder / "t.csv")] == ["Total", *keys], "data are as declared"
    assert "b" * 41 not in (folder / "t.1.svg").read_text(encoding="utf-8")
    with zipfile.ZipFile(folder / "tables.xlsx") as book:
        texts = re.findall(r"<t[^>]*>([^<]*)</t>", book.read("xl/sharedStrings.xml").decode())
        sheets = [book.read(f"xl/worksheets/sheet{place}.xml").decode() for place in (1, 2)]
    assert max(map(len, texts)) == 32_767, "of a longer one a spreadsheet would show nothing"
    assert f"{'b' * 32_766}…" in texts
    assert all('ht="45"' in sheet for sheet in sheets), "a note of 200 letters has three lines"


def test_a_dimension_has_thousands_of_keys() -> None:
    keys = [f"{place:07d}" for place in range(1500)]
    states = Hierarchy("state", "county", {f"S{place}": keys[place::10] for place in range(10)})
    table = prdp.open({"county": np.array(keys * 2)}, policy=1, synthetic=True, name="t")
    counties = StatisticalTable("t", by=("state",))
    found = drawn(
        Publication("T", (counties,), share="1/2", hierarchies=(states,)),
        {"t": PrivateTable(table, {"county": keys})},
    )["t"]
    figures = found.research()
    level = dict(zip(zip(figures["state"], figures["county"], strict=True), figures["n"], strict=True))
    assert len(level) == 1 + 10 + 1500
    assert level["Total", "Total"] == sum(level[f"S{place}", "Total"] for place in range(10))


def test_dates_of_toml_are_keys_of_a_line_over_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    months = [datetime(2021, month, 1) for month in (1, 2, 3, 4)]
    pq.write_table(pa.table({"month": months * 500}), tmp_path / "t.parquet")
    (tmp_path / "prdp.toml").write_text(
        '[tables.t]\nsource = "t.parquet"\npolicy = "1"\n'
        "[tables.t.keys]\nmonth = [2021-01-01, 2021-02-01, 2021-03-01, 2021-04-01]\n"
    )
    (tmp_path / "release.toml").write_text(
        'title = "T"\nshare = 0.5\n[tables.t]\nby = ["quarter"]\n[hierarchies.quarter]\nof = "month"\n'
        "groups = { Q1 = [2021-01-01, 2021-02-01, 2021-03-01], Q2 = [2021-04-01] }\n"
    )
    published("--output", "out")
    figures = {(row["quarter"], row["month"]): int(row["n"]) for row in rows(tmp_path / "out" / "t.csv")}
    assert abs(figures["Q1", "Total"] - 1500) < 200
    assert abs(figures["Q2", "2021-04-01"] - 500) < 200
    assert "stroke: #0072b2" in (tmp_path / "out" / "t.1.svg").read_text(encoding="utf-8")


def test_sums_beyond_64_bits_are_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = pa.array([4 * 10**18 + place for place in range(300)], pa.int64())
    pq.write_table(pa.table({"k": ["a", "b", "c"] * 100, "v": values}), tmp_path / "t.parquet")
    (tmp_path / "prdp.toml").write_text(
        '[tables.t]\nsource = "t.parquet"\npolicy = "1"\nbounds = { v = [0, 9000000000000000000] }\n'
        '[tables.t.keys]\nk = ["a", "b", "c"]\n'
    )
    (tmp_path / "release.toml").write_text(
        'title = "T"\noffice = "O"\nshare = 0.5\n[tables.t]\nby = ["k"]\nmeasures = { total = "sum v" }\n'
    )
    published("--output", "out")
    for file in (tmp_path / "out").rglob("*.parquet"):
        assert str(pq.read_schema(file).field("total").type) == "double", file.name


TURNS = 10
"""Publications, of which all but the last are killed."""

PUBLISH = """
import os, sys
from prdp.cli import app
app(["publish", "--output", sys.argv[1]])
"""


@pytest.mark.slow
def test_a_killed_publication_has_charged_all_or_nothing_and_goes_on_for_nothing(office: Path) -> None:
    outcomes = set()
    for turn in range(TURNS):
        for file in office.glob("staff.ledger*"):
            file.unlink()
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISH, f"out{turn}"], cwd=office, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and not (office / "staff.ledger").exists():
            time.sleep(0.001)
        if turn < TURNS - 1:
            time.sleep(turn * 0.03)
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        ledger = office / "staff.ledger"
        charged = len(DurableLedger(ledger).entries) if ledger.exists() else 0
        whole = (office / f"out{turn}").exists()
        assert charged in (0, 6)
        outcomes.add(charged)
        if not whole:
            published("--output", f"out{turn}")
        assert sum(entry.share for entry in DurableLedger(ledger).entries) == Fraction(1, 10)
        found = verify(office / f"out{turn}", ledgers={"staff": ledger})
        assert [one.text for one in found if not one.holds] == []
    assert 6 in outcomes
