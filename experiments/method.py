"""What a method of the comparison is: a name, the questions it answers, and its answers.

A new mechanism joins every table and figure by being listed in ``experiments/methods.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.problem import Problem, Question
from experiments.yardsticks import Floats

Role = Literal["ours", "paper", "baseline", "yardstick"]
"""Ours; the paper's own, run faithfully; what the paper compares with; not private, to compare with."""

Answering = Callable[[Problem, int, int], Floats]
"""From a problem, a number of runs and a seed to so many independent answers."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to answer some questions.

    Attributes:
        name: As tables print it.
        role: Where it belongs in the comparison.
        questions: What it answers.
        answers: Its answers to a problem, drawn from a seed at share 1.
        note: One sentence on what it is, for the report.
        also: What else it is called on the command line: the library's own names.
    """

    name: str
    role: Role
    questions: tuple[Question, ...]
    answers: Answering
    note: str
    also: tuple[str, ...] = ()


def seeded(problem: Problem, seed: int, name: str) -> np.random.Generator:
    """Return a generator of a method's own, the same for the same problem and seed on every machine."""
    text = f"{name}|{problem.data.name}|{problem.policy}|{problem.question}|{problem.largest}"
    return np.random.default_rng([seed, *text.encode()])
