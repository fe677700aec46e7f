"""The table of methods: every row answers, and so do a query and a mechanism from outside the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

import prdp
from prdp.cells.summary import Cell, Summary
from prdp.errors import InvalidRequest
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy
from prdp.plan.methods import Method, Options, cells, counted
from prdp.plan.queries import Count as OurCount
from prdp.plan.queries import DerivedPart, Mean, OfColumn, Quantile, Query, Sum, Variance
from prdp.release.raw_answer import Answer
from prdp.schema import Kind
from prdp.testing import simulate
from prdp.testing.mechanism_contract import Twin
from tests.exact.universe import OnThisUniverse, Record, count_of

N = 400
SCHEMA = prdp.open({"v": np.arange(3)}, policy=prdp.Policy.constant("1")).schema
LARGE = check(parse("v > 25"), SCHEMA, Kind.BOOLEAN, "v > 25")
LOOSE = prdp.Policy.constant("100")


@dataclass(frozen=True, slots=True)
class PlainCount:
    """Count records with noise for the least budget that there can be: a mechanism of somebody else's."""

    name = "plain count"  # of two words

    def caveat(self, *, signed: bool) -> None:
        pass

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        least = summary.levels.quanta(0) * summary.levels.quantum
        return Noisy((summary.counted().clipped_total(1),), (DiscreteLaplace(1 / (share * least)),))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        law = self.law(summary, share)
        return [Answer(count, Fraction(1), law.noises, ()) for (count,) in law.draw(entropy, runs)]


@dataclass(frozen=True, slots=True)
class Heads(Query):
    """How many records there are, asked from outside the package."""

    of: str = "all"

    methods: ClassVar[tuple[Method, ...]] = (
        Method("plain count", lambda terms: PlainCount(), select_input=counted),
    )

    def truth(self, shown: Summary) -> list[Fraction]:
        return [Fraction(shown.records)]


class Total(OfColumn):
    """A sum under another name, answered by the rows of the package's own."""

    methods = Sum.methods


class TestPlainCount(OnThisUniverse):
    mechanism = PlainCount()

    def summarise(self, records: Sequence[Record]) -> Summary:
        return count_of(records)

    def twins(self) -> Mapping[str, Twin]:
        def too_little_noise(summary: Summary, share: Fraction) -> Noisy:
            right = PlainCount().law(summary, share)
            return Noisy(
                right.values,
                tuple(DiscreteLaplace(noise.scale * Fraction(85, 100)) for noise in right.noises),
            )

        return {"noise 15 % too small": Twin(too_little_noise)}


