"""Numbers with their nouns: every noun that the source counts has its right plural."""

from __future__ import annotations

import re
from pathlib import Path

import omnigraph
from omnigraph.model.phrases import counted

SOURCE = Path(omnigraph.__file__).parent
NOUN = re.compile(r"""(?:counted|noun)\([^"']*?,\s*["']([a-z ]+)["']\)""")
REGULAR = re.compile(r"(?<![^aeiou]y)(?<!s)(?<!x)(?<!z)(?<!ch)(?<!sh)\Z")


def nouns() -> set[str]:
    return {noun for path in SOURCE.rglob("*.py") for noun in NOUN.findall(path.read_text(encoding="utf-8"))}


def test_plurals_are_words() -> None:
    found = nouns()
    assert {"query", "entity", "branch", "row"} <= found
    wrong = {n for n in found if not REGULAR.search(n) and counted(2, n) == f"2 {n}s"}
    assert not wrong
    assert [counted(n, "query") for n in (0, 1, 2_000)] == ["0 queries", "1 query", "2,000 queries"]
