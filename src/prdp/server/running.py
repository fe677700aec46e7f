"""Run the server of a project: one at a time, with its engine's process beside it."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prdp.errors import InvalidRequest, LedgerError
from prdp.ledger import DurableLedger
from prdp.projects.project import Project, project
from prdp.server import accounts, audit, purses
from prdp.server.engine_process import EngineProcess
from prdp.server.front import Service, application
from prdp.server.planning import PublicPlanner
from prdp.server.refusals import RequestRefused
from prdp.server.store import Store, StoreRows, opened, store_of
from prdp.serving.connections import Patience
from prdp.serving.process import Place, run

_WAIT_SECONDS = 5.0
_OWN_HOSTS = {"127.0.0.1", "::1", "localhost"}
DEADLINE = 5


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server is reached, and its limits.

    Attributes:
        host: The address to listen on.
        port: The port; 0 for any that is free.
        urls: The addresses by which browsers reach it, beside that of the host.
        certificate: The files of a TLS certificate and its key.
        proxy: The address of a reverse proxy that speaks TLS for it.
        deadline: The deadline of tables that are new, in seconds.
        rate: How many requests an address may send a second; 0 for any number.
        expected_head: A head of the audit that was kept elsewhere.
        wire: The address and the port of the PostgreSQL protocol; None for no such.
        wire_certificate: The files of its TLS certificate and key; by default those of ``certificate``.
        socket: A Unix socket to listen on instead of a port, for a proxy that speaks TLS.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    urls: tuple[str, ...] = ()
    certificate: tuple[str, str] | None = None
    proxy: str | None = None
    deadline: int = DEADLINE
    rate: float = 50
    expected_head: str | None = None
    wire: tuple[str, int] | None = None
    wire_certificate: tuple[str, str] | None = None
    socket: str | None = None

    @property
    def behind_proxy(self) -> bool:
        """Whether browsers reach it by a proxy, which speaks TLS."""
        return self.proxy is not None or self.socket is not None


@contextmanager
def alone(store: Store) -> Iterator[int]:
    """Hold the lock of a store: two servers would give the same slots away.

    A server that was killed leaves its engine's process behind for a moment, which holds the lock too.
    """
    descriptor = os.open(store.lock_file, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise _another() from None
                time.sleep(0.1)
        with store.held() as free:
            if not free:
                raise _another()
            yield descriptor
    finally:
        os.close(descriptor)


def _another() -> LedgerError:
    return LedgerError("another server of this project is running.")


def serve(path: Path, options: ServerOptions, ready: Callable[[str, str], None]) -> bool:
    """Serve a project until the process is stopped; return whether it could begin.

    Args:
        path: The project file.
        options: How it is reached, and its limits.
        ready: Called with the server's address once it listens, and with that of the PostgreSQL protocol.

    Raises:
        LedgerError: The store or a ledger cannot be used, is behind, or is another server's.
    """
    read = project(path)
    store = opened(read)
    _refuse_clear_text(options)
    with alone(store) as lock:
        with store.reading() as rows:
            audit.verify(rows, options.expected_head)
        engine = EngineProcess(read.file.path, options.deadline, lock)
        try:
            served = engine.start()
            engine.keep_alive()
            port = options.port or (0 if options.socket else _free_port(options.host))
            own, secure = _origins(options, port)
            service = Service(
                store,
                PublicPlanner(read, served),
                engine.wake,
                frozenset(own),
                secure=secure,
                rate=options.rate,
            )
            at = None if options.socket is None else Path(options.socket)
            place = Place(options.host, port, options.proxy, options.certificate, at)
            with wire_of(service, options, read.folder) as wire:
                app = application(service)
                return run(app, place, patience=Patience(), ready=lambda _: ready(own[0], wire))
        finally:
            engine.stop()


@contextmanager
def wire_of(service: Service, options: ServerOptions, folder: Path) -> Iterator[str]:
    """Serve the PostgreSQL protocol where that is wanted; give its address."""
    if options.wire is None:
        yield ""
        return
    from prdp.server.wire import certificate  # noqa: PLC0415  (loaded where it is wanted)
    from prdp.server.wire.listener import WireServer  # noqa: PLC0415

    host, port = options.wire
    given = options.wire_certificate or options.certificate
    if given is None and host not in _OWN_HOSTS:
        raise InvalidRequest(
            f"--wire {host}:{port} can be reached from elsewhere. Give --wire-certificate and --wire-key."
        )
    files = [Path(name) for name in given] if given else certificate.own_certificate(folder)
    context = certificate.context_of(*files)
    server = WireServer(service, context, certificate.binding_of(files[0]))
    server.start(host, port)
    try:
        yield f"{host}:{server.port}"
    finally:
        server.stop()


def _refuse_clear_text(options: ServerOptions) -> None:
    """Refuse to send passwords in clear text over a network."""
    if options.host not in _OWN_HOSTS and not (options.certificate or options.proxy):
        raise InvalidRequest(
            f"--host {options.host} can be reached from elsewhere, and passwords would travel in clear text. "
            "Give --certificate and --key, or serve on 127.0.0.1 behind a proxy with --proxy."
        )
    if options.behind_proxy and not options.urls:
        raise InvalidRequest("a proxy needs the address by which browsers reach it: --url https://HOST")
    if options.socket and options.certificate:
        raise InvalidRequest("--socket is for a proxy, which speaks TLS. Leave out --certificate and --key.")


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _origins(options: ServerOptions, port: int) -> tuple[list[str], bool]:
    """Return the origins of the server's pages, and whether all of them are reached by TLS."""
    secure = bool(options.certificate) or options.behind_proxy
    scheme = "https" if secure else "http"
    names = (
        {options.host, "127.0.0.1", "localhost"}
        if options.host in {"127.0.0.1", "localhost"}
        else {options.host}
    )
    own = [url.rstrip("/").lower() for url in options.urls]
    if not options.behind_proxy:
        own += [f"{scheme}://{name}:{port}" for name in sorted(names)]
    return own, secure


