"""The process: it binds, says where, serves until it is told to stop, and lets requests end before it does.

    SIGTERM, SIGINT   stop accepting, let requests end, exit 0
    SIGHUP            read again what is to be served, and serve it (`activation`)

With several workers this process holds the socket and the workers accept from it. A worker that dies is started again; what it
was answering is lost to its clients, what it had committed is not. Connections that wait are answered by the others.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from threading import Event
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from omnigraph.errors import UsageError
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.process.activation import Activation, Source
from omnigraph.surfaces.http.process.allocator import GIVEN_BACK_EVERY, give_back, keep_what_is_there, share_heaps
from omnigraph.surfaces.http.process.background import BackgroundEmbedding
from omnigraph.surfaces.http.process.connections import BoundedConnection
from omnigraph.surfaces.http.process.given import GivenGraphs
from omnigraph.surfaces.http.process.limits import Limits, audit_sink
from omnigraph.surfaces.http.process.metrics import FOLDER
from omnigraph.surfaces.http.process.settings import Access, ServerSettings
from omnigraph.surfaces.http.process.telemetry import Telemetry, wanted
from omnigraph.surfaces.http.revisions import Revision
from omnigraph.wire.contract import HEADER

_log = logging.getLogger("omnigraph.http")

_BACKLOG: Final = 2_048
_SWITCH_SECONDS: Final = 0.0005
"""How soon a thread gives way: a slow read may not hold up the event loop for longer."""

_RESTART_SECONDS: Final = 0.5
_WORKER: Final = "omnigraph.surfaces.http.process.worker"


def new_token() -> str:
    """A token nobody can guess."""
    return secrets.token_urlsafe(24)


def source_of(settings: ServerSettings) -> Source:
    """Where it is written what to serve."""
    if settings.cluster is None:
        return GivenGraphs(settings, os.environ)
    from omnigraph.surfaces.http.process.clustered import ClusterGraphs

    return ClusterGraphs(settings, os.environ)


def run(settings: ServerSettings, on_start: Callable[[], object] = lambda: None) -> int:
    """Serve until told to stop. Gives the exit code. `on_start` is called when it listens, before it says where."""
    share_heaps()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])  # until somebody takes it: it would end the process
    listening = listen(settings)
    if settings.access is Access.OPEN and not _is_loopback(settings.address[0]):
        _log_plainly(f"warning: {settings.bind} is open to the network, and no token is asked for")
    host, port = listening.getsockname()[:2]
    where = f"OMNIGRAPH_LISTEN_ADDR={f'[{host}]' if ':' in host else host}:{port}"
    if settings.workers > 1:
        return _supervise(settings, listening, lambda: (on_start(), print(where, flush=True)))
    set_up_logging(settings)
    source = source_of(settings)
    return serve(source, source.load(), settings, listening, lambda: (on_start(), print(where, flush=True)))


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def _log_plainly(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def listen(settings: ServerSettings) -> socket.socket:
    """The socket to accept from."""
    host, port = settings.address
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
    except OSError as error:
        raise UsageError(f"cannot listen at {settings.bind}: {error.strerror}", hint="Choose another address or port.") from None
    found.setblocking(False)
    return found


class _Server(uvicorn.Server):
    """Uvicorn's server with our signals: it ends as a success when it was told to end."""

    def __init__(
        self,
        config: uvicorn.Config,
        application: Application,
        activation: Activation,
        embedding: BackgroundEmbedding,
        on_start: Any,
    ) -> None:
        super().__init__(config)
        self._embedding = embedding
        self._application, self._activation, self._on_start = application, activation, on_start
        self._reload = False
        self._gave_back = time.monotonic()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._application.state = "draining"
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._reload = True  # what comes of it is begun in the event loop: a signal may arrive inside of anything

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            keep_what_is_there()
            self._activation.begin()
            self._embedding.begin()
            self._on_start()

    async def on_tick(self, counter: int) -> bool:
        if time.monotonic() - self._gave_back > GIVEN_BACK_EVERY:
            self._gave_back = time.monotonic()
            self._application.threads.later(give_back)
        if self._reload:
            self._reload = False
            self._activation.signalled()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._activation.end()
        self._embedding.end()
        await super().shutdown(sockets)


