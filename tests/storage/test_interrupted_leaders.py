"""A thread that is interrupted while it leads a group lets the others go on."""

from __future__ import annotations

import random
import signal
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import omnigraph as og

ADD = "query q($k: String) { insert P { k: $k } }"


class _Interrupted(BaseException):
    pass


def test_others_go_on(tmp_path: Path) -> None:
    g = og.init(tmp_path / "g", "node P { k: String @key }", durability="os")
    chance, counts, stop = random.Random(1), [0] * 3, threading.Event()

    def write(who: int) -> None:
        for number in count():
            if stop.is_set():
                return
            with suppress(og.GraphError):  # the leader of its group was interrupted
                g.mutate(ADD, {"k": f"{who}-{number}"})
            counts[who] += 1

    def interrupt(*_: object) -> None:
        raise _Interrupted

    writers = [threading.Thread(target=write, args=(n,), daemon=True) for n in range(len(counts))]
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for writer in writers:
            writer.start()
        interrupted = 0
        for number in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0002, 0.004))
                g.mutate(ADD, {"k": f"main-{number}"})
                signal.setitimer(signal.ITIMER_REAL, 0)
            except _Interrupted:
                interrupted += 1
                done, until = sum(counts), time.monotonic() + 20
                while sum(counts) == done:
                    assert time.monotonic() < until, "everybody waits for a thread that has gone"
                    time.sleep(0.005)
            except og.GraphError:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if interrupted == 40:
                break
        assert interrupted > 10
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        stop.set()
    for writer in writers:
        writer.join(30)
    assert g.verify(deep=True).ok
