"""What the statements of a connection do: settings, transactions, questions and the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

from pydantic import ValidationError

from prdp.release.release import Release
from prdp.server.planning import MAX_STATEMENT, PlannedColumn
from prdp.server.purses import SHARE
from prdp.server.refusals import REFUSALS, RequestRefused
from prdp.server.wire import values
from prdp.server.wire.catalogue import Catalogue, is_about_catalogue, kinds_of_parameters, without_parameters
from prdp.server.wire.failures import WireError
from prdp.server.wire.questions import WireAsker
from prdp.server.wire.results import WaitUntil, WireResult
from prdp.server.wire.schema_of_catalogue import SETTINGS
from prdp.server.wire.statements import FilledStatement, SentStatement, filled
from prdp.server.wire.values import WireColumn
from prdp.sql.estimates import ComputedAnswer
from prdp.sql.results import SqlAnswers, plain

VERSION = "15.0"
"""The version that clients take the server for: it decides what they ask of the catalogue."""
IDLE, OPEN, FAILED = b"I", b"T", b"E"
MAX_SETTINGS = 100
_MAX_VALUE = 1_000
_LONGEST_LOOK = 0.2
Given = TypeVar("Given")

_TYPES = {
    "whole": values.INT8, "decimals": values.NUMERIC, "numbers": values.FLOAT8, "texts": values.TEXT,
    "truths": values.BOOL, "dates": values.DATE, "moments": values.TIMESTAMP,
}  # fmt: skip
_REPORTED = {
    "server_version": VERSION, "server_encoding": "UTF8", "client_encoding": "UTF8", "is_superuser": "off",
    "DateStyle": "ISO, MDY", "IntervalStyle": "postgres", "TimeZone": "UTC", "integer_datetimes": "on",
    "standard_conforming_strings": "on", "application_name": "", "session_authorization": "",
    "default_transaction_read_only": "on", "in_hot_standby": "off",
}  # fmt: skip
_FIXED = {"server_version", "server_encoding", "is_superuser", "integer_datetimes", "in_hot_standby",
          "session_authorization", "server_version_num", "prdp.remaining", "prdp.publish_at"}  # fmt: skip
_OWN = {"prdp.share": "", "prdp.explain": "off", "prdp.intervals": "on"}
_NO_SHARE = "this question would spend budget, and no share of it is set."
_NO_SHARE_HINT = "Write: SET prdp.share = 0.01; what has been answered already stays free."
_GIVES_NOTHING_BACK = "ROLLBACK gives nothing back: what was asked is spent."
_WRITES = (
    *(
        "insert",
        "update",
        "delete",
        "merge",
        "create",
        "alter",
        "drop",
        "truncate",
        "grant",
        "revoke",
        "copy",
    ),
    *(
        "comment",
        "vacuum",
        "analyze",
        "cluster",
        "reindex",
        "refresh",
        "do",
        "call",
        "lock",
        "import",
        "load",
    ),
    *("security", "prepare", "execute", "declare", "fetch", "move", "notify"),
)


@dataclass
class WireSession:
    """A connection after its login.

    Attributes:
        asker: Who asks.
        user: The name they logged in with.
        database: The name of the database that they connected to, which is any.
    """

    asker: WireAsker
    user: str
    database: str
    status: bytes = IDLE
    _settings: dict[str, str] = field(default_factory=dict)
    _spent: bool = False
    _publish_at: int | None = None

    def begin(self, options: Mapping[str, str]) -> dict[str, str]:
        """Take what a client sets when it connects; return the reply."""
        for name, value in options.items():
            self._set(name, value)
        reported = _REPORTED | {"session_authorization": self.user}
        return {name: self._setting(name) or value for name, value in reported.items()}

    # What a statement gives.

    def run(self, statement: SentStatement, literals: Sequence[str] = ()) -> WireResult | WaitUntil:
        """Run a statement."""
        self._refuse_in_failed(statement)
        made = self._VERBS.get(statement.verb)
        if made is not None:
            self.asker.person()
            return made(self, statement)
        if not statement.tokens:
            return WireResult("")
        text, explain = self._question_of(filled(statement, literals))
        if is_about_catalogue(text.text, self.asker.tables()):
            return self._catalogue().run(text.text, self._shown)
        return self._placed(statement, text, lambda: self._ask(text.text, explain=explain))

    def columns(
        self, statement: SentStatement, literals: Sequence[str] = ()
    ) -> tuple[WireColumn, ...] | None:
        """Return the columns that a statement will give; None for none."""
        self._refuse_in_failed(statement)
        if statement.verb == "show":
            return self._show_columns(statement)
        if statement.verb in self._VERBS or not statement.tokens:
            return None
        text, explain = self._question_of(filled(statement, literals))
        if is_about_catalogue(text.text, self.asker.tables()):
            return self._catalogue().run(text.text, self._shown).columns
        if explain:
            return _EXPLAINED
        return self._placed(statement, text, lambda: self._columns(self.asker.columns(text.text)))

    def columns_of_prepared(
        self, statement: SentStatement, literals: Sequence[str]
    ) -> tuple[WireColumn, ...] | None:
        """Return the columns that a statement will give whose parameters have no values yet."""
        if not statement.parameters or is_about_catalogue(statement.without_schema, self.asker.tables()):
            return self.columns(statement, literals)
        return self.columns(SentStatement(without_parameters(statement.without_schema)), literals)

    def parameters(self, statement: SentStatement) -> list[int]:
        """Return the types of a statement's parameters, by the columns that they are compared with."""
        if not statement.parameters:
            return []
        kinds = kinds_of_parameters(statement.without_schema, self.asker.tables())
        return [kinds.get(number, values.TEXT) for number in range(1, statement.parameters + 1)]

    def failed(self) -> None:
        """Note that a statement failed: a transaction does no more until it ends."""
        if self.status == OPEN:
            self.status = FAILED

    def _refuse_in_failed(self, statement: SentStatement) -> None:
        if self.status == FAILED and statement.verb not in ("rollback", "commit", "abort", "end"):
            raise WireError("25P02", "the transaction has failed: commands are ignored until it ends.")

    def _question_of(self, text: FilledStatement) -> tuple[FilledStatement, bool]:
        """Return a statement without EXPLAIN, and whether it is a dry run."""
        if len(text.text) > MAX_STATEMENT:
            raise WireError.of("too_large")
        found = re.match(r"\s*explain\s+(?:\([^)]*\)\s*|(?:verbose|analyze)\s+)?", text.text, re.IGNORECASE)
        if found is None:
            return text, self._settings.get("prdp.explain") == "on"
        return FilledStatement(" " * found.end() + text.text[found.end() :], text.shifts), True

    def _placed(self, statement: SentStatement, text: FilledStatement, work: Callable[[], Given]) -> Given:
        """Return what work returns; the place of a refusal is one of the text that was sent."""
        try:
            return work()
        except RequestRefused as refused:
            if refused.code == "not_signed_in":
                raise
            error = WireError.from_refusal(refused)
            if error.position:
                error.position = text.original(error.position - 1) + 1 + statement.offset
            raise error from None
        except ValidationError:
            raise WireError.of("too_large" if len(text.text) > MAX_STATEMENT else "invalid") from None

    # Questions.

    def _ask(self, text: str, *, explain: bool) -> WireResult | WaitUntil:
        share = self._settings.get("prdp.share", "")
        if explain:
            return self._explained(self.asker.plan(text, share or "0.01"))
        columns = self.asker.columns(text)
        free = self.asker.without_records(text)
        if free is not None:
            return self._shown_answers(free, columns)
        if not share:
            release = self.asker.repeat(text)
            if release is None:
                self.asker.plan(text, "0.01")  # what cannot be answered at all is refused for that
                raise WireError("53400", _NO_SHARE, _NO_SHARE_HINT)
            return self._answered(release, columns)
        plan = self.asker.plan(text, share)
        if plan["recorded"]:
            return self._answered(plan["recorded"], columns)
        request = self.asker.ask(text, share, plan["plan"])
        self._spent = True
        return self._look(str(request["id"]), columns)

    def _look(self, number: str, columns: tuple[PlannedColumn, ...]) -> WireResult | WaitUntil:
        """Return a request's answer, or when to look again."""
        request = self.asker.request(number)
        if request["state"] == "waiting":
            raise WireError(
                "53400",
                f"request {number} waits for a steward; nothing is spent before.",
                "Once it is approved, the same statement has an answer.",
            )
        if request["state"] == "queued":
            self._publish_at = int(request["publish_at"])
            again = max(float(self._publish_at), self.asker.service.clock() + _LONGEST_LOOK)
            return WaitUntil(again, lambda: self._look(number, columns))
        if request["state"] != "published" or request["failed"]:
            code = request["failed"] if request["failed"] in REFUSALS else "failed"
            raise WireError.of(code)
        return self._answered(str(request["release"]), columns)

    def _answered(self, release: str, columns: tuple[PlannedColumn, ...]) -> WireResult:
        return self._shown_answers(self.asker.answers(release), columns)

    def _shown_answers(self, answers: SqlAnswers, columns: tuple[PlannedColumn, ...]) -> WireResult:
        rows = _rows(answers, columns, intervals=self._settings.get("prdp.intervals") != "off")
        return WireResult(f"SELECT {len(rows)}", self._columns(columns), rows)

    def _columns(self, columns: tuple[PlannedColumn, ...]) -> tuple[WireColumn, ...]:
        found: list[WireColumn] = []
        intervals = self._settings.get("prdp.intervals") != "off"
        for column in columns:
            found.append(WireColumn(column.name, _TYPES[column.holds]))
            if column.interval and intervals:
                ends = [WireColumn(f"{column.name}_{end}", values.FLOAT8) for end in ("low", "high")]
                found += [*ends, WireColumn(f"{column.name}_flag", values.TEXT)]
        return tuple(found)

    def _explained(self, plan: Mapping[str, Any]) -> WireResult:
        """Return a dry run as rows."""
        lines = [
            ("cost", plan["cost"]), ("left alone", plan["left"]),
            ("left with approval", plan["left_approved"]),
            ("needs approval", "yes" if plan["needs_approval"] else "no"),
            ("has been answered", "yes" if plan["recorded"] else "no"),
            ("published in seconds", str(plan["publish_in"])), *map(tuple, plan["lines"]),
        ]  # fmt: skip
        return WireResult(f"SELECT {len(lines)}", _EXPLAINED, lines)

    # Settings.

    def _setting(self, name: str) -> str | None:
        known = {one.lower(): value for one, value in (SETTINGS | _REPORTED | _OWN).items()}
        return self._settings.get(name.lower(), known.get(name.lower()))

    def _shown(self, name: str) -> str | None:
        """Return a setting for a statement of the catalogue."""
        names = {"current_user": self.user, "current_database": self.database}
        return names.get(name) or self._setting(name)

    def _set(self, name: str, value: str) -> str:
        """Take a setting; return its value."""
        name = name.lower()
        if name in {one.lower() for one in _FIXED}:
            raise WireError("55P02", f"{name} cannot be changed.")
        if name == "client_encoding" and value.replace("-", "").lower() not in ("utf8", "unicode", "auto"):
            raise WireError("22023", "texts are sent in UTF-8 alone.", "Write: SET client_encoding = 'UTF8'")
        if name.startswith("prdp."):
            value = _own_value(name, value)
        if len(name) > 63 or len(value) > _MAX_VALUE or len(self._settings) >= MAX_SETTINGS:
            raise WireError.of("too_large")
        self._settings[name] = value
        return value

    def _do_set(self, statement: SentStatement) -> WireResult:
        listed = [token for token in statement.tokens[1:] if token.text != ";"]
        if (
            listed
            and listed[0].word in ("session", "local")
            and len(listed) > 1
            and listed[1].word not in ("=", "to")
        ):
            listed = listed[1:]
        words = [token.word for token in listed]
        if words[:1] == ["transaction"] or words[:1] == ["characteristics"]:
            if "write" in words:
                return WireResult("SET", notices=("nothing is ever written, whatever a transaction is.",))
            return WireResult("SET")
        if words[:2] == ["time", "zone"]:
            words, listed = ["timezone", "=", *words[2:]], [listed[0], listed[0], *listed[2:]]
        if words[:1] == ["names"]:
            words, listed = ["client_encoding", "=", *words[1:]], [listed[0], listed[0], *listed[1:]]
        at = next((k for k, word in enumerate(words) if word in ("=", "to")), 0)
        if not at or at == len(words) - 1:
            raise WireError(
                "42601", "a setting is written so: SET prdp.share = 0.01", position=statement.offset + 1
            )
        name = "".join(words[:at])
        value = "".join(_unquoted(token.text) for token in listed[at + 1 :])
        if value.lower() == "default":
            return self._reset(name)
        value = self._set(name, value)
        reported = next((one for one in _REPORTED if one.lower() == name), "")
        return WireResult("SET", reported={reported: value} if reported else {})

    def _reset(self, name: str) -> WireResult:
        self._settings.pop(name, None)
        return WireResult("SET")

    def _do_reset(self, statement: SentStatement) -> WireResult:
        name = "".join(token.word for token in statement.tokens[1:])
        if name == "all":
            self._settings.clear()
        self._reset(name)
        return WireResult("RESET")

    def _do_discard(self, _: SentStatement) -> WireResult:
        self._settings.clear()
        return WireResult("DISCARD ALL")

    def _show_name(self, statement: SentStatement) -> str:
        name = "".join(token.word for token in statement.tokens[1:])
        names = {"transactionisolationlevel": "transaction_isolation", "timezone": "TimeZone",
                 "sessionauthorization": "session_authorization"}  # fmt: skip
        return names.get(name, name)

    def _show_columns(self, statement: SentStatement) -> tuple[WireColumn, ...]:
        name = self._show_name(statement)
        if name == "prdp.remaining":
            return _REMAINING
        if name == "all":
            return (WireColumn("name", values.TEXT), WireColumn("setting", values.TEXT))
        return (WireColumn(name, values.TIMESTAMP if name == "prdp.publish_at" else values.TEXT),)

    def _do_show(self, statement: SentStatement) -> WireResult:
        name, columns = self._show_name(statement), self._show_columns(statement)
        rows: list[Any]
        if name == "prdp.remaining":
            rows = self.asker.remaining()
        elif name == "prdp.publish_at":
            at = self._publish_at
            rows = [(None if at is None else datetime.fromtimestamp(at, UTC).replace(tzinfo=None),)]
        elif name == "all":
            names = sorted({one.lower() for one in (*SETTINGS, *_REPORTED, *_OWN, *self._settings)})
            rows = [(one, self._setting(one)) for one in names]
        else:
            value = self._setting(name)
            if value is None:
                raise _unknown(name)
            rows = [(value,)]
        return WireResult("SHOW", columns, rows)

    # Transactions: there is nothing to write, and a charge is never given back.

    def _do_begin(self, _: SentStatement) -> WireResult:
        self.status, self._spent = OPEN, False
        return WireResult("BEGIN")

    def _do_commit(self, _: SentStatement) -> WireResult:
        tag = "ROLLBACK" if self.status == FAILED else "COMMIT"
        self.status = IDLE
        return WireResult(tag)

    def _do_rollback(self, statement: SentStatement) -> WireResult:
        if "to" in statement.words:
            self.status = OPEN
            return WireResult("ROLLBACK")
        notices = (_GIVES_NOTHING_BACK,) if self._spent else ()
        self.status, self._spent = IDLE, False
        return WireResult("ROLLBACK", notices=notices)

    def _do_savepoint(self, statement: SentStatement) -> WireResult:
        return WireResult(statement.verb.upper())

    def _do_nothing(self, statement: SentStatement) -> WireResult:
        return WireResult(statement.verb.upper())

    def _refuse_write(self, statement: SentStatement) -> WireResult:
        raise WireError(
            "25006", "only SELECT is answered: nothing is ever written.",
            "For example: SELECT COUNT(*) FROM accounts", statement.offset + statement.tokens[0].start + 1,
        )  # fmt: skip

    _VERBS: ClassVar[dict[str, Callable[[Any, SentStatement], WireResult]]] = {
        "set": _do_set, "reset": _do_reset, "show": _do_show, "discard": _do_discard, "begin": _do_begin,
        "start": _do_begin, "commit": _do_commit, "end": _do_commit, "rollback": _do_rollback,
        "abort": _do_rollback, "savepoint": _do_savepoint, "release": _do_savepoint,
        "listen": _do_nothing, "unlisten": _do_nothing, "close": _do_nothing, "deallocate": _do_nothing,
        "checkpoint": _do_nothing, **dict.fromkeys(_WRITES, _refuse_write),
    }  # fmt: skip

    def _catalogue(self) -> Catalogue:
        return self.asker.catalogue()


