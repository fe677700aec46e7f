"""A table that has grown opens under its ledger: what decides budgets and answers is bound, and no more."""

from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import prdp
from prdp.errors import LedgerError, TableChanged

PEOPLE = pd.DataFrame(
    {"age": pd.array([31, 58, 40], dtype="int32"), "pay": [1.5, 2.5, 3.5], "job": ["chef", "clerk", "chef"]}
)
POLICY = prdp.Policy("40 / age", at_most=2)


def opened(frame: Any, folder: Path, **options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {"policy": POLICY, "bounds": {"age": (20, 100)}, "must_exist": False} | options
    return prdp.open(frame, name="people", ledger=folder / "people.ledger", **chosen)


@pytest.mark.parametrize(
    ("changed", "noted"),
    [
        (PEOPLE.assign(town="Bonn"), "changed since: new columns: town. It costs nothing"),
        (PEOPLE.astype({"age": "int64"}), ""),
        (PEOPLE.astype({"age": "int16"}), ""),
        (PEOPLE.astype({"age": "uint32"}), ""),
        (PEOPLE.drop(columns="job"), "changed since: columns gone: job. It costs nothing"),
        (PEOPLE[["job", "pay", "age"]], ""),
    ],
    ids=["a column more", "wider", "narrower", "unsigned", "a column less", "another order"],
)
def test_what_no_budget_depends_on_may_change(changed: pd.DataFrame, noted: str, tmp_path: Path) -> None:
    first = opened(PEOPLE, tmp_path).sum("age", share="1/4")
    later = opened(changed, tmp_path)
    assert later.remaining == Fraction(3, 4)
    with pytest.warns(TableChanged, match=noted) if noted else nullcontext():
        assert later.sum("age", share="1/4") == first  # the same question, answered for nothing
    later.count(share="1/4")
    assert opened(PEOPLE, tmp_path).remaining == Fraction(1, 2)


@pytest.mark.parametrize(
    ("changed", "options", "names"),
    [
        (PEOPLE.astype({"age": "float64"}), {}, "schema of age: INTEGER -> DOUBLE"),
        (PEOPLE.astype({"pay": "str"}), {}, "schema of pay: DOUBLE -> VARCHAR"),
        (PEOPLE, {"policy": prdp.Policy("50 / age", at_most=2)}, "policy: "),
        (PEOPLE, {"bounds": {"age": (10, 100)}}, "bounds of age: 20 to 100 -> 10 to 100"),
        (PEOPLE, {"privacy_unit": "job"}, "privacy_unit: none -> job"),
    ],
)
def test_what_decides_budgets_is_refused_and_the_safe_way_comes_first(
    changed: pd.DataFrame, options: dict[str, Any], names: str, tmp_path: Path
) -> None:
    opened(PEOPLE, tmp_path)
    with pytest.raises(LedgerError) as refused:
        opened(changed, tmp_path, **options)
    stated = str(refused.value)
    assert names in stated
    assert (
        stated.index("Open the table as it was") < stated.index(names) < stated.index("Only a new data set")
    )


def test_a_column_that_the_policy_reads_is_not_missing(tmp_path: Path) -> None:
    opened(PEOPLE, tmp_path)
    with pytest.raises(prdp.PrdpError, match="age"):
        opened(PEOPLE.drop(columns="age"), tmp_path)
    with pytest.raises(LedgerError, match="bounds of age"):
        opened(PEOPLE.drop(columns="age"), tmp_path, policy=1, bounds={})


def test_a_fixed_column_is_not_missing(tmp_path: Path) -> None:
    opened(PEOPLE, tmp_path, immutable=["job"]).filter("job = 'chef'").count(share="1/4")
    with pytest.raises(LedgerError, match="immutable: job -> none"):
        opened(PEOPLE.drop(columns="job"), tmp_path)


def test_a_new_column_is_asked_about_for_a_charge(tmp_path: Path) -> None:
    opened(PEOPLE, tmp_path).count(share="1/4")
    later = opened(PEOPLE.assign(rent=[3, 4, 5]), tmp_path, bounds={"age": (20, 100), "rent": (0, 9)})
    later.sum("rent", share="1/4")
    assert opened(PEOPLE, tmp_path).remaining == Fraction(1, 2)
