"""Compute each operation on texts: what evaluation reads, and engines are held to.

A text is a sequence of code points. Nothing here raises, or gives a text much longer than it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prdp.expressions.case_mapping import lower, upper
from prdp.expressions.functions import TextFunction, TextTest
from prdp.expressions.patterns import fits, pieces_of
from prdp.expressions.strict import is_whole

SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""What is cut off unless other characters are named: Unicode's space separators; no tabs or ends of lines."""

MAX_BYTES = 1 << 24
"""How long a text may be that is put together, in bytes of UTF-8; a longer one is unknown."""

FARTHEST = 2**31 - 1
"""Where counting of characters ends: no text has more."""


def substring(text: str, start: float, length: float | None = None) -> str | None:
    """Return the characters from a place on, the first being 1; a negative place counts from the end.

    Places that are no whole numbers and negative lengths give unknown. Places without a character are passed
    over.

    >>> substring("record", 3), substring("record", 2, 3), substring("record", -2), substring("record", 0, 2)
    ('cord', 'eco', 'rd', 'r')
    >>> substring("record", -8, 4), substring("record", 1.5), substring("record", 2, -1)
    ('re', None, None)
    """
    if not is_whole(start) or (length is not None and not (is_whole(length) and length >= 0)):
        return None
    place = _within_reach(start)
    first = place - 1 if place >= 0 else len(text) + place
    last = len(text) if length is None else first + _within_reach(length)
    return text[max(first, 0) : max(last, 0)]


def _within_reach(place: float) -> int:
    return int(max(-FARTHEST, min(FARTHEST, place)))


def joined(*texts: str) -> str | None:
    """Return texts one after the other; unknown if that is too long."""
    if sum(_bytes(text) for text in texts) > MAX_BYTES:
        return None
    return "".join(texts)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def like(text: str, pattern: str, escape: str = "") -> bool | None:
    """Return whether a text fits a pattern; unknown for a pattern that is none."""
    pieces = pieces_of(pattern, escape)
    return None if pieces is None else fits(text, pieces)


def ilike(text: str, pattern: str, escape: str = "") -> bool | None:
    """Return whether a text in small letters fits a pattern in small letters."""
    pieces = pieces_of(pattern, escape)
    if pieces is None:
        return None
    return fits(lower(text), tuple(lower(piece) if isinstance(piece, str) else piece for piece in pieces))


TEXT_MEANING: dict[TextFunction | TextTest, Callable[..., Any]] = {
    "lower": lower,
    "upper": upper,
    "trim": lambda text, cut=SPACES: text.strip(cut) if cut else text,
    "ltrim": lambda text, cut=SPACES: text.lstrip(cut) if cut else text,
    "rtrim": lambda text, cut=SPACES: text.rstrip(cut) if cut else text,
    "substring": substring,
    "concat": joined,
    "length": lambda text: float(len(text)),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": str.__contains__,
    "like": like,
    "ilike": ilike,
}
