"""A curve in plain characters, on logarithmic axes; it needs no colour and no terminal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from prdp.cli.printing import number
from prdp.expressions.intervals import Interval

_ROWS = 12
_LABEL = 9
_FINE = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a plot: its ends, and whether it is logarithmic."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, low: float, high: float) -> Axis:
        """Return a logarithmic axis where that can be, from a small positive number if it begins at zero."""
        if low < 0 or high <= 0:
            return cls(low, high, logarithmic=False)
        start = low if low > 0 else min(1.0, high / 1e6)
        return cls(start, high, logarithmic=True)

    def value(self, part: float) -> float:
        """Return what stands at a place between 0 and 1."""
        if self.low == self.high:
            return self.low
        if self.logarithmic:
            return min(self.high, self.low * math.pow(self.high / self.low, part))
        return self.low * (1 - part) + self.high * part

    def part(self, value: float) -> float:
        """Return where a value stands, between 0 and 1."""
        if self.low == self.high:
            return 0.5
        if self.logarithmic:
            place = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            place = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, place))


def curve(
    budget: Callable[[float], float | None], holes: list[Interval], across: Axis, up: Axis, width: int
) -> list[str]:
    """Return the lines of a plot; an x on the axis stands where there is no budget somewhere."""
    columns = max(20, min(width, 80) - _LABEL - 2)
    canvas = [[" "] * columns for _ in range(_ROWS)]
    axis = ["x" if _meets(holes, across, column, columns) else "-" for column in range(columns)]
    for column in range(columns):
        for fine in range(_FINE):
            found = budget(across.value((column + fine / (_FINE - 1)) / columns))
            if found is None:
                axis[column] = "x"
            else:
                canvas[round((1 - up.part(found)) * (_ROWS - 1))][column] = "*"
    labels = {0: up.value(1), _ROWS // 2: up.value(1 - (_ROWS // 2) / (_ROWS - 1)), _ROWS - 1: up.value(0)}
    lines = [
        f"{number(labels[row], 3) if row in labels else '':>{_LABEL}} |{''.join(cells)}".rstrip()
        for row, cells in enumerate(canvas)
    ]
    return [*lines, " " * _LABEL + " +" + "".join(axis), _ticks(across, columns)]


def _meets(holes: list[Interval], across: Axis, column: int, columns: int) -> bool:
    low = across.value(column / columns) if column else -math.inf
    high = across.value((column + 1) / columns)
    return any(hole.low < high and hole.high >= low for hole in holes)


def _ticks(across: Axis, columns: int) -> str:
    low, middle, high = (number(across.value(part), 3) for part in (0, 0.5, 1))
    gap = columns - len(low) - len(high)
    return " " * (_LABEL + 2) + low + f"{middle:^{max(gap, len(middle))}}" + high
