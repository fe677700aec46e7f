"""Check what a project file says against what it can say; every mistake is named by its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from prdp.errors import InvalidRequest
from prdp.projects.fields import PAIRS, PUBLIC, SECTIONS, ProjectKey
from prdp.projects.written import ProjectText, listed

Section = Mapping[str, Mapping[str, Any]]
_SECRET = re.compile(r"^[\w+.-]+://([^/@:]*:[^/@]+@|.*[?&](ssl)?password=)")


def check(file: ProjectText) -> None:
    """Refuse a project file that says what cannot be said; the first mistake in the file's order."""
    for section, entries in file.content.items():
        if section == PUBLIC:
            if not PAIRS.fits(entries):
                raise file.wrong((section,), 'holds a file by name: regions = "regions.csv".')
            continue
        if section not in SECTIONS:
            raise file.wrong(
                (section,),
                f"is not known. A project has {listed([*SECTIONS, PUBLIC])}." + _near(section, SECTIONS),
            )
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise file.wrong((section,), f"holds named entries: [{section}.accounts]")
        for name, entry in entries.items():
            _check_entry(file, section, name, entry)
    if not any(file.content.values()):
        raise InvalidRequest(f"{file.path.name} names no table. Add [tables.NAME] with source and policy.")
    both = set(file.content.get("tables", ())) & set(file.content.get("joins", ()))
    if both:
        raise file.wrong(("joins", min(both)), "is the name of a table and of a join: give it another.")


def _check_entry(file: ProjectText, section: str, name: str, entry: Mapping[str, Any]) -> None:
    fields = SECTIONS[section]
    for key, value in entry.items():
        place = (section, name, key)
        if key not in fields:
            raise file.wrong(place, f"is not known of {section}." + _near(key, fields))
        if not fields[key].kind.fits(value):
            raise file.wrong(place, f"is not understood. Write {fields[key].kind.words}.")
        for text in _texts(value):
            if holds_password(text):
                raise file.wrong(
                    place,
                    "holds a password. Keep the address in an environment variable, and write its name: "
                    f'{key} = "${{ACCOUNTS_URL}}". Or leave the password out, and set PGPASSWORD.',
                )
    missing = [key for key, field in fields.items() if field.needed and key not in entry]
    if missing:
        raise file.wrong((section, name), f"says nothing of {listed(missing)}. {fields[missing[0]].help}")


def holds_password(text: str) -> bool:
    """Say whether a text is an address with a password in it.

    >>> holds_password("postgresql://ana:secret@host/db"), holds_password("postgresql://ana@host:5432/db")
    (True, False)
    """
    return _SECRET.match(text) is not None


def _near(key: str, known: Mapping[str, ProjectKey] | Mapping[str, Any]) -> str:
    near = get_close_matches(key, known, n=1)
    return f" Did you mean {near[0]}?" if near else f" Known: {', '.join(known)}."


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    return [text for inner in value for text in _texts(inner)] if isinstance(value, list) else []
