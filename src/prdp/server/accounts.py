"""People, their passwords, invitations, sessions and tokens.

A secret is kept as its hash alone. A new generation of a person ends all that was made before.
"""

from __future__ import annotations

import hmac
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from prdp.noise.entropy import SystemEntropy
from prdp.server import audit
from prdp.server.refusals import RequestRefused
from prdp.server.store import StoreRows
from prdp.server.wire.scram import Verifier

OWNER, STEWARD, ANALYST, AUDITOR = "owner", "steward", "analyst", "auditor"
ROLES = (OWNER, STEWARD, ANALYST, AUDITOR)
SCOPES = ("read", "ask")
NAME = "^[a-z0-9][a-z0-9._-]{0,39}$"
PASSWORD_LENGTH = (12, 200)
_SESSION_SECONDS = 12 * 3600
_INVITATION_SECONDS = 7 * 86_400
DAY = 86_400
MAX_TOKENS = 100
"""Tokens of one person that have not expired."""
_AT_ONCE = 2
_MAX_WAITING = 16


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever is signed in, and by which session or token."""

    id: int
    name: str
    role: str
    token: str
    scopes: frozenset[str]


class Passwords:
    """Hashes passwords with argon2id, two at a time: each takes 64 MiB; too many waiting are refused."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher(time_cost=3, memory_cost=1 << 16, parallelism=1)
        self._room = threading.Semaphore(_AT_ONCE)
        self._line = threading.Semaphore(_AT_ONCE + _MAX_WAITING)
        self._nobody = self._hasher.hash(SystemEntropy().bytes(16).hex())

    def hashed(self, password: str) -> str:
        """Return the hash of a new password."""
        return str(self._alone(lambda: self._hasher.hash(password)))

    def fits(self, stored: str | None, password: str) -> bool:
        """Return whether a password is the stored one; for nobody's, it takes the same time."""

        def check() -> bool:
            try:
                return self._hasher.verify(stored or self._nobody, password)
            except (Argon2Error, InvalidHashError):
                return False

        return bool(self._alone(check)) and stored is not None

    def _alone(self, work: Any) -> Any:
        if not self._line.acquire(blocking=False):
            raise RequestRefused("busy")
        try:
            with self._room:
                return work()
        finally:
            self._line.release()


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def add_person(rows: StoreRows, name: str, role: str, actor: int, now: int) -> int:
    """Add a person without a password; an invitation lets them choose one."""
    if re.fullmatch(NAME, name) is None or role not in ROLES:
        raise RequestRefused("invalid")
    if rows.one("SELECT 1 FROM {}people WHERE name = ?", name):
        raise RequestRefused("name_taken")
    (number,) = rows.one("SELECT coalesce(max(id), 0) + 1 FROM {}people")
    rows.insert("people", id=number, name=name, role=role)
    audit.append(rows, now, actor, "person", {"person": number, "name": name, "role": role})
    return int(number)


def invite(rows: StoreRows, person: int, actor: int, now: int) -> str:
    """Begin a new generation of a person: all sessions, tokens and the password end; return a code."""
    known(rows, person)
    rows.run("UPDATE {}people SET generation = generation + 1, password = NULL WHERE id = ?", person)
    secret, _ = _new_token(rows, person, "invite", now, ("", (), _INVITATION_SECONDS))
    audit.append(rows, now, actor, "invited", {"person": person})
    return secret


def accept(rows: StoreRows, code: str, password_hash: str, now: int) -> int:
    """Use an invitation up, and set the password of whoever was invited."""
    found = _find(rows, code, ("invite",), now)
    if found is None:
        raise RequestRefused("used")
    rows.run("UPDATE {}tokens SET revoked = ? WHERE id = ?", now, found.token)
    rows.run("UPDATE {}people SET password = ? WHERE id = ?", password_hash, found.id)
    audit.append(rows, now, found.id, "accepted", {})
    return found.id


def is_invitation(rows: StoreRows, code: str, now: int) -> bool:
    """Return whether a code can be used."""
    return _find(rows, code, ("invite",), now) is not None


def password_of(rows: StoreRows, name: str) -> tuple[int, str | None]:
    """Return a person's number and password hash; 0 and None for nobody who may sign in."""
    found = rows.one("SELECT id, password FROM {}people WHERE name = ? AND disabled = 0", name)
    return found or (0, None)


def begin_session(rows: StoreRows, person: int, now: int) -> str:
    """Return the secret of a new session."""
    rows.run("DELETE FROM {}tokens WHERE kind = 'session' AND expires < ?", now)
    secret, _ = _new_token(rows, person, "session", now, ("", (), _SESSION_SECONDS))
    audit.append(rows, now, person, "signed_in", {})
    return secret


