"""Both models are asked in the same words: a study of a query is the study that was built by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import prdp
from prdp.errors import InvalidRequest, PrdpError
from prdp.local import Bins, Categories, CountStudy, SumStudy, frequencies, measured, study

POLICY = prdp.Policy("20 / visits", at_least="1/20", at_most=10)
BOUNDS: Any = {"visits": (2, 400), "pay": (0, 10_000)}
BASICS: Any = {"policy": POLICY, "share": Fraction(1, 2), "name": "n"}
PAY = measured("pay", 0, 10_000, round_to="0.01")


def summed(**given: Any) -> Any:
    return SumStudy(**BASICS, measure=PAY, **given)


SAME: dict[str, tuple[Any, Any]] = {
    "count": (study(prdp.count(), **BASICS), CountStudy(**BASICS)),
    "printed": (
        study(prdp.count(), **BASICS, method="printed"),
        CountStudy(**BASICS, noise="laplace", threshold="paper"),
    ),
    "sum": (study(prdp.sum("pay"), **BASICS, bounds=BOUNDS, round_to={"pay": 0.01}), summed()),
    "mean": (
        study(prdp.mean("pay"), **BASICS, bounds=BOUNDS, round_to={"pay": 0.01}, method="ratio"),
        summed(mean=True, method="ratio"),
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_a_study_of_a_query_is_the_one_built_by_hand(case: str) -> None:
    asked, built = SAME[case]
    assert asked == built
    assert asked.after().to_json() == built.after().to_json()


@pytest.mark.parametrize(
    ("asked", "built"),
    [
        (study(prdp.count(), **BASICS, by="job", keys=["a", "b"]), Categories("job", ["a", "b"])),
        (study(prdp.count(), **BASICS, by=prdp.bins("age", [0, 18, 65])), Bins("age", (0, 18, 65))),
        (study(prdp.count(), **BASICS, by=Bins("age", (0, 18))), Bins("age", (0, 18))),
    ],
)
def test_counts_by_groups_are_frequencies(asked: Any, built: Any) -> None:
    by_hand: Any = frequencies(built, **BASICS)
    assert asked.after().to_json() == by_hand.after().to_json()
    assert asked.labels == built.labels


def test_the_range_of_a_policy_follows_from_the_bounds_as_in_the_central_model() -> None:
    asked: Any = study(prdp.count(), policy="20 / visits", share=0.5, bounds=BOUNDS, name="n")
    assert asked.policy == POLICY
    assert asked.after() == CountStudy(**BASICS).after()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"query": prdp.median("pay")}, "prdp.local.quantiles reads quantiles"),
        ({"query": "count"}, "is not available for clients"),
        ({"query": prdp.sum("pay"), "bounds": None}, r"bounds=\{'pay': \(0, 10\*\*6\)\}"),
        ({"query": prdp.sum("pay"), "by": "job", "keys": ["a"]}, "counted by groups"),
        ({"by": "job"}, "needs the column's public keys"),
        ({"keys": ["a"]}, "write by='job'"),
        ({"by": prdp.bins("age", [0, 18]), "keys": [1]}, "their own keys"),
        ({"by": 5}, "neither a column nor"),
        ({"method": "clip"}, "bits, laplace, printed, proportional"),
        ({"policy": [1]}, "is no policy"),
        ({"policy": "20 / visits", "bounds": None}, "has no largest budget"),
        ({"share": 1 / 3}, "share='1/3'"),
    ],
)
def test_what_clients_cannot_be_asked_is_refused_in_words(given: dict[str, Any], says: str) -> None:
    asked: Any = {"query": prdp.count(), "bounds": BOUNDS, **BASICS, **given}
    with pytest.raises(PrdpError, match=says) as refused:
        study(asked.pop("query"), **asked)
    assert isinstance(refused.value, InvalidRequest)
