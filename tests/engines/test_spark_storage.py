"""Wherever the same rows are kept, Spark gives the same cells: no facts about other records are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow
import pyarrow.parquet
import pytest

from prdp.engines.spark import frames
from prdp.engines.spark.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.testing.storage_contract import (
    _TELLING,
    EXTREMES,
    TABLES,
    Record,
    Storage,
    StorageCase,
    StorageContract,
)
from tests.engines.test_storage import arrow, forge
from tests.storage_matrix.comparing import differences

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
]


def opened(frame: Any) -> SqlEngine:
    return open_source(frame, None)


class SparkStorage(StorageContract):
    """Ways in which rows are kept that Spark reads."""

    @pytest.fixture(autouse=True)
    def _sessions(self, spark: Any, connect: Any) -> None:
        self.spark, self.connect = spark, connect

    def pyarrow_file(self, records: Sequence[Record], folder: Path) -> str:
        pyarrow.parquet.write_table(arrow(records), folder / "t.parquet", row_group_size=5)
        return str(folder / "t.parquet")

    def by_pyarrow(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        return opened(self.spark.read.parquet(self.pyarrow_file(records, folder)))

    def by_connect(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        return opened(self.connect.read.parquet(self.pyarrow_file(records, folder)))

    def by_polars(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        pl.DataFrame(arrow(records)).write_parquet(folder / "t.parquet", statistics="full")
        return opened(self.spark.read.parquet(str(folder / "t.parquet")))

    def cached(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        return opened(self.spark.read.parquet(self.pyarrow_file(records, folder)).cache())

    def by_spark(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        self.spark.createDataFrame(arrow(records)).write.parquet(str(folder / "t"))
        return opened(self.spark.read.parquet(str(folder / "t")))

    def orc(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        self.spark.createDataFrame(arrow(records)).write.orc(str(folder / "t"))
        return opened(self.spark.read.orc(str(folder / "t")))

    def forged(self, records: Sequence[Record], folder: Path) -> SqlEngine:
        return opened(self.spark.read.parquet(str(forge(records, folder))))

    def storages(self) -> Mapping[str, Storage]:
        return {
            "pyarrow": self.by_pyarrow,
            "Connect": self.by_connect,
            "polars": self.by_polars,
            "cached": self.cached,
            "Spark's own": self.by_spark,
            "ORC": self.orc,
            "wrong statistics": self.forged,
        }


class TestStorage(SparkStorage):
    """Few questions of each table: every one is a job for each storage."""

    examples = 1

    def test_odd_tables_give_the_same_cells_in_every_storage(self) -> None:
        for records in (TABLES["numbers and NaN"], TABLES["long texts"]):
            self.hold(records, ODD)

    def test_one_extreme_record_changes_nothing_about_the_others(self) -> None:
        for extreme in (EXTREMES[0], EXTREMES[7]):
            self.hold([*TABLES["numbers and NaN"], extreme], _TELLING[1:5:3])
        self.hold([*TABLES["NaN alone"], EXTREMES[0]], _TELLING[:2])


ODD = (
    StorageCase(policy="least(x, 10) / 10"),
    StorageCase(where="NOT (x < 100)"),
    StorageCase(where="NOT (d > 1)"),
    StorageCase(where="NOT (v BETWEEN 0 AND 10)"),
    StorageCase(where="job IN ('clerk', 'spy')"),
    StorageCase(column="d"),
    StorageCase(column="job", keys=True),
)


def test_an_engine_that_lets_statistics_decide_is_caught(
    monkeypatch: pytest.MonkeyPatch, spark: Any, connect: Any
) -> None:
    monkeypatch.setattr(frames, "SETTINGS", {})

    class Careless(SparkStorage):
        def storages(self) -> Mapping[str, Storage]:
            self.spark, self.connect = spark, connect
            return {"wrong statistics": self.forged}

    with pytest.raises(AssertionError, match=r"StorageCase\("):
        Careless().hold(TABLES["numbers and NaN"], [StorageCase(where="NOT (v BETWEEN 0 AND 10)")])


def test_where_nobody_may_set_anything_right_statistics_still_decide_nothing(
    monkeypatch: pytest.MonkeyPatch, spark: Any, connect: Any
) -> None:
    monkeypatch.setattr(frames, "SETTINGS", {})

    class Locked(SparkStorage):
        def storages(self) -> Mapping[str, Storage]:
            self.spark, self.connect = spark, connect
            return {name: getattr(self, name) for name in ("by_pyarrow", "by_polars", "cached", "by_connect")}

    Locked().hold([*TABLES["numbers and NaN"], EXTREMES[0]], _TELLING[:2])


@pytest.mark.parametrize("kind", ["spark", "connect"])
@pytest.mark.parametrize("int96", [False, True])
def test_one_old_date_fails_nothing_where_a_session_would_have_it_fail(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, int96: bool
) -> None:
    session = request.getfixturevalue(kind)
    name = f"spark.sql.parquet.{'int96' if int96 else 'datetime'}RebaseModeInRead"
    usual = [datetime(2025, 3, day, tzinfo=UTC) for day in range(1, 5)]

    def kept(times: list[datetime]) -> SqlEngine:
        file = tmp_path / f"{len(times)}.parquet"
        unit = pyarrow.timestamp("ns" if int96 else "us", "UTC")
        records = [place if place <= len(usual) else 0 for place in range(1, len(times) + 1)]
        table = pyarrow.table({"record": records, "c": pyarrow.array(times, unit)})
        pyarrow.parquet.write_table(table, file, use_deprecated_int96_timestamps=int96)
        return opened(session.read.parquet(str(file)))

    session.conf.set(name, "EXCEPTION")
    try:
        old = datetime(1700, 1, 1, tzinfo=UTC)
        for date in (old, old.replace(year=1200)) if not int96 else (old,):
            assert differences(kept, usual, [*usual, date], len(usual)) == []
        assert session.conf.get(name) == "EXCEPTION"
    finally:
        session.conf.unset(name)
