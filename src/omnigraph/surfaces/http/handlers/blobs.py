"""Blobs: the bytes of one property, whole or in part."""

from __future__ import annotations

import re
from typing import Any, Final

from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.read_blob import ReadBlob
from omnigraph.surfaces.http.answering.answers import refused
from omnigraph.surfaces.http.calls import Call, one_state
from omnigraph.wire.errors import BlobRangeOutput

_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")
_TAG: Final = re.compile(r'\s*(W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')
BYTES: Final = "application/octet-stream"


async def blob(call: Call) -> Response:
    """The bytes of a Blob, or where they are."""
    given = {name: call.parameter(name) for name in ("entity", "type", "id", "property", "branch", "snapshot")}
    for name in ("entity", "type", "id", "property"):
        if not given[name]:
            raise UsageError(f"query parameter '{name}' is required", hint="")
    one_state(given["branch"], given["snapshot"])
    entity = given["entity"]
    if entity not in ("node", "edge"):
        raise UsageError(f"entity must be node or edge, not {entity!r}", hint="")
    operation = ReadBlob(
        call.graph.ref,
        "node" if entity == "node" else "edge",
        given["type"] or "",
        given["id"] or "",
        given["property"] or "",
        given["branch"],
        given["snapshot"],
    )
    found = await call.run(operation)
    snapshot = {"Omnigraph-Snapshot-Id": f"manifest:{given['branch'] or 'main'}:{found.commit}"}
    if found.uri is not None:
        return Response(b"", 302, {**snapshot, "Location": found.uri, "Cache-Control": "no-store"})
    data, tag = found.data, found.etag
    headers = {**snapshot, "ETag": tag, "Accept-Ranges": "bytes"}
    wanted = call.header(b"if-match")
    if wanted is not None and not _matches(wanted, tag, weak=False):
        return refused(412, "the Blob is another one", {"ETag": tag}, code="conflict")
    unwanted = call.header(b"if-none-match")
    if unwanted is not None and _matches(unwanted, tag, weak=True):
        return NotModified(headers, len(data))
    if call.method == "HEAD":
        return Response(data, 200, headers, BYTES)
    part = _part(call.header(b"range"), call.header(b"if-range"), tag, len(data))
    if part is None:
        return Response(data, 200, headers, BYTES)
    start, end = part
    if start >= len(data) or start >= end:
        return refused(
            416,
            f"blob range [{start}, {end}) is not satisfiable for a value of length {len(data)}",
            {"Content-Range": f"bytes */{len(data)}"},
            code="bad_request",
            blob_range=BlobRangeOutput(start=start, end=end, length=len(data)),
        )
    end = min(end, len(data))
    return Response(data[start:end], 206, {**headers, "Content-Range": f"bytes {start}-{end - 1}/{len(data)}"}, BYTES)


class NotModified(Response):
    """304, with the length that the body would have."""

    def __init__(self, headers: dict[str, str], length: int) -> None:
        super().__init__(b"", 304, headers)
        self.headers["content-length"] = str(length)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["method"] = "HEAD"  # the server counts what it sends against the length, except for HEAD
        await super().__call__(scope, receive, send)


def _matches(header: str, tag: str, *, weak: bool) -> bool:
    """Whether a list of tags holds one; a list that cannot be read holds none."""
    if header.strip() == "*":
        return True
    at, found = 0, False
    while at < len(header):
        match = _TAG.match(header, at)
        if match is None:
            return False
        found = found or (match[2] == tag and (weak or match[1] is None))
        at = match.end()
    return found


def _part(header: str | None, if_range: str | None, tag: str, length: int) -> tuple[int, int] | None:
    """The part that is wanted, its end not included; None for all of it."""
    if header is None or (if_range is not None and if_range.strip() != tag):
        return None
    match = _RANGE.fullmatch(header.strip())
    if match is None or match[0] == "bytes=-":
        return None
    first, last = match[1], match[2]
    if not first:
        count = int(last)
        return (max(0, length - count), length) if count else (length, length)
    start = int(first)
    if not last:
        return start, max(length, start + 1) if length == 0 else max(length, start)
    return None if int(last) < start else (start, int(last) + 1)
