"""Groups side by side hold what each group's own summary holds, exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

import prdp.cells.columns
import prdp.cells.groups
from prdp.cells.columns import numbered
from prdp.cells.groups import GroupRows, SummaryGroups, joined, totals_by
from prdp.cells.summary import Cell, CellColumns, CellKey, Summary
from prdp.levels import Levels
from prdp.mechanisms._threshold import Points, RecordCandidates

LEVELS = Levels(Fraction(1, 10**9), Fraction(100), 4)
LARGEST = 2**46


def made_up(random: np.random.Generator, cells: int) -> Summary:
    """Return a summary of cells of all sizes and both signs, some of records without a value."""
    found = []
    for _ in range(cells):
        quanta = LEVELS.quanta(int(random.integers(0, LEVELS.top + 1)))
        low = int(2 ** random.uniform(0, 45))
        high, sign = low + int(random.integers(0, low + 1)), int(random.choice([-1, 1]))
        count = int(random.integers(1, 2 ** random.integers(1, 31)))
        found.append(Cell(CellKey(quanta, low, high, sign), count, sign * count * ((low + high) // 2)))
        if random.random() < 0.2:
            found.append(Cell(CellKey(quanta, 0, 0, 0, missing=True), count, 0))
    return Summary.of(LEVELS, 1, LARGEST, found)


def summaries(seed: int, groups: int = 30) -> list[Summary]:
    """Return groups of which some are empty, and some hold sums beyond 64 bits."""
    random = np.random.default_rng(seed)
    return [made_up(random, int(random.integers(0, 20))) for _ in range(groups)]


SEEN: dict[str, Callable[[Summary], Summary]] = {
    "all": lambda one: one,
    "counted": lambda one: one.counted(),
    "valued": lambda one: one.valued(),
    "refined": lambda one: one.refined(20),
    "valued, counted and refined": lambda one: one.valued().counted().refined(7),
}


def together(seen: Callable[[Summary], Summary], each: list[Summary]) -> SummaryGroups:
    found = seen(SummaryGroups.of(each))  # type: ignore[arg-type]
    assert isinstance(found, SummaryGroups)
    return found


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("seed", [1, 2])
class TestOfEachGroup:
    def pair(self, name: str, seed: int) -> tuple[SummaryGroups, list[Summary]]:
        each = summaries(seed)
        return together(SEEN[name], each), [SEEN[name](one) for one in each]

    def test_the_summaries_are_the_same(self, name: str, seed: int) -> None:
        groups, each = self.pair(name, seed)
        assert list(groups) == each
        assert groups[3:5] == tuple(each[3:5])
        assert groups[-1] == each[-1]

    def test_the_masses_are_the_same(self, name: str, seed: int) -> None:
        groups, each = self.pair(name, seed)
        weights = np.where(groups.kinds.high != 0, groups.kinds.quanta, 0)
        assert groups.weighed(weights).tolist() == [RecordCandidates(one).mass(1) for one in each]

    def test_what_points_clip_is_the_same(self, name: str, seed: int) -> None:
        groups, each = self.pair(name, seed)
        points = Points.spanning(each[0], 2)
        reaching = points.first_reaching(groups.kinds.high, groups.kinds.quanta)
        chosen = np.array([0, 4, 5, 17, 29])
        limbs = groups.weighed_at(chosen, reaching, len(points.numerators) + 1, groups.kinds.quanta)
        found = joined(limbs).astype(object)
        for row, place in enumerate(chosen):
            beyond = [sum(found[row][point + 1 :]) for point in range(len(points.numerators))]
            assert tuple(beyond) == RecordCandidates(each[place]).masses(2, 1)

    @pytest.mark.parametrize("part", [0.0, 0.2, 0.5, 0.8, 1.0])
    def test_clipped_totals_are_the_same(self, name: str, seed: int, part: float) -> None:
        groups, each = self.pair(name, seed)
        points = Points.spanning(each[0], 2)
        cap = partial(points.cap, int(part * (len(points.numerators) - 1)))
        for chosen in (np.arange(len(each)), np.array([2, 3, 11])):
            found = groups.clipped(chosen, groups.kinds.by_budget(cap)).tolist()
            assert found == [each[one].clipped_total(each[one].cells.by_budget(cap)) for one in chosen]

    def test_merged_groups_are_the_same(self, name: str, seed: int) -> None:
        groups, each = self.pair(name, seed)
        for chosen in (np.arange(len(each)), np.array([2, 3, 11])):
            assert groups.together(chosen) == Summary.together([each[one] for one in chosen])


@pytest.fixture
def few_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut columns into parts of a few rows, as a hundred thousand groups are, and work on two at a time."""
    for module in (prdp.cells.groups, prdp.cells.groups, prdp.cells.columns):
        monkeypatch.setattr(module, "AT_ONCE", 7)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


