"""Real parts for the tests of the collector: a server in a process of its own, clients, raw connections."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import prdp
from prdp.collector.plan import Closing, StudyPlan
from prdp.collector.rounds import Begun, begin
from prdp.local import Campaign, Client, Report

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "prdp" / "collector" / "static"
VECTORS = ROOT / "src" / "prdp" / "collector" / "vectors" / "v1.json"
PATIENCE = 60.0
"""How many seconds a busy machine may take for what takes one."""

POLICY = prdp.Policy("20 / visits", at_least="1/100", at_most=10)
JOBS = ("student", "retired", "employed")


def jobs_plan(reports: int | None = None, **more: Any) -> StudyPlan:
    """Return a study of two rounds."""
    given: dict[str, Any] = {"column": "job", "categories": JOBS, "closing": Closing(reports), **more}
    return StudyPlan("jobs 2026", "frequencies", POLICY, "1", **given)


def count_plan(reports: int | None = None, **more: Any) -> StudyPlan:
    """Return a study of one round."""
    return StudyPlan("visits 2026", "count", POLICY, "1/2", closing=Closing(reports, **more))


def begun(address: str | Path, plan: StudyPlan, tickets: int = 20) -> Begun:
    return begin(address, plan, tickets=tickets, now=int(time.time()))


def record(number: int) -> dict[str, Any]:
    """Return the record of a made-up client."""
    return {"visits": 1 + number % 7, "job": JOBS[number % 3]}


@dataclass
class Answer:
    """What a server said."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a refusal; empty for none."""
        return str(self.facts.get("code", ""))


class Server:
    """A collector in a process of its own, as ``prdp collect serve`` starts it."""

    def __init__(self, address: str | Path, *options: str, port: int = 0, program: str | None = None) -> None:
        self.address, self._options, self.port, self._program = str(address), options, port, program
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        program = self._program or "from prdp.cli import main; main()"
        command = ["collect", "serve", self.address, "--port", str(self.port), "--rate", "0", *self._options]
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.argv[0] = 'prdp'; {program}", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        )
        assert self.process.stderr is not None
        reported = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", reported)
        if found is None:
            raise AssertionError(reported + self.process.communicate()[1])
        self.port = int(found[1])

    def kill(self) -> None:
        """End it as a crash does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def stop(self) -> str:
        """End it kindly; return what it printed."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE)
        return out + err

    def ask(
        self, path: str, body: bytes | str | None = None, *, method: str | None = None, **headers: str
    ) -> Answer:
        """Ask for something; underscores in names of headers are dashes."""
        data = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(self.url + path, data=data, headers=named, method=method)  # noqa: S310  (http)
        try:
            with urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                return Answer(answer.status, answer.read(), {k.lower(): v for k, v in answer.headers.items()})
        except HTTPError as error:
            with error:
                return Answer(error.code, error.read(), {k.lower(): v for k, v in error.headers.items()})

    def campaign(self) -> Campaign:
        return Campaign.from_json(self.ask("/v1/campaign").body)

    def send(
        self, report: Report | bytes, ticket: str | None, kind: str = "application/vnd.prdp.report"
    ) -> Answer:
        """Send one report."""
        given = {} if ticket is None else {"authorization": f"Bearer {ticket}"}
        return self.ask("/v1/reports", bytes(report), content_type=kind, **given)

    def raw(self) -> socket.socket:
        """Return a bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    @property
    def memory(self) -> int:
        """How many bytes the process has in memory."""
        assert self.process is not None
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def reports_for(campaign: Campaign, numbers: Sequence[int]) -> list[Report]:
    """Return reports of made-up clients."""
    return [Client().report(campaign, record(number)) for number in numbers]


def heard(connection: socket.socket) -> bytes:
    """Return all that comes until the other end closes."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)
