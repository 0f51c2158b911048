"""Loads: records in the body, one commit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, get_args

from starlette.responses import Response

from omnigraph.errors import NotFound, UsageError, ValidationError
from omnigraph.service.operations.load import Load
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import load_members
from omnigraph.surfaces.http.bodies import WrongMediaType
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.outputs import GraphBatchLoadOutput, IngestOutput
from omnigraph.wire.requests import IngestRequest, LoadMode

NDJSON_TYPE: Final = "application/x-ndjson"


async def load(call: Call) -> Response:
    """Records in a text, read leniently: what the schema does not know is ignored."""
    wanted = await call.json(IngestRequest)
    body = wanted.data.encode("utf-8", "surrogatepass")
    with _file(body) as path:
        operation = _load(call, str(path), wanted.mode or "merge", wanted.branch, wanted.from_, "compatible")
        with _complaints_by("record"):
            result = await call.run(operation)
    return answer(IngestOutput(uri=call.graph.uri, **load_members(result)))


async def load_ndjson(call: Call) -> Response:
    """A record per line, read strictly. Whether the caller may is decided before the body is read."""
    kind = (call.header(b"content-type") or "").split(";", 1)[0].strip().lower()
    if kind != NDJSON_TYPE:
        raise WrongMediaType(f"expected a request with `Content-Type: {NDJSON_TYPE}`")
    mode = call.parameter("mode") or "merge"
    if mode not in get_args(LoadMode):
        raise UsageError(f"mode must be one of {', '.join(get_args(LoadMode))}, not {mode!r}", hint="")
    branch, from_ = call.parameter("branch"), call.parameter("from")
    permit = await call.authorise(_load(call, "", mode, branch, from_, "strict"))
    body = await call.body("graph_batch_request_bytes")
    with _file(body) as path, _complaints_by("line"):
        result = await call.run(_load(call, str(path), mode, branch, from_, "strict"), permit)
    return answer(GraphBatchLoadOutput(**load_members(result)))


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
    )


@contextmanager
def _complaints_by(unit: str) -> Iterator[None]:
    """What is wrong with records is said by their place in the body; of a branch that is not there, how it can be made."""
    try:
        yield
    except NotFound as error:
        if error.what != "branch":
            raise
        raise NotFound(f"branch '{error.name}' not found; pass `from` to create it", what="branch", hint=error.advice) from error
    except ValidationError as error:
        first = next(iter(error.violations), None)
        if first is None:
            raise
        where = "" if first.line is None else f"{unit} {first.line}: "
        more = len(error.violations) - 1
        text = f"{where}{first.message}{f' (and {more} more)' if more else ''}"
        raise ValidationError(text, violations=error.violations, hint=error.advice) from error


@contextmanager
def _file(body: bytes) -> Iterator[Path]:
    """A body as a file, which is what loads read."""
    with tempfile.TemporaryDirectory(prefix="omnigraph-load-") as folder:
        path = Path(folder, "body.jsonl")
        path.write_bytes(body)
        yield path
