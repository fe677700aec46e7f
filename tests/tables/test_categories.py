"""Keys that a column's type lists are taken on request, and the answers say what that declares."""

from __future__ import annotations

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
