"""Bytes that repeat: the same seed gives the same noise."""

from __future__ import annotations

import builtins
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

_FROM_THE_START = builtins.bytes(16)


class Seeded:
    """The only seeded source of entropy, for experiments and tests.

    Whoever knows the seed knows the noise, so nothing drawn from it protects anybody: what it
    touches is marked ``simulated``. The bytes are a ChaCha20 stream whose key is the SHA-256 of the
    seed, read in order; how they are asked for (one by one or all together) makes no difference.

    >>> Seeded(7).bytes(8) == Seeded(7).bytes(8)
    True
    """

    __slots__ = ("_stream",)

    def __init__(self, seed: int) -> None:
        key = sha256(str(seed).encode()).digest()
        self._stream = Cipher(algorithms.ChaCha20(key, _FROM_THE_START), mode=None).encryptor()

    def bytes(self, count: int) -> builtins.bytes:
        """Return the next ``count`` bytes of the stream."""
        return self._stream.update(builtins.bytes(count))
