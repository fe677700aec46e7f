"""The command line: which experiments, sets and methods, with which seed, from which folder into which."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.datasets import SETS
from experiments.methods import METHODS
from experiments.paper.catalogue import EXPERIMENTS
from experiments.paper.experiment import Context, Experiment


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for.

    Attributes:
        context: What all experiments are reported.
        experiments: Which of them are run.
        out: Where everything is written.
        partial: Whether pages are of a part of the experiments, sets or methods alone.
        prefix: What files of results and figures begin with, so that those of all sets and methods stay.
    """

    context: Context
    experiments: tuple[Experiment, ...]
    out: Path
    partial: bool
    prefix: str


def options(description: str | None, arguments: Sequence[str] | None = None) -> Asked:
    """Read the command line; what it can't mean is refused with a word on why."""
    parser = _parser(description)
    asked = parser.parse_args(arguments)
    out = asked.out or Path("results") / ("paper-quick" if asked.quick else "paper")
    if asked.data and not asked.data.is_dir():
        parser.error(f"--data {asked.data}: there is no such folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        only = chosen(asked.only, {experiment.name: () for experiment in EXPERIMENTS})
        sets = chosen(asked.sets, dict.fromkeys(SETS, ()))
        methods = chosen(asked.methods, {method.name: method.also for method in METHODS})
    except OSError as error:
        parser.error(f"--out {out}: {error.strerror}")
    except LookupError as error:
        parser.error(str(error.args[0]))
    kept = tuple(m for m in METHODS if not methods or m.name in methods or m.role == "ours")
    context = Context(asked.data, asked.seed, asked.quick, sets, kept)
    if sets and not context.present(sets):
        parser.error("--sets: " + "; ".join(context.absent(sets)))
    experiments = tuple(e for e in EXPERIMENTS if not only or e.name in only)
    partial = bool(only or sets or methods)
    return Asked(context, experiments, out, partial, "partial_" if sets or methods else "")


def _parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument(
        "--out", type=Path, help="where everything is written: results/paper, or results/paper-quick"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--quick", action="store_true", help="few runs and small sets, to see that it works")
    names = [experiment.name for experiment in EXPERIMENTS]
    parser.add_argument(
        "--only",
        nargs="+",
        help="some experiments, on pages of their own (partial.html), with commas or spaces between; "
        + "; ".join(names),
    )
    parser.add_argument(
        "--sets",
        nargs="+",
        help="some sets, such as Bank,Zipf or Bank Zipf: names or their beginnings; " + "; ".join(SETS),
    )
    called = "; ".join(" or ".join((method.name, *method.also)) for method in METHODS)
    parser.add_argument(
        "--methods", nargs="+", help=f"some methods besides the default, such as partition,naive; {called}"
    )
    return parser


def chosen(words: str | Sequence[str] | None, names: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names that words choose, in their own order; commas or spaces stand between them.

    A word chooses what is called so, by its name or by another that it has; if nothing is, what begins so.
    A text with spaces that chooses nothing as a whole is taken word by word.

    Raises:
        LookupError: A word chooses nothing.
    """
    given = [words] if isinstance(words, str) else words or ()
    found: set[str] = set()
    for text in (part for one in given for part in one.split(",")):
        whole = _called(text, names)
        for word in [text] if whole or not text.split() else text.split():
            picked = _called(word, names)
            if not picked:
                raise LookupError(f"{word.strip()!r} is none of {'; '.join(names)}")
            found |= picked
    return tuple(name for name in names if name in found)


def _called(word: str, names: Mapping[str, Sequence[str]]) -> set[str]:
    asked = word.strip().casefold()
    called = {name: [text.casefold() for text in (name, *others)] for name, others in names.items()}
    exact = {name for name, texts in called.items() if asked in texts}
    begun = {name for name, texts in called.items() if any(text.startswith(asked) for text in texts)}
    return (exact or begun) if asked else set()
