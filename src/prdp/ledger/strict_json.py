"""The JSON of a ledger's texts, read so that it says one thing only."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from prdp.declare.exact import whole_of


def strict_json(text: str) -> Any:
    """Read what a ledger wrote: every name once, finite numbers alone, whole numbers of any length.

    >>> strict_json('{"steps": 10}')
    {'steps': 10}

    Raises:
        ValueError: The text is something else.
    """
    return json.loads(text, object_pairs_hook=_once, parse_int=whole_of, parse_constant=_refused)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")
