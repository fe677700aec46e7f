"""The table of methods: which mechanism answers which query, what it reads, and where that is proved.

A query class carries its rows (``Sum.methods = SUM``), the default first. A mechanism enters here and nowhere
else; a query from outside the package brings rows of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

from prdp.cells.measure import Measure
from prdp.cells.ratios import least_budgets
from prdp.cells.summary import Summary
from prdp.concentrated import root_below
from prdp.declare.exact import MAX_DENOMINATOR, Exact, exact
from prdp.declare.groups import Grouping
from prdp.errors import InvalidRequest
from prdp.expressions.intervals import Interval, bound
from prdp.expressions.nodes import Node
from prdp.expressions.tokens import shown_name
from prdp.levels import FINE_PER_OCTAVE, PER_OCTAVE, Levels
from prdp.mechanisms._axis import steps_between
from prdp.mechanisms.additive import RARE, USUAL, Additive, corners_of, quantile
from prdp.mechanisms.choice import Choice
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.distinct import DistinctKeys
from prdp.mechanisms.framework import (
    SPLIT,
    Base,
    InverseSensitivityMax,
    InverseSensitivityQuantile,
    LaplaceCount,
    PaperFramework,
    UniversalSum,
)
from prdp.mechanisms.naive import Naive
from prdp.mechanisms.partition import PaperPartition, count_influences, sum_influences
from prdp.mechanisms.rank import ROWS, TOTALS, UNITS_ALIKE, UNITS_WEIGHED, Rank
from prdp.methods import Chosen, refuse_unless_chosen
from prdp.noise.entropy import Entropy
from prdp.plan.divided import UnitPart
from prdp.plan.reads import CellRead, KeyRead, Read, TopRead
from prdp.policy import Policy, ranges_of
from prdp.release.raw_answer import Answer, Caveat
from prdp.schema import Bounds

_LEAST_RATE = Fraction(1, 10**12)


class Answering(Protocol):
    """A mechanism as a plan uses it: from what its method reads to answers."""

    @property
    def name(self) -> str:
        """The name that its releases say."""

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Return what the interval of its answers does not cover."""

    def answers(
        self, cells: Any, share: Fraction, entropy: Entropy, runs: int, /
    ) -> Sequence[Answer] | Sequence[Sequence[Answer]]:
        """Draw independent answers: one a run, or one for each thing that was asked for together."""


@dataclass(frozen=True, slots=True)
class Options:
    """A caller's choice of method and of its options; None for the query's default.

    Attributes:
        method: Which mechanism answers.
        beta: For ``partition`` and ``framework``: the failure rate.
        graded: For ``partition``: thresholds that make bad failures rarer.
        split: For ``framework``: the part of the share that finds out where budgets become numerous.
    """

    method: str | None = None
    beta: Exact | None = None
    graded: bool | None = None
    split: Exact | None = None

    @classmethod
    def of(cls, method: Chosen | None) -> Options:
        """Return the options of a method as a caller names it.

        >>> from prdp.methods import Partition
        >>> Options.of("clip").method, Options.of(Partition(beta=0.05)).beta
        ('clip', 0.05)
        """
        refuse_unless_chosen(method)
        if method is None or isinstance(method, str):
            return cls(method)
        given = {name: getattr(method, name, None) for name in ("beta", "graded", "split")}
        return cls(method.name, **given)


DEFAULT = Options()


