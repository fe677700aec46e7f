"""The routes of the server: who may ask for what is one table, and every refusal is from one list."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from prdp.safety.plain_text import csv_text
from prdp.server import accounts, audit, purses, requests
from prdp.server.accounts import ANALYST, AUDITOR, OWNER, ROLES, STEWARD, Passwords, Person
from prdp.server.console.pages import add_console
from prdp.server.planning import MAX_ROWS, MAX_STATEMENT, PublicPlanner
from prdp.server.purses import SHARE
from prdp.server.refusals import REFUSALS, RequestRefused
from prdp.server.store import Store, StoreRows
from prdp.serving.connections import Patience, Rates
from prdp.serving.requests import Guarded, Message, Unreadable, bearer, content_type, read_body
from prdp.sql.answers_codec import answers_from_json
from prdp.version import __version__

MAX_BODY = 1 << 16
_UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

Name = Annotated[str, Field(pattern=accounts.NAME)]
Password = Annotated[
    str, Field(min_length=accounts.PASSWORD_LENGTH[0], max_length=accounts.PASSWORD_LENGTH[1])
]
Share = Annotated[str, Field(pattern=SHARE)]
Statement = Annotated[str, Field(min_length=1, max_length=MAX_STATEMENT)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Role = Literal["owner", "steward", "analyst", "auditor"]


class Body(BaseModel):
    """A request's body: what is unknown in it is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SignIn(Body):
    """A name and its password."""

    name: str = Field(max_length=100)
    password: str = Field(max_length=200)


class NewPassword(Body):
    """The password of whoever was invited."""

    password: Password


class NewToken(Body):
    """A token for programs."""

    label: str = Field(min_length=1, max_length=40)
    scopes: list[Literal["read", "ask"]] = Field(min_length=1, max_length=2)
    days: int = Field(ge=1, le=366)
    cap: Share | None = None
    wire: bool = False


class Question(Body):
    """A statement and the part of every budget that it may use."""

    statement: Statement
    share: Share


class Preview(Question):
    """A statement to be tried on made-up records."""

    rows: int = Field(default=MAX_ROWS, ge=1, le=MAX_ROWS)


class AskBody(Question):
    """A statement with its plan, to be answered."""

    plan: Digest
    purpose: str = Field(default="", max_length=300)


class Decision(Body):
    """What a steward decides of a request."""

    approve: bool
    digest: Digest
    reason: Literal["purpose", "too_costly", "duplicate", "other"] | None = None


class Granted(Body):
    """What a person may spend of a table's budget, alone and with approval."""

    alone: Share
    approved: Share


class NewPerson(Body):
    """A person who is to be invited."""

    name: Name
    role: Role
    purses: dict[str, Granted] = Field(default_factory=dict, max_length=100)


class Change(Body):
    """Changes of a person."""

    disabled: bool | None = None
    role: Role | None = None


class Turns:
    """Has few questions planned at once, and few of one person's waiting: other routes have other threads."""

    def __init__(self, at_once: int = 3, of_each: int = 8) -> None:
        self._room, self._of_each = asyncio.Semaphore(at_once), of_each
        self._asking: Counter[int] = Counter()

    async def take(self, person: int, work: Callable[[], RouteReply]) -> RouteReply:
        """Do a person's work when it is its turn."""
        if self._asking[person] >= self._of_each:
            raise RequestRefused("too_many")
        self._asking[person] += 1
        try:
            async with self._room:
                return await run_in_threadpool(work)
        finally:
            self._asking[person] -= 1


@dataclass(frozen=True)
class Service:
    """What the routes work with.

    Attributes:
        store: The server's tables.
        planner: Plans by public facts.
        wake: Tells the engine's process that there is a request.
        origins: The origins of the server's own pages, such as ``http://127.0.0.1:8080``.
        secure: Whether it is reached by TLS.
        rate: How many requests an address may send a second; 0 for any number.
        sign_ins: The rate limit of sign-ins.
        passwords: Hashes passwords.
        turns: Limits how many questions are planned at once.
        clock: The time.
    """

    store: Store
    planner: PublicPlanner
    wake: Callable[[], None]
    origins: frozenset[str]
    secure: bool = False
    rate: float = 50
    sign_ins: Rates = field(default_factory=lambda: Rates(0.5, 20))
    passwords: Passwords = field(default_factory=Passwords)
    turns: Turns = field(default_factory=Turns)
    patience: Patience = field(default_factory=Patience)
    clock: Callable[[], float] = time.time

    @property
    def now(self) -> int:
        """The next whole second: what is published then may be shown from then on."""
        return math.ceil(self.clock())

    @property
    def cookie(self) -> str:
        """The name of the session's cookie."""
        return "__Host-prdp_session" if self.secure else "prdp_session"


