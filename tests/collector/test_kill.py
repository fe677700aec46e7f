"""A collector that is killed with SIGKILL in the middle: what was acknowledged is counted, once."""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing
from dataclasses import dataclass

import pytest

from prdp.collector.client import Unserved, send
from prdp.collector.rounds import tally_of
from prdp.collector.store.sql import open_store
from prdp.local import Campaign, Collector, Report
from tests.collector.running import PATIENCE, Server, begun, count_plan, reports_for

CLIENTS = 160
SENDERS = 8
KILLS = 2


@dataclass
class Sender:
    """One of those who send until they hear that they were counted."""

    server: Server
    todo: list[tuple[Report, str]]
    ends: float
    acknowledged: list[Report]

    def run(self) -> None:
        for report, ticket in self.todo:
            while not self.reported(report, ticket) and time.monotonic() < self.ends:
                time.sleep(0.02)
            self.acknowledged.append(report)
            if random.random() < 0.3:
                self.reported(report, ticket)  # who has heard may ask again

    def reported(self, report: Report, ticket: str) -> bool:
        try:
            send(self.server.url, report, ticket, tries=1)
        except Unserved as error:
            assert error.may_pass, error
            return False
        return True


@pytest.mark.slow
def test_every_acknowledged_report_is_counted_once_although_the_collector_is_killed(address: str) -> None:
    known = begun(address, count_plan(), CLIENTS)
    with Server(address) as server:
        campaign = server.campaign()
        todo = list(zip(reports_for(campaign, range(CLIENTS)), known.tickets, strict=True))
        acknowledged: list[Report] = []
        ends = time.monotonic() + 3 * PATIENCE
        senders = [
            threading.Thread(target=Sender(server, todo[i::SENDERS], ends, acknowledged).run)
            for i in range(SENDERS)
        ]
        for sender in senders:
            sender.start()
        for kill in range(KILLS):
            while len(acknowledged) < (kill + 1) * CLIENTS // (KILLS + 2) and time.monotonic() < ends:
                time.sleep(0.005)
            server.kill()
            server.start()  # at the same port
        for sender in senders:
            sender.join()
        assert time.monotonic() < ends
        assert server.ask("/v1/study").facts["rounds"][0]["reports"] == CLIENTS
    offline = Collector(campaign)
    assert all(offline.receive(bytes(report)) for report in acknowledged)
    with closing(open_store(address)) as store:
        store.check()
        assert dict(store.reports(1)) == {report.token: report.payload for report in acknowledged}
        assert tally_of(store, store.last_round()) == offline.tally
        assert Campaign.from_json(store.last_round().campaign) == campaign


def test_a_collector_killed_while_it_adds_a_round_up_goes_on_when_it_starts(address: str) -> None:
    known = begun(address, count_plan(), 1)
    with closing(open_store(address)) as store:
        campaign = Campaign.from_json(store.last_round().campaign)
    with Server(address) as server:
        (report,) = reports_for(campaign, [0])
        assert send(server.url, report, known.tickets[0])
        server.kill()
    with (
        closing(open_store(address)) as store,
        store.writing(),
    ):  # as if it had been killed right after closing
        store.set_progress(1, 1, closed=True)
    with Server(address) as server:
        assert server.ask("/v1/study").facts["state"] == "done"
        assert server.ask("/v1/result").facts["answers"][0]["clients"] == 1
