"""The life of a request: waiting or queued, charged, published at a time that was fixed when it was queued.

Each table has one line of slots. A slot begins when the one before it ends, and lasts as long as the table's
deadline, whatever the records are; an answer or a failure is published when its slot ends. A slot that was
too short doubles the deadline for good, for everybody to see.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prdp.ledger import Charge
from prdp.noise.entropy import SystemEntropy
from prdp.server import audit, purses
from prdp.server.accounts import DAY, Person
from prdp.server.refusals import REFUSALS, RequestRefused
from prdp.server.store import PARTS, StoreRows

EXPIRES_SECONDS = 14 * DAY
MAX_QUEUED = 10
MAX_WITHDRAWN = 100
"""Requests that a person may take back within a day: they cost nothing, and the audit keeps them for ever."""
MAX_TRIES = 3

_COLUMNS = (
    "id", "person", "dataset", "statement", "share", "parts", "kind", "digest", "purpose", "state",
    "decider", "reason", "made", "expires", "begins", "publish", "tries", "failed", "release",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question with its plan: what a request is made of.

    Attributes:
        dataset: The table that it is about.
        statement: The statement, as it was written.
        share: The part of every budget, as a decimal text.
        digest: The hash of all that decides what is asked.
        narrow: Whether it may be about some records alone, so that the table's budget does not tell.
    """

    dataset: str
    statement: str
    share: str
    digest: str
    narrow: bool = False

    @property
    def parts(self) -> int:
        """Its share in whole parts."""
        return purses.parts_of(self.share)


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is stored."""

    id: str
    person: int
    dataset: str
    statement: str
    share: str
    parts: int
    kind: str
    digest: str
    purpose: str
    state: str
    decider: int | None
    reason: str | None
    made: int
    expires: int
    begins: int | None
    publish: int | None
    tries: int
    failed: str
    release: str | None


def _found(rows: StoreRows, condition: str, *values: Any) -> list[Request]:
    names = ", ".join(_COLUMNS)
    return [Request(*row) for row in rows.all(f"SELECT {names} FROM {{}}requests WHERE {condition}", *values)]


def by_id(rows: StoreRows, number: str) -> Request:
    """Return a request; refuse a number that none has."""
    found = _found(rows, "id = ?", number)
    if not found:
        raise RequestRefused("not_found")
    return found[0]


def standing(rows: StoreRows, asked: PlannedQuestion, now: int) -> Request | None:
    """Return the request whose published answer a question has already."""
    found = _found(
        rows,
        "dataset = ? AND digest = ? AND state = 'published' AND failed = '' AND publish <= ? "
        "AND release = id ORDER BY publish",
        asked.dataset,
        asked.digest,
        now,
    )
    return found[0] if found else None


def shares_of(rows: StoreRows, dataset: str, now: int) -> list[str]:
    """Return the shares that published answers about a table were asked with, the largest first."""
    found = rows.all(
        "SELECT DISTINCT share, parts FROM {}requests WHERE dataset = ? AND state = 'published' "
        "AND failed = '' AND publish <= ? AND release = id ORDER BY parts DESC LIMIT 100",
        dataset,
        now,
    )
    return [share for share, _ in found]


def admit(
    rows: StoreRows, person: Person, asked: PlannedQuestion, *, again: str, purpose: str, now: int
) -> Request:
    """Return the request for a question: the standing one, the one that was made before, or a new one."""
    before = _found(rows, "person = ? AND again = ?", person.id, again)
    if before:
        same = (before[0].digest, before[0].purpose) == (asked.digest, purpose)
        if not same:
            raise RequestRefused("key_reused")
        return before[0]
    if asked.dataset not in purses.granted(rows, person.id):
        raise RequestRefused("not_found")
    there = standing(rows, asked, now)
    if there is not None:
        return there
    _expire(rows, now)
    going_on = _found(
        rows, "person = ? AND digest = ? AND state IN ('waiting', 'queued')", person.id, asked.digest
    )
    if going_on:
        return going_on[0]
    kind = next(
        (one for one in purses.KINDS if purses.left(rows, person.id, asked.dataset, one) >= asked.parts), ""
    )
    if not kind:
        raise RequestRefused("purse")
    free = purses.left_of_token(rows, person.token)
    if free is not None and free < asked.parts:
        raise RequestRefused("cap")
    _refuse_beyond_the_table(rows, asked)
    open_ones = "SELECT count(*) FROM {}requests WHERE person = ? AND state IN ('waiting', 'queued')"
    taken_back = "SELECT count(*) FROM {}requests WHERE person = ? AND state = 'withdrawn' AND made > ?"
    if (
        rows.one(open_ones, person.id)[0] >= MAX_QUEUED
        or rows.one(taken_back, person.id, now - DAY)[0] >= MAX_WITHDRAWN
    ):
        raise RequestRefused("too_many")
    number = SystemEntropy().bytes(16).hex()
    rows.insert(
        "requests", id=number, person=person.id, dataset=asked.dataset, statement=asked.statement,
        share=asked.share, parts=asked.parts, kind=kind, digest=asked.digest, again=again, token=person.token,
        purpose=purpose, state="waiting", made=now, expires=now + EXPIRES_SECONDS,
    )  # fmt: skip
    audit.append(rows, now, person.id, "asked", _body(asked, number) | {"purpose": purpose, "kind": kind})
    if kind == "alone":
        _queue(rows, by_id(rows, number), now)
    return by_id(rows, number)


def _body(asked: PlannedQuestion | Request, number: str) -> dict[str, Any]:
    return {
        "request": number, "table": asked.dataset, "statement": asked.statement, "share": asked.share,
        "digest": asked.digest,
    }  # fmt: skip


def _refuse_beyond_the_table(rows: StoreRows, asked: PlannedQuestion) -> None:
    """Refuse what the table's budget has no room for beside what is in the queue, where that can be known."""
    if not asked.narrow and purses.left_of_table(rows, asked.dataset) < asked.parts:
        raise RequestRefused("budget")


