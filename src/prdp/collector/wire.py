"""The wire format, version 1: reports as JSON or as bytes, alone or in a batch; tickets; refusals.

A report's bytes are ``prdp``, the version (1), the campaign's digest (32), the report's token (16) and the
coordinates, packed. A batch's are ``prdp``, the version, the digest, and for each report its ticket (16),
its token (16) and its coordinates. All reports to a campaign are of one length, so nothing says where one
ends. docs/collector.md describes both, and ``vectors/`` has examples with every byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from types import MappingProxyType
from typing import Any, ParamSpec

from prdp.errors import InvalidRequest
from prdp.local import Campaign, Report
from prdp.local.client.facts import read_object
from prdp.local.client.report import packed, payload_size, unpacked
from prdp.noise.entropy import Entropy, SystemEntropy

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
"""Waiting time before the same bytes may be sent again."""


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
        """The body of the response."""
        return {"code": self.code, "message": str(self)}


TICKET_BYTES = 16
_OPERATOR_BYTES = 32
_TICKET = re.compile("[0-9a-f]{32}")


def new_tickets(count: int, entropy: Entropy | None = None) -> list[str]:
    """Return fresh tickets, each 32 hexadecimal digits.

    >>> len(new_tickets(3)), len(new_tickets(1)[0])
    (3, 32)
    """
    drawn = (entropy or SystemEntropy()).bytes(count * TICKET_BYTES)
    return [drawn[start : start + TICKET_BYTES].hex() for start in range(0, len(drawn), TICKET_BYTES)]


def new_operator_token(entropy: Entropy | None = None) -> str:
    """Return a fresh token for the operator, 64 hexadecimal digits."""
    return (entropy or SystemEntropy()).bytes(_OPERATOR_BYTES).hex()


def ticket_bytes(text: str) -> bytes | None:
    """Return the bytes of a ticket as it is written; None for what is none.

    >>> ticket_bytes("00" * 16) == bytes(16), ticket_bytes("my ticket") is None
    (True, True)
    """
    return bytes.fromhex(text) if _TICKET.fullmatch(text) else None


def hashed(ticket: bytes) -> bytes:
    """Return the stored digest of a ticket.

    A ticket has 128 random bits, so nobody finds it from its hash by trying.
    """
    return sha256(b"prdp ticket" + ticket).digest()


def operator_hash(token: str) -> bytes:
    """Return the stored digest of the operator's token."""
    return sha256(b"prdp operator" + token.encode("utf-8", "surrogatepass")).digest()


def is_operator(token: str, stored: bytes) -> bool:
    """Return whether a token is the operator's, in a time that does not depend on how near it is."""
    return compare_digest(operator_hash(token), stored)


P = ParamSpec("P")

VERSION = 1
JSON_TYPE = "application/json"
REPORT_TYPE = "application/vnd.prdp.report"
BATCH_TYPE = "application/vnd.prdp.reports"

MAX_REPORT_BYTES = 1 << 17
"""Maximum size of a single report: as JSON, one of the most bits takes half of it."""

MAX_BATCH_BYTES = 1 << 20
MAX_IN_BATCH = 1_000

_MAGIC = b"prdp"
_HEAD = len(_MAGIC) + 1
_DIGEST = 32
_TOKEN = 16
_SAFE = (1 << 53) - 1
_HEX_DIGEST = re.compile("[0-9a-f]{64}")
_HEX_TOKEN = re.compile("[0-9a-f]{32}")
_WHOLE = re.compile("-?[1-9][0-9]{0,10000}")


@dataclass(frozen=True, slots=True)
class Submission:
    """A report in the form of its campaign, and the hash of the ticket that it came with."""

    campaign: bytes
    ticket: bytes
    token: bytes
    payload: bytes


