"""Errors at several shares and under several policies, in Python as at the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import prdp
from prdp.cli.app import app
from prdp.errors import InvalidRequest

AGES = np.arange(3000) % 90
TOML = """
[tables.people]
source = "people.csv"
policy = 1
bounds = { age = [0, 120] }
types = { age = "BIGINT" }
"""
COUNT = "SELECT COUNT(*) AS n, AVG(age) AS a FROM people"


def people(**options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {"policy": 1, "bounds": {"age": (0, 120)}, "synthetic": True} | options
    return prdp.open({"age": AGES, "job": np.array(["chef", "clerk"] * 1500)}, name="people", **chosen)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "prdp.toml").write_text(TOML)
    (tmp_path / "people.csv").write_text("age\n1\n")
    (tmp_path / "like.csv").write_text("age\n" + "".join(f"{age}\n" for age in AGES))
    (tmp_path / "tried.toml").write_text('[policies]\nsame = "1"\nmore = "1000000"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_errors_shrink_as_shares_grow() -> None:
    found = prdp.preview(COUNT, like=people(), share=[0.02, 1], runs=12)
    assert [(row.column, row.share) for row in found] == [
        *(("n", Fraction(1, 50)), ("a", Fraction(1, 50))),
        *(("n", Fraction(1)), ("a", Fraction(1))),
    ]
    few, _, many, _ = found
    assert many.often < few.often
    assert few.median <= few.often
    assert many.covered >= 0.5
    frame = found.to_pandas()
    assert frame.columns.tolist()[2:5] == ["share", "column", "median"]
    assert len(frame) == len(found) == 4
    assert "median error" in str(found)
    assert "12 simulated answers each" in str(found)


def test_statements_with_groups_take_public_keys() -> None:
    text = "SELECT job, COUNT(*) AS n FROM people GROUP BY job"
    (row,) = prdp.preview(text, like=people(), share=1, runs=4, keys={"job": ["chef", "clerk"]})
    assert row.median < 0.05


def test_policies_are_compared_side_by_side() -> None:
    policies: dict[str, Any] = {"strict": "0.01", "ample": 5, "by age": prdp.Policy("90 / greatest(age, 9)")}
    found = prdp.compare([COUNT], policies=policies, like=people(), share=1, runs=12)
    errors = {(row.policy, row.column): row.median for row in found}
    assert list(dict.fromkeys(policy for policy, _ in errors)) == list(policies)
    assert errors["ample", "n"] < errors["strict", "n"]
    assert str(found).splitlines()[0].startswith("policy")


@pytest.mark.usefixtures("folder")
def test_the_commands_measure_the_same() -> None:
    """The same rows by the same measurement; under a budget without end nothing is left but rounding."""
    asked = ["preview", COUNT, "--like", "like.csv", "--runs", "3", "--share", "0.5", "--json"]
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 0, ran.stderr
    here = prdp.preview(COUNT, like="like.csv", share=0.5, runs=3)
    assert [(one["column"], one["share"]) for one in json.loads(ran.stdout)] == [
        (row.column, str(row.share)) for row in here
    ]
    asked = ["compare", COUNT, "--policies", "tried.toml", "--like", "like.csv", "--runs", "3", "--json"]
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 0, ran.stderr
    both = prdp.compare(COUNT, policies={"same": 1, "more": 10**6}, like="like.csv", runs=3)
    lines = json.loads(ran.stdout)
    assert [(one["policy"], one["column"]) for one in lines] == [(row.policy, row.column) for row in both]
    exact = [
        (one["median"], row.median) for one, row in zip(lines, both, strict=True) if row.policy == "more"
    ]
    assert len(exact) == 2
    assert all(max(pair) < 1e-3 for pair in exact)


def test_a_policy_that_names_no_notion_has_that_of_the_table(folder: Path) -> None:
    (folder / "prdp.toml").write_text(TOML.replace("policy = 1", 'policy = 1\nnotion = "zcdp"'))
    tried = '[policies]\nbare = "1/2"\nzcdp = {policy = "1/2", notion = "zcdp"}\n'
    (folder / "tried.toml").write_text(f'{tried}pure = {{policy = "1/2", notion = "pure"}}\n')
    asked = ["compare", "SELECT COUNT(*) AS n FROM people", "--policies", "tried.toml", "--like", "like.csv"]
    ran = CliRunner().invoke(app, [*asked, "--runs", "40", "--share", "0.01", "--json"])
    assert ran.exit_code == 0, ran.stderr
    found = {one["policy"]: one["median"] for one in json.loads(ran.stdout)}
    assert (
        4 * max(found["bare"], found["zcdp"]) < found["pure"]
    )  # deviations of 10, and Laplace scales of 200


@pytest.mark.usefixtures("folder")
def test_a_law_takes_the_place_of_records() -> None:
    found = prdp.preview(COUNT, like="age=uniform:1,90,n=2000", share=1, runs=3)
    assert [row.column for row in found] == ["n", "a"]


def test_real_records_are_refused() -> None:
    real = people(synthetic=False)
    asks: list[Callable[[], object]] = [
        lambda: prdp.preview(COUNT, like=real, runs=2),
        lambda: prdp.compare(COUNT, policies={"same": 1}, like=real, runs=2),
    ]
    for ask in asks:
        with pytest.raises(InvalidRequest, match="synthetic=True"):
            ask()
    assert real.remaining == 1
    with pytest.raises(InvalidRequest, match="policies by name"):
        prdp.compare(COUNT, policies={}, like=people(), runs=2)
    with pytest.raises(InvalidRequest, match="runs=0"):
        prdp.preview(COUNT, like=people(), runs=0)


def test_simulate_is_at_hand() -> None:
    assert prdp.simulate is prdp.testing.simulate
    assert len(prdp.simulate(people(), prdp.count(), share=0.5, runs=3, seed=1)) == 3


@pytest.mark.parametrize("durable", [True, False])
def test_a_ledger_is_a_frame(durable: bool, tmp_path: Path) -> None:
    kept: dict[str, Any] = {"ledger": tmp_path / "p.ledger", "must_exist": False} if durable else {}
    table = people(synthetic=False, **kept)
    ledger: Any = table.ledger
    assert ledger.to_pandas().empty
    count = table.count(share="1/4")
    table.group_by("job", keys=["chef", "clerk"]).count(share="1/4")
    frame = ledger.to_pandas()
    assert frame["share"].tolist() == ["1/4"] * 3
    assert frame["value"].tolist()[0] == pytest.approx(float(count), abs=1)
    assert frame["group"].notna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (prdp.count(), ["count"]),
        (prdp.sum("age"), ["sum_age"]),
        (prdp.mean("age * 2"), ["mean_age * 2"]),
        (prdp.std("age"), ["std_age"]),
        (prdp.variance("age"), ["variance_age"]),
        (prdp.quantile("age", [0.25, 0.5]), ["q0.25_age", "median_age"]),
        (prdp.count_distinct("job"), ["count_distinct_job"]),
        (prdp.max("age"), ["max_age"]),
    ],
)
def test_a_query_is_measured_as_its_statement(query: Any, columns: list[str]) -> None:
    found = prdp.preview(query, like=people(policy=100), share=1, runs=3)
    assert [row.column for row in found] == columns
    assert all(row.median < 0.05 for row in found)


def test_a_query_needs_an_open_table() -> None:
    with pytest.raises(InvalidRequest, match="write a SQL statement, or give like=table"):
        prdp.preview(prdp.count(), like="age=uniform:1,90,n=2000", share=1, runs=3)


def test_policies_without_names_are_named_by_their_text() -> None:
    listed: list[int | prdp.Policy] = [1, prdp.Policy("90 / greatest(age, 9)")]
    found = prdp.compare([prdp.count(), COUNT], policies=listed, like=people(), runs=2)
    assert [row.policy for row in found] == [
        "1",
        "90 / greatest(age, 9)",
        *["1"] * 2,
        *["90 / greatest(age, 9)"] * 2,
    ]


def test_a_simulation_is_asked_as_the_others_are() -> None:
    table = people()
    query_first = prdp.simulate(prdp.count(), like=table, share="1/2", runs=3, seed=4)
    assert query_first == prdp.simulate(table, prdp.count(), share="1/2", runs=3, seed=4)
    assert len(prdp.simulate(prdp.count(), like=table.group_by("job", keys=["chef"]))) == 50


def test_a_table_draws_its_policy_and_its_account() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    table = people(synthetic=False, policy=prdp.Policy("90 / greatest(age, 9)"))
    assert table.plot_policy().get_xlabel() == "age"
    assert table.plot_policy("age").get_xlabel() == "age"
    flat = people(policy=3).plot_policy()
    assert (flat.get_xlabel(), set(flat.get_lines()[0].get_ydata())) == ("age", {3})
    table.count(share="1/4")
    (drawn,) = [line for line in table.plot_account().get_lines() if len(line.get_ydata()) > 1]
    assert drawn.get_ydata()[-1] == 75
