"""What a query takes, in the words of catalogues."""

from __future__ import annotations

import pytest

from omnigraph.catalog.signature import QueryParameter, QuerySignature
from omnigraph.language import Source, parse_queries


def of(declared: str) -> QuerySignature:
    text = f"query q({declared}) {{ match {{ $p: Person }} return {{ $p.name }} }}"
    return QuerySignature.of(parse_queries(Source(text)).queries[0])


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("String", {"kind": "string"}),
        ("Bool", {"kind": "bool"}),
        ("I32", {"kind": "int"}),
        ("U32", {"kind": "int"}),
        ("I64", {"kind": "bigint"}),
        ("U64", {"kind": "bigint"}),
        ("F32", {"kind": "float"}),
        ("F64", {"kind": "float"}),
        ("Date", {"kind": "date"}),
        ("DateTime", {"kind": "datetime"}),
        ("Blob", {"kind": "blob"}),
        ("Vector(3)", {"kind": "vector", "vector_dim": 3}),
        ("[String]", {"kind": "list", "item_kind": "string"}),
        ("[I64]", {"kind": "list", "item_kind": "bigint"}),
    ],
)
@pytest.mark.parametrize("nullable", [False, True])
def test_kinds(declared: str, told: dict[str, object], nullable: bool) -> None:
    [parameter] = of(f"$x: {declared}{'?' if nullable else ''}").params
    assert parameter.to_dict() == {"name": "x", **told, "nullable": nullable}
    assert str(parameter) == f"$x: {declared}{'?' if nullable else ''}"


def test_a_parameter_of_which_only_the_kind_is_known() -> None:
    assert str(QueryParameter("v", "vector", True, vector_dim=2)) == "$v: vector(2)?"
    assert str(QueryParameter("v", "list", item_kind="int")) == "$v: [int]"
    assert str(QueryParameter("v", "bigint")) == "$v: bigint"


def test_what_a_query_says_of_itself() -> None:
    text = 'query add($n: String) @description("Adds one.") @instruction("Ask first.") { insert Person { name: $n } }'
    found = QuerySignature.of(parse_queries(Source(text)).queries[0])
    assert found.to_dict() == {
        "name": "add",
        "tool_name": "add",
        "description": "Adds one.",
        "instruction": "Ask first.",
        "mutation": True,
        "params": [{"name": "n", "kind": "string", "nullable": False}],
    }
    assert repr(found) == "Mutation add($n: String)"
    assert list(of("").to_dict()) == ["name", "tool_name", "mutation", "params"]
