"""What a report is made of: sections of text, tables and figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["ours", "paper", "published", "baseline", "yardstick", ""]


Mark = Literal["inside", "off", "unknown", "omitted", "absent", ""]
"""Of a printed figure: in the band of 50 runs, off it, of a set that is not the paper's own, left out of this
run, or of a set whose data are not here."""

HIGHEST = 10
"""How many times the largest truth a figure reaches; a method that errs by more says nothing anyway."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; its kind says how it is coloured, and so do the marks of single cells."""

    cells: tuple[str, ...]
    kind: Kind = ""
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table with one line of headings."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a figure: its name and points, the kind of method it represents, and the ends of bars."""

    name: str
    points: tuple[tuple[float, float], ...]
    kind: Kind = ""
    bars: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """A set of axes, both logarithmic."""

    title: str
    across: str
    up: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels side by side, with the same lines and the same scale upwards.

    Attributes:
        name: The picture's file, without its ending.
        caption: What it shows.
        panels: From left to right.
        top: Where the scale ends, if it must; what lies above is drawn on that edge.
    """

    name: str
    caption: str
    panels: tuple[Panel, ...]
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment in the report.

    Attributes:
        title: Its heading.
        about: Paragraphs that say what was done.
        parts: Tables, figures and paragraphs, in order.
        findings: Sentences for the summary at the top.
    """

    title: str
    about: str
    parts: tuple[Table | Figure | str, ...]
    findings: tuple[str, ...] = ()


def held(figure: Figure, largest_truth: float) -> Figure:
    """Return a figure whose scale ends at ``HIGHEST`` times the truth if a line goes higher."""
    top = HIGHEST * largest_truth
    if all(y <= top for panel in figure.panels for line in panel.lines for _, y in line.points):
        return figure
    edge = f" Errors above {HIGHEST} times the largest true answer are drawn at the upper edge."
    return replace(figure, caption=figure.caption + edge, top=top)


def number(value: float, digits: int = 3) -> str:
    """Write a number for a table: three digits, and powers of ten where it is huge."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size < 1e-12:
        return "0"
    if size >= 10**6 or size < 10**-4:
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    if size >= 10**digits:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
