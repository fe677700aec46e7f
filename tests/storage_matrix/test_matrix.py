"""Every column type, with the extremes of its physical form, in every storage: no record changes another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from prdp.engines.duckdb.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from tests.storage_matrix.arrow_types import (
    EXCEPTED,
    EXTENSIONS,
    EXTENSIONS_EXCEPTED,
    OTHERS,
    TYPES,
    Column,
    columns,
    ordinary,
    table,
)
from tests.storage_matrix.comparing import EXTREME, Query, differences
from tests.storage_matrix.matrix import Storage
from tests.storage_matrix.storages import LAKES, STORAGES, opened

pytestmark = pytest.mark.slow

_PARQUET = {
    r"decimal128\(5, -2\)": "Parquet has no negative scales",
    r"month_day_nano_interval": "pyarrow does not write it",
    r"(dense|sparse)_union<.*": "Parquet has no unions",
    r"run_end_encoded<.*": "pyarrow does not write it",
}
_POLARS = {
    r"decimal128\(5, -2\)": "Polars has no negative scales",
    r"decimal256\(.*": "Polars has no 256 bits",
    r"timestamp\[.*, tz=\+05:30\]": "Polars has no zone that is an offset",
    r"month_day_nano_interval": "Polars has no such type",
    r"(large_)?list_view<.*": "Polars does not take it over",
    r"(dense|sparse)_union<.*": "Polars has no unions",
    r"run_end_encoded<.*": "Polars does not take it over",
}
_DUCKDB = {
    r"halffloat": "DuckDB does not take it over",
    r"decimal128\(5, -2\)": "DuckDB has no negative scales",
    r"decimal256\(.*": "DuckDB has no 256 bits",
    r"dense_union<.*": "DuckDB does not take it over",
}
_ORC = {
    r"null|uint.*|halffloat|time(32|64)\[.*|duration\[.*|.*_interval": "pyarrow does not write it",
    r"decimal(32|64|256)\(.*|(string|binary)_view|(large_)?list_view<.*": "pyarrow does not write it",
    r"dictionary<.*|run_end_encoded<.*|extension<.*": "pyarrow does not write it",
    r"decimal128\(5, -2\)": "pyarrow's writer ends the process",
}
UNKEPT: Mapping[str, Mapping[str, str]] = {
    "data_set_of_orc": _ORC,
    "relation": _DUCKDB,
    **dict.fromkeys(("parquet", "parquet_of_arrow", "parquet_int96", "data_set_of_parquet"), _PARQUET),
    **dict.fromkeys(("polars_frame", "lazy_frame"), _POLARS),
}
"""Types that a storage has no place for, as patterns, with the reason."""

REFUSED = re.compile(r"halffloat|decimal128\(5, -2\)|decimal256\(.*|dense_union<.*|run_end_encoded<.*")
"""Types that some storages can keep and prdp refuses at opening, whatever the rows."""


def test_every_type_of_arrow_is_tried_or_excepted_with_a_reason() -> None:
    listed = {name.removeprefix("Type_") for name in dir(pyarrow.lib) if name.startswith("Type_")}
    assert listed == {*TYPES, *EXCEPTED}
    known = {kind.__name__ for kind in pyarrow.BaseExtensionType.__subclasses__()}
    assert known == {*EXTENSIONS, *EXTENSIONS_EXCEPTED}


@pytest.mark.parametrize(
    "name",
    [
        name if place % 3 == 0 else pytest.param(name, marks=pytest.mark.slow)
        for place, name in enumerate(STORAGES)
    ],
)
def test_no_extreme_of_any_type_changes_what_others_count_for(name: str, tmp_path: Path) -> None:
    storage = Storage(STORAGES[name], opened, tmp_path)
    made = columns()
    storage.run(made)
    assert storage.faults == []
    expected = {kind for kind in made for pattern in UNKEPT.get(name, {}) if re.fullmatch(pattern, kind)}
    assert set(storage.unkept) == expected
    assert not [kind for kind in storage.refused if not REFUSED.fullmatch(kind)]
    assert storage.tried > 500


_IN_LAKES = (
    *("bool", "int32", "int64", "float", "double", "binary", "timestamp[us]", "timestamp[us, tz=UTC]"),
    *("decimal128(4, 2)", "decimal128(18, 2)", "decimal128(38, 10)", "decimal128(38, 37)"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAKES)
def test_no_extreme_in_a_lake_changes_what_others_count_for(name: str, tmp_path: Path) -> None:
    storage = Storage(LAKES[name], opened, tmp_path)
    made = columns()
    storage.run({kind: made[kind] for kind in (*_IN_LAKES, *(["string"] if name == "Iceberg" else []))})
    assert storage.faults == []
    assert storage.unkept == {}
    assert storage.tried > 70


_LEAST, _MAX = bytes(15) + b"\x80", b"\xff" * 15 + b"\x7f"
_CUT = ("parquet", "parquet_of_arrow", "parquet_int96", "data_set_of_parquet", "data_set_of_orc", "relation")
"""Storages that keep as many bits of a decimal as its digits need."""


@pytest.mark.parametrize("name", STORAGES)
def test_a_decimal_of_more_digits_than_its_type_has_is_null(name: str, tmp_path: Path) -> None:
    shapes = [(4, 2), (9, 2), (18, 2), (20, 2), (38, 0), (38, 10), (38, 37)]
    kinds = [pyarrow.decimal128(*shape) for shape in shapes[4 if name in _CUT else 0 :]]
    beyond = {
        f"c{place}": [
            pyarrow.Array.from_buffers(kind, 1, [None, pyarrow.py_buffer(bits)]) for bits in (_LEAST, _MAX)
        ]
        for place, kind in enumerate(kinds)
    }
    made = {
        column: Column(kind, ordinary(kind), beyond[column])
        for column, kind in zip(beyond, kinds, strict=True)
    }
    engine = opened(STORAGES[name](table(made, beyond), tmp_path))
    for column in beyond:
        (cell,) = Query(measure=column, where=f"{column} IS NULL").cells(engine, OTHERS)[EXTREME,]
        assert (cell[0].missing, cell[1:]) == (True, (2, 0))
        all_cells = Query(measure=column).cells(engine, OTHERS)[EXTREME,]
        assert [found[1] for found in all_cells if found[0].missing] == [2]


_EXTREME_TEXTS = (
    *("''", "repeat('x', 70000)", "chr(1114111)", "'a' || chr(0) || 'b'"),
    *("NULL", "'9223372036854775807'", "'-9223372036854775808'", "'170141183460469231731687303715884105727'"),
    *("'-170141183460469231731687303715884105728'", "'NaN'", "'-Infinity'", "'1e308'", "'-0.0'", "'true'"),
    *(
        "'294247-01-10 04:00:54.775806'",
        "'290309-12-22 (BC) 00:00:00'",
        "'infinity'",
        "'-infinity'",
        "'epoch'",
    ),
    *("'5881580-07-10'", "'24:00:00'", "'99999999.99'", "'2262-04-11 23:47:16.854775806'"),
    *("'00000000-0000-0000-0000-000000000000'", "'255'", "'65535'", "'4294967295'", "'18446744073709551615'"),
    *("'127'", "'-128'", "'32767'", "'-32768'", "'2147483647'", "'-2147483648'", "'101'"),
)
"""Texts that are extremes of some type of DuckDB's, cast to each; most types have no such value."""

