"""The pages of the console: forms in, HTML out; no scripts."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit
from uuid import uuid4

from fastapi import FastAPI
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from prdp.errors import InvalidRequest
from prdp.remote import spelled_share
from prdp.server.console import showing
from prdp.server.console.rest import Rest, RestRefused
from prdp.server.console.showing import cost_bar, policy_picture, shown_answers
from prdp.serving.requests import read_body

_HERE = Path(__file__).parent
_MAX_FORM, _FORM_SECONDS = 1 << 17, 20.0
_MENU = {
    "analyst": (("/tables", "Tables"), ("/ask", "Ask"), ("/history", "My questions")),
    "steward": (("/tables", "Tables"), ("/approvals", "Approvals"), ("/people", "People")),
    "owner": (
        ("/tables", "Tables"),
        ("/approvals", "Approvals"),
        ("/people", "People"),
        ("/audit", "Audit"),
    ),
    "auditor": (("/audit", "Audit"),),
}
_NOTES = {
    "decided": "Your decision is recorded.",
    "withdrawn": "The request is withdrawn; nothing was spent.",
    "purse": "The purse is set.",
    "access": "The access is changed: it holds at once.",
    "revoked": "The token is revoked: it works no more.",
}
_HEADINGS = {403: "Not yours to see", 404: "Nothing here", 429: "Too many requests", 503: "Try again soon"}
_KINDS = {".css": "text/css", ".svg": "image/svg+xml"}

Form = dict[str, str]
Facts = dict[str, Any]


def add_console(app: FastAPI) -> Callable[[Request], Response]:
    """Add the pages to an application that has the routes under ``/v1``; return the page for other paths."""
    console = _Console(app)
    for path, page in {
        "/": console.home, "/tables": console.tables, "/tables/{name:path}": console.table,
        "/ask": console.ask, "/requests/{id}": console.request, "/releases/{id}": console.release,
        "/history": console.history, "/approvals": console.approvals, "/people": console.people,
        "/audit": console.audit, "/tokens": console.tokens,
    }.items():  # fmt: skip
        app.router.add_route(path, console.signed_in(page), methods=["GET"], include_in_schema=False)
    for path, action in {
        "/ask": console.do_ask, "/requests/{id}/withdraw": console.withdraw,
        "/approvals/{id}": console.decide, "/people": console.invite,
        "/people/{id}/purse": console.set_purse, "/people/{id}/access": console.set_access,
        "/tokens": console.make_token, "/tokens/{id}/revoke": console.revoke_token,
        "/sign-out": console.sign_out,
    }.items():  # fmt: skip
        posted = console.signed_in(action, form=True)
        app.router.add_route(path, posted, methods=["POST"], include_in_schema=False)
    for path, open_page in {"/sign-in": console.sign_in, "/join/{code}": console.join}.items():
        app.router.add_route(path, open_page, methods=["GET", "POST"], include_in_schema=False)
    app.router.add_route("/static/{name}", _static, methods=["GET"], include_in_schema=False)
    return console.nothing


async def _static(request: Request) -> Response:
    files = {path.name: path for path in (_HERE / "static").iterdir() if path.suffix in _KINDS}
    found = files.get(request.path_params["name"])
    if found is None:
        return Response(status_code=404)
    headers = {"cache-control": "max-age=300"}
    return Response(found.read_bytes(), media_type=_KINDS[found.suffix], headers=headers)


@dataclass(frozen=True, slots=True)
class Visit:
    """A signed-in visitor's request.

    Attributes:
        request: The request.
        rest: The routes, for this visitor.
        me: The visitor, as ``/v1/me`` says.
        form: What was sent; empty for a page that is only read.
        scopes: Ticked boxes of the form.
    """

    request: Request
    rest: Rest
    me: Mapping[str, Any]
    form: Form
    scopes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The name in the path, quoted for another path."""
        return quote(self.request.path_params["id"], safe="")


