"""A ledger's tables in a SQLite file; every operation opens it anew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prdp.errors import InvalidRequest, LedgerError
from prdp.expressions.spelling import is_writable
from prdp.ledger.drafts import draft, without_drafts
from prdp.ledger.file_format import connected, create, explained, upgrade, verify
from prdp.ledger.layout import all_rows
from prdp.ledger.soundness import BACKUPS, fact
from prdp.safety.transaction import writing

if TYPE_CHECKING:
    from prdp.ledger.storage import Contents, Database

Done = TypeVar("Done")


class FileStorage:
    """A ledger in one file: threads and forked processes share nothing but the file.

    Writers take turns by SQLite's lock on it, and what a crash cut short is undone by SQLite.
    """

    def __init__(self, path: Path | str) -> None:
        """Name a file, wherever the process goes later."""
        if not isinstance(path, str | Path) or not str(path) or not is_writable(str(path)):
            raise InvalidRequest(f"{path!r} is no file name for a ledger.")
        self.path = Path(path).expanduser().absolute()

    @property
    def shown(self) -> str:
        """The file's path."""
        return str(self.path)

    def is_begun(self) -> bool:
        """Say whether there is a file."""
        with explained(self.path, "nothing was read"):
            return self.path.exists()

    def begin(self, contents: Contents) -> bool:
        """Put a whole ledger there unless a file is there already; say whether none was."""
        with explained(self.path, "no ledger was begun"):
            if self.path.exists():
                return False
            self._refuse_to_replace_one()
            with (
                suppress(FileExistsError),  # somebody else may begin it meanwhile
                draft(self.path) as drafted,
            ):
                with connected(drafted) as database:
                    create(database, contents)
                return True
        return False

    def checked(self) -> str:
        """Refuse a file that is missing, is no ledger or is damaged; bring an older one up to date."""
        self._refuse_unless_there()
        upgrade(self.path)
        with explained(self.path, "nothing was read"), connected(self.path) as database:
            verify(database, self.path)
            return fact(database, "identity")

    def reading(self, work: Callable[[Database], Done], trouble: str) -> Done:
        """Read the file."""
        self._refuse_unless_there()
        with explained(self.path, trouble), connected(self.path) as database:
            return work(database)

    def writing(self, work: Callable[[Database, bool], Done], trouble: str) -> Done:
        """Hold the write lock from before the first read to after the sync."""
        self._refuse_unless_there()
        with explained(self.path, trouble), connected(self.path) as database, writing(database):
            return work(database, False)

    def contents(self) -> Contents:
        """Return all rows, as they are at one moment."""
        self._refuse_unless_there()
        with explained(self.path, "nothing was copied"), connected(self.path) as database:
            database.execute("BEGIN")  # others may read; whoever writes waits until the connection is closed
            return all_rows(database)

    def _refuse_unless_there(self) -> None:
        with explained(self.path, "nothing was done"):
            if not self.path.is_file():
                raise LedgerError(f"there is no ledger {self.path}.")
            facts = self.path.stat()
        if facts.st_size == 0:
            raise LedgerError(
                f"{self.path} is empty, and a ledger never is. If it never was one, give a name that is not "
                f"taken; if it was, what was spent is lost. {BACKUPS}"
            )
        if facts.st_nlink > 1 and not without_drafts(self.path):
            raise LedgerError(
                f"{self.path} has a second name (a hard link). After a crash the file could be rolled back "
                "under one name and not under the other. Keep one name and remove the others."
            )

    def _refuse_to_replace_one(self) -> None:
        path = self.path
        if not path.parent.is_dir():
            raise LedgerError(f"there is no folder {path.parent} for a ledger.")
        for leftover in (path.with_name(f"{path.name}-journal"), path.with_name(f"{path.name}-wal")):
            if leftover.exists():
                raise LedgerError(
                    f"{leftover} is there, so {path} was a ledger that is gone, and what was spent with it. "
                    f"Keep {leftover.name} elsewhere: SQLite would merge it into a backup. {BACKUPS}"
                )
