"""The one way to the store: reports that wait together are written together, then all are acknowledged."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from prdp.collector.acceptance import Outcome, accept
from prdp.collector.refusals import Refused
from prdp.collector.rounds import advance, close_if_due, close_round, give_out
from prdp.collector.snapshot import Snapshot
from prdp.collector.store.opening import open_store
from prdp.collector.store.sql import SqlStore, StoredRound
from prdp.collector.wire import Rounds, Submission
from prdp.errors import CollectorError

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
        """What is known of the study."""
        if self._snapshot is None:
            raise CollectorError("the collector has not started.")
        return self._snapshot

    @property
    def rounds(self) -> Rounds:
        """What reports may answer now."""
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
        """Return what became of reports, in their order, once that is on disk.

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
        """Tell the operator what is wrong, once."""
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
