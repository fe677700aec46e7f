"""Graphs: which rows make which records, what is refused, and what is answered."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prdp
from prdp.cells.edges import Pairs
from prdp.errors import BudgetExhausted, EngineFailure, InvalidRequest, LedgerError
from prdp.graphs import graph as graph_module
from prdp.graphs.graph import Scratch, TriangleEngine, described, read_nodes
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.levels import Levels
from prdp.mechanisms.truncate import candidate_points
from prdp.testing import simulate
from tests.exact.graphs import listed_triangles
from tests.reading import found

POLICY = prdp.Policy.column("eps", at_least="1/4", at_most="16")
NAN = float("nan")
LEVELS = Levels(Fraction(1, 4), Fraction(16))


def edges(*rows: tuple[Any, Any, float | None]) -> pyarrow.Table:
    ends = pyarrow.string() if rows and isinstance(rows[0][0], str) else pyarrow.int64()
    return pyarrow.table(
        {
            "a": pyarrow.array([row[0] for row in rows], ends),
            "b": pyarrow.array([row[1] for row in rows], ends),
            "eps": pyarrow.array([row[2] for row in rows], pyarrow.float64()),
        }
    )


def opened(rows: object, nodes: object = range(6), **options: Any) -> prdp.graphs.Graph:
    chosen: dict[str, Any] = {"source": "a", "target": "b", "nodes": nodes, "policy": POLICY} | options
    return prdp.graphs.open(rows, **chosen)


def records(graph: prdp.graphs.Graph) -> set[tuple[int, int, int]]:
    pairs = found(graph, graph.plan(prdp.graphs.edges(), "1"))
    return {(int(u), int(w), int(level)) for (u, w), level in zip(pairs.ends.T, pairs.level, strict=True)}


def level(budget: float) -> int:
    found = LEVELS.index(budget)
    assert found is not None
    return found


def test_a_pair_of_nodes_is_one_record_however_often_it_is_written() -> None:
    graph = opened(edges((0, 1, 8.0), (1, 0, 2.0), (0, 1, 4.0), (2, 3, 8.0)))
    assert records(graph) == {(0, 1, level(2.0)), (2, 3, level(8.0))}


@pytest.mark.parametrize("odd", [None, NAN, 0.0, -1.0, 0.2])
def test_a_row_without_a_budget_leaves_its_whole_pair_out(odd: float | None) -> None:
    graph = opened(edges((0, 1, 8.0), (1, 0, odd), (2, 3, 8.0)))
    assert records(graph) == {(2, 3, level(8.0))}


def test_loops_missing_ends_and_strangers_are_left_out() -> None:
    graph = opened(
        edges((4, 4, 8.0), (None, 1, 8.0), (2, None, 8.0), (2, 17, 8.0), (-1, 2, 8.0), (0, 5, 8.0))
    )
    assert records(graph) == {(0, 5, level(8.0))}


def test_nodes_may_be_texts_and_come_from_a_public_table() -> None:
    rows = edges(("ann", "bob", 8.0), ("bob", "eve", 4.0), ("bob", "zoe", 4.0), ("Bob", "eve", 1.0))
    wanted = {(0, 1, level(8.0)), (1, 2, level(4.0))}
    assert records(opened(rows, nodes=["bob", "ann", "eve"])) == wanted
    assert records(opened(rows, nodes=pyarrow.table({"name": ["bob", "ann", "eve"]}))) == wanted


def test_names_that_differ_in_a_last_nul_are_different_names() -> None:
    rows = edges(("ann", "bob", 8.0), ("ann\0", "bob", 2.0), ("ann", "x" * 100_000, 4.0))
    assert records(opened(rows, nodes=["ann", "bob"])) == {(0, 1, level(8.0))}


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT"])
@pytest.mark.parametrize("of_column", [True, False])
def test_a_collation_of_the_callers_makes_no_two_nodes_one(collation: str, of_column: bool) -> None:
    connection = duckdb.connect()
    kind = f"VARCHAR COLLATE {collation}" if of_column else "VARCHAR"
    if not of_column:
        connection.execute(f"SET default_collation = '{collation}'")
    connection.execute(f"CREATE TABLE edge (a {kind}, b {kind}, eps DOUBLE)")
    connection.execute(
        "INSERT INTO edge VALUES ('A', 'b', 8), ('a', 'b', 2), ('\u00e4', 'b', -1), "
        "('a', 'A', 4), ('b', 'B', 4), ('a', '\u00e4', 4)"
    )
    graph = opened(connection.table("edge"), nodes=["A", "B", "a", "b", "\u00e4"])
    wanted = {(0, 3, level(8.0)), (2, 3, level(2.0)), (0, 2, level(4.0)), (1, 3, level(4.0))}
    wanted.add((2, 4, level(4.0)))
    assert {(min(u, w), max(u, w), at) for u, w, at in records(graph)} == wanted


def test_a_range_with_steps_and_a_list_name_the_same_nodes() -> None:
    rows = edges((10, 30, 8.0), (20, 30, 8.0), (11, 30, 8.0))
    wanted = {(0, 2, level(8.0)), (1, 2, level(8.0))}
    for nodes in (range(10, 31, 10), [30, 20, 10], np.array([10, 20, 30]), range(30, 9, -10)):
        assert records(opened(rows, nodes=nodes)) == wanted


def test_a_ledger_knows_a_node_set_by_its_nodes_not_by_how_they_are_written() -> None:
    sets: list[Any] = [range(3), [2, 1, 0], np.arange(3), np.arange(3, dtype=np.int16), range(2, -1, -1)]
    assert len({described(read_nodes(nodes)) for nodes in sets}) == 1
    others: list[Any] = [range(3), range(1, 4), range(4), ["0", "1", "2"], ["01", "2", "3"], ["0", "12", "3"]]
    assert len({described(read_nodes(nodes)) for nodes in others}) == len(others)


def test_what_an_engine_says_of_arrays_is_not_shown() -> None:
    with pytest.raises(EngineFailure) as caught:
        Scratch(edges={"id": np.arange(17), "a": np.arange(18)})
    assert caught.value.__context__ is None


def test_a_filter_keeps_the_pairs_that_have_a_row_for_it_with_the_budget_of_all_their_rows() -> None:
    rows = edges((0, 1, 8.0), (1, 0, 2.0), (2, 3, 4.0))
    assert records(opened(rows).filter("eps > 3")) == {(0, 1, level(2.0)), (2, 3, level(4.0))}
    assert records(opened(rows).filter("eps > 5").filter("a = 0")) == {(0, 1, level(2.0))}


def test_an_empty_table_of_edges_is_answered_with_noise() -> None:
    graph = opened(edges())
    for release in (
        graph.edges(share="1/5"),
        graph.paths(2, share="1/5"),
        graph.paths(2, share="1/5", method="framework"),
        graph.stars(3, share="1/5"),
        graph.triangles(share="1/5"),
    ):
        low, high = release.interval(0.999999)
        assert low <= 0 <= high
    assert graph.ledger.remaining == 0


def complete(nodes: int) -> pyarrow.Table:
    return edges(*((u, w, 16.0) for u, w in combinations(range(nodes), 2)))


def test_answers_come_close_to_the_truth_where_budgets_are_plenty() -> None:
    graph = opened(complete(70), nodes=range(75))
    true = {"edges": 70 * 69 / 2, "paths": 70 * 69 * 68 / 2, "stars": 70 * 69 * 68 * 67 / 6}
    assert graph.edges(share="1/8").value == pytest.approx(true["edges"], rel=0.05)
    assert graph.paths(2, share="1/4").value == pytest.approx(true["paths"], rel=0.1)
    assert graph.paths(2, share="1/4", method="framework").value == pytest.approx(true["paths"], rel=0.3)
    assert graph.stars(3, share="1/8").value == pytest.approx(true["stars"], rel=0.2)
    assert graph.triangles(share="1/4").value == pytest.approx(70 * 69 * 68 / 6, rel=0.1)


def test_budgets_may_span_ten_orders_of_magnitude() -> None:
    """The program's value must be certified to within the least allowance, or nearly so."""
    random = np.random.default_rng(2)
    pairs = [pair for pair in combinations(range(40), 2) if random.random() < 0.6]
    rows = edges(*((u, w, float(10 ** random.uniform(-7, 2))) for u, w in pairs))
    graph = opened(rows, nodes=range(40), policy=prdp.Policy.column("eps", at_least="1e-8", at_most="100"))
    cut = found(graph, graph.plan(prdp.graphs.triangles(), "1"))
    values = [cut.value(point) for point in candidate_points(cut, 8)]
    assert values == sorted(values)
    assert "linear program" in dict(graph.triangles(share="1").choices)["cut how"]


