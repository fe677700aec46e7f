"""A server in real processes, killed and asked by many at once, on a file and on PostgreSQL."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.server.running import PATIENCE, ROOT, Running, accounts_agree, begun
from tests.server.serving import COUNT, write_project

pytestmark = pytest.mark.slow

ANALYSTS = tuple(f"a{k}" for k in range(4))


@pytest.fixture(params=["file", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Running]:
    """Serve a project whose ledgers are files, or are in a database; each analyst may spend 0.05."""
    places: tuple[str, str] = ("", "")
    if request.param == "postgres":
        make: Callable[[], str] = request.getfixturevalue("new_database")
        address = make()
        mark = "&" if "?" in address else "?"
        places = (f"{address}{mark}ledger=visits", f"{address}{mark}ledger=loans")
    with begun(write_project(tmp_path, *places), *ANALYSTS, alone="0.05") as made:
        yield made


def test_kills_retries_and_crowds_never_spend_more_than_the_purse_nor_lose_an_audit_line(
    server: Running,
) -> None:
    chance = random.Random(7)

    def ask(who: str) -> set[int]:
        statuses = set()
        for turn in range(7):  # 0.07, and 0.05 is there
            statement = f"{COUNT} WHERE days < {10 * turn + ANALYSTS.index(who) + 1}"
            for _ in range(2):  # the same key: a client that heard nothing
                statuses.add(server.question(who, statement, "0.01", f"key{turn}")[0])
        return statuses

    def kill() -> None:
        for turn in range(6):
            time.sleep(0.5 + 3 * chance.random())
            server.kill(("front", "engine")[turn % 2])

    killing = threading.Thread(target=kill)
    killing.start()
    with ThreadPoolExecutor(len(ANALYSTS)) as pool:
        statuses = set().union(*pool.map(ask, ANALYSTS))
    killing.join()
    assert {202, 402} <= statuses <= {200, 202, 402, 429, 503}
    with server.store.reading() as rows:
        waiting = [number for (number,) in rows.all("SELECT id FROM {}requests")]
        whose = dict(rows.all("SELECT r.id, p.name FROM {}requests r JOIN {}people p ON p.id = r.person"))
    answers = {}
    for number in waiting:
        found = server.published(whose[number], number)
        if found["release"]:
            answers[number] = server.ask("GET", f"/v1/releases/{number}", who=whose[number])[1]
    charges, requests = accounts_agree(server, at_most="0.05")
    assert charges
    assert requests <= len(ANALYSTS) * 5
    for number, answer in list(answers.items())[:5]:  # asked again, under another key
        status, again = server.question(
            whose[number], answer["statement"], answer["share"], f"again{number[:8]}"
        )
        assert (status, again["release"]) == (200, number)
        assert server.ask("GET", f"/v1/releases/{number}", who=whose[number])[1] == answer
    assert accounts_agree(server, at_most="0.05") == (charges, requests)


def test_two_hundred_parallel_sessions_spend_one_purse_once(server: Running) -> None:
    body = {"statement": COUNT, "share": "0.02"}
    plan = server.ask("POST", "/v1/plans", body, "a0")[1]["plan"]
    different = [{"statement": f"{COUNT} WHERE days < {k}", "share": "0.02"} for k in range(1, 81)]
    planned = [
        one | {"plan": server.ask("POST", "/v1/plans", one, "a0")[1]["plan"]} for one in different[:20]
    ]

    def send(number: int) -> tuple[int, str]:
        if number % 2:
            sent = (body | {"plan": plan}, f"same{number}")
        else:
            sent = (planned[number % 20], f"other{number}")
        status, said = server.ask("POST", "/v1/requests", sent[0], "a0", idempotency_key=sent[1])
        return status, said.get("id", said.get("code"))

    with ThreadPoolExecutor(50) as pool:
        said = list(pool.map(send, range(200)))
    assert {status for status, _ in said} <= {200, 202, 402, 429}
    admitted = {number for status, number in said if status == 202}
    assert len(admitted) == 2  # 0.02 each, of 0.05
    for number in admitted:
        server.published("a0", number)
    assert accounts_agree(server, at_most="0.05")[1] == 2


def test_who_hangs_up_has_asked_all_the_same(server: Running) -> None:
    body = {"statement": COUNT, "share": "0.01"}
    plan = server.ask("POST", "/v1/plans", body, "a1")[1]["plan"]
    raw = json.dumps(body | {"plan": plan})
    headers = {"authorization": f"Bearer {server.tokens['a1']}", "content-type": "application/json",
               "idempotency-key": "gone"}  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", "/v1/requests", raw, headers)
    connection.close()
    time.sleep(1)
    status, found = server.ask("POST", "/v1/requests", json.loads(raw), "a1", idempotency_key="gone")
    assert status in {200, 202}
    assert server.published("a1", found["id"])["release"]
    assert accounts_agree(server, at_most="0.05") == (1, 1)


def test_a_second_server_and_an_unknown_head_are_refused(server: Running) -> None:
    def started(*options: str) -> str:
        command = [sys.executable, "-m", "prdp", "serve", "--project", str(server.project), "--port", "0"]
        ran = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=False, timeout=120,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        )  # fmt: skip
        assert ran.returncode == 2
        return ran.stderr

    assert "another server of this project is running" in started()
    server.stop()
    assert "head that was kept" in started("--expect-head", "f" * 64)
    server.start()


def test_a_server_behind_a_unix_socket_has_no_port(tmp_path: Path) -> None:
    place = tmp_path / "prdp.sock"
    made = begun(write_project(tmp_path), "a0", alone="0.05")
    with closing(socket.socket(socket.AF_UNIX)) as left_behind:
        left_behind.bind(str(place))
    command = [sys.executable, "-m", "prdp", "serve", "--project", str(made.project), "--socket", str(place)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    refused = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (refused.returncode, "--url https://HOST" in refused.stderr) == (2, True)
    command[-1] = str(made.project)
    refused = subprocess.run(
        [*command, "--url", "https://stats.example"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert (refused.returncode, "prdp.toml cannot be listened on" in refused.stderr) == (2, True)
    command[-1] = str(place)
    started = subprocess.Popen(
        [*command, "--url", "https://stats.example"],
        stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip

    def status() -> int:
        connection = http.client.HTTPConnection("stats.example")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(place))
        headers = {"authorization": f"Bearer {made.tokens['a0']}"}
        with closing(connection):
            connection.request("GET", "/v1/me", headers=headers)
            with connection.getresponse() as answer:
                return answer.status

    try:
        assert started.stderr is not None
        assert "https://stats.example/" in started.stderr.readline()
        assert stat.S_IMODE(place.stat().st_mode) == 0o660
        opened = {os.readlink(path) for path in Path(f"/proc/{started.pid}/fd").iterdir()}
        lines = [
            line for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()
        ]
        assert not opened & {f"socket:[{line.split()[9]}]" for line in lines}
        assert status() == 200
    finally:
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=PATIENCE)
