"""Check all proofs with Coq, list what they assume, and hold the laws that run against them: ``make coq``."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from pathlib import Path

from proofs.coq.pair_files import PairFile
from proofs.coq.pairs import MECHANISMS
from proofs.coq.vectors import CLAIMS, MUTANT_TABLES, MUTANTS, TABLES, vector_file

HOME = Path(__file__).parent
BUILD = HOME.parents[1] / "build" / "coq"
MISSING = """Coq is not installed: its commands coqc, coqchk and coq_makefile are not found.
On Debian and Ubuntu: apt-get install --no-install-recommends coq
Version 8.16 is what the proofs were written for; they need its standard library alone."""

AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec": "classical reals",
    "ClassicalDedekindReals.sig_not_dec": "classical reals",
    "FunctionalExtensionality.functional_extensionality_dep": "functional extensionality",
    "Classical_Prop.classic": "excluded middle",
}
"""What may be assumed: four axioms of Coq's standard library, all but the last by its real numbers."""

_THEOREM = re.compile(r"^(?:Theorem|Corollary) (\w+)", re.MULTILINE)
_AXIOM = re.compile(r"^(\S+)(?:\s*:|$)", re.MULTILINE)
_ORDER = ("clip", "choice", "rank", "framework", "warm_clip", "units", "joint")
"""The largest files, which are begun first."""


class Failed(Exception):  # noqa: N818  (what it says is all that is shown)
    """Coq did not accept something."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: of how many pairs, or tables, and mutants the verdict is as it must be."""

    name: str
    checked: int
    mutants: int
    seconds: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The line's text."""
        return (
            self.name,
            "holds",
            f"{self.checked:,}",
            f"{self.mutants} of {self.mutants}",
            f"{self.seconds:.0f} s",
        )


def project_files() -> list[str]:
    """Return the names of the files that are proved, each after those that it needs."""
    listed = (HOME / "_CoqProject").read_text(encoding="utf-8").split()
    return [name.removesuffix(".v") for name in listed if name.endswith(".v")]


def theorems() -> list[tuple[str, str]]:
    """Return every theorem, by file and name."""
    texts = ((name, (HOME / f"{name}.v").read_text(encoding="utf-8")) for name in project_files())
    return [(name, theorem) for name, text in texts for theorem in _THEOREM.findall(text)]


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def _compiled(name: str, text: str) -> str:
    (BUILD / f"{name}.v").write_text(text, encoding="utf-8")
    return _run("coqc", "-q", "-R", ".", "Prdp", f"{name}.v")


def build(processes: int) -> None:
    """Compile the proofs in a folder of their own."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in ("_CoqProject", *(f"{name}.v" for name in project_files())):
        text = (HOME / name).read_text(encoding="utf-8")
        if not (BUILD / name).exists() or (BUILD / name).read_text(encoding="utf-8") != text:
            (BUILD / name).write_text(text, encoding="utf-8")
    _run("coq_makefile", "-f", "_CoqProject", "-o", "Makefile")
    _run("make", f"-j{processes}")


def recheck() -> float:
    """Let Coq's independent checker read the compiled proofs again; return how many seconds it took."""
    started = time.monotonic()
    names = [f"Prdp.{name}" for name in project_files()]
    _run("coqchk", "-silent", "-R", ".", "Prdp", *names)
    return time.monotonic() - started


def assumptions() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the axioms that each theorem rests on."""
    every = theorems()
    files = " ".join(project_files())
    asked = "\n".join(f"Print Assumptions {name}.{theorem}." for name, theorem in every)
    stated = _compiled("Assumptions", f"From Prdp Require Import {files}.\n{asked}\n")
    blocks = re.split(r"^(?=Axioms:|Closed under)", stated, flags=re.MULTILINE)[1:]
    if len(blocks) != len(every):
        raise Failed(f"{len(every)} theorems, and assumptions of {len(blocks)}:\n{stated}")
    return {which: _axioms(block) for which, block in zip(every, blocks, strict=True)}


def _axioms(block: str) -> tuple[str, ...]:
    found = tuple(name for name in _AXIOM.findall(block) if name not in ("Axioms", "Closed", "Axioms:"))
    if not block.startswith(("Axioms:", "Closed")) or set(found) - set(AXIOMS):
        raise Failed(f"a proof assumes more than it may:\n{block}")
    return found


def judged(mechanism: str) -> Row:
    """Let Coq give its verdict on a mechanism's pairs and mutants."""
    started = time.monotonic()
    file = PairFile.of(mechanism)
    _compiled(f"Pairs_{mechanism}", file.text)
    return Row(mechanism, file.pairs, len(file.mutants), time.monotonic() - started)


def tied(law: str) -> Row:
    """Let Coq compute a law on made-up tables, and hold Python's against it."""
    started = time.monotonic()
    _compiled(f"Vectors_{law}", vector_file(law))
    return Row(law, TABLES, len(MUTANTS[law]), time.monotonic() - started)


def _print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    for row in table:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_assumptions(found: dict[tuple[str, str], tuple[str, ...]]) -> None:
    print(f"\nAssumptions of all {len(found)} theorems (no proof is admitted, no axiom is our own):")
    kinds = {
        which: ", ".join(sorted({AXIOMS[axiom] for axiom in used})) or "nothing"
        for which, used in found.items()
    }
    for kind in sorted(set(kinds.values()), key=len):
        names = ", ".join(f"{file}.{theorem}" for (file, theorem), own in kinds.items() if own == kind)
        print(f"  {kind}: {names}")


def _print_verdicts(laws: Sequence[Row], mechanisms: Sequence[Row]) -> None:
    print(f"\nPython's laws beside those that Coq computes ({MUTANT_TABLES} tables a mutant):")
    _print_table(("law", "verdict", "tables", "mutants caught", "time"), [row.cells for row in laws])
    print("\nLosses of pairs of laws, by the checker that is proved sound:")
    _print_table(
        ("mechanism", "verdict", "pairs", "mutants rejected", "time"), [row.cells for row in mechanisms]
    )
    pairs, mutants = (sum(getattr(row, which) for row in mechanisms) for which in ("checked", "mutants"))
    print(f"\n{pairs:,} pairs kept, {mutants} mutants rejected.")


def _checked(processes: int) -> None:
    large_first = sorted(MECHANISMS, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    started = time.monotonic()
    build(processes)
    compiled = time.monotonic() - started
    with ProcessPoolExecutor(processes) as pool:
        again, facts = pool.submit(recheck), pool.submit(assumptions)
        laws = [pool.submit(tied, law) for law in CLAIMS]
        verdicts = {name: pool.submit(judged, name) for name in large_first}
        _print_assumptions(facts.result())
        _print_verdicts([law.result() for law in laws], [verdicts[name].result() for name in MECHANISMS])
        lines = sum((HOME / f"{name}.v").read_text(encoding="utf-8").count("\n") for name in project_files())
        print(
            f"{lines:,} lines compiled in {compiled:.0f} s, read again by coqchk in {again.result():.0f} s;"
        )
        print(f"{time.monotonic() - started:.0f} s in all, with {processes} processes.")


def main() -> int:
    """Run every part, and print what was found."""
    if not all(map(shutil.which, ("coqc", "coqchk", "coq_makefile"))):
        print(MISSING, file=sys.stderr)
        return 1
    try:
        _checked(max(2, cpu_count() or 2))
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
