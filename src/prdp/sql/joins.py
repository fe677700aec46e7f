"""Joins of a statement held to the declared references: a result belongs to one private record, or is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prdp.declare.references import Reference, Tree
from prdp.sql.catalog import Place
from prdp.sql.relation import Names
from prdp.sql.scope import Scope

Part = tuple[Any, Scope]
"""A condition, and what names mean in it."""


def without_references(names: Names, tables: list[str], parts: list[Part], entry: Any) -> list[Part]:
    """Return the conditions that are no declared reference, or refuse a join that does not follow them.

    A reference may be said by way of others: a = b AND b = c says a = c.
    """
    tree = names.catalog.tree
    if tree is None:
        return parts
    if tree.private not in tables:
        names.statement.refuse(
            entry,
            f"the records of {tree.private} are protected, and it is not in FROM",
            f"Join {tree.private}: rows of other tables belong to its records.",
        )
    pairs = [_equated(part, scope) for part, scope in parts]
    classes = _classes(pair for pair in pairs if pair is not None)
    said: set[frozenset[Place]] = set()
    for table in tables:
        if table == tree.private:
            continue
        reference = tree.joined_by[table]
        ends = (reference.table, reference.column), (reference.to, reference.key)
        if not {reference.table, reference.to} <= set(tables) or not _same(classes, *ends):
            names.statement.refuse(
                entry, f"{table} is not joined as it was declared", _advice(reference, tree)
            )
        said.add(frozenset(ends))
    return [
        part for part, pair in zip(parts, pairs, strict=True) if pair is None or frozenset(pair) not in said
    ]


def _advice(reference: Reference, tree: Tree) -> str:
    path = " and ".join(tree.path(reference.table if reference.to in tree.public else reference.to))
    return f"Write ON {reference.table}.{reference.column} = {reference.to}.{reference.key}, with {path} in FROM."


def _equated(node: Any, scope: Scope) -> tuple[Place, Place] | None:
    """Return the two plain columns that a condition says are equal."""
    if type(node).__name__ != "EQ":
        return None
    left, right = scope.origin(node.this), scope.origin(node.expression)
    return None if left is None or right is None else (left, right)


def _classes(pairs: Iterable[tuple[Place, Place]]) -> list[set[Place]]:
    """Return the columns that equalities make one, as sets."""
    classes: list[set[Place]] = []
    for pair in pairs:
        touched = [known for known in classes if known & set(pair)]
        classes = [known for known in classes if known not in touched]
        classes.append(set(pair).union(*touched))
    return classes


def _same(classes: list[set[Place]], one: Place, other: Place) -> bool:
    return any(one in known and other in known for known in classes)
