"""The tables that the texts are about: made by a seed, opened with prdp, and given to plain DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import prdp

Columns = dict[str, Any]
Tables = dict[str, Columns]


@dataclass(frozen=True, slots=True)
class World:
    """Tables, and how they are opened.

    Attributes:
        made: Makes the tables from a generator.
        opened: Opens them under a policy.
        public: Public tables that statements may name.
        keys: Public keys that statements do not list.
    """

    made: Callable[[np.random.Generator], Tables]
    opened: Callable[[Tables, prdp.Policy], Any]
    public: Mapping[str, Columns] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)

    def plain(self, tables: Tables) -> duckdb.DuckDBPyConnection:
        """Return a plain database of the same tables."""
        connection = duckdb.connect()
        for name, columns in (*tables.items(), *self.public.items()):
            connection.register(f"{name}_given", pd.DataFrame(columns))
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM {name}_given')
        return connection


def _days(rng: np.random.Generator, size: int, first: str, days: int) -> Any:
    return (np.datetime64(first) + rng.integers(0, days, size).astype("timedelta64[D]")).astype(
        "datetime64[us]"
    )


def _money(rng: np.random.Generator, size: int, most: int) -> Any:
    """Return amounts of whole quarters, which doubles and decimals both hold."""
    return rng.integers(0, most * 4, size) / 4


JOBS = ["clerk", "chef", "judge", "nurse"]


def accounts(rng: np.random.Generator) -> Tables:
    size = int(rng.integers(40, 90))
    bonus = rng.integers(0, 100, size).astype(float)
    bonus[rng.random(size) < 0.3] = np.nan
    return {
        "accounts": {
            "age": rng.integers(18, 80, size),
            "balance": rng.integers(0, 1000, size),
            "price": _money(rng, size, 100),
            "bonus": pd.array([None if np.isnan(b) else int(b) for b in bonus], dtype="Int64"),
            "job": rng.choice(JOBS, size),
            "title": rng.choice(["Head chef", "manager", "Sales Manager", "intern"], size),
            "branch": rng.integers(1, 5, size),
            "vip": rng.random(size) < 0.4,
            "opened": _days(rng, size, "2025-01-01", 200),
            'x"; DROP TABLE': rng.integers(0, 10, size),
            "order": rng.integers(0, 10, size),
        }
    }


def opened_accounts(tables: Tables, policy: prdp.Policy) -> prdp.Table:
    return prdp.open(
        pd.DataFrame(tables["accounts"]),
        policy=policy,
        name="accounts",
        bounds={
            "age": (0, 120), "balance": (0, 1000), "price": (0, 100), "bonus": (0, 100), "branch": (1, 4),
            'x"; DROP TABLE': (0, 10), "order": (0, 10),
        },
        round_to={"price": "0.25"},
    )  # fmt: skip


def visits(rng: np.random.Generator) -> Tables:
    size = int(rng.integers(40, 90))
    return {
        "visits": {
            "customer": rng.integers(1, 15, size),
            "spent": rng.integers(0, 50, size),
            "shop": rng.choice(["north", "south"], size),
        }
    }


def opened_visits(tables: Tables, policy: prdp.Policy) -> prdp.Table:
    frame = pd.DataFrame(tables["visits"])
    return prdp.open(
        frame, policy=policy, name="visits", privacy_unit="customer", bounds={"spent": (0, 50)}, max_rows=1000
    )


def tpch(rng: np.random.Generator) -> Tables:
    customers, orders, lines = 12, 40, 120
    return {
        "customer": {
            "c_custkey": np.arange(1, customers + 1),
            "c_nationkey": rng.integers(0, 4, customers),
            "c_acctbal": rng.integers(0, 1000, customers),
            "c_mktsegment": rng.choice(["BUILDING", "MACHINERY"], customers),
        },
        "orders": {
            "o_orderkey": np.arange(1, orders + 1),
            "o_custkey": rng.integers(1, customers + 1, orders),
            "o_orderdate": _days(rng, orders, "1993-06-01", 700),
            "o_orderpriority": rng.choice(["1-URGENT", "2-HIGH", "3-MEDIUM"], orders),
            "o_shippriority": rng.integers(0, 2, orders),
            "o_totalprice": rng.integers(1, 1000, orders),
            "o_comment": rng.choice(["special requests", "fast"], orders),
        },
        "lineitem": {
            "l_id": np.arange(lines),
            "l_orderkey": rng.integers(1, orders + 1, lines),
            "l_partkey": rng.integers(1, 6, lines),
            "l_suppkey": rng.integers(1, 4, lines),
            "l_linenumber": rng.integers(1, 8, lines),
            "l_quantity": rng.integers(1, 50, lines),
            "l_extendedprice": rng.integers(1, 1000, lines),
            "l_discount": rng.integers(0, 4, lines) / 4,
            "l_tax": rng.integers(0, 2, lines) / 4,
            "l_returnflag": rng.choice(["A", "N", "R"], lines),
            "l_linestatus": rng.choice(["F", "O"], lines),
            "l_shipdate": _days(rng, lines, "1993-06-01", 900),
            "l_commitdate": _days(rng, lines, "1993-06-01", 900),
            "l_receiptdate": _days(rng, lines, "1993-06-01", 900),
            "l_shipmode": rng.choice(["MAIL", "SHIP", "AIR"], lines),
            "l_shipinstruct": rng.choice(["DELIVER IN PERSON", "NONE"], lines),
        },
        "part": {
            "p_partkey": np.arange(1, 6),
            "p_type": np.array(["PROMO BRUSHED", "STANDARD", "PROMO PLATED", "SMALL", "ECONOMY"]),
            "p_brand": np.array(["Brand#12", "Brand#23", "Brand#34", "Brand#12", "Brand#23"]),
            "p_size": np.array([1, 5, 10, 15, 20]),
            "p_container": np.array(["SM CASE", "MED BAG", "LG BOX", "SM BOX", "MED BOX"]),
        },
        "supplier": {"s_suppkey": np.arange(1, 4), "s_nationkey": rng.integers(0, 4, 3)},
        "nation": {
            "n_nationkey": np.arange(4),
            "n_name": np.array(["INDIA", "JAPAN", "FRANCE", "CHINA"]),
            "n_regionkey": np.array([0, 0, 1, 0]),
        },
        "region": {"r_regionkey": np.arange(2), "r_name": np.array(["ASIA", "EUROPE"])},
    }


LINES = {"l_quantity": (0, 50), "l_extendedprice": (0, 1000), "l_discount": (0, 1), "l_tax": (0, 1)}
FINE = {"l_discount": "0.25", "l_tax": "0.25"}


def _frames(tables: Tables, *names: str) -> dict[str, Any]:
    return {name: pd.DataFrame(tables[name]) for name in names}


def opened_lineitem(tables: Tables, policy: prdp.Policy) -> prdp.Table:
    frame = pd.DataFrame(tables["lineitem"])
    return prdp.open(frame, policy=policy, name="lineitem", bounds=LINES, round_to=FINE)


def opened_lines(tables: Tables, policy: prdp.Policy) -> prdp.Join:
    return prdp.open_join(
        _frames(tables, "lineitem", "orders", "part"),
        private="lineitem",
        key="l_id",
        references={"lineitem.l_orderkey": "orders.o_orderkey", "lineitem.l_partkey": "part.p_partkey"},
        public=["orders", "part"],
        policy=policy,
        bounds={**LINES, "p_size": (1, 50)},
        round_to=FINE,
        max_rows=1,
    )


def opened_orders(tables: Tables, policy: prdp.Policy) -> prdp.Join:
    return prdp.open_join(
        _frames(tables, "orders", "lineitem"),
        private="orders",
        key="o_orderkey",
        references={"lineitem.l_orderkey": "orders.o_orderkey"},
        policy=policy,
        bounds={**LINES, "o_totalprice": (0, 1000)},
        round_to=FINE,
        max_rows=1000,
    )


def opened_customers(tables: Tables, policy: prdp.Policy) -> prdp.Join:
    return prdp.open_join(
        _frames(tables, "customer", "orders", "lineitem", "supplier", "nation", "region"),
        private="customer",
        key="c_custkey",
        references={
            "orders.o_custkey": "customer.c_custkey",
            "lineitem.l_orderkey": "orders.o_orderkey",
            "lineitem.l_suppkey": "supplier.s_suppkey",
            "customer.c_nationkey": "nation.n_nationkey",
            "nation.n_regionkey": "region.r_regionkey",
        },
        public=["supplier", "nation", "region"],
        policy=policy,
        bounds={**LINES, "c_acctbal": (0, 1000), "o_totalprice": (0, 1000)},
        round_to=FINE,
        max_rows=1000,
    )


def hits(rng: np.random.Generator) -> Tables:
    """Return a few columns of ClickBench's one table."""
    size = 120
    return {
        "hits": {
            "UserID": rng.integers(1, 30, size),
            "CounterID": rng.integers(60, 64, size),
            "RegionID": rng.integers(1, 5, size),
            "AdvEngineID": rng.integers(0, 4, size),
            "ResolutionWidth": rng.integers(0, 2000, size),
            "EventDate": _days(rng, size, "2013-07-01", 31),
            "SearchPhrase": rng.choice(["", "cat", "dog"], size),
            "SearchEngineID": rng.integers(0, 3, size),
            "MobilePhoneModel": rng.choice(["", "iPhone", "nova"], size),
            "URL": rng.choice(["http://google.com/a", "http://example.org"], size),
            "IsRefresh": rng.integers(0, 2, size),
            "DontCountHits": rng.integers(0, 2, size),
            "TraficSourceID": rng.integers(-1, 7, size),
        }
    }


