"""A caller's own mechanism inside the framework: stage one, the rows that are kept, and what it returns."""

from __future__ import annotations

import inspect
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from prdp.cells.summary import Summary
from prdp.declare.columns import known_column
from prdp.declare.exact import Exact
from prdp.declare.units import PrivacyUnit
from prdp.errors import InvalidRequest, LedgerError
from prdp.expressions.nodes import Node, canonical
from prdp.expressions.tokens import is_writable
from prdp.ledger import Ledger
from prdp.levels import PER_OCTAVE, Levels
from prdp.mechanisms.partition import DomainFinder
from prdp.noise.entropy import Entropy
from prdp.noise.totals import flips, keep_bounds
from prdp.plan.divided import DividedRead, DividedRowRead, divided_levels
from prdp.plan.explain import Line, omitted, reads
from prdp.plan.labels import excluded_records
from prdp.plan.methods import failure_rate, read_split
from prdp.plan.planner import Planner
from prdp.plan.question_key import question_text, without_token
from prdp.plan.reads import CellRead, PlanReader, RowRead
from prdp.policy import Policy
from prdp.release.rows import left_out
from prdp.release.table import CustomRelease, Released
from prdp.schema import Bounds, Kind, Schema

Mechanism = Callable[[Any, Fraction, Fraction], object]
"""From (an Arrow table of the kept rows, ε, β) to a value that is ε-DP for adding or removing a row."""

_LONGEST = 10_000_000
_DEEPEST = 100
_MAX_BITS = 1990  # under 600 digits: read back under every limit that Python can be given


@dataclass(frozen=True, slots=True)
class MechanismOutcome:
    """The outcome of a mechanism: plain values, or that it failed, or that somebody interrupted it."""

    value: Any
    failed: bool = False
    interrupted: bool = False


def outcome(mechanism: Mechanism, rows: object, epsilon: Fraction, beta: Fraction) -> MechanismOutcome:
    """Run a mechanism; whatever it raises is an output, of which nothing but that it failed is passed on.

    ``SystemExit`` and ``KeyboardInterrupt`` are no exception: with the charge unanswered their words could be
    read, and the mechanism be run again for nothing.
    """
    try:
        return MechanismOutcome(plain(mechanism(rows, epsilon, beta)))
    except KeyboardInterrupt:
        return MechanismOutcome(None, failed=True, interrupted=True)
    except BaseException:
        return MechanismOutcome(None, failed=True)


def plain(value: object) -> Any:
    """Return a value as every ledger keeps it: what comes back from JSON, and nothing else.

    Raises:
        Exception: The value cannot be kept so.
    """
    text = json.dumps(_plain(value), allow_nan=False)
    if len(text) > _LONGEST:
        raise ValueError("the value is too long to be kept")
    return json.loads(text)


def _plain(value: object, depth: int = 0) -> object:  # noqa: PLR0911  (one return a kind)
    if depth > _DEEPEST:
        raise ValueError("the value is too deep to be kept")
    if hasattr(value, "tolist"):
        value = value.tolist()
    match value:
        case None | bool():
            return value
        case int() if value.bit_length() <= _MAX_BITS:
            return int(value)
        case float():
            return float(value)
        case str():
            return _text(value)
        case Fraction():
            return _plain(int(value)) if value.denominator == 1 else float(value)
        case list() | tuple():
            return [_plain(item, depth + 1) for item in value]
        case Mapping():
            return {_text(str(key)): _plain(item, depth + 1) for key, item in value.items()}
        case _:
            raise TypeError("no plain value")


def _text(value: str) -> str:
    """Return a text without the ways of a subclass; fails where it cannot be written."""
    return str.encode(value).decode()


def refuse_unless_mechanism(mechanism: object, columns: Schema) -> None:
    """Refuse what cannot be called with rows, epsilon and beta, or by its own account not with such columns.

    A mechanism that has an attribute ``ready`` is asked: it raises for columns that it cannot read.
    """
    if not callable(mechanism) or isinstance(mechanism, type) or not _takes_three(mechanism):
        raise InvalidRequest(
            f"run takes a mechanism, a function of (rows, epsilon, beta), and not {mechanism!r}. "
            "prdp.adapters.opendp(make) turns an OpenDP measurement into one."
        )
    ready = getattr(mechanism, "ready", None)
    if callable(ready):
        ready(columns)


