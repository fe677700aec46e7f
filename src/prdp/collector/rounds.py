"""Run the rounds of a study, and write its public state and its result as JSON.

Nothing here draws anything: what follows from a closed round is a function of its reports. So a collector
that was killed between two steps takes the same step when it starts again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prdp.collector.plan import StudyPlan, threshold_budget
from prdp.collector.store.sql import SqlStore, StoredRound, StoredStudy, create_store
from prdp.collector.wire import hashed, new_operator_token, new_tickets, operator_hash
from prdp.declare.exact import exact_share
from prdp.errors import CollectorError, InvalidRequest
from prdp.local import Campaign, Tally
from prdp.local.client.report import unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prdp.local import Estimate


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One number of a result, with the ends between which it lies but for noise in 95 % of all cases."""

    label: str
    value: float | None
    low: float | None
    high: float | None

    @property
    def heard(self) -> bool:
        """True if there is a number at all."""
        return self.value is not None and self.low is not None and self.high is not None


def result_text(found: Sequence[Estimate]) -> str:
    """Return answers as one line of JSON; what is not finite is null.

    >>> from fractions import Fraction
    >>> from prdp.local import Estimate
    >>> facts = json.loads(result_text([Estimate("count", 1000.0, 100.0, 5000, Fraction(1, 2), "bits")]))
    >>> facts["answers"][0]["value"], [round(end) for end in facts["answers"][0]["interval"]]
    (1000.0, [804, 1196])
    """
    facts = {"prdp": "result", "version": 1, "answers": [_facts(estimate) for estimate in found]}
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _facts(estimate: Estimate) -> dict[str, object]:
    return {
        "question": estimate.question,
        "text": str(estimate),
        "value": None if estimate.unheard else _finite(estimate.value),
        "deviation": _finite(estimate.deviation),
        "interval": [_finite(end) for end in estimate.interval()],
        "level": 0.95,
        "clients": estimate.clients,
        "rounds": list(estimate.rounds),
        "share": str(estimate.share),
        "method": estimate.method,
        "choices": [list(choice) for choice in estimate.choices],
        "parts": [_part(estimate, place) for place in range(len(estimate.parts))],
        "unheard": estimate.unheard,
        "caveat": estimate.caveat,
    }