def serve(
    source: Source,
    first: Revision,
    settings: ServerSettings,
    listening: socket.socket,
    on_start: Any,
    tell_others: Callable[[], None] = lambda: None,
) -> int:
    """Serve in this process: `first`, and then what its source says when somebody asks."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    limits = Limits.from_environment(os.environ)
    application = Application(
        first,
        limits,
        audit_sink(settings.audit_log, os.environ),
        api_version=settings.api_version,
        access_log=settings.access_log,
        origins=settings.origins,
        only_here=_is_loopback(settings.address[0]),
        http_api=settings.http_api,
    )
    activation = Activation(source, application, settings.reload_seconds, tell_others)
    telemetry = Telemetry() if wanted(os.environ) else None
    answering = _with_origins(application, settings)
    config = uvicorn.Config(
        answering if telemetry is None else telemetry.around(answering),
        http=BoundedConnection,
        ws="none",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(application.limits.shutdown_seconds),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    try:
        config.load()
    except OSError as error:  # of the certificate or its key: nothing else is read here
        reason = error.strerror or str(error)
        raise UsageError(f"cannot use the certificate {settings.certificate}: {reason}", hint="Give PEM files of both.") from None
    server = _Server(config, application, activation, BackgroundEmbedding(application, settings.embed_seconds), on_start)
    server.run(sockets=[listening])
    if telemetry is not None:
        telemetry.close()
    return 0 if server.started else 1


def _with_origins(application: Application, settings: ServerSettings) -> ASGIApp:
    """The application, for web pages of some origins, too."""
    if not settings.origins:
        return application
    return CORSMiddleware(
        application,
        allow_origins=settings.origins,
        allow_methods=["GET", "HEAD", "POST", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Omnigraph-If-Graph-Commit", HEADER, "X-Request-Id", "If-Match", "Range"],
        expose_headers=["ETag", "Content-Range", "Omnigraph-Snapshot-Id", HEADER, "X-Request-Id", "Retry-After"],
    )


def set_up_logging(settings: ServerSettings) -> None:
    """Lines on stderr, for people or for programs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _JsonLines() if settings.json_logs else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        data: dict[str, object] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            data["error"] = self.formatException(record.exc_info)
        return json.dumps(data, ensure_ascii=False)


# ── several workers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _supervise(settings: ServerSettings, listening: socket.socket, on_start: Callable[[], object]) -> int:
    set_up_logging(settings)
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    workers: list[subprocess.Popen[bytes]] = []
    signal.signal(signal.SIGHUP, lambda *_: _signal(workers, signal.SIGHUP))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
    with tempfile.TemporaryDirectory(prefix="omnigraph-metrics-") as folder:
        environment = {**os.environ, FOLDER: folder}
        try:
            workers += [_start_worker(settings, listening, environment, at) for at in range(settings.workers)]
            if not all(_has_started(worker) for worker in workers):
                return 1
            on_start()
            while not stop.wait(_RESTART_SECONDS):
                for at, worker in enumerate(workers):
                    if worker.poll() is not None:
                        _log.error("worker %d ended with %s and is started again", worker.pid, worker.returncode)
                        workers[at] = _start_worker(settings, listening, environment, at)
        finally:
            _signal(workers, signal.SIGTERM)
            listening.close()  # who comes now is refused: nobody would accept, and they would wait to the end
            for worker in workers:
                worker.wait()
    return 0


def _signal(workers: list[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(number)


def _start_worker(
    settings: ServerSettings, listening: socket.socket, environment: dict[str, str], at: int
) -> subprocess.Popen[bytes]:
    own: dict[str, object] = {"access": settings.access.value, "socket": listening.fileno(), "supervisor": os.getpid()}
    own |= {"embed_seconds": settings.embed_seconds if at == 0 else None}  # one of them is enough
    given = json.dumps({**asdict(settings), **own})
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])  # a worker begins with it blocked, and takes it when it can
    try:
        return subprocess.Popen(
            [sys.executable, "-m", _WORKER, given],
            pass_fds=[listening.fileno()],
            env=environment,
            stdin=subprocess.PIPE,  # never written to: it ends with this process, and so does the worker then
            stdout=subprocess.PIPE,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])


def _has_started(worker: subprocess.Popen[bytes]) -> bool:
    assert worker.stdout is not None
    return worker.stdout.readline() == b"started\n"
