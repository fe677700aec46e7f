"""A server that speaks ClickHouse's HTTP protocol, its statements run by chDB, which is ClickHouse itself.

Run as a process of its own, so that it can be killed. In its folder, a file ``profile`` holds settings that
an administrator has made for all users, ``cut`` lets the server break off in the middle of an answer, and
``log`` has a line for each statement as it begins.
"""

from __future__ import annotations

import re
import ssl
import sys
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from chdb.session import Session

USER, PASSWORD = "ana", "s3cret:/@?"
_TRANSPORT = {"database", "query", "query_id", "default_format", "wait_end_of_query", "session_id", "role"}
_IGNORED = {"compress", "decompress", "client_protocol_version", "enable_http_compression"}
_HOW_FAR = re.compile(r"query_id = '([\w-]+)'")
_KILL = re.compile(r"KILL QUERY WHERE query_id = '([\w-]+)'")


class Front(BaseHTTPRequestHandler):
    """Answers requests; each has a session of its own, as a request without a session has in ClickHouse."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def do_GET(self) -> None:
        self.answer(b"Ok.\n", 200)

    def do_POST(self) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        sql = "\n".join(part for part in (given.get("query", ""), body) if part)
        known = "Basic " + b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != known:
            name = "Code: 516. DB::Exception: ana: Authentication failed. (AUTHENTICATION_FAILED)"
            self.answer(name.encode(), 403)
            return
        try:
            found = self.run(sql, given)
        except Exception as error:
            self.answer(str(error).encode(), 500)
            return
        self.answer(found, 200, cut=(self.folder / "cut").exists() and "prdp-" in given.get("query_id", ""))

    def run(self, sql: str, given: dict[str, str]) -> bytes:
        session = Session(str(self.folder / "data"))
        try:
            if (self.folder / "profile").exists():
                session.query(f"SET {(self.folder / 'profile').read_text()}")
            session.query(f"USE `{given.get('database', 'default')}`")
            settings = {name: value for name, value in given.items() if name not in _TRANSPORT | _IGNORED}
            if settings:
                listed = ", ".join(f"{name} = '{value}'" for name, value in settings.items())
                session.query(f"SET {listed}")
            if stopped := _KILL.match(sql):
                sql = f"KILL QUERY WHERE query LIKE '/* {stopped[1]} */%' ASYNC"
            if "system.processes" in sql:
                sql = _HOW_FAR.sub(r"startsWith(query, '/* \1 */')", sql)
            with (self.folder / "log").open("a") as log:
                log.write(f"{given.get('query_id', '')} {sql[:30]!r}\n")
            marked = f"/* {given.get('query_id', '')} */ {sql}"
            found: bytes = session.query(marked, given.get("default_format", "TabSeparated")).bytes()
            return found
        finally:
            session.close()

    def answer(self, body: bytes, status: int, *, cut: bool = False) -> None:
        self.send_response(status)
        code = re.match(rb"Code: (\d+)", body)
        if status != 200 and code:
            self.send_header("X-ClickHouse-Exception-Code", code[1].decode())
        self.send_header("X-ClickHouse-Summary", "{}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = cut

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(folder: str, *certificate: str) -> None:
    Front.folder = Path(folder)
    keeps_open = Session(str(Front.folder / "data"))
    keeps_open.query("CREATE DATABASE IF NOT EXISTS bank ENGINE = Atomic")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
