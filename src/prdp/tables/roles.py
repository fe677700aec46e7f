"""One source, one role: a table that is given twice is refused, by where it comes from and never by its rows.

As private table and as rows that belong to it, a record's own row would be protected by the budget of another
record; as private and as public table, by none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Protocol

from prdp.declare.references import Tree, by_links
from prdp.engines.origins import Origins
from prdp.engines.tracing import source_origins
from prdp.errors import InvalidRequest


class Declared(Protocol):
    """A private table, as ``prdp.graphs.Records`` declares it."""

    @property
    def source(self) -> object:
        """The source of its records."""

    @property
    def key(self) -> str:
        """The column that names them."""


def common_source(private: Iterable[Origins], given: Origins) -> str:
    """Return in words what a source has in common with private ones; empty if nothing is known to be."""
    return next(filter(None, (origins.shared(given) for origins in private)), "")


def untraced_reason(private: Iterable[Origins], given: Origins) -> str:
    """Return why a source may have more in common with private ones than is known; empty if it cannot.

    Plain values are read from nowhere: whoever lists them says that they are public.
    """
    if not (given.places or given.spans or given.untraced):
        return ""
    return given.untraced or next((origins.untraced for origins in private if origins.untraced), "")


def refuse_two_names(origins: Mapping[str, Origins], tree: Tree, *, declared: bool) -> None:
    """Refuse tables of a join that have a common source, unless both are public.

    Args:
        origins: The origins of the tables.
        tree: How they are joined, and which are public.
        declared: Whether the unit declares those to be public whose origins cannot be traced.
    """
    for one, other in combinations(origins, 2):
        shared = origins[one].shared(origins[other])
        if not shared or {one, other} <= tree.public:
            continue
        same_source = f"the tables {one!r} and {other!r} have one source ({shared})"
        public = [name for name in (one, other) if name in tree.public]
        if public:
            raise InvalidRequest(
                f"{same_source}, and {public[0]!r} is declared public: what is read there would be "
                "protected by no "
                f"budget. Leave {public[0]!r} out. {_instead(tree, one, other)}"
            )
        raise InvalidRequest(
            f"{same_source}: a record's own row would be there twice, and once be protected by another "
            "record's "
            f"budget. {_instead(tree, one, other)}"
        )
    private = [origin for name, origin in origins.items() if name not in tree.public]
    for name in () if declared else sorted(tree.public):
        if reason := untraced_reason(private, origins[name]):
            raise InvalidRequest(
                f"whether the public table {name!r} shows private rows cannot be traced ({reason}). Give a "
                "table or a file of its own. If you know that it shows none, declare it: "
                "public_by_declaration=True, which the ledger records."
            )


def refuse_two_records(tables: Sequence[Declared]) -> None:
    """Refuse two declarations of one table: a record would be two, each with the whole budget."""
    origins = [source_origins(table.source) for table in tables]
    for one, other in combinations(origins, 2):
        shared = one.shared(other)
        if shared:
            raise InvalidRequest(
                f"two prdp.graphs.Records have one source ({shared}), so its records would count twice. "
                "Write persons = prdp.graphs.Records(...) once, and "
                "records={'sender': persons, 'receiver': persons}."
            )


def refuse_others_rows(rows: object, records: Mapping[str, Declared]) -> None:
    """Refuse rows that are a private table's own, unless each names its own record by that table's key."""
    origins = source_origins(rows)
    for column, table in records.items():
        shared = origins.shared(source_origins(table.source))
        if not shared:
            continue
        as_it_is = rows is table.source or (_is_path(rows) and _is_path(table.source))
        own = [other for name, other in records.items() if name.lower() == table.key.lower()]
        if as_it_is and own and own[0] is table:
            continue
        first = (
            ""
            if as_it_is
            else "Give the very same source as rows and in prdp.graphs.Records; .where filters. "
        )
        raise InvalidRequest(
            f"the rows and the records that {column!r} names have one source ({shared}), so that each row is "
            f"some record's own, and has to name that one by its key {table.key!r} as well. {first}"
            f"To count them, {by_links(table.key, column)}"
        )


def refuse_private_nodes(edges: object, nodes: object) -> None:
    """Refuse nodes that are read from the edges."""
    private, public = source_origins(edges), source_origins(nodes)
    shared = private.shared(public)
    if shared:
        raise InvalidRequest(
            f"nodes= and the edges have one source ({shared}), but who has an edge is private, and the nodes "
            "are public. Write nodes=range(1000), or a list that does not come from the edges."
        )
    if reason := untraced_reason([private], public):
        raise InvalidRequest(
            f"whether nodes= come from the edges cannot be traced ({reason}), and who has an edge is "
            "private. Write nodes=range(1000), or a list."
        )


def _instead(tree: Tree, one: str, other: str) -> str:
    """Return what to write for two tables that are one."""
    if tree.private in {one, other}:
        reference = tree.joined_by[other if one == tree.private else one]
        return f"A table that refers to itself can be counted: {by_links(tree.key, reference.column)}"
    return (
        "Rows that name records in several columns can be counted: write "
        "prdp.graphs.open_links(rows, records={'buyer': persons, 'seller': persons})."
    )


def _is_path(source: object) -> bool:
    return isinstance(source, str | Path | list | tuple)
