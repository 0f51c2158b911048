"""What a server allows: times, sizes, numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from omnigraph.errors import UsageError
from omnigraph.service.admission import BYTES, INFLIGHT
from omnigraph.service.audit_log import FILE_BYTES, KEPT_FILES, FileSink
from omnigraph.surfaces.http.process.settings import is_set

INFLIGHT_MAX: Final = "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX"
BYTES_MAX: Final = "OMNIGRAPH_PER_ACTOR_BYTES_MAX"
LOAD_MAX: Final = "OMNIGRAPH_LOAD_BYTES_MAX"
LOAD_BYTES: Final = 8 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one server."""

    query_seconds: float = 60.0
    """How long one read may take…"""
    query_bytes: int = 2 << 30
    """…and how much memory it may use."""
    inflight: int = INFLIGHT
    """Writes that one actor has under way at most…"""
    inflight_bytes: int = BYTES
    """…and their bytes."""
    shutdown_seconds: float = 30.0
    """How long requests have to end when the server is to stop."""
    body_seconds: float = 30.0
    """How long a client may take to send the next part of a body."""
    deployment_seconds: float = 20.0
    """How long a client waits for a deployment, before it is told that it goes on."""
    load_bytes: int = LOAD_BYTES
    """The most that a load of files may have; they are kept on the server's disk while they are read."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Limits:
        """Limits as the environment sets them."""
        return cls(
            inflight=_number(environment, INFLIGHT_MAX, INFLIGHT),
            inflight_bytes=_number(environment, BYTES_MAX, BYTES),
            load_bytes=_number(environment, LOAD_MAX, LOAD_BYTES),
        )


def audit_sink(folder: str | None, environment: Mapping[str, str]) -> FileSink | None:
    """Where the audit goes, if not to the log."""
    if folder is None:
        return None
    return FileSink(
        folder,
        reads=is_set(environment.get("OMNIGRAPH_AUDIT_READS")),
        sync=is_set(environment.get("OMNIGRAPH_AUDIT_SYNC")),
        file_bytes=_number(environment, "OMNIGRAPH_AUDIT_FILE_BYTES", FILE_BYTES),
        kept_files=_number(environment, "OMNIGRAPH_AUDIT_FILES", KEPT_FILES),
    )


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise UsageError(f"{name} must be a positive whole number, not {text!r}", hint="")
    return int(text)