_EXPLAINED = (WireColumn("item", values.TEXT), WireColumn("value", values.TEXT))
_REMAINING = (
    WireColumn("table", values.TEXT), WireColumn("alone", values.NUMERIC),
    WireColumn("approved", values.NUMERIC), WireColumn("token", values.NUMERIC),
)  # fmt: skip


def _rows(answers: SqlAnswers, columns: tuple[PlannedColumn, ...], *, intervals: bool) -> list[list[Any]]:
    """Return the rows of answers, with the ends and flags of intervals if these are wanted."""
    rows = []
    for cells in answers.rows:
        row: list[Any] = []
        for column, cell in zip(columns, cells, strict=True):
            row.append(plain(cell))
            if column.interval and intervals:
                known = isinstance(cell, Release | ComputedAnswer)
                row += [*cell.interval(), cell.flag] if known else [None, None, None]  # type: ignore[union-attr]
        rows.append(row)
    return rows


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'") if text.startswith("'") else text.strip('"')


def _unknown(name: str) -> WireError:
    own = "prdp.share, prdp.explain, prdp.intervals, prdp.remaining and prdp.publish_at"
    return WireError("42704", f"there is no setting {name[:63]!r}.", f"Settings of prdp are {own}.")


def _own_value(name: str, value: str) -> str:
    """Return a value of one of prdp's settings in its form, or refuse it."""
    if name == "prdp.share":
        value = value.removesuffix(".0") if value in ("0.0", "1.0") else value
        if re.fullmatch(SHARE, value) is None or not float(value):
            raise WireError(
                "22023", "prdp.share is a decimal from 0 to 1, of at most 12 places.",
                "Write: SET prdp.share = 0.01",
            )  # fmt: skip
        return value
    if name not in _OWN:
        raise _unknown(name)
    switched = {"on": "on", "true": "on", "1": "on", "yes": "on",
                "off": "off", "false": "off", "0": "off", "no": "off"}.get(value.lower())  # fmt: skip
    if switched is None:
        raise WireError("22023", f"{name} is on or off.")
    return switched
