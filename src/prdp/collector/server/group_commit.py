"""Group commit: accept reports, write those that wait together, then acknowledge all of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TypeVar

from prdp.collector.rounds import Snapshot, advance, close_if_due, close_round, give_out
from prdp.collector.store.sql import SqlStore, StoredRound, open_store
from prdp.collector.wire import Refused, Rounds, Submission
from prdp.errors import CollectorError


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
        most: The number of reports that closes a round; None for no such number.

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
    """Known tickets and tokens of some submissions, in the store and among themselves."""

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
        """True if the round takes no more reports."""
        return self._room is not None and len(self.tickets) >= self._room

    def outcome(self, submission: Submission) -> Outcome:
        """Decide what becomes of a report, and remember it."""
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


T = TypeVar("T")

_MAX_WAITING = 20_000
_MAX_AT_ONCE = 2_000
_LOOK_SECONDS = 1.0

LOG = logging.getLogger("prdp.collector")


@dataclass(slots=True)
class _Waiting:
    digest: bytes
    submissions: Sequence[Submission]
    answer: asyncio.Future[list[Outcome]]


class Desk:
    """Takes reports in, for one event loop; the store is used by one thread of its own.

    While one transaction is being written, reports gather for the next one: the busier it is, the more
    of them share a sync of the disk. Nobody is answered before the sync.
    """

    def __init__(self, address: str | Path, clock: Callable[[], float] = time.time) -> None:
        self._address = address
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prdp-store")
        self._waiting: list[_Waiting] = []
        self._in_line = 0
        self._woken = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._store: SqlStore | None = None
        self._snapshot: Snapshot | None = None
        self._rounds: Rounds | None = None
        self._last_error = ""

    @property
    def snapshot(self) -> Snapshot:
        """The study's current state."""
        if self._snapshot is None:
            raise CollectorError("the collector has not started.")
        return self._snapshot

    @property
    def rounds(self) -> Rounds:
        """The rounds that reports may answer now."""
        if self._rounds is None:
            raise CollectorError("the collector has not started.")
        return self._rounds

    async def start(self) -> None:
        """Open the store, check it, and take up what a former process left undone."""
        await self._stored(self._open)
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._look())]

    async def stop(self) -> None:
        """Finish what waits, then let go of the store."""
        while self._waiting and not all(task.done() for task in self._tasks):
            await asyncio.sleep(0.01)
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._store is not None:
            await self._stored(self._store.close)
        self._thread.shutdown()

    async def take(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Return the outcomes of reports, in their order, once they are on disk.

        Raises:
            Refused: Too many wait, or they cannot be stored.
        """
        if self._in_line + len(submissions) > _MAX_WAITING:
            raise Refused("busy")
        by_campaign: dict[bytes, list[int]] = {}
        for place, submission in enumerate(submissions):
            by_campaign.setdefault(submission.campaign, []).append(place)
        line = [
            _Waiting(digest, [submissions[place] for place in places], asyncio.Future())
            for digest, places in by_campaign.items()
        ]
        self._waiting += line
        self._in_line += len(submissions)
        self._woken.set()
        found: dict[int, Outcome] = {}
        for waiting, places in zip(line, by_campaign.values(), strict=True):
            found.update(zip(places, await waiting.answer, strict=True))
        return [found[place] for place in range(len(submissions))]

    async def close_round(self) -> None:
        """Close the open round and go on to what follows.

        Raises:
            CollectorError: No round is open, or the store cannot be used.
        """
        await self._stored(lambda: close_round(self._opened))
        await self._stored(self._look_again)

    async def give_out(self, count: int) -> list[str]:
        """Give new tickets out."""
        return await self._stored(lambda: give_out(self._opened, count))

    @property
    def _opened(self) -> SqlStore:
        if self._store is None:
            raise CollectorError("the collector has not started.")
        return self._store

    async def _stored(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _write(self) -> None:
        """Write what waits, again and again."""
        while True:
            await self._woken.wait()
            group = self._next_group()
            if not group:
                self._woken.clear()
                continue
            submissions = [each for waiting in group for each in waiting.submissions]
            try:
                outcomes = await self._stored(partial(self._accepted, group[0].digest, submissions))
            except Exception as error:  # whatever it is, nothing was acknowledged
                self._complain(error)
                outcomes = [Refused("storage")] * len(submissions)
            self._in_line -= len(submissions)
            _answer(group, outcomes)

    def _next_group(self) -> list[_Waiting]:
        """Take those that wait first and answer one campaign."""
        group: list[_Waiting] = []
        size = 0
        for waiting in self._waiting:
            size += len(waiting.submissions)
            if group and (size > _MAX_AT_ONCE or waiting.digest != group[0].digest):
                break
            group.append(waiting)
        del self._waiting[: len(group)]
        return group

    async def _look(self) -> None:
        """Close a round whose time has come, and notice what other processes did to the store."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self._stored(self._look_again)
            except Exception as error:  # the next look may find it well again
                self._complain(error)

    def _open(self) -> None:
        self._store = open_store(self._address)
        self._store.check()
        self._look_again()

    def _accepted(self, digest: bytes, submissions: Sequence[Submission]) -> list[Outcome]:
        most = self.snapshot.plan.closing.reports
        outcomes, last = accept(self._opened, digest, submissions, int(self._clock()), most)
        try:
            self._note(last)
        except Exception as error:  # what was accepted is on disk all the same; the next look tries again
            self._complain(error)
        return outcomes

    def _note(self, last: StoredRound) -> None:
        """Remember how far the open round is; look again where there is more to do."""
        before = self.snapshot.study
        if last.closed or last.number != before.last.number:
            self._look_again()
            return
        study = replace(before, rounds=(*before.rounds[:-1], last))
        self._snapshot = replace(self.snapshot, study=study)

    def _look_again(self) -> None:
        """Take the steps that are due, then see what is there."""
        store, now = self._opened, int(self._clock())
        last = store.last_round()
        if not last.closed and last.closes_at is not None and now >= last.closes_at:
            close_if_due(store, now)
        advance(store, now)
        before, study = self._snapshot, store.study()
        if before is not None and study == before.study:
            return
        self._snapshot = Snapshot.of(study, before)
        if before is None or self._snapshot.campaigns != before.campaigns:
            self._rounds = Rounds(self._snapshot.campaigns)

    def _complain(self, error: Exception) -> None:
        """Log an error for the operator, once."""
        message = str(error) if isinstance(error, CollectorError) else f"failed: {type(error).__name__}"
        if message != self._last_error:
            LOG.error("%s", message)
        self._last_error = message


def _answer(group: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
    start = 0
    for waiting in group:
        end = start + len(waiting.submissions)
        if not waiting.answer.done():
            waiting.answer.set_result(list(outcomes[start:end]))
        start = end
