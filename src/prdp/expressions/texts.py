"""Compute each operation on texts: what evaluation reads, and engines are held to.

A text is a sequence of code points. Nothing here raises, or gives a text much longer than it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from prdp.expressions.functions import TextFunction, TextTest, is_whole

_LOWER = """
    41-5a:1:+32 c0-d6:1:+32 d8-de:1:+32 100-12e:2:+1 130:-199 132-136:2:+1 139-147:2:+1 14a-176:2:+1
    178:-121 179-17d:2:+1 181:+210 182-184:2:+1 186:+206 187:+1 189-18a:1:+205 18b:+1 18e:+79 18f:+202
    190:+203 191:+1 193:+205 194:+207 196:+211 197:+209 198:+1 19c:+211 19d:+213 19f:+214 1a0-1a4:2:+1
    1a6:+218 1a7:+1 1a9:+218 1ac:+1 1ae:+218 1af:+1 1b1-1b2:1:+217 1b3-1b5:2:+1 1b7:+219 1b8:+1 1bc:+1
    1c4:+2 1c5:+1 1c7:+2 1c8:+1 1ca:+2 1cb-1db:2:+1 1de-1ee:2:+1 1f1:+2 1f2-1f4:2:+1 1f6:-97 1f7:-56
    1f8-21e:2:+1 220:-130 222-232:2:+1 23a:+10795 23b:+1 23d:-163 23e:+10792 241:+1 243:-195 244:+69 245:+71
    246-24e:2:+1 370-372:2:+1 376:+1 37f:+116 386:+38 388-38a:1:+37 38c:+64 38e-38f:1:+63 391-3a1:1:+32
    3a3-3ab:1:+32 3cf:+8 3d8-3ee:2:+1 3f4:-60 3f7:+1 3f9:-7 3fa:+1 3fd-3ff:1:-130 400-40f:1:+80
    410-42f:1:+32 460-480:2:+1 48a-4be:2:+1 4c0:+15 4c1-4cd:2:+1 4d0-52e:2:+1 531-556:1:+48
    10a0-10c5:1:+7264 10c7:+7264 10cd:+7264 13a0-13ef:1:+38864 13f0-13f5:1:+8 1c90-1cba:1:-3008
    1cbd-1cbf:1:-3008 1e00-1e94:2:+1 1e9e:-7615 1ea0-1efe:2:+1 1f08-1f0f:1:-8 1f18-1f1d:1:-8 1f28-1f2f:1:-8
    1f38-1f3f:1:-8 1f48-1f4d:1:-8 1f59-1f5f:2:-8 1f68-1f6f:1:-8 1f88-1f8f:1:-8 1f98-1f9f:1:-8 1fa8-1faf:1:-8
    1fb8-1fb9:1:-8 1fba-1fbb:1:-74 1fbc:-9 1fc8-1fcb:1:-86 1fcc:-9 1fd8-1fd9:1:-8 1fda-1fdb:1:-100
    1fe8-1fe9:1:-8 1fea-1feb:1:-112 1fec:-7 1ff8-1ff9:1:-128 1ffa-1ffb:1:-126 1ffc:-9 2126:-7517 212a:-8383
    212b:-8262 2132:+28 2160-216f:1:+16 2183:+1 24b6-24cf:1:+26 2c00-2c2f:1:+48 2c60:+1 2c62:-10743
    2c63:-3814 2c64:-10727 2c67-2c6b:2:+1 2c6d:-10780 2c6e:-10749 2c6f:-10783 2c70:-10782 2c72:+1 2c75:+1
    2c7e-2c7f:1:-10815 2c80-2ce2:2:+1 2ceb-2ced:2:+1 2cf2:+1 a640-a66c:2:+1 a680-a69a:2:+1 a722-a72e:2:+1
    a732-a76e:2:+1 a779-a77b:2:+1 a77d:-35332 a77e-a786:2:+1 a78b:+1 a78d:-42280 a790-a792:2:+1
    a796-a7a8:2:+1 a7aa:-42308 a7ab:-42319 a7ac:-42315 a7ad:-42305 a7ae:-42308 a7b0:-42258 a7b1:-42282
    a7b2:-42261 a7b3:+928 a7b4-a7c2:2:+1 a7c4:-48 a7c5:-42307 a7c6:-35384 a7c7-a7c9:2:+1 a7d0:+1
    a7d6-a7d8:2:+1 a7f5:+1 ff21-ff3a:1:+32 10400-10427:1:+40 104b0-104d3:1:+40 10570-10594:2:+39
    10571-1057a:1:+39 1057d-1058a:1:+39 1058d-10592:1:+39 10595:+39 10c80-10cb2:1:+64 118a0-118bf:1:+32
    16e40-16e5f:1:+32 1e900-1e921:1:+34
