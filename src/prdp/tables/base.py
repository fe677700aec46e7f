"""The base of all entry points: an account of what questions cost, and a view of public facts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from prdp.declare.exact import spelled
from prdp.errors import PrdpError
from prdp.ledger import Ledger
from prdp.plan.explain import Explainable, Whose, explained
from prdp.plan.plan import Plan
from prdp.policy import Policy
from prdp.release.html import html_table
from prdp.run.reader import Reader
from prdp.schema import Bounds, Rounding, Schema

_SHOWN_COLUMNS = 6
"""How many columns a line names before it counts the rest; a notebook's view lists them all."""


class Opened:
    """Data that is open to questions: with an account of what they cost, or as a stand-in that has none."""

    ledger: Ledger
    _reader: Reader

    @property
    def synthetic(self) -> bool:
        """Whether the records are public or made up: nothing is charged, and all releases are marked."""
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

    def has_answer(self, plan: Explainable) -> bool:
        """Say whether a plan has been answered before, so that asking again costs nothing."""
        return not self.synthetic and plan.standing(self.ledger) is not None

    def _explained(self, plan: Explainable, whose: Whose) -> str:
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
    return opened._reader  # noqa: SLF001  (the one way past an account, and it is for stand-ins alone)
