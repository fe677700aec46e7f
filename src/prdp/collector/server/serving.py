"""Run a collector in this process until it is stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from prdp.collector.server.app import application
from prdp.collector.server.group_commit import LOG, Desk
from prdp.collector.store.sql import open_store
from prdp.serving.connections import Patience, Rates
from prdp.serving.process import Place, run


def serve(
    address: str | Path,
    place: Place,
    *,
    rates: Rates,
    patience: Patience | None = None,
    origins: tuple[str, ...] = (),
    started: Callable[[Desk, int], None],
) -> bool:
    """Serve a store's study until the process is stopped; return whether it could begin.

    Nothing is logged of any request. What goes wrong with the store later goes to standard error.

    Args:
        address: The store.
        place: The address to listen on.
        rates: The rate limit of an address.
        patience: The time limits of a connection.
        origins: The origins of web pages elsewhere whose scripts may send reports.
        started: Called with the desk and the port when the store is open.

    Raises:
        CollectorError: The store cannot be used.
    """
    with closing(open_store(address)) as store:  # report its errors before any connection is accepted
        store.check()
    LOG.setLevel(logging.WARNING)
    kept = patience or Patience()
    desks: list[Desk] = []
    app = application(address, rates=rates, patience=kept, origins=origins, started=desks.append)
    return run(app, place, patience=kept, ready=lambda port: started(desks[0], port))
