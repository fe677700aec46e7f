"""PostgreSQL's catalogue tells which views, partitions and functions show private rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import prdp
from prdp.engines.registry import database_origins
from prdp.errors import InvalidRequest
from tests.origins import PRIVATE, TWIN, answered, assert_told_apart, joined, verdict

pytestmark = pytest.mark.slow

BASE = """
    CREATE TABLE {t} (id BIGINT, town BIGINT) PARTITION BY RANGE (id);
    CREATE TABLE {t}_low PARTITION OF {t} FOR VALUES FROM (0) TO (3);
    CREATE TABLE {t}_high PARTITION OF {t} FOR VALUES FROM (3) TO (100);
    INSERT INTO {t} SELECT i, i FROM generate_series(0, 5) AS i;
    ANALYZE {t};
"""
FORMS = {
    "view": "CREATE VIEW {d} AS SELECT id AS code FROM {t}",
    "view of a view": "CREATE VIEW {d}_0 AS TABLE {t}; CREATE VIEW {d} AS SELECT id AS code FROM {d}_0",
    "materialised": "CREATE MATERIALIZED VIEW {d} AS SELECT id AS code FROM {t}",
    "view of a materialised one": (
        "CREATE MATERIALIZED VIEW {d}_0 AS TABLE {t}; CREATE VIEW {d} AS SELECT id AS code FROM {d}_0"
    ),
    "partition": "CREATE VIEW {d} AS SELECT id AS code FROM {t}_low",
    "union": "CREATE VIEW {d} AS SELECT code FROM codes UNION SELECT id FROM {t}",
    "join": "CREATE VIEW {d} AS SELECT DISTINCT c.code FROM codes AS c JOIN {t} AS t ON t.id = c.code",
    "in": "CREATE VIEW {d} AS SELECT code FROM codes WHERE code IN (SELECT id FROM {t})",
    "exists": "CREATE VIEW {d} AS SELECT code FROM codes WHERE EXISTS (SELECT FROM {t} WHERE id = code)",
    "scalar": "CREATE VIEW {d} AS SELECT code FROM codes WHERE code <= (SELECT max(id) FROM {t})",
    "in a join's condition": (
        "CREATE VIEW {d} AS SELECT c.code FROM codes AS c JOIN codes AS o ON c.code = o.code "
        "AND c.code IN (SELECT id FROM {t})"
    ),
    "CTE": "CREATE VIEW {d} AS WITH q AS (SELECT id FROM {t}) SELECT id AS code FROM q",
    "lateral": (
        "CREATE VIEW {d} AS SELECT DISTINCT l.id AS code "
        "FROM codes, LATERAL (SELECT id FROM {t} OFFSET 0) AS l"
    ),
    "window": "CREATE VIEW {d} AS SELECT row_number() OVER (ORDER BY id) AS code FROM {t}",
    "aggregate": "CREATE VIEW {d} AS SELECT id AS code FROM {t} GROUP BY id HAVING count(*) > 0",
    "sampled": "CREATE VIEW {d} AS SELECT id AS code FROM {t} TABLESAMPLE SYSTEM (100)",
    "cast and formatted": "CREATE VIEW {d} AS SELECT CAST(to_char(id, 'FM999') AS BIGINT) AS code FROM {t}",
    "another schema": "CREATE SCHEMA s_{d}; CREATE VIEW {d} AS SELECT id AS code FROM {t}; ",
    "inherited": "CREATE VIEW {d} AS SELECT id AS code FROM ONLY {t}_high",
    "rule": (
        "CREATE TABLE {d} AS SELECT code FROM codes;"
        "CREATE RULE {d}_0 AS ON INSERT TO {t} DO ALSO INSERT INTO {d} VALUES (NEW.id)"
    ),
    "view of what a rule fills": (
        "CREATE TABLE {d}_1 AS SELECT code FROM codes; CREATE VIEW {d} AS TABLE {d}_1;"
        "CREATE RULE {d}_0 AS ON INSERT TO {t} DO ALSO INSERT INTO {d}_1 VALUES (NEW.id)"
    ),
}
HIDDEN = {
    "SQL function": (
        "CREATE FUNCTION {d}_0() RETURNS SETOF BIGINT LANGUAGE sql AS 'SELECT id FROM public.{t}';"
        "CREATE VIEW {d} AS SELECT f AS code FROM {d}_0() AS f"
    ),
    "function called immutable": (
        "CREATE FUNCTION {d}_0(BIGINT) RETURNS BOOLEAN IMMUTABLE LANGUAGE plpgsql AS "
        "'BEGIN RETURN EXISTS (SELECT FROM public.{t} WHERE id = $1); END';"
        "CREATE VIEW {d} AS SELECT code FROM codes WHERE {d}_0(code)"
    ),
    "operator": (
        "CREATE FUNCTION {d}_0(BIGINT, BIGINT) RETURNS BOOLEAN LANGUAGE sql AS "
        "'SELECT EXISTS (SELECT FROM public.{t} WHERE id = $1 + 0 * $2)';"
        "CREATE OPERATOR <~{n}~> (FUNCTION = {d}_0, LEFTARG = BIGINT, RIGHTARG = BIGINT);"
        "CREATE VIEW {d} AS SELECT code FROM codes WHERE code OPERATOR(public.<~{n}~>) 0"
    ),
    "aggregate of one's own": (
        "CREATE FUNCTION {d}_0(BIGINT, BIGINT) RETURNS BIGINT LANGUAGE sql AS "
        "'SELECT max(id) + 0 * $1 FROM public.{t}';"
        "CREATE AGGREGATE {d}_1(BIGINT) (SFUNC = {d}_0, STYPE = BIGINT, INITCOND = '0');"
        "CREATE VIEW {d} AS SELECT {d}_1(code) AS code FROM codes"
    ),
    "query in XML": (
        "CREATE VIEW {d} AS SELECT code FROM codes "
        "WHERE query_to_xml('SELECT id FROM {t}', false, false, '')::text LIKE '%' || code || '%'"
    ),
    "table in XML": (
        "CREATE VIEW {d} AS SELECT code FROM codes "
        "WHERE table_to_xml(CAST('{t}_low' AS regclass), false, false, '')::text LIKE '%' || code || '%'"
    ),
    "statistics": (
        "CREATE VIEW {d} AS SELECT DISTINCT CAST(unnest(histogram_bounds::text::bigint[]) AS BIGINT) AS code "
        "FROM pg_catalog.pg_stats WHERE tablename = '{t}' AND attname = 'id'"
    ),
    "number of rows": (
        "CREATE VIEW {d} AS SELECT pg_catalog.pg_stat_get_live_tuples(c.oid) AS code "
        "FROM (VALUES (CAST({oid} AS oid))) AS c (oid)"
    ),
    "row security": (
        "CREATE TABLE {d} AS SELECT code FROM codes; ALTER TABLE {d} ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY p ON {d} USING (code IN (SELECT id FROM {t}))"
    ),
    "domain": (
        "CREATE FUNCTION {d}_0(BIGINT) RETURNS BOOLEAN IMMUTABLE LANGUAGE plpgsql AS "
        "'BEGIN RETURN EXISTS (SELECT FROM public.{t} WHERE id = $1); END';"
        "CREATE DOMAIN {d}_1 AS BIGINT CHECK ({d}_0(VALUE));"
        "CREATE VIEW {d} AS SELECT CAST(CAST(code AS {d}_1) AS BIGINT) AS code FROM codes"
    ),
    "trigger": (
        "CREATE TABLE {d} AS SELECT code FROM codes; CREATE FUNCTION {d}_0() RETURNS trigger "
        "LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.{d} VALUES (NEW.id); RETURN NEW; END';"
        "CREATE TRIGGER {d}_1 AFTER INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION {d}_0()"
    ),
    "sequence": (
        "CREATE SEQUENCE {d}_0; SELECT setval('{d}_0', (SELECT count(*) FROM {t}));"
        "CREATE VIEW {d} AS SELECT last_value AS code FROM {d}_0"
    ),
}
"""Through these no catalogue sees, so that the twin's are refused as well."""


