"""Releases of a caller's own mechanism: what it returned, and whose promise its privacy is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prdp.errors import InvalidRequest

Mechanism = Callable[[Any, Fraction, Fraction], object]
"""From (an Arrow table of the kept rows, ε, β) to a value that is ε-DP for adding or removing a row."""

PROMISE = "that the mechanism is differentially private is its caller's promise"


@dataclass(frozen=True, slots=True, repr=False)
class ForeignRelease:
    """What a caller's mechanism returned on the rows that the framework kept.

    Attributes:
        question: What was asked, in words.
        value: What it returned: numbers, texts, truth values, lists and dicts of them; of others, the repr.
        share: The part of every record's budget that was used.
        epsilon: What the mechanism was given to spend.
        choices: What was chosen on the way, in words.
        failed: Whether the mechanism raised an exception, which is then all that it says.
        simulated: Whether the noise of the first stage was seeded.
    """

    question: str
    value: Any
    share: Fraction
    epsilon: Fraction
    choices: tuple[tuple[str, str], ...] = ()
    failed: bool = False
    simulated: bool = False

    method = "framework"
    caveat = PROMISE

    def __str__(self) -> str:
        """Return the answer on one line."""
        value = "the mechanism raised an exception" if self.failed else self.value
        return f"{self.question}: {value} (share {self.share}, framework); {self.caveat}"

    def __repr__(self) -> str:
        return f"ForeignRelease({self})"


def outcome(mechanism: Mechanism, rows: object, epsilon: Fraction, beta: Fraction) -> tuple[Any, bool]:
    """Run a mechanism; return what it returned in plain values, or None, and whether it raised."""
    try:
        return plain(mechanism(rows, epsilon, beta)), False
    except Exception:
        return None, True


def plain(value: object) -> Any:
    """Return a value as JSON can keep it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return int(value) if value.denominator == 1 else float(value)
        case list() | tuple():
            return [plain(item) for item in value]
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case _:
            return repr(value)


def refuse_unless_mechanism(mechanism: object) -> None:
    """Refuse what cannot be called."""
    if not callable(mechanism) or isinstance(mechanism, type):
        raise InvalidRequest(
            f"release takes a mechanism, a function of (rows, epsilon, beta), and not {mechanism!r}. "
            "prdp.adapters.opendp(make) turns an OpenDP measurement into one."
        )
