"""Answers: structs, rows and errors as bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import Response

from omnigraph.errors import GraphError
from omnigraph.wire.errors import ErrorOutput, error_output
from omnigraph.wire.outputs import LegacyReadOutput, ReadOutput, ReadTarget

if TYPE_CHECKING:
    from omnigraph.service.results import Result

_ENCODER: Final = msgspec.json.Encoder()
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson; charset=utf-8"
ARROW: Final = "application/vnd.apache.arrow.stream"

_HALF: Final = re.compile("[\ud800-\udfff]")

FEW_ROWS: Final = 64
"""Rows up to which a type of their own would cost more than it saves."""


def encoded(value: object) -> bytes:
    """JSON. Half a surrogate pair, which somebody sent and an error quotes, stands there as its escape."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
        return _HALF.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text).encode()


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A struct as JSON."""
    return Response(encoded(value), status, headers, JSON)


def error_answer(error: GraphError) -> Response:
    """An error as JSON."""
    status, body = error_output(error)
    return Response(encoded(body), status, {"Retry-After": "60"} if status == 429 else None, JSON)


def refused(status: int, text: str, headers: Mapping[str, str] | None = None, **members: Any) -> Response:
    """An error that has no class of ours: it is about the request, not about a graph."""
    return Response(encoded(ErrorOutput(error=text, **members)), status, headers, JSON)


def rows_answer(result: Result, *, legacy: bool = False) -> Response:
    """The answer to a read."""
    about: dict[str, Any] = {
        "query_name": result.query_name,
        "target": ReadTarget(branch=result.branch, snapshot=result.snapshot),
        "row_count": result.row_count,
        "rows": result.json_rows() if result.row_count <= FEW_ROWS else _many_rows(result),
    }
    if result.columns:
        about["columns"] = result.columns
    output = LegacyReadOutput(**about) if legacy else ReadOutput(**about, graph_commit_id=result.graph_commit_id)
    try:
        body = _ENCODER.encode(output)
    except OverflowError:  # integers beyond 64 bits
        body = json.dumps(msgspec.to_builtins(output), ensure_ascii=False, separators=(",", ":")).encode()
    return Response(body, 200, None, JSON)


def _many_rows(result: Result) -> list[msgspec.Struct]:
    """Rows as structs: made and encoded in a fifth of the time that dicts take, which the garbage collector goes through."""
    row = _row_type(tuple(result.columns))
    return [made for columns in result.json_columns() for made in map(row, *columns)]


@lru_cache(maxsize=256)
def _row_type(names: tuple[str, ...]) -> Callable[..., msgspec.Struct]:
    fields = {f"c{at}": name for at, name in enumerate(names)}
    return msgspec.defstruct("Row", list(fields), rename=fields, gc=False)


def arrow_answer(result: Result) -> Response:
    """The same as an Arrow stream; what JSON says around the rows is in the metadata of its schema."""
    import pyarrow as pa

    about = {
        "query_name": result.query_name,
        "graph_commit_id": result.graph_commit_id,
        "branch": result.branch,
        "snapshot": result.snapshot,
    }
    table = result.to_arrow().replace_schema_metadata({"omnigraph": json.dumps(about)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Response(sink.getvalue().to_pybytes(), 200, None, ARROW)
