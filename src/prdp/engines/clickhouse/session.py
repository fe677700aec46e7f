"""Run ClickHouse's statements: on a server over HTTP, or by chDB in process; results are Arrow tables."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import unquote

import pyarrow

from prdp.engines.progress import UNKNOWN, watched
from prdp.errors import InvalidRequest

_ADDRESS = re.compile(
    r"(?P<scheme>clickhouses?)://(?:(?P<user>[^:@/?]*)(?::(?P<password>[^@/?]*))?@)?"
    r"(?P<host>[\w.%-]+|\[[0-9a-fA-F:.%]+\])(?::(?P<port>[0-9]+))?"
    r"(?:/(?P<database>[^@/?:]*))?(?:\?(?P<options>[^@?]*))?",
    re.ASCII | re.IGNORECASE,
)
_OPTIONS = ("ca_cert", "client_cert", "client_cert_key", "server_host_name", "verify", "connect_timeout")
_PATIENCE = 24 * 3600
_SECONDS_TO_CANCEL = 5


class Server(Protocol):
    """Runs statements, one at a time."""

    def run(self, sql: str, settings: Mapping[str, str]) -> pyarrow.Table:
        """Return the result of a statement; texts are bytes."""


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A server's address and user.

    Attributes:
        shown: Host, port and database, without user, password and options.
        arguments: What clickhouse-connect takes.
    """

    shown: str
    arguments: Mapping[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return self.shown


def read_address(written: str) -> Address:
    """Read the address of a server.

    >>> read_address("clickhouse://ana:secret@db.example:8123/bank")
    clickhouse://db.example:8123/bank

    Raises:
        InvalidRequest: It is none. The text is not repeated, since a part of it may be a password.
    """
    found = _ADDRESS.fullmatch(written.strip())
    parts = [part.partition("=") for part in ((found and found["options"]) or "").split("&") if part]
    if found is None or not written.isprintable() or any(name not in _OPTIONS for name, _, _ in parts):
        raise InvalidRequest(
            "this is no address of a ClickHouse server; it is not repeated here, since it may hold a "
            "password. Write clickhouse://user@host:8123/database, or clickhouses:// with TLS, special "
            f"characters as %40 and the like. After a question mark there may be {', '.join(_OPTIONS)}."
        )
    secure = found["scheme"].lower() == "clickhouses"
    host, port = found["host"].strip("[]"), int(found["port"] or (8443 if secure else 8123))
    database = unquote(found["database"] or "") or "default"
    arguments = {
        "host": host,
        "port": port,
        "interface": "https" if secure else "http",
        "username": unquote(found["user"] or "") or os.environ.get("CLICKHOUSE_USER", "default"),
        "password": unquote(found["password"] or "") or os.environ.get("CLICKHOUSE_PASSWORD", ""),
        "database": database,
        **{name: unquote(value) for name, _, value in parts},
    }
    return Address(f"{found['scheme'].lower()}://{found['host']}:{port}/{database}", arguments)


class Connected:
    """A server that a client of clickhouse-connect speaks to; a statement stopped here stops there."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, sql: str, settings: Mapping[str, str]) -> pyarrow.Table:
        """Run a statement; its whole result is awaited, so that an error cannot hide behind its beginning."""
        name = f"prdp-{uuid.uuid4()}"
        transport = {"query_id": name, "wait_end_of_query": "1"}
        try:
            with watched(lambda: self._percent(name)):
                raw = self._client.raw_query(sql, settings={**settings, **transport}, fmt="Arrow")
        except BaseException as stop:
            if not isinstance(stop, Exception):
                self._cancel(name)
            raise
        return _arrow(raw)

    def _percent(self, name: str) -> float:
        """Return the percentage of rows that a statement has read; a client with a session cannot ask."""
        with suppress(Exception):
            found = self._client.raw_query(
                "SELECT 100 * read_rows / total_rows_approx FROM system.processes "
                f"WHERE query_id = '{name}' AND total_rows_approx > 0",
                settings={"max_execution_time": _SECONDS_TO_CANCEL},
                fmt="TabSeparated",
            )
            return float(found)
        return UNKNOWN

    def _cancel(self, name: str) -> None:
        with suppress(Exception):
            self._client.raw_query(
                f"KILL QUERY WHERE query_id = '{name}' ASYNC",
                settings={"max_execution_time": _SECONDS_TO_CANCEL},
            )


class Embedded:
    """A session of chDB, which is ClickHouse in this process."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, sql: str, settings: Mapping[str, str]) -> pyarrow.Table:
        """Run a statement."""
        listed = ", ".join(f"{name} = '{value}'" for name, value in settings.items())
        return _arrow(self._session.query(f"{sql} SETTINGS {listed}" if listed else sql, "Arrow").bytes())


def server_of(source: object) -> tuple[Server, str]:
    """Return who runs statements for a source, and how that is shown; reads no record."""
    if isinstance(source, str):
        address = read_address(source)
        return Connected(connected(address)), address.shown
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).mro()}
    if ("clickhouse_connect", "Client") in kinds:
        return Connected(source), f"ClickHouse ({id(source)})"
    if ("chdb", "Session") in kinds:
        return Embedded(source), f"chDB ({id(source)})"
    raise InvalidRequest(
        "ClickHouse is opened by its address, clickhouse://user@host:8123/database, by a client of "
        f"clickhouse-connect or by a session of chDB, and this is a {type(source).__name__}."
    )


def connected(address: Address) -> Any:
    """Return a client of clickhouse-connect, or refuse in words of our own."""
    import clickhouse_connect  # noqa: PLC0415  (an extra)

    options: dict[str, Any] = {"autogenerate_session_id": False, "query_retries": 0}
    options["send_receive_timeout"] = _PATIENCE
    trouble = ""
    try:
        return clickhouse_connect.get_client(**address.arguments, **options)
    except Exception as error:  # its words may repeat what was given
        trouble = _trouble(str(error))
    raise InvalidRequest(f"{address.shown} cannot be opened: {trouble}. Nothing was read.")


def _trouble(words: str) -> str:
    """Describe an error in words of our own."""
    for sign, meaning in (
        ("AUTHENTICATION_FAILED", "unknown user, or incorrect password"),
        ("UNKNOWN_DATABASE", "it has no such database, or this user may not see it"),
        ("ACCESS_DENIED", "this user may not read what prdp reads at first, system.settings among it"),
        ("READONLY", "this user may not change settings, which prdp needs to: give it readonly = 0 or 2"),
        ("certificate", "its certificate is not trusted; give ca_cert=, a file, after a question mark"),
        ("SSL", "it does not answer in TLS there; without TLS it is clickhouse://"),
        ("resolve", "no such host is known"),
        ("refused", "nothing listens there; the port is that of HTTP, which is 8123 or 8443 as a rule"),
        ("timed out", "it did not answer in time"),
    ):
        if sign.lower() in words.lower():
            return meaning
    return "it gave no answer that clickhouse-connect understands"


def _arrow(raw: bytes) -> pyarrow.Table:
    return pyarrow.ipc.open_file(pyarrow.BufferReader(raw)).read_all()


def fails(run: Callable[[], Any]) -> str:
    """Describe an error in words of our own; empty if there is none."""
    try:
        run()
    except Exception as error:  # its words may repeat what was given
        return _trouble(str(error))
    return ""
