"""Errors as the PostgreSQL protocol has them: a refusal's code gives its SQLSTATE."""

from __future__ import annotations

from typing import Self

from prdp.server.refusals import REFUSALS, RequestRefused

STATES = {
    "malformed": "08P01",
    "not_signed_in": "28000",
    "sign_in": "28P01",
    "purse": "53400",
    "cap": "53400",
    "budget": "53400",
    "role": "42501",
    "scope": "42501",
    "own": "42501",
    "not_found": "42501",
    "plan_is_old": "40001",
    "statement": "42601",
    "invalid": "22023",
    "too_large": "54000",
    "too_many": "53300",
    "too_slow": "57014",
    "failed": "58000",
    "busy": "53300",
}
"""The SQLSTATE of each refusal that a client of the protocol can meet."""


class WireError(Exception):
    """What a client is sent instead of rows.

    Attributes:
        state: Its SQLSTATE.
        message: A sentence.
        hint: What to write instead; empty for nothing.
        position: The place in the statement, from 1 on, in characters; 0 for none.
        fatal: Whether the connection ends.
    """

    def __init__(self, state: str, message: str, hint: str = "", position: int = 0, *, fatal: bool = False):
        super().__init__(message)
        self.state, self.message, self.hint, self.position, self.fatal = state, message, hint, position, fatal

    @classmethod
    def of(cls, code: str, *, fatal: bool = False) -> Self:
        """Return the error of a refusal that says no more than its code."""
        return cls(STATES.get(code, "58000"), REFUSALS[code][1], fatal=fatal)

    @classmethod
    def from_refusal(cls, refused: RequestRefused) -> Self:
        """Return a refusal as an error, with the place in the statement and the advice where it has them."""
        made = cls.of(refused.code)
        made.message = refused.reason or refused.detail or made.message
        made.hint, made.position = refused.advice, refused.place + 1
        return made

    @classmethod
    def detached(cls) -> Self:
        """Return the error of whoever cancelled a wait: their question goes on."""
        return cls("57014", "the wait was cancelled; the question goes on, and is paid for.", "Ask it again.")