@pytest.mark.usefixtures("few_rows_at_once")
@pytest.mark.parametrize("name", SEEN)
class TestInParts:
    """What is worked out part by part, in several threads, is what each group's own summary gives."""

    @pytest.mark.parametrize(
        "chosen", [range(30), [2, 3, 11], [*range(4), *range(6, 20), 28], [5, 5, 1], []], ids=str
    )
    def test_totals_and_merged_groups(self, name: str, chosen: list[int]) -> None:
        each = summaries(3)
        groups, each = together(SEEN[name], each), [SEEN[name](one) for one in each]
        points = Points.spanning(each[0], 2)
        places = [0, len(points.numerators) // 2, len(points.numerators) - 1]
        caps = [groups.kinds.by_budget(partial(points.cap, place)) for place in places]
        which = np.arange(len(chosen)) % len(caps)
        found = groups.clipped_each(np.array(chosen, np.intp), caps, which).tolist()
        assert found == [
            each[one].clipped_total(each[one].cells.by_budget(partial(points.cap, places[at])))
            for one, at in zip(chosen, which, strict=True)
        ]
        assert groups.together(np.array(chosen, np.intp)) == (
            Summary.together([each[one] for one in chosen]) if chosen else groups.empty
        )

    def test_masses(self, name: str) -> None:
        groups = together(SEEN[name], summaries(3))
        weights = np.where(groups.kinds.high != 0, groups.kinds.quanta, 0)
        masses = [RecordCandidates(SEEN[name](one)).mass(1) for one in summaries(3)]
        assert groups.weighed(weights).tolist() == masses


@pytest.mark.usefixtures("few_rows_at_once")
def test_numbers_are_distinguished_part_by_part() -> None:
    column = np.random.default_rng(4).integers(-9, 40, 100).astype(np.int16)
    values, which = numbered(column)
    assert values.tolist() == sorted(set(column.tolist()))
    assert values[which].tolist() == column.tolist()


def test_places_add_up_exactly_beyond_what_a_double_holds() -> None:
    random = np.random.default_rng(6)
    places, column = random.integers(0, 5, 999), random.integers(-(2**62), 2**62, 999)
    expected = [sum(column[places == place].tolist()) for place in range(6)]
    assert totals_by(places, column, 6).tolist() == expected
    assert totals_by(places, column.astype(object) << 40, 6).tolist() == [one << 40 for one in expected]


def test_rows_in_any_order_become_the_groups_that_they_are_in() -> None:
    random = np.random.default_rng(5)
    rows, groups = 4_000, 70_000  # more groups than 16 bits tell apart
    group, budget = random.integers(0, groups, rows), random.integers(1, 4, rows)
    key, count = random.integers(0, 3, rows), random.integers(1, 9, rows)
    keys = [Cell(CellKey(0, low, 2 * low, 1), 0, 0) for low in (1, 4, 16)]
    quanta = np.array([0, *(LEVELS.quanta(level) for level in (3, 30, 50))])
    found = SummaryGroups.crossed(
        Summary.of(LEVELS, 1, LARGEST, ()),
        GroupRows(group, count, 5 * count, budget=budget, key=key),
        quanta,
        CellColumns.of(keys),
        groups,
    )
    assert len(found) == groups
    for place in np.unique(group)[:50].tolist():
        mine = np.flatnonzero(group == place)
        cells = [_cell(quanta, keys, *(int(column[row]) for column in (budget, key, count))) for row in mine]
        assert found[place] == Summary.of(LEVELS, 1, LARGEST, cells)
    empty = np.setdiff1d(np.arange(groups), group)[0]
    assert found[int(empty)] == Summary.of(LEVELS, 1, LARGEST, ())


def _cell(quanta: NDArray[np.int64], keys: list[Cell], budget: int, key: int, count: int) -> Cell:
    ends = keys[key].key
    return Cell(CellKey(int(quanta[budget]), ends.low, ends.high, ends.sign), count, 5 * count)


def test_groups_with_other_public_facts_do_not_go_together() -> None:
    one = Summary.of(LEVELS, 1, 9, ())
    with pytest.raises(ValueError, match="same levels, bounds"):
        SummaryGroups.of([one, Summary.of(LEVELS, 1, 10, ())])


def test_rows_that_take_no_part_are_dropped_from_every_column() -> None:
    count = np.array([4, 5, 6])
    rows = GroupRows(np.array([0, 1, 0]), count, count, squares=np.array([7, 8, 9]), key=np.array([2, 0, 1]))
    rows.keep(np.array([True, False, True]))
    assert rows.group.tolist() == [0, 0]
    assert rows.count.tolist() == [4, 6]
    assert rows.total is rows.count  # a count that is held once stays so
    assert rows.squares is not None
    assert rows.squares.tolist() == [7, 9]
    assert rows.key is not None
    assert rows.key.tolist() == [2, 1]
    assert rows.budget is None
    assert rows.take("key").tolist() == [2, 1]
    assert rows.key is None
