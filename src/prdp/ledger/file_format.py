"""The file format of a durable ledger: its tables, its version, and what makes it trustworthy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

from prdp.declare.exact import fraction_of
from prdp.errors import LedgerError
from prdp.ledger.binding import Binding
from prdp.ledger.drafts import draft
from prdp.ledger.layout import are_guarded, lay_out
from prdp.ledger.migration import MIGRATIONS
from prdp.ledger.release_form import release_from_json
from prdp.ledger.strict_json import strict_json
from prdp.regions.form import region_from_json
from prdp.safety.forks import OPERATIONS
from prdp.safety.transaction import writing

VERSION = 2
"""What this release writes; kept in the file as SQLite's ``user_version``."""

_APPLICATION = 0x70726470  # "prdp"
_PATIENCE_SECONDS = 120

_REFUSALS = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    UnicodeEncodeError,
    OverflowError,
)


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that exists, waiting for others; what is committed is on disk, and forks wait."""
    uri = f"file:{quote(str(path))}?mode=rw"
    with (
        OPERATIONS,
        closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None)) as database,
    ):
        database.execute("PRAGMA synchronous = EXTRA")
        database.execute("PRAGMA fullfsync = ON")  # macOS alone knows the difference
        database.execute("PRAGMA foreign_keys = ON")
        yield database


def create(database: sqlite3.Connection, binding: Binding, begun: str, identity: str) -> None:
    """Lay out an empty ledger, whose rows can be added but neither changed nor removed."""
    facts = [("binding", binding.to_json()), ("begun", begun), ("identity", identity)]
    with writing(database):  # one sync instead of one a statement
        lay_out(database)
        database.executemany("INSERT INTO facts VALUES (?, ?)", facts)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")


def verify(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a ledger that is damaged, or whose sums do not add up."""
    _refuse_unless_ours(database, path)
    if _version(database) != VERSION:
        raise damaged(path, f"its format is {_version(database)}, which no prdp writes")
    _refuse_unless_sound(database, path, VERSION)
    with decoded(path):
        said = _notes_are_sound(database)
    if not said:
        raise damaged(path, "what it says of regions or quotas is not as it was")


def _refuse_unless_sound(database: sqlite3.Connection, path: Path, version: int) -> None:
    """Refuse a file of any format in which rows are lost, unguarded, unreadable or do not add up."""
    if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise damaged(path, "parts of the file are lost")
    if not are_guarded(database, version):
        raise damaged(path, "what keeps its rows from being changed is not as it was")
    if database.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise damaged(path, "an answer has no charge")
    with decoded(path):
        Binding.from_json(database.execute("SELECT value FROM facts WHERE name = 'binding'").fetchone()[0])
        adds_up = _adds_up(database, "NULL" if version == 1 else "region")
        for (release,) in database.execute("SELECT release FROM releases"):
            release_from_json(release)
    if not adds_up:
        raise damaged(path, "its sums do not add up")


def _adds_up(database: sqlite3.Connection, region: str) -> bool:
    """Say whether each charge has the sum of all shares before it and its own.

    What everybody is charged never passes 1. All shares together may, once some are charged to regions: then
    nothing is left to spend here, since all of them are counted as everybody's.
    """
    spent, of_everybody, adds_up = Fraction(0), Fraction(0), True
    rows = database.execute(f"SELECT number, share, spent, {region} FROM charges ORDER BY number")
    for expected, (number, text, total, charged_to) in enumerate(rows):
        share = fraction_of(text)
        spent += share
        of_everybody += share if charged_to is None else 0
        by_region = spent > of_everybody
        adds_up &= number == expected and fraction_of(total) == spent and share > 0
        adds_up &= of_everybody <= 1 and (spent <= 1 or by_region)
    return adds_up


