"""Simulation and planning take synthetic tables alone, and answers of synthetic tables are marked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.errors import InvalidRequest, LedgerError
from prdp.ledger import NoAccount
from prdp.methods import Framework
from prdp.testing import simulate

ROWS = 500
POLICY = prdp.Policy.column("eps", at_least="1/4", at_most=16)
PEOPLE = {
    "id": np.arange(ROWS),
    "eps": np.full(ROWS, 16.0),
    "v": np.arange(ROWS) % 100,
    "job": np.array(["clerk", "chef"] * (ROWS // 2)),
}
VISITS = {"patient": np.arange(ROWS), "doctor": np.arange(ROWS) % 20, "eps": np.full(ROWS, 16.0)}


def table(**options: Any) -> prdp.Table:
    return prdp.open(PEOPLE, policy=POLICY, bounds={"v": (0, 100)}, name="people", **options)


def join(**options: Any) -> prdp.Join:
    return prdp.open_join(
        {"people": PEOPLE, "visits": VISITS},
        private="people",
        key="id",
        references={"visits.patient": "people.id"},
        policy=POLICY,
        bounds={"v": (0, 100)},
        **options,
    )


def links(**options: Any) -> prdp.graphs.Links:
    people = prdp.graphs.Records(PEOPLE, "id", POLICY)
    records = {"patient": people, "doctor": people}
    return prdp.graphs.open_links(VISITS, records=records, name="visits", **options)


def graph(**options: Any) -> prdp.graphs.Graph:
    nodes = range(ROWS)
    return prdp.graphs.open(
        VISITS, source="patient", target="doctor", nodes=nodes, policy=POLICY, name="visits", **options
    )


DOORS: list[Any] = [table, join, links, graph]
Opened = Any
Asked = Callable[[Opened], Any]

QUESTIONS: list[tuple[Any, Asked]] = [
    (table, lambda t: t.count(share="1/2")),
    (table, lambda t: t.filter("v > 5").sum("v", share="1/2", method="partition")),
    (table, lambda t: t.mean("v", share="1/2")),
    (table, lambda t: t.std("v", share="1/2")),
    (table, lambda t: t.median("v", share="1/2")),
    (table, lambda t: t.max("v", share="1/2", redraw=True)),
    (table, lambda t: t.count_distinct("job", share="1/2")),
    (table, lambda t: t.quantiles("v", ["1/4", "3/4"], share="1/2")[1]),
    (table, lambda t: t.histogram("v", edges=[0, 50, 100], share="1/2")),
    (table, lambda t: t.agg(prdp.count(), prdp.mean("v"), share="1/2")),
    (table, lambda t: t.group_by("job", keys=["clerk"]).filter("v > 5").mean("v", share="1/2")),
    (
        table,
        lambda t: t.filter("v > 5").group_by("job", keys=["clerk"]).histogram("v", edges=[0, 9], share=1),
    ),
    (table, lambda t: t.group_by("job", keys=["clerk"]).quantiles("v", ["1/2"], share="1/2")),
    (table, lambda t: t.run(lambda rows, _epsilon, _beta: 7, columns=["v"], share="1/2")),
    (join, lambda j: j.count(share="1/2")),
    (join, lambda j: j.over("visits").filter("doctor > 3").sum("v", share="1/2")),
    (links, lambda k: k.count(share="1/2")),
    (links, lambda k: k.filter("doctor > 3").count(share="1/2")),
    (graph, lambda g: g.edges(share="1/2")),
    (graph, lambda g: g.paths(share="1/2", method="framework")),
    (graph, lambda g: g.filter("doctor > 3").stars(3, share="1/2")),
    (graph, lambda g: g.triangles(share="1/2")),
]


def parts(release: Any) -> list[Any]:
    """Return a release and all that is in it."""
    if isinstance(release, prdp.ReleaseTable):
        return [release, *(part for row in release.releases for one in row for part in parts(one))]
    return [release, *(part for one in getattr(release, "parts", ()) for part in parts(one))]


@pytest.mark.parametrize(("queryable", "ask"), QUESTIONS)
def test_all_that_a_synthetic_table_answers_is_marked_and_nothing_a_real_table_does(
    queryable: Any, ask: Asked
) -> None:
    made_up, real = ask(queryable(synthetic=True)), ask(queryable())
    assert all(part.simulated for part in parts(made_up))
    assert not any(part.simulated for part in parts(real))
    for shown in (str, repr):
        assert "simulated" in shown(made_up)
        assert "simulated" not in shown(real)


def test_frames_of_a_synthetic_table_s_answers_say_so_where_they_have_room_for_it() -> None:
    made_up, real = (
        opened.histogram("v", edges=[0, 50, 100], share="1/2") for opened in (table(synthetic=True), table())
    )
    assert made_up.to_arrow().schema.metadata[b"simulated"] == b"true"
    assert made_up.to_pandas().attrs["simulated"] == "true"
    assert b"simulated" not in real.to_arrow().schema.metadata
    assert "simulated" not in real.to_pandas().attrs


@pytest.mark.parametrize("queryable", DOORS)
def test_a_synthetic_table_says_what_it_is_and_keeps_no_account(queryable: Any) -> None:
    made_up, real = queryable(synthetic=True), queryable()
    assert made_up.synthetic
    assert "synthetic table" in repr(made_up)
    assert "synthetic table" not in repr(real)
    assert not real.synthetic
    ask = made_up.edges if queryable is graph else made_up.count
    answers = {str(ask(share="1").exact) for _ in range(30)}
    assert len(answers) > 1, "every answer is drawn anew"
    assert made_up.ledger.remaining == 1
    assert made_up.ledger.entries == ()
    assert "synthetic table" in repr(made_up.ledger)


def test_what_is_made_of_a_synthetic_table_is_one_and_of_a_real_table_is_none() -> None:
    for made_up in (True, False):
        opened = table(synthetic=made_up)
        assert opened.filter("v > 5").synthetic is made_up
        assert (
            opened.filter("v > 5").group_by("job", keys=["chef"]).filter("v < 9").table.synthetic is made_up
        )
        assert join(synthetic=made_up).over("visits").filter("v > 5").synthetic is made_up
        assert links(synthetic=made_up).filter("doctor > 3").synthetic is made_up
        assert graph(synthetic=made_up).filter("doctor > 3").synthetic is made_up


@pytest.mark.parametrize("queryable", DOORS)
def test_a_table_that_is_open_does_not_become_a_synthetic_table(queryable: Any) -> None:
    real = queryable()
    assert "synthetic" not in {field.name for field in fields(real)}
    with pytest.raises(TypeError):
        replace(real, synthetic=True)
    with pytest.raises(AttributeError):
        real.synthetic = True


@pytest.mark.parametrize("queryable", DOORS)
def test_a_synthetic_table_has_no_ledger_and_nobody_who_asks(queryable: Any, tmp_path: Path) -> None:
    file = tmp_path / "t.ledger"
    for ledger in (file, str(file), prdp.ledger.MemoryLedger()):
        with pytest.raises(
            InvalidRequest, match=r"synthetic=True keeps no account, so that ledger=.* cannot be combined"
        ):
            queryable(synthetic=True, ledger=ledger)
    with pytest.raises(
        InvalidRequest, match="synthetic=True keeps no account, so that who='ana' cannot be combined"
    ):
        queryable(synthetic=True, who="ana")
    assert not file.exists()


@pytest.mark.parametrize("queryable", DOORS)
def test_a_synthetic_table_s_missing_account_is_no_ledger_for_others(queryable: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"ledger=.*synthetic table.* is no ledger"):
        queryable(ledger=table(synthetic=True).ledger)


@pytest.mark.parametrize("odd", [1, 0, None, "yes", "", np.True_])
@pytest.mark.parametrize("queryable", DOORS)
def test_whether_it_is_a_synthetic_table_is_true_or_false(queryable: Any, odd: object) -> None:
    with pytest.raises(InvalidRequest, match=r"synthetic=.* is True or False"):
        queryable(synthetic=odd)


def ledgers(folder: Path) -> list[dict[str, Any]]:
    return [{"ledger": prdp.ledger.MemoryLedger()}, {"ledger": folder / "t.ledger"}]


QUERIES: list[tuple[Any, Any, str]] = [
    (table, prdp.count(), r"prdp\.open\(\.\.\., synthetic=True\)"),
    (lambda **o: table(**o).filter("v > 5"), [prdp.count(), prdp.sum("v")], r"prdp\.open\("),
    (lambda **o: table(**o).group_by("job", keys=["chef"]), prdp.count(), r"prdp\.open\("),
    (lambda **o: join(**o).over("visits"), prdp.count(), r"prdp\.open_join\("),
    (links, prdp.count(), r"prdp\.graphs\.open_links\("),
    (graph, prdp.graphs.paths(), r"prdp\.graphs\.open\("),
]


@pytest.mark.parametrize(("queryable", "query", "instead"), QUERIES)
def test_only_synthetic_tables_are_simulated(
    queryable: Any, query: Any, instead: str, tmp_path: Path
) -> None:
    answers = simulate(queryable(synthetic=True), query, share="1/2", runs=2, seed=0)
    assert [answer.simulated for answer in answers] == [True, True]
    for options in ({}, {"synthetic": False}, *ledgers(tmp_path)):
        real = queryable(**options)
        asked = "simulate takes a table opened with synthetic=True"
        with pytest.raises(InvalidRequest, match=rf"{asked}[^\n]*{instead}"):
            simulate(real, query, share="1/2", runs=2, seed=0)
        with pytest.raises(InvalidRequest, match=asked):
            simulate(real, query, share="nonsense", runs=2, seed=0)


def test_only_synthetic_tables_are_planned_on(tmp_path: Path) -> None:
    made_up = table(synthetic=True)
    for options in ({}, *ledgers(tmp_path)):
        real = table(**options)
        for like in (real, real.filter("v > 5"), real.group_by("job", keys=["chef"])):
            with pytest.raises(InvalidRequest, match=r"share_for takes a table opened .*people"):
                prdp.share_for(prdp.count(), error="10%", like=like)
    assert prdp.share_for(prdp.count(), error="50%", like=made_up, runs=5).share is not None


@pytest.mark.parametrize(
    "runs", [True, False, 0, -1, 2.0, "3", None, Fraction(2), 10**10, 10**5000], ids=type
)
def test_a_number_of_runs_is_a_whole_number_from_1_on(runs: Any) -> None:
    asked: list[tuple[Any, Any]] = [
        (table(synthetic=True), prdp.count()),
        (graph(synthetic=True), prdp.graphs.edges()),
    ]
    for opened, query in asked:
        with pytest.raises(InvalidRequest, match=r"runs=.* is not a number of runs"):
            simulate(opened, query, runs=runs, seed=0)
    with pytest.raises(InvalidRequest, match=r"runs=.* is not a number of runs"):
        prdp.share_for(prdp.count(), error="10%", like=table(synthetic=True), runs=runs)


@pytest.mark.parametrize("seed", [True, False, 2.0, "3", None, b"3", 2**256, -(10**5000)], ids=type)
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    asked: list[tuple[Any, Any]] = [
        (table(synthetic=True), prdp.count()),
        (graph(synthetic=True), prdp.graphs.edges()),
    ]
    for opened, query in asked:
        with pytest.raises(InvalidRequest, match=r"seed=.* is no seed"):
            simulate(opened, query, runs=1, seed=seed)
    with pytest.raises(InvalidRequest, match=r"seed=.* is no seed"):
        prdp.share_for(prdp.count(), error="10%", like=table(synthetic=True), seed=seed)


def test_whole_numbers_of_either_sign_are_seeds() -> None:
    made_up = table(synthetic=True)
    seeds = (0, -1, 10**30, -(2**256) + 1)
    drawn = [simulate(made_up, prdp.count(), share="1/100", runs=5, seed=seed) for seed in seeds]
    assert len({tuple(release.steps for release in releases) for releases in drawn}) == len(seeds)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"error": True}, "error=True is not a number"),
        ({"error": 1 / 30}, "error='1/30'"),
        ({"error": "200%"}, "more than all of it"),
        ({"error": "%"}, "error='' is not a number|error='%' is not a number"),
        ({"error": "-1%"}, "is not above 0"),
        ({"confidence": 1}, "is not below 1"),
        ({"confidence": True}, "confidence=True is not a number"),
        ({"confidence": "0"}, "is not above 0"),
        ({"method": "oracle"}, "oracle"),
        ({"method": True}, "True"),
        ({"like": "people"}, "share_for takes a query and an open table"),
        ({"query": "count"}, "share_for takes a query and an open table"),
        ({"query": prdp.graphs.edges()}, "share_for takes a query and an open table"),
    ],
)
def test_a_plan_s_odd_arguments_are_refused_in_words(given: dict[str, Any], says: str) -> None:
    chosen: dict[str, Any] = {"query": prdp.count(), "error": "10%", "like": table(synthetic=True)} | given
    with pytest.raises(InvalidRequest, match=says):
        prdp.share_for(**chosen)


@pytest.mark.parametrize(
    ("queryable", "query", "given", "says"),
    [
        (table, [prdp.count(), "sum"], {}, "simulate takes a query and an open table"),
        (table, [], {}, "simulate takes a query and an open table"),
        (table, "", {}, "simulate takes a query and an open table"),
        (table, prdp.graphs.edges(), {}, "simulate takes a query and an open table"),
        (table, prdp.count(), {"share": True}, "share=True is not a number"),
        (graph, prdp.graphs.paths(2), {"method": Framework(split="2")}, "split"),
        (graph, prdp.count(), {}, "does not answer"),
    ],
)
def test_simulation_s_odd_arguments_are_refused_in_words(
    queryable: Any, query: Any, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        simulate(queryable(synthetic=True), query, **{"runs": 1, "seed": 0} | given)


def test_what_is_no_open_table_is_not_simulated() -> None:
    with pytest.raises(InvalidRequest, match="simulate takes a query and an open table"):
        simulate(PEOPLE, prdp.count(), runs=1, seed=0)  # type: ignore[call-overload]


def test_real_records_without_an_account_are_not_answered() -> None:
    real = table()
    with pytest.raises(LedgerError, match="real records need an account"):
        replace(real, ledger=NoAccount()).count(share="1/2")
    with pytest.raises(InvalidRequest, match="synthetic=True"):
        simulate(replace(real, ledger=NoAccount()), prdp.count(), runs=1, seed=1)
