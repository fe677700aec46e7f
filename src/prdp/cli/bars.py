"""Answers with their intervals in plain characters: ``|----o--------|``; no colour and no terminal needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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

    def drawn(place: int, columns: int) -> str:
        return _bar(float(answers[place]), ends[place], low, high, columns)

    return _lined(labels, drawn, (low, high), width)


def histogram(labels: Sequence[str], answers: Sequence[Any], width: int) -> list[str]:
    """Return a bar for each answer from 0 on, with its interval: ``#####|##o---|``; dots where it is noise.

    >>> from prdp.release.release import Release
    >>> from fractions import Fraction
    >>> facts = Fraction(1), (Fraction(1),), Fraction(1), "clip", ""
    >>> for line in histogram(["10", "20"], [Release("count", n, *facts) for n in (400, 200)], 40):
    ...     print(line)
    10  ##################################|o
    20  #################o|
        0                                403
    """
    values = [float(one) for one in answers]
    ends = _near([answer.interval() for answer in answers], values)
    sure = [pair for pair, answer in zip(ends, answers, strict=True) if not answer.flag] or ends
    finite = [end for pair in sure for end in pair if math.isfinite(end)] + [*values, 0.0]
    low, high = min(finite), max(finite)
    high += (high - low or 1.0) / 20 if any(math.isinf(pair[1]) for pair in ends) else 0  # room for arrows

    def drawn(place: int, columns: int) -> str:
        return _from_zero(answers[place], ends[place], low, high, columns)

    return _lined(labels, drawn, (low, high), width)


def _from_zero(answer: Any, ends: tuple[float, float], low: float, high: float, columns: int) -> str:
    value = float(answer)
    cells = list(_bar(value, ends, low, high, columns))
    first, last = sorted((_place(0.0, low, high, columns), _place(value, low, high, columns)))
    for place in range(first, last + 1):
        if cells[place] in " -":
            cells[place] = "." if answer.flag else "#"
    return "".join(cells)


def _lined(
    labels: Sequence[str], drawn: Callable[[int, int], str], ends: tuple[float, float], width: int
) -> list[str]:
    """Return a line for each label with what is drawn beside it, and the axis below them."""
    room = max(map(len, labels), default=0)
    columns = max(_LEAST_WIDTH, width - room - 2)
    lines = [f"{plain(label):{room}}  {drawn(place, columns)}".rstrip() for place, label in enumerate(labels)]
    left, right = map(number, ends)
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
    first, last = (_place(end, low, high, columns) for end in (max(ends[0], low), min(ends[1], high)))
    cells = [" "] * columns
    cells[first : last + 1] = ["-"] * (last + 1 - first)
    cells[first] = "|" if math.isfinite(ends[0]) else "<"
    cells[last] = "|" if math.isfinite(ends[1]) else ">"
    cells[_place(value, low, high, columns)] = "o"
    return "".join(cells)


def _place(at: float, low: float, high: float, columns: int) -> int:
    """Return the column of a number on an axis."""
    part = (at - low) / (high - low) if high > low else 0.5
    return round(min(1.0, max(0.0, part)) * (columns - 1))
