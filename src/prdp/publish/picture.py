"""A table as a picture: bars, or a line over numbers and dates, with 95 % intervals."""

from __future__ import annotations

import io
import warnings
from datetime import datetime
from typing import Any

from prdp.publish.table import FinishedTable, PublishedFigure
from prdp.release import style
from prdp.release.table import shown_key
from prdp.safety.plain_text import printable

_MOST = 60  # bars in a picture
_LEAST_LINE = 3


def picture(table: FinishedTable, name: str) -> str | None:
    """Return a column of a table as SVG; None where it has too many rows to be read.

    Drawn are the keys of the first dimension, with the totals of all others.
    """
    from matplotlib import rc_context  # noqa: PLC0415  (an extra)

    first = table.draws.dimensions[0]
    tops = [len(one.levels) - 1 for one in table.draws.dimensions[1:]]
    rows = [
        (cell[0].labels[-1], figure)
        for cell, figure in zip(table.cells, table.columns[name], strict=True)
        if cell[0].level == 0 and [part.level for part in cell[1:]] == tops
    ]
    if not 1 < len(rows) <= _MOST:
        return None
    over = all(isinstance(label, int | float | datetime) for label, _ in rows) and len(rows) >= _LEAST_LINE
    panel = style.axes(height=3.5 if over else max(2.0, 0.25 * len(rows) + 1))[0]
    (_line if over else _bars)(panel, rows)
    across, up = (first.names[-1], name) if over else (name, first.names[-1])
    (panel.yaxis if over else panel.xaxis).set_major_formatter(lambda value, _: f"{value:,.10g}")
    style.dress(panel, printable(name), printable(across), printable(up))
    for text in (panel.title, panel.xaxis.label, panel.yaxis.label, *_ticks(panel)):
        text.set_parse_math(False)
    drawn = io.StringIO()
    with rc_context({"svg.hashsalt": "prdp", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a font without some letter: a browser has others
        panel.get_figure().savefig(drawn, format="svg", metadata={"Date": None})
    text = drawn.getvalue()
    return text[text.index("<svg") :]


def _ticks(panel: Any) -> list[Any]:
    return [*panel.get_xticklabels(), *panel.get_yticklabels()]


def _bars(panel: Any, rows: list[tuple[Any, PublishedFigure]]) -> None:
    for place, (_, figure) in enumerate(rows):
        if figure.sign or figure.value is None:
            panel.text(0, place, f" {figure.sign}", va="center", color=style.GREY)
            continue
        colour = style.BLUE if figure.status == "A" else style.GREY
        panel.barh(place, figure.value, color=colour, alpha=0.55, height=0.7)
        if figure.low is not None and figure.high is not None:
            panel.plot([figure.low, figure.high], [place, place], color="black", linewidth=1.2)
    panel.set_yticks(range(len(rows)), [printable(shown_key(label)) for label, _ in rows])
    panel.invert_yaxis()


def _line(panel: Any, rows: list[tuple[Any, PublishedFigure]]) -> None:
    known = [(label, one) for label, one in rows if not one.sign and one.value is not None]
    panel.plot([label for label, _ in known], [one.value for _, one in known], "o-", color=style.BLUE)
    for label, one in known:
        if one.low is not None and one.high is not None:
            panel.plot([label, label], [one.low, one.high], color="black", linewidth=1.2)
