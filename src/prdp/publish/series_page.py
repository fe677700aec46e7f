"""The page of a series: figures of all editions side by side, and changes with intervals."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from prdp.publish.declaration import Statistic
from prdp.publish.picture import over_editions
from prdp.publish.series import EarlierEdition, FigureChange, change, earlier_figures, revisions
from prdp.publish.table import FinishedTable, PublishedFigure, printed_key
from prdp.release.formats.document import Document
from prdp.release.formats.html import escaped, html_page, html_section

if TYPE_CHECKING:
    from prdp.publish.run import Edition

_LEAST_DRAWN = 2
_INTERVALS = (
    "The 95 % interval of a change holds whenever the 97.5 % intervals of both figures do, and excludes what "
    "they exclude. A change whose "
    "interval does not hold 0 is marked by *. Changes are those of figures before rounding; there is none "
    "where a figure was not published. All rows: the files of changes."
)


def series_page(edition: Edition, previous: Sequence[EarlierEdition], place: Path, key: str) -> str:
    """Return the page.

    Args:
        edition: The newest edition.
        previous: The earlier ones, the oldest first.
        place: The folder in which the page will be.
        key: The fingerprint of the key that signs the newest one.
    """
    publication = edition.publication
    parts = [f"<h1>{escaped(publication.title)}: all editions</h1><p>{escaped(publication.office)}</p>"]
    links = [
        f'<li><a href="{escaped(_link(one, place))}">{escaped(one.name)}</a>, key {escaped(one.key)}</li>'
        for one in previous
    ]
    now = publication.edition or "this edition"
    parts.append(
        f"<ul>{''.join(links)}<li><a href='index.html'>{escaped(now)}</a>, key {escaped(key)}</li></ul>"
    )
    notes = [*publication.revisions, *revisions(edition, previous[-1], key)]
    if notes:
        items = "".join(f"<li>{escaped(note)}</li>" for note in notes)
        parts.append(f"<h2>{escaped(f'Revisions since {previous[-1].name}')}</h2><ul>{items}</ul>")
    for table in edition.tables:
        for statistic in table.draws.declared.statistics:
            parts += _column(table, statistic, previous, now)
    parts.append(f"<p>{escaped(_INTERVALS)}</p>")
    return html_page(f"{publication.title}: all editions", "\n".join(parts))


def _link(earlier: EarlierEdition, place: Path) -> str:
    path = os.path.relpath(earlier.folder.absolute() / "index.html", place)
    return quote(Path(path).as_posix())


def _column(
    table: FinishedTable, statistic: Statistic, previous: Sequence[EarlierEdition], now: str
) -> Iterator[str]:
    """Yield a column of a table over all editions: a picture of its first row, and its rows."""
    rows, name = table.along_first, statistic.name
    if not rows:
        return
    before = [earlier_figures(table, name, one) for one in previous]
    figures = table.columns[name]
    heads = {
        head: list(map(printed_key, labels))
        for head, labels in table.heads.items()
        if head in table.draws.dimensions[0].names
    }
    columns: dict[str, Sequence[Any]] = {
        head: [labels[place] for place in rows] for head, labels in heads.items()
    }
    editions = [*(one.name for one in previous), now]
    labels = [
        f"{label} ({place})" if [*editions, *heads].count(label) > 1 else label
        for place, label in enumerate(editions, 1)
    ]
    for label, cells in zip(labels, [*before, figures], strict=True):
        columns[label] = [_shown(table, statistic, cells[place]) for place in rows]
    found = [change(figures[place], before[-1][place], statistic.round_to) for place in rows]
    columns[f"change since {editions[-2]}"] = [_changed(table, statistic, one) for one in found]
    columns["95 % interval"] = [
        table.between(statistic, one.low, one.high) if one.value is not None else "" for one in found
    ]
    title = f"{table.draws.declared.title or table.name}: {name}"
    numbers = frozenset(columns) - frozenset(heads)
    decimals = dict.fromkeys(labels, table.decimals(statistic))
    document = Document(title, columns, numbers=numbers, decimals=decimals, totals=_totals(table, rows))
    yield html_section(document)
    first = [(label, cells[rows[0]]) for label, cells in zip(labels, [*before, figures], strict=True)]
    known = [(label, one) for label, one in first if one is not None and one.is_published]
    if (
        len(known) >= _LEAST_DRAWN
        and table.cells[rows[0]][0].level == len(table.draws.dimensions[0].levels) - 1
    ):
        yield over_editions(f"{name}: total", known)


def _totals(table: FinishedTable, rows: Sequence[int]) -> frozenset[int]:
    return frozenset(place for place, row in enumerate(rows) if table.cells[row][0].level)


def _shown(table: FinishedTable, statistic: Statistic, one: PublishedFigure | None) -> Any:
    return "" if one is None else table.shown(statistic, one)


def _changed(table: FinishedTable, statistic: Statistic, one: FigureChange) -> str:
    if one.value is None:
        return ""
    return f"{one.value:+,.{table.decimals(statistic)}f}{' *' if one.is_clear else ''}"
