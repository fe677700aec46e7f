"""What is private in a project is refused wherever something public is expected, before it is read."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import prdp
from prdp.errors import InvalidRequest

PEOPLE = """
[tables.people]
source = {source}
policy = "1"
{more}
"""
CSV = 'types = { person = "VARCHAR", amount = "BIGINT" }'
GROUPED = "SELECT person, COUNT(*) FROM people GROUP BY person"
SHOP = """
[joins.shop]
tables = { customers = "customers.csv", orders = "orders.csv" }
private = "customers"
key = "id"
references = { "orders.customer" = "customers.id" }
policy = "1"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.csv").write_text("person,amount\nZoë,3\nJiří,4\n,5\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def declare(source: str, *more: str) -> prdp.Project:
    Path("prdp.toml").write_text(PEOPLE.format(source=source, more="\n".join(more)))
    return prdp.project()


def as_keys(file: str) -> str:
    return f'keys = {{ person = {{ file = "{file}" }} }}'


def refused(project: prdp.Project, text: str = GROUPED, name: str = "people") -> str:
    """Return the one refusal of everything that could read the file; none begins an account."""
    stated: set[str] = set()
    asks: list[Any] = [
        lambda: project.sql(text, share="1/10"),
        lambda: project.explain_sql(text, share="1/10"),
        lambda: project.facts(name),
        lambda: project.keys_of(name),
        lambda: project.listed_for(name),
        lambda: project[name],
    ]
    for ask in asks:
        with pytest.raises(InvalidRequest, match="is the private table") as refusal:
            ask()
        stated.add(str(refusal.value))
    assert not project.is_begun(name)
    (only,) = {one for one in stated if "keys" in one} or stated
    return only


def test_the_private_file_is_refused_as_its_own_list_of_keys(folder: Path) -> None:
    stated = refused(declare('"people.csv"', CSV, as_keys("people.csv")))
    assert stated.startswith("prdp.toml, line 6: tables.people.keys.person: this is the private table people")
    assert 'Write the list of keys that anybody may know, person = ["a", "b"]' in stated
    assert 'person = "private"' in stated
    assert "Zoë" not in stated
    assert str(folder) in stated


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_to_the_private_file_are_refused_as_keys(folder: Path, link: Any) -> None:
    link(folder / "people.csv", folder / "names.csv")
    refused(declare('"people.csv"', CSV, as_keys("names.csv")))


@pytest.mark.parametrize("source", ['["more.csv", "people.csv"]', '"p*.csv"', '["m*.csv", "peo*.csv"]'])
def test_one_of_several_private_files_is_refused_as_keys(folder: Path, source: str) -> None:
    (folder / "more.csv").write_text("person,amount\nAda,3\n")
    refused(declare(source, CSV, as_keys("people.csv")))


def test_a_file_of_a_database_is_refused_as_keys(folder: Path) -> None:
    with duckdb.connect("bank.duckdb") as bank:
        bank.execute("CREATE TABLE people AS SELECT 'Zoë' AS person")
    refused(declare('"bank.duckdb"', 'table = "people"', as_keys("bank.duckdb")))
    with closing(sqlite3.connect("bank.sqlite")) as bank:
        bank.execute("CREATE TABLE people (person TEXT)")
        bank.commit()
    refused(declare('"bank.sqlite"', 'table = "people"', as_keys("bank.sqlite")))


def test_a_private_parquet_file_is_refused_as_a_public_table(folder: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"person": ["Zoë"], "amount": [3]}), "people.parquet")
    text = "SELECT p.person, COUNT(*) FROM people a JOIN p ON a.person = p.person GROUP BY p.person"
    stated = refused(declare('"people.parquet"', "[public]", 'p = "people.parquet"'), text)
    assert stated.startswith("prdp.toml, line 6: public.p: this is the private table people itself")


def test_the_private_file_of_one_table_is_refused_as_keys_of_another(folder: Path) -> None:
    (folder / "jobs.csv").write_text("person\nZoë\n")
    other = '[tables.jobs]\nsource = "jobs.csv"\npolicy = "1"'
    refused(declare('"people.csv"', CSV, as_keys("jobs.csv"), other))


def test_the_private_table_and_the_rows_of_a_join_are_refused_as_public_tables(folder: Path) -> None:
    (folder / "customers.csv").write_text("id\n1\n")
    (folder / "orders.csv").write_text("customer\n1\n")
    for file in ("customers.csv", "orders.csv"):
        Path("prdp.toml").write_text(f'{SHOP}[public]\np = "{file}"\n')
        stated = refused(prdp.project(), "SELECT COUNT(*) FROM customers", "shop")
        assert f"public.p: this is the private table {file[:-4]} itself" in stated


