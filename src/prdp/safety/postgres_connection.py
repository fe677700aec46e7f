"""Connections to PostgreSQL databases: noticed when they are lost, and no password in what is raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from prdp.safety.database_address import DatabaseAddress

_DEFAULTS = {
    "application_name": "prdp",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Keepalive settings, so that a dead server or network is noticed; an address can override them."""


def connected(address: DatabaseAddress) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a new connection, outside of any transaction.

    Raises:
        psycopg.Error: None was made. Its words and frames may hold user and password: do not pass it on.
    """
    defaults = {name: value for name, value in _DEFAULTS.items() if name not in address.names}
    try:
        return psycopg.connect(
            address.given.text,
            autocommit=True,
            prepare_threshold=None,
            client_encoding="UTF8",
            **defaults,  # type: ignore[arg-type]
        )
    except KeyboardInterrupt as stop:
        stop.__traceback__ = None  # its frames hold the password
        raise


class Statements:
    """Statements within a transaction, with ``?`` for values."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run a statement."""
        return self._connection.execute(statement.replace("?", "%s").encode(), values or None)


_STATES = {
    "42501": "this user may not do that there",
    "25006": "the server takes no writes: it is a standby, or read-only",
    "53100": "the server's disk is full",
    "53200": "the server is short of memory",
    "53300": "the server has no connection left",
    "55P03": "others held it for too long",
    "57014": "the server cancelled it",
    "3F000": "there is no such ledger any more",
    "42P01": "there is no such ledger any more",
    "42703": "its tables are not those of a ledger",
    "P0001": "its tables refused it",
}
_CLASSES = {
    "08": "the connection was lost",
    "23": "its tables refused it",
    "28": "the server did not accept the user or the password",
    "3D": "there is no such database",
    "40": "others wrote at the same time",
    "53": "the server is short of something",
    "57": "the server ended the connection",
}
_CONNECTING = {
    "password": "the server did not accept the user or the password",
    "authentication": "the server did not accept the user or the password",
    "role": "the server did not accept the user or the password",
    "pg_hba.conf": "the server does not let this user in from here",
    "translate host": "the host is not known",
    "resolve host": "the host is not known",
    "refused": "no server answers there",
    "No such file": "no server answers there",
    "timeout": "no server answered in time",
    "too many": "the server has no connection left",
    "connection slots": "the server has no connection left",
    "starting up": "the server is starting or stopping",
    "shutting down": "the server is starting or stopping",
    "recovery": "the server is starting or stopping",
    "SSL": "no encrypted connection could be made",
    "certificate": "no encrypted connection could be made",
    "database": "there is no such database",
}
"""Words of libpq's and the server's, which say no more than a message; the first that fits is taken."""


BUSY = {"the server has no connection left", "the server is starting or stopping"}
"""Transient failures."""


def why_not_done(state: str | None) -> str:
    """Return the reason why a statement was not done, by its SQLSTATE.

    >>> why_not_done("42501"), why_not_done("53400")
    ('this user may not do that there', 'the server is short of something')
    >>> why_not_done(None)
    'the connection was lost'
    """
    if state is None:
        return "the connection was lost"
    return _STATES.get(state) or _CLASSES.get(state[:2]) or f"the server reported {state}"


def why_not_connected(message: str) -> str:
    """Return the reason why no connection was made; servers in other languages are not understood.

    >>> why_not_connected('FATAL:  password authentication failed for user "ana"')
    'the server did not accept the user or the password'
    >>> why_not_connected("connexion refusée")
    'no connection could be made'
    """
    return next(
        (words for mark, words in _CONNECTING.items() if mark in message), "no connection could be made"
    )
