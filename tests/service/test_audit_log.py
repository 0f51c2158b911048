"""The audit in files: several processes at once, rotation, and what is found again."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from omnigraph.errors import NotFound, UsageError
from omnigraph.service.audit import AuditRecord
from omnigraph.service.audit_log import FileSink, Wanted, moment, read_records


def record(number: int, **about: str) -> AuditRecord:
    at = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)).isoformat(timespec="milliseconds")
    known = {"actor": "ada", "graph": "g", "outcome": "done", "action": "change", **about}
    actor, graph, outcome, action = (known[name] for name in ("actor", "graph", "outcome", "action"))
    return AuditRecord("write", at, str(number), actor, "http", "mutate", graph, outcome, action)  # type: ignore[arg-type]


def numbers(folder: Path, **wanted: object) -> list[int]:
    return [int(found["request_id"]) for found in read_records(folder, Wanted(**{"limit": 10_000, **wanted}))]  # type: ignore[arg-type]


WRITER = """
import sys
from tests.service.test_audit_log import record
from omnigraph.service.audit_log import FileSink
sink = FileSink(sys.argv[1], file_bytes=int(sys.argv[4]), kept_files=100)
for n in range(int(sys.argv[2]), int(sys.argv[3])):
    sink.write(record(n))
"""


@pytest.mark.parametrize("file_bytes", [1 << 20, 2_000])
def test_several_processes_lose_nothing_and_mix_nothing(tmp_path: Path, file_bytes: int) -> None:
    each, writers = 150, 3
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(n * each), str((n + 1) * each), str(file_bytes)])
        for n in range(writers)
    ]
    assert [writer.wait(60) for writer in running] == [0] * writers
    lines = [line for path in tmp_path.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert sorted(int(json.loads(line)["request_id"]) for line in lines) == list(range(each * writers))
    assert (len(list(tmp_path.glob("audit-*.jsonl"))) > 10) is (file_bytes == 2_000)


def test_files_are_bounded_in_size_and_number(tmp_path: Path) -> None:
    sink = FileSink(tmp_path, file_bytes=1_000, kept_files=3)
    for n in range(100):
        sink.write(record(n))
    aside = list(tmp_path.glob("audit-*.jsonl"))
    assert len(aside) == 3
    assert all(path.stat().st_size < 1_300 for path in aside)
    found = numbers(tmp_path)
    assert found == list(range(100 - len(found), 100)), "the newest, in their order"


def test_what_is_found(tmp_path: Path) -> None:
    sink = FileSink(tmp_path, sync=True)
    for n, about in enumerate([{"actor": "bob"}, {"graph": "h"}, {"outcome": "denied"}, {"action": "read"}, {}]):
        sink.write(record(n, **about))
    assert numbers(tmp_path, actor="bob") == [0]
    assert numbers(tmp_path, graph="h") == [1]
    assert numbers(tmp_path, outcome="denied") == [2]
    assert numbers(tmp_path, action="read") == [3]
    assert numbers(tmp_path, since=datetime(2026, 1, 1, 0, 0, 3, tzinfo=UTC)) == [3, 4]
    assert numbers(tmp_path, limit=2) == [3, 4]
    assert numbers(tmp_path, actor="nobody") == []


def test_a_record_that_somebody_died_writing_spoils_no_other(tmp_path: Path) -> None:
    sink = FileSink(tmp_path)
    sink.write(record(0))
    with (tmp_path / "audit.jsonl").open("a") as file:
        file.write('{"at": "2026-01-01T00:00:0')
    sink.write(record(1))
    assert numbers(tmp_path) == [0, 1]


def test_what_is_kept_and_who_may_look(tmp_path: Path) -> None:
    assert not FileSink(tmp_path).takes("allowed")
    assert FileSink(tmp_path, reads=True).takes("allowed")
    assert all(FileSink(tmp_path).takes(outcome) for outcome in ("denied", "done", "unchanged", "failed"))
    FileSink(tmp_path).write(record(0))
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o077 == 0


def test_a_record_that_cannot_be_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sink = FileSink(tmp_path)
    (tmp_path / "audit.jsonl").mkdir()
    caplog.set_level(logging.ERROR, "omnigraph.audit")
    sink.write(record(7))
    assert '"request_id":"7"' in caplog.text


def test_times(tmp_path: Path) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert moment("2h", now) == now - timedelta(hours=2)
    assert moment("2026-01-01T00:00:00Z") == moment("2026-01-01") == datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(UsageError, match="neither a time nor a span"):
        moment("yesterday")
    with pytest.raises(NotFound):
        read_records(tmp_path / "none", Wanted())
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot keep the audit"):
        FileSink(tmp_path / "file")
