"""Spark meets the contract: classic frames, with ANSI on and off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow
import pytest

from prdp.engines._spark_frames import Frame
from prdp.engines.spark import SparkEngine, open_source
from prdp.testing.engine_contract import EngineContract

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")

SCHEMA = pyarrow.schema(
    [
        ("eps", pyarrow.float64()),
        ("v", pyarrow.int64()),
        ("x", pyarrow.float64()),
        ("job", pyarrow.string()),
        ("day", pyarrow.timestamp("us")),
    ]
)


def arrow(records: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist([dict(record) for record in records], schema=SCHEMA)


class TestFrames(EngineContract):
    @pytest.fixture(autouse=True)
    def _session(self, spark: Any) -> None:
        self.spark = spark

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SparkEngine:
        return open_source(self.spark.createDataFrame(arrow(records)), None)

    def lost(self, _: Sequence[Mapping[str, Any]]) -> None:
        return None

    def changed(self, _: Sequence[Mapping[str, Any]]) -> None:
        return None