def test_what_is_public_in_a_join_may_be_a_public_table_but_not_private_elsewhere(folder: Path) -> None:
    for name, column in (("customers", "id"), ("orders", "customer,good"), ("goods", "id")):
        (folder / f"{name}.csv").write_text(column + "\n" + "1,1\n"[: 2 * len(column.split(","))])
    join = SHOP.replace('"orders.csv" }', '"orders.csv", goods = "goods.csv" }').replace(
        '"customers.id" }', '"customers.id", "orders.good" = "goods.id" }'
    )
    join += 'public = ["goods"]\n'
    Path("prdp.toml").write_text(join + '[public]\ng = "goods.csv"\n')
    assert list(prdp.project().listed_for("shop")["tables"]) == ["g"]
    Path("prdp.toml").write_text(join + '[tables.goods]\nsource = "goods.csv"\npolicy = "1"\n')
    refused(prdp.project(), "SELECT COUNT(*) FROM customers", "shop")


def test_another_file_with_the_same_rows_is_taken(folder: Path) -> None:
    (folder / "names.csv").write_text("person\nZoë\nAda\n")
    (folder / "p.csv").write_text("person,kind\nZoë,1\n")
    project = declare('"people.csv"', CSV, as_keys("names.csv"), "[public]", 'p = "p.csv"')
    assert project.keys_of("people") == {"person": ["Zoë", "Ada"]}
    assert len(project.sql(GROUPED, share="1/10")) == 2


def test_an_entry_whose_source_is_not_there_refuses_nothing_of_others(folder: Path) -> None:
    other = '[tables.gone]\nsource = "${NOT_SET_ANYWHERE}"\npolicy = "1"'
    again = '[tables.lost]\nsource = "lost.csv"\npolicy = "1"'
    project = declare('"people.csv"', CSV, 'keys = { person = ["Zoë"] }', other, again)
    assert len(project.sql(GROUPED, share="1/10")) == 1


IN_ONE_FILE = """
[joins.shop]
tables = {{ customers = "shop.duckdb", towns = "{towns}" }}
private = "customers"
key = "id"
references = {{ "customers.town" = "towns.code" }}
public = ["towns"]
policy = "1"
"""


def shop_of(towns: str, file: str) -> prdp.Project:
    Path("shop.duckdb").unlink(missing_ok=True)
    with duckdb.connect("shop.duckdb") as shop:
        shop.execute("CREATE TABLE customers AS SELECT range AS id, range AS town FROM range(6)")
        shop.execute("CREATE TABLE places AS SELECT range AS code FROM range(6)")
        shop.execute(towns)
    Path("other.duckdb").unlink(missing_ok=True)
    os.link("shop.duckdb", "other.duckdb")
    Path("prdp.toml").write_text(IN_ONE_FILE.format(towns=file))
    return prdp.project()


@pytest.mark.parametrize("file", ["shop.duckdb", "other.duckdb"])
def test_two_tables_of_one_database_s_file_have_two_roles_and_a_view_of_one_has_none(
    folder: Path, file: str
) -> None:
    for honest in ("CREATE TABLE towns AS FROM places", "CREATE VIEW towns AS FROM places WHERE code > 0"):
        project = shop_of(honest, file)
        assert project["shop"].remaining == 1
        Path("shop.ledger").unlink()
    for private in ("id", "town"):
        project = shop_of(f"CREATE VIEW towns AS SELECT {private} AS code FROM customers", file)
        refused(project, "SELECT COUNT(*) FROM customers", "shop")


def test_a_link_to_the_database_of_the_records_is_no_synthetic_table_for_them(folder: Path) -> None:
    with duckdb.connect("bank.duckdb") as bank:
        bank.execute("CREATE TABLE people AS SELECT 'Zoë' AS person, 3 AS amount")
    with duckdb.connect("like.duckdb") as like:
        like.execute("CREATE TABLE people AS SELECT 'Ada' AS person, 4 AS amount")
    project = declare('"bank.duckdb"', 'table = "people"')
    os.link("bank.duckdb", "other.duckdb")
    with pytest.raises(InvalidRequest, match="is the table 'people' itself"):
        project.open("people", synthetic="other.duckdb")
    assert project.open("people", synthetic="like.duckdb").name == "people"
