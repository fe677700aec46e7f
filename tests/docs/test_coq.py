"""The proofs in Coq, looked at without it: nothing is left out, and pages are in step."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import get_args

import pytest

from prdp.local.protocols.randomisers import Bit, Hashed, NoisyValue, Symbol
from prdp.noise.choice import ExponentialChoice
from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import FirstReaching, Gated, Law, Noisy, Scan, Shaped, Then, Together
from prdp.noise.permute_and_flip import PermuteAndFlip
from proofs.coq import check, coq_terms, pairs, vectors
from tests.docs.test_proofs import NAMES

HOME = Path(check.__file__).parent
README = (HOME / "README.md").read_text(encoding="utf-8")
FILES = sorted(HOME.glob("*.v"))
TWO = DiscreteLaplace(Fraction(2))
NOISY = Noisy((4, -1), (TWO, TWO))


def test_every_file_is_part_of_the_project() -> None:
    assert sorted(check.project_files()) == [path.stem for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.name))
def test_nothing_is_admitted_or_assumed_without_proof(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\b(Admitted|admit|Axiom|Axioms|Conjecture|Parameter|Parameters|Abort)\b", text)
    assert not [line for line in text.splitlines() if len(line) > 120]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.name))
def test_a_comment_above_each_theorem_says_why_it_holds(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for theorem in re.finditer(r"^(?:Theorem|Corollary) (\w+)", text, re.MULTILINE):
        assert text[: theorem.start()].endswith("*)\n"), theorem[1]


def test_the_page_names_every_theorem_and_no_other() -> None:
    table = README.split("## Page, theorem, program")[1].split("\n## ")[0]
    rows = [row.split("|")[2] for row in table.splitlines() if row.startswith("| ")][1:]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {theorem for _, theorem in check.theorems()}


def test_every_mechanism_has_pairs_and_a_line_in_the_table_of_verdicts() -> None:
    table = README.split("## The verdict on every mechanism")[1].split("\n## ")[0]
    assert set(NAMES) <= set(pairs.MECHANISMS)
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(pairs.MECHANISMS)


def test_every_contract_of_the_exact_tests_gives_pairs() -> None:
    tests = {path.stem.removeprefix("test_") for path in (pairs.ROOT / "tests/exact").glob("test_*.py")}
    others = {"contract", "concentrated"}  # that of no mechanism; losses that the checker does not know
    with_contracts = set(filter(pairs.contracts, tests - others))
    assert with_contracts == {test for used in pairs.TESTS.values() for test in used}
    local = {(test, kind.__name__) for test in tests for kind in pairs.local_contracts(test)}
    named = set(pairs.LOCAL.values())
    assert {one for one in local if (one[0], "") not in named} == {one for one in named if one[1]}


def test_every_law_with_a_theorem_has_tables_mutants_and_a_proof_that_ties_it() -> None:
    theorems = {theorem for _, theorem in check.theorems()}
    assert set(vectors.CLAIMS) == set(vectors.MUTANTS)
    for law in vectors.CLAIMS:
        assert {f"{law}_private", f"{law}_tied"} <= theorems
        assert vectors.MUTANTS[law]


def test_a_rule_that_may_know_more_than_its_text_is_refused() -> None:
    with pytest.raises(TypeError, match="frozen dataclass"):
        coq_terms.rule(lambda values: values[0])


def test_a_randomiser_of_the_local_model_is_written_with_all_that_it_holds() -> None:
    report = (
        Bit.of(Fraction(1), part=1, lift=Fraction(1, 3)),
        Symbol(None, 4, Fraction(2)),
        Symbol(1, 4, Fraction(2)),
        NoisyValue(-3, Fraction(5, 2)),
    )
    names = coq_terms.Names()
    assert coq_terms.law(report, names.name) == "(Together [L0; L1; L2; L3])"
    assert list(names.of) == [
        "(Coin (1#1) (1#3) (1#1))",
        "(Symbol None 4 (2#1))",
        "(Symbol (Some 1%nat) 4 (2#1))",
        "(Noisy [(-3)]%Z [(5#2)])",
    ]
    hashed = coq_terms.law(Hashed(1, 2, Fraction(1), prime=3), coq_terms.Names().name)
    assert hashed.startswith("(Then (Exponential [(0#1); (0#1); (0#1); (0#1); (0#1); (0#1)]")


@pytest.mark.parametrize("mechanism", pairs.MECHANISMS)
def test_a_mechanism_has_a_pair_that_coq_can_read_and_a_mutant(mechanism: str) -> None:
    pair = pairs.first_pair(mechanism)
    assert pair.promised >= 0
    for law in (pair.without, pair.added):
        assert re.match(r"\((Noisy|Shaped|Scan|Exponential|Flip|Then|Together) ", coq_terms.law(law))
    assert any(source.mutants for source in pairs.sources(mechanism))


LAWS: dict[type, tuple[Law, str]] = {
    Noisy: (NOISY, "(Noisy [(4); (-1)]%Z [(2#1); (2#1)])"),
    Shaped: (
        Shaped(3, ConcaveNoise((2, 6), (Fraction(1), Fraction(1, 2)))),
        "(Shaped (3)%Z [((2)%Z, (1#1)); ((4)%Z, (1#2))])",
    ),
    Scan: (Scan((9, 4), (2, 2), TWO, TWO), "(Scan [(9); (4)]%Z [(2); (2)]%Z (2#1) (2#1))"),
    ExponentialChoice: (
        ExponentialChoice((1, 3), Fraction(1, 2), (5, 6)),
        "(Exponential [(1#2); (3#2)] [(5); (6)]%Z)",
    ),
    PermuteAndFlip: (PermuteAndFlip((Fraction(1, 3), Fraction(0))), "(Flip [(1#3); (0#1)])"),
    Then: (
        Then(PermuteAndFlip((Fraction(0), Fraction(1))), lambda place: Noisy((place,), (TWO,))),
        "(Then (Flip [(0#1); (1#1)]) Here 2 (listed [(Noisy [(0)]%Z [(2#1)]); (Noisy [(1)]%Z [(2#1)])]))",
    ),
    Gated: (
        Gated(Noisy((7,), (TWO,)), FirstReaching(((0, 5),)), (NOISY, NOISY)),
        "(Then (Noisy [(7)]%Z [(2#1)]) (FirstReaching [(0%nat, (5)%Z)]) 2 (listed [L0; L0]))",
    ),
    Together: (Together((NOISY,)), "(Together [L0])"),
}


@pytest.mark.parametrize("kind", get_args(Law), ids=lambda kind: str(kind.__name__))
def test_every_kind_of_law_is_written_with_all_that_it_holds(kind: type) -> None:
    law, written = LAWS[kind]
    names = coq_terms.Names()
    plain = kind not in (Gated, Together)
    assert coq_terms.law(law, *([] if plain else [names.name])) == written


def test_a_law_that_coq_does_not_know_is_refused() -> None:
    class Louder(Noisy):
        pass

    for law in (Louder((1,), (TWO,)), object()):
        with pytest.raises(TypeError, match=r"no law of Law\.v"):
            coq_terms.law(law)


@pytest.mark.parametrize("law", vectors.CLAIMS)
def test_a_changed_program_has_other_laws_of_the_same_tables(law: str) -> None:
    """Or Coq could not tell it from the right one."""

    def claims() -> tuple[list[str], str]:
        random, names = Random(vectors.SEED), coq_terms.Names()
        return [vectors.CLAIMS[law](random, names) for _ in range(vectors.MUTANT_TABLES)], names.definitions()

    right = claims()
    for change in vectors.MUTANTS[law].values():
        with change():
            assert claims() != right
