"""The words of somebody's SQL: what is a text, what a name in quotes, what a comment, and what is left.

One reading from left to right tells them apart. Looking for texts first would take what stands between the
apostrophes of two names, ``"one's"`` and ``"other's"``, or of two comments, for a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_START = re.compile(
    r"""(?P<escaped>\b[eE]'(?:[^'\\]|''|\\.)*')|(?P<text>'(?:[^']|'')*')|(?P<name>"(?:[^"]|"")*")"""
    r"""|(?<![\w$])\$(?P<tag>[^\W\d]\w*|)\$(?P<dollars>.*?)\$(?P=tag)\$|(?P<line>--[^\r\n]*)|(?P<comment>/\*)""",
    re.DOTALL,
)
_COMMENT_END = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class SqlWords:
    """SQL taken apart.

    Attributes:
        texts: What its texts say.
        names: Its names in quotes, without the quotes.
        named: The SQL without comments; a text is left as ``''``, one with escapes in it as ``e''``.
        bare: Likewise, and a name in quotes is left as ``""``.
    """

    texts: tuple[str, ...]
    names: tuple[str, ...]
    named: str
    bare: str


def sql_words(sql: str) -> SqlWords:
    r"""Take SQL apart.

    >>> sql_words('''SELECT a AS "one's", random() AS "other's" FROM t -- isn't it''').named
    'SELECT a AS "one\'s", random() AS "other\'s" FROM t  '
    """
    texts, names, named, bare = [], [], [], []
    done = 0
    while found := _START.search(sql, done):
        between = sql[done : found.start()]
        done = found.end()
        kept = left = " "
        match found.lastgroup:
            case "comment":
                done = _after_comment(sql, done)
            case "text":
                texts.append(found[0][1:-1].replace("''", "'"))
                kept = left = "''"
            case "dollars":
                texts.append(found["dollars"])
                kept = left = "''"
            case "escaped":
                kept = left = "e''"
            case "name":
                names.append(found[0][1:-1].replace('""', '"'))
                kept, left = found[0], '""'
        named += [between, kept]
        bare += [between, left]
    rest = sql[done:]
    return SqlWords(tuple(texts), tuple(names), "".join([*named, rest]), "".join([*bare, rest]))


def _after_comment(sql: str, start: int) -> int:
    """Return where a comment ends; comments hold comments."""
    depth = 1
    while depth and (found := _COMMENT_END.search(sql, start)):
        depth += 1 if found[0] == "/*" else -1
        start = found.end()
    return start if depth == 0 else len(sql)
