"""A figure with logarithmic axes as SVG, without any library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 420, 70, 190, 40, 50
_COLOURS = ("#1b6ca8", "#c1432e", "#3c8d40", "#7b4fa3", "#888888")


def log_log(title: str, across: str, up: str, lines: Mapping[str, Points]) -> str:
    """Return a figure of named lines; one whose name begins with ~ is dashed."""
    xs = [math.log10(x) for points in lines.values() for x, _ in points]
    ys = [math.log10(y) for points in lines.values() for _, y in points]
    left, right, low, high = min(xs), max(xs), math.floor(min(ys)), math.ceil(max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (math.log10(x) - left) / (right - left) * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - (math.log10(y) - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM),
        )

    parts = [f'<text x="{_LEFT}" y="22" font-size="15">{escape(title)}</text>']
    for power in range(math.ceil(left), math.floor(right) + 1):
        x, bottom = place(10**power, 10**low)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{10**power:,}</text>')
    for power in range(low, high + 1):
        x, y = place(10**left, 10**power)
        parts.append(f'<line x1="{x:.1f}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    for number, (name, points) in enumerate(lines.items()):
        parts += _line(name, [place(x, y) for x, y in points], number)
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 8}">{escape(across)}; up: {escape(up)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _line(name: str, places: Points, number: int) -> list[str]:
    colour = _COLOURS[number % len(_COLOURS)]
    dashes = ' stroke-dasharray="6 4"' if name.startswith("~") else ""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawn = [f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>']
    if not dashes:
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    x, y = _WIDTH - _RIGHT + 14, _TOP + 20 + 20 * number
    drawn.append(
        f'<line x1="{x}" x2="{x + 22}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"{dashes}/>'
    )
    drawn.append(f'<text x="{x + 28}" y="{y + 4}">{escape(name.strip("~ "))}</text>')
    return drawn
