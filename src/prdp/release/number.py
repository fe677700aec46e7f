"""Number-like answers: printed, compared by eye, and moved along with their intervals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.release import formatting

if TYPE_CHECKING:
    from prdp.release.release import MovedRelease


_ONE_SIGMA = Fraction(6827, 10_000)
"""How often a normal error is smaller than its standard deviation."""


class NumberLike:
    """The ways in which an answer is used as a number; its interval goes with it."""

    __slots__ = ()

    def __float__(self: formatting.Published) -> float:
        return float(self.exact)

    def __int__(self: formatting.Published) -> int:
        return round(self.exact)

    def __round__(self: formatting.Published, digits: int | None = None) -> Any:
        return round(self.exact) if digits is None else round(float(self.exact), digits)

    def __format__(self: formatting.Published, spec: str) -> str:
        """Return the answer alone in a number's format, or the whole line for an empty one."""
        return format(formatting.value_of(self), spec) if spec else str(self)

    def __str__(self: formatting.Published) -> str:
        """Return the answer on one line."""
        return formatting.line(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self: formatting.Published) -> str:
        return formatting.as_html(self)

    @property
    def short(self: formatting.Published) -> str:
        """The answer and its interval."""
        return formatting.in_words(self)

    def to_dict(self: formatting.Published) -> dict[str, Any]:
        """Return the answer, its interval and what is said of it as plain values."""
        return formatting.as_dict(self)

    def to_json(self: formatting.Published) -> str:
        """Return ``to_dict`` as JSON; an end that is not there is null."""
        return formatting.as_json(formatting.as_dict(self))

    @property
    def low(self: formatting.Published) -> float:
        """The lower end of the 95 % confidence interval; minus infinity where there is none."""
        return self.interval()[0]

    @property
    def high(self: formatting.Published) -> float:
        """The upper end of the 95 % confidence interval; infinity where there is none."""
        return self.interval()[1]

    @property
    def std_error(self: formatting.Published) -> float | None:
        """The standard error: half the width of the 68.27 % interval; None where an end is missing.

        It covers what the 95 % interval covers, clipping included, so that it is no smaller than the noise's.
        """
        return _std_error(self)

    @property
    def cv(self: formatting.Published) -> float | None:
        """The coefficient of variation: the standard error by the size of the answer; None where one is not.

        >>> from prdp.release.release import Release
        >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip")
        >>> noisy.low, noisy.high, noisy.std_error, round(noisy.cv, 3)
        (742, 1342, 115.0, 0.11)
        """
        error = _std_error(self)
        return None if error is None or not self.exact else error / abs(float(self.exact))

    def moved(self, times: object, plus: object) -> MovedRelease:
        """Return the answer times one number plus another; the ends of its interval move along.

        Args:
            times: An int, a float (taken for what it prints as), a Fraction or a Decimal.
            plus: The same.
        """
        raise NotImplementedError

    def __add__(self, other: object) -> Any:
        if isinstance(other, NumberLike):
            return _arithmetic().added(self, other, 1)
        return self.moved(1, other) if _plain(other) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        if isinstance(other, NumberLike):
            return _arithmetic().added(self, other, -1)
        return self.moved(1, -plain_fraction(other)) if _plain(other) else NotImplemented

    def __rsub__(self, other: object) -> MovedRelease:
        return self.moved(-1, other) if _plain(other) else NotImplemented

    def __mul__(self, other: object) -> MovedRelease:
        return self.moved(other, 0) if _plain(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, NumberLike):
            return _arithmetic().ratio(self, other)
        return self.moved(1 / plain_fraction(other), 0) if _plain(other) else NotImplemented

    def __rtruediv__(self, other: object) -> Any:
        return _arithmetic().ratio(other, self) if _plain(other) else NotImplemented

    def __neg__(self) -> MovedRelease:
        return self.moved(-1, 0)

    def __pos__(self) -> MovedRelease:
        return self.moved(1, 0)


def _arithmetic() -> Any:
    from prdp.release import arithmetic  # noqa: PLC0415  (it computes with releases, which are number-like)

    return arithmetic


def _std_error(answer: formatting.Published) -> float | None:
    low, high = answer.interval(_ONE_SIGMA)
    return None if math.isinf(low) or math.isinf(high) else float(Fraction(high) - Fraction(low)) / 2


def _plain(other: object) -> bool:
    """Say whether something is a plain number."""
    return not isinstance(other, NumberLike) and (hasattr(other, "__float__") or isinstance(other, Fraction))


def plain_fraction(number: object) -> Fraction:
    """Return a plain number exactly, a float for what it prints as."""
    plain = number.item() if hasattr(number, "item") else number
    try:
        return exact(repr(plain) if isinstance(plain, float) else plain, "number")  # type: ignore[arg-type]
    except (InvalidRequest, ValueError):
        raise InvalidRequest(f"{number!r} is no number that an answer can be computed with.") from None
