"""MariaDB meets the contract: a real server, reached through SQLAlchemy as users reach theirs."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import prdp
from prdp.cli.app import app
from prdp.declare.key_search import read_keys
from prdp.declare.units import PrivacyUnit
from prdp.engines.mariadb.engine import note_pass
from prdp.engines.statements.translate import form
from prdp.errors import EngineFailure, InvalidRequest
from prdp.plan.reads import KeyMassRead
from prdp.testing.engine_check import CheckPlace, claims, place_for
from prdp.testing.engine_contract import EngineContract
from prdp.testing.engine_equality import EqualityContract
from prdp.testing.key_contract import rows_of_masses
from prdp.testing.reference import Record
from prdp.testing.storage_contract import StorageContract
from tests.mariadb import PASSWORD

pytestmark = pytest.mark.slow

pymysql = pytest.importorskip("pymysql")
engines: Any = pytest.importorskip("prdp.engines.mariadb.engine")
MARIADB = engines.MARIADB
FEW = "test_a_quotient_is_never_rounded_up_to_a_level"

_NUMBERS = count()
_INDICES = "KEY (x), KEY (v), KEY (job(20)), KEY (day)"


@pytest.fixture(scope="module")
def place(mariadb: str) -> Iterator[CheckPlace]:
    with place_for(mariadb) as found:
        yield found


class TestMariaDB(EngineContract, EqualityContract):
    @pytest.fixture(autouse=True)
    def _place(self, place: CheckPlace, mariadb: str) -> None:
        self.place, self.address = place, mariadb

    def engine(self, records: Sequence[Record]) -> Any:
        return self.place.keep(records)

    def row_records(self) -> Sequence[Record]:
        return [record for record in super().row_records() if self.place.holds(record)]

    def as_held(self, records: Sequence[Record]) -> Sequence[Record]:
        return [self.place.held(record) for record in records]

    def refuses(self, engine: Any, reading: Any, text: str) -> bool:
        """Upper and lower case are refused, and nothing else."""
        if not any(word in text for word in ("lower", "upper", "ILIKE")):
            return False
        with pytest.raises(InvalidRequest, match=r"MariaDB does not support (Lower|Upper)"):
            engine.shown(reading)
        return True

    def lost(self, records: Sequence[Record]) -> Any:
        return self.after("DROP TABLE {}", records)

    def changed(self, records: Sequence[Record]) -> Any:
        return self.after("ALTER TABLE {} DROP COLUMN v", records)

    def after(self, statement: str, records: Sequence[Record]) -> Any:
        ((_, _, kept),) = next(iter(self.engine(records).origins.values())).places
        done(self.address, f"CREATE OR REPLACE TABLE gone AS SELECT * FROM {kept}")
        engine = engine_of(opened(self.address), "gone")
        done(self.address, statement.format("gone"))
        return engine


class TestMariaDBStorage(StorageContract):
    examples = 2

    @pytest.fixture(autouse=True)
    def _server(self, mariadb: str) -> None:
        self.address = mariadb

    def storages(self) -> Mapping[str, Any]:
        return {"with indices and statistics": lambda records, _: self.kept(records)}

    def kept(self, records: Sequence[Mapping[str, Any]]) -> Any:
        table = f"t{next(_NUMBERS)}"
        columns = "x DOUBLE, f FLOAT, v BIGINT, d DECIMAL(18,2), job TEXT, day DATETIME(6), ok BOOLEAN"
        done(self.address, f"CREATE TABLE {table} ({columns}, {_INDICES})")
        database = opened(self.address)
        names = ("x", "f", "v", "d", "job", "day", "ok")
        rows = [[_held(record[name], name) for name in names] for record in records]
        database.write(f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s, %s, %s)", rows)
        done(self.address, f"ANALYZE TABLE {table} PERSISTENT FOR ALL")
        return engine_of(database, table)


def _held(value: Any, name: str) -> Any:
    """Return what MariaDB holds of a value: no NaN, and its largest number for an infinity."""
    if not isinstance(value, float):
        return value
    most = 3.4028234663852886e38 if name == "f" else 1.7976931348623157e308
    return None if math.isnan(value) else max(min(value, most), -most)


def opened(address: str) -> Any:
    return engines.session_at(address)


def engine_of(session: Any, table: str) -> Any:
    return engines.SqlEngine(engines.MariaDatabase(session, table))


def done(address: str, statement: str) -> None:
    opened(address).write(statement)


def schemas(address: str) -> set[str]:
    with opened(address).engine.connect() as database:
        rows = database.exec_driver_sql("SELECT schema_name FROM information_schema.schemata").fetchall()
    return {str(name) for (name,) in rows}


def people(address: str, rows: int = 3) -> str:
    """Make a table of people; return its name."""
    name = f"people{next(_NUMBERS)}"
    done(address, f"CREATE TABLE {name} (age INT, job VARCHAR(20), pay DECIMAL(9,2))")
    done(address, f"INSERT INTO {name} SELECT seq % 90, 'clerk', seq FROM seq_1_to_{rows}")
    return name


@pytest.fixture
def checked(mariadb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return an address whose server has passed the check, to this test alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    note_pass("mariadb", opened(mariadb).version(), len(claims()))
    return mariadb


def test_a_server_is_refused_until_its_check_has_passed(
    mariadb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    monkeypatch.setattr("prdp.testing.engine_check.claims", lambda: [FEW])
    name = people(mariadb)
    with pytest.raises(InvalidRequest, match="prdp engine check 'mariadb://user@host/database'") as refused:
        prdp.open(mariadb, table=name, policy="1")
    assert PASSWORD not in str(refused.value)
    before = schemas(mariadb)
    monkeypatch.setenv("BANK_URL", mariadb)  # it holds a password, which no argument may
    result = CliRunner().invoke(app, ["engine", "check", "${BANK_URL}"])
    assert result.exit_code == 0, result.output
    assert prdp.open(mariadb, table=name, policy="1").count(share="1/10") is not None
    (record,) = tmp_path.rglob("*.json")
    written = record.read_text() + result.output
    assert not any(word in written for word in (PASSWORD, "ana", "127.0.0.1", "bank"))
    assert schemas(mariadb) == before
    monkeypatch.setattr("prdp.engines.mariadb.engine.own_version", lambda: "0")
    with pytest.raises(InvalidRequest, match="has not been checked yet"):
        prdp.open(mariadb, table=name, policy="1")


def test_a_check_that_fails_opens_nothing(
    mariadb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("prdp.testing.engine_check.claims", lambda: [FEW])
    whole = {**MARIADB.rules, "Div": in_decimals}
    monkeypatch.setattr(engines, "MARIADB", replace(MARIADB, rules=whole))
    monkeypatch.setenv("BANK_URL", mariadb)  # it holds a password, which no argument may
    result = CliRunner().invoke(app, ["engine", "check", "${BANK_URL}"])
    assert result.exit_code == 1, result.output
    assert "Do not use it there" in result.output
    assert not list(tmp_path.rglob("*.json"))


def in_decimals(node: Any) -> Any:
    """Say a quotient as MariaDB does of whole numbers: with four digits, rounded up or down."""
    return form("CAST(CAST(a / b AS DECIMAL(40, 4)) AS DOUBLE)", "mysql", a=node.this, b=node.expression)


def test_a_question_is_answered_and_its_ledger_knows_no_password(checked: str, tmp_path: Path) -> None:
    name = people(checked, 400)
    ledger = tmp_path / "people.ledger"
    table = prdp.open(
        checked,
        table=name,
        policy="least(100 / age, 5)",
        bounds={"age": (0, 89), "pay": (0, 400)},
        ledger=ledger,
    )
    assert abs(table.count(share="1/2").value - 400) < 400
    assert abs(float(table.sum("pay", share="1/4").value)) < 10**6
    assert PASSWORD.encode() not in ledger.read_bytes()
    assert PASSWORD not in repr(table)


def test_what_mariadb_has_no_word_for_is_refused_before_it_is_charged(checked: str) -> None:
    table = prdp.open(checked, table=people(checked), policy="1", bounds={"pay": (0, 400)})
    with pytest.raises(InvalidRequest, match="MariaDB does not support Lower"):
        table.filter("lower(job) = 'clerk'").count(share="1/4")
    with pytest.raises(InvalidRequest, match="search in so many bins"):
        table.group_by(prdp.bins("pay", list(range(400)))).count(share="1/4")
    assert table.remaining == 1


@pytest.mark.parametrize(
    ("change", "meant"),
    [
        ((PASSWORD, "wrong"), "incorrect password"),
        (("/bank", "/none"), "no such database|may not use"),
        (("@127.0.0.1:", "@127.0.0.1:1"), "no address|nothing listens"),
        (("/bank", "/bank?init_command=DROP"), "no address of MariaDB"),
    ],
)
def test_what_cannot_be_reached_is_stated_without_user_and_password(
    checked: str, change: tuple[str, str], meant: str
) -> None:
    with pytest.raises(InvalidRequest, match=meant) as refused:
        prdp.open(checked.replace(*change), table="people", policy="1")
    assert PASSWORD not in str(refused.value)
    assert "ana" not in str(refused.value).replace("another", "")
    assert refused.value.__cause__ is None


def test_views_other_databases_and_missing_tables_are_distinguished(checked: str) -> None:
    name = people(checked)
    done(checked, f"CREATE VIEW {name}_v AS SELECT age FROM {name}")
    with pytest.raises(InvalidRequest, match="is a view"):
        prdp.open(checked, table=f"{name}_v", policy="1")
    prdp.open(checked, table=f"{name}_v", policy="1", rows_are_records=True)
    prdp.open(checked, table=f"bank.{name}", policy="1")
    with pytest.raises(InvalidRequest, match="there is no table 'nobody'"):
        prdp.open(checked, table="nobody", policy="1")


def test_a_table_that_keeps_its_history_is_read_as_it_is_now(checked: str) -> None:
    """Deleted rows stay in it, and a server may show every session an earlier time."""
    done(checked, "CREATE OR REPLACE TABLE history (age INT) WITH SYSTEM VERSIONING")
    done(checked, "INSERT INTO history VALUES (1), (2), (3)")
    done(checked, "DELETE FROM history WHERE age = 2")
    done(checked, "SET GLOBAL system_versioning_asof = '2020-01-01 00:00:00'")
    try:
        table = prdp.open(checked, table="history", policy=prdp.Policy.constant(10**9), synthetic=True)
        assert table.count(share=1).value == pytest.approx(2, abs=0.01)
    finally:
        done(checked, "SET GLOBAL system_versioning_asof = DEFAULT")


@pytest.mark.parametrize("limit", ["max_join_size = 10", "sql_select_limit = 1"])
def test_a_server_s_limit_of_rows_decides_nothing(checked: str, limit: str) -> None:
    """MariaDB would refuse a statement that reads more rows than that, or give the first of its cells."""
    name = people(checked, 100)
    done(checked, f"SET GLOBAL {limit}")
    try:
        policy = "CASE WHEN age < 45 THEN 1000000000 ELSE 2000000000 END"
        table = prdp.open(checked, table=name, policy=policy, synthetic=True)
        assert table.count(share=1).value == pytest.approx(100, abs=0.01)
    finally:
        done(checked, f"SET GLOBAL {limit.partition('=')[0]} = DEFAULT")


def test_units_whose_names_differ_after_many_characters_are_different(checked: str) -> None:
    name = f"long{next(_NUMBERS)}"
    done(checked, f"CREATE TABLE {name} (job TEXT, v INT)")
    done(checked, f"INSERT INTO {name} SELECT CONCAT(REPEAT('a', 60000), seq % 3), 1 FROM seq_1_to_30")
    engine = engine_of(opened(checked), name)
    policy = prdp.Policy("1").within(engine.schema, {})
    reading = KeyMassRead(policy, policy.levels, read_keys("job", engine.schema), None, PrivacyUnit("job"))
    assert sorted(len(key[0]) for key, _ in rows_of_masses(engine.key_masses(reading))) == [60001] * 3


SLOW = "SELECT count(*) AS n FROM prdp_records AS a, prdp_records AS b, prdp_records AS c"


def slow(address: str) -> Any:
    """Open a table over which SLOW takes minutes."""
    return engine_of(opened(address), people(address, 20_000))


def running(address: str) -> list[int]:
    """Return the connections in which prdp counts, as the server knows them."""
    with opened(address).engine.connect() as database:
        rows = database.exec_driver_sql("SHOW PROCESSLIST", None).fetchall()
    return [int(row[0]) for row in rows if "prdp_records" in str(row[7])]


def once_running(address: str, act: Any) -> threading.Thread:
    def wait() -> None:
        deadline = time.monotonic() + 60
        while not (found := running(address)) and time.monotonic() < deadline:
            time.sleep(0.05)
        act(found)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.meets("cut")
def test_a_connection_that_is_cut_fails_with_the_fixed_text(checked: str) -> None:
    engine = slow(checked)

    def cut(found: list[int]) -> None:
        for one in found:
            done(checked, f"KILL CONNECTION {one}")

    thread = once_running(checked, cut)
    with pytest.raises(EngineFailure) as failed:
        engine.columns(SLOW)
    thread.join()
    assert str(failed.value) == str(EngineFailure())
    assert failed.value.__context__ is None


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX's signals")
def test_ctrl_c_stops_the_statement_on_the_server(checked: str) -> None:
    engine = slow(checked)
    thread = once_running(checked, lambda _: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        engine.columns(SLOW)
    thread.join()
    deadline = time.monotonic() + 30
    while running(checked) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running(checked)
