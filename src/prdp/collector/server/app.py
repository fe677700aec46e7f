"""The routes of a collector, as an ASGI application: limits of requests, headers, models of responses."""

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
from pydantic import BaseModel, Field, ValidationError, field_validator
from starlette.exceptions import HTTPException

from prdp.collector.page import page_of
from prdp.collector.rounds import Snapshot, status_of
from prdp.collector.server.group_commit import Counted, Desk
from prdp.collector.wire import (
    BATCH_TYPE,
    JSON_TYPE,
    MAX_BATCH_BYTES,
    MAX_IN_BATCH,
    MAX_REPORT_BYTES,
    MESSAGES,
    REPORT_TYPE,
    RETRY_SECONDS,
    STATUS,
    Refused,
    Submission,
    is_operator,
    read_batch,
    read_single,
)
from prdp.errors import CollectorError
from prdp.serving.connections import Patience, Rates
from prdp.serving.requests import Guarded, Unreadable, bearer, content_type, read_body
from prdp.version import __version__

_DIGEST = "^[0-9a-f]{64}$"
_TOKEN = "^[0-9a-f]{32}$"  # noqa: S105  (a pattern)


class Refusal(BaseModel):
    """Reason why a request was not served."""

    code: str = Field(description="One of " + ", ".join(STATUS))
    message: str = Field(description="The same in a sentence")


class Acknowledged(BaseModel):
    """The report is on disk and counted."""

    counted: bool = Field(description="Always true")
    again: bool = Field(description="Whether the same bytes had come before")


class BatchEntry(BaseModel):
    """Outcome of one report of a batch."""

    counted: bool
    again: bool = False
    code: str | None = Field(default=None, description="Why it was not counted")


class BatchAcknowledged(BaseModel):
    """Outcomes of the reports of a batch, in its order; those that are counted are on disk."""

    reports: list[BatchEntry]


class RoundStatus(BaseModel):
    """One round, in public."""

    number: int
    campaign: str = Field(pattern=_DIGEST, description="The content hash of its campaign")
    share: str = Field(description="The part of every budget that it uses")
    reports: int
    closed: bool
    closes_at: int | None = Field(description="Seconds since 1970")
    threshold_budget: str | None = Field(description="ε_τ, the smallest budget that takes part")


class StudyStatus(BaseModel):
    """A study, in public."""

    name: str
    study: str = Field(pattern=_DIGEST, description="The content hash of the study's plan")
    ask: str
    state: str = Field(description="open, adding up, or done")
    reads: list[str] = Field(description="The columns that clients read of their records")
    share: str
    closing: str
    closes_at_reports: int | None
    rounds: list[RoundStatus]


class Tickets(BaseModel):
    """New tickets; they cannot be shown again."""

    tickets: list[str]


class TicketsWanted(BaseModel):
    """Number of tickets to give out."""

    model_config = {"extra": "forbid"}

    count: int = Field(ge=1, le=10_000)

    @field_validator("count", mode="before")
    @classmethod
    def refuse_texts(cls, given: object) -> object:
        """Refuse what is not a number in JSON; 3.0 is one, and whole."""
        if isinstance(given, str | bool):
            raise ValueError("a number of tickets is a number")  # noqa: TRY004  (pydantic's way)
        return given

    @classmethod
    def read(cls, body: bytes) -> TicketsWanted:
        """Read a request's body.

        Raises:
            Refused: It is something else.
        """
        try:
            return cls.model_validate_json(body)
        except ValidationError:
            raise Refused("malformed") from None


class Health(BaseModel):
    """Readiness of the collector for reports."""

    ready: bool


