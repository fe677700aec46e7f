"""The functions of the language: what each takes and gives, how its name is written, its meaning on doubles.

In meanings, unknown is ``None``, and NaN does not exist: an operation that would give it gives ``None``. Zero
has no sign. What is too large is an infinity. Nothing here ever raises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from prdp.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from prdp.expressions.nodes import ArithmeticOp


MAX_ARGUMENTS = 4_000

NumberFunction = Literal[
    "least", "greatest", "abs", "sqrt", "ln", "log2", "log10", "exp", "power",
    "round", "floor", "ceil", "sign",
]  # fmt: skip
TextFunction = Literal["lower", "upper", "trim", "ltrim", "rtrim", "substring", "concat", "length"]
TextTest = Literal["starts_with", "ends_with", "contains", "like", "ilike"]
MomentPart = Literal[
    "year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute", "second",
]  # fmt: skip
MomentFunction = Literal["date_trunc", "date_add", "date_diff"]
Choice = Literal["coalesce", "nullif"]
FunctionName = NumberFunction | TextFunction | TextTest | MomentPart | MomentFunction | Choice

NUMBER_FUNCTIONS: tuple[NumberFunction, ...] = get_args(NumberFunction)
MOMENT_PARTS: tuple[MomentPart, ...] = get_args(MomentPart)
FUNCTIONS: tuple[FunctionName, ...] = tuple(
    name
    for group in (NumberFunction, TextFunction, TextTest, MomentPart, MomentFunction, Choice)
    for name in get_args(group)
)

CastTarget = Literal["DOUBLE", "INTEGER", "BIGINT", "VARCHAR", "DATE", "TIMESTAMP"]
CAST_TARGETS: tuple[CastTarget, ...] = get_args(CastTarget)

TRUNCATED_TO = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
"""Units of ``date_trunc``."""

COUNTED_IN = ("year", "quarter", "month", "day", "hour", "minute", "second")
"""Units of ``date_diff``; no weeks, since databases count them in two ways."""

ADDED = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
"""The units of an INTERVAL."""

MAX_DIGITS = 15
"""Maximum number of digits before or behind the point that ``round`` keeps."""

LONGEST_PATTERN = 1_000
"""Maximum number of characters of a LIKE pattern: its time grows with them."""

MAX_ADDED = 1_000_000_000
"""Maximum number of units of an INTERVAL."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Signature of a function.

    Attributes:
        takes: The kinds of its arguments; None means one kind that all such arguments share.
        gives: The kind of its result; None for the kind that its arguments share.
        optional: How many of the last arguments may be left out.
        endless: Whether the last argument may be repeated.
        constant: The places of arguments that must be written as constants.
    """

    takes: tuple[Kind | None, ...]
    gives: Kind | None
    optional: int = 0
    endless: bool = False
    constant: frozenset[int] = frozenset()

    @property
    def arity(self) -> tuple[int, int]:
        """The fewest and the most arguments."""
        most = MAX_ARGUMENTS if self.endless else len(self.takes)
        return len(self.takes) - self.optional, most

    def kind(self, place: int) -> Kind | None:
        """Return the kind of the argument at a place."""
        return self.takes[min(place, len(self.takes) - 1)]


_N, _T, _B, _M = Kind.NUMBER, Kind.TEXT, Kind.BOOLEAN, Kind.MOMENT
_TRIMMED = Signature((_T, _T), _T, optional=1, constant=frozenset({1}))
_LIKE = Signature((_T, _T, _T), _B, optional=1, constant=frozenset({1, 2}))

SIGNATURES: dict[FunctionName, Signature] = {
    **dict.fromkeys(NUMBER_FUNCTIONS, Signature((_N,), _N)),
    "least": Signature((_N, _N), _N, endless=True),
    "greatest": Signature((_N, _N), _N, endless=True),
    "power": Signature((_N, _N), _N),
    "round": Signature((_N, _N), _N, optional=1, constant=frozenset({1})),
    "lower": Signature((_T,), _T),
    "upper": Signature((_T,), _T),
    "trim": _TRIMMED,
    "ltrim": _TRIMMED,
    "rtrim": _TRIMMED,
    "substring": Signature((_T, _N, _N), _T, optional=1),
    "concat": Signature((_T, _T), _T, endless=True),
    "length": Signature((_T,), _N),
    "starts_with": Signature((_T, _T), _B),
    "ends_with": Signature((_T, _T), _B),
    "contains": Signature((_T, _T), _B),
    "like": _LIKE,
    "ilike": _LIKE,
    **dict.fromkeys(MOMENT_PARTS, Signature((_M,), _N)),
    "date_trunc": Signature((_T, _M), _M, constant=frozenset({0})),
    "date_add": Signature((_T, _N, _M), _M, constant=frozenset({0, 1})),
    "date_diff": Signature((_T, _M, _M), _N, constant=frozenset({0})),
    "coalesce": Signature((None, None), None, endless=True),
    "nullif": Signature((None, None), None),
}

CASTS: dict[CastTarget, tuple[Kind, tuple[Kind, ...]]] = {
    "DOUBLE": (_N, (_N, _T, _B)),
    "INTEGER": (_N, (_N, _T, _B)),
    "BIGINT": (_N, (_N, _T, _B)),
    "VARCHAR": (_T, (_N, _T, _B, _M)),
    "DATE": (_M, (_M, _T)),
    "TIMESTAMP": (_M, (_M, _T)),
}
"""The kind of each type of a CAST, and the kinds that it converts."""

SPELLED: dict[str, FunctionName] = {
    **{name: name for name in FUNCTIONS if name not in ("concat", "like", "ilike", "date_add")},
    "pow": "power",
    "ceiling": "ceil",
    "lcase": "lower",
    "ucase": "upper",
    "substr": "substring",
    "len": "length",
    "char_length": "length",
    "character_length": "length",
    "prefix": "starts_with",
    "suffix": "ends_with",
    "ifnull": "coalesce",
    "datetrunc": "date_trunc",
    "datediff": "date_diff",
    "dayofmonth": "day",
    "weekofyear": "week",
}
"""Every name that may precede a parenthesis, and the function that it means."""

PARTS_SPELLED: dict[str, MomentPart] = {
    **{name: name for name in MOMENT_PARTS},
    "dow": "dayofweek",
    "weekday": "dayofweek",
    "doy": "dayofyear",
    "weekofyear": "week",
    "dayofmonth": "day",
    **{f"{name}s": name for name in MOMENT_PARTS if name in ADDED},
}
"""The parts that ``extract`` and ``date_part`` know."""

TYPES_SPELLED: dict[str, CastTarget] = {
    "double": "DOUBLE", "double precision": "DOUBLE", "float8": "DOUBLE",
    "integer": "INTEGER", "int": "INTEGER", "int4": "INTEGER",
    "bigint": "BIGINT", "int8": "BIGINT", "long": "BIGINT",
    "varchar": "VARCHAR", "text": "VARCHAR", "string": "VARCHAR",
    "date": "DATE", "timestamp": "TIMESTAMP", "datetime": "TIMESTAMP",
}  # fmt: skip
"""The types that CAST knows, by their names."""


def arity(name: FunctionName) -> tuple[int, int]:
    """Return the fewest and the most arguments that a function takes.

    >>> arity("abs"), arity("power"), arity("least")[0], arity("substring")
    ((1, 1), (2, 2), 2, (2, 3))
    """
    return SIGNATURES[name].arity


def divide(left: float, right: float) -> float | None:
    """Return the quotient; a positive number over zero is +infinity, whatever zero's sign.

    >>> divide(1.0, -0.0), divide(-1.0, 0.0), divide(0.0, 0.0)
    (inf, -inf, None)
    """
    if right != 0:
        return _known(left / right)
    return math.copysign(math.inf, left) if left else None


def square_root(x: float) -> float | None:
    """Return the square root; unknown for a negative number."""
    return math.sqrt(x) if x >= 0 else None


def exponential(x: float) -> float:
    """Return e to the power x; +infinity when too large."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def power(base: float, exponent: float) -> float | None:
    """Return base to the power exponent.

    A negative base needs a whole finite exponent, else the result is unknown; zero to a negative
    power is +infinity; anything to the power 0 is 1.

    >>> power(0.0, -1.0), power(-8.0, 3.0), power(-8.0, 0.5), power(10.0, 400.0)
    (inf, -512.0, None, inf)
    """
    if base == 0:
        return math.inf if exponent < 0 else float(exponent == 0)
    if base < 0 and not is_whole(exponent):
        return None
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def remainder(left: float, right: float) -> float | None:
    """Return the remainder of a division, with the dividend's sign; unknown for zero and infinity.

    >>> remainder(7.5, -2.0), remainder(-7.5, 2.0), remainder(7.5, math.inf), remainder(1.0, 0.0)
    (1.5, -1.5, 7.5, None)
    """
    return math.fmod(left, right) if right and math.isfinite(left) else None


