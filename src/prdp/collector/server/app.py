"""The routes of a collector, as an ASGI application."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from prdp.collector.acceptance import Counted
from prdp.collector.page import page_of
from prdp.collector.refusals import RETRY_SECONDS, Refused
from prdp.collector.server import models
from prdp.collector.server.bodies import bearer, content_type, read_body
from prdp.collector.server.connections import Patience
from prdp.collector.server.front import Front
from prdp.collector.server.group_commit import Desk
from prdp.collector.server.rates import Rates
from prdp.collector.snapshot import Snapshot, status_of
from prdp.collector.tickets import is_operator
from prdp.collector.wire import (
    JSON_TYPE,
    MAX_BATCH_BYTES,
    MAX_REPORT_BYTES,
    Submission,
    read_batch,
    read_single,
)
from prdp.errors import CollectorError
from prdp.version import __version__

_STATIC = Path(__file__).parents[1] / "static"
_KINDS = {".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_ACKNOWLEDGED = {
    Counted.NOW: (201, b'{"counted":true,"again":false}'),
    Counted.BEFORE: (200, b'{"counted":true,"again":true}'),
}
_CLOSES = {"too_large", "too_slow"}
_TICKET = HTTPBearer(auto_error=False, scheme_name="ticket", description="A ticket")
_OPERATOR = HTTPBearer(auto_error=False, scheme_name="operator", description="The operator's token")
_NONE_FOUND = {404: "not_found", 405: "wrong_method"}


def application(
    address: str | Path,
    *,
    rates: Rates | None = None,
    patience: Patience | None = None,
    origins: tuple[str, ...] = (),
    started: Callable[[Desk], None] | None = None,
) -> Any:
    """Return the collector of a store as an ASGI application, for uvicorn or any other server.

    Args:
        address: The store: a file's path, or postgresql://...
        rates: How often an address may ask.
        patience: How long a request may take.
        origins: The origins of web pages elsewhere whose scripts may send reports.
        started: Called with the desk when the store is open.
    """
    desk = Desk(address)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await desk.start()
        if started is not None:
            started(desk)
        yield
        await desk.stop()

    app = FastAPI(
        title="prdp collector",
        version=__version__,
        description="Takes reports of clients who trust nobody; prdp's documentation describes the format.",
        lifespan=lifespan,
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
    )
    _add_errors(app)
    _add_reading(app, desk)
    _add_reporting(app, desk, patience or Patience())
    _add_operating(app, desk)
    _add_page(app, desk)
    if origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(origins), allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )  # fmt: skip
    return Front(app, Rates(0, 0) if rates is None else rates)


def _add_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        return refusal(error if isinstance(error, Refused) else Refused("failed"))

    async def invalid(_: Request, __: Exception) -> Response:
        return refusal(Refused("malformed"))

    async def by_status(_: Request, error: Exception) -> Response:
        known = error.status_code if isinstance(error, HTTPException) else 500
        answer = refusal(Refused(_NONE_FOUND.get(known, "malformed")))
        if isinstance(error, HTTPException) and error.headers:
            answer.headers.update(error.headers)
        return answer

    async def failed(_: Request, error: Exception) -> Response:
        return refusal(Refused("storage" if isinstance(error, CollectorError) else "failed"))

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, by_status)
    app.add_exception_handler(CollectorError, failed)
    app.add_exception_handler(Exception, failed)


def refusal(refused: Refused) -> Response:
    """Return a refusal as an HTTP response."""
    headers: dict[str, str] = {}
    if refused.code in RETRY_SECONDS:
        headers["retry-after"] = str(RETRY_SECONDS[refused.code])
    if refused.status == 401:
        headers["www-authenticate"] = "Bearer"
    if refused.code in _CLOSES:
        headers["connection"] = "close"
    return JSONResponse(refused.facts, refused.status, headers)


def _add_reading(app: FastAPI, desk: Desk) -> None:
    """Add what everybody may read."""

    @app.get("/v1/study", response_model=models.StudyStatus, responses=models.refusals())
    async def study() -> Any:
        """Return the study, its rounds and how far they are."""
        return JSONResponse(status_of(desk.snapshot))

    @app.get("/v1/campaign", response_model=None, responses=models.refusals("no_open_round"))
    async def campaign() -> Response:
        """Return the campaign of the open round; its digest is the SHA-256 of these bytes."""
        found = desk.snapshot.open_campaign
        if found is None:
            raise Refused("no_open_round")
        return _campaign(found.to_json(), found.digest)

    @app.get("/v1/campaigns/{digest}", response_model=None, responses=models.refusals("not_found"))
    async def campaign_by_hash(digest: str) -> Response:
        """Return the campaign of any round by its content hash."""
        for stored in desk.snapshot.study.rounds:
            if stored.digest.hex() == digest:
                return _campaign(stored.campaign, stored.digest)
        raise Refused("not_found")

    @app.get("/v1/result", response_model=None, responses=models.refusals("not_yet"))
    async def result() -> Response:
        """Return the result with its intervals, once the last round is closed."""
        found = desk.snapshot.study.result
        if found is None:
            raise Refused("not_yet")
        return Response(found, media_type=JSON_TYPE)

    @app.get("/v1/health", response_model=models.Health, responses=models.refusals())
    async def health() -> Any:
        """Say whether the collector has started."""
        return JSONResponse({"ready": bool(desk.snapshot.study.rounds)})


def _campaign(text: str, digest: bytes) -> Response:
    return Response(text, media_type=JSON_TYPE, headers={"etag": f'"{digest.hex()}"'})


def _add_reporting(app: FastAPI, desk: Desk, patience: Patience) -> None:
    """Add what clients send."""

    @app.post(
        "/v1/reports", status_code=201, response_model=models.Acknowledged, openapi_extra=models.ONE_REPORT,
        dependencies=[Depends(_TICKET)], responses={
            200: {"model": models.Acknowledged, "description": "The same bytes had come before"},
            **models.refusals(
                "wrong_version", "no_ticket", "unknown_ticket", "too_slow", "wrong_campaign", "ticket_used",
                "report_known", "late", "too_large", "wrong_type", "wrong_form", "storage",
            ),
        },
    )  # fmt: skip
    async def report(request: Request) -> Response:
        """Take in one report; the acknowledgement says that it is on disk."""
        if bearer(request) is None:
            raise Refused("no_ticket")
        body = await read_body(request, MAX_REPORT_BYTES, patience.body_seconds)
        submission = read_single(content_type(request), body, bearer(request), desk.rounds)
        (outcome,) = await desk.take([submission])
        if isinstance(outcome, Refused):
            raise outcome
        status, answered = _ACKNOWLEDGED[outcome]
        return Response(answered, status, media_type=JSON_TYPE)

    @app.post(
        "/v1/batches", response_model=models.BatchAcknowledged, openapi_extra=models.MANY_REPORTS,
        responses=models.refusals(
            "wrong_version", "too_slow", "wrong_campaign", "late", "too_large", "wrong_type", "storage"
        ),
    )  # fmt: skip
    async def batch(request: Request) -> Response:
        """Take in many reports, each with its ticket; say of each whether it is on disk."""
        body = await read_body(request, MAX_BATCH_BYTES, patience.body_seconds)
        read = read_batch(content_type(request), body, desk.rounds)
        taken = [each for each in read if isinstance(each, Submission)]
        outcomes = iter(await desk.take(taken) if taken else [])
        entries = [_entry(each if isinstance(each, Refused) else next(outcomes)) for each in read]
        return JSONResponse({"reports": entries})


def _entry(outcome: Counted | Refused) -> dict[str, Any]:
    if isinstance(outcome, Refused):
        return {"counted": False, "again": False, "code": outcome.code}
    return {"counted": True, "again": outcome is Counted.BEFORE, "code": None}


def _add_operating(app: FastAPI, desk: Desk) -> None:
    """Add what the operator alone may do."""

    def operator(request: Request) -> None:
        token = bearer(request)
        if token is None:
            raise Refused("no_operator")
        if not is_operator(token, desk.snapshot.study.operator):
            raise Refused("wrong_operator")

    only = [Depends(_OPERATOR), Depends(operator)]
    answered = models.refusals("no_operator", "wrong_operator", "no_open_round", "storage")

    @app.post("/v1/operator/close", response_model=models.StudyStatus, dependencies=only, responses=answered)
    async def close() -> Response:
        """Close the open round: add it up, and open the next one or publish the result."""
        if desk.snapshot.open_campaign is None:
            raise Refused("no_open_round")
        await desk.close_round()
        return JSONResponse(status_of(desk.snapshot))

    @app.post(
        "/v1/operator/tickets", response_model=models.Tickets, dependencies=only,
        responses=models.refusals("no_operator", "wrong_operator", "storage"),
    )  # fmt: skip
    async def tickets(wanted: models.TicketsWanted) -> Response:
        """Give new tickets out."""
        return JSONResponse({"tickets": await desk.give_out(wanted.count)})


def _add_page(app: FastAPI, desk: Desk) -> None:
    """Add the page of the study; it is written anew when something has happened."""
    written: list[tuple[Snapshot, str]] = []

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        now = desk.snapshot
        if not written or written[-1][0] is not now:
            written[:] = [(now, page_of(now.plan, status_of(now), now.study.result))]
        return HTMLResponse(written[-1][1])

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        return _file(name)


def _file(name: str) -> Response:
    found = {path.name: path for path in _STATIC.iterdir() if path.suffix in _KINDS}.get(name)
    if found is None:
        raise Refused("not_found")
    return Response(
        found.read_bytes(), media_type=_KINDS[found.suffix], headers={"cache-control": "max-age=300"}
    )


def description(address: str | Path) -> str:
    """Return the OpenAPI description as JSON."""
    app: FastAPI = application(address).app
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False)
