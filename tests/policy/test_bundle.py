"""Bundle files: what they say, and everything that is refused, with its line and what to do."""

from __future__ import annotations

from textwrap import dedent

import pytest

from omnigraph.errors import PolicyError
from omnigraph.policy import bundle as bundle_module
from omnigraph.policy.bundle import Bundle, Effect, Kind, Rule, Scope, read_bundle
from omnigraph.policy.documents import LARGEST
from omnigraph.policy.port import Action, ReviewRule

EXAMPLE = dedent((bundle_module.__doc__ or "").split("\n\n", 1)[1].split("\n\nWhat no rule")[0])
"""The example of the module's own page."""


def read(text: str, kind: Kind = Kind.EITHER) -> Bundle:
    return read_bundle(dedent(text), source="policy.yaml", kind=kind)


def test_what_a_bundle_says() -> None:
    found = read(EXAMPLE)
    assert found.groups == {"team": ("act-andrew", "act-bruno"), "admins": ("act-andrew",)}
    assert (found.kind, found.actors, found.protected_branches) == (
        Kind.GRAPH,
        frozenset({"act-andrew", "act-bruno"}),
        frozenset({"main"}),
    )
    assert found.rules == (
        Rule("team-writes", Effect.ALLOW, "team", (Action.READ, Action.EXPORT, Action.CHANGE), Scope.UNPROTECTED),
        Rule("admins-merge", Effect.ALLOW, "admins", (Action.BRANCH_MERGE, Action.SCHEMA_APPLY), None, Scope.PROTECTED),
        Rule("some-queries", Effect.ALLOW, "team", (Action.INVOKE_QUERY,), queries=("find_person", "friends_of")),
        Rule("no-exports-of-main", Effect.DENY, "team", (Action.EXPORT,), Scope.PROTECTED),
    )
    assert found.reviews == (ReviewRule(frozenset({"main"}), 2, "admins", frozenset({"act-andrew"}), True),)
    assert found.reviews[0].applies_to(" main ")
    assert not found.reviews[0].applies_to("work")


def test_the_least_bundle_allows_nothing() -> None:
    assert read("version: 1") == Bundle("policy.yaml", {})


def test_names_are_trimmed_and_said_once() -> None:
    found = read("{version: 1, groups: {' g ': [' a ', a, b]}, protected_branches: [' main ', main]}")
    assert found.groups == {"g": ("a", "b")}
    assert found.protected_branches == {"main"}


def test_anchors_stand_for_what_they_name() -> None:
    found = read("{version: 1, groups: {a: &all [x, y], b: *all}}")
    assert found.groups["b"] == ("x", "y")


def rules(*lines: str) -> str:
    return "\n".join(["version: 1", "groups: { g: [a] }", "rules:", *lines])


ALLOW = "  - { id: r, allow: { actors: { group: g }, actions: [read] } }"

