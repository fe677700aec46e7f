"""A table of answers: sorted, filtered, written down and drawn, always with the interval that is printed."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import prdp
from prdp.errors import InvalidRequest
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Caveat
from prdp.release.release import Release
from prdp.release.table import ReleaseTable

SHARE = Fraction(1, 10)
CLIPPING = Clipping(Fraction(5), Fraction(500), Fraction(1, 2), Fraction(2), stride=2, blind=False)


def answer(value: int, *, blind: bool = False) -> Release:
    return Release(
        "count",
        value,
        Fraction(1),
        (Fraction(10),),
        SHARE,
        "clip",
        Caveat("clipped records", "toward zero"),
        clipping=replace(CLIPPING, blind=blind),
        whole=True,
    )


TABLE = ReleaseTable(
    "count",
    SHARE,
    ("job",),
    ("count",),
    (("clerk",), ("chef",), ("judge",)),
    ((answer(1000),), (answer(3000),), (answer(2, blind=True),)),
)


def test_rows_are_sorted_by_answers_or_by_keys() -> None:
    assert [key for key, _ in TABLE.sort(descending=True)] == [("chef",), ("clerk",), ("judge",)]
    assert [key for key, _ in TABLE.sort("job")] == [("chef",), ("clerk",), ("judge",)]
    assert [key for key, _ in TABLE.sort("count")] == [("judge",), ("clerk",), ("chef",)]
    assert TABLE.sort("job")["clerk"] == TABLE["clerk"]
    with pytest.raises(InvalidRequest, match="not a column of this table, which has: job, count"):
        TABLE.sort("jobs")


def test_the_top_rows_are_those_with_the_largest_answers() -> None:
    assert TABLE.top(2).keys == (("chef",), ("clerk",))
    assert len(TABLE.top(10)) == 3
    assert len(TABLE.top(0)) == 0


def test_rows_are_kept_by_key_and_by_answer() -> None:
    assert TABLE.filter(lambda key, count: count.flag == "").keys == (("clerk",), ("chef",))
    (kept,) = TABLE.filter(lambda key, count: key == ("judge",)).releases
    assert kept == (answer(2, blind=True).selected(len(TABLE)),)
    assert str(TABLE.filter(lambda key, count: False)).startswith("count (share 1/10)\njob  count")


@pytest.mark.parametrize(
    "selected",
    [TABLE.top(1), TABLE.sort(), TABLE.sort("count"), TABLE.filter(lambda *_: True), TABLE.top(2).top(1)],
    ids=["top", "sort", "sort by name", "filter", "top of top"],
)
def test_rows_that_answers_select_have_intervals_that_hold_for_all_rows_at_once(
    selected: ReleaseTable,
) -> None:
    for key, (row,) in selected:
        alone = TABLE[key]
        assert row.interval() == alone.interval(1 - Fraction(1, 20) / 3)
        assert "simultaneous over 3 groups" in str(row)
    stated = "intervals are simultaneous over 3 groups, since rows are selected or sorted by their answers"
    assert stated in str(selected)
    assert stated in selected.to_dict()["conditions"]


def test_rows_that_keys_sort_have_their_own_intervals() -> None:
    assert TABLE.sort("job").releases[1] == TABLE.releases[0]
    assert "simultaneous" not in str(TABLE.sort("job"))
    assert "simultaneous" not in str(TABLE)


def test_one_row_is_selected_from_no_other() -> None:
    one = TABLE.filter(lambda key, _: key == ("clerk",))
    alone = replace(one, releases=((answer(41),),))
    assert alone.top(1).releases == alone.releases


def test_an_end_that_is_not_there_is_or_more_in_print_and_empty_elsewhere() -> None:
    judge = next(line for line in TABLE.lines if line.startswith("judge"))
    assert judge.split() == ["judge", "2", "0", "no", "upper", "limit", "insufficient", "budget"]
    assert math.isinf(TABLE.columns()["count_high"][2])
    rows = [*csv.DictReader(io.StringIO(TABLE.to_csv() or ""))]
    assert rows[2]["count_high"] == ""
    assert json.loads(TABLE.to_json())["rows"][2]["count_high"] is None


def test_the_meaning_of_a_flag_and_the_condition_are_stated_once() -> None:
    shown = str(TABLE)
    assert shown.count("insufficient budget:") == 1
    assert shown.count("above 8 times the clipping threshold") == 1
    assert "insufficient budget" in TABLE._repr_html_()


def test_files_hold_what_frames_hold(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == TABLE.to_csv()
    TABLE.to_parquet(tmp_path / "t.parquet")
    read = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert read.to_pydict() == dict(TABLE.columns())
    assert b"8 times" in read.schema.metadata[b"conditions"]


def test_no_two_columns_have_one_name() -> None:
    row = (answer(1), answer(2))
    table = ReleaseTable("q", SHARE, ("count",), ("count", "count"), (("a",),), (row,))
    assert table.names == ["count", "count_2", "count_3"]
    assert table.lines[0].split() == table.names
    assert len(set(table.columns())) == len(table.columns()) == 9


def test_of_several_questions_each_cell_has_its_interval() -> None:
    row = (answer(1000), answer(2, blind=True))
    table = ReleaseTable("q", SHARE, ("k",), ("a", "b"), (("x",),), (row,))
    low, high = row[0].interval()
    assert f"1,000 ({math.floor(low):,} to {math.ceil(high):,})" in table.lines[1]
    assert "2 (from 0, no upper limit; insufficient budget)" in table.lines[1]


def test_a_plot_has_the_interval_that_is_printed() -> None:
    pytest.importorskip("matplotlib")
    axes = TABLE.plot()
    for place, release in enumerate((answer(1000), answer(3000))):
        (bar,) = [line for line in axes.get_lines() if line.get_gid() == f"interval-{place}"]
        assert tuple(bar.get_xdata()) == release.interval()
    (opened,) = [line for line in axes.get_lines() if line.get_gid() == "interval-2"]
    assert opened.get_xdata()[1] > max(answer(3000).interval())  # an arrow beyond all that is known
    assert ">" in [line.get_marker() for line in axes.get_lines()]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["clerk", "chef", "judge"]


def test_a_plot_of_nothing_and_of_too_few_axes_is_refused() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    with pytest.raises(InvalidRequest, match="nothing to plot"):
        TABLE.top(0).plot()
    two = ReleaseTable("q", SHARE, ("k",), ("a", "b"), (("x",),), ((answer(1), answer(2)),))
    with pytest.raises(InvalidRequest, match="as many axes"):
        two.plot(figure.subplots())


def test_a_histogram_has_a_bar_between_its_edges_and_an_error_bar_for_each_bin() -> None:
    pytest.importorskip("matplotlib")
    people = prdp.open({"age": np.arange(9000) % 90}, policy="1", bounds={"age": (0, 90)})
    counts = people.histogram("age", edges=[0, 18, 65, 90], share=1)
    panel = counts.plot()
    assert [bar.get_height() for bar in panel.patches] == [float(row[0]) for row in counts.releases]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["0", "18", "65", "90"]
    assert sum(str(line.get_gid()).startswith("interval-") for line in panel.lines) == 3
    assert panel.get_xlabel() == "age"
    assert not counts.sort().plot().patches, "bins out of their order are no histogram"


def test_counts_by_numbers_at_equal_distances_are_a_histogram_and_other_answers_are_points() -> None:
    pytest.importorskip("matplotlib")
    people = prdp.open({"age": np.arange(9000) % 90}, policy="1", bounds={"age": (0, 89)}, name="people")
    by_decade = "SELECT floor(age / 10) * 10 AS decade, {} AS a FROM people GROUP BY decade"
    panel = people.sql(by_decade.format("COUNT(*)"), share="1/4").plot()
    assert [label.get_text() for label in panel.get_xticklabels()] == [f"{10 * n}" for n in range(9)]
    assert len({bar.get_width() for bar in panel.patches}) == 1
    assert all(bar.get_y() == 0 for bar in panel.patches)
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("decade", "a")
    assert not people.sql(by_decade.format("AVG(age)"), share="1/4").plot().patches
    uneven = people.group_by("age", keys=[1, 2, 4]).agg(prdp.count(), share="1/4")
    assert not uneven.plot().patches, "at unequal distances bars would lie about them"
