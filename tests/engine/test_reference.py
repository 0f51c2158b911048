"""The reference evaluator against the numbered cases of the specification: who judges the engine is judged first."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from tests.engine import reference_search as search
from tests.engine.answers import Answer, Near, difference
from tests.engine.reference import MissingParameter, NotEvaluated, evaluate
from tests.engine.reference_values import day, moment
from tests.engine.spec_cases import Case, cases, fixtures, written

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.check import check, read_query
from omnigraph.language import Source, parse_queries

FIXTURES = fixtures()
CASES = cases()
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def read(catalog: Catalog, text: str) -> lg.ReadQuery:
    source = Source(text)
    query = check(catalog, parse_queries(source).queries[0], source)
    assert isinstance(query, lg.ReadQuery)
    return query


@pytest.mark.parametrize("case", [c for c in CASES if not c.refused and not c.fails], ids=str)
def test_answers(case: Case) -> None:
    fixture = FIXTURES[case.fixture]
    found = evaluate(fixture.catalog, fixture.data, read(fixture.catalog, case.query), case.params, NOW)
    rows = [dict(zip(found.columns, map(_plain, row), strict=True)) for row in found.rows]
    assert difference(case.answer(found.columns), rows) is None
    if case.columns is not None:
        assert list(found.columns) == case.columns
    if "sequence" in case.notes and not case.name.startswith(("X12", "X13", "the limit")):
        assert all(len(tie) == 1 for tie in found.ties), "the order is not total"


def _plain(value: object) -> object:
    return value.value if isinstance(value, Near) else written(value)


@pytest.mark.parametrize("case", [c for c in CASES if c.refused], ids=str)
def test_is_refused(case: Case) -> None:
    source = Source(case.query)
    _, problems = read_query(FIXTURES[case.fixture].catalog, parse_queries(source).queries[0], source)
    assert [p.code for p in problems] == [case.refused]


@pytest.mark.parametrize("case", [c for c in CASES if c.fails], ids=str)
def test_cannot_be_run(case: Case) -> None:
    fixture = FIXTURES[case.fixture]
    with pytest.raises(MissingParameter):
        evaluate(fixture.catalog, fixture.data, read(fixture.catalog, case.query), case.params)


def test_every_numbered_case_is_there() -> None:
    numbers = {case.name.split()[0] for case in CASES}
    queries = {f"Q{n}" for n in range(1, 37)} | {"Q13b", "Q13c"}
    searches = {f"X{n}" for n in range(1, 14)}
    assert (
        queries | searches - {"X7"} <= numbers
    )  # X7, X14 and later need more than rows: they are below and in test_spec_queries


def test_x2_the_three_scores_are_equal() -> None:
    titles = [row["title"] for row in FIXTURES["search"].data["Doc"]]
    scores = {title: search.bm25(title, "Learning", titles) for title in titles}
    assert len({score for score in scores.values() if score}) == 1
    assert sum(1 for score in scores.values() if score) == 3


def test_x14_a_text_is_its_mock_vector() -> None:
    fixture = FIXTURES["search"]
    by_text = read(
        fixture.catalog, 'query q() { match { $d: Doc } return { $d.slug } order { nearest($d.embedding, "deep") } limit 5 }'
    )
    by_vector = read(
        fixture.catalog,
        "query q($v: Vector(4)) { match { $d: Doc } return { $d.slug } order { nearest($d.embedding, $v) } limit 5 }",
    )
    vector = search.mock_embedding("deep", 4)
    assert sum(c * c for c in vector) == pytest.approx(1)
    assert evaluate(fixture.catalog, fixture.data, by_text) == evaluate(fixture.catalog, fixture.data, by_vector, {"v": vector})


def test_fuzzy_is_edit_distance() -> None:
    assert search.edit_distance("kitten", "sitting") == 3
    assert search.matches_roughly("Introduction to lamps", "Introductio", 1)
    assert not search.matches_roughly("Introduction to lamps", "Introductio", 0)
    assert not search.matches_roughly(None, "lamp", 2)


def test_the_walk_of_the_specification() -> None:
    """Edges a→b, b→c, c→d, a→c with {2,3} from a: d alone."""
    catalog = FIXTURES["people"].catalog
    ends = ["ab", "bc", "cd", "ac"]
    data = {
        "Person": [{"id": name, "name": name} for name in "abcd"],
        "Knows": [{"id": pair, "src": pair[0], "dst": pair[1]} for pair in ends],
    }
    query = read(catalog, 'query q() { match { $p: Person { name: "a" } $p knows{2,3} $f } return { $f.name } }')
    assert evaluate(catalog, data, query).rows == [("d",)]


@pytest.mark.parametrize("order", ["nope", "3"])
def test_what_cannot_order(order: str) -> None:
    fixture = FIXTURES["people"]
    query = read(fixture.catalog, f"query q() {{ match {{ $p: Person }} return {{ $p.name as n }} order {{ {order} }} }}")
    with pytest.raises(NotEvaluated):
        evaluate(fixture.catalog, fixture.data, query)


def test_moments() -> None:
    midnight = datetime(2024, 1, 5, tzinfo=UTC)
    assert day("2024-1-5") == day("20240105") == day("2024-01-05T23:00:00Z") == date(2024, 1, 5)
    assert moment("2024-01-05") == moment("2024-01-05T00:00:00") == moment("2024-01-05 010000 +01:00") == midnight
    assert moment("2024-01-05T00:00:00.1239Z").microsecond == 123_000


class TestComparing:
    """Answers are compared as sequences of ties."""

    ANSWER = Answer(("a",), (((1,),), ((2,), (3,)), ((4,),)))

    @pytest.mark.parametrize(
        ("offset", "limit", "given", "right"),
        [
            (0, None, [1, 2, 3, 4], True),
            (0, None, [1, 3, 2, 4], True),
            (0, None, [2, 1, 3, 4], False),
            (0, None, [1, 2, 2, 4], False),
            (0, None, [1, 2, 3], False),
            (0, 2, [1, 3], True),
            (0, 2, [1, 4], False),
            (2, 1, [2], True),
            (2, 2, [3, 4], True),
            (2, 2, [1, 4], False),
            (9, 2, [], True),
            (0, 0, [], True),
        ],
    )
    def test_windows(self, offset: int, limit: int | None, given: list[int], right: bool) -> None:
        answer = Answer(self.ANSWER.columns, self.ANSWER.ties, offset, limit)
        assert (difference(answer, [{"a": value} for value in given]) is None) is right
        assert difference(answer, [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]) is None

    def test_types_count(self) -> None:
        answer = Answer(("a",), (((1,),),))
        assert difference(answer, [{"a": 1.0}])
        assert difference(answer, [{"a": True}])
        assert difference(answer, [{"b": 1}])
        assert difference(Answer(("a",), (((Near(0.3),),),)), [{"a": 0.1 + 0.2}]) is None