REFUSED = {
    "it is not YAML": ("version: [", 1, "it is not YAML"),
    "it is empty": ("", None, "it is empty"),
    "a list instead of a bundle": ("[1]", 1, "must be a mapping"),
    "no version": ("groups: {}", 1, "key `version` is missing"),
    "another version": ("version: 2", 1, "version 2 is not known"),
    "a version that is a text": ('version: "1"', 1, "version must be a whole number"),
    "an unknown key": ("version: 1\nrule: []", 2, "unknown key `rule`; did you mean `rules`?"),
    "a key twice": ("version: 1\ngroups: {}\ngroups: {}", 3, "key `groups` is there twice"),
    "a key that is no text": ("version: 1\n1: x", 2, "the key '1' is not a text"),
    "an empty group": ("version: 1\ngroups:\n  g: []", 3, "group `g` has no members"),
    "a blank group": ("version: 1\ngroups:\n  ' ': [a]", 3, "the name of a group is blank"),
    "a group twice, but for space": ("version: 1\ngroups:\n  g: [a]\n  'g ': [b]", 4, "group `g` is there twice"),
    "a blank actor": ("version: 1\ngroups:\n  g: [a, ' ']", 3, "groups.g[1]: an actor is blank"),
    "an actor that is a number": ("version: 1\ngroups:\n  g: [12]", 3, "an actor must be a text, not '12'"),
    "a group that is a text": ("version: 1\ngroups:\n  g: a", 3, "must be a list"),
    "a blank protected branch": ("version: 1\nprotected_branches: ['']", 2, "a protected branch is blank"),
    "a blank rule id": (
        rules("  - { id: ' ', allow: { actors: { group: g }, actions: [read] } }"),
        4,
        "the id of a rule is blank",
    ),
    "no rule id": (rules("  - { allow: { actors: { group: g }, actions: [read] } }"), 4, "key `id` is missing"),
    "a rule id twice": (rules(ALLOW, ALLOW), 5, "rule id `r` is there twice"),
    "an unknown group": (rules(ALLOW.replace("group: g", "group: x")), 4, "names the group `x`, which does not exist"),
    "actors without a group": (rules(ALLOW.replace("group: g", "")), 4, "key `group` is missing"),
    "a single actor": (rules(ALLOW.replace("{ group: g }", "a")), 4, "rules[0].allow.actors: must be a mapping"),
    "no actions": (rules(ALLOW.replace("[read]", "[]")), 4, "rule `r` has no actions"),
    "an unknown action": (rules(ALLOW.replace("[read]", "[raed]")), 4, "`raed` is not an action; did you mean `read`?"),
    "neither allow nor deny": (rules("  - { id: r }"), 4, "says neither `allow` nor `deny`"),
    "both allow and deny": (rules(ALLOW[:-2] + ", deny: {} }"), 4, "says both `allow` and `deny`"),
    "both scopes": (
        rules(ALLOW[:-4] + ", branch_scope: any, target_branch_scope: any } }"),
        4,
        "has both branch_scope and target_branch_scope",
    ),
    "an unknown scope": (rules(ALLOW[:-4] + ", branch_scope: all } }"), 4, "`all` is not a scope"),
    "a scope on an action that takes the other": (
        rules("  - id: r", "    allow: { actors: { group: g }, actions: [read], target_branch_scope: any }"),
        5,
        "rule `r`: read takes no target_branch_scope",
    ),
    "a scope on an action that takes none": (
        rules("  - { id: r, allow: { actors: { group: g }, actions: [read, admin], branch_scope: any } }"),
        4,
        "rule `r`: admin takes no branch_scope",
    ),
    "a scope on an action of the server": (
        rules("  - { id: r, allow: { actors: { group: g }, actions: [graph_list], branch_scope: any } }"),
        4,
        "rule `r`: graph_list takes no branch_scope",
    ),
    "queries of another action": (
        rules("  - { id: r, allow: { actors: { group: g }, actions: [read], queries: [q] } }"),
        4,
        "rule `r`: read takes no queries",
    ),
    "no queries": (
        rules("  - { id: r, allow: { actors: { group: g }, actions: [invoke_query], queries: [] } }"),
        4,
        "rule `r` names no queries",
    ),
    "the server and a graph in one rule": (
        rules(ALLOW.replace("[read]", "[read, graph_list]")),
        4,
        "rule `r` mixes graph_list, of the server, with actions of a graph",
    ),
    "the server and a graph in one bundle": (
        rules(ALLOW, ALLOW.replace("id: r", "id: s").replace("[read]", "[graph_list]")),
        5,
        "rule `s` is about the server, and rule `r` about a graph",
    ),
    "overwriting denied and never allowed": (
        rules("  - { id: r, deny: { actors: { group: g }, actions: [load_overwrite] } }"),
        4,
        "rule `r` denies load_overwrite, which no rule allows",
    ),
    "a review without branches": (
        "version: 1\nreviews:\n  - { target_branch_scope: protected, approvals: 1 }",
        3,
        "no such branch",
    ),
    "a review of another scope": (
        "version: 1\nreviews: [{ target_branch_scope: any, approvals: 1 }]",
        2,
        "is not a scope of reviews",
    ),
    "a review without approvals": (
        "version: 1\nreviews: [{ target_branch_scope: [m], approvals: 0 }]",
        2,
        "0 approvals are none",
    ),
    "a review by nobody": (
        "version: 1\nreviews: [{ target_branch_scope: [m], approvals: 1, from_group: x }]",
        2,
        "the group `x` does not exist",
    ),
    "a flag that is none": (
        "version: 1\nreviews: [{ target_branch_scope: [m], approvals: 1, not_author: maybe }]",
        2,
        "not_author must be true or false",
    ),
    "reviews of the server": (
        rules(ALLOW.replace("[read]", "[graph_list]"), "reviews: [{ target_branch_scope: [m], approvals: 1 }]"),
        5,
        "reviews are about a graph",
    ),
    "too long": ("#" * (LARGEST + 1), None, "the most is"),
    "nested without end": ("version: " + "[" * 1_000, None, "nested too deeply"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_where(name: str) -> None:
    text, line, message = REFUSED[name]
    with pytest.raises(PolicyError) as raised:
        read_bundle(text, source="policy.yaml")
    assert message in raised.value.message
    assert raised.value.message.startswith("policy.yaml:" if line is None else f"policy.yaml:{line}: ")
    assert raised.value.hint or "whole number" in message or "true or false" in message


def test_a_bundle_of_a_graph_is_not_one_of_the_server() -> None:
    of_graph, of_server = rules(ALLOW), rules(ALLOW.replace("[read]", "[graph_list, audit_read]"))
    assert read(of_graph, Kind.GRAPH).kind is Kind.GRAPH
    assert read(of_server, Kind.SERVER).kind is Kind.SERVER
    assert read(of_server).kind is Kind.SERVER
    with pytest.raises(PolicyError, match=r"rule `r` is about the server .*this is the bundle of a graph") as raised:
        read(of_server, Kind.GRAPH)
    assert raised.value.hint == "Move it into the bundle of the server."
    with pytest.raises(PolicyError, match=r"rule `r` is about a graph .*this is the bundle of a server"):
        read(of_graph, Kind.SERVER)


def test_overwriting_is_a_right_of_its_own_where_somebody_has_it() -> None:
    plain = read(rules(ALLOW.replace("[read]", "[change]")))
    speaking = read(rules(ALLOW.replace("[read]", "[change, load_overwrite]")))
    assert plain.meaning(Action.LOAD_OVERWRITE) is Action.CHANGE
    assert speaking.meaning(Action.LOAD_OVERWRITE) is Action.LOAD_OVERWRITE
    assert plain.meaning(Action.READ) is Action.READ
