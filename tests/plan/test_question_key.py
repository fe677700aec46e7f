"""One text for one question: whoever asks it, in whatever order its facts are given."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.expressions.nodes import Column, canonical
from prdp.plan.question_key import facts_of, in_words, question_text, without_token

COUNT = {"query": "count", "method": "clip", "share": "1/4"}
MINE = {
    "query": "custom",
    "name": "mine",
    "columns": ["a, b", "c"],
    "named": True,
    "sample": False,
    "method": "framework",
    "share": "1/4",
    "beta": "1/10",
    "split": "1/4",
}
EVERYTHING: dict[str, Any] = {
    "ask": [MINE, COUNT],
    "over": ["items", "orders"],
    "source": "SELECT * FROM t",
    "where": "größe > 1",
    "by": ["job", {"bins": "v"}],
    "keys": [["chef", ["0", "15/2", True]]],
    "snapshot": "2026-W46",
    "share": "1/2",
    "once": "0123",
}

name = st.text(max_size=8).filter(lambda text: text.isprintable())


def asked(query: dict[str, Any], **more: Any) -> str:
    return question_text({"ask": [{"method": "clip", "share": "1/4"} | query], "share": "1/4"} | more)


@given(data=st.data())
def test_the_order_in_which_facts_are_given_makes_no_other_text(data: st.DataObject) -> None:
    def shuffled(facts: dict[str, Any]) -> dict[str, Any]:
        return {key: facts[key] for key in data.draw(st.permutations(sorted(facts)))}

    other = shuffled(EVERYTHING) | {"ask": [shuffled(MINE), shuffled(COUNT)], "over": ["orders", "items"]}
    assert question_text(other) == question_text(EVERYTHING)


def test_a_text_is_one_line_of_json_with_its_format_first_and_letters_as_they_are() -> None:
    text = question_text(EVERYTHING)
    assert text.startswith('{"format": 2, "ask": [')
    assert "größe" in text
    assert "\n" not in text
    assert json.loads(text) == {"format": 2} | EVERYTHING


def test_numbers_are_written_the_same_whatever_holds_them() -> None:
    exact = COUNT | {"share": Fraction(1, 4), "range": (0, 10, Fraction(1, 100))}
    texts = COUNT | {"range": ["0", "10", "1/100"]}
    assert question_text({"ask": [exact], "share": Fraction(1, 4)}) == asked(texts)


def test_what_is_none_is_not_there() -> None:
    assert asked(COUNT | {"beta": None}, where=None) == asked(COUNT)


@pytest.mark.parametrize(
    "facts",
    [
        {"ask": [COUNT], "share": "1/4", "wher": "a > 1"},
        {"ask": [COUNT], "share": "1/4", "format": 3},
        {"ask": [COUNT | {"units": "0 to 1 of 1"}], "share": "1/4"},
        {"ask": [], "share": "1/4"},
        {"ask": "count", "share": "1/4"},
        {"ask": ["count"], "share": "1/4"},
        {"ask": COUNT, "share": "1/4"},
        {"ask": [COUNT]},
        {"ask": [{"query": "count", "method": "clip"}], "share": "1/4"},
        {"ask": [COUNT], "share": "2/8"},
        {"ask": [COUNT], "share": "0.25"},
        {"ask": [COUNT], "share": "1/0"},
        {"ask": [COUNT], "share": 0.25},
        {"ask": [COUNT], "share": True},
        {"ask": [COUNT | {"range": ["0", "1"]}], "share": "1/4"},
        {"ask": [COUNT | {"graded": "true"}], "share": "1/4"},
        {"ask": [COUNT | {"columns": "a, b"}], "share": "1/4"},
        {"ask": [COUNT | {"columns": [1]}], "share": "1/4"},
        {"ask": [COUNT | {"size": "2"}], "share": "1/4"},
        {"ask": [COUNT], "share": "1/4", "over": "a, b"},
        {"ask": [COUNT], "share": "1/4", "where": 1},
        {"ask": [COUNT], "share": "1/4", "keys": [float("nan")]},
    ],
)
def test_what_no_question_says_is_refused(facts: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        question_text(facts)


@given(one=st.lists(name, max_size=3), other=st.lists(name, max_size=3))
def test_different_columns_are_different_texts(one: list[str], other: list[str]) -> None:
    texts = [asked({"query": "rows", "columns": columns}) for columns in (one, other)]
    assert (texts[0] == texts[1]) is (one == other)


@given(one=name.filter(bool), other=name.filter(bool))
def test_different_columns_are_added_up_under_different_texts(one: str, other: str) -> None:
    texts = [asked({"query": "sum", "of": canonical(Column(column))}) for column in (one, other)]
    assert (texts[0] == texts[1]) is (one == other)


def test_a_text_is_read_back_as_what_it_was_written_from() -> None:
    assert facts_of(question_text(EVERYTHING)) == EVERYTHING


@pytest.mark.parametrize(
    "text",
    [
        "free words",
        "{}",
        "[1, 2]",
        "2",
        "[" * 100_000,
        '{"ask": "count", "method": "clip", "share": "1/4"}',
        asked(COUNT).replace(": ", ":"),
        asked(COUNT).replace('"format": 2', '"format": 3'),
        asked(COUNT).replace('"method": "clip"', '"method": "naive", "method": "clip"'),
    ],
)
def test_a_text_that_nobody_writes_is_no_question_and_is_shown_as_it_is(text: str) -> None:
    assert facts_of(text) is None
    assert in_words(text) == without_token(text) == text


def test_a_name_is_found_whatever_its_token_is_and_no_other_name() -> None:
    first, again = (asked(MINE, once=token) for token in ("0", "1"))
    assert first != again
    assert without_token(first) == without_token(again) == asked(MINE)
    assert without_token(asked(MINE | {"name": "yours"}, once="0")) != asked(MINE)
    assert without_token(asked(MINE | {"named": False}, once="0")) != asked(MINE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (asked({"query": "count", "method": "naive"}), "count, by naive"),
        *(
            (
                asked({"query": "sum", "of": text, "range": ["0", "1", "1"], "method": "clip"}),
                f"sum of {words}, by clip, range 0 to 1 in steps of 1",
            )
            for text, words in (
                ("CASE WHEN vip IS TRUE THEN 1 ELSE 0 END", "vip IS TRUE"),
                ("CASE WHEN cost IS NULL THEN 0 ELSE 1 END", "cost IS NOT NULL"),
                ("CAST(vip AS INTEGER)", "vip"),
                (
                    "CASE WHEN CASE WHEN a THEN 1 END IS NULL THEN 0 ELSE 1 END",
                    "CASE WHEN a THEN 1 END IS NOT NULL",
                ),
                *[("CASE WHEN a THEN 1 ELSE 0 END * CASE WHEN b THEN 1 ELSE 0 END",) * 2],
                *[("CAST(a AS INTEGER) * CAST(b AS INTEGER)",) * 2],
            )
        ),
        (
            asked({"query": "sum", "of": "CAST(v AS INTEGER)", "range": ["0", "9", "1"], "method": "clip"}),
            "sum of CAST(v AS INTEGER), by clip, range 0 to 9 in steps of 1",
        ),
        (
            asked({"query": "count", "method": "x", "beta": "1/2", "graded": True}, where="a > 1"),
            "count where a > 1, by x, beta 1/2, graded",
        ),
        (
            asked({"query": "sum", "of": "v", "range": [0, 9, 1]}, over=["b", "a"]),
            "sum of v over a, b, by clip, range 0 to 9 in steps of 1",
        ),
        (asked({"query": "quantile", "of": "v", "at": ["1/2"]}), "median of v, by clip"),
        (asked({"query": "quantile", "of": "v", "at": ["1/4", "1/3"]}), "1/4, 1/3 quantiles of v, by clip"),
        (asked({"query": "quantile", "of": "v", "at": ["1/4"]}), "1/4 quantile of v, by clip"),
        (asked({"query": "distinct", "of": '"a, b"'}), 'distinct "a, b", by clip'),
        (asked({"query": "stars", "size": 3}), "stars of 3 edges, by clip"),
        (asked({"query": "triangles"}), "triangles, by clip"),
        (asked({"query": "rows", "columns": ["sender", "receiver"]}), "rows by sender and receiver, by clip"),
        (
            question_text({"ask": [MINE], "share": "1/4", "once": "0"}),
            "mine of a, b, c, by framework, beta 1/10, split 1/4",
        ),
        (
            question_text({"ask": [COUNT, COUNT | {"method": "naive"}], "share": "1/2", "snapshot": "W46"}),
            "count, count, by clip and naive, snapshot W46",
        ),
        (
            asked(COUNT, by=["job", {"date_trunc": ["month", "day"]}, {"bins": "v"}], keys="30 keys"),
            "count by job, date_trunc('month', day), bins of v, by clip",
        ),
    ],
)
def test_a_question_is_stated_in_words(text: str, words: str) -> None:
    assert in_words(text) == words
