"""Who may use which route: one table in code, and every pair of it is tried."""

from __future__ import annotations

import re

import pytest

from prdp.server.front import NOBODY_YET, ROUTES
from tests.server.serving import COUNT, PASSWORD, Served, people

PAIRS = {
    "POST /v1/sessions": "",
    "DELETE /v1/sessions/current": "OSNU",
    "POST /v1/invitations/{code}": "",
    "GET /v1/me": "OSNU",
    "GET /v1/tokens": "OSNU",
    "POST /v1/tokens": "OSNU",
    "DELETE /v1/tokens/{token}": "OSNU",
    "GET /v1/tables": "OSNU",
    "GET /v1/tables/{table}": "OSN",
    "GET /v1/tables/{table}/budget": "OSN",
    "POST /v1/plans": "OSN",
    "POST /v1/previews": "OSN",
    "POST /v1/requests": "N",
    "GET /v1/requests": "OSNU",
    "GET /v1/requests/{request}": "OSNU",
    "DELETE /v1/requests/{request}": "N",
    "POST /v1/requests/{request}/decision": "OS",
    "GET /v1/releases": "OSN",
    "GET /v1/releases/{release}.csv": "OSN",
    "GET /v1/releases/{release}.json": "OSN",
    "GET /v1/releases/{release}": "OSN",
    "GET /v1/people": "OS",
    "POST /v1/people": "O",
    "PATCH /v1/people/{person}": "O",
    "POST /v1/people/{person}/invitation": "O",
    "PUT /v1/people/{person}/purses/{table}": "OS",
    "GET /v1/audit": "OU",
    "GET /v1/audit/head": "OSNU",
    "GET /healthz": "",
}
"""The design's table, a second time: O owner, S steward, N analyst, U auditor; none needs no session."""

LETTERS = {"O": "olga", "S": "stan", "N": "ana", "U": "uwe"}
ROLE = {"O": "owner", "S": "steward", "N": "analyst", "U": "auditor"}


def test_the_routes_are_those_of_the_design() -> None:
    found = {
        f"{route.method} {route.path}": {letter for letter, role in ROLE.items() if role in route.roles}
        for route in ROUTES
    }
    assert found == {path: set(letters) for path, letters in PAIRS.items()}


@pytest.mark.parametrize("number", range(len(ROUTES)), ids=[f"{one.method} {one.path}" for one in ROUTES])
def test_a_route_refuses_the_roles_that_it_is_not_for_and_no_others(served: Served, number: int) -> None:
    route, filled = ROUTES[number], people(served)
    path = re.sub(
        r"{(\w+)}", lambda found: {"table": "visits", "person": "4"}.get(found[1], "none"), route.path
    )
    assert "{" not in path
    body: dict[str, str] | None = {} if route.body else None
    for letter, name in LETTERS.items():
        said = filled.ask(route.method, path, body, name)
        if route.roles and ROLE[letter] not in route.roles:
            assert (said.status, said.code) == (403, "role"), name
        else:
            assert (said.status, said.code) != (403, "role"), name
            assert said.status < 500
            if route.handler.__name__ == "sign_out":
                assert filled.ask("GET", "/v1/me", who=name).code == "not_signed_in"
    said = filled.ask(route.method, path, body)
    if route.roles == NOBODY_YET:
        assert said.code != "not_signed_in"
    else:
        assert (said.status, said.code) == (401, "not_signed_in")
        for forged in ("prdp_" + "0" * 64, "", "x" * 5000):
            said = filled.ask(route.method, path, body, authorization=f"Bearer {forged}")
            assert said.code == "not_signed_in"


def test_a_token_does_what_its_scopes_say_and_never_what_needs_a_session(served: Served) -> None:
    people(served)
    asked = {"scopes": ["read"], "label": "laptop", "days": 30}
    token = served.ask("POST", "/v1/tokens", asked, "ana").facts["token"]
    for route in ROUTES:
        if "analyst" in route.roles:
            path = re.sub(r"{(\w+)}", "none", route.path)
            said = served.ask(route.method, path, {} if route.body else None, authorization=f"Bearer {token}")
            assert (said.code == "scope") == (route.scope != "read"), route


def test_what_one_may_not_see_is_not_there(served: Served) -> None:
    people(served)
    number = served.request("ana", "SELECT COUNT(*) AS n FROM loans").facts["id"]
    served.run("loans")
    release = served.state(number, "ana")["release"]
    assert release
    hidden = ("/v1/tables/loans", "/v1/tables/loans/budget", f"/v1/requests/{number}",
              "/v1/releases?table=loans", f"/v1/releases/{release}", f"/v1/releases/{release}.csv",
              f"/v1/releases/{release}.json")  # fmt: skip
    missing = [re.sub(r"loans|[0-9a-f]{32}", "0" * 5, path) for path in hidden]
    for path, other in zip(hidden, missing, strict=True):
        mine, his, nowhere = (
            served.ask("GET", p, who=w) for p, w in ((path, "ana"), (path, "ben"), (other, "ben"))
        )
        assert mine.status == 200
        assert (his.status, his.body) == (404, nowhere.body) == (nowhere.status, nowhere.body)
    question = {"statement": "SELECT COUNT(*) FROM loans", "share": "0.01"}
    nothing = {"statement": "SELECT COUNT(*) FROM nothing", "share": "0.01"}
    assert (
        served.ask("POST", "/v1/plans", question, "ben").body
        == served.ask("POST", "/v1/plans", nothing, "ben").body
    )
    assert served.ask("GET", "/v1/me", who="ben").facts["tables"] == ["visits"]


