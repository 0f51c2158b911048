"""Loads: records in the body, one commit."""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from starlette.responses import Response

from omnigraph.errors import InputError, KeyConflict, UsageError, ValidationError
from omnigraph.service.operations.load import Load
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import load_members
from omnigraph.surfaces.http.bodies import WrongMediaType
from omnigraph.surfaces.http.calls import Call
from omnigraph.surfaces.records import complaints_by, records_file
from omnigraph.wire.outputs import GraphBatchLoadOutput, IngestOutput
from omnigraph.wire.requests import IngestRequest, LoadMode

NDJSON_TYPE: Final = "application/x-ndjson"
TAR_TYPE: Final = "application/x-tar"
_MEMBER: Final = re.compile(r"[0-9]+(/[^/\0]+)+")


async def load(call: Call) -> Response:
    """Records in a text, read leniently: what the schema does not know is ignored."""
    wanted = await call.json(IngestRequest)
    body = wanted.data.encode("utf-8", "surrogatepass")
    with records_file(body) as path:
        operation = _load(call, str(path), wanted.mode or "merge", wanted.branch, wanted.from_, "compatible")
        with complaints_by("record"):
            result = await call.run(operation)
    return answer(IngestOutput(uri=call.graph.uri, **load_members(result)))


async def load_ndjson(call: Call) -> Response:
    """A record per line, read strictly. Whether the caller may is decided before the body is read."""
    kind = (call.header(b"content-type") or "").split(";", 1)[0].strip().lower()
    if kind != NDJSON_TYPE:
        raise WrongMediaType(f"expected a request with `Content-Type: {NDJSON_TYPE}`")
    mode = call.one_of("mode", get_args(LoadMode)) or "merge"
    branch, from_ = call.parameter("branch"), call.parameter("from")
    permit = await call.authorise(_load(call, "", mode, branch, from_, "strict"))
    body = await call.body("graph_batch_request_bytes")
    with records_file(body) as path, complaints_by("line"):
        result = await call.run(_load(call, str(path), mode, branch, from_, "strict"), permit)
    return answer(GraphBatchLoadOutput(**load_members(result)))


async def load_files(call: Call) -> Response:
    """Files in a tar archive, as one commit: whatever a load reads, of any size that the server takes.

    Members are called `NUMBER/…`, by the order they are loaded in; what follows says the format and type of a file, as on a disk.
    """
    kind = (call.header(b"content-type") or "").split(";", 1)[0].strip().lower()
    if kind != TAR_TYPE:
        raise WrongMediaType(f"expected a request with `Content-Type: {TAR_TYPE}`")
    wanted = Load(
        call.graph.ref,
        [],
        call.one_of("mode", get_args(LoadMode)) or "merge",  # type: ignore[arg-type]
        call.parameter("branch") or "main",
        call.parameter("from"),
        engine="local",
        lossy=call.one_of("lossy", ("round",)),  # type: ignore[arg-type]
        message=call.parameter("message"),
        dialect=call.one_of("dialect", ("strict", "compatible")) or "strict",  # type: ignore[arg-type]
        allow_empty=call.flag("allow_empty"),
        idempotency_key=call.idempotency_key,
        embed=call.flag("embed"),
    )
    permit = await call.authorise(wanted)
    with tempfile.TemporaryDirectory(prefix="omnigraph-load-") as folder:
        archive, files = Path(folder, "body.tar"), Path(folder, "files")
        await call.body_to(archive, call.application.limits.load_bytes, "load_request_bytes")
        found = await call.do(lambda: unpacked(archive, files))
        with _named_as_sent(files):
            result = await call.run(replace(wanted, source=found), permit)
    return answer(GraphBatchLoadOutput(**load_members(result)))


def unpacked(archive: Path, into: Path) -> list[str]:
    """The files of an archive, in their folders: one for each number. What is no plain file is refused."""
    into.mkdir()
    try:
        with tarfile.open(archive, "r:") as members:
            for member in members:
                if not member.isreg() or member.issparse() or _MEMBER.fullmatch(member.name) is None or ".." in member.name:
                    raise UsageError(
                        f"{member.name[:200]!r} is not a file of a load",
                        hint="Members are plain files, NUMBER/NAME: `0/Person.csv`.",
                    )
                members.extract(member, into, filter="data")
    except tarfile.TarError as error:
        raise UsageError(f"the archive cannot be read: {error}", hint="Send an uncompressed tar archive.") from None
    return [str(folder) for folder in sorted(into.iterdir(), key=lambda folder: (int(folder.name), folder.name))]


@contextmanager
def _named_as_sent(files: Path) -> Iterator[None]:
    """What is wrong with files is said of them by their names in the archive."""
    begins = f"{files}/"
    try:
        yield
    except (ValidationError, KeyConflict) as error:
        told: list[Any] = [
            replace(v, message=v.message.replace(begins, ""), file=None if v.file is None else v.file.removeprefix(begins))
            for v in cast(tuple[Any, ...], error.violations)
        ]
        raise type(error)(error.message.replace(begins, ""), violations=told, hint=error.advice) from error
    except InputError as error:
        if begins not in error.message:
            raise
        raise UsageError(error.message.replace(begins, ""), hint=error.advice) from error


def _load(
    call: Call,
    source: str,
    mode: str,
    branch: str | None,
    from_: str | None,
    dialect: Literal["strict", "compatible"],
) -> Load:
    return Load(
        call.graph.ref,
        source,
        mode,  # type: ignore[arg-type]  # checked by whoever calls
        branch or "main",
        from_,
        engine="local",
        dialect=dialect,
        allow_empty=True,
        idempotency_key=call.idempotency_key,
    )
