"""A table's groups by public keys: each question gives one answer a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, overload

from prdp.declare.columns import Number
from prdp.declare.exact import Exact, exact_share
from prdp.declare.groups import Grouping, needs_keys
from prdp.errors import InvalidRequest
from prdp.methods import Chosen
from prdp.plan.explain import Explanation
from prdp.plan.methods import DEFAULT, Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Quantile, Query, listed_quantiles
from prdp.plan.shares import Shares
from prdp.policy import Policy
from prdp.release.formatting import html_table
from prdp.release.public_names import renamed
from prdp.release.table import Released, ReleaseTable, shown_key
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.schema import Schema
from prdp.tables.column import TableColumn, TableColumns
from prdp.tables.query_methods import Questions, binned

if TYPE_CHECKING:
    from prdp.tables.queryable import Queried


_SHOWN_KEYS = 40
"""As many rows as a table of answers shows: what fits on a screen."""


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Questions[ReleaseTable]):
    """A table's groups by public keys; what ``group_by`` returns. Each question gives one answer a group.

    >>> import numpy
    >>> import prdp
    >>> sales = prdp.open({"year": numpy.array([2025, 2026])}, policy=prdp.Policy.constant(1), name="sales")
    >>> sales.group_by("year", keys=[2025, 2026])  # doctest: +ELLIPSIS
    <2 groups by year of <prdp table 'sales': Policy('1', ...); year; all of every budget left>>
    """

    synonyms: ClassVar[Mapping[str, str]] = renamed("count", "size", "len")

    table: Queried
    grouping: Grouping
    _reader: Reader

    def __repr__(self) -> str:
        by = ", ".join(map(str, self.grouping.by))
        return f"<{len(self.grouping.keys)} groups by {by} of {self.table!r}>"

    def _repr_html_(self) -> str:
        rows = [[shown_key(value) for value in key] for key in self.grouping.keys[:_SHOWN_KEYS]]
        more = len(self.grouping.keys) - len(rows)
        notes = [f"... and {more:,} more"] * (more > 0) + [repr(self.table)]
        heads = [str(key) for key in self.grouping.by]
        return html_table(f"{len(self.grouping.keys):,} public groups", heads, rows, notes)

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return self.table.columns

    @property
    def schema(self) -> Schema:
        """The table's columns and their types."""
        return self.table.schema

    @property
    def policy(self) -> Policy:
        """The table's policy."""
        return self.table.policy

    @property
    def remaining(self) -> Fraction:
        """The part of their budgets that the records of these groups have left.

        >>> import numpy
        >>> import prdp
        >>> sales = prdp.open({"year": numpy.array([2025, 2026])}, policy="1", name="sales")
        >>> sales.group_by("year", keys=[2025, 2026]).remaining
        Fraction(1, 1)
        """
        return self.table.ledger.remaining_in(self.table.planner.region(self.grouping))

    def filter(self, *conditions: str | TableColumn[Any], **equal: object) -> Groups:
        """Return the groups of those records alone for which all conditions hold."""
        return replace(self, table=self.table.filter(*conditions, **equal))

    @overload
    def __getitem__(self, item: str) -> TableColumn[ReleaseTable]: ...

    @overload
    def __getitem__(self, item: list[str]) -> TableColumns[ReleaseTable]: ...

    def __getitem__(self, item: str | list[str]) -> TableColumn[ReleaseTable] | TableColumns[ReleaseTable]:
        """Return a column of the groups, by its name, or several: ``groups["age"].mean(share=0.1)``."""
        return self._column(item)

    def quantiles(
        self,
        column: str,
        q: Iterable[Exact],
        *,
        share: Exact,
        method: Chosen = "rank",
        redraw: bool = False,
    ) -> ReleaseTable:
        """Find several quantiles of each group at once; as ``quantile``."""
        return self._one(Quantile(column, listed_quantiles(q)), share, Options.of(method), redraw=redraw)

    def histogram(
        self,
        column: str,
        *,
        edges: Iterable[Number] | None = None,
        bins: int | Iterable[Number] | None = None,
        share: Exact,
        method: Chosen = "clip",
        redraw: bool = False,
    ) -> ReleaseTable:
        """Count the records of each group whose value lies in each of some public bins."""
        planner = self.table.planner
        crossed = self.grouping.crossed(binned(column, edges, bins, planner), planner.schema)
        return replace(self, grouping=crossed).count(share=share, method=method, redraw=redraw)

    def plan(
        self,
        *queries: Query,
        share: Exact,
        shares: Shares | None = None,
        options: Options = DEFAULT,
    ) -> Plan:
        """Return what would be done to answer queries, or refuse; reads and charges nothing."""
        return self.table.planner.plan(queries, share, self.grouping, options=options, shares=shares)

    def _one(self, query: Query, share: Exact, options: Options, *, redraw: bool) -> ReleaseTable:
        plan = self.plan(query, share=share, options=options)
        return plan.tabled(answer(self.table.ledger, plan, self._reader, redraw=redraw))

    def explanation(self, plan: Plan) -> Explanation:
        """Return what a plan would do; reads no record and charges nothing."""
        return self.table.explanation(plan)

    def _answered(self, plan: Plan, *, redraw: bool) -> Released:
        return answer(self.table.ledger, plan, self._reader, redraw=redraw)