def rounded(x: float, digits: float = 0.0) -> float:
    """Return a number rounded to digits behind the point, halves away from zero.

    >>> rounded(2.5), rounded(-0.5), rounded(0.49999999999999994), rounded(1.005, 2.0), rounded(1250.0, -2.0)
    (3.0, -1.0, 0.0, 1.0, 1300.0)
    """
    scale = math.pow(10.0, abs(digits))
    if digits < 0:
        return _half_away(x / scale) * scale
    return _half_away(x * scale) / scale if abs(x) < LARGEST_WITH_FRACTION else x


LARGEST_WITH_FRACTION = 2.0**52
"""From here on, doubles are whole numbers."""


def _half_away(x: float) -> float:
    if math.isinf(x):
        return x
    size = float(math.floor(abs(x)))
    return math.copysign(size + (abs(x) - size >= 0.5), x)


def sign(x: float) -> float:
    """Return 1, 0 or -1."""
    return float((x > 0) - (x < 0))


def is_whole(x: float) -> bool:
    """Return whether a double is a finite whole number."""
    return math.isfinite(x) and x == math.floor(x)


def _logarithm(log: Callable[[float], float]) -> Callable[[float], float | None]:
    def apply(x: float) -> float | None:
        if x <= 0:
            return None if x else -math.inf
        return log(x)

    return apply


def _known(x: float) -> float | None:
    return x if x == x else None  # noqa: PLR0124  (only NaN differs from itself)


ARITHMETIC_MEANING: dict[ArithmeticOp, Callable[[float, float], float | None]] = {
    "+": lambda left, right: _known(left + right),
    "-": lambda left, right: _known(left - right),
    "*": lambda left, right: _known(left * right),
    "/": divide,
    "%": remainder,
}

RISING: dict[NumberFunction, Callable[[float], float]] = {
    "floor": lambda x: x if math.isinf(x) else float(math.floor(x)),
    "ceil": lambda x: x if math.isinf(x) else float(math.ceil(x)),
    "sign": sign,
}
"""Functions of one number that are exact and never fall: the ends of an interval bound them."""

FUNCTION_MEANING: dict[NumberFunction, Callable[..., float | None]] = {
    "least": min,
    "greatest": max,
    "abs": abs,
    "sqrt": square_root,
    "ln": _logarithm(math.log),
    "log2": _logarithm(math.log2),
    "log10": _logarithm(math.log10),
    "exp": exponential,
    "power": power,
    "round": rounded,
    **RISING,
}
