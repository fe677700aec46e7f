"""The data sets of the experiments: whole values of 100 and more, as the paper cuts them.

The cut makes the paper's largest budget (100 for the policy 10000 / v) the largest one there is.
Synthetic sets are drawn here; the real ones are read from a folder of Parquet files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

CUT = 100
LARGEST = 10**12

_REAL = {
    "Bank": ("bank.parquet", "balance"),
    "SF": ("sf_salary.parquet", "total_pay"),
    "CBP": ("cbp_2021.parquet", "payroll_kusd"),
}
_NORMAL = {"Normal(50k)": 50_000, "Normal(500k)": 500_000}


@dataclass(frozen=True, slots=True)
class DataSet:
    """A named column of whole values between ``CUT`` and ``LARGEST``."""

    name: str
    values: NDArray[np.int64]


def normal(name: str, mean: int, size: int = 200_000, seed: int = 0) -> DataSet:
    """Draw from Normal(mean, mean) until ``size`` values are left after the cut."""
    random = np.random.default_rng(seed)
    kept = np.empty(0, np.int64)
    while kept.size < size:
        draws = np.rint(random.normal(mean, mean, size)).astype(np.int64)
        kept = np.concatenate([kept, draws[draws >= CUT]])
    return DataSet(name, kept[:size])


def real(name: str, folder: Path) -> DataSet | None:
    """Read a real set, or return None where its file is missing."""
    file, column = _REAL[name]
    path = folder / file
    if not path.exists():
        return None
    read = pyarrow.parquet.read_table(path, columns=[column])[column].drop_null()
    values = np.rint(read.to_numpy()).astype(np.int64)
    return DataSet(name, values[values >= CUT])


def all_sets(folder: Path | None) -> Iterator[DataSet]:
    """Yield every set that can be had, and say which cannot."""
    for name, mean in _NORMAL.items():
        yield normal(name, mean)
    for name, (file, _) in _REAL.items():
        found = real(name, folder) if folder else None
        if found is None:
            print(f"{name}: left out, {file} is not in {folder or 'a folder given by --data'}")
        else:
            yield found
