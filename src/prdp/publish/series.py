"""A series: earlier editions of a publication, what was revised since, and changes with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prdp.declare.exact import spelled
from prdp.declare.strict_json import strict_json
from prdp.errors import InvalidRequest
from prdp.publish.declaration import NAME
from prdp.publish.manifest import MANIFEST, PUBLIC_KEY, RESEARCH
from prdp.publish.signature import fingerprint
from prdp.publish.table import (
    LOW_RELIABILITY,
    MISSING,
    NORMAL,
    SUPPRESSED,
    FinishedTable,
    PublishedFigure,
    rounded,
)
from prdp.publish.verify import verify
from prdp.release.formatting import optional_library

if TYPE_CHECKING:
    from prdp.publish.run import Edition

_LISTED = 5

Row = tuple[str, ...]
"""The labels of a row."""


@dataclass(frozen=True)
class EarlierEdition:
    """An edition that was published before, as its folder has it.

    Attributes:
        folder: The folder.
        name: The edition.
        key: The fingerprint of the key that signed it.
        facts: What its manifest states of policies and tables.
        charges: The ledger and the number of each of its charges.
        tables: For each table and column of figures, the figures by row.
    """

    folder: Path
    name: str
    key: str
    facts: Mapping[str, Any]
    charges: frozenset[tuple[str, int]]
    tables: Mapping[str, Mapping[str, Mapping[Row, PublishedFigure]]]

    @classmethod
    def of(cls, folder: Path | str) -> EarlierEdition:
        """Read an edition; one that is not as it was signed is refused."""
        folder = Path(folder)
        wrong = [one.text for one in verify(folder) if one.holds is False]
        if wrong:
            raise InvalidRequest(f"{folder.name} is not as it was signed: {wrong[0]}.")
        try:
            manifest = strict_json((folder / MANIFEST).read_text(encoding="utf-8"))
            facts = manifest["declared"]
            charges = {
                (account.get("identity", ""), charge["number"])
                for account in manifest["accounts"]
                for charge in account["charges"]
            }
            tables = {
                name: _figures(folder, name, one)
                for name, one in facts["tables"].items()
                if NAME.fullmatch(name)
            }
            name, key = (
                str(manifest["edition"]) or folder.name,
                fingerprint((folder / PUBLIC_KEY).read_bytes()),
            )
        except (KeyError, ValueError, TypeError, AttributeError, OSError):
            raise InvalidRequest(f"{folder.name} is no edition that this version of prdp can read.") from None
        return cls(folder, name, key, facts, frozenset(charges), tables)


def _figures(folder: Path, name: str, facts: Mapping[str, Any]) -> dict[str, dict[Row, PublishedFigure]]:
    """Return the figures of a table of research."""
    library = optional_library("pyarrow.parquet", "publish")
    columns = library.read_table(folder / RESEARCH / f"{name}.parquet").to_pydict()
    rows = list(zip(*(map(str, columns[head]) for head in facts["rows"]), strict=True))
    found = {}
    for measure in facts["measures"]:
        parts = {part: columns[f"{measure}{part}"] for part in _PARTS}
        cells = [dict(zip(parts, cell, strict=True)) for cell in zip(*parts.values(), strict=True)]
        found[measure] = {row: _figure(cell) for row, cell in zip(rows, cells, strict=True)}
    return found


_PARTS = ("", "_low", "_high", "_se", "_cv", "_status", "_low975", "_high975")


def _figure(cell: Mapping[str, Any]) -> PublishedFigure:
    status = cell["_status"]
    sign = "" if status in {NORMAL, LOW_RELIABILITY} else status
    ends, wide = (cell["_low"], cell["_high"]), (cell["_low975"], cell["_high975"])
    return PublishedFigure(cell[""], *ends, cell["_se"], cell["_cv"], status, sign, wide=wide)


def facts_of(edition: Edition) -> dict[str, Any]:
    """Return what a manifest states of policies and tables, so that the next edition can be compared."""
    privates = {one.draws.private.table.name: one.draws.private.table for one in edition.tables}
    return {
        "policies": {
            name: {
                "policy": table.policy.text,
                "bounds": {
                    column: f"{spelled(low)} to {spelled(high)}"
                    for column, (low, high) in table.bounds.items()
                },
            }
            for name, table in privates.items()
        },
        "tables": {
            one.name: {
                "from": one.draws.private.table.name,
                "rows": list(one.heads),
                "measures": dict(one.draws.declared.measures),
                "where": one.draws.declared.where or "",
                "share": str(one.draws.share),
            }
            for one in edition.tables
        },
    }


def refuse_same_answers(edition: Edition, earlier: Sequence[EarlierEdition]) -> None:
    """Refuse an edition whose answers from some private table were all published in an earlier one."""
    for account in edition.charges:
        charges = {(account.get("identity", ""), charge["number"]) for charge in account["charges"]}
        for one in earlier:
            if charges and charges <= one.charges:
                raise InvalidRequest(
                    f"all answers from {account['table']} are those of {one.folder.name}: they were recorded "
                    "then, and nothing was charged. For an edition about new records, give the table another "
                    "snapshot in prdp.toml; to write the earlier one anew, leave it out of previous."
                )


def revisions(edition: Edition, earlier: EarlierEdition) -> list[str]:
    """Return what was declared in another way than for an earlier edition, a sentence each."""
    now, then = facts_of(edition), earlier.facts
    found = [*_changed(then["policies"], now["policies"]), *_changed(then["tables"], now["tables"])]
    for table in edition.tables:
        if table.name not in then["tables"]:
            continue
        rows = set(_rows(table))
        before = {row for cells in earlier.tables[table.name].values() for row in cells}
        for words, some in (("new", rows - before), ("gone", before - rows)):
            listed = ["/".join(row) for row in sorted(some)]
            more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
            found += [f"{table.name}: {words} rows: {', '.join(listed[:_LISTED])}{more}."] * bool(listed)
    return found


def _changed(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*then, *now}):
        if name not in then or name not in now:
            yield f"{name} is {'new' if name in now else 'gone'}."
            continue
        for fact in then[name]:
            if then[name][fact] != now[name].get(fact):
                yield f"{name}: {fact} was {_shown(then[name][fact])}, is {_shown(now[name].get(fact))}."


def _shown(fact: Any) -> str:
    if isinstance(fact, dict):
        return ", ".join(f"{name} {text}" for name, text in fact.items())
    return ", ".join(fact) if isinstance(fact, list) else str(fact) or "none"


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A change from one edition to the next; no numbers where either figure was not published.

    Attributes:
        value: The difference.
        low: The lower end of its 95 % interval.
        high: The upper end.
    """

    value: int | float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def is_clear(self) -> bool:
        """True if its interval does not hold 0."""
        return (self.low is not None and self.low > 0) or (self.high is not None and self.high < 0)


