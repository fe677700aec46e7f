"""A table as a picture: bars, or a line over numbers and dates, with 95 % intervals."""

from __future__ import annotations

import io
import warnings
from datetime import datetime
from typing import Any

from prdp.publish.table import FinishedTable, PublishedFigure, printed_key
from prdp.release import style
from prdp.safety.plain_text import printable

_MOST = 60  # bars in a picture
_LEAST_LINE = 3
_MOST_TICKS = 12
_LONGEST = 40  # letters beside a bar


def picture(table: FinishedTable, name: str) -> str | None:
    """Return a column of a table as SVG; None where it has too many rows to be read.

    Drawn are the keys of the first dimension, with the totals of all others.
    """
    first = table.draws.dimensions[0]
    along = [place for place in table.along_first if table.cells[place][0].level == 0]
    rows = [(table.cells[place][0].labels[-1], table.columns[name][place]) for place in along]
    if not 1 < len(rows) <= _MOST or not any(figure.is_published for _, figure in rows):
        return None
    over = all(isinstance(label, int | float | datetime) for label, _ in rows) and len(rows) >= _LEAST_LINE
    panel = style.axes(height=3.5 if over else max(2.0, 0.25 * len(rows) + 1))[0]
    (_line if over else _bars)(panel, rows)
    across, up = (first.names[-1], name) if over else (name, first.names[-1])
    (panel.yaxis if over else panel.xaxis).set_major_formatter(lambda value, _: f"{value:,.10g}")
    style.dress(panel, printable(name), printable(across), printable(up))
    return as_svg(panel)


def over_editions(title: str, rows: list[tuple[str, PublishedFigure]]) -> str:
    """Return a figure over editions, with its intervals, as SVG."""
    panel = style.axes(height=2.6)[0]
    known = [(place, one) for place, (_, one) in enumerate(rows)]
    _line(panel, known)
    panel.set_xticks(range(len(rows)), [printable(label) for label, _ in rows])
    panel.margins(x=0.1)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    style.dress(panel, printable(title), "", "")
    return as_svg(panel)


def as_svg(panel: Any, *, powers: bool = False) -> str:
    """Return axes as SVG: the same for the same figures, and no text of a key is a formula.

    Args:
        panel: The axes.
        powers: Whether its ticks are powers, which are set as formulas, and no keys.
    """
    from matplotlib import rc_context  # noqa: PLC0415  (an extra)

    for text in (panel.title, panel.xaxis.label, panel.yaxis.label, *([] if powers else _ticks(panel))):
        text.set_parse_math(False)
    drawn = io.StringIO()
    with rc_context({"svg.hashsalt": "prdp", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a font without some letter: a browser has others
        panel.get_figure().savefig(drawn, format="svg", metadata={"Date": None})
    text = drawn.getvalue()
    return text[text.index("<svg") :]


def _tick(label: Any) -> str:
    text = printable(printed_key(label))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


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
    panel.set_yticks(range(len(rows)), [_tick(label) for label, _ in rows])
    panel.set_ylim(len(rows) - 0.4, -0.6)


def _line(panel: Any, rows: list[tuple[Any, PublishedFigure]]) -> None:
    known = [(label, one) for label, one in rows if not one.sign and one.value is not None]
    panel.plot([label for label, _ in known], [one.value for _, one in known], "o-", color=style.BLUE)
    if len(rows) <= _MOST_TICKS:
        labels = [label for label, _ in rows]
        panel.set_xticks(labels, [_tick(label) for label in labels])
    for label, one in known:
        if one.low is not None and one.high is not None:
            panel.plot([label, label], [one.low, one.high], color="black", linewidth=1.2)
