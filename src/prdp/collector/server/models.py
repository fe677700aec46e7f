"""Models of the server's responses: FastAPI writes the OpenAPI description from them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, field_validator

from prdp.collector.refusals import MESSAGES, STATUS
from prdp.collector.wire import BATCH_TYPE, JSON_TYPE, MAX_IN_BATCH, REPORT_TYPE

_DIGEST = "^[0-9a-f]{64}$"
_TOKEN = "^[0-9a-f]{32}$"  # noqa: S105  (a pattern)


class Refusal(BaseModel):
    """Why a request was not served."""

    code: str = Field(description="One of " + ", ".join(STATUS))
    message: str = Field(description="The same in a sentence")


class Acknowledged(BaseModel):
    """The report is on disk and counted."""

    counted: bool = Field(description="Always true")
    again: bool = Field(description="Whether the same bytes had come before")


class BatchEntry(BaseModel):
    """What became of one report of a batch."""

    counted: bool
    again: bool = False
    code: str | None = Field(default=None, description="Why it was not counted")


class BatchAcknowledged(BaseModel):
    """What became of every report of a batch, in its order; what is counted is on disk."""

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
    """How many tickets to give out."""

    model_config = {"extra": "forbid"}

    count: int = Field(ge=1, le=10_000)

    @field_validator("count", mode="before")
    @classmethod
    def refuse_texts(cls, given: object) -> object:
        """Refuse what is no number in JSON; 3.0 is one, and whole."""
        if isinstance(given, str | bool):
            raise ValueError("a number of tickets is a number")  # noqa: TRY004  (pydantic's way)
        return given


class Health(BaseModel):
    """Whether the collector takes reports in."""

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


def _body(schema: dict[str, Any], binary: str, what: str) -> dict[str, Any]:
    raw = {"schema": {"type": "string", "format": "binary", "description": what}}
    return {"requestBody": {"required": True, "content": {JSON_TYPE: {"schema": schema}, binary: raw}}}


ONE_REPORT = _body(_REPORT, REPORT_TYPE, "prdp, 0x01, digest (32), token (16), coordinates")
MANY_REPORTS = _body(
    _REPORTS, BATCH_TYPE, "prdp, 0x01, digest (32); then ticket (16), token (16), coordinates"
)
