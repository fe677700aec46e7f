"""A protocol of somebody's own is simulated as its clients would answer, however its law reads a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

import prdp
from prdp.local import Campaign, Crowd, Field, Own, Tally, Terms, column_totals
from prdp.local.client.client import laws_for
from prdp.local.protocols.randomisers import Law, Symbol
from prdp.local.simulation import outcomes
from prdp.local.simulation.crowd import record_at
from prdp.local.simulation.outcomes import Reports, kinds_of
from prdp.local.simulation.simulation import crowd_tally
from prdp.testing import Seeded

POLICY = prdp.Policy("400 / v", at_least=200, at_most=400)
ROWS = {
    "v": np.array([1, 2, 1, 2, 9, 1, 2, 1]),
    "a": np.array([0, 1, 1, 0, 1, 1, 0, 0]),
    "b": np.array([5, 6, 7, 6, 7, 5, 5, 7]),
    "c": np.array(["x", "y", "x", "x", "y", "x", "y", "y"]),
}
CLIENTS = range(8)


@dataclass(frozen=True)
class TierAnswers:
    """One of ten symbols, told so loudly that it is never another; the dummy's is 9."""

    kind: ClassVar[str] = "told"

    asked: list[int]

    def facts(self) -> Mapping[str, Any]:
        return {}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> TierAnswers:
        raise NotImplementedError

    def symbol(self, own: Own) -> int:
        raise NotImplementedError

    def fields(self, terms: Terms) -> tuple[Field, ...]:  # noqa: ARG002
        return (Field.below(10),)

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:  # noqa: ARG002
        if own is None:
            return (Symbol(9, 10, Fraction(400)),)
        self.asked.append(1)
        return (Symbol(self.symbol(own), 10, Fraction(400)),)

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:  # noqa: ARG002
        """Keep the order: the tally is what every client told, one after the other."""
        reported = [row[0] for row in rows]
        return Tally(len(reported), tuple(reported))

    def estimate(self, terms: Terms, tally: Tally) -> Any:  # noqa: ARG002
        return tally.totals


class OneColumn(TierAnswers):
    def symbol(self, own: Own) -> int:
        return int(str(own.record["b"])) - 5


class SometimesAnother(TierAnswers):
    """Reads a, and b only where a is 1."""

    def symbol(self, own: Own) -> int:
        return int(str(own.record.get("b", 0))) if own.record["a"] else 0


class ByBudget(TierAnswers):
    def symbol(self, own: Own) -> int:
        return own.quanta % 10


class Failing(TierAnswers):
    """Fails on some records, for which the dummy answers."""

    def symbol(self, own: Own) -> int:
        return {5: 1, 6: 2}[int(str(own.record["b"]))]


class WantsADict(TierAnswers):
    """Takes a record that is not a dict for an odd one."""

    def symbol(self, own: Own) -> int:
        return int(str(own.record["b"])) if isinstance(own.record, dict) else 8


class AllOfIt(TierAnswers):
    def symbol(self, own: Own) -> int:
        return sum(map(ord, repr(own.record))) % 9


class Matching(TierAnswers):
    def symbol(self, own: Own) -> int:
        match own.record:
            case {"c": "x", "b": b}:
                return int(str(b))
        return 0


class Merged(TierAnswers):
    def symbol(self, own: Own) -> int:
        merged = {**own.record, "more": 1}
        return len(merged) + (merged["c"] == "x")


ALL = [OneColumn, SometimesAnother, ByBudget, Failing, WantsADict, AllOfIt, Matching, Merged]


@pytest.mark.parametrize("protocol", ALL)
def test_every_client_tells_what_its_own_law_says_in_its_place(protocol: type[TierAnswers]) -> None:
    campaign: Any = Campaign("own", POLICY, "1", protocol([]))
    crowd = Crowd.of(ROWS, POLICY)
    laws = [laws_for(campaign, record_at(crowd.columns, place)) for place in CLIENTS]
    expected = tuple(law.own for (law,) in laws if isinstance(law, Symbol))
    assert len(expected) == 8
    assert expected[4] == 9  # a budget below at_least
    assert crowd_tally(campaign, crowd, Seeded(1)).totals == expected
    assert crowd_tally(campaign, crowd, Seeded(2)).totals == expected  # from what is remembered


def test_kinds_that_are_distinguished_by_the_first_client_s_columns_alone_would_be_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The twin: whoever comes later reads nothing new, as if all laws read what the first one does."""
    campaign: Any = Campaign("own", POLICY, "1", SometimesAnother([]))
    right = crowd_tally(campaign, Crowd.of(ROWS, POLICY), Seeded(1))
    read = outcomes.Watched.__getitem__

    def only_a(record: Any, name: str) -> object:
        return read(record, name) if name == "a" else record._record[name]

    monkeypatch.setattr(outcomes.Watched, "__getitem__", only_a)
    assert crowd_tally(campaign, Crowd.of(ROWS, POLICY), Seeded(1)) != right


def test_a_law_is_asked_for_once_for_each_kind_of_client() -> None:
    asked: list[int] = []
    campaign: Any = Campaign("own", POLICY, "1", OneColumn(asked))
    crowd = Crowd.of({"v": [1, 2] * 5000, "b": [5, 6, 7, 8] * 2500}, POLICY)
    found = kinds_of(campaign, crowd)
    assert found.size == 4  # of two budgets and four values, four go together
    assert len(asked) < 20
    assert kinds_of(campaign, crowd) is found


def test_a_protocol_of_the_same_words_and_another_class_is_asked_anew() -> None:
    crowd = Crowd.of(ROWS, POLICY)
    tallies = [
        crowd_tally(Campaign("own", POLICY, "1", protocol([])), crowd, Seeded(1))
        for protocol in (OneColumn, ByBudget, OneColumn)
    ]
    assert tallies[0] == tallies[2] != tallies[1]


def test_rows_that_were_read_before_are_not_added_up_again() -> None:
    campaign: Any = Campaign("own", POLICY, "1", OneColumn([]))
    crowd = Crowd.of(ROWS, POLICY)
    drawn = Reports(campaign.fields, kinds_of(campaign, crowd), Seeded(1))
    first = next(drawn)
    rest = column_totals(drawn, fields=1)
    assert rest.clients == 7
    whole = column_totals(Reports(campaign.fields, kinds_of(campaign, crowd), Seeded(1)), fields=1)
    assert (whole.clients, whole.totals[0]) == (8, first[0] + rest.totals[0])
