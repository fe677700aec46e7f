"""Count clients by category, or by bins of a number, with protocols of ordinary LDP."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from prdp.declare.exact import Exact, exact
from prdp.errors import InvalidRequest
from prdp.local.client.facts import FactReader, column_name, listed, whole_text
from prdp.local.protocols.protocol import (
    BIT,
    Category,
    Facts,
    Field,
    Record,
    Tally,
    bin_of,
    category_of,
    column_totals,
)
from prdp.local.protocols.randomisers import PRIME, Bit, Hashed, Law, Symbol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


def support(outcomes: Sequence[int], buckets: int, categories: int) -> tuple[int, ...]:
    """Return, for each category, how many reports name the bucket that their own function puts it in."""
    import numpy as np  # noqa: PLC0415  (a client needs no NumPy)

    functions = [divmod(outcome, buckets) for outcome in outcomes]
    multipliers = np.array([function // PRIME + 1 for function, _ in functions], np.int64)
    offsets = np.array([function % PRIME for function, _ in functions], np.int64)
    reported = np.array([bucket for _, bucket in functions], np.int64)
    return supported(multipliers, offsets, reported, buckets, categories)


def supported(
    multipliers: Integers, offsets: Integers, reported: Integers, buckets: int, categories: int
) -> tuple[int, ...]:
    """Do the same with the reports' parts; a category is below 2^31, so a product fits in 63 bits."""
    import numpy as np  # noqa: PLC0415  (a client needs no NumPy)

    return tuple(
        int(np.count_nonzero((multipliers * category + offsets) % PRIME % buckets == reported))
        for category in range(categories)
    )


Method = Literal["bits", "grr", "oue", "olh"]

MAX_BITS = 1 << 13
"""Categories up to which a report has one bit each, a kilobyte; beyond it, a hash."""

_MAX_CATEGORIES = 1 << 20
_LARGEST_CATEGORY = 10**40
_MAX_BUCKETS = 1 << 10
_LARGEST_EDGE = 10**300
_NEAR = 3.0
_HALF_A_REPORT = 0.5


