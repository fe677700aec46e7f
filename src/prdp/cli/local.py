"""``prdp local simulate``: the local model with virtual clients, beside the truth."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prdp.cli.completion import tables_here
from prdp.cli.declarations import column_names, declared_columns, with_options
from prdp.cli.local_question import METHODS, Ask, EstimateLine, LocalQuestion, kind_of
from prdp.cli.messages import plain
from prdp.cli.printing import counting, grid, show, show_json, waiting
from prdp.errors import InvalidRequest
from prdp.policy import Policy

if TYPE_CHECKING:
    from prdp.local import Estimate, Study

local = typer.Typer(
    name="local",
    help="The local model: clients randomise their own records and trust nobody.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_POLICY = "10000 / balance"
_BOUNDS = "balance=0:1e12"


def _methods(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the methods of what is asked that a half-typed one may mean."""
    asked = ctx.params.get("ask") or Ask.COUNT
    return [method for method in METHODS.get(Ask(str(asked)), ()) if method.startswith(incomplete)]


def _option(explained: str, metavar: str, complete: Callable[..., list[str]] | None = None) -> Any:
    return typer.Option(help=explained, metavar=metavar, autocompletion=complete, show_default=False)


_FILE = typer.Argument(
    help="A Parquet or CSV file, one client a record; by default, made-up bank accounts.",
    metavar="FILE",
    autocompletion=tables_here,
    show_default=False,
)
_STAND_IN = typer.Option(
    "--stand-in",
    help="All records of FILE are public or made up. No others are taken: what is printed gives them away.",
)
_EXPRESSION = typer.Option(
    "--policy", help=f"The budget of a record, such as '{_POLICY}'.", metavar="EXPRESSION", show_default=False
)
_COLUMN = _option("What to add up, sort or count by.", "COLUMN", column_names)
_METHOD = _option("How to ask; a good way by default.", "METHOD", _methods)
_BOUND = _option(
    f"A number column and its public bounds, such as {_BOUNDS}. A column with bounds is counted by bins.",
    "COLUMN=LOW:HIGH",
)
_AT_MOST = _option("The largest budget; larger ones are lowered to it.", "BUDGET")
_AT_LEAST = _option("The smallest budget; clients with less are dummies.", "BUDGET")
_GRAIN = _option("The grain of what is added up; 1 by default.", "NUMBER")
_VALUES = _option(
    "The public categories, parted by commas; for quantiles, and for a column with --bounds, the edges of "
    "bins instead.",
    "VALUE,...",
)
_TYPES = _option("A CSV column's type, such as balance=BIGINT.", "COLUMN=TYPE")
_SHARE = _option("The part of every budget to use; 1 by default.", "SHARE")
_BETA = _option("The chance of taking noise for clients; 1/10 by default.", "CHANCE")
_CLIENTS = typer.Option(min=1, max=20_000_000, help="How many accounts to make up, without FILE.")
_RUNS = typer.Option(min=1, max=100_000, help="How often to ask.")


