"""Randomise a record that never leaves its client: from a campaign and the record to a report.

The client's own account, its reports and the budget that they used, is one small SQLite file.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from uuid import uuid4

from prdp.declare.exact import Exact, exact_share
from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.expressions.nodes import canonical
from prdp.expressions.to_json import from_json
from prdp.levels import Levels
from prdp.local.client.campaign import Campaign, policy_text
from prdp.local.client.facts import read_object, shown
from prdp.local.client.report import Report, packed
from prdp.local.protocols.protocol import LdpProtocol, Own, Protocol, Record
from prdp.local.protocols.randomisers import Law
from prdp.noise.entropy import Entropy, SystemEntropy
from prdp.policy import Policy
from prdp.safety.process_guard import operation, this_process
from prdp.safety.redacted_errors import guarded

_SCHEMA = """
CREATE TABLE terms (policy TEXT NOT NULL);
CREATE TABLE reports (number INTEGER PRIMARY KEY, campaign BLOB NOT NULL UNIQUE, name TEXT NOT NULL,
                      share TEXT NOT NULL, spent TEXT NOT NULL, report BLOB NOT NULL);
PRAGMA user_version = 1;
"""
_BUSY_SECONDS = 30

_FINEST = 10**640
"""Upper limit of the denominator of a sum of shares: 640 digits at most.

