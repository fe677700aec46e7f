"""Describe a CSV file for programs, by the W3C's CSV on the Web."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prdp.publish.declaration import Publication

_MEANINGS = {
    "": "figure",
    "_low": "lower end of the 95 % confidence interval",
    "_high": "upper end of the 95 % confidence interval",
    "_low975": "lower end of the 97.5 % confidence interval",
    "_high975": "upper end of the 97.5 % confidence interval",
    "_excludes": "what the intervals exclude",
    "_se": "standard error",
    "_cv": "coefficient of variation",
    "_variance": "variance",
    "_status": "observation status, by the code list CL_OBS_STATUS of SDMX",
}


def metadata(
    url: str,
    title: str,
    columns: Mapping[str, Sequence[Any]],
    *,
    publication: Publication,
    keys: Sequence[str],
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return the metadata of a CSV file.

    Args:
        url: Its name.
        title: Its title.
        columns: Its columns.
        publication: The publication that it is in.
        keys: Those that name its rows.
        notes: The notes on it.
    """
    described: list[dict[str, str]] = []
    for name, values in columns.items():
        ending = name.rpartition("_")[1] + name.rpartition("_")[2]
        meaning = "key" if name in keys else _MEANINGS.get(ending, _MEANINGS[""])
        described.append(
            {
                "name": f"_{len(described)}",
                "titles": name,
                "dc:description": meaning,
                "datatype": _type(values, number=name not in keys and ending not in ("_status", "_excludes")),
            }
        )
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": url,
        "dc:title": title,
        "dc:publisher": publication.office,
        "notes": [{"dc:description": note} for note in notes],
        "tableSchema": {"columns": described, "primaryKey": [f"_{place}" for place in range(len(keys))]},
    }


def _type(values: Sequence[Any], *, number: bool) -> str:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, int) for value in known):
        return "integer"
    numeric = all(isinstance(value, int | float) for value in known)
    return "number" if numeric and (known or number) else "string"
