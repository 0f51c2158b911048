"""Tags."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.create_tag import CreateTag
from omnigraph.service.operations.delete_tag import DeleteTag
from omnigraph.service.operations.list_deleted_tags import ListDeletedTags
from omnigraph.service.operations.list_tags import ListTags
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import deleted_tag_output, tag_output
from omnigraph.surfaces.http.calls import Call
from omnigraph.wire.own_outputs import DeletedTagListOutput, TagDeleteOutput, TagListOutput
from omnigraph.wire.requests import TagCreateRequest


async def list_tags(call: Call) -> Response:
    """Those that are there."""
    return answer(TagListOutput(tags=[tag_output(tag) for tag in await call.run(ListTags(call.graph.ref))]))


async def deleted(call: Call) -> Response:
    """Those that are gone."""
    found = await call.run(ListDeletedTags(call.graph.ref))
    return answer(DeletedTagListOutput(deleted=[deleted_tag_output(tag) for tag in found]))


async def create(call: Call) -> Response:
    """A new one."""
    wanted = await call.json(TagCreateRequest)
    if wanted.commit is not None and wanted.branch is not None:
        raise UsageError("request may specify commit or branch, not both", hint="Leave one of them out.")
    return answer(tag_output(await call.run(CreateTag(call.graph.ref, wanted.name, wanted.commit, wanted.branch or "main"))))


async def delete(call: Call) -> Response:
    """One goes."""
    name = call.name("tag")
    gone = await call.run(DeleteTag(call.graph.ref, name))
    shown = None if gone is None else deleted_tag_output(gone)
    return answer(TagDeleteOutput(name=name, actor_id=call.caller.actor, deleted=shown))
