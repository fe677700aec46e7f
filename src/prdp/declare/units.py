"""Privacy units: the column that names them, and for a join the tables that rows are results of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prdp.declare.exact import is_integer
from prdp.declare.references import Reference
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import shown_name
from prdp.schema import Schema

MAX_ROWS = 1 << 20
"""A unit adds at most so many times what one row can add, unless the caller says otherwise."""

_MAX = 1 << 40


@dataclass(frozen=True, slots=True)
class JoinedTables:
    """The tables that rows are results of: one row of each, found by references that lead to an owner.

    Attributes:
        private: The table of the units, which the policy reads.
        key: The column that names them there.
        tables: The joined tables, the private one first, each after one that it is joined to.
        joined_by: For each table but the private one, its reference.
        names: For each column of the joined tables, its table and its name there.
        public: The joined tables that hold nothing to protect.
    """

    private: str
    key: str
    tables: tuple[str, ...]
    joined_by: Mapping[str, Reference] = field(hash=False)
    names: Mapping[str, tuple[str, str]] = field(hash=False)
    public: frozenset[str] = frozenset()

    @property
    def unit_tables(self) -> frozenset[str]:
        """The tables in which a unit has one row: its own, and public ones looked up from there."""
        found = {self.private}
        for table in self.tables:
            if table in self.public and self.joined_by[table].table in found:
                found.add(table)
        return frozenset(found)

    @property
    def ids(self) -> dict[str, str]:
        """For each column that names units or rows of theirs, the table whose rows it names."""
        named = {(self.private, self.key): self.private}
        for reference in self.joined_by.values():
            if reference.to not in self.public:
                named[reference.table, reference.column] = reference.to
                named[reference.to, reference.key] = reference.to
        return {shown: named[place] for shown, place in self.names.items() if place in named}

    def schema(self, schemas: Mapping[str, Schema]) -> Schema:
        """Return the columns of the joined tables under their names, by those of each table."""
        return {name: schemas[table][column] for name, (table, column) in self.names.items()}

    def owns(self, column: str) -> bool:
        """Return whether all rows of a unit have the same value in a column."""
        return self.names[column][0] in self.unit_tables


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Privacy unit: whose rows are protected together.

    >>> PrivacyUnit("customer_id").noun
    'one customer_id with all of its rows'

    Attributes:
        id: The column whose value says whose row it is; rows without one are nobody's.
        max_rows: A unit adds at most so many times what one row can add; what is more is cut off.
        join: The tables that rows are results of; None where units and rows are one table.
        one_row: Whether units with more than one own row are left out of every answer. Own rows are all
            rows of the table that the policy reads: no filter and no invalid budget makes them fewer.
    """

    id: str
    max_rows: int = MAX_ROWS
    join: JoinedTables | None = None
    one_row: bool = False

    @property
    def noun(self) -> str:
        """Noun for one unit in messages."""
        if self.join is not None:
            alone = "; in no answer if it has several rows there" if self.one_row else ""
            return f"one {self.join.key} of {self.join.private} with all rows that belong to it{alone}"
        if self.one_row:
            return f"one {self.id} with its one row; in no answer if it has several"
        return f"one {self.id} with all of its rows"

    @property
    def of_several_rows(self) -> str:
        """What becomes of a record's several rows in a join's private table; empty where there are none."""
        same = self.of_same_key
        return f"{same}: a column in which they differ is NULL" if same else ""

    @property
    def of_same_key(self) -> str:
        """That several rows of a join's private table count once; empty where there are none."""
        if self.join is None or self.one_row:
            return ""
        private, key = shown_name(self.join.private), shown_name(self.join.key)
        return f"rows of {private} with the same {key} are one record"

    @property
    def one_row_is_all(self) -> bool:
        """True if a unit that takes part has one row, and so is in one group at most."""
        return self.one_row and self.join is None

    @property
    def declared(self) -> str:
        """Declaration as the caller wrote it."""
        if self.join is None:
            return f"a table opened with privacy_unit={self.id!r}"
        return f"a join with the private table {self.join.private!r}"

    @property
    def ids(self) -> Mapping[str, str]:
        """For each column that names units or rows of theirs, whose rows it names."""
        return {self.id: "protected"} if self.join is None else self.join.ids


def read_max_rows(max_rows: int) -> int:
    """Return how many rows a unit can have, or refuse what is no such number.

    >>> read_max_rows(1000)
    1000
    """
    if not is_integer(max_rows) or not 1 <= max_rows <= _MAX:
        raise InvalidRequest(f"max_rows={max_rows!r} is not a number of rows: a whole number, 1 to 2^40.")
    return max_rows
