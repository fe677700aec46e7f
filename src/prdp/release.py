"""The answer with its honest label: what it is, how sure, and at what price."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from fractions import Fraction

from prdp.errors import InvalidRequest
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.quartic import spread as quartic_spread
from prdp.noise.spread import spread


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A private answer; everything in it may be published.

    Attributes:
        question: What was asked, in words.
        steps: The answer, as a whole number of steps.
        step: What one step is worth.
        noise_scales: The scales of the independent discrete Laplace noises in it, in steps.
        share: The part of every record's budget that it used.
        method: Which mechanism answered.
        caveat: What the interval, which is that of the noise, does not cover; empty if that is all.
        choices: What the mechanism chose on the way, in words.
        simulated: Whether the noise was seeded: such an answer protects nobody.
        ends: For a value that was chosen from a range instead of hidden by noise, the range.
        noise: ``"laplace"``; or ``"quartic"``, whose scale is private and at most what ``noise_scales`` says.
    """

    question: str
    steps: int
    step: Fraction
    noise_scales: tuple[Fraction, ...]
    share: Fraction
    method: str
    caveat: str
    choices: tuple[tuple[str, str], ...] = ()
    simulated: bool = False
    ends: tuple[Fraction, Fraction] | None = None
    noise: str = "laplace"

    @property
    def exact(self) -> Fraction:
        """The answer as an exact fraction."""
        return self.steps * self.step

    @property
    def value(self) -> int | float:
        """The answer: an int where its lattice is whole, else the nearest float."""
        exact = self.exact
        return int(exact) if self.step.denominator == 1 else float(exact)

    def interval(self, level: float | Fraction | str = 0.95) -> tuple[float, float]:
        """Return the ends between which the answer without noise lies with this probability.

        Records that were clipped or dropped are outside of what it covers: see ``caveat``. For a value that
        was chosen from a range it is the range, whatever the probability.
        """
        chance = _chance(level)
        if self.ends is not None:
            return _number(self.ends[0]), _number(self.ends[1])
        if self.noise == "quartic":
            reach = sum(quartic_spread(scale, chance) for scale in self.noise_scales) * self.step
        else:
            reach = spread([DiscreteLaplace(scale) for scale in self.noise_scales], chance) * self.step
        return _number(self.exact - reach), _number(self.exact + reach)

    def __str__(self) -> str:
        """Return the answer on one line."""
        value, reach, kind = self._shown()
        caveat = f"; {self.caveat}" if self.caveat else ""
        mark = " [simulated: not private]" if self.simulated else ""
        label = f"{kind}; share {self.share}, {self.method}"
        return f"{self.question}: {value} {reach} ({label}){caveat}{mark}"

    def __repr__(self) -> str:
        return f"Release({self})"

    def _shown(self) -> tuple[str, str, str]:
        """Return the value, how sure it is, and what that means; with digits that make sense together."""
        low, high = self.interval()
        digits = _digits(high - low)
        value = f"{self.value:,.{digits}f}"
        if self.ends is not None:
            return value, f"in {low:,.{digits}f} to {high:,.{digits}f}", "the range that was chosen"
        return value, f"± {(high - low) / 2:,.{digits}f}", "95 % of the noise"

    def _repr_html_(self) -> str:
        value, reach, kind = self._shown()
        rows = [
            (self.question, value),
            (kind, reach),
            ("share", str(self.share)),
            ("method", self.method),
            *self.choices,
        ]
        if self.caveat:
            rows.append(("not in that", self.caveat))
        if self.simulated:
            rows.append(("simulated", "seeded noise: this answer protects nobody"))
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in rows
        )
        return f"<table>{cells}</table>"


def _chance(level: float | Fraction | str) -> Fraction:
    try:
        chance = Fraction(str(level)) if isinstance(level, float) else Fraction(level)
    except (ValueError, ZeroDivisionError, TypeError):
        chance = Fraction(-1)
    if not 0 < chance < 1:
        raise InvalidRequest(
            f"interval({level!r}) is not a probability: give a number between 0 and 1, such as 0.95."
        )
    return chance


def _number(exact: Fraction) -> float:
    return int(exact) if exact.denominator == 1 else float(exact)


def _digits(width: float) -> int:
    """Return how many decimals are worth showing beside an interval of this width."""
    if width <= 0:
        return 0
    return max(0, min(6, 2 - math.floor(math.log10(width)))) if width < 100 else 0
