"""A ledger's tables in a PostgreSQL database: the account of a team."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psycopg

from prdp.errors import InvalidRequest, LedgerError
from prdp.ledger.layout import COLUMNS, TABLES, all_rows, insertion
from prdp.ledger.storage import Contents, LedgerTables
from prdp.ledger.verified import BACKUPS, damaged, decoded, fact, refuse_other_versions
from prdp.safety.database_address import read_address
from prdp.safety.postgres_connection import BUSY, Statements, connected, why_not_connected, why_not_done
from prdp.safety.process_guard import operation

_REFUSE = "refuse_to_change"
_BODY = "BEGIN RAISE EXCEPTION 'a ledger is append-only'; END"
_EVENTS = {"update": 16, "delete": 8, "truncate": 32}
"""For each event, the bit that it has in ``pg_trigger.tgtype``."""

_BEFORE = 2


def layout(schema: str) -> list[str]:
    """Return the statements that lay out an empty ledger in an empty schema.

    Texts are compared byte by byte, whatever the database's collation is. Guards fire for replicas' sessions
    too.
    """
    statements = [f"CREATE FUNCTION {schema}.{_REFUSE}() RETURNS trigger LANGUAGE plpgsql AS $${_BODY}$$"]
    for table in COLUMNS:
        statements.append(TABLES[table].replace("INTEGER", "BIGINT").replace("TEXT", 'TEXT COLLATE "C"'))
        for event in _EVENTS:
            guard = f"{table}_no_{event}"
            act = f"FOR EACH STATEMENT EXECUTE FUNCTION {schema}.{_REFUSE}()"
            statements.append(f"CREATE TRIGGER {guard} BEFORE {event} ON {table} {act}")
            statements.append(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {guard}")
    return statements


def tables_in(database: LedgerTables, schema: str) -> set[str]:
    """Return the names of all relations in a schema, of which a user needs no rights."""
    found = database.execute(
        "SELECT relname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = ? AND relkind NOT IN ('i', 'I', 't', 'S')",
        (schema,),
    )
    return {name for (name,) in found}


def schema_is_there(database: LedgerTables, schema: str) -> bool:
    """Return whether there is a schema of this name."""
    return database.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", (schema,)).fetchone() is not None


def are_kept(database: LedgerTables, schema: str) -> bool:
    """Return whether the tables are plain ones that survive a crash, each with its key and without rules."""
    rows = database.execute(
        "SELECT relname::text, relkind::text, relpersistence::text, relhasrules, relrowsecurity, "
        "EXISTS (SELECT 1 FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary AND indisvalid) "
        "FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = ?",
        (schema,),
    )
    found = {tuple(row) for row in rows if row[0] in COLUMNS}
    return found == {(table, "r", "p", False, False, True) for table in COLUMNS}


def are_guarded(database: LedgerTables, schema: str) -> bool:
    """Return whether the triggers are those that a ledger has, all of them on, and do what they should."""
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


Done = TypeVar("Done")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_WAITS = (0.0, 0.0, 0.5, 1.0, 2.0, 4.0)
"""Seconds before each try: what is tried again is a connection that was lost, and a server that is busy."""

_PATIENCE_SECONDS = 120
_STALLED_SECONDS = 100
"""Timeout of waiting for others, and of a writer that does nothing while it holds them up, in seconds."""

_SYNCED = (
    "SELECT set_config('synchronous_commit', 'on', true) "
    "WHERE current_setting('synchronous_commit') <> 'remote_apply'"
)
"""A server that waits for more than its own disk is not made to wait for less."""

_CONFLICTS = {"23505", "40001", "40P01"}
_ENDINGS = {"57P01", "57P02", "57P03", "57P05", "25P03"}
_UNCERTAIN = (
    "the connection was lost while it was committed, so it may or may not be recorded. Ask again: a recorded "
    "charge is found, and nothing is paid twice"
)


@dataclass(frozen=True, slots=True)
class _Failure:
    """The failure of a transaction.

    Attributes:
        reason: In words of our own.
        passing: Whether another try may do.
        uncertain: Whether it may have been committed all the same.
    """

    reason: str
    passing: bool
    uncertain: bool = False


class PostgresStorage:
    """A ledger in a schema of a PostgreSQL database; several may be in one database.

    Every operation is a connection of its own, so that forks share none. A writer holds an advisory lock of
    its ledger from before its first read to after its commit, in READ COMMITTED: each statement sees what
    was committed before it, so all that the writers before wrote. Besides, each new charge says its own
    number, a primary key: whoever would write without the lock, from sums that others have added to, is
    refused. The commit is synced on the server before it returns.
    """

    path = None
    shown = "a database"

    def __init__(self, place: str) -> None:
        """Name a database and a ledger in it; nothing is connected to yet."""
        self._address = read_address(place, ["ledger"])
        name = self._address.own.get("ledger")
        if name is not None and not _NAME.fullmatch(name):
            raise InvalidRequest(
                f"{self._address.shown} names a ledger that cannot be: write ?ledger=accounts, with small "
                "letters, digits and _, at most 40 of them."
            )
        self._schema = "prdp_ledger" if name is None else f"prdp_ledger_{name}"
        ending = "" if name is None else f"{'&' if '?' in self._address.shown else '?'}ledger={name}"
        self.shown = self._address.shown + ending
        self._settings = (
            f"SET LOCAL search_path = {self._schema}, pg_temp",
            "SET LOCAL statement_timeout = 0",  # a user's own would end the wait for others
        )
        digest = hashlib.sha256(self._schema.encode()).digest()
        self._lock = int.from_bytes(digest[:8], "big", signed=True)

    def __repr__(self) -> str:
        return f"PostgresStorage({self.shown!r})"

    def is_begun(self) -> bool:
        """Return whether there is anything in the ledger's schema."""
        return self.reading(lambda database: bool(tables_in(database, self._schema)), "nothing was read")

    def begin(self, contents: Contents) -> bool:
        """Lay the tables out in one transaction, unless something is there; say whether nothing was."""

        def lay_out(database: LedgerTables, retried: bool) -> bool:
            self._refuse_unless_durable(database)
            if tables_in(database, self._schema):
                ours = fact(database, "identity") in {value for _, value, *_ in contents["facts"]}
                return retried and ours  # it was done, and nobody could say so
            if not schema_is_there(database, self._schema):
                database.execute(f"CREATE SCHEMA {self._schema}")
            for statement in layout(self._schema):
                database.execute(statement)
            for table, rows in contents.items():
                for row in rows:
                    database.execute(insertion(table), row)
            return True

        return self.writing(lay_out, "no ledger was begun")

    def checked(self, work: Callable[[LedgerTables], Done]) -> Done:
        """Refuse what is missing, no ledger, unguarded, or not kept on the server's disk; then read it."""

        def check(database: LedgerTables) -> Done:
            there = tables_in(database, self._schema)
            if not there:
                raise LedgerError(f"there is no ledger {self.shown}.")
            if "facts" not in there or "charges" not in there:
                raise LedgerError(
                    f"{self.shown} is no ledger of prdp's: the schema {self._schema} holds other tables. "
                    f"Name another ledger, as in ?ledger=accounts. {BACKUPS}"
                )
            self._refuse_unless_durable(database)
            self._refuse_unless_ours(database)
            return work(database)

        return self.reading(check, "nothing was read")

    def contents(self) -> Contents:
        """Return all rows, as they are at one moment."""
        return self.reading(all_rows, "nothing was copied")

    def reading(self, work: Callable[[LedgerTables], Done], trouble: str) -> Done:
        """Read what is there at one moment; once more if the connection is lost."""
        begin = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", *self._settings)
        return self._run(begin, lambda database, _: work(database), trouble)

    def writing(
        self, work: Callable[[LedgerTables, bool], Done], trouble: str, attached: Path | None = None
    ) -> Done:
        """Hold the ledger's lock, and commit; once more if the connection is lost.

        Where it was lost during the commit, the lock is what makes the second try know better: it is had only
        once the first transaction has ended, and then what it wrote is there or never will be.
        """
        if attached is not None:
            raise LedgerError(
                f"{self.shown} is in a database, and {attached} is a file: the two cannot be written as one. "
                "Keep what is written beside it in a schema of the same database. Nothing was charged."
            )
        begin = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
            *self._settings,
            f"SET LOCAL lock_timeout = '{_PATIENCE_SECONDS}s'",
            f"SET LOCAL idle_in_transaction_session_timeout = '{_STALLED_SECONDS}s'",
            _SYNCED,
            f"SELECT pg_advisory_xact_lock({self._lock})",
        )
        return self._run(begin, work, trouble)

    def _run(self, begin: Sequence[str], work: Callable[[LedgerTables, bool], Done], trouble: str) -> Done:
        reason, uncertain = "", False
        with operation(self.shown):
            for turn, wait in enumerate(_WAITS):
                time.sleep(wait)
                done = self._once(begin, work, retried=turn > 0)
                if not isinstance(done, _Failure):
                    return done[0]
                reason = done.reason
                uncertain |= done.uncertain
                if not done.passing:
                    break
        consequence = _UNCERTAIN if uncertain else trouble
        raise LedgerError(f"the ledger {self.shown} cannot be used ({reason}): {consequence}.")

    def _once(
        self, begin: Sequence[str], work: Callable[[LedgerTables, bool], Done], *, retried: bool
    ) -> tuple[Done] | _Failure:
        """Do one transaction; what psycopg raises is gone with its frames, which hold the password."""
        connection, committing = None, False
        try:
            connection = connected(self._address)
            connection.execute("; ".join(begin).encode())
            done = work(Statements(connection), retried)
            committing = True
            ended = connection.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if connection is None:
                reason = why_not_connected(str(error))
                return _Failure(reason, passing=retried or reason in BUSY)
            lost = bool(connection.closed) or error.sqlstate in _ENDINGS
            return _Failure(
                why_not_done(error.sqlstate),
                passing=lost or error.sqlstate in _CONFLICTS,
                uncertain=lost and committing,
            )
        except UnicodeEncodeError:
            return _Failure("a text cannot be written", passing=False)
        except UnicodeDecodeError:
            return _Failure("a text in it is not UTF-8", passing=False)
        finally:
            if connection is not None:
                with suppress(psycopg.Error):
                    connection.close()
        return (done,) if ended == "COMMIT" else _Failure("the server took it back", passing=False)

    def _refuse_unless_ours(self, database: LedgerTables) -> None:
        with decoded(self.shown):
            version = int(fact(database, "format"))
        refuse_other_versions(self.shown, version)
        if not are_kept(database, self._schema) or not are_guarded(database, self._schema):
            raise damaged(self.shown, "what keeps its rows from being lost or changed is not as it was")

    def _refuse_unless_durable(self, database: LedgerTables) -> None:
        for setting in ("fsync", "full_page_writes"):
            if database.execute(f"SHOW {setting}").fetchone() != ("on",):
                raise LedgerError(
                    f"{self.shown} is on a server with {setting} = off: a charge could be lost in a power "
                    "cut, and its budget spent again. Switch it on."
                )
        if database.execute("SHOW server_encoding").fetchone() != ("UTF8",):
            raise LedgerError(f"{self.shown} is in a database that is not in UTF8: make one that is.")
