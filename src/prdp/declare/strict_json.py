"""JSON that is read strictly: one meaning, whoever reads it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from prdp.declare.exact import whole_of


class RepeatedName(ValueError):  # noqa: N818  (reads as what it is)
    """An object has a name twice."""

    def __init__(self, name: str) -> None:
        super().__init__("a name appears twice")
        self.name = name


def strict_json(text: str | bytes, most_digits: int | None = None) -> Any:
    """Read JSON in which every name appears once, and numbers are finite.

    >>> strict_json('{"steps": 10}')
    {'steps': 10}

    Args:
        text: The JSON.
        most_digits: How many digits a whole number may have; None for any number of them.

    Raises:
        ValueError: The text is something else.
    """

    def whole(digits: str) -> int:
        if most_digits is not None and len(digits) > most_digits:
            raise ValueError("a whole number of too many digits")
        return whole_of(digits)

    return json.loads(text, object_pairs_hook=_once, parse_int=whole, parse_constant=_refused)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise RepeatedName(name)
        found[name] = value
    return found


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")
