"""Polars meets the contract: lazy frames, frames and Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet
import pytest

import prdp
from prdp.engines.polars.engine import open_source, open_tables
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.testing.engine_contract import EngineContract
from prdp.testing.engine_equality import EqualityContract
from prdp.testing.join_contract import COLUMNS as JOINED
from prdp.testing.join_contract import JoinContract, Tables
from prdp.testing.reference import Record
from prdp.testing.storage_contract import Record as StoredRecord
from prdp.testing.storage_contract import Storage, StorageContract

SCHEMA: Mapping[str, Any] = {
    "eps": pl.Float64,
    "v": pl.Int64,
    "x": pl.Float64,
    "job": pl.String,
    "day": pl.Datetime("us"),
}


def frame(records: Sequence[Record]) -> pl.DataFrame:
    return pl.DataFrame([dict(record) for record in records], schema=SCHEMA, orient="row")


class TestFrame(EqualityContract, EngineContract):
    brief = True

    def engine(self, records: Sequence[Record]) -> SqlEngine:
        return open_source(frame(records), None)

    def lost(self, _: Sequence[Record]) -> None:
        return None

    def changed(self, _: Sequence[Record]) -> None:
        return None


@pytest.mark.slow
class TestFrameInFull(TestFrame):
    brief = False


class TestParquet(EngineContract):
    brief = True

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def engine(self, records: Sequence[Record]) -> SqlEngine:
        half = len(records) // 2
        for number, part in enumerate((records[:half], records[half:])):
            frame(part).write_parquet(self.folder / f"part{number}.parquet")
        return open_source(str(self.folder / "part*.parquet"), None)

    def lost(self, records: Sequence[Record]) -> Any:
        engine = self.engine(records)
        for part in self.folder.glob("part*.parquet"):
            part.unlink()
        return engine

    def changed(self, records: Sequence[Record]) -> Any:
        engine = self.engine(records)
        for part in self.folder.glob("part*.parquet"):
            frame(records).drop("v").write_parquet(part)
        return engine


def lazy() -> pl.LazyFrame:
    return pl.LazyFrame({"a": [1, 2, 3], "x": [1.0, 2.0, 3.0], "t": ["a", 'say "SLICE"', "b\nSORT BY"]})


@pytest.mark.parametrize(
    "taken",
    [
        lazy(),
        lazy().filter(pl.col("a") > 1, pl.col("t").str.starts_with("a") | pl.col("x").is_not_nan()),
        lazy().select("a", y=pl.col("x").clip(0, 5).round(2), z=pl.lit("x\nSLICE")),
        lazy().with_columns(y=pl.when(pl.col("a") > 1).then(pl.col("x").abs()).otherwise(2.0)),
        lazy().rename({"a": "b"}).drop("x").drop_nulls().fill_null(0),
        lazy().with_columns(pl.col("a").cast(pl.Float64, strict=False).alias("q.sum(")),
    ],
)
def test_a_frame_with_filters_and_columns_of_one_row_per_unit_is_read(taken: pl.LazyFrame) -> None:
    assert open_source(taken, None).schema


@pytest.mark.parametrize(
    ("refused", "word"),
    [
        (lazy().head(2), "SLICE"),
        (lazy().unique(), "UNIQUE"),
        (lazy().sort("a").head(1), "SLICE"),
        (lazy().with_row_index(), "ROW.INDEX"),
        (lazy().group_by("t").agg(pl.len()), "AGGREGATE"),
        (lazy().join(lazy(), on="a"), "JOIN"),
        (pl.concat([lazy(), lazy()]), "UNION"),
        (lazy().with_columns(y=pl.col("a").sum()), "sum"),
        (lazy().with_columns(y=pl.col("a") - pl.col("a").mean()), "mean"),
        (lazy().with_columns(y=pl.col("a").shift(1)), "shift"),
        (lazy().with_columns(y=pl.col("a").sum().over("t")), "over|sum"),
        (lazy().with_columns(y=pl.col("a").cum_sum()), "cum_sum"),
        (lazy().with_columns(y=pl.col("a").rank()), "rank"),
        (lazy().with_columns(y=pl.col("a").map_elements(lambda a: a, return_dtype=pl.Int64)), "map|python"),
        (lazy().map_batches(lambda given: given), "MAP|python"),
        (lazy().filter(pl.col("a") > pl.col("a").median()), "median"),
        (lazy().gather_every(2), "gather_every"),
        (lazy().fill_null(strategy="forward"), "fill_null_with"),
        (lazy().with_columns(y=pl.col("t").str.join(",")), r"str\."),
        (lazy().with_columns(y=pl.col("a") / pl.len()), "len"),
        (lazy().with_columns(pl.lit('"').alias("b"), pl.col("a").sum(), pl.lit('"').alias("c")), "quotation"),
        (
            lazy().with_columns(pl.lit('x"y').alias("b"), pl.col("a").sum(), pl.lit('"').alias("c")),
            "quotation",
        ),
        (lazy().rename({"a": 'q"'}).with_columns(pl.col('q"').sum().alias('z"')), "quotation"),
        (lazy().filter(pl.col("t").str.contains(pl.when(pl.col("a") > 1).then(pl.col("t")))), "contains"),
        (lazy().select(pl.len()), "SELECT"),
        (lazy().select(pl.lit(1)), "SELECT"),
        (lazy().with_columns(y=pl.col("a") + pl.Series([1, 2, 3])), "Series"),
        (lazy().filter(pl.Series([True, False, True])), "Series"),
        (lazy().with_columns(y=pl.col("t").cast(pl.Int64)), "strict=False"),
        (lazy().filter(pl.col("t").str.contains(pl.col("t"))), "contains"),
        (lazy().with_columns(y=pl.col("a").cast(pl.UInt32, strict=False)), "UInt"),
    ],
)
def test_a_frame_whose_rows_may_hang_on_others_is_refused(refused: pl.LazyFrame, word: str) -> None:
    with pytest.raises(InvalidRequest, match=f"(?i)plan has .*({word}).*rows_are_records=True"):
        open_source(refused, None)
    assert open_source(refused, None, rows_are_records=True).schema


def kept(records: Sequence[StoredRecord]) -> pl.DataFrame:
    kinds: dict[str, Any] = {
        "x": pl.Float64,
        "f": pl.Float32,
        "v": pl.Int64,
        "d": pl.Decimal(18, 2),
        "job": pl.String,
    }
    kinds |= {"day": pl.Datetime("us"), "ok": pl.Boolean}
    return pl.DataFrame([dict(record) for record in records], schema=kinds, orient="row")


def written(**options: Any) -> Storage:
    def keep(records: Sequence[StoredRecord], folder: Path) -> SqlEngine:
        kept(records).write_parquet(folder / "t.parquet", **options)
        return open_source(folder / "t.parquet", None)

    return keep


def written_by_pyarrow(records: Sequence[StoredRecord], folder: Path) -> SqlEngine:
    pyarrow.parquet.write_table(kept(records).to_arrow(), folder / "t.parquet", row_group_size=4)
    return open_source(folder / "t.parquet", None)


def changed_kinds(records: Sequence[StoredRecord], folder: Path) -> SqlEngine:
    """Keep texts as categories, and moments in milliseconds with a zone."""
    held = kept(records).with_columns(pl.col("job").cast(pl.Categorical))
    moments = (
        pl.col("day").dt.cast_time_unit("ms").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
    )
    return open_source(held.with_columns(moments), None)


STORAGES: Mapping[str, Storage] = {
    "frame": lambda records, _: open_source(kept(records), None),
    "sorted frame": lambda records, _: open_source(kept(records).sort("x", "v"), None),
    "file": written(),
    "file, all statistics": written(statistics="full", row_group_size=5),
    "file, no statistics": written(statistics=False),
    "file of pyarrow": written_by_pyarrow,
    "other kinds": changed_kinds,
}


class TestStorage(StorageContract):
    brief = True

    def storages(self) -> Mapping[str, Storage]:
        return {name: STORAGES[name] for name in ("sorted frame", "file, all statistics")}


@pytest.mark.slow
class TestStorageInFull(StorageContract):
    def storages(self) -> Mapping[str, Storage]:
        return STORAGES


class TestJoins(JoinContract):
    brief = True

    def engine(self, tables: Tables) -> SqlEngine:
        kinds = {"VARCHAR": pl.String, "DOUBLE": pl.Float64, "BIGINT": pl.Int64}
        return open_tables(
            {
                name: pl.DataFrame(
                    list(map(dict, tables[name])),
                    schema={column: kinds[kind] for column, kind in columns.items()},
                    orient="row",
                ).lazy()
                for name, columns in JOINED.items()
            }
        )


@pytest.mark.slow
class TestJoinsInFull(TestJoins):
    brief = False


def test_lazy_frames_are_joined_by_polars() -> None:
    people = pl.LazyFrame({"id": [1, 2, 3], "eps": [1.0, 2.0, 0.5]})
    orders = pl.LazyFrame({"buyer": [1, 1, 2, 9], "price": [5, 6, 7, 8]})
    shop = prdp.open_join(
        {"people": people, "orders": orders},
        private="people",
        key="id",
        references={"orders.buyer": "people.id"},
        policy=prdp.Policy.column("eps", at_least="1/10", at_most=10**6),
        bounds={"price": (0, 10)},
        synthetic=True,
    )
    assert shop._engine.name == "polars"
    assert shop.over("orders").sum("price", share=1).value is not None
    with pytest.raises(InvalidRequest, match="lazy ones of Polars state their own"):
        prdp.open_join(
            {"people": people, "orders": orders},
            private="people",
            key="id",
            references={"orders.buyer": "people.id"},
            policy=prdp.Policy.column("eps", at_least="1/10", at_most=10),
            types={"orders": {"price": "BIGINT"}},
        )


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_a_moment_at_the_ends_of_its_unit_changes_nothing_about_others(unit: Any, zone: str | None) -> None:
    steps = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    second = pl.Series([86_400 * steps] * 9).cast(pl.Datetime(unit, zone))
    ends = pl.Series([2**63 - 1, -(2**63) + 1]).cast(pl.Datetime(unit, zone))
    for moments in (second, second.append(ends)):
        table = prdp.open(pl.LazyFrame({"day": moments}), policy="1", name="t", synthetic=True)
        answer = table.filter("day < DATE '1970-01-03' AND day > DATE '1970-01-01'").count(share=1)
        assert abs(float(answer) - 9) < 40
    assert open_source(pl.LazyFrame({"d": pl.Series([2**31 - 1, 0]).cast(pl.Date)}), None).rows_of(
        'SELECT count(TRY_CAST("d" AS TIMESTAMP)) AS n FROM prdp_records'
    ) == [(1,)]
