"""The ledger never lets more than the whole be spent."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from fractions import Fraction
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.ledger import Binding, Charge, MemoryLedger, memory
from prdp.release.release import Release

RELEASE = Release("count", 10, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip")


def charged(ledger: MemoryLedger, purpose: str) -> Charge:
    charge = ledger.charge(purpose, Fraction(1, 4))
    assert isinstance(charge, Charge)
    return charge


@given(shares=st.lists(st.fractions(Fraction(1, 50), 1, max_denominator=10**6), max_size=30))
def test_charges_never_pass_the_whole(shares: list[Fraction]) -> None:
    ledger = MemoryLedger()
    for number, share in enumerate(shares):
        try:
            ledger.charge(f"question {number}", share)
        except BudgetExhausted as refusal:
            assert share > ledger.remaining
            assert (refusal.asked, refusal.remaining) == (share, ledger.remaining)
    assert 0 <= ledger.remaining == 1 - sum((e.share for e in ledger.entries), start=Fraction(0))


def test_a_refusal_says_what_was_asked_and_what_is_left() -> None:
    ledger = MemoryLedger()
    ledger.charge("a", Fraction(3, 4))
    with pytest.raises(BudgetExhausted, match=r"asks for 1/2 .* but 1/4 is left\. Ask for share='1/4'"):
        ledger.charge("b", Fraction(1, 2))


def test_an_unanswered_charge_is_taken_up_by_the_same_question() -> None:
    ledger = MemoryLedger()
    charge = charged(ledger, "a")
    assert charged(ledger, "a") == charge
    assert ledger.remaining == Fraction(3, 4)
    ledger.record(charge, RELEASE)
    assert ledger.charge("a", Fraction(1, 4)) is RELEASE
    assert ledger.charge("a", Fraction(1, 4), redraw=True) != charge


def test_the_first_recorded_release_is() -> None:
    ledger = MemoryLedger()
    charge = charged(ledger, "a")
    later = replace(RELEASE, steps=11)
    assert ledger.record(charge, RELEASE) is RELEASE
    assert ledger.record(charge, later) is RELEASE
    assert ledger.charge("a", Fraction(1, 4)) is RELEASE


@pytest.mark.parametrize("share", [Fraction(0), Fraction(-1, 2), Fraction(3, 2), 0.5, Fraction(1, 10**13)])
def test_what_is_no_share_is_never_charged(share: Fraction) -> None:
    ledger = MemoryLedger()
    with pytest.raises(InvalidRequest, match="no share"):
        ledger.charge("a", share)
    assert ledger.remaining == 1


def test_threads_that_race_for_the_last_room_do_not_overspend() -> None:
    ledger = MemoryLedger()
    refused = []

    def spend(name: str) -> None:
        try:
            ledger.charge(name, Fraction(1, 10))
        except BudgetExhausted:
            refused.append(name)

    threads = [threading.Thread(target=spend, args=(f"q{k}",)) for k in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.entries) == 10
    assert len(refused) == 30
    assert ledger.remaining == 0


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no signals of its own to send")
@pytest.mark.parametrize("inside", ["sum_with", "replace"])  # in a charge, and in a record
def test_a_signal_s_handler_that_uses_the_account_it_interrupts_is_refused(
    inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, refusals = MemoryLedger(), []
    whole = getattr(memory, inside)

    def interrupted(*args: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGUSR1)
        return whole(*args, **options)

    def ask(_: int, __: FrameType | None) -> None:
        for use in (lambda: ledger.charge("b", Fraction(1, 4)), lambda: ledger.attach(Binding({}))):
            try:
                use()
            except LedgerError as refusal:
                refusals.append(str(refusal))

    before = signal.signal(signal.SIGUSR1, ask)
    try:
        monkeypatch.setattr(memory, inside, interrupted)
        ledger.record(charged(ledger, "a"), RELEASE)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(refusals) == 2
    assert all("a signal's handler" in refusal for refusal in refusals)
    assert [entry.purpose for entry in ledger.entries] == ["a"]
    monkeypatch.undo()
    assert charged(ledger, "b").number == 1  # the account is free again
