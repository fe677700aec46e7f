"""Tables of every kind of question by group say of all rows what each of their releases says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import prdp
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.plan.queries import Query
from prdp.release.bias import Clipping
from prdp.release.rows import ReleaseColumn, ReleaseRows
from prdp.testing import simulate

GROUPS = 24
"""More than tables have that ledgers write row by row."""

ASKED: dict[str, tuple[str | None, Query]] = {
    "sum of one sign": ("clip", prdp.sum("v")),
    "sum of both signs": ("clip", prdp.sum("w")),
    "mean of both signs": ("clip", prdp.mean("w")),
    "sum by the method that is chosen": (None, prdp.sum("v")),
    "distinct": (None, prdp.count_distinct("v")),
    "quantiles": (None, prdp.quantile("v", q=(0.25, 0.5))),
    "largest": (None, prdp.max("v")),
    "sum with additive noise": ("additive", prdp.sum("v")),
    "mean with additive noise": ("additive", prdp.mean("v")),
    "naive": ("naive", prdp.sum("w")),
    "partition": ("partition", prdp.sum("v")),
    "framework": ("framework", prdp.count()),
}


@cache
def table(privacy_unit: str | None = None) -> prdp.Table:
    random = np.random.default_rng(4)
    group = np.minimum(random.geometric(0.2, 40_000) - 1, GROUPS)  # the last ones have next to no records
    columns = {
        "who": np.arange(len(group)) // 3,
        "g": group,
        "v": random.lognormal(4, 1, len(group)).astype(int) + 1,
        "w": random.normal(0, 300, len(group)).astype(int),
    }
    bounds = {"v": (1, 10**5), "w": (-(10**4), 10**4)}
    policy = prdp.Policy("ln(2 + v)", at_most=12) if privacy_unit is None else prdp.Policy.constant(1)
    return prdp.open(columns, policy=policy, bounds=bounds, synthetic=True, privacy_unit=privacy_unit)


def says_of_all_what_each_says(found: prdp.ReleaseTable) -> None:
    whole = replace(found, releases=tuple(tuple(row) for row in found.releases))
    assert found == whole
    for level in (0.95, "0.5"):
        assert found.columns(level) == whole.columns(level)
    assert (str(found), found.caveats, found.conditions) == (str(whole), whole.caveats, whole.conditions)
    assert release_from_json(release_to_json(found)) == found
    assert release_from_json(release_to_json(whole)) == found
    columns = found.columns()
    for place, asked in enumerate(found.names[1:]):
        column = [row[place] for row in found.releases]
        ends = [name for name in columns if name.startswith(f"{asked}_")][:2]
        shown = list(zip(*(columns[end] for end in ends), strict=True))
        assert shown == [tuple(map(float, release.interval())) for release in column]
        assert columns[f"{asked}_flag"] == [release.flag for release in column]


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("other", [False, True])
def test_of_records(name: str, other: bool) -> None:
    method, query = ASKED[name]
    groups = table().group_by("g", keys=range(GROUPS), other=other)
    (found,) = simulate(groups, query, share=1, method=method, runs=1, seed=5)
    assert len(found) == GROUPS + other
    says_of_all_what_each_says(found)


@pytest.mark.parametrize("query", [prdp.count(), prdp.sum("w"), prdp.mean("v")], ids=str)
def test_of_units_in_several_groups(query: Query) -> None:
    groups = table("who").group_by("g", keys=range(GROUPS), other=True)
    (found,) = simulate(groups, query, share=1, runs=1, seed=5)
    assert {release.method for (release,) in found.releases} >= {"joint"} or query.rule
    says_of_all_what_each_says(found)


def test_rich_groups_find_a_point_for_each_sign_and_poor_ones_choose_together() -> None:
    groups = table().group_by("g", keys=range(GROUPS))
    (found,) = simulate(groups, prdp.sum("w"), share="1/30", method="clip", runs=1, seed=5)
    assert isinstance(found.releases, ReleaseRows)
    assert isinstance(found.releases.columns[0], ReleaseColumn)
    apart = ["points found" in dict(release.choices) for (release,) in found.releases]
    assert apart[0]
    assert not apart[-1]
    pulls = [release.clipping for (release,) in found.releases if isinstance(release.clipping, Clipping)]
    assert [pull.drawn is not None for pull in pulls] == apart
    assert pulls[-1].spared > 0


def test_all_that_are_listed_and_all_others_are_all_records() -> None:
    groups = table().group_by("g", keys=range(3), other=True)
    (counts,) = simulate(groups, prdp.count(), share=1, runs=1, seed=5)
    assert [str(*key) for key in counts.keys] == ["0", "1", "2", "(other)"]
    total = sum((release.exact for (release,) in counts.releases), Fraction(0))
    assert float(total) == pytest.approx(40_000, rel=0.02)
