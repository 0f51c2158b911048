"""Loads: records as JSON lines, as one commit."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from omnigraph.errors import ResourceLimit, UsageError
from omnigraph.model.limits import MAX_MUTATION_BYTES
from omnigraph.model.phrases import counted
from omnigraph.policy.port import Action
from omnigraph.service.operations.load import Load
from omnigraph.surfaces.mcp.session import Call, named
from omnigraph.surfaces.mcp.tool import About, Input, Tool
from omnigraph.surfaces.records import complaints_by, records_file
from omnigraph.wire.outputs import IngestOutput


class LoadInput(Input, frozen=True):
    """Records, and where they go."""

    branch: Annotated[str, About("The branch they go to.")]
    mode: Annotated[
        Literal["append", "merge", "patch", "update", "overwrite"],
        About(
            "append: new entities only; patch: insert, or change what is given of those that are there; update: the same of those"
            " that are there only; merge: insert, or replace whole entities by key: what is not given of them is lost;"
            " overwrite: replace all entities of the types given."
        ),
    ]
    data: Annotated[
        str,
        About(
            'JSON objects, one per line: {"type": "Person", "data": {"name": "Ada"}} for a node,'
            ' {"edge": "Knows", "from": "Ada", "to": "Bob", "data": {}} for an edge, with the keys of its ends.'
        ),
    ]
    from_: Annotated[str | None, About("Create the branch from this one, if it is not there.")] = msgspec.field(
        default=None, name="from"
    )


def load(call: Call, given: LoadInput) -> Any:
    """All of the records, or everything that is wrong with them."""
    body = given.data.encode("utf-8", "surrogatepass")
    if len(body) > MAX_MUTATION_BYTES:
        raise ResourceLimit(
            f"the records have {counted(len(body), 'byte')}, the most is {MAX_MUTATION_BYTES}",
            resource="graph_batch_request_bytes",
            actual=len(body),
            limit=MAX_MUTATION_BYTES,
            hint="Load them in parts.",
        )
    if not given.data.strip():
        raise UsageError("there is nothing to load: `data` is blank", hint="Give a JSON object per line.")
    branch = named(given.branch, "branch")
    from_ = None if given.from_ is None else named(given.from_, "from")
    with records_file(body) as path, complaints_by("record"):
        operation = Load(call.graph, str(path), given.mode, branch, from_, engine="local", allow_empty=True)
        loaded = call.run(operation)
    commit = loaded.commit.to_dict() if loaded.changed else None
    return {"uri": call.graph.name, **loaded.to_dict(), "commit": commit}


TOOLS = (
    Tool(
        "load",
        "Load records",
        "Load many nodes and edges at once, as one commit, or none if anything is wrong with them. Prefer a branch of its own.",
        LoadInput,
        IngestOutput,
        load,
        "changes",
        (Action.CHANGE,),
    ),
)
