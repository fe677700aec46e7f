"""Pieces of row language that are written for parts of a statement, and where each part stood."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, ATOM = range(8)
"""How tightly an operation binds, from the loosest to the tightest."""

Place = tuple[int, int, tuple[int, int]]
"""Start and end in what was written, and the span in the statement."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text of the row language.

    Attributes:
        text: The text.
        binds: How tightly its outermost operation binds.
        places: Which parts of it stand for which spans of the statement.
    """

    text: str
    binds: int = ATOM
    places: tuple[Place, ...] = ()

    def within(self, tightest: int) -> Written:
        """Return it, in parentheses if it binds less tightly than its place asks."""
        return self if self.binds >= tightest else joined(["(", self, ")"])

    def placed(self, span: tuple[int, int]) -> Written:
        """Return it with the span that all of it stands for."""
        return replace(self, places=(*self.places, (0, len(self.text), span)))

    def span_at(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the narrowest known span that holds a part of the text; None where none does."""
        around = [place for place in self.places if place[0] <= start and end <= place[1]]
        return min(around, key=lambda place: place[1] - place[0])[2] if around else None


def joined(pieces: Iterable[str | Written], binds: int = ATOM) -> Written:
    """Return pieces one after the other, their places moved along.

    >>> joined(["(", Written("a + b", SUM), ")"]).text
    '(a + b)'
    """
    texts: list[str] = []
    places: list[Place] = []
    at = 0
    for piece in pieces:
        text = piece if isinstance(piece, str) else piece.text
        if isinstance(piece, Written):
            places += [(start + at, end + at, span) for start, end, span in piece.places]
        texts.append(text)
        at += len(text)
    return Written("".join(texts), binds, tuple(places))


def listed(pieces: Iterable[Written], between: str = ", ") -> list[str | Written]:
    """Return pieces with a text between each two."""
    found: list[str | Written] = []
    for piece in pieces:
        found += [between, piece] if found else [piece]
    return found
