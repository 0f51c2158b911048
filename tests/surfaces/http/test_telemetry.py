"""Traces arrive at a collector, as children of the caller's, and say neither names nor values."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.surfaces.http.conftest import people, serving

from omnigraph.errors import UsageError
from omnigraph.surfaces.http.process.telemetry import Telemetry, wanted

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(HTTPServer):
    """Takes what is exported over HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.bodies: list[bytes] = []


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_requests_are_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = Collector()
    Thread(target=collector.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
    with serving(people(tmp_path)) as running, running.client() as ada:
        ada.get("/branches/secret%2Fname", headers={"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-Id": "mine"})
        ada.get("/nowhere")
    collector.shutdown()
    exported = [ExportTraceServiceRequest.FromString(body) for body in collector.bodies]
    spans = [s for e in exported for r in e.resource_spans for scope in r.scope_spans for s in scope.spans]
    (first,) = (s for s in spans if s.trace_id.hex() == TRACE)
    said = {a.key: a.value.string_value or a.value.int_value for a in first.attributes}
    assert (first.name, first.parent_span_id.hex()) == ("GET /graphs/{graph_id}/branches/{branch}", PARENT)
    assert (said["http.response.status_code"], said["omnigraph.request_id"]) == (404, "mine")
    assert len(spans) == 2
    assert b"secret" not in b"".join(collector.bodies)


def test_when_traces_are_wanted() -> None:
    assert not wanted({})
    assert wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"})
    assert not wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"})


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(UsageError, match="not installed") as told:
        Telemetry()
    assert "omnigraph[telemetry]" in told.value.hint
