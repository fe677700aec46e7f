"""A client of the PostgreSQL protocol in memory: it talks to a conversation, and needs no socket."""

from __future__ import annotations

import base64
import hmac
import struct
from dataclasses import dataclass, field
from hashlib import pbkdf2_hmac, sha256
from typing import Any

from prdp.server.wire.conversation import Conversation
from prdp.server.wire.listener import WireServer
from prdp.server.wire.results import WaitUntil
from tests.server.serving import Served
from tests.server.wire.serving_wire import wire_token

CERTIFICATE = b"the hash of a certificate"
TLS = struct.pack("!II", 8, 80_877_103)


def sent(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return kind + struct.pack("!I", len(body) + 4) + body


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def startup(**options: str) -> bytes:
    body = b"".join(text(name) + text(value) for name, value in options.items())
    return sent(b"", struct.pack("!I", 196_608), body, b"\0")


def query(statement: str) -> bytes:
    return sent(b"Q", text(statement))


def parse(statement: str, name: str = "", *types: int) -> bytes:
    oids = b"".join(struct.pack("!I", one) for one in types)
    return sent(b"P", text(name), text(statement), struct.pack("!H", len(types)), oids)


def bind(
    *values: bytes | None, name: str = "", forms: tuple[int, ...] = (), wanted: tuple[int, ...] = ()
) -> bytes:
    given = b"".join(
        struct.pack("!i", -1) if one is None else struct.pack("!i", len(one)) + one for one in values
    )
    coded = [b"".join(struct.pack("!H", one) for one in (len(some), *some)) for some in (forms, wanted)]
    return sent(b"B", text(""), text(name), coded[0], struct.pack("!H", len(values)), given, coded[1])


DESCRIBE, SYNC = sent(b"D", b"P", text("")), sent(b"S")


def execute(most: int = 0) -> bytes:
    return sent(b"E", text(""), struct.pack("!i", most))


@dataclass
class Heard:
    """A message of the server."""

    kind: str
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        """The fields of an error or a notice."""
        parts = self.body.rstrip(b"\0").split(b"\0")
        return {part[:1].decode(): part[1:].decode() for part in parts}

    @property
    def cells(self) -> list[bytes | None]:
        """The cells of a row."""
        found: list[bytes | None] = []
        at = 2
        while at < len(self.body):
            (size,) = struct.unpack_from("!i", self.body, at)
            at += 4
            found.append(None if size < 0 else self.body[at : at + size])
            at += max(0, size)
        return found

    @property
    def names(self) -> list[str]:
        """The names of described columns."""
        found, at = [], 2
        while at < len(self.body):
            end = self.body.index(b"\0", at)
            found.append(self.body[at:end].decode())
            at = end + 19
        return found


@dataclass
class Client:
    """Both ends of one connection: what it sends is handled at once, with the work that it makes."""

    served: Served
    talk: Conversation
    heard: list[Heard] = field(default_factory=list)
    raw: bytes = b""
    waited: int = 0

    @classmethod
    def of(cls, served: Served, certificate: bytes = CERTIFICATE) -> Client:
        """Return a client that has not sent anything."""
        host = WireServer(served.service, None, certificate)
        return cls(served, Conversation(host, (7, 11)))

    @classmethod
    def logged_in(cls, served: Served, user: str = "ana.laptop", **options: str) -> Client:
        """Return a client that has logged in, with a new token."""
        client = cls.of(served)
        client.log_in(user, wire_token(served, user), bound=True, **options)
        assert client.talk.is_logged_in, client.heard
        return client

    def send(self, data: bytes) -> list[Heard]:
        """Send bytes; return what the server says to them."""
        self.talk.receive(data)
        return self.settle()

    def settle(self) -> list[Heard]:
        """Do all work that the conversation wants; return what it said."""
        while self.talk.work is not None:
            self.talk.finish(self._outcome(self.talk.work.run))
        if self.talk.wants_tls:
            self.raw += bytes(self.talk.output)
            self.talk.output.clear()
            self.talk.encrypted()
            return self.settle()
        said = self._messages(bytes(self.talk.output))
        self.talk.output.clear()
        self.heard += said
        return said

    def _outcome(self, run: Any) -> Any:
        while True:
            try:
                found = run()
            except Exception as error:
                return error
            if not isinstance(found, WaitUntil):
                return found
            self.waited += 1
            self.served.run()
            run = found.then

    def _messages(self, data: bytes) -> list[Heard]:
        found, at = [], 0
        while at < len(data):
            (size,) = struct.unpack_from("!I", data, at + 1)
            found.append(Heard(data[at : at + 1].decode(), data[at + 5 : at + 1 + size]))
            at += 1 + size
        return found

    def log_in(self, user: str, password: str, *, bound: bool = True, **options: str) -> list[Heard]:
        """Log in with TLS and SCRAM; return what the server says last."""
        self.send(TLS)
        self.send(startup(user=user, database="prdp", **options))
        return self.prove(password, bound=bound)

    def prove(self, password: str, *, bound: bool = True, header: str = "", flip: int = 0) -> list[Heard]:
        """Go through SCRAM after the startup message."""
        header = header or ("p=tls-server-end-point,," if bound else "n,,")
        mechanism = "SCRAM-SHA-256-PLUS" if bound else "SCRAM-SHA-256"
        first = "n=,r=abcdef"
        body = (header + first).encode()
        said = self.send(sent(b"p", text(mechanism), struct.pack("!i", len(body)), body))
        if said[-1].kind != "R":
            return said
        server_first = said[-1].body[4:].decode()
        parts = dict(part.split("=", 1) for part in server_first.split(","))
        salted = pbkdf2_hmac("sha256", password.encode(), base64.b64decode(parts["s"]), int(parts["i"]))
        binding = base64.b64encode(header.encode() + (CERTIFICATE if bound else b"")).decode()
        without_proof = f"c={binding},r={parts['r']}"
        signed = f"{first},{server_first},{without_proof}".encode()
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(sha256(client_key).digest(), signed, "sha256")
        proof = bytearray(one ^ other for one, other in zip(client_key, signature, strict=True))
        proof[0] ^= flip
        last = f"{without_proof},p={base64.b64encode(proof).decode()}"
        return self.send(sent(b"p", last.encode()))


def kinds(said: list[Heard]) -> str:
    return "".join(one.kind for one in said)


def states(said: list[Heard]) -> list[str]:
    """Return the SQLSTATE of each error."""
    return [one.fields["C"] for one in said if one.kind == "E"]
