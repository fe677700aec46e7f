"""What an analyst may say after the last round, with its honest label."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from prdp.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Part:
    """One number of an answer that has several."""

    label: str
    value: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """An answer of the local model; everything in it may be published.

    Attributes:
        question: What was asked, in words.
        value: The answer; for a table of counts, their sum.
        deviation: The standard deviation of the noise in it, or a little more.
        clients: How many reports each round had.
        share: The part of every record's budget that all rounds together used.
        method: How it was found.
        choices: What was chosen on the way, in words.
        parts: The numbers of an answer that has several.
        simulated: Whether it was made from records that somebody could see: such an answer protects nobody.
    """

    question: str
    value: float
    deviation: float
    clients: int
    share: Fraction
    method: str
    choices: tuple[tuple[str, str], ...] = ()
    parts: tuple[Part, ...] = ()
    simulated: bool = False

    @property
    def caveat(self) -> str:
        """What the interval does not cover."""
        return (
            "The interval is that of the noise. Clients whose budgets are too small to be heard among all "
            "the noise are left out or cut, which pulls counts and sums toward zero."
        )

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends between which the answer without noise lies with about this probability."""
        if not 0 <= level < 1:
            raise InvalidRequest(f"level={level!r} is not a probability below 1, such as 0.95.")
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.deviation
        return self.value - reach, self.value + reach

    def __str__(self) -> str:
        low, high = self.interval()
        mark = "; simulated" if self.simulated else ""
        return (
            f"{self.question}: {_shown(self.value)} ± {_shown((high - low) / 2)} (95 % of the noise; "
            f"{self.clients:,} clients, share {self.share}, {self.method}{mark})"
        )


def _shown(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
