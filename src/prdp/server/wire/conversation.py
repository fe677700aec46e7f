"""One connection as a state machine: bytes come in, bytes go out, and work is handed over.

There is no socket and no clock here, so that a test can send it anything. Whoever drives it gives it bytes
(``receive``), sends ``output``, does the ``work`` that it wants, and returns what came of it (``finish``).
While there is work, nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from prdp.noise.entropy import SystemEntropy
from prdp.server.refusals import RequestRefused
from prdp.server.wire import messages, scram
from prdp.server.wire.failures import WireError
from prdp.server.wire.messages import COMPLETE, Message, MessageReader
from prdp.server.wire.results import WireResult
from prdp.server.wire.scram import ScramRefused, Verifier
from prdp.server.wire.session import WireSession
from prdp.server.wire.statements import SentStatement, split
from prdp.server.wire.values import UNKNOWN, WireColumn, literal

MAX_PREPARED, MAX_PORTALS, MAX_HELD = 300, 20, 1 << 20
"""Prepared statements and portals of a connection, and characters of all statements."""
_OPTION = re.compile(r"(?:-c\s*|--)([\w.-]+)=((?:\\.|\S)*)")
_PLAIN_TEXT = "this server speaks TLS alone. Write sslmode=require, or better verify-full."


class Host(Protocol):
    """What a conversation needs of its server."""

    certificate: bytes
    """The hash of the certificate that clients bind logins to; empty for none."""

    def verifier(self, user: str) -> tuple[str, Verifier]:
        """Return a user's token, empty for nobody's, and a verifier."""

    def session(self, token: str, user: str, database: str) -> WireSession:
        """Return the session of a token."""

    def cancel(self, process: int, secret: int) -> None:
        """Detach whoever waits by these numbers."""


@dataclass(frozen=True, slots=True)
class Work:
    """Something that takes time: ``run`` returns it, raises, or says until when to wait."""

    run: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Prepared:
    statement: SentStatement
    types: tuple[int, ...]


@dataclass(slots=True)
class _Portal:
    prepared: _Prepared
    literals: tuple[str, ...]
    formats: tuple[int, ...]
    described: tuple[WireColumn, ...] | None = None
    result: WireResult | None = None
    at: int = 0


Steps = Generator[Work, Any, None]
"""What handles a message: it yields work, and is sent what came of it."""


class Conversation:
    """The protocol of one connection.

    Attributes:
        output: What is to be sent.
        work: What has to be done before anything more is read.
        wants_tls: Whether the connection is to be encrypted now, once the output is sent.
        closed: Whether it is to be closed, once the output is sent.
        keys: The numbers by which its wait can be cancelled.
    """

    def __init__(self, host: Host, keys: tuple[int, int] = (0, 0), *, encrypted: bool = False) -> None:
        self.output = bytearray()
        self.work: Work | None = None
        self.wants_tls = self.closed = False
        self.keys = keys
        self._host, self._encrypted = host, encrypted
        self._buffer = bytearray()
        self._steps: Any = None
        self._handle: Callable[[Message], Steps | None] = self._startup
        self._session: WireSession | None = None
        self._prepared: dict[str, _Prepared] = {}
        self._portals: dict[str, _Portal] = {}
        self._skips = self._implicit = False

    @property
    def is_logged_in(self) -> bool:
        """Whether somebody has logged in."""
        return self._session is not None

    @property
    def user(self) -> str:
        """The name of who has logged in; empty before."""
        return "" if self._session is None else self._session.user

    @property
    def is_full(self) -> bool:
        """Whether no more should be read from the socket for now."""
        return len(self._buffer) > self._limit

    @property
    def _limit(self) -> int:
        """The longest message that is read now."""
        return messages.MAX_MESSAGE if self._session else messages.MAX_BEFORE_LOGIN

    def receive(self, data: bytes) -> None:
        """Take bytes, and handle the messages that are whole."""
        if self.closed:
            return
        self._buffer += data
        self._go_on()

    def encrypted(self) -> None:
        """Go on after the connection has been encrypted."""
        self.wants_tls, self._encrypted = False, True
        self._go_on()

    def finish(self, outcome: Any) -> None:
        """Take what came of the work: what it returned, or the exception that it raised."""
        self.work = None
        if not self.closed:
            self._step(outcome)
            self._go_on()

    # How messages are handled.

    def _go_on(self) -> None:
        while self.work is None and not self.closed and not self.wants_tls:
            first = self._handle == self._startup
            try:
                found = messages.take(self._buffer, first=first, limit=self._limit)
                if found is None:
                    return
                self._steps = self._handle(found)
            except WireError as failure:
                self._fail(failure)
                continue
            if self._steps is not None:
                self._step(None)

    def _step(self, outcome: Any) -> None:
        """Let whatever handles a message go on, with what came of its work."""
        try:
            if isinstance(outcome, BaseException):
                self.work = self._steps.throw(outcome)
            else:
                self.work = self._steps.send(outcome)
        except StopIteration:
            self._steps = None
        except WireError as failure:
            self._fail(failure)
        except RequestRefused as refused:
            fatal = refused.code == "not_signed_in"
            self._fail(WireError.of(refused.code, fatal=fatal) if fatal else WireError.from_refusal(refused))
        except ScramRefused:
            self._fail(WireError.of("sign_in", fatal=True))
        except Exception:  # whatever it is, nothing of it is repeated
            self._fail(WireError.of("failed"))

    def _fail(self, failure: WireError) -> None:
        self._steps = None
        if self._session is None:
            failure.fatal = True
        self.output += messages.error(failure)
        if failure.fatal or self._session is None:
            self.closed = True
            return
        self._session.failed()
        if self._implicit:
            self._implicit = False
            self.output += messages.ready(self._session.status)
        else:
            self._skips = True

    # Before the login.

    def _startup(self, found: Message) -> Steps | None:
        reader = found.reader
        code = reader.number("I")
        if code in (messages.TLS, messages.GSS):
            reader.end()
            self._answer_encryption(code)
            return None
        if code == messages.CANCEL:
            process, secret = reader.number("I"), reader.number("I")
            reader.end()
            self._host.cancel(process, secret)
            self.closed = True
            return None
        if code >> 16 != messages.PROTOCOL >> 16:
            raise WireError("08P01", "the server speaks version 3 of the protocol.")
        if not self._encrypted:
            raise WireError("28000", _PLAIN_TEXT)
        options = messages.startup_options(reader)
        self._negotiate(code, options)
        if not options.get("user") or "replication" in options:
            raise WireError("28000", "connect as PERSON.LABEL, to answer questions.")
        offered = [scram.BOUND] * bool(self._host.certificate) + [scram.PLAIN]
        self.output += messages.authentication(10, *map(messages.text, offered), b"\0")
        self._handle = lambda message: self._log_in(message, options)
        return None

    def _answer_encryption(self, code: int) -> None:
        if code == messages.GSS or self._encrypted:
            self.output += b"N"
            return
        if self._buffer:  # bytes that would be taken for encrypted ones
            messages.malformed()
        self.output += b"S"
        self.wants_tls = True

    def _negotiate(self, code: int, options: Mapping[str, str]) -> None:
        """Say which version and which options are known, to clients that ask for newer ones."""
        unknown = [name for name in options if name.startswith("_pq_.")]
        if code != messages.PROTOCOL or unknown:
            head = (messages.PROTOCOL & 0xFFFF).to_bytes(4) + len(unknown).to_bytes(4)
            self.output += messages.message(b"v", head, *map(messages.text, unknown))

    def _log_in(self, found: Message, options: Mapping[str, str]) -> Steps:
        if found.kind != b"p":
            messages.malformed()
        reader = found.reader
        mechanism, size = reader.text(), reader.number("i")
        first = reader.rest()
        if len(first) != size:
            messages.malformed()
        user = options["user"]
        token, verifier = yield Work(lambda: self._host.verifier(user))
        nonce = SystemEntropy().bytes(18).hex()
        exchange = scram.begun(verifier, mechanism, first, nonce, self._host.certificate)
        self.output += messages.authentication(11, exchange.server_first.encode())
        self._handle = lambda message: self._prove(message, exchange, token, options)

    def _prove(
        self, found: Message, exchange: scram.Exchange, token: str, options: Mapping[str, str]
    ) -> Steps:
        if found.kind != b"p":
            messages.malformed()
        last = exchange.server_final(found.body)
        if not token:
            raise ScramRefused
        user = options["user"]

        def begin() -> tuple[WireSession, dict[str, str]]:
            session = self._host.session(token, user, options.get("database") or user)
            return session, session.begin(_settings(options))

        session, reported = yield Work(begin)
        self.output += messages.authentication(12, last) + messages.authentication(0)
        for name, value in reported.items():
            self.output += messages.parameter(name, value)
        self.output += messages.key_data(*self.keys)
        self._session, self._handle = session, self._command
        self.output += messages.ready(session.status)

    # After it.

    def _command(self, found: Message) -> Steps | None:
        assert self._session is not None  # noqa: S101  (commands come after a login)
        if found.kind == b"X":
            self.closed = True
            return None
        if found.kind == b"S":
            self._sync(found.reader)
            return None
        if self._skips or found.kind in (b"H", b"d", b"c", b"f"):
            return None  # after an error, all is skipped up to Sync; copies are not going on
        handler = self._HANDLERS.get(found.kind)
        if handler is None:
            messages.malformed()
        steps: Steps = handler(self, found.reader, self._session)
        return steps

    def _sync(self, reader: MessageReader) -> None:
        assert self._session is not None  # noqa: S101
        reader.end()
        self._skips = False
        if self._session.status == b"I":
            self._portals.clear()
        self.output += messages.ready(self._session.status)

    def _query(self, reader: MessageReader, session: WireSession) -> Steps:
        self._implicit = True
        text = reader.text()
        reader.end()
        statements = split(text)
        if not statements:
            self.output += COMPLETE_EMPTY
        for statement in statements:
            if statement.parameters:
                raise WireError("42P02", "there is no parameter $1.")
            result = yield Work(lambda one=statement: session.run(one))  # type: ignore[misc]
            self._say(result)
            if result.columns is not None:
                formats = [0] * len(result.columns)
                self.output += messages.description(result.columns, formats)
                for cells in result.rows:
                    self.output += messages.row(cells, result.columns, formats)
            self.output += messages.complete(result.tag)
        self._implicit = False
        self.output += messages.ready(session.status)

    def _say(self, result: WireResult) -> None:
        for sentence in result.notices:
            self.output += messages.notice(sentence)
        for name, value in result.reported.items():
            self.output += messages.parameter(name, value)

    def _parse(self, reader: MessageReader, session: WireSession) -> Steps:
        name, text, types = reader.text(), reader.text(), reader.numbers("I")
        reader.end()
        statements = split(text)
        if len(statements) > 1:
            raise WireError("42601", "one statement is prepared at a time.")
        statement = statements[0] if statements else SentStatement("")
        if name and name in self._prepared:
            raise WireError("42P05", "there is a prepared statement of this name.")
        held = sum(len(one.statement.text) for one in self._prepared.values())
        if len(self._prepared) >= MAX_PREPARED or held + len(text) > MAX_HELD:
            raise WireError.of("too_large")
        guessed: Sequence[int] = []
        if statement.parameters:
            guessed = yield Work(lambda: session.parameters(statement))
        known = dict(enumerate(types))
        chosen = tuple(
            kind if known.get(place, 0) in UNKNOWN else known[place] for place, kind in enumerate(guessed)
        )
        self._prepared[name] = _Prepared(statement, chosen)
        self.output += COMPLETE[b"1"]

    def _bind(self, reader: MessageReader, _: WireSession) -> Steps:
        yield from ()
        portal, name = reader.text(), reader.text()
        formats, given, wanted = reader.numbers("H"), reader.values(), reader.numbers("H")
        reader.end()
        prepared = self._known(name)
        if len(given) != len(prepared.types):
            raise WireError("08P01", f"the statement has {len(prepared.types)} parameters.")
        if len(formats) not in (0, 1, len(given)) or any(form > 1 for form in (*formats, *wanted)):
            raise WireError("08P01", "a parameter's form is neither text nor binary.")
        forms = formats * len(given) if len(formats) == 1 else formats or [0] * len(given)
        literals = tuple(
            literal(value, kind, binary=bool(form))
            for value, kind, form in zip(given, prepared.types, forms, strict=True)
        )
        if portal and portal in self._portals:
            raise WireError("42P03", "there is a portal of this name.")
        if len(self._portals) >= MAX_PORTALS:
            raise WireError.of("too_large")
        self._portals[portal] = _Portal(prepared, literals, tuple(wanted))
        self.output += COMPLETE[b"2"]

    def _known(self, name: str) -> _Prepared:
        if name not in self._prepared:
            raise WireError("26000", "there is no prepared statement of this name.")
        return self._prepared[name]

    def _portal(self, name: str) -> _Portal:
        if name not in self._portals:
            raise WireError("34000", "there is no portal of this name.")
        return self._portals[name]

    def _describe(self, reader: MessageReader, session: WireSession) -> Steps:
        kind, name = reader.take(1), reader.text()
        reader.end()
        if kind == b"S":
            prepared = self._known(name)
            literals = tuple(_STAND_INS.get(one, "''") for one in prepared.types)
            columns = yield Work(lambda: session.columns_of_prepared(prepared.statement, literals))
            self.output += messages.parameters(prepared.types)
            self._describe_columns(columns, [0] * len(columns or ()))
            return
        if kind != b"P":
            messages.malformed()
        portal = self._portal(name)
        columns = yield Work(lambda: session.columns(portal.prepared.statement, portal.literals))
        portal.described = columns
        self._describe_columns(columns, _formats(portal, columns or ()))

    def _describe_columns(self, columns: Sequence[WireColumn] | None, formats: Sequence[int]) -> None:
        self.output += COMPLETE[b"n"] if columns is None else messages.description(columns, formats)

    def _execute(self, reader: MessageReader, session: WireSession) -> Steps:
        portal, most = self._portal(reader.text()), reader.number("i")
        reader.end()
        result = portal.result
        if result is None:
            result = yield Work(lambda: session.run(portal.prepared.statement, portal.literals))
            assert isinstance(result, WireResult)  # noqa: S101  (whoever drives waits for it)
            portal.result = result
            self._say(result)
        if portal.described is not None and portal.described != result.columns:
            raise WireError("0A000", "the columns are not those that were described.")
        columns = result.columns or ()
        formats = _formats(portal, columns)
        end = len(result.rows) if most <= 0 else min(len(result.rows), portal.at + most)
        for cells in result.rows[portal.at : end]:
            self.output += messages.row(cells, columns, formats)
        sent, portal.at = end - portal.at, end
        if end < len(result.rows):
            self.output += COMPLETE[b"s"]
            return
        tag = f"SELECT {sent}" if result.tag.startswith("SELECT") else result.tag
        self.output += messages.complete(tag)

    def _close(self, reader: MessageReader, _: WireSession) -> Steps:
        yield from ()
        kind, name = reader.take(1), reader.text()
        reader.end()
        if kind not in (b"S", b"P"):
            messages.malformed()
        closed: dict[str, Any] = self._prepared if kind == b"S" else self._portals
        closed.pop(name, None)
        self.output += COMPLETE[b"3"]

    def _call_function(self, _: MessageReader, __: WireSession) -> Steps:
        yield from ()
        self._implicit = True
        raise WireError("0A000", "functions are not called: write SELECT.")

    _HANDLERS: ClassVar[dict[bytes, Callable[[Any, MessageReader, WireSession], Steps]]] = {
        b"Q": _query, b"P": _parse, b"B": _bind, b"D": _describe, b"E": _execute, b"C": _close,
        b"F": _call_function,
    }  # fmt: skip


COMPLETE_EMPTY = messages.complete("")
_STAND_INS = {16: "TRUE", 1082: "DATE '2000-01-01'", 1114: "TIMESTAMP '2000-01-01'",
              **dict.fromkeys((20, 21, 23, 26, 700, 701, 1700), "1")}  # fmt: skip
"""Constants in place of parameters, for whoever asks about columns before there are values."""


def _formats(portal: _Portal, columns: Sequence[WireColumn]) -> list[int]:
    if len(portal.formats) not in (0, 1, len(columns)):
        raise WireError("08P01", f"the rows have {len(columns)} columns.")
    if len(portal.formats) == len(columns):
        return list(portal.formats)
    return [portal.formats[0] if portal.formats else 0] * len(columns)


def _settings(options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a client's first message, those of its ``options`` too."""
    found = {
        name: value
        for name, value in options.items()
        if name not in ("user", "database", "options") and not name.startswith("_pq_.")
    }
    for name, value in _OPTION.findall(options.get("options", "")):
        found[name] = re.sub(r"\\(.)", r"\1", value)
    return found
