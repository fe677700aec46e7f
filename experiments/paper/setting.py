"""A problem in a few words, so that it can be sent to another process and named in a file."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from experiments.datasets import LARGEST, ZIPF_SCALE, DataSet, find, normal
from experiments.problem import Problem, Question


@dataclass(frozen=True, slots=True)
class Setting:
    """A data set, a policy and a question.

    Attributes:
        data: A name that ``experiments.datasets`` knows, or "Normal" for one of the given size and deviation.
        policy: A name in ``experiments.problem.POLICIES``.
        question: What is asked.
        largest: The public largest value, U.
        factor: What every budget is multiplied by.
        size: How many records a "Normal" has.
        deviation: Its standard deviation; its mean is 50,000.
        scale: What a Zipf set's values are multiplied by.
    """

    data: str
    policy: str = "inverse"
    question: Question = "sum"
    largest: int = LARGEST
    factor: Fraction = Fraction(1)
    size: int = 200_000
    deviation: int = 50_000
    scale: int = ZIPF_SCALE

    @property
    def name(self) -> str:
        """What the data are called, with all that was drawn otherwise than in Table 2."""
        if self.data == "Normal":
            return f"Normal, {self.size:,} records, σ = {self.deviation:,}"
        return self.data if self.scale == ZIPF_SCALE else f"{self.data}, scale {self.scale:,}"

    def problem(self, folder: Path | None) -> Problem:
        """Return the problem itself."""
        data = _data(self.data, self.size, self.deviation, self.scale, folder)
        return _problem(data.name, self, folder)


@lru_cache(maxsize=2)
def _data(name: str, size: int, deviation: int, scale: int, folder: Path | None) -> DataSet:
    if name == "Normal":
        return normal(f"Normal, {size:,} records, σ = {deviation:,}", 50_000, size, deviation=deviation)
    found = find(name, folder, scale)
    if found is None:
        raise FileNotFoundError(f"{name} is not in {folder}")
    return found


@lru_cache(maxsize=2)
def _problem(_: str, setting: Setting, folder: Path | None) -> Problem:
    data = _data(setting.data, setting.size, setting.deviation, setting.scale, folder)
    return Problem(data, setting.policy, setting.question, setting.largest, setting.factor)
