"""Tumult Analytics on a local Spark: ``pip install tmlt.analytics``; needs Java."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from timing import BRANCHES, CLIPPED_AT, path, report
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

os.environ["PYSPARK_PYTHON"] = sys.executable

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.memory", "4g")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)


def session() -> Any:
    return Session.from_dataframe(
        privacy_budget=PureDPBudget(1),
        source_id="accounts",
        dataframe=spark.read.parquet(path()).select("balance", "branch"),
        protected_change=AddOneRow(),
    )


def total() -> object:
    query = QueryBuilder("accounts").sum("balance", low=0, high=CLIPPED_AT)
    return session().evaluate(query, PureDPBudget(1)).collect()


def by_branch() -> object:
    keys = KeySet.from_dict({"branch": list(BRANCHES)})
    query = QueryBuilder("accounts").groupby(keys).sum("balance", low=0, high=CLIPPED_AT)
    return session().evaluate(query, PureDPBudget(1)).collect()


def plain() -> object:
    return spark.read.parquet(path()).agg(f.count("*"), f.sum("balance")).collect()


if __name__ == "__main__":
    report(
        "Tumult Analytics",
        version("tmlt.analytics"),
        {
            "plain": plain,
            "sum": total,
            "sum by branch": by_branch,
        },
    )
