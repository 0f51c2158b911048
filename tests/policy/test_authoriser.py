"""Decisions of a server with policies: which bundle decides, in which words, and until when a decision is remembered."""

from __future__ import annotations

from textwrap import dedent
from threading import Thread

import pytest

from omnigraph.errors import PolicyError
from omnigraph.policy import authoriser as authoriser_module
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Bundle, Effect, Rule, read_bundle
from omnigraph.policy.evaluation import Outcome
from omnigraph.policy.port import Access, Action, Decision

PEOPLE = """
version: 1
groups:
  team: [ada, bob]
  admins: [ada]
protected_branches: [main]
rules:
  - { id: reads, allow: { actors: { group: team }, actions: [read] } }
  - { id: writes, allow: { actors: { group: team }, actions: [change], branch_scope: unprotected } }
  - { id: admins-write, allow: { actors: { group: admins }, actions: [change, read, branch_merge] } }
  - { id: frozen, deny: { actors: { group: team }, actions: [change, branch_delete] } }
"""
ROOT = "{version: 1, groups: {ops: [ada]}, rules: [{id: lists, allow: {actors: {group: ops}, actions: [graph_list]}}]}"


def bundle(text: str) -> Bundle:
    return read_bundle(dedent(text), source="policy.yaml")


WITHOUT_DENY = "\n".join(line for line in PEOPLE.splitlines() if "frozen" not in line)

DECISIONS = {
    "of a group": ("bob", Access(Action.READ), True, "reads", "policy allowed action 'read' for actor 'bob'"),
    "the smallest rule id": ("ada", Access(Action.READ), True, "admins-write", "policy allowed action 'read' for actor 'ada'"),
    "in scope": ("bob", Access(Action.CHANGE, "work"), True, "writes", "policy allowed action 'change' for actor 'bob'"),
    "trimmed": (
        "bob",
        Access(Action.CHANGE, " main "),
        False,
        None,
        "policy denied action 'change' on branch 'main' for actor 'bob'",
    ),
    "without a branch": ("bob", Access(Action.CHANGE), False, None, "policy denied action 'change' for actor 'bob'"),
    "with a target": (
        "bob",
        Access(Action.BRANCH_MERGE, "work", "main"),
        False,
        None,
        "policy denied action 'branch_merge' on branch 'work' targeting branch 'main' for actor 'bob'",
    ),
    "overwriting means changing": (
        "bob",
        Access(Action.LOAD_OVERWRITE, "work"),
        True,
        "writes",
        "policy allowed action 'load_overwrite' for actor 'bob'",
    ),
    "nobody knows": ("eve", Access(Action.READ), False, None, "policy denied action 'read' for unknown actor 'eve'"),
    "nobody": (None, Access(Action.READ), False, None, "policy denied action 'read' without an actor"),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_what_is_decided_and_how_it_is_said(name: str) -> None:
    actor, access, allowed, rule, message = DECISIONS[name]
    authoriser = PolicyAuthoriser({"people": bundle(WITHOUT_DENY)})
    for _ in range(2):  # decided, then remembered
        assert authoriser.decide(actor, "people", access) == Decision(allowed, rule, message)


def test_a_rule_that_denies_wins_and_stands_for_the_decision() -> None:
    authoriser = PolicyAuthoriser({"people": bundle(PEOPLE)})
    assert authoriser.decide("ada", "people", Access(Action.CHANGE, "work")) == Decision(
        False, "frozen", "policy denied action 'change' on branch 'work' for actor 'ada'"
    )


def test_groups_that_somebody_vouches_for_count_if_the_bundle_has_them() -> None:
    authoriser = PolicyAuthoriser({"people": bundle(WITHOUT_DENY)})
    merge = Access(Action.BRANCH_MERGE, "work", "main")
    assert authoriser.decide("eve", "people", merge, frozenset({"admins"})).rule == "admins-write"
    assert authoriser.decide("bob", "people", merge, frozenset({"admins"})).allowed
    assert not authoriser.decide("bob", "people", merge).allowed
    assert "unknown actor" in authoriser.decide("eve", "people", merge, frozenset({"elsewhere"})).message


def test_a_graph_without_a_bundle_is_for_reading() -> None:
    authoriser = PolicyAuthoriser({"people": bundle(PEOPLE)})
    assert authoriser.decide("eve", "papers", Access(Action.READ, "main")).rule == "default-read"
    refused = authoriser.decide("ada", "papers", Access(Action.CHANGE, "main"))
    assert (refused.allowed, refused.rule) == (False, None)
    assert "no policy is configured" in refused.message
    assert not authoriser.decide(None, "papers", Access(Action.READ)).allowed


def test_what_is_about_the_server_is_decided_by_its_own_bundle() -> None:
    listing = Access(Action.GRAPH_LIST)
    closed = PolicyAuthoriser({"people": bundle(PEOPLE)}).decide("ada", "root", listing)
    assert (closed.allowed, closed.message) == (
        False,
        "policy denied action 'graph_list' for actor 'ada': the server has no policy of its own",
    )
    authoriser = PolicyAuthoriser({}, bundle(ROOT))
    assert authoriser.decide("ada", "root", listing).rule == "lists"
    assert not authoriser.decide("ada", "root", Access(Action.CONFIG_MANAGE)).allowed
    assert "unknown actor" in authoriser.decide("bob", "root", listing).message


def test_other_bundles_are_in_force_at_once_and_bad_ones_never() -> None:
    authoriser = PolicyAuthoriser({"people": bundle(WITHOUT_DENY)})
    change = Access(Action.CHANGE, "work")
    assert authoriser.decide("bob", "people", change).allowed
    authoriser.install({"people": bundle(PEOPLE)})
    assert authoriser.decide("bob", "people", change).rule == "frozen"
    broken = Bundle("broken", {"g": ("a",)}, rules=(Rule("r", Effect.ALLOW, "g", (Action.READ, Action.GRAPH_LIST)),))
    with pytest.raises(PolicyError, match="do not fit the schema"):
        authoriser.install({"people": broken})
    assert authoriser.decide("bob", "people", change).rule == "frozen"
    assert authoriser.review_rules("people") == ()


def test_decisions_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authoriser_module, "REMEMBERED", 10)
    authoriser = PolicyAuthoriser({"people": bundle(WITHOUT_DENY)})
    policy = authoriser._policies[0]["people"]
    asked: list[Access] = []
    real = policy._cedar.decide

    def counted(actor: str, access: Access, groups: frozenset[str]) -> Outcome:
        asked.append(access)
        return real(actor, access, groups)

    monkeypatch.setattr(policy._cedar, "decide", counted)
    for n in (1, 1, 1, 2, *range(40)):
        assert authoriser.decide("bob", "people", Access(Action.CHANGE, f"b{n}")).allowed
        assert len(policy._known) <= 10
    assert len(asked) == 40


def test_threads_that_decide_while_bundles_change_see_one_or_the_other() -> None:
    bundles = [bundle(WITHOUT_DENY), bundle(PEOPLE)]
    authoriser = PolicyAuthoriser({"people": bundles[0]})
    seen: set[str | None] = set()

    def ask() -> None:
        for n in range(400):
            seen.add(authoriser.decide("bob", "people", Access(Action.CHANGE, f"b{n % 7}")).rule)

    threads = [Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(60):
        authoriser.install({"people": bundles[n % 2]})
    for thread in threads:
        thread.join()
    assert seen <= {"writes", "frozen"}
