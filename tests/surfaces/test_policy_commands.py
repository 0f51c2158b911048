"""`omnigraph policy`: what it says of bundles and their tests, to people and to programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.calling import Call

BUNDLE = """\
version: 1
groups:
  team: [act-andrew, act-bruno]
  admins: [act-andrew]
protected_branches: [main]
rules:
  - id: team-writes
    allow: { actors: { group: team }, actions: [read, change], branch_scope: unprotected }
  - id: admins-merge
    allow: { actors: { group: admins }, actions: [branch_merge, schema_apply], target_branch_scope: protected }
"""
CASES = """\
version: 1
cases:
  - { id: c1, actor: act-bruno, action: change, branch: main, expect: deny }
  - { id: c2, actor: act-andrew, action: branch-merge, branch: feat, target_branch: main, expect: allow }
"""


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    (tmp_path / "policy.yaml").write_text(BUNDLE)
    (tmp_path / "cases.yaml").write_text(CASES)
    return str(tmp_path / "policy.yaml")


def cases(bundle: str) -> str:
    return bundle.replace("policy.yaml", "cases.yaml")


def test_a_bundle_that_can_be_used(og: Call, bundle: str) -> None:
    assert og("policy", "validate", "--file", bundle).out == f"policy valid: bundle '{bundle}' [2 actors]\n"
    assert og("policy", "validate", "--file", bundle, "--json").json["kind"] == "graph"


def test_one_that_cannot(og: Call, bundle: str) -> None:
    Path(bundle).write_text(BUNDLE.replace("group: admins", "group: admin"))
    ran = og("policy", "validate", "--file", bundle)
    assert ran.code == 1
    assert f"{bundle}:10: rules[1].allow.actors.group: rule `admins-merge` names the group `admin`" in ran.err
    assert og("policy", "validate", "--file", bundle, "--json").json["code"] == "policy_invalid"


def test_cases_that_come_out_as_they_say(og: Call, bundle: str) -> None:
    assert og("policy", "test", "--file", bundle, "--tests", cases(bundle)).out == "policy tests passed: 2 cases\n"


def test_cases_that_do_not(og: Call, bundle: str) -> None:
    wrong = CASES.replace("deny", "x").replace("allow", "deny").replace("x }", "allow }")
    Path(cases(bundle)).write_text(wrong)
    ran = og("policy", "test", "--file", bundle, "--tests", cases(bundle))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "policy tests failed:\nc1: expected Allow but got deny\nc2: expected Deny but got allow\n"
    told = og("policy", "test", "--file", bundle, "--tests", cases(bundle), "--json")
    assert (told.code, told.json["ok"], told.json["failures"][1]["matched_rule"]) == (1, False, "admins-merge")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1\ncases: [{ id: ' ', actor: a, action: read, expect: deny }]", "the id of a case is blank"),
        ("version: 1\ncases: [{ id: c, actor: '', action: read, expect: deny }]", "an actor is blank"),
        ("version: 1\ncases: [{ id: c, actor: a, action: reed, expect: deny }]", "`reed` is not an action"),
        ("version: 1\ncases: [{ id: c, actor: a, action: read, expect: no way }]", "`no way` is not an expectation"),
        ("version: 1\ncases: [{ id: c, actor: a, action: read }]", "key `expect` is missing"),
        ("version: 2\ncases: []", "version 2 is not known"),
        (CASES.replace("c2", "c1"), "case id `c1` is there twice"),
    ],
)
def test_files_of_cases_that_are_refused(og: Call, bundle: str, text: str, message: str) -> None:
    Path(cases(bundle)).write_text(text)
    ran = og("policy", "test", "--file", bundle, "--tests", cases(bundle))
    assert ran.code == 1
    assert message in ran.err


def test_a_decision_is_explained_rule_by_rule(og: Call, bundle: str) -> None:
    asked = ("policy", "explain", "--file", bundle, "--actor", "act-bruno", "--action", "change", "--branch", " main ")
    assert og(*asked).out.splitlines() == [
        "decision: deny",
        "actor: act-bruno",
        "action: change",
        "branch: main",
        "target_branch: -",
        "matched_rule: -",
        "message: policy denied action 'change' on branch 'main' for actor 'act-bruno'",
        "rules:",
        "  team-writes (allow): is for unprotected branches, and branch 'main' is protected",
        "  admins-merge (allow): does not list change",
    ]
    told = og(*asked[:-1], "work", "--json").json
    assert (told["decision"], told["matched_rule"]) == ("allow", "team-writes")
    assert told["rules"][0] == {"id": "team-writes", "effect": "allow", "matched": True, "why": "decided"}


@pytest.mark.parametrize("name", ["schema_apply", "schema-apply"])
def test_actions_are_spelt_either_way(og: Call, bundle: str, name: str) -> None:
    ran = og("policy", "explain", "--file", bundle, "--actor", "act-andrew", "--action", name, "--target-branch", "main")
    assert "matched_rule: admins-merge" in ran.out
    wrong = og("policy", "explain", "--file", bundle, "--actor", "a", "--action", "schemaapply")
    assert (wrong.code, "'schemaapply' is not an action" in wrong.err) == (1, True)


def test_the_same_in_cedar(og: Call, bundle: str) -> None:
    text = og("policy", "export-cedar", "--file", bundle, "--graph", "people").out
    assert '@id("admins-merge:schema_apply")' in text
    assert 'resource == Omnigraph::Graph::"people"' in text
    assert og("policy", "export-cedar", "--file", bundle, "--part", "schema").out.startswith("namespace Omnigraph {")
    told = og("policy", "export-cedar", "--file", bundle, "--json").json
    bruno = next(e for e in told["entities"] if e["uid"]["id"] == "act-bruno")
    assert bruno["parents"] == [{"type": "Omnigraph::Group", "id": "team"}]
    assert og("policy", "export-cedar", "--file", bundle, "--part", "entities").out.startswith("[\n")


def test_which_bundle_is_meant(og: Call, bundle: str) -> None:
    none = og("policy", "validate")
    assert (none.code, "no policy is given" in none.err) == (1, True)
    both = og("policy", "validate", "--file", bundle, "--cluster", "x")
    assert (both.code, "--file and --cluster both name a bundle" in both.err) == (1, True)
    served = og("policy", "validate", "--file", bundle, "--server", "x")
    assert (served.code, "`policy` is a cluster control command: --server" in served.err) == (1, True)


def test_bundles_that_a_cluster_has_applied(og: Call, tmp_path: Path) -> None:
    rule = "{version: 1, groups: {g: [ada]}, rules: [{id: r, allow: {actors: {group: g}, actions: [%s]}}]}"
    files = {
        "people.pg": "node Person { name: String @key }",
        "team.yaml": rule % "read",
        "ops.yaml": rule % "graph_list",
        "cluster.yaml": "{version: 1, graphs: {people: {schema: people.pg}}, policies: {team: {file: team.yaml, applies_to: [people]}}}",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    where = ("--cluster", str(tmp_path))
    assert og("cluster", "apply", "--init", "--config", str(tmp_path)).code == 0
    assert og("policy", "validate", *where).out == "policy valid: bundle 'team' [1 actor]\n"
    both = files["cluster.yaml"].replace("policies: {", "policies: {ops: {file: ops.yaml, applies_to: [cluster]}, ")
    (tmp_path / "cluster.yaml").write_text(both)
    assert og("cluster", "apply", "--config", str(tmp_path)).code == 0
    several = og("policy", "validate", *where)
    assert (several.code, "Applied: ops (cluster), team (graph.people)" in several.err) == (1, True)
    told = og("policy", "explain", *where, "--graph", "people", "--actor", "ada", "--action", "read", "--json").json
    assert (told["decision"], told["matched_rule"]) == ("allow", "r")


REVIEWED = """\
version: 1
groups: { team: [ada, bob] }
protected_branches: [main]
rules:
  - id: all
    allow: { actors: { group: team }, actions: [read, change, schema_apply, branch_merge, branch_create, review_merge] }
