"""A real server in a process of its own: what it takes, what it refuses, and what it never writes down."""

from __future__ import annotations

import json
import re
import select
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prdp.collector.client import fetch_campaign, send
from prdp.collector.rounds import Begun
from prdp.collector.wire import BATCH_TYPE, JSON_TYPE, REPORT_TYPE, STATUS, as_json, batch_bytes
from prdp.errors import CollectorError
from prdp.local import Campaign, Client, Collector, Estimate, Report
from tests.collector.running import PATIENCE, Server, begun, count_plan, heard, jobs_plan, record, reports_for

IMPATIENT = (
    "from prdp.collector.server import serving; from prdp.serving import connections; "
    "from prdp.cli import main; "
    "serving.Patience = lambda: connections.Patience(head_seconds=1, body_seconds=1, idle_seconds=1, "
    "answer_seconds=3); main()"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Begun]]:
    """Serve a study that stays open; each test uses tickets of its own."""
    path = tmp_path_factory.mktemp("served") / "study.collect"
    known = begun(path, jobs_plan(), 200)
    with Server(path, program=IMPATIENT) as server:
        yield server, known


@pytest.fixture
def server(made: tuple[Server, Begun]) -> Server:
    return made[0]


@pytest.fixture
def tickets(made: tuple[Server, Begun], request: pytest.FixtureRequest) -> list[str]:
    """Return ten tickets that no other test has."""
    store = made[1].__class__
    taken: int = getattr(request.module, "taken", 0)
    request.module.taken = taken + 10
    assert store is Begun
    return list(made[1].tickets[taken : taken + 10])


def count_of(server: Server) -> int:
    return int(server.ask("/v1/study").facts["rounds"][-1]["reports"])


def test_a_report_is_acknowledged_and_the_same_bytes_again_count_once(
    server: Server, tickets: list[str]
) -> None:
    campaign, before = server.campaign(), count_of(server)
    (report,) = reports_for(campaign, [1])
    first, again = server.send(report, tickets[0]), server.send(report, tickets[0])
    assert (first.status, first.facts) == (201, {"counted": True, "again": False})
    assert (again.status, again.facts) == (200, {"counted": True, "again": True})
    as_text = server.send(as_json(campaign, report).encode(), tickets[0], JSON_TYPE)
    assert (as_text.status, as_text.facts) == (200, {"counted": True, "again": True})
    assert count_of(server) == before + 1


def test_a_batch_says_of_each_report_what_became_of_it(server: Server, tickets: list[str]) -> None:
    campaign, before = server.campaign(), count_of(server)
    reports = reports_for(campaign, range(3))
    packed = batch_bytes(campaign.digest, list(zip(tickets, reports, strict=False)))
    facts = server.ask("/v1/batches", packed, content_type=BATCH_TYPE).facts
    assert [each["counted"] for each in facts["reports"]] == [True] * 3
    good, bad = json.loads(as_json(campaign, reports[0])), json.loads(as_json(campaign, reports[1]))
    bad["outcomes"] = bad["outcomes"][1:]
    entries = [
        {"ticket": tickets[0], "report": good},
        {"ticket": tickets[1], "report": bad},
        {"report": good},
        {"ticket": "00" * 16, "report": good},
        "nothing",
    ]
    text = json.dumps({"prdp": "reports", "version": 1, "reports": entries})
    found = server.ask("/v1/batches", text, content_type=JSON_TYPE).facts["reports"]
    assert [each["code"] for each in found] == [
        None,
        "wrong_form",
        "no_ticket",
        "unknown_ticket",
        "malformed",
    ]
    assert found[0] == {"counted": True, "again": True, "code": None}
    assert count_of(server) == before + 3


def changed(report: dict[str, Any], **facts: Any) -> str:
    return json.dumps({**report, **facts})


