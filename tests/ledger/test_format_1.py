"""A question of format 1 becomes the same question in format 2, or stays as it was: never another one."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prdp.ledger.format_1 import translated
from prdp.plan.text import column_text, facts_of, question_text
from tests.ledger.format_1 import writers

pieces = st.sampled_from(
    ["a", "b", ", ", '"', '", "', "'", " of ", " and ", " where ", "count", "1/2", " > 1", "é"]
)
name = st.lists(pieces, min_size=1, max_size=5).map("".join)
names = st.lists(name, min_size=1, max_size=4, unique=True)
where = st.none() | st.sampled_from(["a > 1", "a > 1 AND b = 'x where y'", "a = ' and b'", '"a and b" > 1'])
part = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)
kind = st.sampled_from(["sum", "max", "min", "mean", "variance", "std"])
HOW = {"method": "clip", "share": "1/4"}
UNITS = {"units": "-3 to 40 of 1/100"}
RANGE = {"range": ["-3", "40", "1/100"]}


def table(columns: list[str]) -> dict[str, Any]:
    return {"name": "t", "schema": dict.fromkeys(columns, "BIGINT"), "policy": "1", "protect": None}


def links(columns: list[str]) -> dict[str, Any]:
    return {"name": "t", "schema": {}, "records": dict.fromkeys(sorted(columns), "{}")}


JOIN = {"name": "t", "schema": {}, "policy": "1", "private": "p.id", "public": [], "references": []}
GRAPH = {"name": "t", "schema": {"a": "BIGINT"}, "policy": "1", "edges": ["a", "b"], "nodes": "2 nodes"}


def asked(*queries: dict[str, Any], **about: Any) -> str:
    return question_text({"ask": list(queries), "share": "1/4"} | about)


@given(columns=names, kind=kind, where=where)
def test_a_question_about_a_column_is_the_same_question(
    columns: list[str], kind: str, where: str | None
) -> None:
    about = {} if where is None else {"where": where}
    for column in columns:
        old = writers.of_table(writers.one_query(kind, column), about, HOW, UNITS["units"])
        new = asked({"query": kind, "of": column_text(column)} | RANGE | HOW, where=where)
        assert translated(old, "1/4", table(columns)) == new
        old = writers.of_table(writers.one_query("distinct", column), about, HOW)
        new = asked({"query": "distinct", "of": column_text(column)} | HOW, where=where)
        assert translated(old, "1/4", table(columns)) == new


@given(column=name, parts=st.lists(part, min_size=1, max_size=4, unique=True))
@example("a", [Fraction(1, 2)])
@example("1/2 quantile of a", [Fraction(1, 100_000), Fraction(1, 2)])
@example("a", [Fraction(123_457, 10**7)])
def test_a_quantile_is_the_same_quantile(column: str, parts: list[Fraction]) -> None:
    old = writers.of_table(writers.one_query("quantile", column, parts), {}, HOW, UNITS["units"])
    new = asked({"query": "quantile", "of": column_text(column), "at": parts} | RANGE | HOW)
    assert translated(old, "1/4", table([column])) == new


@given(column=name, where=where)
def test_several_queries_about_groups_of_a_relation_are_the_same_queries(
    column: str, where: str | None
) -> None:
    about = {"source": "SELECT 1"} | ({} if where is None else {"where": where})
    about |= {"by": [column, {"bins": "v"}], "keys": [[1.5, ["0", "1/2", True]]]}  # type: ignore[dict-item]
    old = writers.of_tables(
        [
            {"ask": "count", "method": "partition", "share": "1/8", "beta": "1/10", "graded": "true"},
            {"ask": f"mean of {column}"} | UNITS | {"method": "framework", "share": "1/8", "split": "1/3"},
        ],
        about,
        "1/4",
    )
    new = asked(
        {"query": "count", "method": "partition", "share": "1/8", "beta": "1/10", "graded": True},
        {"query": "mean", "of": column_text(column), "method": "framework", "share": "1/8", "split": "1/3"}
        | RANGE,
        **about,
    )
    assert translated(old, "1/4", table([column])) == new


@given(columns=names, name=name, where=where, named=st.booleans())
def test_a_mechanism_of_the_caller_s_is_the_same_mechanism(
    columns: list[str], name: str, where: str | None, named: bool
) -> None:
    old = writers.of_custom(name, columns, named, {} if where is None else {"where": where}, "0f")
    query = {"query": "custom", "name": name, "columns": columns, "named": named, "sample": False}
    how = {"method": "framework", "share": "1/4", "beta": "1/10", "split": "1/3"}
    assert translated(old, "1/4", table(columns)) == asked(query | how, where=where, once="0f")


@given(tables=names, where=where)
def test_a_question_about_joined_tables_is_the_same_question(tables: list[str], where: str | None) -> None:
    old = writers.of_join("count", tables, where)
    assert translated(old, "1/4", JOIN) == asked({"query": "count"} | HOW, over=tables, where=where)
    added = '"a, b" * (1 - size) + " of "'
    old = writers.of_join(f"sum of {added}", tables, where, UNITS["units"])
    new = asked({"query": "sum", "of": added} | RANGE | HOW, over=tables, where=where)
    assert translated(old, "1/4", JOIN) == new


@given(columns=names, where=where)
@example(["a", "a and a"], None)
@example(["a where a > 1", "a"], None)
@example(["a", "b where a > 1", "b"], "a > 1")
def test_rows_that_name_records_are_the_same_rows_unless_two_questions_had_one_text(
    columns: list[str], where: str | None
) -> None:
    """Whether two had one is found out by writing all of them."""
    text = writers.of_links(columns, where)
    tails = {where} | {tail for tail in _tails(text) if tail}
    all_of_them = [
        (order, tail)
        for order in permutations(columns)
        for tail in tails
        if writers.of_links(order, tail) == text
    ]
    new = asked({"query": "rows", "columns": columns, "method": "truncate", "share": "1/4"}, where=where)
    found = translated(text, "1/4", links(columns))
    assert found in {new, text}
    if len(all_of_them) == 1:
        assert found == new
    else:
        assert found == text


def _tails(text: str) -> set[str | None]:
    """Return whatever could be a filter at the end of a question's words."""
    words = json.loads(text)["ask"]
    return {None} | {
        words[place + len(" where ") :] for place in range(len(words)) if words.startswith(" where ", place)
    }