@dataclass(frozen=True, eq=False, repr=False)
class SearchedGroups(Groups):
    """A table's groups by keys that each query finds first: half of its share finds them, half answers it.

    Rare keys are missing by design, and ``keys=[...]`` gives the whole share to the answers.

    >>> import numpy
    >>> import prdp
    >>> staff = prdp.open({"job": numpy.array(["chef"] * 900 + ["clerk"] * 500)}, policy=1)
    >>> staff.group_by("job").count(share=0.5).top(2).keys, staff.remaining
    ((('chef',), ('clerk',)), Fraction(1, 2))
    """

    wanted: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"<groups by {', '.join(map(str, self.grouping.by))}, to be found, of {self.table!r}>"

    def _repr_html_(self) -> str:
        return html_table(
            "groups to be found", [str(key) for key in self.grouping.by], [], [repr(self.table)]
        )

    @property
    def remaining(self) -> Fraction:
        """The part of their budgets that all records of the table have left."""
        return self.table.remaining

    def plan(self, *_queries: Query, **_options: Any) -> Plan:
        """Refuse: what would be done depends on the keys that are found."""
        raise needs_keys(self.grouping.by)

    def histogram(
        self,
        column: str,
        *,
        edges: Iterable[Number] | None = None,
        bins: int | Iterable[Number] | None = None,
        share: Exact,
        method: Chosen = "clip",
        redraw: bool = False,
    ) -> ReleaseTable:
        """Count the records of each group whose value lies in each of some public bins."""
        groups, each = self._found(share, redraw=redraw)
        counted = groups.histogram(column, edges=edges, bins=bins, share=each, method=method, redraw=redraw)
        return self._noted(counted, 2 * each)

    def _one(self, query: Query, share: Exact, options: Options, *, redraw: bool) -> ReleaseTable:
        return self._several([query], share, options=options, redraw=redraw)

    def _several(
        self,
        queries: Sequence[Query],
        share: Exact,
        shares: Shares | None = None,
        options: Options = DEFAULT,
        *,
        redraw: bool,
    ) -> ReleaseTable:
        if shares is not None:
            raise needs_keys(self.grouping.by)
        groups, each = self._found(share, redraw=redraw)
        plan = groups.plan(*queries, share=each, options=options)
        return self._noted(groups.answer_plan(plan, redraw=redraw), 2 * each)

    def _found(self, share: Exact, *, redraw: bool) -> tuple[Groups, Fraction]:
        """Return the groups of the keys that half of a share finds, and the other half."""
        each, by = exact_share(share) / 2, list(self.wanted)
        try:
            found = self.table.find_keys(by if len(by) > 1 else by[0], share=each, redraw=redraw)
        except InvalidRequest as error:
            searched = " in find_keys, and pass what it finds, keys=found." if error.arguments else ""
            raise InvalidRequest(
                f"{str(error).removesuffix('.') if searched else error}{searched} Or list the keys: "
                "group_by(..., keys=[...])."
            ) from None
        if not found.keys:
            raise InvalidRequest(
                f"no key was found with half of the share, {each}, which is charged; the rest is not. List "
                "the keys, group_by(..., keys=[...]), or use a larger share."
            )
        return self.table.group_by(by, keys=found), each

    def _noted(self, answers: ReleaseTable, share: Fraction) -> ReleaseTable:
        """Return answers sorted by their keys, with the share that these and the keys used together."""
        for name in reversed(answers.by):
            answers = answers.sort(name)
        note = keys_found(", ".join(map(str, self.grouping.by)))
        return replace(answers, share=share, notes=(*answers.notes, note))


def keys_found(by: str) -> str:
    """Return the note on keys that half of a share found."""
    return f"half of the share found the keys of {by}; rare ones are missing: keys=[...] lists them"
