"""Every key that group_by takes can be shown in every form, and every other is refused before a charge."""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.declare.groups import bins, read_grouping
from prdp.engines.statements.cells import statement
from prdp.errors import InvalidRequest
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.noise.spread import spread
from prdp.plan.reads import CellRead
from prdp.release.release import Release
from prdp.release.table import ReleaseTable
from prdp.schema import ColumnType, Kind, Schema

NATIVES = ["BIGINT", "UBIGINT", "HUGEINT", "INTEGER", "DOUBLE", "FLOAT", "DECIMAL(18,2)", "DECIMAL(38,20)"]
SCHEMA: Schema = {
    "job": ColumnType(Kind.TEXT, native="VARCHAR"),
    "vip": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
    "opened": ColumnType(Kind.MOMENT, native="TIMESTAMP"),
    **{
        native: ColumnType(Kind.NUMBER, integer=native.endswith(("INT", "INTEGER")), native=native)
        for native in NATIVES
    },
}
MOMENT = SCHEMA["opened"]

numbers = st.one_of(
    st.integers(-10, 10),
    st.integers(-(10**40), 10**40),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), 2**64, 10**300, 10**299 + 1]),
    st.fractions(-10, 10, max_denominator=10**6),
    st.fractions(),
    st.decimals(allow_nan=None, allow_infinity=None),
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.integers(-128, 127).map(np.int8),
)
oddities = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.datetimes().map(pd.Timestamp),
    st.datetimes().map(lambda moment: np.datetime64(moment, "us")),
    st.integers(-(2**62), 2**62).map(lambda count: np.datetime64(count, "ns")),
    st.integers(-(2**62), 2**62).map(lambda count: np.timedelta64(count, "ns")),
    st.sampled_from(
        [
            pd.NA,
            pd.NaT,
            np.datetime64("NaT", "s"),
            Decimal("sNaN"),
            Decimal("1e999999"),
            1j,
            [],
            {},
            object(),
            np.bool_(True),
            np.longdouble(1),
            np.complex64(1),
            np.array([1, 2]),
            np.array([[1], [2]]),
            pyarrow.scalar(1),
            pyarrow.scalar(None),
            pyarrow.scalar(1, pyarrow.timestamp("ns")),
            pd.Timestamp("2020-01-01", tz="UTC"),
            pd.Timestamp("2020-01-01 00:00:00.000000001"),
            pd.Period("2020-01"),
            10**5000,
            Fraction(1, 10**5000),
        ]
    ),
)


def released(by: list[Any], keys: object) -> ReleaseTable:
    grouping = read_grouping(by, keys, SCHEMA)
    answer = Release("count", 1, Fraction(1), (Fraction(3),), Fraction(1, 2), "clip")
    names = tuple(key.column for key in grouping.by)
    return ReleaseTable(
        "count", Fraction(1, 2), names, ("count",), grouping.keys, ((answer,),) * len(grouping.keys)
    )


def show_in_every_form(table: ReleaseTable) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames = [table.to_arrow().to_pydict(), table.to_pandas(), table.to_polars().to_dict(as_series=False)]
        for frame in frames:
            assert {len(frame[name]) for name in frame} == {len(table)}
            assert len(list(frame)) == len(table.columns())
    assert str(table)
    assert table._repr_html_()
    assert release_from_json(release_to_json(table)) == table
    assert all(table[key] == row[0] for key, row in table)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(NATIVES), st.lists(numbers, min_size=2, max_size=4), st.booleans())
def test_bins_that_are_taken_can_be_shown_in_every_form(
    native: str, edges: list[Any], ascending: bool
) -> None:
    try:
        ordered = sorted(edges, key=float) if ascending else edges
    except (ValueError, OverflowError):
        ordered = edges
    try:
        table = released([bins(native, ordered)], None)
    except InvalidRequest:
        return
    show_in_every_form(table)


@settings(max_examples=800, deadline=None)
@given(st.sampled_from(list(SCHEMA)), st.lists(st.one_of(numbers, oddities), min_size=1, max_size=3))
def test_keys_are_shown_in_every_form_or_refused_whatever_they_are(column: str, keys: list[Any]) -> None:
    try:
        table = released([column], keys)
    except InvalidRequest:
        return
    show_in_every_form(table)


@settings(max_examples=200, deadline=None)
@given(st.lists(oddities, min_size=2, max_size=3))
def test_edges_of_any_kind_are_numbers_or_refused(edges: list[Any]) -> None:
    try:
        found = bins("DOUBLE", edges)
    except InvalidRequest:
        return
    assert all(isinstance(edge, Fraction) for edge in found.edges)


