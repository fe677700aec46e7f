"""A sound ledger is never called damaged, and no advice ever forgets what was spent."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prdp
from prdp.declare.exact import fraction_of, spelled
from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.ledger import Binding, Charge, DurableLedger, Ledger, MemoryLedger
from prdp.ledger.layout import canonical
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.release.release import Release
from tests.cli.running import quickly
from tests.ledger.places import FilePlace, Place, forge

FACTS = Binding({"name": "t", "at_least": "1/100"})
ANSWER = Release("count", 10, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip")
LEAST_DIGITS = 640
"""The lowest limit that Python takes."""


@pytest.fixture
def _few_digits() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(LEAST_DIGITS)
    yield
    sys.set_int_max_str_digits(before)


def both(place: Place) -> list[Ledger]:
    return [MemoryLedger(), DurableLedger.opened(place.given, FACTS)]


def primes(count: int) -> list[int]:
    """Return odd numbers below 10^12 that have no factor in common."""
    found: list[int] = []
    product, candidate = 1, 10**12 - 1
    while len(found) < count:
        if gcd(candidate, 10 * product) == 1:
            found.append(candidate)
            product *= candidate
        candidate -= 2
    return found


def filled(ledger: Ledger) -> int:
    """Spend shares that have no factor in common until one more would make the sum unwieldy."""
    for turn, prime in enumerate(primes(400)):
        try:
            ledger.charge(f"q{turn}", Fraction(1, prime))
        except InvalidRequest as refusal:
            assert "rounder share" in str(refusal)
            return turn
    raise AssertionError("no sum was too long")


def test_a_sum_that_would_be_unwieldy_is_refused_before_it_is_written(place: Place) -> None:
    for ledger in both(place):
        turns = filled(ledger)
        assert turns > 100
        assert len(ledger.entries) == turns
        assert isinstance(ledger.charge("round", Fraction(1, 2)), Charge)
        with pytest.raises(BudgetExhausted, match=r"about 0\.5 is left. Ask for share='0\.49\d+' or less"):
            ledger.charge("too much", Fraction(2, 3))
        assert repr(ledger)
    assert DurableLedger(place.given).remaining == ledger.remaining
    assert len(quickly("ledger", str(place.given)).stdout) < 100_000


def test_what_a_refusal_offers_can_be_asked_for(place: Place) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    filled(ledger)
    with pytest.raises(BudgetExhausted) as refusal:
        ledger.charge("all", Fraction(1))
    offered = Fraction(str(refusal.value).partition("share='")[2].partition("'")[0])
    assert isinstance(ledger.charge("what is left", offered), Charge)


@pytest.mark.usefixtures("_few_digits")
def test_a_long_sum_is_written_and_read_whatever_python_s_own_limit_is(place: Place) -> None:
    for ledger in both(place):
        turns = filled(ledger)
        assert len(ledger.entries) == turns
        assert ledger.remaining.denominator > 10**LEAST_DIGITS
        with pytest.raises(BudgetExhausted):
            ledger.charge("too much", Fraction(1))
    again = DurableLedger(place.given)
    assert again.remaining == ledger.remaining
    for option in ((), ("--json",), ("--csv",)):
        assert quickly("ledger", str(place.given), *option).exit_code == 0
    exported = json.loads(again.export("json"))
    assert fraction_of(exported["remaining"]) == again.remaining


@pytest.mark.usefixtures("_few_digits")
def test_a_release_with_long_numbers_is_written_and_read_whatever_python_s_own_limit_is(place: Place) -> None:
    long = replace(
        ANSWER, steps=-(7**2000), step=Fraction(1, 3**3000), noise_scales=(Fraction(7**1500, 11**999),)
    )
    table = prdp.ReleaseTable("q", Fraction(1, 2), ("k",), ("count",), ((1,), (2,)), ((long,), (ANSWER,)))
    for release in (long, table, replace(ANSWER, parts=(long, ANSWER))):
        assert release_from_json(release_to_json(release)) == release
    ledger = DurableLedger.opened(place.given, FACTS)
    charge = ledger.charge("a", Fraction(1, 4))
    assert isinstance(charge, Charge)
    ledger.record(charge, long)
    assert DurableLedger(place.given).entries[0].release == long


@given(whole=st.integers(), exponent=st.integers(0, 900), below=st.integers(1, 10**9))
def test_digits_say_a_number_however_many_they_are(whole: int, exponent: int, below: int) -> None:
    number = Fraction(whole * 10**exponent + whole, below**3 + 7**exponent)
    assert spelled(number) == str(number)
    assert fraction_of(spelled(number)) == number


@pytest.mark.parametrize("text", ["", "1/", "/2", "1/0", "x" * 700, "1" * 700 + "/", "1_0" * 300, "٣" * 700])
def test_what_is_no_number_is_not_read_as_one(text: str) -> None:
    with pytest.raises((ValueError, ZeroDivisionError)):
        fraction_of(text)


@pytest.mark.parametrize("text", ["half \ud800", "\udcff", "nul \0"])
def test_a_question_that_cannot_be_written_is_refused_before_it_is_charged(place: Place, text: str) -> None:
    for ledger in both(place):
        with pytest.raises(InvalidRequest, match="cannot be written"):
            ledger.charge(text, Fraction(1, 4))
        assert ledger.remaining == 1


@pytest.mark.parametrize("text", ["half \ud800", "\udcff"])
def test_a_name_that_cannot_be_written_is_refused_before_it_is_charged(place: Place, text: str) -> None:
    table = prdp.open({"v": np.arange(9)}, policy=prdp.Policy.constant(1), ledger=place.given)
    with pytest.raises(InvalidRequest, match="cannot be written"):
        table.run(lambda rows, epsilon, beta: 1, columns=["v"], share="1/4", name=text)
    assert DurableLedger(place.given).remaining == 1
    table.run(lambda rows, epsilon, beta: 1, columns=["v"], share="1/4", name="é, 😀")
    assert len(DurableLedger(place.given).entries) == 1


def test_facts_that_cannot_be_written_begin_no_ledger(place: Place) -> None:
    with pytest.raises(InvalidRequest, match="cannot be written"):
        DurableLedger.opened(place.given, Binding({"name": "half \ud800"}))
    with pytest.raises(LedgerError, match="there is no ledger"):
        DurableLedger(place.given)


def test_a_share_or_a_number_that_is_no_charge_s_is_not_called_damage(place: Place) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    with pytest.raises(LedgerError) as refusal:
        ledger.record(Charge(2**70, "a"), ANSWER)
    assert "damaged" not in str(refusal.value)


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"a,b\n" * 5000, b"PAR1" + bytes(4000), b"\x00" * 8192])
def test_what_is_no_ledger_is_called_just_that(tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "data.csv"
    source.write_bytes(content)
    opened: list[Callable[[], object]] = [
        lambda: DurableLedger(source),
        lambda: DurableLedger.opened(source, FACTS),
    ]
    for open_it in opened:
        with pytest.raises(LedgerError, match=r"data\.csv is no ledger of prdp's") as refusal:
            open_it()
        assert "damaged" not in str(refusal.value)
        assert "ledger=" in str(refusal.value)
    stated = quickly("ledger", str(source)).stderr
    assert "is no ledger of prdp's" in stated.replace("\n", " ")
    assert source.read_bytes() == content


@pytest.mark.parametrize("version", [0, 1, 2, 99])
def test_another_program_s_database_is_no_ledger_of_any_version(tmp_path: Path, version: int) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE t (x)")
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    with pytest.raises(LedgerError, match="is no ledger of prdp's"):
        DurableLedger(other)


def answered(place: Place) -> DurableLedger:
    ledger = DurableLedger.opened(place.given, FACTS)
    charge = ledger.charge("a", Fraction(1, 4))
    assert isinstance(charge, Charge)
    ledger.record(charge, ANSWER)
    return ledger


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"steps": 10', '"steps": 10, "steps": 11'),
        lambda text: text.replace('"steps": 10', '"steps": NaN'),
        lambda text: text.replace('"step": "1"', '"step": Infinity'),
        lambda text: text.replace('"steps": 10', '"steps": "1e5"'),
        lambda text: text.replace('"steps": 10', '"steps": 10, "later": 1'),
        lambda text: text[:-1],
    ],
)
def test_a_release_that_says_two_things_or_nothing_is_not_read(
    place: Place, change: Callable[[str], str]
) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    ledger.charge("a", Fraction(1, 4))
    forge(place, "releases", 0, change(release_to_json(ANSWER)))
    for account in (ledger, DurableLedger(place.given)):
        with pytest.raises(LedgerError, match="cannot be read"):
            account.charge("a", Fraction(1, 4))
        with pytest.raises(LedgerError, match="cannot be read"):
            account.entries  # noqa: B018  (reads)
        assert account.remaining == Fraction(3, 4)


def test_facts_that_say_two_things_are_not_read(place: Place) -> None:
    answered(place)
    twice = '{"name": "t", "name": "u"}'
    place.unguarded("facts", "UPDATE facts SET value = ? WHERE name = 'binding'", twice)
    with pytest.raises(LedgerError, match="is damaged"):
        DurableLedger(place.given)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.ledger"


def _truncated(path: Path) -> None:
    answered(FilePlace(path))
    path.write_bytes(path.read_bytes()[:5000])


def _emptied(path: Path) -> None:
    path.touch()


def _gone_but_for_a_journal(path: Path) -> None:
    path.with_name(f"{path.name}-journal").write_bytes(b"x")


def _overwritten(path: Path) -> None:
    path.write_bytes(b"x" * 9000)


def _with_other_sums(path: Path) -> None:
    answered(FilePlace(path))
    FilePlace(path).unguarded("charges", "UPDATE charges SET share = '1/8'")


@pytest.mark.parametrize(
    "trouble", [_truncated, _emptied, _gone_but_for_a_journal, _overwritten, _with_other_sums]
)
def test_whoever_is_reported_of_a_backup_learns_what_it_forgets(
    path: Path, trouble: Callable[[Path], None]
) -> None:
    trouble(path)
    with pytest.raises(LedgerError) as refusal:
        DurableLedger.opened(path, FACTS)
    stated = str(refusal.value)
    assert "begin anew" not in stated
    assert "does not know what was spent since" in stated
    assert "all that it has left" in stated


def test_a_value_of_any_depth_or_length_that_is_recorded_can_be_read(place: Place) -> None:
    def nested(depth: int) -> Any:
        return [] if depth == 0 else [nested(depth - 1)]

    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        table = prdp.open({"v": np.arange(9)}, policy=prdp.Policy.constant(1), ledger=place.given)
        for value in (nested(40), nested(400), 10**500, 10**1000):
            table.run(lambda rows, epsilon, beta, value=value: value, columns=["v"], share="1/100")  # type: ignore[misc]
    finally:
        sys.set_int_max_str_digits(before)
    releases = [entry.release for entry in DurableLedger(place.given).entries]
    assert [release and release.failed for release in releases] == [False, True, False, True]  # type: ignore[union-attr]


_FIELDS = st.lists(st.none() | st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(0, 1))


@given(_FIELDS, st.sampled_from(["", "\ud800", '"', "\x00\x7f\u2028"]))
def test_a_row_is_hashed_as_the_json_of_its_fields(fields: list[Any], odd: str) -> None:
    expected = json.dumps([*fields, odd], ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    assert canonical([*fields, odd]) == expected
