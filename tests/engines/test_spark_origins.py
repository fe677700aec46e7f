"""Spark's analysed plan tells which frames, views and files show private rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from prdp.errors import InvalidRequest
from tests.origins import PRIVATE, TWIN, answered, assert_told_apart, joined, verdict

pytestmark = pytest.mark.slow

Form = Callable[[Any, Any, Path], Any]
"""Derives a frame from a session, a frame of a base table and the folder of its files."""


def of_view(session: Any, name: str, text: str) -> Any:
    session.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS {text}")
    return session.table(name)


def linked(session: Any, folder: Path, link: Any) -> Any:
    other = folder.parent / f"{folder.name}_{link.__name__}"
    if link is os.symlink:
        if not other.exists():
            os.symlink(folder, other)
    elif not other.exists():
        other.mkdir()
        for file in folder.glob("*.parquet"):
            os.link(file, other / file.name)
    return session.read.parquet(str(other)).selectExpr("id AS code")


FORMS: Mapping[str, Form] = {
    "select": lambda s, t, f: t.selectExpr("id AS code"),
    "filter and distinct": lambda s, t, f: t.filter("id >= 0").selectExpr("id AS code").distinct(),
    "read again": lambda s, t, f: s.read.parquet(str(f)).selectExpr("id AS code"),
    "file:// URI": lambda s, t, f: s.read.parquet(f"file://{f}").selectExpr("id AS code"),
    "one of its files": lambda s, t, f: s.read.parquet(str(next(f.glob("*.parquet")))).selectExpr(
        "id AS code"
    ),
    "glob": lambda s, t, f: s.read.parquet(f"{f}/*.parquet").selectExpr("id AS code"),
    "symbolic link": lambda s, t, f: linked(s, f, os.symlink),
    "hard link": lambda s, t, f: linked(s, f, os.link),
    "path in SQL": lambda s, t, f: s.sql(f"SELECT id AS code FROM parquet.`{f}`"),
    "view": lambda s, t, f: of_view(s, f"{f.name}_v", f"SELECT id AS code FROM parquet.`{f}`"),
    "view of a view": lambda s, t, f: of_view(s, f"{f.name}_w", f"SELECT code FROM {f.name}_v"),
    "union": lambda s, t, f: s.range(100, 102).toDF("code").union(t.selectExpr("id AS code")),
    "join": lambda s, t, f: s.range(9).toDF("code").join(t.select("id"), t["id"] == 1, "semi"),
    "CTE": lambda s, t, f: s.sql(f"WITH q AS (SELECT id FROM parquet.`{f}`) SELECT id AS code FROM q"),
    "cached": lambda s, t, f: t.selectExpr("id AS code", "id").cache().select("code"),
    "table": lambda s, t, f: s.table(f"t_{f.name}").selectExpr("id AS code"),
    "files of a table": lambda s, t, f: s.read.parquet(table_folder(s, f)).selectExpr("id AS code"),
}
CLASSIC: Mapping[str, Form] = {
    "in": lambda s, t, f: s.sql(
        f"SELECT id AS code FROM range(9) WHERE id IN (SELECT id FROM parquet.`{f}`)"
    ),
    "scalar": lambda s, t, f: s.sql(
        f"SELECT id AS code FROM range(9) WHERE id <= (SELECT max(id) FROM parquet.`{f}`)"
    ),
}
"""Of Connect, the server lists no files of subqueries, and the twin's are refused as well."""

HIDDEN: Mapping[str, Form] = {
    "checkpoint": lambda s, t, f: t.selectExpr("id AS code").localCheckpoint(),
    "function": lambda s, t, f: t.limit(9).select(own(s)("id").alias("code")),
    "Python": lambda s, t, f: t.mapInArrow(lambda batches: batches, t.schema).selectExpr("id AS code"),
    "variable": lambda s, t, f: up_to_variable(s, t),
}


def up_to_variable(session: Any, table: Any) -> Any:
    table.createOrReplaceTempView("in_variable")
    session.sql("DECLARE OR REPLACE VARIABLE held BIGINT")
    session.sql("SET VAR held = (SELECT max(id) FROM in_variable)")
    return session.sql("SELECT id AS code FROM range(9) WHERE id <= held")


def own(session: Any) -> Any:
    from pyspark.sql.connect.functions import udf as remote  # noqa: PLC0415
    from pyspark.sql.functions import udf as local  # noqa: PLC0415

    udf = remote if hasattr(session, "session_id") else local
    return udf(lambda value: value, "bigint")


def table_folder(session: Any, folder: Path) -> str:
    rows = session.sql(f"DESCRIBE TABLE EXTENDED t_{folder.name}").collect()
    return next(str(row[1]) for row in rows if row[0] == "Location")


@pytest.fixture(params=["spark", "connect"])
def session(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def folders(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {table: tmp_path_factory.mktemp("origins") / table for table in (PRIVATE, TWIN)}
    for folder in found.values():
        frame = spark.range(6).selectExpr("id", "id AS town").coalesce(1)
        frame.write.parquet(str(folder))
        spark.sql(f"DROP TABLE IF EXISTS t_{folder.name}")
        frame.write.saveAsTable(f"t_{folder.name}")
    return found


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a pandas that Spark has not been tried with
        yield


OF_TABLE = {"table", "files of a table"}
"""Their private table is the one of the catalogue; all others' is the folder."""


def test_what_shows_private_rows_is_no_public_table_and_its_twin_is_one(
    session: Any, folders: dict[str, Path]
) -> None:
    hidden = HIDDEN if hasattr(session.range(1), "_jdf") else {**HIDDEN, **CLASSIC}
    base = {table: session.read.parquet(str(folder)) for table, folder in folders.items()}
    found: dict[str, tuple[str, str]] = {}
    for form, derive in {**FORMS, **CLASSIC, **HIDDEN}.items():
        private = session.table("t_people") if form in OF_TABLE else base[PRIVATE]
        shown = (derive(session, base[table], folders[table]) for table in (PRIVATE, TWIN))
        first, second = (verdict(private, derived, ask=joined) for derived in shown)
        if form in hidden and first == "have one source":  # what is seen of it is enough
            first = "cannot be traced"
        found[form] = (first, second)
    assert_told_apart(found, hidden)


def test_selects_of_a_local_frame_are_that_frame(session: Any) -> None:
    people, places = (
        session.createDataFrame(pyarrow.table({"id": [1, 2], "town": [1, 2]})) for _ in range(2)
    )
    for derived in (people.selectExpr("id AS code"), people.filter("id > 0").selectExpr("town AS code")):
        with pytest.raises(InvalidRequest, match="have one source"):
            joined(people, derived)
    answered(people, places.selectExpr("id AS code"))


def test_views_of_a_catalogue_are_traced_by_their_names(spark: Any, folders: dict[str, Path]) -> None:
    for table in folders:
        spark.sql(f"CREATE OR REPLACE VIEW c_{table} AS SELECT id AS code FROM t_{table}")
    assert verdict("t_people", "c_people", spark) == "have one source"
    assert verdict("t_people", "c_places", spark) == "answered"
    for table in folders:
        spark.sql(f"DROP VIEW c_{table}")


def test_rows_without_a_plan_are_public_by_declaration(spark: Any, folders: dict[str, Path]) -> None:
    people = spark.read.parquet(str(folders[PRIVATE]))
    listed = spark.createDataFrame([(1,), (2,)], ["code"])
    with pytest.raises(InvalidRequest, match=r"cannot be traced .*RDD"):
        joined(people, listed)
    answered(people, listed, public_by_declaration=True)