@dataclass(frozen=True, slots=True)
class MethodTerms:
    """Everything public that a mechanism is built from, and its read.

    Attributes:
        policy: The policy, checked against the table.
        levels: The grid of budgets.
        bounds: The public bounds of the table's columns.
        query: What is asked.
        measure: The column that is measured; None where nothing is.
        share: The part of every record's budget for it.
        options: What the caller wants.
        where: Which records take part; None for all.
        groups: The public groups; None for one group of all records.
        entry: What is read in place of a table's columns: a graph's edges, rows that name records.
        whole: The columns that hold whole numbers only.
        rows: Of how many rows a record may be.
        part: What a unit's budget is divided among, each a record of its own; nothing where none is divided.
        why: Why the method was chosen, in words; empty where the caller chose it or nothing had to be.
    """

    policy: Policy
    levels: Levels
    bounds: Bounds = field(hash=False)
    query: Any
    measure: Measure | None
    share: Fraction
    options: Options = DEFAULT
    where: Node | None = None
    groups: Grouping | None = None
    entry: Any = None
    whole: frozenset[str] = frozenset()
    rows: int = 1
    part: UnitPart = ""
    why: str = ""

    @property
    def whole_measure(self) -> Measure | None:
        """Measure of a row, or of the total of all rows of a unit."""
        adds_up = getattr(self.query, "per_unit", None) in ADDED_UP
        return self.measure.added_up(self.rows) if self.measure is not None and adds_up else self.measure

    @property
    def drawn(self) -> Fraction:
        """The share at which a pure mechanism is drawn."""
        return self.policy.conversion.drawn(self.share)

    @property
    def by_choice(self) -> tuple[Fraction, bool]:
        """The share at which a mechanism of exponential choices is drawn, and whether by the root.

        Not where a pure mechanism has so large a share that it is sharper: where P(r) is large.
        """
        root = root_below(self.share)
        concentrated = self.policy.stated is not None and self.drawn <= 2 * root
        return (root, True) if concentrated else (self.drawn, False)


ADDED_UP = "sum", "count"
"""Folds that add up the rows of a unit: the ends are those of as many rows as it may have."""


def cells(terms: MethodTerms) -> Read:
    """Read the cells of the measured column, or counts."""
    read = CellRead(terms.policy, terms.levels, terms.bounds, terms.measure, terms.where, terms.groups)
    return read.planned()


def cells_by_level(terms: MethodTerms) -> Read:
    """Read the same with every record at its own level, as the paper's domains need."""
    read = CellRead(
        terms.policy, terms.levels, terms.bounds, terms.measure, terms.where, terms.groups, by_level=True
    )
    return read.planned()


def keys(terms: MethodTerms) -> KeyRead:
    """Read the budgets behind each of a column's values."""
    query = terms.query
    return KeyRead(terms.policy, terms.levels, query.column, terms.where, terms.groups, query.expression)


def key_tops(terms: MethodTerms) -> Read:
    """Read each of a column's values at the highest level of its records, and all records by level."""
    records = CellRead(
        terms.policy, terms.levels, terms.bounds, None, terms.where, terms.groups, by_level=True
    )
    return TopRead(keys(terms), records.planned())


def whole(found: Any) -> Any:
    """Show a mechanism what was read as it is."""
    return found


def counted(found: Summary) -> Summary:
    """Show a mechanism records that count 1 each."""
    return found.counted()


@dataclass(frozen=True, slots=True)
class Method:
    """One row of the table: a query answered by a mechanism.

    Attributes:
        name: What callers ask for it by.
        build: Makes the mechanism from public terms.
        reads: What must be read.
        select_input: What the mechanism is shown of it.
        options: The other options that it takes; each is an attribute of the mechanism as well.
        for_units: Whether it is proved where all rows of a unit are folded into one record.
        unit_groups: Whether it is proved for groups in which a unit may have rows in several.
        divides: What a unit's budget is divided among where its rows are not folded; empty if nothing.
        fineness: How many cells there are in a doubling of the measured column.
        totals: Whether the mechanism looks at what values in a cell add up to.
        deep: Whether records with values beyond the public bounds, and budgets below all that those allow,
            take part at next to no cost; the others' noise or domains go by the least budget.
    """

    name: str
    build: Callable[[MethodTerms], Answering]
    reads: Callable[[MethodTerms], Read] = cells
    select_input: Callable[[Any], Any] = whole
    options: tuple[str, ...] = ()
    for_units: bool = False
    unit_groups: bool = False
    divides: UnitPart = ""
    fineness: int = PER_OCTAVE
    totals: bool = True
    deep: bool = False


def failure_rate(beta: Exact | None) -> Fraction:
    """Return the rate at which a mechanism may fail.

    >>> failure_rate(None), failure_rate("1/20")
    (Fraction(1, 10), Fraction(1, 20))
    """
    failure = exact(beta if beta is not None else "1/10", "beta")
    if not _LEAST_RATE <= failure < 1:
        raise InvalidRequest(f"beta={beta!r} is not a failure rate: it lies between 0 and 1 (least 1e-12).")
    return failure


