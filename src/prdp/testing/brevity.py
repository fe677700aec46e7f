"""Contracts that ask less of an engine that takes long for each question, however small its tables are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


class Brevity:
    """A base of contracts.

    Attributes:
        brief: Whether to ask a part of the questions where there are many of a kind.
    """

    brief = False

    def some(self, given: Sequence[_Item], step: int) -> Sequence[_Item]:
        """Return everything; or, to be brief, the last and every so many before it."""
        return given[::-1][::step] if self.brief else given
