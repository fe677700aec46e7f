"""The base of all entry points: an account, filters, groups, and queries that a planner turns into plans."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from prdp.declare.columns import Number, known_column
from prdp.declare.exact import Exact, exact_share, short_repr, spelled
from prdp.declare.groups import OTHER, Binned, Grouping, GroupKey, Values, group_key, key_type, read_grouping
from prdp.declare.key_search import FALSE_KEYS, SEARCHED_BY, KeySearch, read_keys
from prdp.engines.origins import Origins
from prdp.engines.tracing import source_origins
from prdp.errors import InvalidRequest, KeysOutOfReach, PrdpError
from prdp.expressions.nodes import Column, Node, canonical
from prdp.ledger import Ledger
from prdp.methods import Chosen
from prdp.plan.explain import Explainable, Explanation, Line, Whose, explained
from prdp.plan.key_plan import MAX_KEYS_OF_UNITS, FindKeys, KeysPlan, Measured, keys_plan, never_found
from prdp.plan.methods import DEFAULT, Options
from prdp.plan.plan import Plan
from prdp.plan.planner import Planner
from prdp.plan.queries import Quantile, Query, listed_quantiles
from prdp.plan.shares import Shares
from prdp.policy import Policy
from prdp.release.formatting import html_table
from prdp.release.release import Release
from prdp.release.table import CustomRelease, Key, Released, ReleaseTable
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.schema import Bounds, Kind, Rounding, Schema
from prdp.tables.arguments import both, common_source, untraced_reason
from prdp.tables.column import TableColumn, TableColumns, text_of
from prdp.tables.custom import CustomPlan, Mechanism, custom_plan
from prdp.tables.describe import Description, description
from prdp.tables.groups import Groups, SearchedGroups, keys_found
from prdp.tables.query_methods import Questions, binned

if TYPE_CHECKING:
    from prdp.sql.catalog import Catalog
    from prdp.sql.results import SqlAnswers


_DECLARED = "the categories of the column's type, public by declaration"

_INSTEAD = {
    "bins": " Write histogram('age', bins=10, share=...).",
    "dropna": " NULL forms no group. Give it a name: table['job'].fillna('unknown').value_counts(share=...); "
    "or count it apart: table['job'].isna().sum(share=...).",
    **dict.fromkeys(("sort", "ascending"), " Sort the answers: value_counts(...).sort('count')."),
}
"""Remedies for arguments that pandas' ``value_counts`` has."""

_SHOWN_COLUMNS = 6
"""Number of columns that a line lists before it counts the rest; a notebook's view lists all."""


