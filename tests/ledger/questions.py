"""Questions of every kind, asked through the public entry points under a ledger; each can be asked again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import prdp
from prdp.errors import EngineFailure

ROWS = 60
PLACES = np.arange(ROWS)
BOUNDED = ["v", "a, b", 'say "hi"', "x of y", "v where w > 1", "Größe", "select"]
SHARE = "1/100"


def rows_of(names: list[str]) -> dict[str, Any]:
    return {name: (PLACES * (place + 3)) % 41 for place, name in enumerate(names)}


def accounts(path: Path) -> prdp.Table:
    """A table with columns of every kind, some of which read like questions."""
    source = rows_of(BOUNDED) | {
        "price": PLACES / 4,
        "job": np.array(["clerk", "chef", 'd\'or, "x"'] * 20),
        "open": PLACES % 2 == 0,
        "day": np.datetime64("2026-01-01T00:00:00", "us") + PLACES * np.timedelta64(24 * 3600 * 10**6, "us"),
    }
    bounds: dict[str, Any] = dict.fromkeys(BOUNDED, (0, 50)) | {"price": (-20, 20)}
    return prdp.open(
        source,
        policy=prdp.Policy("100 / greatest(v, 1)", at_most=8),
        bounds=bounds,
        round_to={"price": "0.25"},
        name="accounts",
        ledger=path,
        who="ana",
    )


def mechanism(rows: Any, epsilon: Fraction, beta: Fraction) -> list[float]:
    return [rows.num_rows, float(epsilon)]


def ask_accounts(path: Path) -> None:
    table = accounts(path)
    table.count(share=SHARE)
    table.count(share="1/90", method="naive")
    table.count(share=SHARE, method=prdp.methods.Partition("1/20", graded=True))
    for column in BOUNDED:
        table.sum(column, share="1/300")
        table.count_distinct(column, share="1/300")
    table.sum("price", share=SHARE)
    table.sum("v", share=SHARE, method="partition")
    table.sum("v", share=SHARE, method=prdp.methods.Framework("1/7", split="1/3"))
    table.mean("price", share=SHARE)
    table.variance("v", share=SHARE)
    table.std("v", share=SHARE)
    table.max("a, b", share=SHARE)
    table.min("price", share=SHARE)
    table.median("x of y", share=SHARE)
    table.quantile("v where w > 1", "1/3", share=SHARE)
    table.quantiles("v", [0.00001, 0.25, "1/7", 0.5], share=SHARE)
    narrow = table.filter("v >= 3 and job <> 'd''or, \"x\"'").filter('"a, b" between 2 and 30')
    narrow.count(share=SHARE)
    narrow.sum("v", share=SHARE)
    table.group_by("job", keys=["clerk", 'd\'or, "x"', "none"]).count(share=SHARE)
    table.group_by("v", keys=list(range(30))).count(share=SHARE)
    table.group_by("open", prdp.date_trunc("month", "day"), keys=[(True, "2026-01-01")]).count(share=SHARE)
    table.histogram("price", edges=[-10, 0, "7.5"], share=SHARE)
    narrow.group_by("job", keys=["chef"]).histogram("v", edges=[0, 10, 20], share=SHARE)
    table.agg(prdp.count(), prdp.mean("v"), prdp.quantile("a, b", ("1/4", "1/2")), share=SHARE)
    table.agg(prdp.sum("v"), prdp.max("select"), share=SHARE, shares=["1/400", "3/400"])
    narrow.group_by("job", keys=["chef"]).agg(prdp.count(), prdp.count_distinct("v"), share=SHARE)
    table.agg(prdp.count(), share="1/110")
    table.run(mechanism, columns=["v"], share=SHARE, name="mine")
    narrow.run(
        mechanism, columns=["a, b", "v"], share=SHARE, name="x of y", sample=True, split="1/2", beta="1/9"
    )
    table.ledger.charge("lost before 2026-11-16", Fraction(1, 100))


def leave_open(path: Path) -> None:
    """Leave a charge without an answer, as an engine that fails does."""
    table = accounts(path)

    def fails(reading: object) -> Any:
        raise EngineFailure

    table._engine.summarise = fails  # type: ignore[method-assign]
    try:
        ask_left_open(table)
    except EngineFailure:
        return
    raise AssertionError("the question was answered")


def ask_left_open(table: prdp.Table) -> None:
    table.filter("open").count(share="1/80")


def spend_more(path: Path) -> None:
    """Ask what is charged each time: afresh, and by a mechanism without a name."""
    table = accounts(path)
    table.count(share=SHARE, redraw=True)
    table.run(mechanism, columns=["v"], share=SHARE)
    table.run(mechanism, columns=["v"], share=SHARE, name="mine", redraw=True)


def ask_visits(path: Path) -> None:
    """A table that protects persons with all their rows."""
    table = prdp.open(
        {"person": PLACES % 20, "v": PLACES % 7, "job": np.array(["clerk", "chef"] * 30)},
        policy=prdp.Policy.constant(1),
        bounds={"v": (0, 10)},
        privacy_unit="person",
        name="visits",
        ledger=path,
        who="ana",
    )
    table.count(share="1/10")
    table.count_distinct("person", share="1/10")
    table.filter("v > 2").sum("v", share="1/10")
    table.group_by("job", keys=["clerk", "chef"]).count(share="1/10")


def ask_relation(path: Path) -> None:
    """A relation of the caller's, whose own filter is a part of every question."""
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t AS SELECT range AS v, range % 3 AS k FROM range(60)")
        table = prdp.open(
            database.sql("SELECT v, k FROM t WHERE v > 5"),
            policy=prdp.Policy.constant(1),
            bounds={"v": (0, 60)},
            name="relation",
            ledger=path,
            who="ana",
        )
        table.count(share="1/10")
        table.filter("k = 1").group_by("k", keys=[0, 1]).sum("v", share="1/10")
        table.run(mechanism, columns=["v", "k"], share="1/10", name="mine")


