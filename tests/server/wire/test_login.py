"""Logging in by the PostgreSQL protocol: TLS first, tokens alone, one answer for whatever is wrong."""

from __future__ import annotations

import re
import struct
from urllib.parse import urlencode

import pytest

from prdp.server import accounts
from prdp.server.wire import messages
from prdp.server.wire.scram import Verifier
from tests.server.serving import Served, people
from tests.server.wire.serving_wire import wire_token
from tests.server.wire.talking import CERTIFICATE, TLS, Client, kinds, query, sent, startup, states, text


@pytest.fixture
def filled(served: Served) -> Served:
    return people(served)


def test_a_token_logs_in_bound_to_the_certificate_or_not(filled: Served) -> None:
    password = wire_token(filled, "ana.laptop")
    for bound in (True, False):
        client = Client.of(filled)
        said = client.log_in("ana.laptop", password, bound=bound)
        assert client.raw == b"S"
        assert kinds(said).startswith("RR")
        assert kinds(said).endswith("KZ")
        assert states(said) == []


def test_nothing_is_asked_of_who_speaks_in_clear_text(filled: Served) -> None:
    client = Client.of(filled)
    said = client.send(startup(user="ana.laptop", database="prdp"))
    assert (kinds(said), states(said)) == ("E", ["28000"])
    assert client.talk.closed


def test_bytes_before_the_handshake_are_never_taken_for_encrypted_ones(filled: Served) -> None:
    client = Client.of(filled)
    said = client.send(TLS + startup(user="ana.laptop"))
    assert states(said) == ["08P01"]
    assert client.talk.closed
    assert b"S" not in client.raw


def test_who_could_bind_and_says_that_the_server_cannot_is_refused(filled: Served) -> None:
    password = wire_token(filled, "ana.laptop")
    client = Client.of(filled)
    client.send(TLS)
    client.send(startup(user="ana.laptop"))
    assert states(client.prove(password, bound=False, header="y,,")) == ["28P01"]
    without = Client.of(filled, certificate=b"")
    without.send(TLS)
    without.send(startup(user="ana.laptop"))
    assert states(without.prove(password, bound=False, header="y,,")) == []


@pytest.mark.parametrize(
    "wrong", ["password", "user", "label", "revoked", "expired", "disabled", "proof", "api"]
)
def test_whatever_is_wrong_is_said_in_the_same_words(filled: Served, wrong: str) -> None:
    password, user = wire_token(filled, "ana.laptop"), "ana.laptop"
    with filled.store.writing() as rows:
        now = int(filled.clock.now())
        if wrong == "revoked":
            number, _ = accounts.wire_verifier(rows, user, now)
            person = accounts.by_token(rows, number, now)
            assert person is not None
            accounts.revoke(rows, number, person, now)
        elif wrong == "disabled":
            rows.run("UPDATE {}people SET disabled = 1 WHERE name = 'ana'")
        elif wrong == "api":
            password, _ = accounts.new_api_token(rows, 3, now, label="laptop", scopes=["ask"], days=1)
    if wrong == "expired":
        filled.clock.at += 40 * accounts.DAY
    user = {"user": "nobody.laptop", "label": "ana.phone"}.get(wrong, user)
    client = Client.of(filled)
    client.send(TLS)
    client.send(startup(user=user))
    said = client.prove(password[:-1] + "x" if wrong == "password" else password, flip=wrong == "proof")
    assert [(one.kind, one.fields["C"], one.fields["M"]) for one in said] == [
        ("E", "28P01", "the name or the password is wrong.")
    ]
    assert client.talk.closed


def test_the_salt_of_nobody_is_as_constant_as_that_of_somebody(filled: Served) -> None:
    wire_token(filled, "ana.laptop")
    with filled.store.reading() as rows:
        found = {
            user: {accounts.wire_verifier(rows, user, int(filled.clock.now()))[1].salt for _ in range(3)}
            for user in ("ana.laptop", "nobody.laptop", "ana.phone")
        }
    assert [len(salts) for salts in found.values()] == [1, 1, 1]
    assert len(set.union(*found.values())) == 3
    with filled.store.writing() as rows:
        rows.run("UPDATE {}tokens SET revoked = 1 WHERE kind = 'wire'")
    with filled.store.reading() as rows:
        again = accounts.wire_verifier(rows, "ana.laptop", int(filled.clock.now()))
    assert again[0] == ""
    assert {again[1].salt} == found["ana.laptop"]