@dataclass(frozen=True, slots=True)
class Categories:
    """The public values that a column is counted by; any other value is nobody's.

    >>> Categories("job", ["student", "retired"]).labels
    ('student', 'retired')
    """

    column: str
    values: tuple[Category, ...]

    def __init__(self, column: str, values: Iterable[Category]) -> None:
        values = listed(values, "categories", "('student', 'retired')")
        known = all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
        if not known or not 1 <= len(set(values)) == len(values) <= _MAX_CATEGORIES:
            raise InvalidRequest(
                f"categories are different texts or whole numbers, 1 to {_MAX_CATEGORIES:,} of them."
            )
        for value in values:
            if isinstance(value, str):
                whole_text(value, "the category")
            elif abs(value) > _LARGEST_CATEGORY:
                raise InvalidRequest("a category is a whole number beyond 1e40: write it as a text.")
        object.__setattr__(self, "column", column_name(column))
        object.__setattr__(self, "values", values)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the counts."""
        return tuple(map(str, self.values))

    @property
    def count(self) -> int:
        """The number of values."""
        return len(self.values)

    def facts(self) -> dict[str, object]:
        """Return the column and its values."""
        return {"column": self.column, "categories": list(self.values)}

    def place(self, record: Record) -> int | None:
        """Return the value of a record.

        >>> jobs = Categories("job", ["student", "retired"])
        >>> jobs.place({"job": "retired"}), jobs.place({"job": "chef"})
        (1, None)
        """
        places = {value: place for place, value in enumerate(self.values)}
        return category_of(record.get(self.column), places)


@dataclass(frozen=True, slots=True)
class Bins:
    """The public ranges that a number column is counted by; a value beyond the edges is in no bin.

    >>> Bins("age", (0, 18, "65.5")).labels
    ('0 to below 18', '18 to 65.5')
    """

    column: str
    edges: tuple[Fraction, ...]

    def __init__(self, column: str, edges: Iterable[Exact]) -> None:
        numbers = tuple(exact(edge, "edge") for edge in listed(edges, "edges", "(0, 100, 1000)"))
        ascending = all(low < high for low, high in pairwise(numbers))
        if not ascending or not 2 <= len(numbers) <= _MAX_CATEGORIES:
            raise InvalidRequest("edges are two or more ascending numbers, such as (0, 100, 1000).")
        if max(map(abs, numbers)) > _LARGEST_EDGE:
            raise InvalidRequest("an edge is beyond 1e300, and no number column reaches so far.")
        object.__setattr__(self, "column", column_name(column))
        object.__setattr__(self, "edges", numbers)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the counts; a bin's upper end belongs to the last one alone."""
        ends = [f"{float(edge):.12g}" for edge in self.edges]
        pairs = list(pairwise(ends))
        return (*(f"{low} to below {high}" for low, high in pairs[:-1]), f"{pairs[-1][0]} to {pairs[-1][1]}")

    @property
    def count(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    def facts(self) -> dict[str, object]:
        """Return the column and its edges."""
        return {"column": self.column, "edges": [str(edge) for edge in self.edges]}

    def place(self, record: Record) -> int | None:
        """Return the bin of a record's value.

        >>> ages = Bins("age", (0, 18, 65))
        >>> ages.place({"age": 17}), ages.place({"age": 18}), ages.place({})
        (0, 1, None)
        """
        return bin_of(record.get(self.column), self.edges)


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The number of clients that have each of the public values.

    ``"bits"`` is randomised response for every value; it uses that our promise is against the dummy record,
    and has the smallest variance. ``"grr"``, ``"oue"`` and ``"olh"`` are the textbook's: they also keep any
    two records within e^±budget of each other, which our promise does not ask for.

    Guarantee:
        Against the dummy's, no report is more than e^±budget times as likely.

    Why:
        In full: proofs/local_bit.md (bits, oue), local_symbol.md (grr), local_hashed.md (olh).
    """

    kind: ClassVar[str] = "frequencies"

    by: Categories | Bins
    method: Method
    buckets: int = 0

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise InvalidRequest(f"method={self.method!r} is not known: bits, grr, oue or olh.")
        fewest, most = (2, _MAX_BUCKETS) if self.method == "olh" else (0, 0)
        if type(self.buckets) is not int or not fewest <= self.buckets <= most:
            raise InvalidRequest(f"olh, and no other method, has buckets: 2 to {_MAX_BUCKETS}.")
        if self.method in ("bits", "oue") and self.size > MAX_BITS:
            raise InvalidRequest(
                f"method={self.method!r} sends a bit for each of {self.size:,} values, and a client sends at "
                f"most {MAX_BITS:,}: write method='olh', or None for the best that is short enough."
            )

    @classmethod
    def chosen(
        cls, by: Categories | Bins, budget: Fraction, method: Method | Literal["ldp"] | None = None
    ) -> Frequencies:
        """Return the protocol for a number of categories and a budget.

        Args:
            by: The public values.
            budget: What the protocol may lose.
            method: None for the smallest variance; ``"ldp"`` for the textbook's choice by size: GRR for few
                categories, OUE for more, OLH where a bit for each would be too long; or one of them by name.
        """
        size, odds = by.count, math.exp(min(float(budget), 30.0))
        if method is None:
            method = "bits" if size <= MAX_BITS else "olh"
        elif method == "ldp":
            method = "grr" if size + 1 < 3 * odds + 2 else "oue" if size <= MAX_BITS else "olh"
        buckets = max(2, min(_MAX_BUCKETS, round(odds) + 1)) if method == "olh" else 0
        return cls(by, method, buckets)

    def facts(self) -> Facts:
        """Return the public values and the method."""
        extra = {"buckets": self.buckets} if self.buckets else {}
        return {**self.by.facts(), "method": self.method, **extra}

    @classmethod
    def from_facts(cls, facts: Facts) -> Frequencies:
        """Read ``facts``."""
        with FactReader(facts) as read:
            column, method = read.text("column"), read.word("method", get_args(Method))
            buckets = read.whole("buckets") if method == "olh" else 0
            by: Categories | Bins
            if "edges" in facts:
                by = Bins(column, tuple(read.exact_items("edges")))
            else:
                by = Categories(column, tuple(read.items("categories")))
            return cls(by, method, buckets)

    @property
    def size(self) -> int:
        """The number of public values."""
        return self.by.count

    def fields(self, budget: Fraction) -> tuple[Field, ...]:  # noqa: ARG002  (the form is the same)
        """Return a bit for every value, or the form of one symbol or one hash."""
        if self.method in ("bits", "oue"):
            return (BIT,) * self.size
        if self.method == "grr":
            return (Field.below(self.size + 1),)
        return (Field.below((PRIME - 1) * PRIME * self.buckets),)

    def law(self, budget: Fraction, record: Record | None) -> tuple[Law, ...]:
        """Return the laws of the report; under grr the dummy has a symbol of its own."""
        here = self.by.place(record) if record is not None else None
        return self.law_at(budget, here)

    def law_at(self, budget: Fraction, here: int | None) -> tuple[Law, ...]:
        """Return the law of a place among the values; None is the dummy's."""
        if self.method == "olh":
            return (Hashed(here, self.buckets, budget),)
        if self.method == "grr":
            return (Symbol(self.size if here is None else here, self.size + 1, budget),)
        reported = Bit.of(budget, part=Fraction(1) if self.method == "bits" else Fraction(1, 2))
        nothing = Bit.of(budget)
        return tuple(reported if place == here else nothing for place in range(self.size))

    def tally(self, budget: Fraction, rows: Iterable[Sequence[int]]) -> Tally:  # noqa: ARG002
        """Count, for every value, the reports that speak for it."""
        if self.method in ("bits", "oue"):
            return column_totals(rows, self.size)
        reported = [row[0] for row in rows]
        if self.method == "grr":
            counted = Counter(reported)
            return Tally(len(reported), tuple(counted[place] for place in range(self.size)))
        from prdp.local.protocols.categories import support  # noqa: PLC0415  (a client has no NumPy)

        return Tally(len(reported), support(reported, self.buckets, self.size))

    def estimate(self, budget: Fraction, tally: Tally) -> tuple[tuple[float, float], ...]:
        """Return each value's number of clients, without bias, and the standard deviation of its noise.

        The noise has the coins of those who have the value besides those of all others, which are of
        another chance. How many have it is not known: the deviation is the largest over the numbers within
        three deviations of the estimate. It allows for half a report more, since reports are whole.
        """
        n, loss = tally.clients, float(budget)
        other, more = self._chances(loss)
        found = [(count - n * other) / more for count in tally.totals]
        return tuple((value, self._deviation(value, n, other, more)) for value in found)

    @staticmethod
    def _deviation(value: float, clients: int, other: float, more: float) -> float:
        """Return the deviation of an estimate, at the worst number of clients near it."""
        own = min(1.0, other + more)

        def noise(having: float) -> float:
            having = max(0.0, min(float(clients), having))
            return math.sqrt((clients - having) * other * (1 - other) + having * own * (1 - own)) / more

        first = noise(value)
        return max(noise(value - _NEAR * first), noise(value + _NEAR * first)) + _HALF_A_REPORT / more

    def _chances(self, loss: float) -> tuple[float, float]:
        """Return the probability that a report supports another's value, and the excess for the own one.

        The second is written so that nothing cancels: for a small loss the two chances are all but equal.
        """
        falls, gap = math.exp(-loss), -math.expm1(-loss)
        if self.method == "bits":
            return falls / (1 + falls), gap / (1 + falls)
        if self.method == "oue":
            return falls / (1 + falls), gap / (2 * (1 + falls))
        if self.method == "grr":
            kept = 1 / (1 + self.size * falls)
            return kept * falls, kept * gap
        others = self.buckets - 1
        return 1 / self.buckets, others * gap / (self.buckets * (1 + others * falls))
