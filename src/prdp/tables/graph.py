"""A graph whose edges are private: counts of edges, paths, stars and triangles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from prdp.cells.edges import Nodes, Pairs
from prdp.declare.columns import Number, default_name, known_column, read_bounds, refuse_unless_mappings
from prdp.declare.exact import Exact, exact_share
from prdp.declare.opening import Opened, account_of, fitted_policy, name_of, narrowed
from prdp.declare.schema import Kind
from prdp.engines._graphs import GraphReading, TriangleEngine, read_pairs
from prdp.engines.duckdb import DuckDBEngine, open_source
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node, canonical
from prdp.ledger import Binding, Ledger
from prdp.mechanisms import Clip, Smooth, Truncate
from prdp.mechanisms._domain import DomainFinder
from prdp.mechanisms._packing import solver
from prdp.mechanisms._results import FixedWeights, Packed
from prdp.mechanisms._stars import Stars as CutStars
from prdp.mechanisms.truncate import Truncation
from prdp.noise.entropy import Entropy
from prdp.policy import Policy
from prdp.release.release import Release
from prdp.run.answer import ask, released
from prdp.tables.nodes import described, read_nodes
from prdp.tables.roles import refuse_private_nodes

MOST_NODES = 1_000_000
"""Up to so many public nodes triangles are cut by a linear program; beyond, at public weights."""

MOST_STAR = 16
"""The largest stars that are counted."""


@dataclass(frozen=True, slots=True)
class Edges:
    """How many edges there are."""

    methods = ("clip",)

    def __str__(self) -> str:
        return "edges"


@dataclass(frozen=True, slots=True)
class Stars:
    """How many sets of ``size`` edges meet in a node."""

    size: int

    methods = ("truncate",)

    def __str__(self) -> str:
        return f"stars of {self.size} edges"


@dataclass(frozen=True, slots=True)
class Paths:
    """How many pairs of edges meet in a node."""

    length: int = 2

    methods = ("truncate", "framework")

    def __str__(self) -> str:
        return f"paths of {self.length} edges"


@dataclass(frozen=True, slots=True)
class Triangles:
    """How many triples of edges close a triangle."""

    methods = ("truncate",)

    def __str__(self) -> str:
        return "triangles"


GraphQuery = Edges | Paths | Stars | Triangles


def open_graph(
    edges: object,
    *,
    source: str,
    target: str,
    nodes: object,
    policy: Policy,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    types: Mapping[str, str] | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    who: str | None = None,
    stand_in: bool = False,
) -> Graph:
    """Open a table of edges for private questions about the graph. Reads no edge.

    A record is a pair of two different public nodes, whichever way round and in however many rows it stands.
    Its budget is the least of its rows'; a row without a valid budget leaves its pair out.

    Args:
        edges: A table, as in ``prdp.open``; one row an edge.
        source: The column of one end.
        target: The column of the other.
        nodes: The public node set: a range, a list, an array, or a public table of one column. Edges with
            other ends are left out. They are not read from the edges: who has one is private.
        policy: The public budget of an edge, as a function of its row.
        bounds: For number columns that the policy reads, the public least and greatest value.
        types: As in ``prdp.open``.
        name: As in ``prdp.open``.
        ledger: As in ``prdp.open``.
        who: As in ``prdp.open``.
        stand_in: As in ``prdp.open``.

    Raises:
        InvalidRequest: Something is wrong by public facts alone; the message says what to write.
    """
    refuse_unless_mappings(bounds=bounds, types=types)
    engine = open_source(edges, types)
    schema = engine.schema
    ends = (known_column(source, schema, "source"), known_column(target, schema, "target"))
    if ends[0] == ends[1]:
        raise InvalidRequest(f"source and target are both {ends[0]!r}: an edge has two ends.")
    refuse_private_nodes(edges, nodes)
    known = read_nodes(nodes)
    for end in ends:
        if not (schema[end].kind is Kind.TEXT if known.are_texts else schema[end].integer):
            wanted = "texts" if known.are_texts else "whole numbers"
            raise InvalidRequest(
                f"the nodes are {wanted}, but the column {end!r} holds {schema[end].native}."
            )
    pairs = read_bounds(bounds or {}, schema)
    checked = fitted_policy(policy, schema, pairs)
    called = name_of(name, default_name(edges))
    facts = {
        **Binding.of(called, schema, checked, pairs, {}).facts,
        "edges": list(ends),
        "nodes": described(known),
    }
    reading = GraphReading(*ends, checked, checked.levels, None)
    return Graph(engine, reading, known, called, account_of(ledger, Binding(facts), who, stand_in=stand_in))


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Opened):
    """A graph that answers with releases; what ``prdp.open_graph`` returns."""

    engine: DuckDBEngine
    reading: GraphReading
    nodes: Nodes
    name: str
    ledger: Ledger
    _kept: dict[Node | None, Pairs] = field(default_factory=dict)
    _cut: dict[tuple[Node | None, str], Truncation] = field(default_factory=dict)

    def __repr__(self) -> str:
        where = "" if self.reading.where is None else f" where {canonical(self.reading.where)}"
        nodes = f"{len(self.nodes):,} nodes"
        return f"<{self._called} graph {self.name!r} on {nodes}{where}: {self.reading.policy!r}>"

    def where(self, condition: str) -> Graph:
        """Return the graph of those pairs alone that have a row for which a condition holds."""
        where = narrowed(self.reading.where, condition, self.engine.schema)
        return replace(self, reading=replace(self.reading, where=where))

    def edges(self, *, share: Exact, fresh: bool = False) -> Release:
        """Count the edges; arguments as in ``Table.count``."""
        return ask(self.ledger, self.plan(Edges(), share), fresh=fresh)

    def paths(
        self, length: int = 2, *, share: Exact, method: str = "truncate", fresh: bool = False
    ) -> Release:
        """Count the paths of two edges.

        Args:
            length: 2; longer paths are not counted yet.
            share: The part of every edge's budget to use.
            method: ``"truncate"``, or ``"framework"``: the paper's Algorithm 2 with a smooth bound.
            fresh: Pay for a new answer although this question has been answered before.
        """
        return ask(self.ledger, self.plan(Paths(length), share, method), fresh=fresh)

    def stars(self, size: int, *, share: Exact, fresh: bool = False) -> Release:
        """Count the sets of ``size`` edges that meet in a node; arguments as in ``paths``."""
        return ask(self.ledger, self.plan(Stars(size), share), fresh=fresh)

    def triangles(self, *, share: Exact, fresh: bool = False) -> Release:
        """Count the triangles; arguments as in ``paths``. Needs SciPy: ``pip install 'prdp[joins]'``."""
        return ask(self.ledger, self.plan(Triangles(), share), fresh=fresh)

    def plan(self, query: GraphQuery, share: Exact, method: str | None = None) -> GraphPlan:
        """Return what would answer a query, or refuse by public facts; reads and charges nothing."""
        part = exact_share(share)
        if not isinstance(query, GraphQuery):
            raise InvalidRequest(
                "a graph answers prdp.Edges(), prdp.Paths(2), prdp.Stars(3), prdp.Triangles()."
            )
        chosen = query.methods[0] if method is None else method
        if chosen not in query.methods:
            known = ", ".join(query.methods)
            raise InvalidRequest(f"method={method!r} does not answer this. What does: {known}.")
        if isinstance(query, Paths) and query.length != 2:
            raise InvalidRequest(
                f"paths({query.length!r}): paths of 2 edges can be counted, others cannot yet."
            )
        if isinstance(query, Stars):
            size = query.size
            if not isinstance(size, int) or isinstance(size, bool) or not 2 <= size <= MOST_STAR:
                raise InvalidRequest(f"stars({size!r}): a star has 2 to {MOST_STAR} edges here.")
        if isinstance(query, Triangles):
            solver()
        return GraphPlan(self, query, chosen, part)

    def raw_pairs(self) -> Pairs:
        """Return the edges as they are, for experiments on public data; read once. They protect nobody."""
        where = self.reading.where
        if where not in self._kept:
            self._kept[where] = read_pairs(self.engine, self.reading, self.nodes)
        return self._kept[where]

    def raw_cut(self, query: GraphQuery) -> Truncation:
        """Return the count that is to be cut, as it is; kept for the next question. It protects nobody."""
        key = (self.reading.where, str(query))
        if key not in self._cut:
            pairs = self.raw_pairs()
            if isinstance(query, Triangles):
                form = Packed if len(self.nodes) <= MOST_NODES else FixedWeights
                most = max(1, len(self.nodes) - 2)
                self._cut[key] = form(pairs.levels, pairs.level, TriangleEngine(pairs), most)
            else:
                self._cut[key] = CutStars.of(pairs, query.size if isinstance(query, Stars) else 2)
        return self._cut[key]


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """A question about a graph, ready to be answered."""

    graph: Graph
    query: GraphQuery
    method: str
    share: Fraction

    @property
    def question(self) -> str:
        """The question as the ledger keeps it."""
        asked = {"ask": str(self.query)}
        if self.graph.reading.where is not None:
            asked["where"] = canonical(self.graph.reading.where)
        return json.dumps(asked | {"method": self.method, "share": str(self.share)}, ensure_ascii=False)

    def ensure_there(self) -> None:
        """Refuse a source that has changed."""
        self.graph.engine.ensure_there()

    def releases(self, entropy: Entropy, *, runs: int) -> list[Release]:
        """Read the edges and draw independent answers."""
        where = self.graph.reading.where
        words = str(self.query) + ("" if where is None else f" where {canonical(where)}")
        if self.method == "framework":
            return self._smooth(words, entropy, runs)
        if isinstance(self.query, Edges):
            clip = Clip.tuned(self.share)
            answers = clip.answers(self.graph.raw_pairs().summary(), self.share, entropy, runs)
            caveat = clip.caveat(signed=False)
        else:
            cut = self.graph.raw_cut(self.query)
            answers = Truncate.tuned(self.share).answers(cut, self.share, entropy, runs)
            caveat = Truncate.caveat
        return released(
            answers,
            question=words,
            share=self.share,
            method=self.method,
            caveat=caveat,
            simulated=self.graph.stand_in,
        )

    def _smooth(self, words: str, entropy: Entropy, runs: int) -> list[Release]:
        pairs = self.graph.raw_pairs()
        levels = pairs.levels
        mechanism = Smooth(DomainFinder.over(levels))
        return [
            Release(
                question=words,
                steps=count,
                step=Fraction(1),
                noise_scales=(scale,),
                share=self.share,
                method=self.method,
                caveat="dropped edges can only pull it toward zero",
                choices=(
                    ("kept budgets from", f"{float(levels.domain_quanta(domain) * levels.quantum):.6g} on"),
                ),
                simulated=self.graph.stand_in,
                noise="quartic",
            )
            for count, domain, scale in mechanism.answers(pairs, self.share, entropy, runs)
        ]
