"""A property graph store for LlamaIndex on a branch of a graph: `pip install 'omnigraph[llamaindex]'`.

    og.init("kg.omni", schema=schema("labelled", dimension=1536))
    store = OmniGraphPropertyGraphStore(og.open("kg.omni"), agent="ada")
    PropertyGraphIndex.from_documents(documents, property_graph_store=store)

It is a `PropertyGraphStore`. Its nodes and relations have labels and properties of any kind, which no schema knows: they are kept
as one type of nodes and one of edges (`templates/labelled.pg`), properties as JSON text. Each call that changes something is one
commit on the branch of the agent. Vectors are those that LlamaIndex made, brought to length one. Where several properties are
given, all have to match. `structured_query` takes `.gq` queries that read, not Cypher.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from omnigraph.errors import UsageError
from omnigraph.memory.agent_branch import MAIN, AgentBranch, Record
from omnigraph.model.phrases import counted

try:
    from llama_index.core.graph_stores.types import ChunkNode, EntityNode, LabelledNode, PropertyGraphStore, Relation
    from llama_index.core.prompts import PromptTemplate
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery
except ImportError:
    raise UsageError("llama-index-core is not installed", hint="pip install 'omnigraph[llamaindex]'") from None

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog
    from omnigraph.engine.any_graph import AnyGraph

_NEEDED: Final = {"key", "label", "name", "text", "properties", "embedding"}
_GROWTH: Final = 4


def _columns(of: str, prefix: str = "") -> str:
    return ", ".join(f"${of}.{name} as {prefix}{name}" for name in ("key", "label", "name", "text", "properties"))


_TRIPLET: Final = f"{_columns('a', 'a_')}, $r.label as label, $r.properties as properties, {_columns('b', 'b_')}"
_TEMPLATE: Final = (
    "Write one query in the language `.gq` that answers the question, and nothing else. It reads as"
    ' `query q() {{ match {{ $a: Labelled {{ name: "Ada" }}  $a $r:relates $b }} return {{ $b.name, $r.label }} limit 10 }}`.'
    " Use only what this schema has; labels are values of `label`, `properties` is JSON text.\n{schema}\n\nQuestion: {question}\n"
)


class OmniGraphPropertyGraphStore(PropertyGraphStore):
    """Labelled nodes and relations on the branch of an agent. Safe from any thread as far as its graph is."""

    supports_structured_queries = True
    supports_vector_queries = True
    text_to_cypher_template = PromptTemplate(_TEMPLATE)

    def __init__(
        self,
        graph: AnyGraph,
        *,
        agent: str | None = None,
        branch: str | None = None,
        base: str | None = MAIN,
        actor: str | None = None,
    ) -> None:
        """Who writes where, as for `Memory`."""
        self._on = AgentBranch(
            graph,
            dimension=_dimension_of,
            field=("Labelled", "embedding"),
            agent=agent,
            branch=branch,
            base=base,
            embedder=None,
            actor=actor,
            makes_vectors=False,
        )

    @property
    def client(self) -> AnyGraph:
        """The graph."""
        return self._on.graph

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """Nodes with all of these properties, among these ids."""
        self._on.ready()
        conditions, params = [], dict[str, object]()
        declared = []
        if ids:
            conditions.append("$n.key in $ids")
            declared.append("$ids: [String]")
            params["ids"] = list(ids)
        for number, fragment in enumerate(_fragments(properties)):
            conditions.append(f"$n.properties contains $p{number}")
            declared.append(f"$p{number}: String")
            params[f"p{number}"] = fragment
        query = f"""query nodes({", ".join(declared)}) {{
    match {{ $n: Labelled  {"  ".join(conditions)} }}
    return {{ {_columns("n")}, $n.embedding as embedding }}
    order {{ $n.key }}
}}"""
        found = [_node(row) for row in self._on.rows(query, params)]
        return [node for node in found if _has(node.properties, properties)]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[tuple[LabelledNode, Relation, LabelledNode]]:
        """Relations with their ends: of entities of these names or ids, with these labels; nothing if nothing is asked for.

        Properties are those of the relation or of one of its ends.
        """
        if not (entity_names or relation_names or properties or ids):
            return []
        self._on.ready()
        found = self._triplets(relation_names, ends=[*(entity_names or ()), *(ids or ())] or None)
        if entity_names:
            found = [t for t in found if {t[0].id, t[2].id, *_names(t)} & set(entity_names)]
        if ids:
            found = [t for t in found if {t[0].id, t[2].id} & set(ids)]
        return [t for t in found if not properties or any(_has(part.properties, properties) for part in t)]

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[tuple[LabelledNode, Relation, LabelledNode]]:
        """Relations around nodes, whichever way they lead, those that are next to them first."""
        self._on.ready()
        seen: dict[tuple[str, str, str], tuple[LabelledNode, Relation, LabelledNode]] = {}
        reached, border = {node.id for node in graph_nodes}, [node.id for node in graph_nodes]
        for _ in range(depth):
            if not border or len(seen) >= limit:
                break
            triplets = [t for t in self._triplets(None, ends=border) if t[1].label not in (ignore_rels or ())]
            seen |= {(t[0].id, t[1].label, t[2].id): t for t in triplets if (t[0].id, t[1].label, t[2].id) not in seen}
            border = sorted({end.id for t in triplets for end in (t[0], t[2])} - reached)
            reached.update(border)
        return list(seen.values())[:limit]

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """The rows of a `.gq` query, which only reads."""
        self._on.ready()
        return self._on.rows(query, dict(param_map or {}))

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        """The nodes whose vectors are nearest, with the cosines of the angles between."""
        dimension = self._on.ready()
        if query.query_embedding is None:
            raise UsageError("a vector query needs `query_embedding`", hint="LlamaIndex makes it with its embedding model.")
        like, most = _unit(query.query_embedding, dimension), query.similarity_top_k
        text = f"""query near($like: Vector({dimension}), $most: I64) {{
    match {{ $n: Labelled }}
    return {{ {_columns("n")}, nearest($n.embedding, $like) as distance }}
    order {{ nearest($n.embedding, $like) }}
    limit $most
}}"""
        asked = most
        while most > 0:
            rows = self._on.rows(text, {"like": like, "most": asked})
            some = [(node, 1 - row["distance"] / 2) for row in rows if _passes((node := _node(row)).properties, query.filters)]
            if len(some) >= most or len(rows) < asked:
                return [node for node, _ in some[:most]], [score for _, score in some[:most]]
            asked *= _GROWTH
        return [], []

    def get_schema(self, refresh: bool = False) -> str:
        """The schema of the graph, as text."""
        return self._on.graph.schema(branch=self._on.read())

    def get_schema_str(self, refresh: bool = False) -> str:
        """The same."""
        return self.get_schema(refresh)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Write nodes; those with their ids are replaced, except that a vector stays where none is given for the same text."""
        dimension = self._on.ready()
        new = {node.id: node for node in nodes}
        if not new:
            return
        known = {row["key"]: row for row in self._on.rows(_KNOWN, {"keys": list(new)})}
        rows: list[Record] = []
        for id_, node in new.items():
            data = _written(node)
            was = known.get(id_)
            if node.embedding is not None:
                data["embedding"] = _unit(node.embedding, dimension)
            elif was is not None and (was["name"], was["text"]) != (data["name"], data["text"]):
                data["embedding"] = None
            rows.append({"type": "Labelled", "data": data})
        self._on.put(rows, "upsert nodes")

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Write relations; the same label between the same nodes is replaced. Ends that are not there are added as entities."""
        self._on.ready()
        if not relations:
            return
        ends = dict.fromkeys(end for one in relations for end in (one.source_id, one.target_id))
        known = {row["key"] for row in self._on.rows(_KNOWN, {"keys": list(ends)})}
        rows: list[Record] = [
            {"type": "Labelled", "data": {**_written(EntityNode(name=end)), "key": end}} for end in ends if end not in known
        ]
        rows += [
            {
                "edge": "Relates",
                "from": one.source_id,
                "to": one.target_id,
                "data": {"label": one.label, "properties": _json(one.properties, one.label)},
            }
            for one in {(one.source_id, one.target_id, one.label): one for one in relations}.values()
        ]
        self._on.put(rows, "upsert relations")

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Delete nodes by name, by id and by properties, with their relations; and relations by label. One commit."""
        self._on.ready()
        keys = {node.id for node in self.get(properties=properties)} if properties else set()
        if ids or entity_names:
            names = list(dict.fromkeys([*(ids or ()), *(entity_names or ())]))
            for row in self._on.rows(_NAMED, {"names": names}):
                if row["key"] in (ids or ()) or (entity_names and {row["name"], row["key"]} & set(entity_names)):
                    keys.add(row["key"])
        rows: list[Record] = [{"op": "delete", "type": "Labelled", "data": {"key": key}} for key in sorted(keys)]
        for a, relation, b in self._triplets(relation_names) if relation_names else ():
            if not {a.id, b.id} & keys:
                end = {"edge": "Relates", "from": a.id, "to": b.id, "data": {"label": relation.label}}
                rows.append({"op": "delete", **end})
        if rows:
            self._on.put(rows, "delete")

    def _triplets(
        self, labels: Sequence[str] | None, ends: Sequence[str] | None = None
    ) -> list[tuple[LabelledNode, Relation, LabelledNode]]:
        """Relations with one of these labels, at least one end of which has one of these ids or names."""
        declared, params, only = [], dict[str, object](), ""
        if labels:
            declared, params, only = ["$labels: [String]"], {"labels": list(labels)}, "$r.label in $labels"
        asked = [""] if ends is None else [f"${end}.{name} in $ends" for end in "ab" for name in ("key", "name")]
        if ends is not None:
            declared, params = [*declared, "$ends: [String]"], {**params, "ends": list(ends)}
        found = {}
        for condition in asked:
            query = f"""query triplets({", ".join(declared)}) {{
    match {{ $a: Labelled  $a $r:relates $b  {condition}  {only} }}
    return {{ {_TRIPLET} }}
    order {{ $a.key, $r.label, $b.key }}
}}"""
            for row in self._on.rows(query, params):
                relation = Relation(
                    label=row["label"],
                    source_id=row["a_key"],
                    target_id=row["b_key"],
                    properties=json.loads(row["properties"]),
                )
                found[row["a_key"], row["label"], row["b_key"]] = (_node(row, "a_"), relation, _node(row, "b_"))
        return [found[place] for place in sorted(found)]


