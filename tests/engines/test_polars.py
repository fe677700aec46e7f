"""Polars meets the contract: lazy frames, frames and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from prdp.engines.polars import PolarsEngine, open_source
from prdp.testing.engine_contract import EngineContract
from prdp.testing.reference import Record

SCHEMA = {"eps": pl.Float64, "v": pl.Int64, "x": pl.Float64, "job": pl.String, "day": pl.Datetime("us")}


def frame(records: Sequence[Record]) -> pl.DataFrame:
    return pl.DataFrame([dict(record) for record in records], schema=SCHEMA, orient="row")


class TestFrame(EngineContract):
    def engine(self, records: Sequence[Record]) -> PolarsEngine:
        return open_source(frame(records), None)

    def lost(self, _: Sequence[Record]) -> None:
        return None

    def changed(self, _: Sequence[Record]) -> None:
        return None


class TestParquet(EngineContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def engine(self, records: Sequence[Record]) -> PolarsEngine:
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
