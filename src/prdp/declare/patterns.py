"""Patterns of keys: sets of characters with counts, counted and numbered so that no key is spelled twice."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations, groupby, product

from prdp.errors import InvalidRequest
from prdp.expressions.spelling import is_writable

LARGEST_DOMAIN = 10**300
"""How many keys a class may have."""

_MAX_BLOCKS = 256
MAX_LETTERS = 1000
"""How many characters a text may have."""

_SPECIAL = frozenset(".*+^$()|\\")

Letters = tuple[str, ...]
"""A set of characters, in the order of their code points."""


@dataclass(frozen=True, slots=True)
class Block:
    """Texts of one length, with a set of characters for every position; they are numbered from 0.

    >>> plates = Block((("A", "B"), ("0", "1", "2")))
    >>> plates.size, plates.nth(4), "B1" in plates, "b1" in plates
    (6, 'B1', True, False)
    """

    sets: tuple[Letters, ...]

    @property
    def size(self) -> int:
        """How many texts there are."""
        return math.prod(map(len, self.sets))

    def nth(self, rank: int) -> str:
        """Return the text of a number; the last position changes fastest."""
        letters = []
        for letters_here in reversed(self.sets):
            rank, place = divmod(rank, len(letters_here))
            letters.append(letters_here[place])
        return "".join(reversed(letters))

    def __contains__(self, text: str) -> bool:
        return len(text) == len(self.sets) and all(map(_holds, self.sets, text))


def _holds(letters: Letters, letter: str) -> bool:
    return letter in letters


@dataclass(frozen=True)
class TextClass:
    """Texts of several blocks, none of them in two; a key is the bytes of a text in UTF-8.

    >>> codes = TextClass.of_pattern("[0-9]{2}-?[a-z]")
    >>> codes.size, codes.nth(codes.size - 1), codes.holds(b"12-x"), codes.holds(b"12-x ")
    (5200, b'99-z', True, False)

    Attributes:
        blocks: The blocks. Two of equal length have a position at which no character is in both.
    """

    blocks: tuple[Block, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if self.size > LARGEST_DOMAIN:
            raise InvalidRequest(
                "there are more than 10^300 such keys: take fewer characters, or shorter texts."
            )

    @classmethod
    def of_pattern(cls, pattern: str) -> TextClass:
        """Return the texts of a pattern such as ``[A-Z]{2}[0-9]{3,5}-?x``, or refuse it."""
        items = _items(pattern)
        count = math.prod(most - least + 1 for _, least, most in items)
        if count > _MAX_BLOCKS:
            raise InvalidRequest(
                f"pattern={pattern!r} has {count:,} combinations of counts, and {_MAX_BLOCKS} are the most: "
                "write fixed counts, as in [0-9]{5}."
            )
        blocks = []
        for counts in product(*(range(least, most + 1) for _, least, most in items)):
            chosen = zip(items, counts, strict=True)
            blocks.append(Block(tuple(letters for (letters, _, _), times in chosen for _ in range(times))))
        _refuse_ambiguous(pattern, blocks)
        return cls(tuple(blocks))

    @classmethod
    def of_length(cls, alphabet: Letters, length: int) -> TextClass:
        """Return all texts of so many characters."""
        return cls((Block((alphabet,) * length),))

    @property
    def size(self) -> int:
        """How many keys there are."""
        return sum(block.size for block in self.blocks)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(block.size for block in self.blocks))

    @cached_property
    def _by_length(self) -> dict[int, list[Block]]:
        found: dict[int, list[Block]] = {}
        for block in self.blocks:
            found.setdefault(len(block.sets), []).append(block)
        return found

    def nth(self, rank: int) -> bytes:
        """Return the key of a number from 0 on."""
        place = bisect_right(self._ends, rank)
        return self.blocks[place].nth(rank - self._ends[place] + self.blocks[place].size).encode()

    def holds(self, key: object) -> bool:
        """Say whether bytes are one of the keys; decided by their characters alone."""
        if not isinstance(key, bytes):
            return False
        try:
            text = key.decode()
        except UnicodeDecodeError:
            return False
        return any(text in block for block in self._by_length.get(len(text), ()))


def letters_of(characters: object, what: str) -> Letters:
    """Return a set of characters as it is numbered, or refuse what is none."""
    if not isinstance(characters, str) or not characters:
        raise InvalidRequest(f"{what} lists no characters: write a text of them, such as 'abc0123'.")
    if not is_writable(characters):
        raise InvalidRequest(f"{what} has a character that no text can hold (NUL, or half of one).")
    letters = tuple(sorted(set(characters)))
    if len(letters) < len(characters):
        raise InvalidRequest(f"{what} lists a character twice.")
    return letters


def _items(pattern: object) -> list[tuple[Letters, int, int]]:
    """Return a pattern's sets of characters, each with its least and greatest count."""
    if not isinstance(pattern, str) or not pattern or not is_writable(pattern):
        raise InvalidRequest(f"pattern={pattern!r} is no pattern: write a text such as '[0-9]{{5}}'.")
    items: list[tuple[Letters, int, int]] = []
    place = 0
    while place < len(pattern):
        if pattern[place] == "[":
            letters, place = _set(pattern, place)
        else:
            letter, place = _letter(pattern, place, _SPECIAL | set("{}]?"))
            letters = (letter,)
        least, most, place = _counts(pattern, place)
        items.append((letters, least, most))
    if sum(most for _, _, most in items) > MAX_LETTERS:
        raise InvalidRequest(f"pattern={pattern!r} spells more than {MAX_LETTERS} characters.")
    return items


