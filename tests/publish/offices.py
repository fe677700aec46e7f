"""A made-up office with employees, its project file and its release.toml."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DISTRICTS = ["Aldham", "Brook", "Coldwell", "Dunmore", "Eastgate"]
SECTORS = ["farming", "trade", "health"]
PROJECT = f"""
[tables.staff]
source = "staff.parquet"
policy = "1"
bounds = {{ pay = [0, 1000] }}
[tables.staff.keys]
district = {DISTRICTS!r}
sector = {SECTORS!r}
"""
RELEASE = """
title = "Employees"
office = "Office"
contact = "statistics@example.org"
edition = "2026"
share = 0.1

[hierarchies.region]
of = "district"
groups = { North = ["Aldham", "Brook"], South = ["Coldwell", "Dunmore", "Eastgate"] }

[tables.employees]
by = ["region", "sector"]
round_to = { n = 5 }
footnotes = ["Main jobs only."]

[tables.pay]
by = ["sector"]
measures = { n = "count", total = "sum pay", mean = "mean pay" }
where = "pay > 0"
share = 0.05
"""


def made_up(records: int = 4000) -> dict[str, np.ndarray]:
    """Make up employees; one district has hardly any."""
    random = np.random.default_rng(3)
    return {
        "district": random.choice(DISTRICTS, records, p=[0.4, 0.3, 0.2, 0.099, 0.001]),
        "sector": random.choice(SECTORS, records, p=[0.1, 0.6, 0.3]),
        "pay": random.integers(1, 900, records),
    }


def write_office(folder: Path, release: str = RELEASE) -> Path:
    """Write the records and both files; return the release file."""
    pq.write_table(pa.table(made_up()), folder / "staff.parquet")
    (folder / "prdp.toml").write_text(PROJECT)
    (folder / "release.toml").write_text(release)
    return folder / "release.toml"
