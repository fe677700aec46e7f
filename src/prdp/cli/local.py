"""``prdp local simulate``: the local model with virtual clients, beside the truth."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from numbers import Real
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prdp.cli.messages import plain
from prdp.cli.policy_facts import column_names, declared_columns, with_options
from prdp.cli.printing import counting, grid, number, show, show_json, waiting
from prdp.cli.table_options import tables_here
from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.policy import Policy

if TYPE_CHECKING:
    from prdp.local import Bins, Categories, Crowd, Estimate, Study


class Ask(StrEnum):
    """The kinds of questions to virtual clients."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    FREQUENCIES = "frequencies"
    QUANTILES = "quantiles"


METHODS = {
    Ask.COUNT: ("bits", "laplace", "printed", "proportional"),
    Ask.SUM: ("proportional", "ratio", "framework"),
    Ask.MEAN: ("proportional", "ratio", "framework"),
    Ask.FREQUENCIES: ("bits", "ldp", "grr", "oue", "olh"),
    Ask.QUANTILES: ("bits", "ldp", "grr", "oue", "olh"),
}


@dataclass(frozen=True, slots=True)
class EstimateLine:
    """One number of the answer: what it is, the truth, and the results of the runs."""

    label: str
    truth: float
    values: list[float]
    deviation: float | None = None

    @property
    def cells(self) -> list[str]:
        """The truth, the median answer, where 90 % of the runs lie, and the error; what is unknown is -."""
        heard = [value for value in self.values if math.isfinite(value)]
        if not heard:
            return [number(self.truth, 5), "-", "-", "-", "-"]
        cuts = quantiles(heard, n=20, method="inclusive") if len(heard) > 1 else heard
        cells = (self.truth, median(heard), cuts[0], cuts[-1])
        return [*(number(cell, 5) if math.isfinite(cell) else "-" for cell in cells), self._error(heard)]

    def _error(self, heard: list[float]) -> str:
        """Return the median error in percent of the truth; there is none of a truth of 0."""
        if not self.truth or not math.isfinite(self.truth):
            return "-"
        return f"{number(100 * median(abs(value - self.truth) for value in heard) / abs(self.truth), 3)} %"

    def as_dict(self) -> dict[str, object]:
        """Return the line for JSON; null for what is not a number."""
        return {
            "label": self.label,
            "truth": _finite(self.truth),
            "answers": [_finite(value) for value in self.values],
            "deviation": _finite(self.deviation),
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def kind_of(values: Iterable[Any]) -> str | None:
    """Return what a column holds, by its first value: numbers, texts, or the name of another type."""
    first = next((value for value in values if value is not None), None)
    if first is None:
        return None
    if isinstance(first, str):
        return "texts"
    is_number = isinstance(first, Real | Decimal) and not isinstance(first, bool)
    return "numbers" if is_number else type(first).__name__


@dataclass(frozen=True, slots=True)
class LocalQuestion:
    """The question that the options describe."""

    ask: Ask
    column: str | None
    method: str | None
    values: str | None
    round_to: str
    bounds: Mapping[str, tuple[Fraction, Fraction]]
    basics: Mapping[str, str]
    kind: str | None = None

    @property
    def named(self) -> str:
        """The column that the question needs."""
        if self.column is None:
            raise InvalidRequest(f"--ask {self.ask} needs --column COLUMN.")
        return self.column

    def study(self, policy: Policy) -> Study:
        """Return the study of the question."""
        from prdp.local.analyst.make_study import study  # noqa: PLC0415
        from prdp.plan.queries import Count, Mean, Sum  # noqa: PLC0415

        known = METHODS[self.ask]
        method = self.method or known[0]
        if method not in known:
            raise InvalidRequest(f"--method {method} is not for {self.ask}: write one of {', '.join(known)}.")
        basics: dict[str, Any] = {"name": "simulation", "policy": policy, "method": method, **self.basics}
        if self.ask is Ask.COUNT:
            return study(Count(), **basics)
        if self.ask is not Ask.FREQUENCIES and self.kind not in (None, "numbers"):
            raise InvalidRequest(
                f"--ask {self.ask} needs a column of numbers, and {self.named} holds {self.kind}."
            )
        if self.ask in (Ask.SUM, Ask.MEAN):
            if self.named not in self.bounds:
                raise InvalidRequest(f"--ask {self.ask} needs bounds: add --bounds {self.named}=LOW:HIGH")
            query = Sum(self.named) if self.ask is Ask.SUM else Mean(self.named)
            return study(query, bounds=self.bounds, round_to={self.named: self.round_to}, **basics)
        return study(Count(), by=self._by(), **basics)

    def _by(self) -> Categories | Bins:
        from prdp.local.protocols.categories import Bins, Categories  # noqa: PLC0415

        if self.values is None:
            example = "--values 0,1000,10000" if self.ask is Ask.QUANTILES else "--values student,retired"
            raise InvalidRequest(f"--ask {self.ask} needs public categories or edges: add {example}")
        parts = [part.strip() for part in self.values.split(",")]
        if self.ask is Ask.QUANTILES or self.named in self.bounds:
            return Bins(self.named, tuple(exact(part, "--values") for part in parts))
        if self.kind in (None, "texts"):
            return Categories(self.named, parts)
        if self.kind != "numbers":
            raise InvalidRequest(
                f"categories are texts or whole numbers, and {self.named} holds values of type {self.kind}."
            )
        numbers = [exact(part, "--values") for part in parts]
        if any(each.denominator != 1 for each in numbers):
            raise InvalidRequest(
                f"--values {self.values}: {self.named} holds numbers, whose categories are whole. For bins "
                f"add --bounds {self.named}=LOW:HIGH"
            )
        return Categories(self.named, [int(each) for each in numbers])

    def lines(self, found: list[Estimate], crowd: Crowd) -> list[EstimateLine]:
        """Return the truth, that of all records and of their values as they are, beside the answers."""
        if self.ask is Ask.COUNT:
            return [_line("clients", float(len(crowd)), found)]
        if self.ask in (Ask.SUM, Ask.MEAN):
            values = self._numbers(crowd)
            truth = math.fsum(values) / (1 if self.ask is Ask.SUM else max(1, len(values)))
            return [_line(f"{self.ask} of {self.named}", truth, found)]
        return self._table(found, crowd)

    def _numbers(self, crowd: Crowd) -> list[float]:
        """Return the column's values, without NULL and NaN."""
        held = crowd.columns[self.named][crowd.has_number(self.named)]
        return [float(value) for value in held if math.isfinite(value)]

    def _table(self, found: list[Estimate], crowd: Crowd) -> list[EstimateLine]:
        by = self._by()
        where = crowd.places(by).tolist()
        if self.ask is Ask.FREQUENCIES:
            return [
                _line(label, float(where.count(place)), [_of_part(run, place) for run in found])
                for place, label in enumerate(by.labels)
            ]
        truth = sorted(self._numbers(crowd)) or [math.nan]
        return [
            _line(
                f"{level:.0%} lie below",
                truth[int(level * (len(truth) - 1))],
                self._quantile(found, level),
            )
            for level in (0.1, 0.25, 0.5, 0.75, 0.9)
        ]

    def labelled(self, found: list[Estimate]) -> list[Estimate]:
        """Return the estimates whose caveats belong to the lines: quantiles have their own."""
        return self._quantile(found, 0.5) if self.ask is Ask.QUANTILES else found

    def _quantile(self, found: list[Estimate], level: float) -> list[Estimate]:
        from prdp.local.analyst.make_study import quantiles as read_off  # noqa: PLC0415
        from prdp.local.protocols.categories import Bins  # noqa: PLC0415

        by = self._by()
        assert isinstance(by, Bins)  # noqa: S101  (quantiles have edges)
        return [read_off(run, by, (level,))[0] for run in found]


def _of_part(run: Estimate, place: int) -> Estimate:
    part = run.parts[place]
    return replace(run, value=part.value, deviation=part.deviation, parts=())


def _line(label: str, truth: float, found: list[Estimate]) -> EstimateLine:
    """Return a line of the results of the runs; one without signal has none."""
    values = [math.nan if run.unheard else run.value for run in found]
    return EstimateLine(label, truth, values, median(run.deviation for run in found))


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
_SYNTHETIC = typer.Option(
    "--synthetic",
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
_ROUND_TO = _option("The rounding step of what is added up; 1 by default.", "NUMBER")
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
    synthetic: Annotated[bool, _SYNTHETIC] = False,
    expression: Annotated[str | None, _EXPRESSION] = None,
    ask: Annotated[Ask, typer.Option(help="What to ask.")] = Ask.COUNT,
    column: Annotated[str | None, _COLUMN] = None,
    method: Annotated[str | None, _METHOD] = None,
    bounds: Annotated[list[str] | None, _BOUND] = None,
    at_most: Annotated[str | None, _AT_MOST] = None,
    at_least: Annotated[str | None, _AT_LEAST] = None,
    round_to: Annotated[str, _ROUND_TO] = "1",
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
    question = LocalQuestion(ask, column, method, values, round_to, ends, {"share": share, "beta": beta})
    question.study(policy)  # refuses what can be refused before a file is read
    names = sorted(policy.columns | ({column} if column else set()))
    if file is not None:
        _refuse_unless_synthetic(file, synthetic=synthetic)
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
    from prdp.engines.duckdb.engine import read_columns  # noqa: PLC0415

    kinds = dict(_typed(text) for text in types) or None
    with waiting(f"reading {Path(file).name}"):
        return read_columns(file, names, kinds)


def _refuse_unless_synthetic(file: str, *, synthetic: bool) -> None:
    if not synthetic:
        raise InvalidRequest(
            f"{file} is taken to hold real records, and what is printed gives them away: add --synthetic if "
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
