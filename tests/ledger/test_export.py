"""A ledger as CSV: what a spreadsheet would run as a formula is a text there, and numbers stay numbers."""

from __future__ import annotations

import csv
import io
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.ledger import Entry
from prdp.ledger.export import as_csv
from prdp.release.release import Release
from prdp.release.table import ReleaseTable

FORMULAS = [
    "=1+1",
    "+1+1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "-",
    "=",
    "-1e",
    "+a",
]
FORMULAS += ["-∞", "\uff1d1+1", "-5, =1"]
NUMBERS = ["-5", "-0.25", "+7", "-1e-07", "-12.5e3"]


def answer(steps: int) -> Release:
    return Release("sum", steps, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip")


def rows(*entries: Entry) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv(entries), newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_a_spreadsheet_would_run_is_marked_as_text(text: str) -> None:
    (row,) = rows(Entry(0, text, Fraction(1, 4), who=text, at="2026-01-01"))
    assert row["purpose"] == row["who"] == f"'{text}"
    table = ReleaseTable("q", Fraction(1, 4), ("k",), (text,), ((text,),), ((answer(5),),))
    (row,) = rows(Entry(0, "q", Fraction(1, 4), release=table))
    assert row["group"] == row["asked"] == f"'{text}"


@pytest.mark.parametrize("key", NUMBERS)
def test_a_number_below_zero_stays_a_number(key: str) -> None:
    table = ReleaseTable("q", Fraction(1, 4), ("k",), ("sum",), ((key,),), ((answer(-5),),))
    (row,) = rows(Entry(0, "q", Fraction(1, 4), release=table))
    assert row["group"] == key
    assert float(row["value"]) == -5
    assert float(row["low"]) < -5


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_whatever_the_texts_are_every_charge_is_one_row_and_no_cell_is_a_formula(texts: list[str]) -> None:
    entries = [Entry(number, text, Fraction(1, 9), who=text) for number, text in enumerate(texts)]
    found = rows(*entries)
    assert [row["purpose"].removeprefix("'") for row in found] == [text.removeprefix("'") for text in texts]
    assert not any(row["who"].startswith(("=", "+a", "@", "\t", "\r", "\n")) for row in found)
