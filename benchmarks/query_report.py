"""The page about the query benchmark: a table, a chart and what they were measured on, from the recorded run.

python -m benchmarks.query_report        writes docs/benchmarks/queries.md and queries.svg again
"""

from __future__ import annotations

import json
import math
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.queries import DETAIL
from benchmarks.query_systems import OURS, PEERS, SYSTEMS

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "queries.md"
CHART = PAGE.with_suffix(".svg")

_COLOURS = {OURS: "#0b6e4f", "Kùzu": "#b8860b", "Ladybug": "#a23b3b"}
_ROW, _LEFT, _WIDTH = 46, 270, 960


def write() -> None:
    """Both files, from the last recorded run."""
    record = json.loads(DETAIL.read_text())
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(record))
    CHART.write_text(chart(record))


def versions() -> dict[str, str]:
    """Which releases are compared."""
    names = {OURS: "omnigraph", "Kùzu": "kuzu", "Ladybug": "ladybug"}
    return {system: metadata.version(package) for system, package in names.items()}


def page(record: dict[str, Any]) -> str:
    """The page as Markdown."""
    m, size = record["machine"], record["size"]
    peers = ", ".join(f"{name} {version}" for name, version in record["versions"].items() if name != OURS)
    parts = [
        "<!-- Written by `python -m benchmarks queries`: measure again instead of editing. -->",
        "# Queries beside other embedded graph databases",
        f"Measured on {m['date']}: {m['processor']}, {m['cores']} cores, {m['memory_gib']} GiB, {m['system']}, "
        f"Python {m['python']}; OmniGraph {record['versions'][OURS]}, {peers}. {_load(m)}",
        f"{size['persons']:,} persons, {size['knows']:,} `Knows` (power law), {size['companies']:,} companies, {size['jobs']:,} "
        "`WorksAt`. Milliseconds, medians. *Warm*: all systems are open and take turns; a call goes from the text of the query "
        "to rows in Python. *Cold*: a fresh process opens the database and answers once. Answers to the first four sets of "
        "parameters of each workload are compared in the same run.",
        "![Warm times on a logarithmic scale](queries.svg)",
        "## Warm",
        _table(record, "warm"),
        "## Cold",
        _table(record, "cold"),
    ]
    gaps = [f"* {w['name']}: {name}: {why}." for w in record["workloads"] for name, why in w["skipped"].items()]
    if gaps:
        parts += ["## Not measured", "\n".join(gaps)]
    notes = [f"* {w['name']}: {w['note']}." for w in record["workloads"] if w["note"]]
    for w in record["workloads"]:
        if w["agreement"] < 1:
            notes.append(f"* {w['name']}: {w['agreement']:.0%} of the rows are the same as the peer's.")
    if notes:
        parts += ["## Notes", "\n".join(notes)]
    limits = []
    for x in record["limits"]:
        verdict = "kept" if x["value"] <= x["bound"] else "missed"
        limits.append(f"| {x['name']} | {x['value']:.2f} {x['unit']} | {x['bound']:g} {x['unit']} | {verdict} | {x['note']} |")
    if limits:
        parts += ["## Limits", "\n".join(["| what | measured | bound | | |", "|---|---|---|---|---|", *limits])]
    return "\n\n".join(parts) + "\n"


def _load(machine: dict[str, Any]) -> str:
    first, second, third = (f"{load:.1f}" for load in machine["load"])
    return f"Load of the machine before, between the warm and the cold part, and after: {first}, {second}, {third}."


def _table(record: dict[str, Any], which: str) -> str:
    head = ["workload", *SYSTEMS, "times faster than the better peer", "target"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "--:|" * (len(head) - 1)]
    for w in record["workloads"]:
        times = w[which]
        cells = [_ms(times[name]) if name in times else "–" for name in SYSTEMS]
        peers = [times[p] for p in PEERS if p in times]
        ratio = min(peers) / times[OURS] if peers and OURS in times else None
        missed = ratio is not None and ratio < w["target"]
        shown = "–" if ratio is None else f"{ratio:.1f} (missed)" if missed else f"**{ratio:.1f}**"
        lines.append(f"| {w['name']} | {' | '.join(cells)} | {shown} | {w['target']:g} |")
    return "\n".join(lines)


def _ms(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def chart(record: dict[str, Any]) -> str:
    """Warm times as bars on a logarithmic scale."""
    rows = [w for w in record["workloads"] if w["warm"]]
    times = [t for w in rows for t in w["warm"].values()]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    height = 60 + _ROW * len(rows) + 30

    def x(milliseconds: float) -> float:
        return _LEFT + (math.log10(milliseconds) - low) / (high - low) * (_WIDTH - _LEFT - 70)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="system-ui, sans-serif"'
        ' font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for place, name in enumerate(SYSTEMS):
        left = _LEFT + place * 140
        out.append(f'<rect x="{left}" y="14" width="14" height="14" fill="{_COLOURS[name]}"/>')
        out.append(f'<text x="{left + 20}" y="26">{escape(name)}</text>')
    for power in range(low, high + 1):
        at = x(10.0**power)
        out.append(f'<line x1="{at:.1f}" y1="44" x2="{at:.1f}" y2="{height - 26}" stroke="#e2e2e2"/>')
        out.append(f'<text x="{at:.1f}" y="{height - 8}" text-anchor="middle" fill="#666666">{10.0**power:g} ms</text>')
    for number, w in enumerate(rows):
        top = 52 + number * _ROW
        out.append(f'<text x="{_LEFT - 10}" y="{top + 24}" text-anchor="end">{escape(w["name"])}</text>')
        for place, name in enumerate(SYSTEMS):
            if name in w["warm"]:
                at, y = x(w["warm"][name]), top + place * 12
                out.append(f'<rect x="{_LEFT}" y="{y}" width="{max(1.0, at - _LEFT):.1f}" height="11" fill="{_COLOURS[name]}"/>')
                out.append(f'<text x="{at + 4:.1f}" y="{y + 10}" font-size="10" fill="#444444">{_ms(w["warm"][name])}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    write()
