"""Random queries that explode: operators of every kind, put together at sizes that no machine has room for.

    python -m tests.engine.hostile_random <graph> <first seed> <count> <seconds> <bytes>        a JSON line per query

They are written over the graph of `hostile_queries`, and asked with its `asked`. A query is made of a seed alone.
"""

from __future__ import annotations

import json
import sys
from random import Random

from tests.engine.hostile_queries import MANY, asked, read, slowness

import omnigraph

_LIST = {"l": [f"text {number}" for number in range(MANY // 10)]}


class Writer:
    """Writes one query."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.nodes: list[str] = []
        self.edges: list[str] = []
        self.optional: list[str] = []
        self.fresh = 0

    def _new(self, kind: str) -> str:
        self.fresh += 1
        return f"${kind}{self.fresh}"

    def _node(self) -> str:
        return self.rng.choice(self.nodes)

    def _scan(self) -> str:
        made = self._new("v")
        self.nodes.append(made)
        few = self.rng.choice(["", "", "", f"{made}.n < {self.rng.choice([5, 200, 2_000])}", f"{made}.m = 3", f"{made}.s in $l"])
        return f"{made}: N {few}"

    def _hop(self) -> str:
        source, target = self._node(), self._new("v")
        how = self.rng.choice(
            ["e", "e", "e", "<e>", f"e{{1,{self.rng.randint(2, 6)}}}", f"e{{2,{self.rng.randint(2, 4)}}}", "edge"]
        )
        if how == "edge":
            edge = self._new("x")
            self.edges.append(edge)
            how = f"{edge}:e"
        if self.rng.random() < 0.15 and ":" not in how:
            target = self._node()  # closes a ring
        elif target not in self.nodes:
            self.nodes.append(target)
        return f"{source} {how} {target}"

    def _chain(self) -> str:
        return " ".join(self._hop() for _ in range(self.rng.choice([2, 3, 8, 25])))

    def _condition(self) -> str:
        a, b = self._node(), self._node()
        return self.rng.choice(
            [
                f"{a}.n != {b}.m",
                f"{a}.n > {b}.n",
                f"{a}.s contains {b}.s",
                f"{a}.w contains {b}.s",
                f"fuzzy({a}.w, {b}.w, {self.rng.randint(0, 2)})",
                f"search({a}.w, {b}.w)",
                f"({a}.n = {b}.n or {a}.m = {b}.m or {a}.s = {b}.s)",
                f"{a}.t contains {b}.m",
                f"{a}.s in $l",
            ]
        )

    def _block(self) -> str:
        a, b, inner = self._node(), self._node(), self._new("z")
        word = self.rng.choice(["not", "optional"])
        if word == "optional":
            self.optional.append(inner)
        return self.rng.choice(
            [
                f"{word} {{ {a} e {inner} {inner}.n > {b}.n }}",
                f"{word} {{ {a} e{{1,3}} {inner} }}",
                f"{word} {{ {a} e {inner} {inner} e {b} }}",
                f"{word} {{ {inner}: N {inner}.n < {a}.n {inner}.s contains {b}.s }}",
            ]
        )

    def _value(self) -> str:
        where = self.rng.choice([*self.nodes, *self.optional, *self.edges])
        if where in self.edges:
            return f"{where}.x"
        return f"{where}.{self.rng.choice(['k', 'n', 's', 'm', 'w', 't'])}"

    def _aggregate(self) -> str:
        where = self.rng.choice([*self.nodes, *self.optional])
        return self.rng.choice(
            [
                f"count({where})",
                f"count(distinct {where})",
                f"count(distinct {where}.s)",
                f"sum({where}.n)",
                f"avg({where}.m)",
                f"min({where}.s)",
                f"max({where}.w)",
                f"sum(distinct {where}.n)",
            ]
        )

    def query(self) -> str:
        rng = self.rng
        clauses = [self._scan() for _ in range(rng.choice([1, 1, 2, 2, 3, 5]))]
        for _ in range(rng.choice([0, 1, 2, 3, 5, 9])):
            clauses.append(
                rng.choice([self._hop, self._hop, self._chain, self._condition, self._condition, self._block, self._scan])()
            )
        values = [self._value() for _ in range(rng.choice([1, 2, 2, 3, 40]))]
        kind = rng.choice(["rows", "distinct", "groups", "totals", "scores", "ranked"])
        aggregates = [self._aggregate() for _ in range(rng.choice([1, 2, 30]))] if kind in ("groups", "totals") else []
        returned = [] if kind == "totals" else values
        if kind == "scores":
            a, b = self._node(), self._node()
            returned.append(rng.choice([f"bm25({a}.w, {b}.w)", f'bm25({a}.w, "wolf lamp")', f"nearest({a}.v, {b}.v)"]))
        columns = ", ".join(f"{text} as c{place}" for place, text in enumerate([*returned, *aggregates]))
        order = (
            f"order {{ c{rng.randrange(len(returned) + len(aggregates))}{rng.choice(['', ' desc'])} }}"
            if rng.random() < 0.4
            else ""
        )
        limit = f"limit {rng.choice([5, 9_999_999])}" if rng.random() < 0.4 else ""
        if kind == "ranked":
            a, b = self._node(), self._node()
            rankings = [
                f"bm25({a}.w, {b}.w)",
                f'bm25({a}.w, "wolf")',
                f"nearest({a}.v, {b}.v)",
                f"nearest({a}.v, [1.0, 0.0, 0.0, 0.0])",
            ]
            order, limit = f"order {{ {rng.choice(rankings)} }}", f"limit {rng.choice([5, 9_999_999])}"
        elif kind == "scores":
            order = ""
        word = "distinct " if kind == "distinct" else ""
        body = f"match {{ {' '.join(clauses)} }} return {word}{{ {columns} }} {order} {limit}"
        return read(body, "$l: [String]" if "$l" in body else "")


def main() -> None:
    folder, first, count, seconds, memory = sys.argv[1:6]
    graph = omnigraph.open(folder)
    everything = "$a.k, $a.s, $a.n, $a.m, $a.w, $a.t, $a.v, $e.x"
    graph.query(read(f"match {{ $a: N $a $e:e $b }} return {{ {everything} }} limit 1"))
    graph.query(read('match { $a: N $a <e> $b search($a.w, "wolf") } return { $a.s, count($b) as c } limit 1'))
    graph.query(read("match { $a: N $b: N $b.n < 5 $a e{1,2} $b } return { count($a) as c }"))
    slow = slowness()
    for seed in range(int(first), int(first) + int(count)):
        text = Writer(seed).query()
        took = asked(graph, text, _LIST if "$l" in text else None, timeout=float(seconds), memory_limit=int(memory))
        print(json.dumps({"seed": seed, "query": text, "slowness": slow, **took}), flush=True)


if __name__ == "__main__":
    main()
