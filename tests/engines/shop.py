"""A shop of three small tables, and questions about it that every engine of joins answers as DuckDB does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

import prdp
from prdp.tables.join import Join
from prdp.testing import simulate

PEOPLE = {"id": np.arange(500), "member": np.arange(500) % 2 == 0, "town": np.arange(500) % 3}
ORDERS = {"buyer": np.arange(2000) % 600, "price": np.arange(2000) % 90}
TOWNS = {"code": np.array([0, 1]), "country": np.array(["de", "fr"])}
BOTH = PEOPLE | {name: column[:500] for name, column in ORDERS.items()}
"""One table that might be people and orders alike."""

TABLES: Mapping[str, Mapping[str, NDArray[Any]]] = {"people": PEOPLE, "orders": ORDERS, "towns": TOWNS}


def arrow_tables() -> dict[str, pyarrow.Table]:
    return {name: pyarrow.table(dict(columns)) for name, columns in TABLES.items()}


def opened(tables: Mapping[str, object], database: object = None, **options: object) -> Join:
    return prdp.open_join(
        tables,
        database=database,
        private="people",
        key="id",
        references={"orders.buyer": "people.id", "people.town": "towns.code"},
        policy="CASE WHEN member THEN 1 ELSE 2 END",
        public=["towns"],
        bounds={"price": (0, 100)},
        **options,  # type: ignore[arg-type]
    )


QUESTIONS: tuple[Callable[[Join], tuple[Any, Any]], ...] = (
    lambda join: (join.over("orders"), prdp.sum("price")),
    lambda join: (join.over("orders", "towns").filter("member"), prdp.count()),
    lambda join: (
        join.over("orders", "towns").group_by("country", keys=["de", "fr", "it"]),
        prdp.sum("price"),
    ),
    lambda join: (join.over("orders").group_by("member", keys=[True, False]), prdp.count()),
)


def answers_as_duckdb_does(tables: Mapping[str, object], database: object = None) -> None:
    """Ask tables the same as DuckDB, with the same noise."""
    joins = [opened(TABLES, synthetic=True), opened(tables, database, synthetic=True)]
    for ask in QUESTIONS:
        first, second = (simulate(*ask(join), share="1/4", runs=2, seed=5) for join in joins)
        assert _stated(first) == _stated(second)


def _stated(answers: object) -> str:
    """Return answers as they are shown, but for whom a policy leaves out, which a source's types decide."""
    return re.sub(r"leaves out [^;\n]*(?:; |\n)?", "", repr(answers))


def answers_sql(join: Join) -> None:
    """Ask in SQL, where keys of a public table are read from it."""
    rows = join.sql(
        "SELECT country, COUNT(*) FROM people JOIN orders ON buyer = id JOIN towns ON town = code "
        "GROUP BY country",
        share="1/2",
    )
    assert [row[0] for row in rows] == ["de", "fr"]
