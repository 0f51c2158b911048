"""Modes: what happens to what is there, and to what is there twice."""

from __future__ import annotations

import threading
from itertools import groupby
from pathlib import Path

import pytest
from tests.engine.load.loading import EVERYTHING, PEOPLE_LINES, counts, exported, graph, refused, rules

import omnigraph as og
from omnigraph.engine.load.run.progress import Progress, Stage
from omnigraph.surfaces.progress import TerminalLine


def plain(id_: str, note: str) -> dict[str, object]:
    return {"type": "Plain", "data": {"id": id_, "note": note}}


def thing(name: str, **data: object) -> dict[str, object]:
    return {"type": "Thing", "data": {"name": name, **data}}


def near(id_: str, end: str) -> dict[str, object]:
    return {"edge": "Near", "from": end, "to": end, "data": {"id": id_}}


OUTCOMES = {
    # what is given twice            merge      append     overwrite
    ("a key", "merge"): "unique",
    ("a key", "append"): "unique",
    ("a key", "overwrite"): "unique",
    ("a given id", "merge"): "later",
    ("a given id", "append"): "key",
    ("a given id", "overwrite"): "key",
    ("a given edge id", "merge"): "later",
    ("a given edge id", "append"): "key",
    ("a given edge id", "overwrite"): "key",
}


@pytest.mark.parametrize(("what", "mode"), list(OUTCOMES))
def test_duplicates_inside_one_input(tmp_path: Path, what: str, mode: str) -> None:
    g = graph(tmp_path, EVERYTHING)
    ends = [thing("a"), thing("b")]
    records = {
        "a key": [*ends, thing("a", text="later")],
        "a given id": [plain("x", "first"), plain("y", "other"), plain("x", "later")],
        "a given edge id": [*ends, near("x", "a"), near("y", "a"), near("x", "b")],
    }[what]
    expected = OUTCOMES[what, mode]
    if expected != "later":
        (found,) = refused(g, records, mode=mode)
        assert (found.rule, found.line) == (expected, len(records))
        return
    g.load(records, mode=mode)  # type: ignore[arg-type]
    if what == "a given id":
        assert [r["data"]["note"] for r in exported(g)] == ["later", "other"]
    else:
        assert [(r["data"]["id"], r["from"]) for r in exported(g, types="Near")] == [("x", "b"), ("y", "a")]


