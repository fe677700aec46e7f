"""The README's picture shows what was measured, and all of it."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.interval_peers import BOUNDS, EPSILONS
from experiments.interval_peers import stored as stored_intervals
from experiments.pictures import (
    ASKED,
    CLIPS,
    LIBRARIES,
    LOOKS,
    PICTURE,
    SETS,
    SPEED,
    Point,
    drawn,
    drawn_speed,
    stored,
    timed,
)

ROWS = stored()
INTERVALS = stored_intervals()


def test_every_figure_of_the_files_is_a_point_of_the_picture() -> None:
    figure = drawn(ROWS, INTERVALS)
    points = {
        line.get_gid(): np.asarray(line.get_xdata())[0] for panel in figure.axes for line in panel.lines
    }
    assert points == {f"{row.question} {row.set} {row.method}": row.error_percent for row in ROWS} | {
        f"interval {one.epsilon} {one.set} {one.library} {one.clip}": one.half_width_percent
        for one in INTERVALS
    }
    texts = sorted(text.get_text() for panel in figure.axes for text in panel.texts)
    assert texts == sorted(f"{100 * one.coverage:.1f}" for one in INTERVALS)


def test_every_library_s_intervals_are_shown_on_every_set() -> None:
    own, others = {("prdp", "chosen privately")}, {"OpenDP", "Tumult Analytics"}
    asked = own | {(library, clip) for library in others for clip in CLIPS.keys() - {"chosen privately"}}
    shown = {(one.set, one.epsilon, one.library, one.clip) for one in INTERVALS}
    assert shown == {(data, epsilon, *case) for data in SETS for epsilon in EPSILONS for case in asked}
    assert SETS.keys() == BOUNDS.keys()


def test_without_a_clip_that_binds_stated_accuracy_covers_the_sum_as_often_as_it_says() -> None:
    """A wrong quantile of the noise would show; the deviation of a coverage is .7 % over 1,000 runs."""
    for one in INTERVALS:
        if one.clip == "public bounds":
            assert one.runs == 1000
            assert one.coverage == pytest.approx(0.95, abs=0.03)


def test_every_method_that_answers_a_question_is_shown_on_every_set() -> None:
    for question, left_out in (
        ("count", {"personalised truncation", "Algorithm 2"}),
        ("sum", {"personalised truncation with sampling"}),
    ):
        shown = {(row.set, row.method) for row in ROWS if row.question == question}
        assert shown == {(data, method) for data in SETS for method in LOOKS.keys() - left_out}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.question} {row.set} {row.method}")
def test_the_standard_error_is_small_beside_the_error(row: Point) -> None:
    assert row.runs == 5000
    assert row.standard_error < row.error_percent / 50


def test_the_picture_is_in_the_repository() -> None:
    assert PICTURE.read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_speed_has_every_library_at_the_ratio_that_was_measured() -> None:
    times = timed()
    figure = drawn_speed(times)
    points = {
        line.get_gid(): np.asarray(line.get_xdata())[0] for panel in figure.axes for line in panel.lines
    }
    assert points == {f"{one.question} {one.library}": one.times_prdp for one in times}
    assert {(one.question, one.library) for one in times} == {(q, lib) for q in ASKED for lib in LIBRARIES}
    assert SPEED.read_bytes().startswith(b"\x89PNG")


def test_ratios_are_those_of_the_seconds_beside_them() -> None:
    times = timed()
    ours = {one.question: one.seconds for one in times if one.library == "prdp"}
    for one in times:
        half = 0.005  # seconds are written to hundredths, ratios to tenths
        least, most = (
            (one.seconds + sign * half) / (ours[one.question] - sign * half) + sign * 0.05 for sign in (-1, 1)
        )
        assert least <= one.times_prdp <= most
