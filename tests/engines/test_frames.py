"""Opening a frame says nothing about its records: neither by its columns' types nor by what goes wrong."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.engines.duckdb.engine import open_source, open_tables
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.schema import Kind, Schema

SECRET = "SECRET \ud800"  # noqa: S105
texts = st.one_of(st.text(max_size=4), st.sampled_from([SECRET, "", "\0", "a", "A", "\udfff", "é"]))
labels = st.one_of(
    texts,
    st.integers(),
    st.floats(allow_nan=False),
    st.dates(),
    st.datetimes(),
    st.booleans(),
    st.tuples(texts),
)


def categorical(values: list[Any]) -> pd.DataFrame:
    """Return a column whose categories are just these values, whatever pandas makes of their types."""
    known = list(dict.fromkeys(value for value in values if value is not None))
    codes = [-1 if value is None else known.index(value) for value in values]
    try:
        categories = pd.Index(known)  # with whatever type follows from the values
    except (UnicodeEncodeError, ValueError, TypeError, OverflowError):
        categories = pd.Index(known, dtype=object, tupleize_cols=False)
    if len(set(categories)) != len(known) or isinstance(categories, pd.MultiIndex):
        categories = pd.Index(known, dtype=object, tupleize_cols=False)
    return pd.DataFrame({"c": pd.Categorical.from_codes(codes, categories=categories)})


def schema(source: object) -> Schema:
    return open_source(source, None).schema


def column(source: object) -> list[Any]:
    engine = open_source(source, None)
    return [row[0] for row in engine.rows_of('SELECT CAST("c" AS VARCHAR) FROM prdp_records')]


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.one_of(st.none(), labels), max_size=5))
def test_a_categorical_column_holds_texts_whatever_its_categories_are(values: list[Any]) -> None:
    try:
        frame = categorical(values)
    except ValueError:  # pandas itself refuses categories that it cannot distinguish
        return
    assert schema(frame) == schema(pd.DataFrame({"c": pd.Categorical(["spy", "clerk"])}))
    assert [text is None for text in column(frame)] == [value is None for value in values]


@pytest.mark.parametrize("odd", [SECRET, 2.5, "x", None, date(2020, 1, 1), (1, 2), b"x", 10**30])
@pytest.mark.parametrize("others", [["a", "b"], [1, 2], [1.0, 2.0], [True, False], [datetime(2020, 1, 1)]])
def test_one_category_more_leaves_the_others_as_they_are(others: list[Any], odd: Any) -> None:
    without = column(pd.DataFrame({"c": pd.Categorical(others)}))
    frame = categorical([*others, odd])
    assert column(frame)[: len(others)] == without


one_text_more = given(st.lists(texts, min_size=1, max_size=5), texts)


@settings(max_examples=12)
@one_text_more
def test_one_text_more_leaves_the_others_as_they_are(values: list[str], odd: str) -> None:
    refuse_changes_by_one_text(values, odd)


@pytest.mark.slow
@settings(max_examples=100)
@one_text_more
def test_one_text_more_leaves_many_others_as_they_are(values: list[str], odd: str) -> None:
    refuse_changes_by_one_text(values, odd)


def refuse_changes_by_one_text(values: list[str], odd: str) -> None:
    """Fail where texts, or a column's type, differ because of one text more."""

    def python_strings(listed: list[str]) -> object:
        return pd.DataFrame({"c": pd.Series(listed, dtype="string[python]")})

    def numpy_strings(listed: list[str]) -> object:
        return {"c": np.array(listed)}

    for made in (python_strings, numpy_strings):
        assert column(made([*values, odd]))[:-1] == column(made(values))
        assert schema(made([odd])) == schema(made(values))


