"""What hostile senders do to a collector: every one refused by its code, nothing lost, memory flat.

``python -m benchmarks.collector_hostile`` sends thousands of malformed, oversized, replayed, late,
wrong-campaign, wrong-version and NaN reports, holds slow and half-closed connections open, and meanwhile
sends honest reports. It prints what was answered to each kind, what became of the honest reports, and the
memory of the server's process after each quarter. ``--times`` makes it smaller.
"""

from __future__ import annotations

import argparse
import http.client
import socket
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from prdp.collector.wire import JSON_TYPE, REPORT_TYPE, as_json
from prdp.local import Campaign, Report
from tests.collector.running import Server, begun, heard, jobs_plan, reports_for

PROGRAM = (
    "from prdp.collector.server import serving; from prdp.serving import connections; "
    "from prdp.cli import main; "
    "serving.Patience = lambda: connections.Patience(head_seconds=2, body_seconds=2, idle_seconds=2); main()"
)
EXPECTED = {
    "malformed": {400}, "oversized": {413}, "replayed": {200}, "another report": {409}, "late": {410},
    "wrong campaign": {409}, "wrong version": {400}, "NaN": {400}, "deep": {400}, "no ticket": {401},
    "forged ticket": {403}, "honest": {201}, "slow head": {408}, "slow body": {408},
    "half-closed": {201, 200},
    "halfway": {400}, "idle": {408},
}  # fmt: skip


def post(connection: http.client.HTTPConnection, body: bytes, kind: str, ticket: str | None) -> int:
    headers = {"content-type": kind, **({"authorization": f"Bearer {ticket}"} if ticket else {})}
    for _ in range(2):  # an idle connection may have been closed meanwhile
        with suppress(OSError, http.client.HTTPException):
            connection.request("POST", "/v1/reports", body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        connection.close()
    return 0


def slow_ones(server: Server, report: Report, ticket: str, times: int) -> Counter[tuple[str, int]]:
    """Hold connections open in every bad way at once; return what each was reported."""
    whole = bytes(report)
    head = (
        f"POST /v1/reports HTTP/1.1\r\nhost: x\r\ncontent-type: {REPORT_TYPE}\r\n"
        f"authorization: Bearer {ticket}\r\ncontent-length: {len(whole)}\r\n\r\n"
    ).encode()
    sent = {"idle": b"", "slow head": head[:30], "slow body": head + whole[:9], "halfway": head + whole[:9],
            "half-closed": head + whole}  # fmt: skip
    found: Counter[tuple[str, int]] = Counter()
    held: list[tuple[str, socket.socket]] = []
    for _ in range(times):
        for kind, start in sent.items():
            connection = server.raw()
            connection.sendall(start)
            if kind in ("halfway", "half-closed"):
                connection.shutdown(socket.SHUT_WR)
            held.append((kind, connection))
    for kind, connection in held:
        with connection:
            stated = heard(connection)
        found[kind, int(stated[9:12] or 0)] += 1
    return found


def requests_of(
    campaign: Campaign, old: Report, tickets: list[str], number: int
) -> list[tuple[str, bytes, str, str | None]]:
    """Return one request of every kind; the first ticket has brought the first report."""
    first, other = reports_for(campaign, [0, number])
    whole, mine = bytes(other), tickets[number]
    nan = as_json(campaign, other).replace('"outcomes":[', '"outcomes":[NaN,').encode()
    return [
        ("malformed", whole[:30], REPORT_TYPE, mine),
        ("oversized", whole + bytes(200_000), REPORT_TYPE, mine),
        ("wrong version", b"prdp\x02" + whole[5:], REPORT_TYPE, mine),
        ("wrong campaign", bytes(Report(bytes(32), other.token, other.payload)), REPORT_TYPE, mine),
        ("late", bytes(old), REPORT_TYPE, mine),
        ("NaN", nan, JSON_TYPE, mine),
        ("deep", b'{"a":' + b"[" * 50_000, JSON_TYPE, mine),
        ("no ticket", whole, REPORT_TYPE, None),
        ("forged ticket", whole, REPORT_TYPE, f"{number:032x}"),
        ("honest", whole, REPORT_TYPE, mine),
        ("replayed", whole, REPORT_TYPE, mine),
        ("another report", bytes(first), REPORT_TYPE, mine),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=1000)
    times = parser.parse_args().times
    found: Counter[tuple[str, int]] = Counter()
    memory: list[int] = []
    with tempfile.TemporaryDirectory() as named:
        path = Path(named) / "study.collect"
        known = begun(path, jobs_plan(), times + 2)
        with Server(path, program=PROGRAM) as server:
            (old,) = reports_for(server.campaign(), [0])
            server.ask("/v1/operator/close", b"", authorization=f"Bearer {known.operator_token}")
            campaign, tickets = server.campaign(), list(known.tickets)
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            (held,) = reports_for(campaign, [times])
            for number in range(times):
                for kind, body, content, ticket in requests_of(campaign, old, tickets, number):
                    found[kind, post(connection, body, content, ticket)] += 1
                if number % (times // 4) == times // 4 - 1:
                    found += slow_ones(server, held, tickets[times], 40)
                    memory.append(server.memory)
            counted = server.ask("/v1/study").facts["rounds"][-1]["reports"]
    for (kind, status), count in sorted(found.items()):
        print(f"{kind:>16}: {status} {count:>6,} times{'' if status in EXPECTED[kind] else '   WRONG'}")
    print(f"honest reports: {times + 1:,} sent, {counted:,} counted")
    print("memory after each quarter:", ", ".join(f"{size / 2**20:.1f} MiB" for size in memory))
    wrong = any(status not in EXPECTED[kind] for kind, status in found)
    grown = memory[-1] > 1.1 * memory[0]
    sys.exit(1 if wrong or grown or counted != times + 1 else 0)


if __name__ == "__main__":
    main()
