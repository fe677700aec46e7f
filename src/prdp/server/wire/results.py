"""What a statement gives: rows, or a time to wait for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prdp.server.wire.values import WireColumn


@dataclass(frozen=True, slots=True)
class WireResult:
    """What a statement gives.

    Attributes:
        tag: Name of what was done, as clients show it.
        columns: Its columns; None where it gives no rows.
        rows: Its rows.
        notices: Sentences for people.
        reported: Settings that are reported to the client.
    """

    tag: str
    columns: tuple[WireColumn, ...] | None = None
    rows: Sequence[Sequence[Any]] = ()
    notices: tuple[str, ...] = ()
    reported: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """A question whose answer appears at a time; cancelling it detaches the client, and nothing else.

    Attributes:
        at: When to look, in seconds since 1970.
        then: Looks.
    """

    at: float
    then: Callable[[], WireResult | WaitUntil]
