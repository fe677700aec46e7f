"""Answers that are made when looked at are the same as if all of them were there."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import prdp
from prdp.cells.summary import Summary
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.plan.queries import Query
from prdp.release.release import Release
from prdp.release.rows import ReleaseColumn, ReleaseRows
from prdp.testing import simulate
from prdp.testing.exact_loss import content

GROUPS = 60
ASKED: dict[str, Sequence[Query]] = {
    "count and sum": (prdp.count(), prdp.sum("v")),
    "mean": (prdp.mean("v"),),
    "mean, signed": (prdp.mean("w"), prdp.sum("w")),
    "variance": (prdp.variance("v"), prdp.count()),
    "median": (prdp.median("v"),),
}


def table(policy: str = "10000 / v", groups: int = GROUPS) -> prdp.Table:
    random, size = np.random.default_rng(1), 20_000 * groups // GROUPS
    group = np.minimum(
        random.geometric(4.8 / groups, size) - 1, groups - 1
    )  # from thousands of records to none
    columns = {
        "g": group,
        "v": random.lognormal(6, 1.5, len(group)).astype(int) + 1,
        "w": random.normal(0, 300, len(group)).astype(int),
    }
    bounds = {"v": (0, 10**7), "w": (-(10**4), 10**4)}
    return prdp.open(columns, policy=prdp.Policy(policy, at_most=10), bounds=bounds, synthetic=True)


def drawn(name: str, policy: str = "10000 / v", groups: int = GROUPS) -> prdp.ReleaseTable:
    grouped = table(policy, groups).group_by("g", keys=range(groups))
    (found,) = simulate(grouped, ASKED[name], share="1/2", runs=1, seed=3)
    return found


def written_out(lazy: prdp.ReleaseTable) -> prdp.ReleaseTable:
    return replace(lazy, releases=tuple(tuple(row) for row in lazy.releases))


@pytest.mark.parametrize("policy", ["10000 / v", "CASE WHEN v < 500 THEN 2 ELSE 0.1 END"])
@pytest.mark.parametrize("name", ASKED)
class TestLooksTheSame:
    def test_rows_are_equal(self, name: str, policy: str) -> None:
        lazy = drawn(name, policy)
        whole = written_out(lazy)
        assert lazy == whole
        assert hash(lazy) == hash(whole)
        assert lazy.releases[3:5] == whole.releases[3:5]
        assert lazy.releases[-1] == whole.releases[-1]
        with pytest.raises(IndexError):
            lazy.releases[GROUPS]

    def test_columns_and_words_are_equal(self, name: str, policy: str) -> None:
        lazy = drawn(name, policy)
        whole = written_out(lazy)
        for level in (0.95, "0.5"):
            assert lazy.columns(level) == whole.columns(level)
        assert str(lazy) == str(whole)
        assert lazy.to_json() == whole.to_json()
        assert (lazy.caveats, lazy.conditions, lazy.simulated) == (whole.caveats, whole.conditions, True)

    def test_columns_are_what_the_releases_say(self, name: str, policy: str) -> None:
        lazy = drawn(name, policy)
        columns = lazy.columns()
        for place, asked in enumerate(lazy.names[1:]):
            releases = [row[place] for row in lazy.releases]
            ends = [release.interval() for release in releases]
            low, high = (f"{asked}_{end}" for end in ("low", "high"))
            assert columns[asked] == [float(release.value) for release in releases]
            assert list(zip(columns[low], columns[high], strict=True)) == ends
            assert columns[f"{asked}_flag"] == [release.flag for release in releases]

    def test_a_ledger_and_a_pickle_give_the_same_back(self, name: str, policy: str) -> None:
        lazy = drawn(name, policy)
        assert release_from_json(release_to_json(lazy)) == lazy
        assert pickle.loads(pickle.dumps(lazy)) == lazy  # noqa: S301  (our own)


def test_what_is_stated_of_many_is_held_and_written_once() -> None:
    groups = 4 * GROUPS
    lazy = drawn("count and sum", groups=groups)
    rows = lazy.releases
    assert isinstance(rows, ReleaseRows)
    for column in rows.columns:
        assert isinstance(column, ReleaseColumn)
        assert len(column.templates) < groups / 3
    assert len(release_to_json(lazy)) < len(release_to_json(written_out(lazy))) / 3


def test_a_table_holds_nothing_of_the_records() -> None:
    """All that can be reached from it: numbers that were drawn, and what is public."""
    held = content(drawn("mean"))
    assert "ReleaseColumn" in repr(held)
    assert not any(name in repr(held) for name in ("SummaryGroups", "CellColumns", Summary.__name__ + "("))


def test_some_rows_of_a_table_are_a_table() -> None:
    lazy = drawn("count and sum")
    top = lazy.top(3)
    assert [row[0].exact for row in top.releases] == sorted(
        (row[0].exact for row in lazy.releases), reverse=True
    )[:3]
    assert len(lazy.filter(lambda _key, count, _total: count.value > 10**9)) == 0


@pytest.mark.parametrize("wrong", ["which", "steps", "columns"])
def test_a_ledger_s_text_that_is_damaged_is_no_release(wrong: str) -> None:
    text = release_to_json(drawn("count and sum"))
    damaged = {
        "which": text.replace('"which": [', '"which": [9999, ', 1),
        "steps": text.replace('"steps": [', '"steps": [1, ', 1),
        "columns": text.replace('"about"', '"round"', 1),
    }[wrong]
    assert damaged != text
    with pytest.raises(ValueError, match="no release"):
        release_from_json(damaged)


def test_what_was_written_row_by_row_is_still_read() -> None:
    whole = written_out(drawn("count and sum"))
    text = release_to_json(whole)
    assert '"releases"' in text
    assert release_from_json(text) == whole


def test_a_release_of_a_row_says_which_group_it_is_about() -> None:
    release = drawn("count and sum").releases[7][1]
    assert isinstance(release, Release)
    assert release.question == "sum of v for g = 7"
    assert release.share == Fraction(1, 4)
