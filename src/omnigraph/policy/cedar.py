"""A bundle as Cedar policies, and Cedar deciding by them.

Each rule becomes one policy for each of its actions, `@id("<rule>:<action>")`:

    @id("team-writes:change")
    permit (
      principal in Omnigraph::Group::"team",
      action == Omnigraph::Action::"change",
      resource == Omnigraph::Graph::"people"
    ) when { context.has_branch && !context.branch_is_protected };

A rule that denies becomes `forbid`. The context of a request says which branches it names and whether they are protected, so
that no list of branches is part of a policy. Policies are validated strictly against the schema when they are loaded.

Actors and groups are entities: an actor's parents are its groups. For a decision only the actor who asks is needed, with its
groups, and of the policies those that name the action: no other can match. So what a decision costs grows neither with the
number of actors nor with rules about other actions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from omnigraph.errors import PolicyError, UsageError
from omnigraph.policy.bundle import Bundle, Effect, Kind, Rule, Scope
from omnigraph.policy.evaluation import Outcome, outcome_of
from omnigraph.policy.port import NO_GROUPS, SERVER_ACTIONS, Access, Action

SERVER: Final = "root"
"""What the server is called as a resource."""

_N: Final = "Omnigraph"
_CONTEXT: Final = """    has_branch: Bool,
    branch: String,
    has_target_branch: Bool,
    target_branch: String,
    branch_is_protected: Bool,
    target_branch_is_protected: Bool"""


def _named(actions: Sequence[Action]) -> str:
    return ", ".join(f'"{action.value}"' for action in actions)


SCHEMA: Final = f"""namespace {_N} {{
  type RequestContext = {{
{_CONTEXT}
  }};
  type InvokeContext = {{
{_CONTEXT},
    has_query: Bool,
    query: String
  }};
  entity Group;
  entity Actor in [Group];
  entity Graph;
  entity Server;
  action {_named([a for a in Action if a not in SERVER_ACTIONS and a is not Action.INVOKE_QUERY])} appliesTo {{
    principal: [Actor],
    resource: [Graph],
    context: RequestContext
  }};
  action "{Action.INVOKE_QUERY.value}" appliesTo {{
    principal: [Actor],
    resource: [Graph],
    context: InvokeContext
  }};
  action {_named([a for a in Action if a in SERVER_ACTIONS])} appliesTo {{
    principal: [Actor],
    resource: [Server],
    context: RequestContext
  }};
}}
"""
"""The Cedar schema that every bundle is validated against."""


def policies(bundle: Bundle, graph: str) -> str:
    """The policies of a bundle, about a graph of that id; about the server, if it is a bundle of a server."""
    kind, name = ("Server", SERVER) if bundle.kind is Kind.SERVER else ("Graph", graph)
    resource = f"{_N}::{kind}::{_quoted(name)}"
    return "\n".join(_policy(rule, action, resource) for rule in bundle.rules for action in rule.actions)


def entities(bundle: Bundle, graph: str) -> list[dict[str, Any]]:
    """The groups, the actors with their groups, and the resource, as Cedar's entities."""
    resource = ("Server", SERVER) if bundle.kind is Kind.SERVER else ("Graph", graph)
    found = [_entity(*resource, ()), *(_entity("Group", group, ()) for group in bundle.groups)]
    return found + [_entity("Actor", actor, bundle.groups_of(actor, NO_GROUPS)) for actor in sorted(bundle.actors)]


def _policy(rule: Rule, action: Action, resource: str) -> str:
    word = "permit" if rule.effect is Effect.ALLOW else "forbid"
    condition = _condition(rule)
    return (
        f"@id({_quoted(f'{rule.id}:{action.value}')})\n{word} (\n"
        f"  principal in {_N}::Group::{_quoted(rule.group)},\n"
        f'  action == {_N}::Action::"{action.value}",\n'
        f"  resource == {resource}\n"
        f"){f' when {{ {condition} }}' if condition else ''};\n"
    )


