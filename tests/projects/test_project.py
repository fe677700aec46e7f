"""A project file is found, checked line by line, and opened as the same tables that Python opens."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

import prdp
from prdp.projects.fields import SECTIONS, json_schema
from prdp.projects.project import read_public
from prdp.projects.toml_file import ProjectText

ROOT = Path(__file__).parents[2]
ACCOUNTS = """
[tables.accounts]
source = "accounts.csv"
policy = "10000 / greatest(abs(balance), 100)"
at_most = 10
bounds = { balance = [-1e9, 1e9], age = [0, 120] }
round_to = { balance = 0.01 }
types = { age = "BIGINT", balance = "DECIMAL(18,2)", job = "VARCHAR" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "accounts.csv").write_text("age,balance,job\n31,120.50,chef\n40,300,clerk\n")
    (tmp_path / "prdp.toml").write_text(ACCOUNTS)
    (tmp_path / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "down")
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "prdp.toml").write_text(text)


def test_a_project_is_found_from_any_folder_below_it_and_opens_its_tables(folder: Path) -> None:
    project = prdp.project()
    accounts = project["accounts"]
    assert list(project) == ["accounts"]
    assert accounts.policy.at_most == 10
    assert accounts.bounds["balance"] == (Fraction(-(10**9)), Fraction(10**9))
    accounts.count(share="1/4")
    assert project["accounts"] is accounts
    assert prdp.ledger.DurableLedger(folder / "accounts.ledger").remaining == Fraction(3, 4)


def test_decimals_in_a_project_are_exact(folder: Path) -> None:
    write(folder, ACCOUNTS.replace("at_most = 10", "at_most = 0.1"))
    assert prdp.project()["accounts"].policy.at_most == Fraction(1, 10)


def test_a_join_is_opened_by_name(folder: Path) -> None:
    (folder / "customers.csv").write_text("id\n1\n2\n")
    (folder / "orders.csv").write_text("customer\n1\n1\n")
    write(
        folder,
        """
[joins.shop]
tables = { customers = "customers.csv", orders = "orders.csv" }
types = { customers = { id = "BIGINT" }, orders = { customer = "BIGINT" } }
private = "customers"
key = "id"
references = { "orders.customer" = "customers.id" }
policy = "1"
""",
    )
    shop = prdp.project()["shop"]
    assert isinstance(shop, prdp.Join)
    assert shop.over("orders").count(share="1/4").question == "count over customers, orders"