def wrong_bodies(campaign: Campaign) -> dict[str, tuple[str, bytes | str, str]]:
    """Return bodies that are wrong in one way each, with the code that they should meet."""
    (report,) = reports_for(campaign, [0])
    whole, facts = bytes(report), json.loads(as_json(campaign, report))
    other = bytes(Report(bytes(32), report.token, report.payload))
    nan = as_json(campaign, report).replace('"outcomes":[', '"outcomes":[NaN,')
    full = bytes(Report(campaign.digest, report.token, b"\xff" * len(report.payload)))
    return {
        "nothing": (REPORT_TYPE, b"", "malformed"),
        "cut": (REPORT_TYPE, whole[:40], "malformed"),
        "noise": (REPORT_TYPE, b"\x00" * 100, "malformed"),
        "version": (REPORT_TYPE, b"prdp\x02" + whole[5:], "wrong_version"),
        "campaign": (REPORT_TYPE, other, "wrong_campaign"),
        "short": (REPORT_TYPE, whole[:-1], "wrong_form"),
        "long": (REPORT_TYPE, whole + b"\x00", "wrong_form"),
        "padding": (REPORT_TYPE, full, "wrong_form"),
        "no JSON": (JSON_TYPE, "{", "malformed"),
        "a list": (JSON_TYPE, "[]", "malformed"),
        "deep": (JSON_TYPE, "[" * 60_000, "malformed"),
        "not UTF-8": (JSON_TYPE, b'{"\xff":1}', "malformed"),
        "NaN": (JSON_TYPE, nan, "malformed"),
        "infinity": (JSON_TYPE, nan.replace("NaN", "-Infinity"), "malformed"),
        "a float": (JSON_TYPE, changed(facts, outcomes=[0.5] * 10), "malformed"),
        "a whole float": (JSON_TYPE, changed(facts, outcomes=[1.0] * 10), "wrong_form"),
        "a power of ten": (
            JSON_TYPE,
            changed(facts).replace('"outcomes": [', '"outcomes": [1e0, '),
            "wrong_form",
        ),
        "a truth value": (JSON_TYPE, changed(facts, outcomes=[True] * 10), "malformed"),
        "two": (JSON_TYPE, changed(facts, outcomes=[2] * 10), "wrong_form"),
        "too few": (JSON_TYPE, changed(facts, outcomes=[]), "wrong_form"),
        "endless": (JSON_TYPE, changed(facts, outcomes=["9" * 50_000]), "malformed"),
        "text version": (JSON_TYPE, changed(facts, version="1"), "malformed"),
        "JSON version": (JSON_TYPE, changed(facts, version=2), "wrong_version"),
        "JSON campaign": (JSON_TYPE, changed(facts, campaign="0" * 64), "wrong_campaign"),
        "capitals": (JSON_TYPE, changed(facts, campaign=facts["campaign"].upper() + "A"), "malformed"),
        "more": (JSON_TYPE, changed(facts, more=1), "malformed"),
        "twice": (JSON_TYPE, changed(facts)[:-1] + ',"version":1}', "malformed"),
        "type": ("text/plain", whole, "wrong_type"),
        "large": (REPORT_TYPE, whole + bytes(200_000), "too_large"),
        "huge": (REPORT_TYPE, bytes(3_000_000), "too_large"),
    }


def test_what_is_wrong_is_refused_by_its_code_and_nothing_is_lost(server: Server, tickets: list[str]) -> None:
    campaign, before = server.campaign(), count_of(server)
    for name, (kind, body, code) in wrong_bodies(campaign).items():
        answer = server.ask("/v1/reports", body, content_type=kind, authorization=f"Bearer {tickets[0]}")
        assert (name, answer.code, answer.status) == (name, code, STATUS[code])
        assert set(answer.facts) == {"code", "message"}
    (report,) = reports_for(campaign, [0])
    assert server.send(report, None).code == "no_ticket"
    assert server.send(report, None).headers["www-authenticate"] == "Bearer"
    for ticket in ("", "x", tickets[0].upper() + "0", "00" * 16, "'; DROP TABLE prdp_tickets; --"):
        assert server.send(report, ticket).code == "unknown_ticket"
    assert count_of(server) == before
    assert server.send(report, tickets[0]).status == 201


