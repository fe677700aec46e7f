"""An answer that was recorded before says when, and that it cost nothing now."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import prdp
from prdp.errors import TableChanged

AGES = {"age": np.arange(500) % 90, "job": np.array(["chef", "clerk"] * 250)}


def people(ledger: Path | None) -> prdp.Table:
    kept: dict[str, Any] = {"ledger": ledger, "must_exist": False} if ledger else {}
    return prdp.open(AGES, policy=20, bounds={"age": (0, 120)}, name="people", **kept)


ASKS: dict[str, Any] = {
    "count": lambda table: table.count(share="1/8"),
    "mean": lambda table: table.mean("age", share="1/8"),
    "groups": lambda table: table.group_by("job", keys=["chef"]).count(share="1/8"),
    "agg": lambda table: table.agg(prdp.count(), prdp.sum("age"), share="1/8"),
    "own": lambda table: table.run(lambda rows, e, b: 7, columns=["age"], share="1/8", name="seven"),
    "sql": lambda table: table.sql("SELECT COUNT(*) AS n FROM people", share="1/8"),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("durable", [True, False])
def test_asked_again_an_answer_says_when_it_was_recorded(ask: Any, durable: bool, tmp_path: Path) -> None:
    ledger = tmp_path / "people.ledger" if durable else None
    table = people(ledger)
    before = datetime.now(UTC).replace(microsecond=0)
    first = ask(table)
    assert first.recorded_at == ""
    assert "recorded" not in str(first)
    remaining = table.remaining
    again = ask(people(ledger) if durable else table)
    assert before <= datetime.fromisoformat(again.recorded_at) <= datetime.now(UTC)
    assert f"(recorded {again.recorded_at[:10]})" in str(again)
    assert table.remaining == remaining
    assert again == first or str(again).replace(f" (recorded {again.recorded_at[:10]})", "") == str(first)


def test_a_new_draw_is_not_marked(tmp_path: Path) -> None:
    table = people(tmp_path / "people.ledger")
    table.count(share="1/8")
    assert table.count(share="1/8", redraw=True).recorded_at == ""


def test_exports_say_it_too() -> None:
    table = people(None)
    first, again = (table.count(share="1/8") for _ in range(2))
    assert "recorded_at" not in first.to_dict()
    assert again.to_dict()["recorded_at"] == again.recorded_at
    assert again._repr_html_() != first._repr_html_()
    groups = table.group_by("job", keys=["chef"])
    assert "recorded_at" not in groups.count(share="1/8").to_pandas().attrs
    assert groups.count(share="1/8").to_pandas().attrs["recorded_at"]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_recorded_answer_says_that_files_have_come_since(engine: str, tmp_path: Path) -> None:
    def of(number: int) -> prdp.Table:
        for place in range(number):
            pl.DataFrame({"age": [31, 58]}).write_parquet(tmp_path / f"part{place}.parquet")
        kept: dict[str, Any] = {"ledger": tmp_path / "people.ledger", "must_exist": False, "name": "people"}
        return prdp.open(str(tmp_path / "part*.parquet"), policy=20, engine=engine, **kept)

    first = of(2).count(share="1/8")
    assert of(2).count(share="1/8") == first
    with pytest.warns(TableChanged, match="changed since: 3 files now, 2 then. It costs nothing"):
        assert of(3).count(share="1/8") == first
    assert of(3).count(share="1/8", redraw=True).recorded_at == ""
    assert of(3).count(share="1/8").recorded_at, "the newest answer is of three files"
    assert of(3).remaining == prdp.Policy.constant("3/4").at_most
