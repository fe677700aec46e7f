"""Random and mutated messages on the state machine: no crash, no login and no charge by accident."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import pytest

from prdp.server import audit
from prdp.server.wire.conversation import Conversation
from prdp.server.wire.failures import WireError
from prdp.server.wire.results import WireResult
from prdp.server.wire.scram import Verifier
from prdp.server.wire.session import WireSession
from prdp.server.wire.statements import SentStatement
from prdp.server.wire.values import INT8, TEXT, WireColumn
from tests.server.serving import COUNT, Served, people
from tests.server.wire.talking import (
    DESCRIBE,
    SYNC,
    TLS,
    Client,
    bind,
    execute,
    parse,
    query,
    sent,
    startup,
    text,
)

GROUPED = "SELECT ward, COUNT(*) AS n FROM visits WHERE days > $1 GROUP BY ward"
SEEDS = (
    query("SELECT 1; SELECT ';' -- /*"), query("BEGIN"), query("ROLLBACK"), query("SET prdp.share = 0.01"),
    query("SHOW prdp.remaining"), parse(GROUPED, "a", 20), parse("SELECT 1"), bind(b"40", name="a"), bind(),
    DESCRIBE, sent(b"D", b"S", text("a")), execute(), execute(1), SYNC, sent(b"H"),
    sent(b"C", b"S", text("a")),
    sent(b"F", bytes(8)), sent(b"d", b"x"), sent(b"p", b"x"), TLS, startup(user="ana.laptop"),
    sent(b"", struct.pack("!III", 80_877_102, 1, 2)), sent(b"p", text("SCRAM-SHA-256"), bytes(4)),
)  # fmt: skip


class StubSession(WireSession):
    """A session that gives rows and refusals without a server."""

    def __init__(self) -> None:
        self.status = b"I"

    def run(self, statement: SentStatement, literals: object = ()) -> WireResult:
        del literals
        if len(statement.text) % 7 == 0:
            raise WireError("42601", "no", "hint", 3)
        if len(statement.text) % 11 == 0:
            raise RuntimeError("a secret")
        return WireResult(
            "SELECT 2", (WireColumn("a", TEXT), WireColumn("n", INT8)), [("x", 1), (None, None)]
        )

    def columns(self, statement: SentStatement, literals: object = ()) -> tuple[WireColumn, ...] | None:
        del literals
        return None if len(statement.text) % 5 == 0 else (WireColumn("a", TEXT), WireColumn("n", INT8))

    columns_of_prepared = columns

    def parameters(self, statement: SentStatement) -> list[int]:
        return [TEXT] * statement.parameters


class Stub:
    """A host without a server: nobody can log in."""

    certificate = b""

    def verifier(self, user: str) -> tuple[str, Verifier]:
        return user.partition("x")[0], Verifier(bytes(16), bytes(32), bytes(32))

    def session(self, token: str, user: str, database: str) -> WireSession:
        del token, user, database
        raise AssertionError("somebody logged in without a password")

    def cancel(self, process: int, secret: int) -> None:
        pass


def mutated(chance: random.Random) -> bytes:
    """Return a message, or what is left of one."""
    data = bytearray(chance.choice(SEEDS))
    match chance.randrange(8):
        case 0:
            data = bytearray(chance.randbytes(chance.randrange(1, 40)))
        case 1 | 2:
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        case 3:
            del data[chance.randrange(len(data)) :]
        case 4:
            body = chance.randbytes(chance.randrange(30))
            data = bytearray(sent(chance.choice(b"QPBDECHSFXpdcf").to_bytes(1), body))
        case 5:
            at = chance.randrange(len(data))
            data[at:at] = data[: chance.randrange(len(data))]
    return bytes(data)


def said(output: bytearray) -> Iterator[tuple[bytes, bytes]]:
    """Return the messages of the server's output, which are whole, but for the one byte about TLS."""
    at = 0
    while at < len(output):
        if bytes(output[at : at + 1]) in (b"S", b"N") and at + 1 == len(output):
            return
        (size,) = struct.unpack_from("!I", output, at + 1)
        assert at + 1 + size <= len(output)
        yield bytes(output[at : at + 1]), bytes(output[at + 5 : at + 1 + size])
        at += 1 + size


def begun(*, logged_in: bool) -> Conversation:
    talk = Conversation(Stub(), encrypted=True)
    if logged_in:
        talk._session, talk._handle = StubSession(), talk._command
    return talk


def fuzzed(messages: int, seed: int) -> dict[str, int]:
    """Send so many messages; count connections, those that were ended, errors and rows."""
    chance = random.Random(seed)
    counts = {"connections": 0, "ended": 0, "errors": 0, "rows": 0}
    talk, logged_in = begun(logged_in=True), True
    for _ in range(messages):
        if talk.closed or chance.random() < 0.02:
            counts["connections"] += 1
            counts["ended"] += talk.closed
            logged_in = chance.random() < 0.7
            talk = begun(logged_in=logged_in)
        data = mutated(chance)
        cut = chance.randrange(len(data) + 1)
        for part in (data[:cut], data[cut:]):
            talk.receive(part)
            while talk.work is not None:
                try:
                    outcome = talk.work.run()
                except Exception as error:
                    outcome = error
                talk.finish(outcome)
            if talk.wants_tls:
                talk.encrypted()
        assert talk.is_logged_in == logged_in
        for kind, body in said(talk.output):
            counts["errors"] += kind == b"E"
            counts["rows"] += kind == b"D"
            assert b"a secret" not in body
            assert logged_in or kind not in (b"D", b"T", b"Z", b"K")
        talk.output.clear()
    return counts


def test_ten_thousand_messages_break_nothing() -> None:
    counts = fuzzed(10_000, seed=20261119)
    assert min(counts.values()) > 100, counts


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_thousand_messages_break_nothing(seed: int) -> None:
    counts = fuzzed(100_000, seed)
    assert min(counts.values()) > 1_000, counts


@pytest.mark.slow
def test_no_message_charges_without_an_audit_line(served: Served) -> None:
    people(served)
    chance = random.Random(42)
    statements = (query(COUNT), parse(GROUPED, "a") + bind(b"40", name="a") + execute() + SYNC,
                  query("SET prdp.share = 0.01"),
                  query("SELECT ward, COUNT(*) FROM visits GROUP BY 1"))  # fmt: skip
    client, number = Client.logged_in(served, "ana.l0", options="-c prdp.share=0.001"), 0
    for _ in range(400):
        if client.talk.closed:
            number += 1
            client = Client.logged_in(served, f"ana.l{number}", options="-c prdp.share=0.001")
        data = bytearray(chance.choice(statements) if chance.random() < 0.5 else mutated(chance))
        if data and chance.random() < 0.5:
            data[chance.randrange(5, len(data)) if len(data) > 5 else 0] = chance.randrange(32, 127)
        client.send(bytes(data))
    with served.store.reading() as rows:
        audit.verify(rows)
        spends = {line for (line,) in rows.all("SELECT number FROM {}spends")}
        lines = {line for (line,) in rows.all("SELECT number FROM {}audit WHERE kind = 'charged'")}
    charges = sum(len(line.ledger.charged_by) for line in served.lines.values())
    assert charges == len(spends) == len(lines) > 0
