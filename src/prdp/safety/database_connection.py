"""Connections to PostgreSQL databases: noticed when they are lost, and no password in what is raised."""

from __future__ import annotations

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
"""So that a server or a network that is gone is noticed; an address can say otherwise."""


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
