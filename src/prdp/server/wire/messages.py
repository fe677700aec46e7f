"""Messages of the PostgreSQL protocol, version 3: read from bytes within limits, and written."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from prdp.server.wire.failures import WireError
from prdp.server.wire.values import WireColumn, as_bytes, as_text

PROTOCOL, CANCEL, TLS, GSS = 196_608, 80_877_102, 80_877_103, 80_877_104
MAX_BEFORE_LOGIN = 10_000
"""The longest message before a login, in bytes: a 300 MB one is refused by its header."""
MAX_MESSAGE = 1 << 18
_HEAD = struct.Struct("!I")


def malformed() -> NoReturn:
    """Refuse bytes that are no message: the connection ends."""
    raise WireError.of("malformed", fatal=True)


class MessageReader:
    """Reads the parts of one message; whatever is missing or left over is refused."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def number(self, form: str) -> int:
        """Return a number, by struct's letter for it."""
        size = struct.calcsize(f"!{form}")
        (found,) = struct.unpack(f"!{form}", self.take(size))
        return int(found)

    def take(self, size: int) -> bytes:
        """Return so many bytes."""
        end = self._at + size
        if size < 0 or end > len(self._body):
            malformed()
        found, self._at = self._body[self._at : end], end
        return found

    def text(self) -> str:
        """Return a text, which ends with a zero."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            malformed()
        raw, self._at = self._body[self._at : end], end + 1
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise WireError("22021", "texts are sent in UTF-8 alone.") from None

    def numbers(self, form: str) -> list[int]:
        """Return numbers that follow their count."""
        return [self.number(form) for _ in range(self.number("H"))]

    def values(self) -> list[bytes | None]:
        """Return values that follow their count; None for NULL."""
        found: list[bytes | None] = []
        for _ in range(self.number("H")):
            size = self.number("i")
            found.append(None if size == -1 else self.take(size))
        return found

    def rest(self) -> bytes:
        """Return what is left."""
        return self.take(len(self._body) - self._at)

    def end(self) -> None:
        """Refuse what is left over."""
        if self._at != len(self._body):
            malformed()


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its letter, which is empty before a login's, and its body."""

    kind: bytes
    body: bytes

    @property
    def reader(self) -> MessageReader:
        """A reader of its body."""
        return MessageReader(self.body)


def take(buffer: bytearray, *, first: bool, limit: int) -> Message | None:
    r"""Take a whole message off a buffer; None where more has to arrive; refuse one that is too long.

    >>> take(bytearray(b"Q\\x11\\xe1\\xa3\\x00"), first=False, limit=MAX_BEFORE_LOGIN)
    Traceback (most recent call last):
    ...
    prdp.server.wire.failures.WireError: this is more than the server reads at once.
    """
    begin = 0 if first else 1
    if len(buffer) < begin + _HEAD.size:
        return None
    (size,) = _HEAD.unpack_from(buffer, begin)
    if size > limit:
        raise WireError.of("too_large", fatal=True)
    if size < _HEAD.size:
        malformed()
    if len(buffer) < begin + size:
        return None
    kind, body = bytes(buffer[:begin]), bytes(buffer[begin + _HEAD.size : begin + size])
    del buffer[: begin + size]
    return Message(kind, body)


def startup_options(reader: MessageReader) -> dict[str, str]:
    """Return what a client says when it connects: pairs of texts up to an empty one."""
    found = {}
    while name := reader.text():
        found[name] = reader.text()
    reader.end()
    return found


# What the server sends.


def message(kind: bytes, *parts: bytes) -> bytes:
    """Return a message."""
    body = b"".join(parts)
    return kind + _HEAD.pack(len(body) + _HEAD.size) + body


def text(value: str) -> bytes:
    """Return a text with the zero that ends it."""
    return value.replace("\0", "").encode("utf-8", "replace") + b"\0"


def authentication(code: int, *parts: bytes) -> bytes:
    """Return a step of a login."""
    return message(b"R", _HEAD.pack(code), *parts)


def parameter(name: str, value: str) -> bytes:
    """Return the message that reports a setting to a client."""
    return message(b"S", text(name), text(value))


def key_data(process: int, secret: int) -> bytes:
    """Return the numbers by which another connection may cancel this one's wait."""
    return message(b"K", struct.pack("!II", process, secret))


def ready(status: bytes) -> bytes:
    """Return that the next statement may come."""
    return message(b"Z", status)


def complete(tag: str) -> bytes:
    """Return that a statement was done; of an empty one, that it was empty."""
    return message(b"C", text(tag)) if tag else message(b"I")


def parameters(types: Sequence[int]) -> bytes:
    """Return the types of parameters."""
    return message(b"t", struct.pack("!H", len(types)), *(_HEAD.pack(kind) for kind in types))


def description(columns: Sequence[WireColumn], formats: Sequence[int]) -> bytes:
    """Return the columns of rows that follow."""
    parts = [
        text(column.name) + struct.pack("!IHIhih", 0, 0, column.type, column.size, -1, form)
        for column, form in zip(columns, formats, strict=True)
    ]
    return message(b"T", struct.pack("!H", len(columns)), *parts)


def row(cells: Sequence[Any], columns: Sequence[WireColumn], formats: Sequence[int]) -> bytes:
    """Return a row."""
    parts = [struct.pack("!H", len(columns))]
    for cell, column, form in zip(cells, columns, formats, strict=True):
        sent = (as_bytes if form else as_text)(cell, column.type)
        parts.append(struct.pack("!i", -1) if sent is None else struct.pack("!i", len(sent)) + sent)
    return message(b"D", *parts)


def error(failure: WireError) -> bytes:
    """Return an error."""
    fields = {"S": "FATAL" if failure.fatal else "ERROR", "C": failure.state, "M": failure.message}
    fields["V"] = fields["S"]
    if failure.hint:
        fields["H"] = failure.hint
    if failure.position:
        fields["P"] = str(failure.position)
    return message(b"E", _fields(fields))


def notice(sentence: str) -> bytes:
    """Return a sentence for a person."""
    return message(b"N", _fields({"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": sentence}))


def _fields(fields: Mapping[str, str]) -> bytes:
    return b"".join(letter.encode() + text(value) for letter, value in fields.items()) + b"\0"


COMPLETE = {kind: message(kind) for kind in (b"1", b"2", b"3", b"n", b"s")}
"""Messages without a body: parsed, bound, closed, no rows, more rows there are."""
