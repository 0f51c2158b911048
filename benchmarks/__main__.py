"""Run every benchmark and record what was measured."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import language, startup, storage
from benchmarks.measuring import Measurement

RESULTS = Path(__file__).parent / "results"
SUITES = {"language": language.measure, "startup": startup.measure, "storage": storage.measure}


def machine() -> dict[str, object]:
    """What the numbers were measured on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def main() -> None:
    """Run the suites named on the command line, or all of them."""
    RESULTS.mkdir(exist_ok=True)
    late: list[str] = []
    for name in sys.argv[1:] or SUITES:
        measured: list[Measurement] = SUITES[name]()
        for m in measured:
            print(m)
            late += [] if m.within_bound else [m.name]
        record = {"machine": machine(), "measurements": [m.to_json() for m in measured]}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
    if late:
        sys.exit(f"beyond their bound: {', '.join(late)}")


if __name__ == "__main__":
    main()
