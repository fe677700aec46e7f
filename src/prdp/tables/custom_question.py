"""A caller's own mechanism inside the framework: stage one, the rows that are kept, and what it returns."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from prdp.cells.grids import PER_OCTAVE
from prdp.cells.summary import Summary
from prdp.declare.columns import known_column
from prdp.declare.exact import Exact
from prdp.declare.schema import Kind
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node, canonical
from prdp.expressions.spelling import is_writable, listed
from prdp.ledger import Entry
from prdp.mechanisms._domain import DomainFinder
from prdp.noise.entropy import Entropy
from prdp.noise.sampling import flips, keep_bounds
from prdp.plan.planner import Facts, failure_rate, read_split
from prdp.plan.queries import RowReading
from prdp.tables.custom import ForeignRelease, Mechanism, outcome, refuse_unless_mechanism


@dataclass(frozen=True, slots=True)
class ForeignQuestion:
    """A mechanism with everything that decides its answer's distribution, as far as that is known here."""

    facts: Facts
    mechanism: Mechanism
    columns: tuple[str, ...]
    share: Fraction
    split: Fraction
    beta: Fraction
    sample: bool
    name: str
    named: bool

    def question(self, where: Node | None, source: str) -> str:
        """Return the question as a ledger keeps it, with a word of its own: no other run takes its charge up.

        A charge without an answer may be one whose mechanism ran, and showed something on the way.
        """
        return json.dumps(self._facts(where, source) | {"once": uuid.uuid4().hex}, ensure_ascii=False)

    def standing(self, entries: Sequence[Entry], where: Node | None, source: str) -> ForeignRelease | None:
        """Return the newest answer to a question of the same name, if it has one."""
        for entry in reversed(entries) if self.named else ():
            if isinstance(entry.release, ForeignRelease):
                facts = json.loads(entry.purpose)
                facts.pop("once", None)
                if facts == self._facts(where, source):
                    return entry.release
        return None

    def _facts(self, where: Node | None, source: str) -> dict[str, str]:
        facts = {"ask": self.name, "columns": listed(self.columns)}
        if not self.named:
            facts["named"] = "no"  # a function's own name is no name that an answer can be asked for by
        if source:
            facts["source"] = source
        if where is not None:
            facts["where"] = canonical(where)
        facts |= {"method": "framework", "share": str(self.share), "split": str(self.split)}
        return facts | {"beta": str(self.beta)} | ({"sample": "true"} if self.sample else {})

    def answered(
        self, engine: Engine, counted: Summary, where: Node | None, entropy: Entropy
    ) -> tuple[ForeignRelease, bool]:
        """Find the domain and run the mechanism from it on; return its release, and if it was stopped."""
        levels = self.facts.levels
        (domain,) = DomainFinder.over(levels, self.beta).draw(counted, self.split * self.share, entropy, 1)
        least = levels.domain_quanta(domain) * levels.quantum
        epsilon = (1 - self.split) * self.share * least
        first = PER_OCTAVE * (domain - 1)
        reading = RowReading(self.facts.policy, levels, self.columns, 0 if self.sample else first, where)
        rows, found = engine.rows(reading)
        kept = np.arange(rows.num_rows)
        if self.sample:
            kept = np.flatnonzero(self._sampled(np.asarray(found), first, epsilon, entropy))
        rows = rows.take(_shuffled(kept, entropy)).combine_chunks()
        came = outcome(self.mechanism, rows, epsilon, self.beta)
        words = f"{self.name} of {', '.join(self.columns)}"
        release = ForeignRelease(
            question=words if where is None else f"{words} where {canonical(where)}",
            value=came.value,
            share=self.share,
            epsilon=epsilon,
            choices=(("kept budgets from", f"{float(least):.6g} on"),),
            failed=came.failed,
        )
        return release, came.interrupted

    def _sampled(self, found: Any, first: int, epsilon: Fraction, entropy: Entropy) -> Any:
        """Return which rows take part: all from the first level on, of the others some by exact coins."""
        levels = self.facts.levels
        kept = found >= first
        for level in range(first):  # every level flips, whether or not it has rows
            at = np.flatnonzero(found == level)
            budget = (1 - self.split) * self.share * levels.quanta(level) * levels.quantum
            kept[at] = flips(keep_bounds(budget, epsilon), len(at), entropy)
        return kept


def _shuffled(places: NDArray[np.intp], entropy: Entropy) -> NDArray[np.intp]:
    """Return rows in random order: where a row lay, and in which chunk, depends on rows that were dropped."""
    keys = np.frombuffer(entropy.bytes(16 * len(places)), np.uint64).reshape(-1, 2)
    return places[np.lexsort((keys[:, 1], keys[:, 0]))]


def foreign_question(
    facts: Facts,
    mechanism: Mechanism,
    columns: Sequence[str],
    share: Fraction,
    *,
    split: Exact | None,
    beta: Exact | None,
    sample: bool,
    name: str | None,
) -> ForeignQuestion:
    """Return the question, or refuse it by public facts."""
    if isinstance(columns, str | bytes) or not isinstance(columns, Sequence) or not columns:
        raise InvalidRequest(f"columns={columns!r} lists no columns: write columns=['balance'].")
    known = tuple(known_column(column, facts.schema, "release") for column in columns)
    for column in known:
        if facts.schema[column].kind is Kind.OTHER:
            raise InvalidRequest(
                f"release cannot hand out {column!r}, which holds {facts.schema[column].native}."
            )
    if len(set(known)) < len(known):
        raise InvalidRequest(f"columns={list(columns)!r} lists a column twice.")
    if not isinstance(sample, bool):
        raise InvalidRequest(f"sample={sample!r} is neither True nor False.")
    if name is not None and not _is_name(name):
        raise InvalidRequest(f"name={name!r} is no name, or cannot be written: give a text.")
    if find_spec("pyarrow") is None:
        raise InvalidRequest("release hands rows over as an Arrow table: pip install 'prdp[arrow]'.")
    refuse_unless_mechanism(mechanism, {column: facts.schema[column] for column in known})
    own = getattr(mechanism, "__name__", None)
    return ForeignQuestion(
        facts=facts,
        mechanism=mechanism,
        columns=known,
        share=share,
        split=read_split(split),
        beta=failure_rate(beta),
        sample=sample,
        name=name or (own if _is_name(own) else "mechanism"),
        named=name is not None,
    )


def _is_name(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and bool(name) and is_writable(name)
