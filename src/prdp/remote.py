"""Tables of a server (``prdp serve``): the questions of local tables, asked over HTTP.

A statement is planned first, which is free, and then spent. Its answer appears at a time that the server
states when it takes the request; nothing here is faster for one record than for another.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast, overload
from urllib.parse import quote, urlsplit
from uuid import uuid4

from prdp.declare.exact import Exact, exact_share, fraction_of, spelled
from prdp.declare.groups import Truncated, Values, group_key
from prdp.errors import BudgetExhausted, EngineFailure, InvalidRequest
from prdp.expressions.nodes import Column, canonical
from prdp.expressions.parse import parse
from prdp.plan.explain import Explanation, Line
from prdp.plan.methods import Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Query
from prdp.plan.shares import Shares, gathered
from prdp.release.release import Release
from prdp.release.table import Released, ReleaseTable
from prdp.schema import ColumnType, Kind, Schema
from prdp.sql import dbapi
from prdp.sql.answers_codec import answers_from_json
from prdp.sql.results import SqlAnswers
from prdp.tables.column import TableColumn, all_of
from prdp.tables.query_methods import Questions, as_queries

TIMEOUT = 60.0
"""Seconds that one exchange with a server may take; a question takes several."""

_ATTEMPTS = 4
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_SHARE_DIGITS = 12
_MAX_ANSWER = 1 << 28


@overload
def connect(
    accounts: str,
    *,
    share: Exact | None = None,
    token: str | None = None,
    intervals: bool = False,
    std_errors: bool = False,
) -> RemoteConnection: ...


@overload
def connect(
    accounts: dbapi.SqlQueryable,
    *,
    share: Exact,
    keys: Mapping[str, Any] | None = None,
    tables: Mapping[str, object] | None = None,
    intervals: bool = False,
    std_errors: bool = False,
) -> dbapi.Connection: ...


def connect(
    accounts: str | dbapi.SqlQueryable,
    *,
    share: Exact | None = None,
    token: str | None = None,
    keys: Mapping[str, Any] | None = None,
    tables: Mapping[str, object] | None = None,
    intervals: bool = False,
    std_errors: bool = False,
) -> dbapi.Connection:
    """Return a PEP 249 connection to a table, a join, or a server.

    >>> import numpy
    >>> import prdp
    >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1", name="accounts")
    >>> cursor = prdp.connect(accounts, share=0.01).cursor()
    >>> cursor.execute("SELECT 1 AS one").fetchall(), accounts.remaining
    ([(1,)], Fraction(1, 1))
    >>> cursor.execute("SELECT COUNT(*) FROM accounts WHERE age > ?", [40]).rowcount, accounts.remaining
    (1, Fraction(99, 100))

    Of a server, ``prdp.connect("https://stats.example").table("accounts")`` has the methods of a table.

    Args:
        accounts: What ``prdp.open`` or ``prdp.open_join`` returned, or the address of a server.
        share: The part of every record's budget that a statement may use. A connection to a server may do
            without: its tables take one with each question, and ``SET share = 0.02`` sets it.
        token: Of a server, an access token; by default ``PRDP_TOKEN``, or what ``prdp login`` kept.
        keys: As in ``Table.sql``; a server declares its own.
        tables: As in ``Table.sql``; not for a server.
        intervals: Whether each number ``n`` has the columns ``n_low``, ``n_high`` and ``n_flag`` beside it.
            Without them, ``pandas.read_sql`` shows numbers alone; ``cursor.answers`` has the intervals.
        std_errors: Whether it has ``n_se`` and ``n_cv`` as well: its standard error and its coefficient of
            variation.
    """
    if isinstance(accounts, str):
        if keys is not None or tables is not None:
            raise InvalidRequest("keys= and tables= are for a local table; the server declares its keys.")
        server = RemoteServer.at(accounts, token)
        return RemoteConnection(
            server, None if share is None else exact_share(share), intervals=intervals, std_errors=std_errors
        )
    if token is not None:
        raise InvalidRequest("token= is for the address of a server, such as 'https://stats.example'.")
    if share is None:
        raise InvalidRequest("connect needs share=, the part of every record's budget that a statement uses.")
    return dbapi.connect(
        accounts, share=share, keys=keys, tables=tables, intervals=intervals, std_errors=std_errors
    )


def credentials_file() -> Path:
    """Return the file in which ``prdp login`` keeps access tokens."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "prdp" / "servers.json"