@pytest.mark.parametrize(
    ("path", "method"), [("/v2/reports", "GET"), ("/static/../app.py", "GET"), ("/docs", "GET")]
)
def test_there_is_nothing_elsewhere(server: Server, path: str, method: str) -> None:
    assert server.ask(path, method=method).code == "not_found"


def test_another_method_is_refused(server: Server) -> None:
    answer = server.ask("/v1/reports", method="DELETE")
    assert (answer.status, answer.code, answer.headers["allow"]) == (405, "wrong_method", "POST")


def test_the_operator_alone_gives_tickets_out_and_closes(server: Server, made: tuple[Server, Begun]) -> None:
    token = made[1].operator_token
    wanted = json.dumps({"count": 3})
    for path, body in (("/v1/operator/close", b""), ("/v1/operator/tickets", wanted)):
        assert server.ask(path, body, content_type=JSON_TYPE).code == "no_operator"
        for wrong in ("", token[:-1], token.upper(), made[1].tickets[0]):
            answer = server.ask(path, body, content_type=JSON_TYPE, authorization=f"Bearer {wrong}")
            assert (answer.status, answer.code) == (403, "wrong_operator")
    answer = server.ask(
        "/v1/operator/tickets", wanted, content_type=JSON_TYPE, authorization=f"Bearer {token}"
    )
    (report,) = reports_for(server.campaign(), [5])
    assert len(answer.facts["tickets"]) == 3
    assert server.send(report, answer.facts["tickets"][0]).status == 201
    wrong_numbers: list[Any] = [{"count": 0}, {"count": 10**9}, {"count": "3"}, {"number": 3}, []]
    for many in wrong_numbers:
        answer = server.ask(
            "/v1/operator/tickets", json.dumps(many), content_type=JSON_TYPE, authorization=f"Bearer {token}"
        )
        assert answer.code == "malformed"


def test_a_campaign_is_found_by_its_content_hash(server: Server) -> None:
    campaign = server.campaign()
    found = server.ask(f"/v1/campaigns/{campaign.digest.hex()}")
    assert found.body == campaign.to_json().encode()
    assert server.ask(f"/v1/campaigns/{'0' * 64}").code == "not_found"


def test_a_head_that_never_ends_is_given_up(server: Server) -> None:
    with server.raw() as idle, server.raw() as slow:
        slow.sendall(b"POST /v1/reports HTTP/1.1\r\nhost: x\r\n")
        assert b" 408 " in heard(slow)
        assert b"too_slow" in heard(idle)


def test_a_head_without_end_is_refused(server: Server) -> None:
    with server.raw() as endless:
        try:
            for _ in range(100):
                endless.sendall(b"GET / HTTP/1.1\r\n" + b"a: " + b"b" * 8000 + b"\r\n")
        except (ConnectionResetError, BrokenPipeError):
            return
        assert heard(endless)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431", b"")


