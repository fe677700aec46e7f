"""Values that one row alone holds: they are read, or NULL, and change nothing about other rows."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

import prdp
from prdp.declare.groups import date_trunc, read_grouping
from prdp.engines.duckdb.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.testing.engine_contract import PERSONAL
from tests.engines import kept

TYPES = {"v": "BIGINT", "x": "DOUBLE", "job": "VARCHAR", "ok": "BOOLEAN"}
GOOD = '{"v": 1, "x": 0.5, "job": "clerk", "ok": true}'
READ = (1, 0.5, "clerk", True)
NOTHING = (None, None, None, None)


def found(path: Path, types: Mapping[str, str] = TYPES) -> Counter[tuple[Any, ...]]:
    return Counter(open_source(path, types).rows_of("SELECT * FROM prdp_records"))


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("", None),
        ("   ", None),
        ("{", None),
        ('{"v": 1', None),
        ("[1, 2]", None),
        ("17", None),
        ("null", None),
        ('"v"', None),
        ('{"job": "\\ud800"}', None),
        ('{"v": 1} {"v": 2}', None),
        ("[" * 100_000, None),
        ("{}", NOTHING),
        ('{"V": 1, "other": [1, {"v": 2}]}', NOTHING),
        ('{"v": "oops", "x": {}, "job": null, "ok": 2.5}', NOTHING),
        ('{"v": "12", "x": "0.25", "job": 7, "ok": "false"}', (12, 0.25, "7", False)),
        ('{"v": 9223372036854775807, "x": 1e308}', (2**63 - 1, 1e308, None, None)),
        ('{"v": 9223372036854775808, "x": -1e400}', (None, None, None, None)),
        ('{"v": 1, "v": 2}', (1, None, None, None)),
        ('{"job": "a\\nb \\u00e4 \\"q\\""}', (None, None, 'a\nb ä "q"', None)),
    ],
)
def test_a_line_of_json_is_a_record_or_none_and_changes_no_other(
    tmp_path: Path, line: str, read: tuple[Any, ...] | None
) -> None:
    path = tmp_path / "t.jsonl"
    for lines in ([line, GOOD, GOOD], [GOOD, line, GOOD], [GOOD, GOOD, line]):
        for end in ("\n", "\r\n"):
            path.write_bytes(end.join([*lines, ""]).encode())
            expected = Counter([READ, READ] if read is None else [READ, READ, read])
            records = found(path)
            if "1e400" in line:  # no double holds it: infinite, or NULL, to versions of the engine
                assert records[READ] == 2
                assert records.total() == 3
            else:
                assert records == expected


def test_json_lines_may_be_packed_have_a_mark_at_their_start_and_bytes_that_are_no_text(
    tmp_path: Path,
) -> None:
    text = f"\ufeff{GOOD}\n{GOOD}\n".encode() + b'{"job": "\xff"}\n' + GOOD.encode()
    (tmp_path / "t.ndjson").write_bytes(text)
    (tmp_path / "u.jsonl.gz").write_bytes(gzip.compress(text))
    for path in (tmp_path / "t.ndjson", tmp_path / "u.jsonl.gz"):
        assert found(path) == Counter({READ: 3})


def test_keys_of_json_may_have_any_name_and_types_are_declared(tmp_path: Path) -> None:
    name = 'a/b~c "d" $.e'
    (tmp_path / "t.jsonl").write_text(json.dumps({name: 5, "d": "0.10"}) + "\n")
    assert found(tmp_path / "t.jsonl", {name: "BIGINT"}) == Counter([(5,)])
    with pytest.raises(prdp.InvalidRequest, match=r"types=\{'balance': 'BIGINT'"):
        open_source(tmp_path / "t.jsonl", None)
    with pytest.raises(prdp.InvalidRequest, match="is not a type that prdp reads"):
        open_source(tmp_path / "t.jsonl", {"d": "JSON"})


DECLARED = {
    "whole": "INTEGER",
    "number": "REAL",
    "text": "VARCHAR(20)",
    "day": "DATE",
    "moment": "DATETIME",
    "ok": "BOOLEAN",
    "money": "DECIMAL(10,2)",
    "free": "",
    "doubled": "TEXT GENERATED ALWAYS AS (whole || number) VIRTUAL",
}
PLAIN = (7, 1.5, "clerk", "2025-01-31", "2025-01-31 08:00:00", 1, 12.34, 3)
ODD = ["oops", "", b"\x00\xff", 1.25, 2**63 - 1, -(2**63), float("inf"), None, "7 ", "\ud7ff"]


def sqlite_rows(path: Path, rows: list[tuple[Any, ...]]) -> SqlEngine:
    path.unlink(missing_ok=True)
    columns = ", ".join(f"{name} {kind}" for name, kind in DECLARED.items())
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE accounts ({columns})")
        database.executemany(f"INSERT INTO accounts VALUES ({', '.join('?' * len(PLAIN))})", rows)
        database.commit()
    return open_source(path, None, table="accounts")


def test_a_sqlite_column_is_of_its_declared_type_whatever_a_row_holds(tmp_path: Path) -> None:
    plain = sqlite_rows(tmp_path / "t.sqlite", [PLAIN] * 3)
    assert [kind.native for kind in plain.schema.values()][:7] == [
        *("BIGINT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP", "BOOLEAN", "DECIMAL(10,2)")
    ]
    assert [plain.schema[name].kind for name in ("free", "doubled")] == [Kind.OTHER, Kind.OTHER]
    query = "SELECT * EXCLUDE (free, doubled) FROM prdp_records"
    (usual,) = set(plain.rows_of(query))
    for value in ODD:
        for place in range(len(PLAIN)):
            odd = (*PLAIN[:place], value, *PLAIN[place + 1 :])
            engine = sqlite_rows(tmp_path / "t.sqlite", [PLAIN, odd, PLAIN])
            assert engine.schema == plain.schema
            records = engine.rows_of(query)
            assert len(records) == 3
            assert Counter(records)[usual] >= 2, (value, place)


def test_a_sqlite_value_that_does_not_fit_is_null_and_types_say_what_fits(tmp_path: Path) -> None:
    values = [(value, *PLAIN[1:]) for value in ("oops", 1.25, 2**63 - 1, b"7", None)]
    engine = sqlite_rows(tmp_path / "t.sqlite", values)
    assert engine.rows_of("SELECT whole FROM prdp_records") == [
        (None,),
        (None,),
        (2**63 - 1,),
        (None,),
        (None,),
    ]
    types = {"whole": "DOUBLE", "free": "VARCHAR"}
    stated = open_source(tmp_path / "t.sqlite", types, table="accounts")
    assert stated.rows_of("SELECT whole, free FROM prdp_records")[:2] == [(None, "3"), (1.25, "3")]


def test_a_sqlite_text_that_is_no_utf8_is_read_with_a_mark(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database:
        database.execute("CREATE TABLE t (job TEXT, v INTEGER)")
        database.execute("INSERT INTO t VALUES ('clerk', 1), (CAST(x'61ff62' AS TEXT), 2)")
        database.commit()
    engine = open_source(tmp_path / "t.sqlite", None, table="t")
    assert engine.rows_of("SELECT job FROM prdp_records") == [("clerk",), ("a\ufffdb",)]


BERLIN = timezone(timedelta(hours=1))
MOMENTS = [
    datetime(2025, 1, 1, tzinfo=UTC),
    datetime(2025, 1, 1, 0, 30, tzinfo=BERLIN),
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(9999, 12, 30, tzinfo=UTC),
    None,
]
MADE = pyarrow.table(
    {
        "eps": [1.0] * len(MOMENTS),
        "job": ["clerk"] * len(MOMENTS),
        "ok": [True, False, None, True, True],
        "day": pyarrow.array(MOMENTS, pyarrow.timestamp("us", "UTC")),
    }
)


@pytest.mark.parametrize("form", kept.FORMS)
def test_times_with_a_zone_are_read_in_utc_from_every_source(tmp_path: Path, form: str) -> None:
    engine = kept.FORMS[form](MADE, tmp_path).opened()
    assert engine.schema["day"].kind is Kind.MOMENT
    policy = PERSONAL.within(engine.schema, {})
    years = [datetime(year, 1, 1) for year in (1, 2024, 2025, 9999)]
    groups = read_grouping([date_trunc("year", "day")], years, engine.schema, other=True)
    summaries = engine.summarise(CellRead(policy, policy.levels, {}, None, None, groups))
    assert [summary.records for summary in summaries] == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("form", "unit"),
    [
        *(("feather", unit) for unit in ("s", "ms", "us", "ns")),
        *(("data set", unit) for unit in ("ms", "us", "ns")),  # Parquet has no seconds
    ],
)
def test_a_time_that_the_engine_has_no_room_for_fails_nothing(tmp_path: Path, unit: str, form: str) -> None:
    column = pyarrow.array([0, 2**63 - 1, -(2**63), 2**62, None]).view(pyarrow.timestamp(unit, "UTC"))
    engine = kept.FORMS[form](MADE.set_column(3, "day", column), tmp_path).opened()
    policy = Policy("CASE WHEN day < DATE '2000-01-01' THEN 1 ELSE 2 END", at_least=1, at_most=2)
    read = policy.within(engine.schema, {})
    (summary,) = engine.summarise(CellRead(read, read.levels, {}, None, None))
    assert 1 <= summary.records <= 4


def test_nanoseconds_with_a_zone_are_moments_in_files_too(tmp_path: Path) -> None:
    column = pyarrow.array([0, 1_735_689_600_000_000_000, None]).view(pyarrow.timestamp("ns", "UTC"))
    frame = pyarrow.table({"eps": [1.0] * 3, "day": column})
    pyarrow.parquet.write_table(frame, tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", frame, pyarrow.dataset.dataset(tmp_path / "t.parquet")):
        engine = open_source(source, None)
        policy = PERSONAL.within(engine.schema, {})
        years = [datetime(year, 1, 1) for year in (1970, 2025)]
        groups = read_grouping([date_trunc("year", "day")], years, engine.schema)
        found = engine.summarise(CellRead(policy, policy.levels, {}, None, None, groups))
        assert [summary.records for summary in found] == [1, 1]


def test_a_written_time_without_a_zone_is_one_in_utc(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("day\n2025-01-01 00:00:00\n2025-01-01 01:00:00+01\n")
    engine = open_source(tmp_path / "t.csv", {"day": "TIMESTAMPTZ"})
    assert engine.rows_of("SELECT current_setting('TimeZone')") == [("UTC",)]
    assert engine.rows_of("SELECT DISTINCT epoch_us(day) FROM prdp_records") == [(1_735_689_600_000_000,)]


def test_bytes_that_are_no_text_in_arrow_s_files_are_read_with_a_mark(tmp_path: Path) -> None:
    blobs = pyarrow.array([b"clerk", b"a\xffb", None], pyarrow.binary())
    texts = pyarrow.StringArray.from_buffers(3, *blobs.buffers()[1:], blobs.buffers()[0])
    pyarrow.feather.write_feather(pyarrow.table({"job": texts}), tmp_path / "t.feather")
    engine = open_source(tmp_path / "t.feather", None)
    assert engine.rows_of("SELECT job FROM prdp_records") == [("clerk",), ("a\ufffdb",), (None,)]


def test_a_source_is_read_as_it_is_by_the_time_of_a_question(tmp_path: Path) -> None:
    for number, keep in enumerate(
        (kept.feather, kept.data_set, kept.duckdb_file, kept.sqlite_file, kept.delta, kept.iceberg)
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        engine = keep(MADE, folder).opened()
        assert engine.rows_of("SELECT count(*) FROM prdp_records") == [(5,)]
        _emptied(folder)
        keep(pyarrow.concat_tables([MADE, MADE]), folder)
        engine.ensure_there()
        assert engine.rows_of("SELECT count(*), count(day) FROM prdp_records") == [(10, 8)], keep


def _emptied(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
