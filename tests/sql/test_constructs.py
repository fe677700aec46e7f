"""Every construct of the one tuple is read or refused as it says, and the docs' table is printed from it."""

from __future__ import annotations

from pathlib import Path

import pytest

import prdp
from prdp.sql.constructs import CONSTRUCTS, support_table
from prdp.sql.refused import Construct
from tests.sql.fixtures import opened
from tests.sql.worlds import WORLDS

HOMES = {"visits": "visits", "customer": "customers"}
READ = [construct for construct in CONSTRUCTS if construct.rule is not None]
REFUSED = [construct for construct in CONSTRUCTS if construct.rule is None]


def explained(text: str) -> str:
    world = next((home for table, home in HOMES.items() if f"FROM {table}" in text), "accounts")
    public = dict(WORLDS[world].public)
    return str(opened(world).explain_sql(text, share="1/10", tables=public))


@pytest.mark.parametrize("construct", READ, ids=lambda construct: construct.shown)
def test_what_is_listed_as_read_is_read(construct: Construct) -> None:
    assert explained(construct.example)


@pytest.mark.parametrize("construct", REFUSED, ids=lambda construct: construct.shown)
def test_what_is_listed_as_refused_is_refused_for_its_own_reason(construct: Construct) -> None:
    with pytest.raises(prdp.errors.SqlError) as refused:
        explained(construct.example)
    assert refused.value.reason == construct.note
    assert refused.value.advice == construct.instead


def test_the_page_s_table_is_the_printed_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    assert support_table() in page
