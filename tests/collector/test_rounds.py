"""From the first round to the result: the same as the offline analyst's, and taken up after a crash."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from prdp.collector.acceptance import accept
from prdp.collector.plan import Closing, StudyPlan
from prdp.collector.results import result_text
from prdp.collector.rounds import advance, begin, close_if_due, close_round, result_of, tally_of
from prdp.collector.store.opening import open_store
from prdp.collector.store.sql import SqlStore
from prdp.collector.tickets import hashed
from prdp.collector.wire import Submission
from prdp.errors import CollectorError, InvalidRequest
from prdp.local import Campaign, Client, Collector, Estimate
from tests.collector.running import JOBS, POLICY, begun, count_plan, jobs_plan

PEOPLE = 60

PLANS = [
    StudyPlan("count", "count", POLICY, "1/2"),
    StudyPlan("printed", "count", POLICY, "1/2", method="printed"),
    StudyPlan("proportional", "count", POLICY, "1", method="proportional"),
    StudyPlan("sum", "sum", POLICY, "1", column="pay", bounds=(0, 1000)),
    StudyPlan("ratio", "sum", POLICY, "1", column="pay", bounds=(-5, 1000), round_to="1/10", method="ratio"),
    StudyPlan("mean", "mean", POLICY, "1", column="pay", bounds=(0, 1000), method="framework"),
    StudyPlan("jobs", "frequencies", POLICY, "1", column="job", categories=JOBS),
    StudyPlan("hashed", "frequencies", POLICY, "1", column="job", categories=JOBS, method="olh"),
    StudyPlan("one of", "frequencies", POLICY, "1", column="job", categories=JOBS, method="grr"),
    StudyPlan("pay", "quantiles", POLICY, "1", column="pay", edges=(0, 100, "500.5", 1000)),
]


def person(number: int) -> dict[str, Any]:
    return {"visits": 2, "job": JOBS[number % 3], "pay": 10 * number}


def answer_round(store: SqlStore, tickets: tuple[str, ...]) -> Collector:
    """Send everybody's report to the open round; return an offline collector of the same reports."""
    campaign = Campaign.from_json(store.last_round().campaign)
    offline = Collector(campaign)
    sent = []
    for number, ticket in enumerate(tickets):
        report = Client().report(campaign, person(number))
        offline.receive(bytes(report))
        sent.append(Submission(campaign.digest, hashed(bytes.fromhex(ticket)), report.token, report.payload))
    accept(store, campaign.digest, sent, 0)
    return offline


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_the_result_is_the_offline_analyst_s_on_the_same_reports(plan: StudyPlan, tmp_path: Path) -> None:
    tickets = begun(tmp_path / "study", plan, PEOPLE).tickets
    with closing(open_store(tmp_path / "study")) as store:
        gathered: list[Collector] = []
        while (study := store.study()).result is None:
            gathered.append(answer_round(store, tickets))
            close_round(store)
            assert advance(store, 0)
        found = plan.study().after(*gathered)
        assert isinstance(found, Estimate)
        assert study.result == result_text(plan.answers(found))
        assert len(study.rounds) == len(found.rounds)
        assert not advance(store, 0)


def test_a_plan_comes_back_from_its_text_as_it_was() -> None:
    for plan in PLANS:
        again = StudyPlan.from_json(plan.to_json())
        assert again == plan
        assert again.digest == plan.digest
        assert str(again.study().after()) == str(plan.study().after())
    assert len({plan.digest for plan in PLANS}) == len(PLANS)


def test_a_collector_that_was_killed_after_closing_takes_the_next_step_when_it_starts(address: str) -> None:
    tickets = begun(address, jobs_plan(), PEOPLE).tickets
    with closing(open_store(address)) as store:
        offline = answer_round(store, tickets)
        close_round(store)
    with closing(open_store(address)) as store:  # closed, not added up
        assert tally_of(store, store.last_round()) == offline.tally
        assert advance(store, 0)
        following = jobs_plan().study().after(offline)
        assert isinstance(following, Campaign)
        assert store.last_round().digest == following.digest


def test_a_round_whose_time_has_come_while_nobody_served_is_closed_then(address: str) -> None:
    plan = count_plan(seconds=100)
    begin(address, plan, tickets=1, now=1_000)
    with closing(open_store(address)) as store:
        assert not close_if_due(store, 1_099)
        assert close_if_due(store, 1_100)
        assert advance(store, 1_100)
        result = result_of(store.study())
        assert result is not None
        assert result["answers"][0]["unheard"] == "a round had no reports"
        assert result["answers"][0]["value"] is None
        assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_a_store_is_never_replaced(address: str) -> None:
    begun(address, count_plan())
    with pytest.raises(CollectorError, match="never replaced"):
        begun(address, count_plan())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ask": "median"}, "not known"),
        ({"ask": "sum"}, "needs a column"),
        ({"ask": "sum", "column": "pay"}, "needs bounds"),
        ({"ask": "count", "method": "olh"}, "not for count"),
        ({"ask": "frequencies", "column": "job"}, "categories"),
        ({"ask": "quantiles", "column": "pay"}, "edges"),
        ({"ask": "count", "share": "2"}, "share"),
        ({"ask": "count", "closing": Closing(5), "name": ""}, "name"),
    ],
)
def test_a_plan_that_cannot_be_asked_is_refused_before_anything_is_made(
    options: dict[str, Any], why: str
) -> None:
    given = {"name": "study", "policy": POLICY, "share": "1", **options}
    with pytest.raises(InvalidRequest, match=why):
        StudyPlan(**given)


@pytest.mark.parametrize("wrong", [{"reports": 0}, {"seconds": -1}, {"reports": 1.5}])
def test_a_round_closes_after_a_whole_number_or_not_at_all(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="closes after"):
        Closing(**wrong)
