"""The keys of a table of answers as plain columns, which every kind of frame can hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from typing import Any

from prdp.declare.groups import Bin, KeyValue, Others
from prdp.release.frame_columns import numbers_of


def key_columns(name: str, keys: Sequence[KeyValue]) -> list[tuple[str, list[Any]]]:
    """Return a column of keys as plain columns: ends of bins, days, or values; None for all others."""
    listed: list[Any] = [key for key in keys if not isinstance(key, Others)]

    def placed(values: Sequence[Any]) -> list[Any]:
        each = iter(values)
        return [None if isinstance(key, Others) else next(each) for key in keys]

    if listed and all(isinstance(key, Bin) for key in listed):
        low, high = (numbers_of([getattr(key, end) for key in listed]) for end in ("low", "high"))
        return [(f"{name}_from", placed(low)), (f"{name}_to", placed(high))]
    if listed and all(is_day(key) for key in listed):
        return [(name, placed([key.date() for key in listed]))]
    return [(name, placed(listed))]


def is_day(value: KeyValue) -> bool:
    """Say whether a key is a day."""
    return isinstance(value, datetime) and value.time() == time()
