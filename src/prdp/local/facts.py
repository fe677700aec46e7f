"""Facts that arrive as JSON, read strictly: a client trusts nobody's campaign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import TracebackType
from typing import Any, Self

from prdp.errors import InvalidRequest
from prdp.exact import exact

_MOST_TEXT = 200


def column_name(given: object) -> str:
    """Return a column's name, refusing what a campaign could not say."""
    if not isinstance(given, str) or not 0 < len(given) <= _MOST_TEXT:
        raise InvalidRequest(
            f"column={given!r} is no column's name: write a text of 1 to {_MOST_TEXT} characters."
        )
    return given


def listed(given: object, what: str, example: str) -> tuple[Any, ...]:
    """Return a list's items; a text is not a list of its letters."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidRequest(f"{what}={given!r} is not a list: write {what}={example}.")
    return tuple(given)


class Reader:
    """Reads each fact once, and refuses what is missing, malformed or left over.

    >>> with Reader({"limit": "5"}) as read:
    ...     read.positive("limit")
    Fraction(5, 1)
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._left = dict(facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._left:
            raise InvalidRequest(f"a campaign says {min(map(str, self._left))!r}, which is not known here.")

    def take(self, name: str) -> Any:
        """Return a fact of any kind."""
        if name not in self._left:
            raise InvalidRequest(f"a campaign does not say {name!r}.")
        return self._left.pop(name)

    def text(self, name: str) -> str:
        """Return a text."""
        found = self.take(name)
        if not isinstance(found, str) or not 0 < len(found) <= _MOST_TEXT:
            raise InvalidRequest(f"a campaign's {name!r} is a text of 1 to {_MOST_TEXT} characters.")
        return found

    def word(self, name: str, known: Sequence[str]) -> Any:
        """Return one of some known words."""
        found = self.take(name)
        if found not in known:
            raise InvalidRequest(f"a campaign's {name!r} is one of {', '.join(known)}.")
        return found

    def whole(self, name: str) -> int:
        """Return a whole number."""
        found = self.take(name)
        if type(found) is not int or abs(found) > 10**40:
            raise InvalidRequest(f"a campaign's {name!r} is a whole number.")
        return found

    def fraction(self, name: str) -> Fraction:
        """Return an exact number, which JSON holds as text."""
        return exact(self.text(name), name)

    def positive(self, name: str) -> Fraction:
        """Return an exact number above 0."""
        found = self.fraction(name)
        if found <= 0:
            raise InvalidRequest(f"a campaign's {name!r} is more than 0.")
        return found

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        found = self.take(name)
        if not isinstance(found, list):
            raise InvalidRequest(f"a campaign's {name!r} is a list.")
        return found