def _takes_three(mechanism: Callable[..., object]) -> bool:
    try:
        inspect.signature(mechanism).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:  # some built-in functions do not say what they take
        return True
    return True


class RunFacts(Protocol):
    """Public facts about the records that a mechanism runs on; a table's planner is one."""

    @property
    def policy(self) -> Policy:
        """The budget of a record."""

    @property
    def levels(self) -> Levels:
        """The grid of budgets."""

    @property
    def bounds(self) -> Bounds:
        """The public bounds of columns."""

    @property
    def where(self) -> Node | None:
        """Filter of the records; None for all."""

    @property
    def over(self) -> tuple[str, ...]:
        """The joined tables; none for one table."""

    @property
    def source(self) -> str:
        """The SQL of a relation; empty for plain tables."""

    @property
    def snapshot(self) -> str:
        """The snapshot of the data."""

    def region(self) -> str | None:
        """Return the charged region; None for everybody."""


@dataclass(frozen=True, slots=True)
class CustomPlan:
    """The plan to run a caller's mechanism on the rows that the framework keeps.

    Attributes:
        planner: What is public about the table.
        mechanism: The caller's own.
        columns: The columns that it sees.
        share: The part of every record's budget for all of it.
        split: The part of the share that finds the rows to keep.
        beta: The failure rate, which is passed on.
        sample: Whether rows with smaller budgets take part now and then.
        name: What the mechanism is called in the ledger.
        named: Whether the caller gave the name, so that an answer can be asked for by it.
        token: A random word: a charge without an answer may be one whose mechanism ran and showed something
            on the way, so no other run takes it up.
        unit: Who is protected with all their rows; None where a row is a record.
    """

    planner: RunFacts
    mechanism: Mechanism
    columns: tuple[str, ...]
    share: Fraction
    split: Fraction
    beta: Fraction
    sample: bool
    name: str
    named: bool
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    unit: PrivacyUnit | None = None
    _interrupted: threading.Event = field(default_factory=threading.Event)

    on_interrupt = "The charge remains; the mechanism may have run, so a new call is charged anew."
    """Message for whoever interrupts the answer."""

    @property
    def region(self) -> str | None:
        """Charged region: the records of its filter, which are all that the mechanism receives."""
        return self.planner.region()

    @property
    def snapshot(self) -> str:
        """Snapshot of the data."""
        return self.planner.snapshot

    @property
    def text(self) -> str:
        """The question with all that is known of its answer's distribution, and the token."""
        return question_text(self._facts | {"once": self.token})

    @property
    def _facts(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"query": "custom", "name": self.name, "columns": list(self.columns)}
        asked |= {"named": self.named, "sample": self.sample, "method": "framework", "share": str(self.share)}
        facts: dict[str, Any] = {"ask": [asked | {"beta": str(self.beta), "split": str(self.split)}]}
        if self.planner.over:
            facts["over"] = sorted(self.planner.over)
        if self.planner.source:
            facts["source"] = self.planner.source
        if self.planner.where is not None:
            facts["where"] = canonical(self.planner.where)
        facts |= {"snapshot": self.snapshot} if self.snapshot else {}
        return facts | {"share": str(self.share)}

    def standing(self, ledger: Ledger) -> Released | None:
        """Return the newest answer to a question of the same name, if the caller gave one."""
        if not self.named:
            return None
        wanted = question_text(self._facts)
        for entry in reversed(ledger.entries):
            if isinstance(entry.release, CustomRelease) and without_token(entry.purpose) == wanted:
                return replace(entry.release, recorded_at=entry.at)
        return None

    @property
    def reads(self) -> Mapping[Any, Any]:
        """Nothing is asked of the source before the mechanism runs."""
        return {}

    def warm_start(self, ledger: Ledger) -> str | None:  # noqa: ARG002
        """Return no points: a caller's mechanism starts from nothing."""
        return None

    def warm_started(self, warm_start: str | None) -> CustomPlan:  # noqa: ARG002
        """Return the same plan."""
        return self

    def own(self, released: Released) -> CustomRelease:
        """Return what was answered, which is a mechanism's own value."""
        if not isinstance(released, CustomRelease):
            raise LedgerError("the ledger holds an answer of another kind under this question.")
        return released

    def raise_what_was_held_back(self) -> None:
        """Raise the interrupt that stopped the mechanism, now that its failure is recorded."""
        if self._interrupted.is_set():
            raise KeyboardInterrupt

    def explained_answers(self, source: Any) -> Iterator[Line]:
        """List what would be read and drawn; ``:b`` is the level that is drawn first."""
        domain = self.split * self._drawn_share
        yield from omitted(self.planner.policy, self._omitted)
        yield Line("answers", f"{self.name} of {', '.join(self.columns)}")
        counts, rows = self._statements(source)
        yield from reads(counts)
        if self.unit is not None:
            yield Line("  divides", "each unit's budget among its rows that count; proofs/divided.md")
        yield Line("  draws", f"where budgets become numerous, with share {domain}; proofs/framework.md")
        yield from reads(rows)
        rest = self._drawn_share - domain
        yield Line("  draws", f"{self.name} with share {rest}; its author's promise, no page of prdp's")

    def _statements(self, source: Any) -> tuple[Iterable[str], Iterable[str]]:
        """Return what is read to count records, and what is read of those that are kept."""
        return self._cells.shown(source), self._row_read(least=0).shown(source)

    def draw(self, reader: PlanReader, entropy: Entropy, runs: int) -> list[Released]:
        """Find the domain, read its rows and run the mechanism on them, once a run."""
        return [self._drawn(reader, entropy) for _ in range(runs)]

    def _drawn(self, reader: PlanReader, entropy: Entropy) -> CustomRelease:
        facts, levels = self.planner, self._levels
        finder = DomainFinder.over(levels, self.beta)
        (domain,) = finder.draw(self._counted(reader), self.split * self._drawn_share, entropy, 1)
        least = levels.domain_quanta(domain) * levels.quantum
        epsilon = (1 - self.split) * self._drawn_share * least
        came = outcome(self.mechanism, self._kept_rows(reader, domain, epsilon, entropy), epsilon, self.beta)
        if came.interrupted:
            self._interrupted.set()
        words = f"{self.name} of {', '.join(self.columns)}"
        words += f" over {', '.join(facts.over)}" if facts.over else ""
        return CustomRelease(
            question=words if facts.where is None else f"{words} where {canonical(facts.where)}",
            value=came.value,
            share=self.share,
            epsilon=epsilon,
            choices=((self._kept_words, f"{float(least):.6g} on"),),
            failed=came.failed,
            simulated=reader.synthetic,
            left_out=left_out(self._omitted),
        )

    @property
    def _drawn_share(self) -> Fraction:
        """The share at which pure mechanisms are drawn, the caller's too."""
        return self.planner.policy.conversion.drawn(self.share)

    @property
    def _kept_words(self) -> str:
        return "kept budgets from" if self.unit is None else "kept budgets per row from"

    @property
    def _levels(self) -> Levels:
        """The grid of the budgets of rows: of units, divided among theirs."""
        facts = self.planner
        return facts.levels if self.unit is None else divided_levels(facts.levels, 0, self.unit.max_rows)

    def _counted(self, reader: PlanReader) -> Summary:
        """Return the records, each counting 1."""
        (cells,) = reader.read(self._cells)
        counted: Summary = cells.counted()
        return counted

    def _kept_rows(self, reader: PlanReader, domain: int, epsilon: Fraction, entropy: Entropy) -> Any:
        """Return the rows from a drawn domain on, in random order, and a sample of the others if wanted."""
        first = PER_OCTAVE * (domain - 1)
        rows, found = reader.read_anew(self._row_read(0 if self.sample else first))
        kept = np.arange(rows.num_rows)
        if self.sample:
            kept = np.flatnonzero(self._sampled(np.asarray(found), first, epsilon, entropy))
        return rows.take(shuffled(kept, entropy)).combine_chunks()

    @property
    def _omitted(self) -> str:
        """Records without a budget among those that are queried, in words."""
        where, unit = self.planner.where, self.unit
        among = [where] if where is not None and unit is None else []  # units go with all of their rows
        return excluded_records(self.planner.policy, self.planner.bounds, unit=unit, among=among)

    @property
    def _cells(self) -> CellRead | DividedRead:
        facts = self.planner
        read = CellRead(facts.policy, self._levels, facts.bounds, None, facts.where, None, by_level=True)
        return read if self.unit is None else DividedRead(read, self.unit, facts.levels, "row")

    def _row_read(self, least: int) -> RowRead | DividedRowRead:
        facts = self.planner
        read = RowRead(facts.policy, self._levels, self.columns, least, facts.where)
        return read if self.unit is None else DividedRowRead(read, self.unit, facts.levels)

    def _sampled(self, found: Any, first: int, epsilon: Fraction, entropy: Entropy) -> Any:
        """Return which rows take part: all from the first level on, of the others some by exact coins."""
        levels = self._levels
        kept = found >= first
        for level in range(first):  # every level flips, whether or not it has rows
            at = np.flatnonzero(found == level)
            budget = (1 - self.split) * self._drawn_share * levels.quanta(level) * levels.quantum
            kept[at] = flips(keep_bounds(budget, epsilon), len(at), entropy)
        return kept