@dataclass(frozen=True)
class RouteCall:
    """One request of a person."""

    service: Service
    person: Person
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    key: str
    address: str
    now: int
    seen: int
    """The time up to which things may be known: the last whole second."""

    def may_see(self, rows: StoreRows) -> list[str]:
        """Return the tables that the person may see."""
        served = list(self.service.planner.served)
        if self.person.role in (OWNER, STEWARD):
            return served
        if self.person.role == AUDITOR:  # also one who was an analyst, whose purses are still there
            return []
        return [name for name in purses.granted(rows, self.person.id) if name in served]

    @contextmanager
    def writing(self) -> Iterator[StoreRows]:
        """Write rows in the name of the person, who may do nothing more once their session or token ended.

        Who they are was looked up before the body was read and planned, which may have taken half a minute.
        """
        with self.service.store.writing() as rows:
            accounts.refuse_unless_still(rows, self.person, self.seen)
            yield rows

    def table(self, rows: StoreRows) -> str:
        """Return the table of the path; one that may not be seen is not there."""
        if self.path["table"] not in self.may_see(rows):
            raise RequestRefused("not_found")
        return self.path["table"]

    @property
    def other(self) -> int:
        """The number of the person in the path."""
        if not re.fullmatch("[0-9]{1,15}", self.path["person"]):
            raise RequestRefused("not_found")
        return int(self.path["person"])


@dataclass(frozen=True)
class RouteReply:
    """A response: a status, what is sent as JSON, and headers."""

    status: int
    facts: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[RouteCall], RouteReply]
ANYONE = frozenset(ROLES)
NOBODY_YET: frozenset[str] = frozenset()
"""Roles of a route that takes no session: signing in, accepting an invitation, health."""


@dataclass(frozen=True)
class Route:
    """A route and who may use it.

    Attributes:
        method: Its method.
        path: Its path.
        roles: The roles that may use it; ``NOBODY_YET`` for a route without a session.
        scope: What a token needs: read or ask; empty where a session is needed.
        handler: What serves it.
        statuses: The statuses of success.
        body: The form of its body; None for none.
        refusals: Codes of refusals of its own.
    """

    method: str
    path: str
    roles: frozenset[str]
    scope: str
    handler: Handler
    statuses: tuple[int, ...]
    body: type[Body] | None = None
    refusals: tuple[str, ...] = ()


def sign_in(call: RouteCall) -> RouteReply:
    """Sign in: one text and one time for whatever was wrong."""
    service, body = call.service, call.body
    if not service.sign_ins.allows(call.address):
        raise RequestRefused("too_many")
    with service.store.reading() as rows:
        known = re.fullmatch(accounts.NAME, body.name)
        person, stored = accounts.password_of(rows, body.name) if known else (0, None)
    if not service.passwords.fits(stored, body.password):
        raise RequestRefused("sign_in")
    with service.store.writing() as rows:
        if accounts.password_of(rows, body.name) != (person, stored):  # changed meanwhile
            raise RequestRefused("sign_in")
        return _signed_in(call, rows, person)


def _signed_in(call: RouteCall, rows: StoreRows, person: int) -> RouteReply:
    secret = accounts.begin_session(rows, person, call.now)
    secure = "; Secure" * call.service.secure
    cookie = f"{call.service.cookie}={secret}; HttpOnly; SameSite=Strict; Path=/{secure}"
    return RouteReply(204, headers={"set-cookie": cookie})


def sign_out(call: RouteCall) -> RouteReply:
    """End this session."""
    with call.writing() as rows:
        accounts.revoke(rows, call.person.token, call.person, call.now)
    gone = f"{call.service.cookie}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"
    return RouteReply(204, headers={"set-cookie": gone + "; Secure" * call.service.secure})