def test_a_later_row_wins_with_its_blob(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g", schema="node File { content: Blob }", durability="os")
    g.load([{"type": "File", "data": {"id": "f", "content": c}} for c in ("base64:aGk=", "base64:", "base64:eW8=")])
    assert [r["data"]["content"] for r in exported(g)] == ["base64:eW8="]


def test_merge_replaces_whole_rows(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load([thing("a", text="t", i32=1), thing("b", text="u")])
    g.load([thing("a", i32=2), thing("c")])
    assert [(r["data"]["name"], r["data"]["i32"], r["data"]["text"]) for r in exported(g)] == [
        ("a", 2, None),
        ("b", None, "u"),
        ("c", None, None),
    ]


def test_merge_moves_an_edge_with_a_given_id(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load([thing("a"), thing("b"), near("x", "a")])
    g.load([near("x", "b")])
    assert [r["from"] for r in exported(g, types=["Near"])] == ["b"]


def test_overwrite_leaves_other_types_alone(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load([thing("a"), plain("p", "x"), near("x", "a")])
    g.load([plain("q", "y")], mode="overwrite")
    assert counts(g) == {"Thing": 1, "Plain": 1, "Near": 1}
    g.load([thing("b"), near("y", "b")], mode="overwrite")
    assert [r["data"]["id"] for r in exported(g)] == ["y", "q", "b"]
    with pytest.raises(og.WouldEmpty, match="Thing without entities") as refused_:
        g.load({"Near": [], "Thing": []}, mode="overwrite")
    assert refused_.value.types == {"Near": 1, "Thing": 1}
    g.load({"Near": [], "Thing": []}, mode="overwrite", allow_empty=True)
    assert counts(g) == {"Plain": 1}


def test_append_names_every_id_that_exists(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load([thing("a"), plain("p", "x"), near("x", "a")])
    found = refused(g, [thing("a"), thing("b"), plain("p", "z"), near("x", "b")], mode="append")
    assert sorted((v.type, v.entity) for v in found) == [("Near", "x"), ("Plain", "p"), ("Thing", "a")]
    g.load([thing("b"), plain("q", "z"), near("y", "b")], mode="append")


def test_rules_compare_with_what_is_committed(tmp_path: Path) -> None:
    g = graph(tmp_path, EVERYTHING)
    g.load([thing("a", i64=1), thing("b", i64=2), plain("p", "x"), {"edge": "Owns", "from": "a", "to": "p"}])
    found = refused(g, [thing("c", i64=1), {"edge": "Owns", "from": "a", "to": "p"}, {"edge": "Owns", "from": "zz", "to": "p"}])
    assert sorted(rules(found)) == ["cardinality", "endpoint", "unique"]
    g.load([thing("a", i64=2), thing("b", i64=1)])  # swapped


@pytest.mark.slow
def test_bulk_rules_say_what_rules_on_few_rows_say(tmp_path: Path) -> None:
    """More keys than are looked up singly: everything is read once instead."""
    g = graph(tmp_path, EVERYTHING)
    many = 40_000
    g.load([thing(f"t{n}", i64=n) for n in range(many)])
    clash = [thing(f"u{n}", i64=n) for n in range(many - 1, many + many)]
    (found,) = refused(g, clash)
    assert (found.rule, found.entity, found.value) == ("unique", f"u{many - 1}", many - 1)
    found_again = refused(g, [thing(f"t{n}") for n in range(many)], mode="append")
    assert rules(found_again) == ["key"] * many
    g.load([thing(f"t{n}", i64=n + 1) for n in range(many)])
    assert counts(g) == {"Thing": many}
    g.load([thing(f"t{n}", i64=-n) for n in range(many // 2, many + many // 2)])
    assert counts(g) == {"Thing": many + many // 2}


def test_a_commit_in_between_is_checked_again(tmp_path: Path) -> None:
    """While the second load is checked, somebody removes a node it needs."""
    g = graph(tmp_path)
    g.load(PEOPLE_LINES)
    before = [c.id for c in g.commits()]

    def interfere(progress: Progress) -> None:
        if progress.stage is Stage.PUBLISH:
            g.mutate('query gone() { delete Person where name = "Diana" }')

    with pytest.raises(og.ValidationError, match="Diana"):
        g.load([{"edge": "Knows", "from": "Alice", "to": "Diana"}], progress=interfere)
    assert len(g.commits()) == len(before) + 1


def test_two_appends_of_one_key_at_a_time(tmp_path: Path) -> None:
    g = graph(tmp_path)
    entered, failures = threading.Barrier(2), []

    def load() -> None:
        def wait(progress: Progress) -> None:
            if progress.stage is Stage.PUBLISH:
                entered.wait(20)

        try:
            g.load([{"type": "Person", "data": {"name": "Ada"}}], mode="append", progress=wait)
        except og.KeyConflict as error:
            failures.append(error)

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failures) == 1
    assert counts(g) == {"Person": 1}


def test_progress_is_told(tmp_path: Path) -> None:
    seen: list[Progress] = []
    g = graph(tmp_path)
    g.load(PEOPLE_LINES, progress=seen.append)
    stages = [stage for stage, _ in groupby(p.stage for p in seen)]  # reading is told as often as it lasts
    assert stages == [Stage.READ, Stage.CHECK, Stage.PUBLISH, Stage.DONE]
    assert seen[-1].rows == 11
    assert seen[-1].bytes == seen[-1].total_bytes == PEOPLE_LINES.stat().st_size
    assert "11 rows" in str(seen[-1])


def test_a_line_for_a_terminal() -> None:
    class Terminal(list[str]):
        def write(self, text: str) -> None:
            self.append(text)

        def flush(self) -> None: ...

        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    show = TerminalLine(terminal)  # type: ignore[arg-type]
    show(Progress(Stage.READ, 1_000, 2.0, 50, 100))
    show(Progress(Stage.DONE, 2_000, 4.0))
    assert terminal == ["\rreading: 1,000 rows · 500/s · 50% · 2 s left", "\rdone: 2,000 rows · 500/s" + " " * 20 + "\n"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": "replace"}, "mode cannot be"),
        ({"dialect": "loose"}, "dialect cannot be"),
        ({"engine": "flink"}, "engine cannot be"),
        ({"engine": "spark", "dialect": "compatible"}, "one after the other"),
    ],
)
def test_choices_that_do_not_exist(tmp_path: Path, options: dict[str, str], match: str) -> None:
    with pytest.raises(og.UsageError, match=match):
        graph(tmp_path).load([], **options)  # type: ignore[arg-type]
