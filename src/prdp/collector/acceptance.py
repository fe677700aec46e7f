"""Accept reports: each ticket brings one a round, and each report counts once."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from prdp.collector.store.sql import SqlStore, StoredRound
from prdp.collector.wire import Refused, Submission


class Counted(Enum):
    """A report is in the store: since now, or since it came before."""

    NOW = "now"
    BEFORE = "before"


Outcome = Counted | Refused


def accept(
    store: SqlStore, digest: bytes, submissions: Sequence[Submission], now: int, most: int | None = None
) -> tuple[list[Outcome], StoredRound]:
    """Take reports in, in one transaction that is on disk when this returns; say what became of each.

    A client whose acknowledgement was lost sends the same bytes with the same ticket, and hears that they
    were counted, also if the round has closed since. Whatever fails, nothing of the transaction is kept.

    Args:
        store: Where to.
        digest: The campaign that all of them answer.
        submissions: Reports of the campaign's form.
        now: The time, in seconds since 1970, for a round that closes at one.
        most: How many reports close a round; None for no such number.

    Returns:
        One outcome for each, in order, and the round as it is then.
    """
    with store.writing():
        current = store.last_round()
        answered = _answered(store, digest, current)
        if answered is None:
            return [Refused("wrong_campaign")] * len(submissions), current
        over = answered.closed or (answered.closes_at is not None and now >= answered.closes_at)
        taking = _Taking(store, answered, submissions, 0 if over else _room(answered, most))
        outcomes = [taking.outcome(submission) for submission in submissions]
        if taking.tickets or taking.closed != answered.closed:
            store.add(answered.number, taking.tickets, taking.reports)
            reports = answered.reports + len(taking.tickets)
            store.set_progress(answered.number, reports, closed=taking.closed)
            current = store.last_round()
    return outcomes, current


def _room(round_: StoredRound, most: int | None) -> int | None:
    return None if most is None else max(0, most - round_.reports)


def _answered(store: SqlStore, digest: bytes, current: StoredRound) -> StoredRound | None:
    """Return the round of a campaign, that of a former round if it is."""
    if digest == current.digest:
        return current
    return next((stored for stored in store.study().rounds if stored.digest == digest), None)


class _Taking:
    """What is known of some submissions' tickets and tokens, in the store and among themselves."""

    def __init__(
        self, store: SqlStore, round_: StoredRound, submissions: Sequence[Submission], room: int | None
    ) -> None:
        shown = list({submission.ticket for submission in submissions})
        self._given_out = store.known_tickets(shown)
        self._used = store.used_tickets(round_.number, shown)
        self._known = store.known_reports(round_.number, list({each.token for each in submissions}))
        self._room = room
        self.tickets: list[bytes] = []
        self.reports: list[tuple[bytes, bytes]] = []

    @property
    def closed(self) -> bool:
        """Whether the round takes no more reports."""
        return self._room is not None and len(self.tickets) >= self._room

    def outcome(self, submission: Submission) -> Outcome:
        """Say what becomes of a report, and remember it."""
        known = self._known.get(submission.token)
        if submission.ticket not in self._given_out:
            return Refused("unknown_ticket")
        if submission.ticket in self._used:
            return Counted.BEFORE if known == submission.payload else Refused("ticket_used")
        if known is not None:
            return Refused("report_known")
        if self.closed:
            return Refused("late")
        self._used.add(submission.ticket)
        self._known[submission.token] = submission.payload
        self.tickets.append(submission.ticket)
        self.reports.append((submission.token, submission.payload))
        return Counted.NOW
