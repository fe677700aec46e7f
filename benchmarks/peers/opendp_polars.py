"""OpenDP with Polars: ``pip install 'opendp[polars]'``."""

from __future__ import annotations

from typing import Any

import opendp.prelude as dp
import polars as pl
from timing import BRANCHES, CLIPPED_AT, ROWS_AT_MOST, path, report

dp.enable_features("contrib")


def context(*margins: Any) -> Any:
    whole = dp.polars.Margin(max_length=ROWS_AT_MOST)
    return dp.Context.compositor(
        data=pl.scan_parquet(path()),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[whole, *margins],
    )


def clipped() -> Any:
    balance: Any = pl.col("balance").fill_null(0)
    return balance.dp.sum(bounds=(0, CLIPPED_AT))


def total() -> object:
    return context().query().select(clipped()).release().collect()


def by_branch() -> object:
    keys = pl.LazyFrame({"branch": pl.Series(BRANCHES, dtype=pl.Int32)})
    margin = dp.polars.Margin(by=["branch"], max_length=ROWS_AT_MOST)
    query = context(margin).query().group_by("branch").agg(clipped()).with_keys(keys)
    return query.release().collect()


def plain() -> object:
    return pl.scan_parquet(path()).select(pl.len(), pl.col("balance").sum()).collect(engine="streaming")


if __name__ == "__main__":
    report(
        "OpenDP with Polars",
        dp.__version__ if hasattr(dp, "__version__") else "",
        {
            "plain": plain,
            "sum": total,
            "sum by branch": by_branch,
        },
    )
