"""Make the public costs of characters in src/prdp/declare/key_search.py from a public list of words.

Run ``python -m experiments.text_costs WORDS > costs.py`` with a file of English words, one a line, and put
the result in its place. What is shipped was made from web2, the words of Webster's Second International of
1934, which are in the public domain (the package english-words has them). How words become texts is a guess,
and public: titles, small letters, capitals, numbers. Any costs keep the promise; better ones let rarer keys
be found.
"""

from __future__ import annotations

import math
import random
import sys
import textwrap
from collections import Counter
from pathlib import Path

from prdp.declare.key_search import KINDS, kind_of

LETTERS = "".join(map(chr, range(32, 127)))
TEXTS = 200_000
SEED = 0
SMOOTHING = {"upper": 40, "vowel": 40, "consonant": 40, "digit": 200, "blank": 200, "other": 60}
"""How often each character is counted beyond what was seen, by its own kind, in TEXTS texts."""


def texts(words: list[str]) -> list[str]:
    """Return texts as keys often look: a few words in one of four styles."""
    chance = random.Random(SEED)  # noqa: S311  (no secret is drawn)
    short = [word for word in words if word.isascii() and word.isalpha() and 2 <= len(word) <= 10]
    found = []
    for _ in range(TEXTS):
        phrase = [chance.choice(short).lower() for _ in range(chance.choice((1, 1, 2, 2, 3)))]
        style = chance.choices(("title", "small", "capitals", "number"), (5, 2, 2, 1))[0]
        if style == "title":
            phrase = [word.capitalize() for word in phrase]
        elif style == "capitals":
            phrase = [word.upper() for word in phrase]
        elif style == "number":
            phrase = [phrase[0].capitalize(), str(chance.randrange(10_000))]
        found.append(
            chance.choice((" ", " ", " ", "-", ", ", "/")).join(phrase) if len(phrase) > 1 else phrase[0]
        )
    return found


def costs(sample: list[str]) -> dict[str, list[int]]:
    """Return the cost of each character, and of the end, after each kind, in eighths of a bit rounded up."""
    seen: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for text in sample:
        kind = "start"
        for letter in text:
            seen[kind][letter] += 1
            kind = kind_of(letter)
        seen[kind][""] += 1
    found = {}
    for kind, counted in seen.items():
        smoothed = {letter: counted[letter] + SMOOTHING[kind_of(letter)] for letter in LETTERS}
        smoothed[""] = counted[""] + SMOOTHING["other"]
        total = sum(smoothed.values())
        found[kind] = [math.ceil(8 * math.log2(total / smoothed[letter])) for letter in (*LETTERS, "")]
    return found


def main() -> None:
    words = Path(sys.argv[1]).read_text(encoding="utf-8").split()
    print('"""The public costs of characters, in eighths of a bit; made by experiments/text_costs.py."""\n')
    print("from __future__ import annotations\n")
    print('LETTERS = "".join(map(chr, range(32, 127)))\n"""The printable characters of ASCII."""\n')
    print('END = "end"\n\n_ROWS = {')
    for kind, row in costs(texts(words)).items():
        lines = textwrap.wrap(" ".join(map(str, row)), 98)
        print(f'    "{kind}": """', *(f"        {line}" for line in lines), '    """,', sep="\n")
    print("}\n\nCOSTS = {kind: tuple(map(int, row.split())) for kind, row in _ROWS.items()}")
    print('"""After each kind of character: the cost of every character, and of the end."""')


if __name__ == "__main__":
    main()
