"""LIKE: a pattern cut into texts and wildcards, and whether a text fits it.

``%`` stands for any characters, ``_`` for one character (one code point), and the character that ESCAPE
names makes the next one stand for itself. Without ESCAPE, no character does.
"""

from __future__ import annotations

from enum import Enum


class Wildcard(Enum):
    """What a pattern may hold beside texts."""

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
