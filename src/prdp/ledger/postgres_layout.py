"""The tables of a ledger in PostgreSQL, in a schema of their own, and what keeps their rows as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prdp.ledger.layout import COLUMNS, TABLES

if TYPE_CHECKING:
    from prdp.ledger.storage import Database

VERSION = 2
"""What this release writes; kept as the fact ``format``. The columns are those of a file of format 2."""

_REFUSE = "refuse_to_change"
_BODY = "BEGIN RAISE EXCEPTION 'a ledger is append-only'; END"
_EVENTS = {"update": 16, "delete": 8, "truncate": 32}
"""For each event, the bit that it has in ``pg_trigger.tgtype``."""

_BEFORE = 2


def layout(schema: str) -> list[str]:
    """Return the statements that lay out an empty ledger in an empty schema.

    Texts are compared byte by byte, whatever the database's collation is. Questions are found by a hash
    index: others hold texts of a few thousand bytes at most. Guards fire for replicas' sessions too.
    """
    statements = [f"CREATE FUNCTION {schema}.{_REFUSE}() RETURNS trigger LANGUAGE plpgsql AS $${_BODY}$$"]
    for table in COLUMNS:
        statements.append(TABLES[table].replace("INTEGER", "BIGINT").replace("TEXT", 'TEXT COLLATE "C"'))
        for event in _EVENTS:
            guard = f"{table}_no_{event}"
            act = f"FOR EACH STATEMENT EXECUTE FUNCTION {schema}.{_REFUSE}()"
            statements.append(f"CREATE TRIGGER {guard} BEFORE {event} ON {table} {act}")
            statements.append(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {guard}")
    return [
        *statements,
        "CREATE INDEX charges_by_purpose ON charges USING hash (purpose)",
        "CREATE INDEX charges_by_token ON charges USING hash (token)",
    ]


def tables_in(database: Database, schema: str) -> set[str]:
    """Return the names of all relations in a schema, of which a user needs no rights."""
    found = database.execute(
        "SELECT relname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = ? AND relkind NOT IN ('i', 'I', 't', 'S')",
        (schema,),
    )
    return {name for (name,) in found}


def schema_is_there(database: Database, schema: str) -> bool:
    """Say whether there is a schema of this name."""
    return database.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (schema,)).fetchone() is not None


def are_kept(database: Database, schema: str) -> bool:
    """Say whether the tables are plain ones that survive a crash, each with its key and without rules."""
    rows = database.execute(
        "SELECT relname::text, relkind::text, relpersistence::text, relhasrules, relrowsecurity, "
        "EXISTS (SELECT 1 FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary AND indisvalid) "
        "FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = ?",
        (schema,),
    )
    found = {tuple(row) for row in rows if row[0] in COLUMNS}
    return found == {(table, "r", "p", False, False, True) for table in COLUMNS}


def are_guarded(database: Database, schema: str) -> bool:
    """Say whether the triggers are those that a ledger has, all of them on, and do what they should."""
    rows = database.execute(
        "SELECT relname::text, tgname::text, tgenabled::text, tgtype::int, prosrc, tgqual IS NULL "
        "FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
        "JOIN pg_namespace ON pg_namespace.oid = relnamespace JOIN pg_proc ON pg_proc.oid = tgfoid "
        "WHERE nspname = ? AND NOT tgisinternal",
        (schema,),
    ).fetchall()
    return {tuple(row) for row in rows} == {
        (table, f"{table}_no_{event}", "A", _BEFORE + bit, _BODY, True)
        for table in COLUMNS
        for event, bit in _EVENTS.items()
    }
