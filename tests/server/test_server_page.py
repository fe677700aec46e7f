"""What docs/server.md says of the server is so: its commands, its Python, its roles."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prdp
from prdp.remote import ApprovalNeeded, RemoteServer
from prdp.server.front import ROUTES
from tests.collector.running import PATIENCE, ROOT
from tests.server.served_project import PASSWORD, ServedProject

PAGE = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
COMMANDS = [
    line.replace("\\\n", " ").removeprefix("$ ")
    for block in BLOCKS[:2]
    for line in re.findall(r"^\$ (?:.*\\\n)*.*$", block, flags=re.MULTILINE)
]
(PYTHON,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
ADDRESS = "http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProject]:
    with ServedProject(tmp_path_factory.mktemp("served"), deadline=1) as project:
        yield project


@pytest.fixture(scope="module")
def token(served: ServedProject) -> str:
    return served.token("ana")


def environment(folder: Path) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if name != "PRDP_TOKEN"}
    return known | {"PYTHONPATH": str(ROOT / "src"), "XDG_CONFIG_HOME": str(folder / "config")}


def ran(folder: Path, command: str, typed: str = "") -> str:
    """Run a command of the page; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder, env=environment(folder), input=typed, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.slow
def test_a_newcomer_s_commands_lead_from_a_file_to_an_analyst_s_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(20261119)
    frame = {
        "balance": rng.integers(1, 50_000, 5000),
        "age": rng.integers(18, 90, 5000),
        "job": rng.choice(["chef", "clerk", "nurse"], 5000),
    }
    pd.DataFrame(frame).to_csv(tmp_path / "accounts.csv", index=False)
    install, init, check, serve_init, invite, serve, login, ask = COMMANDS
    assert install == "pip install 'prdp[server]'"
    printed = [ran(tmp_path, command) for command in (init, check, serve_init, invite)]
    assert "/join/" in printed[2]
    server = subprocess.Popen(
        [sys.executable, "-m", *serve.split(), "--port", "0"], cwd=tmp_path, env=environment(tmp_path),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stderr is not None
        lines = iter(server.stderr.readline, "")
        url = next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        ran(tmp_path, login.replace(ADDRESS, url), f"{printed[3].strip()}\n{PASSWORD}\n")
        answer = ran(tmp_path, ask.replace(ADDRESS, url))
        assert [line.split()[0] for line in answer.splitlines()[:4]] == ["job", "chef", "clerk", "nurse"]
        assert "costs nothing" not in ran(tmp_path, f"{ask.replace(ADDRESS, url)} --dry-run").splitlines()[1]
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.delenv("PRDP_TOKEN", raising=False)
        with redirect_stdout(io.StringIO()) as shown:
            exec(compile(PYTHON.replace(ADDRESS, url), "server.md", "exec"), {})  # noqa: S102
        count, job, cost, left = shown.getvalue().splitlines()
        assert count.startswith("count where age >= 40: ")
        assert (job, left) == ("chef", "True")
        assert cost.startswith("purse ")
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=PATIENCE)


@pytest.mark.slow
def test_a_connection_keeps_pep_249_and_serves_pandas(served: ServedProject, token: str) -> None:
    connection: Any = prdp.connect(served.url, share="0.01", token=token)
    assert connection.tables == ["accounts"]
    cursor = connection.cursor()
    cursor.execute("SELECT branch, COUNT(*) AS n FROM accounts WHERE age > ? GROUP BY branch", [40])
    assert [name for name, *_ in cursor.description] == ["branch", "n"]
    rows = cursor.fetchall()
    assert len(rows) == cursor.rowcount == len(served.keys)
    text = "SELECT branch, COUNT(*) AS n FROM accounts WHERE age > 40 GROUP BY branch"
    with pytest.warns(UserWarning, match="pandas"):
        frame = pd.read_sql(text, connection)
    assert list(frame.itertuples(index=False, name=None)) == rows  # the standing answer
    with pytest.raises(prdp.InvalidRequest, match="share"):
        prdp.connect(served.url, token=token).execute("SELECT COUNT(*) FROM accounts")


@pytest.mark.slow
def test_releases_come_whole_and_are_charged_once(served: ServedProject, token: str) -> None:
    accounts = prdp.connect(served.url, token=token).table("accounts")
    before = accounts.remaining
    release = accounts.filter("age >= 40").mean("balance", share="0.02")
    assert accounts.filter("age >= 40").mean("balance", share="0.02") == release
    assert before - accounts.remaining == Fraction("0.02")
    assert release.share == Fraction("0.02")
    assert release.interval()[0] <= release.value <= release.interval()[1]
    assert [part.question for part in release.parts][1] == "count of balance where age >= 40"
    grouped = accounts.group_by("branch").agg(n=prdp.count(), m=prdp.mean("age"), share="0.02")
    assert grouped["north", "n"].question == "count for branch = north"
    assert "nothing" in accounts.filter("age >= 40").explain(prdp.mean("balance"), share="0.02")


@pytest.mark.slow
def test_refusals_of_a_server_are_the_library_s_errors(served: ServedProject, token: str) -> None:
    accounts = prdp.connect(served.url, token=token).table("accounts")
    with pytest.raises(prdp.InvalidRequest, match="there is no column"):
        accounts.sql("SELECT AVG(salary) FROM accounts", share="0.01")
    with pytest.raises(prdp.BudgetExhausted):
        accounts.count(share="0.9")
    accounts.filter("age > 21").count(share="0.2")
    with pytest.raises(ApprovalNeeded, match="waits for a steward"):
        accounts.filter("age > 20").count(share="0.35")
    with pytest.raises(prdp.InvalidRequest, match="sign in"):
        RemoteServer(served.url, "prdp_wrong").get("/v1/me")


def test_the_roles_of_the_page_are_those_of_the_routes() -> None:
    rows = re.findall(r"^\| (.*?) \|(.*)\|$", PAGE, flags=re.MULTILINE)
    table = {what: [cell.strip() for cell in cells.split("|")] for what, cells in rows}
    roles = ("analyst", "steward", "owner", "auditor")
    routes = {
        "asks and spends": ("POST", "/v1/requests"),
        "decides about others' requests": ("POST", "/v1/requests/{request}/decision"),
        "sets purses of others": ("PUT", "/v1/people/{person}/purses/{table}"),
        "invites and disables people": ("POST", "/v1/people"),
        "reads the audit": ("GET", "/v1/audit"),
    }
    for what, place in routes.items():
        (route,) = [one for one in ROUTES if (one.method, one.path) == place]
        assert table[what] == ["yes" if role in route.roles else "no" for role in roles]
    (answers,) = [one for one in ROUTES if one.path == "/v1/releases/{release}"]
    assert answers.roles == {"analyst", "steward", "owner"}


def test_the_page_s_lines_are_short_and_its_links_lead_somewhere() -> None:
    assert max(map(len, PAGE.splitlines())) <= 120
    for target in re.findall(r"\]\(([\w./]+)(?:#[\w-]+)?\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target


def test_the_container_and_the_unit_run_what_the_page_says() -> None:
    unit = (ROOT / "deploy" / "prdp.service").read_text(encoding="utf-8")
    assert "prdp serve --proxy 127.0.0.1 --url https://stats.example" in PAGE
    assert "prdp serve --proxy 127.0.0.1 --url https://stats.example" in unit
    container = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert {"PRDP_HOST", "PRDP_PROXY"} <= set(re.findall(r"-e (\w+)=", PAGE))
    assert re.search(r"^USER prdp$", container, flags=re.MULTILINE)
