"""An explanation says what would be charged, read and drawn, and is the same whatever the records are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prdp

N = 60


def explanations(values: Any) -> list[str]:
    """Return what every entry point says of its questions, about tables with the same public facts."""
    columns = {
        "v": values,
        "id": np.arange(len(values)) // 2,
        "job": np.array(["a", "b"] * (len(values) // 2)),
    }
    policy, bounds = prdp.Policy("10 / greatest(v, 1)"), {"v": (0, 100)}
    table = prdp.open(columns, policy=policy, bounds=bounds, name="t")
    unit = prdp.open(columns, policy=policy, bounds=bounds, name="t", privacy_unit="id")
    by_job = table.group_by("job", keys=["a", "b"])
    orders = {"who": columns["id"].copy(), "price": values.copy()}
    join = prdp.open_join(
        {"people": columns, "orders": orders},
        private="people",
        key="id",
        references={"orders.who": "people.id"},
        policy=policy,
        bounds={"v": (0, 100), "price": (0, 100)},
    ).over("orders")
    graph = prdp.graphs.open(
        columns, source="v", target="id", nodes=range(200), policy=prdp.Policy.constant("1"), name="g"
    )
    links = prdp.graphs.open_links(
        orders, records={"who": prdp.graphs.Records(columns, "id", policy, bounds=bounds)}, name="l"
    )
    return [
        table.filter("v > 3").explain(prdp.sum("v"), prdp.count(), share="1/10"),
        table.explain(prdp.count_distinct("job"), share="1/10", method="framework"),
        by_job.explain(prdp.mean("v"), share="1/10"),
        unit.group_by("job", keys=["a", "b"]).explain(prdp.mean("v"), share="1/10"),
        join.explain(prdp.sum("price"), share="1/10"),
        graph.explain(prdp.graphs.paths(2), share="1/10"),
        graph.explain(prdp.graphs.edges(), share="1/10"),
        links.explain(prdp.count(), share="1/10"),
    ]


def test_an_explanation_does_not_depend_on_the_records() -> None:
    assert explanations(np.arange(N)) == explanations(np.full(2 * N, 7))


def test_an_explanation_names_the_share_the_statement_the_mechanism_and_the_proof() -> None:
    for reported in explanations(np.arange(N)):
        assert reported.startswith(
            "charges  1/10 of every record's budget, before anything is read; 9/10 is left"
        )
        assert "record   " in reported
        assert "  reads  " in reported
        assert "SELECT" in reported
        assert "proofs/" in reported
        assert '"format": 2' in reported


def test_what_is_read_once_a_point_is_drawn_is_stated_with_its_place_held() -> None:
    (reported,) = (reported for reported in explanations(np.arange(N)) if "joint" in reported)
    first, later = reported.split("  reads  ")[1:]
    assert ":b" not in first
    assert "(sum(value), 0) AS whole0, " in later  # one statement looks for the sum and for the count
    assert "count(value) AS whole1, " in later
    assert ":b" in later


def test_the_parts_of_a_mean_are_drawn_with_all_of_its_share() -> None:
    (reported,) = (
        reported
        for reported in explanations(np.arange(N))
        if "pooled" in reported or "choosing together" in reported
    )
    assert "sum by clip with share 3/40" in reported
    assert "count by clip with share 1/40" in reported


def test_one_read_that_serves_two_queries_is_stated_once() -> None:
    first = explanations(np.arange(N))[0]
    assert first.count("  reads  SELECT") == 1
    assert "what was read above" in first


def small(policy: str = "1", **options: Any) -> prdp.Table:
    bounds = {"v": (0, 9), "w": (0, 9)}
    columns = {"v": np.arange(9), "w": np.arange(9)}
    return prdp.open(columns, policy=prdp.Policy(policy), bounds=bounds, name="t", **options)


def test_the_mechanism_that_public_facts_choose_is_the_one_that_answers() -> None:
    for policy in ("1", "CASE WHEN v < 3 THEN 1 ELSE 0.001 END", "1 / greatest(v, 1)"):
        table = small(policy, synthetic=True)
        (release,) = prdp.testing.simulate(table, prdp.count(), runs=1, seed=1)
        tiered = "budget tiers" in dict(release.choices)
        assert ("draws  tiers" in table.explain(prdp.count(), share=1)) is tiered
        assert ("proofs/tiers.md" in table.explain(prdp.count(), share=1)) is tiered


def test_two_columns_are_two_reads() -> None:
    assert "what was read above" not in small().explain(prdp.sum("v"), prdp.sum("w"), share=1)


def test_what_is_free_or_would_be_refused_is_stated() -> None:
    table = small()
    table.count(share="9/10")
    assert table.explain(prdp.count(), share="9/10").startswith("charges  nothing: it was answered before")
    assert table.explain(prdp.sum("v"), share="1/5").startswith("charges  nothing: it would be refused")
    assert (
        small(synthetic=True).explain(prdp.count(), share=1).startswith("charges  nothing: the records are")
    )


@pytest.mark.parametrize("share", ["0", "2"])
def test_what_would_be_refused_is_refused(share: str) -> None:
    table = prdp.open({"v": np.arange(9)}, policy=prdp.Policy.constant("1"))
    with pytest.raises(prdp.InvalidRequest):
        table.explain(prdp.count(), share=share)
