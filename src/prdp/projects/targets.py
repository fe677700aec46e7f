"""Find the tables or joins of a project that a statement names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prdp.errors import InvalidRequest
from prdp.projects.toml_file import listed

if TYPE_CHECKING:
    from prdp.projects.project import Project


def named_in(text: str, project: Project) -> str:
    """Return the name of the table or join that a statement is about."""
    from prdp.sql.reading import read_statement  # noqa: PLC0415  (its parser is an extra)

    tree = read_statement(text).tree
    found = {node.name.lower() for node in tree.walk() if type(node).__name__ == "Table"}
    known = {name: {table.lower() for table in project.tables_of(name)} for name in project}
    about = [name for name, tables in known.items() if tables & found]
    if len(about) > 1:  # a join holds tables that are asked alone as well
        about = [
            name for name in about if all(known[name] >= known[other] & found for other in about)
        ] or about
    if len(about) > 1:
        fewest = min(len(known[name]) for name in about)
        about = [name for name in about if len(known[name]) == fewest]
    if len(about) == 1:
        return about[0]
    if not about and len(known) == 1 and not found:
        return next(iter(known))
    names = [table for name in project for table in project.tables_of(name)]
    names_text = f"names {listed(sorted(found))}" if found else "names no table"
    raise InvalidRequest(
        f"the statement {names_text}. {project.file.path.name} has {listed(names)}: write FROM {names[0]}."
    )
