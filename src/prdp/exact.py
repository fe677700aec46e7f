"""Numbers that people write, read exactly: a float never becomes a budget or a share."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from prdp.errors import InvalidRequest

Exact = int | str | Fraction | Decimal
"""What is accepted where a number must be exact: ``3``, ``"1/10"``, ``"0.1"``, ``Fraction(1, 10)``."""

_MOST_DIGITS = 400
MOST_DENOMINATOR = 10**12
"""How fine a share may be; the sum of many has to stay writable."""


def exact(value: Exact, what: str) -> Fraction:
    """Return the number that ``value`` says, refusing a float with the text to write instead.

    >>> exact("1/10", "share"), exact("1e-8", "at_least")
    (Fraction(1, 10), Fraction(1, 100000000))
    """
    if isinstance(value, float):
        raise InvalidRequest(
            f"{what}={value!r} is a float, and floats are not exact in general. Write "
            f"{what}={f'{value:g}'!r}, as text, or a Fraction."
        )
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction | Decimal):
        raise InvalidRequest(
            f"{what}={value!r} is not a number. Write text such as '1/10' or '0.1', an int or a Fraction."
        )
    return _read(value, what)


def exact_share(value: Exact) -> Fraction:
    """Return a share: the part of every record's budget that a question uses, in (0, 1]."""
    share = exact(value, "share")
    if not 0 < share <= 1:
        raise InvalidRequest(
            f"share={value!r} is not a part of the budget: a share is more than 0 and at most 1, "
            "such as '1/10'."
        )
    if share.denominator > MOST_DENOMINATOR:
        raise InvalidRequest(f"share={value!r} is too fine: write it with a denominator of at most 10^12.")
    return share


def _read(value: int | str | Fraction | Decimal, what: str) -> Fraction:
    text = str(value).strip() if isinstance(value, str | Decimal) else value
    try:
        if isinstance(text, str) and abs(Decimal(text.partition("/")[0]).adjusted()) > _MOST_DIGITS:
            raise InvalidRequest(f"{what}={value!r} is out of range.")
        return Fraction(text)
    except (ValueError, ZeroDivisionError, InvalidOperation, OverflowError):
        raise InvalidRequest(
            f"{what}={value!r} is not a number. Write text such as '1/10', '0.1' or '1e-8'."
        ) from None
