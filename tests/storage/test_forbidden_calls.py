"""What the source may not say: calls of Lance that move a head or delete pinned files, and durable calls outside `effects.run`.

Three readings of the source:

* **Forbidden calls.** Lance's inline API commits by itself, on a table's own lineage. Nothing may be committed but by a detached
  commit (a pin), or by the manifest. The few exceptions are listed with their reasons.
* **Durable calls go through `effects.run`.** Whatever reaches the store stands in a function or lambda handed to it, or in one
  that is used by such functions only. Otherwise the crash tests would not know of it.
* **Scans look at their files first.** A scan of a damaged file can end the process, unless somebody has looked at it before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from omnigraph.storage.files.effects import Call

PACKAGE = Path(__file__).parents[2] / "src" / "omnigraph"
STORAGE = PACKAGE / "storage"

INLINE = {
    "add_bases",
    "add_columns",
    "alter_columns",
    "cleanup_old_versions",
    "commit_batch",
    "commit_existing_index_segments",
    "compact_files",
    "create_index",
    "create_scalar_index",
    "deep_clone",
    "delete_config_keys",
    "drop_columns",
    "drop_index",
    "enable_auto_cleanup",
    "initialize_mem_wal",
    "merge_insert",
    "migrate_manifest_paths_v2",
    "optimize",
    "optimize_indices",
    "replace_field_metadata",
    "replace_schema",
    "replace_schema_metadata",
    "restore",
    "shallow_clone",
    "truncate_table",
    "update_config",
    "update_field_metadata",
    "update_metadata",
    "update_schema_metadata",
    "write_dataset",
}
"""Attributes that nobody may use, whatever they are taken of."""

ON_DATASETS = {"delete", "drop", "insert", "merge", "update", "create_branch", "tags", "branches"}
"""Names that other things have too: forbidden on what is called like a dataset."""

DATASET_NAMES = {"dataset", "ds", "head", "pinned", "published", "table", "handle", "memory"}

ALLOWED = {
    ("table.py", "_created", "write_dataset"): "creates an empty table: a detached commit cannot",
    ("manifest.py", "create", "write_dataset"): "creates the manifest of a branch; nobody sees it before a ref names it",
    ("format.py", "_write_stamp", "update_schema_metadata"): "the stamp of a manifest, when a graph is migrated",
    ("rows.py", "found", "drop_columns"): "of an Arrow table",
    ("search.py", "_found_in_memory", "write_dataset"): "in memory, for one search",
    ("search.py", "_found_in_memory", "create_scalar_index"): "in memory, for one search",
}
"""(module, function, name) → why it may."""

ATTACHED = {
    ("manifest.py", "create"): "creates the manifest of a branch",
    ("manifest_versions.py", "swap"): "the swap itself, on an object store",
}
"""Where `LanceDataset.commit` may go without `detached=True`, and why."""

DURABLE = {
    "LanceFileWriter": None,
    "commit": "LanceDataset",
    "create_index_uncommitted": None,
    "delete": ("fragment", "obstore"),
    "execute": None,
    "flush": None,
    "fsync": None,
    "link": None,
    "merge_columns": None,
    "merge_existing_index_segments": None,
    "makedirs": None,
    "mkdir": None,
    "put": "obstore",
    "rename": None,
    "rmdir": None,
    "rmtree": None,
    "syncfs": None,
    "unlink": None,
    "update_columns": None,
    "update_schema_metadata": None,
    "write_bytes": None,
    "write_dataset": None,
    "write_fragments": None,
    "write_text": None,
}
"""Calls that reach the store, and of what (anything, if not said)."""

OUTSIDE = {
    ("search.py", "write_dataset"): "in memory: nothing reaches the store",
    ("syncing.py", "fsync"): "what `flush` is made of",
    ("syncing.py", "syncfs"): "what `flush` is made of",
}
"""(module, name) → why it need not go through `effects.run`."""

SCANS = {"scanner", "to_table", "to_batches", "to_reader"}
SCANNED = {"dataset", "_dataset", "ds", "fragment", "tail", "pinned", "head"}

SOUND = {
    ("table.py", "scanner"): "looks at the files first; everything else asks it",
    ("manifest_versions.py", "scan"): "looks at the files first",
}
"""Where Lance may be asked for a scan."""


# ── reading the source ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Source:
    """A module with, for each node, the functions it stands in, outermost first."""

    name: str
    tree: ast.Module
    around: dict[ast.AST, tuple[ast.AST, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, text: str) -> Source:
        source = cls(name, ast.parse(text))
        source._descend(source.tree, ())
        return source

    def _descend(self, node: ast.AST, functions: tuple[ast.AST, ...]) -> None:
        self.around[node] = functions
        inside = (*functions, node) if isinstance(node, ast.FunctionDef | ast.Lambda) else functions
        for child in ast.iter_child_nodes(node):
            self._descend(child, inside)

    def functions(self, node: ast.AST) -> set[str]:
        """The named functions around a node."""
        return {f.name for f in self.around[node] if isinstance(f, ast.FunctionDef)}

    def meant(self, name: str, node: ast.AST) -> ast.FunctionDef | None:
        """The function that a name means at a node: the innermost that can be seen from there."""
        seen = [f for f in self.around if isinstance(f, ast.FunctionDef) and f.name == name]
        visible = [f for f in seen if self.around[f] == self.around[node][: len(self.around[f])]]
        return max(visible, key=lambda f: len(self.around[f]), default=None)

    def at(self, node: ast.expr) -> str:
        return f"{self.name}:{node.lineno}"


def last_name(node: ast.expr) -> str:
    """`dataset` of `self.dataset`, of `dataset`, and of `dataset()`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=func):
            return last_name(func)
    return ""


