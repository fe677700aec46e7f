"""Answers with their intervals in plain characters: ``|----o--------|``; no colour and no terminal needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from prdp.cli.messages import plain
from prdp.cli.printing import number

_LEAST_WIDTH = 20
_FAR = 10  # times the answers


def bars(labels: Sequence[str], answers: Sequence[Any], width: int) -> list[str]:
    """Return a line for each answer, on one axis; an arrow stands for an end that is far away or not there.

    >>> from prdp.release.release import Release
    >>> from fractions import Fraction
    >>> clerks = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip", "")
    >>> lines = bars(["clerk"], [clerks], 40)
    >>> lines[0].startswith("clerk "), "o" in lines[0], len(lines)
    (True, True, 2)
    """
    ends = _near([answer.interval() for answer in answers], [float(one) for one in answers])
    finite = [end for pair in ends for end in pair if math.isfinite(end)] + [float(one) for one in answers]
    low, high = min(finite), max(finite)
    margin = (high - low or 1.0) / 10  # room for arrows
    low -= margin if any(math.isinf(pair[0]) for pair in ends) else 0
    high += margin if any(math.isinf(pair[1]) for pair in ends) else 0
    room = max(map(len, labels), default=0)
    columns = max(_LEAST_WIDTH, width - room - 2)
    lines = [
        f"{plain(label):{room}}  {_bar(float(answer), pair, low, high, columns)}".rstrip()
        for label, answer, pair in zip(labels, answers, ends, strict=True)
    ]
    left, right = number(low), number(high)
    return [*lines, " " * (room + 2) + left + " " * max(1, columns - len(left) - len(right)) + right]


def _near(ends: list[tuple[float, float]], values: list[float]) -> list[tuple[float, float]]:
    """Return the ends; those so far from all answers that these would fall on one place get an arrow."""
    low, high = min(values), max(values)
    far = _FAR * max(high - low, abs(high), abs(low))
    return [
        (-math.inf if least < low - far else least, math.inf if most > high + far else most)
        for least, most in ends
    ]


def _bar(value: float, ends: tuple[float, float], low: float, high: float, columns: int) -> str:
    def place(at: float) -> int:
        part = (at - low) / (high - low) if high > low else 0.5
        return round(min(1.0, max(0.0, part)) * (columns - 1))

    first, last = place(max(ends[0], low)), place(min(ends[1], high))
    cells = [" "] * columns
    cells[first : last + 1] = ["-"] * (last + 1 - first)
    cells[first] = "|" if math.isfinite(ends[0]) else "<"
    cells[last] = "|" if math.isfinite(ends[1]) else ">"
    cells[place(value)] = "o"
    return "".join(cells)
