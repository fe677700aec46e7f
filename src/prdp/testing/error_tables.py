"""Errors of statements at several shares, or under several policies, on synthetic data; nothing charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from prdp.declare.exact import Exact, exact_share
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import shown_name
from prdp.plan.queries import Query
from prdp.policy import Policy
from prdp.projects.project import Project, named_in
from prdp.projects.project import project as project_here
from prdp.release.formatting import aligned, optional_library
from prdp.tables.arguments import read_policy
from prdp.tables.table import Table
from prdp.testing.preview import EVEN, Errors, errors_of, is_law, made_up, roundings_of
from prdp.testing.simulate import RUNS, refuse_unless_repeatable
from prdp.testing.truth import refuse_unless_synthetic

SHARES = ("0.01", "0.05", "0.1", "0.5", "1")
"""The shares that are tried where none is given."""

_PLENTY = Policy.constant(10**9)
_HEADS = ("policy", "share", "column", "median error", "95 in 100 within", "in interval", "flagged")


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Errors of a column's answers, over all rows of a statement and many runs.

    Attributes:
        statement: The question.
        policy: Under which policy, by its name; empty for the declared one.
        share: The share of each answer.
        column: The column.
        median: The median error, in parts of the truth.
        often: The error that 95 of 100 answers kept, in parts of the truth.
        covered: The part of the answers whose interval held the truth.
        flagged: The part of the answers that have a flag.
    """

    statement: str
    policy: str
    share: Fraction
    column: str
    median: float
    often: float
    covered: float
    flagged: float


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """Measurements of ``preview`` and ``compare``, a row for each column of a statement.

    Attributes:
        rows: The rows, in the order in which they were asked for.
        runs: The number of simulated answers for each.
    """

    rows: tuple[ErrorRow, ...]
    runs: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ErrorRow]:
        return iter(self.rows)

    def to_pandas(self) -> Any:
        """Return a pandas frame with a row for each row; shares are floats."""
        rows = [asdict(row) | {"share": float(row.share)} for row in self.rows]
        return optional_library("pandas", "pandas").DataFrame(rows)

    def __str__(self) -> str:
        cells = [
            (row.policy, str(row.share), row.column, *map(_percent, (row.median, row.often)), *_parts(row))
            for row in self.rows
        ]
        named = any(row.policy for row in self.rows)
        columns = list(zip(_HEADS, *cells, strict=True))[0 if named else 1 :]
        lines = zip(
            *(aligned(column, left=column[0] in ("policy", "column")) for column in columns), strict=True
        )
        stated = f"{self.runs} simulated answers each, over all rows; errors in percent of the truth."
        return "\n".join([*("  ".join(line).rstrip() for line in lines), stated])


def preview(
    statement: str | Query,
    *,
    like: object = EVEN,
    share: Exact | Sequence[Exact] = SHARES,
    runs: int = RUNS,
    keys: Mapping[str, Any] | None = None,
    project: Project | None = None,
) -> ErrorTable:
    """Measure how large a statement's error would be at several shares, as ``prdp preview`` does.

    Reads no private record and charges nothing.

    >>> import numpy
    >>> import prdp
    >>> ages = {"age": numpy.arange(2000) % 90}
    >>> people = prdp.open(ages, policy=1, bounds={"age": (0, 120)}, name="people", synthetic=True)
    >>> errors = prdp.preview("SELECT COUNT(*) AS n FROM people", like=people, share=[0.1, 1], runs=5)
    >>> [(row.column, str(row.share), row.median < 0.2) for row in errors]
    [('n', '1/10', True), ('n', '1', True)]

    Args:
        statement: The SQL statement; or a query such as ``prdp.mean("age")`` of the table ``like``.
        like: Public or made-up records like yours: a table opened with ``synthetic=True``; or, for a table of
            a project, a file, a frame or a law such as ``"normal:50000,50000,n=200000"``; by default, its
            columns are uniform within their bounds.
        share: The share of each answer, or several.
        runs: The number of answers to simulate for each share.
        keys: The public keys of grouping columns, where ``like`` is a table; a project lists its own.
        project: Declares the table, where ``like`` is none; by default the one of this folder.
    """
    refuse_unless_repeatable(runs, 0)
    listed = list(share) if isinstance(share, Sequence) and not isinstance(share, str) else [share]
    statement = _statement(statement, like)
    asked = _Stage.of(statement, like, keys, project)
    truth, table = asked.opened(_PLENTY), asked.opened(None)
    rows: list[ErrorRow] = []
    for one in map(exact_share, listed):
        found = errors_of(truth, table, statement, asked.listed, share=one, runs=runs)
        rows += [_row(statement, "", one, line) for line in found]
    return ErrorTable(tuple(rows), runs)


