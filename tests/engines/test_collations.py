"""Texts are distinguished by code point, whatever collation a column of DuckDB has."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pytest

from prdp.engines.duckdb.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.testing.engine_contract import ROW_RECORDS, RowContract
from prdp.testing.reference import Record

OF_TEXTS = ("A", "É", "ABC", "b", "aBC", "C", "TEAM MANAGER")
"""Texts that collations take for others of ``ROW_RECORDS``."""


class CollatedTexts(RowContract):
    @pytest.fixture(autouse=True)
    def _collated(self, collation: str) -> None:
        self.collation = collation

    def engine(self, records: Sequence[Record]) -> SqlEngine:
        connection = duckdb.connect()
        columns = f"eps DOUBLE, v BIGINT, x DOUBLE, job VARCHAR COLLATE {self.collation}, day TIMESTAMP"
        connection.execute(f"CREATE TABLE records ({columns})")
        rows = [[record[name] for name in ("eps", "v", "x", "job", "day")] for record in records]
        connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
        return open_source(connection.table("records"), None)

    def row_records(self) -> Sequence[Record]:
        more = [
            {**ROW_RECORDS[1], "job": text, "v": 2 ** (len(ROW_RECORDS) + place)}
            for place, text in enumerate(OF_TEXTS)
        ]
        return [*ROW_RECORDS, *more]


@pytest.mark.slow
@pytest.mark.parametrize("collation", ["NFC", "NOCASE.NOACCENT"])
class TestEveryFunctionOfCollatedTexts(CollatedTexts):
    """The collations that together do all that the others do."""


@pytest.mark.slow
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT"])
class TestEveryFunctionOfOtherCollatedTexts(CollatedTexts):
    """Each of two that are above in one."""
