"""Types of a table's columns: public, and known before any record is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction

PYTHON_OBJECTS = "Python objects"
"""Type of a column of a frame whose values may be of any type."""


class Kind(Enum):
    """The kind of a value, for expressions."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "true or false"
    MOMENT = "date or time"
    OTHER = "something that expressions do not read"


@dataclass(frozen=True, slots=True, repr=False)
class ColumnType:
    """A column's kind, and whether its numbers are whole; shown by the engine's own name.

    >>> {"balance": ColumnType(Kind.NUMBER, integer=True, native="BIGINT")}
    {'balance': BIGINT}

    Attributes:
        kind: What expressions may do with the column.
        integer: Whether it is a number column that can hold whole numbers only.
        native: The engine's own name for the type, for messages.
        required: Whether the source says that every record has a value in it, so that none is unknown.
    """

    kind: Kind
    integer: bool = False
    native: str = ""
    required: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        return self.native or self.kind.value

    @property
    def conversion(self) -> str:
        """How to convert a column of a frame that cannot be read, as a sentence; empty for other columns."""
        if self.native != PYTHON_OBJECTS:
            return ""
        return (
            "Convert it in the frame first: pandas.to_datetime(...) for dates, .astype('string') for texts, "
            "'float64' for numbers, 'boolean' for truth values."
        )

    def never_null(self) -> ColumnType:
        """Return the type of a column that has no NULL; in floats and times others may be unknown still.

        >>> whole, double = ColumnType(Kind.NUMBER, integer=True), ColumnType(Kind.NUMBER)
        >>> whole.never_null().required, double.never_null().required  # which may be NaN
        (True, False)
        """
        known = self.integer or self.native.startswith("DECIMAL") or self.kind in (Kind.TEXT, Kind.BOOLEAN)
        return replace(self, required=True) if known else self


Schema = Mapping[str, ColumnType]
"""Column names and what they hold, in the table's order."""

Bounds = Mapping[str, tuple[Fraction, Fraction]]
"""For each column that has them, the public least and greatest value."""

Rounding = Mapping[str, Fraction]
"""For each column that has one, the public rounding step of its values."""
