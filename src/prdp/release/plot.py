"""A table of answers as a picture: a point for each, and its interval as an error bar."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from prdp.errors import InvalidRequest
from prdp.release import shown, style

if TYPE_CHECKING:
    from prdp.release.release import Release
    from prdp.release.table import ReleaseTable

_ROW, _LEAST = 0.3, 2.0
_ARROW = 0.06


def plot(table: ReleaseTable, ax: Any = None) -> Any:
    """Draw a table's answers, group below group, with the intervals that are printed."""
    from prdp.release.table import shown_key  # noqa: PLC0415  (tables draw themselves)

    if not len(table):
        raise InvalidRequest("there is nothing to plot: the table has no rows.")
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


def _axes(questions: int, rows: int, ax: Any) -> list[Any]:
    if ax is not None:
        given = list(getattr(ax, "flat", ax)) if hasattr(ax, "__len__") else [ax]
        if len(given) != questions:
            raise InvalidRequest(f"{questions} questions need as many axes, not {len(given)}.")
        return given
    return style.axes(questions, height=max(_LEAST, _ROW * rows + 1))


def _panel(panel: Any, answers: list[Release]) -> None:
    """Draw one column: grey where an answer is mostly noise or the table too poor, arrows for open ends.

    Grey intervals are cut, with an arrow, where they would leave no room for the others.
    """
    ends = [answer.interval() for answer in answers]
    sure = [place for place, answer in enumerate(answers) if not answer.flag] or range(len(answers))
    finite = [end for place in sure for end in ends[place] if math.isfinite(end)]
    finite += [float(answer) for answer in answers]
    reach = (max(finite) - min(finite) or 1.0) * _ARROW
    first, last = min(finite) - reach, max(finite) + reach
    for place, (answer, (low, high)) in enumerate(zip(answers, ends, strict=True)):
        colour = style.GREY if answer.flag else style.BLUE
        least, most = max(low, first), min(high, last)
        panel.plot([least, most], [place, place], color=colour, linewidth=1.5, gid=f"interval-{place}")
        for end, at, marker in ((low, least, "<"), (high, most, ">")):
            panel.plot([at], [place], color=colour, marker="|" if end == at else marker, markersize=6)
        panel.plot([float(answer)], [place], color=colour, marker="o", markersize=5)
    panel.grid(axis="x", alpha=0.3)
    panel.margins(y=0.5 / len(answers) + 0.02)
    if any(answer.kind == shown.RANGE for answer in answers):
        panel.annotate(
            shown.RANGE, (1, 0), xycoords="axes fraction", ha="right", va="bottom", fontsize="small"
        )
