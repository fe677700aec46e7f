"""Make up records for a declared table: a law for one column, public keys and bounds for the others."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.declare.computed import rounding_of
from prdp.errors import InvalidRequest
from prdp.projects.project import Facts
from prdp.schema import ColumnType, Kind

_SEED = 2026
_MAX = 50_000_000
_ROWS = 100_000
_LARGEST = 2**62  # of made-up whole numbers
_MAX_LOGARITHM = 700  # e^700 is near the largest number there is
_WRITTEN = re.compile(r"(?:(?P<column>[^=:]+)=)?(?P<law>[a-z]+):(?P<numbers>[^:]+)")

_LAWS: Mapping[str, tuple[int, Callable[..., NDArray[Any]]]] = {
    "normal": (2, lambda random, n, mean, spread: random.normal(mean, spread, n)),
    "lognormal": (2, lambda random, n, mean, spread: random.lognormal(mean, spread, n)),
    "uniform": (2, lambda random, n, low, high: random.uniform(low, high, n)),
    "exponential": (1, lambda random, n, mean: random.exponential(mean, n)),
    "pareto": (2, lambda random, n, shape, least: least * (1 + random.pareto(shape, n))),
}


def is_law(text: str) -> bool:
    """Say whether a text names a law, such as ``normal:50000,50000``, and not a file.

    A law that there is not is one too, unless a file is called so: what it should be is then told.
    """
    return _WRITTEN.fullmatch(text) is not None and not Path(text).exists()


def made_up(text: str, facts: Facts, bounds: Mapping[str, tuple[Any, Any]]) -> dict[str, NDArray[Any]]:
    """Return made-up records of a table, the same ones every time.

    Columns with public keys hold them evenly, other bounded numbers lie evenly within their bounds.

    Args:
        text: ``[COLUMN=]LAW:NUMBERS[,n=ROWS]``, such as ``normal:50000,50000,n=200000``.
        facts: The table's columns, policy and keys.
        bounds: Its public bounds.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None or found["law"] not in _LAWS:
        near = get_close_matches(found["law"] if found else text, _LAWS, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise InvalidRequest(
            f"{text!r} is neither a file nor a law.{meant} Write normal:50000,50000,n=200000, or one of "
            f"{', '.join(_LAWS)}."
        )
    numbers, rows = _numbers(text, found["numbers"])
    needed, draw = _LAWS[found["law"]]
    if len(numbers) != needed:
        raise InvalidRequest(f"{text!r}: {found['law']} takes {needed} numbers.")
    if found["law"] == "lognormal" and numbers[0] + 4 * numbers[1] > _MAX_LOGARITHM:
        raise InvalidRequest(
            f"{text!r}: lognormal takes the mean and the spread of the logarithm. For a median of "
            "200,000 write lognormal:12.2,0.9."
        )
    column = found["column"] or _only(facts, bounds)
    if column not in facts.schema:
        raise InvalidRequest(f"{text!r}: there is no column {column}.")
    random = np.random.default_rng(_SEED)
    made = {column: draw(random, rows, *numbers)}
    if facts.schema[column].integer:
        made[column] = np.rint(made[column]).astype(np.int64)
    for name, kind in facts.schema.items():
        if name not in made:
            made[name] = _filled(random, rows, kind, facts.keys.get(name), bounds.get(name))
    return made


def roundings_of(facts: Facts) -> dict[str, str]:
    """Return the rounding steps that the types of columns say, which made-up doubles do not have.

    >>> from prdp.policy import Policy
    >>> from prdp.schema import ColumnType
    >>> cents = {"price": ColumnType(Kind.NUMBER, native="DECIMAL(15,2)"), "x": ColumnType(Kind.NUMBER)}
    >>> roundings_of(Facts(cents, Policy("1"), {}, {}, {}))
    {'price': '1/100'}
    """
    found = {
        name: rounding_of(name, facts.schema, facts.round_to)
        for name, kind in facts.schema.items()
        if kind.kind is Kind.NUMBER and not kind.integer
    }
    return {name: str(round_to) for name, round_to in found.items() if round_to is not None}


def _numbers(text: str, written: str) -> tuple[list[float], int]:
    parts = written.split(",")
    try:
        rows = [int(float(part.removeprefix("n="))) for part in parts if part.startswith("n=")]
        numbers = [float(part) for part in parts if not part.startswith("n=")]
    except ValueError:
        raise InvalidRequest(f"{text!r} holds what is no number.") from None
    count = rows[0] if rows else _ROWS
    if not 1 <= count <= _MAX:
        raise InvalidRequest(f"{text!r}: n= is 1 to {_MAX:,}.")
    return numbers, count


def _only(facts: Facts, bounds: Mapping[str, Any]) -> str:
    """Return the column that a law is for where none is named: the policy's, or the only bounded one."""
    read = [name for name in facts.schema if name in facts.policy.columns]
    known = read if len(read) == 1 else [name for name in facts.schema if name in bounds]
    if len(known) != 1:
        raise InvalidRequest("say which column the law is for: --like balance=normal:50000,50000")
    return known[0]


def _filled(random: Any, rows: int, column: ColumnType, keys: Any, bounds: Any) -> NDArray[Any]:
    if isinstance(keys, list) and keys:
        return np.asarray(np.asarray(keys)[random.integers(0, len(keys), rows)])
    kind = column.kind
    if column.integer:
        low, high = (math.ceil(bounds[0]), math.floor(bounds[1])) if bounds is not None else (0, 1)
        least, most = max(low, -_LARGEST), min(high, _LARGEST)
        return np.asarray(random.integers(least, max(least, most), rows, endpoint=True))
    if kind is Kind.NUMBER:
        low, high = (float(end) for end in bounds) if bounds is not None else (0.0, 1.0)
        return np.asarray(random.uniform(low, high, rows))
    if kind is Kind.BOOLEAN:
        return np.asarray(random.integers(0, 2, rows).astype(bool))
    if kind is Kind.MOMENT:
        days = random.integers(0, 365, rows).astype("timedelta64[D]")
        return np.asarray(np.datetime64("2026-01-01", "us") + days)
    return np.full(rows, "x")
