"""The audit: a chain of hashes over what was done; the bodies are kept apart, salted.

A line's time is when it may be known: of a charge, when its slot begins; of an answer, when it ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from prdp.errors import LedgerError
from prdp.ledger.layout import canonical
from prdp.noise.entropy import SystemEntropy
from prdp.server.store import StoreRows

PAGE = 200
_BEGIN = "0" * 64
SERVER = 0
"""The actor of what nobody did: the server itself, or the owner at its command line."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A line of the chain: whoever keeps its head can tell whether everything up to it is still there."""

    number: int
    head: str


def append(rows: StoreRows, at: int, actor: int, kind: str, body: Mapping[str, Any]) -> Receipt:
    """Add a line at the end of the chain."""
    last = newest(rows)
    number = last.number + 1
    salt, text = new_salt(), json.dumps(body, sort_keys=True)
    hashed = digest(salt, text)
    head = _head(last.head, (number, at, actor, kind, hashed))
    rows.insert("audit", number=number, at=at, actor=actor, kind=kind, digest=hashed, head=head)
    rows.insert("audit_bodies", number=number, salt=salt, body=text)
    return Receipt(number, head)


def newest(rows: StoreRows) -> Receipt:
    """Return the last line."""
    found = rows.one("SELECT number, head FROM {}audit ORDER BY number DESC LIMIT 1")
    return Receipt(*found) if found else Receipt(-1, _BEGIN)


def visible(rows: StoreRows, now: int) -> Receipt:
    """Return the last line before the first one that may not be known yet."""
    found = rows.one("SELECT min(number) FROM {}audit WHERE at > ?", now)
    if found[0] is None:
        return newest(rows)
    before = rows.one("SELECT number, head FROM {}audit WHERE number = ?", found[0] - 1)
    return Receipt(*before) if before else Receipt(-1, _BEGIN)


def lines(rows: StoreRows, start: int, now: int) -> list[dict[str, Any]]:
    """Return a page of lines that may be known, from a number on."""
    found = rows.all(
        "SELECT a.number, a.at, a.actor, p.name, a.kind, a.digest, a.head, b.salt, b.body FROM {}audit a "
        "LEFT JOIN {}audit_bodies b ON b.number = a.number LEFT JOIN {}people p ON p.id = a.actor "
        f"WHERE a.number >= ? AND a.number <= ? ORDER BY a.number LIMIT {PAGE}",
        start,
        visible(rows, now).number,
    )
    names = ("number", "at", "actor_id", "actor", "kind", "digest", "head", "salt", "body")
    made = [dict(zip(names, line, strict=True)) for line in found]
    return [line | {"actor": line["actor"] or "server", "body": _read(line["body"])} for line in made]


def _read(body: str | None) -> Any:
    return None if body is None else json.loads(body)


def new_salt() -> str:
    """Return what a text is hashed with, so that nobody can guess it by its hash."""
    return SystemEntropy().bytes(16).hex()


def digest(salt: str, body: str) -> str:
    """Return the hash of a text with its salt."""
    return sha256(f"{salt}\n{body}".encode()).hexdigest()


def _head(previous: str, line: tuple[int, int, int, str, str]) -> str:
    return sha256(canonical((previous, *line)).encode("ascii")).hexdigest()


def verify(rows: StoreRows, expected: str | None = None) -> Receipt:
    """Verify the chain, answers and purses, and that a head kept elsewhere is there; return the last line.

    Raises:
        LedgerError: A line was changed, removed or inserted, an answer or a purse was changed, or the head is
            not there.
    """
    head, heads = _BEGIN, {_BEGIN}
    number = -1
    for number, at, actor, kind, hashed, stored, salt, body in rows.all(
        "SELECT a.number, a.at, a.actor, a.kind, a.digest, a.head, b.salt, b.body FROM {}audit a "
        "LEFT JOIN {}audit_bodies b ON b.number = a.number ORDER BY a.number"
    ):
        head = _head(head, (number, at, actor, kind, hashed))
        heads.add(head)
        if number != len(heads) - 2 or head != stored:
            raise LedgerError(f"line {number} of the audit is not the one that was written.")
        if body is not None and digest(salt, body) != hashed:
            raise LedgerError(f"the text of line {number} of the audit is not the one that was written.")
    _verify_answers(rows)
    for wrong, what in _WRONG.items():
        if rows.one(wrong) is not None:
            raise LedgerError(what)
    if expected is not None and expected not in heads:
        raise LedgerError(
            "the audit does not have the head that was kept: lines are missing, so an older copy of the "
            "server's store was put in its place. Put the newest one back."
        )
    return Receipt(number, head)


def _verify_answers(rows: StoreRows) -> None:
    """Verify that published answers are those of their lines, one after the other: all may be many."""
    for (number,) in rows.all("SELECT number FROM {}answers ORDER BY number"):
        request, answers, salt, body = rows.one(
            "SELECT n.request, n.answers, n.salt, b.body FROM {}answers n "
            "LEFT JOIN {}audit_bodies b ON b.number = n.number WHERE n.number = ?",
            number,
        )
        written = _read(body)
        if written and (written["request"], written["answer"]) != (request, digest(salt, answers)):
            raise LedgerError(f"the answer of line {number} of the audit is not the one that was published.")


_WRONG = {
    "SELECT 1 FROM {}spends s LEFT JOIN {}audit a ON a.number = s.number WHERE a.number IS NULL":
        "a charge has no line in the audit: lines at its end were removed.",
    "SELECT 1 FROM {}answers n LEFT JOIN {}audit a ON a.number = n.number WHERE a.number IS NULL":
        "an answer has no line in the audit: lines at its end were removed.",
    "SELECT 1 FROM {}requests r LEFT JOIN {}answers n ON n.request = r.release "
    "WHERE r.release IS NOT NULL AND n.request IS NULL": "an answer that was published was removed.",
    "SELECT 1 FROM {}purses p WHERE p.spent <> (SELECT coalesce(sum(s.parts), 0) FROM {}spends s "
    "WHERE s.person = p.person AND s.dataset = p.dataset AND s.kind = p.kind)":
        "what a purse says is not what was spent from it.",
}  # fmt: skip
"""What finds a row that nothing but a change by hand can make, and what is said of it."""

WHO = "served:"
"""Prefix of the names of whoever asks through a server, in a ledger."""


def compare(
    rows: StoreRows, charges: Mapping[str, Sequence[tuple[int, str, str]]]
) -> list[tuple[str, int, str]]:
    """Return the charges that were made outside of the server; refuse a store or a ledger that is behind.

    Args:
        rows: The server's tables.
        charges: For each dataset, the number, the name and the token of each charge in its ledger.
    """
    outside = []
    for dataset, found in charges.items():
        spent = dict(rows.all("SELECT charge, token FROM {}spends WHERE dataset = ?", dataset))
        known = {number: token for number, _, token in found}
        if any(known.get(number) != token for number, token in spent.items()):
            raise LedgerError(
                f"the ledger of {dataset} lacks charges that the server has made: an older copy was put in "
                "its place. Put the newest one back."
            )
        for number, who, _ in found:
            if number not in spent and who.startswith(WHO):
                raise LedgerError(
                    f"the ledger of {dataset} has charges of the server's that its store does not know: an "
                    "older copy of the store was put in its place. Put the newest one back."
                )
            if number not in spent:
                outside.append((dataset, number, who))
    return outside
