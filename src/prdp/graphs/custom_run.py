"""A caller's own mechanism on a graph, or on rows that name records: Algorithm 2 with any M."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from prdp.cells.edges import Integers, Nodes, Pairs
from prdp.cells.summary import Summary
from prdp.declare.exact import Exact, exact_share
from prdp.expressions.nodes import Node
from prdp.levels import PER_OCTAVE, Levels
from prdp.noise.entropy import Entropy
from prdp.plan.methods import failure_rate, read_split
from prdp.plan.reads import PlanReader
from prdp.policy import Policy
from prdp.schema import Bounds
from prdp.tables.custom import (
    CustomPlan,
    Mechanism,
    own_name,
    refuse_unless_mechanism,
    refuse_unless_run,
    shuffled,
)


@dataclass(frozen=True, slots=True)
class KeptFacts:
    """Public facts about the records of a graph or of links."""

    policy: Policy
    levels: Levels
    where: Node | None
    source: str
    snapshot: str
    bounds: Bounds = field(default_factory=dict)
    over: tuple[str, ...] = ()

    def region(self) -> str | None:
        """Charge everybody: a result may use any record."""
        return None


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The input of a mechanism once the domain is known.

    Attributes:
        read: What is read of the source.
        counted: The records, each counting 1.
        rows: From what was read, the first level that is kept, the source and entropy, an Arrow table.
        columns: The columns that name its records.
    """

    read: Any
    counted: Callable[[Any], Summary]
    rows: Callable[[Any, int, Any, Entropy], Any]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptRunPlan(CustomPlan):
    """The plan to run a caller's mechanism on what the records that the framework keeps make up."""

    kept: KeptRows = field(kw_only=True)

    def _counted(self, reader: PlanReader) -> Summary:
        (found,) = reader.read(self.kept.read)
        return self.kept.counted(found)

    def _kept_rows(self, reader: PlanReader, domain: int, epsilon: Fraction, entropy: Entropy) -> Any:  # noqa: ARG002
        (found,) = reader.read(self.kept.read)
        return self.kept.rows(found, PER_OCTAVE * (domain - 1), reader.source, entropy)

    def _statements(self, source: Any) -> tuple[Iterable[str], Iterable[str]]:
        return self.kept.read.shown(source), ()


def kept_run_plan(
    facts: KeptFacts,
    kept: KeptRows,
    mechanism: Mechanism,
    share: Exact,
    options: Mapping[str, Any],
) -> KeptRunPlan:
    """Return the plan of a mechanism's run, or refuse it by public facts."""
    refuse_unless_run(options["name"])
    refuse_unless_mechanism(mechanism, {})
    return KeptRunPlan(
        planner=facts,
        mechanism=mechanism,
        columns=kept.columns,
        share=exact_share(share),
        split=read_split(options["split"]),
        beta=failure_rate(options["beta"]),
        sample=False,
        name=options["name"] or own_name(mechanism),
        named=options["name"] is not None,
        kept=kept,
    )


def edge_rows(pairs: Pairs, least: int, nodes: Nodes, columns: tuple[str, str], entropy: Entropy) -> Any:
    """Return the edges from a level on as an Arrow table, one row an edge, in random order."""
    import pyarrow  # noqa: PLC0415  (an extra)

    ends = pairs.from_level(least).ends
    order = shuffled(np.arange(ends.shape[1]), entropy)
    sides = np.sort(ends[:, order], axis=0)
    names = [[nodes.values[place] for place in side.tolist()] for side in sides]
    kind = pyarrow.string() if nodes.are_texts else pyarrow.int64()
    return pyarrow.table(
        {column: pyarrow.array(side, kind) for column, side in zip(columns, names, strict=True)}
    )


def linked_rows(rows: Integers, level: Integers, least: int, entropy: Entropy) -> Any:
    """Return the results that use records from a level on alone: a list of records each, in random order.

    Records are numbered anew by chance, so that a number tells nothing of a record that was dropped.
    """
    import pyarrow  # noqa: PLC0415  (an extra)

    kept = np.flatnonzero(level >= least)
    number = np.full(len(level) + 1, -1, dtype=np.int64)
    number[shuffled(kept, entropy)] = np.arange(len(kept))
    whole = np.append(level >= least, True)[rows].all(axis=1) & (rows >= 0).any(axis=1)
    results = number[rows[whole]]
    order = shuffled(np.arange(len(results)), entropy)
    lists = [sorted(record for record in row if record >= 0) for row in results[order].tolist()]
    return pyarrow.table({"records": pyarrow.array(lists, pyarrow.list_(pyarrow.int64()))})
