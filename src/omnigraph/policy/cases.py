"""Tests of a policy, as a file beside it: what somebody asks for, and what ought to be the answer.

version: 1
cases:
  - { id: c1, actor: act-bruno, action: change, branch: main, expect: deny }
  - { id: c2, actor: act-andrew, action: branch_merge, branch: feat, target_branch: main, expect: allow }
  - { id: c3, actor: act-bruno, action: invoke_query, query: find_person, expect: allow }
"""

from __future__ import annotations

from omnigraph.errors import PolicyError
from omnigraph.model.frozen import frozen
from omnigraph.policy.bundle import VERSION, Bundle
from omnigraph.policy.documents import read_document
from omnigraph.policy.evaluation import explain
from omnigraph.policy.port import Access, Action, Decision


@frozen
class Case:
    """Something that somebody asks for, and whether they ought to get it."""

    id: str
    actor: str
    access: Access
    allowed: bool


@frozen
class Failure:
    """A case that came out otherwise."""

    case: Case
    decision: Decision

    def __str__(self) -> str:
        expected, got = ("Allow", "deny") if self.case.allowed else ("Deny", "allow")
        return f"{self.case.id}: expected {expected} but got {got}"

    def to_dict(self) -> dict[str, object]:
        """The failure as JSON-ready data."""
        return {
            "id": self.case.id,
            "expected": "allow" if self.case.allowed else "deny",
            "actual": "allow" if self.decision.allowed else "deny",
            "matched_rule": self.decision.rule,
            "message": self.decision.message,
        }


def action_of(text: str) -> Action | None:
    """An action by its name, `schema_apply` or `schema-apply`; None if there is none of that name."""
    name = text.strip().replace("-", "_")
    return next((action for action in Action if action.value == name), None)


def read_cases(text: str, *, source: str) -> tuple[Case, ...]:
    """The cases of a file."""
    members = read_document(text, source=source, error=PolicyError).members("version", "cases", required=("version", "cases"))
    if members["version"].number("version") != VERSION:
        members["version"].refuse(f"version {members['version'].node.value} is not known", f"Write `version: {VERSION}`.")
    found: dict[str, Case] = {}
    for item in members["cases"].items():
        given = item.members(
            "id", "actor", "action", "branch", "target_branch", "query", "expect", required=("id", "actor", "action", "expect")
        )
        case_id = given["id"].text("the id of a case")
        if case_id in found:
            given["id"].refuse(f"case id `{case_id}` is there twice", "Give each case an id of its own.")
        named = given["action"].text("an action")
        action = action_of(named)
        if action is None:
            given["action"].refuse(f"`{named}` is not an action", f"Known: {', '.join(known.value for known in Action)}.")
        branch, target, query = (
            given[name].text(f"the {name}") if name in given else None for name in ("branch", "target_branch", "query")
        )
        actor, expect = given["actor"].text("an actor"), given["expect"].word("an expectation", ("allow", "deny"))
        found[case_id] = Case(case_id, actor, Access(action, branch, target, query), expect == "allow")
    return tuple(found.values())


def failures_of(bundle: Bundle, cases: tuple[Case, ...]) -> list[Failure]:
    """The cases that a bundle decides otherwise."""
    decided = [(case, explain(bundle, case.actor, case.access).decision) for case in cases]
    return [Failure(case, decision) for case, decision in decided if decision.allowed is not case.allowed]
