"""Questions of every kind, asked again by the entry points: none is charged twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from prdp.ledger import DurableLedger
from tests.ledger.questions import ASKED, accounts, ask_left_open, leave_open, mechanism, spend_more


@pytest.mark.parametrize("name", ASKED)
def test_the_same_questions_asked_again_are_answered_as_before_at_no_charge(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.ledger"
    ASKED[name](path)
    before = DurableLedger(path).entries
    assert before
    ASKED[name](path)
    assert DurableLedger(path).entries == before


def test_a_charge_without_an_answer_is_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    leave_open(path)
    ASKED["accounts"](path)
    before = DurableLedger(path).entries
    assert before[0].release is None
    ask_left_open(accounts(path))
    after = DurableLedger(path).entries
    assert after[0].release is not None
    assert after[1:] == before[1:]


def test_of_several_answers_to_one_question_the_newest_is(tmp_path: Path) -> None:
    table = accounts(tmp_path / "t.ledger")
    table.count(share="1/100")
    spend_more(tmp_path / "t.ledger")
    counts = [entry for entry in table.ledger.entries if entry.purpose == table.ledger.entries[0].purpose]
    assert len(counts) == 2
    assert table.count(share="1/100") == counts[1].release != counts[0].release
    named = table.run(mechanism, columns=["v"], share="1/100", name="mine")
    assert named == table.ledger.entries[-1].release


def test_a_mechanism_without_a_name_is_charged_again(tmp_path: Path) -> None:
    table = accounts(tmp_path / "t.ledger")
    for turn in range(2):
        table.run(mechanism, columns=["v"], share="1/100")
        assert len(table.ledger.entries) == turn + 1