def test_what_is_stored_of_a_token_cannot_be_logged_in_with(filled: Served) -> None:
    password = wire_token(filled, "ana.laptop")
    (stored,) = filled.rows("SELECT hash, scram FROM {}tokens WHERE kind = 'wire'")
    everything = filled.store.file.read_bytes()  # type: ignore[union-attr]
    assert password.encode() not in everything
    assert password.removeprefix("prdp_").encode() not in everything
    verifier = Verifier.read(stored[1])
    for secret in (stored[0], stored[1], verifier.stored_key.hex(), verifier.server_key.hex()):
        assert states(Client.of(filled).log_in("ana.laptop", secret)) == ["28P01"]
    said = filled.ask("GET", "/v1/me", authorization=f"Bearer {password}")
    assert said.code == "not_signed_in"


def test_300_megabytes_before_a_login_are_refused_by_their_header(filled: Served) -> None:
    for opening in (b"", TLS):
        client = Client.of(filled)
        if opening:
            client.send(opening)
        said = client.send(struct.pack("!I", 300 << 20))
        assert states(said) == ["54000"]
        assert client.talk.closed
    client = Client.of(filled)
    client.send(TLS)
    client.send(startup(user="ana.laptop"))
    assert states(client.send(b"p" + struct.pack("!I", messages.MAX_BEFORE_LOGIN + 1))) == ["54000"]


def test_a_stranger_is_read_no_further_than_one_message_while_a_login_is_looked_up(filled: Served) -> None:
    talk = Client.of(filled).talk
    talk.receive(TLS)
    talk.encrypted()
    talk.receive(startup(user="ana.laptop"))
    talk.receive(sent(b"p", text("SCRAM-SHA-256"), struct.pack("!i", 9), b"n,,n=,r=a"))
    assert talk.work is not None
    assert not talk.is_full
    talk.receive(bytes(messages.MAX_BEFORE_LOGIN + 1))
    assert talk.is_full


def test_no_statement_is_read_before_the_login_is_over(filled: Served) -> None:
    client = Client.of(filled)
    client.send(TLS)
    client.send(startup(user="ana.laptop"))
    assert states(client.send(query("SELECT 1"))) == ["08P01"]
    assert client.talk.closed


def test_a_revoked_token_ends_what_is_logged_in_with_it(filled: Served) -> None:
    client = Client.logged_in(filled)
    assert states(client.send(query("SELECT 1"))) == []
    with filled.store.writing() as rows:
        rows.run("UPDATE {}tokens SET revoked = 1 WHERE kind = 'wire'")
    for statement in ("SET prdp.share = 0.01",):
        said = client.send(query(statement))
        assert states(said) == ["28000"]
        assert said[-1].fields["S"] == "FATAL"
    assert client.talk.closed


def test_cancelling_needs_both_numbers_and_says_nothing(filled: Served) -> None:
    client = Client.of(filled)
    said = client.send(sent(b"", struct.pack("!III", 80_877_102, 1, 2)))
    assert (said, client.talk.closed) == ([], True)


def test_the_certificate_is_what_logins_are_bound_to(filled: Served) -> None:
    password = wire_token(filled, "ana.laptop")
    other = Client.of(filled, certificate=CERTIFICATE + b" of somebody between")
    assert states(other.log_in("ana.laptop", password)) == ["28P01"]


def test_an_analyst_makes_their_own_token_in_the_console(filled: Served) -> None:
    """Whoever made it for them could ask in their name."""
    form = urlencode({"label": "laptop", "wire": "yes", "days": "3", "cap": "0.01"}).encode()
    kind = "application/x-www-form-urlencoded"
    shown = filled.ask("POST", "/tokens", form, "ana", content_type=kind).body.decode()
    assert "The password of <code>ana.laptop</code>" in shown
    (password,) = re.findall("prdp_[0-9a-f]{64}", shown)
    assert states(Client.of(filled).log_in("ana.laptop", password)) == []
    assert filled.rows("SELECT kind, cap FROM {}tokens WHERE label = 'laptop'") == [("wire", 10**10)]
    again = filled.ask("POST", "/tokens", form, "ana", content_type=kind)
    assert (again.status, "prdp_" in again.body.decode()) == (409, False)
    assert '<th scope="row">ana.laptop</th>' in again.body.decode()
