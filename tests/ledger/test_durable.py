"""A ledger keeps its word, in a file and in PostgreSQL: exact, append-only, bound to public facts."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.errors import BudgetExhausted, EngineFailure, InvalidRequest, LedgerError
from prdp.ledger import Binding, Charge, DurableLedger, Notes
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.release.raw_answer import Caveat
from prdp.release.release import Release
from tests.ledger.places import Place, PostgresPlace, new_place

FACTS = Binding({"name": "t", "bounds": {"v": ["0", "9"]}})
ANSWER = Release(
    question="count where job = 'é'",
    steps=-(10**30) - 1,
    step=Fraction(1, 3),
    noise_scales=(Fraction(10**20, 7), Fraction(1, 9)),
    share=Fraction(1, 4),
    method="clip",
    bias=Caveat("none"),
    decisions=(("clipped at", "3"),),
)


@pytest.fixture
def ledger(place: Place) -> DurableLedger:
    return DurableLedger.opened(place.given, FACTS, who="ana")


def charged(ledger: DurableLedger, purpose: str, share: Fraction, *, redraw: bool = False) -> Charge:
    charge = ledger.charge(purpose, share, redraw=redraw)
    assert isinstance(charge, Charge)
    return charge


def accounts(given: Path | str, **options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {
        "policy": prdp.Policy("10000 / balance", at_most=100),
        "bounds": {"balance": (0, 10**12)},
        "name": "accounts",
        "ledger": given,
    }
    return prdp.open({"balance": np.arange(1, 3000)}, **(chosen | options))


def test_a_release_survives_the_file_to_the_last_digit() -> None:
    assert release_from_json(release_to_json(ANSWER)) == ANSWER


def test_charges_and_releases_are_there_after_reopening(ledger: DurableLedger, place: Place) -> None:
    ledger.record(charged(ledger, "a", Fraction(1, 3)), ANSWER)
    ledger.charge("b", Fraction(1, 7))
    again = DurableLedger(place.given)
    assert again.remaining == 1 - Fraction(1, 3) - Fraction(1, 7)
    assert [(e.purpose, e.share, e.who, e.release) for e in again.entries] == [
        ("a", Fraction(1, 3), "ana", ANSWER),
        ("b", Fraction(1, 7), "ana", None),
    ]
    assert again.charge("a", Fraction(1, 3)) == ANSWER


def test_an_answer_that_was_looked_at_before_is_not_decoded_again(ledger: DurableLedger) -> None:
    for number in range(3):
        ledger.record(charged(ledger, f"question {number}", Fraction(1, 8)), ANSWER)
    decoded: list[str] = []

    def enter(frame: FrameType, event: str, _: object) -> None:
        decoded.extend([frame.f_code.co_name] * (event == "call"))

    found: list[Any] = []
    for _ in range(2):
        decoded.clear()
        sys.setprofile(enter)
        try:
            found.append(ledger.answered(lambda purpose: purpose != "question 1"))
        finally:
            sys.setprofile(None)
        found.append(decoded.count("release_from_json"))
    assert found == [found[0], 2, found[0], 0]
    assert [(entry.purpose, entry.release) for entry in found[0]] == [
        ("question 2", ANSWER),
        ("question 0", ANSWER),
    ]


def test_a_charge_that_would_pass_the_whole_is_refused_and_not_written(ledger: DurableLedger) -> None:
    ledger.charge("a", Fraction(2, 3))
    with pytest.raises(BudgetExhausted, match="1/3 is left"):
        ledger.charge("b", Fraction(1, 2))
    assert len(ledger.entries) == 1


def test_an_unanswered_charge_is_taken_up_and_the_first_release_is(ledger: DurableLedger) -> None:
    charge = charged(ledger, "a", Fraction(1, 4))
    assert ledger.charge("a", Fraction(1, 4)) == charge
    assert ledger.record(charge, ANSWER) == ANSWER
    assert ledger.record(charge, replace(ANSWER, steps=5)) == ANSWER
    assert ledger.charge("a", Fraction(1, 4)) == ANSWER
    assert charged(ledger, "a", Fraction(1, 4), redraw=True).number == charge.number + 1


def test_the_same_question_in_another_process_s_table_is_free(place: Place) -> None:
    first = accounts(place.given).count(share="1/10")
    again = accounts(place.given)
    assert again.count(share="1/10") == first
    assert again.ledger.remaining == Fraction(9, 10)
    assert again.count(share="1/10", redraw=True) != first
    assert again.ledger.remaining == Fraction(8, 10)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"policy": prdp.Policy("9000 / balance", at_most=100)}, "policy: 10000 / balance -> 9000 / balance"),
        ({"bounds": {"balance": (1, 10**12)}}, "bounds of balance: 0 to 1000000000000 -> 1 to 1000000000000"),
        ({"name": "accounts-2026-12"}, "name: accounts -> accounts-2026-12"),
        ({"policy": prdp.Policy("10000 / balance", at_most=50)}, "at_most: 100 -> 50"),
    ],
)
def test_a_ledger_of_other_public_facts_is_refused_with_the_difference(
    place: Place, options: dict[str, Any], says: str
) -> None:
    accounts(place.given)
    with pytest.raises(LedgerError, match=says.replace("/", ".").replace("+", ".")):
        accounts(place.given, **options)


def test_bounds_and_rounding_steps_of_another_column_may_be_added_later(place: Place) -> None:
    source = {"balance": np.arange(1, 3000), "age": np.arange(1, 3000) % 90}
    policy = prdp.Policy("10000 / balance", at_most=100)
    first = {"balance": (0, 10**12)}

    def total(most: int) -> prdp.Release:
        table = prdp.open(
            source, policy=policy, bounds=first | {"age": (0, most)}, name="accounts", ledger=place.given
        )
        return table.sum("age", share="1/10")

    prdp.open(source, policy=policy, bounds=first, name="accounts", ledger=place.given).count(share="1/10")
    assert total(100) == total(100) != total(1000)
    assert DurableLedger(place.given).remaining == Fraction(7, 10)


def test_other_rows_under_the_same_facts_share_the_ledger(place: Place) -> None:
    """Whatever was computed from rows would confirm a guess about them."""
    accounts(place.given)
    other = prdp.open(
        {"balance": np.arange(5)},
        policy=prdp.Policy("10000 / balance", at_most=100),
        bounds={"balance": (0, 10**12)},
        name="accounts",
        ledger=place.given,
    )
    assert other.ledger.remaining == 1
    facts = DurableLedger(place.given).binding.to_json()
    assert "2999" not in facts


def test_an_engine_that_fails_leaves_an_unanswered_charge_that_is_taken_up(place: Place) -> None:
    table = accounts(place.given)
    works = table._engine.summarise

    def fails(reading: object) -> Any:
        raise EngineFailure

    table._engine.summarise = fails  # type: ignore[method-assign]
    with pytest.raises(EngineFailure):
        table.count(share="1/4")
    assert table.ledger.remaining == Fraction(3, 4)
    table._engine.summarise = works  # type: ignore[method-assign]
    table.count(share="1/4")
    assert table.ledger.remaining == Fraction(3, 4)


def test_threads_share_one_ledger_object(ledger: DurableLedger) -> None:
    refused = []

    def spend(name: str) -> None:
        try:
            ledger.charge(name, Fraction(1, 5))
        except BudgetExhausted:
            refused.append(name)

    threads = [threading.Thread(target=spend, args=(f"q{k}",)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.entries), len(refused), ledger.remaining) == (5, 7, Fraction(0))


@pytest.mark.parametrize("kind", ["file", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_backup_is_a_ledger_and_does_not_overwrite(
    ledger: DurableLedger, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """From a file to a file, to a database and back."""
    ledger.record(charged(ledger, "a", Fraction(1, 3)), ANSWER)
    ledger.charge("b", Fraction(1, 7), notes=Notes(snapshot="é"))
    ledger.set_quota("ana", "1/2")
    copy = new_place(kind, tmp_path, lambda: str(request.getfixturevalue("postgres"))).beside("copy")
    ledger.backup(copy.given)
    again = DurableLedger(copy.given)
    assert again.entries == ledger.entries
    assert (again.binding, again.quotas, again.remaining) == (ledger.binding, ledger.quotas, ledger.remaining)
    with pytest.raises(LedgerError, match="does not overwrite"):
        ledger.backup(copy.given)
    again.charge("c", Fraction(1, 7))
    assert len(ledger.entries) == 2


def test_a_ledger_without_one_of_its_guards_is_refused(ledger: DurableLedger, place: Place) -> None:
    place.run("DROP TRIGGER facts_no_update" + (" ON facts" if isinstance(place, PostgresPlace) else ""))
    with pytest.raises(LedgerError, match="is damaged"):
        DurableLedger(place.given)


def test_an_answer_without_its_charge_is_damage(ledger: DurableLedger, place: Place) -> None:
    ledger.record(charged(ledger, "a", Fraction(1, 3)), ANSWER)
    if isinstance(place, PostgresPlace):
        place.run("ALTER TABLE releases DROP CONSTRAINT releases_number_fkey")
    place.unguarded("charges", "DELETE FROM charges")
    with pytest.raises(LedgerError, match="is damaged"):
        DurableLedger(place.given)


def test_a_clock_that_goes_backwards_changes_no_sum(
    ledger: DurableLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(["2026-11-16T12:00:00+00:00", "2001-01-01T00:00:00+00:00"])
    monkeypatch.setattr("prdp.ledger.durable._now", lambda: next(times))
    ledger.charge("a", Fraction(1, 3))
    ledger.charge("b", Fraction(1, 3))
    assert [entry.purpose for entry in ledger.entries] == ["a", "b"]
    assert ledger.remaining == Fraction(1, 3)


def test_the_same_question_from_many_threads_at_once_is_charged_once(place: Place) -> None:
    table = accounts(place.given)
    shown: list[Release] = []
    threads = [threading.Thread(target=lambda: shown.append(table.count(share="1/50"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(shown)) == 1
    assert table.ledger.remaining == Fraction(49, 50)


def test_a_ledger_that_was_replaced_meanwhile_does_not_take_the_answer(
    ledger: DurableLedger, place: Place
) -> None:
    mine = charged(ledger, "a", Fraction(1, 5))
    place.remove()
    DurableLedger.opened(place.given, FACTS)
    with pytest.raises(LedgerError, match="another ledger than the one that was opened"):
        ledger.record(mine, ANSWER)
    with pytest.raises(LedgerError, match="another ledger than the one that was opened"):
        ledger.charge("a", Fraction(1, 5))


@pytest.mark.parametrize("who", [b"ana", 5, "half \ud800", "nul \0"])
def test_a_label_that_cannot_be_written_is_refused_as_such(place: Place, who: Any) -> None:
    with pytest.raises(InvalidRequest, match="no label"):
        DurableLedger.opened(place.given, FACTS, who=who)


def test_nothing_that_is_written_can_be_changed_or_removed(ledger: DurableLedger, place: Place) -> None:
    ledger.charge("a", Fraction(1, 4))
    ledger.set_quota("ana", "1/2")
    for act in (
        "UPDATE charges SET share = '0'",
        "DELETE FROM charges",
        "DELETE FROM facts",
        "UPDATE quotas SET share = '1'",
        "DELETE FROM quotas",
        "INSERT INTO facts VALUES ('binding', '{}', 9, '') ON CONFLICT (name) DO UPDATE SET value = '{}'",
    ):
        with pytest.raises(place.refusal, match="append-only"):
            place.run(act)
