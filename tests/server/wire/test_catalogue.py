"""The catalogue: what clients look up is made of public facts, and nothing else can be reached by it."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from prdp.policy import Policy
from prdp.server.wire import catalogue
from prdp.server.wire.catalogue import Catalogue, is_about_catalogue, number_of
from prdp.server.wire.failures import WireError
from tests.server.serving import Served

CAPTURED = Path(__file__).parent / "metadata"
VISITS = number_of("visits")
NOT_RUN = "_pg_expandarray"
"""A function of JDBC's statements about keys and indexes: they are answered with no rows, unread."""

R_FIELDS = """
SELECT column_name FROM (
  SELECT *, rank() OVER (ORDER BY nr) AS rnr FROM (
    SELECT * FROM unnest(current_schemas(true)) WITH ORDINALITY AS tbl(table_schema, nr)
    WHERE table_schema != 'pg_catalog'
  ) schemas_on_path INNER JOIN INFORMATION_SCHEMA.COLUMNS USING (table_schema) WHERE table_name = 'visits'
) tttt WHERE rnr = 1 ORDER BY ordinal_position
"""
"""What R's dbListFields sends."""


def setting(name: str) -> str | None:
    return {"current_user": "ana.laptop", "current_database": "prdp", "server_version": "15.0"}.get(name)


@pytest.fixture(scope="module")
def known(blank: Path) -> Catalogue:
    from tests.server.serving import StepClock, opened  # noqa: PLC0415

    return Catalogue.of(opened(blank, StepClock(), {}).service.planner.served)


def test_a_concentrated_policy_is_described_as_it_was_stated(blank: Path) -> None:
    from tests.server.serving import StepClock, opened  # noqa: PLC0415

    served = opened(blank, StepClock(), {}).service.planner.served["visits"]
    facts = replace(served.facts, policy=Policy("1 / 4", notion="zcdp"))
    found = Catalogue.of({"visits": replace(served, facts=facts)}).run(
        "SELECT description FROM pg_description WHERE objsubid = 0", setting
    )
    assert [row[0] for row in found.rows] == ["policy of zero-concentrated privacy: 1 / 4"]


@pytest.mark.parametrize("client", ["psql", "sqlalchemy", "jdbc"])
def test_captured_statements_of_a_client_are_run_not_given_up(known: Catalogue, client: str) -> None:
    statements = CAPTURED.joinpath(f"{client}.sql").read_text(encoding="utf-8").split("\n;;\n")
    assert len(statements) > 10
    for text in statements:
        assert is_about_catalogue(text, {})
        found = known.run(text, setting)
        assert found.columns
        if NOT_RUN not in text:
            tree = catalogue._parsed(text)
            known._asked(catalogue._rewritten(tree, setting).sql(dialect="duckdb", comments=False))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT 1", [(1,)]),
        ("SELECT current_database(), current_schema(), current_user", [("prdp", "public", "ana.laptop")]),
        ("SELECT pg_catalog.version()", [("PostgreSQL 15.0 (prdp)",)]),
        ("SELECT relname FROM pg_class WHERE relnamespace = 2200 ORDER BY 1", [("loans",), ("visits",)]),
        (f"SELECT attname, format_type(atttypid, 1) FROM pg_attribute WHERE attrelid = '{VISITS}' ORDER BY 1",
         [("days", "bigint"), ("ward", "text")]),
        ("SELECT 'visits'::regclass::oid = c.oid FROM pg_class c WHERE c.relname = 'visits'", [(True,)]),
        ("SELECT column_name FROM information_schema.columns WHERE table_name = 'loans' ORDER BY 1",
         [("branch",), ("fine",)]),
        ("SELECT relname FROM pg_class WHERE relname OPERATOR(pg_catalog.~) '^(visits)$' COLLATE \"C\"",
         [("visits",)]),
        (R_FIELDS, [("days",), ("ward",)]),
    ],
)  # fmt: skip
def test_statements_about_the_catalogue(known: Catalogue, text: str, rows: list[tuple[object, ...]]) -> None:
    assert known.run(text, setting).rows == rows


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('{0}')", "SELECT * FROM '{0}'", 'SELECT * FROM "{0}"',
        "SELECT * FROM read_text('{0}'), pg_class", "SELECT content FROM pg_class, read_blob('{0}')",
        "SELECT pg_read_file('{0}')", "SELECT getenv('HOME') FROM pg_class",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM glob('*')", "SELECT pg_catalog.read_text('{0}') FROM pg_class",
        "SELECT * FROM sqlite_master",
        "WITH pg_class AS (SELECT * FROM read_csv('{0}')) SELECT * FROM pg_class",
        "SELECT (SELECT max(content) FROM read_text('{0}')) FROM pg_class",
        "SELECT * FROM pg_class UNION ALL SELECT * FROM read_csv('{0}')",
        "SELECT query('SELECT 1') FROM pg_class", "SELECT * FROM query_table('pg_class')",
        "SELECT * FROM main.pg_class, information_schema.nothing", "SELECT * FROM pg_class, duckdb_tables",
    ],
)  # fmt: skip
def test_nothing_else_can_be_reached_by_it(known: Catalogue, blank: Path, text: str) -> None:
    text = text.format(blank / "visits.csv")
    tree = catalogue._parsed(text)
    if tree is not None:
        with pytest.raises((KeyError, WireError)):
            catalogue._rewritten(tree, setting)
    try:
        rows = list(known.run(text, setting).rows)
    except WireError:
        rows = []
    assert rows == []


