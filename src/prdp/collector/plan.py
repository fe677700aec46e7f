"""The query of an operator as public JSON: enough to make the same study again after a restart."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any, Literal, get_args

from prdp.declare.exact import Exact, exact, exact_share
from prdp.errors import InvalidRequest
from prdp.local import Campaign, Estimate, Study
from prdp.local.client.campaign import policy_facts, read_policy
from prdp.local.client.facts import FactReader, listed, read_object
from prdp.local.protocols.protocol import Category
from prdp.policy import Policy

Ask = Literal["count", "sum", "mean", "frequencies", "quantiles"]

METHODS: dict[Ask, tuple[str, ...]] = {
    "count": ("bits", "laplace", "printed", "proportional"),
    "sum": ("proportional", "ratio", "framework"),
    "mean": ("proportional", "ratio", "framework"),
    "frequencies": ("bits", "ldp", "grr", "oue", "olh"),
    "quantiles": ("bits", "ldp", "grr", "oue", "olh"),
}
"""The methods of every question; the first one is the default."""

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantiles that are read from a histogram."""

_MAX_SECONDS = 10 * 366 * 86_400
_MAX_REPORTS = 10**9


@dataclass(frozen=True, slots=True)
class Closing:
    """Closing rule of a round: at a number of reports, some time after it opened, or by hand alone.

    >>> Closing(reports=1000).words
    'a round closes at 1,000 reports'
    """

    reports: int | None = None
    seconds: int | None = None

    def __post_init__(self) -> None:
        for given, most, what in (
            (self.reports, _MAX_REPORTS, "reports"),
            (self.seconds, _MAX_SECONDS, "seconds"),
        ):
            if given is not None and (type(given) is not int or not 1 <= given <= most):
                raise InvalidRequest(f"a round closes after 1 to {most:,} {what}, not {given!r}.")

    @property
    def words(self) -> str:
        """The rule in words."""
        rules = []
        if self.reports is not None:
            rules.append(f"at {self.reports:,} reports")
        if self.seconds is not None:
            rules.append(f"{_duration(self.seconds)} after it opened")
        return f"a round closes {', or '.join(rules) or 'when the operator closes it'}"


