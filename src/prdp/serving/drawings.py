"""Pictures as SVG, drawn on the server: answers with their intervals, curves, bars; classes style them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise

Line = tuple[str, float, float | None, float | None]
"""A label, an answer, and the ends of its interval; None or infinite for an end that is not there."""


def shown(number: float | None) -> str:
    """Return a number for reading: as many digits as it deserves.

    >>> shown(1234.5), shown(0.01234), shown(-3.0), shown(None)
    ('1,234', '0.0123', '-3', '–')
    """
    if number is None or not math.isfinite(number):
        return "–"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two ends, at most so many.

    >>> ticks(0, 47)
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    rough = span / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [place * step for place in range(first, last + 1)]


MAX_LINES = 40
_WIDTH, _RIGHT = 680, 40
_LETTER, _GAP = 11, 20
_ROW, _TOP, _BOTTOM = 30, 12, 34
_MAX_LABEL = 26
_FAR = 10


def interval_chart(lines: Sequence[Line], title: str, name: str = "p") -> str:
    """Return answers with their intervals as an SVG; an empty text where there are none.

    An arrow marks an end that is not there, or so far away that the answers would fall on one place.

    >>> interval_chart([("clerk", 41.0, 38.0, None)], "Answers").count('class="arrow"')
    1

    Args:
        lines: What is drawn, at most the first 40.
        title: What it is, for whoever does not see it.
        name: What its ids on a page begin with.
    """
    drawn = [_near(line, lines) for line in lines[:MAX_LINES]]
    if not drawn:
        return ""
    known = [end for line in drawn for end in (*line[1:], 0.0) if end is not None]
    low, high = min(known), max(known)
    high = high if high > low else low + 1
    left = _GAP + _LETTER * max(min(len(line[0]), _MAX_LABEL) for line in drawn)
    scale = (_WIDTH - left - _RIGHT) / (high - low)

    def across(number: float) -> float:
        return round(left + (number - low) * scale, 1)

    bottom = _TOP + _ROW * len(drawn)
    parts = _ticks([(across(tick), tick) for tick in ticks(low, high)], bottom)
    parts.append(f'<line class="zero" x1="{across(0)}" y1="{_TOP}" x2="{across(0)}" y2="{bottom}"/>')
    for place, line in enumerate(drawn):
        parts.append(_row(line, _TOP + _ROW * place + _ROW // 2, across, left))
    summary = "; ".join(
        f"{label}: {shown(value)}, from {shown(least)} to {shown(most)}"
        for label, value, least, most in lines[:MAX_LINES]
    )
    inside = f"<title>{escape(title)}</title>" + "".join(parts)
    return _svg(f"{name}d", bottom + _BOTTOM, inside, summary)


def _near(line: Line, lines: Sequence[Line]) -> Line:
    label, value, low, high = line
    far = _FAR * max(abs(one[1]) for one in lines) or math.inf
    kept = [end if end is not None and abs(end) <= far else None for end in (low, high)]
    return label, value, kept[0], kept[1]


def _svg(name: str, height: int, inside: str, summary: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="{name}">'
        f'<desc id="{name}">{escape(summary)}</desc>{inside}</svg>'
    )


_WIDE_LETTER = 13
"""Width of a digit where a page is narrow, and letters are larger beside the lines."""


def _ticks(places: Sequence[tuple[float, float]], bottom: int) -> list[str]:
    """Return grid lines with their numbers.

    Where numbers would overlap on a narrow page, every other one has the class ``odd``, to be left out there.
    """
    widest = _WIDE_LETTER * max((len(shown(number)) for _, number in places), default=0)
    crowded = any(right - left < widest for (left, _), (right, _) in pairwise(places))
    return [
        _tick(x, number, bottom, " odd" * (crowded and (len(places) - at) % 2 == 0))
        for at, (x, number) in enumerate(places)
    ]


def _tick(x: float, number: float, bottom: int, more: str) -> str:
    text = f'<text class="tick{more}" x="{x}" y="{bottom + 20}" text-anchor="middle">{shown(number)}</text>'
    return f'<line class="grid" x1="{x}" y1="{_TOP}" x2="{x}" y2="{bottom + 4}"/>{text}'


def _row(line: Line, y: int, across: Callable[[float], float], room: int) -> str:
    label, value, low, high = line
    at = across(value)
    left, right = room - 4 if low is None else across(low), _WIDTH - 4 if high is None else across(high)
    short = label if len(label) <= _MAX_LABEL else f"{label[: _MAX_LABEL - 1]}…"
    ends = [_end(left, y, -1, there=low is not None), _end(right, y, 1, there=high is not None)]
    return (
        f'<text class="label" x="{room - _GAP // 2}" y="{y + 5}" text-anchor="end">{escape(short)}</text>'
        f'<line class="reach" x1="{left}" y1="{y}" x2="{right}" y2="{y}"/>{"".join(ends)}'
        f'<circle class="dot" cx="{at}" cy="{y}" r="5"/>'
    )


def _end(x: float, y: int, side: int, *, there: bool) -> str:
    if there:
        return f'<line class="reach" x1="{x}" y1="{y - 5}" x2="{x}" y2="{y + 5}"/>'
    return f'<polygon class="arrow" points="{x},{y} {x - 8 * side},{y - 5} {x - 8 * side},{y + 5}"/>'


_CURVE_HEIGHT, _LEFT = 260, 64


def curve_chart(points: Sequence[tuple[float, float]], x_name: str, title: str, name: str = "c") -> str:
    """Return a curve over positive numbers, both axes in decades; an empty text where there is none.

    >>> curve_chart([(1.0, 10.0), (10.0, 1.0)], "balance", "The policy").count("<path")
    1
    """
    kept = [(x, y) for x, y in points if x > 0 and y > 0 and math.isfinite(x + y)]
    if len(kept) < 2 or kept[0][0] == kept[-1][0]:
        return ""
    first, last = math.log10(kept[0][0]), math.log10(kept[-1][0])
    least, most = (math.log10(end) for end in (min(y for _, y in kept), max(y for _, y in kept)))
    least, most = math.floor(least), max(math.ceil(most), math.floor(least) + 1)

    def at(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (math.log10(x) - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)
        down = _TOP + (most - math.log10(y)) / (most - least) * _CURVE_HEIGHT
        return round(across, 1), round(down, 1)

    bottom = _TOP + _CURVE_HEIGHT
    path = " ".join(f"{'L' if place else 'M'}{x},{y}" for place, (x, y) in enumerate(at(*p) for p in kept))
    parts = [_across(10.0**power, at(kept[0][0], 10.0**power)[1]) for power in _decades(least, most)]
    decades = [10.0**power for power in _decades(first, last)]
    parts += _ticks([(at(x, 10.0**least)[0], x) for x in decades], bottom)
    parts.append(f'<path class="curve" d="{path}"/>')
    named = f'x="{_WIDTH - _RIGHT}" y="{bottom + 40}" text-anchor="end">{escape(x_name)}'
    parts.append(f'<text class="tick" {named}</text>')
    (x0, y0), (x1, y1) = kept[0], kept[-1]
    summary = f"{shown(y0)} at {x_name} {shown(x0)}, {shown(y1)} at {x_name} {shown(x1)}"
    return _svg(f"{name}d", bottom + 52, f"<title>{escape(title)}</title>{''.join(parts)}", summary)


def _decades(low: float, high: float) -> range:
    """Return whole powers of ten between two, at most some seven."""
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    return range(first, last + 1, max(1, -(-(last - first + 1) // 7)))


def _across(number: float, y: float) -> str:
    text = f'<text class="tick" x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{shown(number)}</text>'
    return f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}"/>{text}'


def share_bar(parts: Sequence[tuple[str, float]], summary: str, name: str = "b") -> str:
    """Return a bar of named parts, each a fraction of its whole.

    >>> share_bar([("spent", 0.25), ("asked", 0.1)], "a quarter is spent").count("<rect")
    3
    """
    x, drawn = 0.0, [f'<rect class="whole" x="0" y="0" width="{_WIDTH}" height="18" rx="4"/>']
    for kind, part in parts:
        width = round(max(0.0, min(part, 1.0 - x / _WIDTH)) * _WIDTH, 1)
        drawn.append(f'<rect class="{kind}" x="{round(x, 1)}" y="0" width="{width}" height="18"/>')
        x += width
    return _svg(f"{name}d", 18, "".join(drawn), summary)