def accept(call: RouteCall) -> RouteReply:
    """Accept an invitation, once, by choosing a password; sign in with it."""
    if not call.service.sign_ins.allows(call.address):
        raise RequestRefused("too_many")
    with call.service.store.reading() as rows:
        if not accounts.is_invitation(rows, call.path["code"], call.now):
            raise RequestRefused("used")
    hashed = call.service.passwords.hashed(call.body.password)
    with call.service.store.writing() as rows:
        return _signed_in(call, rows, accounts.accept(rows, call.path["code"], hashed, call.now))


def me(call: RouteCall) -> RouteReply:
    """Return who is signed in, the tables that they see, and their purses."""
    person = call.person
    with call.service.store.reading() as rows:
        found = [purses.purse(rows, person.id, name) for name in purses.granted(rows, person.id)]
        tables = call.may_see(rows)
    facts = {"id": person.id, "name": person.name, "role": person.role, "tables": tables, "purses": found}
    return RouteReply(200, facts)


def list_tokens(call: RouteCall) -> RouteReply:
    """Return the tokens in use: one's own; an owner sees all."""
    with call.service.store.reading() as rows:
        found = accounts.tokens(rows, call.person, call.now)
    caps = ({"cap": None if one["cap"] is None else purses.share_of(one["cap"])} for one in found)
    return RouteReply(200, {"tokens": [one | cap for one, cap in zip(found, caps, strict=True)]})


def make_token(call: RouteCall) -> RouteReply:
    """Make a token; it is shown this once."""
    body = call.body
    if _CONTROL.search(body.label):
        raise RequestRefused("invalid")
    cap = None if body.cap is None else purses.parts_of(body.cap)
    with call.writing() as rows:
        if body.wire:
            made = accounts.new_wire_token(
                rows, call.person.id, call.now, label=body.label, days=body.days, cap=cap
            )
        else:
            made = accounts.new_api_token(
                rows, call.person.id, call.now, label=body.label, scopes=body.scopes, days=body.days, cap=cap
            )
    token, number = made
    return RouteReply(201, {"id": number, "token": token})


def end_token(call: RouteCall) -> RouteReply:
    """Revoke a token: one's own; an owner may revoke anybody's."""
    with call.writing() as rows:
        accounts.revoke(rows, call.path["token"], call.person, call.now)
    return RouteReply(204)


def list_tables(call: RouteCall) -> RouteReply:
    """Return the tables that one may see."""
    with call.service.store.reading() as rows:
        names = call.may_see(rows)
        left = {name: max(0, purses.left_of_table(rows, name)) for name in names}
    tables = [
        {"name": name, "columns": len(served.facts.schema), "policy": str(served.facts.policy.shown.text),
         "notion": served.facts.policy.notion, "remaining": purses.share_of(left[name])}
        for name, served in call.service.planner.served.items()
        if name in names
    ]  # fmt: skip
    return RouteReply(200, {"tables": tables})


def table(call: RouteCall) -> RouteReply:
    """Return the public facts of a table."""
    with call.service.store.reading() as rows:
        name = call.table(rows)
        (deadline,) = rows.one("SELECT deadline FROM {}datasets WHERE name = ?", name)
    return RouteReply(200, call.service.planner.described(name) | {"deadline": deadline})


def budget(call: RouteCall) -> RouteReply:
    """Return what one may spend of a table's budget, and what is left of it."""
    with call.service.store.reading() as rows:
        name = call.table(rows)
        left = max(0, purses.left_of_table(rows, name))
        mine = purses.purse(rows, call.person.id, name)
    return RouteReply(200, {"mine": mine, "table": {"remaining": purses.share_of(left)}})


def plan(call: RouteCall) -> RouteReply:
    """Return what a statement would cost and when it would be published; free, and reads no record."""
    with call.service.store.reading() as rows:
        may_see = call.may_see(rows)
    asked, columns_and_lines = call.service.planner.plan(
        call.body.statement, call.body.share, may_see, call.person.id
    )
    with call.service.store.reading() as rows:
        alone, approved = (
            max(0, purses.left(rows, call.person.id, asked.dataset, kind)) for kind in purses.KINDS
        )
        cap = purses.left_of_token(rows, call.person.token)
        there = requests.standing(rows, asked, call.seen)
        publish_in = requests.wait(rows, asked.dataset, call.now)
    facts = {
        "plan": asked.digest, "table": asked.dataset, "share": asked.share,
        "cost": "0" if there else asked.share, "left": _capped(alone, cap),
        "left_approved": _capped(approved, cap), "needs_approval": there is None and alone < asked.parts,
        "recorded": there.id if there else None, "publish_in": 0 if there else publish_in,
    }  # fmt: skip
    return RouteReply(200, facts | columns_and_lines)


