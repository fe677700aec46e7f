"""An engine of one's own: opened in place of a source, held to the contract, and caught when it is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow
import pytest

import prdp
from prdp.cells.summary import KeySummary, Summary
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest
from prdp.plan.queries import Query
from prdp.plan.reads import CellRead, KeyRead, RowRead
from prdp.schema import ColumnType, Kind
from prdp.testing import simulate
from prdp.testing.engine_contract import PERSONAL, EngineContract
from prdp.testing.engine_records import UNITS, record_of
from tests.engines.python_engine import COLUMNS, PythonEngine

Records = Sequence[Mapping[str, Any]]

RECORDS = [
    record_of(eps=1 + k % 7, v=k * k % 1000, x=k / 8, job=("clerk", "chef", None)[k % 3]) for k in range(400)
]


class TestPython(EngineContract):
    kind: type[PythonEngine] = PythonEngine

    def engine(self, records: Records) -> PythonEngine:
        return self.kind(records)

    def lost(self, records: Records) -> PythonEngine:
        engine = self.kind(records)
        engine.records = None
        return engine

    def changed(self, records: Records) -> PythonEngine:
        engine = self.kind(records)
        engine.columns = {**COLUMNS, "new": ColumnType(Kind.TEXT)}
        return engine


class DropsWhatIsNull(PythonEngine):
    """Leaves the cells of records without a value out, as a GROUP BY that drops NULL would."""

    def summarise(self, reading: CellRead) -> tuple[Summary, ...]:
        return tuple(summary.valued() for summary in super().summarise(reading))


class DropsEmptyGroups(PythonEngine):
    """Returns the groups that have records alone: which ones do is then told."""

    def summarise(self, reading: CellRead) -> tuple[Summary, ...]:
        return tuple(summary for summary in super().summarise(reading) if summary.cells)


class LowersARow(PythonEngine):
    """Says of one row that its level is the one below."""

    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        rows, (first, *others) = super().rows(reading)
        return rows, pyarrow.array([first.as_py() - 1, *(level.as_py() for level in others)])


class HandsOutOneLevelMore(PythonEngine):
    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        return super().rows(replace(reading, least=reading.least - 1))


class HandsOutFilteredRows(PythonEngine):
    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        return super().rows(replace(reading, where=None))


class HandsOutOneColumnMore(PythonEngine):
    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        wider = dict.fromkeys((*reading.columns, "eps"))
        return super().rows(replace(reading, columns=tuple(wider)))


class StopsAtTheFirstRecord(PythonEngine):
    """Takes a value's level from the first record that has it."""

    def top_levels(self, reading: KeyRead) -> tuple[Summary, ...]:
        firsts = {record[reading.column]: record for record in reversed(self._read())}
        return PythonEngine(list(firsts.values())).top_levels(reading)


class CountsByOrder(PythonEngine):
    """Forgets whatever record comes last."""

    def key_totals(self, reading: KeyRead) -> tuple[KeySummary, ...]:
        return PythonEngine(self._read()[:-1]).key_totals(reading)


class Silent(PythonEngine):
    def ensure_there(self) -> None:
        """Say nothing, whatever has become of the source."""


class Talkative(PythonEngine):
    def __init__(self, records: Records) -> None:
        super().__init__(records)
        self.size = len(records)

    def ensure_there(self) -> None:
        if self.records is None:
            raise InvalidRequest(f"a list of {self.size} records is gone.")


GONE = "test_a_source_that_is_gone_or_has_other_columns_is_refused_before_any_charge"
ROWS = "test_rows_are_handed_out_with_their_levels_and_no_others"