def test_the_same_question_again_is_free_and_too_much_is_refused() -> None:
    graph = opened(complete(5))
    first = graph.paths(2, share="1/2")
    assert graph.paths(2, share="1/2") == first
    assert graph.filter("eps > 1").paths(2, share="1/4") is not first
    with pytest.raises(BudgetExhausted):
        graph.triangles(share="1/2")
    assert graph.ledger.remaining == Fraction(1, 4)


def test_a_ledger_file_is_bound_to_the_node_set(tmp_path: Path) -> None:
    file = tmp_path / "graph.ledger"
    first = opened(complete(5), ledger=file, name="friends").paths(2, share="1/2", method="framework")
    again = opened(complete(5), ledger=file, name="friends").paths(2, share="1/2", method="framework")
    assert again == first
    with pytest.raises(LedgerError, match="nodes"):
        opened(complete(5), nodes=range(7), ledger=file, name="friends")


@pytest.mark.parametrize("most", ["1e7", "1e40", "1e70"])
def test_the_framework_answers_under_policies_with_huge_budgets(most: str) -> None:
    policy = prdp.Policy.column("eps", at_least=1, at_most=most)
    rows = edges(*((u, w, float(most)) for u, w in combinations(range(5), 2)))
    release = opened(rows, policy=policy).paths(2, share="1", method="framework")
    assert release.value == 30  # next to no noise is needed, and there is next to none


