"""The source of the tools' answers: a project on disk or a server, with one interface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from prdp.errors import PrdpError
from prdp.sql.results import SqlAnswers

_PLACES = 6


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A dry run of a statement.

    Attributes:
        digest: The plan's name: 64 hexadecimal digits.
        table: The table that it is about.
        statement: The statement.
        share: The part of every record's budget that it may use.
        cost: What would be charged now: the share, or nothing for what was answered before.
        needs_approval: Whether a person must approve it first.
        left: What the account allows before it, of which a session may have less.
        columns: The columns of its answer, where they are known.
        lines: Labels and sentences: what is charged, and how it is answered.
    """

    digest: str
    table: str
    statement: str
    share: Fraction
    cost: Fraction
    left: Fraction
    needs_approval: bool = False
    columns: tuple[str, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ReceivedAnswer:
    """A release.

    Attributes:
        answers: What was answered.
        release: The release's name.
        receipt: The line of the ledger or of the audit that shows that it was charged.
    """

    answers: SqlAnswers
    release: str
    receipt: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement that was asked.

    Attributes:
        id: Its name.
        state: ``published``, or what it waits for.
        publish_at: When the answer appears, in seconds since 1970; None where it is unknown or there.
        answer: The answer, once it is published.
    """

    id: str
    state: str
    publish_at: float | None = None
    answer: ReceivedAnswer | None = field(default=None, repr=False)


class NothingCharged(Exception):  # noqa: N818  (says what is so)
    """A refusal after which the account is as it was before."""

    def __init__(self, refusal: PrdpError) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class Backend(Protocol):
    """Whoever plans and answers."""

    def tables(self) -> list[dict[str, Any]]:
        """Return the name, the number of columns and the remaining budget of each table."""

    def described(self, table: str) -> dict[str, Any]:
        """Return the public facts of a table."""

    def planned(self, statement: str, share: Fraction) -> PlannedStatement:
        """Return the dry run of a statement; nothing is charged."""

    def asked(self, plan: PlannedStatement, purpose: str) -> StatementRequest:
        """Charge a plan, or take the answer that it has.

        Raises:
            NothingCharged: It was refused, and costs nothing.
        """

    def request(self, name: str) -> StatementRequest:
        """Return a request, with its answer once that is published."""


def decimal(share: Fraction) -> str:
    """Return a share with at most six decimals, never more than it is.

    >>> decimal(Fraction(1, 3)), decimal(Fraction(1, 10)), decimal(Fraction(1))
    ('0.333333', '0.1', '1')
    """
    digits = f"{max(0, math.floor(share * 10**_PLACES)):0{_PLACES + 1}d}"
    return f"{digits[:-_PLACES]}.{digits[-_PLACES:]}".rstrip("0").rstrip(".")


def decimal_cost(share: Fraction) -> str:
    """Return a cost with at most six decimals, never less than it is.

    >>> decimal_cost(Fraction(1, 3)), decimal_cost(Fraction(1, 10))
    ('0.333334', '0.1')
    """
    return decimal(Fraction(math.ceil(share * 10**_PLACES), 10**_PLACES))