class Opened:
    """Open data: with an account of what queries cost, or as a synthetic table that has none."""

    ledger: Ledger
    _reader: Reader

    @property
    def synthetic(self) -> bool:
        """True if the records are public or made up: nothing is charged, and all releases are marked."""
        return self._reader.synthetic

    @property
    def remaining(self) -> Fraction:
        """The part of every record's budget that is left; all of it for a synthetic table.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1")
        >>> release = accounts.count(share=0.1)
        >>> accounts.remaining
        Fraction(9, 10)
        """
        return self.ledger.remaining

    @property
    def columns(self) -> list[str]:
        """The names of the columns that questions may name, in the table's order.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58]), "job": numpy.array(["clerk", "chef"])}
        >>> prdp.open(people, policy="1").columns
        ['age', 'job']
        """
        return list(self._shown_schema)

    def plot_account(self, ax: Any = None) -> Any:
        """Draw what was left of every budget after each charge, and return matplotlib's axes."""
        from prdp.pictures import plot_account  # noqa: PLC0415  (matplotlib is an extra)

        return plot_account(self.ledger, ax)

    def has_answer(self, plan: Explainable) -> bool:
        """Return whether a plan has been answered before, so that asking again costs nothing."""
        return not self.synthetic and plan.standing(self.ledger) is not None

    def _explained(self, plan: Explainable, whose: Whose) -> Explanation:
        """Return what a plan would do; reads no record and charges nothing."""
        remaining = None if self.synthetic else self.ledger.remaining_in(plan.region)
        answered = self.has_answer(plan)
        if isinstance(plan, Plan) and not self.synthetic and not answered:
            plan = plan.warm_started(plan.warm_start(self.ledger))
        return explained(plan, self._reader.source, whose, remaining=remaining, answered=answered)

    @property
    def _called(self) -> str:
        return "prdp synthetic table" if self.synthetic else "prdp"

    @property
    def _title(self) -> str:
        """The kind and the name of the data, with its filter."""
        return self._called

    @property
    def _shown_schema(self) -> Schema:
        return {}

    @property
    def _shown_policies(self) -> Mapping[str, Policy]:
        """Policies by the column that names their records; that of a single table has no name."""
        return {}

    @property
    def _shown_bounds(self) -> Bounds:
        return {}

    @property
    def _shown_rounding(self) -> Rounding:
        return {}

    @property
    def _shown_remaining(self) -> str:
        if self.synthetic:
            return "public or made up: nothing is charged, and no answer is private"
        try:
            remaining = self.ledger.remaining
            least = "at least " if self.ledger.immutable and remaining < 1 else ""
            return f"{least}{'all' if remaining == 1 else spelled(remaining)} of every budget left"
        except PrdpError:  # a view must not fail: questions will say what is wrong with the account
            return "account not readable here"

    def __repr__(self) -> str:
        policies = "".join(
            f": {policy!r}" if not name else f"; {name} {policy!r}"
            for name, policy in self._shown_policies.items()
        )
        columns = ", ".join(self.columns[:_SHOWN_COLUMNS])
        more = len(self.columns) - _SHOWN_COLUMNS
        columns += f" and {more} more" if more > 0 else ""
        return f"<{self._title}{policies}; {columns}; {self._shown_remaining}>"

    def _repr_html_(self) -> str:
        rows = []
        for name, kind in self._shown_schema.items():
            low, high = (spelled(end) for end in self._shown_bounds.get(name, (Fraction(0), Fraction(0))))
            bounds = f"{low} to {high}" if name in self._shown_bounds else ""
            round_to = spelled(self._shown_rounding[name]) if name in self._shown_rounding else ""
            rows.append([name, kind.native or kind.kind.value, bounds, round_to])
        policies = [f"{name} {policy!r}".strip() for name, policy in self._shown_policies.items()]
        heads = ["column", "type", "bounds", "round_to"]
        return html_table(self._title, heads, rows, [*policies, self._shown_remaining])


def reader_of(opened: Opened) -> Reader:
    """Return what reads the records of a synthetic table, for simulations; refuse real records."""
    if not opened.synthetic:
        raise TypeError("only a synthetic table's records may be read without a charge")
    return opened._reader  # noqa: SLF001  (the one way past an account, and it is for synthetic tables alone)


