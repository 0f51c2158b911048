"""A policy bundle: who may do what to a graph, or to a server, in a file that people write.

    version: 1
    groups:
      team:   [act-andrew, act-bruno]
      admins: [act-andrew]
    protected_branches: [main]
    rules:
      - id: team-writes
        allow:
          actors: { group: team }
          actions: [read, export, change]
          branch_scope: unprotected          # any | protected | unprotected
      - id: admins-merge
        allow:
          actors: { group: admins }
          actions: [branch_merge, schema_apply]
          target_branch_scope: protected
      - id: some-queries
        allow:
          actors: { group: team }
          actions: [invoke_query]
          queries: [find_person, friends_of]
      - id: no-exports-of-main
        deny:
          actors: { group: team }
          actions: [export]
          branch_scope: protected
    reviews:
      - target_branch_scope: protected       # or a list of branches
        approvals: 2
        from_group: admins
        not_author: true

What no rule allows is denied, and a rule that denies wins over all that allow. A scope compares names of branches exactly; a rule
with one does not match where no branch is named. `load_overwrite` is needed beside `change`, as a right of its own, where a rule
of the bundle allows it to somebody; in all others whoever may `change` a branch may also replace what is on it.

Everything that is wrong with a file is refused when it is read, with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import Final

from omnigraph.errors import PolicyError
from omnigraph.model.frozen import frozen
from omnigraph.policy.documents import Value, read_document
from omnigraph.policy.port import SERVER_ACTIONS, Action, ReviewRule

VERSION: Final = 1

ON_BRANCH: Final = frozenset({Action.READ, Action.EXPORT, Action.CHANGE, Action.LOAD_OVERWRITE})
"""Actions that take a `branch_scope`."""

ON_TARGET: Final = frozenset(
    {
        Action.SCHEMA_APPLY,
        Action.BRANCH_CREATE,
        Action.BRANCH_DELETE,
        Action.BRANCH_MERGE,
        Action.REVIEW_CREATE,
        Action.REVIEW_COMMENT,
        Action.REVIEW_APPROVE,
        Action.REVIEW_MERGE,
    }
)
"""Actions that take a `target_branch_scope`."""


class Kind(Enum):
    """What a bundle is for."""

    GRAPH = "graph"
    SERVER = "server"
    EITHER = "either"


class Scope(Enum):
    """Which branches a rule is about."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


class Effect(Enum):
    """What a rule does with what it matches."""

    ALLOW = "allow"
    DENY = "deny"


@frozen
class Rule:
    """Members of a group may, or may not, do some things."""

    id: str
    effect: Effect
    group: str
    actions: tuple[Action, ...]
    branch_scope: Scope | None = None
    target_branch_scope: Scope | None = None
    queries: tuple[str, ...] | None = None
    """The stored queries it is about; None: all."""