A process may forbid Python to read or write whole numbers of many digits, but never those of up to 640.
"""

_MAX_CHARACTERS = 1 << 14

_COPIES = (
    "A copy lacks the reports made since it was copied: answer under one only if that was nothing, and if "
    "nobody knows, answer no more campaigns for this record."
)


class ClientAccount:
    """Keeps every report before it is sent, and the sum of the shares that they used.

    A report and its charge are one transaction that is on disk before ``record_report`` returns. So a
    crash leaves either nothing, and nothing was sent, or the very bytes to send again. The file holds no
    record.
    """

    def __init__(self, path: Path | str | None) -> None:
        self._memory: sqlite3.Connection | None = None
        self._path: Path | None = None
        self._process = this_process()
        if path is None:
            self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._memory.close)
            self._memory.executescript(_SCHEMA)
            return
        if not isinstance(path, str | Path) or not _is_file_name(str(path)):
            raise InvalidRequest(f"{path!r} is no file name for a client's account.")
        self._path = Path(path).expanduser().absolute()
        if self._path.is_dir():
            raise InvalidRequest(
                f"{path} is a folder, and an account is one file: write {str(self._path / 'me.account')!r}."
            )
        with operation(str(self._path)), self._explained():
            if not self._path.exists():
                self._begin(self._path)
            self._refuse_unless_ours()

    @property
    def remaining(self) -> Fraction:
        """The part of the record's budget that is not spent."""
        with self._connected() as database:
            return 1 - self._spent(database)

    @property
    def policy(self) -> str | None:
        """The policy, as JSON, of all reports so far."""
        with self._connected() as database:
            return _policy(database)

    def record_report(
        self, campaign: bytes, name: str, policy: str, share: Fraction, draw: Callable[[], bytes]
    ) -> bytes:
        """Return the report that a campaign has had, or else draw, charge and keep one.

        Raises:
            InvalidRequest: The account is kept under another policy, or the sum of shares would be too fine.
            BudgetExhausted: Less than ``share`` is left.
            LedgerError: The account cannot be used, or was changed by something else.
        """
        return guarded(lambda: self._record_report(campaign, name, policy, share, draw), _not_recorded)

    def _record_report(
        self, campaign: bytes, name: str, policy: str, share: Fraction, draw: Callable[[], bytes]
    ) -> bytes:
        """Draw while no file is open, so that a fork meanwhile finds nothing to tear."""
        begun = this_process()
        with self._writing() as database:
            found = self._standing_or_sum(database, campaign, policy, share)
        if isinstance(found, bytes):
            return found
        report = draw()
        if begun != this_process():
            raise _forked()
        with self._writing() as database:
            found = self._standing_or_sum(database, campaign, policy, share)
            if isinstance(found, bytes):
                return found  # somebody else's was first
            if _policy(database) is None:
                database.execute("INSERT INTO terms VALUES (?)", (policy,))
            database.execute(
                "INSERT INTO reports (campaign, name, share, spent, report) VALUES (?, ?, ?, ?, ?)",
                (campaign, name, str(share), str(found), report),
            )
        return report

    def _standing_or_sum(
        self, database: sqlite3.Connection, campaign: bytes, policy: str, share: Fraction
    ) -> bytes | Fraction:
        """Return the report that a campaign has had, or else what is spent with its share; or refuse."""
        standing = database.execute("SELECT report FROM reports WHERE campaign = ?", (campaign,)).fetchone()
        if standing:
            return self._kept(standing[0], campaign)
        bound = _policy(database)
        if bound not in (None, policy):
            raise another_policy(self._readable(bound), policy)
        before = self._spent(database)
        spent = before + share
        if spent.denominator >= _FINEST:
            raise _too_fine(share)
        if spent > 1:
            raise _exhausted(share, 1 - before)
        return spent

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock from before the first read to after the sync, in one and the same process."""
        begun = this_process()
        with self._connected() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                if begun != this_process():  # just before: a signal's handler may fork between two lines
                    raise _forked()  # noqa: TRY301
                database.execute("COMMIT")
            except BaseException:
                if begun == this_process() and database.in_transaction:
                    database.rollback()
                raise
            if begun != this_process():
                raise _forked()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            self._refuse_elsewhere()
            with operation(f"memory {id(self)}"):
                yield self._memory
            return
        assert self._path is not None  # noqa: S101  (one of the two)
        with operation(str(self._path)), self._explained():
            self._refuse_unless_there(self._path)
            begun, database = this_process(), _opened(self._path)
            try:
                yield database
            finally:
                if begun == this_process():
                    database.close()
                else:
                    _abandon(database)

    def _refuse_elsewhere(self) -> None:
        """Refuse an account in memory to a forked process: each would spend the whole budget."""
        if self._process != this_process():
            raise LedgerError(
                "this client's account is kept in the memory of another process, which this one was forked "
                "from: each would spend the whole budget. Give it a file, Client('me.account'). Nothing was "
                "reported."
            )

    def _refuse_unless_ours(self) -> None:
        with self._connected() as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            tables = {
                name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            }
        if version != 1 or tables != {"terms", "reports"}:
            raise LedgerError(f"{self._path} is not a client's account of version 1.")

    @staticmethod
    def _refuse_unless_there(path: Path) -> None:
        if not path.is_file() or path.stat().st_size == 0:
            raise LedgerError(
                f"{path} is gone or empty, and with it the earlier reports. Nothing is reported any more. "
                f"{_COPIES}"
            )

    @staticmethod
    def _begin(path: Path) -> None:
        """Create a draft of the file and move it into place whole, so that nobody sees half of it."""
        draft = path.with_name(f".{path.name}.{uuid4().hex}.draft")  # no other thread's or process's
        try:
            with closing(sqlite3.connect(draft, isolation_level=None)) as database:
                database.executescript(_SCHEMA)
            os.link(draft, path)
        except FileExistsError:
            pass  # another thread or process began it meanwhile
        finally:
            draft.unlink(missing_ok=True)

    def _spent(self, database: sqlite3.Connection) -> Fraction:
        row = database.execute("SELECT spent FROM reports ORDER BY number DESC LIMIT 1").fetchone()
        try:
            spent = _fraction(row[0]) if row else Fraction(0)
        except (ArithmeticError, ValueError, TypeError):
            raise self._changed("the sum of its shares") from None
        if not 0 <= spent <= 1:
            raise self._changed("the sum of its shares")
        return spent

    def _kept(self, report: bytes, campaign: bytes) -> bytes:
        try:
            if Report.from_bytes(report).campaign == campaign:
                return report
        except InvalidRequest:
            pass
        raise self._changed("a report")

    def _readable(self, policy: str) -> str:
        try:
            _shown(policy)
        except InvalidRequest:
            raise self._changed("its policy") from None
        return policy

    def _changed(self, what: str) -> LedgerError:
        return LedgerError(
            f"the client's account {self._path} was changed by something else: {what} cannot be read. "
            f"Nothing is reported any more. {_COPIES}"
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(f"the client's account {self._path} cannot be used: {error}.") from error


def another_policy(own: str, asked: str) -> InvalidRequest:
    """Return the error of a client that answers under one policy and is asked under another, both as JSON."""
    return InvalidRequest(
        f"this campaign has another policy than the one that this client answers under. The campaign's is "
        f"{_shown(asked)}; this client's is {_shown(own)}. Budgets of two policies do not add up: nothing "
        "was reported."
    )


def _shown(policy: str) -> str:
    facts = read_object(policy, "policy")
    text, *ends = canonical(from_json(facts.get("expression"))), facts.get("at_least"), facts.get("at_most")
    least, most = (shown(str(end)) for end in ends)
    return f"{shown(text)}, from {least} to {most}"


def _too_fine(share: Fraction) -> InvalidRequest:
    return InvalidRequest(
        f"this campaign's share of {share} is too fine to be added to what this client has spent so far: the "
        "sum would have a denominator of more than 640 digits. Nothing was reported or charged; a "
        "campaign with a simple share, such as 1/100, can be answered."
    )


def _exhausted(asked: Fraction, remaining: Fraction) -> BudgetExhausted:
    """Return the error for the client, who cannot ask for less: it can only stay away."""
    return BudgetExhausted(
        asked,
        remaining,
        f"this campaign asks for {asked} of this record's budget, but its account has {remaining} left. "
        "Nothing "
        "was reported or charged; a campaign that asks for no more than that can be answered.",
    )


def _forked() -> LedgerError:
    return LedgerError(
        "this process was forked while another one made a report, which it sends. Nothing was reported "
        "here. With an account in a file, Client('me.account'), the other's report can be asked for again."
    )


def _abandon(database: sqlite3.Connection) -> None:
    """Never close a connection that came with a fork, not even when Python ends.

    To close it would take back, in the file, what the other process is writing.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=_BUSY_SECONDS
    )
    try:
        database.execute("PRAGMA synchronous = EXTRA")
        database.execute("PRAGMA fullfsync = ON")
    except BaseException:  # no database: the caller reports it; do not leave it open
        database.close()
        raise
    return database


