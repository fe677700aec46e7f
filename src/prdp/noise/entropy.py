"""Random bytes; the only file that touches the operating system's generator."""

from __future__ import annotations

import builtins
import os
from typing import Protocol

_KEY_BYTES = 32
_NONCE_BYTES = 8
_FIRST_BLOCK = builtins.bytes(8)
_DIRECT_BYTES = 1024


class Entropy(Protocol):
    """A source of independent, uniformly distributed bytes."""

    def bytes(self, count: int) -> builtins.bytes:
        """Return ``count`` bytes that no earlier or later call repeats."""
        ...


class SystemEntropy:
    """The operating system's generator, stretched by ChaCha20 when many bytes are asked for.

    The object holds no state: each call takes a fresh key and nonce from ``os.urandom`` and keeps
    neither. So a forked child inherits nothing that could repeat its parent's bytes, and two
    threads have nothing to race for. Small requests go to the system directly, which is quicker
    than setting up a cipher.

    >>> len(SystemEntropy().bytes(5000))
    5000
    """

    __slots__ = ()

    def bytes(self, count: int) -> builtins.bytes:
        """Return ``count`` fresh bytes."""
        if count <= _DIRECT_BYTES:
            return os.urandom(count)
        # Only who asks for much needs the cipher; a client of the local model does not.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms  # noqa: PLC0415

        key, nonce = os.urandom(_KEY_BYTES), os.urandom(_NONCE_BYTES)
        cipher = Cipher(algorithms.ChaCha20(key, _FIRST_BLOCK + nonce), mode=None)
        return cipher.encryptor().update(builtins.bytes(count))
