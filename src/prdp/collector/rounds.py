"""Run the rounds of a study: open it, close a round, add it up, go on.

Nothing here draws anything: what follows from a closed round is a function of its reports. So a collector
that was killed between two steps takes the same step when it starts again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prdp.collector.plan import StudyPlan
from prdp.collector.results import result_text
from prdp.collector.store.opening import create_store
from prdp.collector.store.sql import SqlStore, StoredRound, StoredStudy
from prdp.collector.tickets import hashed, new_operator_token, new_tickets, operator_hash
from prdp.errors import CollectorError, InvalidRequest
from prdp.local import Campaign, Tally
from prdp.local.client.report import unpacked

MAX_TICKETS = 1_000_000
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Begun:
    """What is shown once, when a study begins: nothing else keeps it."""

    operator_token: str
    tickets: tuple[str, ...]


def begin(address: str | Path, plan: StudyPlan, *, tickets: int = 0, now: int) -> Begun:
    """Make a store for a study, open its first round, and give tickets out.

    Args:
        address: A file's path, or postgresql://...
        plan: What is asked.
        tickets: How many tickets to give out.
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
