"""Texts of statements: where one ends, what kind it is, and where its parameters are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from prdp.server.planning import MAX_STATEMENT
from prdp.server.wire.failures import WireError

MAX_STATEMENTS = 100
"""Statements of one text; its characters; and the parameters of a statement."""
MAX_PARAMETERS = 1_000
MAX_CHARACTERS = 100_000
_READ_KEPT = 16
"""Statements whose tokens are kept, of all connections: they take a hundred times the text's room."""

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
    |(?P<text>[eE]'(?:[^'\\]|\\.|'')*'|'[^']*(?:''[^']*)*')
    |(?P<name>"[^"]*(?:""[^"]*)*")
    |(?P<body>\$(?P<mark>[A-Za-z_]\w*)?\$.*?\$(?(mark)(?P=mark))\$)
    |(?P<open>/\*.*|[eE]?'.*|".*|\$(?:[A-Za-z_]\w*)?\$.*)
    |(?P<parameter>\$\d{1,6})
    |(?P<word>[^\W\d][\w$]*)
    |(?P<number>\d[\w.]*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class WireToken:
    """A token of a statement: what it is, its text and where it begins."""

    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """The word in small letters; a quoted name without its quotes."""
        return self.text[1:-1].replace('""', '"') if self.kind == "name" else self.text.lower()


def tokens(text: str) -> tuple[WireToken, ...]:
    """Return the tokens of a text, without blanks and comments.

    >>> [(token.kind, token.text) for token in tokens("SELECT $1 -- one")]
    [('word', 'SELECT'), ('parameter', '$1')]
    """
    found = ((match.lastgroup or "", match) for match in _TOKEN.finditer(text))
    return tuple(
        WireToken("body" if kind == "mark" else kind, match[0], match.start())
        for kind, match in found
        if kind != "space"
    )


_kept_tokens = lru_cache(_READ_KEPT)(tokens)


@dataclass(frozen=True)
class SentStatement:
    """One statement.

    Attributes:
        text: Its text.
        offset: Where it begins in the text that was sent.
    """

    text: str
    offset: int = 0

    @property
    def tokens(self) -> tuple[WireToken, ...]:
        """Its tokens."""
        return _kept_tokens(self.text)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its first words, in small letters."""
        return tuple(token.word for token in self.tokens[:6])

    @property
    def verb(self) -> str:
        """Its first word."""
        first = next((token for token in self.tokens if token.text != "("), None)
        return first.word if first is not None and first.kind == "word" else ""

    @cached_property
    def parameters(self) -> int:
        """The largest number of a parameter."""
        numbers = [int(token.text[1:]) for token in self.tokens if token.kind == "parameter"]
        if any(not 0 < number <= MAX_PARAMETERS for number in numbers):
            raise WireError("42P02", f"parameters are $1 to ${MAX_PARAMETERS}.")
        return max(numbers, default=0)

    @cached_property
    def without_schema(self) -> str:
        """The text with blanks in place of ``public.``, so that every place in it stays where it was."""
        text = self.text
        for token, dot in zip(self.tokens, self.tokens[1:], strict=False):
            if token.word == "public" and dot.text == "." and token.kind in ("word", "name"):
                end = dot.start + 1
                text = text[: token.start] + " " * (end - token.start) + text[end:]
        return text


def split(text: str) -> list[SentStatement]:
    """Return the statements of a text.

    >>> [(one.text, one.offset) for one in split("SELECT ';'; ; SHOW x")]
    [("SELECT ';'", 0), (' SHOW x', 13)]
    """
    if len(text) > MAX_CHARACTERS:
        raise WireError.of("too_large")
    found, start = [], 0
    known = tokens(text)
    ends = [token.start for token in known if token.text == ";"] + [len(text)]
    for end in ends:
        if end - start > MAX_STATEMENT:
            raise WireError.of("too_large")
        if any(start <= token.start < end for token in known):
            found.append(SentStatement(text[start:end], start))
        if len(found) > MAX_STATEMENTS:
            raise WireError.of("too_large")
        start = end + 1
    return found


@dataclass(frozen=True, slots=True)
class FilledStatement:
    """A statement whose parameters are constants.

    Attributes:
        text: Its text.
        shifts: Where a constant ends in it, and how much longer than the parameter it is.
    """

    text: str
    shifts: tuple[tuple[int, int], ...] = ()

    def original(self, place: int) -> int:
        """Return where a place of the text was before."""
        return place - sum(longer for end, longer in self.shifts if end <= place)


def filled(statement: SentStatement, literals: Sequence[str]) -> FilledStatement:
    """Put constants in place of a statement's parameters.

    >>> filled(SentStatement("a > $1 AND b = $2"), ["41", "'x'"]).text
    "a > 41 AND b = 'x'"
    """
    text = statement.without_schema
    pieces, at, shifts, length = [], 0, [], 0
    for token in statement.tokens:
        if token.kind == "parameter":
            constant = literals[int(token.text[1:]) - 1]
            pieces += [text[at : token.start], constant]
            length += token.start - at + len(constant)
            shifts.append((length, len(constant) - len(token.text)))
            at = token.start + len(token.text)
    return FilledStatement("".join(pieces) + text[at:], tuple(shifts))