def _capped(parts: int, cap: int | None) -> str:
    """Return what may be spent of a purse by a token, which may have a cap."""
    return purses.share_of(parts if cap is None else min(parts, cap))


def preview(call: RouteCall) -> RouteReply:
    """Return the answer to a statement on made-up records: free, and says nothing of the real ones."""
    from prdp.sql.answers_codec import answers_to_json  # noqa: PLC0415

    with call.service.store.reading() as rows:
        may_see = call.may_see(rows)
    body, person = call.body, call.person.id
    found = call.service.planner.preview(body.statement, body.share, body.rows, may_see, person)
    return RouteReply(200, {"answers": answers_to_json(found), "synthetic": True})


def ask(call: RouteCall) -> RouteReply:
    """Ask a question: what it costs is spent for ever; its answer appears at ``publish_at``."""
    body = call.body
    if not re.fullmatch("[A-Za-z0-9_-]{1,64}", call.key) or _CONTROL.search(body.purpose):
        raise RequestRefused("invalid")
    with call.service.store.reading() as rows:
        may_see = call.may_see(rows)
    asked, _ = call.service.planner.plan(body.statement, body.share, may_see, call.person.id)
    if asked.digest != body.plan:
        raise RequestRefused("plan_is_old")
    with call.writing() as rows:
        request = requests.admit(rows, call.person, asked, again=call.key, purpose=body.purpose, now=call.now)
        shown = requests.shown(rows, request, call.seen)
    call.service.wake()
    facts = {name: shown[name] for name in ("id", "state", "publish_at", "release")}
    return RouteReply(200 if shown["release"] else 202, facts)


def list_requests(call: RouteCall) -> RouteReply:
    """Return requests: an analyst's own, those that wait for a steward, all of them for an auditor."""
    role, condition, values = call.person.role, "1 = 1", ()
    if role == ANALYST:
        condition, values = "person = ?", (call.person.id,)  # type: ignore[assignment]
    elif role == STEWARD:
        condition = "state = 'waiting'"
    with call.service.store.reading() as rows:
        return RouteReply(200, {"requests": requests.listed(rows, condition, values, call.seen)})


def one_request(call: RouteCall) -> RouteReply:
    """Return a request, without its answer."""
    with call.service.store.reading() as rows:
        request = requests.by_id(rows, call.path["request"])
        if not _may_see_request(call.person, request):
            raise RequestRefused("not_found")
        shown = requests.shown(rows, request, call.seen)
    wait = (shown["publish_at"] or 0) - call.seen
    waiting = shown["state"] == "queued"
    return RouteReply(200, shown, {"retry-after": str(max(1, wait))} if waiting else {})


def _may_see_request(person: Person, request: requests.Request) -> bool:
    """Return whether somebody may see a request: who asked, what for, and what became of it."""
    if person.role == ANALYST:
        return request.person == person.id
    return person.role != STEWARD or request.state == "waiting" or request.decider == person.id


def withdraw(call: RouteCall) -> RouteReply:
    """Withdraw a request that waits; one that is queued goes on by itself, and its charge remains."""
    with call.writing() as rows:
        done = requests.withdraw(rows, call.person, call.path["request"], call.now)
    return RouteReply(204 if done else 202)


def decide(call: RouteCall) -> RouteReply:
    """Approve or deny a request of somebody else's; its digest says which question was looked at."""
    body = call.body
    with call.service.store.reading() as rows:
        asked = requests.by_id(rows, call.path["request"])
    if body.approve and asked.state == "waiting" and asked.person != call.person.id:
        planned, _ = call.service.planner.plan(asked.statement, asked.share, [asked.dataset], call.person.id)
        if planned.digest != asked.digest:
            raise RequestRefused("plan_is_old")
    with call.writing() as rows:
        request = requests.decide(
            rows, call.person, call.path["request"], approve=body.approve, digest=body.digest,
            reason=body.reason, now=call.now,
        )  # fmt: skip
        shown = requests.shown(rows, request, call.seen)
    call.service.wake()
    return RouteReply(200, shown)