_DUCKDB_TYPES = {
    "DECIMAL": "DECIMAL(38,10)",
    "ENUM": "ENUM('1', '2', '3', '4', 'true')",
    "LIST": "VARCHAR[]",
    "ARRAY": "VARCHAR[1]",
    "STRUCT": "STRUCT(a VARCHAR)",
    "MAP": "MAP(VARCHAR, VARCHAR)",
    "UNION": "UNION(a VARCHAR)",
}
"""How a type is written that needs more than its name."""

DUCKDB_EXCEPTED = {
    "TYPE": "no column can have it",
    "TUPLE": "a struct without names, which no column can have",
    "NULL": "a column of it is one of whole numbers",
    "GEOMETRY": "its extension may not be there",
}
_ORDINARY: dict[str, Sequence[str]] = {
    "BOOLEAN": ("true", "false", "true", "false"),
    **dict.fromkeys(
        ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ_NS"],
        tuple(f"2025-03-0{day} 12:00:00" for day in range(1, 5)),
    ),
}
_ORDINARY["TIMESTAMP WITH TIME ZONE"] = _ORDINARY["TIMESTAMP"]


def duckdb_types() -> list[str]:
    listed = "SELECT DISTINCT logical_type FROM duckdb_types() ORDER BY ALL"
    with duckdb.connect() as connection:
        rows = connection.execute(listed).fetchall()
    return [name for (name,) in rows if name not in DUCKDB_EXCEPTED]