@frozen(slots=False)
class Bundle:
    """A policy."""

    source: str
    groups: Mapping[str, tuple[str, ...]]
    protected_branches: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()
    reviews: tuple[ReviewRule, ...] = ()

    @property
    def kind(self) -> Kind:
        """Whether it is about a graph or about a server."""
        return Kind.SERVER if any(_is_of_server(rule) for rule in self.rules) else Kind.GRAPH

    @property
    def actors(self) -> frozenset[str]:
        """Everybody it names."""
        return frozenset(self._groups_by_actor)

    @cached_property
    def _groups_by_actor(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for group, actors in self.groups.items():
            for actor in actors:
                found.setdefault(actor, set()).add(group)
        return {actor: frozenset(groups) for actor, groups in found.items()}

    def groups_of(self, actor: str, vouched: frozenset[str]) -> frozenset[str]:
        """The groups that an actor is in: those that list them, and those of its own that somebody vouches for."""
        return self._groups_by_actor.get(actor, frozenset()) | (vouched & self.groups.keys() if vouched else frozenset())

    @cached_property
    def _spoken_of(self) -> frozenset[Action]:
        return frozenset(action for rule in self.rules for action in rule.actions)

    def meaning(self, action: Action) -> Action:
        """The action that is decided about: replacing is changing, unless the bundle makes a difference between them."""
        return Action.CHANGE if action is Action.LOAD_OVERWRITE and action not in self._spoken_of else action


def read_bundle(text: str, *, source: str, kind: Kind = Kind.EITHER) -> Bundle:
    """The bundle that a text is. `source` is where it came from, for messages."""
    top = read_document(text, source=source, error=PolicyError)
    members = top.members("version", "groups", "protected_branches", "rules", "reviews", required=("version",))
    if members["version"].number("version") != VERSION:
        members["version"].refuse(f"version {members['version'].node.value} is not known", f"Write `version: {VERSION}`.")
    groups = _groups(members.get("groups"))
    protected = frozenset(_names(members["protected_branches"], "a protected branch") if "protected_branches" in members else ())
    written = members["rules"].items() if "rules" in members else []
    rules: dict[str, Rule] = {}
    for item in written:
        rule = _rule(item, groups)
        if rule.id in rules:
            item.refuse(f"rule id `{rule.id}` is there twice", "Give each rule an id of its own.")
        rules[rule.id] = rule
    _require_overwriters(written, list(rules.values()))
    _require_kind(list(zip(written, rules.values(), strict=True)), kind)
    reviews = tuple(_review(item, groups, protected) for item in members["reviews"].items()) if "reviews" in members else ()
    if reviews and any(map(_is_of_server, rules.values())):
        members["reviews"].refuse(
            "reviews are about a graph, and this bundle is about the server", "Put them into a graph's bundle."
        )
    return Bundle(source, groups, protected, tuple(rules.values()), reviews)


def _groups(given: Value | None) -> dict[str, tuple[str, ...]]:
    if given is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for name, value in given.members().items():
        if not name.strip():
            value.refuse("the name of a group is blank", "Give it one.")
        if name.strip() in found:
            value.refuse(f"group `{name.strip()}` is there twice", "Put its members into one list.")
        actors = _names(value, "an actor")
        if not actors:
            value.refuse(f"group `{name}` has no members", "List actors in it, or remove the group and its rules.")
        found[name.strip()] = actors
    return found


def _names(given: Value, what: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.text(what) for item in given.items()))


def _rule(item: Value, groups: Mapping[str, tuple[str, ...]]) -> Rule:
    members = item.members("id", "allow", "deny", required=("id",))
    rule_id = members["id"].text("the id of a rule")
    effects = [effect for effect in Effect if effect.value in members]
    if len(effects) != 1:
        said = "says neither `allow` nor `deny`" if not effects else "says both `allow` and `deny`"
        item.refuse(f"rule `{rule_id}` {said}", "A rule does one of them: make two rules of it.")
    body = members[effects[0].value]
    keys = body.members("actors", "actions", "branch_scope", "target_branch_scope", "queries", required=("actors", "actions"))
    group = keys["actors"].members("group", required=("group",))["group"]
    name = group.text("the name of a group")
    if name not in groups:
        known = f"Known groups: {', '.join(groups)}." if groups else "There are no groups: add `groups:`."
        group.refuse(f"rule `{rule_id}` names the group `{name}`, which does not exist", known)
    words = [action.value for action in Action]
    actions = tuple(dict.fromkeys(Action(value.word("an action", words)) for value in keys["actions"].items()))
    if not actions:
        keys["actions"].refuse(f"rule `{rule_id}` has no actions", "List at least one.")
    if (of_server := SERVER_ACTIONS.intersection(actions)) and not SERVER_ACTIONS.issuperset(actions):
        keys["actions"].refuse(
            f"rule `{rule_id}` mixes {_listed(of_server)}, of the server, with actions of a graph",
            "Make two rules, one in the bundle of the server and one in the bundle of the graph.",
        )
    return Rule(
        rule_id,
        effects[0],
        name,
        actions,
        _scope(keys, "branch_scope", rule_id, actions, ON_BRANCH),
        _scope(keys, "target_branch_scope", rule_id, actions, ON_TARGET),
        _queries(keys.get("queries"), rule_id, actions),
    )


