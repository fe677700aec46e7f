"""An expression's text cut into words, numbers, texts in quotes and signs, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prdp.errors import ExpressionError

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
        """Whether this is a word or a name in quotes."""
        return self.written[0].isalpha() or self.written[0] in '_"'

    @property
    def is_number(self) -> bool:
        """Whether this is a number, or meant as one."""
        return self.written[0].isdigit() or (self.written[0] == "." and len(self.written) > 1)

    @property
    def is_text(self) -> bool:
        """Whether this is a text in quotes."""
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
