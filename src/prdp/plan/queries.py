"""The queries of tables: one class each, with its rows of the table of methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from prdp.cells.summary import Summary
from prdp.cells.units import Fold
from prdp.declare.computed import computed_type, read_column
from prdp.declare.exact import Exact, exact, short_repr
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Column, Node, canonical
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
from prdp.plan.query_base import Asked, arguments
from prdp.release.derived import PARTS
from prdp.schema import Kind, Schema

_MAX_QUANTILES = 1_000


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
        """Say whether it asks how many units there are."""
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
    """

    column: str
    round_to: Exact | None = field(default=None, kw_only=True)
    expression: Node | None = field(default=None, kw_only=True, repr=False)

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
        """Return the query with its column, or those that it computes with, as the table spells them."""
        read = read_column(self.expression or self.column, schema, self.word)
        return replace(self, column=read.name, expression=read.expression)


class Sum(OfColumn):
    """The sum of a column's values; records without a value add nothing.

    >>> str(Sum("balance")), Sum("balance").labels
    ('sum of balance', ('sum_balance',))
    """

    methods = SUM


class Max(OfColumn):
    """The largest value of a column."""

    methods = MAX
    fold = "max"


class Min(OfColumn):
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


class Variance(OfColumn):
    """The mean squared distance of a column's values from their mean."""

    methods = VARIANCE
    rule = "variance"
    unproved = "squared distances from the mean need a second pass, and that it stays within one budget"


class Std(OfColumn):
    """The standard deviation of a column's values: the root of their variance."""

    methods = VARIANCE
    rule = "std"
    unproved = Variance.unproved


class CountDistinct(OfColumn):
    """The number of different values of a column; NULL is none of them.

    >>> str(CountDistinct("job")), CountDistinct("customer_id").counts_units(privacy_unit="customer_id")
    ('distinct job', True)
    """

    methods = DISTINCT
    unproved = "a unit's rows may hold several values, and that they stay within one budget together"

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
                f"count_distinct({known.column!r}) cannot tell values of {kind.native} apart."
            )
        return known

    def counts_units(self, privacy_unit: str | None) -> bool:
        """Say whether it asks for the values of the column that names units."""
        return privacy_unit is not None and self.column == privacy_unit


@dataclass(frozen=True, slots=True)
class Quantile(OfColumn):
    """The values below which given parts of a column's values lie: ``Quantile("balance", "1/2")``.

    >>> from prdp.schema import ColumnType
    >>> query = Quantile("Age", (0.5, "0.99")).known({"age": ColumnType(Kind.NUMBER)})
    >>> query.labels
    ('median_age', 'q0.99_age')

    Attributes:
        at: The parts, each between 0 and 1; one or several.
    """

    at: Exact | tuple[Exact, ...] = "1/2"

    methods: ClassVar[tuple[Method, ...]] = QUANTILE
    unproved: ClassVar[str] = (
        "a unit's rows stand at several ranks, and that they stay within one budget together"
    )

    def __str__(self) -> str:
        parts = self._listed
        if parts == (Fraction(1, 2),):
            return f"median of {self.column}"
        return f"{', '.join(map(shown_part, parts))} quantile{'s' * (len(parts) > 1)} of {self.column}"

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
        return tuple(f"{name}_{self.column}" for name in names)

    @property
    def headings(self) -> tuple[str, ...]:
        """A column for each part; of a caller's name and several parts, the name with each part."""
        if self.named is None or len(self._listed) == 1:
            return self.labels if self.named is None else (self.named,)
        return tuple(f"{self.named}_{shown_part(part)}" for part in self._listed)

    @property
    def facts(self) -> dict[str, Any]:
        """The column, as SQL, and the parts."""
        return arguments(self, "quantile") | {"of": self._of, "at": [str(part) for part in self._listed]}

    def known(self, schema: Schema) -> Self:
        """Return the query with its column as the table spells it and its parts exact."""
        return replace(OfColumn.known(self, schema), at=_exact_parts(self.at))

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
