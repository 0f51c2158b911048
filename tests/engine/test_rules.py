"""Each planning rule turns the plan of its fixtures into the better one, and changes no answer.

python -m tests.engine.test_rules        write the plans of all fixtures again, to be looked at in the diff
"""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest
from tests.engine.graphs import Data, make_graph
from tests.engine.rules.fixtures import FOLDER, Fixture, fixtures, read, written

from omnigraph.catalog import logical as lg
from omnigraph.catalog.check import check
from omnigraph.catalog.opening import offline_catalog
from omnigraph.engine.execution.explain import tail_texts
from omnigraph.engine.planning import lowering as lw
from omnigraph.engine.planning import prepared, rules
from omnigraph.engine.planning import steps as st
from omnigraph.engine.planning.build import build
from omnigraph.engine.planning.rules import RULES, choose_root
from omnigraph.language import Source, parse_queries

SCHEMA = (FOLDER / "people.pg").read_text(encoding="utf-8")
CATALOG = offline_catalog(Source(SCHEMA))
COUNTS = {"Person": 10_000, "Company": 100}


def checked(text: str) -> lg.ReadQuery:
    source = Source(text)
    query = check(CATALOG, parse_queries(source).queries[0], source)
    assert isinstance(query, lg.ReadQuery)
    return query


def shown(plan: st.Plan) -> str:
    """A plan from its first step to its last."""
    lines = _lines(plan.steps, "")
    return "\n".join([*lines, *reversed(tail_texts(plan.tail))])


def _lines(steps: tuple[st.Step, ...], indent: str) -> list[str]:
    lines: list[str] = []
    for step in steps:
        lines.append(indent + step.describe())
        if isinstance(step, st.Anti | st.Optional):
            lines += _lines(step.inner, indent + "  ")
    return lines


def plans(fixture: Fixture) -> tuple[str, str]:
    """The plan before a rule, with all earlier rules applied, and after it."""
    query = checked(fixture.query)
    if fixture.rule == "choose_root":
        rooted = choose_root.apply(query, CATALOG, COUNTS)
        return tuple(shown(build(CATALOG, q, lw.lower(q))) for q in (query, rooted))  # type: ignore[return-value]
    plan = build(CATALOG, query, lw.lower(query))
    for name, rule in RULES:
        if name == fixture.rule:
            return shown(plan), shown(rule(plan, CATALOG))
        plan = rule(plan, CATALOG)
    raise AssertionError(f"no rule {fixture.rule}")


@pytest.mark.parametrize("fixture", fixtures(), ids=lambda f: f"{f.rule}: {f.title}")
def test_the_plan_gets_better(fixture: Fixture) -> None:
    assert plans(fixture) == (fixture.before, fixture.after)
    unchanged = fixture.title.startswith("not ")
    assert (fixture.before == fixture.after) is unchanged


def test_every_rule_has_a_fixture_and_a_turn() -> None:
    modules = {m.name for m in pkgutil.iter_modules(rules.__path__)}
    assert {name for name, _ in RULES} | {"choose_root"} == modules
    assert {f.rule for f in fixtures()} == modules


DATA: Data = {
    "Person": [
        {"name": n, "age": a, "city": c} for n, a, c in zip("abcdefg", [20, 30, None, 40, 50, 30, 20], "xyxyxyz", strict=True)
    ],
    "Company": [{"name": "Acme", "founded": 1990}, {"name": "Globex", "founded": 2001}],
    "Knows": [{"src": s, "dst": d} for s, d in map(tuple, ["ab", "ac", "bc", "cd", "da", "ab", "ee", "ef", "fb"])],
    "WorksAt": [{"src": "a", "dst": "Acme"}, {"src": "b", "dst": "Globex"}, {"src": "e", "dst": "Acme"}],
}


@pytest.mark.parametrize("fixture", [f for f in fixtures() if "nearest" not in f.query], ids=lambda f: f"{f.rule}: {f.title}")
def test_no_rule_changes_an_answer(fixture: Fixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(tmp_path, SCHEMA, DATA)
    parameters = {"n": "a", "q": "b"}
    used = {name: parameters[name] for name in parameters if f"${name}:" in fixture.query}
    better = graph.query(fixture.query, used).rows
    monkeypatch.setattr(prepared, "improve", lambda plan, catalog: plan)
    monkeypatch.setattr(choose_root, "apply", lambda query, catalog, counts: query)
    graph._reader.prepared._known.clear()
    plain = graph.query(fixture.query, used).rows
    assert sorted(map(str, better)) == sorted(map(str, plain)) or "limit" in fixture.query
    assert len(better) == len(plain)


def rewrite() -> None:
    for path in FOLDER.glob("*.txt"):
        texts = []
        for fixture in read(path):
            before, after = plans(fixture)
            texts.append(written(Fixture(fixture.rule, fixture.title, fixture.query, before, after)))
        path.write_text("\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