def ask_join(path: Path) -> None:
    """Tables whose names read like lists of tables."""
    join = prdp.open_join(
        {
            "persons": {"id": np.arange(20), "age": np.arange(20) + 18},
            "orders": {"person": PLACES % 20, "price": PLACES % 9, "two, words": PLACES % 5},
            'items, "odd"': {"buyer": PLACES % 20, "size": PLACES % 4},
        },
        private="persons",
        key="id",
        references={"orders.person": "persons.id", 'items, "odd".buyer': "persons.id"},
        policy=prdp.Policy.constant(1),
        bounds={"price": (0, 9), "two, words": (0, 5)},
        max_rows=100,
        name="shop",
        ledger=path,
        who="ana",
    )
    orders = join.over("orders")
    join.count(share="1/20")
    orders.count(share="1/20", method="naive")
    orders.sum("price", share="1/20")
    orders.sum('"two, words"', share="1/20")
    orders.sum('price * (1 - "two, words" / 10)', round_to="0.1", share="1/20")
    orders.filter("price > 3 and age < 30").sum("price", share="1/20")
    join.over('items, "odd"').count(share="1/20")
    join.over('items, "odd"', "orders").filter("size = 1").count(share="1/20")


def ask_links(path: Path) -> None:
    """Rows that name two persons, by columns of ordinary names."""
    persons = prdp.graphs.Records({"id": np.arange(20)}, "id", prdp.Policy.constant(1))
    links = prdp.graphs.open_links(
        {"sender": PLACES % 20, "receiver": (PLACES * 7 + 1) % 20, "v": PLACES},
        records={"sender": persons, "receiver": persons},
        max_rows=100,
        name="messages",
        ledger=path,
        who="ana",
    )
    links.count(share="1/10")
    links.filter("v > 10 and v < 50").count(share="1/10")


def ask_odd_links(path: Path) -> None:
    """Rows that name persons by columns whose names read like a list, and like a filter."""
    persons = prdp.graphs.Records({"id": np.arange(20)}, "id", prdp.Policy.constant(1))
    links = prdp.graphs.open_links(
        {"b and a": PLACES % 20, "a where v > 1": (PLACES * 7 + 1) % 20, "a": PLACES % 20, "v": PLACES},
        records={"b and a": persons, "a where v > 1": persons, "a": persons},
        max_rows=100,
        name="messages",
        ledger=path,
        who="ana",
    )
    links.count(share="1/10")
    links.filter("v > 1").count(share="1/10")


def ask_graph(path: Path) -> None:
    graph = prdp.graphs.open(
        {"one": PLACES % 12, "other": (PLACES * 5 + 1) % 12, "v": PLACES},
        source="one",
        target="other",
        nodes=range(12),
        policy=prdp.Policy.constant(1),
        name="friends",
        ledger=path,
        who="ana",
    )
    graph.edges(share="1/10")
    graph.paths(share="1/10")
    graph.paths(share="1/10", method="framework")
    graph.stars(3, share="1/10")
    graph.triangles(share="1/10")
    graph.filter("v > 10").edges(share="1/10")


ASKED: dict[str, Callable[[Path], None]] = {
    "accounts": ask_accounts,
    "visits": ask_visits,
    "relation": ask_relation,
    "join": ask_join,
    "links": ask_links,
    "odd_links": ask_odd_links,
    "graph": ask_graph,
}
"""For each kind of source, what it is asked."""