reviews:
  - { target_branch_scope: [main, release], approvals: 2, from_group: team }
"""
MOVES = [
    (("--action", "change", "--branch", "main"), False),
    (("--action", "load_overwrite", "--branch", "release"), False),
    (("--action", "schema_apply", "--target-branch", " main "), False),
    (("--action", "branch_merge", "--branch", "ideas", "--target-branch", "release"), False),
    (("--action", "branch_merge", "--branch", "main", "--target-branch", "ideas"), True),
    (("--action", "branch_create", "--branch", "main", "--target-branch", "ideas"), True),
    (("--action", "review_merge", "--branch", "ideas", "--target-branch", "main"), True),
    (("--action", "change", "--branch", "ideas"), True),
]


@pytest.mark.parametrize(("asked", "allowed"), MOVES)
def test_branches_that_move_by_a_review(og: Call, tmp_path: Path, asked: tuple[str, ...], allowed: bool) -> None:
    (tmp_path / "policy.yaml").write_text(REVIEWED)
    line = ("policy", "explain", "--file", str(tmp_path / "policy.yaml"), "--actor", "ada", *asked)
    told = og(*line, "--json").json
    assert (told["decision"], told["matched_rule"]) == (("allow", "all") if allowed else ("deny", "review-required"))
    text = og(*line).out
    if not allowed:
        assert "moves by a review with 2 approvals from group 'team'" in told["message"]
        assert told["rules"] == [
            {"id": "all", "effect": "allow", "matched": True, "why": "matches, and rule 'review-required' denies it"}
        ]
        assert "matched_rule: review-required" in text


def test_whoever_may_not_is_denied_by_the_rules(og: Call, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(REVIEWED)
    line = ("policy", "explain", "--file", str(tmp_path / "policy.yaml"), "--action", "change", "--branch", "main")
    assert og(*line, "--actor", "eve", "--json").json["matched_rule"] is None


def test_cases_about_reviews(og: Call, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(REVIEWED)
    (tmp_path / "cases.yaml").write_text(
        "version: 1\ncases:\n"
        "  - { id: past, actor: ada, action: change, branch: main, expect: allow }\n"
        "  - { id: by, actor: ada, action: review_merge, branch: x, target_branch: main, expect: allow }\n"
    )
    line = ("policy", "test", "--file", str(tmp_path / "policy.yaml"), "--tests", str(tmp_path / "cases.yaml"))
    told = og(*line, "--json")
    assert (told.code, [failure["id"] for failure in told.json["failures"]]) == (1, ["past"])
    assert told.json["failures"][0]["matched_rule"] == "review-required"
    assert og(*line).err == "policy tests failed:\npast: expected Allow but got deny\n"