def opened_hits(tables: Tables, policy: prdp.Policy) -> prdp.Table:
    bounds = {
        "UserID": (0, 10**6), "CounterID": (60, 63), "RegionID": (1, 4), "AdvEngineID": (0, 3),
        "ResolutionWidth": (0, 2000), "SearchEngineID": (0, 2), "TraficSourceID": (-1, 6),
    }  # fmt: skip
    return prdp.open(pd.DataFrame(tables["hits"]), policy=policy, name="hits", bounds=bounds)


def star(rng: np.random.Generator) -> Tables:
    """Return a small star schema benchmark: line orders, and public dimensions."""
    size, days = 150, 48
    years = 1992 + np.arange(days) // 8
    return {
        "lineorder": {
            "lo_id": np.arange(size),
            "lo_custkey": rng.integers(1, 6, size),
            "lo_partkey": rng.integers(1, 6, size),
            "lo_suppkey": rng.integers(1, 5, size),
            "lo_orderdate": rng.integers(0, days, size),
            "lo_quantity": rng.integers(1, 50, size),
            "lo_extendedprice": rng.integers(1, 1000, size),
            "lo_discount": rng.integers(0, 11, size),
            "lo_revenue": rng.integers(1, 1000, size),
            "lo_supplycost": rng.integers(1, 500, size),
        },
        "dates": {
            "d_datekey": np.arange(days),
            "d_year": years,
            "d_yearmonthnum": years * 100 + np.arange(days) % 8 + 1,
            "d_yearmonth": np.array(
                [f"Dec{year}" if k % 8 == 7 else f"Jan{year}" for k, year in enumerate(years)]
            ),
            "d_weeknuminyear": np.arange(days) % 8 + 1,
        },
        "customer": {
            "c_custkey": np.arange(1, 6),
            "c_region": np.array(["ASIA", "ASIA", "AMERICA", "AMERICA", "EUROPE"]),
            "c_nation": np.array(["CHINA", "INDIA", "UNITED STATES", "CANADA", "FRANCE"]),
            "c_city": np.array(["CHINA 1", "INDIA 1", "UNITED ST1", "CANADA 1", "FRANCE 1"]),
        },
        "supplier": {
            "s_suppkey": np.arange(1, 5),
            "s_region": np.array(["ASIA", "AMERICA", "AMERICA", "ASIA"]),
            "s_nation": np.array(["CHINA", "UNITED STATES", "CANADA", "INDIA"]),
            "s_city": np.array(["CHINA 1", "UNITED ST1", "CANADA 1", "INDIA 1"]),
        },
        "part": {
            "p_partkey": np.arange(1, 6),
            "p_category": np.array(["MFGR#12", "MFGR#12", "MFGR#14", "MFGR#22", "MFGR#14"]),
            "p_brand1": np.array(["MFGR#1201", "MFGR#1202", "MFGR#1401", "MFGR#2221", "MFGR#1402"]),
            "p_mfgr": np.array(["MFGR#1", "MFGR#1", "MFGR#1", "MFGR#2", "MFGR#1"]),
        },
    }


