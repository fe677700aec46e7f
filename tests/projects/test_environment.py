"""A project file takes whole addresses from the environment alone, and is read only if it is yours."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import prdp
from prdp.errors import InvalidRequest
from prdp.projects.fields import FILES, JOIN, PAIRS, PUBLIC, TABLE, TEXT
from prdp.safety.database_address import holds_password
from tests.collector.recording import recorder

SECRET = "hush-4711"  # noqa: S105  (made up)
SOMEBODY = 4711
NEEDED = {
    "tables": {"source": '"t.csv"', "policy": '"1"', "types": '{ x = "BIGINT" }'},
    "joins": {
        "tables": '{ a = "t.csv", b = "t2.csv" }', "private": '"a"', "key": '"x"', "policy": '"1"',
        "references": '{ "b.x" = "a.x" }', "types": '{ a = { x = "BIGINT" }, b = { x = "BIGINT" } }',
    },
}  # fmt: skip
FORMS = [(TEXT, '"{}"'), (FILES, '"{}"'), (FILES, '["{}"]'), (PAIRS, '{{ a = "{}", b = "t2.csv" }}')]
PLACES = [
    (section, key, form)
    for section, fields in {"tables": TABLE, "joins": JOIN}.items()
    for key, field in fields.items()
    for kind, form in FORMS
    if field.kind is kind
]
"""Every key of a project file that holds a text, a list of them or texts by name."""

HOSTILE: list[Callable[[int], str]] = [
    lambda port: f"postgresql://${{PRDP_SECRET}}@127.0.0.1:{port}/db",
    lambda port: f"postgresql://ana:${{PRDP_SECRET}}@127.0.0.1:{port}/db",
    lambda port: f"postgresql://127.0.0.1:{port}/${{PRDP_SECRET}}",
    lambda port: f"postgresql://127.0.0.1:{port}/db?application_name=${{PRDP_SECRET}}",
    lambda port: f"clickhouse://ana:${{PRDP_SECRET}}@127.0.0.1:{port}/db",
    lambda port: f"mariadb://${{PRDP_SECRET}}@127.0.0.1:{port}/db",
    lambda port: f"http://127.0.0.1:{port}/${{PRDP_SECRET}}.parquet",
    lambda port: f"s3://${{PRDP_SECRET}}/a.parquet?endpoint=127.0.0.1:{port}",
    lambda _: "${PRDP_SECRET}",
    lambda _: "${PRDP_SECRET}.csv",
    lambda _: "${PRDP_SECRET",
    lambda _: "../${PRDP_SECRET}/a.csv",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("t.csv", "t2.csv"):
        (tmp_path / name).write_text("x\n1\n2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRDP_SECRET", SECRET)
    return tmp_path


def declared(section: str, changed: dict[str, str]) -> str:
    lines = NEEDED[section] | changed
    if any("://" in value or "${" in value for value in changed.values()):
        del lines["types"]  # a database states its own
    return f"[{section}.t]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items())


def said_by(folder: Path) -> str:
    """Return all that opening and asking the project says."""
    try:
        project = prdp.project()
        project.sql("SELECT COUNT(*) FROM t", share="1/10")
    except prdp.PrdpError as error:
        return str(error)
    return repr(project)


@pytest.mark.parametrize(("section", "key", "form"), PLACES)
def test_no_secret_of_the_environment_goes_anywhere(folder: Path, section: str, key: str, form: str) -> None:
    """Whatever key a hostile project file writes it into."""
    with recorder(lambda _: b"") as other:
        for hostile in HOSTILE:
            (folder / "prdp.toml").write_text(declared(section, {key: form.format(hostile(other.port))}))
            assert SECRET not in said_by(folder)
    assert not [request for request in other.requests if SECRET.encode() in request]
    written = [path for path in folder.rglob("*") if SECRET in path.name]
    assert written == []
    assert not [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("scheme", ["postgresql", "clickhouse"])
def test_what_a_project_sends_to_a_host_is_seen_by_these_tests(folder: Path, scheme: str) -> None:
    with recorder(lambda _: b"") as other:
        source = f'"{scheme}://seen@127.0.0.1:{other.port}/db?connect_timeout=2"'
        (folder / "prdp.toml").write_text(declared("tables", {"source": source, "table": '"t"'}))
        said_by(folder)
    assert other.requests


@pytest.mark.parametrize(("section", "key", "form"), PLACES)
@pytest.mark.parametrize(
    "address",
    ["postgresql://ana:hush@h/db", " postgresql://ana:hush@h/db", "POSTGRESQL://ana:hush@h/db",
     "postgresql://ana:hu/sh@h/db", "postgresql://h/db?password=hush", "postgresql://h/db?sslpassword=hush",
     "postgresql://h/db?PassWord=hush", "postgresql://h/db?%70assword=hush", "clickhouse://ana:hush@h/db",
     "mariadb+pymysql://ana:hush@h/db", "mariadb://h/db?passwd=hush", "https://ana:hush@h/a.parquet",
     "postgresql://ana:hu@sh@h/db", "postgresql://ana:${HUSH}@h/db", "snowflake://h/db?token=hush"],
)  # fmt: skip
def test_a_password_in_any_key_is_refused_and_not_repeated(
    folder: Path, section: str, key: str, form: str, address: str
) -> None:
    (folder / "prdp.toml").write_text(declared(section, {key: form.format(address)}))
    with pytest.raises(InvalidRequest, match=re.escape(key)) as refused:
        prdp.project()
    assert "hush" not in str(refused.value)
    assert "hu@sh" not in str(refused.value)


def test_a_password_in_a_public_table_s_place_is_refused(folder: Path) -> None:
    text = declared("tables", {}) + f'[{PUBLIC}]\nregions = "https://ana:hush@h/regions.csv"\n'
    (folder / "prdp.toml").write_text(text)
    with pytest.raises(InvalidRequest, match="holds a password") as refused:
        prdp.project()
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    ["postgresql://ana@host:5432/db", "postgresql://ana:@host/db", "clickhouse://host:8123/db", "a.csv",
     "postgresql://h/db?sslkey=/home/ana/key.pem&passfile=/home/ana/.pgpass", "C:\\data\\a.csv",
     "10000 / balance", "sc://host:15002"],
)  # fmt: skip
def test_an_address_without_a_password_is_none_with_one(address: str) -> None:
    assert not holds_password(address)


def test_a_variable_holds_a_whole_address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "prdp.toml").write_text(declared("tables", {"source": '"${BANK_URL}"', "table": '"t"'}))
    monkeypatch.setenv("BANK_URL", "postgresql://ana:hush@127.0.0.1:1/bank")
    with pytest.raises(prdp.PrdpError, match="no server answers there") as down:
        prdp.project()["t"]
    assert "hush" not in str(down.value)
    monkeypatch.setenv("BANK_URL", "https://hush@errors.example/7")
    with pytest.raises(InvalidRequest, match="BANK_URL holds no address of a database") as refused:
        prdp.project()["t"]
    assert "hush" not in str(refused.value)


needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files to somebody else"
)


@needs_root
@pytest.mark.parametrize("whose", ["file", "folder", "link", "target"])
def test_a_project_of_somebody_else_is_refused(
    folder: Path, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "prdp.toml"
    file.write_text(declared("tables", {}))
    below = folder / "mine" / "deep"
    below.mkdir(parents=True)
    if whose in {"link", "target"}:
        file.rename(folder / "real.toml")
        file.symlink_to("real.toml")
    prdp.project()
    given = {"folder": folder, "file": file, "link": file, "target": folder / "real.toml"}[whose]
    os.chown(given, SOMEBODY, SOMEBODY, follow_symlinks=False)
    for way in (None, file, folder):
        with pytest.raises(InvalidRequest, match=f"PRDP_SAFE_FOLDERS={folder}"):
            prdp.project(way)
    monkeypatch.chdir(below)
    with pytest.raises(InvalidRequest, match="owned by somebody else"):
        prdp.project()
    for unsafe in (str(folder.parent), str(below), "*", "", ".", "../.."):
        monkeypatch.setenv("PRDP_SAFE_FOLDERS", unsafe)
        with pytest.raises(InvalidRequest, match="owned by somebody else"):
            prdp.project()
    monkeypatch.setenv("PRDP_SAFE_FOLDERS", os.pathsep.join([str(folder.parent), str(folder)]))
    assert list(prdp.project()) == ["t"]


@needs_root
def test_who_called_sudo_owns_what_is_theirs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "prdp.toml").write_text(declared("tables", {}))
    os.chown(folder / "prdp.toml", SOMEBODY, SOMEBODY)
    monkeypatch.setenv("SUDO_UID", str(SOMEBODY))
    assert list(prdp.project()) == ["t"]
    monkeypatch.setenv("SUDO_UID", str(SOMEBODY + 1))
    with pytest.raises(InvalidRequest, match="owned by somebody else"):
        prdp.project()


@needs_root
def test_the_administrator_s_project_is_anybody_s(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of root's, seen by a user who is not root."""
    (folder / "prdp.toml").write_text(declared("tables", {}))
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    assert list(prdp.project()) == ["t"]
    monkeypatch.setenv("SUDO_UID", str(SOMEBODY + 1))  # means nothing to who is not root
    os.chown(folder / "prdp.toml", SOMEBODY + 1, SOMEBODY)
    with pytest.raises(InvalidRequest, match="owned by somebody else"):
        prdp.project()