def new_api_token(
    rows: StoreRows,
    person: int,
    now: int,
    *,
    label: str,
    scopes: Sequence[str],
    days: int,
    cap: int | None = None,
) -> tuple[str, str]:
    """Return the secret of a new token, which is not shown again, and its number."""
    _refuse_many(rows, person, now)
    secret, number = _new_token(rows, person, "api", now, (label, scopes, days * DAY))
    rows.run("UPDATE {}tokens SET cap = ? WHERE id = ?", cap, number)
    audit.append(rows, now, person, "token", {"token": number, "label": label, "scopes": list(scopes)})
    return secret, number


def _refuse_many(rows: StoreRows, person: int, now: int) -> None:
    """Refuse more tokens than anybody needs, revoked ones included: each is a line of the audit for ever."""
    unexpired = "SELECT count(*) FROM {}tokens WHERE person = ? AND kind IN ('api', 'wire') AND expires > ?"
    if rows.one(unexpired, person, now)[0] >= MAX_TOKENS:
        raise RequestRefused("too_many")


LABEL = "^[a-z0-9][a-z0-9_-]{0,39}$"
"""Labels of tokens for the PostgreSQL protocol: the user ``ana.laptop`` is ana, by the token laptop."""
_SALTS = "wire_salts"


def new_wire_token(
    rows: StoreRows, person: int, now: int, *, label: str, days: int, cap: int | None
) -> tuple[str, str]:
    """Return a new password of ``person.label`` for the PostgreSQL protocol, and its number.

    What is stored is a verifier: neither the password nor what a client could sign in with.
    """
    if re.fullmatch(LABEL, label) is None:
        raise RequestRefused("invalid")
    _refuse_many(rows, person, now)
    name = known(rows, person)[1]
    if _wire_token(rows, name, label, now) is not None:
        raise RequestRefused("label_taken")
    secret, number = f"prdp_{SystemEntropy().bytes(32).hex()}", SystemEntropy().bytes(8).hex()
    verifier = Verifier.of(secret, wire_salt(rows, f"{name}.{label}")).text
    (generation,) = rows.one("SELECT generation FROM {}people WHERE id = ?", person)
    rows.insert(
        "tokens", id=number, person=person, generation=generation, kind="wire", hash=_hash(verifier),
        scram=verifier, cap=cap, label=label, scopes=" ".join(sorted(SCOPES)), made=now,
        expires=now + days * DAY,
    )  # fmt: skip
    audit.append(rows, now, person, "token", {"token": number, "label": label, "kind": "wire", "cap": cap})
    return secret, number


def prepare_salts(rows: StoreRows) -> None:
    """Draw, once in a store's life, the key that salts are made with."""
    if rows.one("SELECT 1 FROM {}settings WHERE name = ?", _SALTS) is None:
        rows.insert("settings", name=_SALTS, value=SystemEntropy().bytes(32).hex())


def wire_salt(rows: StoreRows, user: str) -> bytes:
    """Return the salt of a user's verifier: by the name alone, so that nobody's is like somebody's."""
    prepared = rows.one("SELECT value FROM {}settings WHERE name = ?", _SALTS)
    if prepared is None:
        prepare_salts(rows)
        return wire_salt(rows, user)
    return hmac.digest(bytes.fromhex(prepared[0]), user.encode(), "sha256")[:16]


def wire_verifier(rows: StoreRows, user: str, now: int) -> tuple[str, Verifier]:
    """Return the number of a user's token and its verifier.

    For nobody, the number is empty and no password fits.
    """
    name, _, label = user.rpartition(".")
    found = _wire_token(rows, name, label, now)
    nobody = Verifier(wire_salt(rows, user), SystemEntropy().bytes(32), SystemEntropy().bytes(32))
    return (found and (found[0], Verifier.read(found[1]))) or ("", nobody)


def _wire_token(rows: StoreRows, name: str, label: str, now: int) -> tuple[str, str] | None:
    found: tuple[str, str] | None = rows.one(
        "SELECT t.id, t.scram FROM {}tokens t JOIN {}people p ON p.id = t.person WHERE p.name = ? "
        "AND t.label = ? AND t.kind = 'wire' AND t.generation = p.generation AND t.revoked = 0 "
        "AND t.expires > ? AND p.disabled = 0",
        name,
        label,
        now,
    )
    return found


def by_token(rows: StoreRows, token: str, now: int, kinds: Sequence[str] = ("wire",)) -> Person | None:
    """Return whose a token is, by its number; None if it has been revoked or has expired."""
    found = rows.one("SELECT hash FROM {}tokens WHERE id = ?", token)
    return None if found is None else _by_hash(rows, found[0], kinds, now)


