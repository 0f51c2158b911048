"""Traces of requests for OpenTelemetry, where the environment names a collector.

    OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 omnigraph-server …

A request is a span, a child of the caller's if it sends a `traceparent`. It says which route was asked for, never which names
or values are in it. Everything else is set by OpenTelemetry's own variables (`OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`, …).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from omnigraph.errors import UsageError
from omnigraph.model.versions import __version__
from omnigraph.surfaces.http.routing import ROUTE

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_WANTED: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def wanted(environment: Mapping[str, str]) -> bool:
    """Whether traces are to be sent anywhere."""
    return any(environment.get(name) for name in _WANTED) and environment.get("OTEL_SDK_DISABLED", "").lower() != "true"


class Telemetry:
    """What makes spans and sends them."""

    def __init__(self) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import SERVICE_NAME, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise UsageError(
                "traces are wanted (OTEL_EXPORTER_OTLP_ENDPOINT is set), and OpenTelemetry is not installed",
                hint="pip install 'omnigraph[telemetry]'",
            ) from None
        resource = Resource.create({SERVICE_NAME: "omnigraph-server"}).merge(Resource.create())
        self._provider: TracerProvider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

    def around(self, application: ASGIApp) -> ASGIApp:
        """The application, with a span around each request."""
        return _Traced(application, self._provider.get_tracer("omnigraph", __version__))

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


class _Traced:
    def __init__(self, application: ASGIApp, tracer: Any) -> None:
        self._application, self._tracer = application, tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        carried = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with self._tracer.start_as_current_span(scope["method"], extract(carried), SpanKind.SERVER) as span:
            span.set_attribute("http.request.method", scope["method"])

            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                    for name, value in message["headers"]:
                        if name == b"x-request-id":
                            span.set_attribute("omnigraph.request_id", value.decode("latin-1"))
                await send(message)

            await self._application(scope, receive, noted)
            route = scope.get(ROUTE)
            if route is not None:
                span.update_name(f"{scope['method']} {route.path}")
                span.set_attribute("http.route", route.path)
                span.set_attribute("omnigraph.operation", route.operation_id)
