"""A plan is answered in one order: standing answer, source, charge, draw, record."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
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


def test_an_answer_that_is_is_given_when_its_source_is_gone(tmp_path: Path) -> None:
    path, ledger = written(tmp_path / "t.parquet"), tmp_path / "t.ledger"
    first = opened(path, ledger=ledger)
    reported = first.count(share="1/4")
    path.unlink()
    assert first.count(share="1/4") == reported
    with pytest.raises(InvalidRequest, match="Nothing was charged"):
        first.sum("v", share="1/4")
    assert first.ledger.remaining == 1 - reported.share


def test_a_source_that_is_gone_is_not_charged_for_a_redraw_answer(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet")
    table = opened(path)
    table.count(share="1/4")
    path.unlink()
    with pytest.raises(InvalidRequest, match="Nothing was charged"):
        table.count(share="1/4", redraw=True)
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
    assert table.ledger.remaining == 1
    assert table._reader.kept == {}


PLANNING = ("cells.ratios", "cells.least_budgets", "cells.interval_columns", "plan.planner")
"""Modules that take the policy apart."""

QUESTIONS: dict[str, Callable[[prdp.Table], object]] = {
    "count": lambda table: table.count(share="1/4"),
    "sum": lambda table: table.filter("w > 3").sum("v", share="1/4"),
    "mean": lambda table: table.mean("v", share="1/4"),
    "variance": lambda table: table.variance("v", share="1/4"),
    "median": lambda table: table.median("w", share="1/4"),
    "max": lambda table: table.max("v", share="1/4"),
    "sum by partition": lambda table: table.sum("v", share="1/4", method="partition"),
    "additive sum": lambda table: table.sum("v", share="1/4", method="additive"),
    "distinct": lambda table: table.count_distinct("w", share="1/4", method="framework"),
    "grouped means": lambda table: table.group_by("w", keys=[1, 2]).mean("v", share="1/4"),
    "SQL": lambda table: table.sql("SELECT SUM(v), AVG(w), COUNT(*) FROM t WHERE w > 1", share="1/4"),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("form", ["{} / greatest(v, 1)", "CASE WHEN v < {} THEN 4 ELSE 0.25 END"])
def test_the_policy_is_taken_apart_before_anything_is_charged(
    question: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = form.format(90 + list(QUESTIONS).index(question))  # no other test's, so that nothing is kept
    values = {"v": np.arange(N), "w": np.arange(N) % 7}
    table = prdp.open(
        values,
        policy=prdp.Policy(policy, at_least="1/8", at_most=8),
        bounds={"v": (0, N), "w": (0, 7)},
        name="t",
    )
    entered: dict[str, set[str]] = {"before": set(), "after": set()}
    when = ["before"]
    charge = type(table.ledger).charge

    def charged(*args: Any, **options: Any) -> Any:
        given = charge(*args, **options)
        when[0] = "after"
        return given

    def enter(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "").removeprefix("prdp.")
        if event == "call" and name in PLANNING:
            entered[when[0]].add(f"{name}:{frame.f_code.co_qualname}")

    monkeypatch.setattr(type(table.ledger), "charge", charged)
    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        QUESTIONS[question](table)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert "cells.ratios:possible_ratios" in entered["before"]
    assert when == ["after"]
    assert entered["after"] == set()