@pytest.fixture
def bank(new_database: Callable[[], str]) -> str:
    address = new_database()
    with psycopg.connect(address, autocommit=True) as database:
        database.execute(
            "CREATE TABLE codes AS SELECT CAST(i AS BIGINT) AS code FROM generate_series(0, 5) AS i"
        )
        for table in (PRIVATE, TWIN):
            database.execute(BASE.format(t=table).encode())
            oid = database.execute(f"SELECT CAST('{table}_low' AS regclass)::oid::int").fetchall()[0][0]
            for place, form in enumerate((FORMS | HIDDEN).values()):
                name, mark = f"{table}_d{place}", "<" * (place + 1) + ("=" if table == PRIVATE else "")
                database.execute(form.format(t=table, d=name, n=mark, oid=oid).encode())
    return address


def derived(table: str, form: str) -> str:
    return f"{table}_d{list(FORMS | HIDDEN).index(form)}"


def test_what_shows_private_rows_is_no_public_table_and_its_twin_is_one(bank: str) -> None:
    found = {
        form: tuple(verdict(PRIVATE, derived(table, form), bank) for table in (PRIVATE, TWIN))
        for form in FORMS | HIDDEN
    }
    assert_told_apart(found, HIDDEN)  # type: ignore[arg-type]


def test_a_partition_is_its_table_and_not_its_sister(bank: str) -> None:
    with psycopg.connect(bank, autocommit=True) as database:
        for part in ("people", "people_low", "people_high"):
            database.execute(f"CREATE VIEW of_{part} AS SELECT id AS code FROM {part}".encode())
    with pytest.raises(InvalidRequest, match="have one source"):
        joined("people_low", "of_people", bank)
    with pytest.raises(InvalidRequest, match="have one source"):
        joined("people", "of_people_low", bank)
    assert joined("people_low", "of_people_high", bank).ledger.remaining == 1