@pytest.mark.parametrize(
    "edges",
    [[0, "0.5", 1], [0, 2**63, 2**64], [Fraction(1, 3), 1, 10**299], [-(2**63), 0, Decimal("0.25")]],
)
def test_bins_with_mixed_and_huge_edges_are_answered_and_shown(edges: list[Any]) -> None:
    table = prdp.open({"x": np.linspace(0, 10, 100)}, policy=prdp.Policy.constant(1))
    answers = table.histogram("x", edges=edges, share="1/10")
    show_in_every_form(answers)
    wanted = [float(Fraction(edge)) for edge in edges]
    assert answers.to_polars()["x_from"].to_list() == wanted[:-1]
    assert answers.to_arrow()["x_to"].to_pylist() == wanted[1:]


def test_bins_that_differ_are_printed_differently() -> None:
    found = released([bins("DOUBLE", ["0.1234567", "0.1234568", "0.1234569"])], None)
    assert len({str(key) for (key,) in found.keys}) == 2


@pytest.mark.parametrize(
    "value", [pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN"), np.datetime64("NaT", "s"), None]
)
@pytest.mark.parametrize("column", ["job", "vip", "opened", "BIGINT", "DOUBLE", "DECIMAL(18,2)"])
def test_a_missing_key_of_any_kind_is_refused_as_missing(column: str, value: object) -> None:
    with pytest.raises(InvalidRequest, match="records without a value form no group"):
        read_grouping([column], [value], SCHEMA)


@pytest.mark.parametrize(
    "value",
    [
        np.datetime64("2020-01-01", "ns"),
        np.datetime64("2020-01-01", "D"),
        pd.Timestamp("2020-01-01"),
        pyarrow.scalar(datetime(2020, 1, 1), pyarrow.timestamp("ns")),
        date(2020, 1, 1),
    ],
)
def test_a_moment_of_any_library_is_the_same_key_and_no_number(value: object) -> None:
    assert read_grouping(["opened"], [value], SCHEMA).keys == ((datetime(2020, 1, 1),),)
    for number in ("BIGINT", "DOUBLE"):
        with pytest.raises(InvalidRequest, match="holds number"):
            read_grouping([number], [value], SCHEMA)


@pytest.mark.parametrize(
    "value",
    [
        np.datetime64("2020-01-01T00:00:00.000000001", "ns"),
        pd.Timestamp("2020-01-01 00:00:00.000000001"),
        pyarrow.scalar(1, pyarrow.timestamp("ns")),
        pd.Timestamp("2020-01-01", tz="Europe/Berlin"),
        np.timedelta64(1, "ns"),
        np.datetime64("99999-01-01"),
        time(1),
    ],
)
def test_a_moment_that_no_key_can_say_is_refused_and_never_rounded(value: object) -> None:
    with pytest.raises(InvalidRequest, match="without a zone and to the microsecond"):
        read_grouping(["opened"], [value], SCHEMA)


def test_rows_of_an_array_are_keys_of_several_columns() -> None:
    found = read_grouping(["BIGINT", "INTEGER"], np.array([[1, 2], [3, 4]]), SCHEMA)
    assert found.keys == ((1, 2), (3, 4))
    with pytest.raises(InvalidRequest, match="has 2 of 1 values"):
        read_grouping(["BIGINT"], [np.array([1, 2])], SCHEMA)


@pytest.mark.parametrize("column", ["DOUBLE", "FLOAT", "DECIMAL(18,2)"])
@pytest.mark.parametrize("value", [-0.0, Decimal("-0"), 0])
def test_minus_zero_is_the_key_zero(column: str, value: Any) -> None:
    ((key,),) = read_grouping([column], [value], SCHEMA).keys
    assert math.copysign(1, key) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("DOUBLE", Decimal("1e-400")),
        ("DOUBLE", Fraction(-1, 10**400)),
        ("FLOAT", -1e-60),
        ("DECIMAL(18,2)", Decimal("0.005")),
        ("DECIMAL(18,2)", 10**16),
        ("DECIMAL(38,20)", Decimal("0.12345678901234567890")),
        ("BIGINT", 2**63),
    ],
)
def test_a_key_that_would_stand_for_other_numbers_is_refused(column: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match="holds number"):
        read_grouping([column], [value], SCHEMA)


def test_a_decimal_may_be_written_as_a_float() -> None:
    assert read_grouping(["DECIMAL(18,2)"], [0.1, Decimal("0.30")], SCHEMA).keys == ((0.1,), (0.3,))
    assert read_grouping(["BIGINT"], [-(2**63)], SCHEMA).keys == ((-(2**63),),)


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.group_by("i", keys=itertools.count()),
        lambda t: t.group_by("i", keys={"i": itertools.count()}),
        lambda t: t.group_by("i", keys=range(100_001)),
        lambda t: t.group_by(prdp.bins("x", itertools.count())),
        lambda t: t.group_by(prdp.bins("x", range(100_002))),
        lambda t: t.group_by(prdp.bins("x", range(100_000)), prdp.bins("i", range(100_000))),
        lambda t: t.group_by("i", keys=range(1000)).histogram("x", edges=range(1000), share="1/2"),
    ],
)
def test_more_groups_than_can_be_answered_are_refused_before_a_charge(ask: Any) -> None:
    table = prdp.open({"x": np.ones(3), "i": np.arange(3)}, policy=prdp.Policy.constant(1))
    with pytest.raises(InvalidRequest, match="to 100,000"):
        ask(table)
    assert table.ledger.remaining == 1


