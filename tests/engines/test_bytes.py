"""Texts in Parquet files that are no UTF-8: no row makes a statement fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import prdp
from prdp.plan.queries import Count, Query, Sum
from prdp.testing.raw_cells import raw_cells

ODD = [b"x", b"\xff", b"y", b"\xff\xff", b"a long text that ends in \xff", None, b"x"]
ONE = prdp.Policy.constant(1)


@pytest.fixture
def file(tmp_path: Path) -> str:
    texts = pyarrow.array(ODD, pyarrow.binary()).view(pyarrow.string())
    path = tmp_path / "odd.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"t": texts, "v": list(range(len(ODD)))}), path)
    return str(path)


def asked(table: Any, query: Query, grouping: Any = None) -> tuple[Any, ...]:
    return raw_cells(table, table.planner.plan([query], "1/4", grouping))


def test_such_ids_are_units_too(file: str) -> None:
    (cells,) = asked(prdp.open(file, privacy_unit="t", policy=ONE, synthetic=True), Count())
    assert cells.rows.records == len(set(ODD) - {None})


def test_a_filter_and_a_group_know_what_is_the_same_text(file: str) -> None:
    table = prdp.open(file, policy=ONE, bounds={"v": (0, 100)}, synthetic=True)
    (kept,) = asked(table.filter("t = 'x' OR t = 'y'"), Sum("v"))
    assert kept.clipped_total(100) == 0 + 2 + 6
    groups = table.group_by("CASE WHEN v >= 0 THEN t ELSE 'x' END", keys=["x", "y"])
    assert [cells.clipped_total(100) for cells in asked(table, Sum("v"), groups.grouping)] == [6, 2]
