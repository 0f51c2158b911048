"""Cedar and the direct reading decide alike, about 10,000 random bundles and what may be asked of them."""

from __future__ import annotations

from random import Random

import pytest

from omnigraph.policy.bundle import ON_BRANCH, ON_TARGET, Bundle, Effect, Rule, Scope
from omnigraph.policy.cedar import CedarPolicy
from omnigraph.policy.evaluation import evaluate, explain
from omnigraph.policy.port import SERVER_ACTIONS, Access, Action

REQUESTS = 4
GROUPS = ("team", "admins", 'a "quoted" \\ name', "grüppe\n\x7f")
ACTORS = ("ada", "bob", "eve", 'o"hara\\', "名前\t")
BRANCHES = (None, "main", "work", "", "Main", 'a"b')
QUERIES = (None, "find", "friends", 'q"\\')
OF_GRAPH = tuple(a for a in Action if a not in SERVER_ACTIONS)
SCOPES = (None, *Scope)


def random_rule(random: Random, name: str, groups: tuple[str, ...], of_server: bool) -> Rule:
    pool = tuple(SERVER_ACTIONS) if of_server else OF_GRAPH
    branch_scope = target_scope = queries = None
    form = 0 if of_server else random.randrange(4)
    if form == 1:
        pool, branch_scope = tuple(ON_BRANCH), random.choice(SCOPES)
    elif form == 2:
        pool, target_scope = tuple(ON_TARGET), random.choice(SCOPES)
    elif form == 3:
        pool, queries = (Action.INVOKE_QUERY,), tuple(random.sample([q for q in QUERIES if q], random.randint(1, 2)))
    actions = tuple(random.sample(pool, min(len(pool), random.randint(1, 4))))
    effect = Effect.DENY if random.random() < 0.25 else Effect.ALLOW
    return Rule(name, effect, random.choice(groups), actions, branch_scope, target_scope, queries)


def random_bundle(random: Random) -> Bundle:
    of_server = random.random() < 0.1
    groups = random.sample(GROUPS, random.randint(1, len(GROUPS)))
    members = {group: tuple(random.sample(ACTORS, random.randint(1, len(ACTORS) - 1))) for group in groups}
    names = random.sample(["b", "a", "c:read", 'd"', "é", "a:read", "Z"], random.randint(0, 6))
    rules = tuple(random_rule(random, name, tuple(groups), of_server) for name in names)
    protected = frozenset(b for b in BRANCHES if b is not None and random.random() < 0.4)
    return Bundle("random", members, protected, rules)


def random_access(random: Random, bundle: Bundle) -> Access:
    named = [action for rule in bundle.rules for action in rule.actions]
    action = random.choice(named) if named and random.random() < 0.8 else random.choice(OF_GRAPH)
    return Access(action, random.choice(BRANCHES), random.choice(BRANCHES), random.choice(QUERIES))


@pytest.mark.parametrize("bundles", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_cedar_and_the_direct_reading_agree(bundles: int) -> None:
    random = Random(bundles)
    allowed = denied = by_rule = 0
    for number in range(bundles):
        bundle = random_bundle(random)
        cedar = CedarPolicy(bundle, "people", validate=number % 20 == 0)
        actor = random.choice((*ACTORS, "stranger"))
        vouched = frozenset(random.sample((*GROUPS, "elsewhere"), random.randint(0, 2)))
        accesses = [random_access(random, bundle) for _ in range(REQUESTS)]
        for access in accesses:
            outcome = cedar.decide(actor, access, vouched)
            assert outcome == evaluate(bundle, actor, access, vouched), (bundle, actor, access, vouched)
            allowed, denied = allowed + outcome.allowed, denied + (not outcome.allowed)
            by_rule += not outcome.allowed and outcome.rule is not None
    assert min(allowed, denied, by_rule) > bundles // 4, "what is compared decides both ways, and by rules that deny"


def test_an_explanation_is_the_decision_and_names_each_rule() -> None:
    random = Random(7)
    for _ in range(500):
        bundle = random_bundle(random)
        actor, access = random.choice(ACTORS), random_access(random, bundle)
        told = explain(bundle, actor, access)
        outcome = evaluate(bundle, actor, access)
        assert (told.decision.allowed, told.decision.rule) == (outcome.allowed, outcome.rule)
        assert [reading.rule for reading in told.readings] == list(bundle.rules)
        roles = {reading.rule.id: told.role_of(reading) for reading in told.readings}
        assert [name for name, role in roles.items() if role == "decided"] == ([] if outcome.rule is None else [outcome.rule])
        assert all(roles.values())
