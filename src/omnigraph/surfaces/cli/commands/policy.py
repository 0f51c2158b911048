"""`omnigraph policy`: whether a bundle can be used, what it decides and why, and the same in Cedar."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from omnigraph.errors import ScopeError, UsageError
from omnigraph.model.phrases import counted
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Group, here

if TYPE_CHECKING:
    from omnigraph.policy.bundle import Bundle
    from omnigraph.policy.port import Action

_PARTS = ("policies", "schema", "entities")
_USABLE = frozenset({"cluster", "graph"})


@click.group(cls=Group)
def command() -> None:
    """Check, test and explain policies.

    A policy is a bundle: a file (--file), or one that a cluster has applied (--cluster, and --graph if there are several).
    """


def _file(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--file", "path", metavar="FILE", help="A bundle that is not applied.")(function)


@command.command(capability=Capability.CONTROL, usable=_USABLE)
@_file
@json_option("what the bundle holds")
def validate(path: str | None, as_json: bool) -> None:
    """Check that a bundle can be used: its own rules, and as Cedar policies.

    \b
    omnigraph policy validate --file policy.yaml
    """
    from omnigraph.policy.cedar import CedarPolicy

    name, bundle = _bundle(path)
    CedarPolicy(bundle, here().graph or "graph")
    if as_json:
        print_json(
            {
                "ok": True,
                "bundle": name,
                "kind": bundle.kind.value,
                "actors": len(bundle.actors),
                "groups": len(bundle.groups),
                "rules": len(bundle.rules),
                "reviews": len(bundle.reviews),
                "protected_branches": sorted(bundle.protected_branches),
            }
        )
        return
    say(f"policy valid: bundle '{name}' [{counted(len(bundle.actors), 'actor')}]")


@command.command(capability=Capability.CONTROL, usable=_USABLE)
@_file
@click.option("--tests", "tests", required=True, metavar="FILE", help="The cases, and what ought to be decided.")
@json_option("what failed")
def test(path: str | None, tests: str, as_json: bool) -> int:
    """Decide about the cases of a file. Exits with 1 if one comes out otherwise than it says.

    \b
    omnigraph policy test --file policy.yaml --tests policy.tests.yaml
    """
    from omnigraph.policy.cases import failures_of, read_cases

    _, bundle = _bundle(path)
    cases = read_cases(read_source(tests, what="file of policy tests").text, source=tests)
    failures = failures_of(bundle, cases)
    if as_json:
        print_json({"ok": not failures, "cases": len(cases), "failures": [failure.to_dict() for failure in failures]})
    elif failures:
        say("\n".join(["policy tests failed:", *map(str, failures)]), err=True)
    else:
        say(f"policy tests passed: {counted(len(cases), 'case')}")
    return 1 if failures else 0


@command.command(capability=Capability.CONTROL, usable=_USABLE)
@_file
@click.option("--actor", "asking", required=True, metavar="ACTOR", help="Who asks.")
@click.option("--action", required=True, metavar="ACTION", help="For what: read, change, schema_apply, …")
@click.option("--branch", metavar="BRANCH", help="The branch that is read, changed or merged.")
@click.option("--target-branch", metavar="BRANCH", help="The branch that is merged into, created or deleted.")
@click.option("--query", metavar="NAME", help="The stored query, for invoke_query.")
@click.option("--in-group", "groups", multiple=True, metavar="GROUP", help="A group that a token vouches for; may be repeated.")
@json_option("the decision")
def explain(
    path: str | None,
    asking: str,
    action: str,
    branch: str | None,
    target_branch: str | None,
    query: str | None,
    groups: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what would be decided, by which rule, and why each other rule did not match.

    \b
    omnigraph policy explain --file policy.yaml --actor bob --action change --branch main
    """
    from omnigraph.policy.evaluation import explain as explained
    from omnigraph.policy.port import Access

    _, bundle = _bundle(path)
    access = Access(_action(action), branch, target_branch, query)
    told = explained(bundle, asking, access, frozenset(groups))
    data: dict[str, Any] = {
        "decision": "allow" if told.decision.allowed else "deny",
        "actor": asking,
        "action": access.action.value,
        "branch": access.branch,
        "target_branch": access.target_branch,
        "matched_rule": told.decision.rule,
        "message": told.decision.message,
    }
    roles = [
        {"id": r.rule.id, "effect": r.rule.effect.value, "matched": r.mismatch is None, "why": told.role_of(r)}
        for r in told.readings
    ]
    if as_json:
        data["rules"] = roles
        print_json(data)
        return
    for name, value in data.items():
        say(f"{name}: {'-' if value is None else value}")
    say("rules:" if roles else "rules: -")
    for role in roles:
        say(f"  {role['id']} ({role['effect']}): {role['why']}")


