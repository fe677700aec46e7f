"""The queries of tables: one class each, with its rows of the table of methods, and one public function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, overload

from prdp.cells.summary import Summary
from prdp.cells.units import Fold, PerUnit
from prdp.declare.columns import computed_type, read_column, written
from prdp.declare.exact import Exact, exact, short_repr
from prdp.errors import InvalidRequest
from prdp.expressions.check import checked_kind
from prdp.expressions.nodes import Cast, Column, IsNull, Node, canonical, ones_unless
from prdp.expressions.tokens import is_writable, shown_name
from prdp.plan.methods import (
    COUNT,
    COUNT_OF_MEAN,
    DISTINCT,
    MAX,
    MEAN,
    MIN,
    QUANTILE,
    SQUARES,
    SUM,
    VARIANCE,
    Method,
)
from prdp.release.derived import PARTS
from prdp.schema import Kind, Schema


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to any entry point; subclasses name it and list the methods that answer it.

    Attributes:
        named: The name of its column in a table of answers, where the caller gives one; it is no part of the
            question, so that the same question under another name is not charged again.

    Class attributes:
        methods: The rows of the table of methods that answer it, the default first.
    """

    named: str | None = field(default=None, kw_only=True, compare=False, repr=False)

    methods: ClassVar[tuple[Method, ...]] = ()

    def alias(self, name: str) -> Self:
        """Return the query with a name for its column in a table of answers, as in Polars.

        >>> from prdp.plan.queries import Count
        >>> Count().alias("share").headings  # agg(share=...) is the budget, so this name needs an alias
        ('share',)
        """
        if not isinstance(name, str) or not name or not is_writable(name):
            raise InvalidRequest(f"alias({short_repr(name)}): a column's name is a text that is not empty.")
        return replace(self, named=name)

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of its columns in a table of answers: the caller's, or its own."""
        if self.named is None or len(self.labels) == 1:
            return self.labels if self.named is None else (self.named,)
        return tuple(f"{self.named}_{label}" for label in self.labels)

    @property
    def word(self) -> str:
        """The name of the query, as in its method on tables."""
        return type(self).__name__.lower()

    def __str__(self) -> str:
        return self.word

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its answers in words."""
        return (str(self),)

    @property
    def labels(self) -> tuple[str, ...]:
        """The default names of its columns in a table of answers."""
        return (self.word,)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that a ledger's question text has of it."""
        return arguments(self)


_APART = {"named", "expression"}
"""Fields of a query that are no part of what it says: a column's name, and what its text was read as."""


def arguments(query: Asked, name: str = "") -> dict[str, Any]:
    """Return a query's name; of one from outside the package, where it is from and all that it says.

    Raises:
        InvalidRequest: It says more than its text can hold, so that another could be taken for it.
    """
    kind = type(query)
    if kind.__module__.startswith("prdp."):
        return {"query": name or query.word}
    values = {part.name: getattr(query, part.name) for part in fields(query) if part.name not in _APART}
    hidden = getattr(query, "__dict__", {}).keys() - values.keys() - _APART
    if "<locals>" in kind.__qualname__ or hidden or not all(map(_is_plain, values.values())):
        raise InvalidRequest(
            "a query from outside prdp is found again by its class and its fields, but "
            f"{kind.__qualname__!r} is defined inside a function, or says something that is not a text, "
            "whole "
            "number, Fraction, truth value or tuple of these. Define it at the top of a module, as a frozen "
            "dataclass of such fields."
        )
    named = [f"{name}={value!r}" for name, value in values.items()]
    return {"query": f"{kind.__module__}.{kind.__qualname__}", "with": named}


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, int, bool, Fraction)


_MAX_QUANTILES = 1_000
_COUNTED = re.compile(r"""\(?(\w+|"[^"]*")\)? IS NOT NULL""")
"""The condition whose sum counts a column's values."""


@dataclass(frozen=True, slots=True)
class DerivedPart:
    """One part of a derived answer.

    Attributes:
        name: Which part it is.
        of_share: The part of the share that goes there.
        methods: What answers it: the row of the query's own method.
        words: What is asked, with the column's name for ``{}``.
        power: The power of the column's rounding step that it is counted in.
        select_input: What the mechanism is shown; None where that depends on the parts before it.
    """

    name: str
    of_share: Fraction
    methods: tuple[Method, ...]
    words: str
    power: int
    select_input: Callable[[Summary], Summary] | None


def _valued(cells: Summary) -> Summary:
    return cells.valued()