def _condition(rule: Rule) -> str:
    parts = []
    for scope, has, protected in (
        (rule.branch_scope, "has_branch", "branch_is_protected"),
        (rule.target_branch_scope, "has_target_branch", "target_branch_is_protected"),
    ):
        if scope in (Scope.PROTECTED, Scope.UNPROTECTED):
            parts.append(f"context.{has} && {'' if scope is Scope.PROTECTED else '!'}context.{protected}")
    if rule.queries is not None:
        parts.append(f"context.has_query && [{', '.join(map(_quoted, rule.queries))}].contains(context.query)")
    return " && ".join(parts)


def _quoted(text: str) -> str:
    """A text as Cedar writes it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    plain = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(plain.get(c) or (c if c.isascii() and c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text) + '"'


def _entity(kind: str, name: str, groups: Sequence[str] | frozenset[str]) -> dict[str, Any]:
    parents = [{"type": f"{_N}::Group", "id": group} for group in sorted(groups)]
    return {"uid": {"type": f"{_N}::{kind}", "id": name}, "attrs": {}, "parents": parents}


class CedarPolicy:
    """A bundle that was loaded into Cedar, and what Cedar decides by it."""

    def __init__(self, bundle: Bundle, graph: str, *, validate: bool = True) -> None:
        self.bundle = bundle
        self._cedar = _cedarpy()
        kind, name = ("Server", SERVER) if bundle.kind is Kind.SERVER else ("Graph", graph)
        resource = f"{_N}::{kind}::{_quoted(name)}"
        try:
            self._by_action = {
                action: self._cedar.PolicySet.from_str(
                    "\n".join(_policy(rule, action, resource) for rule in bundle.rules if action in rule.actions)
                )
                for action in {action for rule in bundle.rules for action in rule.actions}
            }
        except ValueError as error:
            raise PolicyError(f"{bundle.source}: Cedar does not take its rules: {error}") from error
        if validate:
            self._validate(policies(bundle, graph))
        self._resource = {"type": f"{_N}::{kind}", "id": name}
        self._rules = {rule.id: rule for rule in bundle.rules}

    def _validate(self, text: str) -> None:
        checked = self._cedar.validate_policies(text, _schema())
        if not checked.validation_passed:
            said = "; ".join(str(error) for error in checked.errors)
            raise PolicyError(f"{self.bundle.source}: its rules do not fit the schema of policies: {said}")

    def decide(self, actor: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Outcome:
        """What Cedar decides about an access."""
        action = self.bundle.meaning(access.action)
        named = self._by_action.get(action)
        if named is None:
            return Outcome(False, None)  # no policy is about it, and what no policy permits is denied
        member = self.bundle.groups_of(actor, groups)
        needed = json.dumps([_entity("Actor", actor, member), *(_entity("Group", group, ()) for group in member)])
        return self._outcome(self._cedar.is_authorized(self._request(actor, action, access), named, needed))

    def _request(self, actor: str, action: Action, access: Access) -> dict[str, Any]:
        protected = self.bundle.protected_branches
        context: dict[str, object] = {
            "has_branch": access.branch is not None,
            "branch": access.branch or "",
            "has_target_branch": access.target_branch is not None,
            "target_branch": access.target_branch or "",
            "branch_is_protected": access.branch in protected,
            "target_branch_is_protected": access.target_branch in protected,
        }
        if action is Action.INVOKE_QUERY:
            context |= {"has_query": access.query is not None, "query": access.query or ""}
        return {
            "principal": {"type": f"{_N}::Actor", "id": actor},
            "action": {"type": f"{_N}::Action", "id": action.value},
            "resource": self._resource,
            "context": context,
        }

    def _outcome(self, answer: Any) -> Outcome:
        if answer.diagnostics.errors:
            raise PolicyError(f"the policy could not decide: {'; '.join(answer.diagnostics.errors)}")
        names = answer.diagnostics.id_annotations_by_reason.values()
        outcome = outcome_of([self._rules[name.rpartition(":")[0]] for name in names])
        if outcome.allowed is not answer.allowed:
            raise PolicyError("the policy: Cedar's decision and its reasons disagree")
        return outcome


@cache
def _schema() -> Any:
    return _cedarpy().Schema.from_str(SCHEMA)


def _cedarpy() -> Any:
    try:
        import cedarpy
    except ImportError:
        raise UsageError(
            "policies are decided by Cedar, and cedarpy is not installed", hint="pip install 'omnigraph[policy]'"
        ) from None
    return cedarpy
