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

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fractions import Fraction


class Blank(str):
    """A word in the place of a value that the reader chooses; shown without quotes.

    >>> (Blank("low"), Blank("high"))
    (low, high)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Argument:
    """An argument that a message names or advises to write; whoever shows the message spells it.

    >>> print(Argument("bounds", {"age": (0, 10**12)}, of="prdp.open"))
    bounds={'age': (0, 10**12)} in prdp.open

    Attributes:
        name: The argument's name in Python.
        value: Its value, or a dict of values by column.
        of: The function that takes it, where a caller may not know.
        more: Whether other columns are to follow.
    """

    name: str
    value: object
    of: str = ""
    more: bool = False

    def __str__(self) -> str:
        """Spell it as Python does."""
        value = _in_python(self.value)
        if self.more:
            value = f"{value[:-1]}, ...}}"
        return f"{self.name}={value}" + (f" in {self.of}" if self.of else "")


def _in_python(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_in_python(one)}' for key, one in value.items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_in_python, value))})"
    if isinstance(value, list):
        return "[...]" if value == [...] else repr(value)
    digits = str(value) if type(value) is int else ""
    power = len(digits) - 1
    return f"10**{power}" if power >= 6 and value == 10**power else repr(value)


Part = str | Argument
"""A piece of a message: words, or an argument."""


Words = str | tuple[Part, ...]
"""A sentence of a message."""


def spelled(words: Words, spell: Callable[[Argument], str] = str) -> str:
    """Return a sentence, its arguments spelled by a front end; in Python by default."""
    return "".join(spell(part) if isinstance(part, Argument) else str(part) for part in _parts(words))


class PrdpError(Exception):
    """Whatever prdp raises on purpose: words and arguments, spelled in Python unless somebody else shows it.

    >>> refusal = PrdpError("Ask for ", Argument("share", "1/5"), " or less.")
    >>> print(refusal)
    Ask for share='1/5' or less.
    >>> refusal.spelled(lambda argument: f"--{argument.name} {argument.value}")
    'Ask for --share 1/5 or less.'
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        """The message in pieces."""
        return self.args

    def __str__(self) -> str:
        return self.spelled(str)

    def spelled(self, spell: Callable[[Argument], str]) -> str:
        """Return the message, its arguments spelled by a front end."""
        return spelled(self.parts, spell)

    @property
    def arguments(self) -> frozenset[str]:
        """The names of the arguments in the message."""
        return frozenset(part.name for part in self.parts if isinstance(part, Argument))


def _parts(words: Words) -> tuple[Part, ...]:
    return (words,) if isinstance(words, str) else words


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
        span: The place of the error in ``text``: start and end, the end not included.
        reason: The error there.
        advice: Advice on what to write instead.
    """

    text: str
    span: tuple[int, int]
    reason: Words
    advice: Words = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The reason, the line with the place underlined, and the advice."""
        start, end = self.span
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", start)
        line = self.text[line_start : line_end if line_end >= 0 else len(self.text)]
        width = max(1, min(end, line_start + len(line)) - start)
        shown, offset = _window(line, start - line_start)
        underline = " " * offset + "^" * min(width, max(1, len(shown) - offset))
        advice = ("\n\n", *_parts(self.advice)) if self.advice else ()
        return (*_parts(self.reason), f"\n\n    {shown}\n    {underline}", *advice)


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

    >>> PlanRefusal("sum('1 / price') has no finite range.", "range").cause
    'range'

    Attributes:
        cause: ``"groups"`` where the groups are refused, whatever is asked of them; ``"range"``
            where a query's values have no finite range.
    """

    def __init__(self, message: Words, cause: Literal["groups", "range"]) -> None:
        super().__init__(message, cause)
        self.message = message
        self.cause = cause

    @property
    def parts(self) -> tuple[Part, ...]:
        """The message in pieces."""
        return _parts(self.message)


class PolicyError(InvalidRequest):
    """A policy whose range over the public bounds is unknown or impossible."""


_FINEST = 10**12
"""Largest denominator of a share: ``exact.MAX_DENOMINATOR``."""


def shown_part(part: Fraction) -> str:
    """Return a part of a budget for reading: exactly, or about where that would be pages of digits.

    >>> from fractions import Fraction
    >>> shown_part(Fraction(3, 4)), shown_part(Fraction(1, 3) + Fraction(1, 10**13))
    ('3/4', 'about 0.333333')
    """
    return str(part) if part.denominator <= _FINEST else f"about {float(part):.6g}"


def offer(remaining: Fraction) -> tuple[Part, ...]:
    """Describe the budget that may still be asked for.

    >>> from fractions import Fraction
    >>> offer(Fraction(0))
    ('Nothing is left to spend.',)
    """
    share = offered_share(remaining)
    return ("Ask for ", Argument("share", share), " or less.") if share else ("Nothing is left to spend.",)


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
    the query asks for 1/2 of every record's budget, but 1/4 is left. Ask for share='1/4' or less.
    """

    def __init__(self, asked: Fraction, remaining: Fraction, *message: Part) -> None:
        self.asked = asked
        self.remaining = remaining
        asks = f"the query asks for {asked} of every record's budget, but {shown_part(remaining)} is left. "
        super().__init__(*(message or (asks, *offer(remaining))))


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
            "may depend on the records. The charge is kept; check that the source is complete and "
            "readable, and ask the same question again: it is taken up without a second charge."
        )


class RecordsLeftOut(UserWarning):
    """The policy leaves out records that the declared bounds allow."""


class KeysOutOfReach(UserWarning):
    """A search for keys will hardly find any, by public facts: a key needs more budget than most have."""


class NoLedgerFile(UserWarning):
    """The account of a table is in memory only: opening the table again starts at zero."""


class UntestedVersion(UserWarning):
    """A library that reads the records is installed in a version older than those that are tested."""


class TableChanged(UserWarning):
    """A recorded answer is returned, and the table has got other columns or files since."""


class LedgerBegun(UserWarning):
    """There was no ledger where one was named, so a new account was begun, with the whole budget to spend."""
