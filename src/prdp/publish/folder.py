"""Write a publication as a folder that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prdp.errors import InvalidRequest
from prdp.publish.card import card
from prdp.publish.csvw import metadata
from prdp.publish.manifest import MANIFEST, PUBLIC_KEY, RESEARCH, SIGNATURE, digests
from prdp.publish.picture import picture
from prdp.publish.registry import registry_record
from prdp.publish.series import EarlierEdition, changes, facts_of, refuse_same_answers
from prdp.publish.series_page import series_page
from prdp.publish.signature import Signer, fingerprint
from prdp.publish.table import FinishedTable
from prdp.release.formats.document import as_text
from prdp.release.formats.xlsx import write_xlsx
from prdp.release.formatting import as_json, optional_library
from prdp.safety.plain_text import csv_text, printable
from prdp.version import __version__

if TYPE_CHECKING:
    from prdp.publish.run import Edition


def refuse_folder(folder: Path) -> None:
    """Refuse, before anything is charged, a folder that cannot be written, or files that cannot be made."""
    for library in ("xlsxwriter", "pyarrow", "matplotlib"):
        optional_library(library, "publish")
    if folder.exists():
        raise InvalidRequest(
            f"{folder} is there already. Name another folder, or remove it: what was charged is written anew "
            "for nothing."
        )
    if not folder.absolute().parent.is_dir() or not os.access(folder.absolute().parent, os.W_OK):
        raise InvalidRequest(f"{folder} cannot be written: name a folder in one that is there.")


def write_folder(
    edition: Edition, folder: Path, signer: Signer, previous: Sequence[EarlierEdition] = ()
) -> Path:
    """Write all files beside the folder's place, sign them, and put them there in one step."""
    refuse_folder(folder)
    refuse_same_answers(edition.charges, previous)
    place = folder.absolute()
    draft = place.with_name(f".{place.name}.{uuid.uuid4().hex}")
    try:
        (draft / RESEARCH).mkdir(parents=True)
        for table in edition.tables:
            _write_table(draft, table)
        notes = [text for table in edition.tables for text in ("", table.title, *table.notes)]
        documents = {table.name: table.document() for table in edition.tables}
        made = datetime.fromisoformat(edition.at)
        write_xlsx(draft / "tables.xlsx", documents, [edition.publication.title, *notes], made=made)
        pictures = {table.name: dict(_pictures(table)) for table in edition.tables}
        for name, drawings in pictures.items():
            for measure, svg in drawings.items():
                _put(draft / f"{name}.{measure}.svg", svg)
        if previous:
            for table in edition.tables:
                _put(draft / f"{table.name}.changes.csv", csv_text(changes(table, previous[-1])))
            _put(draft / "series.html", series_page(edition, previous, place, fingerprint(signer.public)))
        _put(draft / "registry.yaml", registry_record(edition))
        _put(draft / "index.html", card(edition, pictures, signer, previous))
        _sign(edition, draft, signer)
        _to_disk(draft)
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return folder


def _pictures(table: FinishedTable) -> Iterator[tuple[str, str]]:
    for place, name in enumerate(table.columns):
        drawn = picture(table, name)
        if drawn is not None:
            yield str(place + 1), drawn


def _write_table(draft: Path, table: FinishedTable) -> None:
    arrow, parquet = optional_library("pyarrow", "publish"), optional_library("pyarrow.parquet", "publish")
    for within, columns in (("", table.basic()), (RESEARCH, table.research())):
        file = draft / within / f"{table.name}.csv"
        _put(file, csv_text(columns))
        facts: dict[str, Any] = metadata(
            file.name,
            table.title,
            columns,
            publication=table.publication,
            keys=list(table.heads),
            notes=table.notes,
        )
        _put(file.with_name(f"{file.name}-metadata.json"), as_json(facts))
        rows = {name: _column(arrow, values) for name, values in columns.items()}
        parquet.write_table(arrow.table(rows), file.with_suffix(".parquet"))
    _put(draft / f"{table.name}.map.csv", csv_text(table.for_map()))
    document = table.document()
    for ending in (".html", ".md", ".tex"):
        _put(draft / f"{table.name}{ending}", as_text(document, ending))
    _put(draft / f"{table.name}.notes.txt", "\n".join(map(printable, [table.title, *table.notes])) + "\n")


def _column(arrow: Any, values: Sequence[Any]) -> Any:
    """Return a column of a Parquet file; numbers are doubles unless all are whole and fit 64 bits."""
    known = [one for one in values if one is not None]
    if all(isinstance(one, int) and abs(one) < 1 << 63 for one in known) and known:
        return arrow.array(values)
    if all(isinstance(one, int | float) for one in known):
        return arrow.array([None if one is None else float(one) for one in values], arrow.float64())
    return arrow.array(values)


def _put(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def _sign(edition: Edition, draft: Path, signer: Signer) -> None:
    (draft / PUBLIC_KEY).write_bytes(signer.public)
    manifest = {
        "title": edition.publication.title,
        "edition": edition.publication.edition,
        "drawn_at": edition.at,
        "prdp": __version__,
        "simulated": edition.simulated,
        "declared": facts_of(edition),
        "accounts": list(edition.charges),
        "files": digests(draft),
    }
    _put(draft / MANIFEST, as_json(manifest))
    (draft / SIGNATURE).write_bytes(signer.sign((draft / MANIFEST).read_bytes()))


def _to_disk(draft: Path) -> None:
    """Have all files on disk before the folder gets its name."""
    for file in (*(one for one in draft.rglob("*") if one.is_file()), draft / RESEARCH, draft, draft.parent):
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
