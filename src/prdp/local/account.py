"""A client's own account: what it has told, and how much of its budget that took; one small SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.expressions.json_form import from_json
from prdp.expressions.nodes import canonical
from prdp.processes import OPERATIONS, this_process
from prdp.transaction import writing

_SCHEMA = """
CREATE TABLE terms (policy TEXT NOT NULL);
CREATE TABLE reports (number INTEGER PRIMARY KEY, campaign BLOB NOT NULL UNIQUE, name TEXT NOT NULL,
                      share TEXT NOT NULL, spent TEXT NOT NULL, report BLOB NOT NULL);
PRAGMA user_version = 1;
"""
_BUSY_SECONDS = 30


class ClientAccount:
    """Keeps every report before it is sent, and the sum of the shares that they used.

    A report and its charge are written in one transaction that is on disk before ``told`` returns. So a
    crash leaves either nothing, and nothing was sent, or the very bytes to send again. The file holds no
    record.
    """

    def __init__(self, path: Path | str | None) -> None:
        self._memory: sqlite3.Connection | None = None
        self._path: Path | None = None
        self._process = this_process()
        if path is None:
            self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._memory.executescript(_SCHEMA)
            return
        if not isinstance(path, str | Path) or not str(path):
            raise InvalidRequest(f"{path!r} is no file name for a client's account.")
        self._path = Path(path).expanduser().absolute()
        if self._path.is_dir():
            raise InvalidRequest(
                f"{path} is a folder, and an account is one file: write {str(self._path / 'me.account')!r}."
            )
        with OPERATIONS, self._explained():
            if self._path.exists():
                self._refuse_unless_ours()
            else:
                self._begin(self._path)

    @property
    def left(self) -> Fraction:
        """The part of the record's budget that is not spent."""
        with self._connected() as database:
            return 1 - _spent(database)

    @property
    def policy(self) -> str | None:
        """The policy, as JSON, that everything so far was told under."""
        with self._connected() as database:
            return _policy(database)

    def told(
        self, campaign: bytes, name: str, policy: str, share: Fraction, draw: Callable[[], bytes]
    ) -> bytes:
        """Return the report that a campaign has had, or else draw, charge and keep one.

        Raises:
            InvalidRequest: The account is kept under another policy.
            BudgetExhausted: Less than ``share`` is left.
        """
        with self._writing() as database:
            standing = database.execute(
                "SELECT report FROM reports WHERE campaign = ?", (campaign,)
            ).fetchone()
            if standing:
                return bytes(standing[0])
            bound = _policy(database)
            if bound is None:
                database.execute("INSERT INTO terms VALUES (?)", (policy,))
            elif bound != policy:
                raise another_policy(bound, policy)
            spent = _spent(database) + share
            if spent > 1:
                raise _exhausted(share, 1 - spent + share)
            report = draw()
            database.execute(
                "INSERT INTO reports (campaign, name, share, spent, report) VALUES (?, ?, ?, ?, ?)",
                (campaign, name, str(share), str(spent), report),
            )
            return report

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock from before the first read to after the sync."""
        with self._connected() as database, writing(database):
            yield database

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            self._refuse_elsewhere()
            with OPERATIONS:
                yield self._memory
            return
        assert self._path is not None  # noqa: S101  (one of the two)
        with OPERATIONS, self._explained():
            self._refuse_unless_there(self._path)
            with closing(_opened(self._path)) as database:
                yield database

    def _refuse_elsewhere(self) -> None:
        """Refuse an account in memory to a forked process: each would spend the whole budget."""
        if self._process != this_process():
            raise LedgerError(
                "this client's account is kept in the memory of another process, which this one was forked "
                "from: each would spend the whole budget. Give it a file, Client('me.account'). Nothing was "
                "told."
            )

    def _refuse_unless_ours(self) -> None:
        with self._connected() as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            tables = {
                name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            }
        if version != 1 or tables != {"terms", "reports"}:
            raise LedgerError(f"{self._path} is not a client's account of version 1.")

    @staticmethod
    def _refuse_unless_there(path: Path) -> None:
        if not path.is_file() or path.stat().st_size == 0:
            raise LedgerError(
                f"{path} is gone or empty, and with it what was told before. Put a backup in its place; "
                "nothing is told meanwhile."
            )

    @staticmethod
    def _begin(path: Path) -> None:
        """Make the file aside and put it in its place whole, so that nobody sees half of it."""
        draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
        draft.unlink(missing_ok=True)
        with closing(sqlite3.connect(draft, isolation_level=None)) as database:
            database.executescript(_SCHEMA)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process began it meanwhile
        finally:
            draft.unlink()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(f"the client's account {self._path} cannot be used: {error}.") from error


def another_policy(own: str, asked: str) -> InvalidRequest:
    """Return the error of a client that answers under one policy and is asked under another, both as JSON."""
    return InvalidRequest(
        f"this campaign has another policy than the one that this client answers under. The campaign's is "
        f"{_shown(asked)}; this client's is {_shown(own)}. Budgets of two policies do not add up: nothing "
        "was told."
    )


def _shown(policy: str) -> str:
    facts = json.loads(policy)
    text = canonical(from_json(facts["expression"]))
    return f"{text}, from {facts['at_least']} to {facts['at_most']}"


def _exhausted(asked: Fraction, left: Fraction) -> BudgetExhausted:
    """Return the error for the client, who cannot ask for less: it can only stay away."""
    return BudgetExhausted(
        asked,
        left,
        f"this campaign asks for {asked} of this record's budget, but its account has {left} left. Nothing "
        "was told and nothing was charged; a campaign that asks for no more than that can be answered.",
    )


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=_BUSY_SECONDS
    )
    database.execute("PRAGMA synchronous = EXTRA")
    database.execute("PRAGMA fullfsync = ON")
    return database


def _policy(database: sqlite3.Connection) -> str | None:
    row = database.execute("SELECT policy FROM terms").fetchone()
    return str(row[0]) if row else None


def _spent(database: sqlite3.Connection) -> Fraction:
    row = database.execute("SELECT spent FROM reports ORDER BY number DESC LIMIT 1").fetchone()
    return Fraction(row[0]) if row else Fraction(0)
