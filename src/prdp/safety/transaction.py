"""One transaction of a SQLite file, from before its first read to after its sync."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def writing(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Hold the write lock; commit what was written, or take all of it back."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
    except BaseException:
        database.rollback()
        raise
    database.execute("COMMIT")
