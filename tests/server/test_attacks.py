"""What was tried against a server and once worked, or could have: each way in stays closed."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from prdp.errors import EngineFailure, InvalidRequest
from prdp.server import accounts, planning, purses, requests, running
from prdp.server.front import ROUTES, Turns, application
from prdp.server.refusals import REFUSALS, RequestRefused
from prdp.server.wire.failures import WireError
from prdp.serving.connections import UNIX
from tests.cli.running import piped
from tests.server.serving import (
    COUNT,
    PASSWORD,
    Said,
    Served,
    StepClock,
    copied,
    opened,
    people,
    write_project,
)
from tests.server.wire.serving_wire import Talk, wire_token

PRIVATE_KEYS = "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch"


def shown_of_budgets(served: Served) -> list[Any]:
    """Return all that anybody is shown of purses and budgets."""
    mine = [served.ask("GET", "/v1/me", who=who).facts for who in ("ana", "ben", "olga")]
    tables = served.ask("GET", "/v1/tables", who="olga").facts
    budget = served.ask("GET", "/v1/tables/visits/budget", who="ben").facts["table"]
    return [mine, tables, budget, served.ask("GET", "/v1/people", who="stan").facts]


@pytest.mark.parametrize(
    ("table", "statement", "share"), [("visits", COUNT, "0.02"), ("loans", PRIVATE_KEYS, "0.4")]
)
def test_when_a_charge_is_made_within_its_slot_shows_in_no_purse_and_no_budget(
    served: Served, table: str, statement: str, share: str
) -> None:
    people(served)
    nothing_asked = shown_of_budgets(served)
    number = served.request("ana", statement, share).facts["id"]
    admitted = shown_of_budgets(served)
    assert admitted != nothing_asked
    with served.store.reading() as rows:
        first = requests.by_id(rows, number)
    served.lines[table].answers(first)
    assert served.rows("SELECT count(*) FROM {}spends")[0][0] > 0
    assert shown_of_budgets(served) == admitted


def test_what_a_queued_question_will_take_cannot_be_withdrawn_from_its_purse(served: Served) -> None:
    people(served)
    number = served.request("ben", COUNT, "0.04").facts["id"]
    less = {"alone": "0.03", "approved": "0"}
    assert served.ask("PUT", "/v1/people/4/purses/visits", less, "stan").code == "below_spent"
    served.run("visits")
    assert served.state(number, "ben")["release"] == number


def asked_at_once(
    served: Served, calls: list[tuple[str, str, Any, str]], refused: int, then: Callable[[], None]
) -> Any:
    """Send requests at once, and one of another person; return what each was told.

    That one, and as many of the others as are refused, must be told before ``then`` lets the rest go.
    """

    async def all_of_them() -> tuple[list[Said], Said]:
        async def ask(method: str, path: str, body: Any, who: str) -> Said:
            raw = json.dumps(body).encode() if body is not None else b""
            headers = {"host": "127.0.0.1:8080", "origin": "http://127.0.0.1:8080"}
            headers |= {"cookie": served.cookies[who], "content-type": "application/json"}
            return await served._asked(method, path, raw, headers)

        tasks = [asyncio.create_task(ask(*call)) for call in calls]
        try:
            await asyncio.sleep(0)
            light = await asyncio.wait_for(ask("GET", "/v1/me", None, "uwe"), 60)
            async with asyncio.timeout(60):
                while sum(task.done() for task in tasks) < refused:
                    await asyncio.sleep(0.01)
        finally:
            then()
        return list(await asyncio.gather(*tasks)), light

    return asyncio.run(all_of_them())


def test_whoever_plans_much_holds_up_nobody_s_sign_in_and_is_told_to_wait(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(served)
    turns = Turns(at_once=2, of_each=3)
    busy = replace(served, app=application(replace(served.service, turns=turns)))
    go_on, planned = threading.Event(), served.service.planner.plan

    def slow(*given: Any) -> Any:
        assert go_on.wait(120)
        return planned(*given)

    monkeypatch.setattr(served.service.planner, "plan", slow)
    question = {"statement": COUNT, "share": "0.01"}
    calls = [("POST", "/v1/plans", question, "ana")] * 50 + [("POST", "/v1/plans", question, "ben")]
    said, light = asked_at_once(busy, calls, 47, go_on.set)
    assert light.status == 200
    assert [one.status for one in said].count(200) == 3 + 1
    assert {one.code for one in said if one.status != 200} == {"too_many"}
    assert busy.ask("POST", "/v1/plans", question, "ana").status == 200


def test_no_route_waits_for_records_that_are_being_read(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(served)
    number = served.request("ana", COUNT).facts["id"]
    line, begun, go_on = served.lines["visits"], threading.Event(), threading.Event()
    read = line.answers

    def blocked(request: requests.Request) -> str:
        begun.set()
        assert go_on.wait(120)
        return read(request)

    monkeypatch.setattr(line, "answers", blocked)
    served.clock.held = True

    def stand_still() -> None:
        assert go_on.wait(120)

    served.clock.watch = stand_still
    answering = threading.Thread(target=line.answer_next)
    answering.start()
    assert begun.wait(120)
    try:
        for route in ROUTES:
            path = re.sub(r"{(\w+)}", lambda found: {"table": "visits"}.get(found[1], number), route.path)
            sent = {"statement": COUNT, "share": "0.01"} if route.body else None
            for who in ("ana", "olga"):
                if route.path != "/v1/sessions/current":
                    assert served.ask(route.method, path, sent, who).status < 500, path
        again = {"name": "ana", "password": PASSWORD}
        assert served.ask("POST", "/v1/sessions", again).status == 204
        assert served.request("ana", f"{COUNT} WHERE days < 5").status == 202
    finally:
        served.clock.held = False
        served.clock.watch = lambda: None
        go_on.set()
        answering.join(120)
    assert served.state(number, "ana")["release"] == number


ODD = (
    f"{COUNT} WHERE ward = 'Ada' FOR UPDATE", "ALTER SYSTEM SET secret = 'Ada'", "VACUUM 'Ada'",
    "CREATE ODD 'Ada' THING", "GRANT x TO 'Ada'", "SELECT * FROM pg_class WHERE relname = 'Ada' FOR UPDATE",
)  # fmt: skip


@pytest.mark.parametrize("statement", ODD)
def test_no_log_repeats_what_somebody_asked(
    served: Served, caplog: pytest.LogCaptureFixture, statement: str
) -> None:
    people(served)
    wire_token(served, "ana.laptop")
    talk = Talk.of(served)
    talk.run("SET prdp.share = 0.01")
    with suppress(WireError, RequestRefused):
        talk.run(statement)
    served.ask("POST", "/v1/plans", {"statement": statement, "share": "0.01"}, "ana")
    assert caplog.messages == []
    logging.getLogger("sqlglot").warning("of somebody else's")
    assert caplog.messages == ["of somebody else's"]


def test_plans_and_made_up_rows_need_neither_the_records_nor_a_ledger(served: Served) -> None:
    people(served)
    gone = [served.folder / name for name in ("visits.csv", "loans.csv", "visits.ledger", "loans.ledger")]
    for each in gone:
        each.unlink()
    question = {"statement": "SELECT ward, SUM(days) AS s FROM visits GROUP BY ward", "share": "0.01"}
    for path in ("/v1/plans", "/v1/previews"):
        assert served.ask("POST", path, question, "ana").status == 200, path
    assert served.ask("GET", "/v1/tables/visits", who="ana").status == 200
    assert not any(each.exists() for each in gone)


def test_what_somebody_tried_makes_nothing_faster_for_others(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are not compared here: whatever is kept of a plan or of made-up cells is found by its absence."""
    people(served)
    served.add("cleo", "analyst", visits=("0.1", "0"), loans=("0.1", "0"))
    planner: Any = served.service.planner
    question = {"statement": f"{COUNT} WHERE days < 17", "share": "0.01"}
    planned, read = [], planner.question

    def counted(*given: Any) -> Any:
        planned.append(given)
        return read(*given)

    monkeypatch.setattr(planner, "question", counted)
    for who, times in (("ana", 1), ("ana", 1), ("cleo", 2), ("ana", 2)):
        assert served.ask("POST", "/v1/plans", question, who).status == 200
        assert len(planned) == times, who
    for _ in range(2):
        assert served.ask("POST", "/v1/previews", question, "ana").status == 200
        assert not planner._alike["visits"]._reader.kept