def _scope(
    keys: Mapping[str, Value], name: str, rule_id: str, actions: tuple[Action, ...], takers: frozenset[Action]
) -> Scope | None:
    if name not in keys:
        return None
    value = keys[name]
    if "branch_scope" in keys and "target_branch_scope" in keys:
        value.refuse(f"rule `{rule_id}` has both branch_scope and target_branch_scope", "Make two rules, with one scope each.")
    scope = Scope(value.word("a scope", [scope.value for scope in Scope]))
    if wrong := set(actions) - takers:
        other = {"branch_scope": ON_TARGET, "target_branch_scope": ON_BRANCH}[name]
        instead = "target_branch_scope" if name == "branch_scope" else "branch_scope"
        advice = f"It takes {instead}." if wrong <= other else "Leave the scope out, or make a rule of its own for it."
        value.refuse(f"rule `{rule_id}`: {_listed(wrong)} takes no {name}", advice)
    return scope


def _queries(given: Value | None, rule_id: str, actions: tuple[Action, ...]) -> tuple[str, ...] | None:
    if given is None:
        return None
    if wrong := set(actions) - {Action.INVOKE_QUERY}:
        given.refuse(f"rule `{rule_id}`: {_listed(wrong)} takes no queries", "Only invoke_query does: make two rules.")
    names = _names(given, "the name of a stored query")
    if not names:
        given.refuse(f"rule `{rule_id}` names no queries", "List at least one, or leave `queries` out for all.")
    return names


def _review(item: Value, groups: Mapping[str, tuple[str, ...]], protected: frozenset[str]) -> ReviewRule:
    members = item.members(
        "target_branch_scope", "approvals", "from_group", "not_author", required=("target_branch_scope", "approvals")
    )
    scope = members["target_branch_scope"]
    if scope.is_list:
        branches = frozenset(_names(scope, "a branch"))
    elif (word := scope.text("target_branch_scope")) != Scope.PROTECTED.value:
        scope.refuse(f"`{word}` is not a scope of reviews", "Write `protected`, or a list of branches.")
    else:
        branches = protected
    if not branches:
        scope.refuse("there is no such branch", "List branches here or in `protected_branches`.")
    approvals = members["approvals"].number("approvals")
    if approvals < 1:
        members["approvals"].refuse(f"{approvals} approvals are none", "Ask for at least one, or remove the rule.")
    group = members["from_group"].text("the name of a group") if "from_group" in members else None
    if group is not None and group not in groups:
        members["from_group"].refuse(f"the group `{group}` does not exist", f"Known groups: {', '.join(groups) or 'none'}.")
    not_author = members["not_author"].flag("not_author") if "not_author" in members else False
    return ReviewRule(branches, approvals, group, None if group is None else frozenset(groups[group]), not_author)


def _require_overwriters(written: list[Value], rules: list[Rule]) -> None:
    """Refuse to deny `load_overwrite` where nobody has it: it would mean `change` for everybody, the denied as well."""
    speaking = [(item, rule) for item, rule in zip(written, rules, strict=True) if Action.LOAD_OVERWRITE in rule.actions]
    if speaking and all(rule.effect is Effect.DENY for _, rule in speaking):
        item, rule = speaking[0]
        item.refuse(
            f"rule `{rule.id}` denies load_overwrite, which no rule allows",
            "Allow it to those who may: then it is a right of its own, and nobody else has it.",
        )


def _require_kind(rules: list[tuple[Value, Rule]], kind: Kind) -> None:
    """Refuse rules that are about something else than the bundle: a graph, or the server."""
    is_of_server = kind is Kind.SERVER or (kind is Kind.EITHER and bool(rules) and _is_of_server(rules[0][1]))
    for item, rule in rules:
        if _is_of_server(rule) is not is_of_server:
            if kind is Kind.EITHER:
                item.refuse(
                    f"rule `{rule.id}` is about {_about(rule)}, and rule `{rules[0][1].id}` about {_about(rules[0][1])}",
                    "A bundle is about one of them: make two files.",
                )
            item.refuse(
                f"rule `{rule.id}` is about {_about(rule)} ({_listed(rule.actions)}), and this is the bundle of a {kind.value}",
                "Move it into the bundle of the server." if _is_of_server(rule) else "Move it into the bundle of a graph.",
            )


def _is_of_server(rule: Rule) -> bool:
    return rule.actions[0] in SERVER_ACTIONS


def _about(rule: Rule) -> str:
    return "the server" if _is_of_server(rule) else "a graph"


def _listed(actions: frozenset[Action] | set[Action] | tuple[Action, ...]) -> str:
    return ", ".join(sorted(action.value for action in actions))
