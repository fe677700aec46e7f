"""The steps from older ledger formats to newer ones, each inside the transaction of whoever takes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from prdp.ledger.binding import Binding
from prdp.ledger.format_1 import translated
from prdp.ledger.layout import ADDED_BY_2, guards, lay_out_table


def to_format_2(database: sqlite3.Connection) -> None:
    """Make places for regions, editions, hints and quotas; write each question as format 2 does.

    What was spent and answered is not touched.
    """
    for column in ADDED_BY_2:
        database.execute(f"ALTER TABLE charges ADD COLUMN {column} TEXT")
    lay_out_table(database, "quotas")
    (binding,) = database.execute("SELECT value FROM facts WHERE name = 'binding'").fetchone()
    facts = Binding.from_json(binding).facts
    charges = database.execute("SELECT number, purpose, share FROM charges").fetchall()
    texts = [(translated(text, share, facts), number) for number, text, share in charges]
    database.execute("DROP TRIGGER charges_no_update")
    database.executemany("UPDATE charges SET purpose = ? WHERE number = ?", texts)
    database.execute(guards("charges")["charges_no_update"])


Migration = Callable[[sqlite3.Connection], None]
MIGRATIONS: Mapping[int, Migration] = {1: to_format_2}
"""For each older version, the step that turns its file into the next version's."""