def test_a_table_is_known_by_whichever_address_leads_to_it(bank: str) -> None:
    other = bank.replace("host=/", "host=/./")
    assert other != bank
    private = database_origins(bank, [PRIVATE])[PRIVATE]
    assert private.shared(database_origins(other, [derived(PRIVATE, "view")])[derived(PRIVATE, "view")])
    assert not private.shared(database_origins(other, [derived(TWIN, "view")])[derived(TWIN, "view")])


def test_a_trigger_that_only_looks_a_value_up_is_no_origin(bank: str) -> None:
    with psycopg.connect(bank, autocommit=True) as database:
        database.execute(
            "CREATE FUNCTION known() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN IF EXISTS (SELECT FROM public.codes WHERE code = NEW.town) THEN RETURN NEW; END IF; "
            "RETURN NULL; END'; "
            "CREATE TRIGGER known BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION known()"
        )
    assert verdict(PRIVATE, "codes", bank) == "answered"


def test_what_cannot_be_traced_is_public_by_declaration_and_the_ledger_says_so(
    bank: str, tmp_path: Path
) -> None:
    hidden = derived(TWIN, "SQL function")
    ledger = tmp_path / "people.ledger"
    answered(PRIVATE, hidden, bank, public_by_declaration=True, ledger=ledger)
    with pytest.raises(prdp.errors.LedgerError, match="public_by_declaration"):
        joined(PRIVATE, derived(TWIN, "view"), bank, ledger=ledger)
    with pytest.raises(InvalidRequest, match="have one source"):
        joined(PRIVATE, derived(PRIVATE, "view"), bank, public_by_declaration=True)
    with pytest.raises(InvalidRequest, match="True or False"):
        joined(PRIVATE, hidden, bank, public_by_declaration="yes")


def test_public_keys_of_a_project_are_read_from_no_private_row(
    bank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANK", bank)
    monkeypatch.chdir(tmp_path)
    found = {}
    for form in FORMS | HIDDEN:
        verdicts = []
        for table in (PRIVATE, TWIN):
            (tmp_path / "prdp.toml").write_text(
                '[tables.people]\nsource = "${BANK}"\ntable = "people"\npolicy = "1"\n'
                f'keys = {{ town = {{ table = "{derived(table, form)}", column = "code" }} }}\n'
            )
            try:
                verdicts.append("answered" if prdp.project().keys_of("people")["town"] else "")
            except InvalidRequest as refusal:
                stated = str(refusal)
                one = "whose rows are private ones" in stated
                verdicts.append(
                    "have one source" if one else "cannot be traced" if "traced" in stated else stated
                )
        found[form] = tuple(verdicts)
    assert_told_apart(found, HIDDEN)  # type: ignore[arg-type]


def test_the_private_table_of_one_entry_is_no_public_table_of_another(
    bank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANK", bank)
    monkeypatch.chdir(tmp_path)
    for table, is_refused in ((PRIVATE, True), ("codes", False)):
        (tmp_path / "prdp.toml").write_text(
            f'[tables.t]\nsource = "${{BANK}}"\ntable = "{table}"\npolicy = "1"\n'
            '[joins.j]\ndatabase = "${BANK}"\nprivate = "p"\nkey = "id"\npolicy = "1"\n'
            f'tables = {{ p = "{TWIN}", d = "{derived(PRIVATE, "view")}" }}\n'
            'references = { "p.town" = "d.code" }\npublic = ["d"]\n'
        )
        if is_refused:
            with pytest.raises(
                InvalidRequest, match=r"line \d+: joins\.j\.public: .* private table 'people'"
            ):
                prdp.project()["j"]
        else:
            assert prdp.project()["j"].remaining == 1


def test_a_project_declares_a_public_table_that_cannot_be_traced(
    bank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANK", bank)
    monkeypatch.chdir(tmp_path)
    text = (
        '[joins.j]\ndatabase = "${BANK}"\nprivate = "p"\nkey = "id"\npolicy = "1"\n'
        f'tables = {{ p = "{PRIVATE}", d = "{derived(TWIN, "SQL function")}" }}\n'
        'references = { "p.town" = "d.code" }\npublic = ["d"]\n'
    )
    (tmp_path / "prdp.toml").write_text(text)
    with pytest.raises(InvalidRequest, match=r"cannot be traced .*public_by_declaration"):
        prdp.project()["j"]
    (tmp_path / "prdp.toml").write_text(f"{text}public_by_declaration = true\n")
    assert prdp.project()["j"].remaining == 1
