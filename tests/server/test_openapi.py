"""The OpenAPI description is what the server does: schemathesis asks everything that it describes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from prdp.server.front import ROUTES
from tests.collector.test_openapi import EXAMPLES
from tests.server.running import ROOT, Running, begun
from tests.server.serving import Served, write_project
from tests.tools import program

_PLACES = os.pathsep.join((str(ROOT / ".venv-openapi" / "bin"), os.environ.get("PATH", "")))
CONFIG = """
[checks.positive_data_acceptance]  # a form says nothing of names, tables, statements, budgets and scopes
expected-statuses = ["2xx", 400, 401, 402, 403, 404, 409, 410, 422]

[checks.negative_data_rejection]  # a key beside those that a query has is ignored
expected-statuses = [400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 422]
"""


def test_every_route_is_described_with_its_refusals(served: Served) -> None:
    described = served.ask("GET", "/openapi.json").facts["paths"]
    for route in ROUTES:
        known = set(described[route.path][route.method.lower()]["responses"])
        assert {str(status) for status in route.statuses} <= known
        assert {"400", "401", "403", "404", "429", "500", "503"} <= known
        assert ("requestBody" in described[route.path][route.method.lower()]) == (route.body is not None)
    assert sum(map(len, described.values())) == len(ROUTES)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with begun(write_project(tmp_path), "ana", alone="1") as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("who", ["ana", "olga"])
def test_schemathesis_finds_nothing_that_is_not_as_described(
    server: Running, tmp_path: Path, who: str
) -> None:
    schemathesis = program("schemathesis", "make test-all installs schemathesis", path=_PLACES)
    (tmp_path / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
    address = f"http://127.0.0.1:{server.port}"
    ran = subprocess.run(
        [
            schemathesis, "--config-file", "schemathesis.toml", "run", f"{address}/openapi.json",
            "--header", f"Authorization: Bearer {server.tokens[who]}", "--phases=examples,coverage,fuzzing",
            "--max-examples", str(EXAMPLES), "--seed", "20261119", "--no-color",
            "--generation-database=none", "--request-timeout", "60",
        ],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert server.ask("GET", "/healthz") == (204, None)