def list_releases(call: RouteCall) -> RouteReply:
    """Return the published answers about a table."""
    with call.service.store.reading() as rows:
        wanted = call.query.get("table", "")
        if wanted not in call.may_see(rows):
            raise RequestRefused("not_found")
        return RouteReply(200, {"releases": requests.releases(rows, wanted, call.seen)})


def _release(call: RouteCall) -> dict[str, Any]:
    with call.service.store.reading() as rows:
        request = requests.by_id(rows, call.path["release"])
        shown = requests.shown(rows, request, call.seen)
        if request.dataset not in call.may_see(rows) or not shown["release"]:
            raise RequestRefused("not_found")
        answers, number, head = rows.one(
            "SELECT n.answers, n.number, a.head FROM {}answers n JOIN {}audit a ON a.number = n.number "
            "WHERE n.request = ?",
            request.id,
        )
    return {
        "id": request.id, "table": request.dataset, "statement": request.statement, "share": request.share,
        "published_at": request.publish, "answers": json.loads(answers),
        "receipt": {"number": number, "head": head},
    }  # fmt: skip


def release(call: RouteCall) -> RouteReply:
    """Return a published answer with its receipt."""
    return RouteReply(200, _release(call))


def release_json(call: RouteCall) -> RouteReply:
    """Return a published answer as a file."""
    return RouteReply(200, _release(call), {"content-disposition": 'attachment; filename="release.json"'})


def release_csv(call: RouteCall) -> RouteReply:
    """Return a published answer as CSV; cells that a spreadsheet would run are quoted."""
    columns = answers_from_json(_release(call)["answers"]).to_dict()
    closed = {name: ["" if _is_open(cell) else cell for cell in cells] for name, cells in columns.items()}
    headers = {
        "content-disposition": 'attachment; filename="release.csv"',
        "content-type": "text/csv; charset=utf-8",
    }
    return RouteReply(200, csv_text(closed), headers)


def _is_open(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and not math.isfinite(cell))


def list_people(call: RouteCall) -> RouteReply:
    """Return all people with their purses."""
    with call.service.store.reading() as rows:
        found = rows.all("SELECT id, name, role, disabled FROM {}people ORDER BY id")
        return RouteReply(200, {"people": [_person(rows, *one) for one in found]})


def _person(rows: StoreRows, number: int, name: str, role: str, disabled: int) -> dict[str, Any]:
    tables = purses.granted(rows, number)
    return {
        "id": number, "name": name, "role": role, "disabled": bool(disabled), "tables": tables,
        "purses": [purses.purse(rows, number, one) for one in tables],
    }  # fmt: skip


def add_person(call: RouteCall) -> RouteReply:
    """Add a person, and return their invitation; it is shown this once."""
    body = call.body
    with call.writing() as rows:
        number = accounts.add_person(rows, body.name, body.role, call.person.id, call.now)
        for name, granted in body.purses.items():
            if name not in call.service.planner.served:
                raise RequestRefused("not_found")
            purses.grant(rows, number, name, granted.model_dump(), actor=call.person, now=call.now)
        code = accounts.invite(rows, number, call.person.id, call.now)
    return RouteReply(201, {"id": number, "name": body.name, "invitation": code})


def change_person(call: RouteCall) -> RouteReply:
    """Disable a person, and withdraw what waits, or give them another role; their sessions and tokens end."""
    with call.writing() as rows:
        accounts.change(
            rows, call.other, call.person, call.now, disabled=call.body.disabled, role=call.body.role
        )
        if call.body.disabled:
            requests.withdraw_all(rows, call.other, call.person, call.now)
        return RouteReply(200, _person(rows, *accounts.known(rows, call.other)))


def invite_again(call: RouteCall) -> RouteReply:
    """Return a new invitation: the password, all sessions and all tokens of a person end."""
    with call.writing() as rows:
        return RouteReply(201, {"invitation": accounts.invite(rows, call.other, call.person.id, call.now)})


