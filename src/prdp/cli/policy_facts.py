"""Facts of a policy for the command line: declared columns, its range and domains, one record's losses."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from itertools import pairwise

import typer

from prdp.cli.printing import number, number_above
from prdp.concentrated import epsilon_at
from prdp.declare.exact import exact
from prdp.errors import ExpressionError, InvalidRequest, PolicyError, PrdpError
from prdp.expressions.evaluate import Value, as_double, evaluate
from prdp.expressions.intervals import Interval
from prdp.expressions.invalid_budgets import Threshold, invalid_regions
from prdp.expressions.tokens import shown_name
from prdp.levels import Levels
from prdp.policy import Bounds, Policy
from prdp.schema import ColumnType, Kind, Schema

SHARES = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
"""The shares at which a record's losses are shown."""

_MAX_STEPS = 2_000
_MAX_STEPS_TOGETHER = 60_000

Ranges = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class DeclaredColumns:
    """The columns that the command line declares.

    Attributes:
        schema: Its columns.
        bounds: Their public least and greatest values.
        assumed: The columns that no option names, taken for numbers.
    """

    schema: Schema
    bounds: Bounds
    assumed: tuple[str, ...] = ()

    def only_range(self, policy: Policy) -> Interval | None:
        """Return the bounds of a policy's column as doubles, if there is just one and it has any."""
        column = next(iter(policy.columns), "")
        if len(policy.columns) != 1 or column not in self.bounds:
            return None
        low, high = (as_double(end) for end in self.bounds[column])
        return None if low is None or high is None else Interval(low, high)


@dataclass(frozen=True, slots=True)
class Domain:
    """One of the paper's domains; ``values`` are those of the policy's only column, where known."""

    domain: int
    budget_from: float
    budget_to: float
    values: Ranges | None


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """The budget and the losses of one record.

    Attributes:
        value: What the expression gives; None where it gives no number.
        budget: The record's budget, at most at_most; None where it is left out.
        level_budget: The budget after rounding down to the grid.
        losses: For each share, the most that the record can lose.
    """

    value: float | None
    budget: float | None
    level_budget: float | None
    losses: tuple[tuple[Fraction, float], ...]

    @classmethod
    def of(cls, policy: Policy, levels: Levels, record: Mapping[str, object]) -> RecordFacts:
        """Return the facts of a record that holds every column of the policy."""
        value = evaluate(policy.expression, record)
        budget = policy.budget(record)
        level = levels.index(budget)
        if budget is None or level is None:
            return cls(value if isinstance(value, float) else None, None, None, ())
        return cls(
            value=value if isinstance(value, float) else None,
            budget=budget,
            level_budget=float(levels.quanta(level) * levels.quantum),
            losses=tuple((share, float(share * Fraction(budget))) for share in SHARES),
        )


def holes(policy: Policy, levels: Levels, declared: DeclaredColumns) -> list[Interval]:
    """Return where in the policy's only column records are left out, as far as that is simple."""
    within = declared.only_range(policy)
    try:
        return [] if within is None else _Search(policy, within).below(levels.at_least)
    except _NotSimpleError:
        return []


def domains(policy: Policy, levels: Levels, declared: DeclaredColumns) -> list[Domain]:
    """Return the paper's domains, and where in the policy's only column they lie."""
    count = levels.domains
    ends = [*(levels.at_least * 2**i for i in range(count)), levels.at_most]
    values = _values(policy, ends[:-1], declared)
    return [
        Domain(i + 1, float(ends[i]), float(ends[i + 1]), values[i] if values else None) for i in range(count)
    ]


def _values(policy: Policy, starts: list[Fraction], declared: DeclaredColumns) -> list[Ranges] | None:
    """Return, for each domain, the values of the only column whose budgets lie in it, if that is simple."""
    within = declared.only_range(policy)
    if within is None:
        return None
    search = _Search(policy, within)
    try:
        below = [*map(search.below, starts), [within]]
    except _NotSimpleError:
        return None
    whole = all(declared.schema[column].integer for column in policy.columns)
    return [_apart(above, inner, whole) for inner, above in pairwise(below)]


class _NotSimpleError(Exception):
    """The search for the ends of a domain takes too many steps to be shown, or to be trusted."""


@dataclass(slots=True)
class _Search:
    """Looks for the values of a policy's only column, and gives up when that takes too long."""

    policy: Policy
    within: Interval
    steps: int = 0

    def below(self, budget: Fraction) -> list[Interval]:
        """Return where the budget is smaller, or there is none."""
        started = self.steps

        def enough(value: Value) -> bool:
            self.steps += 1
            if self.steps - started > _MAX_STEPS or self.steps > _MAX_STEPS_TOGETHER:
                raise _NotSimpleError
            return isinstance(value, float) and value >= float(budget)

        (column,) = self.policy.columns
        found, all_of_it = invalid_regions(self.policy.expression, column, self.within, Threshold(enough))
        if not all_of_it:
            raise _NotSimpleError
        return found


def _apart(outer: list[Interval], inner: list[Interval], whole: bool) -> Ranges:
    """Return the parts of some ranges that lie outside of some others."""
    parts: list[tuple[float, float]] = []
    for region in outer:
        low = region.low
        for hole in (hole for hole in inner if hole.low <= region.high and hole.high >= region.low):
            parts.append((low, math.nextafter(hole.low, -math.inf)))
            low = max(low, math.nextafter(hole.high, math.inf))
        parts.append((low, region.high))
    if whole:
        parts = [(math.ceil(low), math.floor(high)) for low, high in parts]
    return tuple((low, high) for low, high in parts if low <= high)


LARGE = 10
"""Above it a record is hidden from a casual look and from no other: docs/guide/policies.md."""