Action = Callable[[Visit], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


async def _form(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form that a page of this server sent.

    Raises:
        RestRefused: Another site's page sent it, or it is no form.
    """
    sent_from = urlsplit(request.headers.get("origin", "")).netloc
    if not sent_from or sent_from != request.headers.get("host", ""):
        raise RestRefused(403, "origin", "this form does not come from a page of this server.")
    body = await read_body(request, _MAX_FORM, _FORM_SECONDS)
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise RestRefused(400, "malformed", "this is not a form that the server can read.") from None


def _see(path: str) -> Response:
    """Send a browser to another page after a form."""
    return RedirectResponse(path, status_code=303)


class _Console:
    """The pages of one application."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=showing.seen,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        filters = (showing.moment, showing.iso, showing.digits, showing.facts)
        self._templates.filters |= {one.__name__: one for one in filters}
        self._templates.filters["part"] = partial(quote, safe="")
        self._templates.globals |= {"percent": showing.percent}

    def signed_in(self, action: Action, *, form: bool = False) -> Endpoint:
        """Return what serves an action to those who are signed in, and sends others to do so."""

        async def serve(request: Request) -> Response:
            rest = Rest(self._app, request)
            try:
                me = await rest.get("/v1/me")
            except RestRefused as refused:
                if refused.status == 401:
                    return _see(f"/sign-in?next={quote(request.url.path, safe='')}")
                return self._refuse(request, None, refused)
            try:
                fields = await _form(request) if form else []
                ticked = tuple(value for name, value in fields if name == "scopes")
                return await action(Visit(request, rest, me, dict(fields), ticked))
            except RestRefused as refused:
                return self._refuse(request, me, refused)

        return serve

    def _page(
        self,
        template: str,
        request: Request,
        me: Mapping[str, Any] | None,
        /,
        *,
        status: int = 200,
        **facts: Any,
    ) -> Response:
        menu = (*_MENU.get(str(me["role"]), ()), ("/tokens", "Tokens")) if me else ()
        note = _NOTES.get(request.query_params.get("note", ""), "")
        room = "/" + request.url.path.split("/")[1]
        here = {"/requests": "/history", "/releases": "/tables"}.get(room, room)
        known = {"me": me, "menu": menu, "here": here, "refused": "", "note": note, **facts}
        return HTMLResponse(self._templates.get_template(template).render(known), status_code=status)

    def _refuse(self, request: Request, me: Mapping[str, Any] | None, refused: RestRefused) -> Response:
        heading = _HEADINGS.get(refused.status, "This was refused")
        facts = {"heading": heading, "refused": refused.message}
        return self._page("refused.html", request, me, status=refused.status, **facts)

    def _shown(self, template: str, visit: Visit, /, **facts: Any) -> Response:
        return self._page(template, visit.request, visit.me, **facts)

    def nothing(self, request: Request) -> Response:
        """Show that a path leads nowhere."""
        return self._refuse(request, None, RestRefused(404, "not_found", "this address leads nowhere."))

    async def sign_in(self, request: Request) -> Response:
        """Show the form of sign-in, or sign in."""
        onward = request.query_params.get("next", "/")
        if request.method in {"GET", "HEAD"}:
            return self._page("sign_in.html", request, None, next=onward, name="")
        form: Form = {}
        try:
            form = dict(await _form(request))
            body = {"name": form.get("name", ""), "password": form.get("password", "")}
            reply = await Rest(self._app, request).call("POST", "/v1/sessions", body)
        except RestRefused as refused:
            facts = {"next": form.get("next", "/"), "name": form.get("name", ""), "refused": refused.message}
            return self._page("sign_in.html", request, None, status=refused.status, **facts)
        onward = form.get("next", "/")
        return _with_cookies(_see(onward if _is_here(onward) else "/"), reply.cookies)

    async def join(self, request: Request) -> Response:
        """Show the form of an invitation, or accept it."""
        if request.method in {"GET", "HEAD"}:
            return self._page("join.html", request, None)
        try:
            form = dict(await _form(request))
            _refuse_slip(form)
            path = f"/v1/invitations/{quote(request.path_params['code'], safe='')}"
            reply = await Rest(self._app, request).call("POST", path, {"password": form.get("password", "")})
        except RestRefused as refused:
            return self._page("join.html", request, None, status=refused.status, refused=refused.message)
        return _with_cookies(_see("/"), reply.cookies)

    async def sign_out(self, visit: Visit) -> Response:
        """End the session."""
        reply = await visit.rest.call("DELETE", "/v1/sessions/current")
        return _with_cookies(_see("/sign-in"), reply.cookies)

    async def home(self, visit: Visit) -> Response:
        """Send everybody to their first page."""
        return _see(_MENU[str(visit.me["role"])][0][0])

    async def tables(self, visit: Visit) -> Response:
        """List the tables that the visitor may ask about."""
        purses = {one["table"]: one for one in visit.me["purses"]}
        return self._shown("tables.html", visit, purses=purses, **await visit.rest.get("/v1/tables"))

    async def table(self, visit: Visit) -> Response:
        """Show what is public about a table."""
        name = visit.request.path_params["name"]
        path = f"/v1/tables/{quote(name, safe='')}"
        table, budget = await visit.rest.get(path), await visit.rest.get(f"{path}/budget")
        found = await visit.rest.get("/v1/releases", f"table={quote(name, safe='')}")
        facts = {"table": table, "budget": budget, "releases": found["releases"]}
        asks = visit.me["role"] == "analyst"
        picture = await run_in_threadpool(policy_picture, table)
        return self._shown("table.html", visit, picture=picture, asks=asks, **facts)

    async def ask(self, visit: Visit) -> Response:
        """Show an empty question."""
        return await self._asking(visit, statement="", share="0.01")

    async def _asking(self, visit: Visit, *, status: int = 200, **facts: Any) -> Response:
        """Show a question, with the columns of the table that it is about, where that is known."""
        known: list[str] = visit.me["tables"]
        wanted = (facts.get("plan") or {}).get("table") or visit.form.get("table")
        wanted = wanted or visit.request.query_params.get("table") or "".join(known[:1])
        table = None
        if wanted in known:
            table = await visit.rest.get(f"/v1/tables/{quote(wanted, safe='')}")
        empty = {"plan": None, "preview": None, "purpose": "", "key": "", "bar": ""}
        return self._shown("ask.html", visit, status=status, table=table, **(empty | facts))

    async def do_ask(self, visit: Visit) -> Response:
        """Plan, try on made-up rows, or spend."""
        form = {"statement": "", "share": "", "purpose": "", "do": "plan"} | visit.form
        asked = {"statement": form["statement"].replace("\r\n", "\n"), "share": _share(form["share"])}
        kept: Facts = {"statement": form["statement"], "share": form["share"], "purpose": form["purpose"]}
        try:
            if form["do"] == "preview":
                found = await visit.rest.post("/v1/previews", asked)
                return await self._asking(
                    visit, preview=await run_in_threadpool(shown_answers, found["answers"]), **kept
                )
            if form["do"] == "spend":
                purpose = {"purpose": form["purpose"]} if form["purpose"] else {}
                sent = asked | {"plan": form.get("plan", "")} | purpose
                key = form.get("key", "")
                request = await visit.rest.post("/v1/requests", sent, idempotency_key=_header(key))
                return _see(f"/requests/{quote(request['id'], safe='')}")
            plan = await self._planned(visit, asked)
        except RestRefused as refused:
            return await self._asking(visit, status=refused.status, refused=refused.message, **kept)
        return await self._asking(visit, plan=plan, bar=cost_bar(plan), key=uuid4().hex, **kept)

    async def _planned(self, visit: Visit, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return a plan with the purse that it would be spent from."""
        plan = await visit.rest.post("/v1/plans", asked)
        budget = await visit.rest.get(f"/v1/tables/{quote(plan['table'], safe='')}/budget")
        purse = budget["mine"]["approved" if plan["needs_approval"] else "alone"]
        return {**plan, "purse": purse, "after": showing.left_after(purse["left"], plan["cost"])}

    async def request(self, visit: Visit) -> Response:
        """Show a request, and once it is published, its answer."""
        request = await visit.rest.get(f"/v1/requests/{visit.id}")
        mine = request["person"] == visit.me["name"]
        found, receipt, refresh = None, None, None
        if request["state"] == "published" and not request["failed"] and request["release"]:
            try:
                release = await visit.rest.get(f"/v1/releases/{quote(request['release'], safe='')}")
                receipt = release["receipt"]
                found = await run_in_threadpool(shown_answers, release["answers"])
            except RestRefused as refused:
                if refused.status not in {403, 404}:  # a steward decides, and sees no answer
                    raise
        if request["state"] == "queued":
            refresh = max(1, math.ceil(request["publish_at"] - time.time()))
        facts = {"request": request, "mine": mine, "found": found, "receipt": receipt}
        return self._shown("request.html", visit, refresh=refresh, **facts)

    async def release(self, visit: Visit) -> Response:
        """Show an answer that everybody who may ask about its table shares."""
        release = await visit.rest.get(f"/v1/releases/{visit.id}")
        request = {name: release[name] for name in ("table", "statement", "share")}
        request |= {"release": release["id"], "publish_at": release["published_at"]}
        request |= {"state": "", "failed": "", "purpose": ""}
        found = await run_in_threadpool(shown_answers, release["answers"])
        facts = {"request": request, "mine": False, "found": found, "receipt": release["receipt"]}
        return self._shown("request.html", visit, **facts)

    async def withdraw(self, visit: Visit) -> Response:
        """Withdraw a request that waits."""
        await visit.rest.call("DELETE", f"/v1/requests/{visit.id}")
        return _see(f"/requests/{visit.id}?note=withdrawn")

    async def history(self, visit: Visit) -> Response:
        """List the visitor's questions and purses."""
        return self._shown("history.html", visit, **await visit.rest.get("/v1/requests", "mine=1"))

    async def approvals(self, visit: Visit) -> Response:
        """List what waits for a decision."""
        found = await visit.rest.get("/v1/requests")
        waiting = [one for one in found["requests"] if one["state"] == "waiting"]
        people = (await visit.rest.get("/v1/people"))["people"]
        purses = {
            (one["name"], purse["table"]): purse["approved"] for one in people for purse in one["purses"]
        }
        tables = (await visit.rest.get("/v1/tables"))["tables"]
        remaining = {one["name"]: one["remaining"] for one in tables}
        return self._shown("approvals.html", visit, requests=waiting, purses=purses, remaining=remaining)

    async def decide(self, visit: Visit) -> Response:
        """Approve or deny a request."""
        approve = visit.form.get("approve") == "yes"
        body = {"approve": approve, "digest": visit.form.get("digest", "")}
        body["reason"] = None if approve else visit.form.get("reason", "other")
        await visit.rest.post(f"/v1/requests/{visit.id}/decision", body)
        return _see("/approvals?note=decided")

    async def people(self, visit: Visit) -> Response:
        """List people and their purses."""
        return await self._listed(visit)

    async def _listed(self, visit: Visit, **facts: Any) -> Response:
        found = await visit.rest.get("/v1/people")
        tables = (await visit.rest.get("/v1/tables"))["tables"]
        shown = {"people": found["people"], "tables": tables, "invitation": "", "invited": ""}
        return self._shown("people.html", visit, **(shown | facts))

    async def invite(self, visit: Visit) -> Response:
        """Invite somebody; the invitation is shown once."""
        form = visit.form
        body: dict[str, Any] = {"name": form.get("name", ""), "role": form.get("role", "analyst")}
        if body["role"] == "analyst" and form.get("table"):
            purse = {kind: _share(form.get(kind, "0")) for kind in ("alone", "approved")}
            body["purses"] = {form["table"]: purse}
        try:
            made = await visit.rest.post("/v1/people", body)
        except RestRefused as refused:
            return await self._listed(visit, status=refused.status, refused=refused.message)
        return await self._listed(visit, invitation=_link(visit, made["invitation"]), invited=body["name"])

    async def set_purse(self, visit: Visit) -> Response:
        """Set what a person may spend."""
        table = quote(visit.form.get("table", ""), safe="")
        body = {kind: _share(visit.form.get(kind, "")) for kind in ("alone", "approved")}
        try:
            await visit.rest.call("PUT", f"/v1/people/{visit.id}/purses/{table}", body)
        except RestRefused as refused:
            return await self._listed(visit, status=refused.status, refused=refused.message)
        return _see("/people?note=purse")

    async def set_access(self, visit: Visit) -> Response:
        """Disable or enable a person, give them another role, or make a new invitation."""
        if visit.form.get("do") == "invite":
            made = await visit.rest.post(f"/v1/people/{visit.id}/invitation", {})
            found = await visit.rest.get("/v1/people")
            names = [one["name"] for one in found["people"] if str(one["id"]) == visit.id]
            return await self._listed(
                visit, invitation=_link(visit, made["invitation"]), invited=", ".join(names)
            )
        change: Facts = {"disabled": visit.form.get("do") == "disable"}
        if visit.form.get("do") == "role":
            change = {"role": visit.form.get("role", "")}
        try:
            await visit.rest.call("PATCH", f"/v1/people/{visit.id}", change)
        except RestRefused as refused:
            return await self._listed(visit, status=refused.status, refused=refused.message)
        return _see("/people?note=access")

    async def audit(self, visit: Visit) -> Response:
        """Show some lines of the audit chain, the newest by default."""
        head = await visit.rest.get("/v1/audit/head")
        given = visit.request.query_params.get("from", "")
        first = int(given) if given.isdecimal() and len(given) < 16 else max(0, int(head["number"]) - 199)
        audit = await visit.rest.get("/v1/audit", f"from={first}")
        last = int(audit["lines"][-1]["number"]) if audit["lines"] else first
        before = max(0, first - 200) if first else None
        after = last + 1 if last < int(head["number"]) else None
        return self._shown("audit.html", visit, audit=audit, before=before, after=after)

    async def tokens(self, visit: Visit) -> Response:
        """List access tokens."""
        return self._shown("tokens.html", visit, token="", user="", **await visit.rest.get("/v1/tokens"))

    async def make_token(self, visit: Visit) -> Response:
        """Make a token; it is shown once."""
        days = visit.form.get("days", "")
        body: Facts = {"label": visit.form.get("label", ""), "scopes": list(visit.scopes)}
        user = ""
        if visit.form.get("wire"):
            body |= {"wire": True, "scopes": ["read", "ask"]}
            user = f"{visit.me['name']}.{body['label']}"
        body["days"] = int(days) if days.isdecimal() and len(days) < 5 else 0
        if visit.form.get("cap", "").strip():
            body["cap"] = _share(visit.form["cap"])
        status, refused, token = 200, "", ""
        try:
            token = (await visit.rest.post("/v1/tokens", body))["token"]
        except RestRefused as error:
            status, refused = error.status, error.message
        known = await visit.rest.get("/v1/tokens")
        facts = {"status": status, "refused": refused, "token": token, "user": user}
        return self._shown("tokens.html", visit, **facts, **known)

    async def revoke_token(self, visit: Visit) -> Response:
        """Revoke a token."""
        await visit.rest.call("DELETE", f"/v1/tokens/{visit.id}")
        return _see("/tokens?note=revoked")


def _refuse_slip(form: Form) -> None:
    """Refuse a password that was written in two ways."""
    if form.get("password") != form.get("again"):
        raise RestRefused(422, "invalid", "the two passwords differ.")


def _is_here(path: str) -> bool:
    """Return whether a path is one of this server, and no other site's address."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


def _with_cookies(response: Response, cookies: tuple[bytes, ...]) -> Response:
    response.raw_headers += [(b"set-cookie", cookie) for cookie in cookies]
    return response


def _header(text: str) -> str:
    return text if text.isascii() and text.isalnum() and len(text) <= 64 else "malformed"


def _link(visit: Visit, code: str) -> str:
    return f"{visit.request.base_url}join/{quote(code, safe='')}"


def _share(text: str) -> str:
    """Return a share as the REST interface has it; what is none is passed on, to be refused there."""
    try:
        return spelled_share(text.strip()) if text.strip() else ""
    except InvalidRequest:
        return text[:40]
