"""A graph whose edges are private: counts of edges, paths, stars and triangles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from prdp.cells.edges import Nodes, Pairs
from prdp.declare.columns import Number, default_name, known_column, read_bounds, refuse_unless_mappings
from prdp.declare.exact import Exact, exact_share
from prdp.engines._graphs import EdgeRead, TriangleEngine
from prdp.engines.duckdb import DuckDBEngine, open_source
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import canonical
from prdp.ledger import Binding, Ledger
from prdp.mechanisms._packing import solver
from prdp.mechanisms._results import FixedWeights, Packed
from prdp.mechanisms._stars import CutStars
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.smooth import Smooth
from prdp.mechanisms.truncate import Truncate, Truncation
from prdp.methods import Chosen
from prdp.plan.asked import Asked, said
from prdp.plan.explain import Whose
from prdp.plan.left_out import leaves_out
from prdp.plan.methods import Method, MethodTerms, Options
from prdp.plan.plan import Plan
from prdp.plan.planner import known_method, plan_of_one
from prdp.plan.reads import PlanReader, Whole
from prdp.policy import Policy
from prdp.release.release import Release
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.schema import Kind, Schema
from prdp.tables.nodes import described, read_nodes
from prdp.tables.opened import Opened
from prdp.tables.opening import account_of, fitted_policy, name_of, narrowed, read_edition
from prdp.tables.roles import refuse_private_nodes

MOST_NODES = 1_000_000
"""Up to so many public nodes triangles are cut by a linear program; beyond, at public weights."""

MOST_STAR = 16
"""The largest stars that are counted."""


@dataclass(frozen=True, slots=True)
class EdgeSource:
    """A table of edges between public nodes, as a reader reads it."""

    engine: DuckDBEngine
    nodes: Nodes

    def ensure_there(self) -> None:
        """Refuse a source that has changed."""
        self.engine.ensure_there()

    def shown(self, read: EdgeRead) -> tuple[str, ...]:
        """Return the statement of a read."""
        return self.engine.shown(read)


@dataclass(frozen=True, slots=True)
class CutRead(Whole):
    """A count of what edges make together, with what cuts it."""

    query: Asked
    edges: EdgeRead

    def find(self, reader: PlanReader) -> tuple[Truncation]:
        """Return the count that is to be cut."""
        (pairs,), nodes = reader.read(self.edges), len(reader.source.nodes)
        if isinstance(self.query, Triangles):
            form = Packed if nodes <= MOST_NODES else FixedWeights
            return (form(pairs.levels, pairs.level, TriangleEngine(pairs), max(1, nodes - 2)),)
        return (CutStars.of(pairs, self.query.size if isinstance(self.query, Stars) else 2),)

    def shown(self, source: EdgeSource) -> tuple[str, ...]:
        """Return the statement for the edges."""
        return self.edges.shown(source)


def _pairs(terms: MethodTerms) -> EdgeRead:
    read: EdgeRead = terms.entry
    return read


def _cut(terms: MethodTerms) -> CutRead:
    return CutRead(terms.query, terms.entry)


def _clip(terms: MethodTerms) -> Clip:
    return Clip.tuned(terms.share)


def _truncate(terms: MethodTerms) -> Truncate:
    return Truncate.tuned(terms.share)


class GraphQuery(Asked):
    """A query of a graph."""


class Edges(GraphQuery):
    """The number of edges."""

    methods = (Method("clip", _clip, reads=_pairs, sees=Pairs.summary),)


@dataclass(frozen=True, slots=True)
class Stars(GraphQuery):
    """The number of sets of ``size`` edges that meet in a node.

    >>> str(Stars(3)), [method.name for method in Stars.methods]
    ('stars of 3 edges', ['truncate'])
    """

    size: int

    methods: ClassVar[tuple[Method, ...]] = (Method("truncate", _truncate, reads=_cut),)

    def __str__(self) -> str:
        return f"stars of {self.size} edges"

    @property
    def facts(self) -> dict[str, Any]:
        """The stars and their size."""
        return said(self) | {"size": self.size}


@dataclass(frozen=True, slots=True)
class Paths(GraphQuery):
    """The number of pairs of edges that meet in a node.

    >>> str(Paths()), [method.name for method in Paths.methods]
    ('paths of 2 edges', ['truncate', 'framework'])
    """

    length: int = 2

    methods: ClassVar[tuple[Method, ...]] = (
        Method("truncate", _truncate, reads=_cut),
        Method("framework", lambda terms: Smooth.over(terms.levels), reads=_pairs),
    )

    def __str__(self) -> str:
        return f"paths of {self.length} edges"

    @property
    def facts(self) -> dict[str, Any]:
        """The paths and their length."""
        return said(self) | {"size": self.length}


class Triangles(GraphQuery):
    """The number of triples of edges that close a triangle."""

    methods = (Method("truncate", _truncate, reads=_cut),)


def edges() -> Edges:
    """Ask a graph for the number of its edges.

    >>> str(edges())
    'edges'
    """
    return Edges()


def paths(length: int = 2) -> Paths:
    """Ask a graph for the number of its paths of ``length`` edges; 2 is what can be counted.

    >>> str(paths())
    'paths of 2 edges'
    """
    return Paths(length)


def stars(size: int) -> Stars:
    """Ask a graph for the number of sets of ``size`` edges that meet in a node.

    >>> str(stars(3))
    'stars of 3 edges'
    """
    return Stars(size)


def triangles() -> Triangles:
    """Ask a graph for the number of its triangles.

    >>> str(triangles())
    'triangles'
    """
    return Triangles()


def open_graph(
    edges: object,
    *,
    source: str,
    target: str,
    nodes: object,
    policy: Policy | str,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    types: Mapping[str, str] | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    who: str | None = None,
    edition: str | None = None,
    stand_in: bool = False,
) -> Graph:
    """Open a table of edges for private questions about the graph. Reads no edge.

    A record is a pair of two different public nodes, whichever way round and in however many rows it stands.
    Its budget is the least of its rows'; a row without a valid budget leaves its pair out.

    >>> import numpy
    >>> import prdp
    >>> calls, one = {"a": numpy.array([0, 1, 2]), "b": numpy.array([1, 2, 0])}, prdp.Policy.constant(1)
    >>> prdp.open_graph(calls, source="a", target="b", nodes=range(5), policy=one)  # doctest: +ELLIPSIS
    <prdp graph ... on 5 nodes: Policy('1', ...); a, b; all of every budget left>

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
        edition: As in ``prdp.open``.
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
    reading = EdgeRead(*ends, checked, checked.levels, None)
    account = account_of(ledger, Binding(facts), who, edges, stand_in=stand_in)
    reader = Reader(EdgeSource(engine, known), stand_in)
    return Graph(reading, called, account, reader, read_edition(edition))


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Opened):
    """A graph that answers with releases; what ``prdp.open_graph`` returns."""

    _reading: EdgeRead
    name: str
    ledger: Ledger
    _reader: Reader
    edition: str = ""

    @property
    def schema(self) -> Schema:
        """The columns of the edges' table and their types."""
        return dict(self._reader.source.engine.schema)

    @property
    def policy(self) -> Policy:
        """The public budget of an edge."""
        return self._reading.policy

    @property
    def _title(self) -> str:
        where = "" if self._reading.where is None else f" where {canonical(self._reading.where)}"
        return f"{self._called} graph {self.name!r} on {len(self._reader.source.nodes):,} nodes{where}"

    @property
    def _shown_schema(self) -> Schema:
        return self.schema

    @property
    def _shown_policies(self) -> Mapping[str, Policy]:
        return {"": self.policy}

    def where(self, condition: str) -> Graph:
        """Return the graph of those pairs alone that have a row for which a condition holds."""
        where = narrowed(self._reading.where, condition, self._reader.source.engine.schema)
        return replace(self, _reading=replace(self._reading, where=where))

    def edges(self, *, share: Exact, fresh: bool = False) -> Release:
        """Count the edges; arguments as in ``Table.count``."""
        return self._answered(Edges(), share, fresh=fresh)

    def paths(
        self, length: int = 2, *, share: Exact, method: Chosen = "truncate", fresh: bool = False
    ) -> Release:
        """Count the paths of two edges.

        >>> import numpy
        >>> import prdp
        >>> calls, one = {"a": numpy.array([0, 1]), "b": numpy.array([1, 2])}, prdp.Policy.constant(1)
        >>> prdp.open_graph(calls, source="a", target="b", nodes=range(5), policy=one).paths(3, share="1/4")
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: paths(3): paths of 2 edges can be counted, others cannot yet.

        Args:
            length: 2; longer paths are not counted yet.
            share: The part of every edge's budget to use.
            method: ``"truncate"``, or ``"framework"``: the paper's Algorithm 2 with a smooth bound.
            fresh: Pay for a new answer although this question has been answered before.
        """
        return self._answered(Paths(length), share, method, fresh=fresh)

    def stars(self, size: int, *, share: Exact, fresh: bool = False) -> Release:
        """Count the sets of ``size`` edges that meet in a node; arguments as in ``paths``."""
        return self._answered(Stars(size), share, fresh=fresh)

    def triangles(self, *, share: Exact, fresh: bool = False) -> Release:
        """Count the triangles; arguments as in ``paths``. Needs SciPy: ``pip install 'prdp[joins]'``."""
        return self._answered(Triangles(), share, fresh=fresh)

    def plan(self, query: GraphQuery, share: Exact, method: Chosen | None = None) -> Plan:
        """Return what would answer a query, or refuse by public facts; reads and charges nothing."""
        part = exact_share(share)
        if not isinstance(query, GraphQuery):
            raise InvalidRequest(
                "a graph answers prdp.edges(), prdp.paths(2), prdp.stars(3), prdp.triangles()."
            )
        row = known_method(query, Options.of(method))
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
        reading = self._reading
        terms = MethodTerms(reading.policy, reading.levels, {}, query, None, part, entry=reading)
        source = self._reader.source.engine.source
        planned = plan_of_one(terms, row, leaves_out(reading.policy, {}))
        return Plan((planned,), part, reading.where, source=source, edition=self.edition)

    def explain(self, query: GraphQuery, *, share: Exact, method: Chosen | None = None) -> str:
        """Return what would be charged, read and drawn for a query; reads and charges nothing."""
        record = f"a pair of the {len(self._reader.source.nodes):,} public nodes, with all of its rows"
        tables = (("prdp_records", f"{self.name}, of which pairs of public nodes take part"),)
        return self._explained(self.plan(query, share, method), Whose(record, "proofs/joins.md", tables))

    def _answered(
        self, query: GraphQuery, share: Exact, method: Chosen | None = None, *, fresh: bool
    ) -> Release:
        plan = self.plan(query, share, method)
        return plan.one(answer(self.ledger, plan, self._reader, fresh=fresh))
