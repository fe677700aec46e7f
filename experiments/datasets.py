"""The data sets of the experiments: whole values of 100 and more, as the paper cuts them.

The cut makes the paper's largest budget (100 for the policy 10000 / v) the largest one there is.
Synthetic sets are drawn here; the real ones are read from a folder of Parquet files. A set is drawn until
as many values as asked for are left after the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

CUT = 100
LARGEST = 10**12
SIZE = 200_000
ZIPF_SCALE = 10_000


@dataclass(frozen=True, slots=True)
class DataSet:
    """A named column of whole values between ``CUT`` and ``LARGEST``."""

    name: str
    values: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Normal:
    """A set drawn from Normal(mean, mean); ``quick`` says whether quick runs have it."""

    mean: int
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Zipf:
    """A set drawn with the density ∝ (x + 1)^-power, times a scale; ``quick`` as above."""

    power: int
    quick: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A column of a Parquet file in the folder given by ``--data``; ``quick`` as above."""

    file: str
    column: str
    quick: bool = False


@dataclass(frozen=True, slots=True)
class MadeUp:
    """A set with the printed size, largest value, mean and median of one that is not to be had.

    Values are ``least`` and what a log-normal law adds to it, at even steps of its distribution; its
    deviation is found so that the mean is right. ``quick`` as above.
    """

    size: int
    largest: int
    mean: int
    median: int
    least: int
    quick: bool = False


SETS: dict[str, Normal | Zipf | File | MadeUp] = {
    "Normal(50k)": Normal(50_000, quick=True),
    "Normal(500k)": Normal(500_000),
    "Zipf(3)": Zipf(3, quick=True),
    "Zipf(5)": Zipf(5),
    "Bank": File("bank.parquet", "balance", quick=True),
    "SF": File("sf_salary.parquet", "total_pay"),
    "Ontario (made up)": MadeUp(575_000, 1_750_000, 127_000, 116_000, 100_000),
    "JP-Trade (made up)": MadeUp(203_000, 1_710_000, 2_200, 320, CUT),
    "CBP": File("cbp_2021.parquet", "payroll_kusd"),
}
"""Every set, in the order of the tables; one that is added here has a column in them."""


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


def made_up(name: str, like: MadeUp) -> DataSet:
    """Return values with the statistics of a set that is not to be had; nothing else need be like it."""
    normals = NormalDist()
    steps = np.array([normals.inv_cdf((place + 0.5) / like.size) for place in range(like.size)])

    def values(deviation: float) -> NDArray[np.int64]:
        added = (like.median - like.least) * np.exp(deviation * steps)
        found: NDArray[np.int64] = np.minimum(np.rint(like.least + added), like.largest).astype(np.int64)
        found[-1] = like.largest
        return found

    low, high = 0.0, 5.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if values(middle).mean() < like.mean else (low, middle)
    return DataSet(name, values(low))


def real(name: str, folder: Path) -> DataSet | None:
    """Read a real set, or return None where its file is missing."""
    source = SETS[name]
    return _read(name, source, folder) if isinstance(source, File) else None


def _read(name: str, source: File, folder: Path) -> DataSet | None:
    path, column = folder / source.file, source.column
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
    match SETS[name]:
        case Normal(mean):
            return normal(name, mean)
        case Zipf(power):
            return zipf(name, power, scale=scale)
        case MadeUp() as source:
            return made_up(name, source)
        case File() as source:
            return _read(name, source, folder) if folder else None


def can_be_had(name: str, folder: Path | None) -> bool:
    """Return whether ``find`` would find a set, without drawing or reading it."""
    source = SETS[name]
    return not isinstance(source, File) or (folder is not None and (folder / source.file).exists())


def why_missing(name: str, folder: Path | None) -> str:
    """Say which file a missing set would be read from."""
    source = SETS[name]
    file = source.file if isinstance(source, File) else name
    return f"{name}: left out, {file} is not in {folder or 'a folder given by --data'}"


def comparable(name: str) -> bool:
    """Return whether a set is as in the paper, if the paper has it.

    It does not print the scale of Zipf sets, and two of its real ones are not to be had.
    """
    return not isinstance(SETS[name], Zipf | MadeUp)


def all_sets(folder: Path | None) -> Iterator[DataSet]:
    """Yield the Normal and the real sets that can be had, and say which cannot."""
    for name in filter(comparable, SETS):
        found = find(name, folder)
        if found is None:
            print(why_missing(name, folder))
        else:
            yield found