def _expire(rows: StoreRows, now: int) -> None:
    rows.run("UPDATE {}requests SET state = 'expired' WHERE state = 'waiting' AND expires <= ?", now)


def wait(rows: StoreRows, dataset: str, now: int) -> int:
    """Return in how many seconds a question would be published that is asked now."""
    return _slot(rows, dataset, now)[1] - now


def _slot(rows: StoreRows, dataset: str, now: int) -> tuple[int, int]:
    """Return when the next slot of a table begins and ends."""
    (deadline,) = rows.one("SELECT deadline FROM {}datasets WHERE name = ?", dataset)
    (last,) = rows.one(
        "SELECT coalesce(max(publish), 0) FROM {}requests WHERE dataset = ? AND state = 'queued'", dataset
    )
    begins = max(now, int(last))
    return begins, begins + int(deadline)


def _queue(rows: StoreRows, request: Request, now: int) -> None:
    """Give a request the next slot of its table."""
    begins, ends = _slot(rows, request.dataset, now)
    rows.run(
        "UPDATE {}requests SET state = 'queued', begins = ?, publish = ? WHERE id = ?",
        begins,
        ends,
        request.id,
    )


def decide(
    rows: StoreRows, person: Person, number: str, *, approve: bool, digest: str, reason: str | None, now: int
) -> Request:
    """Approve a request, which queues it, or deny it; never one's own."""
    request = by_id(rows, number)
    if request.person == person.id:
        raise RequestRefused("own")
    if request.digest != digest:
        raise RequestRefused("other_digest")
    _expire(rows, now)
    request = by_id(rows, number)
    if request.state != "waiting":
        raise RequestRefused("decided")
    if approve and purses.left(rows, request.person, request.dataset, "approved") < request.parts:
        raise RequestRefused("purse")
    rows.run(
        "UPDATE {}requests SET decider = ?, reason = ?, state = ? WHERE id = ?",
        person.id,
        reason,
        "waiting" if approve else "denied",
        number,
    )
    kind = "approved" if approve else "denied"
    audit.append(rows, now, person.id, kind, _body(request, number) | {"reason": reason})
    if approve:
        _queue(rows, request, now)
    return by_id(rows, number)


