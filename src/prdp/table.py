"""A private table: where policy, engine, mechanism and ledger meet, and the only place they do."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from prdp.declared import (
    Number,
    default_name,
    known_column,
    read_bounds,
    read_units,
    refuse_unless_mappings,
)
from prdp.engines.duckdb import open_source
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest, RecordsLeftOut
from prdp.exact import Exact, exact, exact_share
from prdp.expressions.check import check
from prdp.expressions.nodes import Node, canonical, conjunction
from prdp.expressions.parse import parse
from prdp.expressions.spelling import is_writable
from prdp.ledger import Binding, DurableLedger, Ledger, MemoryLedger
from prdp.levels import Levels
from prdp.mechanisms import Choice, Clip, Mechanism, Naive, Partition, count_influences, sum_influences
from prdp.noise.entropy import Entropy, SystemEntropy
from prdp.policy import Policy
from prdp.query import Bounds, Count, Max, Measure, Min, Query, Question, Reading, Sum, Units
from prdp.release import Release
from prdp.schema import Kind
from prdp.summary import Summary

TOTALS = ("clip", "partition", "naive")
"""The mechanisms that answer counts and sums; the first is the default."""

EXTREMES = ("choice",)
"""The mechanisms that answer maxima and minima."""

_LEAST_RATE = Fraction(1, 10**12)


def open(  # noqa: A001  (prdp.open is what the door is called)
    source: object,
    *,
    policy: Policy,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    units: Mapping[str, Exact] | None = None,
    types: Mapping[str, str] | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    who: str | None = None,
) -> Table:
    """Open a table for private questions. Reads the column names and types, and no record.

    Args:
        source: A path or glob of Parquet or CSV files, a DuckDB relation, an Arrow table, a pandas
            or Polars frame, or a dict of NumPy arrays.
        policy: The public budget of a record, as a function of its content.
        bounds: For number columns, the public least and greatest value. A value beyond them is moved to
            the nearest one, after the record's budget has been taken from the true value.
        units: For columns that are added up, the public grain of their values: ``"0.01"`` for cents.
        types: For a CSV file or for text columns of a frame, SQL types by column.
        name: What the table is called; by default the file's stem.
        ledger: The file that keeps the account, such as ``"accounts.ledger"``; it is begun where there is
            none. Or a ledger object. By default, a new account that lasts as long as the process.
        who: Whose questions these are, in a ledger file; by default the user's name.

    Raises:
        InvalidRequest: Something is wrong by public facts alone; the message says what to write.
        LedgerError: The ledger file belongs to another table, or cannot be trusted.
    """
    if not isinstance(policy, Policy):
        written = policy if isinstance(policy, str) else "10000 / balance"
        raise InvalidRequest(f"policy={policy!r} is not a policy. Write policy=prdp.Policy({written!r}).")
    refuse_unless_mappings(bounds=bounds, units=units, types=types)
    engine = open_source(source, types)
    ends = read_bounds(bounds or {}, engine.schema)
    checked = policy.within(engine.schema, ends)
    whole = [column for column, kind in engine.schema.items() if kind.integer]
    left_out = checked.left_out(ends, whole)
    if left_out:
        warnings.warn(left_out, RecordsLeftOut, stacklevel=2)
    levels = checked.levels
    called = name if name is not None else default_name(source)
    if not isinstance(called, str) or not is_writable(called):
        raise InvalidRequest(f"name={name!r} is no name: write a text.")
    grains = read_units(units or {}, engine.schema)
    account = _account(ledger, Binding.of(called, engine.schema, checked, ends, grains), who)
    return Table(
        engine=engine,
        policy=checked,
        levels=levels,
        bounds=ends,
        units=grains,
        name=called,
        ledger=account,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table that answers with releases; what ``prdp.open`` returns."""

    engine: Engine
    policy: Policy
    levels: Levels
    bounds: Bounds
    units: Units
    name: str
    ledger: Ledger
    condition: Node | None = None
    _kept: dict[tuple[Measure | None, Node | None], Summary] = field(default_factory=dict)

    def __repr__(self) -> str:
        where = "" if self.condition is None else f" where {canonical(self.condition)}"
        return f"<prdp table {self.name!r}{where}: {self.policy!r}>"

    def where(self, condition: str) -> Table:
        """Return the table of those records alone for which a condition holds.

        The condition is a SQL expression over the record's own columns, such as ``age >= 40``. A
        record for which it is unknown (NULL) does not take part.
        """
        node = check(parse(condition), self.engine.schema, Kind.BOOLEAN, condition)
        both = node if self.condition is None else conjunction((self.condition, node))
        return replace(self, condition=both)

    def count(
        self,
        *,
        share: Exact,
        method: str = "clip",
        beta: Exact | None = None,
        graded: bool | None = None,
        fresh: bool = False,
    ) -> Release:
        """Count the records.

        Args:
            share: The part of every record's budget to use, such as ``"1/10"``.
            method: ``"clip"``, ``"partition"`` (the paper's Algorithm 1) or ``"naive"``.
            beta: For ``partition``: the failure rate, by default ``"1/10"``.
            graded: For ``partition``: thresholds that make bad failures rarer.
            fresh: Pay for a new answer although this question has been answered before.
        """
        return self._ask(Count(), share, method, beta, graded, fresh=fresh)

    def sum(
        self,
        column: str,
        *,
        share: Exact,
        method: str = "clip",
        beta: Exact | None = None,
        graded: bool | None = None,
        fresh: bool = False,
    ) -> Release:
        """Add up a column, in its unit; arguments as in ``count``.

        The column needs public bounds; they may be as wide as you like.
        """
        known = known_column(column, self.engine.schema, "sum")
        return self._ask(Sum(known), share, method, beta, graded, fresh=fresh)

    def max(self, column: str, *, share: Exact, method: str = "choice", fresh: bool = False) -> Release:
        """Find about how large a column's largest value is; ``share`` and ``fresh`` as in ``count``.

        The answer is the upper end of a range, 9 % wide, that is chosen by how little budget lies above it.
        """
        known = known_column(column, self.engine.schema, "max")
        return self._ask(Max(known), share, method, fresh=fresh)

    def min(self, column: str, *, share: Exact, method: str = "choice", fresh: bool = False) -> Release:
        """Find about how small a column's smallest value is; arguments as in ``max``."""
        known = known_column(column, self.engine.schema, "min")
        return self._ask(Min(known), share, method, fresh=fresh)

    def _ask(
        self,
        query: Query,
        share: Exact,
        method: str,
        beta: Exact | None = None,
        graded: bool | None = None,
        *,
        fresh: bool,
    ) -> Release:
        part = exact_share(share)
        mechanism = self._mechanism(query, part, method, beta, graded)
        options = _options(mechanism)
        question = str(Question(query, self._measure(query), self.condition, part, method, options))
        self.engine.ensure_there()
        charge = self.ledger.charge(question, part, fresh=fresh)
        if isinstance(charge, Release):
            return charge
        try:
            (release,) = self._releases(query, mechanism, part, SystemEntropy(), runs=1, simulated=False)
            return self.ledger.record(charge, release)
        except KeyboardInterrupt as stop:
            stop.add_note("The charge stands; ask the same question again, it costs nothing more.")
            raise

    def _releases(
        self,
        query: Query,
        mechanism: Mechanism,
        share: Fraction,
        entropy: Entropy,
        *,
        runs: int,
        simulated: bool,
    ) -> list[Release]:
        measure = self._measure(query)
        summary = self._summary(measure)
        unit = measure.unit if measure else Fraction(1)
        low, high = (measure.low, measure.high) if measure else (0, 1)
        signed = low < 0 < high
        words = str(query)
        if self.condition is not None:
            words += f" where {canonical(self.condition)}"
        return [
            Release(
                question=words,
                steps=answer.steps,
                step=answer.step * unit,
                noise_scales=tuple(noise.scale for noise in answer.noises),
                share=share,
                method=mechanism.name,
                caveat=mechanism.caveat(signed=signed),
                choices=answer.choices,
                simulated=simulated,
                ends=None if answer.ends is None else (answer.ends[0] * unit, answer.ends[1] * unit),
                clipping=answer.clipping and replace(answer.clipping, below=low < 0, above=high > 0),
            )
            for answer in mechanism.answers(summary, share, entropy, runs)
        ]

    def _mechanism(
        self,
        query: Query,
        share: Fraction,
        method: str | None,
        beta: Exact | None = None,
        graded: bool | None = None,
    ) -> Mechanism:
        """Return the mechanism that was asked for, from public facts alone."""
        measure = self._measure(query)
        methods = EXTREMES if isinstance(query, Max | Min) else TOTALS
        method = methods[0] if method is None else method
        if graded is not None and not isinstance(graded, bool):
            raise InvalidRequest(f"graded={graded!r} is neither True nor False.")
        if method not in methods:
            raise InvalidRequest(f"method={method!r} does not answer this. What does: {', '.join(methods)}.")
        if method != "partition" and (beta is not None or graded is not None):
            raise InvalidRequest(f"beta and graded belong to method='partition', not to method={method!r}.")
        if isinstance(query, Max | Min):
            assert measure is not None  # noqa: S101  (only a count has none)
            return Choice(measure.low, measure.high, lowest=isinstance(query, Min))
        if method == "partition":
            return self._partition(measure, beta, graded)
        return Clip.tuned(share) if method == "clip" else Naive()

    def _partition(self, measure: Measure | None, beta: Exact | None, graded: bool | None) -> Partition:
        failure = exact(beta if beta is not None else "1/10", "beta")
        if not _LEAST_RATE <= failure < 1:
            raise InvalidRequest(
                f"beta={beta!r} is not a failure rate: it lies between 0 and 1 (least 1e-12)."
            )
        if measure is None:
            influences = count_influences(self.levels)
        else:
            influences = sum_influences(self.policy, self.levels, self.bounds, measure)
        signed = measure is not None and measure.low < 0
        return Partition(influences, failure, bool(graded), signed)

    def _measure(self, query: Query) -> Measure | None:
        """Return what a query adds up, or refuse by public facts."""
        if isinstance(query, Count):
            return None
        asked = type(query).__name__.lower()
        column = known_column(query.column, self.engine.schema, asked)
        kind = self.engine.schema[column]
        if kind.kind is not Kind.NUMBER:
            raise InvalidRequest(
                f"{asked}({column!r}) needs numbers, but {column!r} holds {kind.kind.value} ({kind.native})."
            )
        if column not in self.bounds:
            raise InvalidRequest(
                f"{asked}({column!r}) needs the column's public bounds. Write "
                f"bounds={{{column!r}: (0, 10**12)}} in prdp.open; wide bounds cost next to nothing."
            )
        if column not in self.units and not kind.integer:
            raise InvalidRequest(
                f"{asked}({column!r}) needs the grain of the column's values, which are {kind.native}. Write "
                f"units={{{column!r}: '0.01'}} in prdp.open for two decimals."
            )
        unit = self.units.get(column, Fraction(1))
        low, high = self.bounds[column]
        measure = Measure(column, unit, math.ceil(low / unit), math.floor(high / unit))
        most = 2**63 if kind.integer and unit == 1 else 2**53
        if measure.low > measure.high or measure.largest >= most:
            raise InvalidRequest(
                f"the bounds of {column!r}, {low} to {high}, hold "
                + ("no whole" if measure.low > measure.high else f"more than 2^{most.bit_length() - 1}")
                + f" units of {unit}. Take a {'smaller' if measure.low > measure.high else 'larger'} unit."
            )
        return measure

    def _summary(self, measure: Measure | None) -> Summary:
        """Return the cells, reading the records only if they were not read for this before."""
        for key, summary in tuple(self._kept.items()):
            if key == (measure, self.condition):
                return summary
            if measure is None and key[1] == self.condition:
                return summary.counted()
        reading = Reading(self.policy, self.levels, self.bounds, measure, self.condition)
        summary = self.engine.summarise(reading)
        self._kept[measure, self.condition] = summary
        return summary


def _options(mechanism: Mechanism) -> tuple[tuple[str, str], ...]:
    if isinstance(mechanism, Partition):
        return (("beta", str(mechanism.beta)), ("graded", str(mechanism.graded).lower()))
    return ()


def _account(ledger: Ledger | Path | str | None, facts: Binding, who: str | None) -> Ledger:
    """Return the ledger that was asked for, attached to the table's public facts."""
    if isinstance(ledger, str | Path):
        ledger = DurableLedger.opened(ledger, facts, who=who)
    account: Ledger = MemoryLedger() if ledger is None else ledger
    if isinstance(account, type) or not hasattr(account, "attach"):
        raise InvalidRequest(f"ledger={ledger!r} is no ledger. Give a file name, such as 'accounts.ledger'.")
    account.attach(facts)
    return account
