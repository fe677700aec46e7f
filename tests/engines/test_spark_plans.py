"""Frames whose rows need not be records are refused, of both kinds; large lists of keys are answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import prdp
from prdp.declare.groups import bins, read_grouping
from prdp.engines.duckdb import engine as duckdb
from prdp.engines.spark.engine import open_source
from prdp.errors import InvalidRequest
from prdp.plan.reads import CellRead

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
]

Change = Callable[[Any], Any]

TAKEN: dict[str, Change] = {
    "a scan": lambda frame: frame,
    "filters and projections": lambda frame: frame.filter("x > 1").selectExpr("sqrt(x) AS y", "job"),
    "other names and order": lambda frame: frame.withColumnRenamed("x", "y").orderBy("job").repartition(2),
}
REFUSED: dict[str, Change] = {
    "GlobalLimit": lambda frame: frame.limit(3),
    "Sample": lambda frame: frame.sample(0.5),
    "Deduplicate": lambda frame: frame.distinct(),
    "Aggregate": lambda frame: frame.groupBy("job").count(),
    "Join": lambda frame: frame.join(frame.select("job"), "job"),
    "Union": lambda frame: frame.union(frame),
    "Window": lambda frame: frame.selectExpr("row_number() OVER (ORDER BY x) AS place"),
    "Generate": lambda frame: frame.selectExpr("explode(array(x, x)) AS x"),
    "rand": lambda frame: frame.selectExpr("rand(3) AS x"),
    "current_timestamp": lambda frame: frame.selectExpr("current_timestamp() AS x"),
    "monotonically_increasing_id": lambda frame: frame.selectExpr("monotonically_increasing_id() AS x"),
    "_metadata": lambda frame: frame.selectExpr("_metadata.row_index AS x"),
    "MapInArrow": lambda frame: frame.mapInArrow(lambda parts: parts, frame.schema),
}


PARTIAL = (
    *(
        "x + 1",
        "x * 2",
        "-x",
        "1 / x",
        "7 % x",
        "7 div length(job)",
        "abs(x)",
        "CAST(job AS INT)",
        "CAST(x AS INT)",
    ),
    *("job = 5", "array(1, 2)[CAST(x AS INT)]", "'a' LIKE job", "rlike('a', job)", "to_date(job)"),
    *("CAST(x AS DECIMAL(10, 2))", "CAST(upper(job) AS INT)", "conv(job, 10, 36)", "decode(unhex(job), job)"),
    *("timestamp_seconds(x)", "DATE '2025-01-01' + make_interval(CAST(x AS INT))"),
)
"""Expressions at which Spark fails for some value, with ANSI on."""

TOTAL = (
    *("x > 1 AND job LIKE 'a%'", "upper(job) || 'x'", "try_add(x, 1)", "try_divide(1, x)", "coalesce(x, 1)"),
    *("try_cast(job AS INT)", "CASE WHEN x > 1 THEN job END", "job IN ('a', 'b')", "CAST(x AS STRING)"),
)


@pytest.fixture(params=["spark", "connect"])
def frame(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    table = pyarrow.table({"x": [1.0, 2.0, 3.0], "job": ["a", "b", "a"]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    return request.getfixturevalue(request.param).read.parquet(str(tmp_path / "t.parquet"))


def test_plain_scans_are_taken_and_say_what_they_make_of_their_table(frame: Any) -> None:
    sources = [open_source(change(frame), None).source for change in TAKEN.values()]
    assert sources[0] == ""
    assert len(set(sources)) == len(sources)
    assert open_source(TAKEN["filters and projections"](frame), None).source == sources[1]


def test_rows_that_need_not_be_records_are_refused_unless_somebody_vouches_for_them(frame: Any) -> None:
    for word, change in REFUSED.items():
        with pytest.raises(InvalidRequest, match=word):
            open_source(change(frame), None)
    assert open_source(frame.limit(3), None, rows_are_records=True).source


def test_expressions_that_one_value_makes_fail_are_refused_unless_somebody_vouches_for_them(
    frame: Any,
) -> None:
    for expression in PARTIAL:
        with pytest.raises(InvalidRequest, match="one record could make every question fail"):
            open_source(frame.selectExpr(f"{expression} AS y"), None)
    with pytest.raises(InvalidRequest, match="with arithmetic"):
        open_source(frame.filter("1 / x > 2"), None)
    assert open_source(frame.selectExpr("x + 1 AS y"), None, rows_are_records=True).source
    for expression in TOTAL:
        assert open_source(frame.selectExpr(f"{expression} AS y"), None).source


def test_functions_of_the_caller_s_own_are_refused(spark: Any, connect: Any, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": [1.0]}), tmp_path / "t.parquet")
    from pyspark.sql.connect.functions import udf as remote  # noqa: PLC0415
    from pyspark.sql.functions import udf as local  # noqa: PLC0415

    for session, udf in ((spark, local), (connect, remote)):
        found = session.read.parquet(str(tmp_path / "t.parquet"))
        with pytest.raises(InvalidRequest, match="need not give a record the same"):
            open_source(found.select(udf(abs, "double")("x").alias("x")), None)


def test_other_sources_are_refused_with_what_works(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1,2\n", encoding="utf-8")
    spark.range(3).selectExpr("id", "id AS year").write.partitionBy("year").parquet(str(tmp_path / "parts"))
    for source, words in (
        (spark.read.csv(str(tmp_path / "t.csv")), "reads csv"),
        (spark.createDataFrame([(1,)], "a int"), "rows of an RDD"),
        (spark.read.parquet(str(tmp_path / "parts")), "names of folders"),
        (spark.read.parquet(*[str(tmp_path / "parts" / "year=1")] * 2), "read twice"),
        ("nowhere.accounts", "cannot open the source"),
        (3, "Spark cannot read int"),
    ):
        with pytest.raises(InvalidRequest, match=words):
            open_source(source, None)


def test_thousands_of_keys_and_bins_have_duckdb_s_cells(spark: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    numbers = random.integers(0, 10_000, 5_000)
    table = pyarrow.table({"v": numbers, "x": random.normal(0, 300, 5_000), "job": numbers.astype(str)})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for by, keys in (
        ("v", range(10_000)),
        ("job", map(str, range(10_000))),
        (bins("x", range(-1000, 1001, 4)), None),
    ):
        found = []
        grouped = None if keys is None else list(keys)
        for engine in (
            open_source(spark.read.parquet(str(tmp_path / "t.parquet")), None),
            duckdb.open_source(tmp_path / "t.parquet", None),
        ):
            policy = prdp.Policy("1").within(engine.schema, {})
            grouping = read_grouping([by], grouped, engine.schema)
            reading = CellRead(policy, policy.levels, {}, None, None, grouping)
            found.append([summary.cells for summary in engine.summarise(reading)])
        assert found[0] == found[1]
        assert sum(map(len, found[0])) > 300
