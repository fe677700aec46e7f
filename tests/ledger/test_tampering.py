"""A ledger that was rolled back, forged or damaged gives no budget back: it is refused, or says the same."""

from __future__ import annotations

import multiprocessing
import pickle
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from prdp.errors import LedgerError
from prdp.ledger import Charge, DurableLedger, Notes
from prdp.ledger.layout import COLUMNS, insertion
from tests.ledger.places import FilePlace, Place, PostgresPlace, forge, hashes_of, new_place
from tests.ledger.tampering import (
    ASKED,
    FACTS,
    WEEKS,
    answer,
    as_a_new_process,
    edits,
    facts_of,
    filled,
    flip_bits,
    is_refused,
    misuse,
    other,
    rehashed,
    rows_of,
    tampered,
)
from tests.postgres import PostgresServer

pytestmark = pytest.mark.slow

FLIPS = 250
FORK = multiprocessing.get_context("fork")


def rolled_back(ledger: DurableLedger, place: Place) -> None:
    """Copy a ledger, charge it once more, and put the copy in its place."""
    early = place.beside("early")
    ledger.backup(early.given)
    ledger.charge("newer", ASKED)
    place.put_back(early)


@pytest.mark.parametrize("binding", [FACTS, FACTS.__class__({"name": "t"})], ids=["by region", "plain"])
def test_a_process_refuses_an_older_copy_of_a_ledger_that_it_has_open(place: Place, binding: Any) -> None:
    ledger = DurableLedger.opened(place.given, binding)
    ledger.charge("first", ASKED)
    rolled_back(ledger, place)
    uses: list[Callable[[], object]] = [
        lambda: ledger.remaining,
        lambda: ledger.entries,
        lambda: ledger.standing("first", ASKED),
        lambda: ledger.charge("newer", ASKED),
        lambda: ledger.set_quota("ana", "1/2"),
        lambda: ledger.record(Charge(0, "first"), answer(1)),
        lambda: DurableLedger(place.given),
        lambda: DurableLedger.opened(place.given, binding),
    ]
    for use in uses:
        with pytest.raises(LedgerError, match="put back to an older state or replaced"):
            use()


def test_another_object_of_the_process_refuses_the_older_copy_too(place: Place) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    other = DurableLedger(place.given)
    rolled_back(ledger, place)
    with pytest.raises(LedgerError, match="put back to an older state"):
        other.charge("newer", ASKED)


def test_an_older_copy_that_has_grown_since_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    rolled_back(ledger, place)
    as_a_new_process(monkeypatch)
    elsewhere = DurableLedger(place.given)
    for turn in range(3):
        elsewhere.charge(f"other {turn}", Fraction(1, 10))
        with pytest.raises(LedgerError, match="rows that it has seen differ"):
            ledger.charge("newer", ASKED)