def test_more_ways_to_read_a_text_than_can_be_tried_leave_it_as_it_is() -> None:
    columns = [" and ".join(["a"] * count) for count in range(1, 12)]
    text = writers.of_links(columns, None)
    assert translated(text, "1/4", links(columns)) == text


def test_as_many_ordinary_columns_as_a_row_can_have_are_read() -> None:
    columns = [f"column_{place}" for place in range(64)][::-1]
    assert facts_of(translated(writers.of_links(columns, None), "1/4", links(columns))) is not None


@pytest.mark.parametrize(
    ("ask", "query"),
    [
        ("edges", {"query": "edges"}),
        ("paths of 2 edges", {"query": "paths", "size": 2}),
        ("stars of 16 edges", {"query": "stars", "size": 16}),
        ("triangles", {"query": "triangles"}),
    ],
)
@pytest.mark.parametrize("filtered", [None, "v > 1"])
def test_a_question_about_a_graph_is_the_same_question(
    ask: str, query: dict[str, Any], filtered: str | None
) -> None:
    new = asked(query | {"method": "truncate", "share": "1/4"}, where=filtered)
    assert translated(writers.of_graph(ask, filtered), "1/4", GRAPH) == new


COUNT = '{"ask": "count", "method": "clip", "share": "1/4"}'


@pytest.mark.parametrize(
    "text",
    [
        "lost before 2026-11-16",
        "",
        "[]",
        "[" * 100_000,
        "1e999",
        COUNT.replace("1/4", "1/5"),
        COUNT.replace("1/4", "2/8"),
        COUNT.replace(": ", ":"),
        COUNT.replace('"ask": "count"', '"ask": "count", "ask": "count"'),
        COUNT.replace('"ask": "count"', '"ask": "counts"'),
        COUNT.replace('"ask": "count"', '"ask": 3'),
        COUNT.replace('"ask": "count"', '"ask": null'),
        COUNT.replace('"ask": "count"', '"ask": []'),
        COUNT.replace('"ask": "count"', '"ask": [{"ask": "count", "method": "clip", "share": "1/4"}]'),
        COUNT.replace('"ask": "count"', '"ask": "sum of b"'),
        COUNT.replace('"ask": "count"', '"ask": "sum of  a"'),
        COUNT.replace('"ask": "count"', '"ask": "sum of A"'),
        COUNT.replace('"ask": "count"', '"ask": "1/0 quantile of a"'),
        COUNT.replace('"ask": "count"', '"ask": "0.50 quantile of a"'),
        COUNT.replace('"ask": "count"', '"ask": "sum of a", "units": "0 to 10"'),
        COUNT.replace('"ask": "count"', '"ask": "sum of a", "units": "0 to 10 of 2/4"'),
        COUNT.replace('"ask": "count"', '"ask": "sum of a", "units": "0 to 10 of 1/0"'),
        COUNT.replace('"ask": "count"', '"ask": "count", "where": null'),
        COUNT.replace('"ask": "count"', '"ask": "count", "by": ["a"]'),
        COUNT.replace('"ask": "count"', '"ask": "count", "later": "1"'),
        COUNT.replace('"ask": "count"', '"ask": "mine", "columns": "a"'),
        COUNT.replace('"method": "clip", "share": "1/4"', '"share": "1/4", "method": "clip"'),
        COUNT.replace('"share": "1/4"', '"share": "1/4", "graded": "yes"'),
    ],
)
def test_a_text_that_no_entry_point_wrote_stays_as_it_is(text: str) -> None:
    for binding in (table(["a"]), JOIN, GRAPH, links(["a"]), {"name": "t"}):
        assert translated(text, "1/4", binding) == text


def test_a_text_of_one_entry_point_is_no_other_s() -> None:
    assert translated(COUNT, "1/4", table(["a"])) != COUNT
    for binding in (GRAPH, links(["a"]), {"name": "t"}):
        assert translated(COUNT, "1/4", binding) == COUNT


def test_what_format_2_wrote_stays_as_it_is() -> None:
    new = translated(COUNT, "1/4", table(["a"]))
    assert translated(new, "1/4", table(["a"])) == new
