"""The first look at an expression's text: word by word, before anything is parsed.

What is refused here has a reason that one word gives away, so the message can name it. Nesting is
bounded here too, so that whoever reads the words need not fear for the stack.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NoReturn

from prdp.errors import ExpressionError
from prdp.expressions.functions import FUNCTIONS, SPELLED
from prdp.expressions.tokens import Token

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_NESTING = 32

_KNOWN_FUNCTIONS = (
    *SPELLED, "cast", "try_cast", "extract", "date_part", "datepart", "left", "right", "mod", "fmod",
)  # fmt: skip
_LISTED = (*(name for name in FUNCTIONS if name in SPELLED), "cast", "extract")

_BEFORE_PARENTHESIS = {
    "and", "or", "not", "in", "between", "like", "ilike", "escape", "from", "for", "when", "then", "else",
    "case",
}  # fmt: skip
_SYMBOLS = {"(", ")", ",", "+", "-", "*", "/", "%", "||", "=", "==", "<>", "!=", "<", "<=", ">", ">="}
_WORD = re.compile(r"[^\W\d]\w*")
_DIGITS = r"\d(?:_?\d)*"
_NUMBER = re.compile(rf"(?:{_DIGITS}\.?|{_DIGITS}\.{_DIGITS}|\.{_DIGITS})(?:[eE][+-]?\d+)?", re.ASCII)

_AGGREGATES = """
    any_value approx_count_distinct approx_quantile arg_max arg_min array_agg avg bool_and bool_or
    count count_if first last list max mean median min mode quantile stddev stddev_pop stddev_samp
    string_agg sum var_pop var_samp variance
"""
_CLOCKS = """
    age current_date current_time current_timestamp get_current_timestamp localtime localtimestamp
    now today transaction_timestamp
"""
_RANDOM = "gen_random_uuid hash nextval rand random setseed uuid"
_SUBQUERIES = "all any exists select some unnest values with"
_WINDOWS = "filter lag lead over rank row_number within"
_CONVERSIONS = "date datetime strptime timestamp to_timestamp todate to_date to_char format printf tonumber"
_CHOICES = "decode if iff nvl2 choose"
_PATTERNS = """
    glob regexp regexp_extract regexp_full_match regexp_like regexp_matches regexp_replace rlike similar
"""
_ZONES = "at at_time_zone timestamptz timezone"
_NEVER_NAMES = """
    current_date current_time current_timestamp exists if localtime localtimestamp over select
