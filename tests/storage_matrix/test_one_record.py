"""One record of a file or a frame changes nothing for others: no text, time, category or folder does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

import prdp
from prdp.engines.duckdb.engine import open_source
from prdp.engines.polars import engine as by_polars
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import EngineFailure, InvalidRequest
from tests.storage_matrix.comparing import differences

ROWS = 4
FAR = (2**62, -(2**62), 2**63 - 1, -(2**63) + 1)
PLAIN_TIMES = [1_740_787_200_000 + place for place in range(ROWS)]


def records(values: Sequence[Any], ordinary: int = ROWS) -> list[int]:
    """Number ordinary records from 1 on; what comes after them is the extreme one."""
    return [*range(1, ordinary + 1), *[0] * (len(values) - ordinary)]


def times(unit: str, zone: str | None, values: Sequence[int]) -> Any:
    made = pyarrow.array(values, pyarrow.int64()).view(pyarrow.timestamp(unit, zone))
    return pyarrow.table({"record": records(values), "c": made})


def as_frame(table: Any) -> Any:
    unit, zone = table["c"].type.unit, table["c"].type.tz
    column = pandas.Series(table["c"].cast(pyarrow.int64()).to_numpy().view(f"M8[{unit}]"))
    zoned = column.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else column
    return pandas.DataFrame({"record": table["record"].to_numpy(), "c": zoned})


def in_folder(folder: Path, write: Callable[[Any, Path], Any]) -> Callable[[Any], SqlEngine]:
    """Keep each table in a folder of its own."""

    def keep(table: Any) -> SqlEngine:
        place = folder / str(len(list(folder.iterdir())))
        place.mkdir()
        return open_source(write(table, place), None)

    return keep


def parquet_file(table: Any, folder: Path) -> Path:
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_beyond_microseconds_are_left_out_and_change_no_other(
    tmp_path: Path, unit: str, zone: str | None
) -> None:
    plain = [time // (1 if unit == "ms" else 1000) for time in PLAIN_TIMES]
    near, both = (times(unit, zone, values) for values in (plain, [*plain, *FAR]))
    changed = partial(differences, without=near, with_extreme=both, others=ROWS, extremes=len(FAR))
    assert changed(lambda table: open_source(table, None)) == []
    assert changed(lambda table: open_source(as_frame(table), None)) == []
    if unit == "ms":
        assert changed(in_folder(tmp_path, parquet_file)) == []
        assert changed(lambda table: open_source(polars.DataFrame(table), None)) == []


def coded(texts: Sequence[str], code: Any) -> Any:
    made = pyarrow.array(texts).dictionary_encode().cast(pyarrow.dictionary(code, pyarrow.string()))
    return pyarrow.table({"record": list(range(1, len(texts) + 1)), "job": made})


@pytest.mark.parametrize("write", [pyarrow.feather.write_feather, pyarrow.parquet.write_table])
def test_one_category_more_than_a_code_holds_changes_no_other(
    tmp_path: Path, write: Callable[[Any, str], None]
) -> None:
    def kept(number: int) -> SqlEngine:
        folder = tmp_path / str(number)
        folder.mkdir(exist_ok=True)
        ending = "feather" if write is pyarrow.feather.write_feather else "parquet"
        write(coded(["a", "b"], pyarrow.int8()), str(folder / f"0.{ending}"))
        codes = pyarrow.int8() if number <= 128 else pyarrow.int16()
        write(coded([f"job{place}" for place in range(number)], codes), str(folder / f"1.{ending}"))
        if ending == "feather":
            assert open_source(str(folder / "*.feather"), None).schema["job"].native == "VARCHAR"
        return open_source(pyarrow.dataset.dataset(folder, format=ending), None)

    for number in (127, 128, 129, 200):
        found = kept(number).rows_of("SELECT count(job), count(DISTINCT job) FROM prdp_records")
        assert found == [(number + 2, number + 2)]


ODD = b"\xff\xfe"


def odd_texts(kind: Any, texts: Sequence[bytes]) -> Any:
    return pyarrow.array(texts, pyarrow.large_binary()).view(kind)


@pytest.mark.parametrize("write", [pyarrow.feather.write_feather, pyarrow.parquet.write_table])
def test_a_text_that_is_not_utf_8_in_a_dictionary_changes_no_other(
    tmp_path: Path, write: Callable[[Any, str], None]
) -> None:
    def kept(texts: Sequence[bytes]) -> SqlEngine:
        folder = tmp_path / str(len(texts))
        folder.mkdir(exist_ok=True)
        values = odd_texts(pyarrow.large_string(), texts)
        codes = pyarrow.array(range(len(texts)), pyarrow.int8())
        made = pyarrow.DictionaryArray.from_arrays(codes, values)
        write(pyarrow.table({"record": records(texts), "job": made}), str(folder / "t"))
        ending = "feather" if write is pyarrow.feather.write_feather else "parquet"
        return open_source(pyarrow.dataset.dataset(folder, format=ending), None)

    plain = [b"a", b"b", b"c", b"d"]
    assert differences(kept, plain, [*plain, ODD], ROWS) == []


@pytest.mark.parametrize("kind", ["str", "string[pyarrow]"])
def test_a_text_that_is_not_utf_8_in_a_pandas_frame_changes_no_other(kind: str) -> None:
    example = pandas.Series(["a"], dtype=kind)

    def opened(texts: Sequence[bytes]) -> SqlEngine:
        held = type(example.array)(odd_texts(pyarrow.large_string(), texts), dtype=example.dtype)
        return open_source(pandas.DataFrame({"record": records(texts), "job": held}), None)

    plain = [b"a", b"b", b"c", b"d"]
    assert differences(opened, plain, [*plain, ODD], ROWS) == []


@pytest.mark.parametrize("where", ["", "plain", "YEAR=2026", "Year=x", "year=", "month=3", "record=9"])
@pytest.mark.parametrize("far", [False, True])
def test_a_file_in_another_folder_changes_no_other(tmp_path: Path, where: str, far: bool) -> None:
    def kept(folders: Sequence[str]) -> SqlEngine:
        root = tmp_path / f"of {len(folders)}"
        for number, folder in enumerate(folders, start=1):
            (root / "data" / folder).mkdir(parents=True, exist_ok=True)
            record = number if number <= ROWS else 0
            columns = {"record": pyarrow.array([record]), "v": pyarrow.array([number])}
            if far:
                columns["c"] = pyarrow.array([1]).cast(pyarrow.timestamp("ms"))
            pyarrow.parquet.write_table(pyarrow.table(columns), root / "data" / folder / f"{number}.parquet")
        return open_source(str(root / "data" / "**" / "*.parquet"), {"year": "BIGINT"})

    plain = [f"year={2021 + place}" for place in range(ROWS)]
    if where == "month=3":  # a new name of a folder is a new column, as public as the names of files
        assert set(kept([*plain, where]).schema) >= set(kept(plain).schema)
        return
    assert kept(plain).schema["year"].native == "BIGINT"
    assert differences(kept, plain, [*plain, where], ROWS) == []


def test_a_folder_s_name_is_decoded_and_may_be_null(tmp_path: Path) -> None:
    for number, folder in enumerate(["job=a%20b", "job=__HIVE_DEFAULT_PARTITION__", "job=it's"]):
        (tmp_path / folder).mkdir()
        pyarrow.parquet.write_table(pyarrow.table({"v": [number]}), tmp_path / folder / "t.parquet")
    found = open_source(str(tmp_path / "*" / "*.parquet"), None).rows_of("SELECT v, job FROM prdp_records")
    assert sorted(found) == [(0, "a b"), (1, None), (2, "it's")]


def test_files_of_a_data_set_whose_values_need_not_fit_are_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(
        pyarrow.table({"v": pyarrow.array([1], pyarrow.int32())}), tmp_path / "a.parquet"
    )
    pyarrow.parquet.write_table(
        pyarrow.table({"v": pyarrow.array([1], pyarrow.int64())}), tmp_path / "b.parquet"
    )
    with pytest.raises(InvalidRequest, match="need not fit"):
        open_source(pyarrow.dataset.dataset(tmp_path), None)


ZONED = ["2025-03-01 12:00:00", "2025-03-01 12:00:00+09", "2025-03-01 12:00:00", "2025-03-01 12:00:00"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_zone_that_one_text_names_is_its_own(tmp_path: Path, ending: str) -> None:
    lines = [f'{{"at": "{text}"}}' for text in ZONED] if ending == "jsonl" else ["at", *ZONED]
    (tmp_path / f"t.{ending}").write_text("\n".join([*lines, ""]))
    engine = open_source(tmp_path / f"t.{ending}", {"at": "TIMESTAMPTZ"})
    assert sorted(engine.rows_of('SELECT hour("at") FROM prdp_records')) == [(3,), (12,), (12,), (12,)]


def test_a_zone_that_one_text_of_an_arrow_table_names_is_its_own() -> None:
    engine = open_source(pyarrow.table({"at": ZONED}), {"at": "TIMESTAMPTZ"})
    assert sorted(engine.rows_of('SELECT hour("at") FROM prdp_records')) == [(3,), (12,), (12,), (12,)]


def replaced_during(read: Callable[[], Any], file: Path, other: Path) -> Any:
    """Run something while a file is replaced: after its identity was read, and before it is read again."""
    from prdp.engines.sources import file_identity  # noqa: PLC0415

    plain, asked = file_identity.identity_of, threading.Event()

    def noted(path: str) -> Any:
        found = plain(path)
        if not asked.is_set():
            asked.set()
            os.replace(other, file)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_identity, "identity_of", noted)
        return read()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "feather", "duckdb"])
def test_a_file_that_is_replaced_while_it_is_read_gives_no_answer_and_nothing_is_kept(
    tmp_path: Path, ending: str
) -> None:
    def written(name: str, value: int) -> Path:
        path = tmp_path / f"{name}.{ending}"
        if ending == "parquet":
            pyarrow.parquet.write_table(pyarrow.table({"v": [value] * 1000}), path)
        elif ending == "feather":
            pyarrow.feather.write_feather(pyarrow.table({"v": [value] * 1000}), str(path))
        elif ending == "duckdb":
            with duckdb.connect(str(path)) as connection:
                connection.execute(f"CREATE TABLE t AS SELECT {value} AS v FROM range(1000)")
        elif ending == "csv":
            path.write_text("v\n" + f"{value}\n" * 1000)
        else:
            path.write_text(f'{{"v": {value}}}\n' * 1000)
        return path

    file, other = written("t", 1), written("u", 2)
    types = {"v": "BIGINT"} if ending in {"csv", "jsonl"} else None
    named = "t" if ending == "duckdb" else None
    table = prdp.open(file, policy="1", bounds={"v": (0, 10)}, types=types, table=named)
    with pytest.raises(EngineFailure):
        replaced_during(lambda: table.sum("v", share="1/2"), file, other)
    again = table.sum("v", share="1/2")  # taken up, without a second charge
    assert table.remaining == prdp.open(file, policy="1", types=types, table=named).remaining / 2
    assert abs(again.value - 2000) < 500


def test_polars_gives_no_answer_from_a_file_that_is_replaced_meanwhile(tmp_path: Path) -> None:
    for name, value in (("t", 1), ("u", 2)):
        polars.DataFrame({"v": np.full(1000, value)}).write_parquet(tmp_path / f"{name}.parquet")
    engine = by_polars.open_source(tmp_path / "t.parquet", None)
    with pytest.raises(EngineFailure):
        replaced_during(
            lambda: engine.rows_of("SELECT v FROM prdp_records"),
            tmp_path / "t.parquet",
            tmp_path / "u.parquet",
        )
    assert engine.rows_of("SELECT v FROM prdp_records")[0] == (2,)


def loose_decimals(table: Any, folder: Path) -> Path:
    """Write bytes to a Parquet file whose schema says that they are DECIMAL(10,2)."""
    file = parquet_of(table, folder)
    written = file.read_bytes()
    size = int.from_bytes(written[-8:-4], "little")
    body, footer = written[: -8 - size], written[-8 - size : -8]
    name = b"\x18\x07decimal"  # the name's field in the schema, in Thrift's compact form
    says_decimal = b"\x25\x0a\x15\x04\x15\x14"  # converted type, scale, precision
    footer = footer.replace(name, name + says_decimal, 1)
    file.write_bytes(body + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return file


def parquet_of(table: Any, folder: Path) -> Path:
    file = folder / "t.parquet"
    pyarrow.parquet.write_table(table, file, store_schema=False, write_statistics=False, use_dictionary=False)
    return file


@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize(
    ("kind", "extreme"),
    [
        (pyarrow.binary(), b""),
        (pyarrow.binary(), b"\x7f" * 20),
        (pyarrow.binary(), b"\x80" + bytes(40)),
        (pyarrow.binary(20), b"\x7f" * 20),
    ],
    ids=["none", "too many", "far too many", "too many in every record"],
)
def test_a_decimal_of_too_many_bytes_changes_no_other(
    tmp_path: Path, kind: Any, extreme: bytes, times: bool
) -> None:
    plain = [bytes(19) + bytes([place]) for place in range(1, ROWS + 1)]
    if kind == pyarrow.binary():
        plain = [text[-1:] for text in plain]

    def table(values: Sequence[bytes]) -> Any:
        made = {"record": records(values), "decimal": pyarrow.array(values, kind)}
        if times:  # which are read batch by batch
            made["t"] = pyarrow.array(PLAIN_TIMES[:1] * len(values), pyarrow.timestamp("ms", "UTC"))
        return pyarrow.table(made)

    changed = partial(differences, without=table(plain), with_extreme=table([*plain, extreme]), others=ROWS)
    assert changed(in_folder(tmp_path, loose_decimals)) == []
    assert (
        changed(in_folder(tmp_path, lambda made, place: pyarrow.dataset.dataset(loose_decimals(made, place))))
        == []
    )
