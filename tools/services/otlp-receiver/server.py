"""A receiver of OTLP over HTTP that reads requests with the official protobufs of the package `opentelemetry-proto`.

Usage: server.py FOLDER IDENTITY. It adds each request for spans as a line of OTLP's JSON to FOLDER/traces.json, and each one for
metrics to FOLDER/metrics.json. A request that is no message of its kind, or has a field that the protobufs do not know, is
refused with 400. The first line of standard output is the port on 127.0.0.1, which RECEIVER_PORT chooses. The server ends when its standard input does.
"""

import base64
import gzip
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import unknown_fields
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

FOLDER, IDENTITY = sys.argv[1:3]
KINDS = {
    "/v1/traces": ("traces.json", traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse),
    "/v1/metrics": ("metrics.json", metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
}
# JSON of OTLP has these ids in hexadecimal digits, other than JSON of protobuf.
IDS = ("traceId", "spanId", "parentSpanId")

turn = threading.Lock()


def otlp_json(value):
    if isinstance(value, list):
        return [otlp_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64decode(own).hex() if key in IDS else otlp_json(own) for key, own in value.items()}


def has_unknown(message):
    if len(unknown_fields.UnknownFieldSet(message)) > 0:
        return True
    for _field, value in message.ListFields():
        parts = value if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)) else [value]
        if any(isinstance(part, Message) and has_unknown(part) for part in parts):
            return True
    return False


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200 if self.path == "/identity" else 404, IDENTITY.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path not in KINDS or self.headers.get("content-type") != "application/x-protobuf":
            return self.answer(404 if self.path not in KINDS else 415, b"")
        name, request, response = KINDS[self.path]
        try:
            plain = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            message = request.FromString(plain)
        except (DecodeError, OSError, EOFError):
            return self.answer(400, b"")
        if has_unknown(message):
            return self.answer(400, b"")
        with turn, open(os.path.join(FOLDER, name), "a", encoding="utf-8") as lines:
            lines.write(json.dumps(otlp_json(MessageToDict(message))) + "\n")
        self.answer(200, response().SerializeToString())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that is killed closes its connections.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", int(os.environ.get("RECEIVER_PORT", "0"))), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
