"""Measure the tree of a checkout: how it is laid out, and how far a question travels through it.

``python -m benchmarks.tree`` measures this checkout, ``--root OLD --root NEW`` one or several others, side by
side as a Markdown table. ``--trace`` also prints the frames between a question and its mechanism.
Sources are read with ``ast``; questions are traced by ``question_trace.py`` in a process of its own, with the
checkout's ``src`` on its path. So one version of this script measures trees of every age.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
SUM = "filter(..).sum(..)"
NOT_QUESTIONS = ("cli", "ledger", "local", "testing")
"""Packages that write JSON of other kinds: output, accounts, campaigns."""

Edges = Mapping[str, set[str]]


@dataclass(frozen=True)
class Module:
    """A source file.

    Attributes:
        parts: Its place below ``src/prdp``, without the suffix.
        lines: How many lines it has.
        tree: What Python reads in it.
    """

    parts: tuple[str, ...]
    lines: int
    tree: ast.Module

    @property
    def name(self) -> str:
        """Its name for imports."""
        inner = self.parts[:-1] if self.parts[-1] == "__init__" else self.parts
        return ".".join(("prdp", *inner))

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All of its functions, methods and inner ones included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    @property
    def calls(self) -> Iterator[ast.Call]:
        """All of its calls."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))


