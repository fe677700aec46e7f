"""A ledger as JSON and CSV, for other tools; everything in it may be published."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from prdp.declare.exact import spelled
from prdp.ledger.account import Entry
from prdp.plan.question_key import in_words
from prdp.release.formatting import optional_library
from prdp.release.release import Release
from prdp.release.table import CustomRelease, ReleaseTable, shown_key
from prdp.safety.plain_text import no_formula


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One answer as it is exported, or a charge without one; its fields are then empty.

    ``question`` is in words, ``purpose`` the text that the ledger knows it by. A charge that was answered by
    a table has a line for each group and question. ``low`` and ``high`` are the ends of the interval that is
    printed, empty where there is none on that side; ``flag`` says if the answer is low precision or
    unreliable, or the table's budget insufficient to know what was clipped.
    """

    number: int
    at: str
    who: str
    question: str
    purpose: str
    share: str
    answered: bool
    group: str | None
    asked: str | None
    value: float | None
    low: float | None
    high: float | None
    flag: str | None
    method: str | None
    caveat: str | None
    clock_went_back: bool


def _lines(entry: Entry, clock_went_back: bool) -> list[ExportRow]:
    """Return the lines of an entry."""

    def line(release: Release | CustomRelease | None, group: str | None, asked: str | None) -> ExportRow:
        ours = release if isinstance(release, Release) else None
        low, high = map(_finite, ours.interval()) if ours else (None, None)
        return ExportRow(
            number=entry.number,
            at=entry.at,
            who=entry.who,
            question=in_words(entry.purpose),
            purpose=entry.purpose,
            share=str(entry.share),
            answered=release is not None,
            group=group,
            asked=asked,
            value=ours.value if ours else _number(release),
            low=low,
            high=high,
            flag=ours.flag if ours else None,
            method=release.method if release else None,
            caveat=release.caveat if release else None,
            clock_went_back=clock_went_back,
        )

    table = entry.release
    if not isinstance(table, ReleaseTable):
        return [line(table, None, None)]
    return [
        line(release, ", ".join(map(shown_key, key)), asked)
        for key, row in table
        for asked, release in zip(table.asked, row, strict=True)
    ]


def _finite(end: float) -> float | None:
    """Return an end of an interval, or None where there is none."""
    return end if math.isfinite(end) else None


def _number(release: Release | CustomRelease | None) -> float | None:
    """Return the result of a caller's mechanism, where it is one number."""
    value = release.value if release else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def export_lines(entries: tuple[Entry, ...]) -> list[ExportRow]:
    """Return the answers of all entries."""
    dated = zip(entries, clock_went_back(entries), strict=True)
    return [line for entry, back in dated for line in _lines(entry, back)]


def clock_went_back(entries: tuple[Entry, ...]) -> list[bool]:
    """Mark the entries that are dated before an earlier one."""
    marks = []
    latest: datetime | None = None
    for entry in entries:
        at = _moment(entry.at)
        marks.append(at is not None and latest is not None and at < latest)
        if at is not None and (latest is None or at > latest):
            latest = at
    return marks


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def as_json(shown: str, facts: Mapping[str, Any], entries: tuple[Entry, ...], remaining: Fraction) -> str:
    """Return a whole ledger as JSON."""
    form = {
        "ledger": shown,
        "facts": facts,
        "spent": spelled(1 - remaining),
        "remaining": spelled(remaining),
        "charges": [
            _charge(entry, back) for entry, back in zip(entries, clock_went_back(entries), strict=True)
        ],
    }
    return json.dumps(form, indent=2, ensure_ascii=False)


def _charge(entry: Entry, back: bool) -> dict[str, Any]:
    """Return a charge with its answer, which for several groups or questions is a table of columns."""
    form = asdict(_lines(entry, back)[0])
    del form["group"], form["asked"]
    form |= {name: note for name, note in asdict(entry.notes).items() if note is not None}
    if isinstance(entry.release, CustomRelease):
        return form | {"result": entry.release.value, "failed": entry.release.failed}
    if not isinstance(entry.release, ReleaseTable):
        return form
    empty = dict.fromkeys(("value", "low", "high", "flag"))
    methods = sorted({release.method for row in entry.release.releases for release in row})
    columns = {name: list(map(_plain, column)) for name, column in entry.release.columns().items()}
    texts = {"method": ", ".join(methods), "caveat": "; ".join(entry.release.caveats)}
    return form | empty | texts | {"table": columns}


def _plain(value: object) -> object:
    if isinstance(value, float):
        return _finite(value)
    return str(value) if isinstance(value, date) else value


def as_csv(entries: tuple[Entry, ...]) -> str:
    """Return a ledger's answers as CSV; what a spreadsheet would run as a formula has a ' before it."""
    lines = [asdict(line).values() for line in export_lines(entries)]
    return "".join(_csv_row(cells) for cells in [ExportRow.__slots__, *lines])


def as_frame(entries: tuple[Entry, ...]) -> Any:
    """Return a pandas frame of the exported lines; shares are exact texts."""
    columns = [one.name for one in fields(ExportRow)]
    lines = [asdict(line) for line in export_lines(entries)]
    return optional_library("pandas", "pandas").DataFrame(lines, columns=columns)


def _csv_row(cells: Iterable[object]) -> str:
    """Return a line of CSV; a carriage return in a text is quoted only where it can end a line."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(map(_cell, cells))
    return text.getvalue().removesuffix("\r\n") + "\n"


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return no_formula(value) if isinstance(value, str) else value
