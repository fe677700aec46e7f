"""The base of tables and joins: filters, groups, and queries that a planner turns into plans."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from prdp.declare.columns import Number
from prdp.declare.exact import Exact
from prdp.declare.groups import OTHER, GroupKey, bins, read_grouping
from prdp.declare.key_search import FALSE_KEYS, KeySearch, read_keys
from prdp.engines.origins import Origins
from prdp.engines.tracing import source_origins
from prdp.errors import InvalidRequest, KeysOutOfReach
from prdp.expressions.nodes import Node
from prdp.methods import Chosen
from prdp.plan.explain import Whose
from prdp.plan.functions import listed_quantiles
from prdp.plan.key_plan import MAX_KEYS_OF_UNITS, FindKeys, KeysPlan, Measured, keys_plan, never_found
from prdp.plan.methods import DEFAULT, Options
from prdp.plan.plan import Plan
from prdp.plan.planner import Planner
from prdp.plan.queries import Quantile, Query
from prdp.plan.shares import Shares
from prdp.policy import Policy
from prdp.release.release import Release
from prdp.release.table import Key, Released, ReleaseTable
from prdp.run.answer import answer
from prdp.schema import Schema
from prdp.tables.base import Opened
from prdp.tables.groups import Groups
from prdp.tables.query_methods import Questions
from prdp.tables.roles import common_source, untraced_reason

if TYPE_CHECKING:
    from prdp.sql.catalog import Catalog
    from prdp.sql.results import SqlAnswers


class KeyQuestions(Opened):
    """Finds keys of an open table or join; ``Queried`` says how plans are answered."""

    @property
    @abstractmethod
    def planner(self) -> Planner:
        """What refuses a question, or says what will be done."""

    @property
    @abstractmethod
    def _whose(self) -> Whose:
        """Whom questions are charged to."""

    @property
    @abstractmethod
    def _origins(self) -> Sequence[Origins]:
        """The origins of the private tables."""

    def find_keys(
        self,
        columns: str | GroupKey | Sequence[str | GroupKey],
        *,
        share: Exact,
        pattern: object = None,
        among: object = None,
        between: object = None,
        alphabet: object = None,
        longest: object = None,
        false_keys: Exact = FALSE_KEYS,
        max_keys: int = MAX_KEYS_OF_UNITS,
        redraw: bool = False,
    ) -> ReleaseTable:
        """Find the keys that a column has, with nothing known but what they may look like: docs/keys.md.

        The answer is a table of the keys found, each with its noisy budget mass; ``group_by`` takes it as
        ``keys=``, and using it costs nothing more. Rare keys are missing by design. NULL is no key, and a
        text is its bytes: capitals, blanks and accents matter.

        >>> import numpy
        >>> import prdp
        >>> homes = prdp.open({"zip": numpy.array(["94103"] * 400 + ["94110"] * 300)}, policy="1")
        >>> found = homes.find_keys("zip", pattern="[0-9]{5}", share=0.5)
        >>> found.top(2).keys, homes.remaining  # now and then, one that nobody has comes after them
        ((('94103',), ('94110',)), Fraction(1, 2))

        Args:
            columns: A column, several as a list, or ``prdp.date_trunc("month", "opened")``. Of several, the
                arguments below are dicts by column.
            share: The part of every record's budget to use.
            pattern: The form of texts, of characters, sets and counts: ``"[A-Z]{2}-[0-9]{3,5}"``.
            among: A public list of possible keys. With one of the others, keys beside the list are found too,
                but need more.
            between: The least and the greatest whole number, or the first and the last day. By default, the
                bounds that the table was opened with.
            alphabet: The characters that texts are made of, all alike. Texts of which nothing is said are
                weighted by how likely their characters are in English words, titles and codes.
            longest: How many characters a text has at most.
            false_keys: How many keys that nobody has may be expected to be shown.
            max_keys: With ``privacy_unit``, how many keys of one unit count, each with its part of the
            budget.
            redraw: Pay for a new answer although this question has been answered before.

        Warns:
            KeysOutOfReach: Hardly any key can be found with this share, by public facts.
        """
        search = KeySearch(
            pattern=pattern,
            among=among,
            between=between,
            alphabet=alphabet,
            longest=longest,
            false_keys=false_keys,
        )
        return self._keys(columns, search, share, redraw=redraw, max_keys=max_keys)

    def top_keys(
        self,
        columns: str | GroupKey | Sequence[str | GroupKey],
        k: int,
        *,
        share: Exact,
        by: Measured = "mass",
        pattern: object = None,
        among: object = None,
        between: object = None,
        alphabet: object = None,
        longest: object = None,
        false_keys: Exact = FALSE_KEYS,
        max_keys: int = MAX_KEYS_OF_UNITS,
        redraw: bool = False,
    ) -> ReleaseTable:
        """Find the k keys with the largest budget mass, or with the most records; as ``find_keys``.

        There are fewer where fewer reach what a key needs. All masses together cost what one of them costs,
        so that nothing is divided by k.

        >>> import numpy
        >>> import prdp
        >>> homes = prdp.open({"zip": numpy.array(["94103"] * 900 + ["94110"] * 300)}, policy="1")
        >>> homes.top_keys("zip", 1, pattern="[0-9]{5}", share=0.5).keys
        (('94103',),)

        Args:
            columns: As in ``find_keys``, and so are the others.
            k: How many keys to show at most.
            share: The part of every record's budget to use.
            by: ``"mass"``, the sum of budgets; or ``"count"``, for which every record counts 1 and the noise
                goes by the least budget within the bounds.
            pattern: As in ``find_keys``.
            among: As in ``find_keys``.
            between: As in ``find_keys``.
            alphabet: As in ``find_keys``.
            longest: As in ``find_keys``.
            false_keys: As in ``find_keys``.
            max_keys: As in ``find_keys``.
            redraw: As in ``find_keys``.
        """
        search = KeySearch(
            pattern=pattern,
            among=among,
            between=between,
            alphabet=alphabet,
            longest=longest,
            false_keys=false_keys,
        )
        return self._keys(columns, search, share, redraw=redraw, size=k, per=by, max_keys=max_keys)

    def explain_keys(
        self, columns: str | GroupKey | Sequence[str | GroupKey], *, share: Exact, **options: Any
    ) -> str:
        """Return what ``find_keys`` would charge, read, draw and need, with the same arguments.

        >>> import numpy
        >>> import prdp
        >>> homes = prdp.open({"zip": numpy.array(["94103"])}, policy="1")
        >>> print(homes.explain_keys("zip", pattern="[0-9]{5}", share=0.5).splitlines()[-2])
        note     of 100,000 possible keys, 0.01 that nobody has may be expected among those shown
        """
        known = {name: options.pop(name) for name in ("size", "per", "max_keys") if name in options}
        plan = self.plan_keys(columns, KeySearch(**options), share=share, **known)
        *lines, ledger = self._explained(plan, self._whose).splitlines()
        notes = [*never_found(plan.query.domain.columns), *plan.notes()[:2]]
        return "\n".join([*lines, *(f"note     {note}" for note in notes), ledger])

    def plan_keys(
        self,
        columns: str | GroupKey | Sequence[str | GroupKey],
        search: KeySearch,
        *,
        share: Exact,
        size: int | None = None,
        per: Measured = "mass",
        max_keys: int = MAX_KEYS_OF_UNITS,
    ) -> KeysPlan:
        """Return what would be done to find keys, or refuse; reads and charges nothing.

        Args:
            columns: As in ``find_keys``.
            search: What is said of the keys.
            share: The part of every record's budget to use.
            size: How many of the largest to show; by default all that are found.
            per: What is added up for a key.
            max_keys: How many keys of one unit count.
        """
        planner = self.planner
        listed = columns if isinstance(columns, list | tuple) else [columns]
        planner.refuse_elsewhere(*listed)
        if not hasattr(self._reader.source, "key_masses"):
            raise InvalidRequest(
                "the engine that reads this table cannot look for keys: list them, keys=[...]."
            )
        by = read_keys(columns, planner.schema)
        domain = search.domain(by, planner.schema, planner.bounds)
        return keys_plan(planner, FindKeys(by, domain, size, per, max_keys), share)

    def _keys(
        self, columns: Any, search: KeySearch, share: Exact, *, redraw: bool, **options: Any
    ) -> ReleaseTable:
        self._refuse_shared(search.among, "among=")
        plan = self.plan_keys(columns, search, share=share, **options)
        standing = None if redraw else plan.standing(self.ledger)
        if standing is None and (words := plan.out_of_reach()):
            warnings.warn(words, KeysOutOfReach, stacklevel=3)
        return plan.tabled(answer(self.ledger, plan, self._reader, redraw=redraw))

    def _refuse_shared(self, keys: object, what: str) -> None:
        """Refuse keys that come from the records themselves."""
        if keys is None or isinstance(keys, str | Path | list | tuple | ReleaseTable):
            return
        self._refuse_source(keys, what, "List the keys that are public knowledge: keys=['clerk', 'chef'].")

    def _refuse_private(self, keys: object, tables: object) -> None:
        """Refuse the records themselves as keys, or as a public table, of a statement."""
        for column, listed in keys.items() if isinstance(keys, Mapping) else ():
            self._refuse_shared(listed, f"keys={{{column!r}: ...}}")
        for name, table in tables.items() if isinstance(tables, Mapping) else ():
            if not isinstance(table, str | Path | list | tuple):  # which are no tables in memory
                instead = (
                    "Give a table that anybody may know; what the records hold is asked in the statement."
                )
                self._refuse_source(table, f"tables={{{name!r}: ...}}", instead)

    def _refuse_source(self, given: object, what: str, instead: str) -> None:
        origins = source_origins(given)
        if shared := common_source(self._origins, origins):
            raise InvalidRequest(
                f"{what} and the table have one source ({shared}), but which values occur may give a "
                f"record away. {instead}"
            )
        if reason := untraced_reason(self._origins, origins):
            raise InvalidRequest(
                f"{what} may have one source with the table, which cannot be traced ({reason}), and which "
                f"values occur may give a record away. Write what is public out, as lists. {instead}"
            )


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
    def filter(self, condition: str) -> Self:
        """Return those rows alone for which a condition holds."""

    @abstractmethod
    def filtered(self, condition: Node) -> Self:
        """Return those rows alone for which a condition holds that is checked against the schema."""

    def group_by(self, *columns: str | GroupKey | Node, keys: object = None, other: bool = False) -> Groups:
        """Tell records apart by public keys; every question is then answered for each key.

        The groups are disjoint, so each is answered with the whole share. Where a record is a unit of
        several rows, which may lie in several groups, all are answered together: docs/privacy_units.md. A
        key that
        no record has is answered with noise like any other; records whose key is not listed are in no answer,
        unless ``other`` makes a group of them.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> counts = accounts.group_by(prdp.bins("age", [0, 40, 80])).count(share="1/4")
        >>> [str(age) for (age,), _ in counts], accounts.ledger.remaining
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
        planner.refuse_elsewhere(*columns)
        return Groups(self, read_grouping(columns, keys, planner.schema, other=other), self._reader)

    def histogram(
        self,
        column: str,
        *,
        edges: Iterable[Number],
        share: Exact,
        method: Chosen = "clip",
        redraw: bool = False,
    ) -> ReleaseTable:
        """Count the records whose value lies in each of some public bins; see ``prdp.bins``.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> len(accounts.histogram("age", edges=[0, 20, 40, 60, 80], share="1/4"))
        4
        """
        return self.group_by(bins(column, edges)).count(share=share, method=method, redraw=redraw)

    def sql(
        self,
        text: str,
        *,
        share: Exact,
        shares: Mapping[str, Exact] | None = None,
        keys: Mapping[str, Any] | None = None,
        tables: Mapping[str, object] | None = None,
        redraw: bool = False,
    ) -> SqlAnswers:
        """Answer a SQL statement; its aggregates are the questions that the methods above ask.

        It needs ``pip install 'prdp[sql]'``; what is read is listed in docs/sql.md.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58])}
        >>> accounts = prdp.open(people, policy="1", bounds={"age": (0, 120)}, name="accounts")
        >>> answers = accounts.sql("SELECT COUNT(*) AS n, AVG(age) FROM accounts WHERE age > 18", share=0.1)
        >>> answers.columns, accounts.remaining
        (('n', 'AVG(age)'), Fraction(9, 10))

        Args:
            text: One SELECT over this table, by its name or as ``self``.
            share: The part of every record's budget for the statement; its aggregates share equally.
            shares: What each column may use of it, by name, such as ``{"n": 0.02, "mean": 0.08}``.
            keys: Public keys of what is grouped by, where the statement does not say them, such as
                ``{"job": ["clerk", "chef"]}``.
            tables: Public tables that the statement names, by name: dicts of lists, or frames.
            redraw: Pay for new answers although these questions have been answered before.
        """
        from prdp.sql.execute import answered  # noqa: PLC0415  (its parser is an extra)

        self._refuse_private(keys, tables)
        return answered(
            text, self, self._catalog, share=share, shares=shares, keys=keys, tables=tables, redraw=redraw
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
        from prdp.sql.execute import explained  # noqa: PLC0415  (its parser is an extra)

        self._refuse_private(keys, tables)
        return explained(text, self, self._catalog, share=share, shares=shares, keys=keys, tables=tables)

    def quantiles(
        self,
        column: str,
        q: Iterable[Exact],
        *,
        share: Exact,
        method: Chosen = "rank",
        redraw: bool = False,
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
        return plan.tabled(self._answered(plan, redraw=redraw)).releases[0]

    def plan(
        self,
        *queries: Query,
        share: Exact,
        shares: Shares | None = None,
        options: Options = DEFAULT,
    ) -> Plan:
        """Return what would be done to answer queries, or refuse; reads and charges nothing."""
        return self.planner.plan(queries, share, options=options, shares=shares)

    def explain_plan(self, plan: Plan) -> str:
        """Return what a plan would do; reads no record and charges nothing."""
        return self._explained(plan, self._whose)

    def _one(self, query: Query, share: Exact, options: Options, *, redraw: bool) -> Release:
        plan = self.planner.plan([query], share, options=options, single=True)
        if len(plan.labels) > 1:
            raise InvalidRequest("quantile finds one quantile: write quantiles(column, [...]) for several.")
        return plan.one(answer(self.ledger, plan, self._reader, redraw=redraw))

    def _answered(self, plan: Plan, *, redraw: bool) -> Released:
        return answer(self.ledger, plan, self._reader, redraw=redraw)


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