def called(node: ast.Call) -> tuple[str, str]:
    """The name of what is called, and of what it is an attribute (nothing, if it is none)."""
    match node.func:
        case ast.Attribute(value=value, attr=name):
            return name, last_name(value)
        case ast.Name(id=name):
            return name, ""
    return "", ""


def forbidden(source: Source) -> Iterator[str]:
    for node in source.around:
        if isinstance(node, ast.Attribute) and _is_inline(node):
            if not any((source.name, function, node.attr) in ALLOWED for function in source.functions(node)):
                yield f"{source.at(node)} .{node.attr}"
        elif isinstance(node, ast.Call) and called(node) == ("commit", "LanceDataset"):
            detached = any(k.arg == "detached" and getattr(k.value, "value", False) is True for k in node.keywords)
            if not detached and not any((source.name, function) in ATTACHED for function in source.functions(node)):
                yield f"{source.at(node)} LanceDataset.commit without detached=True"


def _is_inline(node: ast.Attribute) -> bool:
    of = last_name(node.value)
    return of != "self" and (node.attr in INLINE or (node.attr in ON_DATASETS and of in DATASET_NAMES))


def is_durable(node: ast.Call) -> bool:
    name, of = called(node)
    if name not in DURABLE:
        return False
    wanted = DURABLE[name]
    return wanted is None or of in ((wanted,) if isinstance(wanted, str) else wanted)


def durable_outside_effects(source: Source) -> Iterator[str]:
    handed = _handed_to_effects(source)
    for node in source.around:
        if not isinstance(node, ast.Call) or not is_durable(node) or (source.name, called(node)[0]) in OUTSIDE:
            continue
        if not _inside(source, node, handed):
            yield f"{source.at(node)} {called(node)[0]}"


def _handed_to_effects(source: Source) -> set[ast.AST]:
    """Code that runs inside `effects.run` only: what is handed to it, and functions that only such code uses."""
    handed: set[ast.AST] = set()
    for node in source.around:
        if isinstance(node, ast.Call) and called(node) == ("run", "effects"):
            handed.update(node.args[1:])
    functions = [f for f in source.around if isinstance(f, ast.FunctionDef)]
    uses = {f: [n for n in source.around if _uses(n, f.name) and source.meant(f.name, n) is f] for f in functions}
    while True:
        grown = handed | {f for f in functions if uses[f] and all(_inside(source, use, handed) for use in uses[f])}
        if grown == handed:
            return handed
        handed = grown


