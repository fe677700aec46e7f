"""The JSON form says all of an expression, and nothing else is taken for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prdp.errors import InvalidRequest
from prdp.expressions.nodes import MAX_CONSTANTS, MAX_LEVELS, Node, canonical
from prdp.expressions.parse import parse
from prdp.expressions.to_json import from_json, to_json
from tests.expressions.expression_trees import conditions, library_numbers, numbers

quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(node=st.one_of(numbers(), conditions(), library_numbers()))
def test_any_tree_comes_back_from_json_as_it_was(node: Node) -> None:
    assert from_json(json.loads(json.dumps(to_json(node), allow_nan=False))) == node


def test_the_form_is_plain() -> None:
    assert to_json(parse("CASE WHEN job IN ('a') THEN -x ELSE 1 END")) == [
        "case",
        [[["in", ["column", "job"], ["text", "a"]], ["negate", ["column", "x"]]]],
        ["number", 1.0],
    ]


def test_whole_numbers_and_minus_zero_are_read_as_doubles() -> None:
    assert canonical(from_json(["+", ["number", 1], ["number", -0.0]])) == "1 + 0"


NESTED: list[Any] = ["column", "a"]
for _ in range(500):
    NESTED = ["negate", NESTED]


@pytest.mark.parametrize(
    "tree",
    [
        None,
        [],
        {},
        "1",
        ["number"],
        ["number", "1"],
        ["number", True],
        ["number", float("inf")],
        ["number", float("nan")],
        ["number", 10**400],
        ["text", 1],
        ["text", "a\0b"],
        ["column", "\ud800"],
        ["boolean", 1],
        ["moment", "yesterday"],
        ["null", 1],
        ["column"],
        ["call", "random"],
        ["call", "abs"],
        ["call", "least", ["number", 1]],
        ["call", "power", ["number", 1]],
        ["^", ["number", 1], ["number", 1]],
        ["call", "substring", ["column", "a"]],
        ["call", "like", ["column", "a"], ["column", "b"]],
        ["call", "like", ["column", "a"], ["text", "x!"], ["text", "!"]],
        ["call", "like", ["column", "a"], ["text", "x"], ["text", "!!"]],
        ["call", "round", ["column", "a"], ["number", 16]],
        ["call", "date_trunc", ["text", "fortnight"], ["column", "d"]],
        ["call", "date_diff", ["text", "week"], ["column", "d"], ["column", "d"]],
        ["call", "date_add", ["text", "day"], ["number", 0.5], ["column", "d"]],
        ["call", "date_add", ["text", "day"], ["number", 1e10], ["column", "d"]],
        ["cast", "BLOB", ["column", "a"]],
        ["cast", "DOUBLE"],
        ["cast"],
        ["is true"],
        ["+", ["number", 1]],
        ["<", ["number", 1], ["number", 1], ["number", 1]],
        ["in", ["column", "a"]],
        ["in", ["column", "a"], ["column", "b"]],
        ["in", ["column", "a"], ["null"]],
        ["and", ["null"]],
        ["not"],
        ["case", [], ["null"]],
        ["case", [[["null"]]], ["null"]],
        ["case", [[["null"], ["null"]]]],
        ["and", *[["null"]] * 20_000],
        ["in", ["column", "a"], *[["number", 1]] * (MAX_CONSTANTS + 1)],
        ["number", 10**5000],
        [10**5000],
        [["number", 1]],
        NESTED,
    ],
)
def test_whatever_is_not_an_expression_is_refused(tree: object) -> None:
    with pytest.raises(InvalidRequest):
        from_json(tree)


@pytest.mark.parametrize("levels", [MAX_LEVELS, 900, 100_000])
@pytest.mark.parametrize("around", [["not"], ["+", ["number", 1]], ["call", "abs"], ["number"], [], [[]]])
def test_a_tree_of_too_many_levels_is_refused_however_deep_it_is(levels: int, around: list[Any]) -> None:
    """Not by running out of stack, not even to say what was refused."""
    tree: list[Any] = ["column", "a"]
    for _ in range(levels):
        tree = [*around, tree]
    with pytest.raises(InvalidRequest):
        from_json(tree)
    while tree:  # taken apart from the outside: Python's own way is deep, too
        tree = tree.pop()
        tree = tree if isinstance(tree, list) else []


def test_a_tree_of_as_many_levels_as_are_allowed_is_read() -> None:
    tree: list[Any] = ["column", "a"]
    for _ in range(MAX_LEVELS - 1):
        tree = ["case", [[["boolean", True], tree]], ["null"]]
    assert to_json(from_json(tree)) == tree


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
        st.sampled_from(["number", "text", "column", "+", "call", "abs", "in", "and", "case", "null"]),
    ),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@quick
@given(tree=json_values)
def test_any_json_is_read_or_refused(tree: object) -> None:
    try:
        node = from_json(tree)
    except InvalidRequest:
        return
    assert from_json(to_json(node)) == node