def test_texts_that_can_be_read_are_read_as_they_are() -> None:
    values = ["a", "é\N{GRINNING FACE}", "", "o'brien"]
    for frame in (
        {"c": np.array(values)},
        {"c": np.array([*values, "x"])[:-1][::1]},
        pd.DataFrame({"c": pd.Series(values, dtype="string[python]")}),
        pd.DataFrame({"c": pd.Series(values, dtype="string[pyarrow]")}),
        pd.DataFrame({"c": pd.Categorical(values)}, index=[7, 7, 8, 9]),
        pl.DataFrame({"c": values}),
        pl.DataFrame({"c": pl.Series(values, dtype=pl.Categorical)}),
        pyarrow.table({"c": pyarrow.array(values).dictionary_encode()}),
    ):
        assert column(frame) == values
        assert schema(frame)["c"].kind is Kind.TEXT


def test_a_callers_frame_is_left_as_it_is() -> None:
    frame = pd.DataFrame({"c": pd.Categorical([1, 2]), "d": pd.Series(["a", SECRET], dtype="string[python]")})
    before = frame.copy(deep=True)
    assert column(frame) == ["1", "2"]
    pd.testing.assert_frame_equal(frame, before)


UNREADABLE: dict[str, Callable[[], object]] = {
    "complex": lambda: {"c": np.array([1234567j])},
    "long double": lambda: {"c": np.array([1234567], dtype="longdouble")},
    "bytes": lambda: {"c": np.array([b"1234567"])},
    "structured": lambda: {"c": np.array([(1234567, 1.0)], dtype=[("a", int), ("b", float)])},
    "years": lambda: {"c": np.array(["1234"], dtype="datetime64[Y]")},
    "big-endian": lambda: {"c": np.array([1234567], dtype=">i8")},
    "periods": lambda: pd.DataFrame({"c": pd.period_range("1234", periods=2, freq="M")}),
    "intervals": lambda: pd.DataFrame({"c": pd.arrays.IntervalArray.from_tuples([(1234567, 1234568)])}),
    "objects of Polars": lambda: pl.DataFrame({"c": pl.Series([object()], dtype=pl.Object)}),
    "128 bits of Polars": lambda: pl.DataFrame({"c": pl.Series([1234567], dtype=pl.Int128)}),
    "wide decimals": lambda: pyarrow.table({"c": pyarrow.array([1234567], pyarrow.decimal256(50, 2))}),
}


