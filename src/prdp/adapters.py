"""Other libraries' mechanisms for ``Table.run``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind, Schema
from prdp.tables.custom import Mechanism

_LARGEST = {"f32": 3.4e38, "f64": 1.7e308}
_NUMBERS = ("f32", "f64", *(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64, 128)))
_SPARE = 1 - Fraction(1, 1 << 20)
"""Part of epsilon that a measurement is made with, so that the library's rounding up stays below it."""


def opendp(make: Callable[[float], Any], *, column: str | None = None) -> Mechanism:
    """Return the mechanism of an OpenDP measurement over one column.

    The measurement must take a list of the column's values, be differentially private under
    *symmetric distance* (adding or removing a row), and have pure privacy loss ``map(1) <= epsilon``: that is
    checked for epsilon 1 before anything is charged, and each time before it sees a value. That there is such
    a column, of a kind that its domain has, is checked before anything is charged too. Values that are
    missing, or that its domain does not have, are left out first; numbers beyond its type are moved into it.

    Args:
        make: From epsilon to the measurement, for example
            ``lambda eps: space >> then_clamp((0, 100)) >> then_sum() >> then_laplace(100 / eps)``.
        column: The column that it reads; by default the only one.
    """
    if not callable(make):
        raise InvalidRequest(f"adapters.opendp takes a function from epsilon to a measurement, not {make!r}.")
    if column is not None and not isinstance(column, str):
        raise InvalidRequest(f"column={column!r} is no name of a column.")

    def mechanism(rows: Any, epsilon: Fraction, beta: Fraction) -> object:  # noqa: ARG001
        measurement = make(rounded_down(epsilon * _SPARE))
        _refuse_unless_pure(measurement, rounded_down(epsilon))
        values = rows[_read_column(column, rows.column_names)].to_pylist()
        return measurement(_members(values, measurement.input_domain))

    def ready(columns: Schema) -> None:
        measurement = make(float(_SPARE))
        _refuse_unless_pure(measurement, 1.0)
        read = _read_column(column, list(columns))
        _refuse_unless_of_its_kind(_carrier(measurement.input_domain), read, columns[read])

    mechanism.ready = ready  # type: ignore[attr-defined]
    return mechanism


def _read_column(named: str | None, columns: Sequence[str]) -> str:
    """Return the column that a measurement reads; capitals do not matter, as in SQL."""
    read = [name for name in columns if named is None or name.lower() == named.lower()]
    if len(read) == 1:
        return read[0]
    listed = f"columns=[{', '.join(map(repr, columns))}]"
    if named is None:
        raise InvalidRequest(
            f"a measurement reads one column of {listed}. Say which one: opendp(make, column={columns[0]!r})."
        )
    raise InvalidRequest(f"the measurement reads the column {named!r}, which is not one of {listed}.")


def _carrier(domain: Any) -> str:
    """Return the type of a domain's lists, such as ``f64``; empty if it is no domain of lists."""
    carrier = str(domain.carrier_type)
    is_list = carrier.startswith("Vec<") and carrier.endswith(">")
    return carrier.removeprefix("Vec<").removesuffix(">") if is_list else ""


def _refuse_unless_of_its_kind(carrier: str, column: str, holds: ColumnType) -> None:
    """Refuse a column none of whose values a measurement's domain has: all would be left out."""
    kinds = {"bool": Kind.BOOLEAN, "String": Kind.TEXT} | dict.fromkeys(_NUMBERS, Kind.NUMBER)
    if carrier not in kinds:
        raise InvalidRequest(
            "the measurement does not take a list of numbers, texts or truth values. Begin with "
            "dp.vector_domain(dp.atom_domain(T='i64')), dp.symmetric_distance()."
        )
    if kinds[carrier] is not holds.kind:
        raise InvalidRequest(
            f"the measurement takes a list of {carrier}, but the column {column!r} holds {holds.kind.value}."
        )


def _refuse_unless_pure(measurement: Any, epsilon: float) -> None:
    """Refuse a measurement that is not epsilon-DP for adding or removing a row.

    Under zero-concentrated or approximate privacy ``map`` returns another number, and comparing that with
    epsilon would mean nothing.
    """
    if not hasattr(measurement, "output_measure") or not hasattr(measurement, "map"):
        raise InvalidRequest(f"adapters.opendp's function returned {measurement!r}, which is no measurement.")
    measure, metric = str(measurement.output_measure), str(measurement.input_metric)
    if not measure.startswith("MaxDivergence"):
        raise InvalidRequest(
            f"the measurement's privacy measure is {measure}, and not pure epsilon (MaxDivergence)."
        )
    if "size=" in str(measurement.input_domain):
        raise InvalidRequest(
            "the measurement's domain has a fixed size, but how many rows there are is private."
        )
    if not metric.startswith("SymmetricDistance"):
        raise InvalidRequest(f"the measurement's neighbours are by {metric}, and not by SymmetricDistance.")
    if not measurement.map(1) <= epsilon:
        raise InvalidRequest(
            f"for epsilon={epsilon:g} the measurement costs {measurement.map(1):g} for one row."
        )


def _members(values: list[Any], domain: Any) -> list[Any]:
    """Return the values that a measurement's domain has, each fitted to its type; the others are left out.

    Each value by itself, so that a row still moves one element; a value that made the measurement fail
    would be given away by that.
    """
    carrier = _carrier(domain)
    fitted = [fit for value in values if (fit := _fitted(value, carrier)) is not None]
    if domain.member(fitted):
        return fitted
    return [value for value in fitted if domain.member([value])]


def _fitted(value: Any, carrier: str) -> Any:
    """Return a value as a type of OpenDP's, numbers moved into its range; None if it is of another kind."""
    if carrier == "bool":
        return value if isinstance(value, bool) else None
    if carrier == "String":
        return value if isinstance(value, str) and "\0" not in value else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if carrier in {"f32", "f64"}:
        double = float(value)
        return None if math.isnan(double) else max(-_LARGEST[carrier], min(_LARGEST[carrier], double))
    if carrier[:1] not in {"i", "u"} or not carrier[1:].isdigit() or value != value:  # noqa: PLR0124
        return None
    bits = int(carrier[1:])
    low, high = (0, 2**bits - 1) if carrier[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return low if value <= low else high if value >= high else int(value)


def rounded_down(number: Fraction) -> float:
    """Return the greatest double that is at most a number.

    >>> rounded_down(Fraction(1, 10)) < Fraction(1, 10), rounded_down(Fraction(1, 2))
    (True, 0.5)
    """
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)
