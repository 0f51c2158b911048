"""The measures again, as plainly as they can be said: dictionaries and loops, one node at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

Node = tuple[str, str]
Edge = tuple[Node, Node]


def degree(nodes: Sequence[Node], edges: Sequence[Edge], direction: str) -> dict[Node, int]:
    out, in_ = Counter(s for s, _ in edges), Counter(t for _, t in edges)
    return {n: (out[n] if direction != "in" else 0) + (in_[n] if direction != "out" else 0) for n in nodes}


def pagerank(nodes: Sequence[Node], edges: Sequence[Edge], damping: float, rounds: int) -> dict[Node, float]:
    ranks = {n: 1 / len(nodes) for n in nodes}
    out = Counter(s for s, _ in edges)
    for _ in range(rounds):
        lost = sum(ranks[n] for n in nodes if not out[n])
        new = {n: (1 - damping + damping * lost) / len(nodes) for n in nodes}
        for s, t in edges:
            new[t] += damping * ranks[s] / out[s]
        ranks = new
    return ranks


def _groups(labels: dict[Node, Node]) -> dict[Node, int]:
    """Groups by their least member."""
    members: dict[Node, list[Node]] = {}
    for node, label in labels.items():
        members.setdefault(label, []).append(node)
    order = sorted(members.values(), key=min)
    return {node: number for number, group in enumerate(order) for node in group}


def components(nodes: Sequence[Node], edges: Sequence[Edge]) -> dict[Node, int]:
    around: dict[Node, set[Node]] = {n: {n} for n in nodes}
    for s, t in edges:
        around[s].add(t)
        around[t].add(s)
    labels: dict[Node, Node] = {}
    for node in sorted(nodes):
        waiting = [node]
        while waiting:
            at = waiting.pop()
            if at not in labels:
                labels[at] = node
                waiting += around[at]
    return _groups(labels)


def label_propagation(nodes: Sequence[Node], edges: Sequence[Edge], rounds: int) -> dict[Node, int]:
    labels = {n: n for n in nodes}
    for _ in range(rounds):
        votes: dict[Node, Counter[Node]] = {n: Counter([labels[n]]) for n in nodes}
        for s, t in edges:
            if s != t:
                votes[s][labels[t]] += 1
                votes[t][labels[s]] += 1
        new = {}
        for n in nodes:
            most = max(votes[n].values())
            new[n] = min(label for label, count in votes[n].items() if count == most)
        labels = new
    return _groups(labels)


def triangles(nodes: Sequence[Node], edges: Sequence[Edge]) -> dict[Node, int]:
    joined = {frozenset(e) for e in edges if e[0] != e[1]}
    found = Counter[Node]()
    for corners in combinations(sorted(nodes), 3):
        if all(frozenset(pair) in joined for pair in combinations(corners, 2)):
            found.update(corners)
    return {n: found[n] for n in nodes}


def reached(
    edges: Sequence[Edge], starts: Sequence[Node], direction: str, most: int | None
) -> dict[Node, tuple[int, Node | None]]:
    """Hops, and the least node before."""
    ways = [(s, t) for s, t in edges if direction != "in"] + [(t, s) for s, t in edges if direction != "out"]
    found: dict[Node, tuple[int, Node | None]] = dict.fromkeys(starts, (0, None))
    hops = 0
    while most is None or hops < most:
        new: dict[Node, Node] = {}
        for s, t in ways:
            if s in found and found[s][0] == hops and t not in found:
                new[t] = min(s, new.get(t, s))
        if not new:
            break
        hops += 1
        found |= {t: (hops, s) for t, s in new.items()}
    return found
