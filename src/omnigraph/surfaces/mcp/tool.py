"""What a tool is: a value that says what it is called, what it takes, what it gives, and what it asks of the door.

    class BranchesCreate(Input):
        name: Annotated[str, About("Name of the new branch, for example agent/ada.")]
        from_: Annotated[str | None, About("Branch, tag or commit it starts from; main by default.")] = field(name="from", …)

    def create(call: Call, given: BranchesCreate) -> BranchCreateOutput:
        made = call.run(CreateBranch(call.graph, given.name, …))
        …

    TOOLS = (Tool("branches_create", "Create a branch", "…", BranchesCreate, BranchCreateOutput, create, "adds", …),)

A new tool is one module in `tools` with such a tuple, and a line in `tools/__init__.py`. Inputs are checked against their struct
before the tool is called; outputs are described by theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from omnigraph.model.frozen import frozen
from omnigraph.policy.port import Action

if TYPE_CHECKING:
    from omnigraph.surfaces.mcp.session import Call

Json = dict[str, Any]


def About(text: str) -> msgspec.Meta:  # noqa: N802 – reads as what it is, inside `Annotated`
    """What an input means, in words for an agent."""
    return msgspec.Meta(description=text)


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What a tool takes. Names are spelt as in JSON; what is not known is refused."""


class Nothing(Input, frozen=True):
    """No inputs."""


Effect = Literal["reads", "adds", "changes", "changes again"]
"""What calling a tool does: nothing; something new; something that may replace what was there; the same, however often."""


@frozen(slots=False)
class Tool:
    """Something an agent can call."""

    name: str
    title: str
    description: str
    takes: type[Input]
    gives: type[msgspec.Struct]
    run: Callable[[Call, Any], Any]
    """What it does: asks the door, in a thread of its own, and gives its output."""
    effect: Effect = "reads"
    needs: tuple[Action, ...] = (Action.READ,)
    """What a caller must be allowed somewhere, to be shown the tool."""
    shows_text: str | None = None
    """The member that is shown as text instead of the whole as JSON."""
    input_schema: Json | None = None
    """Instead of what `takes` says: of a tool that is made from a stored query."""
    of_server: bool = False
    """Whether it is about the server and not about one of its graphs."""

    @property
    def writes(self) -> bool:
        """Whether it may change something."""
        return self.effect != "reads"

    def inputs(self, graphs: tuple[str, ...] = ()) -> Json:
        """What it takes as JSON Schema; with several graphs also which of them."""
        schema = dict(self.input_schema or _optional(schema_of(self.takes)))
        if len(graphs) > 1 and not self.of_server:
            which = {"type": "string", "enum": list(graphs), "description": "The graph that is meant."}
            schema["properties"] = {"graph": which, **schema.get("properties", {})}
            schema["required"] = ["graph", *schema.get("required", ())]
        return schema

    def outputs(self) -> Json:
        """What it gives as JSON Schema."""
        return schema_of(self.gives)

    def given(self, arguments: Mapping[str, Any]) -> Any:
        """Arguments as its struct."""
        return msgspec.convert(arguments, self.takes)


@cache
def schema_of(struct: type[msgspec.Struct]) -> Json:
    """The JSON Schema of a struct, with the struct itself at its root, as the protocol wants it."""
    whole = msgspec.json.schema(struct)
    definitions: Json = dict(whole.get("$defs", {}))
    root: Json = dict(definitions.pop(whole["$ref"].rpartition("/")[2])) if "$ref" in whole else whole
    if not issubclass(struct, Input):
        root.pop("description", None)
    root.pop("title", None)
    root.pop("$defs", None)
    if definitions:
        root["$defs"] = definitions
    return root


def _optional(schema: Json) -> Json:
    """Inputs as clients show them best: what may be left out is just not required. Null is taken for it all the same."""

    def plain(about: Json) -> Json:
        kinds = [kind for kind in about.get("anyOf", ()) if kind != {"type": "null"}]
        rest = {name: value for name, value in about.items() if name not in ("anyOf", "default")}
        return {**rest, **kinds[0]} if len(kinds) == 1 else {**rest, "anyOf": kinds} if kinds else about

    return {**schema, "properties": {name: plain(about) for name, about in schema.get("properties", {}).items()}}
