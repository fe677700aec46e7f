"""Parts of columns worked on at the same time: NumPy lets go of Python's lock while it works on one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 1 << 18
"""So many rows are worked on together: what is held beside them does not grow with their number."""

_MAX_THREADS = 4

_Part = TypeVar("_Part")
_Found = TypeVar("_Found")


def side_by_side(work: Callable[[_Part], _Found], parts: Iterable[_Part]) -> list[_Found]:
    """Return what a function finds of each part, in their order; it draws nothing and changes no part.

    >>> side_by_side(abs, [3, -4])
    [3, 4]
    """
    listed = list(parts)
    threads = min(len(listed), _MAX_THREADS, os.cpu_count() or 1)
    if threads < 2:
        return list(map(work, listed))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, listed))


def stretches(length: int) -> list[slice]:
    """Return slices of so many rows, each of ``AT_ONCE`` or fewer.

    >>> stretches(3)
    [slice(0, 3, None)]
    """
    return [slice(start, min(start + AT_ONCE, length)) for start in range(0, length, AT_ONCE)]