class Rounds:
    """The campaigns that reports may answer: the open round's, and those of rounds that are over.

    A report to a round that is over is read too: it may have been counted, and its sender not have heard.
    """

    def __init__(self, campaigns: Sequence[Campaign]) -> None:
        self._campaigns = {campaign.digest: campaign for campaign in campaigns}
        self._sizes = {campaign.digest: payload_size(campaign.fields) for campaign in campaigns}

    def campaign(self, digest: bytes) -> Campaign:
        """Return a campaign; refuse a report to any other one."""
        found = self._campaigns.get(digest)
        if found is None:
            raise Refused("wrong_campaign")
        return found

    def entry_size(self, digest: bytes) -> int:
        """Return the number of bytes of a report to a campaign in a batch."""
        return TICKET_BYTES + _TOKEN + self._sizes[self.campaign(digest).digest]


def as_json(campaign: Campaign, report: Report) -> str:
    """Return a report as one line of JSON.

    >>> from prdp.local.protocols.counting import DomainCount
    >>> from prdp.policy import Policy
    >>> campaign = Campaign("visits", Policy("1 / visits", at_least="1/4", at_most=1), "1/2", DomainCount())
    >>> report = Report(campaign.digest, bytes(16), packed((1, 0), campaign.fields))
    >>> as_json(campaign, report).partition('"token":')[2]
    '"00000000000000000000000000000000","outcomes":[1,0]}'
    """
    outcomes = [_number(outcome) for outcome in unpacked(report.payload, campaign.fields)]
    facts = {"prdp": "report", "version": VERSION, "campaign": report.campaign.hex()}
    return json.dumps({**facts, "token": report.token.hex(), "outcomes": outcomes}, separators=(",", ":"))


def _number(outcome: int) -> int | str:
    """Return a whole number as JSON writes it: as text where a double could not hold it."""
    return outcome if abs(outcome) <= _SAFE else str(outcome)


def batch_bytes(campaign: bytes, entries: Sequence[tuple[str, Report]]) -> bytes:
    """Return reports to one campaign, each with its ticket, as one batch."""
    parts = [bytes.fromhex(ticket) + report.token + report.payload for ticket, report in entries]
    return _MAGIC + bytes([VERSION]) + campaign + b"".join(parts)


def read_single(content_type: str, body: bytes, ticket: str | None, rounds: Rounds) -> Submission:
    """Read one report; the ticket came in a header of its own.

    Raises:
        Refused: The bytes are no report to the open campaign.
    """
    if content_type == REPORT_TYPE:
        report = _from_bytes(body)
    elif content_type == JSON_TYPE:
        report = _from_facts(_object(body), rounds)
    else:
        raise Refused("wrong_type")
    return _submission(report, ticket, rounds)


def read_batch(content_type: str, body: bytes, rounds: Rounds) -> list[Submission | Refused]:
    """Read a batch; an error in one report is reported for that report alone.

    Raises:
        Refused: The bytes are no batch, or its reports are to another campaign.
    """
    if content_type == BATCH_TYPE:
        return _batch_from_bytes(body, rounds)
    if content_type == JSON_TYPE:
        return _batch_from_facts(_object(body), rounds)
    raise Refused("wrong_type")


def _submission(report: Report, ticket: object, rounds: Rounds) -> Submission:
    try:
        unpacked(report.payload, rounds.campaign(report.campaign).fields)
    except InvalidRequest:
        raise Refused("wrong_form") from None
    if ticket is None:
        raise Refused("no_ticket")
    shown = ticket_bytes(ticket) if isinstance(ticket, str) else ticket
    if not isinstance(shown, bytes):
        raise Refused("unknown_ticket")
    return Submission(report.campaign, hashed(shown), report.token, report.payload)


def _from_bytes(body: bytes) -> Report:
    _check_head(body)
    try:
        return Report.from_bytes(body)
    except InvalidRequest:
        raise Refused("malformed") from None


def _check_head(body: bytes) -> None:
    if len(body) < _HEAD or body[: len(_MAGIC)] != _MAGIC:
        raise Refused("malformed")
    if body[len(_MAGIC)] != VERSION:
        raise Refused("wrong_version")


