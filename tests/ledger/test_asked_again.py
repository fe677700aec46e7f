"""The questions of kept ledgers of format 1, asked again by the entry points: none is charged twice."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from prdp.ledger import DurableLedger, Entry
from tests.ledger.format_1.questions import (
    ASKED,
    accounts,
    ask_ambiguous_links,
    ask_left_open,
    mechanism,
)

KEPT = Path(__file__).parent / "format_1"


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copy(KEPT / f"{name}.ledger", folder))


def shown(entries: tuple[Entry, ...]) -> list[tuple[str, Fraction]]:
    return [(entry.purpose, entry.share) for entry in entries]


@pytest.mark.parametrize("name", ASKED)
def test_the_same_questions_asked_again_are_answered_as_before_at_no_charge(
    name: str, tmp_path: Path
) -> None:
    path = copied(name, tmp_path)
    before = DurableLedger(path).entries
    ASKED[name](path)
    assert DurableLedger(path).entries == before


def test_a_charge_without_an_answer_is_taken_up_in_format_2(tmp_path: Path) -> None:
    path = copied("accounts", tmp_path)
    before = DurableLedger(path).entries
    assert before[0].release is None
    ask_left_open(accounts(path))
    after = DurableLedger(path).entries
    assert shown(after) == shown(before)
    assert after[0].release is not None
    assert after[1:] == before[1:]


def test_of_several_answers_to_one_question_the_newest_stands(tmp_path: Path) -> None:
    table = accounts(copied("accounts", tmp_path))
    counts = [entry for entry in table.ledger.entries if entry.purpose == table.ledger.entries[1].purpose]
    assert len(counts) == 2
    assert table.count(share="1/100") == counts[1].release != counts[0].release
    named = table.run(mechanism, columns=["v"], share="1/100", name="mine")
    assert named == table.ledger.entries[-1].release


def test_a_mechanism_without_a_name_is_charged_again(tmp_path: Path) -> None:
    table = accounts(copied("accounts", tmp_path))
    before = len(table.ledger.entries)
    table.run(mechanism, columns=["v"], share="1/100")
    assert len(table.ledger.entries) == before + 1


def test_a_question_whose_old_text_could_be_two_is_charged_again(tmp_path: Path) -> None:
    path = copied("ambiguous_links", tmp_path)
    ledger = DurableLedger(path)
    ask_ambiguous_links(path)
    assert ledger.left == Fraction(8, 10)
    ask_ambiguous_links(path)
    assert ledger.left == Fraction(8, 10)
