"""Upkeep: packing and indexes, old commits, checks, vectors."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.cleanup import Cleanup
from omnigraph.service.operations.embed import Embed
from omnigraph.service.operations.optimize import Optimize
from omnigraph.service.operations.record_embedding_model import RecordEmbeddingModel
from omnigraph.service.operations.show_embedding_model import ShowEmbeddingModel
from omnigraph.service.operations.verify import Verify
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.own_outputs import (
    CleanupOutput,
    EmbeddingModelOutput,
    EmbeddingModelsOutput,
    EmbedOutput,
    OptimizeOutput,
    ProblemOutput,
    VerifyOutput,
)
from omnigraph.wire.requests import CleanupRequest, EmbeddingModelRequest, EmbedRequest, OptimizeRequest, VerifyRequest

if TYPE_CHECKING:
    from omnigraph.embedding.space import Space


async def optimize(call: Call) -> Response:
    """Small parts are packed, and indexes completed."""
    wanted = await call.json(OptimizeRequest)
    done = await call.run(Optimize(call.graph.ref, wanted.branch or "main"))
    return answer(msgspec.convert(done.to_dict(), OptimizeOutput))


async def cleanup(call: Call) -> Response:
    """The space of old commits is given back, or it is said how much that would be."""
    wanted = await call.json(CleanupRequest)
    operation = Cleanup(
        call.graph.ref,
        10 if wanted.keep is None else wanted.keep,
        "7d" if wanted.older_than is None else wanted.older_than,
        wanted.dry_run is not False,
    )
    done = await call.run(operation)
    return answer(msgspec.convert(asdict(done), CleanupOutput))


async def verify(call: Call) -> Response:
    """Whether everything is there."""
    wanted = await call.json(VerifyRequest)
    found = await call.run(Verify(call.graph.ref, bool(wanted.deep), bool(wanted.content)))
    problems = [
        ProblemOutput(
            kind=p.kind.value,
            branch=p.branch,
            table=p.table,
            path=call.graph.placeless(p.path),
            message=call.graph.placeless(p.message),
        )
        for p in found.problems
    ]
    return answer(
        VerifyOutput(
            ok=found.ok,
            branches=found.branches,
            tags=found.tags,
            commits=found.commits,
            versions=found.versions,
            files=found.files,
            problems=problems,
            unchecked=found.unchecked,
            content=found.content,
        )
    )


async def embed(call: Call) -> Response:
    """Vectors of texts that have none, or another text since."""
    wanted = await call.json(EmbedRequest)
    types = None if wanted.types is None else tuple(wanted.types)
    done = await call.run(Embed(call.graph.ref, types, wanted.branch or "main", bool(wanted.again), wanted.timeout))
    return answer(msgspec.convert(asdict(done), EmbedOutput))


async def embedding_model(call: Call) -> Response:
    """Which model made the vectors of a property."""
    type_, prop = call.parameter("type"), call.parameter("property")
    if not type_ or not prop:
        raise UsageError("query parameters 'type' and 'property' are required", hint="They name a Vector property.")
    found = await call.run(ShowEmbeddingModel(call.graph.ref, type_, prop, call.parameter("branch") or "main"))
    return answer(_models(type_, prop, found))


async def record_embedding_model(call: Call) -> Response:
    """Which model makes the vectors of a property is noted down."""
    wanted = await call.json(EmbeddingModelRequest)
    operation = RecordEmbeddingModel(
        call.graph.ref,
        wanted.type,
        wanted.property,
        wanted.model,
        bool(wanted.made_up),
        wanted.branch or "main",
        wanted.from_ or "main",
    )
    return answer(_models(wanted.type, wanted.property, await call.run(operation)))


def _models(type_: str, prop: str, found: list[Space]) -> EmbeddingModelsOutput:
    models = [EmbeddingModelOutput(model=space.model, made_up=space.made_up) for space in found]
    return EmbeddingModelsOutput(type=type_, property=prop, models=models)