_KNOWN: Final = """query known($keys: [String]) {
    match { $n: Labelled  $n.key in $keys }
    return { $n.key as key, $n.name as name, $n.text as text }
}"""
_NAMED: Final = """query named($names: [String]) {
    match { $n: Labelled  $n.key in $names or $n.name in $names }
    return { $n.key as key, $n.name as name }
}"""


def _dimension_of(catalog: Catalog, where: str) -> int:
    found = catalog.nodes.get("Labelled")
    if found is None or not set(found.properties) >= _NEEDED or "Relates" not in catalog.edges:
        raise UsageError(
            f"{where} has no schema for labelled nodes",
            hint="Create the graph from the template `labelled`, or apply a schema that holds the types of that template too.",
        )
    return found.properties["embedding"].type.dimension or 0


def _written(node: LabelledNode) -> Record:
    own = {"name": getattr(node, "name", None), "text": getattr(node, "text", None)}
    return {"key": node.id, "label": node.label, **own, "properties": _json(node.properties, node.id)}


def _node(row: Mapping[str, Any], prefix: str = "") -> LabelledNode:
    label, name, text = (row[f"{prefix}{column}"] for column in ("label", "name", "text"))
    vector = row.get(f"{prefix}embedding")
    more = {
        "label": label,
        "properties": json.loads(row[f"{prefix}properties"]),
        "embedding": None if vector is None else [float(number) for number in vector],
    }
    return EntityNode(name=name, **more) if text is None else ChunkNode(text=text, id_=row[f"{prefix}key"], **more)


