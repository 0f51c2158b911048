"""The writer of random queries: what it writes is well-typed, finds something, and says everything the language can say."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tests.engine.answers import Near, difference
from tests.engine.random_cases import Case, case
from tests.engine.reference import evaluate

GRAPHS, QUERIES = 40, 10

FEATURES = {
    "a binding": r"\$\w+: [A-Z]",
    "an interface": r": (Named|Dated)\b",
    "a wildcard": r"\$_\b",
    "an edge variable": r"\$\w+ \$[a-z]\w*:",
    "either direction": r"<\w+>",
    "hop bounds": r"\{\d,\d\}",
    "a parameter": r"query q\(\$",
    "not": r"\bnot \{",
    "not inside not": r"not \{[^}]*not \{",
    "optional": r"\boptional \{",
    "and": r" and ",
    "or": r" or ",
    "in": r" in [\[$]",
    "is null": r" is (not )?null",
    "contains": r" contains ",
    "starts_with": r" starts_with ",
    "search": r"\b(search|match_text)\(",
    "fuzzy": r"\bfuzzy\(",
    "now": r"\bnow\(\)",
    "distinct": r"return distinct",
    "aggregates": r"\b(count|sum|avg|min|max)\(",
    "distinct inside an aggregate": r"\(distinct ",
    "order": r"order \{",
    "order by an aggregate": r"order \{ (count|sum|avg|min|max)\(",
    "nearest": r"order \{ nearest\(",
    "bm25": r"order \{ bm25\(",
    "rrf": r"order \{ rrf\(",
    "a ranking by its alias": r"(nearest|bm25|rrf)\(.*\) as (c\d).*order \{ \2",
    "a ranking from its worst end": r"order \{ (bm25|rrf)\([^{}]*\) asc",
    "a ranking and further keys": r"order \{ (nearest|bm25|rrf)\([^{}]*\)( asc| desc)?, \$",
    "a ranking as a later key": r"order \{ [$c][^{}]*, bm25\(",
    "a score": r"return \{.*(bm25|nearest)\(.* \}",
    "limit": r"limit \d",
    "offset": r"offset \d",
}


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    return [case(seed, number) for seed in range(GRAPHS) for number in range(QUERIES)]


def test_every_feature_is_drawn(drawn: list[Case]) -> None:
    found = Counter(name for c in drawn for name, pattern in FEATURES.items() if re.search(pattern, c.query))
    assert set(FEATURES) - set(found) == set()


def test_most_find_something(drawn: list[Case]) -> None:
    answers = [evaluate(c.graph.catalog, c.graph.main, c.checked, c.params) for c in drawn]
    assert sum(answer.total > 0 for answer in answers) > 0.8 * len(drawn)
    for answer in answers:
        rows = [
            {n: v.value if isinstance(v, Near) else v for n, v in zip(answer.columns, row, strict=True)} for row in answer.rows
        ]
        assert difference(answer, rows) is None


def test_a_seed_says_it_all(drawn: list[Case]) -> None:
    again = case(drawn[7].seed, drawn[7].number)
    assert (again.query, again.params, again.graph.schema) == (drawn[7].query, drawn[7].params, drawn[7].graph.schema)
    assert f"OMNIGRAPH_SEED={again.seed}/{again.number}" in str(again)