@dataclass(frozen=True)
class Checkout:
    """A checkout's modules, and the traces of two questions."""

    modules: Sequence[Module]
    traces: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, root: Path) -> Checkout:
        """Read and trace a checkout."""
        source = root / "src" / "prdp"
        modules = []
        for path in sorted(source.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            parts = path.relative_to(source).with_suffix("").parts
            modules.append(Module(parts, len(text.splitlines()), ast.parse(text)))
        return cls(modules, traces(root))


def traces(root: Path) -> dict[str, Any]:
    """Return the traces of a checkout's questions."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, str(HERE.with_name("question_trace.py"))]
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    traced: dict[str, Any] = json.loads(found.stdout)
    return traced


def flat_modules(checkout: Checkout) -> str:
    own = [module for module in checkout.modules if len(module.parts) == 1]
    return str(sum(not module.parts[0].startswith("__") for module in own))


def entered(checkout: Checkout) -> str:
    trace = checkout.traces[SUM]
    return f"{trace['files']} / {trace['functions']}"


def own_calls(checkout: Checkout) -> str:
    return " / ".join(f"{checkout.traces[name]['calls']:,}" for name in (SUM, f"{SUM}, warm"))


def statement_calls(checkout: Checkout) -> str:
    trace = checkout.traces["SELECT .. GROUP BY .., warm"]
    return f"{trace['calls']:,} in {trace['files']} files"


def files(checkout: Checkout) -> str:
    """Return how many files there are, their mean length, and how many have under 40 lines of code."""
    lines = sum(module.lines for module in checkout.modules)
    short = sum(code_lines(module) < 40 for module in checkout.modules)
    return f"{len(checkout.modules)}; {lines / len(checkout.modules):.0f}; {short}"


def code_lines(module: Module) -> int:
    """Return the lines on which a statement is, docstrings and imports aside."""
    passed: set[int] = set()
    for node in ast.walk(module.tree):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            passed.update(range(node.lineno, (node.end_lineno or 0) + 1))  # type: ignore[attr-defined]
    nodes = (node for node in ast.walk(module.tree) if isinstance(node, ast.stmt | ast.expr))
    return len({line for node in nodes for line in (node.lineno, node.end_lineno or 0)} - passed)


def one_importer(checkout: Checkout) -> str:
    """Return how many modules exactly one other module imports, inside functions too."""
    names = {module.name for module in checkout.modules}
    importers: dict[str, set[str]] = {name: set() for name in names}
    for module in checkout.modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    known = full if full in names else node.module
                    if known in names - {module.name}:
                        importers[known].add(module.name)
    return str(sum(len(found) == 1 for found in importers.values()))


def source_lines(checkout: Checkout) -> str:
    return f"{sum(module.lines for module in checkout.modules):,}"


def package_lines(checkout: Checkout) -> Counter[str]:
    """Return the lines of each package, and of the modules beside the packages."""
    lines: Counter[str] = Counter()
    for module in checkout.modules:
        lines[module.parts[0] if len(module.parts) > 1 else "(top)"] += module.lines
    return lines


def frames(checkout: Checkout) -> str:
    """Return the frames of the way, and the modules in which it arrives more than once."""
    way = checkout.traces[SUM]["way"]
    arrivals = Counter(module for module, _ in groupby(name.partition(":")[0] for name in way))
    again = [f"`{module}` {count}" for module, count in arrivals.items() if count > 1]
    return f"{len(way)}; entered anew: {', '.join(again) or 'none'}"


def type_tests(checkout: Checkout) -> str:
    tests = sum(is_type_test(call) for module in checkout.modules for call in module.calls)
    nodes = (node for module in checkout.modules for node in ast.walk(module.tree))
    asserted = sum(isinstance(node, ast.Assert) and is_type_test(node.test) for node in nodes)
    return f"{1000 * tests / sum(module.lines for module in checkout.modules):.1f}; {asserted}"


def is_type_test(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"


def doctest_lines(checkout: Checkout) -> str:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = (node for module in checkout.modules for node in ast.walk(module.tree))
    documented = (ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds))
    lines = (line.lstrip() for text in documented for line in text.splitlines())
    return str(sum(line.startswith((">>>", "... ")) or line == "..." for line in lines))


def chargers(checkout: Checkout) -> str:
    found = [
        function.name
        for module in checkout.modules
        for function in module.functions
        if module.parts[0] != "ledger" and any(is_call_of(node, "charge") for node in ast.walk(function))
    ]
    return listed(found)


def question_writers(checkout: Checkout) -> str:
    """Return the functions that return ``json.dumps(..)``, outside of the packages with other JSON."""
    found = [
        ".".join(module.parts)
        for module in checkout.modules
        for function in module.functions
        if module.parts[0] not in NOT_QUESTIONS
        and any(
            isinstance(node, ast.Return) and is_call_of(node.value, "dumps") for node in ast.walk(function)
        )
    ]
    return listed(found)


def is_call_of(node: ast.AST | None, method: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method


def listed(names: Sequence[str]) -> str:
    return f"{len(names)}: {', '.join(f'`{name}`' for name in sorted(names))}" if names else "0"


def file_lengths(checkout: Checkout) -> str:
    return percentiles(module.lines for module in checkout.modules)


def function_lengths(checkout: Checkout) -> str:
    """Return the lengths of functions without their docstrings."""
    return percentiles(
        (function.end_lineno or 0)
        - function.lineno
        + 1
        - len((ast.get_docstring(function, clean=False) or "").splitlines())
        for module in checkout.modules
        for function in module.functions
    )


def percentiles(lengths: Iterable[int]) -> str:
    ascending = sorted(lengths)
    return " / ".join(str(ascending[(len(ascending) - 1) * part // 100]) for part in (90, 99, 100))


def cycles(checkout: Checkout) -> str:
    """Return the modules, and the packages, that import each other in a circle, directly or not."""
    names = {module.name for module in checkout.modules}
    modules: dict[str, set[str]] = {name: set() for name in names}
    for module in checkout.modules:
        for imported in imports(module.tree):
            known = imported if imported in names else imported.rpartition(".")[0]
            if known in names - {module.name, "prdp"}:  # everybody imports the package that holds all
                modules[module.name].add(known)
    packages: dict[str, set[str]] = {name.split(".")[1]: set() for name in names if name != "prdp"}
    for name, others in modules.items():
        if name != "prdp":
            own = name.split(".")[1]
            packages[own] |= {other.split(".")[1] for other in others} - {own}
    circles = circular(packages)
    shown = f" ({'; '.join(', '.join(f'`{name}`' for name in circle) for circle in circles)})"
    return f"{len(circular(modules))}; {len(circles)}{shown if circles else ''}"


def imports(node: ast.AST) -> Iterator[str]:
    """Yield what is imported when a module is; not what functions import, or type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports(child)


def circular(edges: Edges) -> list[list[str]]:
    """Return the largest sets of names that all reach each other.

    >>> circular({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}})
    [['b', 'c']]
    """
    tail_factor = {name: reached(name, edges) for name in edges}
    circles = {
        frozenset(other for other in tail_factor[name] if name in tail_factor[other]) for name in edges
    }
    return sorted(sorted(circle) for circle in circles if circle)


def reached(name: str, edges: Edges) -> set[str]:
    seen: set[str] = set()
    ahead = list(edges[name])
    while ahead:
        other = ahead.pop()
        if other not in seen:
            seen.add(other)
            ahead.extend(edges[other])
    return seen


FIGURES: Mapping[str, Callable[[Checkout], str]] = {
    "modules flat at the top": flat_modules,
    f"own files / functions entered by `accounts.{SUM}`": entered,
    "own calls of it, cold / warm": own_calls,
    "own calls of a warm SQL statement with GROUP BY": statement_calls,
    "files; mean lines; under 40 lines of code": files,
    "modules with exactly one importer": one_importer,
    "source lines": source_lines,
    "frames from the call to the mechanism": frames,
    "`isinstance` per 1,000 lines; `assert isinstance`": type_tests,
    "doctest lines": doctest_lines,
    "functions outside `ledger` that call `.charge(..)`": chargers,
    "functions that return `json.dumps(..)`, a question's ledger text": question_writers,
    "lines of a file: p90 / p99 / max": file_lengths,
    "lines of a function: p90 / p99 / max": function_lengths,
    "import cycles between modules; between packages": cycles,
}


def table(names: Sequence[str], checkouts: Sequence[Checkout]) -> Iterator[str]:
    """Yield the lines of a Markdown table, a column for each checkout."""
    yield f"| | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for figure, measure in FIGURES.items():
        yield f"| {figure} | {' | '.join(map(measure, checkouts))} |"
    lines = [package_lines(checkout) for checkout in checkouts]
    for package in sorted(set().union(*lines)):
        yield f"| lines of `{package}` | {' | '.join(f'{counted[package]:,}' for counted in lines)} |"


def drawn(trace: Mapping[str, Any]) -> Iterator[str]:
    """Yield the frames of a way to the mechanism, one in another, each with what else it calls."""
    for depth, (name, calls) in enumerate(zip(trace["way"], trace["beside"], strict=True)):
        yield f"{'  ' * depth}{name}"
        own = [call for call in calls if not call.endswith(("__", ">"))]
        for before, call in pairwise(["", *own]):
            module, _, function = call.partition(":")
            shown = f":{function}" if before.startswith(f"{module}:") else call
            yield f"{'  ' * depth}  . {shown}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=Path, action="append", help="a checkout; may be given again")
    parser.add_argument("--trace", action="store_true", help="print the way to the mechanism as well")
    arguments = parser.parse_args()
    roots: list[Path] = arguments.root or [HERE.parents[1]]
    checkouts = [Checkout.of(root.resolve()) for root in roots]
    names = ["before", "after"] if len(roots) == 2 else [f"`{root.resolve().name}`" for root in roots]
    print("\n".join(table(names, checkouts)))
    for name, checkout in zip(names, checkouts, strict=True):
        for question, trace in checkout.traces.items() if arguments.trace else ():
            print(f"\n{question}, {name}", *drawn(trace), sep="\n")


if __name__ == "__main__":
    main()
