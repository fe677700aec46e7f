"""Notes on many answers at once is what each of them says: ends, flags, ends that are not shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from prdp.cells.columns import exact_column
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.noise.concave import ConcaveNoise
from prdp.policy import Policy
from prdp.release.bias import Clipping, Dropped
from prdp.release.clipped import ClippedTerms
from prdp.release.raw_answer import Caveat, Ranked
from prdp.release.release import Release
from prdp.release.rows import (
    Named,
    ReleaseColumn,
    ReleaseRows,
    any_left_away,
    cvs_of,
    flags_of,
    intervals_of,
    std_errors_of,
    values_of,
)
from prdp.release.table import ReleaseTable

NUMBERS = [
    sign * number for sign in (1, -1) for number in (0, 1, 7, 90, 400, 1_000, 4_000, 30_000, 10**6, 10**30)
]
LEVELS = (0.95, "0.5", Fraction(999, 1000))
POINT = Clipping(
    at=Fraction(100), most=Fraction(10**5), evidence=Fraction(1, 4), fall=Fraction(2), stride=2, blind=False
)
PULLED = Caveat("clipped records pull it")
ONE = Release("q", 0, Fraction(1, 2), (Fraction(30),), Fraction(1, 10), "clip", PULLED)
SIDES = {"above": (False, True), "below": (True, False), "both": (True, True)}


def clipped(sides: str, *, mixed: bool = False, **facts: object) -> Release:
    below, above = SIDES[sides]
    point = replace(POINT, below=below, above=above, mixed=mixed or sides == "both", **facts)  # type: ignore[arg-type]
    return replace(ONE, clipping=point)


def drawn(below: int, above: int, sides: str = "both") -> Release:
    points = Fraction(below), Fraction(above)
    return clipped(sides, mixed=True, drawn=points, at=max(points))


def dropped(sides: str, **facts: object) -> Release:
    below, above = SIDES[sides]
    tiers = Dropped(400, Fraction(90), 3, below=below, above=above, at=Fraction(9))
    return replace(ONE, clipping=replace(tiers, **facts))  # type: ignore[arg-type]


TERMS = ClippedTerms(Policy("10 / v", at_most=100), (("v", (Fraction(1), Fraction(10**9))),), "v")
STATED: dict[str, Release] = {
    "noise": replace(ONE, bias=None),
    "noise, whole": replace(ONE, bias=None, step=Fraction(1), whole=True),
    "noises": replace(ONE, bias=None, noise_scales=(Fraction(30), Fraction(7), Fraction(7))),
    "without a declaration": ONE,
    "quartic": replace(ONE, noise="quartic"),
    "quartic, clipped": replace(clipped("above"), noise="quartic"),
    "shaped": replace(
        ONE, bias=None, noise_scales=(), shape=ConcaveNoise((10, 200), (Fraction(1, 20), Fraction(1, 90)))
    ),
    **{f"clipped, {sides}": clipped(sides) for sides in SIDES},
    **{f"clipped, {sides} of two": clipped(sides, mixed=True) for sides in SIDES},
    **{f"insufficient budget, {sides}": clipped(sides, blind=True) for sides in SIDES},
    **{f"together, {sides}": clipped(sides, spared=Fraction(40)) for sides in SIDES},
    "up to the last point": clipped("above", most=Fraction(500)),
    "at the last point": clipped("above", most=Fraction(100)),
    "insufficient budget at the last point": clipped("above", most=Fraction(100), blind=True),
    "of which the choice says nothing": clipped("above", evidence=Fraction(0)),
    "in spans, beyond the bounds": clipped("above", spans=3, usual=Fraction(200), border=3),
    "two points": drawn(40, 100),
    "two points far apart": drawn(1, 100),
    "two points far apart, the other way": drawn(100, 1),
    "two points, one side": drawn(100, 90, "above"),
    **{f"dropped, {sides}": dropped(sides) for sides in SIDES},
    "dropped, unknown": dropped("above", unknown=True),
    "dropped, none": dropped("above", thresholds=0, scales=Fraction(0)),
    "dropped, seen": dropped("above", seen="all"),
    "said in values": replace(clipped("above"), clipped=TERMS),
}
CHOSEN = Ranked(
    quantile=Fraction(1, 2), lows=(1, 5), highs=(5, 9), weights=(3, 4), scale=Fraction(2), clipping=POINT
)
WHOLE: dict[str, Release] = {
    **{f"whole, {sides}": replace(clipped(sides), whole=True) for sides in SIDES},
    "whole, next to no noise": replace(clipped("above"), whole=True, noise_scales=(Fraction(1, 50),)),
}
BY_THEMSELVES: dict[str, Release] = {
    "a range": replace(ONE, bias=None, ends=(Fraction(-3), Fraction(8))),
    "chosen": replace(ONE, bias=None, chosen=CHOSEN),
}


def column_of(stated: Sequence[Release]) -> ReleaseColumn:
    """Return a column in which all that is stated is stated of all numbers."""
    pairs = list(product(range(len(stated)), NUMBERS))
    which, numbers = zip(*pairs, strict=True)
    keys = [(place,) for place in range(len(pairs))]
    abouts = Named(" where x", ("g",), keys)
    return ReleaseColumn(tuple(stated), np.array(which), exact_column(numbers), abouts)


def mean_of(total: ReleaseColumn, count: ReleaseColumn, rule: str, *parts: ReleaseColumn) -> ReleaseColumn:
    """Return a column of answers that were computed from others; what they are does not matter here."""
    ends = Fraction(-(10**4)), Fraction(10**4)
    stated = tuple(replace(ONE, rule=rule, ends=ends, noise_scales=(), bias=one) for one in (None, PULLED))
    which = np.arange(len(total)) % 2
    steps = exact_column((place * 37) % 41 - 20 for place in range(len(total)))
    return ReleaseColumn(stated, which, steps, total.abouts, (total, count, *parts))


def shifted(column: ReleaseColumn, by: int, plus: int = 0) -> ReleaseColumn:
    """Return a column in another order, so that each answer meets others."""
    steps = exact_column(number + plus for number in np.roll(column.steps, by).tolist())
    return replace(column, which=np.roll(column.which, by), steps=steps)


EACH = {**STATED, **BY_THEMSELVES}
COLUMNS = {
    **{name: column_of([one]) for name, one in (EACH | WHOLE).items()},
    "whole, all of them": column_of(list(WHOLE.values())),
    "all of them": column_of(list(STATED.values())),
    "ranges among others": column_of(list(EACH.values())),
    "means": mean_of(
        column_of(list(STATED.values())), shifted(column_of(list(STATED.values())), 77, 10**4), "mean"
    ),
    "means of few": mean_of(
        column_of([STATED["clipped, above"]]), shifted(column_of([STATED["noise"]]), 3, 10**3), "mean"
    ),
    "variances": mean_of(
        column_of(list(STATED.values())),
        shifted(column_of(list(STATED.values())), 45, 10**4),
        "variance",
        shifted(column_of(list(STATED.values())), 131),
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
class TestOfEach:
    def test_ends_are_those_of_each_release(self, name: str) -> None:
        column = COLUMNS[name]
        for level in LEVELS:
            ends = [release.interval(level) for release in column]
            assert intervals_of(column, level) == [(float(low), float(high)) for low, high in ends]

    def test_flags_and_values_are_those_of_each_release(self, name: str) -> None:
        column = COLUMNS[name]
        assert flags_of(column) == [release.flag for release in column]
        assert values_of(column) == [float(release.value) for release in column]

    def test_standard_errors_and_cvs_are_those_of_each_release(self, name: str) -> None:
        column = COLUMNS[name]
        for found, each in (
            (std_errors_of(column), [release.std_error for release in column]),
            (cvs_of(column), [release.cv for release in column]),
        ):
            assert [one is None for one in found] == [one is None for one in each]
            known = [pair for pair in zip(found, each, values_of(column), strict=True) if None not in pair]
            assert all(one == pytest.approx(other, abs=abs(value) / 2**50) for one, other, value in known)

    def test_ends_that_are_not_shown_are_seen(self, name: str) -> None:
        column = COLUMNS[name]
        assert any_left_away(column) == any(one.left_away != (None, None) for one in column)

    def test_a_ledger_gives_all_of_it_back(self, name: str) -> None:
        column = COLUMNS[name]
        abouts = column.abouts
        assert isinstance(abouts, Named)
        rows = ReleaseRows((_named(column, abouts),))
        keys = tuple(abouts.keys)
        table = ReleaseTable("q", Fraction(1, 10), ("g",), ("q",), keys, rows, ("a note", "another"))
        text = release_to_json(table)
        assert ('"columns"' in text) == (len(keys) > 20)
        assert release_from_json(text) == table


def _named(column: ReleaseColumn, abouts: Named) -> ReleaseColumn:
    return replace(column, abouts=abouts, parts=tuple(_named(part, abouts) for part in column.parts))


def test_the_releases_differ_in_all_that_is_compared() -> None:
    """Else the comparison would say little: open ends, ends that are left away, all flags, both signs."""
    every = COLUMNS["all of them"]
    ends = intervals_of(every, 0.95)
    assert {(np.isfinite(low), np.isfinite(high)) for low, high in ends} == set(
        product((True, False), repeat=2)
    )
    assert set(flags_of(every)) == {"", "low precision", "unreliable", "insufficient budget"}
    assert any_left_away(every)
    assert any_left_away(COLUMNS["means"])
    assert not any_left_away(COLUMNS["two points"])


def test_columns_that_were_written_without_notes_are_still_read() -> None:
    column = COLUMNS["all of them"]
    assert isinstance(column.abouts, Named)
    keys = tuple(column.abouts.keys)
    table = ReleaseTable("q", Fraction(1, 10), ("g",), ("q",), keys, ReleaseRows((column,)))
    text = release_to_json(table)
    assert "notes" not in text
    assert release_from_json(text) == table
