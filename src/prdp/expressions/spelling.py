"""Write names, texts, numbers and moments in SQL; what is written reads back the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(?:(:\d\d)(?:\.(\d{1,6}))?)?)?", re.ASCII)
UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_RESERVED_WORDS = """
    all alter analyse analyze and any array as asc asymmetric between both call case cast check
    collate column connect_by_root constraint create cross current_catalog current_date
    current_time current_timestamp current_user date default deferrable desc describe distinct
    do drop else end except execute exists explain false fetch for force foreign from glob grant
    group having if ilike in initially inner insert install intersect interval into is isnull
    join lambda lateral leading like limit localtime localtimestamp map not notnull null offset
    on only optimize or order outer over partitioned_by pivot pivot_longer pivot_wider placing
    positional prepare primary qualify references regexp rename reset returning revoke rlike
    rollback select session_user show some summarize symmetric table tablesample then timestamp
    to trailing true uncache union unique unpivot using vacuum values variadic when where window
    with xor
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())
"""Words that SQL may take for something else than a name."""


def quoted(name: str) -> str:
    """Return a column's name in quotes, whatever is in it.

    >>> print(quoted("net worth"), quoted('12" vinyl'))
    "net worth" "12"" vinyl"
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Return a text in quotes, whatever is in it.

    >>> print(text_literal("chef"), text_literal("O'Neill"))
    'chef' 'O''Neill'
    """
    return "'" + text.replace("'", "''") + "'"


def number_text(value: float) -> str:
    """Return the shortest decimal that reads back as the same double.

    >>> number_text(10000.0), number_text(1e-8), number_text(1e22)
    ('10000', '1e-08', '1e+22')
    """
    return repr(value).removesuffix(".0")


OUT_OF_RANGE = "this number is outside the range of a double"


def double_from(written: str) -> float | None:
    """Return the double nearest to a decimal; None where it is too large, or too small for any but zero.

    >>> double_from("0.5"), double_from("1e999"), double_from("1e-999"), double_from("0e9")
    (0.5, None, None, 0.0)
    """
    value = float(written)
    vanished = value == 0 and re.search("[1-9]", written.lower().split("e")[0])
    return None if math.isinf(value) or vanished else value


def shown_name(name: str) -> str:
    """Return a column's name, in quotes only where it needs them.

    >>> print(shown_name("balance"), shown_name("net worth"), shown_name("order"))
    balance "net worth" "order"
    """
    plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _RESERVED
    return name if plain else quoted(name)


def listed(names: Iterable[str]) -> str:
    """Return names as one text, different for different lists; in quotes only what a list could confuse.

    >>> listed(["a", "b"]), listed(["a, b"])
    ('a, b', '"a, b"')
    """
    return ", ".join(quoted(name) if "," in name or '"' in name else name for name in names)


def moment_literal(value: datetime) -> str:
    """Return a moment as a date if it is midnight, else as a time.

    >>> print(moment_literal(datetime(2026, 1, 31)), moment_literal(datetime(2026, 1, 31, 10)))
    DATE '2026-01-31' TIMESTAMP '2026-01-31 10:00:00'
    """
    if value.time() == value.min.time():
        return f"DATE '{value.date().isoformat()}'"
    return f"TIMESTAMP '{value.isoformat(sep=' ')}'"


HOW_TO_WRITE_MOMENTS = "Write DATE '2020-01-31' or TIMESTAMP '2020-01-31 10:00:00', without a zone."


def moment_from(text: str) -> datetime | None:
    """Return the date or time that a text says in ISO form without a zone, if it does.

    >>> moment_from("2020-01-31 10:00:00.5"), moment_from("31.1.2020")
    (datetime.datetime(2020, 1, 31, 10, 0, 0, 500000), None)
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    day, minute, second, fraction = found.groups()
    try:
        return datetime.fromisoformat(f"{day}T{minute or '00:00'}{second or ':00'}.{fraction or '0':0<6}")
    except ValueError:
        return None


def is_writable(text: str) -> bool:
    """Return whether a text can stand in a statement: no NUL, no half of a character.

    >>> is_writable("café"), is_writable(chr(0))
    (True, False)
    """
    return UNWRITABLE.search(text) is None