def test_a_release_of_the_framework_states_the_most_that_its_noise_can_be() -> None:
    release = opened(complete(5)).paths(2, share="1", method="framework")
    assert release_from_json(release_to_json(release)) == release
    narrow, wide = (release.interval(level, tail_factor=1) for level in ("1/2", "99/100"))
    assert wide[0] < narrow[0] < release.value < narrow[1] < wide[1]
    assert release.interval()[1] >= wide[1] or release.caveat == ""  # dropped edges may add up to anything
    other = opened(edges((0, 1, 16.0))).paths(2, share="1", method="framework")
    if other.choices == release.choices:  # the same domain: the stated scale says nothing of the graph
        assert other.noise_scales == release.noise_scales


def test_beyond_the_public_limit_a_fixed_truncation_answers_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph_module, "MAX_PACKED", 20)
    few, many = (opened(complete(10), nodes=range(nodes)).triangles(share="1") for nodes in (20, 21))
    assert "linear program with one constraint" in dict(few.choices)["cut how"]
    assert "public weights" in dict(many.choices)["cut how"]


def test_simulated_answers_repeat_and_charge_nothing() -> None:
    graph = opened(complete(6), synthetic=True)
    for query in (prdp.graphs.edges(), prdp.graphs.paths(2), prdp.graphs.stars(3), prdp.graphs.triangles()):
        one, two = (simulate(graph, query, share="1/2", runs=5, seed=3) for _ in range(2))
        assert [release.exact for release in one] == [release.exact for release in two]
        assert all(release.simulated for release in one)
    assert graph.ledger.remaining == 1
    with pytest.raises(InvalidRequest, match="does not answer"):
        simulate(graph, prdp.count(), runs=1, seed=0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"nodes": [1, 2, 2]}, "names a node twice"),
        ({"nodes": [1, "b"]}, "neither whole numbers alone nor texts"),
        ({"nodes": range(1)}, "an edge needs two"),
        ({"nodes": [0.5, 1.5]}, "neither whole numbers alone nor texts"),
        ({"nodes": ["ann", "bob"]}, "holds BIGINT"),
        ({"nodes": pyarrow.table({"a": [1, 2], "b": [3, 4]})}, "2 columns"),
        ({"nodes": pyarrow.table({"a": [1, None]})}, "without a name"),
        ({"source": "c"}, "names the column 'c'"),
        ({"target": "a"}, "an edge has two ends"),
        ({"policy": [100]}, "not a policy"),
        ({"name": 3}, "no name"),
        ({"nodes": 1005}, r"nodes= is 1005, not a set of nodes. Write nodes=range\(1000\)"),
        ({"nodes": None}, "nodes= is None"),
        ({"nodes": (node for node in range(4))}, "nodes= is an iterator"),
        ({"nodes": range(10**9)}, "1,000,000,000 nodes; at most 50,000,000"),
        ({"nodes": range(10**30)}, "at most 50,000,000"),
        ({"nodes": range(2**63 - 2, 2**63 + 2)}, "beyond 64 bits"),
        ({"nodes": ["a", "\ud800"]}, "Unicode"),
    ],
)
def test_what_public_facts_show_to_be_wrong_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        opened(complete(4), **options)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda g: g.paths(3, share="1/2"), "paths of 2 edges"),
        (lambda g: g.stars(1, share="1/2"), "2 to 16 edges"),
        (lambda g: g.stars(17, share="1/2"), "2 to 16 edges"),
        (lambda g: g.paths(2, share="1/2", method="clip"), "Choose one of: truncate, framework"),
        (lambda g: g.paths(2, share=1 / 3), "share='1/3'"),
        (lambda g: g.plan(prdp.count(), "1/2"), "a graph answers"),
        (lambda g: g.filter("c = 1"), "c"),
    ],
)
def test_a_wrong_question_is_refused_and_nothing_is_charged(ask: Any, says: str) -> None:
    graph = opened(complete(4), nodes=range(200_000))
    with pytest.raises(InvalidRequest, match=says):
        ask(graph)
    assert graph.ledger.remaining == 1