def _uses(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Name(id=used, ctx=ast.Load()):
            return used == name
        case ast.Attribute(value=ast.Name(id="self"), attr=used):
            return used == name
    return False


def _inside(source: Source, node: ast.AST, handed: set[ast.AST]) -> bool:
    """Whether a node stands in a function that is handed over, or in the argument itself."""
    if handed & {*source.around[node]}:
        return True
    return any(node in ast.walk(region) for region in handed if isinstance(region, ast.expr))


def scans_unseen(source: Source) -> Iterator[str]:
    for node in source.around:
        if not isinstance(node, ast.Call) or called(node)[0] not in SCANS or called(node)[1] not in SCANNED:
            continue
        if not any((source.name, function) in SOUND for function in source.functions(node)):
            yield f"{source.at(node)} {'.'.join(reversed(called(node)))}"


def modules(folder: Path) -> list[Source]:
    return [Source.read(p.name, p.read_text()) for p in sorted(folder.rglob("*.py"))]


def knows_tables(source: Source) -> bool:
    """Whether a module can have a dataset in its hands: it imports Lance or the storage layer."""
    imported = [n.module or "" for n in source.around if isinstance(n, ast.ImportFrom)]
    imported += [a.name for n in source.around if isinstance(n, ast.Import) for a in n.names]
    return any(name.split(".")[0] == "lance" or name.startswith("omnigraph.storage") for name in imported)


# ── what is found ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_call_moves_a_head_or_deletes_pinned_files() -> None:
    sources = [source for source in modules(PACKAGE) if knows_tables(source)]
    assert {"table.py", "manifest.py", "columns.py"} <= {source.name for source in sources}
    assert [problem for source in sources for problem in forbidden(source)] == []


def test_every_durable_call_goes_through_effects() -> None:
    assert [problem for source in modules(STORAGE) for problem in durable_outside_effects(source)] == []


def test_no_file_is_scanned_unseen() -> None:
    assert [problem for source in modules(STORAGE) for problem in scans_unseen(source)] == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(table): table.dataset.scanner(filter='x')",
        "def f(self): return self._dataset.to_table()",
        "def f(fragment): fragment.to_batches()",
    ],
)
def test_the_check_for_scans_bites(text: str) -> None:
    assert list(scans_unseen(Source.read("x.py", text))) != []


def test_every_name_of_an_effect_is_used() -> None:
    used = {
        node.attr
        for source in modules(STORAGE)
        for node in source.around
        if isinstance(node, ast.Attribute) and last_name(node.value) == "Call"
    }
    assert used == set(Call.__members__)


def test_every_exception_is_still_needed() -> None:
    seen: set[tuple[str, ...]] = set()
    for source in modules(STORAGE):
        for node in source.around:
            if isinstance(node, ast.Attribute):
                seen |= {(source.name, node.attr), *((source.name, f, node.attr) for f in source.functions(node))}
            if isinstance(node, ast.Call) and called(node) == ("commit", "LanceDataset"):
                seen |= {(source.name, f) for f in source.functions(node)}
    assert [e for e in (*ALLOWED, *ATTACHED, *OUTSIDE) if e not in seen] == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(dataset): dataset.delete('x')",
        "def f(self): self.dataset.update({})",
        "def f(t): t.dataset.optimize.compact_files()",
        "def f(d): d.merge_insert('id').execute(rows)",
        "def f(d): d.create_scalar_index('id', 'BTREE')",
        "def f(d): d.cleanup_old_versions()",
        "def f(d): LanceDataset.commit(d, op)",
        "def f(d): LanceDataset.commit(d, op, detached=False)",
        "import lance\ndef f(d): lance.write_dataset(d, 'x')",
    ],
)
def test_the_check_for_forbidden_calls_bites(text: str) -> None:
    assert list(forbidden(Source.read("x.py", text))) != []


@pytest.mark.parametrize(
    "text",
    [
        "def f(d): write_fragments(rows, d)",
        "def f(d):\n    def make(): write_fragments(rows, d)\n    make()",
        "def f(d):\n    def make(): write_fragments(rows, d)\n    effects.run(Call.PIN, make)\n    make()",
        "def g(d): os.fsync(d)\ndef f(d): place.effects.run(Call.SYNC, lambda: g(d))\ndef h(d): g(d)",
        "def f(d): place.effects.run(Call.PIN, lambda: None); LanceDataset.commit(d, op, detached=True)",
        "def f(d): obstore.put(store, 'x', b'')",
        "def f(fragment): fragment.delete('x')",
    ],
)
def test_the_check_for_durable_calls_bites(text: str) -> None:
    assert list(durable_outside_effects(Source.read("x.py", text))) != []


@pytest.mark.parametrize(
    "text",
    [
        "def f(d): place.effects.run(Call.PIN, lambda: LanceDataset.commit(d, op, detached=True))",
        "def f(d):\n    def make(): write_fragments(rows, d)\n    self.effects.run(Call.PIN, make)",
        "def g(d): os.fsync(d)\ndef f(d):\n    def flush(): pool.map(g, d)\n    place.effects.run(Call.SYNC, flush)",
        "def g(fragment): return lambda: fragment.delete('x')\ndef f(d): place.effects.run(Call.PIN, g(d))",
        "class A:\n    def g(self): write_fragments(1)\n    def f(self): self.place.effects.run(Call.PIN, lambda: self.g())",
        "def f(place): place.delete('x')",
    ],
)
def test_the_check_for_durable_calls_lets_pass_what_is_right(text: str) -> None:
    assert list(durable_outside_effects(Source.read("x.py", text))) == []