def refuse_unless_still(rows: StoreRows, person: Person, now: int) -> None:
    """Refuse whoever was signed in when their request began, and is no more: it may have taken long."""
    if by_token(rows, person.token, now, ("session", "api", "wire")) != person:
        raise RequestRefused("not_signed_in")


def _new_token(
    rows: StoreRows, person: int, kind: str, now: int, terms: tuple[str, Sequence[str], int]
) -> tuple[str, str]:
    label, scopes, seconds = terms
    secret, number = f"prdp_{SystemEntropy().bytes(32).hex()}", SystemEntropy().bytes(8).hex()
    (generation,) = rows.one("SELECT generation FROM {}people WHERE id = ?", person)
    rows.insert(
        "tokens", id=number, person=person, generation=generation, kind=kind, hash=_hash(secret),
        label=label, scopes=" ".join(sorted(set(scopes))), made=now, expires=now + seconds,
    )  # fmt: skip
    return secret, number


def signed_in(rows: StoreRows, secret: str, now: int) -> Person | None:
    """Return whose session or token a secret is; None if it is nobody's any more."""
    return _find(rows, secret, ("session", "api"), now)


def _find(rows: StoreRows, secret: str, kinds: Sequence[str], now: int) -> Person | None:
    return _by_hash(rows, _hash(secret), kinds, now)


def _by_hash(rows: StoreRows, hashed: str, kinds: Sequence[str], now: int) -> Person | None:
    found = rows.one(
        "SELECT p.id, p.name, p.role, t.id, t.scopes, t.kind FROM {}tokens t "
        "JOIN {}people p ON p.id = t.person WHERE t.hash = ? AND t.generation = p.generation "
        "AND t.revoked = 0 AND t.expires > ? AND p.disabled = 0",
        hashed,
        now,
    )
    if found is None or found[5] not in kinds:
        return None
    scopes = ("session",) if found[5] == "session" else found[4].split()
    number, name, role, token = found[:4]
    return Person(number, name, role, token, frozenset(scopes))


def revoke(rows: StoreRows, token: str, person: Person, now: int) -> None:
    """End a session or a token; an owner may end anybody's."""
    found = rows.one("SELECT person, revoked FROM {}tokens WHERE id = ?", token)
    if found is None or (found[0] != person.id and person.role != OWNER):
        raise RequestRefused("not_found")
    if not found[1]:
        rows.run("UPDATE {}tokens SET revoked = ? WHERE id = ?", now, token)
        audit.append(rows, now, person.id, "revoked", {"token": token, "person": found[0]})


def tokens(rows: StoreRows, person: Person, now: int) -> list[dict[str, Any]]:
    """Return the tokens that can be used: one's own, or for an owner all."""
    found = rows.all(
        "SELECT t.id, t.label, t.kind, t.scopes, t.made, t.expires, t.revoked, p.name, t.cap FROM {}tokens t "
        "JOIN {}people p ON p.id = t.person WHERE t.kind IN ('api', 'wire') AND t.generation = p.generation "
        "AND t.expires > ? AND (p.id = ? OR ? = 'owner') ORDER BY t.made, t.id",
        now,
        person.id,
        person.role,
    )
    names = ("id", "label", "kind", "scopes", "made", "expires", "revoked", "person", "cap")
    return [dict(zip(names, row, strict=True)) | {"scopes": row[3].split()} for row in found]


def known(rows: StoreRows, person: int) -> tuple[int, str, str, int]:
    """Return a person's number, name, role and when they were disabled; refuse a number that is nobody's."""
    found: tuple[int, str, str, int] | None = rows.one(
        "SELECT id, name, role, disabled FROM {}people WHERE id = ?", person
    )
    if found is None:
        raise RequestRefused("not_found")
    return found


def change(
    rows: StoreRows, person: int, actor: Person, now: int, *, disabled: bool | None, role: str | None
) -> None:
    """Disable or enable a person, or give them another role; either ends their sessions and tokens."""
    _, _, before, since = known(rows, person)
    if person == actor.id:
        raise RequestRefused("own")
    stays = (role or before) == OWNER and not disabled
    others = "SELECT count(*) FROM {}people WHERE role = 'owner' AND disabled = 0 AND id <> ?"
    if not stays and before == OWNER and not rows.one(others, person)[0]:
        raise RequestRefused("last_owner")
    when = since if disabled is None else now * disabled
    if (role or before, bool(when)) == (before, bool(since)):
        return
    rows.run(
        "UPDATE {}people SET role = ?, disabled = ?, generation = generation + 1 WHERE id = ?",
        role or before,
        when,
        person,
    )
    audit.append(
        rows, now, actor.id, "changed", {"person": person, "role": role or before, "disabled": bool(when)}
    )
