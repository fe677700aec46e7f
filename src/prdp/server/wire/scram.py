"""SCRAM-SHA-256 (RFC 5802, RFC 7677) on the server's side, with or without channel binding.

Passwords are random tokens, so that iterations protect nothing; they are as many as clients expect.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from dataclasses import dataclass, field
from hashlib import pbkdf2_hmac, sha256
from typing import Self

ITERATIONS = 4096
PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
_BINDING = "tls-server-end-point"
_NONCE = r"[\x21-\x2b\x2d-\x7e]{1,256}"
_FIRST = re.compile(rf"(n|y|p=[A-Za-z0-9.-]{{1,64}}),(?:a=[^,]*)?,(n=[^,]*,r=({_NONCE})(?:,[^,]*)*)")
_FINAL = re.compile(rf"(c=([A-Za-z0-9+/=]+),r=({_NONCE})(?:,[^,]*)*),p=([A-Za-z0-9+/=]+)")


class ScramRefused(Exception):  # noqa: N818  (reads as what it is)
    """A message that is not of the exchange, or does not prove that the client has the password."""


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


@dataclass(frozen=True, slots=True)
class Verifier:
    """What a server keeps of a password: enough to check a proof, and not to make one.

    >>> made = Verifier.of("a random token", bytes(16))
    >>> Verifier.read(made.text) == made, "token" in repr(made)
    (True, False)

    Attributes:
        salt: The salt.
        stored_key: The hash of the key by which a client proves itself.
        server_key: The key by which the server proves itself.
    """

    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    @classmethod
    def of(cls, password: str, salt: bytes) -> Self:
        """Return the verifier of a password."""
        salted = pbkdf2_hmac("sha256", password.encode(), salt, ITERATIONS)
        return cls(salt, sha256(_mac(salted, b"Client Key")).digest(), _mac(salted, b"Server Key"))

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a verifier that was written as ``text``."""
        return cls(*(bytes.fromhex(part) for part in text.split(":")))

    @property
    def text(self) -> str:
        """The verifier as it is stored."""
        return ":".join(part.hex() for part in (self.salt, self.stored_key, self.server_key))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One login, after the client's first message.

    Attributes:
        verifier: The verifier of who wants to log in.
        header: The header about channel binding, as the client sent it.
        client_first: The rest of its first message.
        nonce: The nonces of both sides.
        binding: What the client's last message has to repeat of the connection; empty for nothing.
    """

    verifier: Verifier
    header: bytes
    client_first: str
    nonce: str
    binding: bytes

    @property
    def server_first(self) -> str:
        """The server's first message."""
        salt = base64.b64encode(self.verifier.salt).decode()
        return f"r={self.nonce},s={salt},i={ITERATIONS}"

    def server_final(self, message: bytes) -> bytes:
        """Return the server's last message, or refuse a client's that proves nothing.

        Whatever is wrong, the same is computed.
        """
        found = _FINAL.fullmatch(_text(message))
        if found is None:
            raise ScramRefused
        without_proof, bound, nonce, proof = found.groups()
        signed = f"{self.client_first},{self.server_first},{without_proof}".encode()
        key = _xor(_mac(self.verifier.stored_key, signed), _decoded(proof))
        fits = hmac.compare_digest(sha256(key).digest(), self.verifier.stored_key)
        fits &= hmac.compare_digest(_decoded(bound), self.header + self.binding)
        fits &= hmac.compare_digest(nonce, self.nonce)
        if not fits:
            raise ScramRefused
        return b"v=" + base64.b64encode(_mac(self.verifier.server_key, signed))


def begun(verifier: Verifier, mechanism: str, message: bytes, nonce: str, certificate: bytes) -> Exchange:
    """Return the exchange that a client's first message begins, or refuse it.

    Args:
        verifier: The verifier of who wants to log in.
        mechanism: The mechanism that the client chose.
        message: Its first message.
        nonce: The server's part of the nonce.
        certificate: The hash of the server's certificate, by which clients bind to the connection; empty
            where that is not offered.
    """
    found = _FIRST.fullmatch(_text(message))
    if found is None or mechanism not in (PLAIN, BOUND):
        raise ScramRefused
    flag, rest, theirs = found.groups()
    if mechanism == BOUND and (flag != f"p={_BINDING}" or not certificate):
        raise ScramRefused
    if mechanism == PLAIN and (flag.startswith("p") or (flag == "y" and certificate)):
        raise ScramRefused  # "y": the client could bind, and believes that the server cannot
    header = _text(message)[: -len(rest)].encode()
    return Exchange(verifier, header, rest, theirs + nonce, certificate if mechanism == BOUND else b"")


def _text(message: bytes) -> str:
    try:
        return message.decode("utf-8")
    except UnicodeDecodeError:
        raise ScramRefused from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ScramRefused from None


def _xor(mask: bytes, text: bytes) -> bytes:
    if len(text) != len(mask):
        raise ScramRefused
    return bytes(one ^ other for one, other in zip(mask, text, strict=True))
