"""One of several worker processes: it accepts from the socket that it was given."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from threading import Thread

from omnigraph.errors import GraphError
from omnigraph.surfaces.http.process.allocator import share_heaps
from omnigraph.surfaces.http.process.server import serve, set_up_logging, source_of
from omnigraph.surfaces.http.process.settings import Access, ServerSettings


def main() -> int:
    """Serve as the supervisor says."""
    share_heaps()
    given = json.loads(sys.argv[1])
    descriptor, supervisor = given.pop("socket"), given.pop("supervisor")
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    settings = ServerSettings(**{**given, **lists, "access": Access(given["access"])})
    set_up_logging(settings)
    try:
        source = source_of(settings)
        first = source.load()
    except GraphError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    def tell_others() -> None:
        if os.getppid() == supervisor:
            os.kill(supervisor, signal.SIGHUP)

    def end_with_supervisor() -> None:
        os.read(sys.stdin.fileno(), 1)  # returns when the first process has ended, however it did
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=end_with_supervisor, name="omnigraph-supervisor", daemon=True).start()
    listening = socket.socket(fileno=descriptor)
    return serve(source, first, settings, listening, lambda: print("started", flush=True), tell_others)


if __name__ == "__main__":
    sys.exit(main())
