"""Number-like answers: printed, compared by eye, and moved along with their intervals."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.release import formatting

if TYPE_CHECKING:
    from prdp.release.release import MovedRelease


_TWO = (
    "two answers are not added up, as the ends of their intervals are not: ask one question about both "
    "(a sum over a computed column, a wider filter), or add float(...) of each and say both intervals."
)


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

    def moved(self, times: object, plus: object) -> MovedRelease:
        """Return the answer times one number plus another; the ends of its interval move along.

        Args:
            times: An int, a float (taken for what it prints as), a Fraction or a Decimal.
            plus: The same.
        """
        raise NotImplementedError

    def __add__(self, other: object) -> MovedRelease:
        if isinstance(other, NumberLike):
            raise TypeError(_TWO)
        return self.moved(1, other) if _plain(other) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: object) -> MovedRelease:
        if isinstance(other, NumberLike):
            raise TypeError(_TWO)
        return self.moved(1, -plain_fraction(other)) if _plain(other) else NotImplemented

    def __rsub__(self, other: object) -> MovedRelease:
        return self.moved(-1, other) if _plain(other) else NotImplemented

    def __mul__(self, other: object) -> MovedRelease:
        return self.moved(other, 0) if _plain(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> MovedRelease:
        return self.moved(1 / plain_fraction(other), 0) if _plain(other) else NotImplemented

    def __neg__(self) -> MovedRelease:
        return self.moved(-1, 0)

    def __pos__(self) -> MovedRelease:
        return self.moved(1, 0)


def _plain(other: object) -> bool:
    """Say whether something is a plain number; two answers are not added up, as their intervals are not."""
    return not isinstance(other, NumberLike) and (hasattr(other, "__float__") or isinstance(other, Fraction))


def plain_fraction(number: object) -> Fraction:
    """Return a plain number exactly, a float for what it prints as."""
    plain = number.item() if hasattr(number, "item") else number
    try:
        return exact(repr(plain) if isinstance(plain, float) else plain, "number")  # type: ignore[arg-type]
    except (InvalidRequest, ValueError):
        raise InvalidRequest(f"{number!r} is no number that an answer can be computed with.") from None