@pytest.mark.parametrize("name", duckdb_types())
def test_no_extreme_of_a_duckdb_type_changes_what_others_count_for(name: str, tmp_path: Path) -> None:
    kind = _DUCKDB_TYPES.get(name, name)
    plain = [f"'{text}'" for text in _ORDINARY.get(name, "1234")]

    def kept(texts: list[str]) -> SqlEngine:
        file = tmp_path / f"{len(texts)}.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"CREATE TABLE t (record BIGINT, c {kind})")
            rows = [
                f"SELECT {place if place <= len(plain) else 0}, "
                + (text if name == "VARCHAR" else f"TRY_CAST({text} AS {kind})")
                for place, text in enumerate(texts, start=1)
            ]
            connection.execute(f"INSERT INTO t {' UNION ALL '.join(rows)}")
        return open_source(file, None, table="t")

    extremes = len(_EXTREME_TEXTS)
    assert differences(kept, plain, [*plain, *_EXTREME_TEXTS], len(plain), extremes=extremes) == []


def leaves(kind: Any) -> set[Any]:
    """Return the classes of a library that nothing is derived from."""
    below = {found for child in kind.__subclasses__() for found in leaves(child)}
    return below or {kind}


_PHYSICAL = [None, 0, -1, 2**63 - 1, -(2**63), 2**62, 2**31 - 1, -(2**31), 86_400 * 10**9, 127, -128, 255]
_PERIOD = [1_740_830_400_000_000 + 86_400_000_000 * day for day in range(4)]

