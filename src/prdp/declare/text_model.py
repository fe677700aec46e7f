"""Texts weighted by how likely their characters are after one another, by public costs in eighths of a bit.

A text of cost t has the weight 2^-⌈t/8⌉. Costs are those of a prefix code, so that the weights of all texts
add up to 1 at most; the texts of one weight are a class, counted and numbered without listing them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

LETTERS = "".join(map(chr, range(32, 127)))
"""The printable characters of ASCII."""

END = "end"

_ROWS = {
    "start": """
        81 94 94 94 94 94 94 94 94 94 94 94 94 94 94 94 81 81 81 81 81 81 81 81 81 81 94 94 94 94 94 94 94
        33 36 32 39 42 42 42 42 45 57 53 43 37 46 43 32 64 39 29 36 37 51 47 77 65 64 94 94 94 94 94 94 50
        52 48 54 57 58 58 58 61 72 69 59 53 62 59 48 80 55 45 52 53 66 63 88 81 78 94 94 94 94 94
    """,
    "upper": """
        45 110 110 110 110 110 110 110 110 110 110 110 58 58 110 58 96 96 96 96 96 96 96 96 96 96 110 110
        110 110 110 110 110 33 54 44 45 30 60 50 48 33 85 58 38 47 36 36 49 82 35 40 37 43 61 62 71 48 69
        110 110 110 110 110 110 38 75 62 73 39 83 80 53 44 102 82 52 65 45 40 60 83 45 66 60 45 69 76 73
        59 92 110 110 110 110 35
    """,
    "vowel": """
        44 110 110 110 110 110 110 110 110 110 110 110 56 56 110 56 96 96 96 96 96 96 96 96 96 96 110 110
        110 110 110 110 110 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115
        115 115 115 115 115 115 115 110 110 110 110 110 110 39 45 34 35 44 52 44 65 46 79 53 30 37 24 45
        42 78 25 29 30 46 51 54 59 59 57 110 110 110 110 35
    """,
    "consonant": """
        37 114 114 114 114 114 114 114 114 114 114 114 50 50 114 50 100 100 100 100 100 100 100 100 100
        100 114 114 114 114 114 114 114 119 119 119 119 119 119 119 119 119 119 119 119 119 119 119 119
        119 119 119 119 119 119 119 119 119 119 114 114 114 114 114 114 27 55 48 48 22 58 47 40 25 82 54
        38 49 52 29 50 84 42 44 36 40 69 62 95 40 78 114 114 114 114 29
    """,
    "digit": """
        70 84 84 84 84 84 84 84 84 84 84 84 84 84 84 84 31 31 31 31 31 31 31 31 31 31 84 84 84 84 84 84 84
        89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 84 84 84 84 84 84 89
        89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 84 84 84 84 17
    """,
    "blank": """
        74 88 88 88 88 88 88 88 88 88 88 88 88 88 88 88 74 50 49 49 50 49 49 49 49 50 88 88 88 88 88 88 88
        36 38 34 41 44 44 44 44 47 58 54 46 39 49 45 34 67 41 31 38 39 53 49 77 68 67 88 88 88 88 88 88 50
        52 49 55 58 58 58 58 61 72 66 59 53 62 59 48 78 56 45 52 53 66 63 84 78 77 88 88 88 88 88
    """,
    "other": """
        14 85 85 85 85 85 85 85 85 85 85 85 85 85 85 85 71 52 53 53 53 53 53 53 53 53 85 85 85 85 85 85 85
        40 43 39 45 49 49 49 48 52 62 59 50 44 54 50 38 69 46 35 43 43 57 53 79 71 71 85 85 85 85 85 85 54
        57 54 59 63 64 64 63 66 74 71 64 58 67 64 53 82 60 50 57 57 71 66 85 80 79 85 85 85 85 85
    """,
}

COSTS = {kind: tuple(map(int, row.split())) for kind, row in _ROWS.items()}
"""After each kind of character: the cost of every character, and of the end."""


VERSION = 1
"""Of the costs: a ledger keeps it, since other costs are another question."""

MAX_BITS = 256
"""Texts that cost more are not looked for: they would need some 180 over the share."""

_PER_BIT = 8
KINDS = ("start", "upper", "vowel", "consonant", "digit", "blank", "other")
"""What a character may follow: nothing, or a character of a kind."""


def kind_of(letter: str) -> str:
    """Return what the costs of the next character depend on.

    >>> [kind_of(letter) for letter in ("A", "a", "b", "7", " ", "-")]
    ['upper', 'vowel', 'consonant', 'digit', 'blank', 'other']
    """
    if letter.isdigit():
        return "digit"
    if letter == " ":
        return "blank"
    if not letter.isalpha():
        return "other"
    return "upper" if letter.isupper() else "vowel" if letter in "aeiou" else "consonant"


_KIND = {letter: kind_of(letter) for letter in LETTERS}
_COST = {kind: dict(zip((*LETTERS, END), COSTS[kind], strict=True)) for kind in KINDS}


@lru_cache(maxsize=1)  # all classes are asked of one key in turn; keys of records are not to stay
def bits_of(key: bytes) -> int | None:
    """Return what a text costs in whole bits, rounded up; None for one that no class has.

    >>> bits_of(b"Nurse") < bits_of(b"nUrSe") < bits_of(b"n]r~e"), bits_of("Köchin".encode())
    (True, None)
    """
    try:
        text = key.decode("ascii")
    except UnicodeDecodeError:
        return None
    cost, kind = 0, "start"
    for letter in text:
        if letter not in _KIND:
            return None
        cost += _COST[kind][letter]
        kind = _KIND[letter]
    bits = -(-(cost + _COST[kind][END]) // _PER_BIT)
    return bits if bits <= MAX_BITS else None


@lru_cache(maxsize=1)
def _endings() -> dict[str, list[int]]:
    """Return, for what a text may go on after, how many endings there are of each cost."""
    counts: dict[str, list[int]] = {kind: [] for kind in KINDS}
    steps: dict[str, dict[tuple[str, int], int]] = {kind: {} for kind in KINDS}
    for kind in KINDS:
        for letter in LETTERS:
            step = (_KIND[letter], _COST[kind][letter])
            steps[kind][step] = steps[kind].get(step, 0) + 1
    for cost in range(MAX_BITS * _PER_BIT + 1):
        for kind in KINDS:
            longer = sum(
                times * counts[after][cost - spent]
                for (after, spent), times in steps[kind].items()
                if spent <= cost
            )
            counts[kind].append(longer + (cost == _COST[kind][END]))
    return counts


@dataclass(frozen=True, slots=True)
class LikelyTexts:
    """All texts that cost so many bits, rounded up to a multiple of a step.

    >>> likely = LikelyTexts(20)
    >>> likely.holds(likely.nth(likely.size - 1)), likely.holds(b"")
    (True, False)
    """

    bits: int
    step: int = 1

    @property
    def size(self) -> int:
        """How many keys there are."""
        return sum(self._of_cost())

    @property
    def weight(self) -> Fraction:
        """The weight of all of them together."""
        return Fraction(self.size, 1 << self.bits)

    def nth(self, rank: int) -> bytes:
        """Return the key of a number: by its exact cost, and then letter by letter."""
        ends = list(accumulate(self._of_cost()))
        place = bisect_right(ends, rank)
        rank -= ends[place - 1] if place else 0
        cost, kind, text, counts = self._first + place, "start", "", _endings()
        while True:
            if cost == _COST[kind][END]:
                if rank == 0:
                    return text.encode()
                rank -= 1
            for letter in LETTERS:
                left = cost - _COST[kind][letter]
                number = counts[_KIND[letter]][left] if left >= 0 else 0
                if rank < number:
                    break
                rank -= number
            cost, kind, text = left, _KIND[letter], text + letter

    def holds(self, key: object) -> bool:
        """Say whether bytes are one of the keys."""
        bits = bits_of(key) if isinstance(key, bytes) else None
        return bits is not None and self.bits - self.step < bits <= self.bits

    @property
    def _first(self) -> int:
        return _PER_BIT * (self.bits - self.step) + 1

    def _of_cost(self) -> list[int]:
        return _endings()["start"][self._first : self._first + _PER_BIT * self.step]


def likely_classes(step: int = 1) -> list[tuple[LikelyTexts, Fraction]]:
    """Return all classes that have a text, with weights that add up to 1."""
    every = [LikelyTexts(bits, step) for bits in range(step, MAX_BITS + 1, step)]
    total = sum((one.weight for one in every), start=Fraction(0))
    return [(one, one.weight / total) for one in every if one.size]
