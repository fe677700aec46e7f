"""Write a mechanism's pairs as a file for Coq, in which it gives its verdict on each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proofs.coq.coq_terms import Names, rational, sequence
from proofs.coq.pairs import Pair, sources

HEAD = """From Coq Require Import ZArith QArith List String. From Prdp Require Import Law Lawful.
Import ListNotations. Open Scope Q_scope.
"""
TAIL = """
Theorem kept_hold : Forall pair_private kept.
Proof. apply all_private. vm_cast_no_check (eq_refl true). Qed.
Theorem mutants_fail : none_kept mutants = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
"""


@dataclass(frozen=True, slots=True)
class PairFile:
    """A file, and what is in it.

    Attributes:
        text: What Coq is given.
        pairs: How many pairs it must keep.
        mutants: The names of those that it must reject.
    """

    text: str
    pairs: int
    mutants: tuple[str, ...]

    @classmethod
    def of(cls, mechanism: str) -> PairFile:
        """Return the file of a mechanism, in which no pair stands twice."""
        names = Names()
        kept: dict[str, None] = {}
        mutants: dict[str, str] = {}
        for source in sources(mechanism):
            kept |= dict.fromkeys(_term(pair, names) for pair in source.pairs())
            mutants |= {f"{source.name}: {name}": _term(pair, names) for name, pair in source.found()}
        lists = _list("kept", kept) + _list("mutants", mutants.values())
        return cls(HEAD + names.definitions() + lists + TAIL, len(kept), tuple(mutants))


def _term(pair: Pair, names: Names) -> str:
    return f"({names.law(pair.without)}, {names.law(pair.added)}, {rational(pair.promised)})"


def _list(name: str, pairs: Iterable[str]) -> str:
    return f"Definition {name} : list (law * law * Q) := {sequence(pairs)}.\nCompute (rejected {name}).\n"
