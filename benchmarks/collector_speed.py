"""What a durable acknowledgement costs: a collector beside an endpoint that only parses and discards.

``python -m benchmarks.collector_speed`` needs wrk (Debian's package) and prints, for 1, 16 and 128
connections, reports a second and the 99th percentile of the latency, as ratios to ``/discard`` in the same
process, which reads and checks a report and keeps nothing. Each pair is measured in turn, ``--runs`` times,
and the medians are shown. Every report is new and has a ticket of its own.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from prdp.collector.rounds import give_out
from prdp.collector.store.sql import open_store
from prdp.collector.wire import BATCH_TYPE, REPORT_TYPE
from prdp.local import Campaign
from prdp.noise.entropy import SystemEntropy
from tests.collector.running import Server, begun, jobs_plan
from tests.postgres import start_postgres

CONNECTIONS = (1, 16, 128)
AT_ONCE = 500

# The collector, with one route more: it parses and discards.
PROGRAM = """
from prdp.collector.server import serving
from prdp.serving.requests import bearer, content_type, read_body
from prdp.collector.wire import MOST_REPORT_BYTES, read_single
from fastapi import Request, Response
made = serving.application
def with_discard(*args, started, **more):
    desks = []
    def both(desk):
        desks.append(desk)
        started(desk)
    front = made(*args, started=both, **more)
    @front.app.post("/discard")
    async def discard(request: Request):
        body = await read_body(request, MOST_REPORT_BYTES, 20)
        read_single(content_type(request), body, bearer(request), desks[0].rounds)
        return Response(b'{"counted":false,"again":false}', 201, media_type="application/json")
    return front
serving.application = with_discard
from prdp.cli import main; main()
"""

LUA = """
local lines, place = {}, 0
for line in io.lines("%(file)s") do lines[#lines + 1] = line end
local function byte(pair) return string.char(tonumber(pair, 16)) end
local function bytes(hex) return (hex:gsub("..", byte)) end
function request()
  place = place + 1
  local line = lines[(place - 1) %% #lines + 1]
  local headers = { ["Content-Type"] = "%(kind)s", ["Authorization"] = "Bearer " .. line:sub(1, 32) }
  return wrk.format("POST", "%(path)s", headers, bytes(line:sub(34)))
end
function done(summary, latency, requests)
  io.write(string.format("FOUND %%d %%d %%d %%d %%d\\n", summary.requests, summary.duration,
    latency:percentile(99), summary.errors.status, summary.errors.timeout + summary.errors.read))
end
"""


def random_report(campaign: Campaign) -> bytes:
    """Return a report of the right form; its coordinates are one byte and two bits, so any will do."""
    source = SystemEntropy()
    payload = (int.from_bytes(source.bytes(2), "big") >> 6).to_bytes(2, "big")
    return b"prdp\x01" + campaign.digest + source.bytes(16) + payload


def write_lines(file: Path, campaign: Campaign, tickets: list[str]) -> None:
    file.write_text(
        "".join(f"{ticket} {random_report(campaign).hex()}\n" for ticket in tickets), encoding="ascii"
    )


def wrk(url: str, path: str, file: Path, connections: int, seconds: int) -> tuple[float, float]:
    """Return reports a second, and the 99th percentile of the latency in milliseconds."""
    script = file.with_suffix(".lua")
    script.write_text(LUA % {"file": file, "kind": REPORT_TYPE, "path": path}, encoding="ascii")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script), url]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"FOUND (\d+) (\d+) (\d+) (\d+) (\d+)", ran.stdout)
    if found is None:
        sys.exit(ran.stdout + ran.stderr)
    requests, duration, latency, refused, lost = map(int, found.groups())
    if refused or lost:
        sys.exit(f"{refused} refused, {lost} lost\n{ran.stdout}")
    return requests / duration * 1e6, latency / 1000


def measured(name: str, address: str, folder: Path, runs: int, seconds: int) -> None:
    begun(address, jobs_plan(), 0)
    with Server(address, program=PROGRAM) as server:
        campaign = server.campaign()
        for connections in CONNECTIONS:
            pairs: list[tuple[float, ...]] = []
            for run in range(runs):
                with closing(open_store(address)) as store:
                    tickets = give_out(store, 6_000 * seconds)
                file = folder / f"{name}{connections}_{run}.txt"
                write_lines(file, campaign, tickets)
                pairs.append(
                    (
                        *wrk(server.url, "/discard", file, connections, seconds),
                        *wrk(server.url, "/v1/reports", file, connections, seconds),
                    )
                )
            base_rate, base_latency, rate, latency = (median(column) for column in zip(*pairs, strict=True))
            print(
                f"{name:>8} {connections:>4} connections: {rate:8,.0f} reports/s, {rate / base_rate:.2f} of "
                f"discarding; p99 {latency:8.1f} ms, {latency / base_latency:.2f} times discarding's "
                f"{base_latency:.1f} ms",
                flush=True,
            )
        print(
            f"{name:>8} in batches of {AT_ONCE}: {batched(server, address, campaign):8,.0f} reports/s",
            flush=True,
        )


def batched(server: Server, address: str, campaign: Campaign, batches: int = 20) -> float:
    """Return reports a second of one sender of batches."""
    with closing(open_store(address)) as store:
        tickets = give_out(store, batches * AT_ONCE)
    bodies: list[Any] = []
    for start in range(0, len(tickets), AT_ONCE):
        entries = (
            bytes.fromhex(ticket) + random_report(campaign)[37:]
            for ticket in tickets[start : start + AT_ONCE]
        )
        bodies.append(b"prdp\x01" + campaign.digest + b"".join(entries))
    begun_at = time.perf_counter()
    for body in bodies:
        if server.ask("/v1/batches", body, content_type=BATCH_TYPE).body.count(b'"counted":true') != AT_ONCE:
            sys.exit("a batch was not counted")
    return batches * AT_ONCE / (time.perf_counter() - begun_at)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--store", choices=("sqlite", "postgres"), action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        for store in options.store or ["sqlite", "postgres"]:
            address = str(folder / "study.collect") if store == "sqlite" else start_postgres(folder).address
            measured(store, address, folder, options.runs, options.seconds)


if __name__ == "__main__":
    main()
