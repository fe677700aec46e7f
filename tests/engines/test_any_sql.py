"""The record of passed checks, and the databases that prdp has no SQL for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prdp.engines.mariadb import engine as checks
from prdp.errors import InvalidRequest
from prdp.testing.engine_check import place_for

engines: Any = pytest.importorskip("prdp.engines.mariadb.engine")


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))


def test_a_pass_is_of_one_dialect_one_server_and_one_version_of_prdp(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not checks.has_passed("mariadb", "11.4")
    checks.note_pass("mariadb", "10.11", 25)
    path = checks.note_pass("mariadb", "11.4", 25)
    checks.note_pass("mariadb", "11.4", 26)
    assert [one["claims"] for one in json.loads(path.read_text())] == [25, 26]
    assert checks.has_passed("mariadb", "11.4")
    assert not checks.has_passed("mariadb", "11.5")
    assert not checks.has_passed("trino", "11.4")
    monkeypatch.setattr(checks, "own_version", lambda: "0")
    assert not checks.has_passed("mariadb", "11.4")


@pytest.mark.parametrize("kept", ["", "{}", "[1]", '[{"dialect": "mariadb"}]', "\0"])
def test_a_broken_record_of_passes_passes_nothing(kept: str) -> None:
    path = checks.checks_file()
    path.parent.mkdir(parents=True)
    path.write_text(kept)
    assert not checks.has_passed("mariadb", "11.4")
    checks.note_pass("mariadb", "11.4", 25)
    assert checks.has_passed("mariadb", "11.4")


@pytest.mark.parametrize("scheme", ["snowflake", "bigquery", "trino", "snowflake+other"])
def test_databases_without_sql_of_ours_are_refused_and_guessed_by_nobody(scheme: str) -> None:
    with pytest.raises(InvalidRequest, match="never run by us on the real thing") as refused:
        engines.open_source(f"{scheme}://ana:secret@host/bank", None, table="people")
    assert "secret" not in str(refused.value)
    with (
        pytest.raises(InvalidRequest, match="nothing is guessed"),
        place_for(f"{scheme}://ana:secret@host/bank"),
    ):
        pass
