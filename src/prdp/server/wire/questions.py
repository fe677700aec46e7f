"""Questions of a connection: asked by the handlers of the routes, in the name of the token's person.

There is no second way to an answer: role, scope, purse, cap, approval, audit and time of publication are
those of ``POST /v1/plans``, ``POST /v1/requests`` and ``GET /v1/releases``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prdp.noise.entropy import SystemEntropy
from prdp.server import accounts, front, purses, requests
from prdp.server.accounts import Person
from prdp.server.front import AskBody, Body, Question, RouteCall, Service
from prdp.server.planning import PlannedColumn, Served
from prdp.server.refusals import RequestRefused
from prdp.server.wire.catalogue import Catalogue
from prdp.sql.answers_codec import answers_from_json
from prdp.sql.results import SqlAnswers

_ROUTES = {route.handler: route for route in front.ROUTES}
_MAX_COLUMNS_KEPT = 256


@dataclass
class WireAsker:
    """Whoever logged in with a token; looked up again before whatever they do.

    Attributes:
        service: What the routes work with.
        token: The number of the token.
        catalogues: The catalogue of each set of tables, which all connections share.
    """

    service: Service
    token: str
    catalogues: dict[tuple[str, ...], Catalogue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._columns: dict[str, tuple[PlannedColumn, ...]] = {}
        self._free: dict[str, SqlAnswers | None] = {}

    def person(self) -> Person:
        """Return whose token it is; refuse one that has been revoked or has expired."""
        with self.service.store.reading() as rows:
            found = accounts.by_token(rows, self.token, math.floor(self.service.clock()))
        if found is None:
            raise RequestRefused("not_signed_in")
        return found

    def tables(self) -> dict[str, Served]:
        """Return the public facts of the tables that the person may see, by name."""
        call = self._call(self.person())
        with self.service.store.reading() as rows:
            names = call.may_see(rows)
        return {name: self.service.planner.served[name] for name in names}

    def catalogue(self) -> Catalogue:
        """Return the catalogue of the tables that the person may see."""
        tables = self.tables()
        found = self.catalogues.get(tuple(tables))
        if found is None:
            found = self.catalogues[tuple(tables)] = Catalogue.of(tables)
        return found

    def columns(self, statement: str) -> tuple[PlannedColumn, ...]:
        """Return what the columns of a statement's answers hold, from public facts."""
        may_see = list(self.tables())
        if statement not in self._columns:
            if len(self._columns) >= _MAX_COLUMNS_KEPT:
                self._columns.clear()
            self._columns[statement] = self.service.planner.columns(statement, may_see)
        return self._columns[statement]

    def without_records(self, statement: str) -> SqlAnswers | None:
        """Return the answers of a statement that wants no row of any record; None of another's."""
        may_see = list(self.tables())
        if statement not in self._free:
            if len(self._free) >= _MAX_COLUMNS_KEPT:
                self._free.clear()
            self._free[statement] = self.service.planner.without_records(statement, may_see)
        return self._free[statement]

    def plan(self, statement: str, share: str) -> dict[str, Any]:
        """Return the dry run of a statement, which is free."""
        return self._run(front.plan, Question(statement=statement, share=share))

    def ask(self, statement: str, share: str, plan: str) -> dict[str, Any]:
        """Ask a question as it was planned, once."""
        body = AskBody(statement=statement, share=share, plan=plan)
        return self._run(front.ask, body, key=SystemEntropy().bytes(16).hex())

    def request(self, number: str) -> dict[str, Any]:
        """Return the state of a request."""
        return self._run(front.one_request, path={"request": number})

    def answers(self, release: str) -> SqlAnswers:
        """Return a published answer."""
        return answers_from_json(self._run(front.release, path={"release": release})["answers"])

    def repeat(self, statement: str) -> str | None:
        """Return the release that answers a statement already, that of the largest share; None for none."""
        planner, may_see = self.service.planner, list(self.tables())
        dataset = planner.question(statement, "1", may_see).dataset
        with self.service.store.reading() as rows:
            seen = math.floor(self.service.clock())
            shares = requests.shares_of(rows, dataset, seen)
            asked = (planner.question(statement, share, may_see) for share in shares)
            found = next(filter(None, (requests.standing(rows, one, seen) for one in asked)), None)
        return None if found is None else found.id

    def remaining(self) -> list[tuple[str, str, str, str | None]]:
        """Return, for each table, what may be asked for alone, with approval, and by this token."""
        person, found = self.person(), []
        with self.service.store.reading() as rows:
            cap = purses.left_of_token(rows, self.token)
            left = dict(rows.all("SELECT name, left_parts FROM {}datasets"))
            for name in self._call(person).may_see(rows):
                limits = [int(left.get(name, 0))] + ([] if cap is None else [cap])
                parts = (purses.left(rows, person.id, name, kind) for kind in purses.KINDS)
                alone, approved = (purses.share_of(max(0, min(*limits, part))) for part in parts)
                found.append((name, alone, approved, None if cap is None else purses.share_of(cap)))
        return found

    def _run(self, handler: Any, body: Body | None = None, **given: Any) -> dict[str, Any]:
        person = self.person()
        front.refuse_unless_for(_ROUTES[handler], person)
        return dict(handler(self._call(person, body, **given)).facts)

    def _call(
        self, person: Person, body: Body | None = None, path: Mapping[str, str] | None = None, key: str = ""
    ) -> RouteCall:
        clock = self.service.clock()
        return RouteCall(
            self.service, person, path or {}, {}, body, key, "", math.ceil(clock), math.floor(clock)
        )