def _batch_from_bytes(body: bytes, rounds: Rounds) -> list[Submission | Refused]:
    _check_head(body)
    start = _HEAD + _DIGEST
    if len(body) <= start:
        raise Refused("malformed")
    digest, rest = body[_HEAD:start], body[start:]
    size = rounds.entry_size(digest)
    if len(rest) % size:
        raise Refused("malformed")
    if len(rest) // size > MAX_IN_BATCH:
        raise Refused("too_large")
    entries = (rest[place : place + size] for place in range(0, len(rest), size))
    return [_or_refused(_packed_entry, digest, entry, rounds) for entry in entries]


def _packed_entry(digest: bytes, entry: bytes, rounds: Rounds) -> Submission:
    middle = TICKET_BYTES + _TOKEN
    report = Report(digest, entry[TICKET_BYTES:middle], entry[middle:])
    return _submission(report, entry[:TICKET_BYTES], rounds)


def _or_refused(read: Callable[P, Submission], *args: P.args, **more: P.kwargs) -> Submission | Refused:
    try:
        return read(*args, **more)
    except Refused as refused:
        return refused


def _batch_from_facts(facts: Mapping[str, Any], rounds: Rounds) -> list[Submission | Refused]:
    _check_kind(facts, "reports")
    entries = facts.get("reports")
    if len(facts) != 3 or not isinstance(entries, list) or not entries:
        raise Refused("malformed")
    if len(entries) > MAX_IN_BATCH:
        raise Refused("too_large")
    return [_or_refused(_entry, entry, rounds) for entry in entries]


def _entry(entry: object, rounds: Rounds) -> Submission:
    if not isinstance(entry, dict) or not {"report"} <= entry.keys() <= {"ticket", "report"}:
        raise Refused("malformed")
    if not isinstance(entry["report"], dict):
        raise Refused("malformed")
    return _submission(_from_facts(entry["report"], rounds), entry.get("ticket"), rounds)


def _object(body: bytes) -> dict[str, Any]:
    try:
        return read_object(body.decode(), "report")
    except (InvalidRequest, UnicodeDecodeError):
        raise Refused("malformed") from None


def _check_kind(facts: Mapping[str, Any], kind: str) -> None:
    if facts.get("prdp") != kind or type(facts.get("version")) is not int:
        raise Refused("malformed")
    if facts["version"] != VERSION:
        raise Refused("wrong_version")


def _from_facts(facts: Mapping[str, Any], rounds: Rounds) -> Report:
    _check_kind(facts, "report")
    digest, token, outcomes = (facts.get(name) for name in ("campaign", "token", "outcomes"))
    if len(facts) != 5 or not isinstance(digest, str) or not _HEX_DIGEST.fullmatch(digest):
        raise Refused("malformed")
    if not isinstance(token, str) or not _HEX_TOKEN.fullmatch(token) or not isinstance(outcomes, list):
        raise Refused("malformed")
    campaign = rounds.campaign(bytes.fromhex(digest))
    numbers = [_outcome(outcome) for outcome in outcomes]
    fits = len(numbers) == len(campaign.fields) and all(
        field.low <= number <= field.last for number, field in zip(numbers, campaign.fields, strict=True)
    )
    if not fits:
        raise Refused("wrong_form")
    return Report(campaign.digest, bytes.fromhex(token), packed(numbers, campaign.fields))


def _outcome(given: object) -> int:
    """Return an outcome: a whole number, written as one, or as text where a double could not hold it."""
    if type(given) is int and abs(given) <= _SAFE:
        return given
    if isinstance(given, str) and _WHOLE.fullmatch(given) and len(given) < 4_000:
        number = int(given)
        if abs(number) > _SAFE:
            return number
    # to the described schema 1.0 is an integer, so that such a report has the format and not the form
    raise Refused("wrong_form" if isinstance(given, float) and given.is_integer() else "malformed")