@pytest.mark.parametrize(
    ("text", "line", "stated"),
    [
        ("[tables.a]\nsource = 3\n", 2, "tables.a.source is not understood"),
        ('[tables.a]\nsource = "a.csv"\npolcy = "1"\n', 3, "Did you mean policy?"),
        ('[table.a]\nsource = "a.csv"\n', 1, "Did you mean tables?"),
        ('[tables.a]\nsource = "a.csv"\n', 1, "tables.a has no policy"),
        ('[tables.a]\nsource = "a.csv"\npolicy = "1"\nbounds = { x = [\n  1,\n] }\n', 6, "bounds"),
        ('[tables.a]\npolicy = "1"\nsource = "postgresql://u:secret@h/d"\n', 3, "holds a password"),
        (ACCOUNTS.replace("abs(balance)", "abs(balanc)"), 4, "there is no column balanc"),
        (ACCOUNTS.replace("accounts.csv", "none.csv"), 2, "is no file"),
        (ACCOUNTS.replace("accounts.csv", "${NOT_SET_ANYWHERE}"), 2, "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_a_mistake_is_named_by_its_line(folder: Path, text: str, line: int, stated: str) -> None:
    write(folder, text)
    with pytest.raises(prdp.InvalidRequest) as caught:
        next(iter(prdp.project().values()))
    assert f"prdp.toml, line {line}: " in str(caught.value)
    assert stated in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_toml_is_refused_with_its_line(folder: Path) -> None:
    write(folder, "[tables.a]\nsource = \n")
    with pytest.raises(prdp.InvalidRequest, match=r"prdp.toml is no TOML: .*line 2"):
        prdp.project()


def test_where_there_is_no_project_the_first_steps_are_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(prdp.InvalidRequest, match="prdp init"):
        prdp.project()


def test_a_synthetic_table_takes_a_table_s_place_and_is_charged_nothing(folder: Path) -> None:
    like = {"age": np.array([1]), "balance": np.array([2]), "job": np.array(["x"])}
    table = prdp.project().open("accounts", synthetic=like)
    assert table.synthetic
    assert not (folder / "accounts.ledger").exists()


def test_the_real_records_are_no_synthetic_table_for_themselves(folder: Path) -> None:
    with pytest.raises(prdp.InvalidRequest, match="the synthetic table is the table 'accounts' itself"):
        prdp.project().open("accounts", synthetic=str(folder / "accounts.csv"))


def test_the_published_schema_is_the_one_that_is_checked() -> None:
    published = json.loads((ROOT / "docs/prdp.schema.json").read_text(encoding="utf-8"))
    assert published == json_schema()
    for section, fields in SECTIONS.items():
        entry = published["properties"][section]["additionalProperties"]
        assert set(entry["properties"]) == set(fields)


def test_a_line_is_the_one_on_which_a_value_ends() -> None:
    text = 'a = 1\n[tables.t]\nkeys.job = [\n  "x",\n]\nsource = """\nb"""\n'
    file = ProjectText(Path("prdp.toml"), text, {})
    assert [file.line_of(place) for place in (("a",), ("tables", "t"), ("tables", "t", "keys", "job"))] == [
        1,
        2,
        5,
    ]
    assert file.line_of(("tables", "t", "source")) == 7


def test_a_project_opens_lists_of_files_and_tables_of_databases(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "bank.duckdb")) as database:
        database.execute("CREATE TABLE accounts AS SELECT range AS balance FROM range(400)")
        database.execute("CREATE TABLE made_up AS SELECT range AS balance FROM range(400)")
        for name in ("a", "b"):
            database.execute(f"COPY (SELECT * FROM accounts) TO '{tmp_path}/{name}.parquet'")
    (tmp_path / "prdp.toml").write_text(
        '[tables.money]\nsource = "bank.duckdb"\ntable = "accounts"\npolicy = "1"\n'
        '[tables.files]\nsource = ["a.parquet", "b.parquet"]\npolicy = "1"\n'
        '[tables.both]\nsource = ["a.parquet", "a.parquet"]\npolicy = "1"\n'
    )
    opened = prdp.project(tmp_path)
    assert abs(float(opened["money"].count(share="1/2").value) - 400) < 100
    assert abs(float(opened["files"].count(share="1/2").value) - 800) < 100
    with pytest.raises(prdp.InvalidRequest, match=r"line 8: .*are one file"):
        opened["both"]
    with pytest.raises(prdp.InvalidRequest, match="the synthetic table is the table 'money' itself"):
        opened.open("money", synthetic=tmp_path / "bank.duckdb")
    with pytest.raises(prdp.InvalidRequest, match="the synthetic table is the table 'files' itself"):
        opened.open("files", synthetic=[tmp_path / "b.parquet"])
    assert opened.open("money", synthetic=[tmp_path / "a.parquet"]).count(share=1).simulated


def test_a_project_names_who_reads_a_table(tmp_path: Path) -> None:
    people = str(tmp_path / "people.parquet")
    duckdb.execute(f"COPY (SELECT range % 90 AS age FROM range(1000)) TO '{people}'")
    stated = '[tables.people]\nsource = "people.parquet"\npolicy = "1"\nengine = "polars"\n'
    (tmp_path / "prdp.toml").write_text(stated)
    opened = prdp.project(tmp_path)
    assert opened["people"].sql("SELECT COUNT(*) FROM people", share=1).answer is not None
    assert opened["people"]._engine.name == "polars"
    (tmp_path / "prdp.toml").write_text(stated.replace("polars", "sparks"))
    with pytest.raises(prdp.InvalidRequest, match=r"line 4: tables\.people\.engine is not understood"):
        prdp.project(tmp_path)


@pytest.mark.parametrize(
    ("source", "given"),
    [("bank.accounts", "bank.accounts"), ("a.parquet", None)],
)
def test_spark_is_given_names_of_its_catalog_as_they_are(
    tmp_path: Path, source: str, given: str | None
) -> None:
    stated = f'[tables.accounts]\nsource = "{source}"\npolicy = "1"\nengine = "spark"\n'
    (tmp_path / "prdp.toml").write_text(stated)
    opened = prdp.project(tmp_path)
    assert opened._source_of("accounts") == (given or str(tmp_path / source))


def test_columns_of_a_public_csv_file_are_numbers_and_dates_where_all_of_them_are_written_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "towns.csv").write_text("code,people,share,since\n01,7,0.5,1990-03-01\n02,,2,2001-01-31\n")
    found = read_public("towns.csv", tmp_path)
    assert found == {
        "code": ["01", "02"],
        "people": [7, None],
        "share": [0.5, 2],
        "since": [date(1990, 3, 1), date(2001, 1, 31)],
    }


def test_a_project_says_the_notion_of_a_policy_and_its_ledger_keeps_to_it(folder: Path) -> None:
    concentrated = ACCOUNTS.replace("at_most = 10", 'at_most = 10\nnotion = "zcdp"')
    write(folder, concentrated)
    accounts = prdp.project()["accounts"]
    assert accounts.policy.notion == "zcdp"
    assert accounts.policy.shown.at_most == 10
    accounts.count(share="1/4")
    write(folder, ACCOUNTS)
    with pytest.raises(prdp.InvalidRequest, match="notion: zcdp -> pure"):
        _ = prdp.project()["accounts"]
    write(folder, concentrated.replace("zcdp", "renyi"))
    with pytest.raises(prdp.InvalidRequest, match="pure, zcdp"):
        prdp.project()
