"""A plan is answered in one order: standing answer, source, charge, draw, record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prdp
from prdp.errors import EngineFailure, InvalidRequest

N = 300


def written(path: Path) -> Path:
    pq.write_table(pa.table({"v": np.arange(N)}), path)
    return path


def opened(path: Path, **options: Any) -> prdp.Table:
    return prdp.open(path, policy=prdp.Policy.constant("1"), bounds={"v": (0, N)}, **options)


def test_an_answer_that_stands_is_given_when_its_source_is_gone(tmp_path: Path) -> None:
    path, ledger = written(tmp_path / "t.parquet"), tmp_path / "t.ledger"
    first = opened(path, ledger=ledger)
    told = first.count(share="1/4")
    path.unlink()
    assert first.count(share="1/4") == told
    with pytest.raises(InvalidRequest, match="Nothing was charged"):
        first.sum("v", share="1/4")
    assert first.ledger.left == 1 - told.share


def test_a_source_that_is_gone_is_not_charged_for_a_fresh_answer(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet")
    table = opened(path)
    table.count(share="1/4")
    path.unlink()
    with pytest.raises(InvalidRequest, match="Nothing was charged"):
        table.count(share="1/4", fresh=True)
    assert len(table.ledger.entries) == 1


def test_a_failed_draw_leaves_a_charge_that_the_same_question_takes_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = opened(written(tmp_path / "t.parquet"))
    with monkeypatch.context() as broken:
        broken.setattr("prdp.run.reader.Reader.read", lambda *_: 1 / 0)
        with pytest.raises(EngineFailure):
            table.count(share="1/4")
    (entry,) = table.ledger.entries
    assert entry.release is None
    assert table.count(share="1/4") == table.ledger.entries[0].release
    assert len(table.ledger.entries) == 1


def test_nothing_is_charged_for_a_plan_or_an_explanation(tmp_path: Path) -> None:
    table = opened(written(tmp_path / "t.parquet"))
    groups = table.group_by(prdp.bins("v", [0, 10, 20]))
    for asked in (table, groups):
        asked.plan(prdp.count(), share=1)
        assert "SELECT" in asked.explain(prdp.count(), prdp.mean("v"), share=1)
    assert table.ledger.left == 1
    assert table._reader.kept == {}
