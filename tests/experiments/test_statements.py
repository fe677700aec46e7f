"""A hundred statements of statisticians: those that are refused are so by name, all others are planned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import prdp
from experiments.sql import practice, statistician

Refused = Mapping[int, str]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans depend on public facts alone, and not on the number of records."""
    monkeypatch.setattr(statistician, "SIZE", 100)


def refusals(asked: Iterator[tuple[Any, str, dict[str, Any]]]) -> Refused:
    """Return which statements are refused, by their numbers, and the first line of the reason."""
    found = {}
    for number, (table, text, given) in enumerate(asked, 1):
        try:
            assert "asks" in table.explain_sql(text, **given)
        except prdp.PrdpError as wrong:
            found[number] = str(wrong).splitlines()[0]
    return found


def test_of_fifty_statements_five_are_refused_each_for_what_it_asks() -> None:
    frame = statistician.columns(np.random.default_rng(1))
    table = prdp.open(frame, policy="200", bounds=statistician.BOUNDS, name="returns", synthetic=True)
    given = {"share": "1/200", "keys": statistician.KEYS, "tables": statistician.PUBLIC}
    assert len(statistician.STATEMENTS) == 50
    found = refusals((table, text, given) for text in statistician.STATEMENTS)
    assert found == {
        39: "'Bayer' is none of the declared keys of region",
        40: "year lies between 2021 and 2024, its public bounds, so that no record satisfies this",
        41: "this compares constants, and is the same for every record",
        47: "which values occur may give a record away",
        48: "correlations are not available",
    }


def test_of_fifty_statements_of_practice_six_are_refused() -> None:
    tables = {
        name: prdp.open(frame.head(100), name=name, synthetic=True, **practice.OPENED[name])
        for name, frame in practice.worlds(np.random.default_rng(1)).items()
    }

    def asked() -> Iterator[tuple[Any, str, dict[str, Any]]]:
        for name, _, text in practice.STATEMENTS:
            public = {
                known: one for known, one in practice.PUBLIC.items() if re.search(rf"\b{known}\b", text)
            }
            yield tables[name], text, {"share": "1/5", "keys": practice.KEYS[name], "tables": public}

    assert len(practice.STATEMENTS) == 50
    assert {number: reason[:40] for number, reason in refusals(asked()).items()} == {
        19: "MIN of a date needs a public date to cou",
        20: "jahr lies between 2019 and 2024, its pub",
        22: "dates are not put together here",
        31: "this subquery has SELECT, FROM, WHERE an",
        44: "wage / (hours * 4.33) has no finite rang",
        48: "records never leave the table",
    }
