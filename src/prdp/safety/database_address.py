"""Addresses of PostgreSQL databases: read strictly, and shown without user and password."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from prdp.errors import InvalidRequest

_SCHEMES = ("postgresql://", "postgres://")
_ADDRESS = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?]*)(?::(?P<password>[^@/?]*))?@)?(?P<hosts>[^@/?]*)"
    r"(?:/(?P<database>[^@/?:]*))?(?:\?(?P<options>[^@?]*))?",
    re.ASCII,
)
_HOST = re.compile(r"(?:[\w.%-]*|\[[0-9a-fA-F:.%]+\])(?::[0-9]*)?", re.ASCII)
_OPTION = re.compile(r"(\w+)=([^=]*)", re.ASCII)
_ANY_SECRET = re.compile(
    r"(\w+_)?(ssl|client)?(password|passwd|passphrase|passcode|pass|pwd|secret|token|api_?key|private_key)",
    re.IGNORECASE,
)
"""Names of options that hold a secret, of any database; a file with one in it may be named."""

_ANY_ADDRESS = re.compile(r"\s*(?:[a-z][\w+.-]*:)+//(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_PAIR = r"(\w++)\s*+=\s*+(?:'(?:[^'\\]|\\.)*+'|\{[^}]*+\}|[^\s;']*+)"
_PAIRS = re.compile(rf"\s*+(?:{_PAIR}(?:\s*+;\s*+|\s++|$)){{2,}}+", re.DOTALL)
"""Names and values, ``host=h password=p`` or ``Server=h;Pwd=p``; one pair alone may be a column with keys."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A text that no repr, message or dump shows.

    >>> Hidden("postgresql://ana:secret@host/db")
    <hidden>
    """

    text: str = field(repr=False)

    def __repr__(self) -> str:
        return "<hidden>"

    def __str__(self) -> str:
        return "<hidden>"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Address of a PostgreSQL database.

    Attributes:
        given: What libpq takes: the address as it was given, without the options that are prdp's own.
        shown: Host, port and database, without user, password and options.
        own: The options that are prdp's own, by name.
        names: The names of all other options.
    """

    given: Hidden
    shown: str
    own: dict[str, str]
    names: frozenset[str]


def is_database(place: object) -> bool:
    """Return whether a text is meant as the address of a PostgreSQL database.

    >>> is_database("postgresql://ana@host/db"), is_database("accounts.ledger")
    (True, False)
    """
    return isinstance(place, str) and place.lstrip().lower().startswith(_SCHEMES)


def holds_password(text: str) -> bool:
    """Return whether a text is an address, of whatever, with a password in it.

    >>> holds_password("postgresql://ana:secret@host/db"), holds_password("postgresql://ana@host:5432/db")
    (True, False)
    >>> holds_password("mariadb://host/db?user=ana&passwd=secret"), holds_password("SELECT 'a://b:c@d'")
    (True, False)
    >>> holds_password("host=bank user=ana password=secret"), holds_password("pass=yes,no")
    (True, False)
    """
    found = _ANY_ADDRESS.match(text)
    if found is None:
        pairs = re.findall(_PAIR, text) if _PAIRS.fullmatch(text) else []
        return any(map(_ANY_SECRET.fullmatch, pairs))
    options = found["rest"].partition("?")[2]
    login, at, _ = found["rest"].rpartition("@")
    names = [unquote(option.partition("=")[0]).strip() for option in re.split("[&;?#]", options)]
    return bool(at and ":" in login and not login.endswith(":")) or any(map(_ANY_SECRET.fullmatch, names))


def read_address(text: str, own: Sequence[str] = ()) -> DatabaseAddress:
    """Read the address of a PostgreSQL database.

    >>> address = read_address("postgresql://ana:secret@db.example:5433/team?ledger=visits", ["ledger"])
    >>> address.shown, address.own
    ('postgresql://db.example:5433/team', {'ledger': 'visits'})
    >>> "secret" in repr(address)
    False

    Args:
        text: What was given.
        own: The names of options that are prdp's, not the database's.

    Raises:
        InvalidRequest: It is none. The text is not repeated, since a part of it may be a password.
    """
    found = _ADDRESS.fullmatch(text.strip())
    if found is None or not text.isprintable() or not all(map(_HOST.fullmatch, found["hosts"].split(","))):
        raise _no_address()
    parts = [part for part in (found["options"] or "").split("&") if part]
    pairs = [_OPTION.fullmatch(part) for part in parts]
    options = {pair[1]: unquote(pair[2]) for pair in pairs if pair}
    if len(options) < len(parts):
        raise _no_address()
    host, port = unquote(found["hosts"]) or options.get("host", ""), options.get("port", "")
    database = unquote(found["database"] or "") or options.get("dbname", "")
    shown = f"postgresql://{host}{f':{port}' if port else ''}/{database}"
    if host.startswith("/"):  # a socket's folder
        shown = f"postgresql:///{database}?host={host}"
    if not shown.isprintable() or "@" in shown:
        raise _no_address()
    kept = "&".join(part for part in parts if part.partition("=")[0] not in own)
    start = text.strip().partition("?")[0]
    return DatabaseAddress(
        given=Hidden(f"{start}?{kept}" if kept else start),
        shown=shown,
        own={name: value for name, value in options.items() if name in own},
        names=frozenset(options) - set(own),
    )


def _no_address() -> InvalidRequest:
    return InvalidRequest(
        "this is no address of a PostgreSQL database; it is not repeated here, since it may hold a password. "
        "Write postgresql://user@host/database, with special characters as %40 and the like."
    )
