"""A place in the tokens of an expression: what stands there, and refusals that underline it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from prdp.errors import ExpressionError
from prdp.expressions.nodes import Node, Span, too_large
from prdp.expressions.screen import refusal_of
from prdp.expressions.tokens import Token

MISSING = "something is missing here"


def hull(spans: Iterable[Span | None]) -> Span | None:
    """Return the place from the first to the last of several."""
    known = [span for span in spans if span]
    return (min(s for s, _ in known), max(e for _, e in known)) if known else None


class Cursor:
    """Steps through tokens from left to right."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    # What stands where.

    def _sees(self, *words: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at].lower in words

    def _take(self, *words: str) -> Token | None:
        """Return the next token and step over it, if it is one of these words."""
        if not self._sees(*words):
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def _close(self, word: str) -> Token:
        """Step over the word that must come here."""
        if self._at == len(self._tokens):
            self._refuse(self._tokens[-1].span, "what was opened before here is not closed")
        return self._take(word) or self._does_not_fit()

    def _here(self) -> Span:
        """Return the place of the next token, or of the last if none is left."""
        return self._tokens[min(self._at, len(self._tokens) - 1)].span

    # Refusals.

    def _refuse(self, span: Span | None, reason: str, advice: str = "") -> NoReturn:
        raise ExpressionError(self._text, span or (0, len(self._text)), reason, advice)

    def _does_not_fit(self) -> NoReturn:
        if self._at == len(self._tokens):
            self._refuse(self._here(), MISSING)
        before, token = self._tokens[self._at - 1], self._tokens[self._at]
        for word in (token, before):
            if word.is_name and (known := refusal_of(word.lower)):
                self._refuse(word.span, *known)
        if token.is_text and before.is_name:
            self._refuse(self._here(), "conversions are written as CAST here", "Write CAST('text' AS DATE).")
        self._refuse(self._here(), "this does not fit after what stands before it")

    def _small(self, node: Node) -> Node:
        """Return a node, unless it is too large; one that repeats a part of the text may be."""
        if too_large(node):
            self._refuse(node.span, "this says too much, or nests too deep", "Write it shorter.")
        return node