def _names(triplet: tuple[LabelledNode, Relation, LabelledNode]) -> list[str]:
    return [end.name for end in (triplet[0], triplet[2]) if isinstance(end, EntityNode)]


def _json(properties: Mapping[str, Any], of: str) -> str:
    try:
        return json.dumps(properties, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the properties of `{of}` cannot be written as JSON: {error}", hint="") from None


def _fragments(properties: Mapping[str, Any] | None) -> Iterable[str]:
    """What the text of properties that match has in any case: other rows need not be read."""
    for name, value in (properties or {}).items():
        whole = isinstance(value, str | bool) or value is None
        said = _json({name: value if whole else None}, name)[1:-1]
        if value is not None:
            yield said if whole else said.removesuffix("null")


def _has(properties: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(properties.get(name) == value for name, value in (wanted or {}).items())


def _unit(vector: Sequence[float], dimension: int) -> list[float]:
    length = math.sqrt(sum(number * number for number in vector))
    if len(vector) != dimension or not 0 < length < math.inf:
        raise UsageError(
            f"a vector of {counted(len(vector), 'number')} and length {length:g}, where the graph has vectors of {dimension}",
            hint="Create the graph with the dimension of the embedding model.",
        )
    return [number / length for number in vector]


def _passes(properties: Mapping[str, Any], filters: MetadataFilters | None) -> bool:
    if filters is None or not filters.filters:
        return True
    found = [
        _passes(properties, one) if isinstance(one, MetadataFilters) else _fits(properties.get(one.key), one)
        for one in filters.filters
    ]
    how = "and" if filters.condition is None else filters.condition.value
    return any(found) if how == "or" else not any(found) if how == "not" else all(found)


def _fits(value: Any, wanted: MetadataFilter) -> bool:
    how, other = wanted.operator.value, wanted.value
    orders = {">": lambda: value > other, ">=": lambda: value >= other, "<": lambda: value < other, "<=": lambda: value <= other}
    if how in orders:
        try:
            return bool(orders[how]())
        except TypeError:
            return False
    if how in ("==", "!="):
        return bool((value == other) is (how == "=="))
    if how in ("in", "nin"):
        return (value in (other or ())) is (how == "in")
    if how in ("contains", "any", "all"):
        have, asked = value if isinstance(value, list) else [], other if isinstance(other, list) else [other]
        return any(one in have for one in asked) if how == "any" else all(one in have for one in asked)
    if how == "is_empty":
        return value is None or value in ("", [])
    raise UsageError(f"filters on properties have no operator `{how}` here", hint="")