def _part(estimate: Estimate, place: int) -> dict[str, object]:

    part = estimate.parts[place]
    alone = replace(estimate, value=part.value, deviation=part.deviation, parts=())
    return {
        "label": part.label,
        "value": None if estimate.unheard else _finite(part.value),
        "deviation": _finite(part.deviation),
        "interval": [_finite(end) for end in alone.interval()],
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def lines_of(result: Mapping[str, Any]) -> list[ResultLine]:
    """Return the lines of a result's picture and table: its parts, or its only numbers."""
    answers = result["answers"]
    shown = [part for answer in answers for part in answer["parts"]] or [
        {**answer, "label": answer["question"]} for answer in answers
    ]
    return [ResultLine(part["label"], part["value"], *part["interval"]) for part in shown]


@dataclass(frozen=True)
class Snapshot:
    """A study as it was a moment ago."""

    plan: StudyPlan
    study: StoredStudy
    campaigns: tuple[Campaign, ...]

    @classmethod
    def of(cls, study: StoredStudy, before: Snapshot | None = None) -> Snapshot:
        """Return the snapshot of a store; what an earlier one has read is not read again."""
        plan = before.plan if before else StudyPlan.from_json(study.plan)
        have = before.campaigns if before else ()
        new = tuple(Campaign.from_json(stored.campaign) for stored in study.rounds[len(have) :])
        return cls(plan, study, (*have, *new))

    @property
    def open_campaign(self) -> Campaign | None:
        """The campaign that is to be answered now."""
        return None if self.study.last.closed else self.campaigns[-1]


def status_of(snapshot: Snapshot) -> dict[str, Any]:
    """Return a study and its rounds; a threshold ε_τ is published with the round that uses it."""
    plan, study = snapshot.plan, snapshot.study
    rounds = []
    for stored, campaign in zip(study.rounds, snapshot.campaigns, strict=True):
        threshold = threshold_budget(campaign)
        rounds.append(
            {
                "number": stored.number,
                "campaign": stored.digest.hex(),
                "share": str(campaign.share),
                "reports": stored.reports,
                "closed": stored.closed,
                "closes_at": stored.closes_at,
                "threshold_budget": None if threshold is None else str(threshold),
            }
        )
    return {
        "name": plan.name,
        "study": plan.digest.hex(),
        "ask": plan.ask,
        "state": "done" if study.result else "adding up" if study.last.closed else "open",
        "reads": list(plan.reads),
        "share": str(exact_share(plan.share)),
        "closing": plan.closing.words,
        "closes_at_reports": plan.closing.reports,
        "rounds": rounds,
    }


MAX_TICKETS = 1_000_000
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Begun:
    """Secrets that are shown once, when a study begins: nothing else keeps them."""

    operator_token: str
    tickets: tuple[str, ...]


def begin(address: str | Path, plan: StudyPlan, *, tickets: int = 0, now: int) -> Begun:
    """Make a store for a study, open its first round, and give tickets out.

    Args:
        address: A file's path, or postgresql://...
        plan: The study's plan.
        tickets: The number of tickets to give out.
        now: The time, in seconds since 1970.
    """
    _check_number(tickets)
    campaign = plan.study().after()
    if not isinstance(campaign, Campaign):
        raise InvalidRequest("this study has no round.")
    store, token = create_store(address), new_operator_token()
    try:
        with store.writing():
            store.begin(plan.to_json(), operator_hash(token), _opened(campaign, plan, now))
        return Begun(token, tuple(give_out(store, tickets)))
    finally:
        store.close()


def give_out(store: SqlStore, count: int) -> list[str]:
    """Draw tickets, store their hashes, and return them; they cannot be shown again."""
    _check_number(count)
    tickets = new_tickets(count)
    for start in range(0, count, _AT_ONCE):
        with store.writing():
            store.give_out([hashed(bytes.fromhex(each)) for each in tickets[start : start + _AT_ONCE]])
    return tickets


def _check_number(tickets: int) -> None:
    if not 0 <= tickets <= MAX_TICKETS:
        raise InvalidRequest(f"{tickets:,} tickets cannot be given out at once: 0 to {MAX_TICKETS:,}.")


def _opened(campaign: Campaign, plan: StudyPlan, now: int) -> StoredRound:
    seconds = plan.closing.seconds
    closes_at = None if seconds is None else now + seconds
    return StoredRound(campaign.round, campaign.to_json(), campaign.digest, 0, closes_at, False, None)


def close_round(store: SqlStore) -> StoredRound:
    """Close the open round by hand; return it.

    Raises:
        CollectorError: No round is open.
    """
    with store.writing():
        current = store.last_round()
        if current.closed:
            raise CollectorError("no round is open.")
        store.set_progress(current.number, current.reports, closed=True)
    return replace(current, closed=True)


def close_if_due(store: SqlStore, now: int) -> bool:
    """Close the open round if its time has come; return whether that was so."""
    with store.writing():
        current = store.last_round()
        due = not current.closed and current.closes_at is not None and now >= current.closes_at
        if due:
            store.set_progress(current.number, current.reports, closed=True)
    return due


def advance(store: SqlStore, now: int) -> bool:
    """Add a closed round up, if that is still to do, and open the next one or write the result down.

    Returns:
        Whether anything was to do.
    """
    study = store.study()
    if not study.last.closed or study.last.tally is not None:
        return False
    plan, last = StudyPlan.from_json(study.plan), study.last
    tally = tally_of(store, last)
    before = [Tally.from_json(str(stored.tally)) for stored in study.rounds[:-1]]
    following = plan.study().after(*before, tally)
    with store.writing():
        if store.last_round().tally is not None:  # another collector was first
            return False
        if isinstance(following, Campaign):
            store.conclude(last.number, tally.to_json(), None)
            store.open_round(_opened(following, plan, now))
        else:
            store.conclude(last.number, tally.to_json(), result_text(plan.answers(following)))
    store.after_close()
    return True


def tally_of(store: SqlStore, stored: StoredRound) -> Tally:
    """Add up the reports of a round as they come from the store, without holding them all.

    It says of itself that it was gathered here, in this round: the same reports gathered twice do not add up.
    """
    campaign = Campaign.from_json(stored.campaign)
    gathered = campaign.protocol.tally(campaign.terms, _outcomes(store, stored, campaign))
    if gathered.clients != stored.reports:
        raise CollectorError(
            f"{store.shown} is damaged: round {stored.number} counted {stored.reports:,} reports, and "
            f"{gathered.clients:,} were found."
        )
    return replace(gathered, campaign=campaign.digest, collectors=frozenset({stored.digest.hex()}))


def _outcomes(store: SqlStore, stored: StoredRound, campaign: Campaign) -> Iterator[Sequence[int]]:
    fields = campaign.fields
    for _, payload in store.reports(stored.number):
        yield unpacked(payload, fields)


def result_of(study: StoredStudy) -> dict[str, Any] | None:
    """Return the result, if there is one."""
    return None if study.result is None else dict(json.loads(study.result))
