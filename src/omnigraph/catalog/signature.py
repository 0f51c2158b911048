"""What a query takes, in words that other languages have: for catalogues of stored queries, forms and tools of agents.

    query find($name: String, $near: Vector(3)?, $tags: [String]?) @description("Who is called so.") { … }

    find(name: string, near: vector of 3 or null, tags: list of string or null)

A kind says how a value is written in JSON, not how it is stored: I32 and U32 are `int`, I64 and U64 `bigint`, since JSON of
other languages does not hold them exactly.
"""

from __future__ import annotations

from typing import Final, Literal

from omnigraph.language.gq import tree as t
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import one_line
from omnigraph.model.types import PropertyType, Scalar

Kind = Literal["string", "bool", "int", "bigint", "float", "date", "datetime", "blob", "vector", "list"]

_KINDS: Final[dict[Scalar, Kind]] = {
    Scalar.STRING: "string",
    Scalar.BLOB: "blob",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
    Scalar.VECTOR: "vector",
}


@frozen
class QueryParameter:
    """A parameter: its kind, that of its items if it is a list, its length if it is a vector, and whether it may be left out."""

    name: str
    kind: Kind
    nullable: bool = False
    item_kind: Kind | None = None
    vector_dim: int | None = None
    type: str = ""
    """As the query declares it, without the mark of what may be null; empty where only the kind is known."""

    @classmethod
    def of(cls, name: str, type_: PropertyType) -> QueryParameter:
        """A parameter of a declared type."""
        kind: Kind = "list" if type_.is_list else _KINDS[type_.scalar]
        item = _KINDS[type_.scalar] if type_.is_list else None
        return cls(name, kind, type_.nullable, item, type_.dimension, str(type_.as_required()))

    def __str__(self) -> str:
        return f"${self.name}: {self.type or self._words}{'?' if self.nullable else ''}"

    def __repr__(self) -> str:
        return one_line(f"Parameter {self}")

    @property
    def _words(self) -> str:
        match self.kind:
            case "list":
                return f"[{self.item_kind}]"
            case "vector":
                return f"vector({self.vector_dim})"
            case kind:
                return kind

    def to_dict(self) -> dict[str, object]:
        """As catalogues have it: what does not apply is left out."""
        told: dict[str, object] = {"name": self.name, "kind": self.kind}
        if self.item_kind is not None:
            told["item_kind"] = self.item_kind
        if self.vector_dim is not None:
            told["vector_dim"] = self.vector_dim
        return {**told, "nullable": self.nullable}


@frozen
class QuerySignature:
    """A query without its body: what it is called, what it takes, whether it changes the graph, what it says of itself."""

    name: str
    mutation: bool
    params: tuple[QueryParameter, ...] = ()
    description: str | None = None
    instruction: str | None = None
    """What an agent should know before it calls it."""
    tool_name: str = ""
    """What it is called among the tools of an agent: its name, unless it was given another one."""

    def __post_init__(self) -> None:
        if not self.tool_name:
            object.__setattr__(self, "tool_name", self.name)

    @classmethod
    def of(cls, query: t.Query, tool_name: str = "") -> QuerySignature:
        """That of a declaration."""
        said = {annotation.kind: annotation.text.value for annotation in query.annotations}
        return cls(
            query.name.text,
            not query.is_read,
            tuple(QueryParameter.of(p.name, p.type) for p in query.parameters),
            said.get(t.QueryAnnotationKind.DESCRIPTION),
            said.get(t.QueryAnnotationKind.INSTRUCTION),
            tool_name,
        )

    @property
    def kind(self) -> Literal["read", "mutation"]:
        """Whether it reads or changes."""
        return "mutation" if self.mutation else "read"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})"

    def __repr__(self) -> str:
        return one_line(f"{self.kind.capitalize()} {self}")

    def to_dict(self) -> dict[str, object]:
        """As catalogues have it: what does not apply is left out."""
        said = {"description": self.description, "instruction": self.instruction}
        return {
            "name": self.name,
            "tool_name": self.tool_name,
            **{name: text for name, text in said.items() if text is not None},
            "mutation": self.mutation,
            "params": [parameter.to_dict() for parameter in self.params],
        }
