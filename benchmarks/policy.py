"""Decisions of policies: asked again, and asked for the first time, beside the direct reading of the same bundle.

A bundle of 40 groups, 1,000 actors and 200 rules. What counts is the 99th percentile of single decisions, in CPU time of the
thread that asks: on a machine that does other work the wall clock measures that work, so it is recorded without a bound.

    python -m benchmarks policy
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from benchmarks.measuring import Measurement
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Bundle, Effect, Rule, Scope
from omnigraph.policy.evaluation import evaluate
from omnigraph.policy.port import Access, Action

CACHED_MS: Final = 0.2
UNCACHED_MS: Final = 2.0
DECISIONS: Final = 3_000


def bundle() -> Bundle:
    """A policy larger than most."""
    groups = {f"group-{n}": tuple(f"actor-{(n * 25 + m) % 1_000}" for m in range(50)) for n in range(40)}
    on_branch, on_target = (Action.READ, Action.CHANGE, Action.EXPORT), (Action.BRANCH_CREATE, Action.BRANCH_MERGE)
    rules = [
        Rule(f"r{n}", Effect.ALLOW if n % 10 else Effect.DENY, f"group-{n % 40}", on_branch, list(Scope)[n % 3])
        if n % 2
        else Rule(f"r{n}", Effect.ALLOW, f"group-{n % 40}", on_target, None, list(Scope)[n % 3])
        for n in range(200)
    ]
    return Bundle("benchmark", groups, frozenset({"main"}), tuple(rules))


def _p99(ask: Callable[[int], object], clock: Callable[[], float]) -> float:
    times = []
    for n in range(DECISIONS):
        begun = clock()
        ask(n)
        times.append((clock() - begun) * 1_000)
    return sorted(times)[int(DECISIONS * 0.99)]


def measure() -> list[Measurement]:
    """p99 of decisions."""
    policy = bundle()
    authoriser = PolicyAuthoriser({"g": policy})
    again = Access(Action.CHANGE, "work")
    authoriser.decide("actor-7", "g", again)

    def cached(n: int) -> object:
        return authoriser.decide("actor-7", "g", Access(Action.CHANGE, "work"))

    def uncached(n: int) -> object:
        return authoriser.decide("actor-7", "g", Access(Action.CHANGE, f"b{n}-{round(time.time() * 1e6)}"))

    def direct(n: int) -> object:
        return evaluate(policy, "actor-7", Access(Action.CHANGE, f"b{n}"))

    found = []
    for name, ask, bound in (("asked again", cached, CACHED_MS), ("asked first", uncached, UNCACHED_MS)):
        base = _p99(direct, time.thread_time)
        found.append(Measurement(f"a decision, {name}, p99 CPU", _p99(ask, time.thread_time), "direct reading", base, bound))
        base = _p99(direct, time.perf_counter)
        found.append(Measurement(f"a decision, {name}, p99 wall", _p99(ask, time.perf_counter), "direct reading", base))
    return found