def test_auditors_see_what_was_asked_and_no_answer(served: Served) -> None:
    people(served)
    number = served.request("ana", COUNT).facts["id"]
    served.run("visits")
    seen = served.ask("GET", f"/v1/requests/{number}", who="uwe")
    assert seen.facts["statement"] == COUNT
    assert "answers" not in seen.facts
    assert served.ask("GET", f"/v1/releases/{number}", who="uwe").code == "role"
    bodies = served.ask("GET", "/v1/audit", who="uwe").body.decode()
    answer = served.ask("GET", f"/v1/releases/{number}", who="ana").facts["answers"]["rows"][0][0]
    assert str(answer["release"]["steps"]) not in bodies


def test_a_steward_sees_the_requests_that_wait_and_those_that_they_decided(served: Served) -> None:
    people(served)
    alone = served.request("ana", COUNT).facts["id"]
    dear = served.request("ana", COUNT, "0.15").facts["id"]
    place = f"/v1/requests/{alone}"
    nowhere = served.ask("GET", f"/v1/requests/{'0' * 32}", who="stan")
    assert (nowhere.status, nowhere.body) == (404, served.ask("GET", place, who="stan").body)
    assert served.ask("GET", place, who="olga").facts["person"] == "ana"
    waiting = served.ask("GET", f"/v1/requests/{dear}", who="stan").facts
    body = {"approve": True, "digest": waiting["digest"]}
    assert served.ask("POST", f"/v1/requests/{dear}/decision", body, "stan").status == 200
    assert served.ask("GET", f"/v1/requests/{dear}", who="stan").facts["state"] == "queued"
    served.run("visits")
    assert served.ask("GET", place, who="stan").status == 404
    assert served.ask("GET", f"/v1/releases/{alone}", who="stan").status == 200  # without a name


def test_an_auditor_who_was_an_analyst_sees_no_table(served: Served) -> None:
    people(served)
    assert served.ask("GET", "/v1/me", who="ana").facts["tables"] == ["loans", "visits"]
    served.ask("PATCH", "/v1/people/3", {"role": "auditor"}, "olga")
    said = served.ask("POST", "/v1/sessions", {"name": "ana", "password": PASSWORD})
    served.cookies["ana"] = said.headers["set-cookie"].partition(";")[0]
    assert served.ask("GET", "/v1/me", who="ana").facts["tables"] == []
    assert served.ask("GET", "/v1/tables", who="ana").facts["tables"] == []


def test_a_dry_run_shows_what_a_token_with_a_cap_may_spend(served: Served) -> None:
    people(served)
    asked = {"scopes": ["read", "ask"], "label": "agent", "days": 30, "cap": "0.02"}
    token = f"Bearer {served.ask('POST', '/v1/tokens', asked, 'ana').facts['token']}"
    assert served.ask("GET", "/v1/tokens", who="ana").facts["tokens"][0]["cap"] == "0.02"
    body = {"statement": COUNT, "share": "0.01"}
    plan = served.ask("POST", "/v1/plans", body, authorization=token).facts
    assert (plan["left"], plan["left_approved"]) == ("0.02", "0.02")
    assert served.plan("ana", COUNT)["left"] == "0.1"
    sent = body | {"plan": plan["plan"]}
    said = served.ask("POST", "/v1/requests", sent, authorization=token, idempotency_key="a")
    assert said.status == 202
    plan = served.ask("POST", "/v1/plans", body | {"share": "0.02"}, authorization=token).facts
    assert plan["left"] == "0.01"
    said = served.ask(
        "POST", "/v1/requests", body | {"share": "0.02", "plan": plan["plan"]}, authorization=token,
        idempotency_key="b",
    )  # fmt: skip
    assert said.code == "cap"


def test_stewards_neither_invite_nor_read_the_audit_nor_spend(served: Served) -> None:
    people(served)
    for method, path, body in (
        ("POST", "/v1/people", {"name": "eve", "role": "owner"}),
        ("POST", "/v1/people/3/invitation", None),
        ("PATCH", "/v1/people/3", {"role": "owner"}),
        ("GET", "/v1/audit", None),
        ("POST", "/v1/requests", {}),
    ):
        assert served.ask(method, path, body, "stan").code == "role", path
    own = served.ask("PUT", "/v1/people/2/purses/visits", {"alone": "1", "approved": "1"}, "stan")
    assert own.code in {"own", "role"}
    assert not served.rows("SELECT * FROM {}purses WHERE person = 2")
