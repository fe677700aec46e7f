"""Describe every column of a table from one charge: values, means, quartiles, extremes, shares of keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from prdp.declare.exact import Exact, exact_share, short_repr
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import shown_name
from prdp.plan.queries import Count, Max, Mean, Min, Quantile, Query, Sum, listed_quantiles
from prdp.release.derived import combined
from prdp.release.release import Release
from prdp.release.table import ReleaseTable
from prdp.schema import Bounds, Kind, Schema

MAX_KEYS = 50
"""Largest number of keys of a column whose shares are described: each is a question of its own."""

ALL = "*"
"""Name of all columns together, in the row with the number of records."""

_STEP = Fraction(1, 1 << 20)
"""Step of shares of the records."""

_QUARTILES = ("1/4", "1/2", "3/4")


@dataclass(frozen=True, slots=True)
class Described:
    """One query of a description.

    Attributes:
        column: The column that it is about.
        names: The statistics that it answers, in the order of its answers.
        query: The query.
        weight: Its part of the share, beside those of the others.
        counts: Whether it counts records of which the share of all is shown.
    """

    column: str
    names: tuple[str, ...]
    query: Query
    weight: Fraction = Fraction(1)
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Description:
    """The queries that describe columns, their shares, and the table that their answers make.

    Attributes:
        parts: The queries.
        share: The part of every record's budget for all of them.
        notes: Columns that are described in part only, and what to do.
    """

    parts: tuple[Described, ...]
    share: Fraction
    notes: tuple[str, ...] = ()

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries, in order."""
        return tuple(part.query for part in self.parts)

    @property
    def shares(self) -> list[Fraction]:
        """The share of each query: the whole, divided by public weights."""
        whole = sum((part.weight for part in self.parts), Fraction(0))
        return [self.share * part.weight / whole for part in self.parts]

    def table(self, answers: ReleaseTable, name: str) -> ReleaseTable:
        """Return the answers with a row for each statistic of each column."""
        found = iter(answers.releases[0])
        rows = [(part, next(found)) for part in self.parts for _ in part.names]
        whole = rows[0][1]
        keys = tuple((part.column, statistic) for part in self.parts for statistic in part.names)
        return replace(
            answers,
            question=f"description of {name}",
            by=("column", "statistic"),
            asked=("value",),
            keys=keys,
            releases=tuple((share_of(one, whole) if part.counts else one,) for part, one in rows),
            notes=self.notes,
        )


def share_of(part: Release, whole: Release) -> Release:
    """Return the share that some records are of all, from how many they are: pure post-processing."""
    limits = Fraction(0), Fraction(1)
    share = combined("mean", (part.exact, whole.exact), limits)
    bias = part.bias or whole.bias
    return Release(
        question=f"{part.question}, per record",
        steps=round(share / _STEP),
        step=_STEP,
        noise_scales=(),
        share=part.share + whole.share,
        method=part.method,
        bias=bias and replace(bias, way="either way"),
        simulated=part.simulated,
        ends=limits,
        parts=(part, whole),
        rule="mean",
        left_out=part.left_out,
    )


def description(
    schema: Schema,
    bounds: Bounds,
    share: Exact,
    keys: Mapping[str, Iterable[object]] | None,
    *,
    omitted: Iterable[str | None] = (),
) -> Description:
    """Return what describes the columns of a table, by public facts alone.

    Args:
        schema: The columns.
        bounds: The public bounds of number columns.
        share: The part of every record's budget for all of it.
        keys: The public keys of columns whose shares are wanted.
        omitted: Columns that are not described: those that say whose a row is.
    """
    listed = _keys_of(keys, schema)
    kept = [name for name in schema if name not in set(omitted)]
    names = [name for name in kept if schema[name].kind is not Kind.OTHER]
    parts = [Described(ALL, ("count",), Count(), Fraction(2))]
    for name in names:
        parts += _of_column(name, schema, bounds, listed.get(name, ()))
    unbounded = [name for name in names if schema[name].kind is Kind.NUMBER and name not in bounds]
    unread = [name for name in kept if name not in names]
    noted = {"numbers without bounds, not measured": unbounded, "columns of types that are not read": unread}
    notes = tuple(f"{what}: {', '.join(columns)}" for what, columns in noted.items() if columns)
    return Description(tuple(parts), exact_share(share), notes)


def _of_column(name: str, schema: Schema, bounds: Bounds, keys: Sequence[object]) -> Iterator[Described]:
    """Yield the queries about one column."""
    shown, kind = shown_name(name), schema[name].kind
    yield Described(name, ("not null",), Sum(f"{shown} IS NOT NULL"), counts=True)
    if kind is Kind.NUMBER and name in bounds:
        yield Described(name, ("mean",), Mean(name), Fraction(2))
        yield Described(name, ("min",), Min(name))
        quartiles = Quantile(name, listed_quantiles(_QUARTILES))
        yield Described(name, ("q0.25", "median", "q0.75"), quartiles, Fraction(2))
        yield Described(name, ("max",), Max(name))
    if kind is Kind.BOOLEAN:
        yield Described(name, ("true",), Sum(f"{shown} = TRUE"), counts=True)
    for key in keys:
        text = str(key).replace("'", "''")
        has_it = Sum(f"{shown} = '{text}'")
        yield Described(name, (f"= {key}",), has_it, Fraction(2, len(keys)), counts=True)


def _keys_of(keys: Mapping[str, Iterable[object]] | None, schema: Schema) -> dict[str, list[Any]]:
    """Return the listed keys of text columns; refuse those of columns that are not there, and too many."""
    if keys is not None and not isinstance(keys, Mapping):
        raise InvalidRequest(f"keys={short_repr(keys)} is no dict: write keys={{'job': ['chef', 'clerk']}}.")
    found: dict[str, list[Any]] = {}
    for column, values in (keys or {}).items():
        if column not in schema:
            raise InvalidRequest(f"keys= names {column!r}, which is no column: {', '.join(schema)}.")
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidRequest(f"keys= of {column!r} is no list: write keys={{{column!r}: ['a', 'b']}}.")
        listed = list(dict.fromkeys(values))
        if len(listed) > MAX_KEYS:
            raise InvalidRequest(
                f"keys= lists {len(listed):,} keys of {column!r}: a description has at most {MAX_KEYS} of a "
                f"column. Leave them out, and count them by group_by({column!r}, keys=...)."
            )
        if schema[column].kind is Kind.TEXT:
            found[column] = listed
    return found
