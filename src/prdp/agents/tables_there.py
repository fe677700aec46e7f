"""The tables of a server, as the tools ask them; charges go to the purse of the token's person."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from prdp.agents.backend import NothingCharged, PlannedStatement, ReceivedAnswer, StatementRequest
from prdp.declare.exact import fraction_of
from prdp.errors import BudgetExhausted
from prdp.remote import RefusedByServer, RemoteServer, read_answers, spelled_share

_MOST_WAIT = 30.0
"""Seconds that a request is waited for; clients give up on a tool after a minute."""
_PAUSE = 0.5


@dataclass
class ServerTables:
    """The tables of a server that a token may ask about.

    Attributes:
        server: The server, with a token.
        now: The time, in seconds since 1970.
        sleep: What waits.
    """

    server: RemoteServer
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    _keys: dict[tuple[str, str], str] = field(default_factory=dict)
    _standing: dict[str, StatementRequest] = field(default_factory=dict)

    def tables(self) -> list[dict[str, Any]]:
        """Return the name, the number of columns and the remaining budget of each table."""
        return [
            {"name": one["name"], "columns": one["columns"], "left": self._left(one["name"])}
            for one in self.server.get("/v1/tables")["tables"]
        ]

    def described(self, table: str) -> dict[str, Any]:
        """Return the public facts of a table."""
        found = dict(self.server.get(f"/v1/tables/{quote(table, safe='')}"))
        return found | {"left": self._left(table)}

    def planned(self, statement: str, share: Fraction) -> PlannedStatement:
        """Return the dry run of a statement; nothing is charged."""
        plan = self.server.plan(statement, share)
        left = plan["left_approved"] if plan["needs_approval"] else plan["left"]
        return PlannedStatement(
            str(plan["plan"]),
            str(plan["table"]),
            statement,
            share,
            fraction_of(str(plan["cost"])),
            fraction_of(str(left)),
            bool(plan["needs_approval"]),
            tuple(map(str, plan["columns"])),
            tuple((str(label), str(text)) for label, text in plan["lines"]),
        )

    def asked(self, plan: PlannedStatement, purpose: str) -> StatementRequest:
        """Spend a plan; sent again, it is the same request, also with another purpose."""
        body = {"statement": plan.statement, "share": spelled_share(plan.share), "plan": plan.digest}
        body |= {"purpose": purpose} if purpose else {}
        key = self._keys.setdefault((plan.digest, purpose), uuid4().hex)
        try:
            reply = self.server.call("POST", "/v1/requests", body, headers={"idempotency-key": key}).body
        except BudgetExhausted as refusal:
            raise NothingCharged(refusal) from None
        except RefusedByServer as refusal:
            if refusal.status < 500:
                raise NothingCharged(refusal) from None
            raise
        found = self._shown(reply)
        if found.answer is not None:  # a standing one may be another person's, whose request is not shown
            self._standing[found.id] = found
        return found

    def request(self, name: str) -> StatementRequest:
        """Return a request; one whose time is near is waited for."""
        if name in self._standing:
            return self._standing[name]
        until = self.now() + _MOST_WAIT
        while True:
            reply = self.server.get(f"/v1/requests/{quote(name, safe='')}")
            due = float(reply["publish_at"] or 0)
            if reply["state"] not in ("queued", "approved") or max(due, self.now()) >= until:
                return self._shown(reply)
            self.sleep(max(_PAUSE, min(due, until) - self.now()))

    def _shown(self, reply: Mapping[str, Any]) -> StatementRequest:
        """Return a request, with its answer where it has one."""
        state = str(reply["state"])
        if state == "published" and (reply.get("failed") or not reply.get("release")):
            state = "failed"
        answer = self._answer(str(reply["release"])) if state == "published" else None
        due = reply.get("publish_at")
        soon = math.ceil(float(due)) if due and answer is None else None
        return StatementRequest(str(reply["id"]), state, soon, answer)

    def _answer(self, release: str) -> ReceivedAnswer:
        found = self.server.get(f"/v1/releases/{quote(release, safe='')}")
        answers = read_answers(self.server.address, found)
        return ReceivedAnswer(answers, str(found["id"]), dict(found["receipt"]))

    def _left(self, table: str) -> Fraction:
        """Return what the token's person may still spend without approval."""
        budget = self.server.get(f"/v1/tables/{quote(table, safe='')}/budget")
        mine, whole = budget["mine"]["alone"]["left"], budget["table"]["remaining"]
        return min(fraction_of(str(mine)), fraction_of(str(whole)))