def _policy(database: sqlite3.Connection) -> str | None:
    row = database.execute("SELECT policy FROM terms").fetchone()
    return str(row[0]) if row else None


def _fraction(text: str) -> Fraction:
    """Return the number that a text says, however many digits a process lets Python read."""
    if len(text) > _MAX_CHARACTERS:
        raise ValueError("no account writes so long a number")
    parts = [Decimal(part) for part in text.split("/", 1)]
    if any(part.as_tuple().exponent != 0 for part in parts):
        raise ValueError("not a fraction of whole numbers")
    return Fraction(*map(int, parts))


def _is_file_name(text: str) -> bool:
    try:
        return bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _not_recorded() -> LedgerError:
    return LedgerError("no report could be drawn and stored. Nothing was reported; ask again.")


_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Checked:
    """A dry run of a report, for the client alone; it is never sent.

    >>> str(Checked(missing=("visits",), loss=None, is_informative=False))
    'the record lacks visits, which the campaign reads'
    >>> str(Checked(missing=(), loss=Fraction(1, 4), is_informative=True))
    'the record takes part and loses at most 0.25'

    Attributes:
        missing: The columns that the campaign reads and the record does not have.
        loss: What the report may lose, share · E(r), rounded down; None without a valid budget.
        is_informative: Whether the report's law differs from the dummy's.
    """

    missing: tuple[str, ...]
    loss: Fraction | None
    is_informative: bool

    def __str__(self) -> str:
        if self.missing:
            return f"the record lacks {', '.join(map(shown, self.missing))}, which the campaign reads"
        if self.loss is None:
            return (
                "the record has no valid budget under the campaign's policy: it is answered for as the dummy"
            )
        if not self.is_informative:
            return "the record has a valid budget and nothing to say here: it is answered for as the dummy"
        return f"the record takes part and loses at most {float(self.loss):.3g}"


