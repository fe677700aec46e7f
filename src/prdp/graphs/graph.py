"""A graph whose edges are private: counts of edges, paths, stars and triangles."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from prdp.cells.edges import Integers, Nodes, Pairs
from prdp.declare.columns import Number, default_name, known_column, read_bounds, refuse_unless_mappings
from prdp.declare.exact import Exact, exact_share
from prdp.engines.duckdb.database import connected, guarded
from prdp.engines.duckdb.engine import open_source
from prdp.engines.progress import watched
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import Arrays, level_sql
from prdp.engines.tracing import source_origins
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node, canonical
from prdp.expressions.tokens import quoted
from prdp.graphs.custom_run import KeptFacts, KeptRows, edge_rows, kept_run_plan
from prdp.graphs.link_statements import name_sql, names_of
from prdp.graphs.results import CutStars, FixedWeights, Packed
from prdp.ledger import Binding, Ledger
from prdp.levels import Levels
from prdp.mechanisms._packing import solver
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.framework import LaplaceCount, PaperFramework
from prdp.mechanisms.kept_results import KeptResults, UsedRecords
from prdp.mechanisms.smooth import Smooth
from prdp.mechanisms.truncate import Truncate, Truncation
from prdp.methods import Chosen
from prdp.plan.explain import Whose
from prdp.plan.labels import excluded_records
from prdp.plan.methods import Method, MethodTerms, Options, failure_rate, read_split
from prdp.plan.plan import Plan
from prdp.plan.planner import known_method, plan_of_one
from prdp.plan.queries import Asked, arguments
from prdp.plan.reads import PlanReader, Whole
from prdp.policy import Policy
from prdp.release.release import Release
from prdp.release.table import CustomRelease
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.schema import Kind, Schema
from prdp.tables.arguments import (
    AccountOptions,
    account_of,
    fitted_policy,
    name_of,
    narrowed,
    read_snapshot,
    refuse_private_nodes,
)
from prdp.tables.custom import Mechanism
from prdp.tables.queryable import Opened
from prdp.tables.source_registry import OpenedSource

MAX_COUNTED = 50_000_000
"""Public nodes that fit into memory; more would fail after the charge."""

_AT_ONCE = 1 << 20

_ADVICE = "Write nodes=range(1000), a list of whole numbers or of texts, or a public table of one column."


def read_nodes(given: object) -> Nodes:
    """Return the node set that a range, a list, an array or a public table of one column says."""
    if isinstance(given, range):
        nodes = Nodes(_ascending(given))
    elif given is None or isinstance(given, int | Iterator):
        shown = repr(given) if given is None or isinstance(given, int) else "an iterator"
        raise InvalidRequest(f"nodes= is {shown}, not a set of nodes. {_ADVICE}")
    else:
        names = _listed(given) if _is_list(given) else _column(given)
        _refuse_too_many(len(names))
        if len(set(names)) != len(names):
            raise InvalidRequest("nodes= names a node twice. Each node of the public set comes once.")
        texts = bool(names) and isinstance(names[0], str)
        nodes = Nodes(tuple(sorted(names)) if texts else np.array(sorted(names), dtype=np.int64))
    if len(nodes) < 2:
        raise InvalidRequest(f"nodes= holds {len(nodes)} nodes; an edge needs two. {_ADVICE}")
    return nodes


def described(nodes: Nodes) -> str:
    """Return the node set in a few words, different for different sets."""
    digest = sha256(b"texts" if nodes.are_texts else b"whole numbers")
    if isinstance(nodes.values, tuple):
        for text in nodes.values:
            name = text.encode()
            digest.update(len(name).to_bytes(8, "little") + name)
    else:
        for first in range(0, len(nodes), _AT_ONCE):
            digest.update(np.array(nodes.values[first : first + _AT_ONCE], dtype="<i8").tobytes())
    return f"{len(nodes)} nodes, SHA-256 {digest.hexdigest()[:16]}"


def _ascending(given: range) -> range:
    nodes = given if given.step > 0 else given[::-1]
    _refuse_too_many(-((nodes.start - nodes.stop) // nodes.step))  # len() cannot count every range
    if nodes and not -(2**63) <= nodes[0] <= nodes[-1] < 2**63:
        raise InvalidRequest(f"nodes= holds whole numbers beyond 64 bits. {_ADVICE}")
    return nodes


def _refuse_too_many(number: int) -> None:
    if number > MAX_COUNTED:
        raise InvalidRequest(
            f"nodes= holds {number:,} nodes; at most {MAX_COUNTED:,} can be counted with. Leave out those "
            "that no edge can touch, by what is public."
        )


def _is_list(given: object) -> bool:
    if isinstance(given, np.ndarray):
        return True
    is_table = isinstance(given, str | dict | Path) or hasattr(given, "columns")
    return isinstance(given, Collection) and not is_table


def _listed(given: Any) -> list[Any]:
    if isinstance(given, np.ndarray) and given.ndim != 1:
        raise InvalidRequest(f"nodes= has {given.ndim} dimensions. {_ADVICE}")
    names = given.tolist() if isinstance(given, np.ndarray) else [_plain(name) for name in given]
    kinds = {type(name) for name in names}
    if not kinds <= {int} and not kinds <= {str}:
        raise InvalidRequest(f"nodes= holds neither whole numbers alone nor texts alone. {_ADVICE}")
    if str in kinds and not all(map(_is_unicode, names)):
        raise InvalidRequest(f"nodes= holds a text that cannot be written as Unicode. {_ADVICE}")
    if int in kinds and not all(-(2**63) <= name < 2**63 for name in names):
        raise InvalidRequest(f"nodes= holds whole numbers beyond 64 bits. {_ADVICE}")
    return names


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _column(given: object) -> list[Any]:
    """Read the one column of a public table."""
    engine = open_source(given, None)
    if len(engine.schema) != 1:
        raise InvalidRequest(f"nodes= is a table of {len(engine.schema)} columns. {_ADVICE}")
    ((name, kind),) = engine.schema.items()
    if not kind.integer and kind.kind is not Kind.TEXT:
        raise InvalidRequest(f"nodes= holds {kind.native}. {_ADVICE}")
    cast = f"TRY_CAST({quoted(name)} AS {'BIGINT' if kind.integer else 'VARCHAR'}) AS node"
    values = engine.arrays(lambda table, _: f"SELECT {cast} FROM {table}")["node"]
    names: list[Any] = np.ma.asarray(values).tolist()
    if None in names:
        raise InvalidRequest("nodes= has a node without a name (NULL), or one beyond 64 bits. Leave it out.")
    return names


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


def read_pairs(engine: SqlEngine, reading: EdgeRead, nodes: Nodes) -> Pairs:
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
        """Return the number of triangles."""
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
        """Return the number of triangles for each least level among their edges."""
        found = self._scratch.arrays("SELECT level, count(*) AS count FROM triangles GROUP BY level")
        return dict(zip(found["level"].tolist(), found["count"].tolist(), strict=True))


class Scratch:
    """A database of our own, for what must be joined again and again after the records were read."""

    def __init__(self, **tables: Mapping[str, NDArray[Any]]) -> None:
        self._connection = connected()
        self._lock = threading.Lock()
        guarded(lambda: [self._filled(name, columns) for name, columns in tables.items()], self._lock)

    def _filled(self, name: str, columns: Mapping[str, NDArray[Any]]) -> str:
        self._connection.register("prdp_given", dict(columns))
        self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM prdp_given")
        self._connection.unregister("prdp_given")
        return name

    def arrays(self, sql: str, **given: NDArray[Any]) -> Arrays:
        """Read what a statement gives, column by column; ``given`` arrays are tables of one column."""

        def run() -> Arrays:
            for name, column in given.items():
                self._connection.register(name, {name: column})
            try:
                return self._connection.execute(sql).fetchnumpy()
            finally:
                for name in given:
                    self._connection.unregister(name)

        found: Arrays = guarded(run, self._lock)
        return found

    def execute(self, sql: str) -> None:
        """Run a statement that gives nothing."""
        guarded(lambda: self._connection.execute(sql).fetchall(), self._lock)


MAX_PACKED = 1_000_000
"""Public nodes up to which triangles are cut by a linear program; beyond, at public weights."""

MAX_STAR = 16
"""The largest stars that are counted."""


@dataclass(frozen=True, slots=True)
class EdgeSource:
    """A table of edges between public nodes, as a reader reads it."""

    engine: SqlEngine
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
        return (self.cut(pairs, nodes),)

    def cut(self, pairs: Pairs, nodes: int) -> Truncation:
        """Return the count of a graph, to be cut."""
        if isinstance(self.query, Triangles):
            form = Packed if nodes <= MAX_PACKED else FixedWeights
            engine = TriangleEngine(pairs)
            return form(pairs.levels, pairs.level, engine, max(1, nodes - 2), during=watched)
        return CutStars.of(pairs, self.query.size if isinstance(self.query, Stars) else 2)

    def shown(self, source: EdgeSource) -> tuple[str, ...]:
        """Return the statement for the edges."""
        return self.edges.shown(source)


@dataclass(frozen=True, slots=True)
class KeptRead(CutRead):
    """The same count for the framework: of the edges from a level on, once that level is drawn."""

    def find(self, reader: PlanReader) -> tuple[UsedRecords]:  # type: ignore[override]
        """Return the edges, with the count of those that will be kept."""
        (pairs,), nodes = reader.read(self.edges), len(reader.source.nodes)
        return (UsedRecords(pairs.levels, pairs.level, lambda level: self.cut(pairs.at_level(level), nodes)),)


def _framework_options(terms: MethodTerms) -> tuple[Fraction, Fraction]:
    return read_split(terms.options.split), failure_rate(terms.options.beta)


def _kept_results(terms: MethodTerms) -> KeptResults:
    return KeptResults(*_framework_options(terms))


def _kept_edges(terms: MethodTerms) -> PaperFramework:
    return PaperFramework(LaplaceCount(), *_framework_options(terms))


def _smooth(terms: MethodTerms) -> Smooth:
    return Smooth.over(terms.levels, *_framework_options(terms))


def _kept(terms: MethodTerms) -> KeptRead:
    return KeptRead(terms.query, terms.entry)


FRAMEWORK_OPTIONS = ("beta", "split")
_KEPT = Method("framework", _kept_results, reads=_kept, options=FRAMEWORK_OPTIONS)


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

    methods = (
        Method("clip", _clip, reads=_pairs, select_input=Pairs.summary),
        Method("framework", _kept_edges, reads=_pairs, select_input=Pairs.summary, options=FRAMEWORK_OPTIONS),
    )


@dataclass(frozen=True, slots=True)
class Stars(GraphQuery):
    """The number of sets of ``size`` edges that meet in a node.

    >>> str(Stars(3)), [method.name for method in Stars.methods]
    ('stars of 3 edges', ['truncate', 'framework'])
    """

    size: int

    methods: ClassVar[tuple[Method, ...]] = (Method("truncate", _truncate, reads=_cut), _KEPT)

    def __str__(self) -> str:
        return f"stars of {self.size} edges"

    @property
    def facts(self) -> dict[str, Any]:
        """The stars and their size."""
        return arguments(self) | {"size": self.size}


@dataclass(frozen=True, slots=True)
class Paths(GraphQuery):
    """The number of pairs of edges that meet in a node.

    >>> str(Paths()), [method.name for method in Paths.methods]
    ('paths of 2 edges', ['truncate', 'framework'])
    """

    length: int = 2

    methods: ClassVar[tuple[Method, ...]] = (
        Method("truncate", _truncate, reads=_cut),
        Method("framework", _smooth, reads=_pairs, options=FRAMEWORK_OPTIONS),
    )

    def __str__(self) -> str:
        return f"paths of {self.length} edges"

    @property
    def facts(self) -> dict[str, Any]:
        """The paths and their length."""
        return arguments(self) | {"size": self.length}


class Triangles(GraphQuery):
    """The number of triples of edges that close a triangle."""

    methods = (Method("truncate", _truncate, reads=_cut), _KEPT)


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


def open(  # noqa: A001  (prdp.graphs.open is what users call it)
    edges: object,
    *,
    source: str,
    target: str,
    nodes: object,
    policy: Policy | Exact,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    types: Mapping[str, str] | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    must_exist: bool | None = None,
    separate_account: bool = False,
    who: str | None = None,
    snapshot: str | None = None,
    synthetic: bool = False,
) -> Graph:
    """Open a table of edges for private questions about the graph. Reads no edge.

    A record is a pair of two different public nodes, in either order and in any number of rows.
    Its budget is the least of its rows'; a row without a valid budget leaves its pair out.

    >>> import numpy
    >>> import prdp
    >>> calls, one = {"a": numpy.array([0, 1, 2]), "b": numpy.array([1, 2, 0])}, prdp.Policy.constant(1)
    >>> prdp.graphs.open(calls, source="a", target="b", nodes=range(5), policy=one)  # doctest: +ELLIPSIS
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
        must_exist: As in ``prdp.open``.
        separate_account: As in ``prdp.open``.
        who: As in ``prdp.open``.
        snapshot: As in ``prdp.open``.
        synthetic: As in ``prdp.open``.

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
    checked.refuse_unless_pure("a graph")
    called = name_of(name, default_name(edges))
    facts = {
        **Binding.of(called, schema, checked, pairs, {}).facts,
        "edges": list(ends),
        "nodes": described(known),
    }
    reading = EdgeRead(*ends, checked, checked.levels, None)
    kept = AccountOptions(ledger, who, must_exist, synthetic, separate_account)
    account = account_of(kept, Binding(facts), OpenedSource(edges, partial(source_origins, edges)))
    reader = Reader(EdgeSource(engine, known), synthetic)
    return Graph(reading, called, account, reader, read_snapshot(snapshot))


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Opened):
    """A graph that answers with releases; what ``prdp.graphs.open`` returns."""

    _reading: EdgeRead
    name: str
    ledger: Ledger
    _reader: Reader
    snapshot: str = ""

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

    def filter(self, condition: str) -> Graph:
        """Return the graph of those pairs alone that have a row for which a condition holds."""
        where = narrowed(self._reading.where, condition, self._reader.source.engine.schema)
        return replace(self, _reading=replace(self._reading, where=where))

    def edges(self, *, share: Exact, method: Chosen = "clip", redraw: bool = False) -> Release:
        """Count the edges; arguments as in ``Table.count``."""
        return self._answered(Edges(), share, method, redraw=redraw)

    def paths(
        self, length: int = 2, *, share: Exact, method: Chosen = "truncate", redraw: bool = False
    ) -> Release:
        """Count the paths of two edges.

        >>> import numpy
        >>> import prdp
        >>> calls, one = {"a": numpy.array([0, 1]), "b": numpy.array([1, 2])}, prdp.Policy.constant(1)
        >>> prdp.graphs.open(calls, source="a", target="b", nodes=range(5), policy=one).paths(3, share="1/4")
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: paths(3): paths of 2 edges can be counted, others cannot yet.

        Args:
            length: 2; longer paths are not counted yet.
            share: The part of every edge's budget to use.
            method: ``"truncate"``, or ``"framework"``: the paper's Algorithm 2 with a smooth bound; with its
                options, ``prdp.methods.Framework(split="1/2", beta="1/20")``.
            redraw: Pay for a new answer although this question has been answered before.
        """
        return self._answered(Paths(length), share, method, redraw=redraw)

    def stars(self, size: int, *, share: Exact, method: Chosen = "truncate", redraw: bool = False) -> Release:
        """Count the sets of ``size`` edges that meet in a node; arguments as in ``paths``.

        Here ``"framework"`` runs ``truncate`` on the edges that it keeps, at one budget for all of them.
        """
        return self._answered(Stars(size), share, method, redraw=redraw)

    def triangles(self, *, share: Exact, method: Chosen = "truncate", redraw: bool = False) -> Release:
        """Count the triangles; arguments as in ``stars``. Needs SciPy: ``pip install 'prdp[joins]'``."""
        return self._answered(Triangles(), share, method, redraw=redraw)

    def run(
        self,
        mechanism: Mechanism,
        *,
        share: Exact,
        split: Exact | None = None,
        beta: Exact | None = None,
        name: str | None = None,
        redraw: bool = False,
    ) -> CustomRelease:
        """Run a mechanism of your own on the edges that the paper's framework keeps (Algorithm 2).

        Args:
            mechanism: A function of (edges, epsilon, beta): an Arrow table of the two ends of each edge, the
                smaller node first, and two Fractions. It must be epsilon-DP for adding or removing one edge:
                **that is your promise**, and the guarantee depends on it.
            share: The part of every edge's budget to use.
            split: The part of the share that finds the edges to keep; by default 1/4.
            beta: The failure rate, by default 1/10; it is passed on to the mechanism.
            name: As in ``Table.run``.
            redraw: As in ``Table.run``.
        """
        reading = self._reading
        ends = (reading.source, reading.target)
        source = self._reader.source.engine.source
        facts = KeptFacts(reading.policy, reading.levels, reading.where, source, self.snapshot)
        kept = KeptRows(
            reading,
            Pairs.summary,
            lambda pairs, least, source, entropy: edge_rows(pairs, least, source.nodes, ends, entropy),
            ends,
        )
        options = {"split": split, "beta": beta, "name": name}
        plan = kept_run_plan(facts, kept, mechanism, share, options)
        return plan.own(answer(self.ledger, plan, self._reader, redraw=redraw))

    def plan(self, query: GraphQuery, share: Exact, method: Chosen | None = None) -> Plan:
        """Return the mechanism that would answer a query, or refuse by public facts; reads nothing."""
        part = exact_share(share)
        if not isinstance(query, GraphQuery):
            raise InvalidRequest(
                "a graph answers edges(), paths(2), stars(3) and triangles() of prdp.graphs."
            )
        options = Options.of(method)
        row = known_method(query, options)
        if isinstance(query, Paths) and query.length != 2:
            raise InvalidRequest(
                f"paths({query.length!r}): paths of 2 edges can be counted, others cannot yet."
            )
        if isinstance(query, Stars):
            size = query.size
            if not isinstance(size, int) or isinstance(size, bool) or not 2 <= size <= MAX_STAR:
                raise InvalidRequest(f"stars({size!r}): a star has 2 to {MAX_STAR} edges here.")
        if isinstance(query, Triangles):
            solver()
        reading = self._reading
        terms = MethodTerms(reading.policy, reading.levels, {}, query, None, part, options, entry=reading)
        source = self._reader.source.engine.source
        planned = plan_of_one(terms, row, excluded_records(reading.policy, {}))
        return Plan((planned,), part, reading.where, source=source, snapshot=self.snapshot)

    def explain(self, query: GraphQuery, *, share: Exact, method: Chosen | None = None) -> str:
        """Return the plan of a query: charge, reads and draws; reads and charges nothing."""
        record = f"a pair of the {len(self._reader.source.nodes):,} public nodes, with all of its rows"
        tables = (("prdp_records", f"{self.name}, of which pairs of public nodes take part"),)
        return str(self._explained(self.plan(query, share, method), Whose(record, "proofs/joins.md", tables)))

    def _answered(
        self, query: GraphQuery, share: Exact, method: Chosen | None = None, *, redraw: bool
    ) -> Release:
        plan = self.plan(query, share, method)
        return plan.one(answer(self.ledger, plan, self._reader, redraw=redraw))