class Queried(Opened, Questions[Release]):
    """Query interface of rows, of a table or of a join's results; answers are releases."""

    name: str
    policy: Policy
    bounds: Bounds
    round_to: Rounding
    condition: Node | None
    _public_keys: Mapping[str, Any] = MappingProxyType({})

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns that questions may name, and their types."""

    @property
    @abstractmethod
    def _catalog(self) -> Catalog:
        """The tables that SQL may name."""

    @abstractmethod
    def filter(self, *conditions: str | TableColumn[Any], **equal: object) -> Self:
        """Return those rows alone for which all conditions hold."""

    @overload
    def __getitem__(self, item: str) -> TableColumn[Release]: ...

    @overload
    def __getitem__(self, item: list[str]) -> TableColumns[Release]: ...

    @overload
    def __getitem__(self, item: TableColumn[Any]) -> Self: ...

    def __getitem__(
        self, item: str | list[str] | TableColumn[Any]
    ) -> TableColumn[Release] | TableColumns[Release] | Self:
        """Return a column, by its name, or several; or the rows for which a condition on columns holds.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.array([31, 58])}, policy="1", bounds={"age": (0, 120)})
        >>> people[people["age"] >= 40].count(share=0.1).question
        'count where age >= 40'
        """
        return self.filter(item) if isinstance(item, TableColumn) else self._column(item)

    def filtered(self, condition: Node) -> Self:
        """Return those rows alone for which a condition holds that is checked against the schema."""
        rows: Any = self
        narrowed: Self = replace(rows, condition=both(self.condition, condition))
        return narrowed

    @property
    def remaining(self) -> Fraction:
        """The part of their budgets that all these records have left; 1 for a synthetic table.

        >>> import numpy
        >>> import prdp
        >>> visits = prdp.open({"week": numpy.array([45, 46])}, policy="1", immutable=["week"])
        >>> release = visits.filter("week = 46").count(share=0.75)
        >>> visits.remaining, visits.filter("week = 46").remaining, visits.filter("week = 45").remaining
        (Fraction(1, 4), Fraction(1, 4), Fraction(1, 1))
        """
        return self.ledger.remaining_in(self.planner.region())

    @property
    def _shown_policies(self) -> Mapping[str, Policy]:
        return {"": self.policy}

    @property
    def _shown_bounds(self) -> Bounds:
        return self.bounds

    @property
    def _shown_rounding(self) -> Rounding:
        return self.round_to

    @property
    @abstractmethod
    def planner(self) -> Planner:
        """Planner, which refuses a query or describes what it does."""

    @property
    @abstractmethod
    def _whose(self) -> Whose:
        """Region that queries are charged to."""

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
        ``keys=``, and using it costs nothing more. Rare keys are missing by design. NULL is not a key, and a
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
            alphabet: The characters that texts are made of, all alike. Texts without a declaration are
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
    ) -> Explanation:
        """Return what ``find_keys`` would charge, read, draw and need, with the same arguments.

        >>> import numpy
        >>> import prdp
        >>> homes = prdp.open({"zip": numpy.array(["94103"])}, policy="1")
        >>> print(homes.explain_keys("zip", pattern="[0-9]{5}", share=0.5).splitlines()[-2])
        note     of 100,000 possible keys, 0.01 that nobody has may be expected among those shown
        """
        known = {name: options.pop(name) for name in ("size", "per", "max_keys") if name in options}
        plan = self.plan_keys(columns, KeySearch(**options), share=share, **known)
        *lines, ledger = self._explained(plan, self._whose).lines
        notes = [*never_found(plan.query.domain.columns), *plan.notes()[:2]]
        return Explanation((*lines, *(Line("note", note) for note in notes), ledger))

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
            search: Notes on the keys.
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

    def group_by(
        self,
        *columns: str
        | GroupKey
        | Node
        | TableColumn[Any]
        | Sequence[str | GroupKey | Node | TableColumn[Any]],
        keys: object = None,
        other: bool = False,
    ) -> Groups:
        """Group records by public keys; every query is then answered for each key.

        The groups are disjoint, so each is answered with the whole share. Where a record is a unit of several
        rows, which may lie in several groups, all are answered together: docs/privacy_units.md. A key that no
        record has is answered with noise like any other; records whose key is not listed are in no answer,
        unless ``other`` makes a group of them.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> counts = accounts.group_by(prdp.bins("age", [0, 40, 80])).count(share="1/4")
        >>> [str(age) for (age,), _ in counts], accounts.ledger.remaining
        (['[0, 40)', '[40, 80]'], Fraction(3, 4))

        Args:
            columns: Column names, or a list of them; expressions such as
                ``"CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END"``,
                ``prdp.date_trunc("month", "opened")``, ``prdp.bins("price * quantity", [0, 100])``.
            keys: The public keys: a list of values (of tuples for several columns); a dict with a list for
                each column, ``{"job": jobs, "year": years}``, of which every combination is a key; or a
                public table (Arrow, pandas, Polars) with a key a row. Bins are their own keys, and those of
                truth values are False and True. By default, those that ``prdp.open`` was given; and where it
                was given none, half of each query's share finds them privately.
                ``"categories"`` declares that the categories of a pandas categorical or a Polars Enum are
                public, and takes them; the answers say so: for all columns, or in the dict for one. What
                ``find_keys`` found will do as well.
            other: Whether there is one more group, of all records that have none of the listed keys.
        """
        by = _listed(columns)
        keys = self._with_declared(by, keys)
        notes: tuple[str, ...] = ()
        if isinstance(keys, str) and keys == "categories":
            named = [column for column in by if isinstance(column, str)]
            keys = {column: self._categories(column) for column in named}
            notes = (f"keys of {', '.join(named)}: {_DECLARED}",)
        else:
            self._refuse_shared(keys, "keys=")
        if isinstance(keys, Mapping) and not notes:
            declared = [name for name, one in keys.items() if isinstance(one, str) and one == "categories"]
            keys = {name: self._categories(name) if name in declared else one for name, one in keys.items()}
            notes = (f"keys of {', '.join(declared)}: {_DECLARED}",) if declared else ()
        if isinstance(keys, ReleaseTable):
            keys = _keys_of(keys, by, other=other)
        planner = self.planner
        planner.refuse_elsewhere(*by)
        if keys is None and not other and by:
            known = tuple(group_key(key, planner.schema) for key in by)
            kinds = {key_type(key, planner.schema).kind for key in known if not isinstance(key, Binned)}
            if kinds == {Kind.BOOLEAN}:
                keys = {key.column: [False, True] for key in known if not isinstance(key, Binned)}
            elif not any(isinstance(key, Binned) for key in known):
                return SearchedGroups(self, Grouping(known, ()), self._reader, by)
        grouping = read_grouping(by, keys, planner.schema, other=other)
        return Groups(self, replace(grouping, notes=notes), self._reader)

    def _with_declared(self, by: Sequence[object], keys: object) -> object:
        """Return the keys of groups, those of declared columns among them; None where keys must be found."""
        if not self._public_keys or not (keys is None or isinstance(keys, Mapping)):
            return keys
        schema = self.planner.schema
        read = [group_key(key, schema) for key in by]
        named = {key.column for key in read if isinstance(key, Values) and key.expression is None}
        given = {str(name).lower() for name in keys or ()}
        declared = {name: self._public_keys[name] for name in self._public_keys if name in named - given}
        if not declared or keys is not None:
            return {**declared, **(keys or {})} if declared else keys
        others = [key for key in read if not isinstance(key, Binned) and key.column not in declared]
        return declared if all(key_type(key, schema).kind is Kind.BOOLEAN for key in others) else None

    def _and_declared(self, keys: Any) -> Any:
        """Return the keys for a statement: the caller's, and declared ones of other columns."""
        if not self._public_keys or not (keys is None or isinstance(keys, Mapping)):
            return keys
        given = {str(name).lower() for name in keys or ()}
        return {
            **(keys or {}),
            **{
                name: self._categories(name) if isinstance(listed, str) else listed
                for name, listed in self._public_keys.items()
                if name.lower() not in given
            },
        }

    def _categories(self, column: str) -> list[object]:
        """Return the categories that a column's type lists; a declaration of the caller makes them public."""
        raise InvalidRequest(
            f"keys='categories' is for columns of a frame, whose type lists them; {column!r} is none. List "
            "the keys: keys=['clerk', 'chef']."
        )

    @overload
    def value_counts(
        self,
        column: str | GroupKey,
        *,
        share: Exact,
        keys: object = None,
        normalize: Literal[False] = False,
        redraw: bool = False,
        **search: Any,
    ) -> ReleaseTable: ...

    @overload
    def value_counts(
        self,
        column: str | GroupKey,
        *,
        share: Exact,
        keys: object = None,
        normalize: Literal[True],
        redraw: bool = False,
    ) -> SqlAnswers: ...

    def value_counts(
        self,
        column: str | GroupKey,
        *,
        share: Exact,
        keys: object = None,
        normalize: bool = False,
        redraw: bool = False,
        **search: Any,
    ) -> ReleaseTable | SqlAnswers:
        """Count the records of each value of a column: half of the share finds the values, half counts them.

        Rare values are missing by design. Where the values are public, ``keys`` lists them, and the whole
        share counts them.

        >>> import numpy
        >>> import prdp
        >>> staff = prdp.open({"job": numpy.array(["chef"] * 900 + ["clerk"] * 500)}, policy=1)
        >>> staff.value_counts("job", share=0.5, pattern="[a-z]{3,6}").top(2).keys, staff.remaining
        ((('chef',), ('clerk',)), Fraction(1, 2))

        Args:
            column: The column.
            share: The part of every record's budget to use.
            keys: The values, where they are public: as in ``group_by``.
            normalize: Return each value's proportion instead: its count divided by those of all groups.
            redraw: Pay for a new answer although this question has been answered before.
            search: What is known of the values: ``pattern=``, ``between=`` and others of ``find_keys``.
        """
        if unknown := set(search) - {*SEARCHED_BY, "max_keys"}:
            name = min(unknown)
            raise TypeError(f"value_counts() takes no {name}=.{_INSTEAD.get(name, '')}")
        if normalize:
            if search:
                raise InvalidRequest(
                    f"normalize=True cannot be used with {next(iter(search))}=. List the values: keys=[...]."
                )
            return self._proportions(column, keys, share, redraw=redraw)
        if keys is not None:
            if search:
                raise InvalidRequest(f"{next(iter(search))}= finds values, but keys= lists them. Remove one.")
            return self.group_by(column, keys=keys).count(share=share, redraw=redraw)
        if not search and not isinstance(groups := self.group_by(column), SearchedGroups):
            return groups.count(share=share, redraw=redraw)
        whole = exact_share(share)
        found = self.find_keys(column, share=whole / 2, redraw=redraw, **search)
        if not found.keys:
            return replace(found, question="count", asked=("count",), releases=())
        counted = self.group_by(column, keys=found).count(share=whole / 2, redraw=redraw)
        return replace(counted, share=whole, notes=(*counted.notes, keys_found(", ".join(found.by))))

    def _proportions(self, column: str | GroupKey, keys: object, share: Exact, *, redraw: bool) -> SqlAnswers:
        """Return each value's part of all records that are counted, by SQL."""
        key = group_key(column, self.planner.schema)
        if not isinstance(key, Values) or not (keys is None or isinstance(keys, list | tuple)):
            raise InvalidRequest("normalize=True takes a column, and as keys= a list of its values.")
        name = canonical(Column(key.column if key.expression is None else "value"))
        of = name if key.expression is None else f"{canonical(key.expression)} AS {name}"
        return self.sql(
            f"SELECT {of}, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS proportion FROM self GROUP BY 1",
            share=share,
            keys=None if keys is None else {key.column if key.expression is None else "value": keys},
            redraw=redraw,
        )

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
        """Count the records whose value lies in each of some public bins; see ``prdp.bins``.

        ``edges`` lists the bins' ends; ``bins=10`` divides the column's public bounds into ten equal ones.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> len(accounts.histogram("age", edges=[0, 20, 40, 60, 80], share="1/4"))
        4
        """
        by = binned(column, edges, bins, self.planner)
        return self.group_by(by).count(share=share, method=method, redraw=redraw)

    def marginals(
        self,
        tables: Sequence[str | Sequence[str]],
        *,
        share: Exact,
        of: str | None = None,
        keys: Mapping[str, Any] | None = None,
        nonnegative: bool = True,
        redraw: bool = False,
    ) -> dict[tuple[str, ...], SqlAnswers]:
        """Count records, or sum up a column, by each of several sets of columns: many tables, one share.

        What nothing but noise has moved adds up, by least squares, as in SQL's GROUPING SETS. Counts under a
        policy that gives all records one budget have the parts of the share for which the product of the
        tables' variances is least, or equal ones where the notion is ``"pure"``.

        >>> import numpy
        >>> import prdp
        >>> rows = {"vip": numpy.arange(90) % 3 == 0, "old": numpy.arange(90) % 2 == 0}
        >>> staff = prdp.open(rows, policy=prdp.Policy("1", notion="zcdp"))
        >>> found = staff.marginals(["vip", ["vip", "old"]], share=0.5)
        >>> found["vip", "old"].columns, len(found["vip",]), staff.remaining
        (('vip', 'old', 'count'), 2, Fraction(1, 2))

        Args:
            tables: For each table the columns that it is by: one, several, or none for the total.
            share: The part of every record's budget for all tables together.
            of: The column that is summed up; by default, records are counted.
            keys: The public keys of each column, as in ``sql``.
            nonnegative: Whether counts, and sums of what is not negative, are moved to 0 where they are below
                it, and others with them: as in what is published.
            redraw: Pay for new answers although these tables have been released before.

        Returns:
            The answers of each table, by its columns.
        """
        wanted = [(one,) if isinstance(one, str) else tuple(one) for one in tables]
        columns = list(dict.fromkeys(name for one in wanted for name in one))
        if not columns:
            raise InvalidRequest("marginals() takes sets of columns, such as [['job'], ['job', 'vip']].")
        named = {name: canonical(Column(name)) for name in columns}
        sets = ", ".join(f"({', '.join(named[name] for name in one)})" for one in wanted)
        value = "COUNT(*) AS count" if of is None else f"SUM({canonical(Column(of))}) AS sum"
        items = ", ".join([*named.values(), value, *(f"GROUPING({one})" for one in named.values())])
        text = f"SELECT {items} FROM self GROUP BY GROUPING SETS ({sets})"
        whole = self._sql(text, share, keys=keys, redraw=redraw, nonnegative=nonnegative)
        last = len(columns)
        orders = [list(dict.fromkeys(row[place] for row in whole.rows)) for place in range(last)]
        found = {}
        for one in wanted:
            absent = [name not in one for name in columns]
            places = [columns.index(name) for name in one]
            rows = [row for row in whole.rows if list(map(bool, row[last + 1 :])) == absent]
            keyed = sorted(
                ([orders[place].index(row[place]) for place in places], at) for at, row in enumerate(rows)
            )
            cells = tuple(tuple(rows[at][place] for place in (*places, last)) for _, at in keyed)
            found[one] = replace(whole, columns=(*one, whole.columns[last]), rows=cells)
        return found

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

        What is read is listed in docs/sql.md.

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
        return self._sql(text, share, shares=shares, keys=keys, tables=tables, redraw=redraw)

    def _sql(self, text: str, share: Exact, keys: Any, tables: Any = None, **more: Any) -> SqlAnswers:
        from prdp.sql.execute import answered  # noqa: PLC0415  (its parser is loaded with the first statement)

        self._refuse_private(keys, tables)
        keys = self._and_declared(keys)
        return answered(text, self, self._catalog, share=share, keys=keys, tables=tables, **more)

    def explain_sql(
        self,
        text: str,
        *,
        share: Exact,
        shares: Mapping[str, Exact] | None = None,
        keys: Mapping[str, Any] | None = None,
        tables: Mapping[str, object] | None = None,
    ) -> Explanation:
        """Return what a statement would cost, by which methods, and what is left then; nothing is charged.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1", name="accounts")
        >>> print(accounts.explain_sql("SELECT COUNT(*) FROM accounts", share=0.1))  # doctest: +ELLIPSIS
        costs    1/10 of the budget of every record that it is about; 1 remains
        leaves   9/10; what remains now is enough for 10 such queries
        asks     COUNT(*): count, method clip, share 1/10
        ...
        """
        from prdp.sql.execute import explained  # noqa: PLC0415  (its parser is loaded with the first statement)

        self._refuse_private(keys, tables)
        keys = self._and_declared(keys)
        return explained(text, self, self._catalog, share=share, shares=shares, keys=keys, tables=tables)

    def run(
        self,
        mechanism: Mechanism,
        *,
        columns: Sequence[str],
        share: Exact,
        split: Exact | None = None,
        beta: Exact | None = None,
        sample: bool = False,
        name: str | None = None,
        redraw: bool = False,
    ) -> CustomRelease:
        """Run a mechanism of your own on the rows that the paper's framework keeps (Algorithm 2).

        The rows of a join are its results, each with a part of the budget of its unit.

        Args:
            mechanism: A function of (rows, epsilon, beta): an Arrow table, and two Fractions. It must be
                epsilon-DP for adding or removing one row, whatever the order of the rows: **that is your
                promise**, and the guarantee depends on it. What it raises is an answer too: one that
                only says so.
            columns: The columns that it sees.
            share: The part of every record's budget to use.
            split: The part of the share that finds the rows to keep; by default 1/4.
            beta: The failure rate, by default 1/10; it is passed on to the mechanism.
            sample: Whether rows with smaller budgets take part now and then, instead of never.
            name: What the mechanism is called in the ledger. Asked again by that name, it gives the same
                answer at no charge; without a name, every call is charged.
            redraw: Pay for a new answer although this name has been answered before.
        """
        plan = self._custom(mechanism, columns, share, split=split, beta=beta, sample=sample, name=name)
        return plan.own(answer(self.ledger, plan, self._reader, redraw=redraw))

    def explain_run(
        self,
        mechanism: Mechanism,
        *,
        columns: Sequence[str],
        share: Exact,
        split: Exact | None = None,
        beta: Exact | None = None,
        sample: bool = False,
        name: str | None = None,
    ) -> str:
        """Return what ``run`` would charge, read and draw with the same arguments; nothing is run.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1")
        >>> text = accounts.explain_run(lambda rows, epsilon, beta: 0, columns=["age"], share=0.25)
        >>> [line.split()[0] for line in text.splitlines()]
        ['charges', 'record', 'table', 'answers', 'reads', 'draws', 'reads', 'draws', 'ledger']
        """
        plan = self._custom(mechanism, columns, share, split=split, beta=beta, sample=sample, name=name)
        return str(self._explained(plan, self._whose))

    def _custom(
        self,
        mechanism: Mechanism,
        columns: Sequence[str],
        share: Exact,
        *,
        split: Exact | None,
        beta: Exact | None,
        sample: bool,
        name: str | None,
    ) -> CustomPlan:
        return custom_plan(
            self.planner,
            mechanism,
            columns,
            exact_share(share),
            split=split,
            beta=beta,
            sample=sample,
            name=name,
        )

    def describe(
        self,
        column: str | None = None,
        *,
        share: Exact = "0.02",
        keys: Mapping[str, Iterable[object]] | None = None,
        redraw: bool = False,
    ) -> ReleaseTable:
        """Summarise one column, or all of them with the number of records, from one charge.

        Of all columns, the answer has a row for each statistic: the share that is not NULL; of numbers with
        bounds the mean, the extremes and the quartiles; of truth values the share that is true. The share is
        divided by public weights. Asked again, it costs nothing.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.arange(9000) % 90}, policy=5, bounds={"age": (0, 120)})
        >>> found = people.describe(share=0.1)
        >>> [statistic for column, statistic in found.keys if column == "age"]
        ['not null', 'mean', 'min', 'q0.25', 'median', 'q0.75', 'max']
        >>> 40 < found["age", "median"].value < 50, people.remaining
        (True, Fraction(9, 10))

        Args:
            column: The column; None for all of them.
            share: The part of every record's budget for all of it.
            keys: Of text columns, public keys, each of whose shares of the records is wanted.
            redraw: Pay for a new answer although this question has been answered before.
        """
        if column is not None:
            if keys is not None:
                raise InvalidRequest("keys= is for describing all columns: leave it or the column out.")
            return super().describe(column, share=share, redraw=redraw)
        answers = self.answer_plan(self.describe_plan(share, keys), redraw=redraw)
        return self._description(share, keys).table(answers, self.name)

    def explain_describe(
        self, *, share: Exact = "0.02", keys: Mapping[str, Iterable[object]] | None = None
    ) -> Explanation:
        """Return what ``describe`` of all columns would charge, read and draw; reads and charges nothing.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.arange(9000) % 90}, policy=5, bounds={"age": (0, 120)})
        >>> print(people.explain_describe(share=0.1).splitlines()[0])
        charges  1/10 of every record's budget, before anything is read; 9/10 is left afterwards
        """
        return self.explanation(self.describe_plan(share, keys))

    def describe_plan(self, share: Exact, keys: Mapping[str, Iterable[object]] | None) -> Plan:
        """Return what ``describe`` of all columns would do; reads and charges nothing."""
        asked = self._description(share, keys)
        return self.plan(*asked.queries, share=asked.share, shares=asked.shares)

    def _description(self, share: Exact, keys: Mapping[str, Iterable[object]] | None) -> Description:
        planner = self.planner
        omitted = () if planner.unit is None else (planner.unit.id,)
        return description(planner.schema, planner.bounds, share, keys, omitted=omitted)

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

    def explanation(self, plan: Plan) -> Explanation:
        """Return what a plan would do; reads no record and charges nothing."""
        return self._explained(plan, self._whose)

    def _one(self, query: Query, share: Exact, options: Options, *, redraw: bool) -> Release:
        plan = self.planner.plan([query], share, options=options, single=True)
        return plan.one(answer(self.ledger, plan, self._reader, redraw=redraw))

    def _answered(self, plan: Plan, *, redraw: bool) -> Released:
        return answer(self.ledger, plan, self._reader, redraw=redraw)


def declared_keys(table: Queried, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return public keys by the columns' own names; refuse those that the table cannot be grouped by."""
    found: dict[str, Any] = {}
    for name, listed in keys.items():
        column = known_column(name, table.schema, "keys=")
        if column in found:
            raise InvalidRequest(f"keys= names {column!r} twice.")
        if isinstance(listed, Mapping):
            raise InvalidRequest(
                f"keys= has {short_repr(listed)} for {column!r}, which is not a list of keys. What they look "
                f"like is stated where they are found: find_keys({column!r}, pattern='[a-z]+', share=...)."
            )
        groups = table.group_by(Column(column), keys={column: listed})
        found[column] = listed if isinstance(listed, str) else [key for (key,) in groups.grouping.keys]
    return found


def _listed(columns: Sequence[Any]) -> tuple[Any, ...]:
    """Return the columns to group by, which may be given as one list."""
    alone = len(columns) == 1 and isinstance(columns[0], list | tuple)
    return tuple(map(text_of, columns[0] if alone else columns))


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
