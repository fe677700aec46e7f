"""Joins of several private tables: who is used by which result, and what one record can change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.errors import EngineFailure, InvalidRequest, LedgerError
from prdp.graphs import links as links_module
from prdp.mechanisms.truncate import CutCandidates, candidate_points
from prdp.testing import simulate
from tests.reading import found

Person = tuple[int | None, float | None]
Visit = tuple[int | None, int | None]


def cut_of(links: prdp.graphs.Links) -> Any:
    return found(links, links.plan(prdp.count(), "1"))


def people(rows: Sequence[Person], at_least: str = "1/4") -> prdp.graphs.Records:
    source = pyarrow.table(
        {
            "id": pyarrow.array([row[0] for row in rows], pyarrow.int64()),
            "eps": pyarrow.array([row[1] for row in rows], pyarrow.float64()),
        }
    )
    return prdp.graphs.Records(source, "id", prdp.Policy.column("eps", at_least=at_least, at_most="16"))


def visits(rows: Sequence[Visit]) -> pyarrow.Table:
    return pyarrow.table(
        {
            "patient": pyarrow.array([row[0] for row in rows], pyarrow.int64()),
            "doctor": pyarrow.array([row[1] for row in rows], pyarrow.int64()),
            "cost": pyarrow.array([10 * place for place in range(len(rows))], pyarrow.int64()),
        }
    )


def opened(
    patients: Sequence[Person], doctors: Sequence[Person], rows: Sequence[Visit], **options: Any
) -> prdp.graphs.Links:
    records = {"patient": people(patients), "doctor": people(doctors, at_least="1")}
    chosen: dict[str, Any] = {"records": records, "max_rows": 100, "name": "visits"} | options
    return prdp.graphs.open_links(visits(rows), **chosen)


keys = st.none() | st.integers(1, 3)
budgets = st.sampled_from([None, math.nan, 0.1, 0.3, 1.0, 2.0, 30.0])
persons = st.lists(st.tuples(keys, budgets), max_size=4)


@settings(max_examples=20)
@given(patients=persons, doctors=persons, rows=st.lists(st.tuples(keys, keys), max_size=8))
def test_a_result_uses_one_record_of_each_table(
    patients: list[Person], doctors: list[Person], rows: list[Visit]
) -> None:
    def valid(table: list[Person], least: float) -> set[int]:
        named = {key for key, _ in table if key is not None}
        return {key for key in named if all(_at_least(eps, least) for k, eps in table if k == key)}

    some, others = valid(patients, 0.25), valid(doctors, 1.0)
    cut = cut_of(opened(patients, doctors, rows))
    used = [(p, d) for p, d in rows if p in some and d in others]
    assert cut.results.total() == len(used)
    loads = sorted(
        [sum(p == key for p, _ in used) for key in some] + [sum(d == key for _, d in used) for key in others]
    )
    assert sorted(cut.results.loads().tolist()) == loads


def _at_least(eps: float | None, least: float) -> bool:
    return eps is not None and not math.isnan(eps) and eps >= least


a_record_less = given(
    patients=st.lists(st.sampled_from([0.3, 1.0, 5.0]), min_size=3, max_size=3),
    doctors=st.lists(st.sampled_from([1.0, 2.0, 16.0]), min_size=3, max_size=3),
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12),
    gone=st.integers(0, 2),
)


@pytest.mark.slow
@settings(max_examples=8)
@a_record_less
def test_a_record_of_either_table_changes_the_cut_count_and_the_scan_as_little_as_it_may(
    patients: list[float], doctors: list[float], rows: list[Visit], gone: int
) -> None:
    refuse_larger_changes(patients, doctors, rows, gone)


@pytest.mark.slow
@settings(max_examples=60)
@a_record_less
def test_a_record_of_either_table_changes_as_little_in_many_tables(
    patients: list[float], doctors: list[float], rows: list[Visit], gone: int
) -> None:
    refuse_larger_changes(patients, doctors, rows, gone)


def refuse_larger_changes(patients: list[float], doctors: list[float], rows: list[Visit], gone: int) -> None:
    """Fail where a record less changes more than its budget allows."""
    tables: list[list[Person]] = [list(enumerate(patients)), list(enumerate(doctors))]
    whole = cut_of(opened(tables[0], tables[1], rows))
    points = candidate_points(whole, 3)
    lattice = 1 << 10
    for which, budgets_of in enumerate((patients, doctors)):
        fewer = [
            table if place != which else [row for row in table if row[0] != gone]
            for place, table in enumerate(tables)
        ]
        without = cut_of(opened(fewer[0], fewer[1], rows))
        quanta = whole.levels.quanta(whole.levels.index(budgets_of[gone]) or 0)
        for point in points[::2]:
            move = whole.value(point) - without.value(point)
            assert -whole.slack(point) <= move <= quanta * point + whole.slack(point)
        scans = [CutCandidates(cut, Fraction(1)).masses(4, lattice) for cut in (whole, without)]
        own = quanta // lattice
        for after, before in zip(*scans, strict=True):
            assert -own <= 2 * (after - before) <= 2 * own


def test_one_table_may_be_named_twice_and_a_record_named_twice_is_used_once() -> None:
    persons = people([(1, 2.0), (2, 2.0), (3, 8.0)])
    messages = visits([(1, 2), (2, 1), (3, 3), (1, 9), (None, 1)])
    links = prdp.graphs.open_links(messages, records={"patient": persons, "doctor": persons}, max_rows=10)
    cut = cut_of(links)
    assert cut.results.total() == 3
    assert sorted(cut.results.loads().tolist()) == [1, 2, 2]


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT"])
@pytest.mark.parametrize("of_column", [True, False])
def test_a_collation_of_the_callers_makes_no_two_records_one(collation: str, of_column: bool) -> None:
    """Neither the budget of a record nor whether it is named depends on another of a similar name."""
    connection = duckdb.connect()
    kind = f"VARCHAR COLLATE {collation}" if of_column else "VARCHAR"
    if not of_column:
        connection.execute(f"SET default_collation = '{collation}'")
    connection.execute(f"CREATE TABLE person (id {kind}, eps DOUBLE)")
    connection.execute(
        "INSERT INTO person VALUES ('a', 1), ('A', 16), ('\u00e4', -1), ('o', 4), ('\u00f6', 2)"
    )
    connection.execute(f"CREATE TABLE visit (who {kind})")
    connection.execute("INSERT INTO visit VALUES ('A'), ('A'), ('A'), ('a'), ('\u00e4'), ('\u00f6'), ('O')")
    policy = prdp.Policy.column("eps", at_least="1/4", at_most="16")
    who = prdp.graphs.Records(connection.table("person"), "id", policy)
    cut = cut_of(prdp.graphs.open_links(connection.table("visit"), records={"who": who}, name="visits"))
    levels = [cut.levels.index(budget) for budget in (1.0, 16.0, 4.0, 2.0)]
    found = sorted(zip(cut.level.tolist(), cut.results.loads().tolist(), strict=True))
    assert found == sorted(zip(levels, [1, 3, 0, 1], strict=True))


def test_one_table_cannot_be_declared_as_two(tmp_path: Path) -> None:
    """Its records would be two each, and pay for a row that names them twice with two budgets."""
    one = people([(1, 2.0)])
    twin = prdp.graphs.Records(one.source, "id", one.policy)
    with pytest.raises(InvalidRequest, match="one source"):
        opened([], [], [], records={"patient": one, "doctor": twin})
    file = tmp_path / "persons.csv"
    file.write_text("id,eps\n1,2.0\n")
    types = {"id": "BIGINT", "eps": "DOUBLE"}
    files = [
        prdp.graphs.Records(path, "id", one.policy, types=types)
        for path in (file, str(tmp_path / ".." / tmp_path.name / "pers*.csv"))
    ]
    with pytest.raises(InvalidRequest, match=r"persons\.csv"):
        opened([], [], [], records={"patient": files[0], "doctor": files[1]})
    assert opened([], [], [], records={"patient": files[0], "doctor": files[0]}).ledger.remaining == 1


@pytest.mark.parametrize("failure", [MemoryError, ValueError, RecursionError])
def test_a_failure_after_the_charge_says_nothing_of_the_records(
    failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise failure("shape (10000019,)")

    monkeypatch.setattr(links_module, "read_links", fails)
    links = opened([(1, 1.0)], [(1, 1.0)], [(1, 1)])
    with pytest.raises(EngineFailure) as caught:
        links.count(share="1/2")
    assert str(caught.value) == str(EngineFailure())
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert links.ledger.remaining == Fraction(1, 2)
    monkeypatch.undo()
    links.count(share="1/2")
    assert links.ledger.remaining == Fraction(1, 2)


def test_an_interrupted_answer_stays_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(links_module, "read_links", stops)
    with pytest.raises(KeyboardInterrupt):
        opened([], [], []).count(share="1/2")


def test_counts_come_close_to_the_truth_and_cost_what_they_say() -> None:
    patients: list[Person] = [(key, 16.0) for key in range(400)]
    doctors: list[Person] = [(key, 16.0) for key in range(100)]
    rows: list[Visit] = [(key, (7 * key + jump) % 100) for key in range(400) for jump in range(5)]
    links = opened(patients, doctors, rows)
    assert links.count(share="1/2").value == pytest.approx(2000, rel=0.1)
    assert links.filter("cost >= 10000").count(share="1/4").value == pytest.approx(1000, rel=0.3)
    assert links.ledger.remaining == Fraction(1, 4)
    made_up = opened(patients, doctors, rows, synthetic=True)
    (release,) = simulate(made_up, prdp.count(), share="1/2", runs=1, seed=1)
    assert release.value == pytest.approx(2000, rel=0.1)


def test_empty_tables_are_answered() -> None:
    low, high = opened([], [], []).count(share="1").interval("999999/1000000")
    assert low <= 0 <= high


def test_a_ledger_file_is_bound_to_the_policies(tmp_path: Path) -> None:
    file = tmp_path / "visits.ledger"
    first = opened([(1, 1.0)], [(1, 1.0)], [(1, 1)], ledger=file).count(share="1/2")
    assert opened([(1, 1.0)], [(1, 1.0)], [(1, 1)], ledger=file).count(share="1/2") == first
    other = {"patient": people([], at_least="1/8"), "doctor": people([], at_least="1")}
    with pytest.raises(LedgerError, match="records of patient"):
        opened([], [], [], ledger=file, records=other)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"records": {}}, "needs a prdp.graphs.Records"),
        ({"records": {"patient": "people.parquet"}}, "needs a prdp.graphs.Records"),
        ({"records": dict.fromkeys(map(str, range(65)), people([]))}, "at most 64"),
        ({"records": {"patients": people([])}}, "Did you mean 'patient'"),
        (
            {
                "records": {
                    "patient": prdp.graphs.Records(
                        pyarrow.table({"id": ["a"]}), "id", prdp.Policy.constant("1")
                    )
                }
            },
            "VARCHAR",
        ),
        (
            {"records": {"patient": prdp.graphs.Records(pyarrow.table({"id": [1]}), "id", [1])}},  # type: ignore[arg-type]
            "not a policy",
        ),
        (
            {
                "records": {
                    "patient": prdp.graphs.Records(
                        pyarrow.table({"id": [1]}), "key", prdp.Policy.constant("1")
                    )
                }
            },
            "'key'",
        ),
        ({"max_rows": 0}, "not a number of rows"),
        ({"name": 4}, "no name"),
    ],
)
def test_what_public_facts_show_to_be_wrong_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        opened([], [], [], **options)


def test_only_counts_are_answered() -> None:
    with pytest.raises(InvalidRequest, match="are counted"):
        opened([], [], []).plan(prdp.sum("cost"), "1")  # type: ignore[arg-type]


def test_the_framework_counts_rows_of_the_records_that_it_keeps() -> None:
    patients = doctors = [(key, 16.0) for key in range(1, 301)]
    rows = [(key, key) for key, _ in patients]
    links = opened(patients, doctors, rows, synthetic=True)
    printed = prdp.methods.Framework(split="1/2", beta="1/20")
    assert links.plan(prdp.count(), "1", printed).queries[0].options == {"beta": "1/20", "split": "1/2"}
    releases = simulate(links, prdp.count(), share=1, method=printed, runs=40, seed=1)
    middle = sorted(float(release.exact) for release in releases)[20]
    assert abs(middle / len(rows) - 1) < 0.1
    with pytest.raises(InvalidRequest, match="clip"):
        links.count(share="1/4", method="clip")


def test_rows_that_name_a_dropped_record_are_not_kept() -> None:
    links = opened([(1, 0.3), (2, 16.0), (3, 16.0)], [(1, 16.0)], [(1, 1), (2, 1), (3, 1), (2, 1)])
    used = found(links, links.plan(prdp.count(), "1", "framework"))
    assert used.level.size == 4
    kept = [used.from_level(least).results.total() for least in (0, 8, 40)]
    assert kept == [4, 3, 3]
    assert set(used.from_level(8).level.tolist()) == {8}


def test_a_mechanism_of_the_caller_s_sees_rows_as_lists_of_numbered_records() -> None:
    given: list[list[list[int]]] = []

    def count(kept: pyarrow.Table, epsilon: Fraction, beta: Fraction) -> int:
        given.append(kept["records"].to_pylist())
        return len(kept)

    rows = [(1, 1), (2, 1), (2, None), (9, 1)]
    links = opened([(1, 16.0), (2, 16.0)], [(1, 16.0)], rows)
    release = links.run(count, share="1")
    assert release.value == len(given[0])
    if given[0]:  # the domain is drawn; where both rows are kept they share the doctor
        assert len(given[0]) == 2
        assert len(set(given[0][0]) & set(given[0][1])) == 1
        assert {record for row in given[0] for record in row} == {0, 1, 2}