def _counted_values(cells: Summary) -> Summary:
    return cells.valued().counted()


def _parts(rule: str) -> tuple[DerivedPart, ...]:
    known = {
        "sum": (SUM, "sum of {}", 1, _valued),
        "count": (COUNT_OF_MEAN, "count of {}", 0, _counted_values),
        "squares": (SQUARES, "sum of squared distances of {} from its mean", 2, None),
    }
    return tuple(DerivedPart(name, part, *known[name]) for name, part in PARTS[rule])


@dataclass(frozen=True, slots=True)
class Query(Asked):
    """A query of a table; one from outside the package brings rows of methods of its own.

    Class attributes:
        rule: How the answer follows from its parts; empty where a mechanism gives it.
        fold: What is made of the values of one unit's rows.
        unproved: Why it is not answered where a record is a unit of several rows.
    """

    rule: ClassVar[str] = ""
    fold: ClassVar[Fold] = "sum"
    unproved: ClassVar[str] = ""

    @property
    def parts(self) -> tuple[DerivedPart, ...]:
        """The parts of a derived answer, in order."""
        return _parts(self.rule) if self.rule else ()

    @property
    def unit_fold(self) -> Fold:
        """Fold of the values of one unit's rows: ``fold``, unless the caller says."""
        return self.fold

    @property
    def measured(self) -> str | None:
        """The column whose values are measured; None where none are."""
        return None

    def known(self, schema: Schema) -> Self:  # noqa: ARG002  (most queries name a column)
        """Return the query as the table spells it, with exact numbers; or refuse it."""
        return self

    def truth(self, shown: Any) -> Sequence[Fraction] | None:  # noqa: ARG002  (the package's own are known)
        """Return the true answers, from what the mechanism is shown; None where the query does not say.

        ``share_for`` measures errors by them, on public or made-up records alone. A query from outside the
        package defines it.
        """
        return None

    def counts_units(self, privacy_unit: str | None) -> bool:  # noqa: ARG002
        """Return whether it asks how many units there are."""
        return False


class Count(Query):
    """The number of records.

    >>> str(Count()), [method.name for method in Count.methods]
    ('count', ['clip', 'partition', 'framework', 'naive'])
    """

    methods = COUNT


@dataclass(frozen=True, slots=True)
class OfColumn(Query):
    """A question about one column, or about what is computed from columns.

    Attributes:
        column: The column's name, or an expression over columns such as ``"price * quantity"``.
        round_to: Values are rounded to whole multiples of it; by default the column's, or what follows from
            those of the expression's columns.
        expression: What is computed; None for a column, or where ``column`` says it and is not read yet.

    Class attributes:
        adds_up: Whether values are added up, so that truth values are the numbers 0 and 1.
    """

    column: str
    round_to: Exact | None = field(default=None, kw_only=True)
    expression: Node | None = field(default=None, kw_only=True, repr=False)

    adds_up: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Read a column that is written as an expression, such as ``table["age"]``."""
        object.__setattr__(self, "column", written(self.column))

    def __str__(self) -> str:
        return f"{self.word} of {self.column}"

    @property
    def measured(self) -> str | None:
        """The column itself."""
        return self.column

    @property
    def labels(self) -> tuple[str, ...]:
        """The query's name and its column's."""
        return (f"{self.word}_{self.column}",)

    @property
    def facts(self) -> dict[str, Any]:
        """The query's name and its column, as SQL."""
        return arguments(self) | {"of": self._of}

    @property
    def _of(self) -> str:
        return canonical(Column(self.column) if self.expression is None else self.expression)

    @classmethod
    def of_node(cls, node: Node, *others: Any) -> Self:
        """Return the query about a column, or about what a tree computes; ``others`` as in its class.

        >>> from prdp.expressions.nodes import Negate
        >>> str(Sum.of_node(Column("balance"))), str(Sum.of_node(Negate(Column("balance"))))
        ('sum of balance', 'sum of -balance')
        """
        if isinstance(node, Column):
            return cls(node.name, *others)
        return cls(canonical(node), *others, expression=node)

    def known(self, schema: Schema) -> Self:
        """Return the query with its column, or those that it computes with, as the table spells them.

        Of truth values the numbers 0 and 1 are added up.
        """
        if isinstance(self.column, list | tuple):
            queries = ", ".join(f"prdp.mean({one!r})" for one in self.column[:2])
            raise InvalidRequest(
                f"{self.word}({short_repr(self.column)}) names several columns. Write a query for each, such "
                f"as agg({queries}, share=...)."
            )
        read = read_column(self.expression or self.column, schema, self.word)
        node = read.expression
        if self.adds_up and read.type.kind is Kind.BOOLEAN:
            node, _ = checked_kind(Cast("INTEGER", node or Column(read.name)), schema, read.name)
        return replace(self, column=read.name, expression=node)