def kept_tokens() -> dict[str, str]:
    """Return the access tokens that were kept, by the address of their server.

    Raises:
        InvalidRequest: Others may read the file.
    """
    place = credentials_file()
    if not place.exists():
        return {}
    if os.name == "posix" and place.stat().st_mode & 0o077:
        raise InvalidRequest(f"{place} holds access tokens, and others may read it: chmod 600 {place}")
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidRequest(f"{place} is damaged. Delete it, and write prdp login.") from None
    return {str(name): str(token) for name, token in found.items()}


def keep_token(address: str, token: str) -> Path:
    """Write an access token where the user alone can read it; return the file."""
    place = credentials_file()
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = json.dumps({**kept_tokens(), address: token}, indent=1)
    draft = place.with_suffix(".new")
    with suppress(FileNotFoundError):
        draft.unlink()
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as new:
        new.write(text)
    draft.replace(place)
    return place


@dataclass(frozen=True)
class Reply:
    """A server's reply: its status, what it says, and its headers in lower case."""

    status: int
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True)
class RemoteServer:
    """The address of a server and, once signed in, an access token, which is never printed.

    >>> RemoteServer.at("stats.example", "secret")
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: 'stats.example' is no server's address. Write https://stats.example
    """

    address: str
    token: str = field(default="", repr=False)

    @classmethod
    def at(cls, address: str, token: str | None = None) -> RemoteServer:
        """Return the server of an address, with the token that was given or kept.

        Raises:
            InvalidRequest: The address has no scheme, or would carry a token unencrypted to another machine.
        """
        known = cls(normal_address(address))
        found = token or os.environ.get("PRDP_TOKEN") or kept_tokens().get(known.address, "")
        if not found.isascii() or not found.isprintable():
            raise InvalidRequest("this is no access token.")
        return replace(known, token=found)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        again: bool = True,
    ) -> Reply:
        """Send a request and return the reply; a refusal raises.

        Args:
            method: The HTTP method.
            path: The path from ``/v1`` on.
            body: What is sent as JSON; None for nothing.
            headers: More headers.
            again: Whether a request that got no reply may be sent again.
        """
        sent = None if body is None else json.dumps(body).encode()
        named = {"accept": "application/json", **(headers or {})}
        if sent is not None:
            named["content-type"] = "application/json"
        if self.token:
            named["authorization"] = f"Bearer {self.token}"
        for attempt in range(_ATTEMPTS if again else 1):
            try:
                reply = self._exchange(method, path, sent, named)
            except (OSError, http.client.HTTPException):
                time.sleep(0.2 * 4**attempt if attempt + 1 < _ATTEMPTS else 0)
                continue
            if reply.status in (429, 503) and again and attempt + 1 < _ATTEMPTS:
                time.sleep(min(30.0, _seconds(reply.headers.get("retry-after", "1"))))
                continue
            return _accepted(reply)
        raise ServerUnreachable(self.address)

    def _exchange(self, method: str, path: str, sent: bytes | None, named: Mapping[str, str]) -> Reply:
        """Send a request over a connection of its own; redirections are not followed."""
        parts = urlsplit(self.address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
        try:
            connection.request(method, f"{parts.path}{path}", body=sent, headers=dict(named))
            response = connection.getresponse()
            text = response.read(_MAX_ANSWER)
            headers = {name.lower(): value for name, value in response.getheaders()}
        finally:
            connection.close()
        if "json" not in headers.get("content-type", ""):
            return Reply(response.status, text.decode("utf-8", "replace"), headers)
        try:
            return Reply(response.status, json.loads(text), headers)
        except ValueError:
            raise http.client.HTTPException from None

    def get(self, path: str) -> Any:
        """Return what a path says."""
        return self.call("GET", path).body

    def plan(self, statement: str, share: Exact) -> dict[str, Any]:
        """Return the dry run of a statement; nothing is charged."""
        body = {"statement": statement, "share": spelled_share(share)}
        return cast("dict[str, Any]", self.call("POST", "/v1/plans", body).body)

    def explain(self, statement: str, share: Exact) -> Explanation:
        """Return the dry run of a statement, in lines."""
        plan = self.plan(statement, share)
        if plan["recorded"]:
            costs = "nothing: it has been answered"
        elif plan["needs_approval"]:
            costs = f"{plan['cost']}, once a steward approves; {plan['left_approved']} is left for that"
        else:
            costs = f"{plan['cost']}; {plan['left']} is left to you without approval"
        lines = (Line(str(label), str(words)) for label, words in plan["lines"])
        return Explanation((Line("purse", costs), *lines))

    def ask(self, statement: str, share: Exact, purpose: str = "") -> SqlAnswers:
        """Spend a statement's share, wait for the time at which its answer is published, and return it.

        The same request is taken once, however often it is sent.

        Raises:
            ApprovalNeeded: A steward must approve it first.
        """
        plan = self.plan(statement, share)
        asked = {"statement": statement, "share": spelled_share(share), "plan": plan["plan"]}
        asked |= {"purpose": purpose} if purpose else {}
        key = {"idempotency-key": uuid4().hex}
        request = self.call("POST", "/v1/requests", asked, headers=key).body
        return self.answers_of(self.published(request))

    def published(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request once it is published."""
        while request["state"] in {"queued", "approved"}:
            time.sleep(max(0.05, min(600.0, float(request["publish_at"] or 0) - time.time())))
            reply = self.call("GET", f"/v1/requests/{quote(str(request['id']), safe='')}")
            request = reply.body
            if request["state"] == "queued":
                time.sleep(min(5.0, _seconds(reply.headers.get("retry-after", "0.2"))))
        if request["state"] == "waiting":
            raise ApprovalNeeded(str(request["id"]))
        if request["state"] != "published" or request.get("failed"):
            raise _failed(request)
        return request

    def answers_of(self, request: Mapping[str, Any]) -> SqlAnswers:
        """Return the answers of a published request."""
        return read_answers(self.address, self.get(f"/v1/releases/{quote(str(request['release']), safe='')}"))


def read_answers(address: str, release: Any) -> SqlAnswers:
    """Return the answers in what a server says of a release.

    Raises:
        InvalidRequest: They are of a form that this version does not know.
    """
    try:
        return answers_from_json(release["answers"])
    except (KeyError, TypeError, ValueError):
        raise InvalidRequest(
            f"{address} answered in a form that this version of prdp does not read."
        ) from None


class RefusedByServer(InvalidRequest):
    """A refusal of a server.

    Attributes:
        status: Its HTTP status.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ServerUnreachable(EngineFailure):
    """A server that gave no reply; a request that was sent may have been taken, and is not taken twice."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.args = (f"{address} gives no reply. Ask again: the same question is charged once.",)


class ApprovalNeeded(InvalidRequest):
    """A request that waits for a steward; nothing is charged before.

    Attributes:
        request: The request's name.
    """

    def __init__(self, request: str) -> None:
        super().__init__(
            f"request {request} waits for a steward. Once it is approved, the same statement has an answer."
        )
        self.request = request


def _failed(request: Mapping[str, Any]) -> InvalidRequest | EngineFailure | BudgetExhausted:
    """Return the error of a request that was denied, withdrawn, expired or failed."""
    if request["state"] == "published":
        message = str(request.get("message") or "")
        if request.get("failed") in {"budget", "purse"} and message:
            return BudgetExhausted(fraction_of(str(request["share"])), Fraction(0), message)
        if request.get("failed") == "plan_is_old" and message:
            return RefusedByServer(message, 409)
        return EngineFailure()
    reason = f" ({request['reason']})" if request.get("reason") else ""
    return InvalidRequest(f"request {request['id']} is {request['state']}{reason}.")


def _accepted(reply: Reply) -> Reply:
    """Return a reply, or raise what its refusal says."""
    if reply.status < 300:
        return reply
    body = reply.body if isinstance(reply.body, dict) else {}
    message = str(body.get("message") or f"the server refused ({reply.status}).")
    if reply.status == 401:
        advice = "" if body.get("code") == "sign_in" else " In the shell: prdp login URL."
        raise RefusedByServer(f"{message}{advice}", reply.status)
    if reply.status == 402:
        asked, left = (fraction_of(str(body.get(name) or "0")) for name in ("asked", "left"))
        raise BudgetExhausted(asked, left, message)
    raise RefusedByServer(message, reply.status)


def _seconds(text: str) -> float:
    return float(text) if re.fullmatch(r"\d{1,6}(\.\d+)?", text) else 1.0


def normal_address(address: str) -> str:
    """Return a server's address as it is kept: scheme, host and port, without a slash at its end.

    >>> normal_address("HTTPS://Stats.example/")
    'https://stats.example'
    >>> normal_address("localhost:8080")
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: 'localhost:8080' is no server's address. Write http://localhost:8080

    Raises:
        InvalidRequest: It is no address, or an unencrypted one of another machine.
    """
    parts = urlsplit(address.strip())
    host = (parts.hostname or "").lower()
    if parts.scheme not in {"http", "https"} or not host:
        bare = address.split("/", maxsplit=1)[0]
        scheme = "http" if bare.rpartition(":")[0] in _LOOPBACK or bare in _LOOPBACK else "https"
        raise InvalidRequest(f"{address!r} is no server's address. Write {scheme}://{bare}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidRequest("a server's address is scheme, host and port: https://stats.example:8443")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise InvalidRequest(f"http://{host} would send your token unencrypted. Write https://{host}")
    port = f":{parts.port}" if parts.port else ""
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{port}{parts.path.rstrip('/')}"


def spelled_share(share: Exact) -> str:
    """Return a share as the decimal that a server reads.

    >>> spelled_share(0.02), spelled_share("1/8")
    ('0.02', '0.125')

    Raises:
        InvalidRequest: It has more than 12 decimal places.
    """
    whole, rest = divmod(exact_share(share) * 10**_SHARE_DIGITS, 1)
    if rest:
        raise InvalidRequest(f"share={spelled(exact_share(share))} has more than 12 decimal places.")
    text = f"{int(whole):0{_SHARE_DIGITS + 1}d}"
    return f"{text[:-_SHARE_DIGITS]}.{text[-_SHARE_DIGITS:]}".rstrip("0").rstrip(".")


class RemoteConnection(dbapi.Connection):
    """A PEP 249 connection to a server; ``table`` returns one of its tables."""

    def __init__(
        self,
        server: RemoteServer,
        share: Fraction | None,
        *,
        intervals: bool = False,
        std_errors: bool = False,
    ) -> None:
        super().__init__(
            _Statements(server), share or Fraction(0), None, None, intervals=intervals, std_errors=std_errors
        )
        self.server = server

    def __repr__(self) -> str:
        return f"<connection to {self.server.address}>"

    @property
    def tables(self) -> list[str]:
        """The names of the tables that you may ask about."""
        return [str(one["name"]) for one in self.server.get("/v1/tables")["tables"]]

    def table(self, name: str) -> RemoteTable:
        """Return a table of the server, with the methods of a local one."""
        return RemoteTable(self.server, self.server.get(f"/v1/tables/{quote(name, safe='')}"))


@dataclass(frozen=True)
class _Statements:
    """What a connection asks its statements of."""

    server: RemoteServer

    def sql(
        self,
        text: str,
        *,
        share: Exact,
        keys: Mapping[str, Any] | None = None,  # noqa: ARG002  (a server declares its own)
        tables: Mapping[str, object] | None = None,  # noqa: ARG002
    ) -> SqlAnswers:
        """Answer a statement."""
        if not share:
            raise InvalidRequest("name a share: prdp.connect(..., share=0.01), or SET share = 0.01.")
        return self.server.ask(text, share)


Answered = TypeVar("Answered")

_FUNCTIONS = {
    "count": "COUNT(*)",
    "sum": "SUM({of})",
    "mean": "AVG({of})",
    "variance": "VAR_POP({of})",
    "std": "STDDEV_POP({of})",
    "max": "MAX({of})",
    "min": "MIN({of})",
    "distinct": "COUNT(DISTINCT {of})",
    "quantile": "QUANTILE_CONT({of}, {at})",
}
"""Queries of tables in SQL, by the name that their facts have."""


class _RemoteQuestions(Questions[Answered]):
    """Questions that are asked as statements; the server's methods answer them."""

    @property
    def remaining(self) -> Fraction:
        """The part of every record's budget that you may still spend without approval."""
        raise NotImplementedError

    def _statement(self, queries: Sequence[Query]) -> tuple[str, tuple[str, ...]]:
        """Return the statement that asks queries, and the names of their columns."""
        raise NotImplementedError

    def _answers(self, queries: Sequence[Query], share: Exact) -> ReleaseTable:
        """Answer queries by a statement."""
        raise NotImplementedError

    def plan(self, *_: Query, **__: Any) -> Plan:
        """Refuse: the server plans; ``explain`` shows it."""
        raise InvalidRequest("the server plans what it answers: write explain(...).")

    def explanation(self, plan: Plan) -> Explanation:
        """Refuse: the server plans; ``explain`` shows it."""
        self.plan()
        return Explanation((Line("plan", str(plan)),))

    def _answered(self, _: Plan, *, redraw: bool) -> Released:
        del redraw
        self.plan()
        raise NotImplementedError

    def _several(
        self,
        queries: Sequence[Query],
        share: Exact,
        shares: Shares | None = None,
        options: Options | None = None,
        *,
        redraw: bool,
    ) -> ReleaseTable:
        _refuse_options(options, redraw=redraw)
        if shares is not None:
            raise InvalidRequest("shares= is for local tables: a server divides the share equally.")
        return self._answers(queries, share)

    def explain(self, *queries: Query, share: Exact, **named: Any) -> Explanation:
        """Return what queries would cost, and what would be left; nothing is charged.

        Args:
            queries: What would be asked.
            share: The part of every record's budget for all of it.
            named: More queries, each with the name of its column.
        """
        listed, known = as_queries(queries, named)
        statement, _ = self._statement(gathered(listed, known))
        return self.explain_sql(statement, share=share)

    @property
    def _server(self) -> RemoteServer:
        """The server that answers."""
        raise NotImplementedError

    def explain_sql(self, text: str, *, share: Exact) -> Explanation:
        """Return what a statement would cost, and what would be left; nothing is charged."""
        return self._server.explain(text, share)


def _refuse_options(options: Options | None, *, redraw: bool) -> None:
    if redraw:
        raise InvalidRequest("redraw= replaces the answer for everybody, which stewards alone may do.")
    chosen = None if options is None else getattr(options, "method", None)
    if chosen not in _CHOSEN_BY_DEFAULT:
        raise InvalidRequest(f"method={chosen!r}: the server chooses its methods. Leave method= out.")


_CHOSEN_BY_DEFAULT = {None, "clip", "choice", "rank", "distinct"}


@dataclass(frozen=True, eq=False, repr=False)
class RemoteTable(_RemoteQuestions[Release]):
    """A table of a server; what ``prdp.connect("https://...").table("accounts")`` returns.

    Attributes:
        server: Where it is.
        facts: What the server publishes of it: columns, bounds, keys, policy.
        conditions: What its rows satisfy, each an expression over its columns.
    """

    internals: ClassVar = frozenset({"server", "facts", "conditions"})

    server: RemoteServer
    facts: Mapping[str, Any]
    conditions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        where = f" where {' AND '.join(self.conditions)}" if self.conditions else ""
        return f"<prdp table {self.name!r} of {self.server.address}{where}: {', '.join(self.columns)}>"

    @property
    def name(self) -> str:
        """Its name in statements."""
        return str(self.facts["name"])

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.schema)

    @cached_property
    def schema(self) -> Schema:
        """The columns that questions may name, and their types."""
        return {str(one["name"]): _type_of(one) for one in self.facts["columns"]}

    @property
    def remaining(self) -> Fraction:
        """The part of every record's budget that you may still spend without approval."""
        budget = self.server.get(f"/v1/tables/{quote(self.name, safe='')}/budget")
        mine, whole = budget["mine"]["alone"]["left"], budget["table"]["remaining"]
        return min(fraction_of(str(mine)), fraction_of(str(whole)))

    @property
    def _server(self) -> RemoteServer:
        return self.server

    def filter(self, *conditions: str | TableColumn[Any], **equal: object) -> RemoteTable:
        """Return those rows alone for which all conditions hold."""
        text = canonical(parse(str(all_of(conditions, equal))))
        return replace(self, conditions=(*self.conditions, text))

    @overload
    def __getitem__(self, item: str) -> TableColumn[Release]: ...

    @overload
    def __getitem__(self, item: TableColumn[Any]) -> RemoteTable: ...

    def __getitem__(self, item: str | TableColumn[Any]) -> TableColumn[Release] | RemoteTable:
        """Return a column, by its name; or the rows for which a condition on columns holds."""
        return self.filter(item) if isinstance(item, TableColumn) else self._column(item)

    def group_by(self, *columns: Any) -> RemoteGroups:
        """Group records by columns, expressions or ``prdp.date_trunc``; the server declares their keys."""
        listed = columns[0] if len(columns) == 1 and isinstance(columns[0], list | tuple) else columns
        return RemoteGroups(self, tuple(_key_text(column, self.schema) for column in listed))

    def value_counts(self, column: str, *, share: Exact) -> ReleaseTable:
        """Count the records of each value of a column."""
        return self.group_by(column).count(share=share)

    def sql(self, text: str, *, share: Exact, purpose: str = "") -> SqlAnswers:
        """Answer a SQL statement about the server's tables.

        Args:
            text: The statement.
            share: The part of every record's budget for the statement.
            purpose: A sentence for whoever approves it.
        """
        if self.conditions:
            raise InvalidRequest("a statement says its own condition: WHERE ...; ask it of the whole table.")
        return self.server.ask(text, share, purpose)

    def _statement(self, queries: Sequence[Query], by: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
        known = [query.known(self.schema) for query in queries]
        texts = map(_text, known)
        where = f" WHERE {' AND '.join(f'({each})' for each in self.conditions)}" if self.conditions else ""
        name = canonical(Column(self.name))
        grouped = f" GROUP BY {', '.join(by)}" if by else ""
        names = tuple(name for query in known for name in query.headings)
        return f"SELECT {', '.join((*by, *texts))} FROM {name}{where}{grouped}", names

    def _one(self, query: Query, share: Exact, options: Options, *, redraw: bool) -> Release:
        _refuse_options(options, redraw=redraw)
        _refuse_rounding(query)
        statement, _ = self._statement([query])
        return _tabled(self.server.ask(statement, share), (), query.headings).releases[0][0]

    def _answers(self, queries: Sequence[Query], share: Exact) -> ReleaseTable:
        statement, names = self._statement(queries)
        return _tabled(self.server.ask(statement, share), (), names)


@dataclass(frozen=True, eq=False, repr=False)
class RemoteGroups(_RemoteQuestions[ReleaseTable]):
    """A server's table by groups; each question gives one answer a group."""

    internals: ClassVar = frozenset({"table", "by"})

    table: RemoteTable
    by: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"<groups by {', '.join(name for name, _ in self.by)} of {self.table!r}>"

    @property
    def schema(self) -> Schema:
        """The table's columns and their types."""
        return self.table.schema

    @property
    def remaining(self) -> Fraction:
        """The part of every record's budget that you may still spend without approval."""
        return self.table.remaining

    @property
    def _server(self) -> RemoteServer:
        return self.table.server

    def filter(self, *conditions: str | TableColumn[Any], **equal: object) -> RemoteGroups:
        """Return the groups of those records alone for which all conditions hold."""
        return replace(self, table=self.table.filter(*conditions, **equal))

    def __getitem__(self, item: str) -> TableColumn[ReleaseTable]:
        """Return a column of the groups, by its name."""
        return self._column(item)

    def _statement(self, queries: Sequence[Query]) -> tuple[str, tuple[str, ...]]:
        return self.table._statement(queries, [text for _, text in self.by])  # noqa: SLF001

    def _one(self, query: Query, share: Exact, options: Options, *, redraw: bool) -> ReleaseTable:
        _refuse_options(options, redraw=redraw)
        _refuse_rounding(query)
        return self._answers([query], share)

    def _answers(self, queries: Sequence[Query], share: Exact) -> ReleaseTable:
        statement, names = self._statement(queries)
        return _tabled(self._server.ask(statement, share), tuple(name for name, _ in self.by), names)


def _refuse_rounding(query: Query) -> None:
    of_units = any(getattr(query, name, None) for name in ("unit_weighted", "per_unit"))
    if getattr(query, "round_to", None) is not None or of_units:
        raise InvalidRequest(f"{query}: round_to=, unit_weighted= and per_unit= are for local tables.")


def _type_of(column: Mapping[str, Any]) -> ColumnType:
    kinds = {kind.value: kind for kind in Kind}
    native = str(column.get("type") or "")
    kind = kinds.get(str(column.get("kind")), Kind.OTHER)
    return ColumnType(kind, integer=bool(column.get("integer")), native=native)


def _key_text(column: Any, schema: Schema) -> tuple[str, str]:
    """Return a grouping's name, and its SQL."""
    key = group_key(column, schema)
    match key:
        case Truncated():
            part = str(column.part)
            return str(key), f"date_trunc('{part}', {canonical(Column(key.column))})"
        case Values():
            return str(key), canonical(Column(key.column))
    raise InvalidRequest(f"group_by({column}) of a server takes columns and dates; write others in SQL.")


def _text(query: Query) -> str:
    """Return a query in SQL."""
    facts = query.facts
    template = _FUNCTIONS.get(str(facts["query"]))
    if template is None:
        raise InvalidRequest(f"{query} is not available on a server. Write it in SQL: table.sql(...).")
    parts = facts.get("at", ["1/2"])
    if len(parts) > 1:  # in SQL each would be drawn apart, at the price of each
        raise InvalidRequest(f"{query}: a server answers one quantile a query. Write agg(low=..., high=...).")
    return template.format(of=facts.get("of", ""), at=float(Fraction(parts[0])))


def _tabled(answers: SqlAnswers, by: tuple[str, ...], names: tuple[str, ...]) -> ReleaseTable:
    """Return the rows of answers as the table that the same question of a local table gives."""
    released = answers.released
    if released is None or len(released.asked) != len(names):  # one is computed from another's draw
        raise InvalidRequest("these queries share a draw: ask them in SQL, table.sql(...).")
    return replace(released, by=by, asked=names)