def refusals(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of some refusals, and of those that every request may meet."""
    found: dict[int | str, dict[str, Any]] = {}
    for code in (*codes, "malformed", "too_many", "busy"):
        entry = found.setdefault(STATUS[code], {"model": Refusal, "description": ""})
        if code not in entry["description"]:
            entry["description"] += f"{'; ' * bool(entry['description'])}{code}: {MESSAGES[code]}"
    return found


_REPORT = {
    "type": "object",
    "description": "A report, for people",
    "additionalProperties": False,
    "required": ["prdp", "version", "campaign", "token", "outcomes"],
    "properties": {
        "prdp": {"const": "report"},
        "version": {"const": 1},
        "campaign": {"type": "string", "pattern": _DIGEST},
        "token": {"type": "string", "pattern": _TOKEN},
        "outcomes": {
            "type": "array",
            "maxItems": 32_768,
            "items": {
                "anyOf": [
                    {"type": "integer", "minimum": -(2**53 - 1), "maximum": 2**53 - 1},
                    {"type": "string", "pattern": "^-?[1-9][0-9]{16,998}$"},
                ]
            },
        },
    },
}
_REPORTS = {
    "type": "object",
    "description": "Reports with their tickets",
    "additionalProperties": False,
    "required": ["prdp", "version", "reports"],
    "properties": {
        "prdp": {"const": "reports"},
        "version": {"const": 1},
        "reports": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_IN_BATCH,
            "items": {
                "description": "An object of a ticket and a report. Each entry is answered for by itself: "
                "one that is anything else is not counted, and its code says why.",
                "example": {"ticket": "0" * 32, "report": {"prdp": "report"}},
            },
        },
    },
}


TICKETS_WANTED = {
    "requestBody": {
        "required": True,
        "content": {JSON_TYPE: {"schema": TicketsWanted.model_json_schema()}},
    }
}


def _body(schema: dict[str, Any], binary: str, what: str) -> dict[str, Any]:
    raw = {"schema": {"type": "string", "format": "binary", "description": what}}
    return {"requestBody": {"required": True, "content": {JSON_TYPE: {"schema": schema}, binary: raw}}}


ONE_REPORT = _body(_REPORT, REPORT_TYPE, "prdp, 0x01, digest (32), token (16), coordinates")
MANY_REPORTS = _body(
    _REPORTS, BATCH_TYPE, "prdp, 0x01, digest (32); then ticket (16), token (16), coordinates"
)


_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}
_STATIC = Path(__file__).parents[1] / "static"
_KINDS = {".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_ACKNOWLEDGED = {
    Counted.NOW: (201, b'{"counted":true,"again":false}'),
    Counted.BEFORE: (200, b'{"counted":true,"again":true}'),
}
_MAX_WANTED_BYTES = 1 << 12
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
        rates: The rate limit of an address.
        patience: The time limits of a connection.
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
    patience = patience or Patience()
    _add_reporting(app, desk, patience)
    _add_operating(app, desk, patience)
    _add_page(app, desk)
    if origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(origins), allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )  # fmt: skip
    allowed = Rates(0, 0) if rates is None else rates
    return Guarded(app, allowed, lambda code: refusal(Refused(code)), _HEADERS)


def _add_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        return refusal(error if isinstance(error, Refused) else Refused("failed"))

    async def unreadable(_: Request, error: Exception) -> Response:
        return refusal(Refused(error.code if isinstance(error, Unreadable) else "failed"))

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
    app.add_exception_handler(Unreadable, unreadable)
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

    @app.get("/v1/study", response_model=StudyStatus, responses=refusals())
    async def study() -> Any:
        """Return the study, its rounds and how far they are."""
        return JSONResponse(status_of(desk.snapshot))

    @app.get("/v1/campaign", response_model=None, responses=refusals("no_open_round"))
    async def campaign() -> Response:
        """Return the campaign of the open round; its digest is the SHA-256 of these bytes."""
        found = desk.snapshot.open_campaign
        if found is None:
            raise Refused("no_open_round")
        return _campaign(found.to_json(), found.digest)

    @app.get("/v1/campaigns/{digest}", response_model=None, responses=refusals("not_found"))
    async def campaign_by_hash(digest: str) -> Response:
        """Return the campaign of any round by its content hash."""
        for stored in desk.snapshot.study.rounds:
            if stored.digest.hex() == digest:
                return _campaign(stored.campaign, stored.digest)
        raise Refused("not_found")

    @app.get("/v1/result", response_model=None, responses=refusals("not_yet"))
    async def result() -> Response:
        """Return the result with its intervals, once the last round is closed."""
        found = desk.snapshot.study.result
        if found is None:
            raise Refused("not_yet")
        return Response(found, media_type=JSON_TYPE)

    @app.get("/v1/health", response_model=Health, responses=refusals())
    async def health() -> Any:
        """Return whether the collector has started."""
        return JSONResponse({"ready": bool(desk.snapshot.study.rounds)})


def _campaign(text: str, digest: bytes) -> Response:
    return Response(text, media_type=JSON_TYPE, headers={"etag": f'"{digest.hex()}"'})


def _add_reporting(app: FastAPI, desk: Desk, patience: Patience) -> None:
    """Add what clients send."""

    @app.post(
        "/v1/reports", status_code=201, response_model=Acknowledged, openapi_extra=ONE_REPORT,
        dependencies=[Depends(_TICKET)], responses={
            200: {"model": Acknowledged, "description": "The same bytes had come before"},
            **refusals(
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
        "/v1/batches", response_model=BatchAcknowledged, openapi_extra=MANY_REPORTS,
        responses=refusals(
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


def _add_operating(app: FastAPI, desk: Desk, patience: Patience) -> None:
    """Add what the operator alone may do."""

    def operator(request: Request) -> None:
        token = bearer(request)
        if token is None:
            raise Refused("no_operator")
        if not is_operator(token, desk.snapshot.study.operator):
            raise Refused("wrong_operator")

    only = [Depends(_OPERATOR), Depends(operator)]
    answered = refusals("no_operator", "wrong_operator", "no_open_round", "storage")

    @app.post("/v1/operator/close", response_model=StudyStatus, dependencies=only, responses=answered)
    async def close() -> Response:
        """Close the open round: add it up, and open the next one or publish the result."""
        if desk.snapshot.open_campaign is None:
            raise Refused("no_open_round")
        await desk.close_round()
        return JSONResponse(status_of(desk.snapshot))

    @app.post(
        "/v1/operator/tickets", response_model=Tickets, dependencies=only,
        openapi_extra=TICKETS_WANTED, responses=refusals(
            "no_operator", "wrong_operator", "too_slow", "too_large", "wrong_type", "storage"
        ),
    )  # fmt: skip
    async def tickets(request: Request) -> Response:
        """Give new tickets out."""
        body = await read_body(request, _MAX_WANTED_BYTES, patience.body_seconds)  # FastAPI reads any length
        if content_type(request) != JSON_TYPE:
            raise Refused("wrong_type")
        wanted = TicketsWanted.read(body)
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
