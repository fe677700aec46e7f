"""Cut an expression's text into tokens with their places, spell names and numbers, screen for mistakes."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

from prdp.errors import ExpressionError
from prdp.expressions.functions import FUNCTIONS, SPELLED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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


def quoted(name: str, mark: str = '"') -> str:
    """Return a column's name in quotes, whatever is in it.

    >>> print(quoted("net worth"), quoted('12" vinyl'), quoted("net worth", "`"))
    "net worth" "12"" vinyl" `net worth`
    """
    return mark + name.replace(mark, mark + mark) + mark


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
    """Return whether a text can be written in a statement: no NUL, no half of a character.

    >>> is_writable("café"), is_writable(chr(0))
    (True, False)
    """
    return UNWRITABLE.search(text) is None


# A number takes what touches it along, so that 1e, 0x10 or 2nd is one wrong number and not two tokens.
_PIECE = re.compile(
    r"""
    \s+ | --[^\n]* | /\*.*?\*/ | \{\#.*?\#\}
    | (?P<token>
        '(?:[^']|'')*+' | "(?:[^"]|"")*+" | \.?\d(?:[\w.]|(?<=[eE])[+-])* | [^\W\d]\w*
        | [<>=!]= | <> | :: | // | \*\* | \|\|
    )
    | (?P<opened> ['"] | /\* | \{\# )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number, text or sign of the text, as written, and its place."""

    written: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The token in lower case."""
        return self.written.lower()

    @property
    def span(self) -> tuple[int, int]:
        """The place in the text: start and end, the end not included."""
        return self.start, self.end

    @property
    def content(self) -> str:
        """The text without the quotes around it."""
        quote = self.written[0]
        return self.written[1:-1].replace(quote * 2, quote) if quote in "'\"" else self.written

    @property
    def is_name(self) -> bool:
        """True if this is a word or a name in quotes."""
        return self.written[0].isalpha() or self.written[0] in '_"'

    @property
    def is_number(self) -> bool:
        """True if this is a number, or meant as one."""
        return self.written[0].isdigit() or (self.written[0] == "." and len(self.written) > 1)

    @property
    def is_text(self) -> bool:
        """True if this is a text in quotes."""
        return self.written[0] == "'"


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text, without white space and comments.

    Raises:
        ExpressionError: A quote or a comment does not end.
    """
    tokens = []
    for piece in _PIECE.finditer(text):
        if piece["opened"]:
            raise ExpressionError(text, (piece.start(), len(text)), "what begins here does not end")
        if written := piece["token"] or piece["sign"]:
            tokens.append(Token(written, *piece.span()))
    return tokens


MAX_NESTING = 32

_KNOWN_FUNCTIONS = (
    *SPELLED, "cast", "try_cast", "extract", "date_part", "datepart", "left", "right", "mod", "fmod",
)  # fmt: skip
_LISTED = (*(name for name in FUNCTIONS if name in SPELLED), "cast", "extract")

_BEFORE_PARENTHESIS = {
    "and", "or", "not", "in", "between", "like", "ilike", "escape", "from", "for", "when", "then", "else",
    "case",
}  # fmt: skip
_SYMBOLS = {"(", ")", ",", "+", "-", "*", "/", "%", "||", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "]"}
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
    f"{_ONE_RECORD} For the smaller or larger of two values, write least(a, b) or greatest(a, b). Groups are "
    "filtered with HAVING in SQL."
)
_MOMENT_ITSELF = f"{_ONE_RECORD} Write the moment itself, such as DATE '2020-01-31'."
_PLAIN_VALUES = (
    "Write CAST(x AS DOUBLE), AS VARCHAR or AS DATE; what cannot be made is NULL. A date is "
    "written DATE '2020-01-31', a time TIMESTAMP '2020-01-31 10:00:00'."
)
_PLAIN_PATTERNS = (
    "Write x LIKE '%text_%', ILIKE, contains(x, 'text'), starts_with(x, 'text') or ends_with(x, 'text')."
)
_UTC = "Times with a zone are read in UTC, whatever the session's zone. For example: x + INTERVAL '2 hours'."
_STRICT_CASE = (
    "Write CASE WHEN ... THEN ... ELSE ... END. Where a condition is unknown, so is the whole; "
    "x IS NULL is never unknown."
)
_VALUE_ITSELF = ("parameters are not read", "Write the value itself.")

Refusal = tuple[str, str]
"""The reason, and what to write instead."""

_NOT_A_NUMBER: Refusal = ("this is not a number", "For example: 10000, 0.5 or 1e-8.")


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
"""Replacements of functions that other languages have."""

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
_UNREAD = "this sign is not supported in an expression"
_REFUSED_SYMBOLS: dict[str, Refusal] = {
    ";": ("only one expression is read", "Leave out the semicolon and what follows it."),
    "&": (_UNREAD, "Write AND between conditions."),
    "|": (_UNREAD, "Write OR between conditions, and || between texts."),
    "[": (_UNREAD, "A list comes after IN: x IN (1, 2)."),
    "@": (_UNREAD, "Write the value itself: f'x > {limit}'."),
    "~": ("patterns are written as LIKE here", _PLAIN_PATTERNS),
    "//": ("integer division is not read", "Write floor(a / b); a / b is the exact quotient."),
    "^": ("^ means different things in different databases", "Write power(a, b)."),
    "**": ("** means different things in different databases", "Write power(a, b)."),
    "::": ("conversions are written as CAST here", _PLAIN_VALUES),
    "?": _VALUE_ITSELF,
    "$": _VALUE_ITSELF,
    ":": _VALUE_ITSELF,
}


_METHODS = {
    **dict.fromkeys(("isna", "isnull", "is_null"), "{0} IS NULL"),
    **dict.fromkeys(("notna", "notnull", "is_not_null"), "{0} IS NOT NULL"),
    **dict.fromkeys(("fillna", "fill_null"), "coalesce({0}, 0)"),
    **dict.fromkeys(("isin", "is_in"), "{0} IN (1, 2)"),
    **dict.fromkeys(("between", "is_between"), "{0} BETWEEN 1 AND 2"),
    "str": "starts_with({0}, 'text'), contains({0}, 'text'), lower({0}) or length({0})",
    "dt": "year({0}), month({0}) or date_trunc('month', {0}); a - b is in days",
}
"""What SQL has in place of the methods of pandas and Polars, for a column."""


def refuse(text: str, token: Token, reason: str, advice: str = "") -> NoReturn:
    """Raise the refusal of an expression, with one token underlined."""
    raise ExpressionError(text, (token.start, token.end), reason, advice)


def screen(text: str, tokens: Sequence[Token]) -> None:
    """Refuse what can be refused by looking at single tokens and at how deep they nest."""
    if not tokens:
        raise ExpressionError(text, (0, len(text)), "the expression is empty", "For example: 1")
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
    """Return the reason why a word is refused in a place where none is read; None if there is none."""
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
        if before is not None and (before.is_name or before.written == ")"):
            place = Token("", before.start, token.end if after is None else after.end)
            refuse(text, place, *_after_dot(before, after))
        refuse(text, token, *_NOT_A_NUMBER)
    opens_list = sign == "[" and before is not None and before.lower == "in"
    if sign not in _SYMBOLS and not opens_list:
        reason, advice = _REFUSED_SYMBOLS.get(sign, _REFUSED_SYMBOLS.get(sign[0], (_UNREAD, "")))
        refuse(text, token, reason, advice)


def _after_dot(before: Token, after: Token | None) -> Refusal:
    """Return why a name after a dot is refused; methods of pandas by what SQL has in their place."""
    name = after.lower if after is not None else ""
    if name in _METHODS:
        column = before.written if before.is_name else "x"
        return "methods are not read in an expression", f"Write {_METHODS[name].format(column)}."
    if before.is_name:
        return "columns are named without their table", "Write the name alone."
    return _NOT_A_NUMBER


def _screen_nesting(text: str, tokens: Sequence[Token]) -> None:
    """Refuse what nests too deep: parentheses, CASE, and signs or NOT before a value."""
    opened: list[int] = []
    prefixes = levels = 0
    for before, token, _ in _with_neighbours(tokens):
        word = token.lower
        if word in ("(", "[", "case"):
            opened.append(prefixes + 1)
            levels, prefixes = levels + prefixes + 1, 0
        elif word == "not" or (word in "+-" and not (before and _may_end_a_value(before))):
            prefixes += 1
        else:
            prefixes = 0
            if word in (")", "]", "end") and opened:
                levels -= opened.pop()
        if levels + prefixes > MAX_NESTING:
            refuse(text, token, f"this nests more than {MAX_NESTING} levels deep", "Write it flatter.")


def _may_end_a_value(token: Token) -> bool:
    """Return whether a sign after this token may be between two values, and is not a prefix."""
    if token.is_name:
        return token.lower not in _BEFORE_PARENTHESIS
    return token.is_text or token.is_number or token.written in (")", "]")