def set_purse(call: RouteCall) -> RouteReply:
    """Set what an analyst may spend of a table's budget, in all."""
    with call.writing() as rows:
        name = call.table(rows)
        purses.grant(rows, call.other, name, call.body.model_dump(), actor=call.person, now=call.now)
        return RouteReply(200, purses.purse(rows, call.other, name))


def read_audit(call: RouteCall) -> RouteReply:
    """Return a page of the audit, and its head."""
    start = call.query.get("from", "0")
    if not re.fullmatch("[0-9]{1,15}", start):
        raise RequestRefused("invalid")
    with call.service.store.reading() as rows:
        found = audit.lines(rows, int(start), call.seen)
        return RouteReply(200, {"lines": found, "head": audit.visible(rows, call.seen).head})


def audit_head(call: RouteCall) -> RouteReply:
    """Return the number and the hash of the last line: kept elsewhere, they show what is missing later."""
    with call.service.store.reading() as rows:
        head = audit.visible(rows, call.seen)
    return RouteReply(200, {"number": head.number, "head": head.head})


def health(_: RouteCall) -> RouteReply:
    """Return that the server answers, and nothing else."""
    return RouteReply(204)


_ASK = frozenset({ANALYST})
_SEE = frozenset({OWNER, STEWARD, ANALYST})
_HELP = frozenset({OWNER, STEWARD})
_OWN = frozenset({OWNER})
_WATCH = frozenset({OWNER, AUDITOR})

ROUTES = (
    Route("POST", "/v1/sessions", NOBODY_YET, "", sign_in, (204,), SignIn, ("sign_in",)),
    Route("DELETE", "/v1/sessions/current", ANYONE, "", sign_out, (204,)),
    Route("POST", "/v1/invitations/{code}", NOBODY_YET, "", accept, (204,), NewPassword, ("used",)),
    Route("GET", "/v1/me", ANYONE, "read", me, (200,)),
    Route("GET", "/v1/tokens", ANYONE, "", list_tokens, (200,)),
    Route("POST", "/v1/tokens", ANYONE, "", make_token, (201,), NewToken, ("label_taken",)),
    Route("DELETE", "/v1/tokens/{token}", ANYONE, "", end_token, (204,)),
    Route("GET", "/v1/tables", ANYONE, "read", list_tables, (200,)),
    Route("GET", "/v1/tables/{table}", _SEE, "read", table, (200,)),
    Route("GET", "/v1/tables/{table}/budget", _SEE, "read", budget, (200,)),
    Route("POST", "/v1/plans", _SEE, "read", plan, (200,), Question, ("statement",)),
    Route("POST", "/v1/previews", _SEE, "read", preview, (200,), Preview, ("statement",)),
    Route(
        "POST", "/v1/requests", _ASK, "ask", ask, (200, 202), AskBody,
        ("statement", "purse", "cap", "budget", "plan_is_old", "key_reused"),
    ),
    Route("GET", "/v1/requests", ANYONE, "read", list_requests, (200,)),
    Route("GET", "/v1/requests/{request}", ANYONE, "read", one_request, (200,)),
    Route("DELETE", "/v1/requests/{request}", _ASK, "ask", withdraw, (202, 204)),
    Route(
        "POST", "/v1/requests/{request}/decision", _HELP, "", decide, (200,), Decision,
        ("own", "purse", "statement", "decided", "other_digest", "plan_is_old"),
    ),
    Route("GET", "/v1/releases", _SEE, "read", list_releases, (200,)),
    Route("GET", "/v1/releases/{release}.csv", _SEE, "read", release_csv, (200,)),
    Route("GET", "/v1/releases/{release}.json", _SEE, "read", release_json, (200,)),
    Route("GET", "/v1/releases/{release}", _SEE, "read", release, (200,)),
    Route("GET", "/v1/people", _HELP, "", list_people, (200,)),
    Route("POST", "/v1/people", _OWN, "", add_person, (201,), NewPerson, ("name_taken",)),
    Route("PATCH", "/v1/people/{person}", _OWN, "", change_person, (200,), Change, ("last_owner",)),
    Route("POST", "/v1/people/{person}/invitation", _OWN, "", invite_again, (201,)),
    Route(
        "PUT", "/v1/people/{person}/purses/{table}", _HELP, "", set_purse, (200,), Granted, ("below_spent",)
    ),
    Route("GET", "/v1/audit", _WATCH, "", read_audit, (200,)),
    Route("GET", "/v1/audit/head", ANYONE, "read", audit_head, (200,)),
    Route("GET", "/healthz", NOBODY_YET, "", health, (204,)),
)  # fmt: skip
"""Every route, and who may use it."""