class Client:
    """Answers campaigns for one record, and keeps account of it.

    It needs neither NumPy nor a database engine. A report's size, order and fields are those of the
    campaign. A record without a valid budget, of whatever shape, is answered for as the dummy record:
    nothing about a record makes a client refuse, fail or fall silent.

    >>> from prdp.local.protocols.counting import DomainCount
    >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
    >>> campaign = Campaign("visits", policy, "1/2", DomainCount())
    >>> me = Client()
    >>> report = me.report(campaign, {"visits": 3})
    >>> me.report(campaign.to_json(), {"visits": 3}) == report  # the same bytes again
    True
    >>> me.remaining
    Fraction(1, 2)
    """

    def __init__(
        self,
        ledger: Path | str | None = None,
        *,
        policy: Policy | None = None,
        most_share: Exact = 1,
        protocols: tuple[type[Protocol], ...] = (),
        ldp_protocols: tuple[type[LdpProtocol], ...] = (),
        entropy: Entropy | None = None,
    ) -> None:
        """Begin or go on with an account.

        Args:
            ledger: The file of the account; without one it lasts as long as this object.
            policy: The only policy to answer under; by default that of the first campaign.
            most_share: The largest share that one campaign may ask for.
            protocols: Protocols of your own that campaigns may use.
            ldp_protocols: The same for those that the general framework holds.
            entropy: For tests; the system's generator otherwise.
        """
        if policy is not None and not isinstance(policy, Policy):
            raise InvalidRequest(
                f"policy={policy!r} is no policy: write policy=prdp.Policy('20 / visits', at_least='1/100', "
                "at_most=10), with the ends that campaigns will have."
            )
        if policy is not None:
            policy.refuse_unless_pure("the local model")
        self._policy = None if policy is None else policy_text(policy)
        self._most_share = exact_share(most_share)
        self._protocols, self._ldp_protocols = protocols, ldp_protocols
        self._entropy = entropy or SystemEntropy()
        self._account = ClientAccount(ledger)

    @property
    def remaining(self) -> Fraction:
        """The part of the record's budget that no campaign has used."""
        return self._account.remaining

    def report(self, campaign: Campaign | str | bytes, record: Mapping[str, object] | None) -> Report:
        """Return the report to send: drawn and stored the first time, the stored one ever after.

        >>> from prdp.local.protocols.counting import DomainCount
        >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
        >>> careful, campaign = Client(most_share="1/4"), Campaign("visits", policy, "1/2", DomainCount())
        >>> careful.report(campaign, {"visits": 3})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: this campaign asks for 1/2 of the budget, ... at most 1/4.

        Args:
            campaign: The campaign, or its JSON.
            record: The record; None to take part with nothing to say.

        Raises:
            InvalidRequest: The campaign cannot be read, has another policy, or asks for more than
                ``most_share``.
            LedgerError: The account cannot be used.
            BudgetExhausted: Less is left than the campaign asks for.
        """
        asked = self._read(campaign)
        policy = policy_text(asked.policy)
        if self._policy not in (None, policy):
            raise another_policy(self._policy, policy)
        if asked.share > self._most_share:
            raise InvalidRequest(
                f"this campaign asks for {asked.share} of the budget, and this client gives at most "
                f"{self._most_share}."
            )
        stored = self._account.record_report(
            asked.digest, asked.name, policy, asked.share, lambda: bytes(self._drawn(asked, record))
        )
        return Report.from_bytes(stored)

    def check(self, campaign: Campaign | str | bytes, record: Mapping[str, object] | None) -> Checked:
        """Describe, to the client alone, the report of a record; nothing is drawn, charged or sent.

        The result depends on the record: never send it.

        >>> from prdp.local.protocols.counting import DomainCount
        >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
        >>> campaign, me = Campaign("visits", policy, "1/2", DomainCount()), Client()
        >>> me.check(campaign, {}).missing, me.check(campaign, {"visits": 1000}).loss is None
        (('visits',), True)

        Args:
            campaign: The campaign, or its JSON.
            record: The record.
        """
        asked = self._read(campaign)
        own = own_of(asked.policy, asked.terms.levels, record)
        held = record if isinstance(record, Mapping) else {}
        return Checked(
            missing=tuple(sorted(name for name in asked.columns if name not in held)),
            loss=None if own is None else asked.terms.loss(own.quanta),
            is_informative=laws_for(asked, record) != laws_for(asked, None),
        )

    def _read(self, campaign: Campaign | str | bytes) -> Campaign:
        if isinstance(campaign, Campaign):
            return campaign
        return Campaign.from_json(campaign, protocols=self._protocols, ldp_protocols=self._ldp_protocols)

    def _drawn(self, campaign: Campaign, record: Record | None) -> Report:
        payload = None
        with suppress(Exception):  # what a record causes is seen by nobody, not as a later error's context
            payload = self._payload(campaign, laws_for(campaign, record))
        if payload is None:
            payload = self._payload(campaign, laws_for(campaign, None))
        return Report(campaign.digest, self._entropy.bytes(_TOKEN), payload)

    def _payload(self, campaign: Campaign, laws: tuple[Law, ...]) -> bytes:
        return packed([law.draw(self._entropy) for law in laws], campaign.fields)


def laws_for(campaign: Campaign, record: Record | None) -> tuple[Law, ...]:
    """Return the laws of a record's report: the dummy's laws where anything about it is odd."""
    return laws_of(campaign, own_of(campaign.policy, campaign.terms.levels, record))


def laws_of(campaign: Campaign, own: Own | None) -> tuple[Law, ...]:
    """Return the laws of the report of a record with a valid budget; the dummy's laws for None."""
    if own is not None:
        with suppress(Exception):  # whatever a record makes a protocol do, nobody may see it
            laws = campaign.protocol.law(campaign.terms, own)
            if len(laws) == len(campaign.fields):
                return laws
    return campaign.protocol.law(campaign.terms, None)


def own_of(policy: Policy, levels: Levels, record: Record | None) -> Own | None:
    """Return a record with its budget rounded down to a level; None where it has no valid one.

    >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
    >>> own_of(policy, policy.levels, {"visits": "many"}) is None  # no budget, and no error
    True
    """
    if record is None:
        return None
    level = None
    with suppress(Exception):  # a missing column, a value of a strange type: no budget, and no message
        level = levels.index(policy.budget(record))
    return None if level is None else Own(record, levels.quanta(level))