def opened_star(tables: Tables, policy: prdp.Policy) -> prdp.Join:
    return prdp.open_join(
        _frames(tables, "lineorder", "dates", "customer", "supplier", "part"),
        private="lineorder",
        key="lo_id",
        references={
            "lineorder.lo_orderdate": "dates.d_datekey",
            "lineorder.lo_custkey": "customer.c_custkey",
            "lineorder.lo_suppkey": "supplier.s_suppkey",
            "lineorder.lo_partkey": "part.p_partkey",
        },
        public=["dates", "customer", "supplier", "part"],
        policy=policy,
        bounds={
            "lo_quantity": (0, 50), "lo_extendedprice": (0, 1000), "lo_discount": (0, 10),
            "lo_revenue": (0, 1000),
            "lo_supplycost": (0, 500),
        },
        max_rows=1,
    )  # fmt: skip


def trips(rng: np.random.Generator) -> Tables:
    size = 120
    return {
        "trips": {
            "cab_type": rng.choice(["green", "yellow"], size),
            "passenger_count": rng.integers(0, 7, size),
            "total_amount": _money(rng, size, 100),
            "trip_distance": rng.integers(0, 30, size),
            "pickup_datetime": _days(rng, size, "2015-01-01", 90),
        }
    }


def opened_trips(tables: Tables, policy: prdp.Policy) -> prdp.Table:
    return prdp.open(
        pd.DataFrame(tables["trips"]),
        policy=policy,
        name="trips",
        bounds={"passenger_count": (0, 6), "total_amount": (0, 100), "trip_distance": (0, 30)},
        round_to={"total_amount": "0.25"},
    )