def read_split(split: Exact | None) -> Fraction:
    """Return the part of the share that the framework's first stage uses.

    >>> read_split(None), read_split("1/2")
    (Fraction(1, 4), Fraction(1, 2))
    """
    part = SPLIT if split is None else exact(split, "split")
    if not 0 < part < 1 or part.denominator > MAX_DENOMINATOR:
        raise InvalidRequest(f"split={split!r} is no part of the share: write '1/4', between 0 and 1.")
    return part


def _framework(base: Callable[[MethodTerms], Base]) -> Callable[[MethodTerms], PaperFramework]:
    def build(terms: MethodTerms) -> PaperFramework:
        return PaperFramework(base(terms), read_split(terms.options.split), failure_rate(terms.options.beta))

    return build


def _partition(terms: MethodTerms) -> PaperPartition:
    measure = terms.measure
    if measure is None:
        influences = count_influences(terms.levels)
    else:
        influences = sum_influences(terms.policy, terms.levels, terms.bounds, measure)
    signed = measure is not None and measure.low < 0
    return PaperPartition(influences, failure_rate(terms.options.beta), bool(terms.options.graded), signed)


def _ends(terms: MethodTerms) -> tuple[int, int]:
    """Return the ends of the measured column; only measured queries have rows that ask."""
    measure = terms.whole_measure
    return (measure.low, measure.high) if measure else (0, 0)


def _rank(terms: MethodTerms) -> Rank:
    drawn, concentrated = terms.by_choice
    tuned = partial(Rank.tuned, drawn, terms.query.at, *_ends(terms), concentrated=concentrated)
    if terms.query.per_unit:
        return replace(tuned(terms.levels), words=TOTALS if terms.part else UNITS_WEIGHED)
    if not terms.part:
        return tuned(terms.levels)
    if not terms.query.unit_weighted:
        return replace(tuned(terms.levels), words=ROWS)
    full = terms.levels.quanta(terms.levels.top)  # of the only row of a unit: all have one budget
    return replace(tuned(None), words=UNITS_ALIKE, full=full)


def _one_count(terms: MethodTerms) -> Base:
    """Return the base of a count: of units' rows a sum, since a unit adds as many as it has."""
    return LaplaceCount() if terms.rows == 1 else UniversalSum()


def _one_quantile(terms: MethodTerms) -> Base:
    if len(terms.query.at) > 1:
        raise InvalidRequest("method='framework' finds one quantile at a time: ask for each of them.")
    return InverseSensitivityQuantile(terms.query.at[0], *_ends(terms), FINE_PER_OCTAVE)


_FRAMEWORK: dict[str, Any] = {"reads": cells_by_level, "options": ("beta", "split")}
_FOLDED: dict[str, Any] = _FRAMEWORK | {"for_units": True}
_PARTITION: dict[str, Any] = {"reads": cells_by_level, "options": ("beta", "graded")}
_CLIP: dict[str, Any] = {"for_units": True, "unit_groups": True, "deep": True}
_NAIVE: dict[str, Any] = {"for_units": True}
_ADDITIVE_FINENESS = 4 * PER_OCTAVE  # a record is taken for one at the end of its cell: 2 % larger at most


def _clip(terms: MethodTerms) -> Clip:
    return _clip_signed(terms, signed=False)


def _clip_values(terms: MethodTerms) -> Clip:
    return _clip_signed(terms, signed=terms.measure is not None and terms.measure.signed)


def _clip_signed(terms: MethodTerms, *, signed: bool) -> Clip:
    """Return the mechanism; of a count or a sum under a concentrated policy, with Gaussian noise.

    Not where a pure mechanism has so large a share that its noise is less: where P(r) is large. Parts of a
    mean keep their noise, by whose law its interval is worked out.
    """
    root = root_below(terms.share)
    if terms.policy.stated is None or terms.query.rule or terms.drawn**2 > 2 * root**2:
        return Clip.tuned(terms.drawn, signed=signed)
    return Clip.tuned(root, signed=signed, gaussian=True)


