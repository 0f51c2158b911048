"""How benchmarks measure: the median of repeated runs, beside a baseline measured in the same run."""

from __future__ import annotations

import atexit
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

SCRATCH = Path(__file__).parent / ".data" / "scratch"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number, what it is compared with, and the bound it has to keep."""

    name: str
    value: float
    baseline: str
    baseline_value: float
    bound: float | None = None
    unit: str = "ms"

    @property
    def ratio(self) -> float:
        return self.value / self.baseline_value

    @property
    def within_bound(self) -> bool:
        return self.bound is None or self.value <= self.bound

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "ratio": round(self.ratio, 2)}

    def __str__(self) -> str:
        bound = "" if self.bound is None else f", bound {self.bound:g} {self.unit}"
        baseline = f"{self.baseline} ({self.baseline_value:.3f} {self.unit})"
        return f"{self.name}: {self.value:.3f} {self.unit} = {self.ratio:.2f} × {baseline}{bound}"


def median_ms(run: Callable[[], object], *, repeats: int, warm_up: int = 3) -> float:
    """Median wall time of a call, in milliseconds."""
    for _ in range(warm_up):
        run()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def machine() -> dict[str, object]:
    """What the numbers were measured on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def scratch_folder() -> Path:
    """A new folder on the disk of this repository. It goes when the process ends, not when a suite does.

    A file system that has just deleted thousands of files may take forty times as long to create one: ext4 without a journal
    looks at every deleted inode again for some minutes (measured: 0.75 ms instead of 0.02). The next suite would measure that.
    """
    SCRATCH.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=SCRATCH))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
