"""How benchmarks measure: the median of repeated runs, beside a baseline measured in the same run."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime


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