class Sum(OfColumn):
    """The sum of a column's values; records without a value add nothing.

    >>> str(Sum("balance")), Sum("balance").labels
    ('sum of balance', ('sum_balance',))
    >>> str(Sum("balance IS NOT NULL"))
    'count of balance'
    """

    methods = SUM
    adds_up = True

    def __str__(self) -> str:
        counted = _COUNTED.fullmatch(self.column)
        return f"count of {counted[1]}" if counted else super().__str__()


@dataclass(frozen=True, slots=True)
class OfUnits(OfColumn):
    """A question about a column's values, or about what each privacy unit's rows make of them.

    >>> str(Max("price", per_unit="sum")), Max("price", per_unit="count").labels
    ('max of sum of price per unit', ('max_count_price',))

    Attributes:
        per_unit: What becomes of each privacy unit's values first: their ``"sum"``, ``"max"`` or ``"min"``,
            or how many rows have one, ``"count"``. None to ask about rows.
    """

    per_unit: PerUnit | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        return f"{self.word} of {self._shown}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The query's name, what becomes of a unit's rows, and the column's name."""
        return (f"{self.word}_{self._heading}",)

    @property
    def facts(self) -> dict[str, Any]:
        """The query's name, its column, as SQL, and what becomes of a unit's rows."""
        return arguments(self) | self._of_unit

    @property
    def unit_fold(self) -> Fold:
        """Fold of the values of one unit's rows: for ``"count"``, a sum of ones."""
        match self.per_unit:
            case None:
                return self.fold
            case "count":
                return "sum"
            case fold:
                return fold

    def known(self, schema: Schema) -> Self:
        """Return the query with its column as the table spells it; values that are counted are ones."""
        if self.per_unit not in (None, "sum", "count", "max", "min"):
            raise InvalidRequest(
                f"per_unit={short_repr(self.per_unit)} is not what a unit's rows can become: "
                "write 'sum', 'count', 'max' or 'min'."
            )
        if self.per_unit != "count":
            return OfColumn.known(self, schema)
        if self.expression is not None:
            return self
        read = read_column(self.column, schema, self.word)
        null = IsNull(read.expression or Column(read.name))
        return replace(self, column=read.name, expression=ones_unless(null))

    @property
    def _of_unit(self) -> dict[str, Any]:
        if self.per_unit is None:
            return {"of": self._of}
        of = self.column if self.per_unit == "count" else self._of
        return {"of": of, "per": f"{self.per_unit} of unit"}

    @property
    def _shown(self) -> str:
        return self.column if self.per_unit is None else f"{self.per_unit} of {self.column} per unit"

    @property
    def _heading(self) -> str:
        return self.column if self.per_unit is None else f"{self.per_unit}_{self.column}"


class Max(OfUnits):
    """The largest value of a column."""

    methods = MAX
    fold = "max"


class Min(OfUnits):
    """The smallest value of a column."""

    methods = MIN
    fold = "min"


class Mean(OfColumn):
    """The mean of a column's values; records without one take no part.

    >>> [(part.name, str(part.of_share)) for part in Mean("balance").parts]
    [('sum', '3/4'), ('count', '1/4')]
    """

    methods = MEAN
    rule = "mean"
    adds_up = True


class Variance(OfColumn):
    """The mean squared distance of a column's values from their mean."""

    methods = VARIANCE
    rule = "variance"
    adds_up = True


class Std(OfColumn):
    """The standard deviation of a column's values: the root of their variance."""

    methods = VARIANCE
    rule = "std"
    adds_up = True


class CountDistinct(OfColumn):
    """The number of different values of a column; NULL is none of them.

    >>> str(CountDistinct("job")), CountDistinct("customer_id").counts_units(privacy_unit="customer_id")
    ('distinct job', True)
    """

    methods = DISTINCT

    @property
    def word(self) -> str:
        """The name of the query, as SQL has it."""
        return "count_distinct"

    def __str__(self) -> str:
        return f"distinct {self.column}"

    @property
    def facts(self) -> dict[str, Any]:
        """The column, as SQL; ledgers call the query ``distinct``."""
        return arguments(self, "distinct") | {"of": self._of}

    @property
    def measured(self) -> str | None:
        """No column: values are distinguished, not measured."""
        return None

    def known(self, schema: Schema) -> Self:
        """Return the query with its column as the table spells it, if its values can be distinguished."""
        known = OfColumn.known(self, schema)
        node = known.expression
        kind = schema[known.column] if node is None else computed_type(node, schema)
        if kind.kind is Kind.OTHER:
            raise InvalidRequest(
                f"count_distinct({known.column!r}) cannot distinguish values of {kind.native}.",
                f" {kind.conversion}".rstrip(),
            )
        return known

    def counts_units(self, privacy_unit: str | None) -> bool:
        """Return whether it asks for the values of the column that names units."""
        return privacy_unit is not None and self.column == privacy_unit


