"""Regions, snapshots, hints and quotas have places in the file; a region never makes anything cheaper."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.ledger import Binding, Charge, DurableLedger, Ledger, MemoryLedger, NoAccount, Notes
from prdp.release.release import Release
from tests.ledger.places import Place, forge

Row = tuple[Any, ...]

FACTS = Binding({"name": "t"})
ANSWER = Release("count", 10, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip")
NOTES = Notes(region='{"week": [46, 46]}', snapshot="2026-W46", warm_start='{"charge": 3, "place": "17/4"}')


@pytest.fixture
def ledger(place: Place) -> DurableLedger:
    return DurableLedger.opened(place.given, FACTS, who="ana")


def charge_row(
    number: int, share: str, region: str | None = None, quota: str | None = None, source: str | None = None
) -> Row:
    return "charges", number, f"q{number}", share, "ana", "2026", "t", region, None, None, quota, source


def quota_row(number: int, name: str, share: str) -> Row:
    return "quotas", number, name, share, "ana", "2026"


def test_what_is_beside_a_charge_is_there_after_reopening(ledger: DurableLedger, place: Place) -> None:
    ledger.charge("a", Fraction(1, 4), notes=NOTES)
    ledger.charge("b", Fraction(1, 4))
    assert [entry.notes for entry in DurableLedger(place.given).entries] == [NOTES, Notes()]
    first, second = json.loads(ledger.export("json"))["charges"]
    assert (first["snapshot"], first["warm_start"], first["region"]) == (
        NOTES.snapshot,
        NOTES.warm_start,
        NOTES.region,
    )
    assert not {"snapshot", "warm_start", "region", "quota"} & second.keys()


def test_whoever_takes_a_charge_up_learns_what_stood_beside_it(place: Place) -> None:
    """The hint decides from which law is drawn, so that it is the first one's that counts."""
    for ledger in (MemoryLedger(), DurableLedger.opened(place.given, FACTS)):
        first = ledger.charge("a", Fraction(1, 4), notes=NOTES)
        again = ledger.charge("a", Fraction(1, 4), notes=Notes(warm_start="another"))
        assert first == again
        assert isinstance(again, Charge)
        assert again.notes == ledger.entries[0].notes == NOTES


def test_nothing_beside_a_question_makes_it_another_question(place: Place) -> None:
    for ledger in (MemoryLedger(), DurableLedger.opened(place.given, FACTS)):
        charge = ledger.charge("a", Fraction(1, 4))
        assert isinstance(charge, Charge)
        ledger.record(charge, ANSWER)
        assert ledger.charge("a", Fraction(1, 4), notes=NOTES) == ANSWER
        assert ledger.remaining == Fraction(3, 4)


def test_a_charge_to_a_region_costs_everybody(place: Place) -> None:
    for ledger in (MemoryLedger(), DurableLedger.opened(place.given, FACTS)):
        ledger.charge("march", Fraction(2, 3), notes=Notes(region='{"month": 3}'))
        assert ledger.remaining == Fraction(1, 3)
        with pytest.raises(BudgetExhausted):
            ledger.charge("april", Fraction(2, 3), notes=Notes(region='{"month": 4}'))


@pytest.mark.parametrize(
    "notes",
    [
        Notes(region="week 46"),
        Notes(region='{"a": 1, "a": 2}'),
        Notes(region="[" * 100_000),
        Notes(snapshot="half \ud800"),
        Notes(warm_start="nul \0"),
        Notes(warm_start=3),  # type: ignore[arg-type]
        Notes(source="two files"),
        Notes(source='{"files": 2}'),
        Notes(source='{"columns": [1]}'),
    ],
)
def test_what_cannot_be_kept_beside_a_charge_is_refused_before_it_is_charged(
    place: Place, notes: Any
) -> None:
    ledgers: list[Ledger] = [MemoryLedger(), DurableLedger.opened(place.given, FACTS)]
    for ledger in ledgers:
        with pytest.raises(InvalidRequest, match="Nothing was charged"):
            ledger.charge("a", Fraction(1, 4), notes=notes)
        assert ledger.remaining == 1


def test_a_synthetic_table_keeps_nothing_and_takes_the_same_words() -> None:
    assert NoAccount().charge("a", Fraction(1, 4), notes=NOTES).notes == NOTES


@pytest.mark.parametrize(
    "rows",
    [
        (charge_row(0, "2/3"), charge_row(1, "2/3")),
        (charge_row(0, "2/3", "{}"), charge_row(1, "2/3", "[]")),
        (charge_row(0, "1/3", "{}"), charge_row(1, "2/3"), charge_row(2, "2/3")),
        (charge_row(0, "-1/3"),),
        (charge_row(0, "0"),),
        (charge_row(0, "4/3"),),
        (charge_row(0, "some"),),
        (charge_row(1, "1/3"),),
        (charge_row(0, "1/3", "{week}"),),
        (charge_row(0, "1/3", quota="ana"),),
        (quota_row(0, "ana", "1/3"), charge_row(0, "1/3", quota="bob")),
        (charge_row(0, "1/3", source="{"),),
        (charge_row(0, "1/3", source='{"columns": "age"}'),),
        (charge_row(0, "1/3", source='{"columns": [], "files": "2"}'),),
        (quota_row(0, "ana", "3/2"),),
        (quota_row(0, "ana", "-1/2"),),
        (quota_row(0, "ana", "half"),),
        (quota_row(1, "ana", "1/2"),),
        (("facts", "binding2", "{}"),),
    ],
)
def test_sums_regions_and_quotas_that_nobody_writes_are_damage_even_where_their_hashes_are_right(
    ledger: DurableLedger, place: Place, rows: tuple[Row, ...]
) -> None:
    for row in rows:
        forge(place, *row)
    for use in (lambda: DurableLedger(place.given), lambda: ledger.charge("a", Fraction(1, 10**6))):
        with pytest.raises(LedgerError, match="is damaged"):
            use()


def test_the_newest_word_on_a_quota_holds(ledger: DurableLedger, place: Place) -> None:
    assert ledger.quotas == {}
    for row in (quota_row(0, "ana", "1/4"), quota_row(1, "bob", "0"), quota_row(2, "ana", "1/2")):
        forge(place, *row)
    assert ledger.quotas == DurableLedger(place.given).quotas == {"ana": Fraction(1, 2), "bob": Fraction(0)}


def test_a_charge_names_a_quota_that_is_there(ledger: DurableLedger, place: Place) -> None:
    with pytest.raises(InvalidRequest, match=r"no quota 'ana'. Nothing was charged"):
        ledger.charge("a", Fraction(1, 4), notes=Notes(quota="ana"))
    assert ledger.remaining == 1
    ledger.set_quota("ana", "1/2")
    ledger.charge("a", Fraction(1, 4), notes=Notes(quota="ana"))
    assert DurableLedger(place.given).entries[0].notes.quota == "ana"
