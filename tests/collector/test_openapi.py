"""The OpenAPI description is what the server does: schemathesis asks everything that it describes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from prdp.collector.wire import STATUS
from tests.collector.running import ROOT, Server, begun, jobs_plan
from tests.tools import program

_PLACES = os.pathsep.join((str(ROOT / ".venv-openapi" / "bin"), os.environ.get("PATH", "")))
EXAMPLES = 25
CONFIG = """
[checks.positive_data_acceptance]  # a report may have the format and not the form of its campaign, or be late
expected-statuses = ["2xx", 401, 403, 404, 409, 410, 422]

[checks.negative_data_rejection]  # a batch of too many reports
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("described") / "study.collect"
    begun(path, jobs_plan())
    with Server(path) as server:
        yield server


def test_every_refusal_of_a_report_is_described(server: Server) -> None:
    described = server.ask("/openapi.json").facts["paths"]
    assert set(described) == {
        "/v1/study", "/v1/campaign", "/v1/campaigns/{digest}", "/v1/result", "/v1/health", "/v1/reports",
        "/v1/batches", "/v1/operator/close", "/v1/operator/tickets",
    }  # fmt: skip
    known = set(described["/v1/reports"]["post"]["responses"])
    refused = {"wrong_version", "no_ticket", "unknown_ticket", "too_slow", "ticket_used", "late", "too_large",
               "wrong_type", "wrong_form", "too_many", "storage"}  # fmt: skip
    assert {str(STATUS[code]) for code in refused} | {"200", "201"} <= known


@pytest.mark.slow
def test_schemathesis_finds_nothing_that_is_not_as_described(server: Server, tmp_path: Path) -> None:
    schemathesis = program("schemathesis", "make test-all installs schemathesis", path=_PLACES)
    (tmp_path / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
    ran = subprocess.run(
        [
            schemathesis, "--config-file", "schemathesis.toml", "run", f"{server.url}/openapi.json",
            "--phases=examples,coverage,fuzzing",
            "--max-examples", str(EXAMPLES), "--seed", "20261116", "--no-color", "--generation-database=none",
            "--request-timeout", "60",
        ],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert server.ask("/v1/health").facts == {"ready": True}
    assert server.ask("/v1/study").facts["rounds"][0]["reports"] == 0
