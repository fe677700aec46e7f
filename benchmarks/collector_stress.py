"""Whether a collector loses a report or counts one twice, although it is killed again and again.

``python -m benchmarks.collector_stress`` carries a study of two rounds with 10,000 clients, 20,000 reports in
all, through a collector on SQLite and on PostgreSQL. Sixteen senders post one report at a time over real
connections, and some of the reports twice. The collector is killed with SIGKILL five times on the way.
Printed is what went wrong, all of which should be 0, and whether the result is the offline analyst's on the
reports that were acknowledged. ``--clients`` makes it smaller, ``--store`` takes one of the two.
"""

from __future__ import annotations

import argparse
import http.client
import random
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from prdp.collector.results import result_text
from prdp.collector.store.opening import open_store
from prdp.collector.wire import REPORT_TYPE
from prdp.local import Campaign, Client, Collector, Estimate
from tests.collector.running import Server, begun, jobs_plan, record
from tests.postgres import start_postgres

SENDERS = 16
MAX_SECONDS = 400.0


def report_of(campaign: str, number: int) -> bytes:
    return bytes(Client().report(campaign, record(number)))


class Crowd:
    """All clients of one round, sending until each has heard that it was counted."""

    def __init__(self, port: int, reports: list[bytes], tickets: list[str]) -> None:
        self._port = port
        self._todo = list(zip(reports, tickets, strict=True))
        self.acknowledged: list[bytes] = []
        self.again = self.failures = 0
        self._ends = time.monotonic() + MAX_SECONDS
        self._threads = [threading.Thread(target=self._send, args=(k,)) for k in range(SENDERS)]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        for thread in self._threads:
            thread.join()

    def wait_for(self, count: int) -> None:
        while len(self.acknowledged) < count and time.monotonic() < self._ends:
            time.sleep(0.01)

    def _send(self, sender: int) -> None:
        source, connection = random.Random(sender), self._connection()
        for report, ticket in self._todo[sender::SENDERS]:
            while time.monotonic() < self._ends:
                status = self._post(connection, report, ticket)
                if status in (200, 201):
                    self.acknowledged.append(report)
                    break
                if status is not None and status not in (408, 429, 503):
                    raise AssertionError(f"refused with {status}")
                self.failures += 1
                time.sleep(0.05)
            if source.random() < 0.1 and self._post(connection, report, ticket) == 200:
                self.again += 1
        connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)

    @staticmethod
    def _post(connection: http.client.HTTPConnection, report: bytes, ticket: str) -> int | None:
        try:
            headers = {"authorization": f"Bearer {ticket}", "content-type": REPORT_TYPE}
            connection.request("POST", "/v1/reports", report, headers)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()  # it is opened anew with the next request
            return None
        return answer.status


def stressed(address: str, clients: int, pool: ProcessPoolExecutor) -> None:
    """Carry the study through, killing its collector, and print what became of it."""
    plan, kills = jobs_plan(clients), {1: 3, 2: 2}
    known = begun(address, plan, clients)
    gathered: list[Collector] = []
    wrong = sent_again = failures = 0
    begun_at = time.perf_counter()
    with Server(address) as server:
        for number, times in kills.items():
            text = server.ask("/v1/campaign").body.decode()
            reports = list(pool.map(partial(report_of, text), range(clients), chunksize=100))
            crowd = Crowd(server.port, reports, list(known.tickets))
            crowd.begin()
            for kill in range(times):
                crowd.wait_for((kill + 1) * clients // (times + 1))
                server.kill()
                server.start()
            crowd.end()
            offline = Collector(Campaign.from_json(text))
            wrong += clients - len(crowd.acknowledged)
            wrong += sum(not offline.receive(report) for report in crowd.acknowledged)
            gathered.append(offline)
            sent_again += crowd.again
            failures += crowd.failures
            with closing(open_store(address)) as store:
                store.check()
                stored = {token + payload for token, payload in store.reports(number)}
            reported = {report[37:] for report in crowd.acknowledged}
            wrong += len(stored ^ reported)
        result = server.ask("/v1/result").body.decode()
    found = plan.study().after(*gathered)
    same = isinstance(found, Estimate) and result == result_text(plan.answers(found))
    seconds = time.perf_counter() - begun_at
    print(
        f"{'postgresql' if '://' in address else 'sqlite'}: {2 * clients:,} reports in two rounds, "
        f"{sum(kills.values())} kills, {failures:,} failed requests, {sent_again:,} acknowledged again; "
        f"lost, counted twice or not acknowledged: {wrong}; result equal to the offline analyst's: {same}; "
        f"{seconds:.0f} s",
        flush=True,
    )
    if wrong or not same:
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--store", choices=("sqlite", "postgres"), action="append")
    options = parser.parse_args()
    stores = options.store or ["sqlite", "postgres"]
    with tempfile.TemporaryDirectory() as named, ProcessPoolExecutor(2) as pool:
        folder = Path(named)
        for store in stores:
            address = str(folder / "study.collect") if store == "sqlite" else start_postgres(folder).address
            stressed(address, options.clients, pool)


if __name__ == "__main__":
    main()
