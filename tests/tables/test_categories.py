"""Keys that a column's type lists are taken on request, and the answers say what that declares."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import prdp
from prdp.errors import InvalidRequest

JOBS = ["chef", "clerk"] * 300
LISTED = ["chef", "clerk", "judge"]
ENUM = pl.DataFrame({"job": pl.Series(JOBS, dtype=pl.Enum(LISTED)), "age": np.arange(600) % 90})
FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame({"job": pd.Categorical(JOBS, categories=LISTED), "age": np.arange(600) % 90}),
    "Polars": ENUM,
    "lazy": ENUM.lazy(),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_every_category_is_a_key_whether_or_not_a_record_has_it(frame: Any) -> None:
    table = prdp.open(frame, policy=20, name="staff")
    counts = table.group_by("Job", keys="categories").count(share="1/2")
    assert counts.keys == (("chef",), ("clerk",), ("judge",))
    assert counts["chef"].value == pytest.approx(300, abs=30)
    assert counts["judge"].value == pytest.approx(0, abs=30)
    declared = "the categories of the column's type, public by declaration"
    assert declared in str(counts)
    assert declared in counts.to_pandas().attrs["notes"]
    both = {"job": "categories", "age": [20, 30]}
    crossed = table.group_by(["job", "age"], keys=both).count(share="1/4")
    assert [key for key in crossed.keys if key[1] == 20] == [("chef", 20), ("clerk", 20), ("judge", 20)]
    assert declared in str(crossed)
    again = table.group_by("job", keys=LISTED).count(share="1/2")
    assert again.releases == counts.releases  # the same question, recorded with its declaration
    assert declared in str(again)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"job": pl.Series(JOBS, dtype=pl.Categorical)}),
        pl.DataFrame({"job": JOBS}),
        pd.DataFrame({"job": JOBS}),
        {"job": np.array(JOBS)},
    ],
    ids=["what occurs", "texts of Polars", "texts of pandas", "arrays"],
)
def test_what_no_type_lists_is_refused(frame: Any) -> None:
    table = prdp.open(frame, policy=1, name="staff")
    with pytest.raises(InvalidRequest, match=r"List the keys: keys=\['clerk', 'chef'\]"):
        table.group_by("job", keys="categories")
    assert table.remaining == 1


def staff_with(keys: Any) -> prdp.Table:
    return prdp.open(FRAMES["pandas"], policy=20, bounds={"age": (0, 90)}, name="staff", keys=keys)


def test_keys_that_are_declared_once_are_those_of_all_groups() -> None:
    table = staff_with({"Job": ["chef", "clerk"]})
    counts = table.group_by("job").count(share="1/8")
    assert counts.keys == (("chef",), ("clerk",))
    assert [one.share for (one,) in counts.releases] == [Fraction(1, 8)] * 2
    assert table.value_counts("job", share="1/8").releases == counts.releases
    by_sql = table.sql("SELECT job, COUNT(*) AS n FROM staff GROUP BY job", share="1/8")
    assert [job for job, _ in by_sql.values] == ["chef", "clerk"]
    assert table.remaining == Fraction(7, 8)
    old = table.filter("age > 60").group_by("job", table["age"] >= 80).count(share="1/8")
    assert old.keys == (("chef", False), ("chef", True), ("clerk", False), ("clerk", True))
    binned = table.group_by("job", prdp.bins("age", [0, 90])).mean("age", share="1/8")
    assert [job for job, _ in binned.keys] == ["chef", "clerk"]
    crossed = table.group_by(["job", "age"], keys={"age": [20]}).count(share="1/8")
    assert crossed.keys == (("chef", 20), ("clerk", 20))


def test_keys_of_a_query_come_before_declared_ones() -> None:
    table = staff_with({"job": "categories"})
    assert table.group_by("job", keys=["chef"]).count(share="1/8").keys == (("chef",),)
    by_sql = "SELECT job, COUNT(*) AS n FROM staff GROUP BY job"
    assert [job for job, _ in table.sql(by_sql, share="1/8").values] == LISTED
    named = table.sql(by_sql, share="1/8", keys={"JOB": ["clerk"]})
    assert [job for job, _ in named.values] == ["clerk"]
    searched = table.value_counts("job", pattern="[a-z]{4,5}", share="1/8").top(2)
    assert set(searched.keys) == {("chef",), ("clerk",)}
    assert "half of the share found the keys of job, age" in str(
        table.group_by("job", "age").count(share=0.5)
    )


@pytest.mark.parametrize(
    ("keys", "stated"),
    [
        ({"jobs": ["chef"]}, "keys= names the column 'jobs', but the table has job, age"),
        ({"job": "chef"}, "which is not a list of keys"),
        ({"age": ["chef"]}, "Write whole numbers below"),
        ({"age": "categories"}, "List the keys"),
        ({"job": ["chef", "chef"]}, "lists 'chef' twice"),
        ({"job": ["chef"], "JOB": ["clerk"]}, "names 'job' twice"),
        ({"job": {"pattern": "[a-z]{4}"}}, "stated where they are found: find_keys"),
        (["chef"], r"Write keys=\{'job': \['chef', 'clerk'\]\}"),
        ({"job": FRAMES["pandas"]["job"]}, "may give a record away"),
    ],
)
def test_declared_keys_that_no_group_can_have_are_refused_before_a_ledger_is_begun(
    keys: Any, stated: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "staff.ledger"
    with pytest.raises(InvalidRequest, match=stated):
        prdp.open(FRAMES["pandas"], policy=20, name="staff", keys=keys, ledger=ledger)
    assert not ledger.exists()


def test_keys_that_a_project_file_lists_are_those_of_groups_in_python(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("branch,town\n" + "1,Ulm\n2,Bonn\n" * 300)
    declared = (
        '[tables.visits]\nsource = "visits.csv"\npolicy = "20"\n'
        'types = { branch = "BIGINT" }\nkeys = { Branch = ["1", "2"], nowhere = ["x"] }\n'
    )
    (tmp_path / "prdp.toml").write_text(declared)
    visits = prdp.project(tmp_path)["visits"]
    assert isinstance(visits, prdp.Table)
    counts = visits.group_by("branch").count(share="1/8")
    assert counts.keys == ((1,), (2,))
    assert visits.remaining == Fraction(7, 8)
