"""Every kind of file of a graph × every kind of damage: the right answer or an error of ours, or verify finds it. Never a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.damaging import DAMAGES, Outcome, Reader, ask, damaged, kind_of, make, verified

pytestmark = pytest.mark.slow

KINDS = [
    "__refs",
    "__tags",
    "__deleted_tags",
    "__inflight",
    "__reclaimed",
    "__doomed",
    "manifest version",
    "manifest hint",
    "manifest data lance",
    "manifest _transactions txn",
    "table version",
    "table hint",
    "table detached version",
    "table data lance",
    "table data blobs blob",
    "table _deletions arrow",
    "table _deletions bin",
    "table _transactions txn",
    "table index page_data.lance",
    "table index page_lookup.lance",
    "table index metadata.lance",
    "table index part_0_docs.lance",
    "table index part_0_invert.lance",
    "table index part_0_tokens.lance",
]


UNKNOWABLE = {"__tags": {"names", "v1", "v2"}, "__deleted_tags": {"deleted tags"}}
"""Questions whose answers rest on nothing else than a file of that kind being there."""


class Whole:
    """A graph, what it answers while it is whole, and its files by kind, oldest first."""

    def __init__(self, folder: Path, reader: Reader) -> None:
        self.folder, self.reader = make(folder), reader
        answers = reader.run(ask, self.folder)
        assert answers is not None
        assert all(kind == "answer" for kind, _ in answers.values()), answers
        assert reader.run(verified, self.folder) == {"verify": ("answer", [])}
        self.answers: dict[str, Outcome] = answers
        self.files: dict[str, list[Path]] = {}
        for file in sorted((f for f in self.folder.rglob("*") if f.is_file()), key=lambda f: f.stat().st_mtime_ns):
            path = str(file.relative_to(self.folder))
            if not path.startswith("__cache"):
                self.files.setdefault(kind_of(path), []).append(file)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    reader = Reader()
    yield Whole(tmp_path_factory.mktemp("damage"), reader)
    reader.close()


def test_every_kind_of_file_is_tried(whole: Whole) -> None:
    assert sorted(whole.files.keys() - {"__turns", "__probe"}) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_answered_rightly_or_refused_or_found(whole: Whole, kind: str) -> None:
    files = whole.files[kind]
    wrong: list[str] = []
    for file in {files[0], files[-1]}:
        data = file.read_bytes()
        for name, damage in DAMAGES.items():
            content = damage(data, files[0].read_bytes())
            if content == data:
                continue
            with damaged(file, content):
                # A tag that is not there is like one that was deleted: nobody else knows of it, and only its name is lost.
                unknowable = UNKNOWABLE.get(kind, set()) if name == "removed" else set[str]()
                wrong += [
                    f"{file.relative_to(whole.folder)}, {name}: {what}"
                    for what in _wrong(whole, unknowable, "text" in name or "name" in name)
                ]
    assert wrong == []


def _wrong(whole: Whole, unknowable: set[str], verify: bool) -> Iterator[str]:
    found = whole.reader.run(ask, whole.folder)
    if found is None:
        yield "the process died"
        return
    for question, (kind, what) in found.items():
        if kind == "raw":
            yield f"{question} raised {what}"
    other = [
        q
        for q, (kind, what) in found.items()
        if kind == "answer" and (kind, what) != whole.answers.get(q) and q not in unknowable
    ]
    if other or verify:
        said = whole.reader.run(verified, whole.folder)
        if said is None:
            yield "the process died of verify"
        elif said["verify"][0] == "raw":
            yield f"verify raised {said['verify'][1]}"
        elif other and said["verify"] == ("answer", []):
            yield f"another answer to {', '.join(other)}, and verify is content"
