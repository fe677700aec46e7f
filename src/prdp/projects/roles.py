"""Refuse a private source where a project says that something is public; by its files, which are not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prdp.engines._origins import Origin, origin_of
from prdp.errors import InvalidRequest
from prdp.projects.fields import PUBLIC
from prdp.projects.toml_text import bare_or_quoted
from prdp.projects.written import Place, ProjectText
from prdp.tables.roles import common_source


@dataclass(frozen=True, slots=True)
class PublicSource:
    """A source that a project declares to be public.

    Attributes:
        place: Where the project file says so.
        source: A file, a glob, or a list of such.
    """

    place: Place
    source: Path | str | list[str]


def refuse_private_sources(
    file: ProjectText, public: Sequence[PublicSource], private: Sequence[tuple[str, object]]
) -> None:
    """Refuse a public source that shares a file with a private one, under whatever name.

    Args:
        file: The project file, whose line is named.
        public: What it declares to be public.
        private: Its private sources, each with the name of its table.
    """
    origins = [(name, origin) for name, source in private for origin in _origins(source)]
    for one in public:
        for given in _public_origins(one.source):
            for name, origin in origins:
                if shared := common_source([origin], given):
                    raise _refusal(file, one.place, name, shared)


def _origins(source: object) -> Iterator[Origin]:
    """Yield where a source comes from; what is not there is told when it is opened."""
    for one in source if isinstance(source, list) else [source]:
        try:
            origin = origin_of(one)
        except (InvalidRequest, OSError):
            continue
        yield origin


def _public_origins(source: Path | str | list[str]) -> list[Origin]:
    """Return where a public source comes from; a part of a Delta or Iceberg table is refused as such."""
    if isinstance(source, str | Path) and Path(source).is_file():
        return [origin_of(source)]
    return list(_origins(source))


def _refusal(file: ProjectText, place: Place, name: str, shared: str) -> InvalidRequest:
    reason = (
        f"this is the private table {name} itself ({shared}), and which values occur there may give a record "
        "away."
    )
    column = place[-1]
    if "keys" not in place:
        which = "this line" if place[0] == PUBLIC else f"{column} in public"
        return file.wrong(place, f"{reason} Leave {which} out, or name a file that anybody may know.")
    listed = "Write the list of keys that anybody may know"
    if not file.text:  # options declare the table
        return InvalidRequest(
            f"--keys of {column}: {reason} {listed}, --keys {column}=a,b,c, or have them found: "
            f"--keys {column}=private"
        )
    key = bare_or_quoted(column)
    return file.wrong(place, f'{reason} {listed}, {key} = ["a", "b"], or have them found: {key} = "private".')
