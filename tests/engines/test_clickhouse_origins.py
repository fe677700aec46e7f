"""ClickHouse's catalogue and parser tell which views and tables show private rows."""

from __future__ import annotations

import pytest
from chdb.session import Session

from tests.engines.clickhouse import opened
from tests.origins import PRIVATE, TWIN, assert_told_apart, verdict

pytestmark = pytest.mark.slow

PLAIN = "ENGINE = MergeTree ORDER BY tuple()"
FORMS = {
    "view": "CREATE VIEW {d} AS SELECT id AS code FROM {t}",
    "view of a view": (
        "CREATE VIEW {d}_0 AS SELECT * FROM {t}; CREATE VIEW {d} AS SELECT id AS code FROM {d}_0"
    ),
    "materialised": f"CREATE MATERIALIZED VIEW {{d}} {PLAIN} POPULATE AS SELECT id AS code FROM {{t}}",
    "target of a materialised view": (
        f"CREATE TABLE {{d}} (code Int64) {PLAIN}; CREATE MATERIALIZED VIEW {{d}}_0 TO {{d}} AS "
        "SELECT id AS code FROM {t}; INSERT INTO {d} SELECT code FROM codes"
    ),
    "view of such a target": (
        f"CREATE TABLE {{d}}_1 (code Int64) {PLAIN}; CREATE MATERIALIZED VIEW {{d}}_0 TO {{d}}_1 AS "
        "SELECT id AS code FROM {t}; "
        "CREATE VIEW {d} AS SELECT code FROM {d}_1 UNION ALL SELECT code FROM codes"
    ),
    "union": "CREATE VIEW {d} AS SELECT 100 + code AS code FROM codes UNION ALL SELECT id AS code FROM {t}",
    "join": "CREATE VIEW {d} AS SELECT c.code AS code FROM codes AS c INNER JOIN {t} AS t ON t.id = c.code",
    "in": "CREATE VIEW {d} AS SELECT code FROM codes WHERE code IN (SELECT id FROM {t})",
    "in a table": "CREATE VIEW {d} AS SELECT code FROM codes WHERE (code, code) IN {t}",
    "scalar": "CREATE VIEW {d} AS SELECT code FROM codes WHERE code <= (SELECT max(id) FROM {t})",
    "CTE": "CREATE VIEW {d} AS WITH q AS (SELECT id FROM {t}) SELECT id AS code FROM q",
    "odd alias": "CREATE VIEW {d} AS SELECT `x (alias y)`.id AS code FROM {t} AS `x (alias y)`",
    "another database": "CREATE DATABASE {d}_0; CREATE VIEW {d} AS SELECT id AS code FROM bank.{t}",
    "aggregate": "CREATE VIEW {d} AS SELECT id AS code FROM {t} GROUP BY id",
    "view()": "CREATE VIEW {d} AS SELECT id AS code FROM view(SELECT id FROM {t})",
    "numbers()": (
        "CREATE VIEW {d} AS SELECT toInt64(number) AS code FROM numbers(9) "
        "WHERE number IN (SELECT id FROM {t})"
    ),
    "PREWHERE": "CREATE VIEW {d} AS SELECT id AS code FROM {t} PREWHERE id >= 0",
}
HIDDEN = {
    "Merge": "CREATE TABLE {d} (id Int64, town Int64, code Int64 DEFAULT 0) ENGINE = Merge('bank', '^{t}$')",
    "merge()": "CREATE VIEW {d} AS SELECT id AS code FROM merge('bank', '^{t}$')",
    "remote()": "CREATE VIEW {d} AS SELECT id AS code FROM remote('127.0.0.1', 'bank', '{t}')",
    "dictionary": (
        "CREATE DICTIONARY {d} (code UInt64, town Int64) PRIMARY KEY code "
        "SOURCE(CLICKHOUSE(QUERY 'SELECT id AS code, town FROM bank.{t}')) LAYOUT(FLAT()) LIFETIME(0)"
    ),
    "dictGet": (
        "CREATE DICTIONARY {d}_0 (id UInt64, town Int64) PRIMARY KEY id "
        "SOURCE(CLICKHOUSE(DB 'bank' TABLE '{t}')) LAYOUT(FLAT()) LIFETIME(0);"
        "CREATE VIEW {d} AS SELECT code FROM codes WHERE dictHas('bank.{d}_0', toUInt64(code))"
    ),
    "function of one's own": (
        "CREATE FUNCTION {d}_0 AS (x) -> x IN (SELECT id FROM bank.{t});"
        "CREATE VIEW {d} AS SELECT code FROM codes WHERE {d}_0(code)"
    ),
    "parts": (
        "CREATE VIEW {d} AS SELECT toInt64(sum(rows)) AS code FROM system.parts "
        "WHERE table = '{t}' AND active"
    ),
}
"""Through these the catalogue does not see, so that the twin's are refused as well."""

INLINED = {"function of one's own"}
"""Whether a version shows what these read is unknown: either refusal of private rows will do."""


@pytest.fixture(scope="module")
def bank() -> Session:
    session = opened()
    for table in ("codes", PRIVATE, TWIN):
        session.query(f"DROP TABLE IF EXISTS {table}")
    session.query(f"CREATE TABLE codes (code Int64) {PLAIN}")
    session.query("INSERT INTO codes SELECT number FROM numbers(6)")
    for table in (PRIVATE, TWIN):
        session.query(f"CREATE TABLE {table} (id Int64, town Int64) {PLAIN}")
        session.query(f"INSERT INTO {table} SELECT number, number FROM numbers(6)")
        for place, form in enumerate((FORMS | HIDDEN).values()):
            for statement in form.format(t=table, d=f"{table}_d{place}").split(";"):
                session.query(statement)
    return session


def test_what_shows_private_rows_is_no_public_table_and_its_twin_is_one(bank: Session) -> None:
    found: dict[str, tuple[str, str]] = {}
    for place, form in enumerate(FORMS | HIDDEN):
        private, twin = (verdict(PRIVATE, f"{table}_d{place}", bank) for table in (PRIVATE, TWIN))
        is_known = form in INLINED and (private, twin) == ("have one source", "answered")
        found[form] = ("cannot be traced", "cannot be traced") if is_known else (private, twin)
    assert_told_apart(found, HIDDEN)


def test_the_inner_table_of_a_view_is_not_taken_for_a_table_of_its_own(bank: Session) -> None:
    listed = str(bank.query("SELECT name FROM system.tables WHERE name LIKE '.inner%'", "TSVRaw"))
    assert listed.split()
    for inner in listed.split():
        assert verdict(PRIVATE, inner, bank) == "cannot be traced"