@pytest.mark.parametrize(
    ("twin", "test"),
    [
        (DropsWhatIsNull, "test_whole_values_of_every_size_land_in_a_cell_that_contains_them"),
        (DropsEmptyGroups, "test_public_groups_hold_the_records_of_their_keys_and_no_others"),
        (LowersARow, ROWS),
        (HandsOutOneLevelMore, ROWS),
        (HandsOutFilteredRows, ROWS),
        (HandsOutOneColumnMore, ROWS),
        (StopsAtTheFirstRecord, "test_each_value_is_at_the_highest_level_of_its_records"),
        (CountsByOrder, "test_nothing_depends_on_the_order_of_the_rows"),
        (Silent, GONE),
        (Talkative, GONE),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_the_contract_catches_an_engine_that_is_wrong(twin: type[PythonEngine], test: str) -> None:
    contract = TestPython()
    contract.kind = twin
    with pytest.raises(AssertionError):
        getattr(contract, test)()


OF_OWNERS = [prdp.count(), prdp.sum("v"), prdp.mean("v"), prdp.max("v")]
ASKED = [*OF_OWNERS, prdp.quantile("v", "1/2"), prdp.count_distinct("v"), prdp.variance("v")]


def both_ways(privacy_unit: str | None) -> tuple[prdp.Table, prdp.Table]:
    """Return the same records, read by an engine of one's own and from a frame."""
    options: dict[str, Any] = {"policy": PERSONAL, "bounds": {"v": (0, 1000)}, "privacy_unit": privacy_unit}
    frame = pyarrow.Table.from_pylist(RECORDS)
    own = prdp.open(engine=PythonEngine(RECORDS), synthetic=True, **options)
    return own, prdp.open(frame, synthetic=True, **options)


@pytest.mark.parametrize(
    ("query", "privacy_unit"),
    [*((query, None) for query in ASKED), *((query, "job") for query in OF_OWNERS)],
    ids=str,
)
def test_an_engine_of_one_s_own_gives_the_answers_of_a_source_with_the_same_records(
    query: Query, privacy_unit: str | None
) -> None:
    found, expected = (simulate(table, query, runs=3, seed=5) for table in both_ways(privacy_unit))
    assert [answer.value for answer in found] == [answer.value for answer in expected]


@pytest.mark.parametrize("privacy_unit", [None, "v"])
def test_an_engine_of_one_s_own_gives_the_answers_of_a_source_in_groups_too(privacy_unit: str | None) -> None:
    found, expected = (
        simulate(table.group_by("job", keys=["clerk", "nobody"]), prdp.sum("v"), runs=3, seed=5)
        for table in both_ways(privacy_unit)
    )
    assert found == expected


def test_a_table_of_an_engine_is_called_a_table() -> None:
    assert prdp.open(engine=PythonEngine([]), policy=PERSONAL).name == "table"


def test_a_mechanism_of_one_s_own_sees_the_rows_of_an_engine_of_one_s_own() -> None:
    table = prdp.open(engine=PythonEngine(RECORDS), policy=prdp.Policy.constant(1))
    seen = table.filter("v < 500").run(
        lambda rows, epsilon, beta: sorted(rows.column("v").to_pylist()), columns=["v"], share="1/10"
    )
    assert seen.value == sorted(record["v"] for record in RECORDS if record["v"] < 500)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "give a source, such as 'accounts.parquet', or engine="),
        ({"source": "t.parquet", "engine": PythonEngine([])}, "exclude each other"),
        ({"engine": PythonEngine([]), "types": {"v": "BIGINT"}}, "types= is for a source"),
        ({"engine": PythonEngine([]), "rows_are_records": True}, "rows_are_records= is for a source"),
        ({"engine": PythonEngine}, "is a class: give an object of it"),
        ({"engine": "t.parquet"}, "none of prdp's engines.*given as the source"),
        (
            {"engine": PythonEngine([], {"v": COLUMNS["v"], "V": COLUMNS["v"]})},
            "except for upper and lower case",
        ),
    ],
)
def test_what_cannot_be_opened_as_an_engine_is_refused_in_words_that_help(
    options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        prdp.open(policy=PERSONAL, **options)


def test_a_frame_that_is_given_as_an_engine_is_refused_without_a_word_of_its_records() -> None:
    frame: Any = pyarrow.table({"job": ["spy"]})
    with pytest.raises(InvalidRequest, match="Table has no 'name'") as caught:
        prdp.open(engine=frame, policy=PERSONAL)
    assert "spy" not in str(caught.value)


def test_keys_are_taken_as_public_where_an_engine_s_origin_is_unknown() -> None:
    engine: Engine = PythonEngine(UNITS)
    groups = prdp.open(engine=engine, policy=PERSONAL).group_by("job", keys=["clerk", "nobody"])
    assert groups.count(share="1/10").keys == (("clerk",), ("nobody",))
