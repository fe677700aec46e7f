"""The PostgreSQL protocol of a served project for tests: with sockets, or without any."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prdp.server import accounts
from prdp.server.wire.certificate import binding_of, context_of, own_certificate
from prdp.server.wire.failures import WireError
from prdp.server.wire.listener import WirePatience, WireServer
from prdp.server.wire.results import WaitUntil, WireResult
from prdp.server.wire.session import WireSession
from prdp.server.wire.statements import split
from prdp.server.worker import Clock
from tests.server.serving import Served, opened, people

DEADLINE = 1


def wire_token(served: Served, user: str, cap: str | None = None) -> str:
    """Make a token for a user of the protocol; return its password."""
    from prdp.server.purses import parts_of  # noqa: PLC0415

    name, _, label = user.rpartition(".")
    with served.store.writing() as rows:
        (number,) = rows.one("SELECT id FROM {}people WHERE name = ?", name)
        parts = None if cap is None else parts_of(cap)
        return accounts.new_wire_token(
            rows, number, int(served.clock.now()), label=label, days=30, cap=parts
        )[0]


@dataclass
class Talk:
    """A session without sockets: statements in, results out, on the test's clock."""

    served: Served
    session: WireSession

    @classmethod
    def of(cls, served: Served, user: str = "ana.laptop") -> Talk:
        """Return the session of a user who has a token."""
        server = WireServer(served.service, None)
        with served.store.writing() as rows:
            token, _ = accounts.wire_verifier(rows, user, int(served.clock.now()))
        return cls(served, server.session(token, user, "prdp"))

    def run(self, text: str) -> WireResult:
        """Run a statement, and answer what it asks."""
        (statement,) = split(text)
        result = self.session.run(statement)
        while isinstance(result, WaitUntil):
            self.served.run()
            result = result.then()
        return result

    def refused(self, text: str) -> WireError:
        """Return the error of a statement that is refused."""
        from prdp.server.refusals import RequestRefused  # noqa: PLC0415

        try:
            self.run(text)
        except WireError as error:
            return error
        except RequestRefused as refused:
            return WireError.from_refusal(refused)
        raise AssertionError(f"{text} was answered")


@dataclass
class WireServed:
    """A project that is served by sockets, with its lines answering in threads."""

    served: Served
    server: WireServer
    folder: Path
    passwords: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return self.server.port

    def password(self, user: str = "ana.laptop") -> str:
        """Return a user's password; make the token at first."""
        if user not in self.passwords:
            self.passwords[user] = wire_token(self.served, user)
        return self.passwords[user]

    def conninfo(self, user: str = "ana.laptop", **more: str) -> str:
        """Return what libpq connects by."""
        facts = {"host": "127.0.0.1", "port": str(self.port), "dbname": "prdp", "user": user,
                 "password": self.password(user), "sslmode": "verify-full",
                 "sslrootcert": str(self.folder / "prdp.wire.crt"), "connect_timeout": "60"}  # fmt: skip
        return " ".join(f"{name}='{value}'" for name, value in (facts | more).items())


@contextmanager
def wire_served(folder: Path, patience: WirePatience | None = None) -> Iterator[WireServed]:
    """Serve a project's people by sockets, on the real clock."""
    clock: Any = Clock()
    served = people(opened(folder, clock, {}))
    with served.store.writing() as rows:
        rows.run("UPDATE {}datasets SET deadline = ?", DEADLINE)
    stopping = threading.Event()

    def answer(line: Any) -> None:
        while not stopping.is_set():
            if not line.answer_next():
                stopping.wait(0.02)

    threads = [threading.Thread(target=answer, args=(line,), daemon=True) for line in served.lines.values()]
    for thread in threads:
        thread.start()
    certificate, key = own_certificate(folder)
    server = WireServer(served.service, context_of(certificate, key), binding_of(certificate), patience)
    made = WireServed(served, server, folder)
    server.start("127.0.0.1", 0)
    try:
        yield made
    finally:
        server.stop()
        stopping.set()
        for thread in threads:
            thread.join(60)
