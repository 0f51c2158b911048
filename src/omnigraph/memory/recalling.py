"""How a question finds memories: a few bounded queries of one commit, and a sum that is said here.

    1  ranking       the best by vectors and by words, fused by reciprocal ranks (`rrf`), among those that hold at the moment
    2  provenance    what they are about, where they are from, who remembered them
    3  neighbours    memories about the same entities as the best of them, or about entities that the question names
    4  relations     of those entities

**Relevance.** A memory has the sum of 1 / (60 + rank) over both rankings. The best `SEEDS` lend part of theirs to memories about
the same entities: `LENT` of it, divided by the root of how many share the entity, so that an entity that everything is about
lends next to nothing; beyond `HUB` memories it is not looked at. An entity that the question names lends what a first rank is
worth in the same way.

**Time.** What does not hold at the moment, by `valid_from` and `valid_until`, is not ranked. Confidence decays by half with
every half-life since it was confirmed; without a half-life it stays. All of it is data of the memory:

    confidence_now = confidence × 0.5 ^ (days since confirmed / half_life_days)
    score          = relevance × confidence_now × (0.5 + importance)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import sqrt
from typing import Any, Final

from omnigraph.memory.recollections import Recollection, Relation
from omnigraph.model.frozen import frozen

Ask = Callable[[str, Mapping[str, object]], list[dict[str, Any]]]
"""Answers a query with rows, always of the same commit."""

LEAST_CANDIDATES: Final = 40
"""Memories that are ranked at least: fusing needs more than are shown."""
PER_SHOWN: Final = 4
SEEDS: Final = 5
LENT: Final = 0.5
HUB: Final = 50
NEIGHBOURS: Final = 100
RELATIONS: Final = 50
FIRST_RANK: Final = 1 / 61
_LONGEST_NAME: Final = 4
"""Words of a name that is looked for in a question."""
_NAMES: Final = 200
_DAY: Final = 86_400.0

_COLUMNS: Final = """$m.hash as id, $m.text as text, $m.kind as kind, $m.created as created, $m.confirmed as confirmed,
        $m.valid_from as valid_from, $m.valid_until as valid_until, $m.confidence as confidence,
        $m.half_life_days as half_life_days, $m.importance as importance"""

_PROVENANCE: Final = """query provenance($ids: [String]) {
    match {
        $m: Memory
        $m.hash in $ids
        optional { $m about $e }
        optional { $m fromSource $s }
        optional { $m byAgent $a }
    }
    return { $m.hash as id, $e.name as about, $s.name as source, $a.name as agent }
}"""

_SHARED: Final = """query shared($names: [String]) {
    match { $e: Entity  $e.name in $names  $m about $e }
    return { $e.name as name, count($m) as memories }
}"""

_RELATIONS: Final = """query relations($names: [String], $most: I64) {
    match { $a: Entity  $a.name in $names  $a $r:relatesTo $b }
    return { $a.name as from, $r.how as how, $b.name as to, $r.confidence as confidence }
    order { $r.confidence desc, $a.name, $r.how, $b.name }
    limit $most
}"""


@frozen
class Question:
    """What is looked for."""

    text: str
    at: datetime
    most: int
    like: Sequence[float] | str | None = None
    """A vector, or a text that the graph makes one of; None: there are no vectors."""
    dimension: int = 0
    about: tuple[str, ...] = ()
    since: datetime | None = None
    kinds: tuple[str, ...] = ()


def found_by(ask: Ask, question: Question) -> tuple[tuple[Recollection, ...], tuple[Relation, ...]]:
    """The memories that answer a question best, and how what they are about relates to other things."""
    candidates = max(LEAST_CANDIDATES, PER_SHOWN * question.most)
    rows = {row["id"]: row for row in reversed(ask(_ranking(question), _params(question, candidates)))}
    relevance = {id_: row["relevance"] for id_, row in rows.items()}
    if question.like is None:  # the score of a single ranking is not a reciprocal rank yet
        relevance = {id_: 1 / (60 + rank) for rank, id_ in enumerate(reversed(rows), 1)}
    provenance = _provenance(ask, relevance)
    lent = _lenders(question, relevance, provenance)
    for row in _neighbours(ask, question, lent):
        rows.setdefault(row["id"], row)
        relevance[row["id"]] = relevance.get(row["id"], 0.0) + row["lent"]
    scored = [(_score(row, relevance[id_], question.at), id_) for id_, row in rows.items()]
    best = sorted(scored, key=lambda one: (-one[0][0], one[1]))[: question.most]
    provenance.update(_provenance(ask, [id_ for _, id_ in best if id_ not in provenance]))
    memories = tuple(
        _recollection(rows[id_], score, relevance[id_], now, provenance.get(id_, _NOWHERE)) for (score, now), id_ in best
    )
    names = {name for memory in memories for name in memory.about} | set(lent) | set(question.about)
    return memories, _relations(ask, names)


def _conditions(question: Question) -> str:
    """What has to be true of `$m`, beside what it is about."""
    since = "\n        $m.created >= $since" if question.since is not None else ""
    kinds = "\n        $m.kind in $kinds" if question.kinds else ""
    return f"""$m.valid_from is null or $m.valid_from <= $at
        $m.valid_until is null or $m.valid_until > $at{since}{kinds}"""


def _declared(question: Question) -> str:
    since = ", $since: DateTime" if question.since is not None else ""
    return "$at: DateTime, $most: I64" + since + (", $kinds: [String]" if question.kinds else "")


def _conditioned(question: Question, most: int) -> dict[str, object]:
    params: dict[str, object] = {"at": question.at, "most": most}
    if question.since is not None:
        params["since"] = question.since
    if question.kinds:
        params["kinds"] = list(question.kinds)
    return params


def _ranking(question: Question) -> str:
    names = ", $names: [String]" if question.about else ""
    of = "$e: Entity  $e.name in $names  $m about $e" if question.about else "$m: Memory"
    words = "bm25($m.text, $text)"
    vector = "String" if isinstance(question.like, str) else f"Vector({question.dimension})"
    like = "" if question.like is None else f", $like: {vector}"
    ranked = words if question.like is None else f"rrf(nearest($m.embedding, $like), {words})"
    return f"""query recall($text: String, {_declared(question)}{names}{like}) {{
    match {{
        {of}
        {_conditions(question)}
    }}
    return {{ {_COLUMNS}, {ranked} as relevance }}
    order {{ {ranked} }}
    limit $most
}}"""


def _params(question: Question, most: int) -> dict[str, object]:
    params = {**_conditioned(question, most), "text": question.text}
    if question.about:
        params["names"] = list(question.about)
    if question.like is not None:
        params["like"] = question.like
    return params


@frozen
class _From:
    """Where a memory is from."""

    about: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


_NOWHERE: Final = _From()


def _provenance(ask: Ask, ids: Iterable[str]) -> dict[str, _From]:
    wanted = list(ids)
    if not wanted:
        return {}
    found: dict[str, tuple[set[str], set[str], set[str]]] = {}
    for row in ask(_PROVENANCE, {"ids": wanted}):
        of = found.setdefault(row["id"], (set(), set(), set()))
        for names, name in zip(of, (row["about"], row["source"], row["agent"]), strict=True):
            if name is not None:
                names.add(name)
    return {id_: _From(*(tuple(sorted(names)) for names in of)) for id_, of in found.items()}


def _lenders(question: Question, relevance: Mapping[str, float], provenance: Mapping[str, _From]) -> dict[str, float]:
    """Entities that lend relevance to what is about them, and how much there is to lend."""
    if question.about:
        return dict.fromkeys(question.about, FIRST_RANK)
    lent = dict.fromkeys(names_in(question.text), FIRST_RANK)
    for id_ in sorted(relevance, key=lambda id_: -relevance[id_])[:SEEDS]:
        for name in provenance.get(id_, _NOWHERE).about:
            lent[name] = max(lent.get(name, 0.0), LENT * relevance[id_])
    return lent


def names_in(text: str) -> list[str]:
    """What may be names of entities in a question: every run of up to four words, as it is written."""
    words = re.findall(r"[^\s,;:!?\"()]+", text)
    runs = (words[at : at + many] for many in range(1, _LONGEST_NAME + 1) for at in range(len(words) - many + 1))
    spelt = dict.fromkeys(" ".join(run).strip(".'’") for run in runs)
    return [name for name in spelt if name][:_NAMES]


def _neighbours(ask: Ask, question: Question, lent: Mapping[str, float]) -> list[dict[str, Any]]:
    """Memories about the entities, each once, with what it is lent."""
    if not lent:
        return []
    sharing = {row["name"]: row["memories"] for row in ask(_SHARED, {"names": list(lent)})}
    near = [name for name, memories in sharing.items() if memories <= HUB]
    near = sorted(near, key=lambda name: (-lent[name] / sqrt(sharing[name]), name))[: NEIGHBOURS // 5]
    if not near:
        return []
    query = f"""query neighbours($names: [String], {_declared(question)}) {{
    match {{
        $e: Entity
        $e.name in $names
        $m about $e
        {_conditions(question)}
    }}
    return {{ {_COLUMNS}, $e.name as name }}
    order {{ $m.confirmed desc }}
    limit $most
}}"""
    found: dict[str, dict[str, Any]] = {}
    for row in ask(query, {**_conditioned(question, NEIGHBOURS), "names": near}):
        share = lent[row["name"]] / sqrt(sharing[row["name"]])
        kept = found.setdefault(row["id"], {**row, "lent": 0.0})
        kept["lent"] = max(kept["lent"], share)
    return list(found.values())


def _score(row: Mapping[str, Any], relevance: float, at: datetime) -> tuple[float, float]:
    now = decayed(row["confidence"], row["confirmed"], row["half_life_days"], at)
    return relevance * now * (0.5 + row["importance"]), now


def decayed(confidence: float, confirmed: datetime, half_life_days: float | None, at: datetime) -> float:
    """What is left of a confidence at a moment. Before it was confirmed it is what it was confirmed to be."""
    if half_life_days is None:
        return confidence
    days = max((at - _utc(confirmed)).total_seconds(), 0.0) / _DAY
    return float(confidence * 0.5 ** (days / half_life_days))


def _recollection(row: Mapping[str, Any], score: float, relevance: float, now: float, of: _From) -> Recollection:
    return Recollection(
        row["id"],
        row["text"],
        row["kind"],
        score,
        relevance,
        row["confidence"],
        now,
        row["importance"],
        _utc(row["created"]),
        _utc(row["confirmed"]),
        None if row["valid_from"] is None else _utc(row["valid_from"]),
        None if row["valid_until"] is None else _utc(row["valid_until"]),
        of.about,
        of.sources,
        of.agents,
    )


def _relations(ask: Ask, names: set[str]) -> tuple[Relation, ...]:
    if not names:
        return ()
    rows = ask(_RELATIONS, {"names": sorted(names), "most": RELATIONS})
    return tuple(Relation(row["from"], row["how"], row["to"], row["confidence"]) for row in rows)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
