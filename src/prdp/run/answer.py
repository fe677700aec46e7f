"""The order in which every question is answered: public checks, charge, records, noise, release."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Protocol, TypeVar

from prdp.errors import EngineFailure, LedgerError, PrdpError
from prdp.ledger import Ledger
from prdp.ledger.account import Charge
from prdp.mechanisms import Answer
from prdp.noise.entropy import Entropy, SystemEntropy
from prdp.release.release import Release
from prdp.release.table import Released

Done = TypeVar("Done")


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

    def releases(self, entropy: Entropy, *, runs: int) -> list[Release]:
        """Read the records and draw independent answers, marked if they are a stand-in's."""


def ask(ledger: Ledger, plan: Plan, *, fresh: bool) -> Release:
    """Answer a question once, or return the answer that it had before."""
    plan.ensure_there()

    def draw() -> Released:
        (release,) = plan.releases(SystemEntropy(), runs=1)
        return release

    answer = answered_once(ledger, plan.question, plan.share, draw, fresh=fresh)
    assert isinstance(answer, Release)  # noqa: S101  (told to the type checker: what was recorded)
    return answer


def answered_once(
    ledger: Ledger, question: str, share: Fraction, draw: Callable[[], Released], *, fresh: bool
) -> Released:
    """Charge, draw and record an answer; or return the one that stands."""
    try:
        charge = ledger.charge(question, share, fresh=fresh)
        return recorded(ledger, charge, draw) if isinstance(charge, Charge) else charge
    except KeyboardInterrupt as stop:
        stop.add_note("What was charged stands; ask the same question again, it costs nothing more.")
        raise


def recorded(ledger: Ledger, charge: Charge, draw: Callable[[], Released]) -> Released:
    """Draw an answer and record it; one that could not be recorded is in no variable that is left."""
    return _guarded(lambda: ledger.record(charge, _guarded(draw, EngineFailure)), _not_recorded)


def _not_recorded() -> LedgerError:
    return LedgerError(
        "the answer could not be recorded, so it is not shown, and the charge stands unanswered. Mend the "
        "ledger, and ask the same question again."
    )


def _guarded(work: Callable[[], Done], failure: Callable[[], PrdpError]) -> Done:
    """Return what work gives; whatever goes wrong on the way comes out without a trace of its way.

    The frames of a traceback hold cells and answers that nobody may see, and what an error of somebody else's
    says may be about them: arrays may be as long as tables, and a failure would tell their lengths.

    Args:
        work: Reads, draws or records.
        failure: What is raised in place of an exception that is not prdp's own.
    """
    stop: BaseException | None = None
    try:
        return work()
    except PrdpError as error:  # nothing is called in a handler: Ctrl-C would come with what is handled
        stop = error
        stop.__traceback__ = stop.__context__ = stop.__cause__ = None
    except Exception:  # noqa: S110  (what it says instead is made when it is gone)
        pass
    except BaseException as error:  # Ctrl-C, or whatever else a signal's handler raises
        stop = error
        stop.__traceback__ = stop.__context__ = stop.__cause__ = None
    if stop is None:
        stop = failure()
    try:
        raise stop
    finally:
        del stop  # this frame and the exception would keep each other alive


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
        simulated: Whether the records are a stand-in's.
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
