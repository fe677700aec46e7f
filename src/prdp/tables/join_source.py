"""The joined tables, as a reader of cells reads them; public keys that stand twice are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prdp.cells.key_masses import KeyMasses
from prdp.cells.owners import Caps, Look
from prdp.cells.summary import Summary
from prdp.declare.references import Tree
from prdp.engines._statement_tables import StatementTables
from prdp.engines.engine import JoinEngine
from prdp.errors import InvalidRequest
from prdp.plan.reads import KeyMassRead, OwnerRead


@dataclass(frozen=True, slots=True)
class JoinSource:
    """The joined tables, as a reader reads them."""

    engine: StatementTables
    tree: Tree

    def ensure_there(self) -> None:
        """Refuse sources that have changed; reads no record, only the keys of public tables."""
        self.engine.ensure_there()
        refuse_duplicates(self.engine, self.tree)

    def shown(self, read: OwnerRead | KeyMassRead) -> tuple[str, ...]:
        """Return the statement of a read."""
        return self.engine.shown(read)

    def shown_later(self, read: OwnerRead, *, count_rows: bool) -> str:
        """Return the statement that follows a drawn clipping point."""
        return self.engine.shown_later(read, count_rows=count_rows)

    def shown_together(self, read: OwnerRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of several looks that follow drawn clipping points."""
        return self.engine.shown_together(read, looks)

    def key_masses(self, read: KeyMassRead) -> KeyMasses:
        """Return the keys that private records have, with the budgets behind each."""
        return self.engine.key_masses(read)

    def fold_owners(self, read: OwnerRead) -> tuple[tuple[Summary, Summary], ...]:
        """Return the cells of the private records, by what their results add."""
        return self.engine.fold_owners(read)

    def scale_owners(self, read: OwnerRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Return each group's total, every private record scaled down to its cap."""
        return self.engine.scale_owners(read, caps, count_rows=count_rows)

    def scale_together(self, read: OwnerRead, looks: Sequence[Look]) -> Sequence[tuple[int, ...]]:
        """Return for several looks at once what ``scale_owners`` does for one."""
        return self.engine.scale_together(read, looks)


def refuse_duplicates(engine: JoinEngine, tree: Tree) -> None:
    """Refuse a public table in which a key names several rows: it would multiply private records' results."""
    for table in sorted(tree.public):
        key = tree.joined_by[table].key
        if engine.has_twice(table, key):
            raise InvalidRequest(
                f"the public table {table!r} has several rows for one {key!r}, so that a join would multiply "
                f"private records. Make {key!r} unique there."
            )
