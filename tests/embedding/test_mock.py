"""Made-up vectors, and what the port checks of any provider."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.reference_search import mock_embedding

from omnigraph.embedding import DEFAULT_MODEL, Embedder, MockEmbedder, configured, mock_vector
from omnigraph.embedding.query_texts import KEPT, QueryTexts
from omnigraph.embedding.space import Space
from omnigraph.errors import EmbeddingFailed, QueryError


@given(st.text(max_size=40), st.integers(1, 80))
def test_a_vector_is_what_the_specification_computes(text: str, dimension: int) -> None:
    assert list(mock_vector(text, dimension)) == mock_embedding(text, dimension)


def test_a_vector_has_length_one_and_depends_on_the_text_only() -> None:
    (first, second), (again,) = MockEmbedder().embed(["ada", "bob"], 16), MockEmbedder("other").embed(["ada"], 16)
    assert first == again != second
    assert math.isclose(math.hypot(*first), 1, rel_tol=1e-6)


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_the_environment_asks_for_the_mock(value: str) -> None:
    found = configured({"OMNIGRAPH_EMBEDDINGS_MOCK": value})
    assert isinstance(found, Embedder)
    assert found.model == DEFAULT_MODEL


@pytest.mark.parametrize("environment", [{}, {"OMNIGRAPH_EMBEDDINGS_MOCK": "0"}, {"OMNIGRAPH_EMBEDDINGS_MOCK": ""}])
def test_without_the_variable_there_is_no_provider(environment: dict[str, str]) -> None:
    assert configured(environment) is None


def test_the_mock_stands_in_for_the_model_that_is_set() -> None:
    found = configured({"OMNIGRAPH_EMBEDDINGS_MOCK": "1", "OMNIGRAPH_EMBED_MODEL": "acme/one"})
    assert found is not None
    assert found.model == "acme/one"


def test_without_a_provider_the_error_names_the_keys() -> None:
    with pytest.raises(QueryError, match=r"Doc\.vec") as error:
        QueryTexts(None).vectors(["x"], 2, field="Doc.vec")
    assert "OPENAI_API_KEY" in error.value.hint


@pytest.mark.parametrize("space", [Space("acme/one"), Space("acme/one", True), Space("mock", False)])
def test_another_space_than_the_recorded_one_is_an_error_that_names_both(space: Space) -> None:
    with pytest.raises(QueryError, match=rf"{space.model}`.*`mock` \(made up"):
        QueryTexts(MockEmbedder()).vectors(["x"], 2, field="Doc.vec", spaces=[space])


@pytest.mark.parametrize("space", [Space("mock"), Space("mock", True)])
def test_the_recorded_space_is_searched(space: Space) -> None:
    (found,) = QueryTexts(MockEmbedder()).vectors(["x"], 2, field="Doc.vec", spaces=[space])
    assert found.tolist() == pytest.approx(mock_vector("x", 2))


class Broken:
    """A provider that gives what it is told to."""

    model = "broken"

    def __init__(self, *vectors: Sequence[float]) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str], dimension: int) -> Sequence[Sequence[float]]:
        return self._vectors


@pytest.mark.parametrize(
    "vectors", [(), ([1.0],), ([1.0, math.nan],), ([1.0, math.inf],), ([1.0, 2.0], [1.0, 2.0]), ([0.0, 0.0],)]
)
def test_a_provider_that_gives_something_else_is_found_out(vectors: tuple[list[float], ...]) -> None:
    with pytest.raises(EmbeddingFailed, match="2 finite numbers"):
        QueryTexts(Broken(*vectors)).vectors(["x"], 2, field="Doc.vec")


def test_what_is_no_provider_is_refused() -> None:
    with pytest.raises(QueryError, match="str is not an embedding provider"):
        QueryTexts("mock").vectors(["x"], 2, field="Doc.vec")


def test_texts_are_asked_once_while_they_are_kept() -> None:
    asked: list[str] = []

    class Counting(MockEmbedder):
        def embed(self, texts: Sequence[str], dimension: int) -> list[tuple[float, ...]]:
            asked.extend(texts)
            return super().embed(texts, dimension)

    texts = QueryTexts(Counting())
    for wanted in (["a", "b", "a"], ["b"], ["a", "c"]):
        found = texts.vectors(wanted, 2, field="f")
        assert [v.tolist() for v in found] == [pytest.approx(mock_vector(t, 2)) for t in wanted]
    assert asked == ["a", "b", "c"]
    texts.vectors(["a"], 3, field="f")
    texts.vectors([f"{n}" for n in range(KEPT)], 2, field="f")
    texts.vectors(["a"], 2, field="f")
    assert asked.count("a") == 3