"""

_ONE_RECORD = "A policy or a filter is a function of one record alone."
_LEAST_OR_GREATEST = (
    f"{_ONE_RECORD} For the smaller or larger of two values, write least(a, b) or greatest(a, b)."
)
_MOMENT_ITSELF = f"{_ONE_RECORD} Write the moment itself, such as DATE '2020-01-31'."
_PLAIN_VALUES = (
    "Write CAST(x AS DOUBLE), AS VARCHAR or AS DATE; what cannot be made is NULL. A date is "
    "written DATE '2020-01-31', a time TIMESTAMP '2020-01-31 10:00:00'."
)
_PLAIN_PATTERNS = (
    "Write x LIKE '%text_%', ILIKE, contains(x, 'text'), starts_with(x, 'text') or ends_with(x, 'text')."
)
_UTC = "Times with a zone are read in UTC, whatever the session's zone. Write such as x + INTERVAL '2 hours'."
_STRICT_CASE = (
    "Write CASE WHEN ... THEN ... ELSE ... END. Where a condition is unknown, so is the whole; "
    "x IS NULL is never unknown."
)
_VALUE_ITSELF = ("parameters are not read", "Write the value itself.")

Refusal = tuple[str, str]
"""The reason, and what to write instead."""

_NOT_A_NUMBER: Refusal = ("this is not a number", "Write such as 10000, 0.5 or 1e-8.")


def _all(words: str, reason: str, advice: str) -> dict[str, Refusal]:
    return dict.fromkeys(words.split(), (reason, advice))


_INSTEAD = {
    "concat": "Write a || b, which is NULL where a or b is; coalesce(a, '') || b where it is not to be.",
    "concat_ws": "Write a || ', ' || b.",
    "nvl": "Write coalesce(a, b).",
    "trunc": "Write CASE WHEN x < 0 THEN ceil(x) ELSE floor(x) END; of a date, date_trunc('day', d).",
    "truncate": "Write CASE WHEN x < 0 THEN ceil(x) ELSE floor(x) END.",
    "position": "Write contains(x, 'text').",
    "strpos": "Write contains(x, 'text').",
    "instr": "Write contains(x, 'text').",
    "replace": "Write substring(x, start, length) and a || b.",
    "initcap": "Write lower(x) or upper(x).",
    "casefold": "Write lower(x).",
    "reverse": "Write ends_with(x, 'text') or substring(x, -3).",
    "split_part": "Write x LIKE 'first part %', or substring(x, start, length).",
    "octet_length": "Write length(x), which counts characters.",
    "strlen": "Write length(x), which counts characters.",
    "date_sub": "Write date_diff('day', a, b), or d - INTERVAL '1 day'.",
    "date_add": "Write d + INTERVAL '1 day'.",
    "dateadd": "Write d + INTERVAL '1 day'.",
    "datesub": "Write date_diff('day', a, b), or d - INTERVAL '1 day'.",
    "strftime": "Write year(d), month(d), date_trunc('month', d) or CAST(d AS VARCHAR).",
    "date_format": "Write year(d), month(d), date_trunc('month', d) or CAST(d AS VARCHAR).",
    "monthname": "Write month(d), from 1 to 12.",
    "dayname": "Write isodow(d), from 1 for Monday to 7.",
    "epoch": "Write date_diff('second', TIMESTAMP '1970-01-01 00:00:00', d).",
    "last_day": "Write date_trunc('month', d) + INTERVAL '1 month' - INTERVAL '1 day'.",
    "isnull": "Write x IS NULL.",
    "isnan": "Write x IS NULL: NaN is NULL here.",
    "isfinite": "Write abs(x) < 1e308.",
    "cbrt": "Write power(x, 1 / 3), for x from 0 on.",
    "exp2": "Write power(2, x).",
    "sin": "Angles are not computed.",
    "cos": "Angles are not computed.",
    "tan": "Angles are not computed.",
}
"""What is written in place of functions that other languages have."""

_REFUSED_WORDS: dict[str, Refusal] = {
    **_all(_AGGREGATES, "an aggregate looks at many records", _LEAST_OR_GREATEST),
    **_all(_CLOCKS, "the time of asking is not part of the record", _MOMENT_ITSELF),
    **_all(_RANDOM, "a random value cannot be checked or repeated", _ONE_RECORD),
    **_all(_SUBQUERIES, "a subquery looks at other records", _ONE_RECORD),
    **_all(_WINDOWS, "a window or a filtered aggregate looks at other records", _ONE_RECORD),
    **_all(_CONVERSIONS, "conversions are written as CAST here", _PLAIN_VALUES),
    **_all(_CHOICES, "choices are written as CASE here", _STRICT_CASE),
    **_all(_PATTERNS, "patterns are written as LIKE here", _PLAIN_PATTERNS),
    **_all(_ZONES, "time zones are not read", _UTC),
    **_all(
        "both leading trailing",
        "trim is written with commas here",
        "Write trim(x, 'characters'), ltrim or rtrim.",
    ),
    **{word: (f"there is no function {word} here", advice) for word, advice in _INSTEAD.items()},
    "collate": (
        "texts are compared by code point",
        "Write lower(a) = lower(b) where capitals do not matter.",
    ),
    "log": ("databases disagree about the base of log", "Write ln(x), log2(x) or log10(x)."),
}
_REFUSED_ANYWHERE = frozenset(_NEVER_NAMES.split())
_UNREAD = "this sign is not read in an expression"
_REFUSED_SYMBOLS: dict[str, Refusal] = {
    ";": ("only one expression is read", "Leave out the semicolon and what follows it."),
    "&": (_UNREAD, "Write AND between conditions."),
    "|": (_UNREAD, "Write OR between conditions, and || between texts."),
    "~": ("patterns are written as LIKE here", _PLAIN_PATTERNS),
    "//": ("integer division is not read", "Write floor(a / b); a / b is the exact quotient."),
    "^": ("^ means different things in different databases", "Write power(a, b)."),
    "**": ("** means different things in different databases", "Write power(a, b)."),
    "::": ("conversions are written as CAST here", _PLAIN_VALUES),
    "?": _VALUE_ITSELF,
    "$": _VALUE_ITSELF,
    ":": _VALUE_ITSELF,
}


def refuse(text: str, token: Token, reason: str, advice: str = "") -> NoReturn:
    """Raise the refusal of an expression, with one token underlined."""
    raise ExpressionError(text, (token.start, token.end), reason, advice)


def screen(text: str, tokens: Sequence[Token]) -> None:
    """Refuse what can be refused by looking at single tokens and at how deep they nest."""
    if not tokens:
        raise ExpressionError(text, (0, len(text)), "the expression is empty", "Write such as: 1")
    _screen_gaps(text, tokens)
    for before, token, after in _with_neighbours(tokens):
        first = token.written[0]
        if token.is_number:
            _screen_number(text, token)
        elif first.isalpha() or first == "_":
            _screen_word(text, token, before, after)
        elif first == '"':
            if after is not None and after.written == "(":
                refuse(text, token, "this is not a function", _functions_advice(token.lower))
        elif not token.is_text:
            _screen_symbol(text, token, before, after)
    _screen_nesting(text, tokens)


def _with_neighbours(
    tokens: Sequence[Token],
) -> Iterator[tuple[Token | None, Token, Token | None]]:
    return zip((None, *tokens[:-1]), tokens, (*tokens[1:], None), strict=True)


def _screen_gaps(text: str, tokens: Sequence[Token]) -> None:
    """Refuse anything between tokens but white space: comments, whatever their style."""
    ends = [0, *(token.end for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    for start, end in zip(ends, starts, strict=True):
        gap = text[start:end]
        inside = gap.strip()
        if inside:
            left = start + gap.index(inside)
            place = Token(inside, left, left + len(inside))
            refuse(text, place, "comments are not read", "Leave it out.")


def _screen_number(text: str, token: Token) -> None:
    if not _NUMBER.fullmatch(token.written):
        refuse(text, token, *_NOT_A_NUMBER)


def _screen_word(text: str, token: Token, before: Token | None, after: Token | None) -> None:
    word = token.lower
    if not _WORD.fullmatch(token.written):
        refuse(text, token, "this is not part of the language of policies and filters")
    if word in _REFUSED_ANYWHERE:
        _refuse_word(text, token)
    is_type = before is not None and before.lower == "as"
    calls = after is not None and after.written == "(" and not is_type
    if calls and word not in _KNOWN_FUNCTIONS and word not in _BEFORE_PARENTHESIS:
        _refuse_word(text, token)


def refusal_of(word: str) -> Refusal | None:
    """Return why a word is refused that stands where none is read; None if there is nothing to say."""
    return _REFUSED_WORDS.get(word)


def _refuse_word(text: str, token: Token) -> NoReturn:
    unknown = (f"there is no function {token.written} here", _functions_advice(token.lower))
    refuse(text, token, *_REFUSED_WORDS.get(token.lower, unknown))


def _functions_advice(word: str) -> str:
    close = difflib.get_close_matches(word.strip('"'), _KNOWN_FUNCTIONS, n=1)
    known = f"The functions are {', '.join(_LISTED)}."
    return f"Did you mean {close[0]}? {known}" if close else known


def _screen_symbol(text: str, token: Token, before: Token | None, after: Token | None) -> None:
    sign = token.written
    if sign == ".":
        if before is not None and before.is_name:
            place = Token("", before.start, token.end if after is None else after.end)
            refuse(text, place, "columns are named without their table", "Write the name alone.")
        refuse(text, token, *_NOT_A_NUMBER)
    if sign not in _SYMBOLS:
        reason, advice = _REFUSED_SYMBOLS.get(sign, _REFUSED_SYMBOLS.get(sign[0], (_UNREAD, "")))
        refuse(text, token, reason, advice)


def _screen_nesting(text: str, tokens: Sequence[Token]) -> None:
    """Refuse what nests too deep: parentheses, CASE, and signs or NOT before a value."""
    opened: list[int] = []
    prefixes = levels = 0
    for before, token, _ in _with_neighbours(tokens):
        word = token.lower
        if word in ("(", "case"):
            opened.append(prefixes + 1)
            levels, prefixes = levels + prefixes + 1, 0
        elif word == "not" or (word in "+-" and not (before and _may_end_a_value(before))):
            prefixes += 1
        else:
            prefixes = 0
            if word in (")", "end") and opened:
                levels -= opened.pop()
        if levels + prefixes > MAX_NESTING:
            refuse(text, token, f"this nests more than {MAX_NESTING} levels deep", "Write it flatter.")


def _may_end_a_value(token: Token) -> bool:
    """Return whether a sign after this token may stand between two values, and is not a prefix."""
    if token.is_name:
        return token.lower not in _BEFORE_PARENTHESIS
    return token.is_text or token.is_number or token.written == ")"
