"""Advice that was written for Python, in the words of the command line.

    skip_unknown=True                 --skip-unknown
    lossy="round"                     --lossy round
    types={"x.csv": "…"}              --type x.csv=…
    g.commits() lists …               `omnigraph commit list` lists …

Whoever raises an error speaks Python, and of arguments only. What each argument is called here stands in one table; a test holds
it, and every flag that any advice names, against the options that commands have.
"""

from __future__ import annotations

import re
from typing import Final

FLAGS: Final = {
    "allow_data_loss": "--allow-data-loss",
    "allow_empty": "--allow-empty",
    "engine": "--engine",
    "from_": "--from",
    "lossy": "--lossy",
    "max_bad": "--max-bad",
    "params": "--params",
    "quarantine": "--quarantine",
    "since": "--start",
    "skip_unknown": "--skip-unknown",
    "types": "--type",
}
"""Arguments with their values."""

PHRASES: Final = {
    "Pass name=…": "Give NAME",
    "dry_run": "--dry-run",
    "from_": "--from",
    "g.baseline(), omnigraph changes baseline": "`omnigraph changes baseline`",
    "g.commits()": "`omnigraph commit list`",
    "g.apply_schema": "`omnigraph schema apply`",
    "g.plan_schema": "`omnigraph schema plan`",
    "Use mutate": "Use `omnigraph mutate`",
    "Use query": "Use `omnigraph query`",
    "Create one with init": "Create one with `omnigraph init`",
}
"""Everything else, word for word."""

_ARGUMENT: Final = rf'\b(?P<name>{"|".join(FLAGS)})=(?P<value>True\b|…|"[^"]*"|\{{[^{{}}]*\}}|[0-9][0-9.]*[0-9]|[0-9])'
_PHRASES: Final = "|".join(re.escape(phrase) for phrase in sorted(PHRASES, key=len, reverse=True))
_WORDS = re.compile(rf"(?<!\w)(?:{_PHRASES})(?!\w)|{_ARGUMENT}")
_PAIR = re.compile(r'"([^"]*)": "([^"]*)"')


def on_the_command_line(text: str) -> str:
    """A text of an error as somebody reads it who typed a command."""
    return _WORDS.sub(_said, text)


def _said(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if name is None:
        return PHRASES[found[0]]
    flag = FLAGS[name]
    if value == "True":
        return flag
    if name == "types":
        return " ".join(f"{flag} {file}={type_}" for file, type_ in _PAIR.findall(value)) or f"{flag} FILE=TYPE"
    return f"{flag} '{value}'" if value.startswith("{") else flag + " " + value.strip('"')
