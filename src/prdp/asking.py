"""The order in which every question is answered: public checks, charge, records, noise, release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from prdp.errors import EngineFailure, PrdpError
from prdp.ledger import Ledger
from prdp.ledger.account import Charge
from prdp.mechanisms import Answer
from prdp.noise.entropy import Entropy, SystemEntropy
from prdp.release import Release


class Plan(Protocol):
    """A question that public facts allow, and the way to its answer."""

    @property
    def question(self) -> str:
        """The question with all that decides its answer's distribution: what a ledger keeps."""

    @property
    def share(self) -> Fraction:
        """The part of every record's budget that it uses."""

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has changed its columns."""

    def releases(self, entropy: Entropy, *, runs: int, simulated: bool) -> list[Release]:
        """Read the records and draw independent answers; a real release draws one."""


def ask(ledger: Ledger, plan: Plan, *, fresh: bool) -> Release:
    """Answer a question once, or return the answer that it had before."""
    plan.ensure_there()
    charge = ledger.charge(plan.question, plan.share, fresh=fresh)
    try:
        if isinstance(charge, Charge):
            charge = ledger.record(charge, *_guarded(plan))
        assert isinstance(charge, Release)  # noqa: S101  (told to the type checker: what was recorded)
    except KeyboardInterrupt as stop:
        stop.add_note("The charge stands; ask the same question again, it costs nothing more.")
        raise
    return charge


def _guarded(plan: Plan) -> list[Release]:
    """Return one release; whatever goes wrong on the way, it fails with one fixed text.

    Arrays here are as long as tables, and a failure would tell their lengths.
    """
    releases: list[Release] | None = None
    try:
        releases = plan.releases(SystemEntropy(), runs=1, simulated=False)
    except PrdpError:
        raise
    except Exception:  # noqa: S110  (whatever it is, it may speak of records)
        pass
    if releases is None:  # raised out here, the failure does not carry the other along
        raise EngineFailure
    return releases


def released(
    answers: Iterable[Answer],
    *,
    question: str,
    share: Fraction,
    method: str,
    caveat: str,
    simulated: bool,
    unit: Fraction = Fraction(1),
    below: bool = False,
    above: bool = True,
) -> list[Release]:
    """Return a mechanism's answers with their labels.

    Args:
        answers: What the mechanism drew.
        question: What was asked, in words.
        share: The part of every record's budget that was used.
        method: What the caller asked for.
        caveat: What the noise is not all of.
        simulated: Whether the noise was seeded.
        unit: What the values of the summary are counted in.
        below: Whether there may be values below zero.
        above: Whether there may be values above zero.
    """
    return [
        Release(
            question=question,
            steps=answer.steps,
            step=answer.step * unit,
            noise_scales=tuple(noise.scale for noise in answer.noises),
            share=share,
            method=method,
            caveat=caveat,
            choices=answer.choices,
            simulated=simulated,
            clipping=answer.clipping and replace(answer.clipping, below=below, above=above),
        )
        for answer in answers
    ]