@pytest.mark.parametrize("way", ["pickle", "fork"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_what_was_seen_goes_with_a_ledger_to_another_process(
    place: Place, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    early = place.beside("early")
    ledger.backup(early.given)
    ledger.charge("newer", ASKED)
    sent = pickle.dumps(ledger)
    place.put_back(early)
    if way == "pickle":
        as_a_new_process(monkeypatch)
        assert is_refused(lambda: pickle.loads(sent))  # noqa: S301  (our own)
        return
    refused = FORK.Value("b", 0)

    def charge() -> None:
        refused.value = is_refused(lambda: ledger.charge("again", ASKED))

    process = FORK.Process(target=charge)
    process.start()
    process.join(120)
    assert refused.value == 1


def test_a_head_that_was_kept_elsewhere_shows_a_rollback_between_processes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    ledger.charge("first", ASKED)
    early = ledger.head
    copy = place.beside("early")
    ledger.backup(copy.given)
    ledger.charge("newer", ASKED)
    late = ledger.head
    ledger.charge("newest", ASKED)
    for head in (early, late):
        assert DurableLedger(place.given, expected_head=head).remaining == 1 - 3 * ASKED
    place.put_back(copy)
    as_a_new_process(monkeypatch)
    assert DurableLedger(place.given, expected_head=early).remaining == 1 - ASKED
    odd: list[Any] = [late, "", early[:-1], early.upper(), 5]
    for head in odd:
        with pytest.raises(LedgerError, match="no row has the expected head"):
            DurableLedger(place.given, expected_head=head)


def test_a_charge_that_another_thread_makes_while_a_ledger_is_opened_is_no_rollback(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = DurableLedger.opened(place.given, FACTS)
    storage = type(ledger._storage)
    checked = storage.checked

    def interrupted(self: Any, work: Any) -> Any:
        found = checked(self, work)
        ledger.charge("meanwhile", ASKED)
        return found

    monkeypatch.setattr(storage, "checked", interrupted)
    assert DurableLedger(place.given).remaining == 1 - ASKED


def test_a_file_s_copy_by_the_shell_is_refused_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    ledger = DurableLedger.opened(path, FACTS)
    shutil.copy(path, tmp_path / "kept")
    ledger.charge("a", ASKED)
    path.write_bytes((tmp_path / "kept").read_bytes())  # the same file, with older bytes
    with pytest.raises(LedgerError, match="put back to an older state"):
        ledger.charge("b", ASKED)


@pytest.mark.slow
def test_a_dump_that_is_restored_is_refused_by_a_process_that_has_seen_more(
    tmp_path: Path, postgres: str, postgres_server: PostgresServer
) -> None:
    place = new_place("postgres", tmp_path, lambda: postgres)
    assert isinstance(place, PostgresPlace)
    ledger = DurableLedger.opened(place.given, FACTS)
    ledger.charge("a", ASKED)
    dumped = subprocess.run(
        [postgres_server.programs / "pg_dump", place.database, "--schema", place.schema],
        capture_output=True,
        check=True,
    ).stdout
    ledger.charge("b", ASKED)
    place.remove()
    subprocess.run(
        [postgres_server.programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", place.database],
        input=dumped,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for use in (lambda: ledger.charge("c", ASKED), lambda: DurableLedger(place.given)):
        with pytest.raises(LedgerError, match="put back to an older state"):
            use()


def test_no_edit_deletion_or_swap_of_rows_gives_budget_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every column of every row of every table; a new column is in it by its layout.

    That the newest row of all is gone, only who has seen it or keeps the head can know.
    """
    ledger = filled(place)
    before, head, rows = facts_of(ledger), ledger.head, rows_of(place)
    newest = f"delete charges {len(rows['charges']) - 1}"
    names = []
    for name, statements in edits(rows):
        names.append(name)
        with tampered(place, statements):
            assert misuse(ledger, before) == "", name
            as_a_new_process(monkeypatch)
            assert is_refused(lambda: DurableLedger(place.given, expected_head=head)), name
            assert is_refused(lambda: DurableLedger(place.given)) == (name != newest), name
    edited = {name.split()[1] for name in names if name.startswith("edit")}
    assert edited == {f"{table}.{column}" for table, columns in COLUMNS.items() for column in columns}
    assert {name.split()[1] for name in names if name.startswith("swap")} == set(COLUMNS)
    assert facts_of(DurableLedger(place.given)) == before


def test_every_column_holds_a_value_in_the_ledger_that_is_tampered_with(tmp_path: Path) -> None:
    place = FilePlace(tmp_path / "t.ledger")
    filled(place)
    for table, columns in COLUMNS.items():
        for column in columns:
            assert place.run(f"SELECT 1 FROM {table} WHERE {column} IS NOT NULL"), f"{table}.{column}"


def test_whoever_edits_a_row_and_hashes_all_rows_anew_is_refused_by_who_has_seen_them_or_their_head(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = filled(place)
    before, head, rows = facts_of(ledger), ledger.head, rows_of(place)
    for table, columns in COLUMNS.items():
        row = rows[table][-2]
        for column, value in zip(columns[:-2], row.values, strict=False):
            name = f"{table}.{column}"
            with tampered(place, rehashed(rows, table, row.values[0], column, other(value))):
                assert misuse(ledger, before) == "", name
                as_a_new_process(monkeypatch)
                assert is_refused(lambda: DurableLedger(place.given, expected_head=head)), name


@contextmanager
def role(place: PostgresPlace, name: str) -> Iterator[PostgresPlace]:
    """Make a role with the rights that docs/ledger.md gives to analysts; yield the place as it sees it."""
    place.run(
        f"CREATE ROLE {name} LOGIN",
        f"GRANT USAGE ON SCHEMA {place.schema} TO {name}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {place.schema} TO {name}",
        f"GRANT INSERT ON charges, releases TO {name}",
    )
    yield PostgresPlace(place.database.replace("postgres:@", f"{name}@"), place.name)
    place.run(f"DROP OWNED BY {name}", f"DROP ROLE {name}")


@pytest.mark.slow
def test_rows_that_a_role_with_insert_forges_are_refused_or_are_charges_like_any_other(
    tmp_path: Path, postgres: str
) -> None:
    place = new_place("postgres", tmp_path, lambda: postgres)
    assert isinstance(place, PostgresPlace)
    ledger = filled(place)
    before, rows = facts_of(ledger), rows_of(place)
    with role(place, "forger") as forging:
        for table in ("charges", "releases"):
            for row in rows[table]:
                fields = (len(rows[table]), *row.values[1:-2])
                for at, last in ((len(hashes_of(place)), ""), (-1, row.hash), (10**6, row.hash)):
                    with tampered(place, []):
                        forging.insert(insertion(table), (*fields, at, last))
                        assert misuse(ledger, before) == ""
        for table in ("facts", "quotas"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                forging.insert(insertion(table), rows[table][0].values)
        forged = (len(rows["charges"]), "mine", "1/10", "eve", "", "", *(None,) * 5)
        forge(forging, "charges", *forged)
    assert ledger.remaining == before.remaining[0] - Fraction(1, 10)
    assert ledger.remaining == DurableLedger(place.given).remaining


def test_no_flipped_bit_of_a_file_gives_budget_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = FilePlace(tmp_path / "t.ledger")
    ledger = filled(place)
    counts = flip_bits(place.given, ledger, 1, FLIPS, monkeypatch)
    assert counts["misused"] == []
    assert counts["refused opening"] > FLIPS / 10
    assert counts["harmless"] > FLIPS / 10, "bytes that nothing is kept in"
    assert ledger.remaining_in(WEEKS[0]) == 1 - 2 * ASKED


def test_a_text_that_is_not_utf_8_is_called_damage(tmp_path: Path) -> None:
    place = FilePlace(tmp_path / "t.ledger")
    ledger = DurableLedger.opened(place.given, FACTS)
    ledger.charge("a question of some length", ASKED)
    content = place.given.read_bytes()
    at = content.index(b"question of some")
    place.given.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
    for use in (lambda: DurableLedger(place.given), lambda: ledger.charge("b", ASKED)):
        with pytest.raises(LedgerError, match="is damaged"):
            use()


def test_a_charge_that_another_process_made_is_verified_and_counts(place: Place) -> None:
    ledger, other = filled(place), DurableLedger(place.given)
    other.charge("more", ASKED, notes=Notes(WEEKS[3]))
    assert ledger.remaining_in(WEEKS[3]) == 1 - 2 * ASKED
    assert ledger.head == other.head == hashes_of(place)[-1]


@pytest.mark.parametrize("kind", ["file", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_copy_has_the_same_head(
    place: Place, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    ledger = filled(place)
    copy = new_place(kind, tmp_path, lambda: str(request.getfixturevalue("postgres"))).beside("copy")
    ledger.backup(copy.given)
    assert DurableLedger(copy.given).head == ledger.head
