"""A schema that is accepted can be written to, changed and dropped, or says in words of its own why not.

Odd schemas on purpose: patterns of every kind, bounds at the edges, constraints on every type of property. Whatever `init` accepts
must go on working; nothing but a `GraphError` may come out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.catalog.schema_texts import schema_blocks, text_of

import omnigraph
from omnigraph.catalog.declare import constraints as declared
from omnigraph.errors import GraphError, ParseError, SchemaError, ValidationError, VoidConstraint

VALUES: dict[str, list[Any]] = {
    "String": ["", "ab", "é"],
    "Bool": [True],
    "I32": [0, 5, -(2**31)],
    "I64": [0, 2**63 - 1],
    "U32": [0, 2**32 - 1],
    "U64": [0, 2**63, 2**64 - 1],
    "F32": [0.0, 1.5, 0.1],
    "F64": [0.0, 1e308],
    "Date": ["2024-01-01"],
    "DateTime": ["2024-01-01T00:00:00Z"],
    "enum(a, ab)": ["a", "ab"],
    "Vector(2)": [[1.0, 2.0]],
}
PATTERNS = (
    *("(?=x)", "(", "[", "a{1001}", "a{1000}", "(a{1000}){1000}", "\\\\1", "(?P<n>a)", "(?<n>a)", "(?x) a", "", "x" * 5000),
    *("\\\\p{Foo}", "\\\\p{Greek}", "a**", "*", "[[:foo:]]", "(a|)*", "(" * 900 + ")" * 900, "((a{100}){100}){100}", "é+", "\n"),
)
BOUNDS = (
    "0..1",
    "1.5..2.5",
    "..5",
    "5..",
    "-5..-1",
    "5..1",
    "0..0.5",
    "0..9223372036854775807",
    "0..18446744073709551615",
    "0..1.0",
)
SHARED = ("@unique(v)", "@index(v)", "@unique(k, v)", "@index(k, v)", "@unique(v, v)", "")


@st.composite
def odd_schemas(draw: st.DrawFn) -> tuple[str, str, list[Any]]:
    """A schema, the same with one more property, and values for its property `v`."""
    base = draw(st.sampled_from(sorted(VALUES)))
    values = VALUES[base]
    type_ = base
    if draw(st.booleans()) and not base.startswith(("enum", "Vector")):
        type_, values = f"[{base}]", [[value] for value in values]
    checked = f'@check(v, "{draw(st.sampled_from(PATTERNS))}")' if base in ("String", "enum(a, ab)") else ""
    ranged = f"@range(v, {draw(st.sampled_from(BOUNDS))})" if base in ("I32", "I64", "U32", "U64", "F32", "F64") else ""
    body = " ".join(draw(st.lists(st.sampled_from((checked, ranged, *SHARED)), min_size=1, max_size=3)))
    text = f"node T {{ k: String @key  v: {type_}?  {body} }} edge E: T -> T @card(0..2) {{ w: {type_}? }}"
    return text, text.replace("v:", "more: I32?  v:", 1), values


def attempt(action: Callable[[], object]) -> bool:
    """Do something. Whether it worked; if not, it was refused in words."""
    try:
        action()
    except VoidConstraint as error:
        raise AssertionError("a schema was accepted that cannot be kept") from error
    except GraphError:
        return False
    return True


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(odd_schemas())
def test_what_is_accepted_can_be_lived_with(drawn: tuple[str, str, list[Any]]) -> None:
    text, changed, values = drawn
    with tempfile.TemporaryDirectory() as folder:
        try:
            graph = omnigraph.init(Path(folder) / "g", text, durability="os")
        except (ParseError, SchemaError):
            return
        assert attempt(lambda: graph.mutate('query q() { insert T { k: "none" } }'))
        rows = [{"type": "T", "data": {"k": f"k{n}", "v": value}} for n, value in enumerate(values)]
        for row in rows:
            attempt(lambda row=row: graph.load([row]))  # type: ignore[misc]
        attempt(lambda: graph.load(rows))
        assert attempt(lambda: graph.load([{"type": "T", "data": {"k": "k0", "v": None}}]))
        assert attempt(lambda: graph.mutate('query q() { delete T where k = "k0" }'))
        assert attempt(lambda: graph.query("query q() { match { $t: T } return { $t.v } order { $t.k } }").rows)
        assert attempt(lambda: graph.apply_schema(changed))
        assert attempt(lambda: graph.mutate('query q() { insert T { k: "last", more: 1 } }'))
        assert attempt(lambda: graph.apply_schema("node U { k: String @key }"))
        assert attempt(lambda: graph.mutate('query q() { insert U { k: "x" } }'))


def any_text() -> st.SearchStrategy[str]:
    """A schema that may have no types: it says so in a comment, for an empty text is refused (`test_front_door`)."""
    return schema_blocks().map(lambda blocks: text_of(blocks) or "// no types")


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_text(), any_text())
def test_one_schema_after_another(first: str, second: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        graph = omnigraph.init(Path(folder) / "g", first, durability="os")
        attempt(lambda: graph.plan_schema(second))
        attempt(lambda: graph.apply_schema(second))
        assert attempt(lambda: graph.apply_schema("node Z { k: String @key }")) or "interface" in graph.schema()


# ── graphs that hold what is refused today ───────────────────────────────────────────────────────────────────────────────────

VOID = {
    "a pattern that cannot be run": ('v: String?  @check(v, "(?=x)")', "v: String?"),
    "a pattern of a list": ('v: [String]?  @check(v, "x")', "v: [String]?"),
    "unique lists": ("v: [String]?  @unique(v)", "v: [String]?"),
    "unique vectors": ("v: Vector(2)?  @unique(k, v)", "v: Vector(2)?"),
}


@pytest.mark.parametrize(("held", "mended"), VOID.values(), ids=VOID)
def test_a_graph_that_holds_one_says_so_and_can_be_mended(
    held: str, mended: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared, "void", lambda constraint, types: None)  # as it was accepted once
    text = f"node T {{ k: String @key  n: I32?  {held} }}"
    graph = omnigraph.init(tmp_path / "g", text)
    monkeypatch.undo()
    value = [1.0, 2.0] if "Vector" in held else ["x"] if "[" in held else "x"
    for write in (
        lambda: graph.load([{"type": "T", "data": {"k": "a", "v": value}}]),
        lambda: graph.mutate('query q() { insert T { k: "b" } }'),
    ):
        with pytest.raises(VoidConstraint, match="nothing can be written to T: @") as caught:
            write()
        assert "Apply a schema without" in str(caught.value.hint)
    assert graph.query("query q() { match { $t: T } return { $t.k } }").rows == []
    with pytest.raises(SchemaError, match="cannot be checked"):
        graph.apply_schema(text.replace("n: I32?", "n: I32?  more: I32?"))
    for without in (f"node T {{ k: String @key  n: I32?  {mended} }}", "node T { k: String @key  n: I32? }"):
        assert [step.to_json()["kind"] for step in graph.plan_schema(without).steps][-1] == "remove_constraint"
    applied = graph.apply_schema(f"node T {{ k: String @key  n: I32?  {mended} }}")
    assert "it could not be checked" in repr(applied)
    graph.load([{"type": "T", "data": {"k": "a", "v": value}}])
    assert len(graph.query("query q() { match { $t: T } return { $t.k } }").rows) == 1


@pytest.mark.parametrize(
    ("type_", "bounds", "right", "wrong"),
    [
        ("U64", "0..18446744073709551615", [0, 2**63, 2**64 - 1], []),
        ("U64", "-5..5", [0, 5], [6, 2**63, 2**64 - 1]),
        ("I64", "0..0.5", [0], [1, -1, 2**63 - 1]),
        ("F32", "0.5..1", [0.5, 1.0], [0.1, 1.5]),
        ("F64", "..-1", [-1.0, -1e308], [0.0, -0.5]),
        ("[I32]", "0..1", [[5], []], []),
    ],
)
def test_bounds_of_every_type_are_kept(type_: str, bounds: str, right: list[Any], wrong: list[Any], tmp_path: Path) -> None:
    try:
        graph = omnigraph.init(tmp_path / "g", f"node T {{ k: String @key  v: {type_}?  @range(v, {bounds}) }}")
    except GraphError:
        assert bounds.endswith("615"), "a bound beyond 64 signed bits may be refused, nothing else"
        return
    for number, value in enumerate(right):
        graph.load([{"type": "T", "data": {"k": str(number), "v": value}}])
    for value in wrong:
        with pytest.raises(ValidationError, match="outside"):
            graph.load([{"type": "T", "data": {"k": "wrong", "v": value}}])
