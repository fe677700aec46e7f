"""No argument of any command may hold a password, and none that does is repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prdp.cli.app import COMMANDS, loaded
from tests.cli.running import quickly

HUSH = "hush4711"
ADDRESSES = [
    f"postgresql://ana:{HUSH}@127.0.0.1:1/db",
    f"postgresql://127.0.0.1:1/db?password={HUSH}",
    f"https://ana:{HUSH}@127.0.0.1:1",
    f"clickhouse://ana:{HUSH}@127.0.0.1:1/db",
    f"jdbc:postgresql://127.0.0.1:1/db?user=ana&password={HUSH}",
    f"host=127.0.0.1 port=1 password='{HUSH}'",
    f"Driver={{Any}};Server=127.0.0.1;Uid=ana;Pwd={HUSH};",
]


def commands(found: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command below one, with the words that call it."""
    inner = getattr(found, "commands", {})
    if not inner:
        yield path, found
    for name, one in inner.items():
        yield from commands(one, (*path, name))


def calls() -> Iterator[tuple[str, ...]]:
    """Yield, for every parameter of every command that takes a text, a call with ADDRESS in its place."""
    for name in COMMANDS:
        for path, command in commands(loaded(name), (name,)):
            for parameter in command.params:
                if getattr(parameter, "is_flag", False):
                    continue
                if parameter.param_type_name == "argument":
                    yield (*path, "ADDRESS")
                else:
                    option = max(parameter.opts, key=len)
                    yield (*path, option, "ADDRESS")
                    yield (*path, f"{option}=ADDRESS")


CALLS = list(dict.fromkeys(calls()))


def test_the_calls_are_those_of_every_command() -> None:
    assert {call[0] for call in CALLS} == set(COMMANDS)
    assert ("collect", "init", "ADDRESS") in CALLS
    assert ("collect", "status", "ADDRESS") in CALLS
    assert ("engine", "check", "ADDRESS") in CALLS
    assert ("ask", "--database", "ADDRESS") in CALLS


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_password_in_any_argument_is_refused_and_not_repeated(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for call in CALLS:
        ran = quickly(*(word.replace("ADDRESS", address) for word in call))
        assert ran.exit_code == 2, call
        assert "an address on the command line holds a password" in " ".join(ran.stderr.split()), call
        assert HUSH not in ran.output + ran.stderr, call
        assert list(tmp_path.iterdir()) == [], call


@pytest.mark.parametrize(
    "call",
    [
        ("ledger", "${PRDP_HUSH}"),
        ("ledger", "x${PRDP_HUSH}"),
        ("collect", "status", "${PRDP_HUSH}"),
        ("collect", "status", "http://127.0.0.1:1/${PRDP_HUSH}"),
        ("collect", "close", "${PRDP_HUSH}"),
        ("collect", "result", "${PRDP_HUSH}"),
        ("collect", "serve", "${PRDP_HUSH}"),
        ("collect", "init", "${PRDP_HUSH}", "--name", "n", "--policy", "1"),
        ("engine", "check", "${PRDP_HUSH}"),
        ("engine", "check", "clickhouse://127.0.0.1:1/${PRDP_HUSH}"),
        ("ask", "SELECT COUNT(*) FROM t", "--table", "t", "--database", "${PRDP_HUSH}", "--policy", "1",
         "--share", "0.1"),
        ("ask", "SELECT COUNT(*) FROM t", "--table", "${PRDP_HUSH}.csv", "--policy", "1", "--share", "0.1"),
        ("ask", "SELECT COUNT(*) FROM t", "--table", "t.csv", "--policy", "1", "--share", "0.1",
         "--ledger", "${PRDP_HUSH}"),
        ("init", "t", "--database", "${PRDP_HUSH}", "--policy", "1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_variable_that_holds_no_address_is_not_repeated(
    call: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRDP_HUSH", HUSH)
    ran = quickly(*call)
    assert ran.exit_code == 2, ran.output
    assert HUSH not in ran.output + ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