def change(now: PublishedFigure, then: PublishedFigure | None, step: Fraction | None = None) -> FigureChange:
    """Return the change from one figure to another, rounded to a step.

    Its interval holds whenever those of both figures do, each in 97.5 of 100: whatever their noises are, and
    however they depend on each other.
    """
    if then is None or not now.is_published or not then.is_published:
        return FigureChange()
    assert now.value is not None and then.value is not None  # noqa: S101, PT018  (published)
    (low, high), (least, most) = now.wide, then.wide
    return FigureChange(*rounded(step, now.value - then.value, _apart(low, most), _apart(high, least)))


def _apart(end: float | None, other: float | None) -> float | None:
    known = end is not None and other is not None and math.isfinite(end) and math.isfinite(other)
    return end - other if known and end is not None and other is not None else None


def _rows(table: FinishedTable) -> list[Row]:
    heads = table.plain_heads()
    return list(zip(*(map(str, labels) for labels in heads.values()), strict=True))


def earlier_figures(
    table: FinishedTable, measure: str, earlier: EarlierEdition
) -> list[PublishedFigure | None]:
    """Return the figures of an earlier edition in the rows of a table; None where it has none."""
    known = earlier.tables.get(table.name, {}).get(measure, {})
    signs = {SUPPRESSED: table.publication.signs.unreliable, MISSING: table.publication.signs.missing}
    found = [known.get(row) for row in _rows(table)]
    return [one and replace(one, sign=signs.get(one.sign, one.sign)) for one in found]


def changes(table: FinishedTable, earlier: EarlierEdition) -> dict[str, list[Any]]:
    """Return the changes of all figures of a table since an edition, as columns."""
    columns: dict[str, list[Any]] = dict(table.plain_heads())
    for statistic in table.draws.declared.statistics:
        name = statistic.name
        pairs = zip(table.columns[name], earlier_figures(table, name, earlier), strict=True)
        found = [change(now, then, statistic.round_to) for now, then in pairs]
        columns[f"{name}_change"] = [one.value for one in found]
        columns[f"{name}_change_low"] = [one.low for one in found]
        columns[f"{name}_change_high"] = [one.high for one in found]
    return columns