"""
"""Capitals and how far away their small letters are: first, last (both hexadecimal), step and distance."""

_ONLY_LOWER = "130 1c5 1c8 1cb 1f2 3f4 2126 212a 212b"
"""Capitals whose small letter has another capital."""

_ONLY_UPPER = """
    b5>39c 131>49 17f>53 1c5>1c4 1c8>1c7 1cb>1ca 1f2>1f1 345>399 3c2>3a3 3d0>392 3d1>398 3d5>3a6 3d6>3a0
    3f0>39a 3f1>3a1 3f5>395 1c80>412 1c81>414 1c82>41e 1c83>421 1c84>422 1c85>422 1c86>42a 1c87>462
    1c88>a64a 1e9b>1e60 1fbe>399
"""
"""Small letters that are no capital's own, and their capitals."""


def _table() -> dict[int, int]:
    table = {}
    for written in _LOWER.split():
        places, *step, distance = written.split(":")
        first, _, last = places.partition("-")
        for place in range(int(first, 16), int(last or first, 16) + 1, int(*step or ["1"])):
            table[place] = place + int(distance)
    return table


SMALL_LETTERS = _table()
"""The small letter of each capital that has one, by code points."""

CAPITALS = {
    **{
        small: capital
        for capital, small in SMALL_LETTERS.items()
        if f"{capital:x}" not in _ONLY_LOWER.split()
    },
    **{
        int(small, 16): int(capital, 16)
        for small, _, capital in (w.partition(">") for w in _ONLY_UPPER.split())
    },
}
"""The capital of each small letter that has one, by code points."""


def lower(text: str) -> str:
    """Return a text in small letters.

    >>> lower("ÉTUDE"), lower("İ"), lower("ΟΔΟΣ")  # no dot of its own, and no final sigma
    ('étude', 'i', 'οδοσ')
    """
    return text.translate(SMALL_LETTERS)


def upper(text: str) -> str:
    """Return a text in capitals.

    >>> upper("straße"), upper("ﬁ"), upper("ς")  # ligatures have no capital
    ('STRAẞE', 'ﬁ', 'Σ')
    """
    return text.translate(CAPITALS)


class Wildcard(Enum):
    """Wildcards of a pattern."""

    ANY = "%"
    ONE = "_"


Piece = str | Wildcard
"""A text without wildcards, or one of them."""


def pieces_of(pattern: str, escape: str = "") -> tuple[Piece, ...] | None:
    r"""Return the pieces of a pattern; None if it ends in its escape character.

    >>> pieces_of("a%b_") == ("a", Wildcard.ANY, "b", Wildcard.ONE)
    True
    >>> pieces_of("100!%!", "!") is None, pieces_of("100!%", "!"), pieces_of("\\%")[0]
    (True, ('100%',), '\\')
    """
    pieces: list[Piece] = []
    escaped = False
    for character in pattern:
        if character == escape and not escaped:
            escaped = True
            continue
        if not escaped and character in "%_":
            if character == "_" or pieces[-1:] != [Wildcard.ANY]:
                pieces.append(Wildcard(character))
        elif pieces and isinstance(pieces[-1], str):
            pieces[-1] += character
        else:
            pieces.append(character)
        escaped = False
    return None if escaped else tuple(pieces)


def fits(text: str, pieces: tuple[Piece, ...]) -> bool:
    """Return whether a text fits a pattern, in time of at most their lengths' product.

    >>> fits("manager", pieces_of("%nag__")), fits("a", pieces_of("__"))
    (True, False)
    """
    steps: list[str | Wildcard] = []
    for piece in pieces:
        steps.extend(piece if isinstance(piece, str) else (piece,))
    at = step = 0
    last_any, resume = -1, 0
    while at < len(text):
        wanted = steps[step] if step < len(steps) else None
        if wanted is Wildcard.ANY:
            last_any, resume = step, at
            step += 1
        elif wanted is Wildcard.ONE or wanted == text[at]:
            at, step = at + 1, step + 1
        elif last_any >= 0:  # the last % takes one more character
            resume += 1
            at, step = resume, last_any + 1
        else:
            return False
    return all(left is Wildcard.ANY for left in steps[step:])


SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""Characters that TRIM removes by default: Unicode's space separators; no tabs or ends of lines."""

MAX_BYTES = 1 << 24
"""Maximum length of a concatenated text, in bytes of UTF-8; a longer one is unknown."""

FARTHEST = 2**31 - 1
"""Last place of a character: no text has more."""


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
