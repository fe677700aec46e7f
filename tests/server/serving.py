"""A served project for tests: store, routes and the engine's lines in this process, on a clock of ours."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from argon2 import PasswordHasher

from prdp.projects.project import Project, project
from prdp.server import accounts, audit, purses
from prdp.server.front import Service, application
from prdp.server.planning import PublicPlanner
from prdp.server.store import Store, store_of
from prdp.server.worker import ANSWERING, Clock, SlotLine, open_lines, served_facts
from prdp.serving.connections import Rates

ORIGIN = "http://127.0.0.1:8080"
PASSWORD = "a long password"  # noqa: S105  (everybody's, in tests)
COUNT = "SELECT COUNT(*) AS n FROM visits"
BEGUN = 1_900_000_000
WEAK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Hashes in no time."""

TOML = """
[tables.visits]
source = "visits.csv"
types = {{ days = "BIGINT", ward = "VARCHAR" }}
policy = "10 / greatest(days, 1)"
bounds = {{ days = [0, 100] }}
keys = {{ ward = ["a", "b"] }}
{ledger}
[tables.loans]
source = "loans.csv"
types = {{ fine = "BIGINT", branch = "VARCHAR" }}
policy = "1"
bounds = {{ fine = [0, 100] }}
immutable = ["branch"]
keys = {{ branch = "private" }}
{other}
"""


class StepClock(Clock):
    """A clock that goes on when somebody sleeps; by then, whoever reads records has finished, unless held."""

    def __init__(self, begun: float = BEGUN) -> None:
        self.at, self.held = begun, False
        self.watch: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        for thread in threading.enumerate():
            if thread.name == ANSWERING and not self.held:
                thread.join(60)
        self.watch()
        self.at += seconds


@dataclass
class Said:
    """What the server said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def facts(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.facts["code"]) if self.status >= 400 else ""


@dataclass
class Served:
    """A project that is served in this process."""

    folder: Path
    project: Project
    store: Store
    clock: StepClock
    lines: dict[str, SlotLine]
    service: Service
    app: Any
    cookies: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, role: str, **purse: tuple[str, str]) -> int:
        """Add a person who is signed in, with purses by table: alone and with approval."""
        now = int(self.clock.now())
        with self.store.writing() as rows:
            number = accounts.add_person(rows, name, role, audit.SERVER, now)
            for table, (alone, approved) in purse.items():
                wanted = {"alone": alone, "approved": approved}
                purses.grant(rows, number, table, wanted, actor=None, now=now)
            code = accounts.invite(rows, number, audit.SERVER, now)
        said = self.ask("POST", f"/v1/invitations/{code}", {"password": PASSWORD})
        assert said.status == 204, said
        self.cookies[name] = said.headers["set-cookie"].partition(";")[0]
        return number

    def ask(self, method: str, path: str, body: Any = None, who: str | None = None, **headers: str) -> Said:
        """Ask for something as a browser does, with a person's cookie."""
        sent = {"host": "127.0.0.1:8080"}
        if method != "GET":
            sent["origin"] = ORIGIN
        if who is not None:
            sent["cookie"] = self.cookies[who]
        raw = b""
        if body is not None:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent |= {"content-type": "application/json", "content-length": str(len(raw))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(self._asked(method, path, raw, {k: v for k, v in sent.items() if v}))

    async def _asked(self, method: str, path: str, raw: bytes, headers: dict[str, str]) -> Said:
        split = urlsplit(path)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "path": split.path, "raw_path": split.path.encode(), "query_string": split.query.encode(),
            "scheme": "http", "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
            "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 8080), "root_path": "",
        }  # fmt: skip
        sent = [{"type": "http.request", "body": raw, "more_body": False}]
        said: list[Any] = []

        async def receive() -> Any:
            return sent.pop() if sent else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            said.append(message)

        await self.app(scope, receive, send)
        found = {k.decode(): v.decode() for k, v in said[0]["headers"]}
        return Said(said[0]["status"], found, b"".join(one.get("body", b"") for one in said[1:]))

    def plan(self, who: str, statement: str, share: str = "0.01") -> dict[str, Any]:
        said = self.ask("POST", "/v1/plans", {"statement": statement, "share": share}, who)
        assert said.status == 200, said
        return dict(said.facts)

    def request(self, who: str, statement: str, share: str = "0.01", key: str = "", **more: str) -> Said:
        """Plan a question and ask it."""
        body = {"statement": statement, "share": share, "plan": self.plan(who, statement, share)["plan"]}
        again = key or f"k{abs(hash((who, statement, share, self.clock.at)))}"
        return self.ask("POST", "/v1/requests", body | more, who, idempotency_key=again)

    def run(self, *tables: str) -> None:
        """Answer all that is queued."""
        for name in tables or self.lines:
            while self.lines[name].answer_next():
                pass

    def state(self, number: str, who: str) -> dict[str, Any]:
        return dict(self.ask("GET", f"/v1/requests/{number}", who=who).facts)

    def rows(self, statement: str) -> list[Any]:
        with self.store.reading() as rows:
            return list(rows.all(statement))

    def remaining(self, table: str) -> Any:
        return self.lines[table].ledger.remaining

    def again(self) -> Served:
        """Open the same files as a server that is started again does."""
        return opened(self.folder, self.clock, self.cookies)


def write_project(folder: Path, ledger: str = "", other: str = "", records: int = 200) -> Path:
    """Write two tables of made-up records and the project that declares them."""
    wards = "".join(f"{k % 90},{'ab'[k % 2]}\n" for k in range(records))
    (folder / "visits.csv").write_text(f"days,ward\n{wards}")
    branches = "".join(f"{k % 100},{('north', 'south')[k % 2]}\n" for k in range(50 * records))
    (folder / "loans.csv").write_text(f"fine,branch\n{branches}")
    path = folder / "prdp.toml"
    path.write_text(
        TOML.format(ledger=ledger and f'ledger = "{ledger}"', other=other and f'ledger = "{other}"')
    )
    return path


def opened(folder: Path, clock: StepClock, cookies: dict[str, str]) -> Served:
    read = project(folder / "prdp.toml")
    store = store_of(read)
    if not store.is_there():
        store.lay_out()
    lines = open_lines(read, store, 4, clock)
    planner = PublicPlanner(read, served_facts(lines))
    service = Service(
        store, planner, lambda: None, frozenset({ORIGIN}), rate=0, sign_ins=Rates(0, 0),
        passwords=accounts.Passwords(WEAK), clock=clock.now,
    )  # fmt: skip
    return Served(folder, read, store, clock, lines, service, application(service), cookies)


def copied(folder: Path, to: Path) -> Path:
    """Copy a project's files, as a backup does."""
    shutil.copytree(folder, to)
    return to


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("blank") / "project"
    folder.mkdir()
    write_project(folder)
    return folder


@pytest.fixture
def served(tmp_path: Path, blank: Path) -> Served:
    """Return a new server with nobody in it, whose tables are in files."""
    return opened(copied(blank, tmp_path / "project"), StepClock(), {})


def people(served: Served) -> Served:
    """Add somebody of each role, and a second analyst who may ask about one table alone."""
    served.add("olga", "owner")
    served.add("stan", "steward")
    served.add("ana", "analyst", visits=("0.1", "0.2"), loans=("0.5", "0.1"))
    served.add("ben", "analyst", visits=("0.05", "0"))
    served.add("uwe", "auditor")
    return served