def _notes_are_sound(database: sqlite3.Connection) -> bool:
    """Say whether regions are JSON, quotas are shares, and charges name quotas that are there."""
    (binding,) = database.execute("SELECT value FROM facts WHERE name = 'binding'").fetchone()
    fixed = set(Binding.from_json(binding).fixed)
    for (region,) in database.execute("SELECT region FROM charges WHERE region IS NOT NULL"):
        if not fixed:
            strict_json(region)
        elif not region_from_json(region).columns <= fixed:
            return False
    quotas = database.execute("SELECT number, share FROM quotas ORDER BY number").fetchall()
    unknown = "SELECT 1 FROM charges WHERE quota IS NOT NULL AND quota NOT IN (SELECT name FROM quotas)"
    return database.execute(unknown).fetchone() is None and all(
        number == expected and 0 <= fraction_of(share) <= 1 for expected, (number, share) in enumerate(quotas)
    )


def upgrade(path: Path) -> None:
    """Bring an older ledger to this version, keeping a copy of it as it was; refuse a newer one."""
    with explained(path, "nothing was changed"), connected(path) as database:
        _refuse_unless_ours(database, path)
        if _version(database) not in MIGRATIONS and _version(database) <= VERSION:
            return  # up to date, or damaged, which verify refuses
        with writing(database):  # only one of several processes finds it old in here
            version = _version(database)
            if version > VERSION:
                raise LedgerError(
                    f"{path} was written by a newer prdp (format {version}; this one knows {VERSION}). "
                    "Upgrade prdp."
                )
            if version < VERSION:
                _refuse_unless_sound(database, path, version)
                _keep_a_copy(path, version)
            for step in range(version, VERSION):
                MIGRATIONS[step](database)
                database.execute(f"PRAGMA user_version = {step + 1}")


def _refuse_unless_ours(database: sqlite3.Connection, path: Path) -> None:
    if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise no_ledger(path, "it is another program's SQLite file")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _keep_a_copy(path: Path, version: int) -> None:
    """Keep a file as it is, whole or not at all: whoever is killed meanwhile leaves no half of a copy."""
    copy = path.with_name(f"{path.name}.format{version}")
    if not copy.exists():
        with (
            suppress(FileExistsError),
            draft(copy) as drafted,
            connected(path) as old,
            connected(drafted) as kept,
        ):
            old.backup(kept)


@contextmanager
def decoded(path: Path) -> Iterator[None]:
    """Say that a text in the file cannot be read; nothing is written in here, whose errors are others."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        raise damaged(path, "a text in it cannot be read, or a newer prdp wrote it") from None


@contextmanager
def explained(path: Path, consequence: str) -> Iterator[None]:
    """Turn SQLite's and the system's errors into a message that says what follows from them."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise LedgerError(f"the ledger {path} cannot be used ({_reason(error)}): {consequence}.") from None
    except _REFUSALS as error:
        raise LedgerError(f"the ledger {path} refused what was to be written ({error}).") from None
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise no_ledger(path, "it is no SQLite file") from None
        raise damaged(path, "parts of the file are lost") from None


def _reason(error: Exception) -> str:
    text = (error.strerror or "") if isinstance(error, OSError) else str(error)
    known = {
        "readonly": "the file is read-only",
        "disk is full": "the disk is full",
        "locked": "others held it for too long",
        "unable to open": "the file or its folder cannot be opened or written",
    }
    return next((words for mark, words in known.items() if mark in text), text or "unknown error")


BACKUPS = (
    "A backup does not know what was spent since it was made: before anything is asked under one, charge it "
    "with at least that much, or with all that it has left if nobody knows (docs/ledger.md)."
)


def damaged(path: Path, why: str) -> LedgerError:
    """Return the refusal of a ledger that cannot be trusted."""
    return LedgerError(
        f"the ledger {path} is damaged ({why}), so what is left cannot be known and nothing may be spent. "
        f"Keep the file, and see whether a newer prdp reads it. {BACKUPS}"
    )


def no_ledger(path: Path, why: str) -> LedgerError:
    """Return the refusal of a file that is something else."""
    return LedgerError(
        f"{path} is no ledger of prdp's: {why}. Give the file that ledger= named when the table was opened, "
        f"such as accounts.ledger. If this was that file, it has been overwritten. {BACKUPS}"
    )
