"""What a table and a join have in common: filters, groups, and questions that a planner turns into plans."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from prdp.declare.columns import Number
from prdp.declare.exact import Exact
from prdp.declare.groups import OTHER, GroupKey, bins, read_grouping
from prdp.errors import InvalidRequest
from prdp.methods import Chosen
from prdp.plan.functions import listed_quantiles
from prdp.plan.methods import DEFAULT, Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Quantile, Query
from prdp.plan.shares import Shares
from prdp.policy import Policy
from prdp.release.release import Release
from prdp.release.table import Key, Released, ReleaseTable
from prdp.run.answer import answer
from prdp.schema import Schema
from prdp.tables.groups import Groups
from prdp.tables.key_questions import KeyQuestions
from prdp.tables.questions import Questions

if TYPE_CHECKING:
    from prdp.sql.catalog import Catalog
    from prdp.sql.results import SqlAnswers


class Queried(KeyQuestions, Questions[Release]):
    """What answers questions about rows, its own or the results of a join, with releases."""

    name: str
    policy: Policy

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns that questions may name, and their types."""

    @property
    @abstractmethod
    def _catalog(self) -> Catalog:
        """The tables that SQL may name."""

    @abstractmethod
    def where(self, condition: str) -> Self:
        """Return those rows alone for which a condition holds."""

    def group_by(self, *columns: str | GroupKey, keys: object = None, other: bool = False) -> Groups:
        """Tell records apart by public keys; every question is then answered for each key.

        The groups are disjoint, so each is answered with the whole share. Where a record is an owner of
        several rows, which may lie in several groups, all are answered together: docs/owners.md. A key that
        no record has is answered with noise like any other; records whose key is not listed are in no answer,
        unless ``other`` makes a group of them.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> counts = accounts.group_by(prdp.bins("age", [0, 40, 80])).count(share="1/4")
        >>> [str(age) for (age,), _ in counts], accounts.ledger.left
        (['[0, 40)', '[40, 80]'], Fraction(3, 4))

        Args:
            columns: Column names, expressions such as ``"CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END"``,
                ``prdp.date_trunc("month", "opened")``, ``prdp.bins("price * quantity", [0, 100])``.
            keys: The public keys: a list of values (of tuples for several columns); a dict with a list for
                each column, ``{"job": jobs, "year": years}``, of which every combination is a key; or a
                public table (Arrow, pandas, Polars) with a key a row. Bins are their own keys. What
                ``find_keys`` found will do as well.
            other: Whether there is one more group, of all records that have none of the listed keys.
        """
        self._refuse_shared(keys, "keys=")
        if isinstance(keys, ReleaseTable):
            keys = _keys_of(keys, columns, other=other)
        planner = self.planner
        planner.refuse_elsewhere(*(getattr(column, "column", column) for column in columns))
        return Groups(self, read_grouping(columns, keys, planner.schema, other=other), self._reader)

    def histogram(
        self,
        column: str,
        *,
        edges: Iterable[Number],
        share: Exact,
        method: Chosen = "clip",
        fresh: bool = False,
    ) -> ReleaseTable:
        """Count the records whose value lies in each of some public bins; see ``prdp.bins``.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> len(accounts.histogram("age", edges=[0, 20, 40, 60, 80], share="1/4"))
        4
        """
        return self.group_by(bins(column, edges)).count(share=share, method=method, fresh=fresh)

    def sql(
        self,
        text: str,
        *,
        share: Exact,
        shares: Mapping[str, Exact] | None = None,
        keys: Mapping[str, Any] | None = None,
        tables: Mapping[str, object] | None = None,
        fresh: bool = False,
    ) -> SqlAnswers:
        """Answer a SQL statement; its aggregates are the questions that the methods above ask.

        It needs ``pip install 'prdp[sql]'``; what is read is listed in docs/sql.md.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58])}
        >>> accounts = prdp.open(people, policy="1", bounds={"age": (0, 120)}, name="accounts")
        >>> answers = accounts.sql("SELECT COUNT(*) AS n, AVG(age) FROM accounts WHERE age > 18", share=0.1)
        >>> answers.columns, accounts.left
        (('n', 'AVG(age)'), Fraction(9, 10))

        Args:
            text: One SELECT over this table, by its name or as ``self``.
            share: The part of every record's budget for the statement; its aggregates share equally.
            shares: What each column may use of it, by name, such as ``{"n": 0.02, "mean": 0.08}``.
            keys: Public keys of what is grouped by, where the statement does not say them, such as
                ``{"job": ["clerk", "chef"]}``.
            tables: Public tables that the statement names, by name: dicts of lists, or frames.
            fresh: Pay for new answers although these questions have been answered before.
        """
        from prdp.sql.asked import answered  # noqa: PLC0415  (its parser is an extra)

        self._refuse_private(keys, tables)
        return answered(
            text, self, self._catalog, share=share, shares=shares, keys=keys, tables=tables, fresh=fresh
        )

    def explain_sql(
        self,
        text: str,
        *,
        share: Exact,
        shares: Mapping[str, Exact] | None = None,
        keys: Mapping[str, Any] | None = None,
        tables: Mapping[str, object] | None = None,
    ) -> str:
        """Return what a statement would cost, by which methods, and what is left then; nothing is charged.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1", name="accounts")
        >>> print(accounts.explain_sql("SELECT COUNT(*) FROM accounts", share=0.1))  # doctest: +ELLIPSIS
        costs    1/10 of the budgets of those it is about, who have 1 left
        leaves   9/10; of such questions, 10 fit into what is left now
        asks     COUNT(*): count, method clip, share 1/10
        ...
        """
        from prdp.sql.asked import explained  # noqa: PLC0415  (its parser is an extra)

        self._refuse_private(keys, tables)
        return explained(text, self, self._catalog, share=share, shares=shares, keys=keys, tables=tables)

    def quantiles(
        self,
        column: str,
        q: Iterable[Exact],
        *,
        share: Exact,
        method: Chosen = "rank",
        fresh: bool = False,
    ) -> tuple[Release, ...]:
        """Find several quantiles at once, ascending together; as ``quantile``.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58, 40])}
        >>> accounts = prdp.open(people, policy=prdp.Policy.constant(1), bounds={"age": (0, 120)})
        >>> [release.question for release in accounts.quantiles("age", [0.25, 0.5], share="1/4")]
        ['0.25 quantile of age', 'median of age']
        """
        query = Quantile(column, listed_quantiles(q))
        plan = self.plan(query, share=share, options=Options.of(method))
        return plan.tabled(self._answered(plan, fresh=fresh)).releases[0]

    def plan(
        self,
        *queries: Query,
        share: Exact,
        shares: Shares | None = None,
        options: Options = DEFAULT,
    ) -> Plan:
        """Return what would be done to answer queries, or refuse; reads and charges nothing."""
        return self.planner.plan(queries, share, options=options, shares=shares)

    def explained(self, plan: Plan) -> str:
        """Return what a plan would do; reads no record and charges nothing."""
        return self._explained(plan, self._whose)

    def _one(self, query: Query, share: Exact, options: Options, *, fresh: bool) -> Release:
        plan = self.planner.plan([query], share, options=options, single=True)
        if len(plan.labels) > 1:
            raise InvalidRequest("quantile finds one quantile: write quantiles(column, [...]) for several.")
        return plan.one(answer(self.ledger, plan, self._reader, fresh=fresh))

    def _in_words(self, plan: Plan) -> str:
        return self.explained(plan)

    def _answered(self, plan: Plan, *, fresh: bool) -> Released:
        return answer(self.ledger, plan, self._reader, fresh=fresh)


def _keys_of(found: ReleaseTable, columns: Sequence[object], *, other: bool) -> list[Key]:
    """Return the keys of a release, to group by; the group of all others is none of them."""
    keys = [key for key in found.keys if OTHER not in key]
    if not keys and not other:
        raise InvalidRequest(
            f"the release {found.question!r} has no keys, so that there is no group. Write other=True for "
            "one group of all records, or look for keys with a larger share."
        )
    if len(found.by) != len(columns):
        raise InvalidRequest(f"the keys are those of {', '.join(found.by)}: group by as many columns.")
    return keys
