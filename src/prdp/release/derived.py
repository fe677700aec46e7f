"""Numbers computed from answers: mean, variance, standard deviation, arithmetic. Pure post-processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar

from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.release import formatting
from prdp.release.interval import Ends
from prdp.release.public_names import Completed, renamed
from prdp.release.ratio import Ratio, TotalLaw

if TYPE_CHECKING:
    from prdp.release.release import MovedRelease


_ROOT_BITS = 40  # of a root, whatever its unit: finer than the lattice that the answer is given on

# A sum's values differ and a count's are all 1, so a sum errs by more: it gets three times the count's part.
# A variance gives half to its mean, and half to the squares around it.
_VARIANCE = (("sum", Fraction(3, 8)), ("count", Fraction(1, 8)), ("squares", Fraction(1, 2)))
PARTS: dict[str, tuple[tuple[str, Fraction], ...]] = {
    "mean": (("sum", Fraction(3, 4)), ("count", Fraction(1, 4))),
    "variance": _VARIANCE,
    "std": _VARIANCE,
}
"""Parts of each rule, in order, with their parts of the share.

The squares are those of the distances from a center: the mean that the first two parts give, rounded.
"""


def combined(rule: str, parts: Sequence[Fraction], limits: Ends, off: Fraction = Fraction(0)) -> Fraction:
    """Return the answer that follows from its parts, moved into the public limits.

    A noisy count below 1 counts as 1. ``off`` is how far the released mean lies from the center that squared
    distances were taken from: by its square they exceed those from the mean.

    >>> limits = Fraction(0), Fraction(100)
    >>> combined("mean", [Fraction(90), Fraction(4)], limits)
    Fraction(45, 2)
    >>> combined("mean", [Fraction(900), Fraction(-3)], limits)  # 900 / 1, moved to the limit
    Fraction(100, 1)
    >>> squares = [Fraction(2), Fraction(4), Fraction(2)]  # of 0, 0, 1 and 1, around 0
    >>> combined("variance", squares, limits, off=Fraction(1, 2))
    Fraction(1, 4)
    """
    total, count = parts[0 if rule == "mean" else 2], max(parts[1], Fraction(1))
    value = total / count - off**2
    return _within(root(value) if rule == "std" else value, limits)


def combined_interval(rule: str, parts: Sequence[Ends], limits: Ends, center: Fraction | None = None) -> Ends:
    """Return ends that contain the answer whenever every part lies between its own.

    Where the count may be below 1, the answer may be anything.

    >>> sum_ends, count_ends = (Fraction(80), Fraction(120)), (Fraction(8), Fraction(10))
    >>> combined_interval("mean", [sum_ends, count_ends], (Fraction(0), Fraction(100)))  # 80/10 to 120/8
    (Fraction(8, 1), Fraction(15, 1))
    """
    if parts[1][0] < 1 or (rule != "mean" and center is None):
        return limits
    means = _quotient(parts[0], parts[1])
    return from_means(rule, means, means if rule == "mean" else _quotient(parts[2], parts[1]), limits, center)


def from_means(rule: str, means: Ends, squares: Ends, limits: Ends, center: Fraction | None) -> Ends:
    """Return the ends of an answer from those of the mean, and of the mean squared distance from ``center``.

    The latter exceeds the variance by exactly the square of the true mean's distance from the center: by at
    least that of the nearest and at most that of the farthest mean.
    """
    low, high = means if rule == "mean" else squares
    if center is not None:
        below, above = (mean - center for mean in means)
        low -= max(below**2, above**2)
        high -= 0 if below <= 0 <= above else min(below**2, above**2)
    if rule == "std":
        low, high = root(low), root(high, up=True)
    return _within(low, limits), _within(high, limits)


_LARGE = Fraction(10) ** 100
"""Limits beyond which quotients are not computed in floats."""


def quotient_interval(
    rule: str,
    laws: Sequence[TotalLaw],
    totals: Sequence[Fraction],
    failure: Fraction,
    *,
    limits: Ends,
    center: Fraction | None = None,
) -> Ends:
    """Return the ends of a mean, or of what is made of two, by one inequality for each: proofs/computed.md.

    Args:
        rule: How the answer is computed.
        laws: The laws of its parts' errors.
        totals: The parts that were released.
        failure: The probability that the answer lies beyond either end.
        limits: The public limits of the answer.
        center: What squared distances are taken from.
    """
    if rule == "mean":
        ends = _one_quotient(laws[:2], totals[:2], failure, limits)
        return from_means(rule, ends, ends, limits, None)
    if center is None:
        return limits
    most = limits[1] if rule == "variance" else limits[1] ** 2
    reach = root(4 * most, up=True)  # no two values are further apart than this
    means = _one_quotient(laws[:2], totals[:2], failure / 2, (center - reach, center + reach))
    squares = _one_quotient((laws[2], laws[1]), (totals[2], totals[1]), failure / 2, (Fraction(0), reach**2))
    return from_means(rule, means, squares, limits, center)


def _one_quotient(
    laws: Sequence[TotalLaw], totals: Sequence[Fraction], failure: Fraction, limits: Ends
) -> Ends:
    total, count = map(float, totals)
    found = Ratio(laws[0], laws[1], float(failure)).ends(total, count, (float(limits[0]), float(limits[1])))
    return Fraction(found[0]), Fraction(found[1])


def quotient_laws(laws: Sequence[TotalLaw | None], limits: Ends) -> list[TotalLaw] | None:
    """Return the laws of parts where one inequality is for them: a public fact; else None."""
    known = [law for law in laws if law is not None]
    return known if len(known) == len(laws) and -_LARGE < limits[0] <= limits[1] < _LARGE else None


def _quotient(total: Ends, count: Ends) -> Ends:
    few, many = count
    return total[0] / (many if total[0] > 0 else few), total[1] / (few if total[1] > 0 else many)


def _within(value: Fraction, limits: Ends) -> Fraction:
    return max(limits[0], min(limits[1], value))


def root(value: Fraction, *, up: bool = False) -> Fraction:
    """Return the square root to 40 bits or more, rounded down, or up; and 0 below 0.

    >>> root(Fraction(9, 4)), root(Fraction(-1)), root(Fraction(1, 4**50)) == Fraction(1, 2**50)
    (Fraction(3, 2), Fraction(0, 1), True)
    """
    if value <= 0:
        return Fraction(0)
    smaller = max(0, value.denominator.bit_length() - value.numerator.bit_length())
    bits = _ROOT_BITS + smaller // 2 + 1
    scaled = value * (1 << (2 * bits))
    below = isqrt(int(scaled))
    return Fraction(below + (up and below**2 < scaled), 1 << bits)


class NumberLike(Completed):
    """The ways in which an answer is used as a number; its interval goes with it."""

    __slots__ = ()
    hints: ClassVar[Mapping[str, str]] = {
        **renamed("low", "lower", "lower_bound", "ci_low", "min"),
        **renamed("high", "upper", "upper_bound", "ci_high", "max"),
        **renamed("interval(level=0.95)", "ci", "conf_int", "confidence_interval"),
        **renamed("std_error", "stderr", "se", "sem", "standard_error", "std"),
        **renamed("cv", "coefficient_of_variation"),
        **renamed("interval(); tables of answers have plot()", "plot"),
        **renamed("interval() for its ends", "margin_of_error", "moe", "error"),
        **renamed("value, or float(answer)", "item", "result", "estimate", "scalar", "answer"),
    }

    @property
    def day(self) -> bool:
        """Whether it is a day, counted from the year 1 on."""
        return False

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
        """Return the answer, its interval and its notes as plain values."""
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
        """The standard error: half the width of the 95 % interval, by 1.96; None where there is no such end.

        It covers what the interval covers, noise and clipping together; an end that is too far away to be
        shown counts.
        """
        ends = zip(self.interval(), self.left_away, strict=True)
        low, high = (end if hidden is None else hidden for end, hidden in ends)
        return None if self.kind == formatting.RANGE else formatting.std_error_of(low, high)

    @property
    def cv(self: formatting.Published) -> float | None:
        """The coefficient of variation: the standard error by the size of the answer; None where one is not.

        A day has none, as its size says from which day days are counted.

        >>> from prdp.release.release import Release
        >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip")
        >>> noisy.low, noisy.high, round(noisy.std_error, 1), round(noisy.cv, 3)
        (742, 1342, 153.1, 0.147)
        """
        error = None if self.day else self.std_error
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


def _plain(other: object) -> bool:
    """Return whether something is a plain number."""
    return not isinstance(other, NumberLike) and (hasattr(other, "__float__") or isinstance(other, Fraction))


def plain_fraction(number: object) -> Fraction:
    """Return a plain number exactly, a float for what it prints as."""
    plain = number.item() if hasattr(number, "item") else number
    try:
        return exact(repr(plain) if isinstance(plain, float) else plain, "number")  # type: ignore[arg-type]
    except (InvalidRequest, ValueError):
        raise InvalidRequest(f"{number!r} is not a number that an answer can be computed with.") from None