POLARS_PARAMETERS: Mapping[str, Any] = {
    "Decimal": [polars.Decimal(38, 2), polars.Decimal(10, 2)],
    "Datetime": [polars.Datetime(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC")],
    "Duration": [polars.Duration(unit) for unit in ("ms", "us", "ns")],
    "Enum": [polars.Enum([*map(str, _PHYSICAL), *"1234"])],
}
POLARS_EXCEPTED = {
    **dict.fromkeys(["List", "Array", "Struct", "Map"], "nested: not read, and among Arrow's types"),
    "Object": "Python's own objects, which Polars does not hand over",
    "Unknown": "no column can have it",
    "Extension": "the base of a caller's own types, which their storages represent",
}


def polars_kinds() -> list[Any]:
    classes = sorted(leaves(polars.DataType), key=lambda kind: kind.__name__)
    names = [kind.__name__ for kind in classes if kind.__name__ not in POLARS_EXCEPTED]
    return [
        kind
        for name in names
        for kind in (POLARS_PARAMETERS[name] if name in POLARS_PARAMETERS else [getattr(polars, name)()])
    ]


@pytest.mark.parametrize("kind", polars_kinds(), ids=str)
@pytest.mark.parametrize("lazy", [False, True])
def test_no_extreme_of_a_polars_type_changes_what_others_count_for(kind: Any, lazy: bool) -> None:
    plain: list[Any] = _PERIOD if kind.is_temporal() else [1, 2, 3, 4]

    def frame(numbers: list[Any]) -> Any:
        records = [place if place <= len(plain) else 0 for place in range(1, len(numbers) + 1)]
        held = polars.Series(numbers, dtype=polars.Int64)
        texts = kind in (polars.String, polars.Binary, polars.Categorical, polars.Enum)
        column = (held.cast(polars.String) if texts else held).cast(kind, strict=False)
        made = polars.DataFrame({"record": records, "c": column})
        return opened(made.lazy() if lazy else made)

    extremes = len(_PHYSICAL)
    assert differences(frame, plain, [*plain, *_PHYSICAL], len(plain), extremes=extremes) == []


_NUMPY = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float32",
    "float64",
]
PANDAS: Mapping[str, list[str]] = {
    "numpy": [
        *_NUMPY,
        "float16",
        *(f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")),
        "timedelta64[ms]",
    ],
    **{f"{sign}Int{bits}Dtype": [f"{sign}Int{bits}"] for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "Float32Dtype": ["Float32"],
    "Float64Dtype": ["Float64"],
    "BooleanDtype": ["boolean"],
    "StringDtype": ["str", "string[python]", "string[pyarrow]"],
    "CategoricalDtype": ["category"],
    "DatetimeTZDtype": [
        f"datetime64[{unit}, {zone}]" for unit in ("s", "ms", "us", "ns") for zone in ("UTC", "Asia/Tokyo")
    ],
    "PeriodDtype": ["period[D]"],
    "SparseDtype": ["Sparse[float64]", "Sparse[int64]"],
}
PANDAS_EXCEPTED = {
    "ArrowDtype": "the storage arrow_frame has all of Arrow's types",
    "IntervalDtype": "made of two columns of the types above, and refused",
    "NumpyEADtype": "a wrapper of NumPy's types",
}


def test_every_type_of_polars_and_pandas_is_tried_or_excepted_with_a_reason() -> None:
    tried = {type(kind).__name__ for kind in polars_kinds()}
    assert {kind.__name__ for kind in leaves(polars.DataType)} == {*tried, *POLARS_EXCEPTED}
    known = {kind.__name__ for kind in leaves(pandas.api.extensions.ExtensionDtype)}
    assert known == {*PANDAS, *PANDAS_EXCEPTED} - {"numpy"}


def pandas_column(kind: str, numbers: list[Any]) -> Any:
    """Return a column of a type, made of numbers as that type holds them; what it cannot hold is missing."""
    if "datetime64" in kind or "timedelta64" in kind:
        least = -(2**63)
        bits = pandas.Series([least if number is None else number for number in numbers], dtype="int64")
        plain = re.sub(r", .*", "]", kind)
        column = pandas.Series(bits.to_numpy().view(plain))
        return (
            column.dt.tz_localize("UTC").dt.tz_convert(kind[:-1].split(", ")[1]) if ", " in kind else column
        )
    if kind in {"category", "str", "string[python]", "string[pyarrow]"}:
        return pandas.Series([None if number is None else str(number) for number in numbers]).astype(kind)
    if "period" in kind.lower():
        return pandas.Series(
            pandas.arrays.PeriodArray(pandas.Series(range(len(numbers))).to_numpy(), dtype=kind)
        )
    held = [0 if number is None else number for number in numbers]
    exact = pandas.Series(held, dtype="int64").to_numpy()
    name = kind.removeprefix("Sparse[").removesuffix("]").replace("boolean", "bool").lower()
    with np.errstate(over="ignore"):  # too large for float16: infinite
        return pandas.Series(exact.astype(name)).astype(kind)


@pytest.mark.parametrize("kind", [kind for kinds in PANDAS.values() for kind in kinds])
def test_no_extreme_of_a_pandas_type_changes_what_others_count_for(kind: str) -> None:
    plain: list[Any] = [1, 2, 3, 4]

    def frame(numbers: list[Any]) -> SqlEngine:
        records = [place if place <= len(plain) else 0 for place in range(1, len(numbers) + 1)]
        return open_source(pandas.DataFrame({"record": records, "c": pandas_column(kind, numbers)}), None)

    extremes = len(_PHYSICAL)
    assert differences(frame, plain, [*plain, *_PHYSICAL], len(plain), extremes=extremes) == []
