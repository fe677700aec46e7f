"""The engine's process: it alone opens the private tables and their ledgers.

It takes requests from the store in the slots that they have, and publishes when a slot ends. Its standard
input ends with the process that started it, and then it ends too.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import time
import warnings
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from prdp.errors import PrdpError
from prdp.ledger import Beside, Charge
from prdp.ledger.storage import LedgerTables
from prdp.projects.project import Project, project
from prdp.release.table import Released
from prdp.server import audit, requests
from prdp.server.planning import MAX_KEPT, Served
from prdp.server.refusals import RequestRefused, code_of
from prdp.server.requests import Request
from prdp.server.store import Store, opened
from prdp.sql.answers_codec import answers_to_json
from prdp.tables.table import Table

_LOOK_SECONDS = 0.1
_WAIT_SECONDS = 10.0


class Clock:
    """The time, and waiting for it."""

    def now(self) -> float:
        """Return the seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


_CLOCK = Clock()
_PLACES = ("source", "ledger", "who")
"""Keys of a table in the project file that do not change what is asked."""
ANSWERING = "prdp-answering"
"""The name of a thread that reads records."""


class SlotLine:
    """Answers the requests about one table, one slot after the other."""

    def __init__(self, store: Store, name: str, table: Table, served: Served, clock: Clock = _CLOCK) -> None:
        self._store, self._name, self._table = store, name, table
        self._clock = clock
        self.served = served
        self.woken = threading.Event()

    @property
    def ledger(self) -> Any:
        """The table's ledger."""
        return self._table.ledger

    def load(self) -> None:
        """Load what a question needs: the first slot after a start would be too short for it."""
        with suppress(PrdpError):
            quoted = self._name.replace('"', '""')
            self._table.explain_sql(f'SELECT COUNT(*) FROM "{quoted}"', share="0.01", **self.served.listed)

    def run(self) -> None:
        """Answer requests, for ever; what fails is tried again after a while."""
        with self._store.writing() as rows:
            requests.resume(rows, self._name, int(self._clock.now()) + 1)
        while True:
            try:
                if not self.answer_next():
                    self.woken.wait(_LOOK_SECONDS)
                    self.woken.clear()
            except Exception as error:  # the store could not be used: whatever it was, nothing was published
                print(f"prdp: {self._name}: {type(error).__name__}", file=sys.stderr, flush=True)
                time.sleep(1)

    def answer_next(self) -> bool:
        """Answer the request whose slot is first, and publish when it ends; say whether there was one."""
        with self._store.reading() as rows:
            request = requests.next_in_line(rows, self._name)
        if request is None:
            return False
        self._sleep_until(request.begins or 0)
        with self._store.writing() as rows:
            requests.begin(rows, request)
        outcome: Future[tuple[str | None, str]] = Future()
        work = partial(self._outcome, request)
        thread = threading.Thread(target=lambda: outcome.set_result(work()), name=ANSWERING, daemon=True)
        thread.start()
        self._sleep_until(request.publish or 0)
        while not outcome.done():
            with self._store.writing() as rows:
                end = requests.overrun(rows, request, int(self._clock.now()))
            request = replace(request, publish=end)
            self._sleep_until(end)
        answers, failed = outcome.result()
        remaining = self._table.ledger.remaining
        with self._store.writing() as rows:
            requests.publish(rows, request, answers, failed, remaining)
        return True

    def _sleep_until(self, at: int) -> None:
        while (left := at - self._clock.now()) > 0:
            self._clock.sleep(min(left, 1.0))

    def _outcome(self, request: Request) -> tuple[str | None, str]:
        """Return the answers as JSON, or the code of a failure: neither is known before its time."""
        if request.tries >= requests.MAX_TRIES:
            return None, "failed"
        try:
            return self.answers(request), ""
        except BaseException as error:
            return None, code_of(error)

    def answers(self, request: Request) -> str:
        """Ask a request's statement; its charges, purse and audit lines are one transaction each.

        What was asked, and perhaps approved, under other declarations is refused before anything is charged.
        """
        if self.served.digest_of(self._name, request.statement, request.share) != request.digest:
            raise RequestRefused("plan_is_old")

        def write(tables: LedgerTables, charged: Charge | Released, new: bool) -> None:
            rows = self._store.beside(tables)
            if isinstance(charged, Charge):
                requests.charged(rows, request, charged, new=new)

        with self._store.reading() as rows:
            (name,) = rows.one("SELECT name FROM {}people WHERE id = ?", request.person)
        ledger = self.ledger.asked_by(f"{audit.WHO}{name}", beside=Beside(write, self._store.file))
        asked = replace(self._table, ledger=ledger)
        try:
            found = asked.sql(request.statement, share=request.share, **self.served.listed)
        finally:
            self._table._reader.forget_beyond(MAX_KEPT)  # noqa: SLF001  (all lines of a table share it)
        return json.dumps(answers_to_json(found, times=False), allow_nan=False)


def open_lines(
    opened_project: Project, store: Store, deadline: int, clock: Clock = _CLOCK
) -> dict[str, SlotLine]:
    """Open all tables with their ledgers, and refuse a store or a ledger that is behind the other."""
    lines, charges = {}, {}
    for name in opened_project:
        table = opened_project[name] if not opened_project.is_join(name) else None
        if not isinstance(table, Table):
            continue  # joins are not served
        ledger: Any = table.ledger
        lines[name] = SlotLine(store, name, table, _served(opened_project, name, ledger), clock)
        charges[name] = ledger.charged_by
    with store.writing() as rows:
        audit.verify(rows)
        audit.compare(rows, charges)
        for name, line in lines.items():
            if rows.one("SELECT 1 FROM {}datasets WHERE name = ?", name) is None:
                rows.insert("datasets", name=name, deadline=deadline, left_parts=0)
            requests.set_remaining(rows, name, line.ledger.remaining)
    return lines


def served_facts(lines: dict[str, SlotLine]) -> dict[str, Served]:
    """Return the public facts of the tables that are served."""
    return {name: line.served for name, line in lines.items()}


def _served(opened_project: Project, name: str, ledger: Any) -> Served:
    entry = opened_project.file.content["tables"][name]
    declared = sorted((key, value) for key, value in entry.items() if key not in _PLACES)
    listed = opened_project.listed_for(name)
    return Served(opened_project.facts(name), listed, tuple(ledger.immutable), repr(declared))


def main() -> None:
    """Serve a project's requests: ``python -m prdp.server.worker PROJECT SECONDS``."""
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints goes to standard error
    warnings.simplefilter("ignore")
    try:
        read = project(Path(sys.argv[1]))
        lines = open_lines(read, opened(read), int(sys.argv[2]))
        message: Any = served_facts(lines)
        for line in lines.values():
            line.load()
    except PrdpError as error:
        message, lines = str(error), {}
    pickle.dump(message, channel)
    channel.close()
    for line in lines.values():
        threading.Thread(target=line.run, daemon=True).start()
    while lines and os.read(0, 4096):  # ends with the process that started this one
        for line in lines.values():
            line.woken.set()
    os._exit(0)


if __name__ == "__main__":
    main()