_NOBODY = Person(0, "", "", "", frozenset())
_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "referrer-policy": "same-origin",  # with none, browsers send forms without their origin
}
_SECURE_HEADERS = {"strict-transport-security": "max-age=31536000"}
_ALWAYS = ("malformed", "host", "not_signed_in", "origin", "role", "scope", "not_found", "wrong_method",
           "too_many", "failed", "busy")  # fmt: skip
_OF_BODIES = ("too_slow", "too_large", "wrong_type", "invalid")
_CLOSES = {"too_large", "too_slow"}


def refusal(refused: RequestRefused) -> Response:
    """Return a refusal as an HTTP response."""
    headers = {"retry-after": "1"} if refused.code in ("too_many", "busy") else {}
    if refused.status == 401:
        headers["www-authenticate"] = "Bearer"
    if refused.code in _CLOSES:
        headers["connection"] = "close"
    return JSONResponse(refused.facts, refused.status, headers)


def application(service: Service) -> Any:
    """Return the server as an ASGI application."""
    app = FastAPI(
        title="prdp server", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.service = service
    for route in ROUTES:
        _add(app, service, route)

    async def refused(_: Request, error: Exception) -> Response:
        code = error.code if isinstance(error, RequestRefused | Unreadable) else "failed"
        return refusal(error if isinstance(error, RequestRefused) else RequestRefused(code))

    async def by_status(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        in_browser = "text/html" in request.headers.get("accept", "")
        if status == 404 and in_browser and not request.url.path.startswith("/v1/"):
            return nothing(request)
        answer = refusal(RequestRefused({404: "not_found", 405: "wrong_method"}.get(status, "malformed")))
        if isinstance(error, HTTPException) and error.headers:
            answer.headers.update(error.headers)
        if methods := _methods_of(request.url.path) * (status == 405):
            answer.headers["allow"] = ", ".join(methods)
        return answer

    app.add_exception_handler(HTTPException, by_status)
    for kind in (RequestRefused, Unreadable, Exception):
        app.add_exception_handler(kind, refused)
    nothing = add_console(app)
    rates = Rates(service.rate, 4 * service.rate)
    return Guarded(
        app,
        rates,
        lambda code: refusal(RequestRefused(code)),
        _HEADERS | (_SECURE_HEADERS if service.secure else {}),
        lambda scope: _stranger(service, scope),
    )


def _methods_of(path: str) -> list[str]:
    """Return the methods of all routes that a path is of."""
    patterns = {route: re.sub(r"{\w+}", "[^/]+", route.path) for route in ROUTES}
    return sorted({route.method for route, pattern in patterns.items() if re.fullmatch(pattern, path)})


def _stranger(service: Service, scope: Message) -> str:
    """Return why a request is not from one of the server's own pages or programs; empty if it may be.

    A page elsewhere, also at another port of this machine, can make a browser send cookies; it cannot make it
    lie about where it is from. A name that is not ours may lead here by a rebound DNS entry.
    """
    (host, *other_hosts), sent_from = _headers(scope, b"host") or [""], _headers(scope, b"origin")
    if other_hosts or host.lower() not in {origin.partition("://")[2] for origin in service.origins}:
        return "host"
    if scope["method"] in _UNSAFE:
        with_cookie = any(service.cookie in cookies for cookies in _headers(scope, b"cookie"))
        if (with_cookie and not sent_from) or not service.origins.issuperset(sent_from):
            return "origin"
    return ""


def _headers(scope: Message, wanted: bytes) -> list[str]:
    """Return all values of a header: sent twice, the first may say what the last does not."""
    return [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]


def _add(app: FastAPI, service: Service, route: Route) -> None:
    """Add a route to the application, with its description."""

    async def endpoint(request: Request) -> Response:
        return await _serve(service, route, request)

    endpoint.__name__ = route.handler.__name__
    endpoint.__doc__ = route.handler.__doc__
    codes = (*_ALWAYS, *(_OF_BODIES if route.body else ("invalid",)), *route.refusals)
    responses: dict[int | str, dict[str, Any]] = {
        status: {"description": "Done"} for status in route.statuses
    }
    for code in codes:
        status, sentence = REFUSALS[code]
        entry = responses.setdefault(status, {"description": ""})
        entry["description"] += f"{'; ' * bool(entry['description'])}{code}: {sentence}"
    described: dict[str, Any] = {"parameters": _parameters(route)}
    if route.body is not None:
        schema = route.body.model_json_schema()
        content = {"application/json": {"schema": _inlined(schema)}}
        described["requestBody"] = {"required": True, "content": content}
    app.add_api_route(
        route.path, endpoint, methods=[route.method], status_code=route.statuses[0], response_model=None,
        response_class=Response, responses=responses, openapi_extra=described,
    )  # fmt: skip


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose definitions are where they are used."""
    definitions = schema.pop("$defs", {})

    def inline(node: Any) -> Any:
        if isinstance(node, dict):
            name = node.get("$ref", "").rpartition("/")[2]
            return inline(definitions[name]) if name else {key: inline(value) for key, value in node.items()}
        return [inline(one) for one in node] if isinstance(node, list) else node

    return dict(inline(schema))


def _parameters(route: Route) -> list[dict[str, Any]]:
    text = {"type": "string"}
    found = [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.handler is ask:
        key = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
        found.append({"name": "Idempotency-Key", "in": "header", "required": True, "schema": key})
    if route.handler is read_audit:
        number = {"type": "integer", "minimum": 0, "maximum": 10**14}
        found.append({"name": "from", "in": "query", "required": False, "schema": number})
    if route.handler is list_releases:
        found.append({"name": "table", "in": "query", "required": True, "schema": text})
    return found


async def _serve(service: Service, route: Route, request: Request) -> Response:
    """Serve a request: who is it, may they, is the body of its form; then what the route does."""
    address = request.client.host if request.client else ""
    person = _NOBODY
    if route.roles:
        person = await run_in_threadpool(_person_of, service, request)
        refuse_unless_for(route, person)
    body = await _body(service, route, request)
    path = {name: unquote(value) for name, value in request.path_params.items()}
    if any(map(_CONTROL.search, path.values())):
        raise RequestRefused("used" if route.handler is accept else "not_found")
    clock = service.clock()
    call = RouteCall(
        service, person, path, dict(request.query_params), body,
        request.headers.get("idempotency-key", ""), address, math.ceil(clock), math.floor(clock),
    )  # fmt: skip
    if route.handler in _PLANNING:
        reply = await service.turns.take(person.id, partial(route.handler, call))
    else:
        reply = await run_in_threadpool(route.handler, call)
    headers = dict(reply.headers)
    if reply.facts is None:
        return Response(None, reply.status, headers)
    if isinstance(reply.facts, str):
        return Response(reply.facts, reply.status, headers)
    return JSONResponse(reply.facts, reply.status, headers)


_ALL = frozenset({"session"})
_PLANNING = (plan, preview, ask, decide)


def refuse_unless_for(route: Route, person: Person) -> None:
    """Refuse a person whose role, or whose token, a route is not for."""
    if person.role not in route.roles:
        raise RequestRefused("role")
    if person.scopes != _ALL and (not route.scope or route.scope not in person.scopes):
        raise RequestRefused("scope")


def _person_of(service: Service, request: Request) -> Person:
    """Return whose session or token a request carries."""
    token = bearer(request)
    secret = token if token is not None else request.cookies.get(service.cookie)
    if not secret or len(secret) > 200:
        raise RequestRefused("not_signed_in")
    with service.store.reading() as rows:
        person = accounts.signed_in(rows, secret, math.floor(service.clock()))
    if person is None:
        raise RequestRefused("not_signed_in")
    return person


async def _body(service: Service, route: Route, request: Request) -> Any:
    """Return a request's body, read within limits, in its form."""
    if route.body is None:
        return None
    raw = await read_body(request, MAX_BODY, service.patience.body_seconds)
    if content_type(request) != "application/json":
        raise RequestRefused("wrong_type")
    try:
        return route.body.model_validate_json(raw)
    except ValidationError:
        raise RequestRefused("invalid") from None
    except (RecursionError, ValueError):
        raise RequestRefused("malformed") from None