@command.command("export-cedar", capability=Capability.CONTROL, usable=_USABLE)
@_file
@click.option(
    "--part", type=click.Choice(["policies", "schema", "entities"]), default="policies", show_default=True, help="Which."
)
@json_option("all of it")
def export_cedar(path: str | None, part: str, as_json: bool) -> None:
    """Write a bundle in Cedar: its policies, the schema they are checked against, or the groups and actors.

    \b
    omnigraph policy export-cedar --file policy.yaml --graph people > people.cedar
    """
    import json

    from omnigraph.policy.cedar import SCHEMA, entities, policies

    _, bundle = _bundle(path)
    graph = here().graph or "graph"
    if as_json:
        print_json({"policies": policies(bundle, graph), "schema": SCHEMA, "entities": entities(bundle, graph)})
    elif part == "policies":
        say(policies(bundle, graph), nl=False)
    elif part == "schema":
        say(SCHEMA, nl=False)
    else:
        say(json.dumps(entities(bundle, graph), indent=2, ensure_ascii=False))


def _action(text: str) -> Action:
    from omnigraph.policy.cases import action_of
    from omnigraph.policy.port import Action

    found = action_of(text)
    if found is None:
        raise UsageError(f"'{text}' is not an action", hint=f"Known: {', '.join(action.value for action in Action)}.")
    return found


def _bundle(path: str | None) -> tuple[str, Bundle]:
    """The bundle that is meant, and what it is called."""
    from omnigraph.policy.bundle import read_bundle

    flags = here()
    if path is not None:
        if flags.cluster is not None:
            raise UsageError("--file and --cluster both name a bundle", hint="Give one of them.")
        return path, read_bundle(read_source(path, what="policy file").text, source=path)
    name, text = _applied(flags.cluster, flags.graph)
    return name, read_bundle(text, source=f"policy '{name}'")


def _applied(cluster: str | None, graph: str | None) -> tuple[str, str]:
    """The name and the text of a bundle that a cluster has applied: that of a graph, or the only one."""
    if cluster is None:
        raise ScopeError("no policy is given", hint="Give --file, or --cluster and perhaps --graph.")
    from omnigraph.cluster.serving.revision import read_serving

    revision = read_serving(here().settings.cluster(cluster))
    if graph is not None:
        bound = revision.policy_of(graph) or revision.cluster_policy
        if bound is None:
            raise ScopeError(f"no applied policy is bound to graph '{graph}'", hint=_listing(revision.policies))
        return bound.name, bound.text
    if len(revision.policies) != 1:
        number = len(revision.policies)
        found = f"{number} policies" if number > 1 else "one policy" if number else "no policy"
        raise ScopeError(f"the cluster has applied {found}", hint=_listing(revision.policies))
    return revision.policies[0].name, revision.policies[0].text


def _listing(policies: Any) -> str:
    names = ", ".join(f"{one.name} ({', '.join(one.applies_to)})" for one in policies)
    return f"Give --graph. Applied: {names}." if names else "Apply one with `omnigraph cluster apply`, or give --file."