@dataclass(frozen=True, slots=True)
class Quantile(OfUnits):
    """The values below which given parts of a column's values lie: ``Quantile("balance", "1/2")``.

    >>> from prdp.schema import ColumnType
    >>> query = Quantile("Age", (0.5, "0.99")).known({"age": ColumnType(Kind.NUMBER)})
    >>> query.labels
    ('median_age', 'q0.99_age')

    Attributes:
        at: The parts, each between 0 and 1; one or several.
        unit_weighted: Whether all rows of a privacy unit weigh 1 together, instead of 1 each.
    """

    at: Exact | tuple[Exact, ...] = "1/2"
    unit_weighted: bool = field(default=False, kw_only=True)

    methods: ClassVar[tuple[Method, ...]] = QUANTILE

    def __str__(self) -> str:
        parts, weighted = self._listed, "unit-weighted " * self.unit_weighted
        if parts == (Fraction(1, 2),):
            return f"{weighted}median of {self._shown}"
        plural = "s" * (len(parts) > 1)
        return f"{weighted}{', '.join(map(shown_part, parts))} quantile{plural} of {self._shown}"

    @property
    def word(self) -> str:
        """The name of the query; a lone half is the median's."""
        return "median" if self.at == (Fraction(1, 2),) else "quantile"

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each part."""
        return tuple(str(replace(self, at=(part,))) for part in self._listed)

    @property
    def labels(self) -> tuple[str, ...]:
        """A column for each part."""
        names = ("median" if part == Fraction(1, 2) else f"q{shown_part(part)}" for part in self._listed)
        return tuple(f"{name}_{self._heading}" for name in names)

    @property
    def headings(self) -> tuple[str, ...]:
        """A column for each part; of a caller's name and several parts, the name with each part."""
        if self.named is None or len(self._listed) == 1:
            return self.labels if self.named is None else (self.named,)
        return tuple(f"{self.named}_{shown_part(part)}" for part in self._listed)

    @property
    def facts(self) -> dict[str, Any]:
        """The column, as SQL, and the parts."""
        weighted = {"per": "unit"} if self.unit_weighted else {}
        at = {"at": [str(part) for part in self._listed]}
        return arguments(self, "quantile") | self._of_unit | at | weighted

    def known(self, schema: Schema) -> Self:
        """Return the query with its column as the table spells it and its parts exact."""
        return replace(OfUnits.known(self, schema), at=_exact_parts(self.at))

    @property
    def _listed(self) -> tuple[Exact, ...]:
        return self.at if isinstance(self.at, tuple) else (self.at,)


def shown_part(part: object) -> str:
    """Return a part as a short decimal where that says it exactly, else as it is.

    >>> shown_part(Fraction(99, 100)), shown_part(Fraction(1, 3))
    ('0.99', '1/3')
    """
    if isinstance(part, Fraction) and Fraction(f"{float(part):g}") == part:
        return f"{float(part):g}"
    return str(part)


def _exact_parts(at: Exact | tuple[Exact, ...]) -> tuple[Fraction, ...]:
    """Return the parts below which quantiles are asked for, exactly."""
    given = at if isinstance(at, tuple) else (at,)
    parts = tuple(exact(part, "q") for part in given)
    for part, asked in zip(parts, given, strict=True):
        if not 0 < part < 1:
            raise InvalidRequest(
                f"q={short_repr(asked)} is not between 0 and 1. Write '0.99' for the value that 99 % are "
                "below; "
                "max and min are questions of their own."
            )
    twice = next((part for part in parts if parts.count(part) > 1), None)
    if twice is not None:
        raise InvalidRequest(f"q={float(twice):g} is listed twice.")
    if not 0 < len(parts) <= _MAX_QUANTILES:
        raise InvalidRequest(f"{len(parts)} quantiles were listed: list from 1 to {_MAX_QUANTILES}.")
    return parts


