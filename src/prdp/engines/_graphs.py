"""A graph read from a table of edges, and its triangles; DuckDB's SQL, total as everywhere.

A record is a pair of two different public nodes, whichever way round and in however many rows it is written.
Its budget is the least of its rows', and none at all if one of them has none. Rows that name no public node,
or one twice, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.cells.edges import Integers, Nodes, Pairs
from prdp.engines._cells import level_sql
from prdp.engines._expressions import to_sql
from prdp.engines._links import name_sql, names_of
from prdp.engines._tables import Scratch
from prdp.engines.duckdb import DuckDBEngine
from prdp.expressions.nodes import Node
from prdp.levels import Levels
from prdp.plan.reads import PlanReader, Whole
from prdp.policy import Policy
from prdp.schema import Schema


@dataclass(frozen=True, slots=True)
class EdgeRead(Whole):
    """A read of a table of edges.

    Attributes:
        source: The column of one end of an edge.
        target: The column of the other end.
        policy: The policy, checked against the table, with both ends of its range.
        levels: The grid of budgets.
        where: Which rows make a pair an edge; the budget is that of all its rows. None for all.
    """

    source: str
    target: str
    policy: Policy
    levels: Levels
    where: Node | None

    def find(self, reader: PlanReader) -> tuple[Pairs]:
        """Return the edges between public nodes, each with its budget."""
        return (read_pairs(reader.source.engine, self, reader.source.nodes),)

    def statement(self, records: str, schema: Schema) -> str:
        """Write the statement whose rows are (node, node, level), each pair once."""
        kept = "TRUE" if self.where is None else to_sql(self.where, schema)
        rows = (
            f"SELECT {name_sql(self.source, schema)} AS one, {name_sql(self.target, schema)} AS other, "
            f"{to_sql(self.policy.expression, schema)} AS budget, {kept} AS kept FROM {records}"
        )
        pairs = (
            f"SELECT least(one, other) AS one, greatest(one, other) AS other, "
            f"{level_sql(self.levels)} AS level, kept FROM ({rows}) WHERE one <> other"
        )
        return (
            f"SELECT one, other, min(level) AS level FROM ({pairs}) GROUP BY one, other "
            "HAVING count(level) = count(*) AND bool_or(kept)"
        )


def read_pairs(engine: DuckDBEngine, reading: EdgeRead, nodes: Nodes) -> Pairs:
    """Read every edge once."""
    found = engine.arrays(reading.statement)
    ends = np.array([nodes.places(names_of(found[end])) for end in ("one", "other")], dtype=np.int64)
    inside = (ends >= 0).all(axis=0)
    level = np.asarray(found["level"], dtype=np.int64)
    return Pairs(reading.levels, len(nodes), ends[:, inside], level[inside])


class TriangleEngine:
    """The triangles of a graph, listed once inside the engine; only those that are asked for come out."""

    def __init__(self, pairs: Pairs) -> None:
        degrees = pairs.degrees()
        rank = np.empty(pairs.nodes, dtype=np.int64)
        rank[np.argsort(degrees, kind="stable")] = np.arange(pairs.nodes)  # few edges start at a busy node
        ends = np.sort(rank[pairs.ends], axis=0)
        self._edges = len(pairs.level)
        self._scratch = Scratch(
            edges={
                "id": np.arange(self._edges, dtype=np.int32),
                "a": ends[0].astype(np.int32),
                "b": ends[1].astype(np.int32),
                "level": pairs.level.astype(np.int16),
            }
        )
        self._scratch.execute(
            "CREATE TABLE triangles AS "
            "SELECT p.id AS x, q.id AS y, r.id AS z, least(p.level, q.level, r.level) AS level "
            "FROM edges p JOIN edges q ON p.a = q.a AND p.b < q.b JOIN edges r ON r.a = p.b AND r.b = q.b"
        )

    def total(self) -> int:
        """Return how many triangles there are."""
        return int(self._scratch.arrays("SELECT count(*) AS total FROM triangles")["total"][0])

    def loads(self) -> Integers:
        """Return, for each edge, how many triangles it is part of."""
        found = self._scratch.arrays(
            "SELECT id, count(*) AS load FROM (SELECT x AS id FROM triangles "
            "UNION ALL SELECT y FROM triangles UNION ALL SELECT z FROM triangles) GROUP BY id"
        )
        loads = np.zeros(self._edges, dtype=np.int64)
        loads[np.asarray(found["id"])] = np.asarray(found["load"])
        return loads

    def touching(self, records: NDArray[Any]) -> Integers:
        """Return the triangles that have an edge among these: three edges a row."""
        chosen = "(SELECT edge FROM edge)"
        found = self._scratch.arrays(
            f"SELECT x, y, z FROM triangles WHERE x IN {chosen} OR y IN {chosen} OR z IN {chosen}",
            edge=records.astype(np.int32),
        )
        return np.array([found[name] for name in ("x", "y", "z")], dtype=np.int64).T

    def by_level(self) -> dict[int, int]:
        """Return how many triangles there are for each least level among their edges."""
        found = self._scratch.arrays("SELECT level, count(*) AS count FROM triangles GROUP BY level")
        return dict(zip(found["level"].tolist(), found["count"].tolist(), strict=True))
