"""Beside every answer is which records it is not about, by the policy and the columns' types alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

import prdp
from prdp.expressions.evaluate import evaluate
from prdp.expressions.invalid_budgets import unknown_by
from prdp.expressions.parse import parse
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.release.formatting import OF_NOTHING
from prdp.testing import simulate

STEPS = "CASE WHEN cost > 10 THEN 1 ELSE 2 END"
STATED = "leaves out records without cost, to which the policy gives no budget"
CLAMPED = "values outside 0 to 100 count as the bound"
FLOATS: dict[str, list[Any]] = {"cost": [5.0, None, 20.0], "age": [1.0, 2.0, 3.0], "job": ["a", "b", "a"]}


def opened(policy: str | prdp.Policy = STEPS, *, times: int = 1, **options: Any) -> prdp.Table:
    given: dict[str, Any] = {
        "name": "stays",
        "bounds": {"cost": (0, 100), "age": (0, 100)},
        "round_to": {"age": 1, "cost": 1},
    }
    rows = {name: values * times for name, values in FLOATS.items()}
    return prdp.open(pyarrow.table(rows), policy=policy, **(given | options))


def test_every_form_of_an_answer_says_which_records_it_is_not_about() -> None:
    stays = opened()
    one = stays.count(share="1/10")
    assert one.left_out == STATED
    assert STATED in str(one)
    assert STATED in one._repr_html_()
    assert one.to_dict()["left_out"] == STATED
    assert STATED in str(one / 2)
    table = stays.group_by("job", keys=["a", "b"]).agg(prdp.count(), prdp.mean("age"), share="1/10")
    assert str(table).splitlines().count(STATED) == 1
    assert str(table).splitlines().count(f"{CLAMPED} (mean_age)") == 1
    assert STATED in table.conditions
    assert STATED in table.to_pandas().attrs["conditions"]
    answers = stays.sql("SELECT COUNT(*) AS n, SUM(age) / COUNT(*) AS m FROM stays", share="1/10")
    assert answers.notes.count(STATED) == 1


def test_what_an_answer_says_is_kept_with_it() -> None:
    stays = opened()
    for released, stated in (
        (stays.count(share="1/10"), STATED),
        (stays.mean("age", share="1/10"), f"{STATED}; {CLAMPED}"),
    ):
        again = release_from_json(release_to_json(released))
        assert again == released
        assert isinstance(again, prdp.Release)
        assert again.left_out == stated
    own = stays.run(lambda rows, epsilon, beta: 1, columns=["age"], share="1/10")
    assert STATED in str(own)
    assert release_from_json(release_to_json(own)) == own


def test_a_plan_says_it_with_the_remedy_and_with_units_in_their_words() -> None:
    assert "\nomits    records without cost, to which" in opened().explain(prdp.count(), share="1/10")
    assert "; coalesce(cost, ...) in the policy would" in opened().explain(prdp.count(), share="1/10")
    owned = opened(privacy_unit="job").count(share="1/10")
    assert (
        owned.left_out == "leaves out each job with a row without cost, to which the policy gives no budget"
    )


@pytest.mark.parametrize(
    ("policy", "asked"),
    [
        ("1", prdp.count()),
        ("CASE WHEN coalesce(cost, 0) > 10 THEN 1 ELSE 2 END", prdp.count()),
        ("CASE WHEN cost IS NULL THEN 1 WHEN cost > 10 THEN 1 ELSE 2 END", prdp.count()),
        ("CASE WHEN (cost > 10) IS TRUE THEN 1 ELSE 2 END", prdp.count()),
        ("CASE WHEN age > 10 THEN 1 ELSE 2 END", prdp.mean("age")),
    ],
)
def test_nothing_is_stated_where_nobody_who_is_asked_about_is_left_out(policy: str, asked: Any) -> None:
    stated = opened(policy).agg(asked, share="1/10").conditions
    assert not [text for text in stated if text not in {OF_NOTHING, CLAMPED}]


def test_a_filter_that_fails_for_records_without_a_value_makes_the_words_idle() -> None:
    assert not opened().filter("cost >= 0").count(share="1/10").left_out
    assert opened().filter("cost >= 0 OR age > 1").count(share="1/10").left_out == STATED


def required(tmp_path: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    strict = pyarrow.schema([pyarrow.field("cost", pyarrow.int64(), nullable=False)])
    frame = pyarrow.table({"cost": [5, 20]}, schema=strict)
    pyarrow.parquet.write_table(frame, tmp_path / "strict.parquet")
    with duckdb.connect(tmp_path / "strict.duckdb") as database:
        database.execute("CREATE TABLE stays (cost BIGINT NOT NULL)")
    return {
        "NumPy": ({"cost": np.array([5, 20])}, {}),
        "pandas": (pd.DataFrame({"cost": [5, 20]}), {}),
        "Arrow": (frame, {}),
        "Parquet": (tmp_path / "strict.parquet", {}),
        "DuckDB": (tmp_path / "strict.duckdb", {"table": "stays"}),
    }


def optional(tmp_path: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    frame = pyarrow.table({"cost": [5, 20]})
    pyarrow.parquet.write_table(frame, tmp_path / "loose.parquet")
    (tmp_path / "loose.csv").write_text("cost\n5\n20\n")
    with duckdb.connect(tmp_path / "loose.duckdb") as database:
        database.execute("CREATE TABLE stays (cost BIGINT)")
    return {
        "floats of NumPy": ({"cost": np.array([5.0, 20.0])}, {}),
        "pandas": (pd.DataFrame({"cost": pd.array([5, None], "Int64")}), {}),
        "Arrow": (frame, {}),
        "Parquet": (tmp_path / "loose.parquet", {}),
        "CSV": (tmp_path / "loose.csv", {"types": {"cost": "BIGINT"}}),
        "DuckDB": (tmp_path / "loose.duckdb", {"table": "stays"}),
    }


@pytest.mark.parametrize("where", ["price IS NULL", "NOT (price IS NOT NULL)", "price IS NULL AND n >= 0"])
def test_a_filter_on_columns_that_the_policy_does_not_read_leaves_the_words_as_they_are(where: str) -> None:
    """Records without a price may well be without cost too."""
    table = prdp.open(
        pyarrow.table({"cost": [1.0, None], "price": [2.0, None], "n": [1, 2]}),
        policy=prdp.Policy("10 / greatest(cost, 1)"),
        bounds={"cost": (0, 100)},
        synthetic=True,
    )
    (release,) = simulate(table.filter(where), prdp.count(), runs=1, seed=0)
    assert "leaves out records without cost" in str(release)


@pytest.mark.filterwarnings("ignore::prdp.errors.RecordsLeftOut")
@pytest.mark.parametrize(
    "policy",
    [
        "CASE WHEN cost IS NULL THEN 0 ELSE 1 END",
        "CASE WHEN cost IS NULL THEN -1 ELSE 1 END",
        "coalesce(least(greatest(cost, 1), 2), 0)",
        "least(coalesce(cost, 3), 5) - 3",
        "CASE WHEN NOT (cost IS NULL) AND cost > 5 THEN 1 ELSE 0 END",
        "coalesce(cost, 0) * age",
    ],
)
def test_records_to_which_a_policy_gives_a_budget_of_nothing_are_stated_to_be_left_out(policy: str) -> None:
    table = opened(prdp.Policy(policy, at_least="0.001", at_most=100), synthetic=True)
    (release,) = simulate(table, prdp.count(), runs=1, seed=0)
    assert "without cost" in release.left_out


def test_what_is_too_intricate_to_be_decided_everywhere_is_not_stated_to_be_all() -> None:
    policy = prdp.Policy("coalesce(10 / (cost - 60), 1)", at_least="0.001")
    stated = policy.left_out({"cost": (Fraction(0), Fraction(10**6))})
    assert stated is not None
    assert " and elsewhere: " in stated


def test_a_column_without_null_by_its_source_is_never_stated_to_be_without_a_value(tmp_path: Path) -> None:
    for name, (source, options) in required(tmp_path).items():
        assert not prdp.open(source, policy=STEPS, synthetic=True, **options).count(share=1).left_out, name
    for name, (source, options) in optional(tmp_path).items():
        assert prdp.open(source, policy=STEPS, synthetic=True, **options).count(share=1).left_out == STATED, (
            name
        )


TEXTS = [
    "a + b", "coalesce(a, b)", "coalesce(a, b, 1)", "CASE WHEN a > 1 THEN 1 ELSE b END",
    "least(a, coalesce(b, 1))",
    "CASE WHEN a IS NULL THEN b ELSE 1 END", "CASE WHEN (a > 1) IS TRUE THEN b ELSE 1 END", "1",
    "CASE WHEN a > 1 OR b > 1 THEN 1 ELSE 2 END", "CASE WHEN a > 1 AND b IS NULL THEN 1 ELSE 2 END",
    "CASE WHEN NOT (a > 1) THEN 1 WHEN a IN (2, 3) THEN 2 ELSE coalesce(b, a) END",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_sets_of_unknown_columns_are_those_with_which_some_record_has_no_value(text: str) -> None:
    """All records of a small world are tried; what known values alone have no value for is not asked here."""
    node = parse(text)
    found = unknown_by(node)
    for unknown in map(frozenset, chain.from_iterable(combinations(("a", "b"), size) for size in (1, 2))):
        records = [
            {"a": None if "a" in unknown else a, "b": None if "b" in unknown else b}
            for a in (0.0, 1.0, 2.0, 3.0)
            for b in (0.0, 1.0, 2.0, 3.0)
        ]
        never = all(evaluate(node, record) is not None for record in records)
        assert not never or unknown not in found, unknown
        assert never or any(smaller <= unknown for smaller in found), unknown


def test_the_share_that_is_found_is_for_all_records_and_says_which_records_none_brings_back() -> None:
    """Of 100 records ten have no budget: no share brings a count closer than a tenth."""
    like = {"cost": np.where(np.arange(100) < 10, np.nan, 1.0), "age": np.arange(100)}
    table = prdp.open(like, policy=prdp.Policy(STEPS.replace("2", "1000000")), synthetic=True)
    found = prdp.share_for(prdp.count(), error="5%", like=table, runs=5)
    assert found.share is None
    assert dict(found.measured)[Fraction(1)] == pytest.approx(0.1)
    assert str(found).endswith(f"seed 0; every answer {STATED})")
    groups = table.group_by(prdp.bins("age", [0, 50, 100]))
    assert prdp.share_for(prdp.count(), error="5%", like=groups, runs=5).share is None
    assert prdp.share_for(prdp.count(), error="5%", like=table.filter("cost > 0"), runs=5).share is not None


def test_notes_of_a_statement_name_the_statement_s_own_columns() -> None:
    """Of so many records that there is a mean: below a count of 1 there is none, and nothing to say of it."""
    many = opened("CASE WHEN cost > 10 THEN 0.001 ELSE 2 END", times=1000)  # a third of them are clipped
    notes = many.sql("SELECT COUNT(*) AS n, AVG(cost) AS d FROM stays", share="1/10", redraw=True).notes
    assert f"{STATED} (n)" in notes
    assert f"{CLAMPED} (d)" in notes
    assert "clip (n): clipped records can bias it toward zero" in notes
    assert "clip (d): clipped records can bias it either way" in notes
