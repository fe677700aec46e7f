"""prdp on DuckDB: a policy in place of a clipping bound."""

from __future__ import annotations

import warnings

import duckdb
from timing import BRANCHES, path, report

import prdp

warnings.simplefilter("ignore")


def opened() -> prdp.Table:
    return prdp.open(
        path(), policy=prdp.Policy("10000 / balance", at_most=100), bounds={"balance": (0, 10**12)}
    )


def plain() -> object:
    return duckdb.execute(f"SELECT count(*), sum(balance) FROM '{path()}'").fetchall()


if __name__ == "__main__":
    report(
        "prdp",
        prdp.__version__,
        {
            "plain": plain,
            "sum": lambda: opened().sum("balance", share=1),
            "sum by branch": lambda: opened().group_by("branch", keys=list(BRANCHES)).sum("balance", share=1),
        },
    )
