"""How a server does while many analysts ask: throughput, fairness, waiting and memory.

``python -m benchmarks.server_load`` serves 10 million made-up records to 50 analysts. Each asks different
questions, one after the other; meanwhile somebody signs in again and again, and reads an answer that stands.
A table answers one question a deadline, so that its throughput is 1 / deadline whatever is asked; printed are
what was reached of it, how many answers each analyst had, how long the routes took, and the memory of both
processes. ``--analysts``, ``--rows``, ``--questions`` and ``--deadline`` make it smaller.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb

from prdp.server import accounts, audit
from tests.server.running import Running, begun

PASSWORD = "a long password"  # noqa: S105  (of a made-up person)
PROJECT = """
[tables.visits]
source = "visits.parquet"
policy = "10 / greatest(days, 1)"
bounds = { days = [0, 100] }
keys = { ward = ["a", "b", "c", "d"] }
"""
TOO_MANY = 429
Took = dict[str, list[float]]


def project_of(folder: Path, rows: int) -> Path:
    """Write made-up records and their project."""
    duckdb.sql("SELECT setseed(0.5)")
    file = folder / "visits.parquet"
    duckdb.sql(
        "COPY (SELECT CAST(floor(random() * 90) AS BIGINT) AS days, "
        "chr(97 + CAST(floor(random() * 4) AS INT)) AS ward "
        f"FROM range({rows})) TO '{file}' (FORMAT parquet)"
    )
    path = folder / "prdp.toml"
    path.write_text(PROJECT, encoding="utf-8")
    return path


def memory(process: int) -> float:
    """Return the most memory that a process has had, in MB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def timed(took: Took, name: str, call: Callable[..., tuple[int, Any]], *given: Any, **named: Any) -> Any:
    """Call a route, again while it says that there are too many; note how long it took, return its body."""
    while True:
        began = time.perf_counter()
        status, found = call(*given, **named)
        took[name].append(time.perf_counter() - began)
        if status < 400:
            return found
        if status != TOO_MANY:
            raise RuntimeError(found)
        time.sleep(1)


def analyst(server: Running, name: str, number: int, questions: int, took: Took) -> int:
    """Ask questions that nobody else asks; return how many answers came."""
    answers = 0
    for turn in range(questions):
        limit = 1000 + 100 * number + turn
        statement = f"SELECT ward, SUM(days) AS s FROM visits WHERE days < {limit} GROUP BY ward"
        body = {"statement": statement, "share": "0.0001"}
        plan = timed(took, "plan", server.ask, "POST", "/v1/plans", body, name)["plan"]
        asked = body | {"plan": plan}
        began = time.time()
        shown = timed(
            took, "ask", server.ask, "POST", "/v1/requests", asked, name, idempotency_key=f"q{turn}"
        )
        while shown["state"] == "queued":
            time.sleep(max(0.1, shown["publish_at"] - time.time()))
            shown = server.ask("GET", f"/v1/requests/{shown['id']}", who=name)[1]
        took["from asked to answered"].append(time.time() - began)
        answers += shown["release"] is not None
    return answers


def visitor(server: Running, release: str, took: Took, ended: threading.Event) -> None:
    """Sign in and read an answer that stands, again and again."""
    body = {"name": "vera", "password": PASSWORD}
    while not ended.wait(2.5):  # an address signs in every other second
        timed(took, "sign in", server.ask, "POST", "/v1/sessions", body)
        timed(took, "standing answer", server.ask, "GET", f"/v1/releases/{release}", who="a0")
        timed(took, "health", server.ask, "GET", "/healthz")


def main() -> None:
    """Run it, and print what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--analysts", type=int, default=50)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--deadline", type=int, default=5)
    given = parser.parse_args()
    names = [f"a{k}" for k in range(given.analysts)]
    took: Took = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        server = begun(project_of(Path(folder), given.rows), *names, alone="0.01")
        server.deadline = given.deadline
        with server.store.writing() as rows:
            now = int(time.time())
            code = accounts.invite(
                rows, accounts.add_person(rows, "vera", "auditor", audit.SERVER, now), 0, now
            )
        with server:
            timed(took, "accept", server.ask, "POST", f"/v1/invitations/{code}", {"password": PASSWORD})
            first = server.question("a0", "SELECT COUNT(*) AS n FROM visits", "0.0001", "first")[1]
            release = server.published("a0", first["id"])["release"]
            ended = threading.Event()
            watching = threading.Thread(target=visitor, args=(server, release, took, ended))
            watching.start()
            began = time.monotonic()
            with ThreadPoolExecutor(given.analysts) as pool:
                done = list(
                    pool.map(
                        lambda k: analyst(server, names[k], k, given.questions, took), range(given.analysts)
                    )
                )
            seconds = time.monotonic() - began
            ended.set()
            watching.join()
            deadline = server.ask("GET", "/v1/tables/visits", who="a0")[1]["deadline"]
            used = memory(server.process.pid if server.process else 0), memory(server.engine)
    print(f"{given.rows:,} rows, {given.analysts} analysts, {given.questions} questions each")
    print(f"deadline {given.deadline} s at first, {deadline} s in the end")
    print(f"answers {sum(done)} in {seconds:.0f} s: {sum(done) * deadline / seconds:.2f} of what slots allow")
    print(f"answers of an analyst: {min(done)} to {max(done)}")
    for name, times in took.items():
        high = statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
        print(f"{name:24} {len(times):5} times, median {statistics.median(times):7.3f} s, p95 {high:7.3f} s")
    print(f"memory: {used[0]:.0f} MB where pages are, {used[1]:.0f} MB where records are read")


if __name__ == "__main__":
    main()
