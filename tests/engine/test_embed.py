"""Vectors follow their texts: what is missing or has changed is embedded, once, at a pace, and a failure loses nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
import pytest

import omnigraph as og
from omnigraph.embedding import mock_vector
from omnigraph.embedding.pace import Pace
from omnigraph.embedding.paced import Paced
from omnigraph.engine.snapshot.sealed_file import sealed

SCHEMA = """
    node Doc { slug: String @key  text: String?  vec: Vector(4)? @embed("text")  note: String?  file: Blob?  mail: String? @unique }
    node Plain { name: String @key }
"""


class Provider:
    """Counts what it is asked, and fails when told to."""

    model = "mock"

    def __init__(self, fails_after: int | None = None, stumbles: int = 0) -> None:
        self.texts: Counter[str] = Counter()
        self.requests = 0
        self.fails_after = fails_after
        self.stumbles = stumbles
        self._lock = Lock()

    def embed(self, texts: Sequence[str], dimension: int) -> list[tuple[float, ...]]:
        with self._lock:
            self.requests += 1
            if self.stumbles:
                self.stumbles -= 1
                raise TimeoutError("try again")
            if self.fails_after is not None and sum(self.texts.values()) >= self.fails_after:
                raise ValueError("out of money")
            self.texts.update(texts)
        return [mock_vector(text, dimension) for text in texts]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    docs: list[dict[str, object]] = [{"slug": f"d{n}", "text": f"text {n}", "mail": f"{n}@x"} for n in range(5)]
    docs += [
        {"slug": "same", "text": "text 1", "file": "base64:AAEC", "note": "n"},
        {"slug": "silent"},
        {"slug": "empty", "text": ""},
    ]
    docs += [{"slug": "given", "text": "text", "vec": [1, 2, 3, 4]}]
    made.load([{"type": "Doc", "data": doc} for doc in docs])
    return made


def vectors(graph: og.Graph) -> dict[str, object]:
    rows = graph.query("query q() { match { $d: Doc } return { $d.slug, $d.vec } }").rows
    return {r["d.slug"]: None if r["d.vec"] is None else tuple(r["d.vec"]) for r in rows}


def of(text: str) -> tuple[float, ...]:
    return tuple(float(str(np.float32(x))) for x in mock_vector(text, 4))  # as it is read: the shortest number of that F32


def test_what_is_missing_is_embedded_each_text_once(graph: og.Graph) -> None:
    provider = Provider()
    before = graph.commits()
    done = graph.embed(embedder=provider, actor="me")
    assert vectors(graph) == {
        **{f"d{n}": of(f"text {n}") for n in range(5)},
        "same": of("text 1"),
        "silent": None,
        "empty": None,
        "given": (1, 2, 3, 4),
    }
    assert provider.texts == Counter(f"text {n}" for n in range(5))
    (prop,) = done.properties
    assert (prop.type, prop.property, prop.entities, prop.requested) == ("Doc", "vec", 6, 5)
    made = graph.commits()[0]
    assert (made.id, made.operation, made.actor, len(graph.commits())) == (prop.commit, "embed", "me", len(before) + 1)
    changed = graph.diff(before[0].id, "main").changes
    assert {c.properties for c in changed} == {("vec",)}
    assert next(c for c in changed if c.id == "same").after.properties["file"] == b"\x00\x01\x02"  # type: ignore[union-attr]
    assert graph.embed(embedder=provider).properties[0].commit is None
    assert graph.verify(deep=True).ok


def test_a_text_that_changed_is_embedded_again(graph: og.Graph) -> None:
    provider = Provider()
    graph.embed(embedder=provider)
    graph.mutate('query q() { update Doc set { text: "new" } where slug = "d0" }')
    graph.mutate('query q() { update Doc set { note: "other" } where slug = "d1" }')
    graph.mutate('query q() { update Doc set { text: "mine", vec: [0.0, 0.0, 0.0, 1.0] } where slug = "d2" }')
    graph.load([{"type": "Doc", "data": {"slug": "d3", "vec": list(vectors(graph)["d3"])}}])  # type: ignore[call-overload]
    graph.mutate('query q() { insert Doc { slug: "late", text: "late" } }')
    graph.optimize()
    provider.texts.clear()
    graph.embed(embedder=provider)
    found = vectors(graph)
    assert provider.texts == Counter(["new", "late"])
    assert (found["d0"], found["d1"], found["d2"], found["late"]) == (of("new"), of("text 1"), (0, 0, 0, 1), of("late"))
    assert found["d3"] is None
    provider.texts.clear()
    graph.embed(embedder=provider)
    assert not provider.texts
    graph.embed(embedder=provider, again=True)
    assert vectors(graph)["d2"] == of("mine")


def test_what_was_embedded_before_a_failure_is_not_asked_again(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = graph.commits()
    failing = Provider(fails_after=4)
    with pytest.raises(og.EmbeddingFailed, match=r"`mock`.*out of money"):
        graph.embed(embedder=failing, pace=Pace(batch=2))
    assert graph.commits() == before
    second = Provider()
    with og.open(tmp_path / "g") as reopened:
        done = reopened.embed(embedder=second)
    assert not set(second.texts) & set(failing.texts)
    assert set(second.texts) | set(failing.texts) == {f"text {n}" for n in range(5)}
    assert (done.entities, done.properties[0].requested) == (6, len(second.texts))
    assert not list((tmp_path / "g" / "__cache").rglob("embeddings-*/*"))


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 0x40  # in the last vector
    path.write_bytes(data)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        _flip,
        _folder,
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-7]),
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        lambda path: path.write_bytes(b"".join(sealed({"embeddings": "another", "dimension": 4}, {}))),
        lambda path: path.chmod(0),
    ],
)
def test_a_damaged_vector_is_never_committed(
    damage: Callable[[Path], object], graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(og.EmbeddingFailed, match=r"`mock`.*out of money"):
        graph.embed(embedder=Provider(fails_after=4), pace=Pace(batch=2))
    kept = list((tmp_path / "g" / "__cache").rglob("embeddings-*/*"))
    assert kept
    for path in kept:
        damage(path)
    with og.open(tmp_path / "g") as reopened:
        reopened.embed(embedder=Provider())
        found = vectors(reopened)
    assert {found[f"d{n}"] for n in range(5)} == {of(f"text {n}") for n in range(5)}


def test_somebody_elses_write_is_not_lost_and_costs_no_request(graph: og.Graph) -> None:
    class Interrupting(Provider):
        def embed(self, texts: Sequence[str], dimension: int) -> list[tuple[float, ...]]:
            if not self.requests:
                graph.mutate('query q() { update Doc set { note: "meanwhile", text: "other" } where slug = "d4" }')
            return super().embed(texts, dimension)

    provider = Interrupting()
    graph.embed(embedder=provider)
    assert all(count == 1 for count in provider.texts.values())
    assert vectors(graph)["d4"] == of("other")
    rows = graph.query('query q() { match { $d: Doc { slug: "d4" } } return { $d.note } }').rows
    assert rows == [{"d.note": "meanwhile"}]


def test_refusals(graph: og.Graph, tmp_path: Path) -> None:
    with pytest.raises(og.UsageError, match="no embedding provider"):
        graph.embed()
    with pytest.raises(og.UsageError, match="no type `Dox`"):
        graph.embed(embedder=Provider(), types=["Dox"])
    assert graph.embed(embedder=Provider(), types=["Plain"]).properties == ()
    other = og.init(tmp_path / "h", schema='node D { t: String @key  v: Vector(2)? @embed("t", model="a/b") }')
    with pytest.raises(og.UsageError, match="is for model `a/b`, not `mock`"):
        other.embed(embedder=Provider())


# ── pace ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_batches_no_faster_than_allowed() -> None:
    time, provider = Time(), Provider()
    paced = Paced(provider, Pace(batch=10, per_second=5, in_flight=1), time.sleep, lambda: time.now)
    paced.embed([f"t{n}" for n in range(45)], 4)
    assert provider.requests == 5
    assert time.now == pytest.approx(40 / 5)  # the last batch may start when the 40 before it have had their time


def test_a_stumbling_provider_is_asked_again_after_longer_and_longer_waits() -> None:
    time, provider = Time(), Provider(stumbles=3)
    paced = Paced(provider, Pace(first_wait=1, longest_wait=3), time.sleep, lambda: time.now)
    assert paced.embed(["a"], 4).shape == (1, 4)
    assert [low <= slept <= high for slept, (low, high) in zip(time.slept, [(0.5, 1), (1, 2), (1.5, 3)], strict=True)] == [
        True
    ] * 3
    with pytest.raises(og.EmbeddingFailed):
        Paced(Provider(stumbles=9), Pace(attempts=2), time.sleep, lambda: time.now).embed(["a"], 4)
    broken = Provider(fails_after=0)
    with pytest.raises(og.EmbeddingFailed, match=r"`mock`.*out of money"):
        Paced(broken, Pace(), time.sleep, lambda: time.now).embed(["a"], 4)
    assert broken.requests == 1


@pytest.mark.parametrize("given", [[[1.0, 2.0]], [[1.0, 2.0], [3.0]], [[1.0, float("nan")], [1.0, 2.0]]])
def test_vectors_that_are_none_are_refused(given: list[list[float]]) -> None:
    class Wrong:
        model = "wrong"

        def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
            return given

    with pytest.raises(og.EmbeddingFailed, match="did not return 2 finite numbers"):
        Paced(Wrong(), Pace()).embed(["a", "b"], 2)


@pytest.mark.parametrize(
    ("raised", "retryable"), [(ValueError("no money"), False), (TypeError("x"), False), (OSError("line"), True)]
)
def test_what_a_provider_raises_is_told_with_its_name(graph: og.Graph, raised: Exception, retryable: bool) -> None:
    class Failing(Provider):
        def embed(self, texts: Sequence[str], dimension: int) -> list[tuple[float, ...]]:
            raise raised

    before = graph.commits()
    searching = og.open(graph._store.place.uri, embedder=Failing())
    near = 'query q() { match { $d: Doc } return { $d.slug } order { nearest($d.vec, "text") } limit 1 }'
    for ask in (lambda: graph.embed(embedder=Failing(), pace=Pace(attempts=1)), lambda: searching.query(near)):
        with pytest.raises(og.EmbeddingFailed, match=r"`mock` \(Failing\)") as told:
            ask()
        assert told.value.__cause__ is raised
        assert (told.value.retryable, told.value.model) == (retryable, "mock")
    assert graph.commits() == before