def warned(policy: Policy) -> str:
    """Return the facts of a policy whose largest budget is too large; empty of one whose is not.

    >>> warned(Policy("1 / visits", at_least="1/8", at_most=1))
    ''
    >>> warned(Policy("100 / visits", at_least="1/8", at_most=100))
    'budgets of up to 100 protect little: one record changes chances up to 2.688e43-fold. Set at_most.'
    >>> warned(Policy.constant(800)).split(": ")[1]
    'one record changes chances without limit. Write a smaller number.'
    """
    most = float(policy.shown.levels.at_most)
    if most <= LARGE:
        return ""
    remedy = "Set at_most." if policy.columns else "Write a smaller number."
    if policy.stated is not None:
        epsilon = number_above(epsilon_at(most, 1e-6))
        risk = f"P(r) of up to {number(most)} protects little: that is epsilon {epsilon} at delta 1e-6"
        return f"{risk}. {remedy}"
    factor = f"up to {number(math.exp(most), 4)}-fold" if most < 700 else "without limit"
    return f"budgets of up to {number(most)} protect little: one record changes chances {factor}. {remedy}"


_NUMBER = ColumnType(Kind.NUMBER, native="DOUBLE")
_WHOLE = ColumnType(Kind.NUMBER, integer=True, native="BIGINT")
_TEXT = ColumnType(Kind.TEXT, native="VARCHAR")
_OPTIONS = {"at_most": "--at-most 10", "at_least": "--at-least 1e-6"}


def declared_columns(policy: Policy, bounds: list[str], text: list[str], whole: list[str]) -> DeclaredColumns:
    """Return the columns that the options name, and those of the policy that none of them does.

    A name that is close to a declared one is taken for a slip and not added: the check of the policy
    then says which one was meant.
    """
    ends = dict(_bounds_of(part) for option in bounds for part in _parts(option))
    numbers = dict.fromkeys(ends, _NUMBER) | dict.fromkeys(whole, _WHOLE)
    both = [name for name in text if name in numbers]
    if both:
        raise InvalidRequest(f"{both[0]} cannot be text (--text) and a number (--bounds, --whole) at once.")
    named = numbers | dict.fromkeys(text, _TEXT)
    known = {name.lower() for name in named}
    assumed = tuple(
        name
        for name in sorted(policy.columns)
        if name.lower() not in known and not get_close_matches(name.lower(), known, n=1)
    )
    return DeclaredColumns(named | dict.fromkeys(assumed, _NUMBER), ends, assumed)


def _bounds_of(option: str) -> tuple[str, tuple[Fraction, Fraction]]:
    name, _, ends = option.rpartition("=")
    low, colon, high = ends.partition(":")
    if not name or not colon:
        raise InvalidRequest(f"--bounds {option} is not of the form COLUMN=LOW:HIGH, such as balance=0:1e12.")
    least, most = (exact(end, f"--bounds {name}") for end in (low, high))
    if least > most:
        raise InvalidRequest(
            f"--bounds {option} is reversed: the least value comes first. Write {name}={high}:{low}."
        )
    return name, (least, most)


def _parts(option: str) -> list[str]:
    """Return the NAME=... parts of an option in which commas part them."""
    return re.split(r",(?=[^,=]+=)", option)


def record_of(options: list[str], policy: Policy, declared: DeclaredColumns) -> dict[str, object]:
    """Return the record that ``--record`` options say, holding every column that the policy reads."""
    record: dict[str, object] = {}
    for part in (part for option in options for part in _parts(option)):
        name, equals, value = part.partition("=")
        if not name or not equals:
            raise InvalidRequest(f"--record {part} is not of the form COLUMN=VALUE, such as balance=5000.")
        spelled = {column.lower(): column for column in declared.schema}.get(name.strip().lower(), name)
        if spelled not in declared.schema or spelled in record:
            what = "twice" if spelled in record else "but neither the policy nor an option does"
            raise InvalidRequest(f"--record names {name.strip()} {what}.")
        record[spelled] = _value(spelled, value.strip(), declared)
    missing = sorted(policy.columns - record.keys())
    if missing:
        example = ",".join(f"{name}=..." for name in missing)
        raise InvalidRequest(
            f"--record says nothing about {missing[0]}, which the policy reads: add {example}"
        )
    return record


def _value(name: str, value: str, declared: DeclaredColumns) -> object:
    if not value:
        return None
    kind = declared.schema.get(name, _TEXT).kind
    return exact(value, f"--record {name}") if kind is Kind.NUMBER else value


def with_options(error: InvalidRequest, policy: Policy, declared: DeclaredColumns) -> InvalidRequest:
    """Return an error with the command line's spelling of what it asks for."""
    unbounded = [name for name in declared.schema if name in policy.columns and name not in declared.bounds]
    if isinstance(error, ExpressionError) and declared.assumed:
        name = declared.assumed[0]
        return InvalidRequest(
            *error.parts,
            f"\n\n{shown_name(name)} is taken for a number, because no option names it. If it holds "
            f"text, add --text {name}",
        )
    if not isinstance(error, PolicyError):
        return error
    options = [f"--bounds {name}=LOW:HIGH" for name in unbounded if "bounds" in error.arguments]
    options += [spelled for name, spelled in _OPTIONS.items() if name in error.arguments]
    return PolicyError(*error.parts, f"\nHere that is {' or '.join(options)}") if options else error


def column_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the policy's columns that a half-typed name may mean, for completion in a shell."""
    try:
        names = Policy(str(ctx.params.get("expression") or "")).columns
    except PrdpError:
        return []
    return sorted(name for name in names if name.startswith(incomplete))
