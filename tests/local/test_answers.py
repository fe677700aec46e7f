"""Answers of the local model are about the clients that gave them, and say where they are not."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.cells.measure import Measure
from prdp.errors import InvalidRequest
from prdp.local import (  # fmt: skip
    Bins,
    Campaign,
    Categories,
    Client,
    Collector,
    CountStudy,
    Crowd,
    Estimate,
    FrameworkStudy,
    Study,
    SumStudy,
    Tally,
    frequencies,
    measured,
    simulate,
)
from prdp.local.protocols.categories import Frequencies
from prdp.local.protocols.counting import DomainCount
from prdp.local.simulation.simulation import crowd_tally
from prdp.testing import Seeded

POLICY = prdp.Policy.constant("40")
MEASURE = measured("v", 0, 100)
BASICS: dict[str, Any] = {"name": "study", "policy": POLICY, "share": "1"}
METHODS = ("ratio", "proportional", "framework")


def carried(study: Study, *rounds: dict[str, Any]) -> Estimate:
    """Carry a study through, each round with its own clients; the last ones stay to the end."""
    entropy, tallies = Seeded(7), list[Tally]()
    step = study.after()
    while isinstance(step, Campaign):
        clients = rounds[min(len(tallies), len(rounds) - 1)]
        tally = crowd_tally(step, Crowd.of(clients, study.policy), entropy)
        tallies.append(replace(tally, campaign=step.digest))
        step = study.after(*tallies)
    return step


ALL, HALF = {"v": [50] * 2000}, {"v": [50] * 1000}


@pytest.mark.parametrize("method", METHODS)
def test_a_mean_is_right_where_half_of_the_clients_stay_away_after_the_first_round(method: Any) -> None:
    study = SumStudy(**BASICS, measure=MEASURE, mean=True, method=method)
    assert carried(study, ALL).value == pytest.approx(50, rel=0.1)
    found = carried(study, ALL, HALF)
    assert found.value == pytest.approx(50, rel=0.1)
    assert found.clients == 1000
    assert found.rounds[0] == 2000
    assert "2,000" in found.caveat
    assert "1,000 clients" in found.caveat


@pytest.mark.parametrize(
    "study",
    [CountStudy(**BASICS, proportional=True), frequencies(Categories("v", (50, 60)), **BASICS)],
    ids=["count", "frequencies"],
)
def test_a_count_is_about_the_last_round_s_clients_and_says_so(study: Study) -> None:
    found = carried(study, ALL, HALF)
    assert found.value == pytest.approx(1000, rel=0.05)
    assert (found.rounds, found.clients) == ((2000, 1000), 1000)
    assert "The rounds had 2,000 and 1,000 clients" in found.caveat
    assert "The rounds had" not in carried(study, ALL).caveat


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("missing", [None, math.nan, "unknown"], ids=str)
def test_clients_without_a_value_take_no_part_in_a_mean(method: Any, missing: Any) -> None:
    study = SumStudy(**BASICS, measure=MEASURE, mean=True, method=method)
    people = np.array([50, missing] * 1000, dtype=object)
    assert carried(study, {"v": people}).value == pytest.approx(50, rel=0.1)


def test_a_client_without_a_value_answers_a_mean_s_count_as_the_dummy() -> None:
    from prdp.local.client.client import laws_for  # noqa: PLC0415

    campaign = SumStudy(**BASICS, measure=MEASURE, mean=True).after()
    assert isinstance(campaign, Campaign)
    assert campaign.protocol == DomainCount(column="v")
    assert Campaign.from_json(campaign.to_json()) == campaign
    dummy = laws_for(campaign, None)
    for missing in ({}, {"v": None}, {"v": math.nan}, {"v": "text"}, {"v": True}):
        assert laws_for(campaign, missing) == dummy
    assert laws_for(campaign, {"v": 0}) != dummy


def test_a_number_that_is_whole_is_its_category_however_it_is_stored() -> None:
    jobs = Categories("job", [1, 2])
    for one in (1, 1.0, np.int8(1), np.float32(1), Fraction(1)):
        assert jobs.place({"job": one}) == 0
    for other in (1.5, "1", True, None, math.inf, math.nan):
        assert jobs.place({"job": other}) is None


def test_values_beyond_the_edges_are_in_no_bin_and_the_last_edge_is_in_the_last() -> None:
    bins = Bins("v", (0, "10", Fraction(20)))
    places = [bins.place({"v": value}) for value in (-0.1, 0, 9.99, 10, 20, 20.01, math.inf, -math.inf)]
    assert places == [None, 0, 0, 1, 1, None, None, None]
    assert bins.labels == ("0 to below 10", "10 to 20")
    found = carried(frequencies(bins, **BASICS), {"v": [5] * 300 + [15] * 400 + [99] * 500})
    assert [part.value for part in found.parts] == pytest.approx([300, 400], abs=30)


def test_a_tally_of_another_campaign_or_round_is_refused() -> None:
    study = CountStudy(**BASICS, proportional=True)
    first = study.after()
    assert isinstance(first, Campaign)
    collector = Collector(first)
    collector.receive(Client().report(first, {"v": 1}))
    assert isinstance(study.after(collector), Campaign)
    with pytest.raises(InvalidRequest, match="round 2 is of another campaign or round"):
        study.after(collector, collector)
    with pytest.raises(InvalidRequest, match="round 1 is of another campaign"):
        CountStudy(**{**BASICS, "name": "other"}).after(collector.tally)
    with pytest.raises(InvalidRequest, match="does not say which campaign"):
        study.after(Tally(1, collector.tally.totals))
    with pytest.raises(InvalidRequest, match="int is no tally"):
        study.after(3)  # type: ignore[arg-type]


def test_bounds_in_values_become_bounds_in_rounding_steps() -> None:
    assert measured("v", "-1.5", 100, round_to="1/100") == Measure("v", Fraction(1, 100), -150, 10_000)
    wide: Any = Measure("v", "1/100", "0", "500")  # type: ignore[arg-type]
    assert SumStudy(**BASICS, measure=wide).measure == measured("v", 0, 5, round_to="0.01")


any_: Any = prdp.local  # what is wrong by its type is refused by more than the types


def total(measure: Any) -> Study:
    return SumStudy(**BASICS, measure=measure)


WRONG: dict[str, tuple[Any, str]] = {
    "reversed": (lambda: any_.measured("v", 10, 0), "low=10 is more than high=0"),
    "float bound": (lambda: any_.measured("v", 0, 1 / 3), "high='1/3'"),
    "float in a measure": (
        lambda: total(any_.Measure("v", Fraction(1), 0, 1.5)),
        "whole numbers of rounding steps",
    ),
    "half a rounding step": (
        lambda: total(any_.Measure("v", 1, 0, "1/2")),
        "whole numbers of rounding steps",
    ),
    "reversed measure": (
        lambda: total(any_.Measure("v", Fraction(1), 5, 0)),
        "more than high",
    ),
    "no rounding step": (lambda: any_.measured("v", 0, 1, round_to=0), "round_to=0 is not more than 0"),
    "word for a rounding step": (lambda: total(any_.Measure("v", "euro", 0, 1)), "is not a number"),
    "no measure": (lambda: total("v"), "is no measure"),
    "no column": (lambda: any_.measured(7, 0, 1), "not a column's name"),
    "letters": (lambda: any_.Categories("job", "abc"), "is not a list"),
    "float category": (lambda: any_.Categories("job", (1.5,)), "texts or whole numbers"),
    "float edge": (lambda: any_.Bins("v", (1 / 3, 1)), "edge='1/3'"),
    "edges as text": (lambda: any_.Bins("v", "0,1"), "is not a list"),
    "falling edges": (lambda: any_.Bins("v", (1, 0)), "ascending"),
    "column of bins": (lambda: any_.Bins("", (0, 1)), "not a column's name"),
    "policy as text": (lambda: any_.CountStudy(name="c", policy="1 / v", share="1"), "is no policy"),
    "collector of words": (lambda: Collector("words"), "no campaign"),
    "protocol": (lambda: any_.FrameworkStudy(**BASICS, question="q", protocol=3), "neither an LDP protocol"),
    "labels as text": (
        lambda: any_.FrameworkStudy(**BASICS, question="q", protocol=lambda _: None, labels="ab"),
        "labels='ab' is not a list",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_asked_wrongly_is_refused_when_the_study_is_made(case: str) -> None:
    make, message = WRONG[case]
    with pytest.raises(InvalidRequest, match=message):
        make()


JOBS = Frequencies(Categories("v", (50, 60)), "bits")


@pytest.mark.parametrize("labels", [(), ("one",), ("one", "two", "three")], ids=len)
def test_labels_of_the_wrong_number_are_refused_before_any_client_is_asked(labels: tuple[str, ...]) -> None:
    with pytest.raises(InvalidRequest, match=f"{len(labels)} labels"):
        FrameworkStudy(**BASICS, question="jobs", protocol=JOBS, labels=labels)


def test_a_form_that_cannot_be_is_refused_before_the_first_round() -> None:
    with pytest.raises(InvalidRequest, match="write form='laplace'"):
        SumStudy(**BASICS, measure=measured("v", -5, 5), method="framework", form="bit")
    with pytest.raises(InvalidRequest, match="the form 'bit' or 'laplace'"):
        SumStudy(**BASICS, measure=MEASURE, method="framework", form="?")  # type: ignore[arg-type]


def test_a_framework_takes_a_protocol_as_it_is() -> None:
    found = carried(FrameworkStudy(**BASICS, question="jobs", protocol=JOBS, labels=("50", "60")), ALL)
    assert [part.value for part in found.parts] == pytest.approx([2000, 0], abs=5)


def test_a_table_of_counts_is_printed_with_its_parts() -> None:
    found = carried(frequencies(Categories("v", (50, 60)), **BASICS), ALL)
    head, first, second = str(found).splitlines()
    assert head.startswith("clients by v: 2,000 ±")
    assert first.startswith("  50: 2,000 ±")
    assert second.startswith("  60: ")
    many = replace(found, parts=found.parts * 50)
    assert str(many).splitlines()[-1] == "  ... and 60 more, in .parts"


SHY = prdp.Policy.column("eps", at_least="1/1000", at_most="1/100")


@pytest.mark.parametrize(
    "study",
    [
        CountStudy(name="c", policy=SHY, share="1"),
        CountStudy(name="c", policy=SHY, share="1", proportional=True),
        *(SumStudy(name="c", policy=SHY, share="1", measure=MEASURE, method=m) for m in METHODS),  # type: ignore[arg-type]
        SumStudy(name="c", policy=SHY, share="1", measure=MEASURE, mean=True),
        frequencies(Categories("v", (50,)), name="c", policy=SHY, share="1"),
    ],
    ids=lambda study: f"{type(study).__name__}",
)
def test_nothing_heard_is_stated_and_never_looks_precise(study: Study) -> None:
    """Ten clients of budgets of 1/100: no threshold can be passed."""
    found = carried(study, {"v": [50] * 10, "eps": [0.01] * 10})
    assert "was heard: too few clients" in str(found)
    assert "±" not in str(found)
    assert "nothing but noise" in found.caveat
    assert found.interval() == (-math.inf, math.inf)
    assert math.isinf(found.deviation)


def test_caveats_name_what_the_interval_leaves_out() -> None:
    assert "pulls counts toward zero" in carried(CountStudy(**BASICS), ALL).caveat
    total = carried(SumStudy(**BASICS, measure=MEASURE, beta="1/5"), ALL).caveat
    assert "pulls the sum toward zero, often by more than the interval" in total
    assert "at most 0.2 a round, an octave in which nobody is counts as heard" in total
    mean = carried(SumStudy(**BASICS, measure=MEASURE, mean=True), ALL).caveat
    assert "either way" in mean
    assert "toward zero" not in mean


def test_a_level_may_be_written_as_text() -> None:
    found = carried(CountStudy(**BASICS), ALL)
    assert found.interval("0.9") == found.interval(0.9)
    with pytest.raises(InvalidRequest, match="level"):
        found.interval("much")


@pytest.mark.parametrize(
    ("study", "missing"),
    [
        (CountStudy(name="c", policy=SHY, share="1"), "eps"),
        (SumStudy(**BASICS, measure=measured("w", 0, 5)), "w"),
        (SumStudy(**BASICS, measure=measured("w", 0, 5), mean=True), "w"),
        (frequencies(Categories("job", ("a",)), **BASICS), "job"),
    ],
    ids=["policy", "sum", "mean", "categories"],
)
def test_a_simulation_without_a_column_that_the_study_reads_is_refused(study: Study, missing: str) -> None:
    with pytest.raises(InvalidRequest, match=f"no column '{missing}'"):
        simulate(study, ALL)
