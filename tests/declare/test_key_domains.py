"""Possible keys: every one is counted once, numbered, and known again."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.declare.groups import Calendar, first_moment
from prdp.declare.key_domains import EPOCH, KeyClass, MomentRange, WholeNumbers, microseconds_of
from prdp.declare.key_search import KeySearch, read_keys
from prdp.declare.patterns import LARGEST_DOMAIN, TextClass
from prdp.declare.text_model import COSTS, END, LETTERS, MAX_BITS, LikelyTexts, bits_of, likely_classes
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind

SCHEMA = {
    "job": ColumnType(Kind.TEXT, native="VARCHAR"),
    "city": ColumnType(Kind.TEXT, native="VARCHAR"),
    "age": ColumnType(Kind.NUMBER, integer=True, native="BIGINT"),
    "day": ColumnType(Kind.MOMENT, native="DATE"),
}
CLASSES: list[KeyClass] = [
    TextClass.of_pattern("[a-c]{0,3}x?"),
    TextClass.of_length(("a", "ä", "€"), 4),
    WholeNumbers(-5, 900),
    LikelyTexts(19),
    LikelyTexts(24, step=8),
]


@pytest.mark.parametrize("keys", CLASSES, ids=repr)
def test_every_number_is_another_key_of_the_class(keys: KeyClass) -> None:
    ranks = range(min(keys.size, 20_000))
    named = [keys.nth(rank) for rank in ranks]
    assert len(set(named)) == len(named)
    assert all(map(keys.holds, named))


def test_likely_texts_are_all_texts_of_their_cost() -> None:
    spelled = Counter(
        bits_of("".join(letters).encode())
        for length in range(4)
        for letters in product(LETTERS, repeat=length)
    )
    least = min(bits for bits in spelled if bits is not None)
    for bits in range(least, 15):  # no text of four characters costs so little
        assert LikelyTexts(bits).size == spelled[bits]


def test_costs_are_those_of_a_prefix_code() -> None:
    for kind, row in COSTS.items():
        assert sum(Fraction(1, 1 << cost // 8) / Fraction(2 ** (cost % 8 / 8)) for cost in row) <= 1, kind
        assert len(row) == len((*LETTERS, END))


@pytest.mark.parametrize("step", [1, 8])
def test_weights_of_likely_texts_add_up_to_one(step: int) -> None:
    classes = likely_classes(step)
    assert sum(weight for _, weight in classes) == 1
    assert len({weight / keys.size * 2**keys.bits for keys, weight in classes}) == 1


@given(st.text(max_size=30))
def test_a_text_is_in_one_class_of_likely_texts_at_most(text: str) -> None:
    try:
        key = text.encode()
    except UnicodeEncodeError:
        return
    holding = [keys for keys, _ in likely_classes() if keys.holds(key)]
    bits = bits_of(key)
    assert [keys.bits for keys in holding] == ([] if bits is None else [bits])
    assert bits is None or bits <= MAX_BITS


@pytest.mark.parametrize("part", ["hour", "day", "week", "month", "quarter", "year"])
def test_moments_are_the_first_of_their_part_one_after_another(part: Calendar) -> None:
    low, high = first_moment(datetime(2023, 12, 30, 5), part), first_moment(datetime(2025, 3, 2), part)
    keys = MomentRange(part, low, high)
    moments = [EPOCH + timedelta(microseconds=keys.nth(rank)) for rank in range(keys.size)]
    assert moments[0] == low
    assert moments[-1] == high
    assert moments == sorted(set(moments))
    assert all(first_moment(moment, part) == moment for moment in moments)
    assert all(keys.holds(keys.nth(rank)) for rank in range(keys.size))
    assert not keys.holds(microseconds_of(low) - 1)


@pytest.mark.parametrize("key", [b"12345\n", b"1234 ", "١٢٣٤٥".encode(), b"\xff2345", b"012345", b"1234"])
def test_what_only_looks_like_a_key_is_none(key: bytes) -> None:
    assert not TextClass.of_pattern("[0-9]{5}").holds(key)


@pytest.mark.parametrize(
    "pattern",
    ["", "[", "[]", "[a", "a{", "a{2", "a{3,2}", "a{0}", "a*", "a+", "(a)", "a|b", "^a", "a$", ".", "\\d",
     "[aa]", "[z-a]", "[^a]", "a{1001}", "a??", "{3}", "a{,3}", "a{٣}", "[0-9]{1,300}"],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRequest):
        TextClass.of_pattern(pattern)


def test_signs_are_written_with_a_backslash() -> None:
    keys = TextClass.of_pattern(r"\[[\]\-a]\.")
    assert {keys.nth(rank) for rank in range(keys.size)} == {b"[].", b"[-.", b"[a."}


def test_domains_have_up_to_ten_to_the_three_hundred_keys() -> None:
    assert TextClass.of_pattern("[0-9]{300}").size == LARGEST_DOMAIN
    with pytest.raises(InvalidRequest, match=r"10\^300"):
        TextClass.of_pattern("[0-9]{301}")


def test_weights_of_a_search_add_up_to_its_false_keys() -> None:
    for columns, stated in (
        ("job", {}),
        ("job", {"alphabet": "abc", "longest": 9}),
        ("job", {"among": ["chef", "cook"], "pattern": "[a-z]{4}"}),
        (["job", "age"], {"between": {"age": (0, 9)}}),
        (["job", "city"], {}),
        ("day", {"between": ("2026-01-01", "2026-12-31")}),
    ):
        by = read_keys(columns, SCHEMA)
        domain = KeySearch(false_keys="1/7", **stated).domain(by, SCHEMA, {})
        total = sum(keys.size * keys.weight for keys in domain.classes)
        assert Fraction(1, 8) < total <= Fraction(1, 7), columns


def test_texts_of_records_do_not_stay_in_memory_when_their_costs_are_known() -> None:
    for text in (b"chef", b"cook", b"clerk"):
        assert any(keys.holds(text) for keys, _ in likely_classes())
    assert bits_of.cache_info().currsize <= 1
