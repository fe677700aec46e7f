"""Releases of a caller's own mechanism: what it returned, and whose promise its privacy is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

PROMISE = "that the mechanism is differentially private is its caller's promise"


@dataclass(frozen=True, slots=True, repr=False)
class CustomRelease:
    """The result of a caller's mechanism on the rows that the framework kept.

    >>> print(CustomRelease("median of age", 41, Fraction(1, 4), Fraction(1, 8)))  # doctest: +ELLIPSIS
    median of age: 41 (share 1/4, framework); ... is its caller's promise

    Attributes:
        question: What was asked, in words.
        value: What it returned: numbers, texts, truth values, None, lists and dicts of them.
        share: The part of every record's budget that was used.
        epsilon: What the mechanism was given to spend.
        choices: What was chosen on the way, in words.
        failed: Whether the mechanism raised an exception, or returned something else; that is all it says.
        simulated: Whether the records were a synthetic table's: such an answer protects nobody.
        left_out: Which records it is not about, in words; empty where that is nobody.
    """

    question: str
    value: Any
    share: Fraction
    epsilon: Fraction
    choices: tuple[tuple[str, str], ...] = ()
    failed: bool = False
    simulated: bool = False
    left_out: str = ""

    method = "framework"
    caveat = PROMISE

    def __str__(self) -> str:
        """Return the answer on one line."""
        value = "the mechanism failed: it raised, or returned no plain value" if self.failed else self.value
        mark = " [simulated: not private]" if self.simulated else ""
        notes = "; ".join(filter(None, (self.left_out, self.caveat)))
        return f"{self.question}: {value} (share {self.share}, framework); {notes}{mark}"

    def __repr__(self) -> str:
        return f"CustomRelease({self})"