PUBLIC_JOBS: dict[str, Columns] = {
    "jobs": {
        "job": ["clerk", "chef", "judge"],
        "level": [1, 2, 2],
        "field": ["office", "kitchen", "court"],
        "since": [1990, None, 2000],
    },
    "twice": {"job": ["clerk", "clerk"], "level": [1, 2]},
}

WORLDS: dict[str, World] = {
    "accounts": World(accounts, opened_accounts, PUBLIC_JOBS, {"title": ["manager", "intern", "Head chef"]}),
    "visits": World(visits, opened_visits),
    "lineitem": World(
        tpch, opened_lineitem, keys={"l_returnflag": ["A", "N", "R"], "l_linestatus": ["F", "O"]}
    ),
    "lines": World(tpch, opened_lines),
    "orders": World(tpch, opened_orders, keys={"o_orderpriority": ["1-URGENT", "2-HIGH", "3-MEDIUM"]}),
    "customers": World(tpch, opened_customers, keys={"c_mktsegment": ["BUILDING", "MACHINERY"]}),
    "hits": World(
        hits, opened_hits,
        keys={"SearchPhrase": ["cat", "dog"], "MobilePhoneModel": ["iPhone", "nova"]},
    ),
    "star": World(star, opened_star),
    "trips": World(trips, opened_trips, keys={"cab_type": ["green", "yellow"]}),
}  # fmt: skip
