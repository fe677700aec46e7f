"""The public function E(r): what each record may lose, as a function of its own content."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from html import escape
from numbers import Real
from typing import NoReturn

from prdp.concentrated import NOTIONS, Conversion, Notion, epsilon_at, read_delta, root_below
from prdp.declare.exact import Exact, exact, exact_share
from prdp.errors import Argument, Blank, InvalidRequest, Part, PolicyError, PrdpError
from prdp.expressions.check import check
from prdp.expressions.evaluate import Value, as_double, evaluate
from prdp.expressions.intervals import Interval, bound, outcome
from prdp.expressions.invalid_budgets import Threshold, invalid_example, invalid_regions
from prdp.expressions.nodes import Arithmetic, Call, Case, Column, Node, Number, canonical, columns
from prdp.expressions.parse import parse
from prdp.expressions.tokens import quoted, shown_name
from prdp.levels import MAX_BELOW, Levels, holds
from prdp.schema import Kind, Schema

_FLOOR = "0.000001"
"""Small enough to hide almost any record, and large enough that levels down to it cost no time."""

_CAP = 10.0
"""The largest budget that is proposed where the caller names none: larger ones protect little."""


def bounded_texts(expression: Node, at_most: float | None = None) -> Iterator[str]:
    """Yield expressions that mean the same where it has a budget, the simplest first.

    >>> from prdp.expressions.parse import parse
    >>> next(bounded_texts(parse("10000 / balance")))
    'least(10000 / greatest(abs(balance), 1000), 10)'
    >>> list(bounded_texts(parse("100 - age")))
    ['greatest(100 - age, 0.000001)', 'least(greatest(100 - age, 0.000001), 10)']

    Args:
        expression: The policy's expression.
        at_most: The largest budget that the caller allows.
    """
    cap = _CAP if at_most is None else at_most
    most = _number(cap)
    match expression:
        case Arithmetic("/", Number(above), Column(name)) if above > 0:
            size = f"abs({shown_name(name)})"
            inverse = f"least({_number(above)} / greatest({size}, {_number(above / cap)}), {most})"
            yield inverse
            yield f"greatest({inverse}, {_FLOOR})"
        case _:
            positive = f"greatest({canonical(expression)}, {_FLOOR})"
            yield positive
            yield f"least({positive}, {most})"


def _number(value: float) -> str:
    return f"{value:.12g}"


Bounds = Mapping[str, tuple[Fraction, Fraction]]

_EXPONENTS = (-1000, 1000)


@dataclass(frozen=True, slots=True)
class WithoutBudget:
    """Records within public bounds to which a policy gives no budget.

    Attributes:
        condition: What holds of them, in words; empty where all that is known is that there may be some.
        example: One of them, made up.
    """

    condition: str
    example: Mapping[str, Value]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Policy:
    """The public function E(r) from a record to its privacy budget.

    A record whose budget is more than ``at_most`` has the budget ``at_most``. A record whose budget
    is below ``at_least``, not positive or unknown is left out of every answer. Where ``at_least`` follows
    from public bounds, records with values beyond these have some octaves more (``below``).

    With ``notion="zcdp"`` the text and both ends state P(r), the record's loss of zero-concentrated privacy:
    docs/concentrated.md. All other attributes are then about e(r) = √(2·P(r)), which has the place of E(r)
    wherever budgets are counted; what was stated is ``stated``.

    >>> Policy("10000 / balance", at_most=100).budget({"balance": 40_000})
    0.25
    >>> Policy("10000 / balance", at_most=100).budget({"balance": 0})
    100.0
    >>> Policy("10000 / balance", at_most=100, notion="zcdp")
    Policy('10000 / balance', at_most='100', notion='zcdp')

    Attributes:
        text: The expression as it was written.
        expression: What was read from it.
        at_least: The smallest budget of a record that takes part; the paper's ε̌.
        at_most: The largest budget; the paper's ε̂.
        below: How many octaves below ``at_least`` budgets still count, for records with values beyond the
            public bounds that ``at_least`` follows from; 0 where ``at_least`` was given.
        stated: Of a concentrated policy, P(r) as it was stated; None of a pure one.
    """

    text: str = field(compare=False)
    expression: Node
    at_least: Fraction | None
    at_most: Fraction | None
    below: int
    stated: Policy | None

    def __init__(
        self,
        text: str | Exact,
        *,
        at_most: Exact | None = None,
        at_least: Exact | None = None,
        notion: str = "pure",
    ) -> None:
        if notion not in NOTIONS:
            raise PolicyError(f"notion={notion!r} is no notion of privacy: 'pure' or 'zcdp'.")
        written = str(text) if isinstance(text, Real | Decimal) and not isinstance(text, bool) else text
        if notion == "pure":
            _fill(self, written, parse(written), (at_least, at_most))  # type: ignore[arg-type]  # or refused
        else:
            _fill_roots(self, Policy(text, at_most=at_most, at_least=at_least))

    @classmethod
    def of(
        cls,
        expression: Node,
        *,
        at_most: Exact | None = None,
        at_least: Exact | None = None,
        text: str | None = None,
        below: int = 0,
    ) -> Policy:
        """Return the policy of an expression that has been read before.

        >>> Policy.of(parse("1 / visits"), at_most=1)
        Policy('1 / visits', at_most='1')
        """
        return cls._of(text or canonical(expression), expression, at_least, at_most, below)

    @classmethod
    def constant(cls, budget: Exact) -> Policy:
        """Return the policy of ordinary differential privacy: every record has one budget.

        >>> Policy.constant("1/2").budget({})
        0.5
        """
        value = exact(budget, "budget")
        if value <= 0:
            raise PolicyError(f"policy={str(budget)[:40]} is not a budget: a budget is more than 0.")
        _check_ends(value, value)
        return cls._of(str(budget), Number(float(value)), value, value)

    @classmethod
    def column(cls, name: str, *, at_most: Exact | None = None, at_least: Exact | None = None) -> Policy:
        """Return the policy of personalised privacy: each record's budget is in a column.

        >>> Policy.column("epsilon", at_most=2).budget({"epsilon": 0.5})
        0.5
        >>> Policy.column("epsilon", at_most=2).budget({"epsilon": 7.0})
        2.0
        """
        text = quoted(name)
        return cls._of(text, Column(name, span=(0, len(text))), at_least, at_most)

    @property
    def notion(self) -> Notion:
        """What the policy bounds: ``"pure"`` for E(r), or ``"zcdp"`` for P(r)."""
        return "pure" if self.stated is None else "zcdp"

    @property
    def shown(self) -> Policy:
        """The policy as it was stated, which is a concentrated one's P(r)."""
        return self if self.stated is None else self.stated

    @property
    def counted(self) -> Policy:
        """The policy of the budgets that are counted: a concentrated one's e(r), as a pure policy.

        >>> Policy("1 / visits", at_least="1/8", at_most=2, notion="zcdp").counted.at_most
        Fraction(2, 1)
        """
        return self if self.stated is None else self._of(*self._parts)

    @property
    def conversion(self) -> Conversion:
        """How a share that is charged becomes the share of a pure mechanism; the range is known."""
        return Conversion() if self.stated is None else Conversion(self.deep_levels.at_least)

    @property
    def _parts(self) -> tuple[str, Node, Fraction | None, Fraction | None, int]:
        return self.text, self.expression, self.at_least, self.at_most, self.below

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the budget depends on.

        >>> sorted(Policy("CASE WHEN minor THEN 1 ELSE 10 / age END").columns)
        ['age', 'minor']
        """
        return columns(self.expression)

    @property
    def levels(self) -> Levels:
        """The grid that budgets are rounded down to; known once both ends of the range are (``within``).

        >>> Policy("1 / visits", at_least="1/8", at_most=1).levels.domains  # 1/8 doubles three times up to 1
        3
        >>> Policy("1 / visits").levels
        Traceback (most recent call last):
        ...
        prdp.errors.PolicyError: the policy '1 / visits' has no range yet: give at_least and at_most.
        """
        if self.at_least is None or self.at_most is None:
            raise PolicyError(f"the policy {self.text!r} has no range yet: give at_least and at_most.")
        return Levels(self.at_least, self.at_most)

    @property
    def deep_levels(self) -> Levels:
        """The same grid, down to where records with values beyond the public bounds may be.

        >>> Policy("1 / visits", at_least="1/8", at_most=1).deep_levels.below  # what is given is kept to
        0
        """
        return self.levels.deepened(self.below)

    def __repr__(self) -> str:
        shown = self.shown
        ends = {"at_least": shown.at_least, "at_most": shown.at_most}
        given = "".join(f", {name}={str(end)!r}" for name, end in ends.items() if end is not None)
        return f"Policy({shown.text!r}{given}{', notion=' + repr(self.notion) if self.stated else ''})"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def budget(self, record: Mapping[str, object]) -> float | None:
        """Return a record's budget, or None where the record is left out.

        This is the reference that every engine is held to.

        >>> policy = Policy("100 / income", at_least="1/10", at_most=1)
        >>> policy.budget({"income": 200}), policy.budget({"income": 50})
        (0.5, 1.0)
        >>> policy.budget({"income": 2000}) is None, policy.budget({"income": None}) is None
        (True, True)
        """
        if self.stated is not None:
            return self.stated.budget(record)
        value = evaluate(self.expression, record)
        if not self.is_valid(value) or not isinstance(value, float):
            return None
        if self.at_most is not None and value > self.at_most:
            return _double_below(self.at_most)
        return value

    def epsilon(
        self, record: Mapping[str, object], *, delta: Exact | None = None, share: Exact = 1
    ) -> float | None:
        """Return the ε that a record loses with a share, or None where it is left out.

        Under a concentrated policy that takes a δ of the reader's choice: the loss is then (ε, δ)-private.

        >>> policy = Policy("1 / visits", at_least="1/8", at_most=1, notion="zcdp")
        >>> round(policy.epsilon({"visits": 2}, delta="1e-6"), 3)
        5.222
        >>> Policy("1 / visits").epsilon({"visits": 2}, share="1/10")
        0.05
        """
        budget, part = self.budget(record), float(exact_share(share))
        if budget is None:
            return None
        if self.stated is None:
            return part * budget
        if delta is None:
            raise InvalidRequest("of zero-concentrated privacy an epsilon needs a delta: write delta='1e-6'.")
        return epsilon_at(part * budget, read_delta(delta))

    def refuse_unless_pure(self, where: str) -> None:
        """Refuse a concentrated policy where only pure ones are proved."""
        if self.stated is not None:
            raise PolicyError(f"{where} takes pure policies alone: leave notion='zcdp' away.")

    def within(self, schema: Schema, bounds: Bounds) -> Policy:
        """Return the policy fitted to a table: columns resolved, both ends of its range known.

        >>> from prdp.schema import ColumnType
        >>> visits = {"visits": ColumnType(Kind.NUMBER, integer=True)}
        >>> Policy("1 / visits").within(visits, {"visits": (Fraction(1), Fraction(4))})
        Policy('1 / visits', at_least='1/4', at_most='1')

        Args:
            schema: The table's columns.
            bounds: The public least and greatest value of number columns.

        Raises:
            ExpressionError: The expression does not fit the table's columns.
            PolicyError: An end of the range is not given and does not follow from the bounds.
        """
        if self.stated is not None:
            return _fill_roots(self.__class__.__new__(self.__class__), self.stated.within(schema, bounds))
        try:
            return self._fitted(schema, bounds)
        except PolicyError as refused:
            raise PolicyError(*refused.parts, self._proposal(schema, bounds)) from None

    def _fitted(self, schema: Schema, bounds: Bounds) -> Policy:
        expression = check(self.expression, schema, Kind.NUMBER, self.text)
        values = bound(expression, ranges_of(bounds))
        needed = columns(expression)
        unbounded = [
            name for name in schema
            if name in needed and name not in bounds and schema[name].kind is Kind.NUMBER
        ]  # fmt: skip
        found = _Range(self.text, values, unbounded)
        found.refuse_if_all_are_below(self.at_least)
        at_most = self.at_most if self.at_most is not None else found.at_most()
        if self.at_least is not None:
            return self._of(self.text, expression, self.at_least, at_most, self.below)
        at_least = min(found.at_least(), at_most)
        below = _octaves_below(at_least, at_most, bound(expression, {}).low)
        return self._of(self.text, expression, at_least, at_most, below)

    def _proposal(self, schema: Schema, bounds: Bounds) -> str:
        """Return a sentence with a policy that would be taken, if a simple one has the same budgets."""
        values = bound(check(self.expression, schema, Kind.NUMBER, self.text), ranges_of(bounds))
        if values.empty or values.high <= 0 or self.at_least is not None:
            return ""
        cap = None if self.at_most is None else float(self.at_most)
        for text in bounded_texts(self.expression, cap):
            try:
                levels = Policy(text)._fitted(schema, bounds).levels  # noqa: SLF001  (its own class)
            except PrdpError:
                continue
            if 2 * levels.at_least < levels.at_most:  # else the cap gives nearly all records one budget
                return f" A policy that works: {text!r}."
        return ""

    def left_out(self, bounds: Bounds, whole: Collection[str] = ()) -> str | None:
        """Return a sentence on records within the bounds that the policy leaves out, if any are.

        ``None`` also where nothing is known because a number column has no bounds.

        >>> policy = Policy("10 - age", at_least="1/2")
        >>> policy.left_out({"age": (Fraction(0), Fraction(9))}) is None
        True
        >>> print(policy.left_out({"age": (Fraction(0), Fraction(12))}, whole={"age"}))  # doctest: +ELLIPSIS
        the policy leaves out records with age from 10 to 12: for example, with age=12 the budget is -2, ...

        Args:
            bounds: The public least and greatest value of number columns.
            whole: The columns that hold whole numbers only.
        """
        if self.stated is not None:
            return self.stated.left_out(bounds, whole)
        found = self.without_budget(bounds, whole)
        if found is None:
            return None
        which = found.condition or "within the bounds"
        return f"the policy leaves out records {which}: for example, {self._case(found.example)}"

    def without_budget(self, bounds: Bounds, whole: Collection[str] = ()) -> WithoutBudget | None:
        """Return the records within the bounds that ``left_out`` states, if any are known.

        >>> Policy("10 - age").without_budget({"age": (Fraction(0), Fraction(12))}, whole={"age"})
        WithoutBudget(condition='with age from 10 to 12', example={'age': 12.0})
        """
        if self.stated is not None:
            return self.stated.without_budget(bounds, whole)
        ranges = ranges_of(bounds)
        threshold = Threshold(self.is_valid)
        if threshold.everywhere(outcome(self.expression, ranges)):
            return None
        if len(self.columns) == 1 and self.columns <= ranges.keys():
            (name,) = self.columns
            regions, all_of_it = invalid_regions(self.expression, name, ranges[name], threshold)
            if name in whole:
                regions = [inner for region in regions if not (inner := whole_part(region)).empty]
            return self._without_budget_in(name, regions, elsewhere=not all_of_it) if regions else None
        example = invalid_example(self.expression, ranges, threshold)
        return None if example is None else WithoutBudget("", example)

    def _without_budget_in(self, name: str, regions: list[Interval], *, elsewhere: bool) -> WithoutBudget:
        shown = [
            f"{shown_name(name)} from {shown_value(region.low)} to {shown_value(region.high)}"
            if region.low < region.high
            else f"{shown_name(name)}={shown_value(region.low)}"
            for region in regions[:3]
        ]
        more = " and elsewhere" if elsewhere or len(regions) > len(shown) else ""
        return WithoutBudget(f"with {' or '.join(shown)}{more}", {name: self._worst(name, regions[0])})

    def _worst(self, name: str, region: Interval) -> float:
        """Return the end or the middle of a region that has no budget, or the smallest."""

        def budget(value: float) -> float:
            found = evaluate(self.expression, {name: value})
            return found if isinstance(found, float) else -math.inf

        return min(region.high, region.low, region.low / 2 + region.high / 2, key=budget)

    def _case(self, record: Mapping[str, Value]) -> str:
        """Return the budget of a made-up record."""
        values = ", ".join(f"{shown_name(name)}={shown_value(value)}" for name, value in record.items())
        budget = evaluate(self.expression, record)
        if not isinstance(budget, float):
            return f"with {values} there is no budget."
        floor = f"at_least is {shown_value(float(self.at_least))}" if self.at_least else "it must be positive"
        return f"with {values} the budget is {shown_value(budget)}, and {floor}."

    def is_valid(self, value: Value) -> bool:
        """Return whether a record with this budget takes part in answers."""
        return isinstance(value, float) and value > 0 and value >= float((self.at_least or 0) / 2**self.below)

    @classmethod
    def _of(
        cls, text: str, expression: Node, at_least: Exact | None, at_most: Exact | None, below: int = 0
    ) -> Policy:
        policy = cls.__new__(cls)
        _fill(policy, text, expression, (at_least, at_most), below)
        return policy


def _octaves_below(at_least: Fraction, at_most: Fraction, anywhere: float) -> int:
    """Return the number of octaves below the least budget within the bounds that are searched for others.

    As far as the policy goes at all, but no further than what a grid of levels can hold.
    """
    if math.isfinite(anywhere) and Fraction(repr(anywhere)) >= at_least:
        return 0  # the same double, whose decimals may be a little above it
    below = 0
    while (
        below < MAX_BELOW and at_least > anywhere * 2**below and holds(at_least / 2 ** (below + 1), at_most)
    ):
        below += 1
    return below


def _fill(
    policy: Policy, text: str, expression: Node, ends: tuple[Exact | None, Exact | None], below: int = 0
) -> None:
    """Set the attributes of a new policy, which is frozen afterwards."""
    least, most = (
        None if end is None else exact(end, name)
        for end, name in zip(ends, ("at_least", "at_most"), strict=True)
    )
    _check_ends(least, most)
    object.__setattr__(policy, "text", text)
    object.__setattr__(policy, "expression", expression)
    object.__setattr__(policy, "at_least", least)
    object.__setattr__(policy, "at_most", most)
    object.__setattr__(policy, "below", below)
    object.__setattr__(policy, "stated", None)


def _fill_roots(policy: Policy, stated: Policy) -> Policy:
    """Set the attributes of a new concentrated policy: those of e(r) = √(2·P(r)), and P(r) as it was stated.

    The largest e(r) is rounded down. So is the least one, by more than a double's error: whoever takes part
    by P(r) takes part. Both are one number where all records have one budget.
    """
    least, most = (None if end is None else root_below(2 * end) for end in (stated.at_least, stated.at_most))
    if stated.at_least is not None:
        lowered = root_below(2 * stated.at_least * _LESS)
        least, most = lowered, (lowered if least == most else most)
    expression = _root(stated.expression)
    _fill(policy, f"sqrt(2 * ({stated.text}))", expression, (least, most), -(-stated.below // 2))
    object.__setattr__(policy, "stated", stated)
    return policy


_LESS = 1 - Fraction(1, 1 << 36)


def _root(node: Node) -> Node:
    """Return the expression √(2·node); within a CASE, of each branch."""
    match node:
        case Case(branches, default):
            return Case(tuple((when, _root(value)) for when, value in branches), _root(default))
        case Number(value) if value > 0 and math.isfinite(2 * value):
            return Number(math.sqrt(2 * value))
        case _:
            return Call("sqrt", (Arithmetic("*", Number(2.0), node),))


@dataclass(frozen=True, slots=True)
class _Range:
    """The range of a policy's budgets over the bounds, and refusals where it is not finite."""

    text: str
    values: Interval
    unbounded: list[str]

    def refuse_if_all_are_below(self, at_least: Fraction | None) -> None:
        """Refuse a policy that leaves out every record."""
        if self.values.empty:
            raise PolicyError(f"the policy {self.text!r} never has a value: every record is left out.")
        if self.values.high <= 0 or (at_least is not None and self.values.high < float(at_least)):
            floor = "a budget is positive" if at_least is None else f"at_least is {at_least}"
            raise PolicyError(
                f"the policy {self.text!r} leaves out every record: {self._so()}, and {floor}. "
                "Check the policy and the bounds, or lower at_least."
            )

    def at_most(self) -> Fraction:
        """Return the largest budget that the bounds allow."""
        if self.values.high == math.inf:
            if self.values.low > _CAP:  # whatever at_most is near 1, all records would get it
                raise PolicyError(
                    f"the policy {self.text!r} gives every record a budget above "
                    f"{shown_value(self.values.low)}, which hardly protects anybody. Divide it by a public "
                    "number, so that most budgets lie near 1."
                )
            self._refuse(
                "has no largest budget",
                "at_most: the most that a record may lose, such as ",
                Argument("at_most", "10"),
            )
        return Fraction(repr(self.values.high))

    def at_least(self) -> Fraction:
        """Return the smallest budget that the bounds allow, as it is written in decimals."""
        low = self.values.low
        if low <= 0:
            self._refuse(
                "has no smallest positive budget",
                Argument("at_least", "1e-6"),
                ", say; records with a smaller budget are then left out",
            )
        if low == math.inf:
            return Fraction(2) ** _EXPONENTS[1]
        return Fraction(repr(low))

    def _so(self) -> str:
        ends = f"from {shown_value(self.values.low)} to {shown_value(self.values.high)}"
        missing = " and ".join(map(shown_name, self.unbounded))
        return f"over the bounds it ranges {ends}" + (f"; {missing} has no bounds" if missing else "")

    def _refuse(self, what: str, *remedy: Part) -> NoReturn:
        ends = dict.fromkeys(self.unbounded[:1], (Blank("low"), Blank("high")))
        bounds = (Argument("bounds", ends), " or ") if ends else ()
        raise PolicyError(f"the policy {self.text!r} {what}: {self._so()}. Give ", *bounds, *remedy, ".")


