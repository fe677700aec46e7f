"""``prdp serve --wire`` from the shell: a token, a certificate, psql, and a token that is revoked."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.serving import COUNT, write_project
from tests.tools import program

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PATIENCE = 300


def environment() -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return known | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}


def prdp(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "prdp", *words], cwd=folder, env=environment(), capture_output=True,
        text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip


def test_a_token_of_the_command_line_asks_until_it_is_revoked(tmp_path: Path) -> None:
    tool = program("postgres", "psql is not installed", name="psql")
    write_project(tmp_path)
    assert prdp(tmp_path, "serve", "init").returncode == 0
    assert prdp(tmp_path, "serve", "invite", "ana", "--table", "visits", "--alone", "0.1").returncode == 0
    wrong = prdp(tmp_path, "serve", "token", "nobody.laptop")
    assert (wrong.returncode, "there is no 'nobody'" in wrong.stderr) == (2, True)
    password = prdp(tmp_path, "serve", "token", "ana.laptop", "--cap", "0.02").stdout.strip()
    assert re.fullmatch("prdp_[0-9a-f]{64}", password)
    again = prdp(tmp_path, "serve", "token", "ana.laptop")
    assert (again.returncode, "there is a token of this label" in again.stderr) == (2, True)
    command = [sys.executable, "-m", "prdp", "serve", "--port", "0", "--wire", "0", "--deadline", "1"]
    server = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        told = server.stderr.readline()
        found = re.search(r'psql "(host=127.0.0.1 port=\d+ dbname=prdp sslmode=require) user=', told)
        assert found, told
        assert stat.S_IMODE((tmp_path / "prdp.wire.key").stat().st_mode) == 0o600
        given = found[1].replace("require", "verify-full sslrootcert=prdp.wire.crt")

        def psql(*statements: str) -> str:
            done = subprocess.run(
                [tool, f"{given} user=ana.laptop password={password}", "-XA",
                 *(part for one in statements for part in ("-c", one))],
                cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
                timeout=PATIENCE,
            )  # fmt: skip
            return done.stdout + done.stderr

        said = psql("SET prdp.share = 0.015", COUNT, f"{COUNT} WHERE days < 5", "SHOW prdp.remaining")
        assert "n|n_low|n_high|n_flag" in said
        assert "this token may spend less than the question asks for." in said
        assert "visits|0.005|0|0.005" in said
        assert prdp(tmp_path, "serve", "token", "ana.laptop", "--revoke").returncode == 0
        assert "the name or the password is wrong" in psql("SELECT 1")
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)