@local.command()
def simulate(
    *,
    file: Annotated[str | None, _FILE] = None,
    stand_in: Annotated[bool, _STAND_IN] = False,
    expression: Annotated[str | None, _EXPRESSION] = None,
    ask: Annotated[Ask, typer.Option(help="What to ask.")] = Ask.COUNT,
    column: Annotated[str | None, _COLUMN] = None,
    method: Annotated[str | None, _METHOD] = None,
    bounds: Annotated[list[str] | None, _BOUND] = None,
    at_most: Annotated[str | None, _AT_MOST] = None,
    at_least: Annotated[str | None, _AT_LEAST] = None,
    grain: Annotated[str, _GRAIN] = "1",
    values: Annotated[str | None, _VALUES] = None,
    types: Annotated[list[str] | None, _TYPES] = None,
    share: Annotated[str, _SHARE] = "1",
    beta: Annotated[str, _BETA] = "1/10",
    clients: Annotated[int, _CLIENTS] = 100_000,
    runs: Annotated[int, _RUNS] = 20,
    seed: Annotated[int, typer.Option(help="Of the randomness.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Ask virtual clients, each of which randomises its own record, and compare with the truth.

    For experiments on public or made-up records: it prints the truth.
    """
    from prdp.local.simulation.crowd import Crowd  # noqa: PLC0415  (the other commands start without it)
    from prdp.local.simulation.simulation import simulate as simulated  # noqa: PLC0415

    policy, ends = _policy(expression, bounds or [], at_most, at_least, file)
    question = LocalQuestion(ask, column, method, values, grain, ends, {"share": share, "beta": beta})
    question.study(policy)  # refuses what can be refused before a file is read
    names = sorted(policy.columns | ({column} if column else set()))
    if file is not None:
        _refuse_unless_stand_in(file, stand_in=stand_in)
    records = _records(file, clients, names, types or [])
    if column:
        question = replace(question, kind=kind_of(records[column]))
    study = question.study(policy)
    with waiting("giving every client its record"):
        crowd = Crowd.of(records, policy)
    with counting("asking", runs) as done:
        found = simulated(study, crowd, runs=runs, seed=seed, progress=done)
    lines, found = question.lines(found, crowd), question.labelled(found)
    dummies = int((crowd.levels < 0).sum())
    if as_json:
        show_json(_as_dict(study, found, lines, seed, dummies))
    else:
        _show(study, found, lines, seed, dummies)


def _policy(
    expression: str | None, bounds: list[str], at_most: str | None, at_least: str | None, file: str | None
) -> tuple[Policy, Mapping[str, tuple[Fraction, Fraction]]]:
    if expression is None and file is not None:
        raise InvalidRequest(
            "a file needs a policy: add --policy EXPRESSION, such as --policy '100 / amount'."
        )
    if expression is None:
        expression, bounds, at_most = _POLICY, bounds or [_BOUNDS], at_most or "100"
    given = Policy(expression, at_most=at_most, at_least=at_least)
    declared = declared_columns(given, bounds, [], [])
    try:
        return given.within(declared.schema, declared.bounds), declared.bounds
    except InvalidRequest as error:
        raise with_options(error, given, declared) from None


def _records(file: str | None, clients: int, names: list[str], types: list[str]) -> Mapping[str, Any]:
    if file is None:
        from prdp.cli.demo import made_up_accounts  # noqa: PLC0415

        with waiting(f"making up {clients:,} accounts"):
            accounts = made_up_accounts(clients)
        unknown = [name for name in names if name not in accounts]
        if unknown:
            raise InvalidRequest(f"made-up accounts have {' and '.join(accounts)}, but no {unknown[0]}.")
        return accounts
    from prdp.engines.duckdb import read_columns  # noqa: PLC0415

    kinds = dict(_typed(text) for text in types) or None
    with waiting(f"reading {Path(file).name}"):
        return read_columns(file, names, kinds)


def _refuse_unless_stand_in(file: str, *, stand_in: bool) -> None:
    if not stand_in:
        raise InvalidRequest(
            f"{file} is taken to hold real records, and what is printed gives them away: add --stand-in if "
            "all of its records are public or made up. Without a file, made-up accounts are asked."
        )
    if Path(file).with_suffix(".ledger").exists():
        raise InvalidRequest(
            f"{file} has a ledger beside it, so its records are real and simulating would give them away. "
            "Simulate on a public or made-up table that looks like it."
        )


def _typed(text: str) -> tuple[str, str]:
    name, equals, kind = text.rpartition("=")
    if not equals or not re.fullmatch(r"[A-Za-z ]+", kind):
        raise InvalidRequest(f"--types {text} is not of the form COLUMN=TYPE, such as balance=BIGINT.")
    return name, kind


def _show(study: Study, found: list[Estimate], lines: list[EstimateLine], seed: int, dummies: int) -> None:
    heads = ["simulated", "truth", "median answer", "5 % of runs", "95 % of runs", "error"]
    made = grid(heads, left=(0,), wraps=(0,))
    for line in lines:
        made.add_row(plain(line.label), *line.cells)
    last = found[-1]
    unheard = [run.unheard for run in found if run.unheard]
    notes = ["error: the median over runs of |answer - truth|, in percent of the truth."]
    if dummies:
        notes.append(
            f"{dummies:,} of {last.clients:,} clients have no valid budget: they answer as dummies and are "
            "in no answer. The truth is that of all records."
        )
    if unheard:
        notes.append(f"{len(unheard):,} of {len(found):,} runs say nothing and are not shown: {unheard[-1]}.")
    show(
        f"{last.clients:,} virtual clients, E = {plain(study.policy.text)}, share {last.share}, "
        f"{last.method}; {len(found):,} runs, seed {seed}.",
        "",
        made,
        "",
        *notes,
        *(f"{what}: {chosen} (in the last run)" for what, chosen in last.choices),
        "",
        f"{last.caveat} These answers are simulated: somebody saw the records.",
    )


def _as_dict(
    study: Study, found: list[Estimate], lines: list[EstimateLine], seed: int, dummies: int
) -> dict[str, object]:
    last = found[-1]
    return {
        "simulated": True,
        "policy": study.policy.text,
        "clients": last.clients,
        "without_budget": dummies,
        "share": str(last.share),
        "method": last.method,
        "runs": len(found),
        "unheard": sum(bool(run.unheard) for run in found),
        "seed": seed,
        "question": last.question,
        "answers": [line.as_dict() for line in lines],
        "choices": dict(last.choices),
    }
