"""Facts that arrive as JSON, read strictly: a client trusts nobody's campaign."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import TracebackType
from typing import Any, NoReturn, Self

from prdp.declare.exact import exact
from prdp.declare.strict_json import RepeatedName, strict_json
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import MAX_LEVELS

_MAX_TEXT = 200
_MAX_SHOWN = 200
_MAX_CHARACTERS = 1 << 24
_MAX_DIGITS = 400
_MAX_LEVELS = 3 * MAX_LEVELS + 16
"""Maximum depth of nested lists: a CASE takes three of them."""

_MAX_BITS = 650
"""Maximum bits of numerator and denominator together: as many as ``_MAX_TEXT`` characters can hold."""

_HALF = re.compile("[\ud800-\udfff]")


def read_object(text: str | bytes, what: str) -> dict[str, Any]:
    """Return a JSON object, refusing what two readers could read in two ways and what has no bound.

    >>> read_object('{"share": "1", "share": "1/2"}', "campaign")
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: this is no campaign: it says 'share' twice.
    """
    found = None
    if isinstance(text, str | bytes) and len(text) > _MAX_CHARACTERS:
        raise InvalidRequest(f"this is no {what}: it has more than {_MAX_CHARACTERS:,} characters.")
    try:
        found = strict_json(text, _MAX_DIGITS)
    except RepeatedName as error:
        raise InvalidRequest(f"this is no {what}: it says '{shown(error.name)}' twice.") from None
    except RecursionError:
        _too_deep(what)
    except (ValueError, TypeError):
        pass
    if not isinstance(found, dict):
        raise InvalidRequest(f"this is no {what}: it is not a JSON object.")
    _refuse_halves_and_depth(found, what)
    return found


def _too_deep(what: str) -> NoReturn:
    raise InvalidRequest(f"this is no {what}: its lists are nested too deeply.") from None


def _refuse_halves_and_depth(found: dict[str, Any], what: str) -> None:
    """Refuse texts that no UTF-8 can hold, and lists that walking would run out of stack on."""
    level: list[Any] = [found]
    for _ in range(_MAX_LEVELS):
        inside = [part for item in level for part in (item if isinstance(item, list) else _both(item))]
        for text in inside:
            if isinstance(text, str) and _HALF.search(text):
                raise InvalidRequest(f"this is no {what}: the text '{shown(text)}' has half of a character.")
        level = [part for part in inside if isinstance(part, dict | list)]
    if level:
        _too_deep(what)


def _both(item: dict[str, Any]) -> Iterable[Any]:
    return (*item, *item.values())


def shown(text: str) -> str:
    """Return somebody else's text for a message: not too long, and with nothing that a terminal obeys."""
    cut = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in cut)


def whole_text(given: str, what: str) -> str:
    """Return a text, refusing half of a character: no campaign can say it, and no digest be taken of it."""
    if _HALF.search(given):
        raise InvalidRequest(f"{what} '{shown(given)}' has half of a character: write it as UTF-8 can.")
    return given


def sayable(number: Fraction, name: str) -> Fraction:
    """Return a number above 0, refusing one that takes more digits than a campaign has room for."""
    if number <= 0:
        raise InvalidRequest(f"a campaign's {name!r} is more than 0.")
    if number.numerator.bit_length() + number.denominator.bit_length() > _MAX_BITS:
        raise InvalidRequest(f"a campaign's {name!r} takes too many digits: write a simpler number.")
    return number


def column_name(given: object) -> str:
    """Return a column's name, refusing what a campaign could not say."""
    if not isinstance(given, str) or not 0 < len(given) <= _MAX_TEXT:
        raise InvalidRequest(
            f"column={given!r} is not a column's name: write a text of 1 to {_MAX_TEXT} characters."
        )
    return whole_text(given, "the column's name")


def listed(given: object, what: str, example: str) -> tuple[Any, ...]:
    """Return a list's items; a text is not a list of its letters.

    >>> listed([0, 100], "edges", "(0, 100)")
    (0, 100)
    >>> listed("0100", "edges", "(0, 100)")
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: edges='0100' is not a list: write edges=(0, 100).
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidRequest(f"{what}={given!r} is not a list: write {what}={example}.")
    return tuple(given)


class FactReader:
    """Reads each fact once, and refuses what is missing, malformed or left over.

    >>> with FactReader({"limit": "5"}) as read:
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
            unknown = shown(min(map(str, self._left)))
            raise InvalidRequest(f"a campaign says '{unknown}', which is not known here.")

    def take(self, name: str) -> Any:
        """Return a fact of any kind."""
        if name not in self._left:
            raise InvalidRequest(f"a campaign does not say {name!r}.")
        return self._left.pop(name)

    def text(self, name: str) -> str:
        """Return a text."""
        found = self.take(name)
        if not isinstance(found, str) or not 0 < len(found) <= _MAX_TEXT:
            raise InvalidRequest(f"a campaign's {name!r} is a text of 1 to {_MAX_TEXT} characters.")
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
        return sayable(self.fraction(name), name)

    def exact_items(self, name: str) -> list[Fraction]:
        """Return a list of exact numbers, which JSON holds as texts or whole numbers."""
        found = self.items(name)
        if not all(type(item) is int or (isinstance(item, str) and len(item) <= _MAX_TEXT) for item in found):
            raise InvalidRequest(f"a campaign's {name!r} are numbers, each as a text such as '1/10'.")
        return [exact(item, name) for item in found]

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        found = self.take(name)
        if not isinstance(found, list):
            raise InvalidRequest(f"a campaign's {name!r} is a list.")
        return found
