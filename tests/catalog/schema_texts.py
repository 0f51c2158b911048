"""Small valid schemas, as text that can be shuffled and renamed.

Names come from a few short lists, so that two schemas drawn one after the other have much in common: that is what makes a plan
between them interesting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from omnigraph.catalog.declare import declare
from omnigraph.catalog.identity import resolve
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.shape import Shape
from omnigraph.language.source import Source

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

PLAIN = ("String", "Bool", "I32", "I64", "U32", "F64", "Date", "DateTime", "enum(a, b)", "enum(a, b, c)")
UNINDEXED = ("[String]", "[I32]", "Blob")
VECTOR = "Vector(3)"


def shape(text: str) -> Shape:
    return declare(Source(text, "test.pg"))


def accept(text: str, *later: str) -> SchemaIR:
    """The IR of a graph that was created with the first text and then given each of the later ones."""
    ir = resolve(shape(text), None, domain=DOMAIN).ir
    for step in later:
        ir = resolve(shape(step), ir, domain=DOMAIN).ir
    return ir


@dataclass(frozen=True)
class Member:
    """A property (with the name and type it has) or a body constraint."""

    text: str
    name: str = ""
    type: str = ""


@dataclass(frozen=True)
class Block:
    """One declaration: everything before the brace, and the members between the braces."""

    kind: str
    name: str
    tail: str
    members: tuple[Member, ...]

    def text(self) -> str:
        body = "\n".join(f"    {member.text}" for member in self.members)
        return f"{self.kind} {self.name}{self.tail} {{\n{body}\n}}"

    def with_property_renamed(self, old: str, new: str) -> Block:
        """The property under a new name with a hint, and the constraints following it."""
        members = [replace(member, text=re.sub(rf"\b{old}\b", new, member.text)) for member in self.members]
        hinted = [replace(m, name=new, text=f'{m.text} @rename_from("{old}")') if m.name == old else m for m in members]
        return replace(self, members=tuple(hinted))


Blocks = tuple[Block, ...]


def text_of(blocks: Blocks) -> str:
    return "\n\n".join(block.text() for block in blocks)


def with_node_renamed(blocks: Blocks, old: str, new: str) -> Blocks:
    """The node under a new name with a hint, and the edges following it."""
    return tuple(
        replace(block, name=new, tail=f' @rename_from("{old}"){block.tail}')
        if block.kind == "node" and block.name == old
        else replace(block, tail=re.sub(rf"\b{old}\b", new, block.tail))
        for block in blocks
    )


@st.composite
def shuffled(draw: st.DrawFn, blocks: Blocks) -> Blocks:
    """The same declarations and members in another order."""
    order = draw(st.permutations(blocks))
    return tuple(replace(block, members=tuple(draw(st.permutations(block.members)))) for block in order)


@st.composite
def schema_blocks(draw: st.DrawFn) -> Blocks:
    """A schema with up to two interfaces, three nodes and two edges."""
    interfaces = {
        name: tuple(draw(_properties(names)))
        for name, names in (("First", ("alpha", "beta")), ("Second", ("gamma",)))
        if draw(st.booleans())
    }
    blocks = [Block("interface", name, "", members) for name, members in interfaces.items()]
    nodes = draw(st.lists(st.sampled_from(("Ant", "Bee", "Cow")), unique=True, max_size=3))
    blocks += [draw(_node(name, interfaces)) for name in nodes]
    edges = draw(st.lists(st.sampled_from(("Eats", "Sees")), unique=True, max_size=2)) if nodes else []
    blocks += [draw(_edge(name, nodes)) for name in edges]
    return tuple(blocks)


@st.composite
def _node(draw: st.DrawFn, name: str, interfaces: dict[str, tuple[Member, ...]]) -> Block:
    implemented = sorted(i for i in interfaces if draw(st.booleans()))
    own = draw(_properties(("one", "two", "three", "four")))
    own += [Member(f"{m.name}: {m.type}", m.name, m.type) for i in implemented for m in interfaces[i] if draw(_seldom)]
    texts = [m.name for m in own if m.type.rstrip("?") == "String"]
    if draw(_seldom) and texts:
        own.append(Member(f'vec: {VECTOR}? @embed({draw(st.sampled_from(texts))}, model="m")', "vec", f"{VECTOR}?"))
    tail = draw(_notes()) + (f" implements {', '.join(implemented)}" if implemented else "")
    return Block("node", name, tail, (*own, *draw(_node_constraints(own)), *draw(_shared_constraints(own, []))))


@st.composite
def _edge(draw: st.DrawFn, name: str, nodes: list[str]) -> Block:
    source, target = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
    card = draw(st.sampled_from(("", " @card(0..1)", " @card(1..)")))
    own = draw(_properties(("one", "since")))
    tail = f": {source} -> {target}{card}{draw(_notes())}"
    return Block("edge", name, tail, (*own, *draw(_shared_constraints(own, ["src", "dst"]))))


@st.composite
def _properties(draw: st.DrawFn, names: tuple[str, ...]) -> list[Member]:
    members = []
    for name in draw(st.lists(st.sampled_from(names), unique=True)):
        type_ = draw(st.sampled_from((*PLAIN, *PLAIN, *UNINDEXED, VECTOR))) + draw(st.sampled_from(("", "?")))
        words = () if type_.rstrip("?") in UNINDEXED else ("@index",) if type_.startswith(VECTOR) else ("@index", "@unique")
        written = "".join(f" {word}" for word in words if draw(_seldom))
        members.append(Member(f"{name}: {type_}{written}{draw(_notes(instruction=False))}", name, type_))
    return members


@st.composite
def _node_constraints(draw: st.DrawFn, own: list[Member]) -> list[Member]:
    keys = [m.name for m in own if m.type in PLAIN]
    numbers = [m.name for m in own if m.type.rstrip("?") in ("I32", "I64", "U32", "F64")]
    texts = [m.name for m in own if m.type.startswith(("String", "enum"))]
    found = []
    if draw(_seldom) and keys:
        found.append(f"@key({', '.join(draw(st.lists(st.sampled_from(keys), unique=True, min_size=1, max_size=2)))})")
    if draw(_seldom) and numbers:
        found.append(f"@range({draw(st.sampled_from(numbers))}, {draw(st.sampled_from(('0..9', '0.0..9.0', '-1..', '..7')))})")
    if draw(_seldom) and texts:
        found.append(f'@check({draw(st.sampled_from(texts))}, "{draw(st.sampled_from(("^a", "b+")))}")')
    return [Member(text) for text in found]


@st.composite
def _shared_constraints(draw: st.DrawFn, own: list[Member], system: list[str]) -> list[Member]:
    indexed = [*system, *(m.name for m in own if not m.type.startswith("Blob"))]
    compared = [*system, *(m.name for m in own if not m.type.startswith(("Blob", "[", VECTOR)))]
    found = []
    for word, columns in (("unique", compared), ("index", indexed)):
        if draw(_seldom) and columns:
            chosen = draw(st.lists(st.sampled_from(columns), unique=True, min_size=1, max_size=2))
            found.append(Member(f"@{word}({', '.join(chosen)})"))
    return found


@st.composite
def _notes(draw: st.DrawFn, *, instruction: bool = True) -> str:
    possible = [' @description("what it is")', ' @description("what it \\"was\\"")', ' @owner("somebody", since=3)', " @flag"]
    if instruction:
        possible.append(' @instruction("be careful")')
    return draw(st.sampled_from(possible)) if draw(_seldom) else ""


_seldom = st.sampled_from((False, False, False, True))
