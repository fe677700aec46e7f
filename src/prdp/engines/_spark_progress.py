"""How far Spark is with a statement: how many of the tasks of its stages are done, of those it knows of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from prdp.engines.progress import UNKNOWN, listened_to, watched


@contextmanager
def stages_watched(session: Any) -> Iterator[None]:
    """Tell whoever listens how far the stages are that a session runs meanwhile."""
    if not listened_to():
        yield
    elif type(session).__module__.startswith("pyspark.sql.connect."):
        with _told_by_server(session) as percent, watched(percent):
            yield
    else:
        with watched(lambda: _of_active_stages(session)):
            yield


@contextmanager
def _told_by_server(session: Any) -> Iterator[Callable[[], float]]:
    """Listen to a server of Spark Connect, which says so by itself."""
    last = [UNKNOWN]

    def hear(stages: Iterable[Any] | None, *_: object, **__: object) -> None:
        last[0] = _share((stage.num_completed_tasks, stage.num_tasks) for stage in stages or ())

    with suppress(Exception):
        session.registerProgressHandler(hear)
    try:
        yield lambda: last[0]
    finally:
        with suppress(Exception):
            session.removeProgressHandler(hear)


def _of_active_stages(session: Any) -> float:
    """Ask a classic session; of other jobs that run beside ours it knows nothing better."""
    with suppress(Exception):
        tracker = session.sparkContext.statusTracker()
        stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
        return _share((stage.numCompletedTasks, stage.numTasks) for stage in stages)
    return UNKNOWN


def _share(stages: Iterable[tuple[int, int]]) -> float:
    """Return how many percent of tasks are done.

    >>> _share([(1, 2), (0, 2)]), _share([])
    (25.0, -1.0)
    """
    done, number = map(sum, zip(*stages, strict=True)) if (stages := list(stages)) else (0, 0)
    return 100 * done / number if number else UNKNOWN
