"""A result as a picture: each number a dot, its interval a line; an SVG that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from prdp.collector.page.numbers import shown, ticks
from prdp.collector.results import ResultLine

MOST_LINES = 40
_WIDTH, _LABELS, _RIGHT = 680, 190, 24
_ROW, _TOP, _BOTTOM = 30, 12, 34
_MOST_LABEL = 26


def picture(lines: Sequence[ResultLine]) -> str:
    """Return the numbers that were heard as an SVG; an empty text where there are none.

    >>> picture([ResultLine("count", 1000.0, 804.0, 1196.0)]).count("<circle")
    1
    """
    heard = [line for line in lines if line.heard][:MOST_LINES]
    if not heard:
        return ""
    ends = [end for line in heard for end in (line.low or 0.0, line.high or 0.0, 0.0)]
    low, high = min(ends), max(ends)
    high = high if high > low else low + 1
    scale = (_WIDTH - _LABELS - _RIGHT) / (high - low)

    def across(number: float) -> float:
        return round(_LABELS + (number - low) * scale, 1)

    bottom = _TOP + _ROW * len(heard)
    parts = [_tick(across(tick), bottom, tick) for tick in ticks(low, high)]
    parts.append(f'<line class="zero" x1="{across(0)}" y1="{_TOP}" x2="{across(0)}" y2="{bottom}"/>')
    for place, line in enumerate(heard):
        parts.append(_row(line, _TOP + _ROW * place + _ROW // 2, across))
    told = "; ".join(
        f"{line.label}: {shown(line.value)}, from {shown(line.low)} to {shown(line.high)}" for line in heard
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {bottom + _BOTTOM}" role="img" aria-labelledby="pt pd">'
        '<title id="pt">The result, with its 95 % interval</title>'
        f'<desc id="pd">{escape(told)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def _tick(x: float, bottom: int, number: float) -> str:
    text = f'<text class="tick" x="{x}" y="{bottom + 20}" text-anchor="middle">{shown(number)}</text>'
    return f'<line class="grid" x1="{x}" y1="{_TOP}" x2="{x}" y2="{bottom + 4}"/>{text}'


def _row(line: ResultLine, y: int, across: Callable[[float], float]) -> str:
    low, value, high = (across(end or 0.0) for end in (line.low, line.value, line.high))
    label = line.label if len(line.label) <= _MOST_LABEL else f"{line.label[: _MOST_LABEL - 1]}…"
    caps = "".join(f'<line class="reach" x1="{x}" y1="{y - 5}" x2="{x}" y2="{y + 5}"/>' for x in (low, high))
    return (
        f'<text class="label" x="{_LABELS - 12}" y="{y + 5}" text-anchor="end">{escape(label)}</text>'
        f'<line class="reach" x1="{low}" y1="{y}" x2="{high}" y2="{y}"/>{caps}'
        f'<circle class="dot" cx="{value}" cy="{y}" r="5"/>'
    )