@overload
def count() -> Count: ...


@overload
def count(column: str) -> Sum: ...


def count(column: str | None = None) -> Count | Sum:
    """Ask for the number of records, or of those that have a value in a column.

    >>> str(count()), count().alias("n").headings
    ('count', ('n',))
    >>> str(count("age")), count("age").headings
    ('count of age', ('count_age',))
    """
    if column is None:
        return Count()
    name = str(written(column))
    return Sum(f"{shown_name(name)} IS NOT NULL").alias(f"count_{name}")


def sum(column: str, *, round_to: Exact | None = None) -> Sum:  # noqa: A001  (as SQL calls it; so are max and min)
    """Ask for the sum of a column, or of an expression over columns; records without a value add nothing.

    ``round_to`` is what values are rounded to, here as in the queries below: by default the column's, and of
    an expression what follows from its columns'.

    >>> str(sum("balance")), str(sum("price * quantity", round_to=0.01))
    ('sum of balance', 'sum of price * quantity')
    """
    return Sum(column, round_to=round_to)


def mean(column: str, *, round_to: Exact | None = None) -> Mean:
    """Ask for the mean of a column; records without a value take no part.

    >>> mean("balance").headings
    ('mean_balance',)
    """
    return Mean(column, round_to=round_to)


def variance(column: str, *, round_to: Exact | None = None) -> Variance:
    """Ask for the mean squared distance of a column's values from their mean.

    >>> str(variance("balance"))
    'variance of balance'
    """
    return Variance(column, round_to=round_to)


def std(column: str, *, round_to: Exact | None = None) -> Std:
    """Ask for the standard deviation of a column: the root of its variance.

    >>> str(std("balance"))
    'std of balance'
    """
    return Std(column, round_to=round_to)


def max(column: str, *, round_to: Exact | None = None, per_unit: PerUnit | None = None) -> Max:  # noqa: A001
    """Ask for the largest value of a column; ``per_unit`` as in ``quantile``.

    >>> [method.name for method in max("balance").methods]
    ['choice', 'framework']
    """
    return Max(column, round_to=round_to, per_unit=per_unit)


def min(column: str, *, round_to: Exact | None = None, per_unit: PerUnit | None = None) -> Min:  # noqa: A001
    """Ask for the smallest value of a column; ``per_unit`` as in ``quantile``.

    >>> str(min("balance"))
    'min of balance'
    """
    return Min(column, round_to=round_to, per_unit=per_unit)


def quantile(
    column: str,
    q: Exact | Iterable[Exact],
    *,
    round_to: Exact | None = None,
    unit_weighted: bool = False,
    per_unit: PerUnit | None = None,
) -> Quantile:
    """Ask for the value below which the part ``q`` of a column's values lies; a list asks for several.

    With ``unit_weighted``, all rows of a privacy unit weigh 1 together, instead of 1 each. With ``per_unit``,
    each unit has one value: the ``"sum"``, ``"max"`` or ``"min"`` of its rows', or their number, ``"count"``.

    >>> str(quantile("balance", 0.9)), quantile("balance", [0.25, 0.75]).headings
    ('0.9 quantile of balance', ('q0.25_balance', 'q0.75_balance'))
    """
    return Quantile(
        column, listed_quantiles(q), round_to=round_to, unit_weighted=unit_weighted, per_unit=per_unit
    )


def median(
    column: str,
    *,
    round_to: Exact | None = None,
    unit_weighted: bool = False,
    per_unit: PerUnit | None = None,
) -> Quantile:
    """Ask for the middle value of a column; ``unit_weighted`` and ``per_unit`` as in ``quantile``.

    >>> median("balance").headings, str(median("balance", per_unit="sum"))
    (('median_balance',), 'median of sum of balance per unit')
    """
    return quantile(
        column, (Fraction(1, 2),), round_to=round_to, unit_weighted=unit_weighted, per_unit=per_unit
    )


def count_distinct(column: str) -> CountDistinct:
    """Ask for the number of different values of a column; NULL is none of them.

    >>> count_distinct("job").headings
    ('count_distinct_job',)
    """
    return CountDistinct(column)


def listed_quantiles(at: object) -> tuple[Exact, ...]:
    """Return the parts that a caller lists, as a tuple.

    >>> listed_quantiles([0.25, 0.5]), listed_quantiles("1/2")
    ((0.25, 0.5), ('1/2',))
    """
    return tuple(at) if isinstance(at, Iterable) and not isinstance(at, str) else (at,)  # type: ignore[return-value]
