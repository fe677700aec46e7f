"""Whatever stops a question, no frame behind the exception holds a record, a cell or an unrecorded answer."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.errors import EngineFailure, LedgerError
from prdp.ledger import DurableLedger, storage
from prdp.ledger.release_codec import release_to_json
from prdp.noise.entropy import SystemEntropy
from tests.ledger.frames import chain, files, private

EACH = 982_451_653  # a prime: nothing but the total and its multiples is divisible by it
ROWS = 37

Ask = Callable[[prdp.Table], object]

QUESTIONS: dict[str, Ask] = {
    "sum": lambda table: table.sum("v", share="1/10"),
    "sum by partition": lambda table: table.sum("v", share="1/10", method="partition"),
    "sum by framework": lambda table: table.sum("v", share="1/10", method="framework"),
    "mean": lambda table: table.mean("v", share="1/10"),
    "max": lambda table: table.max("v", share="1/10"),
    "median": lambda table: table.median("v", share="1/10"),
    "distinct": lambda table: table.count_distinct("v", share="1/10"),
    "groups": lambda table: table.group_by("k", keys=[0, 1]).sum("v", share="1/10"),
    "several": lambda table: table.agg(prdp.count(), prdp.sum("v"), share="1/10"),
    "own": lambda table: table.run(lambda rows, epsilon, beta: EACH, columns=["v"], share="1/10"),
}


class Stop(BaseException):
    """What a caller's own signal handler may raise."""


class Interrupting:
    """The system's generator, until something happens when it is asked for the nth time."""

    def __init__(self, at: int, happens: Callable[[], object]) -> None:
        self.left, self.happens = at, happens

    def __call__(self) -> Interrupting:
        return self

    def bytes(self, count: int) -> bytes:
        self.left -= 1
        if self.left == 0:
            self.happens()
        return SystemEntropy().bytes(count)


def opened(**options: Any) -> prdp.Table:
    return prdp.open(
        {"v": np.full(ROWS, EACH), "k": np.arange(ROWS) % 2, "who": np.arange(ROWS) % 5},
        policy=prdp.Policy.constant(1),
        bounds={"v": (0, 10**12)},
        name="t",
        **options,
    )


def moments(
    ask: Ask, happens: Callable[[], object], monkeypatch: pytest.MonkeyPatch, **options: Any
) -> Iterator[BaseException]:
    """Yield what a question ends with when something happens at each moment that it draws noise."""
    for at in range(1, 1000):
        table, entropy = opened(**options), Interrupting(at, happens)
        monkeypatch.setattr("prdp.run.answer.SystemEntropy", entropy)
        try:
            ask(table)
        except BaseException as error:
            yield error
        if entropy.left > 0:
            assert at > 1, "the question drew no noise"
            return
    raise AssertionError("the question never came to its end")


def test_the_search_finds_what_an_exception_holds() -> None:
    table, total = opened(), 7 * EACH
    for secret in (table.sum("v", share="1/10"), [{"total": total}], lambda: total, np.array([EACH])):
        with pytest.raises(AssertionError) as caught:
            _in_prdp_s_name(secret)
        assert private(caught.value, EACH) == ["secret in f"]
    with pytest.raises(AssertionError) as caught:
        _in_prdp_s_name(table)
    assert private(caught.value, EACH) == []


def _in_prdp_s_name(secret: object) -> None:
    namespace: dict[str, Any] = {}
    exec(compile("def f(secret):\n    assert False", "/prdp/made_up.py", "exec"), namespace)  # noqa: S102
    namespace["f"](secret)