@given(chosen=st.sets(st.sampled_from(list(combinations(range(8), 2)))))
def test_the_engine_s_triangles_are_those_of_all_triples(chosen: set[tuple[int, int]]) -> None:
    pairs = Pairs.of(LEVELS, 9, [(*pair, sum(pair)) for pair in sorted(chosen)])
    engine, listed = TriangleEngine(pairs), listed_triangles(pairs)
    assert engine.total() == listed.total()
    assert engine.loads().tolist() == listed.loads().tolist()
    assert dict(engine.by_level()) == dict(listed.by_level())
    some = np.arange(0, len(pairs.level), 3)
    found = sorted(tuple(sorted(row)) for row in engine.touching(some).tolist())
    assert found == sorted(map(tuple, listed.touching(some).tolist()))


def test_who_listens_hears_while_a_program_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets that differ from edge to edge leave nothing to be merged: a large program takes its time."""
    monkeypatch.setattr("prdp.engines.progress._EVERY", 0.001)
    random = np.random.default_rng(4)
    rows = edges(*((u, w, float(random.uniform(0.3, 16))) for u, w in combinations(range(25), 2)))
    cut = found(
        opened(rows, nodes=range(25)), opened(rows, nodes=range(25)).plan(prdp.graphs.triangles(), "1")
    )
    heard: list[object] = []
    with prdp.progress(heard.append):
        cut.value(candidate_points(cut, 8)[len(candidate_points(cut, 8)) // 2])
    assert heard


def test_the_framework_takes_its_options_on_every_question_of_a_graph() -> None:
    rows = edges(*((u, w, 8.0) for u, w in combinations(range(6), 2)))
    printed = prdp.methods.Framework(split="1/2", beta="1/20")
    for query in (prdp.graphs.edges(), prdp.graphs.paths(2), prdp.graphs.stars(3), prdp.graphs.triangles()):
        graph = opened(rows)
        plan = graph.plan(query, "1/2", printed)
        assert plan.queries[0].options == {"beta": "1/20", "split": "1/2"}
        assert plan.text != graph.plan(query, "1/2", "framework").text
        with pytest.raises(InvalidRequest, match="split"):
            graph.plan(query, "1/2", prdp.methods.Framework(split=2))


def test_the_framework_s_counts_come_close_to_the_truth_where_budgets_are_ample() -> None:
    rows = edges(*((u, w, 16.0) for u, w in combinations(range(40), 2)))
    graph = opened(rows, range(40), synthetic=True)
    for query, truth in (
        (prdp.graphs.edges(), 780),
        (prdp.graphs.stars(3), 40 * 9139),
        (prdp.graphs.triangles(), 9880),
    ):
        releases = simulate(graph, query, share=1, method="framework", runs=40, seed=1)
        middle = sorted(float(release.exact) for release in releases)[20]
        assert abs(middle / truth - 1) < 0.1


def test_a_mechanism_of_the_caller_s_runs_on_the_edges_that_are_kept() -> None:
    given: list[pyarrow.Table] = []

    def count(kept: pyarrow.Table, epsilon: Fraction, beta: Fraction) -> int:
        assert beta == Fraction(1, 10)
        assert epsilon > 1
        given.append(kept)
        return len(kept)

    high = [(w, u, 16.0) for u, w in combinations(range(30), 2)]
    graph = opened(edges((31, 30, 0.3), *high), range(40))
    release = graph.run(count, share="1", name="mine")
    assert release.value == len(given[0]) == len(high)
    ends = set(zip(given[0]["a"].to_pylist(), given[0]["b"].to_pylist(), strict=True))
    assert ends == set(combinations(range(30), 2))
    assert graph.run(count, share="1", name="mine").value == len(high)
    assert len(given) == 1  # the recorded answer
    with pytest.raises(InvalidRequest, match="mechanism"):
        graph.run("count", share="1")  # type: ignore[arg-type]