@pytest.mark.parametrize(
    "edges", ["01", b"01", 5, [0, True], [0, "1e999999999"], [np.datetime64(1, "ns"), 2]]
)
def test_edges_that_are_no_numbers_are_refused(edges: Any) -> None:
    with pytest.raises(InvalidRequest, match="edges"):
        bins("x", edges)


def counts(values: str, by: Any, keys: object = None) -> list[int]:
    """Return how many records each group holds, by a policy that is not private."""
    connection = duckdb.connect()
    relation = connection.sql(f"SELECT c FROM (VALUES {values}) AS t(c)")
    table = prdp.open(relation, policy=prdp.Policy.constant(10**6), rows_are_records=True)
    answers = table.group_by(by, keys=keys).count(share=1, method="naive")
    return [release.value for _, (release,) in answers]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "edges", "found"),
    [
        (f"({2**63 - 1}::BIGINT), ({-(2**63)})", [-(2**63), 0, 2**63, 2**64], [1, 1, 0]),
        (f"({2**53}::BIGINT), ({2**53 + 1})", [0, 2**53 + 1, 2**54], [1, 1]),
        (f"({2**64 - 1}::UBIGINT), (0)", [-1, 2**64 - 1, 2**64], [1, 1]),
        (f"({2**127 - 1}::HUGEINT), ({-(2**126)})", [-(2**127), 0, 2**127 - 1, 2**130], [1, 0, 1]),
        ("(0.30::DECIMAL(18,2)), (0.29)", [0, "0.3", 1], [1, 1]),
        ("(0.10::DECIMAL(18,2)), (0.09)", [0, 0.1, 1], [1, 1]),
        ("(12345678901234567.01::DECIMAL(38,2)), (12345678901234567.02)",
         [0, "12345678901234567.02", 10**20], [1, 1]),
        ("(1::TINYINT), (2)", ["0.1", "0.2", "1.5", 1000], [0, 1, 1]),
        ("(1::TINYINT), (2)", [1000, 2000], [0]),
        ("(-0.0::DOUBLE), (0.0), ('nan'), ('inf')", [-1, 0, 1], [0, 2]),
        ("(0.1::FLOAT)", [0, 0.1, 1], [0, 1]),
        ("(5e-324::DOUBLE), (0)", [0, "1e-400", 1], [1, 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("few", [256, 0])
def test_a_number_lies_in_the_bin_that_exactly_contains_it(
    values: str, edges: list[Any], found: list[int], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the type, and whether bins are distinguished as if they were few or as if they were many."""
    monkeypatch.setattr("prdp.engines.statements.groups._FEW", few)
    assert counts(values, prdp.bins("c", edges)) == found


@pytest.mark.parametrize(
    ("values", "keys", "found"),
    [
        ("(0.30::DECIMAL(18,2)), (0.31)", [0.3, Decimal("0.31"), "0"], None),
        ("(0.30::DECIMAL(18,2)), (0.31), (0.31)", [0.3, Decimal("0.31")], [1, 2]),
        ("(0.1::FLOAT), ('-0.0')", [0.1, -0.0], [1, 1]),
        (f"('{-(2**63)}'::BIGINT), (1)", [-(2**63)], [1]),
        ("('2020-02-29'::DATE), ('0001-01-01')", ["2020-02-29", "0001-01-01"], [1, 1]),
        ("('9999-12-31 23:59:59.999999'::TIMESTAMP)", ["9999-12-31 23:59:59.999999"], [1]),
        ("('it''s'::VARCHAR), ('{}'), ('a\nb')", ["{}", "it's", "a\nb"], [1, 1, 1]),
        ("(TRUE), (FALSE), (FALSE)", [False, True], [2, 1]),
    ],
)  # fmt: skip
def test_a_record_is_in_the_group_of_its_key(values: str, keys: list[Any], found: list[int] | None) -> None:
    if found is None:
        with pytest.raises(InvalidRequest, match="holds number"):
            counts(values, "c", keys)
    else:
        assert counts(values, "c", keys) == found


def test_the_last_moment_lies_in_the_last_year() -> None:
    by = prdp.date_trunc("year", "c")
    assert counts("('9999-12-31 23:59:59.5'::TIMESTAMP)", by, ["9999-01-01"]) == [1]


def calls_while(work: Any) -> int:
    """Return how many Python functions are called."""
    seen = itertools.count()
    sys.setprofile(lambda frame, event, arg: next(seen) if event in {"call", "c_call"} else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    return next(seen)


@pytest.mark.parametrize("by", ["bins", "texts", "both"])
def test_the_work_for_many_groups_grows_no_faster_than_their_number(by: str) -> None:
    source = {"x": np.arange(40.0), "t": np.array(["a", "b"] * 20)}
    table = prdp.open(source, policy=prdp.Policy.constant(1))

    def ask(groups: int, sizes: list[int]) -> None:
        edges = prdp.bins("x", range(groups + 1))
        listed = [str(number) for number in range(groups)]
        if by == "bins":
            asked = table.group_by(edges)
        elif by == "texts":
            asked = table.group_by("t", keys=listed)
        else:
            asked = table.group_by("t", prdp.bins("x", range(3)), keys=listed[: groups // 2])
        reading = CellRead(table.policy, table.levels, {}, None, None, asked.grouping)
        sizes.append(len(statement(reading, table.schema, "prdp_records").sql))
        answers = asked.count(share="1/1000")
        answers.columns()
        assert [answers[key].value for key, _ in answers]

    ask(100, [])  # what is done once is done
    few, many = 400, 2000
    sizes: list[int] = []
    calls = [calls_while(lambda groups=groups: ask(groups, sizes)) for groups in (few, many)]
    assert calls[1] / calls[0] < 1.5 * many / few
    assert sizes[1] / sizes[0] < 1.5 * many / few


def test_many_bins_are_no_deep_expression() -> None:
    table = prdp.open({"x": np.arange(40.0)}, policy=prdp.Policy.constant(1))
    asked = table.group_by(prdp.bins("x", range(50_001)))
    reading = CellRead(table.policy, table.levels, {}, None, None, asked.grouping)
    assert statement(reading, table.schema, "prdp_records").sql.count("CASE") < 600


def test_how_far_noise_error_bounds_is_found_once_for_all_groups_that_have_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = prdp.open({"i": np.arange(50)}, policy=prdp.Policy.constant(1))
    answers = table.group_by("i", keys=range(50)).count(share="1/7")
    scales = {release.noise_scales for _, (release,) in answers}
    asked: list[object] = []

    def counted(noises: Any, level: Fraction) -> int:
        asked.append(noises)
        return spread(noises, level)

    monkeypatch.setattr("prdp.release.interval.spread", counted)
    answers.columns(level="0.93")
    assert 1 <= len(asked) <= 2 * len(scales) < 50


def test_a_dict_of_keys_is_crossed_whatever_its_lengths() -> None:
    table = prdp.open({"a": np.arange(9), "b": np.arange(9)}, policy="1")
    for second in ([3, 4], [3, 4, 5]):
        crossed = table.group_by("a", "b", keys={"b": second, "a": [1, 2]})
        assert crossed.grouping.keys == tuple((a, b) for a in (1, 2) for b in second)


def test_a_table_of_keys_has_one_key_a_row() -> None:
    table = prdp.open({"a": np.arange(9), "b": np.arange(9)}, policy="1")
    rows = ((1, 3), (2, 4))
    columns = {"a": [1, 2], "b": [3, 4]}
    for keys in (list(rows), pyarrow.table(columns), pd.DataFrame(columns), pl.DataFrame(columns)):
        assert table.group_by("a", "b", keys=keys).grouping.keys == rows


def test_more_combinations_than_can_be_answered_are_refused_before_they_are_made() -> None:
    table = prdp.open({"a": np.arange(9), "b": np.arange(9)}, policy="1")
    with pytest.raises(InvalidRequest, match="10,000,000,000 groups were listed"):
        table.group_by("a", "b", keys={"a": range(100_000), "b": range(100_000)})


def test_truth_values_may_be_written_as_options_and_files_have_them() -> None:
    written, plain = (read_grouping(["vip"], keys, SCHEMA) for keys in (["true", "false"], [True, False]))
    assert written.keys == plain.keys
    with pytest.raises(InvalidRequest, match="True or False"):
        read_grouping(["vip"], ["yes", "no"], SCHEMA)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("query", [duckdb.sql("SELECT 'hidden' AS job"), pl.LazyFrame({"job": ["hidden"]})])
def test_a_query_that_was_not_run_is_no_list_of_keys_and_shows_no_row(query: object) -> None:
    schema = prdp.open({"job": np.array(["a"])}, policy="1", synthetic=True).schema
    with pytest.raises(InvalidRequest, match="run it yourself") as refused:
        read_grouping(["job"], query, schema)
    assert "hidden" not in str(refused.value)