def test_a_body_of_two_lengths_or_another_encoding_is_refused(server: Server, tickets: list[str]) -> None:
    """A front and the collector could take different parts of it for the next request."""
    campaign, before = server.campaign(), count_of(server)
    (report,) = reports_for(campaign, [4])
    with server.raw() as both:
        start = head(len(bytes(report)), tickets[0]).replace(
            b"\r\n\r\n", b"\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        both.sendall(start + b"0\r\n\r\nGET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n")
        stated = heard(both)
        assert stated.startswith(b"HTTP/1.1 400")
        assert stated.count(b"HTTP/1.1") == 1
    named = {"authorization": f"Bearer {tickets[0]}"}
    packed = server.ask(
        "/v1/reports", bytes(report), content_type=REPORT_TYPE, content_encoding="gzip", **named
    )
    assert packed.code == "wrong_type"
    wide = as_json(campaign, report).encode("utf-16")
    assert server.ask("/v1/reports", wide, content_type=JSON_TYPE, **named).code == "malformed"
    assert count_of(server) == before


def head(length: int, ticket: str) -> bytes:
    return (
        f"POST /v1/reports HTTP/1.1\r\nhost: x\r\ncontent-type: {REPORT_TYPE}\r\ncontent-length: {length}\r\n"
        f"authorization: Bearer {ticket}\r\n\r\n"
    ).encode()


def test_a_body_that_never_ends_is_given_up(server: Server, tickets: list[str]) -> None:
    with server.raw() as slow:
        slow.sendall(head(1000, tickets[0]) + b"prdp")
        stated = heard(slow)
        assert stated.startswith(b"HTTP/1.1 408")
        assert b"too_slow" in stated


@pytest.mark.parametrize("path", ["reports", "batches", "operator/tickets", "operator/close", "elsewhere"])
def test_a_body_of_any_length_is_not_kept_in_memory(server: Server, path: str) -> None:
    """Nobody has to know a ticket or a token to send one."""
    before, most = server.memory, 0
    part = b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"
    head = f"POST /v1/{path} HTTP/1.1\r\nhost: x\r\ncontent-type: {JSON_TYPE}\r\n"
    with server.raw() as flood:
        flood.sendall(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        with suppress(ConnectionError):
            for _ in range(100):
                flood.sendall(part)
                most = max(most, server.memory - before)
    assert most < 32 << 20


def test_the_operator_s_request_is_short_in_time_and_json(server: Server, made: tuple[Server, Begun]) -> None:
    stated = {"authorization": f"Bearer {made[1].operator_token}"}
    path = "/v1/operator/tickets"
    assert (
        server.ask(path, b" " * 10_000 + b'{"count": 1}', content_type=JSON_TYPE, **stated).code
        == "too_large"
    )
    assert server.ask(path, b'{"count": 1}', content_type="text/plain", **stated).code == "wrong_type"
    with server.raw() as slow:
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {JSON_TYPE}\r\ncontent-length: 12\r\n"
        slow.sendall(f"{head}authorization: {stated['authorization']}\r\n\r\n{{".encode())
        assert b"too_slow" in heard(slow)


def test_one_that_asks_and_never_reads_is_cut_off(server: Server) -> None:
    with server.raw() as deaf:
        deaf.setblocking(False)
        poll = select.poll()
        poll.register(deaf, select.POLLRDHUP)  # that it is cut off is heard without reading
        for _ in range(10_000):
            with suppress(BlockingIOError, ConnectionError):
                deaf.send(b"GET /static/prdp-client.mjs HTTP/1.1\r\nhost: x\r\n\r\n" * 50)
            if poll.poll(10):
                break
        assert poll.poll(1000 * PATIENCE)
    assert server.ask("/v1/health").status == 200


def test_a_sender_that_only_listens_on_is_answered(server: Server, tickets: list[str]) -> None:
    (report,) = reports_for(server.campaign(), [3])
    with server.raw() as half:
        half.sendall(head(len(bytes(report)), tickets[0]) + bytes(report))
        half.shutdown(socket.SHUT_WR)
        assert heard(half).startswith(b"HTTP/1.1 201")
    assert server.send(report, tickets[0]).facts["again"]


def test_a_sender_that_stops_halfway_is_refused(server: Server, tickets: list[str]) -> None:
    before = count_of(server)
    (report,) = reports_for(server.campaign(), [3])
    with server.raw() as half:
        half.sendall(head(len(bytes(report)), tickets[0]) + bytes(report)[:20])
        half.shutdown(socket.SHUT_WR)
        assert heard(half).startswith(b"HTTP/1.1 400")
    with server.raw() as gone:
        gone.sendall(head(len(bytes(report)), tickets[0]) + bytes(report)[:20])
    assert count_of(server) == before
    assert server.send(report, tickets[0]).status == 201


def test_every_response_tells_the_browser_to_ask_nobody_else(server: Server) -> None:
    for path in ("/", "/v1/study", "/static/page.css", "/nothing"):
        headers = server.ask(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert not {"server", "date", "set-cookie"} & headers.keys()


def test_one_address_that_asks_too_often_is_reported_to_wait(tmp_path: Path) -> None:
    begun(tmp_path / "study", count_plan())
    with Server(tmp_path / "study", "--rate", "0.001") as server:
        answers = [server.ask("/v1/health") for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 429, 429]
        assert answers[1].code == "too_many"
        assert answers[1].headers["retry-after"] == "1"


def test_a_front_says_which_records_a_request_is_from_if_it_is_believed(tmp_path: Path) -> None:
    begun(tmp_path / "study", count_plan())
    with Server(tmp_path / "study", "--rate", "0.001", "--front", "127.0.0.1") as server:
        places = ("192.0.2.1", "192.0.2.1", "192.0.2.2")
        found = [server.ask("/v1/health", x_forwarded_for=place).status for place in places]
        assert found == [200, 429, 200]
    with Server(tmp_path / "study", "--rate", "0.001") as server:
        found = [server.ask("/v1/health", x_forwarded_for=place).status for place in places]
        assert found == [200, 429, 429]


def test_a_page_elsewhere_may_send_if_the_operator_says_so(tmp_path: Path) -> None:
    begun(tmp_path / "study", count_plan())
    with Server(tmp_path / "study", "--origin", "https://bank.example") as server:
        allowed = server.ask("/v1/study", origin="https://bank.example").headers
        assert allowed["access-control-allow-origin"] == "https://bank.example"
        assert (
            "access-control-allow-origin" not in server.ask("/v1/study", origin="https://x.example").headers
        )


def test_a_study_runs_from_the_first_report_to_its_result(address: str) -> None:
    known = begun(address, jobs_plan(12), 14)
    gathered = []
    clients = [Client() for _ in range(12)]
    with Server(address) as server:
        for number in (1, 2):
            campaign = Campaign.from_json(fetch_campaign(server.url))
            offline = Collector(campaign)
            assert campaign.round == number
            for place, client in enumerate(clients):
                report = client.report(campaign, record(place))
                assert send(server.url, report, known.tickets[place])
                assert not send(server.url, report, known.tickets[place])  # also after the round has closed
                offline.receive(bytes(report))
            with pytest.raises(CollectorError, match="not counted"):
                send(server.url, reports_for(campaign, [0])[0], known.tickets[13])
            gathered.append(offline)
        status = server.ask("/v1/study").facts
        assert status["state"] == "done"
        assert [each["threshold_budget"] is None for each in status["rounds"]] == [True, False]
        result = server.ask("/v1/result").facts
        found = jobs_plan().study().after(*gathered)
        assert isinstance(found, Estimate)
        assert [part["value"] for part in result["answers"][0]["parts"]] == [
            part.value for part in found.parts
        ]
        assert server.ask("/v1/campaign").code == "no_open_round"
        token = f"Bearer {known.operator_token}"
        assert server.ask("/v1/operator/close", b"", authorization=token).code == "no_open_round"
        printed = server.stop()
    assert not re.search(r"127\.0\.0\.1:\d+ -|POST|GET|\d\d:\d\d:\d\d", printed)


def test_a_round_is_closed_from_outside_while_it_is_served(tmp_path: Path) -> None:
    known = begun(tmp_path / "study", jobs_plan())
    with Server(tmp_path / "study") as server:
        first = server.campaign()
        assert server.send(reports_for(first, [0])[0], known.tickets[0]).status == 201
        token = f"Bearer {known.operator_token}"
        closed = server.ask("/v1/operator/close", b"", authorization=token).facts
        assert [each["closed"] for each in closed["rounds"]] == [True, False]
        assert server.send(reports_for(first, [1])[0], known.tickets[1]).code == "late"
        assert server.send(reports_for(server.campaign(), [1])[0], known.tickets[1]).status == 201


def test_a_store_that_cannot_be_used_is_stated_before_anything_is_served(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no collector's store"):
        Server(tmp_path / "nothing").start()