@pytest.mark.parametrize(
    ("statement", "answers"),
    [
        (COUNT, 1),
        ("SELECT ward, COUNT(*) AS n, SUM(days) AS s FROM visits GROUP BY ward", 4),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP(ward)", 3),
        ("SELECT COUNT(*) + (SELECT COUNT(*) FROM visits WHERE days < 5) AS n FROM visits", 2),
    ],
)
def test_nobody_fills_the_memory_with_the_answers_of_one_statement(
    served: Served, monkeypatch: pytest.MonkeyPatch, statement: str, answers: int
) -> None:
    """90,000 groups and ten sums took a minute and a gigabyte where the pages are, for nothing."""
    people(served)
    wire_token(served, "ana.laptop")
    talk = Talk.of(served)
    talk.run("SET prdp.share = 0.01")
    body = {"statement": statement, "share": "0.01"}
    for path, limit, other in (("/v1/previews", "MAX_TRIED", "0.02"), ("/v1/plans", "MAX_ANSWERS", "0.03")):
        monkeypatch.setattr(planning, limit, answers)
        assert served.ask("POST", path, body, "ana").status == 200
        monkeypatch.setattr(planning, limit, answers - 1)
        said = served.ask("POST", path, body | {"share": other}, "ana")
        assert (said.status, f"this has {answers} answers" in said.facts["message"]) == (422, True)
    assert talk.refused(statement).message == f"this has {answers} answers"
    assert not served.rows("SELECT * FROM {}requests")