@pytest.mark.parametrize(
    "text",
    ["COPY pg_class TO '/tmp/x'", "ATTACH 'x' AS y", "SET lock_configuration = false", "INSTALL httpfs",
     "SELECT * FROM read_text('/etc/hostname')", "SELECT * FROM '/etc/hostname'"],
)  # fmt: skip
def test_the_database_in_memory_would_refuse_it_too(known: Catalogue, text: str) -> None:
    import duckdb  # noqa: PLC0415

    with pytest.raises(duckdb.Error):
        known.database.cursor().execute(text)


def test_a_statement_that_takes_long_is_ended(known: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_SECONDS", 0.2)
    began = time.monotonic()
    crossed = ", ".join(f"pg_type t{number}" for number in range(12))
    assert known.run(f"SELECT count(*) FROM {crossed}", setting).rows == []
    assert time.monotonic() - began < 60


def test_series_are_short_and_texts_do_not_grow(known: Catalogue) -> None:
    """The database cannot be interrupted while it makes one long list or one long text."""
    assert len(known.run("SELECT generate_series(1, 100000000) FROM pg_am", setting).rows) == 1_000
    assert known.run("SELECT count(*) FROM generate_series(-5, 100000000, 1) AS g", setting).rows == [(1001,)]
    once = "SELECT " + " || ".join(["relname"] * 9) + " AS x FROM pg_class"
    assert known.run(once, setting).rows
    for twice in (
        f"SELECT {' || '.join(['x'] * 9)} || 'a' FROM ({once}) AS a",
        f"SELECT concat({', '.join(['relname'] * 17)}) FROM pg_class",
        "SELECT replace(replace(replace(relname, 'p', 'pp'), 'p', 'pp'), 'p', 'pp') FROM pg_class",
    ):
        with pytest.raises(KeyError):
            catalogue._rewritten(catalogue._parsed(twice), setting)
        assert list(known.run(twice, setting).rows) == []


def test_tables_are_numbered_by_their_names_alone(served: Served) -> None:
    facts = served.service.planner.served
    alone = Catalogue.of({"visits": facts["visits"]})
    both = Catalogue.of(facts)
    text = "SELECT oid FROM pg_class WHERE relname = 'visits'"
    assert alone.run(text, setting).rows == both.run(text, setting).rows
    listed = alone.run("SELECT relname FROM pg_class WHERE relnamespace = 2200", setting).rows
    assert listed == [("visits",)]
    for name in ("pg_class", "pg_attribute", "pg_description"):
        assert not re.search("loans|fine|branch", str(alone.run(f"SELECT * FROM {name}", setting).rows))


def test_bounds_are_noted_with_all_their_digits(served: Served) -> None:
    """Whoever filters by what a BI tool shows would leave records out."""
    facts = served.service.planner.served["visits"]
    bounds = {"days": (Fraction("-0.25"), Fraction(1_234_567))}
    known = Catalogue.of({"visits": replace(facts, facts=replace(facts.facts, bounds=bounds))})
    text = f"SELECT description FROM pg_description WHERE objoid = {VISITS} AND objsubid = 1"
    assert known.run(text, setting).rows == [("from -0.25 to 1,234,567",)]