def additive(terms: MethodTerms) -> Additive:
    """Return additive noise, shaped by the budgets that the bounds allow; only rows that measure ask."""
    measure = terms.measure
    assert measure is not None  # noqa: S101  (see SUM)
    rounded = measure.column not in terms.whole or (1 / measure.round_to).denominator != 1
    least = least_budgets(terms.policy, terms.levels, terms.bounds, measure, rounded=rounded)
    return Additive(least, terms.rows, terms.why)


def _typical_budgets(terms: MethodTerms, *, lowest: bool) -> tuple[Fraction, ...]:
    """Return a budget in the middle of those that each octave of the measured column allows, outward."""
    measure = terms.measure
    ranges = ranges_of(terms.bounds)
    if measure is None or measure.column not in terms.policy.columns & ranges.keys():
        return ()
    if terms.whole_measure is not measure:  # the budget of a sum is not that of a value as large
        return ()
    steps = steps_between(measure.low, measure.high, measure.largest, measure.per_octave, lowest=lowest)
    found = []
    least, most = terms.levels.least, float(terms.levels.at_most)
    for first, after in pairwise(steps.octaves):
        ends = sorted(
            float(end * measure.round_to) for end in (steps.near_end(first), steps.far_end(after - 1))
        )
        budgets = bound(terms.policy.expression, {**ranges, measure.column: Interval(*ends)})
        low, high = (min(max(end, least), most) for end in (budgets.low, budgets.high))
        found.append(Fraction(math.sqrt(low) * math.sqrt(high)))
    return tuple(found)


def _farthest(*, lowest: bool) -> tuple[Method, ...]:
    """Return the rows of a maximum, or of a minimum."""
    base = _framework(lambda terms: InverseSensitivityMax(*_ends(terms), lowest=lowest))

    def choice(terms: MethodTerms) -> Choice:
        fineness = terms.measure.per_octave if terms.measure else FINE_PER_OCTAVE
        typical = _typical_budgets(terms, lowest=lowest)
        return Choice(*_ends(terms), lowest, fineness, typical, concentrated=terms.by_choice[1])

    return (
        Method(
            "choice",
            choice,
            for_units=True,
            divides="group",
            fineness=FINE_PER_OCTAVE,
            totals=False,
            deep=True,
        ),
        Method("framework", base, divides="row", fineness=FINE_PER_OCTAVE, **_FRAMEWORK),
    )


COUNT = (
    Method("clip", _clip, select_input=counted, **_CLIP),
    Method("partition", _partition, select_input=counted, **_PARTITION),
    Method("framework", _framework(_one_count), select_input=counted, **_FOLDED),
    Method("naive", lambda _: Naive(), select_input=counted, **_NAIVE),
)
SUM = (
    Method("clip", _clip_values, **_CLIP),
    Method("partition", _partition, **_PARTITION),
    Method("framework", _framework(lambda _: UniversalSum()), **_FOLDED),
    Method("naive", lambda _: Naive(), **_NAIVE),
    Method("additive", additive, for_units=True, fineness=_ADDITIVE_FINENESS),
)
SQUARES = (Method("clip", _clip, **_CLIP), *SUM[1:])
"""For squared distances, which have one sign whatever the values have."""
COUNT_OF_MEAN = (*COUNT, Method("additive", _clip, select_input=counted, for_units=True))
"""Methods that count the records of a mean: each contributes 1, for which additive noise would be naive's."""
MEAN = tuple(row for row in SUM if row.name != "partition")
VARIANCE = tuple(row for row in MEAN if row.name not in ("framework", "additive"))
MAX = _farthest(lowest=False)
MIN = _farthest(lowest=True)
QUANTILE = (
    Method(
        "rank",
        _rank,
        divides="row",
        fineness=FINE_PER_OCTAVE,
        totals=False,
        deep=True,
    ),
    Method("framework", _framework(_one_quantile), divides="row", fineness=FINE_PER_OCTAVE, **_FRAMEWORK),
)
DISTINCT = (
    Method("distinct", lambda terms: DistinctKeys.tuned(terms.drawn), reads=keys, divides="key", deep=True),
    Method(
        "framework",
        _framework(lambda _: LaplaceCount()),
        divides="key",
        **(_FRAMEWORK | {"reads": key_tops}),
    ),
)
UNITS = Method("distinct", _clip, select_input=counted, for_units=True, deep=True)
"""Method that counts units: each counts 1, whatever its rows."""


