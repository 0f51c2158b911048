"""Every derived file × every way to damage it: the right answer, before and after writes, and the file is made again."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.engine.saved_histories import History, answers, asked, expected

import omnigraph as og
from omnigraph.engine.arrays.column import Array
from omnigraph.engine.execution import neighbours
from omnigraph.engine.snapshot import sealed_file as sealed
from omnigraph.engine.snapshot.sealed_file import Damaged, Sealed

PAGE = 4096


class Target:
    """A derived file to damage, and what else there is to put in its place."""

    def __init__(self, path: Path, older: bytes, others: list[Path], rng: random.Random) -> None:
        self.path, self.older, self.others, self.rng = path, older, others, rng


def zero_page(target: Target) -> None:
    data = bytearray(target.path.read_bytes())
    at = target.rng.randrange(max(1, len(data) - 64))
    end = min(at + PAGE, len(data))
    data[at:end] = bytes(end - at)
    target.path.write_bytes(data)


def zero_all(target: Target) -> None:
    target.path.write_bytes(bytes(target.path.stat().st_size))


def cut(target: Target) -> None:
    os.truncate(target.path, target.rng.randrange(target.path.stat().st_size))


def longer(target: Target) -> None:
    target.path.write_bytes(target.path.read_bytes() + b"more")


def flip(target: Target) -> None:
    data = bytearray(target.path.read_bytes())
    for _ in range(target.rng.choice([1, 1, 5])):
        data[target.rng.randrange(len(data))] ^= 1 << target.rng.randrange(8)
    target.path.write_bytes(data)


def remove(target: Target) -> None:
    target.path.unlink()


def empty(target: Target) -> None:
    target.path.write_bytes(b"")


def older(target: Target) -> None:
    target.path.write_bytes(target.older)


def of_another(target: Target) -> None:
    target.path.write_bytes(target.rng.choice(target.others).read_bytes())


def folder(target: Target) -> None:
    target.path.unlink()
    target.path.mkdir()
    (target.path / "x").write_text("x")


def unreadable(target: Target) -> None:
    target.path.chmod(0)


def other_version(target: Target) -> None:
    data = bytearray(target.path.read_bytes())
    data[8] += 1
    target.path.write_bytes(data)


def pipe(target: Target) -> None:
    target.path.unlink()
    os.mkfifo(target.path)


def link(target: Target) -> None:
    elsewhere = target.path.parent.parent.parent.parent / "elsewhere"
    shutil.copy(target.rng.choice(target.others), elsewhere)
    target.path.unlink()
    target.path.symlink_to(elsewhere)


DAMAGE: list[Callable[[Target], None]] = [
    zero_page, zero_all, cut, longer, flip, remove, empty, older, of_another, folder, unreadable, other_version, pipe, link,
]  # fmt: skip
SEEN = (zero_all, cut, longer, empty, of_another, folder, other_version, pipe, link)
"""What is noticed when the file is opened, whatever is read of it."""


def saved_files(graph: Path) -> dict[str, list[Path]]:
    """Derived files by kind, the newest first."""
    found: dict[str, list[Path]] = {}
    for path in sorted((graph / "__cache").rglob("*.sealed"), key=lambda p: p.lstat().st_mtime_ns, reverse=True):
        found.setdefault(path.parent.name, []).append(path)
    return found


def right(history: History, graph: og.Graph, seed: int) -> None:
    world = history.worlds["main"]
    questions = {name: (values, "csr") for name, (values, _) in asked(random.Random(seed), world).items()}
    assert answers(graph, "main", world, questions) == expected(world, questions)


def saving(history: History, seed: int) -> og.Graph:
    """A handle that was asked everything, and has saved what it made."""
    graph = og.open(history.folder, durability="os", save_from=1)
    right(history, graph, seed)
    graph.close()
    return graph


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    made = History(tmp_path_factory.mktemp("damaged") / "a" / "graph", 1, handles=1)
    yield made
    made.close()


@pytest.fixture(scope="module")
def quantized_history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """One of its own for tests in which vectors are kept as many of them are, however few there are."""
    made = History(tmp_path_factory.mktemp("damaged") / "a" / "graph", 2, handles=1)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda d: d.__name__)
def test_damage_of_any_derived_file_changes_no_answer(damage: Callable[[Target], None], history: History) -> None:
    _damage_changes_no_answer(damage, history, "")


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda d: d.__name__)
def test_damage_of_quantized_vectors_changes_no_answer(
    damage: Callable[[Target], None], quantized_history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "LEAST_QUANTIZED", 0)
    _damage_changes_no_answer(damage, quantized_history, "-quantized-")


def _damage_changes_no_answer(damage: Callable[[Target], None], history: History, kind: str) -> None:
    rng = random.Random(damage.__name__)
    saving(history, 0)
    olds = {home: paths[0].read_bytes() for home, paths in saved_files(history.folder).items() if kind in home}
    assert olds
    history.handles[0] = og.open(history.folder, durability="os", save_from=None)
    history.load_many(0, "main")
    for seed, home in enumerate(sorted(olds)):
        saving(history, seed)
        files = saved_files(history.folder)
        assert set(files) >= set(olds), "everything is saved again"
        others = [paths[0] for name, paths in files.items() if name != home]
        for path in files[home][1:] if rng.random() < 0.5 else []:
            path.unlink()
        damage(Target(files[home][0], olds[home], others, rng))
        graph = og.open(history.folder, durability="os", save_from=1)
        history.handles[0] = graph
        for act in rng.sample([history.delete_one, history.delete_group, history.update, history.insert, history.unlink], k=2):
            act(0, "main")  # writes decide before anything else was asked
        right(history, graph, seed)
        if damage in SEEN:
            assert graph.stats().saved.damaged >= 1
        graph.close()
        history.handles[0] = og.open(history.folder, durability="os", save_from=None)
        right(history, history.handles[0], seed)
        history.load_few(0, "main")
    assert saving(history, 99).stats().saved.damaged <= 1, "what was damaged is replaced"


@pytest.mark.slow
@pytest.mark.parametrize("damage", [zero_all, cut, remove, empty, of_another], ids=lambda d: d.__name__)
def test_damage_under_an_open_graph_changes_no_answer(damage: Callable[[Target], None], history: History) -> None:
    """Also none that was only found out in part before."""
    rng = random.Random(damage.__name__)
    saving(history, 0)
    graph, young = (og.open(history.folder, durability="os", save_from=1) for _ in range(2))
    right(history, graph, 1)
    young.query("query q() { match { $a: P  $a knows $b } return { $a.k, $b.k } }", traversal="csr")
    files = saved_files(history.folder)
    for home, paths in files.items():
        others = [other[0] for name, other in files.items() if name != home and other[0].exists() and other[0].stat().st_size]
        for path in paths:
            damage(Target(path, b"", others or [Path(__file__)], rng))
    for handle in (graph, young):
        history.handles[0] = handle
        right(history, handle, 2)
        history.delete_group(0, "main")
        history.insert(0, "main")
        right(history, handle, 3)
    graph.close()
    young.close()


@pytest.mark.slow
def test_readers_and_writers_of_one_cache_beside_each_other(history: History) -> None:
    """Files come and go while others look for them."""
    wrong: list[BaseException] = []

    def read(seed: int) -> None:
        try:
            for at in range(6):
                graph = og.open(history.folder, durability="os", save_from=1)
                right(history, graph, seed + at)
                graph.close()
                assert graph.stats().saved.damaged == 0, graph.stats().saved.reasons
        except BaseException as error:
            wrong.append(error)

    def clear() -> None:
        for _ in range(30):
            shutil.rmtree(history.folder / "__cache", ignore_errors=True)
            threading.Event().wait(0.02)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(3)] + [threading.Thread(target=clear)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ── the file itself ──────────────────────────────────────────────────────────────────────────────────────────────────────────

ARRAYS: dict[str, Array] = {
    "a": np.arange(5, dtype=np.int32),
    "b": np.empty(0, np.int64),
    "c": np.array([True, False]),
    "d": np.array([0.5], np.float32),
}
ABOUT = {"x": [1, "é"]}


@pytest.mark.parametrize("mapped", [False, True])
def test_every_flipped_bit_is_found_or_matters_not(mapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "MAPPED_FROM", 1 if mapped else 1 << 30)
    whole = b"".join(sealed.sealed(ABOUT, ARRAYS))
    path = tmp_path / "file"
    found = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        try:
            file = Sealed.open(path)
            arrays = {name: file.array(name, values.dtype.str) for name, values in ARRAYS.items()}
        except Damaged:
            found += 1
            continue
        assert sealed.decoded(file.about, dict) == ABOUT
        assert all(np.array_equal(arrays[name], values) for name, values in ARRAYS.items())
    assert found > len(whole) // 2


@settings(max_examples=60, deadline=None)
@given(some.dictionaries(some.text(max_size=5), some.lists(some.integers(-9, 9), max_size=40), max_size=6), some.data())
def test_what_is_sealed_comes_back_and_what_is_cut_does_not(given_: dict[str, list[int]], data: some.DataObject) -> None:
    arrays = {name: np.array(values, np.int64) for name, values in given_.items()}
    whole = b"".join(sealed.sealed(given_, arrays))
    file = Sealed.of(whole)
    assert sealed.decoded(file.about, dict) == given_
    assert {name: file.array(name, "<i8").tolist() for name in arrays} == given_
    with pytest.raises(Damaged):
        Sealed.of(whole[: data.draw(some.integers(0, len(whole) - 1))])
    for name in arrays:
        with pytest.raises(Damaged):
            file.array(name, "<i4")
    with pytest.raises(Damaged):
        file.array("not there", "<i8")


LARGE = 2 << 20


@pytest.mark.parametrize("size", [LARGE - 4, LARGE, LARGE + 4, 2 * LARGE - 4, 5_000_000])
def test_arrays_in_large_pages_are_whole_and_stay_as_they_were(size: int, tmp_path: Path) -> None:
    arrays = {name: np.arange(size // 4, dtype=np.int32) + shift for shift, name in enumerate(("first", "second"))}
    path = tmp_path / "a.sealed"
    sealed.written(sealed.sealed({}, arrays), path, sync=False)
    found = {name: Sealed.open(path).array(name, "<i4") for name in arrays}
    os.truncate(path, 64)
    for name, values in arrays.items():
        assert np.array_equal(found[name], values)
        assert not found[name].flags.writeable
    with pytest.raises(Damaged):
        Sealed.open(path)