@pytest.mark.parametrize("question", QUESTIONS)
def test_ctrl_c_while_noise_is_drawn_shows_nothing(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in moments(QUESTIONS[question], lambda: signal.raise_signal(signal.SIGINT), monkeypatch):
        assert isinstance(error, KeyboardInterrupt)
        assert private(error, EACH) == []


@pytest.mark.parametrize("question", ["sum", "groups"])
def test_ctrl_c_while_units_are_summed_shows_nothing(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def press() -> None:
        signal.raise_signal(signal.SIGINT)

    for error in moments(QUESTIONS[question], press, monkeypatch, privacy_unit="who"):
        assert isinstance(error, KeyboardInterrupt)
        assert private(error, EACH) == []


def test_ctrl_c_in_a_question_about_a_join_or_a_graph_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"customer": np.arange(ROWS) % 5, "v": np.full(ROWS, EACH)}
    ends = np.triu_indices(12, 1)
    opened_ones: list[Callable[[], Any]] = [
        lambda: (
            prdp.open_join(
                {"customers": {"id": np.arange(5)}, "orders": rows},
                private="customers",
                key="id",
                references={"orders.customer": "customers.id"},
                policy=prdp.Policy.constant(1),
                bounds={"v": (0, 10**12)},
            )
            .over("orders")
            .sum("v", share="1/10")
        ),
        lambda: prdp.graphs.open(
            {"a": ends[0], "b": ends[1]},
            source="a",
            target="b",
            nodes=range(12),
            policy=prdp.Policy.constant(1),
        ).triangles(share="1/10"),
    ]
    for ask in opened_ones:
        monkeypatch.setattr(
            "prdp.run.answer.SystemEntropy", Interrupting(1, lambda: signal.raise_signal(signal.SIGINT))
        )
        with pytest.raises(KeyboardInterrupt) as caught:
            ask()
        assert {Path(file).parent.name for file in files(caught.value)} <= {
            "ledger",
            "run",
            "safety",
            "graphs",
            "tables",
        }


def test_ctrl_c_says_that_asking_again_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    press = moments(QUESTIONS["sum"], lambda: signal.raise_signal(signal.SIGINT), monkeypatch)
    assert any("costs nothing more" in note for note in next(press).__notes__)


@pytest.mark.parametrize("kind", [Stop, SystemExit, MemoryError, ValueError, EngineFailure])
def test_whatever_stops_the_noise_shows_nothing(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise kind from OverflowError()

    for error in moments(QUESTIONS["sum"], stop, monkeypatch):
        assert isinstance(error, EngineFailure if issubclass(kind, Exception) else kind)
        assert private(error, EACH) == []
        assert list(chain(error)) == [error]


def _replaced(path: Path) -> None:
    DurableLedger(path).backup(path.with_name("early"))
    with closing(sqlite3.connect(path.with_name("early"))) as database, database:
        database.execute("DROP TRIGGER charges_no_delete")
        database.execute("DELETE FROM charges")
    database.close()
    os.replace(path.with_name("early"), path)


def _refusing(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TRIGGER no BEFORE INSERT ON releases BEGIN SELECT RAISE(ABORT, 'no'); END")
    database.close()


def _locked(path: Path) -> None:
    LOCKS.append(sqlite3.connect(path, isolation_level=None))
    LOCKS[-1].execute("BEGIN EXCLUSIVE")


LOCKS: list[sqlite3.Connection] = []


@pytest.fixture(autouse=True)
def _unlock() -> Iterator[None]:
    yield
    while LOCKS:
        LOCKS.pop().close()


@pytest.mark.parametrize("question", ["sum", "groups", "own"])
@pytest.mark.parametrize(
    "trouble", [_replaced, _refusing, _locked, Path.unlink, lambda p: p.write_bytes(b"")]
)
def test_an_answer_that_cannot_be_recorded_is_in_no_frame(
    question: str, trouble: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_PATIENCE_SECONDS", 0)
    path = tmp_path / "t.ledger"
    table = opened(ledger=path)
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", Interrupting(1, lambda: trouble(path)))
    with pytest.raises(LedgerError) as caught:
        QUESTIONS[question](table)
    assert private(caught.value, EACH) == []


def test_a_ledger_of_the_caller_s_own_that_fails_shows_nothing() -> None:
    class Failing(prdp.ledger.MemoryLedger):
        def record(self, charge: object, release: object) -> Any:  # noqa: ARG002
            raise OSError(f"no room for {release}")

    for ask in (QUESTIONS["sum"], QUESTIONS["own"]):
        with pytest.raises(LedgerError, match="could not be recorded") as caught:
            ask(opened(ledger=Failing()))
        assert private(caught.value, EACH) == []
        assert list(chain(caught.value)) == [caught.value]


def test_ctrl_c_while_an_answer_is_recorded_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(release: Any) -> str:
        signal.raise_signal(signal.SIGINT)
        return release_to_json(release)

    monkeypatch.setattr("prdp.ledger.durable.release_to_json", pressed)
    for ask in (QUESTIONS["sum"], QUESTIONS["own"]):
        with pytest.raises(KeyboardInterrupt) as caught:
            ask(opened(ledger=tmp_path / "t.ledger"))
        assert private(caught.value, EACH) == []


def test_ctrl_c_while_a_failure_is_put_into_words_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are made once the first failure, whose frames hold the answer, is gone."""

    class Failing(prdp.ledger.MemoryLedger):
        def record(self, charge: object, release: object) -> Any:  # noqa: ARG002
            raise OSError(f"no room for {release}")

    def pressed(*_: object) -> LedgerError:
        signal.raise_signal(signal.SIGINT)
        return LedgerError("not reached")

    monkeypatch.setattr("prdp.run.answer._not_recorded", pressed)
    for ask in (QUESTIONS["sum"], QUESTIONS["own"]):
        with pytest.raises(KeyboardInterrupt) as caught:
            ask(opened(ledger=Failing()))
        assert private(caught.value, EACH) == []
        assert list(chain(caught.value)) == [caught.value]
