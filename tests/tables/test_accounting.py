"""A record pays only for questions about it: what is charged to whom, and what is left to whom."""

from __future__ import annotations

import json
import multiprocessing
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest

import prdp
from benchmarks.accounting import weekly
from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.ledger import DurableLedger, MemoryLedger, Notes
from prdp.tables.table import Table
from tests.ledger.places import Place, forge, new_place

ROWS = {
    "week": [45, 45, 46, None],
    "status": ["open", "closed", "open", "open"],
    "day": [1, 2, 3, 4],
    "id": [7, 8, 7, 9],
}


def opened(given: Path | str | None = None, **options: Any) -> Table:
    ledger = {} if given is None else {"ledger": given}
    options = {"immutable": ["week", "day"], "name": "visits", **ledger, **options}
    return prdp.open(pyarrow.table(ROWS), policy="1", **options)


@pytest.fixture(params=["memory", "file", pytest.param("postgres", marks=pytest.mark.slow)])
def visits(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    if request.param == "memory":
        return opened()
    return opened(new_place(request.param, tmp_path, lambda: str(request.getfixturevalue("postgres"))).given)


def test_questions_about_different_weeks_each_use_the_whole_budget(visits: Table) -> None:
    for week in (45, 46, 47):
        visits.filter(f"week = {week}").count(share=1)
    assert visits.remaining == 0
    assert visits.filter("week = 48").remaining == 1
    assert visits.filter("week IS NULL").remaining == 1
    assert visits.filter("week >= 47").remaining == 0
    with pytest.raises(BudgetExhausted):
        visits.count(share="1/100")


def test_a_refusal_names_what_overlaps_and_what_would_still_fit(visits: Table) -> None:
    visits.filter("week = 46").count(share="3/4")
    visits.filter("week = 45").count(share="1/2")
    with pytest.raises(BudgetExhausted, match=r"week from 46 to 47") as refused:
        visits.filter("week IN (46, 47)").count(share="1/2")
    message = str(refused.value)
    assert "count where week = 46" in message
    assert "count where week = 45" not in message
    assert "share='1/4' or less" in message
    assert refused.value.remaining == Fraction(1, 4)


def test_columns_that_change_narrow_nothing(visits: Table) -> None:
    """A row that is open today and closed tomorrow would pay twice."""
    visits.filter("status = 'open'").count(share=1)
    with pytest.raises(BudgetExhausted):
        visits.filter("status = 'closed'").count(share="1/2")


def test_without_fixed_columns_everything_is_charged_to_everybody(place: Place) -> None:
    visits = opened(place.given, immutable=None)
    visits.filter("week = 45").count(share=1)
    assert visits.filter("week = 46").remaining == 0
    assert visits.ledger.entries[0].notes.region is None


def test_with_an_unit_everything_is_charged_to_everybody(place: Place) -> None:
    """(id 7, week 45) and (id 7, week 46) are one record."""
    visits = opened(place.given, privacy_unit="id")
    visits.filter("week = 45").count(share=1)
    assert visits.filter("week = 46").remaining == 0
    with pytest.raises(BudgetExhausted):
        visits.filter("week = 46").count(share="1/2")


def test_listed_keys_narrow_and_so_do_bins(visits: Table) -> None:
    visits.group_by("week", keys=[45, 46]).count(share=1)
    assert visits.filter("week = 47").remaining == 1
    assert visits.group_by("week", keys=[46, 47]).remaining == 0
    visits.filter("week = 47").histogram("day", edges=[0, 3, 5], share=1)
    assert visits.filter("week = 47 AND day <= 5").remaining == 0
    assert visits.filter("week = 47 AND day > 5").remaining == 1


def test_more_keys_than_a_text_lists_are_kept_in_the_region(visits: Table) -> None:
    visits.group_by("week", keys=list(range(1, 60, 2))).agg(prdp.count(), share="1/2")
    assert "sha256" in visits.ledger.entries[0].purpose
    assert visits.filter("week = 59").remaining == Fraction(1, 2)
    assert visits.filter("week = 58").remaining == 1


def test_a_mechanism_of_the_callers_own_is_charged_to_the_rows_it_is_given(visits: Table) -> None:
    visits.filter("week = 45").run(lambda rows, epsilon, beta: 0, columns=["day"], share=1, name="zero")
    assert visits.filter("week = 46").remaining == 1
    assert visits.filter("week = 45").remaining == 0


def test_the_same_question_is_free_and_an_unanswered_one_is_taken_up(visits: Table) -> None:
    first = visits.filter("week = 45").count(share=1)
    assert visits.filter("week = 45").count(share=1) == first
    region = visits.filter("week = 46").planner.region()
    plan = visits.filter("week = 46").plan(prdp.count(), share=1)
    visits.ledger.charge(plan.text, Fraction(1), notes=Notes(region))
    visits.filter("week = 46").count(share=1)
    assert len(visits.ledger.entries) == 2


def test_fixed_columns_are_bound_once_and_never_switched(place: Place) -> None:
    opened(place.given)
    again = opened(place.given, immutable=None)
    assert again.ledger.immutable == ("day", "week")
    again.filter("week = 45").count(share=1)
    assert again.filter("week = 46").remaining == 1
    with pytest.raises(LedgerError, match="immutable: day, week -> week"):
        opened(place.given, immutable=["week"])
    opened(place.beside("old").given, immutable=None)
    with pytest.raises(LedgerError, match="immutable: none -> day, week"):
        opened(place.beside("old").given)


@pytest.mark.parametrize("immutable", ["week", ["weak"], 3, [3]])
def test_what_is_no_list_of_columns_is_refused(immutable: Any) -> None:
    with pytest.raises(InvalidRequest, match="immutable"):
        opened(immutable=immutable)


def test_a_region_of_other_columns_is_refused_and_one_in_a_ledger_is_damage(place: Place) -> None:
    loose = Notes('[{"status": {"text": ["open"]}}]')
    for ledger in (opened().ledger, opened(place.given).ledger):
        for notes in (loose, Notes('{"week": 46}')):
            with pytest.raises(InvalidRequest, match="Nothing was charged"):
                ledger.charge("q", Fraction(1, 2), notes=notes)
    forge(place, "charges", 0, "q", "1/2", "ana", "2026", "t", loose.region, None, None, None, None)
    with pytest.raises(LedgerError, match="is damaged"):
        DurableLedger(place.given)


def test_a_snapshot_makes_a_new_question_and_narrows_nothing(place: Place) -> None:
    first = opened(place.given, snapshot="2026-W45")
    first.filter("week = 45").count(share="1/2")
    second = opened(place.given, snapshot="2026-W46")
    second.filter("week = 45").count(share="1/2")
    texts = [entry.purpose for entry in second.ledger.entries]
    assert [json.loads(text)["snapshot"] for text in texts] == ["2026-W45", "2026-W46"]
    assert [entry.notes.snapshot for entry in second.ledger.entries] == ["2026-W45", "2026-W46"]
    assert second.filter("week = 45").remaining == 0
    assert second._reader is not first._reader


def test_explain_says_which_records_a_question_would_charge(visits: Table) -> None:
    reported = (
        visits.filter("week = 46 AND status = 'open'").explain(prdp.count(), share="1/4").splitlines()[0]
    )
    assert "1/4 of the budget of records with week = 46 only" in reported
    assert "every record's budget" in visits.explain(prdp.count(), share="1/4").splitlines()[0]


def test_quotas_limit_people_and_not_the_promise(place: Place) -> None:
    ana = opened(place.given, who="ana")
    assert isinstance(ana.ledger, DurableLedger)
    ana.ledger.set_quota("ana", Fraction(1, 4))
    ana.filter("week = 45").count(share="1/4")
    ana.filter("week = 46").count(share="1/4")
    with pytest.raises(BudgetExhausted, match=r"'ana' has a quota of 1/4, of which 0 is left"):
        ana.count(share="1/8")
    bob = opened(place.given, who="bob")
    bob.filter("week = 45").count(share="3/4")
    assert bob.filter("week = 45").remaining == 0
    ana.ledger.set_quota("ana", Fraction(1))
    ana.filter("week = 46").count(share="3/4")
    with pytest.raises(BudgetExhausted, match="overlapping"):
        ana.filter("week = 45").count(share="1/100")


def test_a_ledger_in_memory_shows_what_is_left_by_region() -> None:
    visits = opened()
    assert isinstance(visits.ledger, MemoryLedger)
    visits.filter("week = 45").count(share="1/2")
    assert visits.ledger.remaining == Fraction(1, 2)


@pytest.mark.slow
def test_a_year_of_weekly_releases_at_share_1_is_answered_and_to_everybody_one_is(tmp_path: Path) -> None:
    assert weekly(tmp_path, ["week"]) == 52
    assert weekly(tmp_path, None) == 1


SAME_AS_WEEK_46 = [
    *("46 = week", "week IN (46)", "week BETWEEN 46 AND 46", "NOT (week <> 46)", "week = 46.0", "WEEK = 46"),
    *("week > 45 AND week < 47", "week >= 46 AND NOT (week > 46)", "week = 23 * 2", "week - 46 = 0"),
    *("week = 46 OR (week = 46 AND day = 1)", "CASE WHEN week = 46 THEN TRUE ELSE FALSE END", "week <= 46.9"),
    *("NOT (NOT (week = 46))", "(week = 46) = TRUE", "week = 46 AND status = 'open'", "abs(week) = 46"),
]


@pytest.mark.parametrize("text", SAME_AS_WEEK_46)
def test_the_same_records_by_other_words_have_paid_already(text: str) -> None:
    visits = opened()
    visits.filter("week = 46").count(share=1)
    with pytest.raises(BudgetExhausted):
        visits.filter(text).count(share="1/100")


def test_fixed_columns_are_those_of_one_relation(tmp_path: Path) -> None:
    """A row of week 45 that another relation shows as one of week 46 would be asked about twice."""
    with duckdb.connect() as database:
        database.execute("CREATE TABLE held AS SELECT unnest([45, 46]) AS week")
        plain, moved, grown = (
            database.sql(f"SELECT {week} AS week FROM held WHERE {kept}")
            for week, kept in (("week", "TRUE"), ("week + 1", "TRUE"), ("week", "week < 99"))
        )
        options: dict[str, Any] = {"policy": "1", "name": "visits", "immutable": ["week"]}
        for place, (first, second) in enumerate([(plain, moved), (moved, plain), (moved, grown)]):
            path = tmp_path / f"{place}.ledger"
            prdp.open(first, ledger=path, **options).filter("week = 46").count(share=1)
            assert prdp.open(first, ledger=path, policy="1", name="visits").filter("week = 45").remaining == 1
            with pytest.raises(LedgerError, match="source: "):
                prdp.open(second, ledger=path, **options)
        free = tmp_path / "free.ledger"
        for relation in (plain, moved):  # the question's text tells relations apart where all is everybody's
            prdp.open(relation, ledger=free, policy="1", name="visits").count(share="1/4")
        assert DurableLedger(free).remaining == Fraction(1, 2)


@pytest.mark.slow
def test_processes_that_begin_a_ledger_with_different_fixed_columns_agree_or_are_refused(
    place: Place,
) -> None:
    """Whoever is first binds it; others are refused, or take what is bound if they say nothing."""
    fork = multiprocessing.get_context("fork")
    for turn in range(5):
        barrier, reported = fork.Barrier(6), fork.SimpleQueue()

        def begin(
            immutable: list[str] | None, turn: int = turn, barrier: Any = barrier, reported: Any = reported
        ) -> None:
            barrier.wait(60)
            try:
                reported.put(opened(place.beside(str(turn)).given, immutable=immutable).ledger.immutable)
            except LedgerError:
                reported.put(None)

        choices: list[list[str] | None] = [["week"], ["day"], ["day", "week"], None, ["week"], ["day"]]
        racers = [fork.Process(target=begin, args=(immutable,)) for immutable in choices]
        for racer in racers:
            racer.start()
        found = [reported.get() for _ in racers]
        for racer in racers:
            racer.join()
        bound = DurableLedger(place.beside(str(turn)).given).immutable
        assert set(found) - {None} == {bound}


def test_links_and_graphs_that_grow_have_snapshots_too(tmp_path: Path) -> None:
    people = prdp.graphs.Records(pyarrow.table({"id": [1, 2]}), "id", "1")
    rows = pyarrow.table({"who": [1, 2], "whom": [2, 1]})
    for snapshot in ("2026-W45", "2026-W46"):
        options: dict[str, Any] = {"name": "calls", "snapshot": snapshot}
        links = prdp.graphs.open_links(
            rows,
            records={"who": people},
            max_rows=2,
            ledger=tmp_path / "l.ledger",
            separate_account=True,
            **options,
        )
        graph = prdp.graphs.open(
            rows,
            source="who",
            target="whom",
            nodes=[1, 2],
            policy="1",
            ledger=tmp_path / "g.ledger",
            separate_account=True,
            **options,
        )
        links.count(share="1/4")
        graph.edges(share="1/4")
    for opened_last in (links, graph):
        texts = [json.loads(entry.purpose) for entry in opened_last.ledger.entries]
        assert [text["snapshot"] for text in texts] == ["2026-W45", "2026-W46"]
        assert opened_last.remaining == Fraction(1, 2)
