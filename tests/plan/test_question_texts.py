"""Different questions have different texts: a ledger answers a text that it knows as it did then."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import prdp
from prdp.declare.groups import bins, read_grouping
from prdp.declare.references import Reference, Tree
from prdp.expressions.tokens import listed, quoted
from prdp.ledger import Binding
from prdp.plan import queries
from prdp.plan.question_key import without_token
from prdp.tables.custom import custom_plan

pieces = st.sampled_from(["a", "b", ", ", '"', '", "', " -> a", ".", "'", " of ", " where "])
name = st.lists(pieces, min_size=1, max_size=4).map("".join)
names = st.lists(name, min_size=2, max_size=4, unique_by=str.lower)
ODD = [
    "a",
    "b",
    "a, b",
    "a,b",
    '"a", b',
    '"a"',
    'a", "b',
    " a",
    "a ",
    "of a",
    "a where b > 1",
    "a -> b",
    "a.b",
]


OF_COLUMN = (
    *(queries.Sum, queries.Max, queries.Min, queries.Mean),
    *(queries.Variance, queries.Std, queries.CountDistinct),
)


def table_of(columns: list[str], **options: Any) -> prdp.Table:
    source = {column: np.arange(4) for column in columns}
    bounds = dict.fromkeys(columns, (0, 10))
    return prdp.open(source, policy=prdp.Policy.constant("1"), bounds=bounds, **options)


def differ(texts: dict[Any, str]) -> None:
    for (one, text), (other, another) in combinations(texts.items(), 2):
        assert text != another, (one, other)


@given(one=st.lists(name, min_size=1, max_size=4), other=st.lists(name, min_size=1, max_size=4))
def test_different_lists_of_names_are_different_texts(one: list[str], other: list[str]) -> None:
    assert (listed(one) == listed(other)) is (one == other)


def test_ordinary_names_are_listed_as_they_are() -> None:
    """So that the questions of a ledger of format 1 can be read."""
    assert listed(["orders", "line items", "größe", "o'neil"]) == "orders, line items, größe, o'neil"


def asked(columns: list[str]) -> dict[Any, str]:
    """Return the texts of many different questions about a table, each under what makes it different."""
    table = table_of(columns)
    texts: dict[Any, str] = {}

    def ask(what: Any, *queries: Any, groups: Any = None, where: Any = None) -> None:
        asked = table if where is None else table.filter(where)
        texts[what] = asked.planner.plan(queries, "1/4", groups).text

    ask("count", prdp.count())
    for column in columns:
        for kind in OF_COLUMN:
            ask((kind, column), kind(column))
        for parts in (("1/2",), ("1/4",), ("1/3",), ("0.25", "0.5"), ("1/4", "1/2", "3/4")):
            ask((parts, column), prdp.quantile(column, parts))
        ask(("where", column), prdp.count(), where=f"{quoted(column)} > 1")
        ask(("text", column), prdp.count(), where=f"{quoted(column)} IN (1, 2)")
        for edges in ((0, 1, 2), (0, 1), (0, 2)):
            groups = read_grouping([bins(column, edges)], None, table.schema)
            ask(("bins", column, edges), prdp.count(), groups=groups)
        groups = read_grouping([column], [1, 2], table.schema)
        ask(("by", column), prdp.count(), groups=groups)
    for one, other in combinations(columns, 2):
        ask(("both", one, other), prdp.sum(one), prdp.sum(other))
        groups = read_grouping([one, other], [(1, 2)], table.schema)
        ask(("by both", one, other), prdp.count(), groups=groups)
    return texts


@settings(max_examples=25)
@given(columns=names)
def test_different_questions_about_a_table_have_different_texts(columns: list[str]) -> None:
    differ(asked(columns))


def test_questions_about_columns_that_read_like_questions_have_different_texts() -> None:
    differ(asked(ODD))


@settings(max_examples=25)
@given(
    values=st.lists(
        st.text(max_size=4).filter(lambda text: "\0" not in text), min_size=2, max_size=30, unique=True
    )
)
def test_different_keys_make_different_questions(values: list[str]) -> None:
    schema = prdp.open({"job": np.array(["a"])}, policy=prdp.Policy.constant("1")).schema
    groups = [read_grouping(["job"], keys, schema) for keys in (values, values[1:], values[::-1])]
    differ({place: json.dumps(group.facts) for place, group in enumerate(groups)})


def released(columns: list[str], chosen: list[list[str]], called: list[str]) -> dict[Any, str]:
    table = table_of(columns)

    def text(some: list[str], name: str | None, mechanism: Any) -> str:
        plan = custom_plan(
            table.planner,
            mechanism,
            some,
            table.ledger.remaining,
            split=None,
            beta=None,
            sample=False,
            name=name,
        )
        return without_token(plan.text)

    def mechanism(rows: Any, epsilon: Any, beta: Any) -> int:
        return 0

    texts = {(tuple(some), name): text(some, name, mechanism) for some in chosen for name in called}
    mechanism.__name__ = called[0]
    return texts | {(tuple(some), None): text(some, None, mechanism) for some in chosen}


@settings(max_examples=25)
@example(["a", "b", "a, b"], ["x", "y"])
@given(columns=names, called=st.lists(name, min_size=2, max_size=3, unique=True))
def test_different_mechanisms_of_the_caller_s_have_different_texts(
    columns: list[str], called: list[str]
) -> None:
    chosen = [[column] for column in columns] + [list(pair) for pair in combinations(columns, 2)]
    differ(released(columns, chosen, called))


def test_a_mechanism_over_two_columns_is_not_answered_by_one_over_a_column_of_that_name() -> None:
    table = table_of(["a", "b", "a, b"])
    seen: Callable[..., Any] = lambda rows, epsilon, beta: rows.column_names  # noqa: E731
    for columns in (["a", "b"], ["a, b"]):
        assert table.run(seen, columns=columns, share="1/4", name="names").value == columns


def test_a_name_is_not_answered_by_a_function_that_happens_to_be_called_so() -> None:
    """Without a name nobody asked for the answer to be kept."""
    table = table_of(["a"])

    def rows(rows: Any, epsilon: Any, beta: Any) -> int:
        return 1

    table.run(rows, columns=["a"], share="1/4")
    assert table.run(lambda rows, e, b: 2, columns=["a"], share="1/4", name="rows").value == 2


def joined(tables: list[str], **options: Any) -> prdp.Join:
    sources: dict[str, Any] = {"p": {"id": np.arange(3)}}
    references = {}
    for place, table in enumerate(tables):
        sources[table] = {f"of{place}": np.arange(3)}
        references[f"{table}.of{place}"] = "p.id"
    return prdp.open_join(
        sources, private="p", key="id", references=references, policy=prdp.Policy.constant("1"), **options
    )


@settings(max_examples=25)
@example(["a", "b", "a, b"])
@given(tables=st.lists(name.filter(lambda text: "." not in text), min_size=2, max_size=4, unique=True))
def test_different_joins_of_oddly_named_tables_have_different_texts(tables: list[str]) -> None:
    join = joined(tables)
    chosen = [some for size in range(len(tables) + 1) for some in combinations(sorted(tables), size)]
    differ({some: join.over(*some).plan(prdp.count(), share="1").text for some in chosen})


def test_a_join_of_two_tables_is_not_answered_by_one_of_a_table_of_that_name(tmp_path: Path) -> None:
    join = joined(["a", "b", "a, b"], ledger=tmp_path / "join.ledger")
    join.over("a", "b").count(share="1/4")
    join.over("a, b").count(share="1/4")
    assert len(join.ledger.entries) == 2


def test_texts_of_ordinary_questions_are_what_ledgers_hold() -> None:
    """Written out by hand: another text would be another question, charged again."""
    join = joined(["orders", "items"])
    assert join.over("orders", "items").plan(prdp.count(), share="1/4").text == (
        '{"format": 2, "ask": [{"query": "count", "method": "clip", "share": "1/4"}], '
        '"over": ["items", "orders", "p"], "share": "1/4"}'
    )
    assert asked(["age", "größe"])[queries.Sum, "größe"] == (
        '{"format": 2, "ask": [{"query": "sum", "of": "\\"größe\\"", "range": ["0", "10", "1"], '
        '"method": "clip", "share": "1/4"}], "share": "1/4"}'
    )
    assert asked(["age", "job"])[queries.CountDistinct, "job"] == (
        '{"format": 2, "ask": [{"query": "distinct", "of": "job", "method": "distinct", "share": "1/4"}], '
        '"share": "1/4"}'
    )
    assert released(["age", "balance"], [["age", "balance"]], ["mine"])[("age", "balance"), "mine"] == (
        '{"format": 2, "ask": [{"query": "custom", "name": "mine", "columns": ["age", "balance"], '
        '"named": true, "sample": false, "method": "framework", "share": "1", "beta": "1/10", '
        '"split": "1/4"}], "share": "1"}'
    )


@example(("a", "b -> a.c", "a", "c"), ("a", "b", "a", "c -> a.c"))
@given(one=st.tuples(*[name] * 4), other=st.tuples(*[name] * 4))
def test_different_references_are_different_facts(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    def plain(ends: tuple[str, str, str, str]) -> tuple[str, str, str, str]:
        return ends[0].replace(".", ""), ends[1], ends[2].replace(".", ""), ends[3]

    some, others = plain(one), plain(other)
    assert (str(Reference(*some)) == str(Reference(*others))) is (some == others)


def test_references_between_ordinary_names_are_the_facts_that_ledgers_hold_already() -> None:
    assert str(Reference("orders", "o_custkey", "customer", "c.key")) == "orders.o_custkey -> customer.c.key"
    assert Tree("customer", "c.key", frozenset(), {}).facts()["private"] == "customer.c.key"


@pytest.mark.parametrize(("one", "other"), [(("a.b", "c"), ("a", "b.c")), (('"a.b"', "c"), ("a.b", "c"))])
def test_different_keys_of_private_tables_are_different_facts(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert Tree(*one, frozenset(), {}).facts() != Tree(*other, frozenset(), {}).facts()


def test_graphs_and_links_over_different_relations_are_different_questions() -> None:
    connection = duckdb.connect()
    for table in ("e", "people"):
        rows = "SELECT range AS a, range + 1 AS b, range % 2 AS kind FROM range(50)"
        connection.execute(f"CREATE TABLE {table} AS {rows}")
    policy = prdp.Policy.constant("1")
    some, others = (connection.sql(f"SELECT * FROM e WHERE kind = {kind}") for kind in (0, 1))
    ends: Any = {"source": "a", "target": "b", "nodes": range(60)}
    graphs = [prdp.graphs.open(rows, policy=policy, **ends) for rows in (some, others)]
    differ({place: graph.plan(prdp.graphs.edges(), "1").text for place, graph in enumerate(graphs)})
    people = [connection.table("people"), connection.sql("SELECT * FROM people WHERE kind = 0")]
    links = [
        prdp.graphs.open_links(rows, records={"a": prdp.graphs.Records(records, "a", policy)}, name="l")
        for rows in (some, others)
        for records in people
    ]
    differ({place: link.plan(prdp.count(), "1").text for place, link in enumerate(links)})


def test_names_and_spellings_of_numbers_are_no_part_of_a_question() -> None:
    table = table_of(["age"])
    plain = table.plan(prdp.count(), prdp.sum("age"), share="1/4").text
    assert table.plan(prdp.count().alias("n"), prdp.sum("age").alias("t"), share=0.25).text == plain
    assert table.plan(prdp.count(), prdp.sum("age"), share=1, shares=[0.125, 0.125]).text == plain


def test_the_facts_of_a_ledger_keep_their_words() -> None:
    """A ledger of format 2 calls rounding steps units: another word would refuse every older ledger."""
    facts = Binding.of("t", {}, prdp.Policy.constant(1), {}, {"price": Fraction(1, 100)}).facts
    assert facts["units"] == {"price": "1/100"}
    differing = Binding.of("t", {}, prdp.Policy.constant(1), {}, {"price": Fraction(1, 10)})
    assert Binding(facts).differences(differing) == ["round_to of price: 1/100 -> 1/10"]
