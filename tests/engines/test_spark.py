"""Spark meets the contract: frames of both kinds, and whatever the session's settings are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import pyarrow
import pytest

from prdp.declare.columns import column_of, read_column
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.spark.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.testing.engine_contract import ROW_EXPRESSIONS, ROW_RECORDS, EngineContract
from prdp.testing.engine_equality import EqualityContract

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The SQL config:UserWarning"),
]

_NUMBERS = count()

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


class TestFrames(EqualityContract, EngineContract):
    """Fewer questions of each kind: every one is a job that takes longer to plan than to run."""

    brief = True

    @pytest.fixture(autouse=True)
    def _session(self, spark: Any) -> None:
        self.spark = spark

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return open_source(self.spark.createDataFrame(arrow(records)), None)

    def lost(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.after("DROP TABLE {}", records)

    def changed(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.after("CREATE OR REPLACE TEMP VIEW {} AS SELECT 1 AS eps", records)

    def after(self, statement: str, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        """Open a table by its name, and let somebody else change it."""
        name = f"accounts{next(_NUMBERS)}"
        self.spark.createDataFrame(arrow(records)).write.format("parquet").saveAsTable(name)
        engine = open_source(name, None)
        self.spark.sql(statement.format(name))
        return engine


SETTINGS: Mapping[str, Mapping[str, str]] = {
    "as Spark comes": {},
    "ANSI off": {"spark.sql.ansi.enabled": "false"},
    "ANSI, strictly": {
        "spark.sql.ansi.enforceReservedKeywords": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.caseSensitive": "true",
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
    },
    "as before Spark 3": {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Kathmandu",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    },
}


@contextmanager
def settings(session: Any, given: Mapping[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name) for name in given}
    for name, value in given.items():
        session.conf.set(name, value)
    try:
        yield
        assert {name: session.conf.get(name) for name in given} == given, (
            "prdp has changed a setting for good"
        )
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


@pytest.mark.parametrize("kind", ["spark", "connect"])
@pytest.mark.parametrize("name", SETTINGS)
def test_every_function_gives_the_same_whatever_the_settings(
    request: pytest.FixtureRequest, kind: str, name: str
) -> None:
    session = request.getfixturevalue(kind)
    engine = open_source(session.createDataFrame(arrow(ROW_RECORDS)), None)
    nodes = [read_column(text, engine.schema, "group_by") for text in ROW_EXPRESSIONS]
    items = [
        f"{to_sql(read.expression, engine.schema)} AS e{place}"
        for place, read in enumerate(nodes)
        if read.expression is not None
    ]
    with settings(session, SETTINGS[name]):
        rows = engine.rows_of(f"SELECT v, {', '.join(items)} FROM {engine.records}")
    found = {row[0]: row[1:] for row in rows}
    for record in ROW_RECORDS:
        for text, read, value in zip(ROW_EXPRESSIONS, nodes, found[record["v"]], strict=True):
            assert value == column_of(record, read.name, read.expression), (text, record)
