"""Everything that prdp raises.

::

    PrdpError
    ├── InvalidRequest        wrong by public facts alone: nothing was read, nothing was charged
    │   ├── ExpressionError   a policy or a filter that cannot be used; underlines the place
    │   │   └── SqlError      a SQL statement that cannot be answered
    │   ├── PlanRefusal       a question that no plan answers, with the cause as a value
    │   └── PolicyError       a policy whose range is unknown or impossible
    ├── BudgetExhausted       the ledger has less left than was asked for
    ├── LedgerError           the ledger cannot keep its promise
    ├── CollectorError        the store of a collector cannot be used, or cannot be reached
    └── EngineFailure         the engine stopped while it read the records

    NoLedgerFile              a warning: the account of a file's table ends with the process
    RecordsLeftOut            a warning: the policy leaves out records that the bounds allow
    KeysOutOfReach            a warning: a search for keys will hardly find any

An error never holds a record, a record's budget or a summary: whether it is raised at all must
not depend on the data. The one exception, ``EngineFailure``, carries a fixed text for that reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fractions import Fraction


class PrdpError(Exception):
    """Whatever prdp raises on purpose."""


class InvalidRequest(PrdpError, ValueError):  # noqa: N818  (reads as what it is)
    """A request that is wrong by public facts alone: nothing was read and nothing was charged.

    >>> import numpy
    >>> import prdp
    >>> accounts = prdp.open({"balance": numpy.array([120, 45])}, policy=prdp.Policy.constant(1))
    >>> try:
    ...     accounts.count(share="3/2")
    ... except prdp.InvalidRequest:
    ...     print(accounts.ledger.remaining)
    1
    """


@dataclass(eq=False)
class ExpressionError(InvalidRequest):
    """A policy or filter that cannot be used, with the place underlined.

    >>> print(ExpressionError("1 / (balance", (4, 5), "this is not closed", "Add a parenthesis."))
    this is not closed
    <BLANKLINE>
        1 / (balance
            ^
    <BLANKLINE>
    Add a parenthesis.

    Attributes:
        text: The expression as it was given.
        span: Where in ``text`` the trouble lies: start and end, the end not included.
        reason: What is wrong there.
        advice: What to do instead.
    """

    text: str
    span: tuple[int, int]
    reason: str
    advice: str = ""

    def __str__(self) -> str:
        start, end = self.span
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", start)
        line = self.text[line_start : line_end if line_end >= 0 else len(self.text)]
        width = max(1, min(end, line_start + len(line)) - start)
        shown, offset = _window(line, start - line_start)
        underline = " " * offset + "^" * min(width, max(1, len(shown) - offset))
        message = f"{self.reason}\n\n    {shown}\n    {underline}"
        return f"{message}\n\n{self.advice}" if self.advice else message


def _window(line: str, offset: int) -> tuple[str, int]:
    """Return at most 72 characters of a line around a place, and where the place is in them."""
    if len(line) <= 72:
        return line, offset
    start = max(0, min(offset - 8, len(line) - 72))
    return line[start : start + 72], offset - start


class SqlError(ExpressionError):
    """A SQL statement that cannot be answered, with the place underlined.

    >>> print(SqlError("SELECT * FROM accounts", (7, 8), "records never leave", "Write COUNT(*)."))
    records never leave
    <BLANKLINE>
        SELECT * FROM accounts
               ^
    <BLANKLINE>
    Write COUNT(*).
    """


class PlanRefusal(InvalidRequest):
    """A question that no plan answers, with the cause as a value.

    >>> PlanRefusal("sum('price') needs the rounding step of its values.", "round_to").cause
    'rounding step'

    Attributes:
        cause: ``"groups"`` where the groups are refused, whatever is asked of them; ``"rounding step"`` or
            ``"range"`` where a query's values have no known rounding step or no finite range.
    """

    def __init__(self, message: str, cause: Literal["groups", "round_to", "range"]) -> None:
        super().__init__(message, cause)
        self.cause = cause

    def __str__(self) -> str:
        return str(self.args[0])


class PolicyError(InvalidRequest):
    """A policy whose range over the public bounds is unknown or impossible."""


_FINEST = 10**12
"""What a share may be divided into: ``exact.MOST_DENOMINATOR``."""


def shown_part(part: Fraction) -> str:
    """Return a part of a budget for reading: exactly, or about where that would be pages of digits.

    >>> from fractions import Fraction
    >>> shown_part(Fraction(3, 4)), shown_part(Fraction(1, 3) + Fraction(1, 10**13))
    ('3/4', 'about 0.333333')
    """
    return str(part) if part.denominator <= _FINEST else f"about {float(part):.6g}"


def offered_share(remaining: Fraction) -> str:
    """Return the largest share that may be asked for of what is left; empty if there is none.

    >>> from fractions import Fraction
    >>> offered_share(Fraction(1, 4)), offered_share(Fraction(0))
    ('1/4', '')
    """
    parts = int(remaining * _FINEST)  # rounded down to what may be asked for
    if not parts:
        return ""
    return str(remaining) if remaining.denominator <= _FINEST else f"0.{parts:012d}".rstrip("0")


class BudgetExhausted(PrdpError):  # noqa: N818  (reads as what it is)
    """The ledger, or a client's own account, has less left than a question asks for.

    >>> from fractions import Fraction
    >>> print(BudgetExhausted(asked=Fraction(1, 2), remaining=Fraction(1, 4)))
    this question asks for 1/2 of every record's budget, but 1/4 is left. Ask for share='1/4' or less.
    """

    def __init__(self, asked: Fraction, remaining: Fraction, message: str | None = None) -> None:
        self.asked = asked
        self.remaining = remaining
        offer = offered_share(remaining)
        remedy = f"Ask for share={offer!r} or less." if offer else "Nothing is left to spend."
        super().__init__(
            message
            or f"the query asks for {asked} of every record's budget, but {shown_part(remaining)} is left. "
            f"{remedy}"
        )


class LedgerError(PrdpError):
    """The ledger cannot keep its promise: wrong table, unreadable file, unknown version."""


class CollectorError(PrdpError):
    """The store of a collector cannot be used, or its server cannot be reached."""


class EngineFailure(PrdpError):  # noqa: N818  (reads as what it is)
    """The engine stopped while it read the records.

    The text is always the same: what went wrong may depend on the records, so it is not shown.
    """

    def __init__(self) -> None:
        super().__init__(
            "the engine could not finish reading the table. The reason is not shown, because it "
            "may depend on the records. The charge stands; check that the source is complete and "
            "readable, and ask the same question again: it is taken up without a second charge."
        )


class RecordsLeftOut(UserWarning):
    """The policy leaves out records that the declared bounds allow."""


class KeysOutOfReach(UserWarning):
    """A search for keys will hardly find any, by public facts: a key needs more budget than most have."""


class NoLedgerFile(UserWarning):
    """The account of a table is in memory: whoever opens the table again begins from nothing."""


class LedgerBegun(UserWarning):
    """There was no ledger where one was named, so a new account was begun, with the whole budget to spend."""
