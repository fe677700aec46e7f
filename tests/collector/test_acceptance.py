"""Which reports are counted, on both kinds of store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from prdp.collector.acceptance import Counted, accept
from prdp.collector.refusals import Refused
from prdp.collector.rounds import advance, close_round
from prdp.collector.store.opening import open_store
from prdp.collector.store.sql import SqlStore
from prdp.collector.tickets import hashed, new_tickets
from prdp.collector.wire import Submission
from prdp.errors import CollectorError
from prdp.local import Campaign
from tests.collector.running import begun, count_plan, jobs_plan, reports_for


def submissions(campaign: Campaign, tickets: list[str]) -> list[Submission]:
    reports = reports_for(campaign, range(len(tickets)))
    return [
        Submission(campaign.digest, hashed(bytes.fromhex(ticket)), report.token, report.payload)
        for ticket, report in zip(tickets, reports, strict=True)
    ]


def stated(outcomes: list[Counted | Refused]) -> list[str]:
    return [outcome.code if isinstance(outcome, Refused) else outcome.value for outcome in outcomes]


def open_campaign(store: SqlStore) -> Campaign:
    return Campaign.from_json(store.last_round().campaign)


def test_a_report_counts_once_however_often_it_comes(address: str) -> None:
    tickets = list(begun(address, count_plan()).tickets)
    with closing(open_store(address)) as store:
        campaign = open_campaign(store)
        sent = submissions(campaign, tickets[:3])
        assert stated(accept(store, campaign.digest, [*sent, sent[0]], 0)[0]) == [
            "now",
            "now",
            "now",
            "before",
        ]
        outcomes, last = accept(store, campaign.digest, sent, 0)
        assert stated(outcomes) == ["before"] * 3
        assert last.reports == 3
        assert len(list(store.reports(1))) == 3
        store.check()


def test_a_ticket_brings_one_report_and_a_report_has_one_ticket(address: str) -> None:
    tickets = list(begun(address, count_plan()).tickets)
    with closing(open_store(address)) as store:
        campaign = open_campaign(store)
        mine, other, third = submissions(campaign, tickets[:3])
        accept(store, campaign.digest, [mine], 0)
        second_report = Submission(campaign.digest, mine.ticket, other.token, other.payload)
        changed = Submission(campaign.digest, mine.ticket, mine.token, bytes(len(mine.payload)))
        stolen = Submission(campaign.digest, third.ticket, mine.token, mine.payload)
        forged = Submission(
            campaign.digest, hashed(bytes.fromhex(new_tickets(1)[0])), bytes(16), mine.payload
        )
        sent = [second_report, changed, stolen, forged, third]
        expected = ["ticket_used", "ticket_used", "report_known", "unknown_ticket", "now"]
        if changed.payload == mine.payload:
            expected[1] = "before"
        assert stated(accept(store, campaign.digest, sent, 0)[0]) == expected
        assert store.last_round().reports == 2


def test_a_round_closes_at_exactly_its_number_of_reports(address: str) -> None:
    tickets = list(begun(address, count_plan(5)).tickets)
    with closing(open_store(address)) as store:
        campaign = open_campaign(store)
        sent = submissions(campaign, tickets[:8])
        outcomes, last = accept(store, campaign.digest, sent, 0, most=5)
        assert stated(outcomes) == ["now"] * 5 + ["late"] * 3
        assert (last.closed, last.reports) == (True, 5)
        assert stated(accept(store, campaign.digest, sent, 0, most=5)[0]) == ["before"] * 5 + ["late"] * 3


def test_a_round_closes_at_its_time(address: str) -> None:
    tickets = list(begun(address, count_plan(seconds=60)).tickets)
    with closing(open_store(address)) as store:
        campaign, closes_at = open_campaign(store), store.last_round().closes_at
        assert closes_at is not None
        first, second = submissions(campaign, tickets[:2])
        assert stated(accept(store, campaign.digest, [first], closes_at - 1)[0]) == ["now"]
        outcomes, last = accept(store, campaign.digest, [first, second], closes_at)
        assert stated(outcomes) == ["before", "late"]
        assert (last.closed, last.reports) == (True, 1)


def test_a_ticket_is_good_for_one_report_in_every_round(address: str) -> None:
    tickets = list(begun(address, jobs_plan(2)).tickets)
    with closing(open_store(address)) as store:
        first = open_campaign(store)
        early = submissions(first, tickets[:2])
        accept(store, first.digest, early, 0, most=2)
        assert advance(store, 0)
        second = open_campaign(store)
        assert second.round == 2
        assert stated(accept(store, second.digest, submissions(second, tickets[:1]), 0, most=2)[0]) == ["now"]
        # A client whose acknowledgement was lost before the round closed hears that it was counted.
        assert stated(accept(store, first.digest, early, 0, most=2)[0]) == ["before"] * 2
        assert stated(accept(store, first.digest, submissions(first, tickets[2:3]), 0, most=2)[0]) == ["late"]
        assert stated(accept(store, bytes(32), early, 0, most=2)[0]) == ["wrong_campaign"] * 2
        assert [stored.reports for stored in store.study().rounds] == [2, 1]
        store.check()


def test_what_fails_midway_leaves_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = list(begun(address, count_plan()).tickets)
    with closing(open_store(address)) as store:
        campaign = open_campaign(store)
        sent = submissions(campaign, tickets[:3])

        def fail(*_: object, **__: object) -> None:
            raise CollectorError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(store, "set_progress", fail)
            with pytest.raises(CollectorError, match="full"):
                accept(store, campaign.digest, sent, 0)
        store.check()
        assert store.last_round().reports == 0
        assert stated(accept(store, campaign.digest, sent, 0)[0]) == ["now"] * 3


def test_no_round_is_closed_twice(address: str) -> None:
    begun(address, count_plan())
    with closing(open_store(address)) as store:
        assert close_round(store).closed
        with pytest.raises(CollectorError, match="no round is open"):
            close_round(store)


def test_tickets_and_reports_share_no_column_and_no_order(tmp_path: Path) -> None:
    """Who reads the store cannot tell which ticket brought which report, nor when."""
    path = tmp_path / "study.collect"
    tickets = list(begun(path, count_plan()).tickets)
    with closing(open_store(path)) as store:
        campaign = open_campaign(store)
        for submission in submissions(campaign, tickets):
            accept(store, campaign.digest, [submission], 0)
        tables = dict(store.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table'"))
        assert "ticket" not in tables["prdp_reports"]
        assert "token" not in tables["prdp_used"]
        for name in ("prdp_tickets", "prdp_used", "prdp_reports"):
            assert "WITHOUT ROWID" in tables[name]
            assert "time" not in tables[name]
        stored = [row[0] for row in store.rows("SELECT token FROM prdp_reports")]
        assert stored == sorted(stored)
        content = path.read_bytes()
        assert not any(bytes.fromhex(ticket) in content or ticket.encode() in content for ticket in tickets)
