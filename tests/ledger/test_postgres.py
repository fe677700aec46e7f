"""What is so of a ledger in PostgreSQL alone: its names, its users, its guards, and what it never tells."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import psycopg
import pytest

import prdp
from prdp.errors import InvalidRequest, LedgerError
from prdp.ledger import Binding, Charge, DurableLedger, shown_place
from prdp.release.release import Release
from tests.ledger.places import PostgresPlace, new_place
from tests.postgres import PostgresServer

pytestmark = pytest.mark.slow

FACTS = Binding({"name": "t"})
ANSWER = Release("count", 10, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip")
QUARTER = Fraction(1, 4)
PASSWORD = "correct-horse-9"  # noqa: S105  (of a server that lives as long as the tests)
DOES_NOTHING = "LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'"
WRONG = "battery-staple-7"


@pytest.fixture
def place(tmp_path: Path, postgres: str) -> PostgresPlace:
    made = new_place("postgres", tmp_path, lambda: postgres)
    assert isinstance(made, PostgresPlace)
    return made


@pytest.fixture
def ledger(place: PostgresPlace) -> DurableLedger:
    return DurableLedger.opened(place.given, FACTS, who="ana")


@pytest.fixture(scope="module")
def locked(postgres_server: PostgresServer) -> Iterator[str]:
    """Make a user who needs a password; return where the socket is."""
    rules = postgres_server.data / "pg_hba.conf"
    before = rules.read_text(encoding="utf-8")
    with psycopg.connect(postgres_server.address, autocommit=True) as database:
        database.execute(f"CREATE ROLE locked LOGIN PASSWORD '{PASSWORD}' SUPERUSER".encode())
        rules.write_text(f"local all locked scram-sha-256\n{before}", encoding="utf-8")
        database.execute("SELECT pg_reload_conf()")
    (folder,) = parse_qs(urlsplit(postgres_server.address).query)["host"]
    yield folder
    rules.write_text(before, encoding="utf-8")
    with psycopg.connect(postgres_server.address, autocommit=True) as database:
        database.execute("SELECT pg_reload_conf()")
        database.execute("DROP OWNED BY locked CASCADE")
        database.execute("DROP ROLE locked")


def as_user(place: PostgresPlace, user: str) -> str:
    return place.given.replace("postgres:@", f"{user}@")


@pytest.fixture
def users(place: PostgresPlace, ledger: DurableLedger) -> Iterator[None]:
    """Make an analyst and a reader, with the rights that docs/ledger.md gives them."""
    place.run(
        "CREATE ROLE analyst LOGIN",
        "CREATE ROLE reader LOGIN",
        f"GRANT USAGE ON SCHEMA {place.schema} TO analyst, reader",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {place.schema} TO analyst, reader",
        f"GRANT INSERT ON {place.schema}.charges, {place.schema}.releases TO analyst",
    )
    yield
    place.run("DROP OWNED BY analyst, reader", "DROP ROLE analyst, reader")


@pytest.mark.usefixtures("users")
def test_an_analyst_charges_and_changes_nothing_even_on_purpose(
    ledger: DurableLedger, place: PostgresPlace
) -> None:
    analyst = DurableLedger.opened(as_user(place, "analyst"), FACTS)
    charge = analyst.charge("a", QUARTER)
    assert isinstance(charge, Charge)
    assert analyst.record(charge, ANSWER) == ANSWER
    assert ledger.entries == analyst.entries
    for act in (
        "UPDATE charges SET share = '0'",
        "DELETE FROM charges",
        "TRUNCATE charges CASCADE",
        "INSERT INTO facts VALUES ('binding', '{}') ON CONFLICT (name) DO UPDATE SET value = '{}'",
        "DROP TRIGGER charges_no_delete ON charges",
        "ALTER TABLE charges DISABLE TRIGGER ALL",
        "DROP TABLE releases",
        f"CREATE OR REPLACE FUNCTION {place.schema}.refuse_to_change() RETURNS trigger {DOES_NOTHING}",
        "SET session_replication_role = replica",
    ):
        with psycopg.connect(as_user(place, "analyst").partition("&ledger")[0]) as database:
            database.execute(f"SET search_path = {place.schema}".encode())
            with pytest.raises(
                (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidFunctionDefinition)
            ):
                database.execute(act.encode())
    with pytest.raises(LedgerError, match=r"may not do that there.*: no quota was written"):
        analyst.set_quota("analyst", 1)


@pytest.mark.usefixtures("users")
def test_a_reader_reads_and_is_warned_that_nothing_was_charged(
    ledger: DurableLedger, place: PostgresPlace
) -> None:
    ledger.record(charged(ledger, "a"), ANSWER)
    reader = DurableLedger(as_user(place, "reader"))
    assert reader.remaining == Fraction(3, 4)
    assert reader.standing("a", QUARTER) == ANSWER
    for purpose in ("b", "c"):
        with pytest.raises(LedgerError, match=r"may not do that there.*: nothing was charged"):
            reader.charge(purpose, QUARTER)
    assert len(ledger.entries) == 1


@pytest.mark.usefixtures("users")
def test_whoever_may_not_begin_a_ledger_may_use_a_schema_that_was_made_for_it(place: PostgresPlace) -> None:
    own = place.beside("own")
    with pytest.raises(LedgerError, match=r"may not do that there.*: no ledger was begun"):
        DurableLedger.opened(as_user(own, "analyst"), FACTS)
    place.run(f"CREATE SCHEMA {own.schema} AUTHORIZATION analyst")
    assert DurableLedger.opened(as_user(own, "analyst"), FACTS).remaining == 1
    own.remove()


def charged(ledger: DurableLedger, purpose: str) -> Charge:
    charge = ledger.charge(purpose, QUARTER)
    assert isinstance(charge, Charge)
    return charge


def test_nothing_can_be_emptied_and_the_guards_hold_where_triggers_are_off_for_replicas(
    ledger: DurableLedger, place: PostgresPlace
) -> None:
    charged(ledger, "a")
    for act in ("TRUNCATE quotas", "TRUNCATE charges, releases", "TRUNCATE facts", "DELETE FROM charges"):
        for role in ("origin", "replica"):
            with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
                place.run(f"SET session_replication_role = {role}", act)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize(
    "act",
    [
        "ALTER TABLE releases SET UNLOGGED",
        "ALTER TABLE charges DISABLE TRIGGER charges_no_delete",
        "ALTER TABLE charges ENABLE TRIGGER charges_no_delete",
        "DROP TRIGGER quotas_no_truncate ON quotas",
        f"CREATE OR REPLACE FUNCTION refuse_to_change() RETURNS trigger {DOES_NOTHING}",
        "CREATE RULE swallow AS ON INSERT TO charges DO INSTEAD NOTHING",
        "ALTER TABLE charges DROP CONSTRAINT charges_pkey CASCADE",
        "ALTER TABLE charges ENABLE ROW LEVEL SECURITY",
        "CREATE TRIGGER more BEFORE INSERT ON charges EXECUTE FUNCTION refuse_to_change()",
    ],
)
def test_whatever_keeps_rows_from_being_lost_or_changed_is_missed(
    ledger: DurableLedger, place: PostgresPlace, act: str
) -> None:
    charged(ledger, "a")
    place.run(act)
    with pytest.raises(LedgerError, match="is damaged"):
        DurableLedger(place.given)


def test_a_view_beside_a_ledger_s_tables_is_no_damage(ledger: DurableLedger, place: PostgresPlace) -> None:
    charged(ledger, "a")
    place.run("CREATE VIEW spent AS SELECT max(number) FROM charges")
    assert DurableLedger(place.given).remaining == Fraction(3, 4)


@pytest.mark.parametrize(
    ("version", "says"), [("99", "newer prdp"), ("2", "from before"), ("x", "is damaged")]
)
def test_a_ledger_of_another_format_is_refused(
    ledger: DurableLedger, place: PostgresPlace, version: str, says: str
) -> None:
    place.unguarded("facts", "UPDATE facts SET value = ? WHERE name = 'format'", version)
    with pytest.raises(LedgerError, match=says):
        DurableLedger(place.given)


def test_ledgers_of_one_database_are_distinguished_by_their_names(
    ledger: DurableLedger, place: PostgresPlace
) -> None:
    other = DurableLedger.opened(place.beside("more").given, Binding({"name": "u"}))
    ledger.charge("a", Fraction(1))
    assert (ledger.remaining, other.remaining) == (Fraction(0), Fraction(1))
    with pytest.raises(LedgerError, match="name: t -> u"):
        ledger.attach(Binding({"name": "u"}))
    with pytest.raises(LedgerError, match="there is no ledger"):
        DurableLedger(place.beside("never").given)


@pytest.mark.parametrize("name", ["", "Big", "1st", "a-b", "a b", "a" * 41, "a;b", "é", 'a"b'])
def test_a_name_that_two_ledgers_could_have_is_refused(place: PostgresPlace, name: str) -> None:
    with pytest.raises(InvalidRequest):
        DurableLedger.opened(f"{place.database}&ledger={name}", FACTS)


def test_a_schema_with_other_tables_is_left_alone(place: PostgresPlace) -> None:
    place.run(f"CREATE SCHEMA {place.schema}", f"CREATE TABLE {place.schema}.theirs (x int)")
    with pytest.raises(LedgerError, match="is no ledger of prdp's"):
        DurableLedger.opened(place.given, FACTS)
    assert place.run("SELECT count(*) FROM theirs") == [(0,)]


def test_a_question_longer_than_an_index_takes_is_charged_and_found(ledger: DurableLedger) -> None:
    long = np.random.default_rng(1).bytes(20_000).hex()
    ledger.record(charged(ledger, long), ANSWER)
    assert ledger.standing(long, QUARTER) == ANSWER
    assert ledger.standing(long + "0", QUARTER) is None


def test_a_server_that_does_not_sync_is_refused(
    ledger: DurableLedger, place: PostgresPlace, postgres: str
) -> None:
    def set_fsync(how: str) -> None:
        with psycopg.connect(postgres, autocommit=True) as database:
            database.execute(f"ALTER SYSTEM {how}".encode())
            database.execute("SELECT pg_reload_conf()")
            while database.execute("SHOW fsync").fetchone() != ("off" if "off" in how else "on",):
                pass

    set_fsync("SET fsync = off")
    try:
        with pytest.raises(LedgerError, match="fsync = off"):
            DurableLedger(place.given)
        with pytest.raises(LedgerError, match="fsync = off"):
            DurableLedger.opened(place.beside("more").given, FACTS)
    finally:
        set_fsync("RESET fsync")
    assert DurableLedger(place.given).remaining == 1


def test_a_database_in_another_encoding_is_refused(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as database:
        database.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(LedgerError, match="not in UTF8"):
        DurableLedger.opened(postgres.replace("/postgres?", "/latin?"), FACTS)


def test_what_pg_dump_took_is_a_ledger_where_it_is_restored(
    ledger: DurableLedger, place: PostgresPlace, postgres_server: PostgresServer
) -> None:
    ledger.record(charged(ledger, "a"), ANSWER)
    elsewhere = postgres_server.new_database()
    taken = subprocess.run(
        [postgres_server.programs / "pg_dump", place.database, "--schema", place.schema],
        capture_output=True,
        check=True,
    ).stdout
    subprocess.run(
        [postgres_server.programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", elsewhere],
        input=taken,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    again = DurableLedger(f"{elsewhere}&ledger={place.name}")
    assert again.entries == ledger.entries
    assert isinstance(again.charge("b", QUARTER), Charge)


def secretly(folder: str, password: str, database: str = "postgres") -> str:
    return f"postgresql://locked:{password}@/{database}?host={folder}&ledger=kept"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (lambda folder: secretly(folder, WRONG), "did not accept the user or the password"),
        (lambda folder: secretly(folder, PASSWORD, "nowhere"), "there is no such database"),
        (lambda folder: secretly(folder + "/none", PASSWORD), "no server answers there"),
        (lambda folder: f"postgresql://locked:{PASSWORD}@no-host.invalid/db", "the host is not known"),
        (lambda folder: f"postgresql://locked:{PASSWORD}@127.0.0.1:1/db", "no server answers there"),
        (lambda folder: f"postgresql://locked:{PASSWORD}@127.0.0.1:1/db?sslmode=odd", "could be made"),
        (lambda folder: f"postgresql://locked:{PASSWORD}@127.0.0.1:1/db?nonsense=1", "could be made"),
        (lambda folder: f"postgresql://locked:%zz{PASSWORD}@127.0.0.1:1/db", "could be made"),
        (lambda folder: f"postgresql://locked:{PASSWORD}/@host/db", "is no address of a"),
        (
            lambda folder: f"postgresql://locked:{PASSWORD}@host/db@x",
            "is no address of a",
        ),
    ],
)
def test_who_cannot_connect_is_reported_why_in_fixed_words_and_no_password(
    locked: str, address: Callable[[str], str], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ledger = address(locked)
    with pytest.raises((LedgerError, InvalidRequest), match=says) as refusal:
        DurableLedger(ledger)
    error = refusal.value
    assert error.__context__ is None
    assert error.__cause__ is None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame for frame in frames if frame.f_code.co_name in {"reading", "_run", "_once", "_connected"}]
    reported = [str(error), repr(error), caplog.text, *(repr(frame.f_locals) for frame in ours)]
    for text in reported:
        assert PASSWORD not in text
        assert WRONG not in text


def test_a_password_in_an_address_is_in_nothing_that_is_shown(
    locked: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = secretly(locked, PASSWORD)
    table = prdp.open({"v": np.arange(9)}, policy="1", name="t", ledger=address)
    ledger = table.ledger
    assert isinstance(ledger, DurableLedger)
    table.count(share="1/4")
    reported = [
        *(repr(table), str(table), repr(ledger), str(ledger), repr(vars(ledger)), ledger.shown),
        *(repr(vars(ledger._storage)), ledger.export("json"), ledger.export("csv"), ledger._repr_html_()),
        *(ledger.binding.to_json(), repr(ledger.entries), caplog.text, shown_place(address)),
    ]
    for text in reported:
        assert PASSWORD not in text
        assert "locked:" not in text
    rows = PostgresPlace(address.replace("&ledger=kept", ""), "kept").run("SELECT * FROM facts")
    assert PASSWORD not in repr(rows)
    assert pickle.loads(pickle.dumps(ledger)).remaining == Fraction(3, 4)  # noqa: S301  (our own)


@pytest.mark.parametrize("way", ["PGPASSWORD", "PGPASSFILE"])
def test_a_password_from_the_environment_is_taken(
    locked: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "pgpass"
    kept.write_text(f"*:*:*:locked:{PASSWORD}\n", encoding="utf-8")
    kept.chmod(0o600)
    monkeypatch.setenv(way, PASSWORD if way == "PGPASSWORD" else str(kept))
    place = f"postgresql://locked@/postgres?host={locked}&ledger={way.lower()}"
    assert DurableLedger.opened(place, FACTS).remaining == 1


@pytest.mark.parametrize(
    "place",
    [
        Path(f"postgresql://ana:{PASSWORD}@host/db"),
        f"postgresql:/ana:{PASSWORD}@host/db",
        f"postgresql+psycopg://ana:{PASSWORD}@host/db",
        f"mysql://ana:{PASSWORD}@host/db",
    ],
)
def test_an_address_that_is_none_of_postgresql_s_is_not_taken_for_a_file_and_not_repeated(
    place: Path | str,
) -> None:
    with pytest.raises(InvalidRequest, match="is no place for a ledger") as refusal:
        DurableLedger.opened(place, FACTS)
    assert PASSWORD not in str(refusal.value)
    with pytest.raises(InvalidRequest, match="is no place for a ledger"):
        DurableLedger(place)


def test_without_psycopg_the_command_that_brings_it_is_stated(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import numpy, prdp\n"
        "rows = {'v': numpy.arange(9)}\n"
        "prdp.open(rows, policy='1', ledger='t.ledger').count(share='1/2')\n"
        "prdp.open(rows, policy='1', ledger='postgresql://host/db')\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ,
    )
    assert "pip install 'prdp[postgres]'" in ran.stderr
    assert (tmp_path / "t.ledger").exists()