def _duration(seconds: int) -> str:
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size and not seconds % size:
            return f"{seconds // size} {name}"
    return f"{seconds:,} seconds"


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """One question to many clients, and when its rounds close; all of it is public.

    >>> policy = Policy("20 / visits", at_least="1/100", at_most=10)
    >>> plan = StudyPlan("visits 2026", "count", policy, "1/2")
    >>> StudyPlan.from_json(plan.to_json()) == plan
    True

    Attributes:
        name: The study's display name.
        ask: The question.
        policy: The budget of a record, with both ends of its range.
        share: The part of every record's budget for all rounds together.
        column: What is added up or counted by; a count has none.
        method: How to ask; a good way by default.
        bounds: The public bounds of a sum's column, in values.
        round_to: What a sum's values are rounded to.
        categories: The public values of a column that is counted by them.
        edges: The edges of bins, for a histogram or for quantiles.
        beta: The chance of taking noise for clients.
        closing: The closing rule of rounds.
    """

    name: str
    ask: Ask
    policy: Policy
    share: Exact
    column: str | None = None
    method: str | None = None
    bounds: tuple[Exact, Exact] | None = None
    round_to: Exact = 1
    categories: tuple[Category, ...] = ()
    edges: tuple[Exact, ...] = ()
    beta: Exact = "1/10"
    closing: Closing = field(default_factory=Closing)

    def __post_init__(self) -> None:
        if self.ask not in get_args(Ask):
            raise InvalidRequest(f"ask={self.ask!r} is not known: write one of {', '.join(get_args(Ask))}.")
        if self.method not in (None, *METHODS[self.ask]):
            known = ", ".join(METHODS[self.ask])
            raise InvalidRequest(f"method={self.method!r} is not for {self.ask}: write one of {known}.")
        if self.ask != "count" and self.column is None:
            raise InvalidRequest(f"ask={self.ask!r} needs a column.")
        if self.ask in ("sum", "mean") and self.bounds is None:
            raise InvalidRequest(
                f"ask={self.ask!r} needs bounds: the least and greatest value of the column."
            )
        if self.ask == "quantiles" and not self.edges:
            raise InvalidRequest("quantiles are read from a histogram: give the edges of its bins.")
        if self.ask == "frequencies" and bool(self.edges) == bool(self.categories):
            raise InvalidRequest("frequencies need categories, or else edges of bins.")
        exact_share(self.share)
        for name, items in (("categories", self.categories), ("edges", self.edges)):
            object.__setattr__(self, name, listed(items, name, "('student', 'retired')"))
        self.study().after()  # refuses what the local model refuses

    def study(self) -> Study:
        """Return the study; the same one at every call."""
        import prdp  # noqa: PLC0415  (needs NumPy)
        from prdp.local import study  # noqa: PLC0415

        if self.ask in ("sum", "mean"):
            column = str(self.column)
            query: Any = prdp.sum(column) if self.ask == "sum" else prdp.mean(column)
            more: dict[str, Any] = {"bounds": {column: self.bounds}, "round_to": {column: self.round_to}}
        else:
            query, more = prdp.count(), {} if self.ask == "count" else {"by": self._by()}
        return study(
            query, policy=self.policy, share=self.share, method=self.method, name=self.name, beta=self.beta,
            **more,
        )  # fmt: skip

    def _by(self) -> Any:
        from prdp.local import Bins, Categories  # noqa: PLC0415

        column = str(self.column)
        return Bins(column, self.edges) if self.edges else Categories(column, self.categories)

    def answers(self, found: Estimate) -> tuple[Estimate, ...]:
        """Return the operator's quantities, from the estimate of the last round."""
        if self.ask != "quantiles":
            return (found,)
        from prdp.local import quantiles  # noqa: PLC0415

        return quantiles(found, self._by(), LEVELS)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that a client's record is read by, in the first round or later."""
        named = {self.column} if self.column is not None else set()
        return tuple(sorted(self.policy.columns | named))

    @property
    def digest(self) -> bytes:
        """Identifier of the study: the SHA-256 of its text."""
        return sha256(self.to_json().encode()).digest()

    def to_json(self) -> str:
        """Return the plan as one line of JSON; equal for equal plans."""
        facts = {
            "prdp": "study",
            "version": 1,
            "name": self.name,
            "ask": self.ask,
            "policy": policy_facts(self.policy),
            "share": str(exact_share(self.share)),
            "column": self.column,
            "method": self.method,
            "bounds": None if self.bounds is None else [_text(end, "bounds") for end in self.bounds],
            "round_to": _text(self.round_to, "round_to"),
            "categories": list(self.categories),
            "edges": [_text(edge, "edges") for edge in self.edges],
            "beta": _text(self.beta, "beta"),
            "closing": {"reports": self.closing.reports, "seconds": self.closing.seconds},
        }
        return json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> StudyPlan:
        """Read what ``to_json`` wrote, refusing everything else."""
        with FactReader(read_object(text, "study")) as read:
            if read.take("prdp") != "study" or read.whole("version") != 1:
                raise InvalidRequest("this is no study of version 1.")
            bounds, closing = read.take("bounds"), read.take("closing")
            return cls(
                name=read.text("name"),
                ask=read.word("ask", get_args(Ask)),
                policy=read_policy(read.take("policy")),
                share=read.fraction("share"),
                column=read.take("column"),
                method=read.take("method"),
                bounds=None if bounds is None else (bounds[0], bounds[1]),
                round_to=read.text("round_to"),
                categories=tuple(read.items("categories")),
                edges=tuple(read.items("edges")),
                beta=read.text("beta"),
                closing=Closing(closing["reports"], closing["seconds"]),
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StudyPlan) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.digest)


def _text(number: Exact, what: str) -> str:
    return str(exact(number, what))


def threshold_budget(campaign: Campaign) -> Fraction | None:
    """Return ε_τ, the smallest budget that takes part, where a round has a threshold; None elsewhere.

    >>> from prdp.local.protocols.counting import DomainCount
    >>> policy = Policy("20 / visits", at_least="1/100", at_most=10)
    >>> threshold_budget(Campaign("visits", policy, "1/2", DomainCount())) is None  # the first round finds it
    True
    """
    from prdp.local import FrameworkProtocol  # noqa: PLC0415

    if not isinstance(campaign.protocol, FrameworkProtocol):
        return None
    levels = campaign.policy.levels
    return levels.domain_quanta(campaign.protocol.domain) * levels.quantum
