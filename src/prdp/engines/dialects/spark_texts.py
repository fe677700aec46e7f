"""Texts and patterns as Spark SQL reads them, whatever the session's settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from sqlglot import exp

from prdp.engines.dialects.translate import form

_PLAIN = re.compile(r"[A-Za-z0-9 _.,;:/()\[\]|~*+?!=<>^%&@#-]*")
_LAST_LETTER = 0x20000

_AS_TEXT = (
    "CASE WHEN x = RINT(x) AND ABS(x) < 1e15D THEN CAST(CAST(x AS BIGINT) AS STRING) "
    "WHEN ABS(x) = CAST('Infinity' AS DOUBLE) THEN CASE WHEN x > 0D THEN 'inf' ELSE '-inf' END "
    "ELSE GET(FILTER(TRANSFORM(SEQUENCE(0, 21), n -> FORMAT_STRING(CONCAT('%.', CAST(n AS STRING), "
    "CASE WHEN ABS(x) >= 1e-4D AND ABS(x) < 1e16D THEN 'f' ELSE 'e' END), x)), "
    "t -> TRY_CAST(t AS DOUBLE) = x), 0) END"
)


def text_of(text: str) -> str:
    """Return a text as SQL: as it is, or its bytes where something in it might be read in two ways.

    A setting decides whether backslashes escape, and another one whether ``${name}`` is replaced.
    """
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode('utf-8', 'surrogatepass').hex().upper()}' AS STRING)"


@cache
def letters(change: Callable[[str], str]) -> tuple[str, str]:
    """Return the letters that a function changes and what each becomes, as two texts in SQL."""
    every = "".join(chr(place) for place in range(_LAST_LETTER) if not 0xD800 <= place < 0xE000)
    changed = [pair for pair in zip(every, change(every), strict=True) if pair[0] != pair[1]]
    return text_of("".join(before for before, _ in changed)), text_of("".join(after for _, after in changed))


def number_text(x: exp.Expression) -> exp.Expression:
    """Return the shortest text that reads back as a double: the first that does of more and more digits.

    Java's own is not the shortest before version 19.
    """
    return form(
        f"GET(TRANSFORM(ARRAY(y), x -> {_AS_TEXT}), 0)",
        "spark",
        y=x,
    )


def by_segments(pattern: str) -> str:
    r"""Return a pattern of a whole text for Java, which must not try again what it has found.

    What stands between two wildcards is found where it comes first, and stays found there: so the time grows
    with the text, and not with a power of it.

    >>> by_segments("(?s)a.*b.c.*d.*e")
    '\\A(?s:a(?>.*?b.c)(?>.*?d).*e)\\z'
    """
    if not pattern.startswith("(?s)"):
        return rf"\A(?:{pattern})\z"
    parts = _split_at_wildcards(pattern.removeprefix("(?s)"))
    first, *rest = parts
    if not rest:
        return rf"\A(?s:{first})\z"
    *middle, last = rest
    return rf"\A(?s:{first}{''.join(f'(?>.*?{part})' for part in middle if part)}.*{last})\z"


def _split_at_wildcards(pattern: str) -> list[str]:
    """Return the parts of a pattern between ``.*``, of which an escaped point is none."""
    parts = [""]
    for piece in re.findall(r"\\.|\.\*|.", pattern, re.DOTALL):
        if piece == ".*":
            parts.append("")
        else:
            parts[-1] += piece
    return parts
