"""Read release.toml: the declaration of a publication, checked line by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from prdp.errors import InvalidRequest
from prdp.projects.fields import (
    EXPRESSION,
    FLAG,
    NUMBER,
    NUMBERS,
    TEXT,
    TEXTS,
    ProjectKey,
    ValueKind,
    refuse_unknown,
)
from prdp.projects.project import Project, project
from prdp.projects.toml_file import Place, ProjectText
from prdp.projects.toml_file import read as read_text
from prdp.publish.declaration import Hierarchy, Publication, Signs, StatisticalTable, query_of
from prdp.publish.dimension import Dimension, dimension_of, refuse_same_names
from prdp.publish.registry import REGISTRY

_GROUPS = ValueKind(
    'a list of keys by group: { North = ["a", "b"] }',
    lambda value: (
        isinstance(value, dict) and bool(value) and all(isinstance(one, list) for one in value.values())
    ),
    {},
)
_BY_NAME = ValueKind(
    'a measure by name: { n = "count", pay = "mean salary" }',
    lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
    {},
)
PUBLICATION = {
    "title": ProjectKey(TEXT, 'The title of the publication, such as title = "Loans of 2026".', needed=True),
    "share": ProjectKey(NUMBER, "The share that is divided among the tables."),
    "office": ProjectKey(TEXT, "Who publishes it."),
    "contact": ProjectKey(TEXT, "Where questions go."),
    "edition": ProjectKey(TEXT, "The edition, such as a year."),
    "project": ProjectKey(TEXT, "The project file; by default prdp.toml beside this file."),
    "key": ProjectKey(TEXT, "The private key that signs it, begun by the first publication."),
    "footnotes": ProjectKey(TEXTS, "Notes below every table."),
    "errata": ProjectKey(TEXTS, "Corrections of earlier editions."),
    "revisions": ProjectKey(TEXTS, "What was done in another way than in earlier editions."),
    "previous": ProjectKey(TEXTS, "The folders of earlier editions, the oldest first."),
    "suppress_above": ProjectKey(NUMBER, "The coefficient of variation above which figures are suppressed."),
    "nonnegative": ProjectKey(FLAG, "Whether figures that cannot be negative are moved to zero."),
}
SIGNS = {name: ProjectKey(TEXT, "A sign.") for name in ("unreliable", "negative", "missing")}
REGISTRY_FACTS = {name: ProjectKey(TEXT, "A fact of the record for a registry.") for name in REGISTRY}
HIERARCHY = {
    "of": ProjectKey(TEXT, "The column, or the finer hierarchy, whose keys it groups.", needed=True),
    "groups": ProjectKey(_GROUPS, "The keys of each group.", needed=True),
}
TABLE = {
    "from": ProjectKey(TEXT, "The private table, by its name in the project file."),
    "by": ProjectKey(TEXTS, "Its dimensions: columns or hierarchies.", needed=True),
    "measures": ProjectKey(_BY_NAME, "Its columns of figures."),
    "title": ProjectKey(TEXT, "Its title."),
    "where": ProjectKey(EXPRESSION, "Which records it is about."),
    "share": ProjectKey(NUMBER, "Its share; by default its part of the publication's."),
    "margins": ProjectKey(FLAG, "Whether it has totals."),
    "round_to": ProjectKey(NUMBERS, "The steps that figures are rounded to."),
    "footnotes": ProjectKey(TEXTS, "Notes below it."),
}
KEY = "release.key"

_Done = TypeVar("_Done")


@dataclass(frozen=True)
class ReleaseFile:
    """A file that declares a publication.

    Attributes:
        text: The file.
        publication: What it declares.
        project: The project that has the private tables.
        key: The file of the private key that signs it.
        previous: The folders of earlier editions, the oldest first.
    """

    text: ProjectText
    publication: Publication
    project: Project
    key: Path
    previous: tuple[Path, ...] = ()


def read(path: Path | str) -> ReleaseFile:
    """Read and check a file that declares a publication; a mistake is named by its line."""
    file = read_text(Path(path), own=True)
    content = file.content
    sections = {"signs": SIGNS, "registry": REGISTRY_FACTS, "hierarchies": HIERARCHY, "tables": TABLE}
    plain = {key: one for key, one in content.items() if key not in sections}
    refuse_unknown(file, (), plain, PUBLICATION | dict.fromkeys(sections, ProjectKey(_GROUPS, "A section.")))
    for section, fields in sections.items():
        entries = (
            {"": content.get(section, {})} if section in ("signs", "registry") else content.get(section, {})
        )
        if not isinstance(entries, dict) or not all(isinstance(one, dict) for one in entries.values()):
            raise file.refused(
                (section,), f"is a section: [{section}], or [{section}.NAME] of named entries."
            )
        for name, entry in entries.items():
            refuse_unknown(file, (section, name) if name else (section,), entry, fields)
    beside = file.path.parent / content.get("project", "prdp.toml")
    opened = project(beside)
    publication = _publication(file, opened)
    home = file.path.parent
    previous = tuple(home / name for name in content.get("previous", ()))
    return ReleaseFile(file, publication, opened, home / content.get("key", KEY), previous)


def _publication(file: ProjectText, opened: Project) -> Publication:
    content = file.content
    hierarchies = tuple(
        Hierarchy(name, entry["of"], entry["groups"])
        for name, entry in content.get("hierarchies", {}).items()
    )
    tables = tuple(_table(file, name, opened, hierarchies) for name in content.get("tables", {}))
    if not tables:
        raise InvalidRequest(f"{file.path.name} names no table. Add [tables.NAME] with by and measures.")
    plain = {
        key: content[key]
        for key in ("share", "office", "contact", "edition", "nonnegative")
        if key in content
    }
    plain |= {key: tuple(content[key]) for key in ("footnotes", "errata", "revisions") if key in content}
    plain |= {"registry": content["registry"]} if "registry" in content else {}
    if "suppress_above" in content:
        plain["suppress_above"] = _placed(file, ("suppress_above",), lambda: float(content["suppress_above"]))
    signs = Signs(**content.get("signs", {}))
    return _placed(
        file,
        ("share",),
        lambda: Publication(content["title"], tables, hierarchies=hierarchies, signs=signs, **plain),
    )


def _table(
    file: ProjectText, name: str, opened: Project, hierarchies: tuple[Hierarchy, ...]
) -> StatisticalTable:
    entry: Mapping[str, Any] = file.content["tables"][name]
    place: Place = ("tables", name)
    source = entry.get("from") or (next(iter(opened)) if len(opened) == 1 else None)
    if source is None or source not in list(opened):
        listed = ", ".join(opened)
        raise file.refused((*place, "from"), f"is none of the tables of {opened.file.path.name}: {listed}.")
    for measure in entry.get("measures", {}).values():
        _placed(file, (*place, "measures"), partial(query_of, measure))
    keys, by_name = opened.keys_of(source), {one.name: one for one in hierarchies}
    dimensions: list[Dimension] = []
    for one in entry["by"]:
        where: Place = ("hierarchies", one, "groups") if one in by_name else (*place, "by")
        if one in by_name and by_name[one].of not in {*keys, *by_name}:
            where = ("hierarchies", one, "of")
        dimensions.append(_placed(file, where, partial(dimension_of, one, keys, hierarchies)))
    options = {key: entry[key] for key in ("title", "share", "margins", "round_to") if key in entry}
    options |= {"footnotes": tuple(entry["footnotes"])} if "footnotes" in entry else {}
    options |= {"where": str(entry["where"])} if "where" in entry else {}
    options |= {"measures": entry["measures"]} if "measures" in entry else {}
    measured = {key: options[key] for key in ("measures",) if key in options}
    _placed(file, (*place, "measures"), lambda: StatisticalTable("table", ("column",), **measured))
    rounded = {key: options[key] for key in ("measures", "round_to") if key in options}
    _placed(file, (*place, "round_to"), lambda: StatisticalTable("table", ("column",), **rounded))
    found = _placed(file, place, lambda: StatisticalTable(name, tuple(entry["by"]), source=source, **options))
    _placed(file, (*place, "by"), lambda: refuse_same_names(dimensions, found.columns))
    return found


def _placed(file: ProjectText, place: Place, work: Callable[[], _Done]) -> _Done:
    """Do what checks an entry; a refusal names its line."""
    try:
        return work()
    except (InvalidRequest, ValueError) as error:
        parts = error.parts if isinstance(error, InvalidRequest) else (str(error),)
        raise file.wrong(place, *parts) from None
