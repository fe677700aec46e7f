"""A ledger as JSON and CSV, for other tools; everything in it may be published."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from prdp.foreign import ForeignRelease
from prdp.ledger.account import Entry
from prdp.release import Release
from prdp.release_table import ReleaseTable


@dataclass(frozen=True, slots=True)
class Line:
    """One charge as it is exported; the release's fields are empty while it is unanswered.

    ``low`` and ``high`` are the ends of the 95 % interval, empty where there is none on that side;
    ``noise`` is half the width of the noise's own.
    """

    number: int
    at: str
    who: str
    purpose: str
    share: str
    answered: bool
    value: float | None
    low: float | None
    high: float | None
    noise: float | None
    method: str | None
    caveat: str | None
    clock_went_back: bool
    rows: int | None = None

    @classmethod
    def of(cls, entry: Entry, clock_went_back: bool) -> Line:
        """Return the line of an entry."""
        table = entry.release if isinstance(entry.release, ReleaseTable) else None
        release = entry.release if isinstance(entry.release, Release) else None
        foreign = entry.release if isinstance(entry.release, ForeignRelease) else None
        low, high = map(_finite, release.interval()) if release else (None, None)
        return cls(
            number=entry.number,
            at=entry.at,
            who=entry.who,
            purpose=entry.purpose,
            share=str(entry.share),
            answered=entry.release is not None,
            value=release.value if release else _number(foreign),
            low=low,
            high=high,
            noise=_half(release.interval(reach=1)) if release else None,
            method=getattr(entry.release, "method", None),
            caveat=getattr(entry.release, "caveat", None),
            clock_went_back=clock_went_back,
            rows=len(table) if table else None,
        )


def _half(ends: tuple[float, float]) -> float:
    return (ends[1] - ends[0]) / 2


def _finite(end: float) -> float | None:
    """Return an end of an interval, or None where there is none."""
    return end if math.isfinite(end) else None


def _number(foreign: ForeignRelease | None) -> float | None:
    """Return what a caller's mechanism returned, where it is one number."""
    if foreign is None or isinstance(foreign.value, bool) or not isinstance(foreign.value, int | float):
        return None
    return foreign.value


def export_lines(entries: tuple[Entry, ...]) -> list[Line]:
    """Return the entries, marking those that are dated before an earlier one."""
    lines = []
    latest: datetime | None = None
    for entry in entries:
        at = _moment(entry.at)
        lines.append(Line.of(entry, clock_went_back=at is not None and latest is not None and at < latest))
        if at is not None and (latest is None or at > latest):
            latest = at
    return lines


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def as_json(path: Path, facts: Mapping[str, Any], entries: tuple[Entry, ...]) -> str:
    """Return a whole ledger as JSON."""
    spent = sum((entry.share for entry in entries), start=Fraction(0))
    form = {
        "ledger": str(path),
        "facts": facts,
        "spent": str(spent),
        "left": str(1 - spent),
        "charges": [
            asdict(line) | _columns(entry) for line, entry in zip(export_lines(entries), entries, strict=True)
        ],
    }
    return json.dumps(form, indent=2, ensure_ascii=False)


def _columns(entry: Entry) -> dict[str, Any]:
    """Return the answers of a table of releases, which one value cannot say."""
    if isinstance(entry.release, ForeignRelease):
        return {"result": entry.release.value, "failed": entry.release.failed}
    if not isinstance(entry.release, ReleaseTable):
        return {}
    columns = {name: list(map(_plain, column)) for name, column in entry.release.columns().items()}
    return {"table": columns}


def _plain(value: object) -> object:
    if isinstance(value, float):
        return _finite(value)
    return str(value) if isinstance(value, datetime) else value


def as_csv(entries: tuple[Entry, ...]) -> str:
    """Return a ledger's charges as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, Line.__slots__, lineterminator="\n")
    writer.writeheader()
    for line in export_lines(entries):
        row = asdict(line)
        flags = {name: str(value).lower() for name, value in row.items() if isinstance(value, bool)}
        writer.writerow(row | flags)
    return text.getvalue()
