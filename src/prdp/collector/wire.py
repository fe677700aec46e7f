"""The wire format: a report as JSON for people and as bytes for volume, alone or in a batch; version 1.

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
from typing import Any, ParamSpec

from prdp.collector.refusals import Refused
from prdp.collector.tickets import TICKET_BYTES, hashed, ticket_bytes
from prdp.errors import InvalidRequest
from prdp.local import Campaign, Report
from prdp.local.client.facts import read_object
from prdp.local.client.report import packed, payload_size, unpacked

P = ParamSpec("P")

VERSION = 1
JSON_TYPE = "application/json"
REPORT_TYPE = "application/vnd.prdp.report"
BATCH_TYPE = "application/vnd.prdp.reports"

MAX_REPORT_BYTES = 1 << 17
"""How large a single report may be: as JSON, one of the most bits takes half of it."""

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
        """Return how many bytes a report to a campaign takes in a batch."""
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
    """Read a batch; what is wrong with one report is said of that report alone.

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
