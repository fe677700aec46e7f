"""A server of made-up records in processes of its own, as ``prdp serve`` starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from prdp.remote import RemoteServer
from prdp.server import running
from tests.collector.running import PATIENCE, ROOT

PASSWORD = "correct horse battery"  # noqa: S105  (of made-up people)
HOSTILE = "<script>alert(1)</script>\"'&lt;"
"""A key of the table, whose text must never be markup."""

PEOPLE = {"ana": "analyst", "stew": "steward", "olga": "owner", "audie": "auditor"}
PURSE = {"alone": "0.5", "approved": "0.4"}


@dataclass
class ServedProject:
    """A project with an invitation for each role, and its server.

    Attributes:
        folder: Where it is laid out.
        keys: The keys of the column ``branch``.
        deadline: The seconds that an answer takes.
    """

    folder: Path
    keys: tuple[str, ...] = ("north", "south", HOSTILE)
    deadline: int = 2
    invitations: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None
    url: str = ""

    def __enter__(self) -> Self:
        lay_out(self.folder, self.keys)
        path = self.folder / "prdp.toml"
        self.invitations = {"olga": running.init(path, "olga")}
        for name, role in PEOPLE.items():
            granted: Mapping[str, Mapping[str, str]] = {"accounts": PURSE} if role == "analyst" else {}
            if role != "owner":
                self.invitations[name] = running.invite(path, name, role, granted)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server, and wait until it listens."""
        command = ["serve", "--port", "0", "--rate", "0", "--deadline", str(self.deadline)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "prdp", *command],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"},
        )
        assert self.process.stderr is not None
        reported = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", reported)
        if found is None:
            raise AssertionError(reported + self.process.communicate()[1])
        self.url = found[0]

    def stop(self) -> None:
        """Stop the server."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.communicate(timeout=PATIENCE)

    def token(self, name: str) -> str:
        """Accept a person's invitation as a program does, and return an access token."""
        server = RemoteServer(self.url)
        path = f"/v1/invitations/{self.invitations[name]}"
        reply = server.call("POST", path, {"password": PASSWORD})
        session = {"cookie": reply.headers["set-cookie"].partition(";")[0], "origin": self.url}
        wanted: dict[str, Any] = {"label": "tests", "scopes": ["read", "ask"], "days": 1}
        return str(server.call("POST", "/v1/tokens", wanted, headers=session).body["token"])


def lay_out(folder: Path, keys: tuple[str, ...], records: int = 4000) -> None:
    """Write made-up accounts and their project."""
    rng = np.random.default_rng(20261119)
    columns = {
        "balance": rng.integers(1, 20_000, records),
        "age": rng.integers(18, 100, records),
        "branch": rng.choice(list(keys), records),
    }
    cells = (
        ",".join('"' + str(cell).replace('"', '""') + '"' for cell in row)
        for row in zip(*columns.values(), strict=True)
    )
    (folder / "accounts.csv").write_text("\n".join(["balance,age,branch", *cells]) + "\n", encoding="utf-8")
    listed = ", ".join('"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"' for key in keys)
    (folder / "prdp.toml").write_text(
        '[tables.accounts]\nsource = "accounts.csv"\npolicy = "10000 / balance"\nat_least = 0.1\n'
        'at_most = 10\ntypes = { balance = "BIGINT", age = "BIGINT", branch = "VARCHAR" }\n'
        f"bounds = {{ balance = [0, 20000], age = [18, 120] }}\nkeys = {{ branch = [{listed}] }}\n",
        encoding="utf-8",
    )
