"""The process: it binds, says where, serves until it is told to stop, and lets requests end before it does.

    SIGTERM, SIGINT   stop accepting, let requests end, exit 0
    SIGHUP            read the tokens again

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

from omnigraph.errors import GraphError, UsageError
from omnigraph.policy.states import ServedReadOnly
from omnigraph.surfaces.http.application import Application
from omnigraph.surfaces.http.graphs import Registry, named_graphs
from omnigraph.surfaces.http.process.connections import BoundedConnection
from omnigraph.surfaces.http.process.limits import Limits
from omnigraph.surfaces.http.process.metrics import FOLDER
from omnigraph.surfaces.http.process.settings import Access, ServerSettings
from omnigraph.surfaces.http.tokens import Tokens

_log = logging.getLogger("omnigraph.http")

_BACKLOG: Final = 2_048
_SWITCH_SECONDS: Final = 0.0005
"""How soon a thread gives way: a slow read may not hold up the event loop for longer."""

_RESTART_SECONDS: Final = 0.5
_WORKER: Final = "omnigraph.surfaces.http.process.worker"


def new_token() -> str:
    """A token nobody can guess."""
    return secrets.token_urlsafe(24)


def application_of(settings: ServerSettings) -> Application:
    """The application that some settings ask for, with its graphs open."""
    graphs = Registry(named_graphs(settings.graphs, read_only=settings.read_only))
    for graph in graphs:
        graphs.open(graph.ref)
    tokens = Tokens.from_environment(os.environ)
    if settings.access is not Access.OPEN and not tokens:
        raise UsageError(
            "no tokens are configured", hint="Set OMNIGRAPH_SERVER_BEARER_TOKEN (or …_TOKENS_FILE), or serve --unauthenticated."
        )
    return Application(
        graphs,
        ServedReadOnly() if settings.read_only else settings.access.authoriser(),
        Tokens() if settings.access is Access.OPEN else tokens,
        Limits.from_environment(os.environ),
        api_version=settings.api_version,
        access_log=settings.access_log,
    )


def run(settings: ServerSettings, on_start: Callable[[], object] = lambda: None) -> int:
    """Serve until told to stop. Gives the exit code. `on_start` is called when it listens, before it says where."""
    listening = listen(settings)
    if settings.access is Access.OPEN and not _is_loopback(settings.address[0]):
        _log_plainly(f"warning: {settings.bind} is open to the network, and no token is asked for")
    host, port = listening.getsockname()[:2]
    where = f"OMNIGRAPH_LISTEN_ADDR={f'[{host}]' if ':' in host else host}:{port}"
    if settings.workers > 1:
        return _supervise(settings, listening, lambda: (on_start(), print(where, flush=True)))
    set_up_logging(settings)
    application = application_of(settings)
    return serve(application, settings, listening, on_start=lambda: (on_start(), print(where, flush=True)))


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

    def __init__(self, config: uvicorn.Config, application: Application, on_start: Any) -> None:
        super().__init__(config)
        self._application, self._on_start = application, on_start

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._reload)
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

    def _reload(self, number: int, frame: FrameType | None) -> None:
        try:
            tokens = Tokens.from_environment(os.environ)
        except GraphError as error:
            _log.error("the tokens stay as they are: %s", error.message)
            return
        if self._application.tokens and tokens:
            self._application.tokens = tokens
            _log.info("tokens were read again: %d", len(tokens.entries))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()


def serve(application: Application, settings: ServerSettings, listening: socket.socket, on_start: Any) -> int:
    """Serve in this process."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        _with_origins(application, settings),
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
    server = _Server(config, application, on_start)
    server.run(sockets=[listening])
    return 0 if server.started else 1


def _with_origins(application: Application, settings: ServerSettings) -> ASGIApp:
    """The application, for web pages of some origins, too."""
    if not settings.origins:
        return application
    return CORSMiddleware(
        application,
        allow_origins=settings.origins,
        allow_methods=["GET", "HEAD", "POST", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Omnigraph-If-Graph-Commit", "X-Request-Id", "If-Match", "Range"],
        expose_headers=["ETag", "Content-Range", "Omnigraph-Snapshot-Id", "X-Request-Id", "Retry-After"],
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
    with tempfile.TemporaryDirectory(prefix="omnigraph-metrics-") as folder:
        environment = {**os.environ, FOLDER: folder}
        try:
            workers += [_start_worker(settings, listening, environment) for _ in range(settings.workers)]
            if not all(_has_started(worker) for worker in workers):
                return 1
            on_start()
            while not stop.wait(_RESTART_SECONDS):
                for at, worker in enumerate(workers):
                    if worker.poll() is not None:
                        _log.error("worker %d ended with %s and is started again", worker.pid, worker.returncode)
                        workers[at] = _start_worker(settings, listening, environment)
        finally:
            _signal(workers, signal.SIGTERM)
            for worker in workers:
                worker.wait()
    return 0


def _signal(workers: list[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(number)


def _start_worker(settings: ServerSettings, listening: socket.socket, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    given = json.dumps({**asdict(settings), "access": settings.access.value, "socket": listening.fileno()})
    return subprocess.Popen(
        [sys.executable, "-m", _WORKER, given], pass_fds=[listening.fileno()], env=environment, stdout=subprocess.PIPE
    )


def _has_started(worker: subprocess.Popen[bytes]) -> bool:
    assert worker.stdout is not None
    return worker.stdout.readline() == b"started\n"
