"""Sign a publication's manifest with Ed25519."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from prdp.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key that signs publications.

    Attributes:
        begun: Whether its file was begun now.
    """

    begun: bool
    _key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def of(cls, path: Path | str) -> Signer:
        """Return the key in a file; where there is no file, begin one that only its owner reads."""
        path = Path(path)
        if path.exists():
            return cls(False, _private_key(path))
        key = Ed25519PrivateKey.generate()
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(text)
        except OSError as error:
            raise InvalidRequest(f"the key {path.name} cannot be begun: {error.strerror}.") from None
        return cls(True, key)

    def sign(self, content: bytes) -> bytes:
        """Return the signature of a content."""
        return self._key.sign(content)

    @property
    def public(self) -> bytes:
        """The public key, as PEM."""
        return self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _private_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError):
        raise InvalidRequest(f"{path.name} is no private key without a password, as PEM.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidRequest(f"{path.name} is no Ed25519 key.")
    return key


def is_signed(content: bytes, signature: bytes, public: bytes) -> bool:
    """Return whether a signature is that of a content, by whoever has the private key of a public one."""
    try:
        key = load_pem_public_key(public)
        if not isinstance(key, Ed25519PublicKey):
            return False
        key.verify(signature, content)
    except (ValueError, InvalidSignature):
        return False
    return True


def fingerprint(public: bytes) -> str:
    """Return the fingerprint of a public key: the first half of its SHA-256, in groups of four.

    >>> fingerprint(b"-----BEGIN PUBLIC KEY-----")
    '59a5 8325 e887 56ac 23f5 bb45 4ca0 de6a'
    """
    digits = sha256(public).hexdigest()[:32]
    return " ".join(digits[place : place + 4] for place in range(0, len(digits), 4))
