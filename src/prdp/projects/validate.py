"""Check what a project file says against what it can say; every mistake is named by its line."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from prdp.errors import InvalidRequest
from prdp.projects.environment import refused_variable
from prdp.projects.fields import PAIRS, PUBLIC, SECTIONS, ProjectKey
from prdp.projects.toml_file import Place, ProjectText, listed
from prdp.safety.database_address import holds_password

Section = Mapping[str, Mapping[str, Any]]
_ADDRESSES = ("source", "tables", "database", "ledger")
"""The keys whose values may come from the environment."""


def check(file: ProjectText) -> None:
    """Refuse a project file that says what cannot be said; the first mistake in the file's order."""
    for section, entries in file.content.items():
        if section == PUBLIC:
            if not PAIRS.fits(entries):
                raise file.wrong((section,), 'holds a file by name: regions = "regions.csv".')
            for name, entry in entries.items():
                _refuse_passwords(file, (section, name), entry)
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
            if key in _ADDRESSES and (reason := refused_variable(text)):
                raise file.wrong(place, reason)
        _refuse_passwords(file, place, value)
    missing = [key for key, field in fields.items() if field.needed and key not in entry]
    if missing:
        raise file.wrong((section, name), f"says nothing of {listed(missing)}. {fields[missing[0]].help}")


def _refuse_passwords(file: ProjectText, place: Place, value: Any) -> None:
    if any(map(holds_password, _texts(value))):
        raise file.wrong(
            place,
            "holds a password. Keep the address in an environment variable, and write its name: "
            f'{place[-1]} = "${{ACCOUNTS_URL}}". Or leave the password out, and set PGPASSWORD.',
        )


def _near(key: str, known: Mapping[str, ProjectKey] | Mapping[str, Any]) -> str:
    near = get_close_matches(key, known, n=1)
    return f" Did you mean {near[0]}?" if near else f" Known: {', '.join(known)}."


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    return [text for inner in value for text in _texts(inner)] if isinstance(value, list) else []