def _check_ends(at_least: Fraction | None, at_most: Fraction | None) -> None:
    smallest, largest = (Fraction(2) ** exponent for exponent in _EXPONENTS)
    for name, end in (("at_least", at_least), ("at_most", at_most)):
        if end is not None and not smallest <= end <= largest:
            raise PolicyError(
                f"{name}={str(end)[:40]!r} cannot be a budget: a budget is positive and a number "
                "that a double can hold."
            )
    if at_least is not None and at_most is not None and at_least > at_most:
        raise PolicyError(
            Argument("at_least", str(at_least)),
            " is more than ",
            Argument("at_most", str(at_most)),
            ". Lower at_least.",
        )


def ranges_of(bounds: Bounds) -> dict[str, Interval]:
    """Return the columns' bounds as intervals of doubles, where they have such.

    >>> ranges_of({"age": (Fraction(0), Fraction(120))})
    {'age': Interval(low=0.0, high=120.0)}
    """
    ends = {name: (as_double(low), as_double(high)) for name, (low, high) in bounds.items()}
    return {
        name: Interval(low, high)
        for name, (low, high) in ends.items()
        if low is not None and high is not None
    }


def whole_part(region: Interval) -> Interval:
    """Return the whole numbers of a region as the interval from the first to the last."""
    low = math.ceil(region.low) if math.isfinite(region.low) else region.low
    high = math.floor(region.high) if math.isfinite(region.high) else region.high
    return Interval(float(low), float(high))


def _double_below(value: Fraction) -> float:
    """Return the largest double that is not above a number."""
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, -math.inf)


def shown_value(value: Value) -> str:
    """Return a value for a sentence: 9,990 or 1e12 or 0.25 or 'student'."""
    if not isinstance(value, float):
        return repr(value) if isinstance(value, str) else str(value)
    return re.sub(r"e([+-])0*(\d)", lambda e: f"e{e[1].strip('+')}{e[2]}", f"{value:,.6g}")