def withdraw(rows: StoreRows, person: Person, number: str, now: int) -> bool:
    """Withdraw a request that waits for approval; one that is queued goes on, and its charge remains."""
    request = by_id(rows, number)
    if request.person != person.id:
        raise RequestRefused("not_found")
    if request.state != "waiting":
        return False
    rows.run("UPDATE {}requests SET state = 'withdrawn' WHERE id = ?", number)
    audit.append(rows, now, person.id, "withdrawn", {"request": number})
    return True


def withdraw_all(rows: StoreRows, person: int, actor: Person, now: int) -> None:
    """Withdraw what a person has waiting for approval, who may ask no more; the audit names who did."""
    for one in _found(rows, "person = ? AND state = 'waiting'", person):
        rows.run("UPDATE {}requests SET state = 'withdrawn' WHERE id = ?", one.id)
        audit.append(rows, now, actor.id, "withdrawn", {"request": one.id})


def shown(rows: StoreRows, request: Request, now: int) -> dict[str, Any]:
    """Return a request as JSON has it; nothing of its answer is known before its time."""
    name: dict[int | None, str] = dict(rows.all("SELECT id, name FROM {}people"))
    published = request.state == "published" and request.publish is not None and request.publish <= now
    state = "queued" if request.state == "published" and not published else request.state
    expired = state == "waiting" and request.expires <= now
    return {
        "id": request.id, "table": request.dataset, "person": name[request.person],
        "statement": request.statement, "share": request.share, "purpose": request.purpose,
        "kind": request.kind, "state": "expired" if expired else state, "reason": request.reason,
        "decider": name.get(request.decider), "digest": request.digest, "made": request.made,
        "expires": request.expires, "publish_at": request.publish,
        "failed": request.failed if published else "",
        "message": REFUSALS[request.failed][1] if published and request.failed else "",
        "release": request.release if published else None,
    }  # fmt: skip


def listed(rows: StoreRows, condition: str, values: tuple[Any, ...], now: int) -> list[dict[str, Any]]:
    """Return the newest requests that meet a condition, at most 200."""
    found = _found(rows, f"{condition} ORDER BY made DESC, id LIMIT 200", *values)
    return [shown(rows, one, now) for one in found]


def releases(rows: StoreRows, dataset: str, now: int) -> list[dict[str, Any]]:
    """Return the published answers about a table, the newest first."""
    found = _found(
        rows,
        "dataset = ? AND state = 'published' AND failed = '' AND release = id AND publish <= ? "
        "ORDER BY publish DESC, id LIMIT 1000",
        dataset,
        now,
    )
    return [
        {"id": one.id, "table": one.dataset, "statement": one.statement, "share": one.share,
         "published_at": one.publish}
        for one in found
    ]  # fmt: skip


# What the engine's process does.


def next_in_line(rows: StoreRows, dataset: str) -> Request | None:
    """Return the request whose slot is first."""
    found = _found(rows, "dataset = ? AND state = 'queued' ORDER BY publish LIMIT 1", dataset)
    return found[0] if found else None


def begin(rows: StoreRows, request: Request) -> None:
    """Count a try."""
    rows.run("UPDATE {}requests SET tries = tries + 1 WHERE id = ?", request.id)


def resume(rows: StoreRows, dataset: str, now: int) -> None:
    """Give all requests of a table new slots, from now on, in their order: their process was ended."""
    first = next_in_line(rows, dataset)
    if first is not None and first.begins is not None and first.begins < now:
        _move(rows, dataset, now, None)


def overrun(rows: StoreRows, request: Request, now: int) -> int:
    """Double a table's deadline for good; move the slot's end, and those after it. Return the new end."""
    rows.run("UPDATE {}datasets SET deadline = deadline * 2 WHERE name = ?", request.dataset)
    (deadline,) = rows.one("SELECT deadline FROM {}datasets WHERE name = ?", request.dataset)
    end = max(int(request.begins or 0) + int(deadline), now + 1)
    rows.run("UPDATE {}requests SET publish = ? WHERE id = ?", end, request.id)
    _move(rows, request.dataset, end, request.id)
    audit.append(rows, now, audit.SERVER, "deadline", {"table": request.dataset, "seconds": int(deadline)})
    return end


