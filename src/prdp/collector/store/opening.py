"""Open a store by its address: a file's path, or postgresql://..."""

from __future__ import annotations

from pathlib import Path

from prdp.collector.store.sql import SqlStore
from prdp.errors import CollectorError

_POSTGRES = ("postgresql://", "postgres://")


def open_store(address: str | Path) -> SqlStore:
    """Open a store that is there."""
    if str(address).startswith(_POSTGRES):
        return _postgres(str(address), new=False)
    from prdp.collector.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(Path(address))


def create_store(address: str | Path) -> SqlStore:
    """Make a store where none is."""
    if str(address).startswith(_POSTGRES):
        return _postgres(str(address), new=True)
    from prdp.collector.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore.create(Path(address))


def _postgres(address: str, *, new: bool) -> SqlStore:
    try:
        from prdp.collector.store.postgres import PostgresStore  # noqa: PLC0415  (an extra)
    except ImportError:
        raise CollectorError("PostgreSQL needs psycopg: pip install 'prdp[collector]'.") from None
    return PostgresStore(address, new=new)
