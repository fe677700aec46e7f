"""Several questions are charged in one step: all of them, or none."""

from __future__ import annotations

import os
import random
import signal
import time
from fractions import Fraction

import numpy as np
import pytest

import prdp
from benchmarks.ledger_stress import answer
from prdp.errors import BudgetExhausted, EngineFailure
from prdp.ledger import Charge, DurableLedger, Ledger, MemoryLedger, Wanted
from prdp.run.answer import answer_together
from tests.ledger.places import Place
from tests.ledger.test_beside import FACTS, FORK

PARTS = [Wanted("count", Fraction(1, 4)), Wanted("sum", Fraction(1, 2)), Wanted("mean", Fraction(1, 8))]


def both(place: Place) -> list[Ledger]:
    return [MemoryLedger(), DurableLedger.opened(place.given, FACTS)]


def test_all_are_charged_once_and_their_answers_come_back(place: Place) -> None:
    for ledger in both(place):
        charges = ledger.charge_together(PARTS)
        assert [entry.share for entry in ledger.entries] == [one.share for one in PARTS]
        assert ledger.charge_together(PARTS) == charges, "unanswered charges are taken up"
        assert isinstance(charges[1], Charge)
        ledger.record(charges[1], answer(7))
        again = ledger.charge_together(PARTS)
        assert [isinstance(one, Charge) for one in again] == [True, False, True]
        assert ledger.remaining == Fraction(1, 8)


def test_where_one_does_not_fit_none_is_charged(place: Place) -> None:
    for ledger in both(place):
        ledger.charge("before", Fraction(1, 8))
        with pytest.raises(BudgetExhausted):
            ledger.charge_together([*PARTS, Wanted("max", Fraction(1, 100))])
        assert [entry.purpose for entry in ledger.entries] == ["before"]
        assert ledger.remaining == Fraction(7, 8)
        ledger.charge_together(PARTS)
        assert ledger.remaining == 0


def test_quotas_hold_for_all_of_them(place: Place) -> None:
    ledger = DurableLedger.opened(place.given, FACTS, who="ana")
    ledger.set_quota("ana", "1/2")
    with pytest.raises(BudgetExhausted):
        ledger.charge_together(PARTS)
    assert not ledger.entries


def test_plans_are_drawn_from_one_transaction_and_a_failure_costs_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = prdp.open({"v": np.arange(300)}, policy=1, bounds={"v": (0, 300)})
    plans = [table.plan(prdp.count(), share="1/4"), table.plan(prdp.sum("v"), share="1/2")]
    reader = table._reader
    with monkeypatch.context() as broken:
        broken.setattr("prdp.plan.steps.QueryPlan.begun", lambda *_, **__: 1 / 0)
        with pytest.raises(EngineFailure):
            answer_together(table.ledger, plans, reader)
    assert table.remaining == Fraction(1, 4)
    first = answer_together(table.ledger, plans, reader)
    assert answer_together(table.ledger, plans, reader) == first
    assert table.plan(prdp.count(), share="1/4").tabled(first[0]).releases[0][0] == table.count(share="1/4")
    assert table.remaining == Fraction(1, 4)


def test_a_killed_process_leaves_all_charges_of_a_step_or_none(place: Place) -> None:
    DurableLedger.opened(place.given, FACTS)

    def charge_on() -> None:
        ledger = DurableLedger(place.given)
        for turn in range(1000):
            ledger.charge_together(
                [Wanted(f"{os.getpid()} {turn} {part}", Fraction(1, 10**6)) for part in "abc"]
            )

    chance = random.Random(8)
    for _ in range(4):
        process = FORK.Process(target=charge_on)
        process.start()
        time.sleep(0.1 + chance.random() * 0.2)
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    steps = [entry.purpose.rpartition(" ") for entry in DurableLedger(place.given).entries]
    by_step: dict[str, str] = {}
    for step, _, part in steps:
        by_step[step] = by_step.get(step, "") + part
    assert by_step
    assert set(by_step.values()) == {"abc"}


pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
