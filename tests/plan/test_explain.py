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
    owners = prdp.open(columns, policy=policy, bounds=bounds, name="t", protect="id")
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
    graph = prdp.open_graph(
        columns, source="v", target="id", nodes=range(200), policy=prdp.Policy.constant("1"), name="g"
    )
    links = prdp.open_links(
        orders, records={"who": prdp.Records(columns, "id", policy, bounds=bounds)}, name="l"
    )
    return [
        table.where("v > 3").explain(prdp.Sum("v"), prdp.Count(), share="1/10"),
        table.explain(prdp.Distinct("job"), share="1/10", method="framework"),
        by_job.explain(prdp.Mean("v"), share="1/10"),
        owners.group_by("job", keys=["a", "b"]).explain(prdp.Mean("v"), share="1/10"),
        join.explain(prdp.Sum("price"), share="1/10"),
        graph.explain(prdp.Paths(2), share="1/10"),
        graph.explain(prdp.Edges(), share="1/10"),
        links.explain(prdp.Count(), share="1/10"),
    ]


def test_an_explanation_does_not_depend_on_the_records() -> None:
    assert explanations(np.arange(N)) == explanations(np.full(2 * N, 7))


def test_an_explanation_names_the_share_the_statement_the_mechanism_and_the_proof() -> None:
    for told in explanations(np.arange(N)):
        assert told.startswith("charges  1/10 of every record's budget")
        assert "  reads  " in told
        assert "SELECT" in told
        assert "proofs/" in told
        assert '"format": 2' in told


def test_what_is_read_once_a_point_is_drawn_is_said_with_its_place_held() -> None:
    (told,) = (told for told in explanations(np.arange(N)) if "joint" in told)
    assert told.count("  reads  ") == 2
    assert ":b" in told.split("  reads  ")[2]
    assert ":b" not in told.split("  reads  ")[1]


def test_the_parts_of_a_mean_are_drawn_with_all_of_its_share() -> None:
    (told,) = (told for told in explanations(np.arange(N)) if "pooled" in told or "choosing together" in told)
    assert "sum by clip with share 3/40" in told
    assert "count by clip with share 1/40" in told


def test_one_read_that_serves_two_queries_is_said_once() -> None:
    first = explanations(np.arange(N))[0]
    assert first.count("  reads  SELECT") == 1
    assert "what was read above" in first


@pytest.mark.parametrize("share", ["0", "2"])
def test_what_would_be_refused_is_refused(share: str) -> None:
    table = prdp.open({"v": np.arange(9)}, policy=prdp.Policy.constant("1"))
    with pytest.raises(prdp.InvalidRequest):
        table.explain(prdp.Count(), share=share)
