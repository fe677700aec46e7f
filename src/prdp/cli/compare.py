"""``prdp compare``: the same questions under several policies, side by side, on synthetic data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line
from prdp.cli.messages import plain
from prdp.cli.preview import EVENLY, LIKE, RUNS, percent, synthetic, without_records
from prdp.cli.printing import counting, grid, show, show_json
from prdp.declare.exact import exact_share
from prdp.errors import InvalidRequest
from prdp.projects.project import Project, named_in, project
from prdp.projects.toml_file import ProjectText, read
from prdp.testing.preview import EVEN, Errors, policies_of, preview
from prdp.testing.truth import left_out_of

_POLICIES = typer.Option(
    help="A TOML file: [policies] with a text for each name, and questions = [...].",
    metavar="FILE",
    show_default=False,
)
Found = tuple[str, str, Errors]
SyntheticTables = dict[str, tuple[Project, Any]]
"""For each table that is asked, its synthetic table and the project to ask it with."""


@at_the_command_line
def compare(
    statements: Annotated[
        list[str] | None,
        typer.Argument(help="Questions, beside those of the file.", metavar="[SQL]...", show_default=False),
    ] = None,
    *,
    policies: Annotated[Path, _POLICIES],
    like: Annotated[str, LIKE] = EVEN,
    share: Annotated[str, typer.Option(help="The share of each answer.", metavar="SHARE")] = "0.1",
    runs: Annotated[int, RUNS] = 50,
    file: Annotated[Path | None, given.PROJECT] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Ask the same questions under several policies, side by side.

    Reads no private record and charges nothing.
    """
    opened, policies_file = project(file), read(policies)
    listed = policies_file.content.get("questions", [])
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise policies_file.refused(("questions",), "is a list of SQL texts.")
    asked = [*listed, *(statements or [])]
    if not asked:
        raise InvalidRequest('ask something: prdp compare "SELECT COUNT(*) FROM accounts" --policies ...')
    tried = policies_of(policies_file)
    names = dict.fromkeys(named_in(text, opened) for text in asked)
    synthetics = {name: synthetic(opened, name, like) for name in names}
    found = _found(opened, policies_file, tried, asked, synthetics, share=share, runs=runs)
    if as_json:
        show_json([{"policy": name, "question": text, "column": line.column, "median": line.median,
                    "often": line.often, "flagged": line.flagged} for name, text, line in found])  # fmt: skip
    else:
        _show(found, share, runs, [*[EVENLY] * (like == EVEN), *_left_out(tried, synthetics)])


def _found(
    opened: Project,
    policies_file: ProjectText,
    policies: dict[str, dict[str, Any]],
    asked: list[str],
    synthetics: SyntheticTables,
    *,
    share: str,
    runs: int,
) -> list[Found]:
    found: list[Found] = []
    part = exact_share(share)
    with counting("simulating answers", len(policies) * len(asked)) as progress:
        for text in asked:
            name = named_in(text, opened)
            asking, records = synthetics[name]
            notion = asking.facts(name).policy.notion  # the table's, where a policy states none
            for policy, declared in policies.items():
                place = policies_file, ("policies", policy)
                other = asking.with_policy(name, {"notion": notion} | declared, place)
                lines = preview(other, name, text, records, share=part, runs=runs)
                found += [(policy, text, line) for line in lines]
                progress(len({(one, asked) for one, asked, _ in found}))
    return found


def _left_out(policies: dict[str, dict[str, Any]], synthetics: SyntheticTables) -> list[str]:
    """Return, for each policy that leaves records out, how many of the synthetic table's."""
    policies_file = [
        (policy, left_out_of(asking.with_policy(name, declared), name, records))
        for name, (asking, records) in synthetics.items()
        for policy, declared in policies.items()
    ]
    return [f"{plain(policy)}: {left_out}" for policy, left_out in policies_file if left_out]


def _show(found: list[Found], share: str, runs: int, left_out: list[str]) -> None:
    policies = list(dict.fromkeys(policy for policy, _, _ in found))
    made = grid(("question", "column", *map(plain, policies)), left=(0, 1), wraps=(0,))
    for text, column in dict.fromkeys((text, line.column) for _, text, line in found):
        lines = {policy: line for policy, asked, line in found if (asked, line.column) == (text, column)}
        cells = [f"{percent(lines[policy].median)} ({percent(lines[policy].often)})" for policy in policies]
        made.add_row(plain(text), plain(column), *cells)
    note = (
        f"Median error, and in brackets what 95 in 100 answers kept, at share {share}; {runs} answers each."
    )
    show(made, "", note, *left_out, *without_records([line for _, _, line in found]))