def table(**options: object) -> prdp.Table:
    columns = {
        "v": np.arange(N) % 50,
        "job": np.array(["chef", "clerk"] * (N // 2)),
        "who": np.arange(N) // 2,
    }
    chosen = {"policy": prdp.Policy.constant("4"), "bounds": {"v": (0, 50)}, "name": "t"} | options
    return prdp.open(columns, **chosen)  # type: ignore[arg-type]


def test_a_query_from_outside_is_answered_charged_and_kept() -> None:
    asked = table()
    (row,) = asked.agg(Heads(), share="1/2").releases
    assert row[0].value == pytest.approx(N, abs=40)
    assert row[0].method == "plain count"
    assert asked.agg(Heads(), share="1/2").releases == (row,)
    assert asked.ledger.remaining == Fraction(1, 2)


def test_the_share_for_a_query_from_outside_is_found_where_it_says_what_is_true() -> None:
    asked = table(synthetic=True)
    found = prdp.share_for(Heads(), error="5%", like=asked, runs=20)
    assert found.share is not None
    assert found.share < 1
    by_job = prdp.share_for(Heads(), error="5%", like=asked.group_by("job", keys=["chef", "clerk"]), runs=20)
    assert by_job.share is not None
    assert by_job.share >= found.share
    with pytest.raises(InvalidRequest, match=r"the true answer of Total is not known. Define Total\.truth"):
        prdp.share_for(Total("v"), error="5%", like=asked, runs=20)


def test_a_query_from_outside_is_asked_of_groups_and_simulated() -> None:
    asked = table(synthetic=True)
    (by_job,) = simulate(asked.group_by("job", keys=["chef", "clerk"]), Heads(), runs=1, seed=1)
    assert [key for key, _ in by_job] == [("chef",), ("clerk",)]
    (total,) = simulate(asked, Total("V"), runs=1, seed=1)
    (same,) = simulate(asked, prdp.sum("v"), runs=1, seed=1)
    assert total.exact == same.exact
    assert total.question == "total of v"


class Count(Query):
    methods = OurCount.methods


class FromAbove(Quantile):
    """A quantile that counts from above, with a row of its own."""


@dataclass(frozen=True, slots=True)
class Odd(Query):
    what: Any = None

    methods: ClassVar[tuple[Method, ...]] = Heads.methods


def test_queries_from_outside_are_never_taken_for_others() -> None:
    asked = table()
    queries = (
        prdp.count(),
        Count(),
        Heads(),
        Heads("some"),
        prdp.median("v"),
        FromAbove("v"),
        Odd(),
        Odd("a"),
    )
    texts = [asked.plan(query, share=1).text for query in queries]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("what", [len, np.arange(3), 0.1, [1], object()])
def test_a_query_that_its_text_cannot_hold_is_refused(what: Any) -> None:
    asked = table()
    with pytest.raises(InvalidRequest, match="found again by its class and its fields"):
        asked.agg(Odd(what), share=1)
    assert asked.ledger.remaining == 1


def test_a_query_that_is_made_in_a_function_is_refused() -> None:
    class Inner(Query):
        methods = OurCount.methods

    with pytest.raises(InvalidRequest, match="found again by its class and its fields"):
        table().agg(Inner(), share=1)


class Spread(OfColumn):
    """A variance under another name."""

    methods = Variance.methods
    rule = "variance"


def test_a_variance_from_outside_is_taken_of_squares_that_were_read() -> None:
    asked = table(synthetic=True)
    (own,), (other,) = (simulate(asked, query, runs=1, seed=3) for query in (prdp.variance("v"), Spread("v")))
    assert own.exact == other.exact


class Greedy(OfColumn):
    """A mean whose parts want more than its share."""

    methods = Mean.methods
    rule = "mean"

    @property
    def parts(self) -> tuple[DerivedPart, ...]:
        return tuple(replace(part, of_share=Fraction(5)) for part in prdp.mean("v").parts)


def test_steps_never_spend_more_than_is_charged() -> None:
    asked = table()
    with pytest.raises(InvalidRequest, match="more than the share"):
        asked.agg(Greedy("v"), share="1/10")
    assert asked.ledger.remaining == 1


class Above(OfColumn):
    """A sum whose row reads under a filter, or a policy, of its own."""

    methods = (
        Method("filter", Sum.methods[0].build, reads=lambda terms: cells(replace(terms, where=LARGE))),
        Method(
            "policy",
            Sum.methods[0].build,
            reads=lambda terms: cells(replace(terms, policy=LOOSE.within(SCHEMA, {}))),
        ),
    )


def test_what_is_read_for_a_query_from_outside_serves_no_other_that_differs() -> None:
    alone, beside = table(synthetic=True), table(synthetic=True)
    for method in ("filter", "policy"):
        simulate(beside, Above("v"), method=method, runs=1, seed=1)
        for query in (prdp.sum("v"), prdp.count()):
            (one,), (other,) = (simulate(asked, query, runs=1, seed=2) for asked in (alone, beside))
            assert one == other
    both = [Above("v"), prdp.sum("v"), prdp.count()]
    (found,) = simulate(table(synthetic=True), both, runs=1, seed=5)
    assert found.releases[0][2].value == pytest.approx(N, abs=60)


class Raw(Query):
    """A count whose row forgets to say that records are counted."""

    methods = (Method("raw", Sum.methods[0].build),)


def test_where_nothing_is_measured_every_record_counts_one() -> None:
    asked = table(synthetic=True)
    simulate(asked, prdp.sum("v"), runs=1, seed=1)
    (released,) = simulate(asked, Raw(), runs=1, seed=1)
    assert released.value == pytest.approx(N, abs=60)


class Forty(Query):
    """A count whose mechanism claims to be proved for groups of units."""

    methods = (Method("forty", lambda terms: PlainCount(), for_units=True, unit_groups=True),)


def test_groups_of_units_are_answered_by_no_mechanism_but_the_proved_one() -> None:
    groups = table(privacy_unit="who").group_by("job", keys=["chef"])
    with pytest.raises(InvalidRequest, match="not proved yet"):
        groups.agg(Forty(), share=1)


def queries(kind: type[Query] = Query) -> list[type[Query]]:
    """Return every class of queries of the package that answers something."""
    below = [
        found for one in kind.__subclasses__() if one.__module__.startswith("prdp.") for found in queries(one)
    ]
    return [kind, *below] if kind.methods else below


def example(kind: type[Query]) -> Query:
    return kind("v") if issubclass(kind, OfColumn) else kind()


ROWS = [
    pytest.param(kind, row, id=f"{kind.__name__}-{row.name}") for kind in queries() for row in kind.methods
]


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_every_row_of_the_table_answers(kind: type[Query], row: Method) -> None:
    plan = table(synthetic=True).plan(example(kind), share=1, options=Options(row.name))
    (query,) = plan.queries
    assert query.method == row.name
    assert sum(step.share for step in query.steps) == 1
    (released,) = simulate(table(synthetic=True), example(kind), method=row.name, runs=1, seed=2)
    assert released.share == 1


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_units_are_answered_just_where_a_row_says_so(kind: type[Query], row: Method) -> None:
    asked = table(synthetic=True, privacy_unit="who")
    proved = (row.for_units or row.divides) and not kind.unproved
    groups = asked.group_by("job", keys=["chef"])
    for opened, allowed in ((asked, proved), (groups, proved and (row.unit_groups or row.divides))):
        if allowed:
            assert simulate(opened, example(kind), method=row.name, runs=1, seed=1)
        else:
            with pytest.raises(InvalidRequest, match="not proved yet"):
                simulate(opened, example(kind), method=row.name, runs=1, seed=1)


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_no_row_of_the_table_makes_a_python_object_of_a_cell(
    kind: type[Query], row: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("cells are columns")

    monkeypatch.setattr(Cell, "__init__", refused)
    asked = table(synthetic=True)
    for opened in (asked, asked.group_by("job", keys=["chef", "clerk"])):
        assert simulate(opened, example(kind), method=row.name, runs=1, seed=3)
