"""One of several worker processes: it accepts from the socket that it was given."""

from __future__ import annotations

import json
import socket
import sys

from omnigraph.errors import GraphError
from omnigraph.surfaces.http.process.server import application_of, serve, set_up_logging
from omnigraph.surfaces.http.process.settings import Access, ServerSettings


def main() -> int:
    """Serve as the supervisor says."""
    given = json.loads(sys.argv[1])
    descriptor = given.pop("socket")
    settings = ServerSettings(
        **{**given, "access": Access(given["access"]), "graphs": tuple(given["graphs"]), "origins": tuple(given["origins"])}
    )
    set_up_logging(settings)
    try:
        application = application_of(settings)
    except GraphError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return serve(application, settings, socket.socket(fileno=descriptor), on_start=lambda: print("started", flush=True))


if __name__ == "__main__":
    sys.exit(main())
