"""A table of answers as a picture: a point for each, and its interval as an error bar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from prdp.declare.groups import Bin
from prdp.errors import InvalidRequest
from prdp.release import formatting, style

if TYPE_CHECKING:
    from prdp.release.release import Release
    from prdp.release.table import ReleaseTable

_ROW, _LEAST = 0.3, 2.0
_ARROW = 0.06
_LEAST_BARS = 3  # of numbers; two say nothing of their distances
_MAX_EDGES = 12  # that are named below a histogram


def plot(table: ReleaseTable, ax: Any = None) -> Any:
    """Draw a table's answers, group below group, with the intervals that are printed."""
    from prdp.release.table import shown_key  # noqa: PLC0415  (tables draw themselves)

    if not len(table):
        raise InvalidRequest("there is nothing to plot: the table has no rows.")
    if len(table.asked) == 1 and is_histogram([*table.keys], [row[0] for row in table.releases]):
        return _histogram(table, ax)
    axes = _axes(len(table.asked), len(table), ax)
    groups = [", ".join(map(shown_key, key)) or table.question for key in table.keys]
    names = table.names[len(table.by) :]
    for place, (name, panel) in enumerate(zip(names, axes, strict=True)):
        _panel(panel, [row[place] for row in table.releases])
        panel.set_xlabel(name)
        panel.set_yticks(range(len(groups)), groups)
    axes[0].invert_yaxis()  # the others share its axis
    axes[0].set_ylabel(", ".join(table.by))
    mark = ", simulated: not private" if table.simulated else ""
    axes[0].set_title(f"{table.question} (share {table.share}{mark})", loc="left", fontsize="medium")
    return ax if ax is not None else (axes[0] if len(axes) == 1 else axes)


def is_histogram(keys: Sequence[Sequence[Any]], answers: Sequence[Any]) -> bool:
    """Return whether answers are a histogram: of bins side by side, or counts by numbers at equal distances.

    Such numbers are what ``GROUP BY floor(age / 10) * 10`` gives.
    """
    alone = [key[0] for key in keys if len(key) == 1]
    if len(alone) != len(keys):
        return False
    if all(isinstance(key, Bin) for key in alone):
        return all(one.high == other.low for one, other in pairwise(alone))
    numbers = all(isinstance(key, int | float) and not isinstance(key, bool) for key in alone)
    counts = all(answer.question.lower().startswith("count") for answer in answers)
    if not numbers or not counts or len(alone) < _LEAST_BARS:
        return False
    steps = [other - one for one, other in pairwise(alone)]
    return steps[0] > 0 and all(math.isclose(step, steps[0]) for step in steps)


def _histogram(table: ReleaseTable, ax: Any) -> Any:
    """Draw a bar for each bin between its edges, and its interval as an error bar; noise is hatched grey.

    Bars are equally wide, whatever the bins are: their height is the answer, and not a density. A bar of
    a number is above it.
    """
    panel = _axes(1, 0, ax)[0] if ax is not None else style.axes()[0]
    answers = [row[0] for row in table.releases]
    bins: list[Any] = [key[0] for key in table.keys]
    heights = [float(answer) for answer in answers]
    sure = [answer.interval() for answer in answers if not answer.flag] or [a.interval() for a in answers]
    finite = [end for pair in sure for end in pair if math.isfinite(end)] + [*heights, 0.0]
    tail_factor = (max(finite) - min(finite) or 1.0) * _ARROW
    first, last = min(finite) - tail_factor, max(finite) + tail_factor
    for place, (answer, height) in enumerate(zip(answers, heights, strict=True)):
        colour = style.GREY if answer.flag else style.BLUE
        low, high = answer.interval()
        least, most = max(low, first), min(high, last)
        look = {"color": colour, "alpha": 0.55, "edgecolor": "white", "hatch": "///" if answer.flag else None}
        panel.bar(place, height, width=1, align="edge", **look)
        panel.plot([place + 0.5] * 2, [least, most], color="black", linewidth=1.2, gid=f"interval-{place}")
        for end, at, marker in ((low, least, "v"), (high, most, "^")):
            panel.plot([place + 0.5], [at], color="black", marker="_" if end == at else marker, markersize=5)
    step = -(-len(bins) // _MAX_EDGES)
    between = isinstance(bins[0], Bin)
    marks = [*(one.low for one in bins), bins[-1].high] if between else bins
    named = [f"{float(mark):.6g}" for mark in marks]
    panel.set_xticks([place + (0 if between else 0.5) for place in range(0, len(named), step)], named[::step])
    mark = ", simulated: not private" if table.simulated else ""
    column = table.by[0].removeprefix("bins of ")
    style.dress(panel, f"{table.question} (share {table.share}{mark})", column, table.names[-1])
    panel.grid(visible=False, axis="x")
    return panel


def _axes(questions: int, rows: int, ax: Any) -> list[Any]:
    if ax is not None:
        given = list(getattr(ax, "flat", ax)) if hasattr(ax, "__len__") else [ax]
        if len(given) != questions:
            raise InvalidRequest(f"{questions} questions need as many axes, not {len(given)}.")
        return given
    return style.axes(questions, height=max(_LEAST, _ROW * rows + 1))


def _panel(panel: Any, answers: list[Release]) -> None:
    """Draw one column: grey where an answer has a flag, arrows for open ends.

    Grey intervals are cut, with an arrow, where they would leave no room for the others.
    """
    ends = [answer.interval() for answer in answers]
    sure = [place for place, answer in enumerate(answers) if not answer.flag] or range(len(answers))
    finite = [end for place in sure for end in ends[place] if math.isfinite(end)]
    finite += [float(answer) for answer in answers]
    tail_factor = (max(finite) - min(finite) or 1.0) * _ARROW
    first, last = min(finite) - tail_factor, max(finite) + tail_factor
    for place, (answer, (low, high)) in enumerate(zip(answers, ends, strict=True)):
        colour = style.GREY if answer.flag else style.BLUE
        least, most = max(low, first), min(high, last)
        panel.plot([least, most], [place, place], color=colour, linewidth=1.5, gid=f"interval-{place}")
        for end, at, marker in ((low, least, "<"), (high, most, ">")):
            panel.plot([at], [place], color=colour, marker="|" if end == at else marker, markersize=6)
        panel.plot([float(answer)], [place], color=colour, marker="o", markersize=5)
    panel.grid(axis="x", alpha=0.3)
    panel.margins(y=0.5 / len(answers) + 0.02)
    if any(answer.kind == formatting.RANGE for answer in answers):
        panel.annotate(
            formatting.RANGE, (1, 0), xycoords="axes fraction", ha="right", va="bottom", fontsize="small"
        )