@pytest.mark.parametrize("made", UNREADABLE.values(), ids=UNREADABLE)
def test_a_type_that_cannot_be_read_is_refused_with_the_types_and_no_value(
    made: Callable[[], object],
) -> None:
    ways: list[Callable[[], SqlEngine]] = [
        lambda: open_source(made(), None),
        lambda: open_tables({"t": made()}, {}),
    ]
    for opened in ways:
        with pytest.raises(InvalidRequest, match="The columns are 'c' ") as caught:
            opened()
        assert "1234567" not in "".join(traceback.format_exception(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


class _Telling:
    """A value that fails however it is looked at, and tells itself by failing."""

    def _report(self, *_: object) -> Any:
        raise RuntimeError("SECRET")

    __str__ = __repr__ = __float__ = __int__ = __bool__ = __len__ = __iter__ = _report


def test_a_value_that_fails_however_it_is_looked_at_says_nothing() -> None:
    values = np.empty(2, dtype=object)
    values[:] = [_Telling(), _Telling()]
    plain = schema({"c": np.array([1, "a"], dtype=object)})
    assert schema({"c": values}) == plain
    assert schema(pd.DataFrame({"c": pd.Series(values, dtype=object)})) == plain
    labelled = pd.DataFrame({"c": pd.Categorical.from_codes([0, 1], pd.Index(values, dtype=object))})
    assert schema(labelled) == schema(pd.DataFrame({"c": pd.Categorical(["a"])}))


def test_a_frame_with_odd_texts_is_answered() -> None:
    frame = pd.DataFrame({"c": pd.Categorical.from_codes([0, 1, 0], pd.Index(["a", SECRET], dtype=object))})
    table = prdp.open(frame, policy=prdp.Policy.constant(10**6))
    answers = table.group_by("c", keys=["a", "b"]).count(share=1, method="naive")
    assert [release.exact for _, (release,) in answers] == [Fraction(2), Fraction(0)]


ARROW_TYPES = [
    pyarrow.string(),
    pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
    pyarrow.dictionary(pyarrow.int8(), pyarrow.int64()),
    pyarrow.int64(),
    pyarrow.float64(),
    pyarrow.bool_(),
    pyarrow.date32(),
    pyarrow.timestamp("ns"),
    pyarrow.decimal128(9, 2),
    pyarrow.duration("s"),
    pyarrow.time32("s"),
    pyarrow.binary(),
    pyarrow.list_(pyarrow.string()),
    pyarrow.struct([("a", pyarrow.int64())]),
]


@pytest.mark.parametrize("kind", ARROW_TYPES, ids=str)
def test_a_column_without_any_value_has_its_declared_type(kind: pyarrow.DataType) -> None:
    empty, unknown = (pyarrow.table({"c": pyarrow.nulls(size, kind)}) for size in (0, 3))
    frames = [empty, unknown, *(table.to_pandas(types_mapper=pd.ArrowDtype) for table in (empty, unknown))]
    schemas = [schema(frame) for frame in frames]
    assert all(found == schemas[0] for found in schemas)


@pytest.mark.parametrize("values", [np.arange(3), np.ones(3), np.array([True, False, True])])
def test_an_array_with_a_mask_is_refused_and_an_arrow_table_keeps_what_it_hides(values: Any) -> None:
    """DuckDB 1 reads what the mask hides."""
    column = np.ma.MaskedArray(values, mask=[False, True, False])
    with pytest.raises(InvalidRequest, match=r"pyarrow.array\(column\)"):
        open_source({"v": column}, None)
    kept = open_source(pyarrow.table({"v": pyarrow.array(column)}), None)
    assert kept.rows_of("SELECT count(v), count(*) FROM prdp_records") == [(2, 3)]


FARTHEST = pyarrow.array([1, 2**62])


@pytest.mark.parametrize(
    "first",
    [
        pyarrow.timestamp("s", "UTC"),
        pyarrow.timestamp("ms", "UTC"),
        pyarrow.duration("s"),
        pyarrow.duration("ms"),
    ],
)
def test_a_time_that_no_question_reads_fails_no_count(first: pyarrow.DataType) -> None:
    frame = pyarrow.table({"seen": FARTHEST.view(first), "prdp_rows": [1, 2]})
    sources = [frame] if first.unit == "s" else [frame, pl.DataFrame(frame)]
    for source in sources:
        table = prdp.open(source, policy=prdp.Policy.constant(1), name="frame", synthetic=True)
        assert schema(source).keys() == {"seen", "prdp_rows"}
        assert abs(table.count(share=1).value - 2) < 60
        assert "prdp_rows_" not in str(source.schema)  # the caller's own is as it was


def test_two_columns_of_one_name_are_refused() -> None:
    objects, numbers = pd.Series([1, SECRET], dtype=object), pd.Series([1.0, 2.0])
    twins = pd.concat([objects, numbers], axis=1)
    twins.columns = pd.Index(["c", "c"])
    arrow = pyarrow.table([pyarrow.array([1, 2]), pyarrow.array([3.0, 3.0])], names=["c", "c"])
    for source in (twins, pd.DataFrame({0: objects, "0": numbers}), arrow):
        with pytest.raises(InvalidRequest, match="the same name"):
            open_source(source, None)


def test_columns_of_a_dict_are_arrays_of_numpy() -> None:
    for column in ([1], pd.Series([1]), pl.Series([1]), pyarrow.array([1]), np.array([[1]])):
        with pytest.raises(InvalidRequest, match="one-dimensional NumPy array"):
            open_source({"c": column}, None)
