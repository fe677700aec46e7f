"""The functions of the language: what each takes, what it gives, and how its name may be written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from prdp.schema import Kind

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
"""What ``date_trunc`` cuts to."""

COUNTED_IN = ("year", "quarter", "month", "day", "hour", "minute", "second")
"""What ``date_diff`` counts; weeks are counted in two ways by different databases, so they are not."""

ADDED = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
"""The units of an INTERVAL."""

MAX_DIGITS = 15
"""How many digits before or behind the point ``round`` may keep."""

LONGEST_PATTERN = 1_000
"""How many characters a pattern of LIKE may have: the time that it takes grows with them."""

MAX_ADDED = 1_000_000_000
"""How many units an INTERVAL may have."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes and gives.

    Attributes:
        takes: The kinds of its arguments; None stands for one kind that all such arguments share.
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
        """Return what the argument at a place must be."""
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
"""What each type of a CAST gives, and what it can be made of."""

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
"""Every name that may stand before a parenthesis, and the function that it means."""

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
