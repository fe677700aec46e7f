"""The way to databases through SQLAlchemy: a real PostgreSQL server, as if it were one that we cannot run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prdp.engines import _engine_checks as checks
from prdp.engines._postgres_catalog import relation
from prdp.engines._postgres_session import _SETTINGS
from prdp.engines._sql_backend import Ask, CheckTables, SqlBackend, SqlTable
from prdp.engines.dialects.postgres import POSTGRES
from prdp.engines.dialects.translate import form
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.testing.engine_check import check_engine
from prdp.testing.engine_contract import EngineContract
from prdp.testing.engine_places import place_for
from prdp.testing.reference import Record

engines: Any = pytest.importorskip("prdp.engines.sqlalchemy")


def _find(ask: Ask, shown: str, table: str, rows_are_records: bool) -> SqlTable:
    found = relation(ask, shown, table, rows_are_records=rows_are_records)
    return SqlTable(".".join(map(quoted, found.place)), found.schema, found.read, found.source)


UNKNOWN = SqlBackend(
    name="mariadb",  # by which addresses are read; the server is another
    title="Unknown",
    driver="postgresql+psycopg",
    package="psycopg",
    dialect=POSTGRES,
    quote='"',
    version="SHOW server_version",
    session=tuple(f"SET LOCAL {name} = '{value}'" for name, value in _SETTINGS.items()),
    begin=("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",),
    whoami="SELECT pg_catalog.pg_backend_pid()",
    cancel="SELECT pg_catalog.pg_cancel_backend({who})",
    find=_find,
    refuse=lambda version, shown: None,
    troubles={},
    options=("host",),
    arguments={},
    greatest=float("inf"),
    check=CheckTables(
        create="CREATE SCHEMA {schema}",
        drop="DROP SCHEMA {schema} CASCADE",
        table="CREATE TABLE {table} (eps float8, v bigint, x float8, job text, day timestamp)",
        insert="INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)",
        has_nan=True,
    ),
)


def rounded(node: Any) -> Any:
    """Say a quotient with four digits, rounded up or down."""
    return form(
        "CAST(round(CAST(a / b AS DECIMAL), 4) AS DOUBLE PRECISION)",
        "postgres",
        a=node.this,
        b=node.expression,
    )


@pytest.fixture(scope="module")
def address(postgres: str) -> str:
    return postgres.replace("postgresql://", "mariadb://")


@pytest.fixture(autouse=True)
def _unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(engines.BACKENDS, "mariadb", UNKNOWN)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))


class TestAnySql(EngineContract):
    brief = True  # the dialect that is said is PostgreSQL's, which is asked everything in test_postgres.py

    @pytest.fixture(autouse=True)
    def _place(self, address: str) -> Iterator[None]:
        with place_for(address) as place:
            self.place = place
            yield

    def engine(self, records: Sequence[Record]) -> Any:
        return self.place.keep(records)

    def row_records(self) -> Sequence[Record]:
        return [record for record in super().row_records() if "\0" not in (record["job"] or "")]

    def lost(self, records: Sequence[Record]) -> None:  # noqa: ARG002
        return None

    def changed(self, records: Sequence[Record]) -> None:  # noqa: ARG002
        return None


def test_a_dialect_whose_quotients_are_rounded_is_found_out(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(UNKNOWN, dialect=replace(POSTGRES, rules={**POSTGRES.rules, "Div": rounded}))
    monkeypatch.setitem(engines.BACKENDS, "mariadb", wrong)
    claim = "test_a_quotient_is_never_rounded_up_to_a_level"
    monkeypatch.setattr("prdp.testing.engine_check.claims", lambda: [claim])
    for backend, held in ((wrong, False), (UNKNOWN, True)):
        monkeypatch.setitem(engines.BACKENDS, "mariadb", backend)
        with place_for(address) as place:
            (outcome,) = check_engine(place)
        assert outcome.held is held, outcome.why


def test_a_pass_is_of_one_dialect_one_server_and_one_version_of_prdp(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not checks.has_passed("mariadb", "11.4")
    checks.note_pass("mariadb", "10.11", 25)
    path = checks.note_pass("mariadb", "11.4", 25)
    checks.note_pass("mariadb", "11.4", 26)
    assert [one["claims"] for one in json.loads(path.read_text())] == [25, 26]
    assert checks.has_passed("mariadb", "11.4")
    assert not checks.has_passed("mariadb", "11.5")
    assert not checks.has_passed("trino", "11.4")
    monkeypatch.setattr(checks, "own_version", lambda: "0")
    assert not checks.has_passed("mariadb", "11.4")


@pytest.mark.parametrize("kept", ["", "{}", "[1]", '[{"dialect": "mariadb"}]', "\0"])
def test_a_broken_record_of_passes_passes_nothing(kept: str) -> None:
    path = checks.checks_file()
    path.parent.mkdir(parents=True)
    path.write_text(kept)
    assert not checks.has_passed("mariadb", "11.4")
    checks.note_pass("mariadb", "11.4", 25)
    assert checks.has_passed("mariadb", "11.4")


@pytest.mark.parametrize("scheme", ["snowflake", "bigquery", "trino", "snowflake+other"])
def test_databases_without_sql_of_ours_are_refused_and_guessed_by_nobody(scheme: str) -> None:
    with pytest.raises(InvalidRequest, match="never run by us on the real thing") as refused:
        engines.open_source(f"{scheme}://ana:secret@host/bank", None, table="people")
    assert "secret" not in str(refused.value)
    with (
        pytest.raises(InvalidRequest, match="nothing is guessed"),
        place_for(f"{scheme}://ana:secret@host/bank"),
    ):
        pass


def test_an_unchecked_server_is_refused_with_the_command_that_checks_it(address: str) -> None:
    with pytest.raises(InvalidRequest, match="Nor was it ever run by us on the real thing") as refused:
        engines.open_source(address, None, table="people")
    assert "prdp engine check" in str(refused.value)
