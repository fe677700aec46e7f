"""The data sets of the experiments: whole values of 100 and more, as the paper cuts them.

The cut makes the paper's largest budget (100 for the policy 10000 / v) the largest one there is.
Synthetic sets are drawn here; the real ones are read from a folder of Parquet files. A set is drawn until
as many values as asked for are left after the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

CUT = 100
LARGEST = 10**12
SIZE = 200_000

_REAL = {
    "Bank": ("bank.parquet", "balance"),
    "SF": ("sf_salary.parquet", "total_pay"),
    "CBP": ("cbp_2021.parquet", "payroll_kusd"),
}
_NORMAL = {"Normal(50k)": 50_000, "Normal(500k)": 500_000}
_ZIPF = {"Zipf(3)": 3, "Zipf(5)": 5}
ZIPF_SCALE = 10_000

NAMES = (*_NORMAL, *_ZIPF, *_REAL)
"""Every set, in the order of the tables; one that is added above has a column in them."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A named column of whole values between ``CUT`` and ``LARGEST``."""

    name: str
    values: NDArray[np.int64]


def normal(name: str, mean: int, size: int = SIZE, seed: int = 0, deviation: float | None = None) -> DataSet:
    """Draw from Normal(mean, deviation); the deviation is the mean unless another is given."""
    spread = mean if deviation is None else deviation
    return _drawn(name, lambda random: random.normal(mean, spread, size), size, seed)


def zipf(name: str, power: float, size: int = SIZE, seed: int = 0, scale: int = ZIPF_SCALE) -> DataSet:
    """Draw x with density ∝ (x + 1)^-power for x ≥ 0, times ``scale``, given that it passes the cut.

    The paper does not say how it scales them, so its figures for these sets can't be compared with ours.
    """
    least = 1 + CUT / scale
    return _drawn(
        name, lambda random: scale * (least * random.random(size) ** (-1 / (power - 1)) - 1), size, seed
    )


def _drawn(
    name: str, draw: Callable[[np.random.Generator], NDArray[np.float64]], size: int, seed: int
) -> DataSet:
    random = np.random.default_rng(seed)
    kept = np.empty(0, np.int64)
    while kept.size < size:
        draws = np.rint(np.minimum(draw(random), LARGEST)).astype(np.int64)
        kept = np.concatenate([kept, draws[draws >= CUT]])
    return DataSet(name, kept[:size])


def real(name: str, folder: Path) -> DataSet | None:
    """Read a real set, or return None where its file is missing."""
    file, column = _REAL[name]
    path = folder / file
    if not path.exists():
        return None
    try:
        read = pyarrow.parquet.read_table(path, columns=[column])[column].drop_null()
    except (pyarrow.ArrowInvalid, KeyError) as error:
        raise ValueError(f"{path} is no Parquet file with a column {column!r}") from error
    values = np.rint(read.to_numpy()).astype(np.int64)
    return DataSet(name, values[values >= CUT])


def find(name: str, folder: Path | None, scale: int = ZIPF_SCALE) -> DataSet | None:
    """Return a set by its name, or None where it is a real one whose file is missing.

    ``scale`` is what a Zipf set's values are multiplied by.
    """
    if name in _NORMAL:
        return normal(name, _NORMAL[name])
    if name in _ZIPF:
        return zipf(name, _ZIPF[name], scale=scale)
    return real(name, folder) if folder else None


def can_be_had(name: str, folder: Path | None) -> bool:
    """Say whether ``find`` would find a set, without drawing or reading it."""
    return name not in _REAL or (folder is not None and (folder / _REAL[name][0]).exists())


def why_missing(name: str, folder: Path | None) -> str:
    """Say which file a missing set would be read from."""
    return f"{name}: left out, {_REAL[name][0]} is not in {folder or 'a folder given by --data'}"


def all_sets(folder: Path | None) -> Iterator[DataSet]:
    """Yield the Normal and the real sets that can be had, and say which cannot."""
    for name in (*_NORMAL, *_REAL):
        found = find(name, folder)
        if found is None:
            print(why_missing(name, folder))
        else:
            yield found
