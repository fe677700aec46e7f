"""The methods that take options: ``method=prdp.methods.Partition(beta=0.05)`` in place of ``"partition"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prdp.declare.exact import Exact
from prdp.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Partition:
    """The paper's Algorithm 1, and its extension to sums.

    >>> import numpy
    >>> import prdp
    >>> ages = prdp.open({"age": numpy.array([31, 58])}, policy="1")
    >>> ages.count(share=0.25, method=prdp.methods.Partition(beta=0.05)).method
    'partition'

    Attributes:
        beta: The failure rate: how often the noisy domains may be taken for others; 1/10 if left out.
        graded: Thresholds that make bad failures rarer than mild ones.
    """

    beta: Exact | None = None
    graded: bool | None = None

    name: ClassVar[str] = "partition"


@dataclass(frozen=True, slots=True)
class Framework:
    """The paper's Algorithm 2: find where budgets become numerous, then run an ordinary mechanism there.

    >>> Framework(split=0.5)  # the paper's split
    Framework(beta=None, split=0.5)

    Attributes:
        beta: The failure rate; 1/10 if left out.
        split: The part of the share for the first stage; 1/4 if left out, and 1/2 in the paper.
    """

    beta: Exact | None = None
    split: Exact | None = None

    name: ClassVar[str] = "framework"


Chosen = str | Partition | Framework
"""A method as callers name it: by its name, or with its options."""


def refuse_unless_chosen(method: object) -> None:
    """Refuse what names no method."""
    if method is not None and not isinstance(method, str | Partition | Framework):
        raise InvalidRequest(
            f"method={method!r} is no method. Write its name, such as method='partition', or with options "
            "method=prdp.methods.Partition(beta=0.05)."
        )
