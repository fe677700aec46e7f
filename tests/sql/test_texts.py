"""Every text in ``texts/`` becomes the plan, or the error, that is below it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.sql.fixtures import Fixture, fixtures, outcome_of

FIXTURES = fixtures()
PUBLIC_SETS = ("TPC-H", "ClickBench", "SSB", "Taxi rides")


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: f"{fixture.file}: {fixture.name}")
def test_a_text_becomes_what_is_below_it(fixture: Fixture) -> None:
    assert fixture.outcome, "a text without an outcome says nothing"
    assert outcome_of(fixture) == fixture.outcome


def test_there_are_as_many_texts_as_promised() -> None:
    named = [fixture for fixture in FIXTURES if fixture.name.startswith(PUBLIC_SETS)]
    assert len(FIXTURES) >= 200
    assert sum(fixture.refused for fixture in FIXTURES) >= 60
    assert len(named) >= 40


def test_no_text_is_there_twice() -> None:
    counted = Counter((fixture.world, fixture.text) for fixture in FIXTURES)
    assert not [text for text, times in counted.items() if times > 1]