def _move(rows: StoreRows, dataset: str, begins: int, besides: str | None) -> None:
    (deadline,) = rows.one("SELECT deadline FROM {}datasets WHERE name = ?", dataset)
    for one in _found(rows, "dataset = ? AND state = 'queued' ORDER BY publish", dataset):
        if one.id != besides:
            rows.run(
                "UPDATE {}requests SET begins = ?, publish = ? WHERE id = ?",
                begins,
                begins + deadline,
                one.id,
            )
            begins += int(deadline)


def charged(rows: StoreRows, request: Request, charge: Charge, *, new: bool) -> None:
    """Take a request's whole share out of its purse with its first charge, in the ledger's transaction.

    A statement may be several charges; the later ones are paid for already, and have the line of the first:
    a line of their own would tell when they were made. A charge that somebody left unanswered is taken up by
    those alone who could have paid for it.
    """
    there = rows.one(
        "SELECT request FROM {}spends WHERE dataset = ? AND charge = ?", request.dataset, charge.number
    )
    if there is not None and there[0] == request.id:
        return  # a retry
    mine = rows.one("SELECT number FROM {}spends WHERE request = ?", request.id)
    parts = 0 if mine else request.parts
    purse = (request.person, request.dataset, request.kind)
    room = rows.one(
        "SELECT granted - spent FROM {}purses WHERE person = ? AND dataset = ? AND kind = ?", *purse
    )
    if room is None or room[0] < parts:
        raise RequestRefused("purse")
    number = int(mine[0]) if mine else _note_charge(rows, request, charge, taken_up=there is not None)
    if there is not None:
        return
    rows.run(
        "UPDATE {}purses SET spent = spent + ? WHERE person = ? AND dataset = ? AND kind = ?", parts, *purse
    )
    rows.insert(
        "spends", dataset=request.dataset, charge=charge.number, token=charge.token, request=request.id,
        person=request.person, kind=request.kind, parts=parts, number=number,
    )  # fmt: skip
    if new and not mine:
        rows.run(
            "UPDATE {}datasets SET left_parts = CASE WHEN left_parts > ? THEN left_parts - ? ELSE 0 END "
            "WHERE name = ?",
            parts,
            parts,
            request.dataset,
        )


def _note_charge(rows: StoreRows, request: Request, charge: Charge, *, taken_up: bool) -> int:
    """Write the line of a request's first charge; its time is the slot's."""
    body = {"request": request.id, "table": request.dataset, "charge": charge.number, "share": request.share}
    kind = "taken_up" if taken_up else "charged"
    return audit.append(rows, int(request.begins or 0), request.person, kind, body).number


def publish(rows: StoreRows, request: Request, answers: str | None, failed: str, remaining: Fraction) -> None:
    """Publish an answer with its receipt, or a failure, when the slot has ended."""
    at = int(request.publish or 0)
    body, salt = _body(request, request.id) | {"failed": failed}, audit.new_salt()
    if answers is not None:
        body["answer"] = audit.digest(salt, answers)  # auditors see it, and cannot guess an answer by it
    receipt = audit.append(rows, at, request.person, "failed" if failed else "published", body)
    if answers is not None:
        rows.insert("answers", request=request.id, answers=answers, salt=salt, number=receipt.number)
    rows.run(
        "UPDATE {}requests SET state = 'published', failed = ?, release = ? WHERE id = ?",
        failed,
        None if answers is None else request.id,
        request.id,
    )
    set_remaining(rows, request.dataset, remaining)


def set_remaining(rows: StoreRows, dataset: str, remaining: Fraction) -> None:
    """Note what is left of a table's budget, rounded down."""
    parts = max(0, int(remaining * PARTS))
    rows.run("UPDATE {}datasets SET left_parts = ? WHERE name = ?", parts, dataset)