_PLACE = 2 / 3  # frozen on synthetic sets, where .65 and .7 are the best: experiments/choosing/growing.py
_LAPLACE = {USUAL: math.log(2), RARE: math.log(20)}
"""Median size of Laplace noise of scale 1."""


@dataclass(frozen=True, slots=True)
class Rivals:
    """Median size of additive noise, and the range of scales of the noise of ``clip``; in steps.

    ``clip`` adds noise of about b/share, b the ratio of value to budget that the table's own records end at.
    Nobody knows it beforehand, but between which ratios it lies.

    Attributes:
        usual: How far half of the additive draws deviate at most.
        rare: How far 19 of 20 do.
        lowest: The scale of noise for the lowest ratio that a table may end at.
        highest: That for the highest one.
    """

    usual: float
    rare: float
    lowest: float
    highest: float

    def scale(self, place: float = _PLACE) -> float:
        """Return the scale of noise at a place between the lowest (0) and the highest (1), in octaves."""
        return math.exp((1 - place) * math.log(self.lowest) + place * math.log(self.highest))

    def additive_wins(self, place: float = _PLACE) -> bool:
        """Return whether additive noise is smaller than that of ``clip`` at a place, usually and rarely."""
        scale = self.scale(place)
        return self.usual < scale * _LAPLACE[USUAL] and self.rare < scale * _LAPLACE[RARE]


def rivals(terms: MethodTerms) -> Rivals | None:
    """Return what is to be compared; None where budgets do not grow, or ``clip`` need not choose a point."""
    measure = terms.measure
    if measure is None or measure.expression is not None or not _grows(terms, measure):
        return None
    read = CellRead(terms.policy, terms.levels, terms.bounds, replace(measure, per_octave=PER_OCTAVE), None)
    read = read.planned()
    if read.ratios is None or Clip().tiers(read.empty) is not None:
        return None
    worth = terms.drawn * terms.levels.quantum
    corners = corners_of(additive(terms).noise(measure.largest, worth))
    ends = (read.ratios.values[0][0] / worth, read.ratios.values[-1][1] / worth)
    return Rivals(*(quantile(corners, level) for level in (USUAL, RARE)), *map(float, ends))


def preferred(
    terms: MethodTerms, method: Method, made: Callable[[Method], MethodTerms]
) -> tuple[Method, MethodTerms]:
    """Return the default method, or in its place the one that needs no clipping, with its terms.

    Args:
        terms: Those of the default.
        method: The default.
        made: From another method to its terms.
    """
    row = next((row for row in terms.query.methods if row.name == Additive.name), None)
    if row is None:
        return method, terms
    grown = made(row)
    of_share = next((part.of_share for part in terms.query.parts if part.name == "sum"), Fraction(1))
    why = better_than_clip(replace(grown, share=grown.share * of_share))
    return (row, replace(grown, why=why)) if why else (method, terms)


def better_than_clip(terms: MethodTerms) -> str:
    """Return in words why additive noise is better than ``clip``; empty where it is not."""
    found = rivals(terms)
    if found is None or terms.measure is None or not found.additive_wins():
        return ""
    round_to = float(terms.measure.round_to)
    usual, rare, scale = (far * round_to for far in (found.usual, found.rare, found.scale()))
    return (
        f"budgets grow with {shown_name(terms.measure.column)}: half of the draws are within {usual:,.3g}, "
        f"19 of 20 within {rare:,.3g}, while clip would need noise of scale {scale:,.3g} for a table that "
        "ends two thirds of the way up, in octaves"
    )


def _grows(terms: MethodTerms, measure: Measure) -> bool:
    """Return whether the largest values have larger budgets; in one look, as most policies fall."""
    ranges = ranges_of(terms.bounds)
    if measure.column not in terms.policy.columns & ranges.keys():
        return False
    ends = [sorted((end, end / 2)) for end in (measure.low, measure.high) if abs(end) == measure.largest]
    round_to = float(measure.round_to)
    tops = (
        bound(terms.policy.expression, {**ranges, measure.column: Interval(low * round_to, high * round_to)})
        for low, high in ends
    )
    return all(not top.empty and top.low > 2 * terms.levels.least for top in tops)
