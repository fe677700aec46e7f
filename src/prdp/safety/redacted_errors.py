"""Failures that say nothing: exceptions without the frames in which private values stood."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from prdp.errors import PrdpError

Done = TypeVar("Done")


def guarded(work: Callable[[], Done], failure: Callable[[], PrdpError]) -> Done:
    """Return the result of work; any error is raised without a traceback of its way.

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