def test_a_proxy_at_a_unix_socket_is_believed_about_the_last_address_alone() -> None:
    """What stands before it is the client's own word: whoever writes other addresses has no other rate."""
    seen: list[str] = []

    async def app(scope: Any, *_: Any) -> None:
        seen.append(scope["client"][0])

    proxied = ProxyHeadersMiddleware(app, trusted_hosts=UNIX)
    for client in (UNIX, "192.0.2.7"):
        headers = [(b"x-forwarded-for", b"198.51.100.1, unix, 198.51.100.2")]
        scope: Any = {"type": "http", "client": (client, 0), "headers": headers}
        asyncio.run(proxied(scope, None, None))  # type: ignore[arg-type]
    assert seen == ["198.51.100.2", "192.0.2.7"]


def test_what_costs_nothing_and_is_written_for_ever_is_bounded(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(served)
    monkeypatch.setattr(accounts, "MAX_TOKENS", 3)
    monkeypatch.setattr(requests, "MAX_WITHDRAWN", 3)
    kinds: list[dict[str, bool]] = [{"wire": True}, {}, {"wire": True}, {}]
    tokens = []
    for turn, kind in enumerate(kinds):
        body = {"label": f"l{turn}", "scopes": ["read", "ask"], "days": 1} | kind
        tokens.append(served.ask("POST", "/v1/tokens", body, "ana"))
        served.ask("DELETE", f"/v1/tokens/{tokens[-1].facts.get('id')}", who="ana")
        asked = served.request("ana", f"{COUNT} WHERE days < {turn + 9}", "0.15")
        assert asked.status == (202 if turn < 3 else 429), asked
        if turn < 3:
            assert served.ask("DELETE", f"/v1/requests/{asked.facts['id']}", who="ana").status == 204
    assert [one.status for one in tokens] == [201, 201, 201, 429]
    served.clock.at += 86_401
    said = served.ask("POST", "/v1/sessions", {"name": "ana", "password": PASSWORD})
    served.cookies["ana"] = said.headers["set-cookie"].partition(";")[0]
    assert served.ask("POST", "/v1/tokens", body, "ana").status == 201
    assert served.request("ana", COUNT, "0.15").status == 202


def test_browsers_are_told_to_come_back_by_tls_where_the_server_has_it(served: Served) -> None:
    behind = replace(served.service, secure=True, origins=frozenset({"https://stats.example"}))
    secure = replace(served, app=application(behind))
    headers = secure.ask("GET", "/sign-in", host="stats.example").headers
    assert headers["strict-transport-security"].startswith("max-age=")
    assert "strict-transport-security" not in served.ask("GET", "/sign-in").headers


def test_an_invitation_opens_no_table_and_begins_no_ledger(tmp_path: Path) -> None:
    path = write_project(tmp_path)
    (tmp_path / "visits.csv").unlink()
    running.init(path, "olga")
    granted = {"visits": {"alone": "0.1", "approved": "0"}}
    assert running.invite(path, "ana", "analyst", granted).startswith("prdp_")
    with pytest.raises(InvalidRequest, match="no table 'nothing'"):
        running.invite(path, "ana", "analyst", {"nothing": granted["visits"]})
    assert not list(tmp_path.glob("*.ledger"))


def test_only_who_was_there_before_is_said_to_be_signed_out_by_an_invitation(
    tmp_path: Path,
) -> None:
    running.init(write_project(tmp_path), "olga")
    first, second = (piped("serve", "invite", "ana", "--table", "visits", folder=tmp_path) for _ in range(2))
    assert first.stdout != second.stdout
    assert first.stderr == "prdp: this invites ana, once, within 7 days.\n"
    assert second.stderr.endswith("within 7 days; whatever they were signed in with has ended.\n")


@pytest.mark.slow
def test_a_store_in_postgresql_is_asked_for_no_text_that_it_cannot_hold(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    address = new_database()
    mark = "&" if "?" in address else "?"
    write_project(tmp_path, f"{address}{mark}ledger=visits", f"{address}{mark}ledger=loans")
    served = people(opened(tmp_path, StepClock(), {}))
    for route in ROUTES:
        path = route.path
        for name in ("code", "token", "table", "request", "release", "person"):
            path = path.replace(f"{{{name}}}", "a%00b")
        if path != route.path:
            sent = {"password": "x" * 20} if route.body else None
            for who in ("olga", "ana", "stan"):
                said = served.ask(route.method, path, sent, who)
                assert said.status in {403, 404, 410, 422}, (route, who, said)
    for name in ("an\0a", "ana\ud800", "\0"):
        body = json.dumps({"name": name, "password": "x" * 20}).encode()
        assert served.ask("POST", "/v1/sessions", body).status in {400, 401, 422}
    assert served.ask("GET", "/v1/releases?table=a%00b", who="ana").status == 404


def declared_anew(served: Served, before: str, after: str) -> Served:
    """Change a declaration of the project file, and start again."""
    path = served.folder / "prdp.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    return served.again()


KEYS = ('keys = { ward = ["a", "b"] }', 'keys = { ward = ["a", "b", "c"] }')
BY_WARD = "SELECT ward, SUM(days) AS s FROM visits GROUP BY ward"


def test_a_question_that_waited_through_a_new_declaration_is_approved_by_nobody(served: Served) -> None:
    people(served)
    number = served.request("ana", BY_WARD, "0.15").facts["id"]
    decided = {"approve": True, "digest": served.state(number, "ana")["digest"]}
    anew = declared_anew(served, *KEYS)
    path = f"/v1/requests/{number}/decision"
    assert anew.ask("POST", path, decided, "stan").code == "plan_is_old"
    denied = decided | {"approve": False, "reason": "other"}
    assert anew.ask("POST", path, denied, "stan").facts["state"] == "denied"


def test_a_question_that_was_charged_under_other_declarations_is_not_charged_again_beyond_the_purse(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(served)
    number = served.request("ana", BY_WARD, "0.06").facts["id"]
    with served.store.reading() as rows:
        first = requests.by_id(rows, number)
    with monkeypatch.context() as broken:
        broken.setattr("prdp.run.answer.guarded", failing)
        with pytest.raises(EngineFailure):
            served.lines["visits"].answers(first)
    assert served.remaining("visits") == Fraction("0.94")
    anew = declared_anew(served, *KEYS)
    anew.run("visits")
    assert anew.state(number, "ana")["failed"] == "plan_is_old"
    assert anew.remaining("visits") == Fraction("0.94")
    assert anew.request("ana", BY_WARD, "0.05").facts["state"] == "waiting"  # 0.04 is left alone


def failing(*_: object) -> None:
    raise EngineFailure


def test_an_answer_about_one_snapshot_does_not_stand_for_the_next(served: Served) -> None:
    people(served)
    ledger = served.folder / "visits.ledger"
    ledger.unlink()
    first = declared_anew(served, 'source = "visits.csv"', 'source = "visits.csv"\nsnapshot = "2026-Q1"')
    number = first.request("ana", COUNT).facts["id"]
    first.run("visits")
    assert first.plan("ana", COUNT)["recorded"] == number
    second = declared_anew(first, "2026-Q1", "2026-Q2")
    assert second.plan("ana", COUNT)["recorded"] is None
    again = second.request("ana", COUNT).facts["id"]
    assert again != number


def test_whatever_one_signed_in_with_ends_at_once_for_each_reason_and_is_not_replayed(served: Served) -> None:
    people(served)
    made = {"scopes": ["read", "ask"], "label": "laptop", "days": 1}

    def new() -> tuple[str, str]:
        said = served.ask("POST", "/v1/sessions", {"name": "ana", "password": PASSWORD})
        served.cookies["ana"] = said.headers["set-cookie"].partition(";")[0]
        token = served.ask("POST", "/v1/tokens", made, "ana").facts
        return token["token"], token["id"]

    def signed_in(token: str) -> list[int]:
        return [
            served.ask("GET", "/v1/me", who="ana").status,
            served.ask("GET", "/v1/me", authorization=f"Bearer {token}").status,
        ]

    token, number = new()
    assert signed_in(token) == [200, 200]
    assert served.ask("DELETE", f"/v1/tokens/{number}", who="ben").code == "not_found"
    assert served.ask("DELETE", f"/v1/tokens/{number}", who="ana").status == 204
    assert signed_in(token) == [200, 401]
    token, _ = new()
    old = served.cookies["ana"]
    assert served.ask("DELETE", "/v1/sessions/current", who="ana").status == 204
    assert signed_in(token) == [401, 200]
    assert served.ask("GET", "/v1/me", cookie=old).status == 401
    for change in ({"disabled": True}, {"disabled": False}, {"role": "auditor"}, {"role": "analyst"}):
        served.ask("PATCH", "/v1/people/3", {"disabled": False}, "olga")
        token, _ = new()
        if change == {"disabled": False}:
            served.ask("PATCH", "/v1/people/3", {"disabled": True}, "olga")
        assert served.ask("PATCH", "/v1/people/3", change, "olga").status == 200
        assert signed_in(token) == [401, 401], change
    served.ask("PATCH", "/v1/people/3", {"disabled": False}, "olga")
    token, _ = new()
    code = served.ask("POST", "/v1/people/3/invitation", who="olga").facts["invitation"]
    assert signed_in(token) == [401, 401]
    assert served.ask("POST", "/v1/sessions", {"name": "ana", "password": PASSWORD}).code == "sign_in"
    newer = served.ask("POST", "/v1/people/3/invitation", who="olga").facts["invitation"]
    assert served.ask("POST", f"/v1/invitations/{code}", {"password": PASSWORD}).code == "used"
    assert served.ask("POST", f"/v1/invitations/{newer}", {"password": PASSWORD}).status == 204
    token, _ = new()
    served.clock.at += 86_400
    assert signed_in(token) == [401, 401]


def while_it_is_sent(served: Served, then: Callable[[], object]) -> Served:
    """Return the server as somebody sees it whose bodies arrive after something else was done."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def late() -> Any:
            await asyncio.to_thread(then)
            return await receive()

        await served.app(scope, late, send)

    return replace(served, app=app)


ENDINGS: dict[str, tuple[str, str, Any]] = {
    "invited again": ("POST", "/v1/people/{}/invitation", None),
    "disabled": ("PATCH", "/v1/people/{}", {"disabled": True}),
    "given another role": ("PATCH", "/v1/people/{}", {"role": "auditor"}),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_request_that_was_begun_before_somebody_s_access_ended_changes_nothing_afterwards(
    served: Served, tmp_path: Path, ending: str
) -> None:
    """A body may take 20 seconds: a token made after a reset of the password would outlive the reset."""
    people(served)
    served.add("otto", "owner")
    waits = served.request("ana", COUNT, "0.15").facts["id"]
    asked = {"statement": COUNT, "share": "0.01", "plan": served.plan("ana", COUNT)["plan"]}
    decision = {"approve": True, "digest": served.state(waits, "stan")["digest"], "reason": None}
    calls = [
        ("ana", "POST", "/v1/tokens", {"label": "kept", "scopes": ["read", "ask"], "days": 366}),
        ("ana", "POST", "/v1/requests", asked),
        ("stan", "POST", f"/v1/requests/{waits}/decision", decision),
        ("stan", "PUT", "/v1/people/4/purses/visits", {"alone": "1", "approved": "0"}),
        ("otto", "POST", "/v1/people", {"name": "mine", "role": "owner"}),
        ("otto", "PATCH", "/v1/people/4", {"role": "owner"}),
    ]
    counted = (
        "SELECT count(*) FROM {}tokens WHERE kind = 'api'", "SELECT id, role FROM {}people ORDER BY id",
        "SELECT sum(granted) FROM {}purses", "SELECT count(*) FROM {}requests WHERE state = 'queued'",
    )  # fmt: skip
    before = [served.rows(one) for one in counted]
    for who, method, path, body in calls:
        there = replace(served, folder=copied(served.folder, tmp_path / f"{len(list(tmp_path.iterdir()))}"))
        again = there.again()
        ((number,),) = again.rows(f"SELECT id FROM {{}}people WHERE name = '{who}'")
        verb, place, change = ENDINGS[ending]
        ended = partial(again.ask, verb, place.format(number), change, "olga")
        said = while_it_is_sent(again, ended).ask(method, path, body, who, idempotency_key="late")
        assert said.code == "not_signed_in", (path, said)
        changed = [again.rows(one) for one in counted]
        if ending == "given another role":
            changed[1] = [(one, role if one != number else dict(before[1])[one]) for one, role in changed[1]]
        assert changed == before, path
        assert again.ask(method, path, body, who, idempotency_key="late").code == "not_signed_in"


POINTS = ("admitted", "begun", "in the transaction", "charged", "recorded")


def test_nothing_is_approved_any_more_for_who_is_disabled(served: Served) -> None:
    """Whoever had a stolen session may have left questions behind, and a steward sees a name they know."""
    people(served)
    asked = served.request("ana", COUNT, "0.15").facts["id"]
    queued = served.request("ana", COUNT, "0.01").facts["id"]
    waiting = served.state(asked, "stan")
    assert served.ask("PATCH", "/v1/people/3", {"disabled": True}, "olga").status == 200
    decision = {"approve": True, "digest": waiting["digest"], "reason": None}
    assert served.ask("POST", f"/v1/requests/{asked}/decision", decision, "stan").code == "decided"
    assert (waiting["state"], served.state(asked, "olga")["state"]) == ("waiting", "withdrawn")
    assert served.state(queued, "olga")["state"] == "queued"  # it was spent before
    lines = served.ask("GET", "/v1/audit?from=0", who="uwe").facts["lines"]
    assert [one["actor"] for one in lines if one["kind"] == "withdrawn"] == ["olga"]
    served.run("visits")
    assert served.rows("SELECT request, parts FROM {}spends") == [(queued, 10**10)]


def test_an_answer_that_was_recorded_before_does_not_say_when_its_charges_were_made(served: Served) -> None:
    people(served)
    numbers = [served.request(who, COUNT).facts["id"] for who in ("ana", "ben")]
    served.run("visits")
    for number, who in zip(numbers, ("ana", "ben"), strict=True):
        assert served.state(number, who)["release"] == number
        said = served.ask("GET", f"/v1/releases/{number}", who=who)
        assert b"recorded_at" not in said.body
    assert len(served.lines["visits"].ledger.entries) == 1


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("question", [("visits", BY_WARD, "0.06"), ("loans", PRIVATE_KEYS, "0.4")])
def test_a_server_that_ended_at_any_point_charges_once_and_answers(
    served: Served, monkeypatch: pytest.MonkeyPatch, point: str, question: tuple[str, str, str]
) -> None:
    people(served)
    table, statement, share = question
    number = served.request("ana", statement, share).facts["id"]
    before = shown_of_budgets(served)
    with served.store.writing() as rows:
        first = requests.by_id(rows, number)
        if point != "admitted":
            requests.begin(rows, first)
    line = served.lines[table]
    answers = ""
    if point == "in the transaction":
        with monkeypatch.context() as broken:
            broken.setattr("prdp.server.requests.audit.append", failing)
            with pytest.raises(EngineFailure):
                line.answers(first)
        assert not line.ledger.entries
    elif point == "charged":
        with monkeypatch.context() as broken:
            broken.setattr("prdp.run.answer.guarded", failing)
            with pytest.raises(EngineFailure):
                line.answers(first)
        assert len(line.ledger.entries) == 1
    elif point == "recorded":
        answers = line.answers(first)
    assert shown_of_budgets(served) == before
    anew = served.again()
    anew.clock.at += 100
    with anew.store.writing() as rows:
        requests.resume(rows, table, int(anew.clock.at))
    anew.run(table)
    state = anew.state(number, "ana")
    assert (state["state"], state["failed"], state["release"]) == ("published", "", number)
    found = anew.ask("GET", f"/v1/releases/{number}", who="ana").facts["answers"]
    assert not answers or json.loads(answers) == found
    assert "recorded_at" not in json.dumps(found)
    spends = anew.rows("SELECT charge, parts, number FROM {}spends ORDER BY charge")
    assert [charge for charge, _, _ in spends] == [one.number for one in anew.lines[table].ledger.entries]
    assert sum(parts for _, parts, _ in spends) == purses.parts_of(share)
    lines = [number for (number,) in anew.rows("SELECT number FROM {}audit WHERE kind = 'charged'")]
    assert [*{number for _, _, number in spends}] == lines
    assert anew.plan("ana", statement, share)["recorded"] == number
    assert running.verify(anew.folder / "prdp.toml", None)[1] == []


def sent(served: Served, path: str, who: str, **form: str) -> Said:
    """Send a form of the console."""
    kind = "application/x-www-form-urlencoded"
    return served.ask("POST", path, urlencode(form).encode(), who, content_type=kind)


def test_an_owner_changes_roles_in_the_console_and_nobody_else(served: Served) -> None:
    people(served)
    for who in ("stan", "ana", "uwe"):
        assert sent(served, "/people/4/access", who, do="role", role="owner").status == 403
    assert sent(served, "/people/4/access", "olga", do="role", role="steward").status == 303
    assert sent(served, "/people/4/access", "olga", do="role", role="king").status == 422
    assert sent(served, "/people/1/access", "olga", do="role", role="analyst").status == 403
    roles = {one["id"]: one["role"] for one in served.ask("GET", "/v1/people", who="olga").facts["people"]}
    assert (roles[1], roles[4]) == ("owner", "steward")


def test_the_console_s_audit_begins_with_the_first_line_and_shows_the_newest_first(served: Served) -> None:
    people(served)
    page = served.ask("GET", "/audit", who="uwe").body.decode()
    shown = [int(number) for number in re.findall(r'<th scope="row">(\d+)</th>', page)]
    assert shown == list(range(max(shown), -1, -1))
    assert len(shown) == len(served.rows("SELECT 1 FROM {}audit"))


def page(served: Served, path: str, who: str) -> str:
    return served.ask("GET", path, who=who).body.decode()


def form(served: Served, path: str, fields: dict[str, str], who: str) -> Said:
    """Send a form as a browser does."""
    return served.ask(
        "POST", path, urlencode(fields).encode(), who, content_type="application/x-www-form-urlencoded"
    )


def test_a_statement_reads_as_it_is_asked_wherever_it_is_shown(served: Served) -> None:
    """Letters that turn the direction of others could show a steward another question."""
    people(served)
    statement = f"{COUNT} /* \u202ea\u200b */ WHERE days < 7 AND ward = 'a'"
    number = served.request("ana", statement, "0.15", purpose="\u2066yearly").facts["id"]
    pages = [page(served, path, who) for path, who in (
        ("/approvals", "stan"), (f"/requests/{number}", "ana"), ("/history", "ana"), ("/audit", "uwe")
    )]  # fmt: skip
    for shown in pages:
        assert "\\u202ea\\u200b" in shown
        assert not {"\u202e", "\u200b", "\u2066"} & set(shown)
    planned = form(
        served, "/ask", {"statement": statement, "share": "0.15", "do": "plan"}, "ana"
    ).body.decode()
    assert statement.replace("'", "&#39;").replace("<", "&lt;") in planned  # what is sent again is unchanged


def test_pages_offer_what_one_may_do_and_say_why_nothing_was_answered(served: Served) -> None:
    people(served)
    assert page(served, "/people", "stan").count("<details>") == 2  # the purses of ana and ben
    assert page(served, "/people", "olga").count("<details>") == 4
    lost = served.ask("GET", "/nothing", who="ana", accept="text/html,*/*")
    assert (lost.status, lost.headers["content-type"].split(";")[0]) == (404, "text/html")
    assert "default-src 'none'" in lost.headers["content-security-policy"]
    for path, accept in (("/nothing", "*/*"), ("/v1/nothing", "text/html")):
        assert served.ask("GET", path, who="ana", accept=accept).code == "not_found"
    served.ask("PUT", "/v1/people/3/purses/loans", {"alone": "1", "approved": "0"}, "olga")
    asked = [
        served.request("ana", f"SELECT COUNT(*) AS n FROM loans WHERE fine < {k}", "0.5") for k in (7, 8)
    ]
    served.ask("PUT", "/v1/people/4/purses/loans", {"alone": "1", "approved": "0"}, "olga")
    asked.append(served.request("ben", "SELECT SUM(fine) AS s FROM loans", "0.5"))
    served.run("loans")
    shown = page(served, f"/requests/{asked[-1].facts['id']}", "ben")
    assert f"Not answered: {REFUSALS['budget'][1].replace(chr(39), '&#39;')}" in shown
    fields = {"label": "agent", "scopes": "ask", "days": "3", "cap": "0.01"}
    assert "Shown once" in form(served, "/tokens", fields, "ana").body.decode()
    assert served.rows("SELECT cap FROM {}tokens WHERE label = 'agent'") == [(10**10,)]


def test_pages_say_in_which_notion_a_policy_is_stated(tmp_path: Path) -> None:
    toml = write_project(tmp_path)
    toml.write_text(toml.read_text().replace('policy = "1"', 'policy = "1/3"\nnotion = "zcdp"'))
    served = people(opened(tmp_path, StepClock(), {}))
    stated = {"visits": ("Budget of a record", "10 / greatest(days, 1)")}
    stated["loans"] = ("P of a record, zero-concentrated privacy", "1/3")
    for table, (said, policy) in stated.items():
        assert f"<dt>{said}</dt><dd><code>{policy}</code>" in page(served, f"/tables/{table}", "ana")
    listed = page(served, "/tables", "ana")
    assert "A record's P, of zero-concentrated privacy, is <code>1/3</code>" in listed
    assert "A record's budget is <code>10 / greatest(days, 1)</code>" in listed
    number = served.request("ana", "SELECT COUNT(*) AS n FROM loans", "0.25").facts["id"]
    served.run("loans")
    assert "<h1>Answer</h1>" in page(served, f"/requests/{number}", "ana")


def test_each_purse_has_a_form_of_its_own_with_what_it_holds(served: Served) -> None:
    """A form that shows one table's purse would set another's to it."""
    people(served)
    forms = re.findall(
        r'<form method="post" action="/people/(\d)/purse">(.*?)</form>',
        page(served, "/people", "stan"),
        re.DOTALL,
    )
    found = []
    for person, inside in forms:
        tables = re.findall(r'name="table" value="(\w+)"|<option>(\w+)</option>', inside)
        values = re.findall(r'name="(?:alone|approved)" inputmode="decimal" value="([\d.]+)"', inside)
        found.append((person, [one or other for one, other in tables], values))
    assert found == [
        ("3", ["visits"], ["0.1", "0.2"]),
        ("3", ["loans"], ["0.5", "0.1"]),
        ("4", ["visits"], ["0.05", "0"]),
        ("4", ["loans"], ["0.02", "0.2"]),
    ]
    assert (
        form(served, "/people/3/purse", {"table": "loans", "alone": "0.6", "approved": "0"}, "stan").status
        == 303
    )
    assert served.rows("SELECT dataset, kind, granted FROM {}purses WHERE person = 3 ORDER BY 1, 2") == [
        ("loans", "alone", 6 * 10**11), ("loans", "approved", 0),
        ("visits", "alone", 10**11), ("visits", "approved", 2 * 10**11),
    ]  # fmt: skip


def test_what_is_looked_up_all_the_time_reads_no_whole_table(served: Served) -> None:
    people(served)
    served.request("ana", COUNT)
    planned = served.service.planner.question(COUNT, "0.01", ["visits"])
    with served.store.reading() as rows:
        said: list[str] = []
        rows.statements.set_trace_callback(said.append)
        requests.next_in_line(rows, "visits")
        requests.standing(rows, planned, int(served.clock.now()))
        purses.left(rows, 3, "visits", "alone")
        purses.left_of_table(rows, "visits")
        rows.statements.set_trace_callback(None)
        assert len(said) == 6
        scanned = {
            (text, step) for text in said for *_, step in rows.all(f"EXPLAIN QUERY PLAN {text}")
            if step.startswith("SCAN")
        }  # fmt: skip
    assert not scanned
