"""Read numbers that people write exactly; a float is the decimal that it prints as, if that is short."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral, Real
from typing import TypeGuard

from prdp.errors import Argument, InvalidRequest

Exact = int | float | str | Fraction | Decimal
"""Types accepted for exact numbers: ``3``, ``0.1``, ``"1/10"``, ``Fraction(1, 10)``."""

_MAX_DIGITS = 400
_MAX = 10**_MAX_DIGITS
_LONGEST_REPR = 100
MAX_DENOMINATOR = 10**12
"""Largest denominator of a share; the sum of many has to stay writable."""

MAX_BITS = 12_000
"""Longest denominator of a sum of shares, except for what decimals add to it."""

_MAX_DECIMALS = 12
"""A float of more decimals is a quotient such as 1/3, or noise of arithmetic: nobody typed it."""

_SIMPLE = 10_000
"""A quotient with a denominator up to this is proposed in place of a long float; 1/365 is, by far."""

_GROUP = 600  # digits; Python's own limit, which anybody may set, is never below 640
_LONG = 10**_GROUP
_PERCENT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?\s*%", re.ASCII)
_RATIO = re.compile(r"-?[0-9]+(/[0-9]+)?", re.ASCII)


def exact(value: Exact, what: str) -> Fraction:
    """Return the number that ``value`` says; a float of at most 12 decimals is what it prints as.

    >>> exact("1/10", "share"), exact(0.1, "share"), exact("1e-8", "at_least")
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 100000000))
    >>> exact(1 / 3, "share")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: share=0.3333333333333333 is a float of more than 12 decimals... share='1/3'.
    """
    if isinstance(value, Real) and not isinstance(value, bool | int | Fraction):
        return Fraction(int(value)) if isinstance(value, Integral) else _float(value, what)
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction | Decimal):
        raise InvalidRequest(
            f"{what}={short_repr(value)} is not a number. Write 0.1, text such as '1/10', an int or a "
            "Fraction."
        )
    return _read(value, what)


def _float(value: Real, what: str) -> Fraction:
    """Return the decimal that a float prints as; NumPy's print as short as their own precision allows."""
    text = str(value)
    try:
        number = Decimal(text)
        decimals = -int(number.normalize().as_tuple().exponent)
    except (ValueError, InvalidOperation):  # not finite, or a number of a kind of its own
        raise InvalidRequest(f"{what}={text} is not a number. Write 0.1 or text such as '1/10'.") from None
    if decimals > _MAX_DECIMALS:
        near = Fraction(number).limit_denominator(_SIMPLE)
        same = float(near) == float(value) or str(type(value)(float(near))) == text  # type: ignore[call-arg]
        raise InvalidRequest(
            f"{what}={text} is a float of more than {_MAX_DECIMALS} decimals, and which number is meant "
            f"is unknown. Write {what}={(str(near) if same else f'{float(value):.12g}')!r}."
        )
    return _read(text, what)


def exact_part(value: Exact, what: str) -> Fraction:
    """Return a part of a whole, also from a percentage.

    >>> exact_part("2.5 %", "error"), exact_part("1/40", "error")
    (Fraction(1, 40), Fraction(1, 40))
    """
    if isinstance(value, str) and value.strip().endswith("%"):
        return exact(value.strip()[:-1], what) / 100
    return exact(value, what)


def exact_share(value: Exact) -> Fraction:
    """Return a share: the part of every record's budget that a question uses, in (0, 1].

    >>> exact_share("1/10"), exact_share("50%"), exact_share(1)
    (Fraction(1, 10), Fraction(1, 2), Fraction(1, 1))
    >>> exact_share("3/2")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: share='3/2' is not a part of the budget: ...
    """
    share = exact_part(value, "share")
    if not 0 < share <= 1:
        raise InvalidRequest(
            Argument("share", value),
            " is not a part of the budget: a share is more than 0 and at most 1, such as '1/10'.",
        )
    if share.denominator > MAX_DENOMINATOR:
        raise InvalidRequest(
            Argument("share", value), " is too fine: write it with a denominator of at most 10^12."
        )
    return share


def _read(value: int | str | Fraction | Decimal, what: str) -> Fraction:
    text = str(value).strip() if isinstance(value, str | Decimal) else value
    if isinstance(text, str) and _PERCENT.fullmatch(text):
        part = Decimal(text.removesuffix("%").strip()) / 100
        raise InvalidRequest(f"{what}={short_repr(value)} is in percent. Write {part:f}.")
    try:
        if isinstance(text, str) and abs(Decimal(text.partition("/")[0]).adjusted()) > _MAX_DIGITS:
            raise InvalidRequest(f"{what}={short_repr(value)} is out of range.")
        number = Fraction(text)
    except (ValueError, ZeroDivisionError, InvalidOperation, OverflowError):
        raise InvalidRequest(
            f"{what}={short_repr(value)} is not a number. Write text such as '1/10', '0.1' or '1e-8'."
        ) from None
    if abs(number.numerator) > _MAX or number.denominator > _MAX:
        raise InvalidRequest(
            f"{what}={short_repr(value)} has too many digits: write it as a fraction of whole numbers of at "
            "most "
            f"{_MAX_DIGITS} digits."
        )
    return number


def short_repr(value: object) -> str:
    """Return a caller's value for a message, whatever it is.

    >>> short_repr("clerk"), len(short_repr("x" * 1000))  # a hundred characters, and three dots
    ("'clerk'", 103)
    """
    try:
        text = repr(value)
    except Exception:  # a whole number of too many digits, say
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}..."


def spelled(value: Fraction | int) -> str:
    """Return a number in digits, however many; ``str`` fails beyond Python's own limit of digits.

    >>> spelled(Fraction(-1, 3)), len(spelled(10**5000))
    ('-1/3', 5001)
    """
    if isinstance(value, Fraction):
        below = "" if value.denominator == 1 else f"/{spelled(value.denominator)}"
        return spelled(value.numerator) + below
    sign, rest, groups = "-" * (value < 0), abs(value), []
    while rest >= _LONG:
        rest, group = divmod(rest, _LONG)
        groups.append(f"{group:0{_GROUP}d}")
    return sign + str(rest) + "".join(reversed(groups))


def fraction_of(text: str) -> Fraction:
    """Return the number that ``spelled`` wrote.

    >>> fraction_of("-1/3"), fraction_of(spelled(10**5000)) == 10**5000
    (Fraction(-1, 3), True)

    Raises:
        ValueError: The text is not a number.
        ZeroDivisionError: It divides by zero.
    """
    if len(text) <= _GROUP:
        return Fraction(text)
    if not _RATIO.fullmatch(text):
        raise ValueError("the text is not a number")
    above, _, below = text.partition("/")
    return Fraction(whole_of(above), whole_of(below or "1"))


def whole_of(text: str) -> int:
    """Return a whole number in digits, however many.

    >>> whole_of("-12"), whole_of("1" + "0" * 5000) == 10**5000
    (-12, True)

    Raises:
        ValueError: The text is no whole number.
    """
    if len(text) <= _GROUP:
        return int(text)
    if not _RATIO.fullmatch(text) or "/" in text:
        raise ValueError("the text is no whole number")
    digits, value = text.removeprefix("-"), 0
    for start in range(0, len(digits), _GROUP):
        group = digits[start : start + _GROUP]
        value = value * 10 ** len(group) + int(group)
    return -value if text.startswith("-") else value


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)