def compare(
    statements: str | Query | Sequence[str | Query],
    *,
    policies: Mapping[str, Policy | Exact] | Sequence[Policy | Exact],
    like: object,
    share: Exact = "0.1",
    runs: int = RUNS,
    keys: Mapping[str, Any] | None = None,
    project: Project | None = None,
) -> ErrorTable:
    """Measure how large errors would be under several policies, as ``prdp compare`` does.

    Reads no private record and charges nothing.

    >>> import numpy
    >>> import prdp
    >>> ages = {"age": numpy.arange(2000) % 90}
    >>> people = prdp.open(ages, policy=1, bounds={"age": (0, 120)}, name="people", synthetic=True)
    >>> both = {"strict": 0.1, "by age": prdp.Policy("90 / greatest(age, 9)")}
    >>> found = prdp.compare("SELECT COUNT(*) AS n FROM people", policies=both, like=people, runs=5)
    >>> [row.policy for row in found]
    ['strict', 'by age']

    Args:
        statements: The SQL statement or query, or several; as in ``preview``.
        policies: The policies by name, or a list of them: each is then named by its text.
        like: As in ``preview``, and so are the others.
        share: The share of each answer.
        runs: The number of answers to simulate for each policy.
        keys: As in ``preview``.
        project: As in ``preview``.
    """
    refuse_unless_repeatable(runs, 0)
    if isinstance(policies, Sequence) and not isinstance(policies, str):
        policies = {str(one.text if isinstance(one, Policy) else one): one for one in policies}
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidRequest(
            "compare takes policies by name: policies={'same': 1, 'inverse': '100 / income'}."
        )
    part, rows = exact_share(share), []
    for one in [statements] if isinstance(statements, str | Query) else statements:
        statement = _statement(one, like)
        asked = _Stage.of(statement, like, keys, project)
        truth = asked.opened(_PLENTY)
        for name, policy in policies.items():
            table = asked.opened(read_policy(policy))
            found = errors_of(truth, table, statement, asked.listed, share=part, runs=runs)
            rows += [_row(statement, name, part, line) for line in found]
    return ErrorTable(tuple(rows), runs)


@dataclass(frozen=True, slots=True)
class _Stage:
    """Synthetic data that a statement is asked of.

    Attributes:
        opened: Returns its table under a policy; None for the declared one.
        listed: What the statement needs beside its text, such as public keys.
    """

    opened: Callable[[Policy | None], Any]
    listed: Mapping[str, Any]

    @classmethod
    def of(
        cls, statement: str, like: object, keys: Mapping[str, Any] | None, project: Project | None
    ) -> _Stage:
        """Find the table that a statement is about, and the synthetic data in its place."""
        if isinstance(like, Table):
            table: Table = like
            refuse_unless_synthetic(table, "preview")

            def under(policy: Policy | None) -> Table:
                fitted = None if policy is None else policy.within(table.schema, table.bounds)
                return table if fitted is None else replace(table, policy=fitted)

            return cls(under, {} if keys is None else {"keys": keys})
        here = project_here() if project is None else project
        name = named_in(statement, here)
        records, asking = like, here
        if isinstance(like, str) and is_law(like):
            facts = here.facts(name)
            records, asking = (
                made_up(like, facts, facts.bounds),
                here.with_rounding(name, roundings_of(facts)),
            )

        def declared(policy: Policy | None) -> Any:
            other = asking if policy is None else asking.with_policy(name, _declared(policy))
            return other.open(name, synthetic=records)

        return cls(declared, here.listed_for(name))


_FUNCTIONS = {
    "count": "COUNT(*)", "sum": "SUM({of})", "mean": "AVG({of})", "min": "MIN({of})", "max": "MAX({of})",
    "variance": "VAR_POP({of})", "std": "STDDEV_POP({of})", "distinct": "COUNT(DISTINCT {of})",
    "quantile": "QUANTILE_CONT({of}, {at})",
}  # fmt: skip


def _statement(asked: str | Query, like: object) -> str:
    """Return a statement; that of a query, of an open table."""
    if not isinstance(asked, Query):
        return asked
    facts = asked.known(like.schema).facts if isinstance(like, Table) else {"query": ""}
    function = _FUNCTIONS.get(facts["query"])
    if function is None or not isinstance(like, Table):
        raise InvalidRequest(f"{asked} is not available here: write a SQL statement, or give like=table.")
    columns = [
        f"{function.format(of=facts.get('of'), at=float(Fraction(part)))} AS {shown_name(name)}"
        for part, name in zip(facts.get("at", [0]), asked.labels, strict=True)
    ]
    return f"SELECT {', '.join(columns)} FROM {shown_name(like.name)}"


def _declared(policy: Policy) -> dict[str, Any]:
    """Return a policy as a project file declares it."""
    shown = policy.shown
    ends = {"at_most": shown.at_most, "at_least": shown.at_least}
    notion = {} if policy.stated is None else {"notion": policy.notion}
    return {"policy": shown.text} | {name: str(end) for name, end in ends.items() if end is not None} | notion


def _row(statement: str, policy: str, share: Fraction, line: Errors) -> ErrorRow:
    return ErrorRow(
        statement, policy, share, line.column, line.median, line.often, line.covered, line.flagged
    )


def _parts(row: ErrorRow) -> tuple[str, str]:
    return _percent(row.covered), _percent(row.flagged)


def _percent(part: float) -> str:
    return f"{100 * part:,.0f} %" if part >= 1 else f"{100 * part:.3g} %"
