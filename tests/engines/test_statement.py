"""A statement as a value: the tables and columns that it reads, found in its tree and never in its text."""

from __future__ import annotations

from prdp.engines.database import slots_of
from prdp.engines.postgres.dialect import POSTGRES
from prdp.engines.statements.translate import translated


def test_tables_are_those_that_are_read_and_no_texts_or_names_of_its_own_queries() -> None:
    written = translated(
        'WITH owners AS (SELECT "id" AS id FROM prdp_table_0 AS t) '
        "SELECT count(*) AS n FROM owners WHERE id = 'prdp_table_1'",
        POSTGRES,
    )
    assert written.tables == {"prdp_table_0"}


def test_names_are_the_quoted_ones_and_no_texts() -> None:
    written = translated("""SELECT sum("v") AS x FROM prdp_records WHERE "job" = '"day"'""", POSTGRES)
    assert {"v", "job"} <= written.names
    assert not {"day", "x", "prdp_records"} & written.names


def test_a_slot_that_another_one_begins_with_is_not_read_for_it() -> None:
    slots = slots_of(map(str, range(11)))
    written = translated(f"SELECT count(*) AS n FROM {slots['10']}", POSTGRES)
    assert [name for name, slot in slots.items() if slot in written.tables] == ["10"]
