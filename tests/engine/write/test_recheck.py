"""What somebody else commits while a change is prepared: asked again only as far as it has to do with the change."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.load.run.progress import Progress, Stage
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write import recheck
from omnigraph.engine.write.changeset import ChangeSet
from omnigraph.engine.write.validate import set_violations
from omnigraph.engine.write.violations import Violation

SCHEMA = """
node Person { name: String @key  email: String? @unique  tag: String?  kind: I32?  @unique(tag, kind) }
edge Knows: Person -> Person @card(0..2)
"""

BEFORE = [
    *({"type": "Person", "data": {"name": n, "email": f"{n}@x", "tag": "t", "kind": k}} for k, n in enumerate("abcd")),
    {"edge": "Knows", "from": "a", "to": "b"},
]


def person(name: str, **values: object) -> dict[str, object]:
    return {"type": "Person", "data": {"name": name, **values}}


def knows(source: str, target: str) -> dict[str, object]:
    return {"edge": "Knows", "from": source, "to": target}


@pytest.mark.parametrize(
    ("meanwhile", "loaded", "mode", "rule", "asked"),
    [
        ([person("z")], [person("n"), knows("n", "a")], "append", None, 0),
        ([person("n")], [person("n")], "append", "key", 1),
        ([person("n")], [person("n")], "merge", None, 0),
        ([person("z", email="taken")], [person("n", email="taken")], "merge", "unique", 1),
        ([person("z", email="free")], [person("n", email="own")], "merge", None, 0),
        ([person("z", tag="t", kind=9)], [person("n", tag="t", kind=8)], "append", None, 0),
        ([person("z", tag="t", kind=8)], [person("n", tag="t", kind=8)], "append", "unique", 1),
        ([knows("a", "c")], [knows("a", "d")], "append", "cardinality", 1),
        ([knows("b", "c")], [knows("a", "d")], "append", None, 0),
        ("delete Person where name = \"d\"", [knows("a", "d")], "append", "endpoint", 1),
        ("delete Person where name = \"d\"", [knows("a", "c")], "append", None, 0),
        ("update Person set { email: \"new\" } where name = \"d\"", [knows("a", "d")], "append", None, 0),
        ("update Person set { email: \"new\" } where name = \"d\"", [person("n", email="new")], "append", "unique", 1),
    ],
)  # fmt: skip
def test_a_change_is_asked_again_about_what_came_between(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: list[object] | str,
    loaded: list[object],
    mode: str,
    rule: str | None,
    asked: int,
) -> None:
    """`asked`: how often all rows of the change were looked at again."""
    g = og.init(tmp_path / "g", schema=SCHEMA, durability="os")
    g.load(BEFORE)
    calls: list[View] = []

    def counted(changes: ChangeSet, view: View) -> list[Violation]:
        calls.append(view)
        return set_violations(changes, view)

    monkeypatch.setattr(recheck, "set_violations", counted)

    def between(progress: Progress) -> None:
        if progress.stage is Stage.PUBLISH:
            if isinstance(meanwhile, str):
                g.mutate(f"query q() {{ {meanwhile} }}")
            else:
                g.load(meanwhile)

    if rule is None:
        g.load(loaded, mode=mode, progress=between)  # type: ignore[arg-type]
    else:
        with pytest.raises((og.ValidationError, og.KeyConflict)) as raised:
            g.load(loaded, mode=mode, progress=between)  # type: ignore[arg-type]
        assert {v.rule for v in raised.value.violations} == {rule}  # type: ignore[attr-defined]
    assert len(calls) == asked
