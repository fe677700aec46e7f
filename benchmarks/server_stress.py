"""Whether a server that is killed at any moment overspends, forgets, or answers twice.

``python -m benchmarks.server_stress --kills 50 --seed 1`` serves made-up records to four analysts. In every
round each sends two new questions, twice each, as clients do that heard nothing; a purse has room for one.
Meanwhile the process of the pages, that of the engine, or both, are ended by SIGKILL: half of the time at
a random moment, else as soon as a transaction is open from a random moment on. Afterwards charges, spends and
audit lines must be the same, no purse may be overspent, the audit must verify, and every answer must be the
one that was given before, to whoever asks again. Printed are the rounds in which anything else was seen, and
the largest rate of such rounds that 95 % confidence leaves.
``--storage`` is file or postgres; by default both.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from scipy import stats

from prdp.server import purses
from tests.postgres import start_postgres
from tests.server.running import Running, accounts_agree, begun
from tests.server.serving import COUNT, write_project

ANALYSTS = tuple(f"a{k}" for k in range(4))
SHARE = "0.0001"
MAX_KILLS = 2_000
"""Rounds that the budget of the table has room for."""
WHICH = (("front",), ("engine",), ("engine", "front"))
_WAIT = 3.0
"""Seconds that a kill waits for an open transaction."""


def expect(holds: bool, otherwise: str, seen: object) -> None:
    """Have a round fail in which something does not hold."""
    if not holds:
        raise AssertionError(f"{otherwise}: {seen}")


class Campaign:
    """Rounds of questions, with a kill in each.

    Args:
        server: The server, which runs.
        is_writing: Whether a transaction of the server's is open.
        seed: What moments and processes are drawn by.
    """

    def __init__(self, server: Running, is_writing: Callable[[], bool], seed: int) -> None:
        self.server, self._is_writing = server, is_writing
        self._chance, self._span = random.Random(seed), 4.0
        self.counts: Counter[str] = Counter()
        self._answers: dict[str, Any] = {}

    def round(self, turn: int) -> None:
        """Ask, kill, and check all there is."""
        limit = f"{(turn + 1) * float(SHARE):.4f}"
        self._allow(limit)
        which, wait = self._chance.choice(WHICH), self._chance.random() * self._span
        aimed = self._chance.random() < 0.5
        with ThreadPoolExecutor(len(ANALYSTS) + 1) as pool:
            killing = pool.submit(self._kill, which, wait, aimed=aimed)
            asking = [pool.submit(self._ask, who, turn) for who in ANALYSTS]
            for one in asking:
                one.result()
        self._span *= 1.15 if killing.result() else 0.75  # some kills come early, and few when all is done
        self._check(limit)

    def _allow(self, limit: str) -> None:
        """Let everybody spend one more share."""
        with self.server.store.writing() as rows:
            for number, _ in rows.all("SELECT id, name FROM {}people WHERE role = 'analyst'"):
                wanted = {"alone": limit, "approved": "0"}
                purses.grant(rows, number, "visits", wanted, actor=None, now=int(time.time()))

    def _ask(self, who: str, turn: int) -> None:
        for question in range(2):
            statement = f"{COUNT} WHERE days < {1000 + 10 * turn + 2 * ANALYSTS.index(who) + question}"
            said = [self.server.question(who, statement, SHARE, f"t{turn}q{question}") for _ in range(2)]
            self.counts.update(f"replies {status}" for status, _ in said)
            admitted = {found["id"] for status, found in said if status in (200, 202)}
            expect(len(admitted) <= 1, "one key has two requests", admitted)
            expect({status for status, _ in said} <= {200, 202, 402, 429, 503}, "an odd reply", said)

    def _kill(self, which: tuple[str, ...], wait: float, *, aimed: bool) -> int:
        """Kill at the moment; return how many requests were not published before."""
        time.sleep(wait)
        until = time.monotonic() + _WAIT
        while aimed and not self._is_writing() and time.monotonic() < until:
            time.sleep(0.0005)
        self.counts["kills"] += 1
        self.counts[f"kills of {' and '.join(which)}"] += 1
        self.counts["kills in an open transaction"] += self._is_writing()
        self.server.kill(*which)
        with self.server.store.reading() as rows:
            (unanswered,) = rows.one("SELECT count(*) FROM {}requests WHERE state = 'queued'")
        return int(unanswered)

    def _check(self, limit: str) -> None:
        while self._numbers("state = 'queued'"):
            time.sleep(0.2)
        accounts_agree(self.server, at_most=limit)
        expect(not self._numbers("failed <> ''"), "a question failed", limit)
        new = [one for one in self._numbers("release IS NOT NULL") if one[0] not in self._answers]
        old = self._chance.sample(sorted(self._answers), min(4, len(self._answers)))
        for number, name in new:
            self._answers[number] = self._again(number, name)
        for number in old:
            again = self._again(number, self._answers[number][0])
            expect(again == self._answers[number], "another answer", number)
        accounts_agree(self.server, at_most=limit)  # asking again has cost nothing
        self.counts["charges"] += len(new)

    def _numbers(self, condition: str) -> list[tuple[str, str]]:
        with self.server.store.reading() as rows:
            return list(
                rows.all(
                    "SELECT r.id, p.name FROM {}requests r JOIN {}people p ON p.id = r.person "
                    f"WHERE {condition} ORDER BY r.id"
                )
            )

    def _again(self, number: str, name: str) -> tuple[str, Any]:
        """Return an answer, which must also be that of the same question under another key."""
        status, answer = self.server.ask("GET", f"/v1/releases/{number}", who=name)
        expect(status == 200, "no answer", answer)
        key = f"again{self._chance.getrandbits(60)}"
        status, again = self.server.question(name, answer["statement"], answer["share"], key)
        expect((status, again["release"]) == (200, number), "asked again", again)
        return name, answer


def campaign(made: Running, is_writing: Callable[[], bool], kills: int, seed: int) -> None:
    """Run so many rounds, and print what was seen."""
    failed, began = 0, time.monotonic()
    with made:
        run = Campaign(made, is_writing, seed)
        for turn in range(kills):
            try:
                run.round(turn)
            except AssertionError as wrong:
                failed += 1
                print(f"round {turn}: {wrong}", flush=True)
            if turn % 10 == 9:
                print(f"{turn + 1} rounds in {time.monotonic() - began:.0f} s, {failed} failed", flush=True)
    print(", ".join(f"{name}: {count}" for name, count in sorted(run.counts.items())))
    bound = stats.binomtest(failed, kills, alternative="less").proportion_ci(0.95).high
    print(f"{failed} of {kills} rounds failed: with 95 % confidence, less than {bound:.2%} do", flush=True)


def in_file(folder: Path) -> tuple[Running, Callable[[], bool]]:
    """Return a server whose ledgers are files, and whether one of them has a journal."""
    made = begun(write_project(folder), *ANALYSTS, alone="0")
    return made, lambda: any(folder.glob("*-journal"))


def in_postgres(folder: Path, ended: ExitStack) -> tuple[Running, Callable[[], bool]]:
    """Return a server whose ledgers are in a database, and whether somebody has the lock of its writers."""
    database = start_postgres(folder)
    ended.callback(database.handle.cleanup)
    address = database.new_database()
    mark = "&" if "?" in address else "?"
    places = (f"{address}{mark}ledger=visits", f"{address}{mark}ledger=loans")
    made = begun(write_project(folder, *places), *ANALYSTS, alone="0")
    watching, alone = ended.enter_context(psycopg.connect(address, autocommit=True)), threading.Lock()
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM "
    held += "pg_database WHERE datname = current_database())"

    def is_writing() -> bool:
        with alone:
            found = watching.execute(held.encode()).fetchone()
        return found is not None and found[0] > 1  # one is the server's own, for as long as it runs

    return made, is_writing


def main() -> None:
    """Run it, and print what was seen."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--storage", choices=("file", "postgres"), action="append")
    given = parser.parse_args()
    if not 0 < given.kills <= MAX_KILLS:
        parser.error(f"--kills is from 1 to {MAX_KILLS:,}")
    for storage in given.storage or ("file", "postgres"):
        with tempfile.TemporaryDirectory() as name, ExitStack() as ended:
            print(f"{storage}: {given.kills} kills, seed {given.seed}", flush=True)
            folder = Path(name)
            made, is_writing = in_file(folder) if storage == "file" else in_postgres(folder, ended)
            campaign(made, is_writing, given.kills, given.seed)


if __name__ == "__main__":
    main()
