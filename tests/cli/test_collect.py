"""``prdp collect``, from a new store to its result."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import PROGRAM, by_itself, finished, in_terminal, piped, quickly, write_study
from tests.collector.running import Server, reports_for

POLICY = ("--policy", "20 / visits", "--at-least", "1/100", "--at-most", "10")


def init(store: Path, *more: str) -> list[str]:
    return ["collect", "init", str(store), "--name", "visits", *POLICY, *more]


def test_a_study_goes_from_its_store_to_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, tickets = tmp_path / "s.collect", tmp_path / "tickets"
    made = quickly(*init(store, "--reports", "4", "--tickets", "6", "--tickets-to", str(tickets)))
    assert made.exit_code == 0, made.output
    token = next(
        line.strip() for line in made.stdout.splitlines() if len(line.strip()) == 64 and line[0] == " "
    )
    given = tickets.read_text(encoding="ascii").split()
    assert (len(set(given)), oct(tickets.stat().st_mode & 0o777), oct(store.stat().st_mode & 0o777)) == (
        6, "0o600", "0o600",
    )  # fmt: skip
    assert "0 of 4 reports" in quickly("collect", "status", str(store)).stdout
    assert quickly("collect", "result", str(store)).exit_code == 2
    with Server(store) as server:
        campaign = server.campaign()
        for ticket, report in zip(given[:3], reports_for(campaign, range(3)), strict=True):
            assert server.send(report, ticket).status == 201
        by_address = json.loads(quickly("collect", "status", server.url, "--json").stdout)
        assert by_address["rounds"][0]["reports"] == 3
        monkeypatch.delenv("PRDP_OPERATOR_TOKEN", raising=False)
        assert "PRDP_OPERATOR_TOKEN" in quickly("collect", "close", server.url).stderr
        monkeypatch.setenv("PRDP_OPERATOR_TOKEN", "wrong")
        assert "not the operator's token" in quickly("collect", "close", server.url).stderr
        monkeypatch.setenv("PRDP_OPERATOR_TOKEN", token)
        assert "done" in quickly("collect", "close", server.url).stdout
        from_server = quickly("collect", "result", server.url, "--json").stdout
    assert quickly("collect", "result", str(store), "--json").stdout == from_server
    assert json.loads(from_server)["answers"][0]["clients"] == 3
    assert "the 95 % interval of the noise" in quickly("collect", "result", str(store)).stdout


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--ask", "median"], "not known"),
        (["--ask", "sum", "--column", "pay"], "--bounds pay=LOW:HIGH"),
        (["--ask", "frequencies", "--column", "job"], "categories"),
        (["--within", "soon"], "90s, 30m, 24h or 7d"),
        (["--tickets", "5"], "--tickets-to FILE"),
        (["--reports", "0"], "closes after"),
        (["--share", "0.5x"], "share"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_nothing_is_made(
    tmp_path: Path, more: list[str], why: str
) -> None:
    ran = quickly(*init(tmp_path / "s.collect", *more))
    assert ran.exit_code == 2
    assert why in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_neither_a_store_nor_a_list_of_tickets_is_replaced(tmp_path: Path) -> None:
    store, tickets = tmp_path / "s.collect", tmp_path / "tickets"
    tickets.write_text("mine", encoding="ascii")
    ran = quickly(*init(store, "--tickets", "3", "--tickets-to", str(tickets)))
    assert "there already" in ran.stderr
    assert not store.exists()
    assert quickly(*init(store)).exit_code == 0
    again = quickly(*init(store, "--tickets", "3", "--tickets-to", str(tmp_path / "more")))
    assert "never replaced" in again.stderr
    assert not (tmp_path / "more").exists()
    assert tickets.read_text(encoding="ascii") == "mine"


def test_categories_bins_and_quantiles_are_distinguished_by_bounds(tmp_path: Path) -> None:
    for number, (more, reads) in enumerate(
        [
            (["--ask", "frequencies", "--column", "job", "--values", "a, b"], ["job", "visits"]),
            (
                ["--ask", "frequencies", "--column", "age", "--bounds", "age=0:120", "--values", "0,18,120"],
                ["age", "visits"],
            ),
            (["--ask", "quantiles", "--column", "pay", "--values", "0,1e3,1e6"], ["pay", "visits"]),
            (
                ["--ask", "mean", "--column", "pay", "--bounds", "pay=0:1e6", "--round-to", "1/100"],
                ["pay", "visits"],
            ),
        ]
    ):
        store = tmp_path / f"{number}.collect"
        assert quickly(*init(store, *more)).exit_code == 0
        assert json.loads(quickly("collect", "status", str(store), "--json").stdout)["reads"] == reads


@pytest.mark.slow
def test_a_store_that_is_not_there_is_stated(tmp_path: Path) -> None:
    for command in ("serve", "status", "close", "result"):
        ran = by_itself("collect", command, str(tmp_path / "nothing"))
        assert ran.returncode == 2
        assert "there is no collector's store" in ran.stderr
        assert "Traceback" not in ran.stderr
    assert "cannot be reached" in by_itself("collect", "status", "http://127.0.0.1:1").stderr


def test_progress_is_shown_in_a_terminal_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    write_study(tmp_path / "s.collect")
    child = in_terminal(
        sys.executable, "-c", PROGRAM, "collect", "serve", str(tmp_path / "s.collect"), "--port", "0"
    )
    child.expect("is served at http://127.0.0.1:")
    child.expect("round 1: 0 reports so far")
    os.kill(child.pid, signal.SIGINT)
    assert "Traceback" not in finished(child)


class Other(BaseHTTPRequestHandler):
    """Something else than a collector, which answers everything with the same bytes."""

    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_GET  # noqa: N815  (http.server's name)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(stated: object) -> Iterator[str]:
    """Serve some JSON, or bytes."""
    body = stated if isinstance(stated, bytes) else json.dumps(stated).encode()
    with HTTPServer(("127.0.0.1", 0), type("Answering", (Other,), {"body": body})) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.005,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


ROUND = {"number": 1, "campaign": "ab" * 32, "share": "1/2", "reports": 3, "closed": False,
         "closes_at": None, "threshold_budget": "1/4"}  # fmt: skip
STUDY: dict[str, Any] = {"name": "n", "ask": "count", "state": "open", "share": "1/2", "reads": ["visits"],
                         "closing": "it closes", "closes_at_reports": 10, "rounds": [ROUND]}  # fmt: skip
RESULT: dict[str, Any] = {"answers": [{"question": "count", "clients": 3, "share": "1", "method": "bits",
                                       "value": 3.0, "interval": [1.0, 5.0], "parts": [],
                                       "choices": [["a", "b"]], "unheard": "", "caveat": "no"}]}  # fmt: skip
HOSTILE: list[Any] = ["\x1b[2J\u202e", "", -1, 1e300, 10**30, None, [], "1/0", "9" * 5000]


def changed(facts: Any, value: Any) -> Iterator[Any]:
    """Yield facts with one of them, on any level, replaced."""
    places = facts.items() if isinstance(facts, dict) else enumerate(facts)
    for place, held in places:
        others = [value, *(changed(held, value) if isinstance(held, dict | list) else ())]
        for other in others:
            copy = facts.copy()
            copy[place] = other
            yield copy


@pytest.mark.slow
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:12])
def test_whatever_another_server_answers_is_refused_or_shown_harmlessly(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRDP_OPERATOR_TOKEN", "hush")
    asked = [("status", each) for each in changed(STUDY, value)] + [
        ("result", each) for each in changed(RESULT, value)
    ]
    for command, stated in [*asked, ("close", value), ("result", value), ("status", {})]:
        with answering(stated) as url:
            ran = piped("collect", command, url)
        assert ran.returncode in {0, 2}, stated
        assert all(letter.isprintable() or letter == "\n" for letter in ran.stdout + ran.stderr), stated
        assert len(ran.stdout) < 10**5


@pytest.mark.parametrize("body", [b"[" * 10**5, b"\xff", b"", b'{"answers": NaN}', b"[1, 2]", b'[["a", 1]]'])
@pytest.mark.parametrize("command", ["status", "result"])
def test_what_is_no_json_object_is_no_collector_s_answer(command: str, body: bytes) -> None:
    with answering(body) as url:
        assert "does not answer as a collector" in " ".join(piped("collect", command, url).stderr.split())


def test_the_facts_that_are_changed_above_are_those_of_a_collector(tmp_path: Path) -> None:
    store = tmp_path / "s.collect"
    quickly(*init(store, "--reports", "1", "--tickets", "1", "--tickets-to", str(tmp_path / "tickets")))
    found = json.loads(quickly("collect", "status", str(store), "--json").stdout)
    assert set(STUDY) <= set(found)
    assert set(ROUND) == set(found["rounds"][0])
    with answering(STUDY) as url, answering(RESULT) as other:
        assert "3 of 10 reports" in piped("collect", "status", url).stdout
        assert "3 clients" in piped("collect", "result", other).stdout
