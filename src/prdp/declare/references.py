"""Check the references between tables: a tree that hangs on the private table, or a refusal.

Every row of a table that is not public belongs, by its references, to records of the private table. A public
table is looked up by a key that is unique in it. So a result of the join belongs to one private record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from prdp.declare.columns import known_column
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted
from prdp.schema import ColumnType, Kind, Schema


@dataclass(frozen=True, slots=True)
class Reference:
    """A column whose values name rows of another table, by that table's key."""

    table: str
    column: str
    to: str
    key: str

    def __str__(self) -> str:
        """Return it as one text; tables have no dots in their names, so that no other reference has it."""
        return f"{self.table}.{_marked(self.column, ' -> ')} -> {self.to}.{self.key}"


@dataclass(frozen=True, slots=True)
class Tree:
    """The tables and, for each but the private one, the reference by which it is joined.

    Attributes:
        private: The table whose records are protected.
        key: The column that names its records.
        public: The tables that hold nothing to protect.
        joined_by: For each other table its reference; for a public table, the one that leads to it.
    """

    private: str
    key: str
    public: frozenset[str]
    joined_by: Mapping[str, Reference]

    @classmethod
    def of(
        cls,
        schemas: Mapping[str, Schema],
        private: str,
        key: str,
        public: Collection[str],
        references: Mapping[str, str],
    ) -> Tree:
        """Read and check what the caller declares; by public facts alone."""
        if isinstance(public, str):
            raise InvalidRequest(f"public={public!r} is one text. Write public=[{public!r}].")
        for name in (private, *public):
            if name not in schemas:
                raise InvalidRequest(f"there is no table {name!r}: the tables are {', '.join(schemas)}.")
        if private in public:
            raise InvalidRequest(f"the table {private!r} cannot be private and public at once.")
        known = known_column(key, schemas[private], "key")
        _refuse_unless_distinguishable(known, schemas[private])
        joined_by: dict[str, Reference] = {}
        for source, target in references.items():
            reference = _reference(source, target, schemas)
            if reference.to == private and reference.key != known:
                raise InvalidRequest(
                    f"{reference}: rows belong to records of {private!r} by their key {known!r}."
                )
            _refuse_unless_joinable(reference, schemas)
            table = _joined_table(reference, private, public)
            if table in joined_by:
                raise InvalidRequest(
                    f"the table {table!r} would be joined in two ways: {joined_by[table]} and {reference}. "
                    + _one_way(reference, private, public)
                )
            joined_by[table] = reference
        tree = cls(private, known, frozenset(public), joined_by)
        for name in schemas:
            tree.path(name)
        return tree

    def facts(self) -> dict[str, object]:
        """Return what a ledger is bound to."""
        return {
            "private": f"{_marked(self.private, '.')}.{self.key}",
            "public": sorted(self.public),
            "references": sorted(map(str, self.joined_by.values())),
        }

    def path(self, table: str) -> list[str]:
        """Return the tables from the private one to this one, in the order in which they are joined."""
        path = [table]
        while path[0] != self.private:
            reference = self.joined_by.get(path[0])
            if reference is None:
                raise InvalidRequest(
                    f"nothing says how {path[0]!r} belongs to {self.private!r}. Write "
                    f"references={{'{path[0]}.column': '{self.private}.{self.key}'}}, or leave the table out."
                )
            before = reference.table if reference.to == path[0] else reference.to
            if before in path:
                raise InvalidRequest(f"the references go round in a circle: {' -> '.join([before, *path])}.")
            path.insert(0, before)
        return path


def _marked(name: str, end: str) -> str:
    """Return a name so that it is clear where it ends: in quotes if it holds what comes after it."""
    return quoted(name) if end in f"{name}{end[:-1]}" or name.startswith('"') else name


def _joined_table(reference: Reference, private: str, public: Collection[str]) -> str:
    """Return the table that a reference joins to the rest."""
    if reference.table == reference.to:
        raise InvalidRequest(
            f"{reference} goes round in a circle: a join has no place for a table that refers to itself. "
            f"Its rows can be counted: {by_links(reference.key, reference.column)}"
        )
    if reference.to in public:
        return reference.to
    if reference.table in public:
        raise InvalidRequest(
            f"{reference}: the public table {reference.table!r} refers to {reference.to!r}, which is not "
            "public. Its rows would say who is there; leave it out of public=[...]."
        )
    if reference.table == private:
        raise InvalidRequest(
            f"{reference}: the private table may refer to public tables only. Name {reference.to!r} in "
            "public=[...] if it holds nothing to protect. Or did you mean "
            f"references={{'{reference.to}.{reference.key}': '{reference.table}.{reference.column}'}}? "
            "The column that names rows is first, then the key."
        )
    return reference.table


def by_links(key: str, column: str) -> str:
    """Return how the rows of a table that refers to itself are counted: each names its own record too."""
    return (
        f"write staff = prdp.graphs.Records(table, {key!r}, policy) and "
        f"prdp.graphs.open_links(table, records={{{key!r}: staff, {column!r}: staff}})."
    )


def _one_way(reference: Reference, private: str, public: Collection[str]) -> str:
    """Return what to do about a second way to join a table; only a public one may be given twice."""
    if reference.to in public:
        return "Leave a reference out, or give the public table twice, under two names."
    if reference.to != private:
        return "A row that belongs to records in two ways has no place in a join."
    return (
        "A row that belongs to records in two ways has no place in a join, but it can be counted: write "
        "persons = prdp.graphs.Records(...) and "
        f"prdp.graphs.open_links(rows, records={{{reference.column!r}: persons, ...}})."
    )


def _reference(source: str, target: str, schemas: Mapping[str, Schema]) -> Reference:
    (table, column), (to, key) = (_split(end, schemas) for end in (source, target))
    return Reference(table, column, to, key)


def _split(end: str, schemas: Mapping[str, Schema]) -> tuple[str, str]:
    table, dot, column = str(end).partition(".")
    if not dot or table not in schemas:
        raise InvalidRequest(
            f"references= names {end!r}; write 'table.column', with one of the tables {', '.join(schemas)}."
        )
    return table, known_column(column, schemas[table], "references")


def _refuse_unless_joinable(reference: Reference, schemas: Mapping[str, Schema]) -> None:
    ends = (schemas[reference.table][reference.column], schemas[reference.to][reference.key])
    if not (all(end.integer for end in ends) or all(map(_is_text, ends))):
        raise InvalidRequest(
            f"{reference} joins {ends[0].native} with {ends[1].native}. Both must hold whole numbers, or "
            "both text; convert one of them in its source."
        )


def _refuse_unless_distinguishable(key: str, schema: Schema) -> None:
    """Refuse a key of which the engine may take two for one: it has a month for thirty days."""
    if schema[key].kind is Kind.OTHER:
        raise InvalidRequest(
            f"key={key!r} cannot distinguish values of {schema[key].native}. "
            "Give a column of numbers, texts or dates."
        )


def _is_text(column: ColumnType) -> bool:
    return column.kind is Kind.TEXT