def init(path: Path, name: str) -> str:
    """Lay out a project's store; return the owner's invitation, which is shown this once."""
    store = store_of(project(path))
    if store.is_there():
        raise LedgerError("there are accounts for a server already. Invite people: prdp serve invite NAME")
    _refuse_name(name)
    store.lay_out()
    now = int(time.time())
    with store.writing() as rows:
        person = accounts.add_person(rows, name, accounts.OWNER, audit.SERVER, now)
        return accounts.invite(rows, person, audit.SERVER, now)


def invite(path: Path, name: str, role: str, granted: Mapping[str, Mapping[str, str]]) -> str:
    """Add a person, or begin a new generation of one; return their invitation."""
    read = project(path)
    _refuse_name(name)
    if role not in accounts.ROLES:
        raise InvalidRequest(f"--role {role} is none: choose one of {', '.join(accounts.ROLES)}.")
    for table in granted:
        if table not in set(read) or read.is_join(table):  # "in read" would open it
            raise InvalidRequest(f"{read.file.path.name} has no table {table!r} to be served.")
    now = int(time.time())
    with opened(read).writing() as rows:
        found = rows.one("SELECT id FROM {}people WHERE name = ?", name)
        if found is not None and accounts.known(rows, found[0])[2] != role:
            raise InvalidRequest(f"{name} has another role. The owner changes roles in the console.")
        person = found[0] if found else accounts.add_person(rows, name, role, audit.SERVER, now)
        for table, wanted in granted.items():
            purses.grant(rows, person, table, dict(wanted), actor=None, now=now)
        return accounts.invite(rows, person, audit.SERVER, now)


def is_known(path: Path, name: str) -> bool:
    """Return whether somebody of this name was invited before."""
    with opened(project(path)).reading() as rows:
        return rows.one("SELECT 1 FROM {}people WHERE name = ?", name) is not None


def new_wire_token(path: Path, user: str, *, days: int, cap: str | None) -> str:
    """Return the password of a user ``person.label`` of the PostgreSQL protocol, which is shown this once."""
    name, dot, label = user.rpartition(".")
    if not dot or not re.fullmatch(accounts.LABEL, label):
        raise InvalidRequest(
            f"{user!r} is no user of the PostgreSQL protocol: write PERSON.LABEL, such as ana.laptop."
        )
    now = int(time.time())
    with opened(project(path)).writing() as rows:
        parts = None if cap is None else purses.parts_of(cap)
        try:
            return accounts.new_wire_token(
                rows, _person_of(rows, name), now, label=label, days=days, cap=parts
            )[0]
        except RequestRefused as refused:
            raise InvalidRequest(str(refused)) from None


def revoke_wire_token(path: Path, user: str) -> None:
    """Revoke the token of a user ``person.label``; who is logged in with it can do nothing more."""
    name, _, label = user.rpartition(".")
    now = int(time.time())
    with opened(project(path)).writing() as rows:
        number = accounts.wire_verifier(rows, user, now)[0]
        if not number:
            raise InvalidRequest(f"{name or user} has no token {label!r} that could be used.")
        person = accounts.by_token(rows, number, now)
        assert person is not None  # noqa: S101  (it was found a moment ago)
        accounts.revoke(rows, number, person, now)


def _person_of(rows: StoreRows, name: str) -> int:
    found = rows.one("SELECT id FROM {}people WHERE name = ? AND disabled = 0", name)
    if found is None:
        raise InvalidRequest(f"there is no {name!r}. Invite them first: prdp serve invite {name}")
    return int(found[0])


def is_share(text: str) -> bool:
    """Return whether a text is a share that a purse can hold."""
    return re.fullmatch(purses.SHARE, text) is not None


def _refuse_name(name: str) -> None:
    if not re.fullmatch(accounts.NAME, name):
        raise InvalidRequest(f"{name!r} is no name: small letters, digits, '.', '_' and '-', at most 40.")


def verify(path: Path, expected_head: str | None) -> tuple[audit.Receipt, list[tuple[str, int, str]]]:
    """Verify the audit and compare it with all ledgers; return its head, and the charges of others."""
    read: Project = project(path)
    charges = {
        name: DurableLedger(read.ledger_of(name)).charged_by
        for name in read
        if not read.is_join(name) and read.is_begun(name)
    }
    with opened(read).reading() as rows:
        return audit.verify(rows, expected_head), audit.compare(rows, charges)
