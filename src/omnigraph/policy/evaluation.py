"""What a bundle says, read rule by rule: the reading that can explain itself.

A rule matches an access if the actor is in its group, it lists the action, and its scope fits. What matches a rule that denies
is denied; else what matches a rule that allows is allowed; everything else is denied. Where several rules decide alike, the
one with the smallest id stands for them.

Servers let Cedar decide about the same bundle (`policy/cedar.py`); a test holds the two against each other.
"""

from __future__ import annotations

from omnigraph.model.frozen import frozen
from omnigraph.policy.bundle import Bundle, Effect, Rule, Scope
from omnigraph.policy.by_review import past_a_review
from omnigraph.policy.port import NO_GROUPS, Access, Action, Decision
from omnigraph.policy.states import denial


@frozen
class Outcome:
    """Allowed or not, and by which rule; none if no rule matched."""

    allowed: bool
    rule: str | None


@frozen
class Reading:
    """What one rule has to do with an access."""

    rule: Rule
    mismatch: str | None
    """Why it does not match; None if it does."""


@frozen
class Explanation:
    """A decision, and what each rule had to do with it."""

    decision: Decision
    readings: tuple[Reading, ...]

    def role_of(self, reading: Reading) -> str:
        """In words, what a rule had to do with the decision."""
        if reading.mismatch is not None:
            return reading.mismatch
        if reading.rule.id == self.decision.rule:
            return "decided"
        if reading.rule.effect is Effect.ALLOW and not self.decision.allowed:
            return f"matches, and rule '{self.decision.rule}' denies it"
        return f"matches as well; '{self.decision.rule}' comes first by id"


def evaluate(bundle: Bundle, actor: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Outcome:
    """What the rules come to."""
    member, action = bundle.groups_of(actor, groups), bundle.meaning(access.action)
    return outcome_of([rule for rule in bundle.rules if _mismatch(rule, bundle, actor, member, action, access) is None])


def outcome_of(matching: list[Rule]) -> Outcome:
    """What the rules that match come to: those that deny win, and the smallest id stands for the others."""
    denying = [rule.id for rule in matching if rule.effect is Effect.DENY]
    deciding = denying or [rule.id for rule in matching]
    return Outcome(bool(deciding) and not denying, min(deciding, default=None))


def decision_of(bundle: Bundle, actor: str, access: Access, groups: frozenset[str], outcome: Outcome) -> Decision:
    """An outcome in the words of the contract."""
    name = access.action.value
    if not bundle.groups_of(actor, groups):
        return Decision(False, None, f"policy denied action '{name}' for unknown actor '{actor}'")
    if outcome.allowed:
        return Decision(True, outcome.rule, f"policy allowed action '{name}' for actor '{actor}'")
    return Decision(False, outcome.rule, denial(access, actor))


def explain(bundle: Bundle, actor: str, access: Access, groups: frozenset[str] = NO_GROUPS) -> Explanation:
    """The decision about an access, and for every rule, in the order of the file, whether it matched or why not.

    It is the decision of the door: what the rules allow is denied where it would move a branch past a review.
    """
    member, action = bundle.groups_of(actor, groups), bundle.meaning(access.action)
    readings = tuple(Reading(rule, _mismatch(rule, bundle, actor, member, action, access)) for rule in bundle.rules)
    outcome = outcome_of([reading.rule for reading in readings if reading.mismatch is None])
    decision = decision_of(bundle, actor, access, groups, outcome)
    return Explanation((past_a_review(bundle.reviews, access) or decision) if decision.allowed else decision, readings)


def _mismatch(rule: Rule, bundle: Bundle, actor: str, member: frozenset[str], action: Action, access: Access) -> str | None:
    """Why a rule does not match; None if it does."""
    if action not in rule.actions:
        return f"does not list {action.value}"
    if rule.group not in member:
        return f"is for group '{rule.group}', and '{actor}' is not in it"
    if rule.queries is not None and access.query not in rule.queries:
        named = "no query is named" if access.query is None else f"'{access.query}' is none of them"
        return f"is for the queries {', '.join(rule.queries)}, and {named}"
    return _out_of_scope(rule.branch_scope, "branch", access.branch, bundle) or _out_of_scope(
        rule.target_branch_scope, "target branch", access.target_branch, bundle
    )


def _out_of_scope(scope: Scope | None, what: str, name: str | None, bundle: Bundle) -> str | None:
    if scope is None or scope is Scope.ANY:
        return None
    if name is None:
        return f"is for {scope.value} branches, and no {what} is named"
    is_protected = name in bundle.protected_branches
    if is_protected is (scope is Scope.PROTECTED):
        return None
    return f"is for {scope.value} branches, and {what} '{name}' is {'protected' if is_protected else 'not protected'}"
