"""Why a collector says no: a code for programs, a sentence for people, and nothing of what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

STATUS: Mapping[str, int] = MappingProxyType(
    {
        "malformed": 400,
        "wrong_version": 400,
        "no_ticket": 401,
        "no_operator": 401,
        "unknown_ticket": 403,
        "wrong_operator": 403,
        "not_found": 404,
        "not_yet": 404,
        "wrong_method": 405,
        "too_slow": 408,
        "wrong_campaign": 409,
        "ticket_used": 409,
        "report_known": 409,
        "no_open_round": 409,
        "late": 410,
        "too_large": 413,
        "wrong_type": 415,
        "wrong_form": 422,
        "too_many": 429,
        "failed": 500,
        "busy": 503,
        "storage": 503,
    }
)
"""Every code and its HTTP status."""

MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "malformed": "this is no report or batch of reports that a collector can read.",
        "wrong_version": "this is of another version of the format: this collector reads version 1.",
        "no_ticket": "a report comes with the ticket of its sender: Authorization: Bearer TICKET.",
        "no_operator": "this is for the operator: Authorization: Bearer TOKEN.",
        "unknown_ticket": "this ticket was not given out here.",
        "wrong_operator": "this is not the operator's token.",
        "not_found": "there is nothing here.",
        "not_yet": "there is no result yet: the last round is still to close.",
        "wrong_method": "this cannot be asked for in this way.",
        "too_slow": "the request took too long to arrive.",
        "wrong_campaign": "this report answers another campaign, or other terms of this one.",
        "ticket_used": "this ticket has brought another report in this round. The first one stays.",
        "report_known": "another ticket has brought a report with this token. The first one stays.",
        "no_open_round": "no round is open.",
        "late": "the round that this report answers is closed, and the report was not counted.",
        "too_large": "this is more than a collector reads at once.",
        "wrong_type": "send application/json, application/vnd.prdp.report or application/vnd.prdp.reports.",
        "wrong_form": "this report does not have the form that its campaign asks for.",
        "too_many": "too many requests from one place: wait, then send the same bytes again.",
        "failed": "the collector failed. Nothing was acknowledged: send the same bytes again.",
        "busy": "too much at once: wait, then send the same bytes again.",
        "storage": "reports cannot be stored now. Nothing was acknowledged: send the same bytes again later.",
    }
)
"""Every code in a sentence; a message never repeats what was sent."""

RETRY_SECONDS: Mapping[str, int] = MappingProxyType({"too_many": 1, "busy": 1, "storage": 5})
"""How long to wait where the same bytes may be sent again."""


class Refused(Exception):  # noqa: N818  (reads as what it is)
    """A request that is not served, by its code.

    >>> refused = Refused("late")
    >>> refused.status, str(refused)
    (410, 'the round that this report answers is closed, and the report was not counted.')
    """

    def __init__(self, code: str) -> None:
        super().__init__(MESSAGES[code])
        self.code = code

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.code]

    @property
    def facts(self) -> dict[str, object]:
        """What is sent back."""
        return {"code": self.code, "message": str(self)}