def shuffled(places: NDArray[np.intp], entropy: Entropy) -> NDArray[np.intp]:
    """Return rows in random order: where a row lay, and in which chunk, depends on rows that were dropped."""
    keys = np.frombuffer(entropy.bytes(16 * len(places)), np.uint64).reshape(-1, 2)
    return places[np.lexsort((keys[:, 1], keys[:, 0]))]


def custom_plan(
    planner: Planner,
    mechanism: Mechanism,
    columns: Sequence[str],
    share: Fraction,
    *,
    split: Exact | None,
    beta: Exact | None,
    sample: bool,
    name: str | None,
) -> CustomPlan:
    """Return what will be done to run a mechanism, or refuse it by public facts."""
    if isinstance(columns, str | bytes) or not isinstance(columns, Sequence) or not columns:
        raise InvalidRequest(f"columns={columns!r} lists no columns: write columns=['balance'].")
    planner.refuse_elsewhere(*columns)
    known = tuple(known_column(column, planner.schema, "run") for column in columns)
    for column in known:
        if planner.schema[column].kind is Kind.OTHER:
            raise InvalidRequest(
                f"run cannot hand out {column!r}, which holds {planner.schema[column].native}."
            )
    if len(set(known)) < len(known):
        raise InvalidRequest(f"columns={list(columns)!r} lists a column twice.")
    if not isinstance(sample, bool):
        raise InvalidRequest(f"sample={sample!r} is neither True nor False.")
    refuse_unless_run(name)
    refuse_unless_mechanism(mechanism, {column: planner.schema[column] for column in known})
    return CustomPlan(
        planner=planner,
        mechanism=mechanism,
        columns=known,
        share=share,
        split=read_split(split),
        beta=failure_rate(beta),
        sample=sample,
        name=name or own_name(mechanism),
        named=name is not None,
        unit=planner.unit,
    )


def refuse_unless_run(name: str | None) -> None:
    """Refuse a name that cannot be written, and to hand rows over without Arrow."""
    if name is not None and not _is_name(name):
        raise InvalidRequest(f"name={name!r} is no name, or cannot be written: give a text.")
    if find_spec("pyarrow") is None:
        raise InvalidRequest("run hands rows over as an Arrow table: pip install 'prdp[arrow]'.")


def own_name(mechanism: Mechanism) -> str:
    """Return what a mechanism is called in the ledger if its caller gives no name."""
    own = getattr(mechanism, "__name__", None)
    return own if _is_name(own) else "mechanism"


def _is_name(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and bool(name) and is_writable(name)
