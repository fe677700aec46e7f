"""A table's groups by public keys: each question gives one answer a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prdp.declare.columns import Number
from prdp.declare.exact import Exact
from prdp.declare.groups import Grouping, bins
from prdp.plan.methods import DEFAULT, Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Quantile, Query
from prdp.release.table import Released, ReleaseTable
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.tables.questions import Questions, listed_quantiles

if TYPE_CHECKING:
    from prdp.tables.queried import Queried


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Questions[ReleaseTable]):
    """A table's groups by public keys; what ``group_by`` returns. Each question gives one answer a group.

    >>> import numpy
    >>> import prdp
    >>> sales = prdp.open({"year": numpy.array([2025, 2026])}, policy=prdp.Policy.constant(1), name="sales")
    >>> sales.group_by("year", keys=[2025, 2026])
    <2 groups by year of <prdp table 'sales': Policy('1', at_least='1', at_most='1')>>
    """

    table: Queried
    grouping: Grouping
    _reader: Reader

    def __repr__(self) -> str:
        by = ", ".join(map(str, self.grouping.by))
        return f"<{len(self.grouping.keys)} groups by {by} of {self.table!r}>"

    def where(self, condition: str) -> Groups:
        """Return the groups of those records alone for which a condition holds."""
        return replace(self, table=self.table.where(condition))

    def quantiles(
        self,
        column: str,
        q: Iterable[float | Exact],
        *,
        share: Exact,
        method: str = "rank",
        fresh: bool = False,
    ) -> ReleaseTable:
        """Find several quantiles of each group at once; as ``quantile``."""
        return self._one(Quantile(column, listed_quantiles(q)), share, Options(method), fresh=fresh)

    def histogram(
        self, column: str, *, edges: Iterable[Number], share: Exact, method: str = "clip", fresh: bool = False
    ) -> ReleaseTable:
        """Count the records of each group whose value lies in each of some public bins."""
        crossed = self.grouping.crossed(bins(column, edges), self.table.planner.schema)
        return replace(self, grouping=crossed).count(share=share, method=method, fresh=fresh)

    def plan(
        self,
        *queries: Query,
        share: Exact,
        split: Sequence[Exact] | None = None,
        options: Options = DEFAULT,
    ) -> Plan:
        """Return what would be done to answer queries, or refuse; reads and charges nothing."""
        return self.table.planner.plan(queries, share, self.grouping, options=options, split=split)

    def _one(self, query: Query, share: Exact, options: Options, *, fresh: bool) -> ReleaseTable:
        plan = self.plan(query, share=share, options=options)
        return plan.tabled(self._answered(plan, fresh=fresh))

    def _in_words(self, plan: Plan) -> str:
        return self.table.explained(plan)

    def _answered(self, plan: Plan, *, fresh: bool) -> Released:
        return answer(self.table.ledger, plan, self._reader, fresh=fresh)
