"""The part of ClickHouse's HTTP interface that its Node client uses, in front of the engine in the package `chdb-core`.

Usage: server.py FOLDER IDENTITY. The environment may set SHIM_VERSION (the answer to `SELECT version()`), SHIM_DENY (a
regular expression; statements that match are refused as for a user without the right) and SHIM_USER with SHIM_PASSWORD. The
first line of standard output is the port on 127.0.0.1. The server ends when its standard input does.
"""

import base64
import gzip
import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from chdb import session

FOLDER, IDENTITY = sys.argv[1:3]
VERSION = os.environ.get("SHIM_VERSION")
DENY = os.environ.get("SHIM_DENY")
USER = (os.environ.get("SHIM_USER", "default"), os.environ.get("SHIM_PASSWORD", ""))
# Settings of an insert that the engine gets; others, such as those of the HTTP interface, have no meaning here.
INSERT_SETTINGS = ("insert_deduplication_token", "async_insert", "date_time_input_format")
CODE = re.compile(r"Code: (\d+)\.")
STATUS = {60: 404, 81: 404, 497: 403, 516: 403}

engine = session.Session(FOLDER)
turn = threading.Lock()


def run(database, sql):
    with turn:
        if database and database != "default":
            engine.query(f"USE `{database}`")
        else:
            engine.query("USE default")
        return engine.query(sql, "TabSeparated").bytes()


def statement(parameters, body):
    query = parameters.get("query", "")
    if not query:
        return body
    values = {name: parameters[name] for name in INSERT_SETTINGS if name in parameters}
    if values and re.match(r"\s*INSERT\b", query, re.I):
        settings = ", ".join(f"{name} = '{value}'" for name, value in values.items())
        query = re.sub(r"\bFORMAT\b", lambda _: f"SETTINGS {settings} FORMAT", query, count=1)
    return f"{query}\n{body}" if body else query


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer_request("")

    def do_POST(self):
        self.answer_request(self.read_body())

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            chunks = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            body = b"".join(chunks)
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return (gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body).decode()

    def answer_request(self, body):
        url = urlsplit(self.path)
        parameters = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        if url.path == "/ping":
            return self.answer(200, b"Ok.\n")
        if url.path == "/identity":
            return self.answer(200, IDENTITY.encode())
        if not self.is_known():
            return self.refuse("Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)")
        sql = statement(parameters, body)
        if DENY and re.search(DENY, sql, re.I):
            return self.refuse("Code: 497. DB::Exception: Not enough privileges. (ACCESS_DENIED)")
        if VERSION:
            sql = sql.replace("version()", f"'{VERSION}'")
        try:
            answer = run(parameters.get("database"), sql)
        except Exception as error:
            return self.refuse(str(error))
        return self.answer(200, answer)

    def is_known(self):
        given = self.headers.get("Authorization", "")
        if given.startswith("Basic "):
            return tuple(base64.b64decode(given[6:]).decode().split(":", 1)) == USER
        return USER == ("default", "")

    def refuse(self, text):
        match = CODE.search(text)
        code = int(match[1]) if match else 1002
        self.answer(STATUS.get(code, 500), f"{text}\n".encode(), {"X-ClickHouse-Exception-Code": str(code)})

    def answer(self, status, body, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-ClickHouse-Summary", json.dumps({"read_rows": "0", "written_rows": "0"}))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that is killed closes its connections.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def end_with_input():
    sys.stdin.read()
    os._exit(0)


server = Server(("127.0.0.1", int(os.environ.get("SHIM_PORT", "0"))), Handler)
threading.Thread(target=end_with_input, daemon=True).start()
print(server.server_address[1], flush=True)
server.serve_forever()
