"""What an agent remembers, recalls, relates and forgets: on an open graph and on a connected one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.engine.served import Server
from tests.memory.conftest import DIMENSION, EMBEDDER

import omnigraph as og
from omnigraph.embedding import MockEmbedder
from omnigraph.memory import Memory, schema
from omnigraph.memory.recalling import decayed, names_in

TEA = "Grace prefers tea to coffee"


def texts(found: Any) -> list[str]:
    return [one.text for one in found]


def test_a_memory_begins_with_its_first_write(graph: Any, memory: Memory) -> None:
    assert not memory.recall("tea")
    assert graph.branches.list() == ["main"], "asking creates nothing"
    main = graph.commit("main").id
    done = memory.remember(TEA, about=["Grace"], source="chat-17")
    assert (done.branch, done.changed) == ("agent/ada", True)
    assert graph.branches.list() == ["agent/ada", "main"]
    assert graph.commit("main").id == main
    assert texts(memory.recall("what does Grace drink, tea?")) == [TEA]


def test_before_the_branch_there_is_what_it_would_be_made_from(graph: Any, memory: Memory) -> None:
    Memory(graph, branch="main", embedder=EMBEDDER).remember(TEA, about="Grace")
    found = memory.recall("tea")
    assert (found.branch, texts(found)) == ("main", [TEA])


def test_who_when_and_from_which_conversation(graph: Any, memory: Memory) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    done = memory.remember(TEA, about=["Grace", "tea"], source="chat-17", kind="preference", confidence=0.8, importance=0.9)
    [found] = memory.recall("tea")
    assert (found.id, found.about, found.sources, found.agents) == (done.id, ("Grace", "tea"), ("chat-17",), ("ada",))
    assert (found.kind, found.confidence, found.importance) == ("preference", 0.8, 0.9)
    assert before < found.created == found.confirmed < datetime.now(UTC) + timedelta(seconds=1)
    assert graph.commit("agent/ada").actor == "ada"


def test_the_same_from_the_same_source_changes_nothing(graph: Any, memory: Memory) -> None:
    first = memory.remember(TEA, about=["Grace"], source="chat-17", confidence=0.8, half_life_days=30)
    before = graph.commit(memory.branch).id
    for again in (
        memory.remember(TEA, about=["Grace"], source="chat-17", confidence=0.8, half_life_days=30),
        memory.remember(f"  {TEA.replace(' ', '  ')} ", source=" chat-17"),
        Memory(graph, agent="ada").remember(TEA, about="Grace", source="chat-17"),
    ):
        assert (again.id, again.changed, again.commit) == (first.id, False, first.commit)
    assert graph.commit(memory.branch).id == before
    memory.relate("Grace", "works_at", "Acme", confidence=0.7)
    before = graph.commit(memory.branch).id
    assert not memory.relate("Grace", "works_at", "Acme").changed
    assert graph.commit(memory.branch).id == before


def test_another_source_or_agent_is_told_apart(seen_by: Callable[[str], Any], memory: Memory) -> None:
    one, two = memory.remember(TEA, source="chat-1"), memory.remember(TEA, source="chat-2")
    assert one.id != two.id
    by_bob = Memory(seen_by("bob"), agent="bob", branch=memory.branch, embedder=EMBEDDER).remember(TEA, source="chat-1")
    assert by_bob.id == one.id
    assert by_bob.changed
    assert {one.agents for one in memory.recall("tea") if one.sources == ("chat-1",)} == {("ada", "bob")}


def test_what_is_given_anew_is_changed_and_the_rest_stays(memory: Memory) -> None:
    first = memory.remember(TEA, about="Grace", source="chat-17", confidence=0.5, kind="preference")
    again = memory.remember(TEA, about="tea", source="chat-17", confidence=0.9)
    assert again.changed
    [found] = memory.recall("tea")
    assert (found.id, found.about, found.confidence, found.kind) == (first.id, ("Grace", "tea"), 0.9, "preference")


def test_what_an_entity_is_called_stays(graph: Any, memory: Memory) -> None:
    graph.put("Entity", {"name": "Grace", "kind": "person"})
    memory.remember(TEA, about="Grace")
    memory.relate("Grace", "works_at", "Acme")
    rows = graph.query(
        "query q() { match { $e: Entity } return { $e.name, $e.kind } order { $e.name } }", branch=memory.branch
    ).rows
    assert rows == [{"e.name": "Acme", "e.kind": None}, {"e.name": "Grace", "e.kind": "person"}]


def test_what_does_not_hold_is_not_recalled(memory: Memory) -> None:
    memory.remember("Grace lives in Oslo", valid_until="2024-01-01")
    memory.remember("Grace lives in Bergen", valid_from="2024-01-01", valid_until="2025-01-01T00:00:00Z")
    memory.remember("Grace lives in Turku", valid_from=datetime(2025, 1, 1, tzinfo=UTC))
    assert texts(memory.recall("where does Grace live")) == ["Grace lives in Turku"]
    assert texts(memory.recall("where does Grace live", at="2024-06-01")) == ["Grace lives in Bergen"]
    assert texts(memory.recall("where does Grace live", at="2024-01-01")) == ["Grace lives in Bergen"], "from then on"
    assert texts(memory.recall("where does Grace live", at=datetime(2023, 1, 1))) == ["Grace lives in Oslo"]


def test_since_and_kinds_and_about(memory: Memory) -> None:
    memory.remember("Grace likes rain", about=["Grace"], kind="preference")
    memory.remember("Ada likes rain", about=["Ada"])
    assert texts(memory.recall("rain", about="Ada")) == ["Ada likes rain"]
    assert texts(memory.recall("rain", kinds=["preference"])) == ["Grace likes rain"]
    assert not memory.recall("rain", since=datetime.now(UTC) + timedelta(minutes=1))
    assert len(memory.recall("rain", since="2020-01-01", about=["Ada", "Grace"])) == 2
    assert not memory.recall("rain", about="Nobody")


def test_confidence_decays_by_data(memory: Memory) -> None:
    done = memory.remember("Grace likes rain", confidence=0.8, half_life_days=10)
    memory.remember("Grace likes snow", confidence=0.8)
    later = datetime.now(UTC) + timedelta(days=20)
    found = {one.text: one for one in memory.recall("Grace likes", at=later)}
    assert found["Grace likes rain"].confidence_now == pytest.approx(0.2, abs=1e-3)
    assert found["Grace likes snow"].confidence_now == 0.8
    assert texts(memory.recall("Grace likes", at=later))[0] == "Grace likes snow"
    memory.confirm(done.id, at=later)
    assert {one.confidence_now for one in memory.recall("Grace likes", at=later)} == {0.8}
    with pytest.raises(og.NotFound, match="no memory `nothing`"):
        memory.confirm("nothing")


def test_half_lives() -> None:
    then = datetime(2026, 1, 1, tzinfo=UTC)
    assert decayed(0.8, then, None, then + timedelta(days=1000)) == 0.8
    for halves in range(5):
        assert decayed(0.8, then, 7, then + timedelta(days=7 * halves)) == pytest.approx(0.8 / 2**halves)
    assert decayed(0.8, then, 7, then - timedelta(days=7)) == 0.8, "before it was confirmed"


def test_neighbours_of_what_was_found_come_too(graph: Any) -> None:
    memory = Memory(graph, agent="ada")
    memory.remember("Grace wrote the compiler", about=["Grace"])
    memory.remember("Her birthday is in December", about=["Grace"])
    memory.remember("Lunch is at noon", about=["office"])
    memory.relate("Grace", "works_at", "Navy")
    found = memory.recall("who wrote the compiler?")
    assert texts(found) == ["Grace wrote the compiler", "Her birthday is in December"]
    assert [str(r) for r in found.relations] == ["Grace works_at Navy"]
    assert texts(memory.recall("what about Grace?"))[0] in ("Grace wrote the compiler", "Her birthday is in December")
    assert len(memory.recall("what about Grace?")) == 2, "an entity that the question names"
    assert not found.by_vectors, "there is no provider"


def test_an_entity_that_everything_is_about_pulls_in_nothing(graph: Any) -> None:
    memory = Memory(graph, agent="ada")
    rows: list[dict[str, Any]] = [{"type": "Entity", "data": {"name": "user"}}]
    now = datetime.now(UTC).replace(microsecond=0)
    for number in range(60):
        data = {"hash": f"h{number}", "text": f"note {'apple' if number == 7 else 'pear'}", "kind": "fact", "created": now}
        rows.append({"type": "Memory", "data": {**data, "confirmed": now, "confidence": 1.0, "importance": 0.5}})
        rows.append({"edge": "About", "from": f"h{number}", "to": "user", "data": {}})
    graph.load(rows)
    assert [one.id for one in memory.recall("apple")] == ["h7"]


def test_names_in_a_question() -> None:
    assert names_in("Where does Grace Hopper live?")[:5] == ["Where", "does", "Grace", "Hopper", "live"]
    assert "Grace Hopper" in names_in("Where does Grace Hopper live?")
    assert len(names_in("word " * 1_000)) <= 200


@pytest.mark.parametrize("by", ["id", "about", "source"])
def test_forgetting_deletes_and_says_what(graph: Any, memory: Memory, by: str) -> None:
    tea = memory.remember(TEA, about=["Grace", "tea"], source="chat-17")
    memory.remember("Bob drinks milk", about=["Bob"], source="chat-18")
    memory.relate("Grace", "knows", "Bob")
    gone = memory.forget(tea.id) if by == "id" else memory.forget(**{by: "Grace" if by == "about" else "chat-17"})
    assert gone.deleted == {"Memory": 1, **({} if by == "id" else {"Entity" if by == "about" else "Source": 1})}
    assert gone.cascaded == {"About": 2, "ByAgent": 1, "FromSource": 1, **({"RelatesTo": 1} if by == "about" else {})}
    assert gone.commit == graph.commit(memory.branch).id
    assert texts(memory.recall("who drinks tea or milk")) == ["Bob drinks milk"]
    again = memory.forget(tea.id) if by == "id" else memory.forget(**{by: "Grace" if by == "about" else "chat-17"})
    assert (again.commit, again.deleted) == (None, {})
    assert graph.commit(memory.branch).id == gone.commit


def test_forgetting_what_main_has_is_a_proposal(graph: Any, memory: Memory) -> None:
    Memory(graph, branch="main", embedder=EMBEDDER).remember(TEA, about="Grace")
    memory.forget(about="Grace")
    assert not memory.recall("tea")
    assert Memory(graph, branch="main").recall("tea"), "main is as it was"
    graph.merge(memory.branch)
    assert not Memory(graph, branch="main").recall("tea")


def test_what_two_agents_have_from_one_source_is_one_memory(graph: Any, memory: Memory, seen_by: Callable[[str], Any]) -> None:
    bob = Memory(seen_by("bob"), agent="bob", embedder=EMBEDDER)
    for one in (memory, bob):
        one.remember(TEA, about="Grace", source="chat-17")
        one.relate("Grace", "likes", "tea")
    first = graph.merge(memory.branch)
    with pytest.raises(og.MergeConflict):
        graph.merge(bob.branch)
    assert bob.catch_up().outcome == "merged"
    assert bob.catch_up().outcome == "already_up_to_date"
    seen_by("bob").reviews.merge(bob.propose("What bob learned"))
    found = graph.query("query q() { match { $m: Memory } return { $m.created as created, $m.confirmed as confirmed } }").rows
    assert [row["created"] < row["confirmed"] for row in found] == [True]
    [before] = graph.query("query q() { match { $m: Memory } return { $m.created as created } }", at=first.commit).rows
    assert found[0]["created"] == before["created"], "when the first of them remembered it"
    by = graph.query("query q() { match { $m: Memory  $m byAgent $a } return { $a.name as name } order { name } }").rows
    assert [row["name"] for row in by] == ["ada", "bob"]


def test_what_two_agents_say_differently_is_for_somebody_to_decide(
    graph: Any, memory: Memory, seen_by: Callable[[str], Any]
) -> None:
    bob = Memory(seen_by("bob"), agent="bob", embedder=EMBEDDER)
    memory.remember(TEA, source="chat-17", confidence=0.2)
    bob.remember(TEA, source="chat-17", confidence=0.9)
    graph.merge(memory.branch)
    with pytest.raises(og.MergeConflict):
        bob.catch_up()
    assert graph.reviews.diff(bob.propose("What bob learned").id).preview.conflicts


def test_proposing_opens_one_review(graph: Any, memory: Memory) -> None:
    with pytest.raises(og.NotFound, match="nothing was remembered"):
        memory.propose("Empty")
    memory.remember(TEA)
    review = memory.propose("What ada learned", "today")
    assert (review.source, review.target, review.author) == ("agent/ada", "main", "ada")
    assert memory.propose("Again").id == review.id
    graph.reviews.merge(review)
    assert Memory(graph, branch="main").recall("tea")


def test_several_begin_a_branch_at_once(graph: Any) -> None:
    with ThreadPoolExecutor(6) as threads:
        done = list(threads.map(lambda n: Memory(graph, agent="ada").remember(f"note {n}"), range(6)))
    assert all(one.changed for one in done)
    assert len(Memory(graph, agent="ada").recall("note")) == 6


def test_two_agents_do_not_see_each_other(graph: Any, memory: Memory) -> None:
    other = Memory(graph, branch="agent/bob", embedder=EMBEDDER)
    memory.remember(TEA)
    other.remember("Bob drinks milk")
    assert texts(memory.recall("drinks tea milk")) == [TEA]
    assert texts(other.recall("drinks tea milk")) == ["Bob drinks milk"]
    for branch in ("agent/ada", "agent/bob"):
        graph.merge(branch)
    assert sorted(texts(Memory(graph, branch="main").recall("tea milk"))) == ["Bob drinks milk", TEA]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.remember(" "), "`text` must be a text"),
        (lambda m: m.remember(7), "`text` must be a text"),
        (lambda m: m.remember("x" * 20_000), "20,000 characters, the most is 16,384"),
        (lambda m: m.remember("x", confidence=1.5), "`confidence` must be a number from 0 to 1"),
        (lambda m: m.remember("x", confidence=True), "`confidence` must be a number from 0 to 1"),
        (lambda m: m.remember("x", importance=float("nan")), "`importance` must be a number from 0 to 1"),
        (lambda m: m.remember("x", half_life_days=0), "`half_life_days` must be a number of days"),
        (lambda m: m.remember("x", about=["a", " "]), "`about` must be a name"),
        (lambda m: m.remember("x", about=3), "`about` must be names"),
        (lambda m: m.remember("x", valid_from="soon"), "`valid_from` is no moment"),
        (lambda m: m.remember("x", valid_from="2024-01-02", valid_until="2024-01-01"), "`valid_until` must be after"),
        (lambda m: m.relate("a", "", "b"), "`how` must be a name"),
        (lambda m: m.recall("x", k=0), "`k` must be a whole number from 1 to 100"),
        (lambda m: m.recall("x", at=5), "`at` must be a datetime"),
        (lambda m: m.forget(), "one of `id`, `about` and `source`"),
        (lambda m: m.forget("a", about="b"), "one of `id`, `about` and `source`"),
        (lambda m: Memory(m._graph), "say which `agent` remembers"),
        (
            lambda m: Memory(m._graph, agent="a", embedder=3),  # type: ignore[arg-type]
            "int is not an embedding provider",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_done(opened: og.Graph, call: Any, said: str) -> None:
    memory = Memory(opened, agent="ada", embedder=EMBEDDER)
    with pytest.raises(og.UsageError, match=said):
        call(memory)
    assert opened.branches.list() == ["main"]


def test_a_kind_that_breaks_the_rule_of_the_schema(opened: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match="kind"):
        Memory(opened, agent="ada", embedder=EMBEDDER).remember("x", kind="Two Words")


def test_a_graph_without_the_schema(tmp_path: Any) -> None:
    with (
        og.init(tmp_path / "g.omni", schema="node Memory { text: String }", durability="os") as graph,
        pytest.raises(og.UsageError, match="has no schema for memories"),
    ):
        Memory(graph, agent="ada").remember("x")


def test_a_schema_with_more_than_the_template(tmp_path: Any) -> None:
    more = schema("memory", dimension=DIMENSION) + "\nnode Ticket { number: I64 @key }\n"
    with og.init(tmp_path / "g.omni", schema=more, durability="os") as graph:
        assert Memory(graph, agent="ada").remember("x").changed


def test_vectors_of_two_models_do_not_meet(graph: Any, opened: og.Graph) -> None:
    early = Memory(graph, agent="ada", branch="agent/early", embedder=MockEmbedder("another"))
    assert not early.recall("x"), "nobody has made a vector yet"
    Memory(graph, agent="ada", embedder=EMBEDDER).remember("x y")
    other = Memory(graph, agent="ada", embedder=MockEmbedder("another"))
    for call in (lambda: other.remember("z"), lambda: other.recall("x"), lambda: early.remember("z")):
        with pytest.raises(og.UsageError, match="were made by model"):
            call()
    with pytest.raises(og.QueryError, match="was embedded with model"):
        early.recall("x")
    with pytest.raises(og.UsageError, match="were made by model"):
        opened.embed(embedder=MockEmbedder("another"))
    assert opened.branches.list() == ["agent/ada", "main"]
    assert Memory(graph, agent="ada").recall("x").memories, "words need no model"


def test_a_model_that_the_schema_names(tmp_path: Any, memory_server: Server) -> None:
    pinned = schema("memory", dimension=DIMENSION).replace("@embed(text)", '@embed(text, model="another")')
    with (
        og.init(tmp_path / "g.omni", schema=pinned, durability="os") as opened,
        og.connect(memory_server.url, graph=memory_server.graphs.hold(opened), token="ada") as connected,
    ):
        for graph in (opened, connected):
            with pytest.raises(og.UsageError, match=r"Memory\.embedding is for model `another`"):
                Memory(graph, agent="ada", embedder=EMBEDDER).remember("x")
        assert Memory(connected, agent="ada", embedder=MockEmbedder("another")).remember("x").changed


def test_a_server_knows_who_remembers(opened: og.Graph, memory_server: Server) -> None:
    graph_id = memory_server.graphs.hold(opened)
    with og.connect(memory_server.url, graph=graph_id, token="ada") as connected:
        posing = Memory(connected, agent="bob", embedder=EMBEDDER)
        Memory(opened, branch="main", embedder=EMBEDDER).remember(TEA, about="Grace")
        assert texts(posing.recall("tea")) == [TEA], "reading is said to be by nobody"
        for call in (
            lambda: posing.remember("x"),
            lambda: posing.relate("a", "knows", "b"),
            lambda: posing.forget(about="Grace"),
            lambda: posing.confirm(posing.recall("tea")[0].id),
        ):
            with pytest.raises(og.UsageError, match="the token is that of `ada`"):
                call()
        with pytest.raises(og.UsageError, match="takes the actor from the token"):
            Memory(connected, agent="ada", actor="bob")
        assert opened.branches.list() == ["main"]
        Memory(connected, branch="agent/bob", embedder=EMBEDDER).remember("x")
        assert (opened.commit("agent/bob").actor, opened.get("Agent", "bob", branch="agent/bob")) == ("ada", None)
    with og.connect(memory_server.url, graph=graph_id) as nobody:
        assert Memory(nobody, agent="carol").remember("y").changed, "a server that asks nobody believes what is said"


def test_the_provider_of_the_graph_is_used(tmp_path: Any) -> None:
    made = schema("memory", dimension=DIMENSION)
    with og.init(tmp_path / "g.omni", schema=made, durability="os", embedder=EMBEDDER) as graph:
        memory = Memory(graph, agent="ada")
        memory.remember("x y")
        found = memory.recall("x y")
        assert found.by_vectors
        assert found[0].relevance == pytest.approx(2 / 61)
