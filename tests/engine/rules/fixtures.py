"""Fixtures of the planning rules: a query, and the plan before and after one rule.

# what it shows
query q() { … }

before
…
after
…
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Fixture:
    """One query and its two plans."""

    rule: str
    title: str
    query: str
    before: str
    after: str


def fixtures() -> list[Fixture]:
    """Every fixture of every rule."""
    return [fixture for path in sorted(FOLDER.glob("*.txt")) for fixture in read(path)]


def read(path: Path) -> list[Fixture]:
    """The fixtures of one rule."""
    found = []
    for part in ("\n" + path.read_text(encoding="utf-8")).split("\n# ")[1:]:
        title, _, rest = part.partition("\n")
        query, _, plans = rest.partition("\nbefore\n")
        before, _, after = plans.partition("\nafter\n")
        found.append(Fixture(path.stem, title.strip(), query.strip(), before.strip("\n"), after.strip("\n")))
    return found


def written(fixture: Fixture) -> str:
    """A fixture as it stands in its file."""
    return f"# {fixture.title}\n{fixture.query}\n\nbefore\n{fixture.before}\n\nafter\n{fixture.after}\n"
