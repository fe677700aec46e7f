"""SmartNoise SQL over a pandas frame: ``pip install smartnoise-sql``."""

from __future__ import annotations

from importlib.metadata import version

import pandas as pd
from snsql import Privacy, from_df
from timing import BRANCHES, CLIPPED_AT, path, report

TOTAL = "SUM(balance) AS total FROM bank.accounts"
META = {
    "": {
        "bank": {
            "accounts": {
                "row_privacy": True,
                "censor_dims": False,
                "balance": {"type": "int", "lower": 0, "upper": CLIPPED_AT},
                "age": {"type": "int", "lower": 0, "upper": 120},
                "branch": {"type": "int", "lower": 0, "upper": max(BRANCHES)},
            }
        }
    }
}


def ask(sql: str) -> object:
    frame = pd.read_parquet(path(), columns=["balance", "branch"])
    reader = from_df(frame, privacy=Privacy(epsilon=1.0, delta=1e-9), metadata=META)
    return reader.execute(sql)


def plain() -> object:
    frame = pd.read_parquet(path(), columns=["balance"])
    return len(frame), frame["balance"].sum()


if __name__ == "__main__":
    report(
        "SmartNoise SQL",
        version("smartnoise-sql"),
        {
            "plain": plain,
            "sum": lambda: ask(f"SELECT {TOTAL}"),
            "sum by branch": lambda: ask(f"SELECT branch, {TOTAL} GROUP BY branch"),
        },
    )
