"""Run a caller's own mechanism: plain values come out, or that it failed, and nothing else."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prdp.errors import InvalidRequest
from prdp.schema import Schema

Mechanism = Callable[[Any, Fraction, Fraction], object]
"""From (an Arrow table of the kept rows, ε, β) to a value that is ε-DP for adding or removing a row."""

_LONGEST = 10_000_000
_DEEPEST = 100
_MOST_BITS = 1990  # under 600 digits: read back under every limit that Python can be given


@dataclass(frozen=True, slots=True)
class MechanismOutcome:
    """The outcome of a mechanism: plain values, or that it failed, or that somebody interrupted it."""

    value: Any
    failed: bool = False
    interrupted: bool = False


def outcome(mechanism: Mechanism, rows: object, epsilon: Fraction, beta: Fraction) -> MechanismOutcome:
    """Run a mechanism; whatever it raises is an output, of which nothing but that it failed is passed on.

    ``SystemExit`` and ``KeyboardInterrupt`` are no exception: with the charge unanswered their words could be
    read, and the mechanism be run again for nothing.
    """
    try:
        return MechanismOutcome(plain(mechanism(rows, epsilon, beta)))
    except KeyboardInterrupt:
        return MechanismOutcome(None, failed=True, interrupted=True)
    except BaseException:
        return MechanismOutcome(None, failed=True)


def plain(value: object) -> Any:
    """Return a value as every ledger keeps it: what comes back from JSON, and nothing else.

    Raises:
        Exception: The value cannot be kept so.
    """
    text = json.dumps(_plain(value), allow_nan=False)
    if len(text) > _LONGEST:
        raise ValueError("the value is too long to be kept")
    return json.loads(text)


def _plain(value: object, depth: int = 0) -> object:  # noqa: PLR0911  (one return a kind)
    if depth > _DEEPEST:
        raise ValueError("the value is too deep to be kept")
    if hasattr(value, "tolist"):
        value = value.tolist()
    match value:
        case None | bool():
            return value
        case int() if value.bit_length() <= _MOST_BITS:
            return int(value)
        case float():
            return float(value)
        case str():
            return _text(value)
        case Fraction():
            return _plain(int(value)) if value.denominator == 1 else float(value)
        case list() | tuple():
            return [_plain(item, depth + 1) for item in value]
        case Mapping():
            return {_text(str(key)): _plain(item, depth + 1) for key, item in value.items()}
        case _:
            raise TypeError("no plain value")


def _text(value: str) -> str:
    """Return a text without the ways of a subclass; fails where it cannot be written."""
    return str.encode(value).decode()


def refuse_unless_mechanism(mechanism: object, columns: Schema) -> None:
    """Refuse what cannot be called with rows, epsilon and beta, or by its own account not with such columns.

    A mechanism that has an attribute ``ready`` is asked: it raises for columns that it cannot read.
    """
    if not callable(mechanism) or isinstance(mechanism, type) or not _takes_three(mechanism):
        raise InvalidRequest(
            f"release takes a mechanism, a function of (rows, epsilon, beta), and not {mechanism!r}. "
            "prdp.adapters.opendp(make) turns an OpenDP measurement into one."
        )
    ready = getattr(mechanism, "ready", None)
    if callable(ready):
        ready(columns)


def _takes_three(mechanism: Callable[..., object]) -> bool:
    try:
        inspect.signature(mechanism).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:  # some built-in functions do not say what they take
        return True
    return True
