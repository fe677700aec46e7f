"""A report as bytes: a fixed head, then every coordinate in a fixed number of bits, whatever the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prdp.errors import InvalidRequest
from prdp.local.protocols.protocol import Field

_HEAD = b"prdp\x01"
_DIGEST = 32
_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Report:
    """A client's randomised report; it may be seen by anybody.

    Attributes:
        campaign: The digest of the campaign that it answers.
        token: Sixteen random bytes, so that a report that arrives twice is counted once.
        payload: The coordinates, packed.
    """

    campaign: bytes
    token: bytes
    payload: bytes

    def __bytes__(self) -> bytes:
        """Return the bytes to send."""
        return _HEAD + self.campaign + self.token + self.payload

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """Read what a client sent."""
        start = len(_HEAD)
        if not isinstance(data, bytes) or len(data) < start + _DIGEST + _TOKEN or data[:start] != _HEAD:
            raise InvalidRequest("these bytes are no report.")
        middle, end = start + _DIGEST, start + _DIGEST + _TOKEN
        return cls(data[start:middle], data[middle:end], data[end:])


def packed(outcomes: Sequence[int], fields: Sequence[Field]) -> bytes:
    """Return outcomes as bytes; each one that its field cannot hold is moved to the nearest that it can.

    >>> list(packed([1, 0, 1], [Field(0, 1)] * 3))  # the bits 101
    [5]
    >>> packed([9], [Field(0, 2)]) == packed([3], [Field(0, 2)])  # two bits hold no more than 3
    True
    """
    number = 0
    for outcome, field in zip(outcomes, fields, strict=True):
        number = number << field.bits | (field.clamped(outcome) - field.low)
    return number.to_bytes(payload_size(fields), "big")


def unpacked(payload: bytes, fields: Sequence[Field]) -> tuple[int, ...]:
    """Return the outcomes that ``packed`` wrote.

    >>> fields = [Field(-2, 3), Field.below(10)]
    >>> unpacked(packed([-1, 7], fields), fields)
    (-1, 7)
    """
    if len(payload) != payload_size(fields):
        raise _malformed()
    number = int.from_bytes(payload, "big")
    outcomes = []
    for field in reversed(fields):
        outcome = field.low + (number & ((1 << field.bits) - 1))
        if outcome > field.last:
            raise _malformed()
        outcomes.append(outcome)
        number >>= field.bits
    if number:
        raise _malformed()
    return tuple(reversed(outcomes))


def _malformed() -> InvalidRequest:
    return InvalidRequest("this report does not have the form that its campaign asks for.")


def payload_size(fields: Sequence[Field]) -> int:
    """Return the number of bytes of the coordinates of every report.

    >>> payload_size([Field(0, 1)] * 8), payload_size([Field(0, 1)] * 9)
    (1, 2)
    """
    return -(-sum(field.bits for field in fields) // 8)
