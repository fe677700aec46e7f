"""A study as the commands see it, in its store or over the network, and as they print it."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

from prdp.cli.messages import plain
from prdp.cli.printing import grid, number, show
from prdp.errors import InvalidRequest

if TYPE_CHECKING:
    from prdp.collector.server.group_commit import Desk

_BAR = 40


class OpenedStudy(ABC):
    """One study, wherever it is."""

    @staticmethod
    @contextmanager
    def at(where: str, token: str | None = None) -> Iterator[OpenedStudy]:
        """Open a study by its store, or by the address of its collector."""
        if where.startswith(("http://", "https://")):
            yield _Remote(where, token)
            return
        from prdp.collector.store.opening import open_store  # noqa: PLC0415

        store = open_store(where)
        try:
            yield _Stored(store)
        finally:
            store.close()

    @abstractmethod
    def status(self) -> dict[str, Any]:
        """Return what everybody may know."""

    @abstractmethod
    def close(self) -> dict[str, Any]:
        """Close the open round and return what everybody may know then."""

    @abstractmethod
    def result(self) -> dict[str, Any] | None:
        """Return the result, if there is one."""


class _Remote(OpenedStudy):
    def __init__(self, url: str, token: str | None) -> None:
        self._url, self._token = url, token

    def status(self) -> dict[str, Any]:
        from prdp.collector.client import asked  # noqa: PLC0415

        return dict(json.loads(asked(self._url, "/v1/study")))

    def close(self) -> dict[str, Any]:
        from prdp.collector.client import asked  # noqa: PLC0415

        if not self._token:
            raise InvalidRequest(
                "set PRDP_OPERATOR_TOKEN to the operator's token: it came with prdp collect init."
            )
        return dict(json.loads(asked(self._url, "/v1/operator/close", token=self._token, body=b"")))

    def result(self) -> dict[str, Any] | None:
        from prdp.collector.client import Unserved, asked  # noqa: PLC0415

        try:
            return dict(json.loads(asked(self._url, "/v1/result")))
        except Unserved as error:
            if error.code == "not_yet":
                return None
            raise


class _Stored(OpenedStudy):
    def __init__(self, store: Any) -> None:
        self._store = store

    def status(self) -> dict[str, Any]:
        from prdp.collector.snapshot import Snapshot, status_of  # noqa: PLC0415

        found = status_of(Snapshot.of(self._store.study()))
        return {**found, "tickets": self._store.tickets()}

    def close(self) -> dict[str, Any]:
        from prdp.collector.rounds import advance, close_round  # noqa: PLC0415

        close_round(self._store)
        advance(self._store, int(time.time()))
        return self.status()

    def result(self) -> dict[str, Any] | None:
        from prdp.collector.rounds import result_of  # noqa: PLC0415

        return result_of(self._store.study())


def show_status(found: Mapping[str, Any]) -> None:
    """Print how far a study is."""
    made = grid(("round", "state", "reports", "share", "ε_τ", "campaign"), left=(1, 5))
    for each in found["rounds"]:
        threshold = each["threshold_budget"]
        made.add_row(
            str(each["number"]),
            "closed" if each["closed"] else "open",
            f"{each['reports']:,}",
            each["share"],
            number(_fraction(threshold), 3) if threshold else "-",
            f"{each['campaign'][:16]}...",
        )
    lines = [
        f"{plain(found['name'])}: {found['ask']}, {found['state']}.",
        found["closing"][0].upper() + found["closing"][1:] + ".",
    ]
    if "tickets" in found:
        lines.append(f"{found['tickets']:,} tickets were given out.")
    last = found["rounds"][-1]
    bar = [_bar(last["reports"], found["closes_at_reports"])] if found["state"] == "open" else []
    show(*lines, "", made, *([""] if bar else []), *bar)


def _fraction(text: str) -> Any:
    from fractions import Fraction  # noqa: PLC0415

    return Fraction(text)


def _bar(reports: int, most: int | None) -> str:
    if not most:
        return f"{reports:,} reports so far"
    filled = int(_BAR * reports / most)
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {reports:,} of {most:,} reports"


def show_result(found: Mapping[str, Any]) -> None:
    """Print a result with its intervals, and what they do not cover."""
    from prdp.collector.results import lines_of  # noqa: PLC0415

    made = grid(("", "answer", "from", "to"), left=(0,), wraps=(0,))
    for line in lines_of(found):
        made.add_row(
            plain(line.label),
            *("-" if end is None else number(end) for end in (line.value, line.low, line.high)),
        )
    answers = found["answers"]
    first = answers[0]
    unheard = dict.fromkeys(plain(answer["unheard"]) for answer in answers if answer["unheard"])
    show(
        f"{first['clients']:,} clients, share {first['share']}, {plain(first['method'])}.",
        "",
        made,
        "",
        "from, to: the 95 % interval of the noise; of a sum or a mean, also what is cut within reach.",
        *(f"{plain(what)}: {plain(chosen)}" for what, chosen in first["choices"]),
        *unheard,
        "",
        *dict.fromkeys(plain(answer["caveat"]) for answer in answers),
    )


@contextmanager
def following() -> Iterator[Callable[[Desk], None]]:
    """Say on a terminal, again and again, how far a served study is; yields what to call with the desk."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    done = threading.Event()
    with console.status("opening ...", spinner="line") as status:

        def follow(desk: Desk) -> None:
            while not done.wait(0.5):
                study = desk.snapshot.study
                last = study.last
                progress_text = (
                    "done"
                    if study.result
                    else "closed"
                    if last.closed
                    else _bar(last.reports, desk.snapshot.plan.closing.reports)
                )
                status.update(f"round {last.number}: {progress_text}".replace("[", "\\["))

        def begin(desk: Desk) -> None:
            threading.Thread(target=follow, args=(desk,), daemon=True).start()

        try:
            yield begin
        finally:
            done.set()