def _letter(pattern: str, place: int, special: frozenset[str] | set[str]) -> tuple[str, int]:
    """Return one character, which a backslash may stand before, and the place after it."""
    letter = pattern[place]
    if letter == "\\" and place + 1 < len(pattern) and not pattern[place + 1].isalnum():
        return pattern[place + 1], place + 2
    if letter in special:
        raise _refused(pattern, place, f"{letter!r} is not understood here")
    return letter, place + 1


def _set(pattern: str, start: int) -> tuple[Letters, int]:
    """Return the characters of ``[...]``, and the place after it."""
    place, found = start + 1, set[str]()
    while place < len(pattern) and pattern[place] != "]":
        low, place = _letter(pattern, place, {"[", "^"} if place == start + 1 else {"["})
        high = low
        if pattern[place : place + 1] == "-" and pattern[place + 1 : place + 2] not in {"", "]"}:
            high, place = _letter(pattern, place + 1, {"["})
        letters = [chr(code) for code in range(ord(low), ord(high) + 1)]
        if not letters or not found.isdisjoint(letters) or not is_writable("".join(letters)):
            raise _refused(pattern, start, "a range is empty, or a character is listed twice")
        found.update(letters)
    if place >= len(pattern) or not found:
        raise _refused(pattern, start, "the set is empty or not closed")
    return tuple(sorted(found)), place + 1


def _counts(pattern: str, place: int) -> tuple[int, int, int]:
    """Return the least and the greatest count that stand at a place, and the place after them."""
    if pattern[place : place + 1] == "?":
        return 0, 1, place + 1
    if pattern[place : place + 1] != "{":
        return 1, 1, place
    end = pattern.find("}", place)
    parts = pattern[place + 1 : end].split(",") if end > 0 else []
    if len(parts) not in {1, 2} or not all(_is_count(part) for part in parts):
        raise _refused(pattern, place, "counts are written {5} or {2,4}")
    least, most = int(parts[0]), int(parts[-1])
    if not least <= most or most == 0:
        raise _refused(pattern, place, "counts ascend, and are not 0 alone")
    return least, most, end + 1


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(MAX_LETTERS))


def _refused(pattern: str, place: int, why: str) -> InvalidRequest:
    return InvalidRequest(
        f"pattern={pattern!r}: at character {place + 1}, {why}. A pattern is made of characters, sets such "
        "as [A-Z0-9] and counts such as {5}, {2,4} or ?, and of nothing else that regular expressions have."
    )


def _refuse_ambiguous(pattern: str, blocks: Sequence[Block]) -> None:
    """Refuse a pattern that may spell a key in two ways: it would be counted twice."""

    def length(block: Block) -> int:
        return len(block.sets)

    for _, same in groupby(sorted(blocks, key=length), key=length):
        for one, other in combinations(same, 2):
            if not any(map(_disjoint, one.sets, other.sets)):
                raise InvalidRequest(
                    f"pattern={pattern!r} may spell a key in two ways: nothing tells where one part ends and "
                    "the next begins. Write fixed counts, or a sign between the parts that neither has."
                )


def _disjoint(one: Letters, other: Letters) -> bool:
    return set(one).isdisjoint(other)
