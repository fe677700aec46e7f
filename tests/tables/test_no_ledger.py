"""An account in memory is forgotten, of a file and of a frame alike: whoever begins one is reported."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import prdp
from prdp.errors import NoLedgerFile
from prdp.tables import arguments

COLUMNS = {"age": np.array([31, 58]), "job": np.array(["a", "b"])}


@pytest.fixture
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "_WARNED", [])


@pytest.mark.usefixtures("nothing_said")
@pytest.mark.parametrize("source", ["file", "frame", "join"])
def test_an_account_in_memory_is_warned_of_and_again_where_the_same_source_begins_another(
    source: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame(COLUMNS)
    frame.to_parquet(tmp_path / "people.parquet")
    for place in range(2):
        with warnings.catch_warnings(record=True) as stated:
            warnings.simplefilter("always")
            match source:
                case "file":
                    prdp.open(tmp_path / "people.parquet", policy="1")
                case "frame":
                    prdp.open(frame, policy="1", name="people")
                case _:
                    prdp.open_join({"people": frame}, private="people", key="age", references={}, policy="1")
        reported = [one for one in stated if one.category is NoLedgerFile]
        assert len(reported) == 1
        assert ("account number 2" in str(reported[0].message)) == (place == 1)
        assert all("pass ledger='" in str(one.message) for one in reported)


@pytest.mark.usefixtures("nothing_said")
@pytest.mark.parametrize("kept", [{"synthetic": True}, {"ledger": prdp.ledger.MemoryLedger()}])
def test_synthetic_tables_arrays_and_a_ledger_that_was_chosen_are_not_warned_of(kept: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prdp.open(pd.DataFrame(COLUMNS), policy="1", **kept)
        prdp.open(COLUMNS, policy="1")


def test_categories_and_texts_share_a_ledger_whoever_keeps_them(tmp_path: Path) -> None:
    ledger = tmp_path / "people.ledger"
    frame = pd.DataFrame(COLUMNS).astype({"job": "category"})
    first = prdp.open(frame, policy="1", name="people", ledger=ledger).count(share="1/10")
    frame.to_parquet(tmp_path / "people.parquet")
    others: list[tuple[Any, dict[str, Any]]] = [
        (pl.from_pandas(frame), {}),
        (pl.from_pandas(frame), {"engine": "polars"}),
        (pd.DataFrame(COLUMNS), {}),
        (tmp_path / "people.parquet", {}),
    ]
    for source, options in others:
        again = prdp.open(source, policy="1", name="people", ledger=ledger, **options)
        assert again.count(share="1/10") == first
