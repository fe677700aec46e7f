"""Tickets, each good for one report a round, and the operator's token; stores hold their hashes alone."""

from __future__ import annotations

import re
from hashlib import sha256
from hmac import compare_digest

from prdp.noise.entropy import Entropy, SystemEntropy

TICKET_BYTES = 16
_OPERATOR_BYTES = 32
_TICKET = re.compile("[0-9a-f]{32}")


def new_tickets(count: int, entropy: Entropy | None = None) -> list[str]:
    """Return fresh tickets, each 32 hexadecimal digits.

    >>> len(new_tickets(3)), len(new_tickets(1)[0])
    (3, 32)
    """
    drawn = (entropy or SystemEntropy()).bytes(count * TICKET_BYTES)
    return [drawn[start : start + TICKET_BYTES].hex() for start in range(0, len(drawn), TICKET_BYTES)]


def new_operator_token(entropy: Entropy | None = None) -> str:
    """Return a fresh token for the operator, 64 hexadecimal digits."""
    return (entropy or SystemEntropy()).bytes(_OPERATOR_BYTES).hex()


def ticket_bytes(text: str) -> bytes | None:
    """Return the bytes of a ticket as it is written; None for what is none.

    >>> ticket_bytes("00" * 16) == bytes(16), ticket_bytes("my ticket") is None
    (True, True)
    """
    return bytes.fromhex(text) if _TICKET.fullmatch(text) else None


def hashed(ticket: bytes) -> bytes:
    """Return what is stored of a ticket.

    A ticket has 128 random bits, so nobody finds it from its hash by trying.
    """
    return sha256(b"prdp ticket" + ticket).digest()


def operator_hash(token: str) -> bytes:
    """Return what is stored of the operator's token."""
    return sha256(b"prdp operator" + token.encode("utf-8", "surrogatepass")).digest()


def is_operator(token: str, stored: bytes) -> bool:
    """Return whether a token is the operator's, in a time that does not depend on how near it is."""
    return compare_digest(operator_hash(token), stored)
