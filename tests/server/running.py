"""A real server for tests, as ``prdp serve`` starts it: two processes, sockets, and people who ask."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from prdp.ledger import DurableLedger
from prdp.projects.project import project
from prdp.server import accounts, audit, purses, running
from prdp.server.purses import parts_of, share_of
from prdp.server.store import Store, opened

ROOT = Path(__file__).parents[2]
PATIENCE = 900.0
"""Seconds after which something is wrong: a loaded machine is slow, and does nothing wrong."""


def port_that_nobody_is_given() -> int:
    """Return a free port outside of those that systems give away.

    A server is started again at its port. Meanwhile somebody else could be given one of the others, even a
    client that calls the port while nobody listens there: it can be connected to itself.
    """
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


@dataclass
class Running:
    """A server in processes of its own."""

    project: Path
    deadline: int = 1
    port: int = 0
    tokens: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.port = self.port or port_that_nobody_is_given()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "prdp", "serve", "--project", str(self.project), "--port", str(self.port),
             "--deadline", str(self.deadline), "--rate", "0"],
            stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        )  # fmt: skip
        assert self.process.stderr is not None
        said = ""
        for line in self.process.stderr:  # as long as it takes
            said += line
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(found[1])
                return
        raise AssertionError(f"it ended with {self.process.wait(PATIENCE)}: {said}")

    @property
    def engine(self) -> int:
        """The number of the engine's process."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        numbers = [one for path in children for one in path.read_text(encoding="ascii").split()]
        return int(numbers[0]) if numbers else 0

    def kill(self, *which: str) -> None:
        """End processes as a crash does; the server is started again, the engine's process by the server."""
        assert self.process is not None
        if "engine" in which:
            until = time.monotonic() + PATIENCE
            while not (number := self.engine) and time.monotonic() < until:
                time.sleep(0.05)  # it is being started again
            os.kill(number, signal.SIGKILL)
        if "front" in which:
            self.process.send_signal(signal.SIGKILL)
            self.process.communicate()
            self.start()

    def stop(self) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE)

    @property
    def store(self) -> Store:
        return opened(project(self.project))

    def ask(self, method: str, path: str, body: Any = None, who: str = "", **headers: str) -> tuple[int, Any]:
        """Ask for something; a server that is away is asked again."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if who:
            sent["authorization"] = f"Bearer {self.tokens[who]}"
        raw = None
        if body is not None:
            raw, sent["content-type"] = json.dumps(body).encode(), "application/json"
        until = time.monotonic() + PATIENCE
        while True:
            request = Request(f"http://127.0.0.1:{self.port}{path}", raw, sent, method=method)
            try:
                with urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                    text = answer.read()
                    return answer.status, json.loads(text) if text else None
            except HTTPError as error:
                with error:
                    return error.code, json.loads(error.read() or b"null")
            except (URLError, ConnectionError, OSError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def question(self, who: str, statement: str, share: str, key: str) -> tuple[int, Any]:
        """Plan and ask."""
        body = {"statement": statement, "share": share}
        status, plan = self.ask("POST", "/v1/plans", body, who)
        if status != 200:
            return status, plan
        return self.ask("POST", "/v1/requests", body | {"plan": plan["plan"]}, who, idempotency_key=key)

    def published(self, who: str, number: str) -> Any:
        """Wait for a request, and return it."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            status, found = self.ask("GET", f"/v1/requests/{number}", who=who)
            if status == 200 and found["state"] == "published":
                return found
            time.sleep(0.2)
        raise AssertionError(f"{number} was never published: {found}")


def begun(file: Path, *analysts: str, alone: str, table: str = "visits") -> Running:
    """Make the accounts of a project; return its server, which is not started yet."""
    running.init(file, "olga")
    made = Running(file)
    now = int(time.time())
    with made.store.writing() as rows:
        for name in analysts:
            number = accounts.add_person(rows, name, "analyst", audit.SERVER, now)
            purses.grant(rows, number, table, {"alone": alone, "approved": "0"}, actor=None, now=now)
            made.tokens[name], _ = accounts.new_api_token(
                rows, number, now, label="test", scopes=["read", "ask"], days=1
            )
        made.tokens["olga"], _ = accounts.new_api_token(
            rows, 1, now, label="test", scopes=["read", "ask"], days=1
        )
    return made


def accounts_agree(server: Running, *, at_most: str) -> tuple[int, int]:
    """Check that charges, spends and audit lines are one; return how many charges and requests there are."""
    read = project(server.project)
    ledger = DurableLedger(read.ledger_of("visits"))
    entries = {entry.number: entry for entry in ledger.entries}
    with server.store.reading() as rows:
        audit.verify(rows)
        spends = rows.all(
            "SELECT charge, request, person, parts, number FROM {}spends WHERE dataset = 'visits'"
        )
        lines = {number for (number,) in rows.all("SELECT number FROM {}audit WHERE kind = 'charged'")}
        spent_of = rows.all("SELECT person, spent FROM {}purses WHERE dataset = 'visits' AND kind = 'alone'")
        people = dict(rows.all("SELECT id, name FROM {}people"))
        requests = rows.all("SELECT id FROM {}requests")
        numbers = {number for (number,) in rows.all("SELECT number FROM {}audit WHERE kind = 'asked'")}
    assert len(numbers) == len(requests)
    assert entries.keys() == {charge for charge, *_ in spends}
    assert len({request for _, request, *_ in spends}) == len(spends)
    assert {number for *_, number in spends} == lines
    for charge, _, person, parts, _ in spends:
        assert entries[charge].who == f"served:{people[person]}"
        assert parts == parts_of(share_of(parts)) == entries[charge].share * 10**12
    for person, spent in spent_of:
        assert spent == sum(parts for _, _, who, parts, _ in spends if who == person) <= parts_of(at_most)
    assert running.verify(server.project, None)[1] == []
    return len(entries), len(requests)
